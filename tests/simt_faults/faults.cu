// SPDX-License-Identifier: Apache-2.0
// One kernel for each thing that can go wrong, chosen by the first argument. A comment `// here: NAME` marks the line
// that has to be named.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void deadlock(int*) {
  if (threadIdx.x < 16) {
    __shfl_sync(0xffffffffu, 1, 0);  // here: deadlock
  } else {
    __syncthreads();
  }
}

__global__ void maskWithoutCaller(int* out) {
  out[threadIdx.x] = __shfl_sync(0x0000ffffu, 1, 0);  // here: mask-without-caller
}

__global__ void pastTheEnd(int* out) {
  out[threadIdx.x + 60] = 1;  // here: past-the-end
}

__global__ void released(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x];  // here: released
}

__global__ void pastShared(int* out) {
  __shared__ int some[8];  // here: past-shared
  some[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = some[0];
}

__global__ void pastDynamic(int* out) {
  extern __shared__ int dynamic[];
  dynamic[threadIdx.x] = 1;  // here: past-dynamic
  out[threadIdx.x] = dynamic[threadIdx.x];
}

__global__ void spinsForever(volatile int* out) {
  if (threadIdx.x == 0) {
    while (out[0] != 77) {  // here: spins-forever
    }
  } else {
    out[threadIdx.x] = 1;
  }
}

__global__ void locksForever(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) {  // here: locks-forever
  }
}

__global__ void spinsForAWhile(volatile int* out) {
  if (threadIdx.x == 0) {
    while (out[31] != 1) {
    }
    out[0] = 9;
  } else {
    out[threadIdx.x] = 1;
  }
}

__device__ int deeper(volatile int* out, int depth) {  // here: deep
  volatile int local[256];
  local[depth % 256] = depth;
  return depth == 0 ? out[0] : deeper(out, depth - 1) + local[depth % 256];
}
__global__ void deep(volatile int* out) { out[0] = deeper(out, 100000); }

__global__ void divides(int* out, int by) {
  out[threadIdx.x] = 5 / by;  // here: divides
}

__global__ void traps() {
  __trap();  // here: traps
}

__global__ void barrierInBranches(int* out) {
  if (threadIdx.x % 2) {
    __syncthreads();  // here: barrier-in-branches
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}

__global__ void uninitialized(float* out) {
  __shared__ float some[64];
  if (threadIdx.x > 3) some[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = some[threadIdx.x];
}

__global__ void nothing() {}

__global__ void waitsForOtherBlocks(volatile int* out) {
  if (threadIdx.x == 0) {
    atomicAdd((int*)out, 1);
    while (out[0] < int(gridDim.x)) {
    }
  }
  __syncthreads();
  if (blockIdx.x == 0) out[threadIdx.x + 1] = 3;
}

// One looks, all hear of it: in each turn all threads go on, and the block is never stalled.
enum How { shuffles, shufflesAndSleeps, barriers };
__device__ int heard(volatile int* out, How how) {
  __shared__ int seen;
  int value = 0;
  if (threadIdx.x == 0) {
    value = out[0];
    if (how == shufflesAndSleeps) __nanosleep(20);
    seen = value;
  }
  if (how != barriers) return __shfl_sync(0xffffffff, value, 0);
  __syncthreads();
  value = seen;
  __syncthreads();
  return value;
}
__global__ void polls(volatile int* out, How how) {
  for (int round = 1; round <= 5; ++round) {
    if (threadIdx.x == 0) atomicAdd((int*)out, 1);
    while (heard(out, how) < round * int(gridDim.x)) {
    }
  }
  if (blockIdx.x == 0) out[threadIdx.x + 1] = 3;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  int* memory;
  cudaMalloc(&memory, 64 * sizeof(int));
  cudaMemset(memory, 0, 64 * sizeof(int));
#define WHEN(name) if (std::strcmp(what, name) == 0)
  WHEN("deadlock") deadlock<<<2, 64>>>(memory);
  WHEN("mask-without-caller") maskWithoutCaller<<<1, 32>>>(memory);
  WHEN("past-the-end") pastTheEnd<<<1, 32>>>(memory);
  WHEN("released") {
    int* other;
    cudaMalloc(&other, 64 * sizeof(int));
    cudaFree(other);
    released<<<1, 32>>>(other, memory);
  }
  WHEN("past-shared") pastShared<<<3, 32>>>(memory);
  WHEN("past-dynamic") pastDynamic<<<1, 32, 16 * sizeof(int)>>>(memory);
  WHEN("spins-forever") spinsForever<<<1, 32>>>(memory);
  WHEN("locks-forever") locksForever<<<1, 32>>>(memory);
  WHEN("spins-for-a-while") spinsForAWhile<<<1, 32>>>(memory);
  WHEN("deep") deep<<<1, 1>>>(memory);
  WHEN("divides") divides<<<1, 32>>>(memory, argc - 2);
  WHEN("traps") traps<<<1, 1>>>();
  WHEN("barrier-in-branches") barrierInBranches<<<1, 32>>>(memory);
  WHEN("copies") {
    char host[512];
    cudaMemcpy(host, memory, 512, cudaMemcpyDeviceToHost);  // here: copies
  }
  WHEN("uninitialized") {
    float host[8];
    uninitialized<<<1, 64>>>((float*)memory);
    cudaMemcpy(host, memory, sizeof host, cudaMemcpyDeviceToHost);
    std::printf("%d %d\n", host[0] != host[0], host[5] != host[5]);
    int* fresh;
    int word;
    cudaMalloc(&fresh, sizeof(int));
    cudaMemcpy(&word, fresh, sizeof(int), cudaMemcpyDeviceToHost);
    std::printf("%d\n", word);
  }
  WHEN("too-many-threads") {
    nothing<<<1, 2048>>>();  // here: too-many-threads
    std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    nothing<<<1, 32>>>();
    std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  }
  WHEN("waits-for-other-blocks") waitsForOtherBlocks<<<8, 32>>>(memory);
  WHEN("polls-by-shuffles") polls<<<4, 32>>>(memory, shuffles);
  WHEN("polls-by-shuffles-and-sleeps") polls<<<4, 32>>>(memory, shufflesAndSleeps);
  WHEN("polls-by-barriers") polls<<<4, 32>>>(memory, barriers);
  cudaDeviceSynchronize();
  int host[2];
  cudaMemcpy(host, memory, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%d %d\n", host[0], host[1]);
  return 0;
}
