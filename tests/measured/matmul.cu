// SPDX-License-Identifier: Apache-2.0
// A product of matrices in tiles, whose sizes are no multiple of the tile's.
#include "shown.h"

__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[8][8], bs[8][8];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y, column = blockIdx.x * 8 + x;
  float sum = 0;
  for (int tile = 0; tile < (k + 7) / 8; ++tile) {
    const int ka = tile * 8 + x, kb = tile * 8 + y;
    as[y][x] = row < m && ka < k ? a[row * k + ka] : 0;
    bs[y][x] = kb < k && column < n ? b[kb * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < 8; ++i) sum += as[y][i] * bs[i][x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

int main() {
  const int m = 13, n = 18, k = 27;
  float* c = room<float>(m * n);
  product<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(up(fractions(m * k)), up(fractions(k * n, 5)), c, m, n, k);
  show("product", down(c, m * n));
}
