// SPDX-License-Identifier: Apache-2.0
// simt/cuda_pipeline.h: asynchronous copies and pipelines of CUDA's C++ library, and the primitives of <cuda_pipeline.h>.
//
// A copy is made immediately, as is allowed: a correct program reads the result only after waiting, and a wait still
// waits for other threads. A pipeline of one thread has none to wait for.
#ifndef SIMT_CUDA_PIPELINE_H
#define SIMT_CUDA_PIPELINE_H

#include <cstdint>
#include <cstring>

#include "cuda_barrier.h"

namespace cuda {

/// A number of bytes that is a multiple of `alignment`, like the addresses.
template <::std::size_t alignment>
struct aligned_size_t {
  static_assert(alignment != 0 && (alignment & (alignment - 1)) == 0, "alignments are powers of two");
  static constexpr ::std::size_t align = alignment;
  ::std::size_t value;
  explicit constexpr aligned_size_t(::std::size_t size) : value(size) {}
  constexpr operator ::std::size_t() const { return value; }
};

namespace simt_detail {

template <typename Group>
void copy(const Group& group, void* to, const void* from, ::std::size_t size) {
  const ::std::size_t unit = size % 16 == 0 ? 16 : size % 4 == 0 ? 4 : 1;
  for (::std::size_t i = group.thread_rank() * unit; i < size; i += group.size() * unit) {
    ::std::memcpy(static_cast<char*>(to) + i, static_cast<const char*>(from) + i, unit);
  }
}
struct Alone {
  unsigned thread_rank() const { return 0; }
  unsigned size() const { return 1; }
};
template <::std::size_t alignment>
void check_aligned(const void* to, const void* from, aligned_size_t<alignment> size, ::simt::Place place) {
  const auto bits = reinterpret_cast<::std::uintptr_t>(to) | reinterpret_cast<::std::uintptr_t>(from) | size.value;
  if (bits % alignment != 0) {
    ::simt::fault("misaligned", place, "memcpy_async: an address or the size is not a multiple of %zu, which aligned_size_t promises", alignment);
  }
}
inline void check_aligned(const void*, const void*, ::std::size_t, ::simt::Place) {}

template <::std::uint8_t stages>
struct PipelineState {
  Turns<Nothing> full[stages], empty[stages];
  int producers;
};

}  // namespace simt_detail

enum class pipeline_role { producer, consumer };

template <thread_scope scope, ::std::uint8_t stages>
class pipeline_shared_state {
 public:
  pipeline_shared_state() = default;
  pipeline_shared_state(const pipeline_shared_state&) = delete;
  pipeline_shared_state& operator=(const pipeline_shared_state&) = delete;
  simt_detail::PipelineState<stages> simt_state;
};

/// A pipeline whose stages pass from producers to consumers and back.
template <thread_scope scope>
class pipeline {
 public:
  pipeline() = default;
  pipeline(pipeline&&) = default;
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;

  void producer_acquire(SIMT_HERE) {
    // In the first round nobody has to release the stage.
    if (stages_ != 0 && head_ >= stages_) empty_[head_ % stages_].wait(head_ / stages_ - 1, SIMT_THERE);
  }
  void producer_commit(SIMT_HERE) {
    if (stages_ != 0) full_[head_ % stages_].arrive(1, 0, SIMT_THERE);
    ++head_;
  }
  void consumer_wait(SIMT_HERE) {
    if (stages_ != 0) full_[tail_ % stages_].wait(tail_ / stages_, SIMT_THERE);
  }
  template <typename Rep, typename Period>
  bool consumer_wait_for(const ::std::chrono::duration<Rep, Period>&, SIMT_HERE) {
    return stages_ == 0 || full_[tail_ % stages_].try_wait(tail_ / stages_, SIMT_THERE);
  }
  void consumer_release(SIMT_HERE) {
    if (stages_ != 0) empty_[tail_ % stages_].arrive(1, 0, SIMT_THERE);
    ++tail_;
  }
  /// Leave the pipeline: others do not wait for the caller any longer.
  bool quit(SIMT_HERE) {
    for (unsigned i = 0; i < stages_; ++i) {
      if (produces_) full_[i].arrive(1, 1, SIMT_THERE);
      if (consumes_) empty_[i].arrive(1, 1, SIMT_THERE);
    }
    stages_ = 0;
    return true;
  }

  using Turns = simt_detail::Turns<simt_detail::Nothing>;
  pipeline(Turns* full, Turns* empty, unsigned stages, bool produces, bool consumes)
      : full_(full), empty_(empty), stages_(stages), produces_(produces), consumes_(consumes) {}

 private:
  Turns *full_ = nullptr, *empty_ = nullptr;
  unsigned stages_ = 0, head_ = 0, tail_ = 0;
  bool produces_ = true, consumes_ = true;
};

inline pipeline<thread_scope_thread> make_pipeline() { return pipeline<thread_scope_thread>(); }

namespace simt_detail {
template <typename Group, thread_scope scope, ::std::uint8_t stages>
pipeline<scope> made(const Group& group, PipelineState<stages>& state, bool counted, int producers, bool produces,
                     bool consumes, ::simt::Place place) {
  if (group.thread_rank() == 0) state.producers = 0;
  group.sync(place.file, place.line);
  if (!counted && produces) ::simt::detail::fetch_add(&state.producers, 1);
  group.sync(place.file, place.line);
  if (group.thread_rank() == 0) {
    const int size = static_cast<int>(group.size()), full = counted ? producers : state.producers;
    for (unsigned i = 0; i < stages; ++i) {
      state.full[i] = Turns<Nothing>(full, Nothing());
      state.empty[i] = Turns<Nothing>(consumes && produces ? size : size - full, Nothing());
    }
  }
  group.sync(place.file, place.line);
  return pipeline<scope>(state.full, state.empty, stages, produces, consumes);
}
}  // namespace simt_detail

/// All threads of the group produce and consume.
template <typename Group, thread_scope scope, ::std::uint8_t stages>
pipeline<scope> make_pipeline(const Group& group, pipeline_shared_state<scope, stages>* state, SIMT_HERE) {
  return simt_detail::made<Group, scope, stages>(group, state->simt_state, false, 0, true, true, SIMT_THERE);
}
/// The first `producers` threads of the group produce, the others consume.
template <typename Group, thread_scope scope, ::std::uint8_t stages>
pipeline<scope> make_pipeline(const Group& group, pipeline_shared_state<scope, stages>* state, ::std::size_t producers,
                              SIMT_HERE) {
  const bool produces = group.thread_rank() < producers;
  return simt_detail::made<Group, scope, stages>(group, state->simt_state, true, static_cast<int>(producers), produces,
                                                 !produces, SIMT_THERE);
}
template <typename Group, thread_scope scope, ::std::uint8_t stages>
pipeline<scope> make_pipeline(const Group& group, pipeline_shared_state<scope, stages>* state, pipeline_role role,
                              SIMT_HERE) {
  const bool produces = role == pipeline_role::producer;
  return simt_detail::made<Group, scope, stages>(group, state->simt_state, false, 0, produces, !produces, SIMT_THERE);
}

/// Wait for all but the last `prior` stages: they have arrived.
template <::std::uint8_t prior>
void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>&) {}
/// The copies count for the barrier's phase: they have arrived.
template <thread_scope scope, typename Completion>
void pipeline_producer_commit(pipeline<thread_scope_thread>&, barrier<scope, Completion>&) {}

// ---- copies that arrive at a barrier or a pipeline

enum class async_contract_fulfillment { none, async };

namespace simt_detail {
// The types that may be notified: no other call is a copy of libcu++.
template <typename T>
constexpr bool is_told = false;
template <thread_scope scope, typename Completion>
constexpr bool is_told<barrier<scope, Completion>> = true;
template <thread_scope scope>
constexpr bool is_told<pipeline<scope>> = true;
template <typename Told>
using Copied = ::std::enable_if_t<is_told<Told>, async_contract_fulfillment>;

template <typename Group, typename Size>
async_contract_fulfillment copied(const Group& group, void* to, const void* from, Size size, ::simt::Place place) {
  check_aligned(to, from, size, place);
  copy(group, to, from, size);
  return async_contract_fulfillment::none;
}
}  // namespace simt_detail

template <typename T, typename Size, typename Told>
simt_detail::Copied<Told> memcpy_async(T* to, const T* from, Size size, Told&, SIMT_HERE) {
  return simt_detail::copied(simt_detail::Alone(), to, from, size, SIMT_THERE);
}
template <typename Size, typename Told>
simt_detail::Copied<Told> memcpy_async(void* to, const void* from, Size size, Told&, SIMT_HERE) {
  return simt_detail::copied(simt_detail::Alone(), to, from, size, SIMT_THERE);
}
template <typename Group, typename T, typename Size, typename Told>
simt_detail::Copied<Told> memcpy_async(const Group& group, T* to, const T* from, Size size, Told&, SIMT_HERE) {
  return simt_detail::copied(group, to, from, size, SIMT_THERE);
}
template <typename Group, typename Size, typename Told>
simt_detail::Copied<Told> memcpy_async(const Group& group, void* to, const void* from, Size size, Told&, SIMT_HERE) {
  return simt_detail::copied(group, to, from, size, SIMT_THERE);
}

}  // namespace cuda

#endif
