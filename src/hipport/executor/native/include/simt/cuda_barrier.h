// SPDX-License-Identifier: Apache-2.0
// simt/cuda_barrier.h: barriers, latches and semaphores of CUDA's C++ library.
//
// Names and meanings are from libcu++'s documentation ("Synchronization Primitives") and the C++ standard. Waiting
// threads poll and let others run; if nothing else makes progress, the launch ends with `no-progress`.
#ifndef SIMT_CUDA_BARRIER_H
#define SIMT_CUDA_BARRIER_H

#include <chrono>
#include <cstddef>
#include <limits>
#include <utility>

#include "cuda_atomic.h"

namespace cuda {

namespace simt_detail {

struct Nothing {
  void operator()() const {}
};

/// A counter that threads count down together, phase by phase. The last thread of a phase calls `Finish`.
template <typename Finish>
class Turns {
 public:
  Turns() = default;
  Turns(::std::ptrdiff_t expected, Finish finish)
      : made_(mark), turn_(0), expected_(expected), left_(expected), finish_(::std::move(finish)) {}
  /// Count down by `count`, and expect `fewer` less from the next phase on; returns the number of this phase.
  unsigned arrive(::std::ptrdiff_t count, ::std::ptrdiff_t fewer, ::simt::Place place) {
    check(place);
    const unsigned turn = now(place);
    if (fewer != 0) ::simt::detail::fetch_sub(&expected_, fewer);
    const ::std::ptrdiff_t left = ::simt::detail::fetch_sub(&left_, count) - count;
    if (left < 0 || count < 0) {
      ::simt::fault("barrier-count", place, "more threads arrive at a barrier than the %td that it was initialized for", expected_ + fewer);
    }
    if (left == 0) {
      finish_();
      ::simt::detail::ordered_store(&left_, ::simt::detail::ordered_load(&expected_, 0, 0, place), 0, 0);
      ::simt::detail::fetch_add(&turn_, 1u);
    }
    return turn;
  }
  unsigned now(::simt::Place place) const { return ::simt::detail::ordered_load(&turn_, 0, 0, place); }
  /// Wait until phase `turn` is over.
  void wait(unsigned turn, ::simt::Place place) const {
    check(place);
    while (static_cast<int>(now(place) - turn) <= 0) ::simt::yield(place);
  }
  /// The same, but polls only a few times.
  bool try_wait(unsigned turn, ::simt::Place place) const {
    check(place);
    for (int looks = 0; looks < 4; ++looks) {
      if (static_cast<int>(now(place) - turn) > 0) return true;
      ::simt::yield(place);
    }
    return false;
  }

 private:
  static constexpr unsigned mark = 0x7ba11e45;
  void check(::simt::Place place) const {
    if (made_ != mark) {
      ::simt::fault("barrier-count", place, "a barrier is used that is not initialized, or whose initialization the caller does not see yet");
    }
  }
  unsigned made_;
  mutable unsigned turn_;
  mutable ::std::ptrdiff_t expected_, left_;
  Finish finish_;
};

}  // namespace simt_detail

template <thread_scope scope = thread_scope_system, typename Completion = simt_detail::Nothing>
class barrier {
 public:
  class arrival_token {
   public:
    arrival_token() = default;

   private:
    friend class barrier;
    explicit arrival_token(unsigned turn) : turn_(turn) {}
    unsigned turn_ = 0;
  };

  // In shared memory it is used without being constructed.
  barrier() = default;
  explicit barrier(::std::ptrdiff_t expected, Completion completion = Completion()) : turns_(expected, ::std::move(completion)) {}
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;

  [[nodiscard]] arrival_token arrive(::std::ptrdiff_t count = 1, SIMT_HERE) {
    return arrival_token(turns_.arrive(count, 0, SIMT_THERE));
  }
  void wait(arrival_token&& token, SIMT_HERE) const { turns_.wait(token.turn_, SIMT_THERE); }
  void wait_parity(bool parity, SIMT_HERE) const {
    while ((turns_.now(SIMT_THERE) & 1) == static_cast<unsigned>(parity)) ::simt::yield(SIMT_THERE);
  }
  void arrive_and_wait(SIMT_HERE) { turns_.wait(turns_.arrive(1, 0, SIMT_THERE), SIMT_THERE); }
  void arrive_and_drop(SIMT_HERE) { turns_.arrive(1, 1, SIMT_THERE); }
  [[nodiscard]] bool try_wait(arrival_token&& token, SIMT_HERE) const { return turns_.try_wait(token.turn_, SIMT_THERE); }
  [[nodiscard]] bool try_wait_parity(bool parity, SIMT_HERE) const {
    if ((turns_.now(SIMT_THERE) & 1) != static_cast<unsigned>(parity)) return true;
    ::simt::yield(SIMT_THERE);
    return (turns_.now(SIMT_THERE) & 1) != static_cast<unsigned>(parity);
  }
  // There is no clock to wait for: these poll a few times.
  template <typename Rep, typename Period>
  [[nodiscard]] bool try_wait_for(arrival_token&& token, const ::std::chrono::duration<Rep, Period>&, SIMT_HERE) const {
    return turns_.try_wait(token.turn_, SIMT_THERE);
  }
  template <typename Rep, typename Period>
  [[nodiscard]] bool try_wait_parity_for(bool parity, const ::std::chrono::duration<Rep, Period>&, SIMT_HERE) const {
    return try_wait_parity(parity, simt_file, simt_line);
  }
  static constexpr ::std::ptrdiff_t max() { return (::std::ptrdiff_t{1} << 20) - 1; }

  friend void init(barrier* made, ::std::ptrdiff_t expected) { new (static_cast<void*>(made)) barrier(expected); }
  friend void init(barrier* made, ::std::ptrdiff_t expected, Completion completion) {
    new (static_cast<void*>(made)) barrier(expected, ::std::move(completion));
  }

 private:
  simt_detail::Turns<Completion> turns_;
};

template <thread_scope scope = thread_scope_system>
class latch {
 public:
  latch() = default;
  explicit latch(::std::ptrdiff_t expected) : left_(expected) {}
  latch(const latch&) = delete;
  latch& operator=(const latch&) = delete;

  void count_down(::std::ptrdiff_t count = 1, SIMT_HERE) {
    if (::simt::detail::fetch_sub(&left_, count) < count) {
      ::simt::fault("barrier-count", SIMT_THERE, "a latch is counted down below 0");
    }
  }
  [[nodiscard]] bool try_wait(SIMT_HERE) const {
    if (::simt::detail::ordered_load(&left_, 0, 0, SIMT_THERE) == 0) return true;
    ::simt::yield(SIMT_THERE);
    return false;
  }
  void wait(SIMT_HERE) const {
    while (::simt::detail::ordered_load(&left_, 0, 0, SIMT_THERE) != 0) ::simt::yield(SIMT_THERE);
  }
  void arrive_and_wait(::std::ptrdiff_t count = 1, SIMT_HERE) {
    count_down(count, simt_file, simt_line);
    wait(simt_file, simt_line);
  }
  static constexpr ::std::ptrdiff_t max() { return ::std::numeric_limits<int>::max(); }

  friend void init(latch* made, ::std::ptrdiff_t expected) { new (static_cast<void*>(made)) latch(expected); }

 private:
  mutable ::std::ptrdiff_t left_;
};

template <thread_scope scope = thread_scope_system, ::std::ptrdiff_t most = ::std::numeric_limits<int>::max()>
class counting_semaphore {
 public:
  counting_semaphore() = default;
  constexpr explicit counting_semaphore(::std::ptrdiff_t count) : count_(count) {}
  counting_semaphore(const counting_semaphore&) = delete;
  counting_semaphore& operator=(const counting_semaphore&) = delete;

  void release(::std::ptrdiff_t count = 1) { ::simt::detail::fetch_add(&count_, count); }
  [[nodiscard]] bool try_acquire(SIMT_HERE) {
    ::std::ptrdiff_t seen = ::simt::detail::ordered_load(&count_, 0, 0, SIMT_THERE);
    while (seen > 0) {
      if (::simt::detail::exchange_if(&count_, seen, seen - 1)) return true;
    }
    ::simt::yield(SIMT_THERE);
    return false;
  }
  void acquire(SIMT_HERE) {
    while (!try_acquire(simt_file, simt_line)) {
    }
  }
  template <typename Rep, typename Period>
  [[nodiscard]] bool try_acquire_for(const ::std::chrono::duration<Rep, Period>&, SIMT_HERE) {
    return try_acquire(simt_file, simt_line);
  }
  static constexpr ::std::ptrdiff_t max() { return most; }

 private:
  ::std::ptrdiff_t count_;
};
template <thread_scope scope = thread_scope_system>
using binary_semaphore = counting_semaphore<scope, 1>;

#ifndef SIMT_LIBCUDACXX
namespace std {
template <typename Completion = simt_detail::Nothing>
using barrier = ::cuda::barrier<thread_scope_system, Completion>;
using latch = ::cuda::latch<thread_scope_system>;
template <::std::ptrdiff_t most = ::std::numeric_limits<int>::max()>
using counting_semaphore = ::cuda::counting_semaphore<thread_scope_system, most>;
using binary_semaphore = ::cuda::binary_semaphore<thread_scope_system>;
}  // namespace std
#endif

}  // namespace cuda

#endif
