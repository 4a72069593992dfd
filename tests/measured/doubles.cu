// SPDX-License-Identifier: Apache-2.0
// Products of vectors in double precision, by blocks.
#include "shown.h"

__global__ void dot(const double* x, const double* y, double* out, int n) {
  __shared__ double sums[4];
  const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  double sum = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += x[i] * y[i];
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  if (t == 0) out[blockIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
}

int main() {
  const int n = 2500;
  std::vector<double> x, y;
  for (float value : fractions(n)) x.push_back(value / 3.0);
  for (float value : fractions(n, 11)) y.push_back(value / 7.0);
  double* out = room<double>(5);
  dot<<<5, 128>>>(up(x), up(y), out, n);
  show("products", down(out, 5));
}
