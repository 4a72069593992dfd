// SPDX-License-Identifier: Apache-2.0
// simt/cuda_atomic.h: cuda::atomic and cuda::atomic_ref of CUDA's C++ library.
#ifndef SIMT_CUDA_ATOMIC_H
#define SIMT_CUDA_ATOMIC_H

#include <atomic>
#include <cstddef>
#include <type_traits>

#include "cuda_std.h"

namespace cuda {

enum thread_scope {
  thread_scope_system,
  thread_scope_device,
  thread_scope_block,
  thread_scope_thread,
};
using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_consume;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;

inline void atomic_thread_fence(memory_order, thread_scope = thread_scope_system, SIMT_HERE) {
  ::simt::detail::fence(SIMT_THERE);
}
inline void atomic_signal_fence(memory_order) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

namespace simt_detail {

/// The common part of both; `Self` returns the place of the value. Threads that poll let others run.
template <typename T, typename Self>
class Operations {
 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = sizeof(T) <= 8;

  bool is_lock_free() const { return true; }
  T load(memory_order = memory_order_seq_cst, SIMT_HERE) const {
    return ::simt::detail::ordered_load(at(), 0, 0, SIMT_THERE);
  }
  void store(T value, memory_order = memory_order_seq_cst) const { ::simt::detail::ordered_store(at(), value, 0, 0); }
  T exchange(T value, memory_order = memory_order_seq_cst, SIMT_HERE) const {
    return ::simt::detail::exchange_or_wait(at(), value, SIMT_THERE);
  }
  bool compare_exchange_strong(T& expected, T value, memory_order = memory_order_seq_cst,
                               memory_order = memory_order_seq_cst, SIMT_HERE) const {
    return ::simt::detail::ordered_exchange_if(at(), &expected, value, 0, 0, 0, SIMT_THERE);
  }
  bool compare_exchange_weak(T& expected, T value, memory_order = memory_order_seq_cst,
                             memory_order = memory_order_seq_cst, SIMT_HERE) const {
    return ::simt::detail::ordered_exchange_if(at(), &expected, value, 0, 0, 0, SIMT_THERE);
  }
  void wait(T old, memory_order = memory_order_seq_cst, SIMT_HERE) const {
    while (::simt::detail::bits_as<Word>(load(memory_order_seq_cst, simt_file, simt_line)) ==
           ::simt::detail::bits_as<Word>(old)) {
      ::simt::yield(SIMT_THERE);
    }
  }
  void notify_one() const {}
  void notify_all() const {}

  // A pointer moves by a number of elements.
  using Difference = ::std::conditional_t<::std::is_pointer_v<T>, ::std::ptrdiff_t, T>;
  T fetch_add(Difference value, memory_order = memory_order_seq_cst) const {
    if constexpr (::std::is_pointer_v<T>) {
      T seen = load();
      while (!compare_exchange_strong(seen, seen + value)) {
      }
      return seen;
    } else {
      return ::simt::detail::fetch_add(at(), value);
    }
  }
  T fetch_sub(Difference value, memory_order = memory_order_seq_cst) const {
    if constexpr (::std::is_pointer_v<T>) {
      return fetch_add(-value);
    } else {
      return ::simt::detail::fetch_sub(at(), value);
    }
  }
  T fetch_min(T value, memory_order = memory_order_seq_cst) const { return ::simt::detail::fetch_min(at(), value); }
  T fetch_max(T value, memory_order = memory_order_seq_cst) const { return ::simt::detail::fetch_max(at(), value); }
  T fetch_and(T value, memory_order = memory_order_seq_cst) const { return ::simt::detail::fetch_and(at(), value); }
  T fetch_or(T value, memory_order = memory_order_seq_cst) const { return ::simt::detail::fetch_or(at(), value); }
  T fetch_xor(T value, memory_order = memory_order_seq_cst) const { return ::simt::detail::fetch_xor(at(), value); }

  operator T() const { return load(); }
  T operator+=(Difference value) const { return fetch_add(value) + value; }
  T operator-=(Difference value) const { return fetch_sub(value) - value; }
  T operator&=(T value) const { return fetch_and(value) & value; }
  T operator|=(T value) const { return fetch_or(value) | value; }
  T operator^=(T value) const { return fetch_xor(value) ^ value; }
  T operator++() const { return fetch_add(1) + 1; }
  T operator--() const { return fetch_sub(1) - 1; }
  T operator++(int) const { return fetch_add(1); }
  T operator--(int) const { return fetch_sub(1); }

 private:
  using Word = ::simt::detail::word_of<T>;
  T* at() const { return static_cast<const Self*>(this)->address(); }
};

}  // namespace simt_detail

template <typename T, thread_scope scope = thread_scope_system>
class atomic_ref : public simt_detail::Operations<T, atomic_ref<T, scope>> {
 public:
  static constexpr ::std::size_t required_alignment = sizeof(T);

  explicit atomic_ref(T& value) : at_(&value) {}
  atomic_ref(const atomic_ref&) = default;
  atomic_ref& operator=(const atomic_ref&) = delete;
  T operator=(T value) const {
    this->store(value);
    return value;
  }
  T* address() const { return at_; }

 private:
  T* at_;
};

/// As large as the value, because it may lie in memory that was never constructed.
template <typename T, thread_scope scope = thread_scope_system>
class atomic : public simt_detail::Operations<T, atomic<T, scope>> {
 public:
  atomic() = default;
  constexpr atomic(T value) : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  T operator=(T value) {
    this->store(value);
    return value;
  }
  T* address() const { return const_cast<T*>(&value_); }

 private:
  alignas(sizeof(T)) T value_;
};

}  // namespace cuda

#endif
