// SPDX-License-Identifier: Apache-2.0
// Exclusive sums of a block: of warps, and then of their sums.
#include "shown.h"

__global__ void scan(const int* x, int* out, int* total, int n) {
  __shared__ int sums[32];
  const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  const int own = t < n ? x[t] : 0;
  int sum = own;
  for (int step = 1; step < 32; step <<= 1) {
    const int other = __shfl_up_sync(~0u, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == 31) sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    int whole = lane < blockDim.x / 32 ? sums[lane] : 0;
    for (int step = 1; step < 32; step <<= 1) {
      const int other = __shfl_up_sync(~0u, whole, step);
      if (lane >= step) whole += other;
    }
    sums[lane] = whole;
  }
  __syncthreads();
  const int before = warp > 0 ? sums[warp - 1] : 0;
  if (t < n) out[t] = before + sum - own;
  if (t == n - 1) *total = before + sum;
}

int main() {
  const int n = 500;
  int *out = room<int>(n + 12), *total = room<int>(1);
  scan<<<1, 512>>>(up(some(n, 50)), out, total, n);
  show("sums", down(out, n + 12));
  show("total", down(total, 1));
}
