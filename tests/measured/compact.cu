// SPDX-License-Identifier: Apache-2.0
// The positive numbers of each block, in their order: ranks from ballots, offsets of warps in shared memory.
#include "shown.h"

__global__ void compact(const float* x, float* out, int* counts, int n) {
  __shared__ int offsets[8];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, lane = t & 31, warp = t >> 5;
  const bool keep = i < n && x[i] > 0;
  const unsigned votes = __ballot_sync(0xffffffffu, keep);
  const int rank = __popc(votes & ((1u << lane) - 1));
  if (lane == 0) offsets[warp] = __popc(votes);
  __syncthreads();
  if (t == 0) {
    int sum = 0;
    for (int w = 0; w < 8; ++w) {
      const int own = offsets[w];
      offsets[w] = sum;
      sum += own;
    }
    counts[blockIdx.x] = sum;
  }
  __syncthreads();
  if (keep) out[blockIdx.x * blockDim.x + offsets[warp] + rank] = x[i];
}

int main() {
  const int n = 600, blocks = (n + 255) / 256;
  float* out = room<float>(256 * blocks);
  int* counts = room<int>(blocks);
  compact<<<blocks, 256>>>(up(fractions(n)), out, counts, n);
  show("counts", down(counts, blocks));
  show("kept", down(out, 256 * blocks));
}
