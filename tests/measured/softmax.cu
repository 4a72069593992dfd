// SPDX-License-Identifier: Apache-2.0
// The softmax of rows, a block for each.
#include "shown.h"

__global__ void softmax(const float* x, float* out, int columns) {
  __shared__ float parts[4];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  const float* row = x + blockIdx.x * columns;
  float most = -1e30f;
  for (int c = t; c < columns; c += blockDim.x) most = fmaxf(most, row[c]);
  for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step));
  if (lane == 0) parts[warp] = most;
  __syncthreads();
  for (int w = 0; w < 4; ++w) most = fmaxf(most, parts[w]);
  __syncthreads();
  float sum = 0;
  for (int c = t; c < columns; c += blockDim.x) sum += expf(row[c] - most);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  if (lane == 0) parts[warp] = sum;
  __syncthreads();
  sum = parts[0] + parts[1] + parts[2] + parts[3];
  for (int c = t; c < columns; c += blockDim.x) out[blockIdx.x * columns + c] = expf(row[c] - most) / sum;
}

int main() {
  const int rows = 3, columns = 150;
  float* out = room<float>(rows * columns);
  softmax<<<rows, 128>>>(up(fractions(rows * columns)), out, columns);
  show("rows", down(out, rows * columns));
}
