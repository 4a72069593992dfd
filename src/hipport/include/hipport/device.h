// SPDX-License-Identifier: Apache-2.0
// hipport/device.h: functions of CUDA's device code that HIP lacks, or has for other types, for AMD. Put here by hipport.
// With nvcc the functions are the native ones.
//
// Functions that are also PTX instructions, such as additions with directed rounding, are in ptx.h.
#ifndef HIPPORT_DEVICE_H
#define HIPPORT_DEVICE_H

#if defined(__HIP__) || defined(__CUDACC__)  // nothing here is for host compilers

#include "ptx.h"

namespace hipport {

#if defined(__HIP__)

/// HIP has it for long long and unsigned long long, between which a long is ambiguous.
static __device__ __forceinline__ int ffsll(long long value) { return __builtin_ffsll(value); }

/// Rounded to nearest: the result in double is never so near to the middle of two floats that rounding twice matters
/// (checked for all floats of two binades; all others are multiples of these by powers of 4).
static __device__ __forceinline__ float frsqrt_rn(float value) {
  return static_cast<float>(1.0 / sqrt(static_cast<double>(value)));
}

/// AMD's instructions for sine and cosine accept at most 256 turns, and return 0 and 1 beyond; NVIDIA's are only less
/// accurate there. Large angles lose their whole turns first; others are as in HIP.
static __device__ __forceinline__ float within_turns(float angle) {
  const float turns = rintf(angle * 0.15915494f);
  // The difference between the nearest float and a turn is added back.
  return fabsf(angle) <= 1600.0f ? angle : fmaf(turns, 1.7484555e-7f, fmaf(turns, -6.2831855f, angle));
}
static __device__ __forceinline__ float sinf_approx(float angle) { return __sinf(within_turns(angle)); }
static __device__ __forceinline__ float cosf_approx(float angle) { return __cosf(within_turns(angle)); }
static __device__ __forceinline__ float tanf_approx(float angle) { return __tanf(within_turns(angle)); }
static __device__ __forceinline__ void sincosf_approx(float angle, float* sine, float* cosine) {
  __sincosf(within_turns(angle), sine, cosine);
}

/// An address in shared memory is a 32-bit offset there; in constant memory it is an address in global memory.
#define HIPPORT_CVTA(space, name)                                                             \
  static __device__ __forceinline__ size_t cvta_generic_to_##space(const void* pointer) {     \
    return static_cast<size_t>(ptx::cvta_to_##name##_u64(pointer));                           \
  }                                                                                           \
  static __device__ __forceinline__ void* cvta_##space##_to_generic(size_t address) {         \
    return reinterpret_cast<void*>(ptx::cvta_##name##_u64(address));                          \
  }

/// For host and device, as in CUDA.
#define HIPPORT_MINIMUM(type, least, greatest)                                                                         \
  static __host__ __device__ __forceinline__ type least(const type a, const type b) { return a < b ? a : b; }          \
  static __host__ __device__ __forceinline__ type greatest(const type a, const type b) { return a > b ? a : b; }
HIPPORT_MINIMUM(unsigned, umin, umax)
HIPPORT_MINIMUM(long long, llmin, llmax)
HIPPORT_MINIMUM(unsigned long long, ullmin, ullmax)
#undef HIPPORT_MINIMUM
static __device__ __forceinline__ double fdivide(double a, double b) { return a / b; }

#else

static __device__ __forceinline__ float sinf_approx(float angle) { return ::__sinf(angle); }
static __device__ __forceinline__ float cosf_approx(float angle) { return ::__cosf(angle); }
static __device__ __forceinline__ float tanf_approx(float angle) { return ::__tanf(angle); }
static __device__ __forceinline__ void sincosf_approx(float angle, float* sine, float* cosine) {
  ::__sincosf(angle, sine, cosine);
}
static __host__ __device__ __forceinline__ unsigned umin(const unsigned a, const unsigned b) { return ::umin(a, b); }
static __host__ __device__ __forceinline__ unsigned umax(const unsigned a, const unsigned b) { return ::umax(a, b); }
static __host__ __device__ __forceinline__ long long llmin(const long long a, const long long b) {
  return ::llmin(a, b);
}
static __host__ __device__ __forceinline__ long long llmax(const long long a, const long long b) {
  return ::llmax(a, b);
}
static __host__ __device__ __forceinline__ unsigned long long ullmin(const unsigned long long a,
                                                                     const unsigned long long b) {
  return ::ullmin(a, b);
}
static __host__ __device__ __forceinline__ unsigned long long ullmax(const unsigned long long a,
                                                                     const unsigned long long b) {
  return ::ullmax(a, b);
}
static __device__ __forceinline__ double fdivide(double a, double b) { return ::fdivide(a, b); }
static __device__ __forceinline__ int ffsll(long long value) { return __ffsll(value); }
static __device__ __forceinline__ float frsqrt_rn(float value) { return __frsqrt_rn(value); }

#define HIPPORT_CVTA(space, name)                                                             \
  static __device__ __forceinline__ size_t cvta_generic_to_##space(const void* pointer) {     \
    return __cvta_generic_to_##space(pointer);                                                \
  }                                                                                           \
  static __device__ __forceinline__ void* cvta_##space##_to_generic(size_t address) {         \
    return __cvta_##space##_to_generic(address);                                              \
  }

#endif

HIPPORT_CVTA(global, global)
HIPPORT_CVTA(shared, shared)
HIPPORT_CVTA(local, local)
HIPPORT_CVTA(constant, const)
#undef HIPPORT_CVTA

/// Counts an event for a profiler, in CUDA; it has no effect on the program.
static __device__ __forceinline__ void prof_trigger(int) {}

}  // namespace hipport

#endif  // host compilers

#endif  // HIPPORT_DEVICE_H
