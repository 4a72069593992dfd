// SPDX-License-Identifier: Apache-2.0
// Inclusive sums within warps.
#include "shown.h"

__global__ void scan(const int* x, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  int sum = i < n ? x[i] : 0;
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(0xffffffff, sum, step);
    if (lane >= step) sum += other;
  }
  if (i < n) out[i] = sum;
}

int main() {
  const int n = 300;
  int* out = room<int>(n + 32);
  scan<<<(n + 95) / 96, 96>>>(up(some(n, 100)), out, n);
  show("sums", down(out, n + 32));
}
