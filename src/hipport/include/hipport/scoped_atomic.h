// SPDX-License-Identifier: Apache-2.0
// hipport/scoped_atomic.h: scoped atomic objects and references, which CUDA has in libcu++. Put here by hipport.
//
// hipport::atomic, atomic_ref, atomic_flag and atomic_thread_fence are cuda::atomic and so on, built from the
// compiler's scoped atomic operations; on the host, too. A value has 1, 2, 4 or 8 bytes. Arithmetic operations are for
// numbers, and for pointers, which move by elements.
//
// Loops that wait for an action of a lane of the same wavefront do not end on AMD, whatever they wait with.
//
// With nvcc these are CUDA's own.
#ifndef HIPPORT_SCOPED_ATOMIC_H
#define HIPPORT_SCOPED_ATOMIC_H

#if defined(__CUDACC__) && !defined(__HIP__)

#include <cuda/atomic>

namespace hipport {
using namespace ::cuda;
using ::cuda::std::atomic_flag;
}  // namespace hipport

#else

#if defined(__HIP__)
#include <hip/hip_runtime.h>
#define HIPPORT_BOTH __host__ __device__ __forceinline__
#else
#define HIPPORT_BOTH inline
#endif

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace hipport {

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_consume;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;

namespace detail {

#if defined(__HIP__)
template <thread_scope scope>
struct hip_scope {
  static constexpr int value = scope == thread_scope_system   ? __HIP_MEMORY_SCOPE_SYSTEM
                               : scope == thread_scope_device ? __HIP_MEMORY_SCOPE_AGENT
                               : scope == thread_scope_block  ? __HIP_MEMORY_SCOPE_WORKGROUP
                                                              : __HIP_MEMORY_SCOPE_SINGLETHREAD;
};
#endif

template <std::size_t size>
struct atomic_word;
template <>
struct atomic_word<1> {
  using type = unsigned char;
};
template <>
struct atomic_word<2> {
  using type = unsigned short;
};
template <>
struct atomic_word<4> {
  using type = unsigned;
};
template <>
struct atomic_word<8> {
  using type = unsigned long long;
};

template <typename To, typename From>
HIPPORT_BOTH To atomic_bits(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "no bit may be lost or made up");
  To to;
  __builtin_memcpy(static_cast<void*>(&to), &from, sizeof(to));
  return to;
}

/// The order of a load that finds another value than expected, if the exchange has `order`.
constexpr HIPPORT_BOTH memory_order when_other(memory_order order) {
  return order == memory_order_acq_rel ? memory_order_acquire
         : order == memory_order_release ? memory_order_relaxed
                                         : order;
}

// The compiler needs a constant order: each is a separate call, of which one is left if the order is known.
#define HIPPORT_ORDERED(call)                                      \
  switch (order) {                                                 \
    case memory_order_relaxed: call(__ATOMIC_RELAXED); break;      \
    case memory_order_consume:                                     \
    case memory_order_acquire: call(__ATOMIC_ACQUIRE); break;      \
    case memory_order_release: call(__ATOMIC_RELEASE); break;      \
    case memory_order_acq_rel: call(__ATOMIC_ACQ_REL); break;      \
    default: call(__ATOMIC_SEQ_CST); break;                        \
  }

template <thread_scope scope, typename Word>
HIPPORT_BOTH Word load_atomic(const Word* at, memory_order order) {
  Word seen;
#if defined(__HIP__)
#define HIPPORT_CALL(order) seen = __hip_atomic_load(at, order, hip_scope<scope>::value)
#else
#define HIPPORT_CALL(order) seen = __atomic_load_n(at, order)
#endif
  switch (order) {
    case memory_order_relaxed: HIPPORT_CALL(__ATOMIC_RELAXED); break;
    case memory_order_consume:
    case memory_order_acquire: HIPPORT_CALL(__ATOMIC_ACQUIRE); break;
    default: HIPPORT_CALL(__ATOMIC_SEQ_CST); break;
  }
#undef HIPPORT_CALL
  return seen;
}

template <thread_scope scope, typename Word>
HIPPORT_BOTH void store_atomic(Word* at, Word value, memory_order order) {
#if defined(__HIP__)
#define HIPPORT_CALL(order) __hip_atomic_store(at, value, order, hip_scope<scope>::value)
#else
#define HIPPORT_CALL(order) __atomic_store_n(at, value, order)
#endif
  switch (order) {
    case memory_order_relaxed: HIPPORT_CALL(__ATOMIC_RELAXED); break;
    case memory_order_release: HIPPORT_CALL(__ATOMIC_RELEASE); break;
    default: HIPPORT_CALL(__ATOMIC_SEQ_CST); break;
  }
#undef HIPPORT_CALL
}

template <thread_scope scope, typename Word>
HIPPORT_BOTH Word exchange_atomic(Word* at, Word value, memory_order order) {
  Word seen;
#if defined(__HIP__)
#define HIPPORT_CALL(order) seen = __hip_atomic_exchange(at, value, order, hip_scope<scope>::value)
#else
#define HIPPORT_CALL(order) seen = __atomic_exchange_n(at, value, order)
#endif
  HIPPORT_ORDERED(HIPPORT_CALL)
#undef HIPPORT_CALL
  return seen;
}

template <thread_scope scope, typename Word>
HIPPORT_BOTH bool exchange_atomic_if(Word* at, Word* expected, Word value, memory_order order) {
  bool done;
#if defined(__HIP__)
#define HIPPORT_CALL(order, other) \
  done = __hip_atomic_compare_exchange_strong(at, expected, value, order, other, hip_scope<scope>::value)
#else
#define HIPPORT_CALL(order, other) done = __atomic_compare_exchange_n(at, expected, value, false, order, other)
#endif
  switch (order) {
    case memory_order_relaxed: HIPPORT_CALL(__ATOMIC_RELAXED, __ATOMIC_RELAXED); break;
    case memory_order_consume:
    case memory_order_acquire: HIPPORT_CALL(__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE); break;
    case memory_order_release: HIPPORT_CALL(__ATOMIC_RELEASE, __ATOMIC_RELAXED); break;
    case memory_order_acq_rel: HIPPORT_CALL(__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE); break;
    default: HIPPORT_CALL(__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); break;
  }
#undef HIPPORT_CALL
  return done;
}

/// The common part of atomic and atomic_ref; `Self` returns the place of the value.
template <typename T, thread_scope scope, typename Self>
class atomic_operations {
  static_assert(__is_trivially_copyable(T), "a value that can be copied by its bytes");
  using Word = typename atomic_word<sizeof(T)>::type;
  // A pointer moves by a number of elements.
  using Difference = typename std::conditional<std::is_pointer<T>::value, std::ptrdiff_t, T>::type;

 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = true;

  HIPPORT_BOTH bool is_lock_free() const { return true; }
  HIPPORT_BOTH T load(memory_order order = memory_order_seq_cst) const {
    return atomic_bits<T>(load_atomic<scope>(word(), order));
  }
  HIPPORT_BOTH void store(T value, memory_order order = memory_order_seq_cst) const {
    store_atomic<scope>(word(), atomic_bits<Word>(value), order);
  }
  HIPPORT_BOTH T exchange(T value, memory_order order = memory_order_seq_cst) const {
    return atomic_bits<T>(exchange_atomic<scope>(word(), atomic_bits<Word>(value), order));
  }
  HIPPORT_BOTH bool compare_exchange_strong(T& expected, T value, memory_order order = memory_order_seq_cst) const {
    Word seen = atomic_bits<Word>(expected);
    const bool done = exchange_atomic_if<scope>(word(), &seen, atomic_bits<Word>(value), order);
    if (!done) expected = atomic_bits<T>(seen);
    return done;
  }
  HIPPORT_BOTH bool compare_exchange_strong(T& expected, T value, memory_order order, memory_order other) const {
    return compare_exchange_strong(expected, value, stronger(order, other));
  }
  HIPPORT_BOTH bool compare_exchange_weak(T& expected, T value, memory_order order = memory_order_seq_cst) const {
    return compare_exchange_strong(expected, value, order);
  }
  HIPPORT_BOTH bool compare_exchange_weak(T& expected, T value, memory_order order, memory_order other) const {
    return compare_exchange_strong(expected, value, order, other);
  }
  HIPPORT_BOTH void wait(T old, memory_order order = memory_order_seq_cst) const {
    while (atomic_bits<Word>(load(order)) == atomic_bits<Word>(old)) {
#if defined(__HIP_DEVICE_COMPILE__)
      __builtin_amdgcn_s_sleep(1);
#endif
    }
  }
  HIPPORT_BOTH void notify_one() const {}
  HIPPORT_BOTH void notify_all() const {}

  HIPPORT_BOTH T fetch_add(Difference value, memory_order order = memory_order_seq_cst) const {
    return added(value, order, std::integral_constant<int, std::is_pointer<T>::value ? 2 : std::is_integral<T>::value>());
  }
  HIPPORT_BOTH T fetch_sub(Difference value, memory_order order = memory_order_seq_cst) const {
    return fetch_add(static_cast<Difference>(Difference() - value), order);
  }
  HIPPORT_BOTH T fetch_and(T value, memory_order order = memory_order_seq_cst) const {
    return changed(order, [=](T old) { return static_cast<T>(old & value); });
  }
  HIPPORT_BOTH T fetch_or(T value, memory_order order = memory_order_seq_cst) const {
    return changed(order, [=](T old) { return static_cast<T>(old | value); });
  }
  HIPPORT_BOTH T fetch_xor(T value, memory_order order = memory_order_seq_cst) const {
    return changed(order, [=](T old) { return static_cast<T>(old ^ value); });
  }
  HIPPORT_BOTH T fetch_min(T value, memory_order order = memory_order_seq_cst) const {
    return changed(order, [=](T old) { return value < old ? value : old; });
  }
  HIPPORT_BOTH T fetch_max(T value, memory_order order = memory_order_seq_cst) const {
    return changed(order, [=](T old) { return old < value ? value : old; });
  }

  HIPPORT_BOTH operator T() const { return load(); }
  HIPPORT_BOTH T operator+=(Difference value) const { return fetch_add(value) + value; }
  HIPPORT_BOTH T operator-=(Difference value) const { return fetch_sub(value) - value; }
  HIPPORT_BOTH T operator&=(T value) const { return fetch_and(value) & value; }
  HIPPORT_BOTH T operator|=(T value) const { return fetch_or(value) | value; }
  HIPPORT_BOTH T operator^=(T value) const { return fetch_xor(value) ^ value; }
  HIPPORT_BOTH T operator++() const { return fetch_add(1) + 1; }
  HIPPORT_BOTH T operator--() const { return fetch_sub(1) - 1; }
  HIPPORT_BOTH T operator++(int) const { return fetch_add(1); }
  HIPPORT_BOTH T operator--(int) const { return fetch_sub(1); }

 private:
  HIPPORT_BOTH Word* word() const { return reinterpret_cast<Word*>(static_cast<const Self*>(this)->address()); }

  /// The order that is sufficient for both outcomes of an exchange.
  static constexpr HIPPORT_BOTH memory_order stronger(memory_order order, memory_order other) {
    return other == memory_order_seq_cst ? other
           : other == memory_order_relaxed || order == memory_order_seq_cst || order == memory_order_acq_rel ? order
           : order == memory_order_release ? memory_order_acq_rel
                                           : memory_order_acquire;
  }

  /// Replace the value by `change` of it; return the old value.
  template <typename Change>
  HIPPORT_BOTH T changed(memory_order order, Change change) const {
    T seen = load(memory_order_relaxed);
    while (!compare_exchange_strong(seen, change(seen), order)) {
    }
    return seen;
  }
  HIPPORT_BOTH T added(T value, memory_order order, std::integral_constant<int, 1>) const {
    Word seen;
    const Word more = static_cast<Word>(value);
#if defined(__HIP__)
#define HIPPORT_CALL(order) seen = __hip_atomic_fetch_add(word(), more, order, hip_scope<scope>::value)
#else
#define HIPPORT_CALL(order) seen = __atomic_fetch_add(word(), more, order)
#endif
    HIPPORT_ORDERED(HIPPORT_CALL)
#undef HIPPORT_CALL
    return static_cast<T>(seen);
  }
  HIPPORT_BOTH T added(T value, memory_order order, std::integral_constant<int, 0>) const {
    return changed(order, [=](T old) { return static_cast<T>(old + value); });
  }
  HIPPORT_BOTH T added(std::ptrdiff_t value, memory_order order, std::integral_constant<int, 2>) const {
    return changed(order, [=](T old) { return old + value; });
  }
};
#undef HIPPORT_ORDERED

}  // namespace detail

template <typename T, thread_scope scope = thread_scope_system>
class atomic_ref : public detail::atomic_operations<T, scope, atomic_ref<T, scope>> {
 public:
  static constexpr std::size_t required_alignment = sizeof(T);

  HIPPORT_BOTH explicit atomic_ref(T& value) : at_(&value) {}
  atomic_ref(const atomic_ref&) = default;
  atomic_ref& operator=(const atomic_ref&) = delete;
  HIPPORT_BOTH T operator=(T value) const {
    this->store(value);
    return value;
  }
  HIPPORT_BOTH T* address() const { return at_; }

 private:
  T* at_;
};

/// As large as the value, because it may lie in memory that was never constructed.
template <typename T, thread_scope scope = thread_scope_system>
class atomic : public detail::atomic_operations<T, scope, atomic<T, scope>> {
 public:
  atomic() = default;
  constexpr HIPPORT_BOTH atomic(T value) : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  HIPPORT_BOTH T operator=(T value) {
    this->store(value);
    return value;
  }
  HIPPORT_BOTH T* address() const { return const_cast<T*>(&value_); }

 private:
  alignas(sizeof(T)) T value_;
};

template <thread_scope scope = thread_scope_system>
class scoped_flag {
 public:
  scoped_flag() = default;
  HIPPORT_BOTH bool test(memory_order order = memory_order_seq_cst) const { return value_.load(order) != 0; }
  HIPPORT_BOTH bool test_and_set(memory_order order = memory_order_seq_cst) { return value_.exchange(1, order) != 0; }
  HIPPORT_BOTH void clear(memory_order order = memory_order_seq_cst) { value_.store(0, order); }

 private:
  atomic<int, scope> value_;
};
using atomic_flag = scoped_flag<>;

HIPPORT_BOTH void atomic_thread_fence(memory_order order, thread_scope scope = thread_scope_system) {
  if (order == memory_order_relaxed) return;
#if defined(__HIP_DEVICE_COMPILE__)
  if (scope == thread_scope_system) {
    __threadfence_system();
  } else if (scope == thread_scope_device) {
    __threadfence();
  } else if (scope == thread_scope_block) {
    __threadfence_block();
  }
#else
  (void)scope;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

}  // namespace hipport

#undef HIPPORT_BOTH

#endif  // nvcc

#endif  // HIPPORT_SCOPED_ATOMIC_H
