// SPDX-License-Identifier: Apache-2.0
// Sums, ballots and neighbours in tiles of cooperative groups.
#include <cooperative_groups.h>
#include "shown.h"
namespace cg = cooperative_groups;

__global__ void tiles(const int* x, int* out, int n) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<32>(block);
  const auto part = cg::tiled_partition<8>(tile);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int value = i < n ? x[i] : 0;
  int sum = value;
  for (int step = 16; step > 0; step /= 2) sum += tile.shfl_down(sum, step);
  const unsigned votes = part.ballot(value > 40);
  const int rank = tile.thread_rank();
  sum = tile.shfl(sum, 0);
  if (rank == 0) out[4 * n + i / 32] = sum;
  if (i < n) {
    out[i] = part.shfl_xor(value, 1);
    out[n + i] = votes;
    out[2 * n + i] = tile.any(value > 97);
    out[3 * n + i] = part.meta_group_rank() * 100 + part.thread_rank();
  }
}

int main() {
  const int n = 150;
  int* out = room<int>(4 * n + 8);
  tiles<<<(n + 63) / 64, 64>>>(up(some(n, 100)), out, n);
  show("tiles", down(out, 4 * n + 8));
}
