// SPDX-License-Identifier: Apache-2.0
// The lanes that are together take one atomic; each gets its place. Sorted, as any order is right.
#include <algorithm>
#include <cooperative_groups.h>
#include "shown.h"
namespace cg = cooperative_groups;

__device__ int take(int* count) {
  const cg::coalesced_group together = cg::coalesced_threads();
  int first = 0;
  const int rank = together.thread_rank();
  if (rank == 0) first = atomicAdd(count, together.size());
  return together.shfl(first, 0) + rank;
}

__global__ void filter(const int* x, int* out, int* count, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 60) out[take(count)] = x[i];
}

int main() {
  const int n = 400;
  int *out = room<int>(n), *count = room<int>(1);
  filter<<<(n + 127) / 128, 128>>>(up(some(n, 100)), out, count, n);
  std::vector<int> kept = down(out, down(count, 1)[0]);
  std::sort(kept.begin(), kept.end());
  show("count", down(count, 1));
  show("kept", kept);
}
