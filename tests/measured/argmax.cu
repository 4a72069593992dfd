// SPDX-License-Identifier: Apache-2.0
// Where the greatest of each row is, a warp for each row.
#include "shown.h"

__global__ void argmax(const float* x, int* out, int rows, int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  float best = -1e30f;
  int place = -1;
  if (row < rows) {
    for (int c = lane; c < columns; c += 32) {
      const float value = x[row * columns + c];
      if (value > best) best = value, place = c;
    }
  }
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, best, step);
    const int where = __shfl_xor_sync(0xffffffffu, place, step);
    if (other > best || (other == best && where < place)) best = other, place = where;
  }
  if (row < rows && lane == 0) out[row] = place;
}

int main() {
  const int rows = 21, columns = 75;
  int* out = room<int>(rows + 8);
  argmax<<<(rows + 3) / 4, 128>>>(up(fractions(rows * columns)), out, rows, columns);
  show("places", down(out, rows + 8));
}
