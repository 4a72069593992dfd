// SPDX-License-Identifier: Apache-2.0
// A matrix is transposed by tiles in shared memory.
#include "shown.h"

__global__ void transpose(const int* from, int* to, int width, int height) {
  __shared__ int tile[16][17];
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = from[y * width + x];
  __syncthreads();
  const int u = blockIdx.y * 16 + threadIdx.x, v = blockIdx.x * 16 + threadIdx.y;
  if (u < height && v < width) to[v * height + u] = tile[threadIdx.x][threadIdx.y];
}

int main() {
  const int width = 37, height = 21;
  int* to = room<int>(width * height);
  transpose<<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16)>>>(up(some(width * height, 1000)), to, width, height);
  show("transposed", down(to, width * height));
}
