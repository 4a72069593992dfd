// SPDX-License-Identifier: Apache-2.0
// hipport/async.h: barriers, latches, pipelines and asynchronous copies, which CUDA has in libcu++. Put here by hipport.
//
// hipport::barrier, latch, pipeline, make_pipeline, memcpy_async and so on are those of cuda::, built from atomic
// counters. A copy may be done as soon as it is requested, and here it is: operations that signal it, or wait for it,
// only wait for threads. pipeline_memcpy_async, _commit and _wait_prior are the C functions __pipeline_*.
//
// Waiting threads poll. Wavefronts of a block make progress independently, so a waiting one sees what the others do.
// Lanes of one wavefront do not: if some of them wait for actions that other lanes have still to do, after the wait or
// in another branch, none continues. So all lanes of a wavefront, 64 on some GPUs, have to arrive before one waits.
//
// With nvcc these are CUDA's own.
#ifndef HIPPORT_ASYNC_H
#define HIPPORT_ASYNC_H

#include "scoped_atomic.h"

#if defined(__CUDACC__) && !defined(__HIP__)

#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

namespace hipport {
using namespace ::cuda;
static __device__ __forceinline__ void pipeline_memcpy_async(void* to, const void* from, size_t size, size_t zeros = 0) {
  __pipeline_memcpy_async(to, from, size, zeros);
}
static __device__ __forceinline__ void pipeline_commit() { __pipeline_commit(); }
static __device__ __forceinline__ void pipeline_wait_prior(size_t) {
  __pipeline_wait_prior(0);  // it requires a constant; 0 is always enough
}
}  // namespace hipport

#elif defined(__HIP__)

#include <cstddef>
#include <cstdint>
#include <new>

#define HIPPORT_BOTH __host__ __device__ __forceinline__
#define HIPPORT_DEVICE __device__ __forceinline__

namespace hipport {

namespace detail {

struct nothing {
  HIPPORT_BOTH void operator()() const {}
};

/// Keeps the order of what the lanes of a wavefront do before and after it, also for the compiler, which otherwise
/// might give the lane that came last a loop of its own. No instruction. hipport's CPU executor makes lanes converge
/// here, and so finds those that wait for others of their wavefront.
HIPPORT_DEVICE void come_together() {
#if defined(__HIP_DEVICE_COMPILE__) || defined(SIMT_CORE_H)
  __builtin_amdgcn_wave_barrier();
#endif
}
HIPPORT_DEVICE void let_others() {
#if defined(__HIP_DEVICE_COMPILE__) || defined(SIMT_CORE_H)
  __builtin_amdgcn_s_sleep(1);
#endif
}

/// A counter that threads count down together, phase by phase. The last thread of a phase calls `Finish`.
template <thread_scope scope, typename Finish = nothing>
class turns {
 public:
  turns() = default;  // not initialized, for shared memory
  HIPPORT_BOTH turns(int expected, Finish finish) : turn_(0), expected_(expected), left_(expected), finish_(finish) {}

  /// Count down by `count`, and expect `fewer` less from the next phase on; return the number of this phase.
  HIPPORT_DEVICE unsigned arrive(int count, int fewer) {
    come_together();
    const unsigned turn = turn_.load(memory_order_relaxed);  // it does not end without the caller
    if (fewer != 0) expected_.fetch_sub(fewer, memory_order_relaxed);
    if (left_.fetch_sub(count, memory_order_acq_rel) == count) {
      finish_();
      left_.store(expected_.load(memory_order_relaxed), memory_order_relaxed);
      turn_.fetch_add(1u, memory_order_release);
    }
    come_together();
    return turn;
  }
  HIPPORT_DEVICE bool is_over(unsigned turn) const {
    return static_cast<int>(turn_.load(memory_order_acquire) - turn) > 0;
  }
  HIPPORT_DEVICE void wait(unsigned turn) const {
    while (!is_over(turn)) let_others();
  }
  HIPPORT_DEVICE bool is_odd() const { return (turn_.load(memory_order_acquire) & 1) != 0; }

 private:
  atomic<unsigned, scope> turn_;
  atomic<int, scope> expected_, left_;
  Finish finish_;
};

}  // namespace detail

template <thread_scope scope = thread_scope_system, typename Completion = detail::nothing>
class barrier {
 public:
  class arrival_token {
   public:
    arrival_token() = default;

   private:
    friend class barrier;
    HIPPORT_DEVICE explicit arrival_token(unsigned turn) : turn_(turn) {}
    unsigned turn_;
  };

  barrier() = default;
  HIPPORT_BOTH explicit barrier(std::ptrdiff_t expected, Completion completion = Completion())
      : turns_(static_cast<int>(expected), completion) {}
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;

  HIPPORT_DEVICE arrival_token arrive(std::ptrdiff_t count = 1) {
    return arrival_token(turns_.arrive(static_cast<int>(count), 0));
  }
  HIPPORT_DEVICE void wait(arrival_token&& token) const { turns_.wait(token.turn_); }
  HIPPORT_DEVICE void wait_parity(bool parity) const {
    while (turns_.is_odd() == parity) detail::let_others();
  }
  HIPPORT_DEVICE void arrive_and_wait() { turns_.wait(turns_.arrive(1, 0)); }
  HIPPORT_DEVICE void arrive_and_drop() { turns_.arrive(1, 1); }
  HIPPORT_DEVICE bool try_wait(arrival_token&& token) const { return turns_.is_over(token.turn_); }
  HIPPORT_DEVICE bool try_wait_parity(bool parity) const { return turns_.is_odd() != parity; }
  static constexpr HIPPORT_BOTH std::ptrdiff_t max() { return 0x7fffffff; }

  friend HIPPORT_BOTH void init(barrier* made, std::ptrdiff_t expected) { ::new (static_cast<void*>(made)) barrier(expected); }
  friend HIPPORT_BOTH void init(barrier* made, std::ptrdiff_t expected, Completion completion) {
    ::new (static_cast<void*>(made)) barrier(expected, completion);
  }

 private:
  detail::turns<scope, Completion> turns_;
};

template <thread_scope scope = thread_scope_system>
class latch {
 public:
  latch() = default;
  HIPPORT_BOTH explicit latch(std::ptrdiff_t expected) : left_(static_cast<int>(expected)) {}
  latch(const latch&) = delete;
  latch& operator=(const latch&) = delete;

  HIPPORT_DEVICE void count_down(std::ptrdiff_t count = 1) {
    detail::come_together();
    left_.fetch_sub(static_cast<int>(count), memory_order_release);
    detail::come_together();
  }
  HIPPORT_DEVICE bool try_wait() const { return left_.load(memory_order_acquire) == 0; }
  HIPPORT_DEVICE void wait() const {
    while (!try_wait()) detail::let_others();
  }
  HIPPORT_DEVICE void arrive_and_wait(std::ptrdiff_t count = 1) {
    count_down(count);
    wait();
  }
  static constexpr HIPPORT_BOTH std::ptrdiff_t max() { return 0x7fffffff; }

  friend HIPPORT_BOTH void init(latch* made, std::ptrdiff_t expected) { ::new (static_cast<void*>(made)) latch(expected); }

 private:
  atomic<int, scope> left_;
};

/// A number of bytes that is a multiple of `alignment`, like the addresses.
template <std::size_t alignment>
struct aligned_size_t {
  static constexpr std::size_t align = alignment;
  std::size_t value;
  explicit constexpr HIPPORT_BOTH aligned_size_t(std::size_t size) : value(size) {}
  constexpr HIPPORT_BOTH operator std::size_t() const { return value; }
};

enum class pipeline_role { producer, consumer };

template <thread_scope scope, std::uint8_t stages>
class pipeline_shared_state {
 public:
  pipeline_shared_state() = default;
  pipeline_shared_state(const pipeline_shared_state&) = delete;
  pipeline_shared_state& operator=(const pipeline_shared_state&) = delete;

  // For make_pipeline.
  detail::turns<scope> full[stages], empty[stages];
  atomic<int, scope> producers;
};

/// A pipeline whose stages pass from producers to consumers and back.
template <thread_scope scope>
class pipeline {
  using turns = detail::turns<scope>;

 public:
  pipeline(pipeline&&) = default;
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;
  HIPPORT_DEVICE pipeline(turns* full, turns* empty, unsigned stages, bool produces, bool consumes)
      : full_(full), empty_(empty), stages_(stages), head_(0), tail_(0), produces_(produces), consumes_(consumes) {}

  HIPPORT_DEVICE void producer_acquire() {
    // In the first round nobody has to release the stage.
    if (head_ >= stages_) empty_[head_ % stages_].wait(head_ / stages_ - 1);
  }
  HIPPORT_DEVICE void producer_commit() { full_[head_++ % stages_].arrive(1, 0); }
  HIPPORT_DEVICE void consumer_wait() { full_[tail_ % stages_].wait(tail_ / stages_); }
  HIPPORT_DEVICE void consumer_release() { empty_[tail_++ % stages_].arrive(1, 0); }
  /// Leave the pipeline: others do not wait for the caller any longer.
  HIPPORT_DEVICE bool quit() {
    for (unsigned i = 0; i < stages_; ++i) {
      if (produces_) full_[i].arrive(1, 1);
      if (consumes_) empty_[i].arrive(1, 1);
    }
    return true;
  }

 private:
  turns *full_, *empty_;
  unsigned stages_, head_, tail_;
  bool produces_, consumes_;
};
/// The pipeline of one thread has nobody to wait for.
template <>
class pipeline<thread_scope_thread> {
 public:
  pipeline() = default;
  pipeline(pipeline&&) = default;
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;
  HIPPORT_DEVICE void producer_acquire() {}
  HIPPORT_DEVICE void producer_commit() {}
  HIPPORT_DEVICE void consumer_wait() {}
  HIPPORT_DEVICE void consumer_release() {}
  HIPPORT_DEVICE bool quit() { return true; }
};

HIPPORT_DEVICE pipeline<thread_scope_thread> make_pipeline() { return pipeline<thread_scope_thread>(); }

namespace detail {
template <typename Group, thread_scope scope, std::uint8_t stages>
HIPPORT_DEVICE pipeline<scope> made(const Group& group, pipeline_shared_state<scope, stages>* state, int counted,
                                    bool produces, bool consumes) {
  const bool first = group.thread_rank() == 0;
  if (first) state->producers.store(counted > 0 ? counted : 0, memory_order_relaxed);
  group.sync();
  if (counted < 0 && produces) state->producers.fetch_add(1, memory_order_relaxed);
  group.sync();
  if (first) {
    const int size = static_cast<int>(group.size()), producers = state->producers.load(memory_order_relaxed);
    for (unsigned i = 0; i < stages; ++i) {
      ::new (static_cast<void*>(&state->full[i])) turns<scope>(producers, nothing());
      ::new (static_cast<void*>(&state->empty[i])) turns<scope>(produces && consumes ? size : size - producers, nothing());
    }
  }
  group.sync();
  return pipeline<scope>(state->full, state->empty, stages, produces, consumes);
}
}  // namespace detail

/// All threads of the group produce and consume.
template <typename Group, thread_scope scope, std::uint8_t stages>
HIPPORT_DEVICE pipeline<scope> make_pipeline(const Group& group, pipeline_shared_state<scope, stages>* state) {
  return detail::made(group, state, -1, true, true);
}
/// The first `producers` threads of the group produce, the others consume.
template <typename Group, thread_scope scope, std::uint8_t stages>
HIPPORT_DEVICE pipeline<scope> make_pipeline(const Group& group, pipeline_shared_state<scope, stages>* state,
                                             std::size_t producers) {
  const bool produces = group.thread_rank() < producers;
  return detail::made(group, state, static_cast<int>(producers), produces, !produces);
}
template <typename Group, thread_scope scope, std::uint8_t stages>
HIPPORT_DEVICE pipeline<scope> make_pipeline(const Group& group, pipeline_shared_state<scope, stages>* state,
                                             pipeline_role role) {
  const bool produces = role == pipeline_role::producer;
  return detail::made(group, state, -1, produces, !produces);
}

template <std::uint8_t prior>
HIPPORT_DEVICE void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>&) {}
template <thread_scope scope, typename Completion>
HIPPORT_DEVICE void pipeline_producer_commit(pipeline<thread_scope_thread>&, barrier<scope, Completion>&) {}

// ---- copies

namespace detail {

template <unsigned unit>
HIPPORT_DEVICE void copy_by(char* to, const char* from, std::size_t size, std::size_t first, std::size_t step) {
  for (std::size_t i = first * unit; i < size; i += step * unit) {
    __builtin_memcpy(__builtin_assume_aligned(to + i, unit), __builtin_assume_aligned(from + i, unit), unit);
  }
}
/// Copy the caller's part, among those of `step` threads.
HIPPORT_DEVICE void copy(void* to, const void* from, std::size_t size, std::size_t first, std::size_t step) {
  char* const target = static_cast<char*>(to);
  const char* const source = static_cast<const char*>(from);
  const std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | size;
  if (bits % 16 == 0) {
    copy_by<16>(target, source, size, first, step);
  } else if (bits % 4 == 0) {
    copy_by<4>(target, source, size, first, step);
  } else {
    copy_by<1>(target, source, size, first, step);
  }
}

// The objects that a copy may notify.
template <typename T>
struct told {};
template <thread_scope scope, typename Completion>
struct told<barrier<scope, Completion>> {
  using type = void;
};
template <thread_scope scope>
struct told<pipeline<scope>> {
  using type = void;
};

}  // namespace detail

template <typename Size, typename Told>
HIPPORT_DEVICE typename detail::told<Told>::type memcpy_async(void* to, const void* from, Size size, Told&) {
  detail::copy(to, from, size, 0, 1);
}
template <typename Group, typename Size, typename Told>
HIPPORT_DEVICE typename detail::told<Told>::type memcpy_async(const Group& group, void* to, const void* from, Size size,
                                                              Told&) {
  detail::copy(to, from, size, group.thread_rank(), group.size());
}

/// Copy `size` bytes, of which the last `zeros` become 0.
HIPPORT_DEVICE void pipeline_memcpy_async(void* to, const void* from, std::size_t size, std::size_t zeros = 0) {
  detail::copy(to, from, size - zeros, 0, 1);
  for (std::size_t i = size - zeros; i < size; ++i) static_cast<char*>(to)[i] = 0;
}
HIPPORT_DEVICE void pipeline_commit() {}
HIPPORT_DEVICE void pipeline_wait_prior(std::size_t) {}

}  // namespace hipport

#undef HIPPORT_BOTH
#undef HIPPORT_DEVICE

#endif  // nvcc, HIP

#endif  // HIPPORT_ASYNC_H
