// SPDX-License-Identifier: Apache-2.0
// hipport/lock.h: helpers for loops that wait for a lock on AMD. Put here by hipport.
//
// The lanes of a wavefront share one program counter. A lane that has taken a lock must release it before the wavefront
// leaves the loop, because the lanes that still wait keep it from continuing after the loop. So the loop contains the
// critical section:
//
//   for (bool done = false; !hipport::opaque(done);) {
//     if (atomicCAS(lock, 0, 1) == 0) { ...; atomicExch(lock, 0); done = true; }
//   }
//
// Without `opaque` the compiler sees that a lane with the lock leaves the loop, and moves the critical section after it.
//
// If functions take and release the lock, lanes execute the section one after the other:
//
//   for (hipport::one_by_one turn; turn; turn.next()) {
//     if (turn.mine()) { lock.lock(); ...; lock.unlock(); }
//   }
#ifndef HIPPORT_LOCK_H
#define HIPPORT_LOCK_H

#if defined(__HIP__) || defined(__CUDACC__)  // nothing here is for host compilers

#if defined(__HIP__)
#include <hip/hip_runtime.h>
#else
#include <cuda_runtime.h>
#endif

namespace hipport {

/// The same value, but opaque to the compiler. For `bool` and integers of up to 32 bits.
template <typename T>
static __device__ __forceinline__ T opaque(T value) {
  static_assert(sizeof(T) <= sizeof(int), "opaque is for values of up to 32 bits");
  int hidden = static_cast<int>(value);
#if defined(__HIP__) && !defined(SIMT_CORE_H)  // hipport's CPU executor has no vector registers
  asm volatile("" : "+v"(hidden));
#else
  asm volatile("" : "+r"(hidden));
#endif
  return static_cast<T>(hidden);
}

/// Turns of the active lanes of a wavefront: each lane has one.
class one_by_one {
 public:
#if defined(__HIP__)
  __device__ __forceinline__ one_by_one() : left_(__ballot(1)), lane_(__lane_id()) {}
#elif defined(SIMT_CORE_H)
  __device__ __forceinline__ one_by_one() : left_(__activemask()), lane_(::simt::lane()) {}
#else
  __device__ __forceinline__ one_by_one() : left_(__activemask()) { asm("mov.u32 %0, %%laneid;" : "=r"(lane_)); }
#endif
  /// Whether there is a turn left.
  __device__ __forceinline__ explicit operator bool() const { return left_ != 0; }
  /// Whether it is the caller's turn.
  __device__ __forceinline__ bool mine() const { return (left_ & (~left_ + 1)) == 1ull << lane_; }
  __device__ __forceinline__ void next() { left_ &= left_ - 1; }

 private:
  unsigned long long left_;
  unsigned lane_;
};

/// Turns of the warps of 32 lanes in a wavefront, for their active lanes: each warp has one.
class warp_by_warp {
 public:
#if defined(__HIP__)
  __device__ __forceinline__ warp_by_warp() : left_(__ballot(1)), lane_(__lane_id()) {}
#elif defined(SIMT_CORE_H)
  __device__ __forceinline__ warp_by_warp() : left_(__activemask()), lane_(::simt::lane()) {}
#else
  __device__ __forceinline__ warp_by_warp() : left_(__activemask()), lane_(0) {}
#endif
  /// Whether there is a turn left.
  __device__ __forceinline__ explicit operator bool() const { return left_ != 0; }
  /// Whether it is the turn of the caller's warp.
  __device__ __forceinline__ bool mine() const { return (static_cast<unsigned>(left_) == 0) == (lane_ >= 32u); }
  __device__ __forceinline__ void next() { left_ = static_cast<unsigned>(left_) != 0 ? left_ >> 32 << 32 : 0; }

 private:
  unsigned long long left_;
  unsigned lane_;
};

}  // namespace hipport

#endif  // host compilers

#endif  // HIPPORT_LOCK_H
