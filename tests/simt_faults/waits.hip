// SPDX-License-Identifier: Apache-2.0
// Lanes that wait in loops for others of their wavefront, and for others; as faults.cu.
#include <hip/hip_runtime.h>
#include <hipport/lock.h>

#include <cstdio>
#include <cstring>

__device__ int lock, sum, counter, flags[256];

// ---- on AMD these hang

__global__ void takesBefore() {
  while (atomicCAS(&lock, 0, 1) != 0);  // here: takes-before
  sum = sum + 1;
  __threadfence();
  atomicExch(&lock, 0);
}

__device__ int lookAt(int* where) { return *(volatile int*)where; }
__global__ void afterTheLaneBefore() {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i != 0) {
    while (lookAt(&flags[i - 1]) == 0) {  // here: after-the-lane-before
    }
  }
  flags[i] = 1;
}

__global__ void returnsFromIt() {
  do {  // here: returns-from-it
    if (threadIdx.x == 3) break;
    if (threadIdx.x == 5) return;
  } while (__hip_atomic_load(&counter, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0);
  if (threadIdx.x == 3) atomicExch(&counter, 1);
}

// Each side waits for the other: whichever a GPU runs first.
__global__ void inTwoBranches(bool first) {
  if ((threadIdx.x == 0) == first) {  // here: in-two-branches
    while (atomicAdd(&counter, 0) == 0) {
    }
    atomicExch(&lock, 1);
  } else {
    while (atomicAdd(&lock, 0) == 0 && threadIdx.x > 64) {
    }
    atomicExch(&counter, 1);
  }
}

// ---- these do not

__global__ void takesInside() {
  for (bool done = false; !hipport::opaque(done);) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      sum = sum + 1;
      __threadfence();
      atomicExch(&lock, 0);
      done = true;
    }
  }
}

__global__ void afterTheBlockBefore() {
  if (threadIdx.x == 0) {
    if (blockIdx.x != gridDim.x - 1)
      do;
      while (atomicAdd(&flags[blockIdx.x + 1], 0) == 0);
    atomicExch(&flags[blockIdx.x], 1);
  }
}

// In each turn one lane waits for what another did in the turn before.
__global__ void oneInEachTurn() {
  for (int turn = 0; turn < 8; ++turn) {
    if (threadIdx.x != turn) continue;
    if (turn != 0)
      while (atomicAdd(&flags[turn - 1], 0) == 0) {
      }
    else
      sum = 1;
    flags[turn] = 1;
  }
}

// A barrier that is not seen from the loop, for those that have not ended.
struct Meets {
  __device__ void operator()() const { __syncthreads(); }
};
template <typename F>
__global__ void leavesOthersToMeet(F meets) {
  for (int turn = 0;; ++turn) {
    if (atomicAdd(&counter, 0) == 0 && turn == int(threadIdx.x % 4)) break;
    meets();
  }
  sum = 1;
}

// Only lanes of other wavefronts are waited for.
__global__ void afterTheWaveBefore() {
  const int wave = threadIdx.x / warpSize;
  if (wave != 0) {
    while (atomicAdd(&flags[wave - 1], 0) != warpSize) {
    }
  }
  atomicAdd(&flags[wave], 1);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
#define WHEN(name) if (std::strcmp(what, name) == 0)
  WHEN("takes-before") takesBefore<<<1, 64>>>();
  WHEN("after-the-lane-before") afterTheLaneBefore<<<2, 64>>>();
  WHEN("returns-from-it") returnsFromIt<<<1, 64>>>();
  WHEN("takes-inside") takesInside<<<2, 64>>>();
  WHEN("after-the-block-before") afterTheBlockBefore<<<8, 64>>>();
  WHEN("in-two-branches") inTwoBranches<<<1, 64>>>(false);
  WHEN("in-two-branches-the-other-way") inTwoBranches<<<1, 64>>>(true);
  WHEN("one-in-each-turn") oneInEachTurn<<<1, 64>>>();
  WHEN("leaves-others-to-meet") leavesOthersToMeet<<<1, 128>>>(Meets());
  WHEN("after-the-wave-before") afterTheWaveBefore<<<1, 256>>>();
  (void)hipDeviceSynchronize();
  std::puts("done");
  return 0;
}
