// SPDX-License-Identifier: Apache-2.0
// A histogram of each block in shared memory, then of all.
#include "shown.h"

__global__ void histogram(const int* x, int* out, int n) {
  __shared__ int bins[64];
  const int t = threadIdx.x;
  if (t < 64) bins[t] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[x[i]], 1);
  __syncthreads();
  if (t < 64) atomicAdd(&out[t], bins[t]);
}

int main() {
  const int n = 3001;
  int* out = room<int>(64);
  histogram<<<5, 96>>>(up(some(n, 64)), out, n);
  show("bins", down(out, 64));
}
