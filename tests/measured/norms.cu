// SPDX-License-Identifier: Apache-2.0
// Rows of bfloat16 divided by their norm, a warp for each row.
#include <cuda_bf16.h>
#include "shown.h"

__global__ void norms(const float* x, float* out, int rows, int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0;
  if (row < rows) {
    for (int c = lane; c < columns; c += 32) {
      const float value = __bfloat162float(__float2bfloat16(x[row * columns + c]));
      sum += value * value;
    }
  }
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(~0u, sum, step);
  if (row < rows) {
    const float by = rsqrtf(sum / columns + 1e-5f);
    for (int c = lane; c < columns; c += 32) {
      out[row * columns + c] = __bfloat162float(__float2bfloat16(x[row * columns + c] * by));
    }
  }
}

int main() {
  const int rows = 6, columns = 45;
  float* out = room<float>(rows * columns);
  norms<<<(rows + 3) / 4, 128>>>(up(fractions(rows * columns)), out, rows, columns);
  show("rows", down(out, rows * columns));
}
