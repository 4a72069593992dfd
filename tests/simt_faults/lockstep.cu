// SPDX-License-Identifier: Apache-2.0
// Waits, each of which ends where every thread goes on by itself, as CUDA has it. The test compiles them as the original
// and as its port. On AMD those under HANGS do not end where the lanes are of one wavefront of 64.
#if defined(__HIP__)
#include <hip/hip_runtime.h>
#define cudaDeviceSynchronize hipDeviceSynchronize
#define cudaMalloc hipMalloc
#define cudaMemset hipMemset
#else
#include <cuda_runtime.h>
#endif

#include <cstdio>
#include <cstring>

#include "hipport/lock.h"

__device__ volatile int flag, other;
__device__ volatile int flags[1024];
__device__ int lock, sum, plain, counter, serving, next;

#define HANGS(name) __global__ void name(volatile int* given, int t)
#define ENDS(name) __global__ void name(volatile int* given, int t)
// A kernel's own: the number of the thread.
#define T t += threadIdx.x

// ---- the lanes 0 to 31 wait for lane 32

HANGS(whileBody) {
  T;
  if (t < 32) {
    while (*given == 0);  // here: whileBody
  }
  if (t == 32) *given = 1;
}

HANGS(forBreak) {
  T;
  if (t < 32)
    for (;;) {  // here: forBreak
      if (*given != 0) break;
    }
  if (t == 32) *given = 1;
}

__device__ void untilSet(volatile int* where) {
  for (;;) {  // here: forReturn
    if (*where != 0) return;
  }
}
HANGS(forReturn) {
  T;
  if (t < 32) untilSet(given);
  if (t == 32) *given = 1;
}

HANGS(byGoto) {
  T;
  if (t < 32) {
  again:  // here: byGoto
    if (*given == 0) goto again;
  }
  if (t == 32) *given = 1;
}

#define WAIT_FOR(where) while (*(where) == 0) {}
HANGS(byMacro) {
  T;
  if (t < 32) WAIT_FOR(given);  // here: byMacro
  if (t == 32) *given = 1;
}

__device__ int untilSetAgain(volatile int* where) {  // here: byRecursion
  if (*where != 0) return 1;
  return untilSetAgain(where);
}
HANGS(byRecursion) {
  T;
  if (t < 32) untilSetAgain(given);
  if (t == 32) *given = 1;
}

__device__ int byInstruction(const int* where) {
  int value;
#if defined(__HIP__)
  value = __hip_atomic_load(where, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
#else
  value = *(const volatile int*)where;
#endif
  return value;
}
HANGS(byPtx) {
  T;
  if (t < 32) {
    int seen;
    do {  // here: byPtx
      seen = byInstruction(const_cast<int*>(given));
    } while (seen == 0);
  }
  if (t == 32) *given = 1;
}

struct Flag {
  volatile int* where;
  __device__ bool isSet() const { return *where != 0; }
  __device__ void await() const {
    while (!isSet()) {  // here: byMethod
    }
  }
};
HANGS(byMethod) {
  T;
  Flag own{given};
  if (t < 32) own.await();
  if (t == 32) *given = 1;
}

HANGS(inDynamicShared) {
  T;
  extern __shared__ int dynamic[];
  volatile int* own = dynamic;
  if (t == 0) own[0] = 0;
  __syncthreads();
  if (t < 32) {
    while (own[0] == 0);  // here: inDynamicShared
  }
  if (t == 32) own[0] = 1;
}

HANGS(inShared) {
  T;
  __shared__ volatile int own;
  if (t == 0) own = 0;
  __syncthreads();
  if (t < 32) {
    while (own == 0);  // here: inShared
  }
  if (t == 32) own = 1;
}

HANGS(onGlobal) {
  T;
  if (t < 32) {
    while (!flag) {  // here: onGlobal
    }
  }
  if (t == 32) flag = 1;
}

HANGS(byAtomics) {
  T;
  if (t < 32) {
    while (atomicAdd(&counter, 0) == 0) {  // here: byAtomics
    }
  }
  if (t == 32) atomicExch(&counter, 1);
}

HANGS(behindFences) {
  T;
  if (t < 32) {
    do {  // here: behindFences
      __threadfence();
    } while (plain == 0);
  }
  if (t == 32) plain = 1;
}

HANGS(byReference) {
  T;
  volatile int& own = *given;
  if (t < 32) {
    while (own == 0);  // here: byReference
  }
  if (t == 32) own = 1;
}

HANGS(inElse) {
  T;
  if (t == 32) {
    *given = 1;
  } else {
    while (*given == 0);  // here: inElse
  }
}

HANGS(inThen) {
  T;
  if (t != 32)
    while (*given == 0);  // here: inThen
  else
    *given = 1;
}

HANGS(inSwitch) {
  T;
  switch (t / 32) {
    case 0:
      while (*given == 0);  // here: inSwitch
      break;
    default: *given = 1;
  }
}

HANGS(inLambda) {
  T;
  auto await = [&](int least) {
    while (*given < least);  // here: inLambda
  };
  if (t < 32) await(1);
  if (t == 32) *given = 1;
}

struct Awaits {
  __device__ void operator()(volatile int* where) const {
    while (*where == 0);  // here: inFunctor
  }
};
HANGS(inFunctor) {
  T;
  Awaits await;
  if (t < 32) await(given);
  if (t == 32) *given = 1;
}

template <typename Value>
__device__ Value awaited(volatile Value* where) {
  Value value;
  while ((value = *where) == 0) {  // here: inTemplate
  }
  return value;
}
HANGS(inTemplate) {
  T;
  if (t < 32) awaited<int>(given);
  if (t == 32) *given = 1;
}

HANGS(underAnd) {
  T;
  t < 32 && awaited(given);
  if (t == 32) *given = 1;
}

HANGS(underQuestion) {
  T;
  const int seen = t < 32 ? awaited(given) : 0;
  if (t == 32 + 0 * seen) *given = 1;
}

HANGS(inCondition) {
  T;
  if (t < 32 && awaited(given) == 1) other = 1;
  if (t == 32) *given = 1;
}

__device__ void someAwait(volatile int* where, int t) {
  if (t >= 32) return;
  while (*where == 0);  // here: afterReturn
}
HANGS(afterReturn) {
  T;
  someAwait(given, t);
  if (t == 32) *given = 1;
}

HANGS(inSecondTurn) {
  T;
  for (int i = 0; i < (t < 32 ? 2 : 1); ++i) {
    if (i == 1)
      while (*given == 0);  // here: inSecondTurn
  }
  if (t == 32) *given = 1;
}

HANGS(behindOuterIf) {
  T;
  if (t != 32) {
    if (t < 32) {
      while (*given == 0);  // here: behindOuterIf
    }
  }
  if (t == 32) *given = 1;
}

HANGS(forEachOther) {
  T;
  if (t != 0) {
    while (flags[t - 1] == 0);  // here: forEachOther
  }
  flags[t] = 1;
}

// ---- locks, at 32 lanes as well

HANGS(lockForFlag) {
  for (bool done = false; !done;) {  // here: lockForFlag
    if (atomicCAS(&lock, 0, 1) == 0) {
      sum = sum + 1;
      __threadfence();
      atomicExch(&lock, 0);
      done = true;
    }
  }
}

HANGS(lockWhileFlag) {
  int todo = 1;
  while (todo != 0) {  // here: lockWhileFlag
    if (atomicCAS(&lock, 0, 1) == 0) {
      todo = 0;
      sum = sum + 1;
      __threadfence();
      atomicExch(&lock, 0);
    }
    __threadfence();
  }
}

HANGS(lockKnownFlag) {
  bool done = false;
  do {  // here: lockKnownFlag
    done = atomicCAS(&lock, 0, 1) == 0;
    if (done) {
      sum = sum + 1;
      __threadfence();
      atomicExch(&lock, 0);
    }
  } while (!done);
}

HANGS(lockBreak) {
  while (true) {  // here: lockBreak
    if (atomicCAS(&lock, 0, 1) == 0) {
      sum = sum + 1;
      __threadfence();
      atomicExch(&lock, 0);
      break;
    }
  }
}

HANGS(lockContinue) {
  for (;;) {  // here: lockContinue
    if (atomicCAS(&lock, 0, 1) != 0) continue;
    sum = sum + 1;
    __threadfence();
    atomicExch(&lock, 0);
    break;
  }
}

HANGS(lockReturn) {
  for (;;) {  // here: lockReturn
    if (atomicCAS(&lock, 0, 1) == 0) {
      sum = sum + 1;
      __threadfence();
      atomicExch(&lock, 0);
      return;
    }
  }
}

class Lock {
 public:
  __device__ explicit Lock(int* lock) : lock_(lock) {}
  __device__ void take() {
    while (atomicCAS(lock_, 0, 1) != 0) {  // here: lockMethods
    }
  }
  __device__ void give() { atomicExch(lock_, 0); }

 private:
  int* lock_;
};
HANGS(lockMethods) {
  Lock own(&lock);
  own.take();
  sum = sum + 1;
  __threadfence();
  own.give();
}

HANGS(ticket) {
  const int own = atomicAdd(&next, 1);
  while (atomicAdd(&serving, 0) != own) {  // here: ticket
  }
  sum = sum + 1;
  __threadfence();
  atomicAdd(&serving, 1);
}

// ---- these end

ENDS(storesFirst) {
  T;
  if (t == 32) *given = 1;
  if (t < 32) {
    while (*given == 0);
  }
}

ENDS(allStoreFirst) {
  T;
  flags[t] = 1;
  while (flags[t ^ 1] == 0) {
  }
}

ENDS(behindBarrier) {
  T;
  if (t == 32) *given = 1;
  __syncthreads();
  if (t < 32)
    for (;;) {
      if (*given != 0) break;
    }
}

ENDS(forOtherWave) {
  T;
  if (t < 64) {
    while (*given == 0);
  }
  if (t == 64) *given = 1;
}

ENDS(forOtherWaveInElse) {
  T;
  if (t >= 64) {
    *given = 1;
  } else {
    untilSet(given);
  }
}

ENDS(rounds) {
  T;
  const int wave = t / 64;
  for (int round = 0; round < 4; ++round) {
    if (wave == 0) {
      while (flag < round);
      if (t == 0) other = round + 1;
    } else {
      while (other < round + 1) {
      }
      if (t % 64 == 0) flag = round + 1;
    }
  }
}

ENDS(blockBefore) {
  T;
  if (t == 0) {
    while (blockIdx.x != gridDim.x - 1 && flags[blockIdx.x + 1] == 0);
    flags[blockIdx.x] = 1;
  }
}

ENDS(gridBarrier) {
  T;
  __syncthreads();
  if (t == 0) {
    atomicAdd(&counter, 1);
    while (atomicAdd(&counter, 0) < int(gridDim.x)) {
    }
  }
  __syncthreads();
  sum = 1;
}

ENDS(allForBlock) {
  T;
  if (blockIdx.x == 0) {
    while (*given == 0);
    other = 1;
  } else if (t == 0) {
    *given = 1;
  }
}

ENDS(lockOpaque) {
  for (bool done = false; !hipport::opaque(done);) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      sum = sum + 1;
      __threadfence();
      atomicExch(&lock, 0);
      done = true;
    }
  }
}

// clang leaves what is in the loop there, as both branches do something.
ENDS(lockElse) {
  bool done = false;
  while (!done) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      sum = sum + 1;
      __threadfence();
      atomicExch(&lock, 0);
      done = true;
    } else {
      atomicAdd(&counter, 1);
    }
  }
}

ENDS(lockInTurns) {
  T;
  for (int i = 0; i < 64; ++i) {
    if (t % 64 != i) continue;
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    sum = sum + 1;
    __threadfence();
    atomicExch(&lock, 0);
  }
}

ENDS(lockOfWave) {
  T;
  if (t % 64 == 0) {
    while (atomicCAS(&lock, 0, 1) != 0);
    sum = sum + 1;
    __threadfence();
    atomicExch(&lock, 0);
  }
}

ENDS(triesOnce) {
  if (atomicCAS(&lock, 0, 1) == 0) {
    sum = sum + 1;
    __threadfence();
    atomicExch(&lock, 0);
  }
}

ENDS(swaps) {
  int old, assumed;
  do {
    assumed = *(volatile int*)&sum;
    old = atomicCAS(&sum, assumed, assumed + 1);
  } while (old != assumed);
}

ENDS(swapsAndBreaks) {
  while (true) {
    const int assumed = plain;
    if (atomicCAS(&plain, assumed, assumed + 1) == assumed) {
      sum = 1;
      break;
    }
  }
}

ENDS(looksSomeTimes) {
  T;
  if (t < 32)
    for (int i = 0; i < 100 && *given == 0; ++i) {
    }
  if (t == 32) *given = 1;
}

ENDS(givesUp) {
  T;
  int turns = 0;
  if (t < 32) {
    while (*given == 0) {
      if (++turns == 100) break;
    }
  }
  if (t == 32) *given = 1;
}

ENDS(follows) {
  T;
  int at = t;
  while (flags[at] != 0) at = flags[at];
  do {
    at = atomicAdd(&counter, 1);
  } while (at < 100);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  int* given = nullptr;
  (void)cudaMalloc(&given, sizeof(int));
  (void)cudaMemset(given, 0, sizeof(int));
#define RUN(name, blocks, threads) \
  if (std::strcmp(what, #name) == 0) name<<<blocks, threads, 64>>>(given, 0)
  RUN(whileBody, 1, 64);
  RUN(forBreak, 1, 64);
  RUN(forReturn, 1, 64);
  RUN(byGoto, 1, 64);
  RUN(byMacro, 1, 64);
  RUN(byRecursion, 1, 64);
  RUN(byPtx, 1, 64);
  RUN(byMethod, 1, 64);
  RUN(inDynamicShared, 1, 64);
  RUN(inShared, 1, 64);
  RUN(onGlobal, 1, 64);
  RUN(byAtomics, 1, 64);
  RUN(behindFences, 1, 64);
  RUN(byReference, 1, 64);
  RUN(inElse, 1, 64);
  RUN(inThen, 1, 64);
  RUN(inSwitch, 1, 64);
  RUN(inLambda, 1, 64);
  RUN(inFunctor, 1, 64);
  RUN(inTemplate, 1, 64);
  RUN(underAnd, 1, 64);
  RUN(underQuestion, 1, 64);
  RUN(inCondition, 1, 64);
  RUN(afterReturn, 1, 64);
  RUN(inSecondTurn, 1, 64);
  RUN(behindOuterIf, 1, 64);
  RUN(forEachOther, 1, 64);
  RUN(lockForFlag, 1, 64);
  RUN(lockWhileFlag, 1, 64);
  RUN(lockKnownFlag, 1, 64);
  RUN(lockBreak, 1, 64);
  RUN(lockContinue, 1, 64);
  RUN(lockReturn, 1, 64);
  RUN(lockMethods, 1, 64);
  RUN(ticket, 1, 64);
  RUN(storesFirst, 1, 64);
  RUN(allStoreFirst, 1, 64);
  RUN(behindBarrier, 1, 64);
  RUN(forOtherWave, 1, 128);
  RUN(forOtherWaveInElse, 1, 128);
  RUN(rounds, 1, 128);
  RUN(blockBefore, 8, 64);
  RUN(gridBarrier, 4, 64);
  RUN(allForBlock, 2, 64);
  RUN(lockOpaque, 2, 64);
  RUN(lockElse, 2, 64);
  RUN(lockInTurns, 1, 128);
  RUN(lockOfWave, 2, 128);
  RUN(triesOnce, 1, 64);
  RUN(swaps, 1, 64);
  RUN(swapsAndBreaks, 1, 64);
  RUN(looksSomeTimes, 1, 64);
  RUN(givesUp, 1, 64);
  RUN(follows, 1, 64);
  (void)cudaDeviceSynchronize();
  std::puts("done");
  return 0;
}
