// SPDX-License-Identifier: Apache-2.0
// The sum, the least and the greatest of each block, in shared memory.
#include "shown.h"

__global__ void reduce(const int* x, int* out, int n) {
  __shared__ int sums[128], least[128], most[128];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  sums[t] = i < n ? x[i] : 0;
  least[t] = i < n ? x[i] : 1 << 30;
  most[t] = i < n ? x[i] : -1;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) {
      sums[t] += sums[t + half];
      least[t] = min(least[t], least[t + half]);
      most[t] = max(most[t], most[t + half]);
    }
    __syncthreads();
  }
  if (t == 0) {
    out[3 * blockIdx.x] = sums[0];
    out[3 * blockIdx.x + 1] = least[0];
    out[3 * blockIdx.x + 2] = most[0];
  }
}

int main() {
  const int n = 1000, blocks = (n + 127) / 128;
  int* out = room<int>(3 * blocks);
  reduce<<<blocks, 128>>>(up(some(n, 10000)), out, n);
  show("reduced", down(out, 3 * blocks));
}
