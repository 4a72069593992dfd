// SPDX-License-Identifier: Apache-2.0
// A bitonic sort in shared memory.
#include "shown.h"

__global__ void sort(int* x, int n) {
  __shared__ int keys[256];
  const int t = threadIdx.x;
  keys[t] = t < n ? x[t] : 1 << 30;
  __syncthreads();
  for (int span = 2; span <= 256; span *= 2) {
    for (int gap = span / 2; gap > 0; gap /= 2) {
      const int other = t ^ gap;
      if (other > t) {
        const bool up = (t & span) == 0;
        const int a = keys[t], b = keys[other];
        if ((a > b) == up) keys[t] = b, keys[other] = a;
      }
      __syncthreads();
    }
  }
  if (t < n) x[t] = keys[t];
}

int main() {
  const int n = 200;
  int* x = up(some(n, 1000));
  sort<<<1, 256>>>(x, n);
  show("sorted", down(x, n));
}
