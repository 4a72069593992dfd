// SPDX-License-Identifier: Apache-2.0
// A stable partition of each warp by each bit of its keys: a radix sort by ballots.
#include "shown.h"

__global__ void sort(int* x, int n) {
  __shared__ int keys[96];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, lane = t & 31, first = t - lane;
  int key = i < n ? x[i] : 255;
  for (int bit = 0; bit < 8; ++bit) {
    const unsigned ones = __ballot_sync(0xffffffff, key >> bit & 1);
    const unsigned below = (1u << lane) - 1;
    const int zeros = 32 - __popc(ones);
    const int place = (key >> bit & 1) ? zeros + __popc(ones & below) : __popc(~ones & below);
    keys[first + place] = key;
    __syncwarp();
    key = keys[t];
    __syncwarp();
  }
  if (i < n) x[i] = key;
}

int main() {
  const int n = 170;
  int* x = up(some(n, 255));
  sort<<<(n + 95) / 96, 96>>>(x, n);
  show("sorted", down(x, n));
}
