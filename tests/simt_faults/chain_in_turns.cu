// SPDX-License-Identifier: Apache-2.0
// Each thread waits for the one before it by turns of a loop in which lanes meet, as volatile memory is accessed in it.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void chain(volatile int* done, int* count) {
  __shared__ int turns[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int at = 0;
  turns[threadIdx.x] = 0;
  while (at < 1) {
    turns[threadIdx.x] += 1;
    if (i == 0 || done[i - 1] == 1) {
      done[i] = 1;
      atomicAdd(count, turns[threadIdx.x] > 0);
      at += 1;
    }
  }
}

__global__ void spinsOnShared(int* out) {
  __shared__ volatile int flag;
  flag = 0;
  __syncthreads();
  while (flag == 0 && threadIdx.x > 3) {  // here: spins-on-shared
  }
  out[threadIdx.x] = 1;
}

int main(int argc, char**) {
  int *done, *count, host = 0;
  cudaMalloc(&done, 512 * sizeof(int));
  cudaMalloc(&count, sizeof(int));
  cudaMemset(done, 0, 512 * sizeof(int));
  cudaMemset(count, 0, sizeof(int));
  if (argc > 1) spinsOnShared<<<1, 64>>>(done);
  chain<<<2, 256>>>(done, count);
  cudaMemcpy(&host, count, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%d\n", host);
  return 0;
}
