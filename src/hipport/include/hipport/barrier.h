// SPDX-License-Identifier: Apache-2.0
// hipport/barrier.h: CUDA's barriers with a vote, for blocks in which some threads have exited, and PTX's numbered
// ones. Put here by hipport.
//
// HIP's __syncthreads_count, _and and _or take the vote of each wavefront from its lane 0, and need the first wavefront
// of the block (__ockl_wgred_*_i32 in ROCm's device libraries). After an early return of some threads that lane may be
// gone. CUDA counts the remaining threads, and so do these functions.
//
// PTX's numbered barriers are for some warps of a block. Here they are counters in shared memory, which a kernel that
// uses them sets to 0 at its beginning. Waiting threads poll. Wavefronts make progress independently, but two warps
// that share a wavefront of 64 lanes do not: neither may wait for what the other does later, or in another branch.
#ifndef HIPPORT_BARRIER_H
#define HIPPORT_BARRIER_H

#if defined(__HIP__) || defined(__CUDACC__)  // nothing here is for host compilers

#if defined(__HIP__)
#include <hip/hip_runtime.h>
#else
#include <cuda_runtime.h>
#endif

#define HIPPORT_DEVICE static __device__ __forceinline__

namespace hipport {

#if defined(__HIP__)

/// How many of the threads that have not exited have a nonzero predicate.
HIPPORT_DEVICE int syncthreads_count(int predicate) {
  __shared__ int total;
  // In each wavefront the first active lane votes for all.
  const bool speaks = static_cast<int>(__lane_id()) ==
                      static_cast<int>(__ffsll(static_cast<unsigned long long>(__ballot(1)))) - 1;
  const int here = static_cast<int>(__popcll(__ballot(predicate != 0)));
  if (speaks) __hip_atomic_store(&total, 0, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();
  if (speaks) __hip_atomic_fetch_add(&total, here, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();
  const int result = __hip_atomic_load(&total, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();  // the next call begins by storing 0
  return result;
}
HIPPORT_DEVICE int syncthreads_or(int predicate) { return syncthreads_count(predicate) != 0; }
HIPPORT_DEVICE int syncthreads_and(int predicate) { return syncthreads_count(predicate == 0) == 0; }

namespace detail {
struct numbered {
  unsigned arrived[16], turn[16];
};
HIPPORT_DEVICE numbered& numbered_barriers() {
  __shared__ numbered all;
  return all;
}
/// Count each warp of 32 with active lanes as arrived, once, at its own number; the last ones open the barrier.
HIPPORT_DEVICE void arrive(unsigned number, unsigned threads) {
  numbered& all = numbered_barriers();
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_wave_barrier();
  const unsigned half = __lane_id() & 32u;
  const unsigned here = static_cast<unsigned>(__ballot(1) >> half);
  if (__lane_id() - half == static_cast<unsigned>(__ffs(static_cast<int>(here))) - 1) {
    const unsigned before =
        __hip_atomic_fetch_add(&all.arrived[number], 32u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_WORKGROUP);
    if (before + 32u >= threads) {
      __hip_atomic_store(&all.arrived[number], 0u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
      __hip_atomic_fetch_add(&all.turn[number], 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
    }
  }
  // So that the counting lane does not get a loop of its own.
  __builtin_amdgcn_wave_barrier();
}
}  // namespace detail

/// Begin a kernel that uses numbered barriers; all threads of the block have to call this.
HIPPORT_DEVICE void begin_numbered_barriers() {
  const unsigned rank = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned size = blockDim.x * blockDim.y * blockDim.z;
  for (unsigned i = rank; i < 16; i += size) {
    detail::numbered_barriers().arrived[i] = 0;
    detail::numbered_barriers().turn[i] = 0;
  }
  __syncthreads();
}
/// PTX's `bar.arrive` of `threads` threads, a multiple of 32.
HIPPORT_DEVICE void numbered_arrive(unsigned number, unsigned threads) { detail::arrive(number, threads); }
/// PTX's `bar.sync`; without a number of threads, for the whole block.
HIPPORT_DEVICE void numbered_sync(unsigned number, unsigned threads) {
  const unsigned* turn = &detail::numbered_barriers().turn[number];
  const unsigned before = __hip_atomic_load(turn, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  detail::arrive(number, threads);
  while (__hip_atomic_load(turn, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) == before) __builtin_amdgcn_s_sleep(1);
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
HIPPORT_DEVICE void numbered_sync(unsigned number) {
  numbered_sync(number, (blockDim.x * blockDim.y * blockDim.z + 31u) / 32u * 32u);
}

#else  // nvcc

#if defined(SIMT_CORE_H)  // hipport's CPU executor
HIPPORT_DEVICE void numbered_arrive(unsigned number, unsigned threads, SIMT_HERE) {
  ::simt::barrier_of(number, threads, true, SIMT_THERE);
}
HIPPORT_DEVICE void numbered_sync(unsigned number, unsigned threads = 0, SIMT_HERE) {
  ::simt::barrier_of(number, threads, false, SIMT_THERE);
}
#else
HIPPORT_DEVICE void numbered_arrive(unsigned number, unsigned threads) {
  asm volatile("bar.arrive %0, %1;" : : "r"(number), "r"(threads) : "memory");
}
HIPPORT_DEVICE void numbered_sync(unsigned number, unsigned threads) {
  asm volatile("bar.sync %0, %1;" : : "r"(number), "r"(threads) : "memory");
}
HIPPORT_DEVICE void numbered_sync(unsigned number) { asm volatile("bar.sync %0;" : : "r"(number) : "memory"); }
#endif
HIPPORT_DEVICE void begin_numbered_barriers() {}

HIPPORT_DEVICE int syncthreads_count(int predicate) { return __syncthreads_count(predicate); }
HIPPORT_DEVICE int syncthreads_or(int predicate) { return __syncthreads_or(predicate); }
HIPPORT_DEVICE int syncthreads_and(int predicate) { return __syncthreads_and(predicate); }

#endif

}  // namespace hipport

#undef HIPPORT_DEVICE

#endif  // host compilers

#endif  // HIPPORT_BARRIER_H
