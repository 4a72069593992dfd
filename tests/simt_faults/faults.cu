// SPDX-License-Identifier: Apache-2.0
// One kernel for each thing that can go wrong, chosen by the first argument. A comment `// here: NAME` marks the line
// that has to be named.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <cuda/barrier>

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

// Most of its time is spent in a library that was compiled without frame pointers.
__global__ void callsALibrary(int* out) {
  double sum = 0;
  for (unsigned i = 0; i < 4000000000u; ++i) sum += lgamma(i * 0.001 + 3);  // here: calls-a-library
  out[0] = int(sum);
}

// Each turn of a loop that waits is an operation of lanes, or a barrier.
__global__ void asksForever(const volatile int* flags) {
  while (!__any_sync(0xffffffff, flags[threadIdx.x] == 77))  // here: asks-forever
    ;
}
__global__ void countsVotesForever(const int* flags) {
  unsigned votes;
  do {
    votes = __ballot_sync(0xffffffff, *static_cast<const volatile int*>(flags) == 77);  // here: counts-votes-forever
  } while (votes == 0);
}
__global__ void meetsForever(int* flags) {
  while (!__syncthreads_or(atomicAdd(flags, 0) == 77))  // here: meets-forever
    ;
}
// And some that take long: what goes on is in a register, in memory, in shared memory, in a variable.
__device__ int turnsOfAll;
__global__ void asksForLong(int* turns, int where, int most) {
  __shared__ int shared[32];
  shared[threadIdx.x] = turns[threadIdx.x] = 0;
  int own = 0;
  bool done = false;
  while (!__all_sync(0xffffffff, done)) {
    if (where == 0) done = ++own >= most;
    if (where == 1) done = ++turns[threadIdx.x] >= most;
    if (where == 2) done = ++shared[threadIdx.x] >= most;
    if (where == 3) done = (threadIdx.x == 0 ? ++turnsOfAll : *static_cast<volatile int*>(&turnsOfAll)) >= most;
  }
}

__global__ void locksForever(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) {  // here: locks-forever
  }
}

__device__ unsigned mixed(unsigned x, unsigned turns) {
  for (unsigned i = 0; i < turns; ++i) x = (x * 1664525u + 1013904223u) ^ (x >> 7);
  return x;
}
// Who is first to have computed, in order: of threads, and of blocks.
__global__ void computes(int* out, unsigned turns) {
  const unsigned x = mixed(threadIdx.x, threadIdx.x == 0 ? turns : 1);
  out[atomicAdd(out + 40, 1)] = int(threadIdx.x + x / 0xffffffff);
}
__global__ void computesInTurns(int* out, unsigned turns) {
  unsigned x = threadIdx.x;
  for (int i = 0; i < 64; ++i) {
    x = mixed(x, blockIdx.x == 0 ? turns / 800 : 1);
    __syncthreads();
  }
  if (threadIdx.x == 0) out[atomicAdd(out + 40, 1)] = int(blockIdx.x + x / 0xffffffff);
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

__device__ int ofTheDevice[8];
__global__ void indices(int* out, int n) {
  int own[8] = {};
  __shared__ int rows[4][9];
  own[n & 7] = own[n] + ofTheDevice[threadIdx.x & 7];  // here: local-index
  for (int i = 0; i < 32; ++i) rows[0][i] = own[i & 7];  // here: row-index
  __syncthreads();
  out[threadIdx.x] = ofTheDevice[threadIdx.x] + rows[threadIdx.x & 3][n];  // here: device-index
}
struct Tail {
  int size;
  int values[1];  // as many as there is room for
};
__global__ void indicesThatAreRight(int* out, int n) {
  extern __shared__ int some[];
  __shared__ int rows[4][9];
  int* flat = &rows[0][0];
  flat[threadIdx.x] = n;
  reinterpret_cast<Tail*>(some)->values[threadIdx.x] = n;
  __syncthreads();
  out[threadIdx.x] = flat[31 - threadIdx.x] + some[threadIdx.x + 1];
}

__global__ void misalignedVector(float4* out, const char* in) {
  out[0] = *reinterpret_cast<const float4*>(in + 4);  // here: misaligned-vector
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

__global__ void warpInBranches(int* out, int each) {
  __shared__ int some[32];
  some[threadIdx.x] = 0;
  __syncwarp();
  const unsigned mask = each ? threadIdx.x % 2 ? 0xaaaaaaaau : 0x55555555u : ~0u;
  if (threadIdx.x % 2) {
    some[threadIdx.x] = 1;
    __syncwarp(mask);  // here: warp-in-branches
  } else {
    some[threadIdx.x] = 1;
    __syncwarp(mask);  // here: warp-in-its-other-branch
  }
  out[threadIdx.x] = some[threadIdx.x ^ 1 ^ each];
}

__global__ void passesABarrierBy(int* out) {
  for (int turn = 0; turn < 2; ++turn) {
    if (threadIdx.x >= 64 && turn == 1) {
      __syncthreads();
      out[threadIdx.x % 64] = turn;
    }
    __syncthreads();  // here: passes-a-barrier-by
  }
}

// As many for all, who may also end before others come to the next.
__global__ void barriersOfRoles(int* out) {
  for (int turn = 0; turn < 3; ++turn) {
    if (threadIdx.x / 32 == turn % 2) {
      out[threadIdx.x % 32] = turn;
      __syncthreads();
    } else {
      __syncthreads();
      atomicAdd(out + threadIdx.x % 32, 4);
    }
    __syncthreads();
  }
  if (threadIdx.x / 32 == 0) return;
  __syncthreads();
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

// A producer and a consumer, a warp each, hand a buffer to and fro by two barriers of 64 threads.
__global__ void handsOver(int* out, int rounds) {
  __shared__ int buffer[32];
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int i = 0; i < rounds; ++i) {
      asm volatile("bar.sync 1, 64;" ::: "memory");  // empty
      buffer[(lane + i) % 32] = i + lane;
      asm volatile("barrier.cta.arrive.aligned %0, %1;" : : "r"(2), "n"(64) : "memory");
    }
  } else {
    asm volatile("bar.arrive 1, 64;" ::: "memory");
    for (int i = 0; i < rounds; ++i) {
      asm volatile("barrier.sync\t%[number], %[count];" : : [number] "r"(2), [count] "r"(2 * 32) : "memory");  // full
      out[lane] += buffer[31 - lane];
      if (i + 1 < rounds) asm volatile("bar.arrive 1, 64;" ::: "memory");
    }
  }
}

// Warps come as a whole: the lanes that have returned, and those that never were, too.
__global__ void handsOverWithFewer(int* out) {
  if (threadIdx.x % 32 > 20) return;
  if (threadIdx.x == 0) out[0] = 5;
  asm volatile("bar.sync 3, 64;");
  if (threadIdx.x == 40) out[1] = out[0] + 1;
  asm volatile("bar.sync 0;");
  __barrier_sync_count(15, 64);
}

// Number 0 is __syncthreads()'s: who arrives goes on, and the others wait for no more than that.
__global__ void arrivesAtTheBlocks(int* out) {
  __shared__ int buffer[32];
  const int lane = threadIdx.x % 32;
  for (int i = 0; i < 3; ++i) {
    if (threadIdx.x < 32) {
      buffer[lane] = i + lane;
      asm volatile("bar.arrive 0, 64;" ::: "memory");
    } else {
      asm volatile("bar.sync 0, 64;" ::: "memory");
      out[lane] += buffer[31 - lane];
    }
    asm volatile("bar.sync 1, 64;" ::: "memory");
  }
  __syncthreads();
}

__global__ void waitsForAnother(int* out) {
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 1, 96;");  // here: named-deadlock
  } else {
    asm volatile("bar.arrive 2, 96;");
  }
}

__global__ void countsDiffer(int* out) {
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 1, 64;");
  } else {
    asm volatile("bar.sync 1, 96;");  // here: counts-differ
  }
}

__global__ void arrivesTooOften(int*) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, 5);
  __syncthreads();
  if (threadIdx.x == 0) bar.arrive_and_drop(), bar.arrive(4);
  __syncthreads();
  (void)bar.arrive(5);  // here: arrives-too-often
}

__global__ void neverInitialized(int*) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  bar.arrive_and_wait();  // here: never-initialized
}

__global__ void launches(int* out) {
  neverInitialized<<<1, 1>>>(out);  // here: launches
}

__host__ __device__ void meets(int* out) {
  __syncthreads();  // here: meets-on-the-host
  *out = 1;
}

__global__ void copiesAside(int* out) {
  __shared__ alignas(16) char to[32];
  __pipeline_memcpy_async(to, reinterpret_cast<char*>(out) + 4, 16);  // here: copies-aside
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
  WHEN("launches") launches<<<1, 1>>>(memory);
  WHEN("meets-on-the-host") meets(memory);
  WHEN("copies-aside") copiesAside<<<1, 1>>>(memory);
  WHEN("reads-nothing") return *reinterpret_cast<volatile int*>(argc * 8l);  // here: reads-nothing
  WHEN("copies-onto-itself") {
    cudaMemcpy(memory + 1, memory, 8 * sizeof(int), cudaMemcpyDeviceToDevice);  // here: copies-onto-itself
  }
  WHEN("spins-forever") spinsForever<<<1, 32>>>(memory);
  WHEN("calls-a-library") callsALibrary<<<1, 1>>>(memory);
  WHEN("asks-forever") asksForever<<<2, 32>>>(memory);
  WHEN("counts-votes-forever") countsVotesForever<<<2, 32>>>(memory);
  WHEN("meets-forever") meetsForever<<<1, 64>>>(memory);
  WHEN("asks-for-long") {
    for (int where = 0; where < 4; ++where) asksForLong<<<1, 32>>>(memory, where, 300000);
  }
  WHEN("locks-forever") locksForever<<<1, 32>>>(memory);
  WHEN("computes") computes<<<1, 32>>>(memory, 400000000u + argc);
  WHEN("computes-in-turns") computesInTurns<<<3, 32>>>(memory, 400000000u + argc);
  WHEN("spins-for-a-while") spinsForAWhile<<<1, 32>>>(memory);
  WHEN("deep") deep<<<1, 1>>>(memory);
  WHEN("divides") divides<<<1, 32>>>(memory, argc - 2);
  WHEN("host-memory") {
    int own[32] = {1}, registered[32] = {};
    cudaHostRegister(registered, sizeof registered, 0);
    int* const end = memory + 64;
    released<<<1, 1>>>(registered, end - 64);
    released<<<1, 1>>>(own, memory);  // here: host-memory
    cudaHostUnregister(registered);
  }
  WHEN("indices") indices<<<1, 32>>>(memory, 8);
  WHEN("indices-that-are-right") indicesThatAreRight<<<1, 32, 64 * sizeof(int)>>>(memory, 8);
  WHEN("misaligned-vector") misalignedVector<<<1, 1>>>((float4*)memory, (const char*)memory);
  WHEN("traps") traps<<<1, 1>>>();
  WHEN("barrier-in-branches") barrierInBranches<<<1, 32>>>(memory);
  WHEN("warp-in-branches") warpInBranches<<<1, 32>>>(memory, 0);
  WHEN("warp-in-branches-of-their-own") warpInBranches<<<1, 32>>>(memory, 1);
  WHEN("passes-a-barrier-by") passesABarrierBy<<<2, 128>>>(memory);
  WHEN("barriers-of-roles") barriersOfRoles<<<1, 64>>>(memory);
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
  WHEN("hands-over") handsOver<<<2, 64>>>(memory, 7);
  WHEN("hands-over-with-fewer") handsOverWithFewer<<<2, 50>>>(memory);
  WHEN("arrives-at-the-blocks") arrivesAtTheBlocks<<<1, 64>>>(memory);
  WHEN("named-deadlock") waitsForAnother<<<1, 64>>>(memory);
  WHEN("arrives-too-often") arrivesTooOften<<<1, 32>>>(memory);
  WHEN("never-initialized") neverInitialized<<<1, 32>>>(memory);
  WHEN("counts-differ") countsDiffer<<<1, 64>>>(memory);
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
