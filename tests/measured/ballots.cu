// SPDX-License-Identifier: Apache-2.0
// Which lanes of each warp hold an odd number, how many, the first and the last of them.
#include "shown.h"

__global__ void odd(const int* x, unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  const unsigned votes = __ballot_sync(0xffffffff, i < n && (x[i] & 1));
  if (lane == 0) {
    unsigned* own = out + 4 * (i / 32);
    own[0] = votes;
    own[1] = __popc(votes);
    own[2] = __ffs(votes);
    own[3] = 31 - __clz(votes);
  }
}

int main() {
  const int n = 333;
  unsigned* out = room<unsigned>(64);
  odd<<<(n + 127) / 128, 128>>>(up(some(n, 7)), out, n);
  show("votes", down(out, 64));
}
