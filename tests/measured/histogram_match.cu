// SPDX-License-Identifier: Apache-2.0
// A histogram with one atomic for each value of a warp.
#include "shown.h"

__global__ void histogram(const int* x, int* out, int* groups, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  const int key = i < n ? x[i] : -1;
  const unsigned same = __match_any_sync(0xffffffff, key);
  const int leader = __ffs(same) - 1;
  if (key >= 0 && lane == leader) {
    atomicAdd(out + key, __popc(same));
    atomicAdd(groups, 1);
  }
}

int main() {
  const int n = 1000;
  int *out = room<int>(20), *groups = room<int>(1);
  histogram<<<(n + 127) / 128, 128>>>(up(some(n, 20)), out, groups, n);
  show("bins", down(out, 20));
  show("groups", down(groups, 1));
}
