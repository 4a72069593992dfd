// SPDX-License-Identifier: Apache-2.0
// hipport/atomics.h: CUDA's atomic functions that HIP does not declare, for AMD. Put here by hipport.
//
// * hipport::atomicAdd_block and similar functions with block scope; atomicInc_system and atomicDec_system.
// * Overloads, in the global namespace like CUDA's, for __half, __half2, __nv_bfloat16, __nv_bfloat162, float2 and
//   float4 (atomicAdd), for long long (atomicMin, atomicMax) and for unsigned short (atomicCAS). They are templates: if a
//   release of HIP has the function, its own is preferred.
//
// Values narrower than a word are replaced within their word, by compare-and-swap. A __half2 is replaced as a whole,
// where CUDA guarantees atomicity for each half. None of them orders other memory accesses, as in CUDA.
//
// With nvcc the functions are the native ones.
#ifndef HIPPORT_ATOMICS_H
#define HIPPORT_ATOMICS_H

#if defined(__HIP__) || defined(__CUDACC__)  // nothing here is for host compilers

#if defined(__HIP__)

#include <hip/hip_runtime.h>

#include <hip/hip_fp16.h>
#if HIP_VERSION >= 60200000  // in older releases that header cannot be in two sources of one program
#include <hip/hip_bf16.h>
#define HIPPORT_BFLOAT16
#endif

#include <cstdint>
#include <type_traits>

#define HIPPORT_DEVICE static __device__ __forceinline__

namespace hipport {
namespace detail {

/// A parameter that is converted to `T` and takes no part in its deduction.
template <typename T>
struct as_is {
  using type = T;
};
template <typename T>
using same = typename as_is<T>::type;

HIPPORT_DEVICE __half sum(__half a, __half b) { return __hadd(a, b); }
HIPPORT_DEVICE __half2 sum(__half2 a, __half2 b) { return __hadd2(a, b); }
#ifdef HIPPORT_BFLOAT16
HIPPORT_DEVICE __hip_bfloat16 sum(__hip_bfloat16 a, __hip_bfloat16 b) {
  return __float2bfloat16(__bfloat162float(a) + __bfloat162float(b));
}
HIPPORT_DEVICE __hip_bfloat162 sum(__hip_bfloat162 a, __hip_bfloat162 b) {
  return __hip_bfloat162(sum(__low2bfloat16(a), __low2bfloat16(b)), sum(__high2bfloat16(a), __high2bfloat16(b)));
}
#endif

/// Whether atomicAdd of a `T` is implemented by compare-and-swap here.
template <typename T>
struct is_half : std::integral_constant<bool, std::is_same<T, __half>::value || std::is_same<T, __half2>::value> {};
#ifdef HIPPORT_BFLOAT16
template <>
struct is_half<__hip_bfloat16> : std::true_type {};
template <>
struct is_half<__hip_bfloat162> : std::true_type {};
#endif

template <typename To, typename From>
HIPPORT_DEVICE To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "no bit may be lost or made up");
  To to;
  __builtin_memcpy(static_cast<void*>(&to), &from, sizeof(to));
  return to;
}

/// Replace the value by `change` of it; return the old value. It has 2 or 4 bytes, and is aligned to them.
template <int scope, typename T, typename Change>
HIPPORT_DEVICE T update(T* address, Change change) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "a value of 2 or 4 bytes");
  using Bits = typename std::conditional<sizeof(T) == 2, unsigned short, unsigned>::type;
  const uintptr_t place = reinterpret_cast<uintptr_t>(address);
  unsigned* word = reinterpret_cast<unsigned*>(place & ~uintptr_t{3});
  const unsigned shift = static_cast<unsigned>(place & 3) * 8;
  const unsigned mask = static_cast<unsigned>(static_cast<Bits>(~0u)) << shift;
  unsigned seen = __hip_atomic_load(word, __ATOMIC_RELAXED, scope);
  for (;;) {
    const T old = bits_as<T>(static_cast<Bits>(seen >> shift));
    const unsigned changed = static_cast<unsigned>(bits_as<Bits>(static_cast<T>(change(old)))) << shift;
    if (__hip_atomic_compare_exchange_strong(word, &seen, (seen & ~mask) | changed, __ATOMIC_RELAXED,
                                             __ATOMIC_RELAXED, scope)) {
      return old;
    }
  }
}

template <int scope, typename T>
HIPPORT_DEVICE T add_halves(T* address, T value) {
  return update<scope>(address, [=](T old) { return sum(old, value); });
}
template <int scope>
HIPPORT_DEVICE unsigned increment(unsigned* address, unsigned limit) {
  return update<scope>(address, [=](unsigned old) { return old >= limit ? 0u : old + 1u; });
}
template <int scope>
HIPPORT_DEVICE unsigned decrement(unsigned* address, unsigned limit) {
  return update<scope>(address, [=](unsigned old) { return old == 0u || old > limit ? limit : old - 1u; });
}

}  // namespace detail

// ---- block scope

#define HIPPORT_BLOCK(name, operation)                                                                       \
  template <typename T, typename std::enable_if<!detail::is_half<T>::value, int>::type = 0>                               \
  HIPPORT_DEVICE T name(T* address, detail::same<T> value) {                                                 \
    return __hip_atomic_##operation(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);         \
  }
HIPPORT_BLOCK(atomicAdd_block, fetch_add)
HIPPORT_BLOCK(atomicMin_block, fetch_min)
HIPPORT_BLOCK(atomicMax_block, fetch_max)
HIPPORT_BLOCK(atomicAnd_block, fetch_and)
HIPPORT_BLOCK(atomicOr_block, fetch_or)
HIPPORT_BLOCK(atomicXor_block, fetch_xor)
HIPPORT_BLOCK(atomicExch_block, exchange)
#undef HIPPORT_BLOCK

template <typename T, typename std::enable_if<detail::is_half<T>::value, int>::type = 0>
HIPPORT_DEVICE T atomicAdd_block(T* address, detail::same<T> value) {
  return detail::add_halves<__HIP_MEMORY_SCOPE_WORKGROUP>(address, value);
}
template <typename T>
HIPPORT_DEVICE T atomicSub_block(T* address, detail::same<T> value) {
  return atomicAdd_block(address, static_cast<T>(0 - value));
}
template <typename T, typename std::enable_if<sizeof(T) != 2, int>::type = 0>
HIPPORT_DEVICE T atomicCAS_block(T* address, detail::same<T> compare, detail::same<T> value) {
  __hip_atomic_compare_exchange_strong(address, &compare, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_WORKGROUP);
  return compare;
}
template <typename T, typename std::enable_if<sizeof(T) == 2, int>::type = 0>
HIPPORT_DEVICE T atomicCAS_block(T* address, detail::same<T> compare, detail::same<T> value) {
  return detail::update<__HIP_MEMORY_SCOPE_WORKGROUP>(address, [=](T old) { return old == compare ? value : old; });
}
HIPPORT_DEVICE unsigned atomicInc_block(unsigned* address, unsigned limit) {
  return detail::increment<__HIP_MEMORY_SCOPE_WORKGROUP>(address, limit);
}
HIPPORT_DEVICE unsigned atomicDec_block(unsigned* address, unsigned limit) {
  return detail::decrement<__HIP_MEMORY_SCOPE_WORKGROUP>(address, limit);
}

// ---- system scope

HIPPORT_DEVICE unsigned atomicInc_system(unsigned* address, unsigned limit) {
  return detail::increment<__HIP_MEMORY_SCOPE_SYSTEM>(address, limit);
}
HIPPORT_DEVICE unsigned atomicDec_system(unsigned* address, unsigned limit) {
  return detail::decrement<__HIP_MEMORY_SCOPE_SYSTEM>(address, limit);
}

}  // namespace hipport

// ---- overloads of the device's functions

template <typename T, typename std::enable_if<hipport::detail::is_half<T>::value, int>::type = 0>
HIPPORT_DEVICE T atomicAdd(T* address, hipport::detail::same<T> value) {
  return hipport::detail::add_halves<__HIP_MEMORY_SCOPE_AGENT>(address, value);
}
template <typename T, typename std::enable_if<hipport::detail::is_half<T>::value, int>::type = 0>
HIPPORT_DEVICE T atomicAdd_system(T* address, hipport::detail::same<T> value) {
  return hipport::detail::add_halves<__HIP_MEMORY_SCOPE_SYSTEM>(address, value);
}
// CUDA guarantees atomicity for each element, not for all of them together.
template <typename T, typename std::enable_if<std::is_same<T, float2>::value, int>::type = 0>
HIPPORT_DEVICE T atomicAdd(T* address, hipport::detail::same<T> value) {
  return make_float2(atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y));
}
template <typename T, typename std::enable_if<std::is_same<T, float4>::value, int>::type = 0>
HIPPORT_DEVICE T atomicAdd(T* address, hipport::detail::same<T> value) {
  return make_float4(atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y),
                     atomicAdd(&address->z, value.z), atomicAdd(&address->w, value.w));
}
template <typename T, typename std::enable_if<std::is_same<T, float2>::value, int>::type = 0>
HIPPORT_DEVICE T atomicAdd_system(T* address, hipport::detail::same<T> value) {
  return make_float2(atomicAdd_system(&address->x, value.x), atomicAdd_system(&address->y, value.y));
}
template <typename T, typename std::enable_if<std::is_same<T, float4>::value, int>::type = 0>
HIPPORT_DEVICE T atomicAdd_system(T* address, hipport::detail::same<T> value) {
  return make_float4(atomicAdd_system(&address->x, value.x), atomicAdd_system(&address->y, value.y),
                     atomicAdd_system(&address->z, value.z), atomicAdd_system(&address->w, value.w));
}
#define HIPPORT_BITS(name, operation, scope)                                                             \
  template <typename T, typename std::enable_if<std::is_same<T, long long>::value, int>::type = 0>       \
  HIPPORT_DEVICE T name(T* address, hipport::detail::same<T> value) {                                    \
    return __hip_atomic_fetch_##operation(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_##scope); \
  }
HIPPORT_BITS(atomicAnd, and, AGENT)
HIPPORT_BITS(atomicOr, or, AGENT)
HIPPORT_BITS(atomicXor, xor, AGENT)
HIPPORT_BITS(atomicAnd_system, and, SYSTEM)
HIPPORT_BITS(atomicOr_system, or, SYSTEM)
HIPPORT_BITS(atomicXor_system, xor, SYSTEM)
#undef HIPPORT_BITS
template <typename T, typename std::enable_if<std::is_same<T, long long>::value, int>::type = 0>
HIPPORT_DEVICE T atomicMin(T* address, hipport::detail::same<T> value) {
  return __hip_atomic_fetch_min(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T, typename std::enable_if<std::is_same<T, long long>::value, int>::type = 0>
HIPPORT_DEVICE T atomicMax(T* address, hipport::detail::same<T> value) {
  return __hip_atomic_fetch_max(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T, typename std::enable_if<std::is_same<T, unsigned short>::value, int>::type = 0>
HIPPORT_DEVICE T atomicCAS(T* address, hipport::detail::same<T> compare, hipport::detail::same<T> value) {
  return hipport::detail::update<__HIP_MEMORY_SCOPE_AGENT>(address,
                                                           [=](T old) { return old == compare ? value : old; });
}

#undef HIPPORT_BFLOAT16
#undef HIPPORT_DEVICE

#else  // nvcc

#include <cuda_runtime.h>

namespace hipport {
using ::atomicAdd_block;
using ::atomicAnd_block;
using ::atomicCAS_block;
using ::atomicDec_block;
using ::atomicDec_system;
using ::atomicExch_block;
using ::atomicInc_block;
using ::atomicInc_system;
using ::atomicMax_block;
using ::atomicMin_block;
using ::atomicOr_block;
using ::atomicSub_block;
using ::atomicXor_block;
}  // namespace hipport

#endif

#endif  // host compilers

#endif  // HIPPORT_ATOMICS_H
