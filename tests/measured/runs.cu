// SPDX-License-Identifier: Apache-2.0
// How long the runs of equal numbers are within each warp, by the bits of a ballot.
#include "shown.h"

__global__ void runs(const int* x, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  const int own = i < n ? x[i] : -1, before = __shfl_up_sync(0xffffffff, own, 1);
  const unsigned heads = __ballot_sync(0xffffffff, lane == 0 || own != before);
  const unsigned behind = lane == 31 ? 0 : heads >> (lane + 1) << (lane + 1);
  const int end = behind ? __ffs(behind) - 1 : 32;
  if (i < n) out[i] = (heads >> lane & 1) ? end - lane : 0;
}

int main() {
  const int n = 220;
  int* out = room<int>(n);
  runs<<<(n + 127) / 128, 128>>>(up(some(n, 2)), out, n);
  show("lengths", down(out, n));
}
