// SPDX-License-Identifier: Apache-2.0
// Sums of the blocks before, each of which waits for the one before it: by one thread, with a barrier behind.
#include <cstdio>

__global__ void sums(const int* values, unsigned long long* links, int* out) {
  __shared__ int before;
  const unsigned block = blockIdx.x;
  if (threadIdx.x == 0) {
    unsigned long long link = 1ull << 32;
    if (block > 0) {
      // The upper word says that the lower one is there.
      while ((link = atomicAdd(links + block, 0ull)) >> 32 == 0) {
        __nanosleep(20);
      }
    }
    before = static_cast<int>(link);
    atomicExch(links + block + 1, 1ull << 32 | static_cast<unsigned>(before + values[block]));
  }
  __syncthreads();
  out[block * blockDim.x + threadIdx.x] = before + static_cast<int>(threadIdx.x);
}

// The thread that waits leaves the loop, and the function, from within.
__device__ int awaited(unsigned long long* links, unsigned block) {
  for (int turn = 0; turn < 1 << 20; turn++) {
    const unsigned long long link = atomicAdd(links + block, 0ull);
    if (link >> 32) return static_cast<int>(link);
    if (turn < 0) break;
  }
  return -1;
}

__global__ void returned(const int* values, unsigned long long* links, int* out) {
  __shared__ int before;
  const unsigned block = blockIdx.x;
  if (threadIdx.x == 0) {
    before = block > 0 ? awaited(links, block) : 0;
    atomicExch(links + block + 1, 1ull << 32 | static_cast<unsigned>(before + values[block]));
  } else if (threadIdx.x == 1) {
    out[0] = 0;
  }
  __syncthreads();
  out[block * blockDim.x + threadIdx.x] = before + static_cast<int>(threadIdx.x);
}

int main() {
  constexpr int blocks = 5, threads = 96;
  int *values, *out, wrong = 0;
  unsigned long long* links;
  cudaMallocManaged(&values, blocks * sizeof(int));
  cudaMallocManaged(&out, blocks * threads * sizeof(int));
  cudaMallocManaged(&links, (blocks + 1) * sizeof(unsigned long long));
  for (int i = 0; i < blocks; i++) values[i] = 3 * i + 1;
  for (int kernel = 0; kernel < 2; kernel++) {
    for (int i = 0; i <= blocks; i++) links[i] = 0;
    if (kernel == 0)
      sums<<<blocks, threads>>>(values, links, out);
    else
      returned<<<blocks, threads>>>(values, links, out);
    cudaDeviceSynchronize();
    for (int block = 0, before = 0; block < blocks; before += values[block++])
      for (int i = 0; i < threads; i++) wrong += out[block * threads + i] != before + i;
  }
  std::printf("%d wrong\n", wrong);
  return wrong != 0;
}
