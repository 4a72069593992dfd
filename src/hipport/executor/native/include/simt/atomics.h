// SPDX-License-Identifier: Apache-2.0
// simt/atomics.h: atomic functions of every width and scope. Those of 16-bit numbers are in half.h and bfloat16.h.
//
// All use the processor's atomic operations, because blocks may run on several threads of the operating system; a scope
// makes no difference. An operation without effect (a compare-and-swap that fails, an exchange that changes nothing)
// may be part of a loop that waits for another thread, so it lets others run.
//
// Functions that CUDA or HIP declares are plain functions; lenient additions are templates, so that a program's own
// functions win.
#ifndef SIMT_ATOMICS_H
#define SIMT_ATOMICS_H

#include <atomic>

#include "core.h"
#include "define.h"
#include "intrinsics.h"
#include "vector_types.h"

namespace simt {
namespace detail {

/// Replace a value of 1, 2, 4 or 8 bytes by `change` of it; return the old value.
template <typename T, typename Change>
inline T update(T* address, Change change) {
  using Word = word_of<T>;
  Word* const word = reinterpret_cast<Word*>(address);
  Word seen = __atomic_load_n(word, __ATOMIC_RELAXED);
  for (;;) {
    const T old = bits_as<T>(seen);
    const Word next = bits_as<Word>(static_cast<T>(change(old)));
    if (__atomic_compare_exchange_n(word, &seen, next, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) return old;
  }
}

template <typename T>
inline T fetch_add(T* address, T value) {
  if constexpr (std::is_integral_v<T>) {
    return __atomic_fetch_add(address, value, __ATOMIC_SEQ_CST);
  } else {
    return update(address, [=](T old) { return static_cast<T>(old + value); });
  }
}
template <typename T>
inline T fetch_sub(T* address, T value) {
  if constexpr (std::is_integral_v<T>) {
    return __atomic_fetch_sub(address, value, __ATOMIC_SEQ_CST);
  } else {
    return update(address, [=](T old) { return static_cast<T>(old - value); });
  }
}
template <typename T>
inline T fetch_min(T* address, T value) {
  // A NaN loses.
  if constexpr (std::is_floating_point_v<T>) {
    return update(address, [=](T old) { return std::fmin(old, value); });
  }
  return update(address, [=](T old) { return value < old ? value : old; });
}
template <typename T>
inline T fetch_max(T* address, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return update(address, [=](T old) { return std::fmax(old, value); });
  }
  return update(address, [=](T old) { return old < value ? value : old; });
}
template <typename T>
inline T fetch_and(T* address, T value) {
  return __atomic_fetch_and(address, value, __ATOMIC_SEQ_CST);
}
template <typename T>
inline T fetch_or(T* address, T value) {
  return __atomic_fetch_or(address, value, __ATOMIC_SEQ_CST);
}
template <typename T>
inline T fetch_xor(T* address, T value) {
  return __atomic_fetch_xor(address, value, __ATOMIC_SEQ_CST);
}
template <typename T>
inline T exchange(T* address, T value) {
  using Word = word_of<T>;
  return bits_as<T>(__atomic_exchange_n(reinterpret_cast<Word*>(address), bits_as<Word>(value), __ATOMIC_SEQ_CST));
}
/// Compares bits.
template <typename T>
inline bool exchange_if(T* address, T& expected, T value) {
  using Word = word_of<T>;
  Word seen = bits_as<Word>(expected);
  const bool done = __atomic_compare_exchange_n(reinterpret_cast<Word*>(address), &seen, bits_as<Word>(value), false,
                                                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  expected = bits_as<T>(seen);
  return done;
}
inline unsigned fetch_inc(unsigned* address, unsigned limit) {
  return update(address, [=](unsigned old) { return old >= limit ? 0u : old + 1u; });
}
inline unsigned fetch_dec(unsigned* address, unsigned limit) {
  return update(address, [=](unsigned old) { return old == 0u || old > limit ? limit : old - 1u; });
}

/// Let others run after an operation that changed nothing.
inline void waited(bool unchanged, Place place) {
  if (unchanged && in_kernel()) yield(place);
}

template <typename T>
inline T compare_and_swap(T* address, T compare, T value, Place place) {
  waited(!exchange_if(address, compare, value), place);
  return compare;
}
template <typename T>
inline T exchange_or_wait(T* address, T value, Place place) {
  const T old = exchange(address, value);
  if constexpr (std::is_integral_v<T>) waited(old == value, place);
  return old;
}

}  // namespace detail
}  // namespace simt

// Each at device, block and system scope. HIP has none at block scope.
#ifdef SIMT_HIP
#define SIMT_SCOPES(make, ...) make(, __VA_ARGS__) make(_system, __VA_ARGS__)
#else
#define SIMT_SCOPES(make, ...) make(, __VA_ARGS__) make(_block, __VA_ARGS__) make(_system, __VA_ARGS__)
#endif
#define SIMT_ATOMIC_AT(suffix, name, T, how)                                                                       \
  inline T name##suffix(T* address, T value) { return ::simt::detail::how(address, value); }
#define SIMT_ATOMIC(name, T, how) SIMT_SCOPES(SIMT_ATOMIC_AT, name, T, how)
// Those that wait if their argument makes them read only.
#define SIMT_LOOKING_AT(suffix, name, T, how, looks)                                                               \
  inline T name##suffix(T* address, T value, SIMT_HERE) {                                                          \
    ::simt::detail::waited(value == static_cast<T>(looks), SIMT_THERE);                                            \
    return ::simt::detail::how(address, value);                                                                    \
  }
#define SIMT_LOOKING(name, T, how, looks) SIMT_SCOPES(SIMT_LOOKING_AT, name, T, how, looks)
#define SIMT_EXCHANGE_AT(suffix, T)                                                                                \
  inline T atomicExch##suffix(T* address, T value, SIMT_HERE) {                                                    \
    return ::simt::detail::exchange_or_wait(address, value, SIMT_THERE);                                           \
  }
#define SIMT_EXCHANGE(T) SIMT_SCOPES(SIMT_EXCHANGE_AT, T)
#define SIMT_CAS_AT(suffix, T)                                                                                     \
  inline T atomicCAS##suffix(T* address, T compare, T value, SIMT_HERE) {                                          \
    return ::simt::detail::compare_and_swap(address, compare, value, SIMT_THERE);                                  \
  }
#define SIMT_CAS(T) SIMT_SCOPES(SIMT_CAS_AT, T)

#define SIMT_INTEGER(T)                   \
  SIMT_LOOKING(atomicAdd, T, fetch_add, 0) \
  SIMT_LOOKING(atomicSub, T, fetch_sub, 0) \
  SIMT_LOOKING(atomicOr, T, fetch_or, 0)   \
  SIMT_LOOKING(atomicXor, T, fetch_xor, 0) \
  SIMT_LOOKING(atomicAnd, T, fetch_and, -1) \
  SIMT_ATOMIC(atomicMin, T, fetch_min)    \
  SIMT_ATOMIC(atomicMax, T, fetch_max)    \
  SIMT_EXCHANGE(T)                        \
  SIMT_CAS(T)
SIMT_INTEGER(int)
SIMT_INTEGER(unsigned)
SIMT_INTEGER(unsigned long long)
SIMT_ATOMIC(atomicMin, long long, fetch_min)
SIMT_ATOMIC(atomicMax, long long, fetch_max)
SIMT_ATOMIC(atomicAdd, float, fetch_add)
SIMT_ATOMIC(atomicAdd, double, fetch_add)
SIMT_EXCHANGE(float)

#ifdef SIMT_HIP
SIMT_ATOMIC_AT(, atomicInc, unsigned, fetch_inc)
SIMT_ATOMIC_AT(, atomicDec, unsigned, fetch_dec)
SIMT_INTEGER(unsigned long)
SIMT_ATOMIC(atomicSub, float, fetch_sub)
SIMT_ATOMIC(atomicSub, double, fetch_sub)
SIMT_ATOMIC(atomicMin, float, fetch_min)
SIMT_ATOMIC(atomicMin, double, fetch_min)
SIMT_ATOMIC(atomicMax, float, fetch_max)
SIMT_ATOMIC(atomicMax, double, fetch_max)
SIMT_EXCHANGE(double)
SIMT_CAS(float)
SIMT_CAS(double)
inline void atomicAddNoRet(float* address, float value) { ::simt::detail::fetch_add(address, value); }
#define SIMT_SAFETY(T)                                                                                  \
  inline T unsafeAtomicAdd(T* address, T value) { return ::simt::detail::fetch_add(address, value); }  \
  inline T safeAtomicAdd(T* address, T value) { return ::simt::detail::fetch_add(address, value); }    \
  inline T unsafeAtomicMin(T* address, T value) { return ::simt::detail::fetch_min(address, value); }  \
  inline T safeAtomicMin(T* address, T value) { return ::simt::detail::fetch_min(address, value); }    \
  inline T unsafeAtomicMax(T* address, T value) { return ::simt::detail::fetch_max(address, value); }  \
  inline T safeAtomicMax(T* address, T value) { return ::simt::detail::fetch_max(address, value); }
SIMT_SAFETY(float)
SIMT_SAFETY(double)
#undef SIMT_SAFETY
#else
SIMT_ATOMIC(atomicInc, unsigned, fetch_inc)
SIMT_ATOMIC(atomicDec, unsigned, fetch_dec)
SIMT_LOOKING(atomicAnd, long long, fetch_and, -1)
SIMT_LOOKING(atomicOr, long long, fetch_or, 0)
SIMT_LOOKING(atomicXor, long long, fetch_xor, 0)
SIMT_CAS(unsigned short)

namespace simt {
namespace detail {

/// A 16-byte type without padding: for such types, the processor's compare-and-swap is used only on request.
template <typename T>
using if_16_bytes = std::enable_if_t<sizeof(T) == 16 && alignof(T) == 16 && std::is_trivially_copyable_v<T>, T>;
SIMT_EXPORT inline std::atomic_flag lock_of_16_bytes = ATOMIC_FLAG_INIT;
template <typename T, typename Change>
inline T update_16_bytes(T* address, Change change) {
  while (lock_of_16_bytes.test_and_set(std::memory_order_acquire)) {
  }
  const T old = *address;
  change(old);
  lock_of_16_bytes.clear(std::memory_order_release);
  return old;
}

}  // namespace detail
}  // namespace simt

#define SIMT_16_BYTES(suffix)                                                                                      \
  template <typename T>                                                                                            \
  inline ::simt::detail::if_16_bytes<T> atomicExch##suffix(T* address, T value) {                                  \
    return ::simt::detail::update_16_bytes(address, [&](const T&) { *address = value; });                          \
  }                                                                                                                \
  template <typename T>                                                                                            \
  inline ::simt::detail::if_16_bytes<T> atomicCAS##suffix(T* address, T compare, T value, SIMT_HERE) {             \
    bool same = false;                                                                                             \
    const T found = ::simt::detail::update_16_bytes(address, [&](const T& old) {                                   \
      same = std::memcmp(&old, &compare, sizeof(T)) == 0;                                                          \
      if (same) *address = value;                                                                                  \
    });                                                                                                            \
    ::simt::detail::waited(!same, SIMT_THERE);                                                                     \
    return found;                                                                                                  \
  }
SIMT_16_BYTES()
SIMT_16_BYTES(_block)
SIMT_16_BYTES(_system)
#undef SIMT_16_BYTES

// Each element separately.
inline float2 atomicAdd(float2* address, float2 value) {
  return float2{atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
}
inline float4 atomicAdd(float4* address, float4 value) {
  return float4{atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y), atomicAdd(&address->z, value.z),
                atomicAdd(&address->w, value.w)};
}
#endif

#undef SIMT_INTEGER
#undef SIMT_CAS
#undef SIMT_CAS_AT
#undef SIMT_EXCHANGE
#undef SIMT_EXCHANGE_AT
#undef SIMT_LOOKING
#undef SIMT_LOOKING_AT
#undef SIMT_ATOMIC
#undef SIMT_ATOMIC_AT
#undef SIMT_SCOPES

// ------------------------------------------------------------- atomics with an order and a scope, as compiler
// built-ins

namespace simt {
namespace detail {

// A volatile or const address is accepted.
template <typename T>
using value_at = std::remove_cv_t<T>;
template <typename T>
inline value_at<T>* plain(T* address) {
  return const_cast<value_at<T>*>(address);
}
template <typename T>
inline value_at<T> ordered_load(T* address, int, int, Place place) {
  look(const_cast<const value_at<T>*>(address), place);
  using Word = word_of<value_at<T>>;
  return bits_as<value_at<T>>(__atomic_load_n(reinterpret_cast<const Word*>(plain(address)), __ATOMIC_SEQ_CST));
}
template <typename T>
inline void ordered_store(T* address, same<value_at<T>> value, int, int) {
  using Word = word_of<value_at<T>>;
  __atomic_store_n(reinterpret_cast<Word*>(plain(address)), bits_as<Word>(value), __ATOMIC_SEQ_CST);
}
template <typename T>
inline value_at<T> ordered_exchange(T* address, same<value_at<T>> value, int, int, Place place) {
  return exchange_or_wait(plain(address), value, place);
}
template <typename T>
inline bool ordered_exchange_if(T* address, value_at<T>* expected, same<value_at<T>> value, int, int, int,
                                Place place) {
  const bool done = exchange_if(plain(address), *expected, value);
  waited(!done, place);
  return done;
}
#define SIMT_ORDERED(name)                                                       \
  template <typename T>                                                             \
  inline value_at<T> ordered_##name(T* address, same<value_at<T>> value, int, int) {    \
    return name(plain(address), value);                                             \
  }
SIMT_ORDERED(fetch_add)
SIMT_ORDERED(fetch_sub)
SIMT_ORDERED(fetch_min)
SIMT_ORDERED(fetch_max)
SIMT_ORDERED(fetch_and)
SIMT_ORDERED(fetch_or)
SIMT_ORDERED(fetch_xor)
#undef SIMT_ORDERED

}  // namespace detail
}  // namespace simt

#define SIMT_AT_LINE ::simt::Place{__FILE__, __LINE__}

#ifdef SIMT_HIP

#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5

// Macros, because clang reserves these names, so that no function can have them.
#define __hip_atomic_load(...) ::simt::detail::ordered_load(__VA_ARGS__, SIMT_AT_LINE)
#define __hip_atomic_store(...) ::simt::detail::ordered_store(__VA_ARGS__)
#define __hip_atomic_exchange(...) ::simt::detail::ordered_exchange(__VA_ARGS__, SIMT_AT_LINE)
#define __hip_atomic_compare_exchange_strong(...) ::simt::detail::ordered_exchange_if(__VA_ARGS__, SIMT_AT_LINE)
#define __hip_atomic_compare_exchange_weak(...) ::simt::detail::ordered_exchange_if(__VA_ARGS__, SIMT_AT_LINE)
#define __hip_atomic_fetch_add(...) ::simt::detail::ordered_fetch_add(__VA_ARGS__)
#define __hip_atomic_fetch_sub(...) ::simt::detail::ordered_fetch_sub(__VA_ARGS__)
#define __hip_atomic_fetch_min(...) ::simt::detail::ordered_fetch_min(__VA_ARGS__)
#define __hip_atomic_fetch_max(...) ::simt::detail::ordered_fetch_max(__VA_ARGS__)
#define __hip_atomic_fetch_and(...) ::simt::detail::ordered_fetch_and(__VA_ARGS__)
#define __hip_atomic_fetch_or(...) ::simt::detail::ordered_fetch_or(__VA_ARGS__)
#define __hip_atomic_fetch_xor(...) ::simt::detail::ordered_fetch_xor(__VA_ARGS__)

#else

// nvcc's, since CUDA 12.8. Orders and scopes are optional.
#define __NV_ATOMIC_RELAXED 0
#define __NV_ATOMIC_CONSUME 1
#define __NV_ATOMIC_ACQUIRE 2
#define __NV_ATOMIC_RELEASE 3
#define __NV_ATOMIC_ACQ_REL 4
#define __NV_ATOMIC_SEQ_CST 5
#define __NV_THREAD_SCOPE_THREAD 0
#define __NV_THREAD_SCOPE_BLOCK 1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE 3
#define __NV_THREAD_SCOPE_SYSTEM 4

template <typename T>
inline ::simt::detail::value_at<T> __nv_atomic_load_n(T* from, int order = 5, int scope = 4, SIMT_HERE) {
  return ::simt::detail::ordered_load(from, order, scope, SIMT_THERE);
}
template <typename T>
inline void __nv_atomic_load(T* from, ::simt::detail::value_at<T>* to, int order = 5, int scope = 4, SIMT_HERE) {
  *to = ::simt::detail::ordered_load(from, order, scope, SIMT_THERE);
}
template <typename T>
inline void __nv_atomic_store_n(T* to, ::simt::detail::same<T> value, int order = 5, int scope = 4) {
  ::simt::detail::ordered_store(to, value, order, scope);
}
template <typename T>
inline T __nv_atomic_exchange_n(T* at, ::simt::detail::same<T> value, int order = 5, int scope = 4, SIMT_HERE) {
  return ::simt::detail::ordered_exchange(at, value, order, scope, SIMT_THERE);
}
template <typename T>
inline bool __nv_atomic_compare_exchange_n(T* at, T* expected, ::simt::detail::same<T> value, bool = false,
                                           int order = 5, int if_not = 5, int scope = 4, SIMT_HERE) {
  return ::simt::detail::ordered_exchange_if(at, expected, value, order, if_not, scope, SIMT_THERE);
}
#define SIMT_NV_ATOMIC(name)                                                                                       \
  template <typename T>                                                                                            \
  inline T __nv_atomic_##name(T* at, ::simt::detail::same<T> value, int order = 5, int scope = 4) {                \
    return ::simt::detail::ordered_##name(at, value, order, scope);                                                \
  }
SIMT_NV_ATOMIC(fetch_add)
SIMT_NV_ATOMIC(fetch_sub)
SIMT_NV_ATOMIC(fetch_min)
SIMT_NV_ATOMIC(fetch_max)
SIMT_NV_ATOMIC(fetch_and)
SIMT_NV_ATOMIC(fetch_or)
SIMT_NV_ATOMIC(fetch_xor)
#undef SIMT_NV_ATOMIC
inline void __nv_atomic_thread_fence(int = 5, int = 4, SIMT_HERE) { ::simt::detail::fence(SIMT_THERE); }

#endif

#endif
