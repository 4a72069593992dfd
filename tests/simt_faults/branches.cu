// SPDX-License-Identifier: Apache-2.0
// Lanes that come to one operation in one function by calls in different branches of a kernel, and of a function.
#include <cuda_runtime.h>

#include <cstdio>

static __device__ __noinline__ unsigned here() { return __activemask(); }
static __device__ __noinline__ unsigned oneOf(int lane) {
  unsigned mask;
  if (lane < 4) {
    mask = here();
  } else {
    mask = here();
  }
  return mask;
}

// Launched once: it becomes part of the loop over its threads.
template <typename T>
__global__ __forceinline__ void byCalls(T* out) {
  const int lane = threadIdx.x;
  if (lane % 2) {
    out[lane] = here();
  } else {
    out[lane] = here();
  }
  if (lane % 4 < 2) out[lane + 32] = oneOf(lane);
}

int main() {
  unsigned* memory;
  cudaMalloc(&memory, 64 * sizeof(unsigned));
  cudaMemset(memory, 0, 64 * sizeof(unsigned));
  byCalls<unsigned><<<1, 32>>>(memory);
  unsigned host[64];
  cudaMemcpy(host, memory, sizeof host, cudaMemcpyDeviceToHost);
  for (int lane : {0, 1, 32, 33, 36, 37}) std::printf("%x ", host[lane]);
  std::printf("\n");
  return 0;
}
