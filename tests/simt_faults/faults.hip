// SPDX-License-Identifier: Apache-2.0
// What goes wrong on AMD's wavefronts and not on CUDA's warps; as faults.cu.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>

__global__ void barrierInBranches(int* out) {
  if (threadIdx.x % 2) {
    __syncthreads();  // here: barrier-in-branches
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}

__global__ void passesABarrierBy(int* out) {
  if (threadIdx.x >= 64) {
    __syncthreads();
    out[threadIdx.x % 64] = 1;
  }
  __syncthreads();  // here: passes-a-barrier-by
}

__global__ void barrierAfterReturn(int* out) {
  if (threadIdx.x > 40) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

__global__ void tooMuchShared(int* out) {
  __shared__ int some[12000];
  __shared__ int more[8000];  // here: too-much-shared
  some[threadIdx.x] = more[threadIdx.x] = 1;
  out[threadIdx.x] = some[threadIdx.x] + more[threadIdx.x];
}

__global__ void maskOfOthers(int* out) {
  if (threadIdx.x < 3) out[threadIdx.x] = int(__ballot(1));
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  int* memory;
  (void)hipMalloc(&memory, 64 * sizeof(int));
  (void)hipMemset(memory, 0, 64 * sizeof(int));
#define WHEN(name) if (std::strcmp(what, name) == 0)
  WHEN("barrier-in-branches") barrierInBranches<<<1, 64>>>(memory);
  WHEN("passes-a-barrier-by") passesABarrierBy<<<1, 128>>>(memory);
  WHEN("barrier-after-return") barrierAfterReturn<<<1, 64>>>(memory);
  WHEN("too-much-shared") tooMuchShared<<<1, 64>>>(memory);
  WHEN("mask-of-others") maskOfOthers<<<1, 64>>>(memory);
  WHEN("too-many-threads") {
    barrierAfterReturn<<<dim3(1, 70000), 32>>>(memory);
    std::printf("%d\n", hipGetLastError() != hipSuccess);
  }
  (void)hipDeviceSynchronize();
  int host[2];
  (void)hipMemcpy(host, memory, sizeof host, hipMemcpyDeviceToHost);
  std::printf("%d %d\n", host[0], host[1]);
  return 0;
}
