// SPDX-License-Identifier: Apache-2.0
// Lanes leave a loop by `break` at different times, and those that come together behind it take numbers from a counter:
// by a place in shared memory that all of the warp use, which is wrong where they come in parts, and by a shuffle.
#include <cstdio>

__device__ unsigned behind_a_loop(int turns) {
  for (int i = 0;; ++i) {
    if (i == turns) break;
  }
  return __activemask();
}

__global__ void by_memory(unsigned* counter, unsigned* taken) {
  __shared__ unsigned first;
  for (int round = 0; round < 8; ++round) {
    const unsigned here = behind_a_loop(threadIdx.x % 5);
    const unsigned rank = __popc(here & ((1u << threadIdx.x) - 1));
    if (rank == 0) first = atomicAdd(counter, __popc(here));
    __syncwarp(here);
    atomicAdd(&taken[(first + rank) % 256], 1u);
  }
}

__global__ void by_shuffle(unsigned* counter, unsigned* taken) {
  for (int round = 0; round < 8; ++round) {
    const unsigned here = behind_a_loop(threadIdx.x % 5);
    const unsigned rank = __popc(here & ((1u << threadIdx.x) - 1));
    unsigned first = 0;
    if (rank == 0) first = atomicAdd(counter, __popc(here));
    first = __shfl_sync(here, first, __ffs(here) - 1);
    atomicAdd(&taken[(first + rank) % 256], 1u);
  }
}

int main() {
  unsigned *counter, *taken, host[256];
  cudaMalloc(&counter, sizeof *counter);
  cudaMalloc(&taken, sizeof host);
  for (auto kernel : {by_memory, by_shuffle}) {
    cudaMemset(counter, 0, sizeof *counter);
    cudaMemset(taken, 0, sizeof host);
    kernel<<<1, 32>>>(counter, taken);
    cudaMemcpy(host, taken, sizeof host, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (unsigned times : host) wrong += times != 1;
    std::printf("%s\n", wrong ? "wrong" : "right");
  }
}
