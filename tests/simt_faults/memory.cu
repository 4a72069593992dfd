// SPDX-License-Identifier: Apache-2.0
// What needs much memory while races are looked for: a note for each word that was accessed, by pages of 4096 bytes.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void touches(char* memory, int pages) {
  for (int i = threadIdx.x; i < pages; i += blockDim.x) memory[i * 4096l] = 1;
}

int main() {
  const int pages = 1 << 14;
  char* memory;
  cudaMalloc(&memory, pages * 4096l);
  touches<<<1, 32>>>(memory, pages);
  cudaDeviceSynchronize();
  std::printf("done\n");
  return 0;
}
