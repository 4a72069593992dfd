// SPDX-License-Identifier: Apache-2.0
// Reductions of whole warps by one instruction, and values that a leader gives to the others.
#include "shown.h"

__global__ void reduce(const int* x, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = i / 32;
  const int value = i < n ? x[i] : 0;
  const int sum = __reduce_add_sync(0xffffffff, value), most = __reduce_max_sync(0xffffffff, value);
  const unsigned bits = __reduce_xor_sync(0xffffffff, static_cast<unsigned>(value));
  const int given = __shfl_sync(0xffffffff, value, warp % 32);
  if (i < n) out[n + i] = given - value;
  if (lane == 0) {
    out[3 * warp] = sum;
    out[3 * warp + 1] = most;
    out[3 * warp + 2] = bits;
  }
}

int main() {
  const int n = 330;
  int* out = room<int>(2 * n);
  reduce<<<(n + 95) / 96, 96>>>(up(some(n, 1000)), out, n);
  show("reduced", down(out, 2 * n));
}
