// SPDX-License-Identifier: Apache-2.0
// Each warp sorts its own, by shuffles.
#include "shown.h"

__global__ void sort(int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  int key = i < n ? x[i] : 1 << 30;
  for (int span = 2; span <= 32; span *= 2) {
    for (int gap = span / 2; gap > 0; gap /= 2) {
      const int other = __shfl_xor_sync(0xffffffff, key, gap);
      const bool low = (lane & gap) == 0, up = (lane & span) == 0;
      key = low == up ? min(key, other) : max(key, other);
    }
  }
  if (i < n) x[i] = key;
}

int main() {
  const int n = 250;
  int* x = up(some(n, 1000));
  sort<<<(n + 63) / 64, 64>>>(x, n);
  show("sorted", down(x, n));
}
