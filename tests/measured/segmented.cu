// SPDX-License-Identifier: Apache-2.0
// Sums of segments within warps, where flags begin them.
#include "shown.h"

__global__ void sums(const int* x, const int* heads, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  int sum = i < n ? x[i] : 0, head = i < n ? heads[i] : 1;
  for (int step = 1; step < 32; step *= 2) {
    const int before = __shfl_up_sync(0xffffffff, sum, step), began = __shfl_up_sync(0xffffffff, head, step);
    if (lane >= step) {
      if (!head) sum += before;
      head |= began;
    }
  }
  if (i < n) out[i] = sum;
}

int main() {
  const int n = 200;
  std::vector<int> heads = some(n, 5, 9);
  for (int& head : heads) head = head == 0;
  int* out = room<int>(n);
  sums<<<(n + 63) / 64, 64>>>(up(some(n, 30)), up(heads), out, n);
  show("sums", down(out, n));
}
