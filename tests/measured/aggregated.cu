// SPDX-License-Identifier: Apache-2.0
// One atomic for each warp; what comes out is sorted, as any order of warps is right.
#include <algorithm>
#include "shown.h"

__global__ void keep(const int* x, int* out, int* count, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  const bool wanted = i < n && x[i] % 3 == 0;
  const unsigned votes = __ballot_sync(0xffffffff, wanted);
  if (votes == 0) return;
  const int leader = __ffs(votes) - 1;
  int base = 0;
  if (lane == leader) base = atomicAdd(count, __popc(votes));
  base = __shfl_sync(0xffffffff, base, leader);
  if (wanted) out[base + __popc(votes & ((1u << lane) - 1))] = x[i];
}

int main() {
  const int n = 450;
  int *out = room<int>(n), *count = room<int>(1);
  keep<<<(n + 63) / 64, 64>>>(up(some(n, 1000)), out, count, n);
  show("count", down(count, 1));
  std::vector<int> kept = down(out, down(count, 1)[0]);
  std::sort(kept.begin(), kept.end());
  show("kept", kept);
}
