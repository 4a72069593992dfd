// SPDX-License-Identifier: Apache-2.0
// A search through a graph, level by level, with a queue that warps append to.
#include <utility>
#include "shown.h"

__global__ void expand(const int* from, const int* edges, int* level, const int* queue, int* next, int* count, int depth,
                       int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  const int node = i < size ? queue[i] : -1;
  for (int e = 0; e < 3; ++e) {
    const int to = node >= 0 ? edges[3 * node + e] : -1;
    const bool fresh = to >= 0 && atomicCAS(level + to, -1, depth) == -1;
    const unsigned votes = __ballot_sync(0xffffffff, fresh);
    int base = 0;
    if (lane == 0 && votes) base = atomicAdd(count, __popc(votes));
    base = __shfl_sync(0xffffffff, base, 0);
    if (fresh) next[base + __popc(votes & ((1u << lane) - 1))] = to;
  }
}

int main() {
  const int nodes = 300;
  std::vector<int> level(nodes, -1);
  level[0] = 0;
  int *edges = up(some(3 * nodes, nodes)), *levels = up(level), *queue = room<int>(nodes), *next = room<int>(nodes);
  int size = 1;
  for (int depth = 1; size > 0 && depth < 20; ++depth) {
    int* count = room<int>(1);
    expand<<<(size + 63) / 64, 64>>>(nullptr, edges, levels, queue, next, count, depth, size);
    size = down(count, 1)[0];
    std::printf("level %d: %d\n", depth, size);
    std::swap(queue, next);
  }
  show("levels", down(levels, nodes));
}
