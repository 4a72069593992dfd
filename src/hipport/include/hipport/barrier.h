// SPDX-License-Identifier: Apache-2.0
// hipport/barrier.h: CUDA's barriers with a vote, for blocks that some threads have left. Put here by hipport.
//
// HIP's __syncthreads_count, _and and _or take the vote of each wavefront from its lane 0, and need the first wavefront of
// the block (__ockl_wgred_*_i32 in ROCm's device libraries). After an early return of some threads that lane may be gone.
// CUDA counts the threads that are there, and so do these.
#ifndef HIPPORT_BARRIER_H
#define HIPPORT_BARRIER_H

#if defined(__HIP__) || defined(__CUDACC__)  // nothing of this is for host compilers

#if defined(__HIP__)
#include <hip/hip_runtime.h>
#else
#include <cuda_runtime.h>
#endif

#define HIPPORT_DEVICE static __device__ __forceinline__

namespace hipport {

#if defined(__HIP__)

/// How many of the threads that are left in the block have a predicate that is not 0.
HIPPORT_DEVICE int syncthreads_count(int predicate) {
  __shared__ int total;
  // In each wavefront the first lane that is there speaks for all.
  const bool speaks = static_cast<int>(__lane_id()) ==
                      static_cast<int>(__ffsll(static_cast<unsigned long long>(__ballot(1)))) - 1;
  const int here = static_cast<int>(__popcll(__ballot(predicate != 0)));
  if (speaks) __hip_atomic_store(&total, 0, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();
  if (speaks) __hip_atomic_fetch_add(&total, here, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();
  const int result = __hip_atomic_load(&total, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();  // The next call begins with storing 0.
  return result;
}
HIPPORT_DEVICE int syncthreads_or(int predicate) { return syncthreads_count(predicate) != 0; }
HIPPORT_DEVICE int syncthreads_and(int predicate) { return syncthreads_count(predicate == 0) == 0; }

#else  // nvcc

HIPPORT_DEVICE int syncthreads_count(int predicate) { return __syncthreads_count(predicate); }
HIPPORT_DEVICE int syncthreads_or(int predicate) { return __syncthreads_or(predicate); }
HIPPORT_DEVICE int syncthreads_and(int predicate) { return __syncthreads_and(predicate); }

#endif

}  // namespace hipport

#undef HIPPORT_DEVICE

#endif  // host compilers

#endif  // HIPPORT_BARRIER_H
