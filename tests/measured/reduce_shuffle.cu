// SPDX-License-Identifier: Apache-2.0
// Sums of warps by shuffles.
#include "shown.h"

__global__ void sums(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = i >> 5;
  float sum = i < n ? x[i] : 0.0f;
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (lane == 0) out[warp] = sum;
}

int main() {
  const int n = 775;
  float* out = room<float>(32);
  sums<<<(n + 127) / 128, 128>>>(up(fractions(n)), out, n);
  show("sums", down(out, 32));
}
