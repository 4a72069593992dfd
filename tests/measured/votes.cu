// SPDX-License-Identifier: Apache-2.0
// Whether any and all lanes of each warp say yes, and whether all say the same.
#include "shown.h"

__global__ void votes(const int* x, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = i / 32;
  const int value = i < n ? x[i] : 0;
  const int any = __any_sync(0xffffffff, value > 90), all = __all_sync(0xffffffff, value < 97);
  const int count = __syncthreads_count(value > 50);
  if (lane == 0) {
    out[3 * warp] = any;
    out[3 * warp + 1] = all;
    out[3 * warp + 2] = count;
  }
}

int main() {
  const int n = 700;
  int* out = room<int>(3 * 24);
  votes<<<(n + 127) / 128, 128>>>(up(some(n, 100)), out, n);
  show("votes", down(out, 72));
}
