// SPDX-License-Identifier: Apache-2.0
// Kernels that race, whose lines are marked `// races`, or that read shared memory before it is written, marked
// `// unwritten`, and kernels that look alike and do neither.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cstdio>

namespace cg = cooperative_groups;

__global__ void noBarrier(int* out) {
  __shared__ int some[64];
  some[threadIdx.x] = threadIdx.x;  // races
  out[threadIdx.x] = some[63 - threadIdx.x];
}

__global__ void barrier(int* out) {
  __shared__ int some[64];
  some[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = some[63 - threadIdx.x];
  __syncthreads();
  some[63 - threadIdx.x] = 1;
}

__global__ void lockstep(int* out) {
  __shared__ volatile int some[64];
  some[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x < 32) {
    some[threadIdx.x] += some[threadIdx.x + 32];  // races
    some[threadIdx.x] += some[threadIdx.x + 16];
  }
  if (threadIdx.x == 0) out[0] = some[0];
}

__global__ void lanes(int* out) {
  __shared__ int some[64];
  some[threadIdx.x] = threadIdx.x;
  __syncwarp();
  out[threadIdx.x] = some[threadIdx.x ^ 1];
  const int other = __shfl_xor_sync(~0u, some[threadIdx.x ^ 2], 1);
  some[threadIdx.x] = other;
}

__global__ void halfOfTheLanes(int* out) {
  __shared__ int some[64];
  some[threadIdx.x] = threadIdx.x;  // races
  if (threadIdx.x % 32 < 16) __syncwarp(0xffffu);
  out[threadIdx.x] = some[threadIdx.x ^ 16];
}

__global__ void sameValue(int* out) {
  if (threadIdx.x % 3 == 0) out[1] = 1;
  atomicAdd(out, 1);
}

__global__ void bytes(unsigned char* out) { out[threadIdx.x] = threadIdx.x; }

__global__ void blocks(int* out) {
  out[threadIdx.x] = blockIdx.x;  // races
}

__global__ void lastBlock(int* out, unsigned* arrived) {
  __shared__ bool isLast;
  out[blockIdx.x * 64 + threadIdx.x] = blockIdx.x;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) isLast = atomicAdd(arrived, 1u) == gridDim.x - 1;
  __syncthreads();
  if (isLast) {
    int sum = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x * 64; i += 64) sum += out[i];
    out[gridDim.x * 64 + threadIdx.x] = sum;
  }
}

__global__ void lock(int* out, int* mutex) {
  bool done = false;
  while (!done) {
    if (atomicCAS(mutex, 0, 1) == 0) {
      out[0] += 1;
      __threadfence();
      atomicExch(mutex, 0);
      done = true;
    }
  }
}

__global__ void grid(int* out) {
  out[blockIdx.x * 64 + threadIdx.x] = 1;
  cg::this_grid().sync();
  const int other = out[(blockIdx.x + 1) % gridDim.x * 64 + threadIdx.x];
  cg::this_grid().sync();
  out[blockIdx.x * 64 + threadIdx.x] += other;
}

// Blocks look for what others have done; what is behind a flag is ordered by it.
__global__ void flags(int* out, volatile int* flag) {
  if (blockIdx.x == 0) {
    out[threadIdx.x] = threadIdx.x;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) flag[0] = 1;
  } else {
    while (flag[0] != 1) {
    }
    __threadfence();
    out[64 + threadIdx.x] = out[threadIdx.x];
  }
}

__global__ void lostCounts(volatile int* out) {
  out[0] = out[0] + 1;  // races
}

// An atomic operation orders what it adds to, not who looks at the sum.
__global__ void looksAtACount(int* out) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);  // races
  out[threadIdx.x] = count;
}

// What lanes give each other lies on the stacks of threads, which other blocks have as well.
__global__ void groups(int* out) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  const int sum = cg::reduce(tile, static_cast<int>(threadIdx.x), cg::plus<int>());
  if (tile.thread_rank() == 0) out[blockIdx.x * 4 + threadIdx.x / 16] = sum;
}

__global__ void counts(int* out) {
  __shared__ int some[32];
  atomicAdd(&some[threadIdx.x / 2], 1);  // unwritten
  __syncthreads();
  if (threadIdx.x < 32) out[threadIdx.x] = some[threadIdx.x];
}

// The block before has written it, which this one may not count on.
__global__ void sumOfWarps(int* out) {
  extern __shared__ int sums[];
  if (blockIdx.x == 0 || threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = 1;
  __syncthreads();
  if (threadIdx.x < 32) out[blockIdx.x * 32 + threadIdx.x] = sums[threadIdx.x];  // unwritten
}

struct Padded {
  double value;
  int count;
};

__global__ void written(const int* of, int* out) {
  __shared__ int some[64];
  __shared__ Padded pairs[64];
  __shared__ unsigned char flags[64];
  __shared__ float4 wide[16];
  some[threadIdx.x] = -1;
  pairs[threadIdx.x].value = 1;
  pairs[threadIdx.x].count = of[threadIdx.x];
  atomicExch(&some[threadIdx.x], -1);
  if (threadIdx.x % 4 == 0) wide[threadIdx.x / 4].x = 1;
  flags[threadIdx.x] = 255;
  __syncthreads();
  const Padded other = pairs[63 - threadIdx.x];
  atomicAdd(&some[threadIdx.x], flags[63 - threadIdx.x]);
  out[threadIdx.x] = other.count + some[threadIdx.x] + static_cast<int>(wide[threadIdx.x / 4].x);
}

__global__ void exchanged(int* out) {
  __shared__ int some;
  if (threadIdx.x == 0) atomicExch(&some, 0);
  __syncthreads();
  atomicAdd(&some, 1);
  __syncthreads();
  out[threadIdx.x] = some;
}

int main() {
  int *out, *mutex;
  cudaMalloc(&out, 4096 * sizeof(int));
  cudaMalloc(&mutex, 2 * sizeof(int));
  cudaMemset(out, 0xff, 4096 * sizeof(int));
  cudaMemset(mutex, 0, 2 * sizeof(int));
  noBarrier<<<1, 64>>>(out);
  barrier<<<2, 64>>>(out + 64);
  lockstep<<<1, 64>>>(out);
  lanes<<<1, 64>>>(out);
  halfOfTheLanes<<<1, 64>>>(out);
  sameValue<<<1, 64>>>(out);
  bytes<<<1, 64>>>((unsigned char*)out);
  blocks<<<2, 32>>>(out);
  lastBlock<<<4, 64>>>(out, (unsigned*)mutex + 1);
  lock<<<2, 32>>>(out, mutex);
  flags<<<2, 64>>>(out, out + 1024);
  lostCounts<<<1, 64>>>(out);
  looksAtACount<<<1, 64>>>(out);
  groups<<<3, 64>>>(out);
  counts<<<2, 64>>>(out + 512);
  sumOfWarps<<<2, 64, 32 * sizeof(int)>>>(out + 512);
  written<<<2, 64>>>(out + 256, out + 1024);
  exchanged<<<1, 64>>>(out);
  void* arguments[] = {&out};
  cudaLaunchCooperativeKernel((void*)grid, dim3(4), dim3(64), arguments, 0, 0);
  std::printf("%d\n", cudaDeviceSynchronize() != cudaSuccess);
  return 0;
}
