// SPDX-License-Identifier: Apache-2.0
// Each warp prints a line from the device, in any order, between lines of the host.
#include "shown.h"

__global__ void say(const int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  int sum = i < n ? x[i] : 0;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (lane == 0) printf("warp %d: %d\n", i / 32, sum);
}

int main() {
  const int n = 250;
  std::printf("begin\n");
  say<<<(n + 63) / 64, 64>>>(up(some(n, 100)), n);
  check(cudaDeviceSynchronize());
  std::printf("end\n");
}
