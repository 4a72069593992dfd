// SPDX-License-Identifier: Apache-2.0
// simt/warp_cuda.h: CUDA's operations of the lanes of a warp of 32.
//
// Those with a mask wait for all lanes of the mask that have not exited. Maskless ones, which CUDA removed with sm_70,
// act on the active lanes.
#ifndef SIMT_WARP_CUDA_H
#define SIMT_WARP_CUDA_H

#include "warp.h"

namespace simt {
namespace detail {

// The lane that a shuffle reads, as PTX defines it: `shfl.sync` in the PTX ISA, "Data Movement".
struct ShuffleIndex {
  static unsigned source(unsigned lane, int index, unsigned segment) {
    return (lane & segment) | (static_cast<unsigned>(index) & 31u & ~segment);
  }
};
struct ShuffleUp {
  static unsigned source(unsigned lane, unsigned delta, unsigned segment) {
    const int from = static_cast<int>(lane) - static_cast<int>(delta & 31u);
    return from >= static_cast<int>(lane & segment) ? static_cast<unsigned>(from) : lane;
  }
};
struct ShuffleDown {
  static unsigned source(unsigned lane, unsigned delta, unsigned segment) {
    const unsigned from = lane + (delta & 31u), last = (lane & segment) | (31u & ~segment);
    return from <= last ? from : lane;
  }
};
struct ShuffleXor {
  static unsigned source(unsigned lane, int lanes, unsigned segment) {
    const unsigned from = lane ^ (static_cast<unsigned>(lanes) & 31u), last = (lane & segment) | (31u & ~segment);
    return from <= last ? from : lane;
  }
};

/// The bits of a lane that identify its group of `width` lanes.
inline unsigned segment_of(int width, const Operation& operation, Place place) {
  if (width < 1 || width > 32 || (width & (width - 1)) != 0) {
    warning("shuffle-width", place, "%s: the width %d is not a power of two from 1 to 32", operation.name, width);
  }
  return static_cast<unsigned>(32 - width) & 31u;
}

template <typename How, typename T, typename By>
SIMT_INLINE T shuffle(const Operation& operation, std::uint64_t mask, T value, By by, int width, Place place) {
  const unsigned source = How::source(lane(), by, segment_of(width, operation, place));
  return given_by<T>(meet_masked(operation, mask, &value, sizeof value, place), source, operation, place);
}
template <typename How, typename T, typename By>
SIMT_INLINE T shuffle_present(const Operation& operation, T value, By by, int width, Place place) {
  const unsigned source = How::source(lane(), by, segment_of(width, operation, place));
  return given_by<T>(meet_present(operation, &value, sizeof value, place), source, operation, place);
}

inline constexpr Operation shfl_sync{"__shfl_sync", nullptr};
inline constexpr Operation shfl_up_sync{"__shfl_up_sync", nullptr};
inline constexpr Operation shfl_down_sync{"__shfl_down_sync", nullptr};
inline constexpr Operation shfl_xor_sync{"__shfl_xor_sync", nullptr};
inline constexpr Operation shfl{"__shfl", nullptr};
inline constexpr Operation shfl_up{"__shfl_up", nullptr};
inline constexpr Operation shfl_down{"__shfl_down", nullptr};
inline constexpr Operation shfl_xor{"__shfl_xor", nullptr};
inline constexpr Operation ballot_sync{"__ballot_sync", &finish_ballot};
inline constexpr Operation any_sync{"__any_sync", &finish_ballot};
inline constexpr Operation all_sync{"__all_sync", &finish_ballot};
inline constexpr Operation uni_sync{"__uni_sync", &finish_ballot};
inline constexpr Operation ballot{"__ballot", &finish_ballot};
inline constexpr Operation any{"__any", &finish_ballot};
inline constexpr Operation all{"__all", &finish_ballot};
inline constexpr Operation activemask{"__activemask", nullptr};
inline constexpr Operation syncwarp{"__syncwarp", nullptr};
template <typename Word>
inline constexpr Operation match_any_sync{"__match_any_sync", &finish_match<Word>};
template <typename Word>
inline constexpr Operation match_all_sync{"__match_all_sync", &finish_match<Word>};

SIMT_INLINE const Meeting& vote(const Operation& operation, unsigned mask, int predicate, Place place) {
  const unsigned yes = predicate != 0;
  return meet_masked(operation, mask, &yes, sizeof yes, place);
}
SIMT_INLINE const Meeting& vote_present(const Operation& operation, int predicate, Place place) {
  const unsigned yes = predicate != 0;
  return meet_present(operation, &yes, sizeof yes, place);
}

}  // namespace detail
}  // namespace simt

/// CUDA's shuffles of a type.
#define SIMT_SHUFFLES(T)                                                                                           \
  SIMT_INLINE T __shfl_sync(unsigned mask, T value, int lane, int width = 32, SIMT_HERE) {                         \
    using namespace ::simt::detail;                                                                                \
    return shuffle<ShuffleIndex>(::simt::detail::shfl_sync, mask, value, lane, width, SIMT_THERE);                 \
  }                                                                                                                \
  SIMT_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMT_HERE) {                \
    using namespace ::simt::detail;                                                                                \
    return shuffle<ShuffleUp>(::simt::detail::shfl_up_sync, mask, value, delta, width, SIMT_THERE);                \
  }                                                                                                                \
  SIMT_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMT_HERE) {              \
    using namespace ::simt::detail;                                                                                \
    return shuffle<ShuffleDown>(::simt::detail::shfl_down_sync, mask, value, delta, width, SIMT_THERE);            \
  }                                                                                                                \
  SIMT_INLINE T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, SIMT_HERE) {                    \
    using namespace ::simt::detail;                                                                                \
    return shuffle<ShuffleXor>(::simt::detail::shfl_xor_sync, mask, value, lanes, width, SIMT_THERE);              \
  }                                                                                                                \
  SIMT_INLINE T __shfl(T value, int lane, int width = 32, SIMT_HERE) {                                             \
    using namespace ::simt::detail;                                                                                \
    return shuffle_present<ShuffleIndex>(::simt::detail::shfl, value, lane, width, SIMT_THERE);                    \
  }                                                                                                                \
  SIMT_INLINE T __shfl_up(T value, unsigned delta, int width = 32, SIMT_HERE) {                                    \
    using namespace ::simt::detail;                                                                                \
    return shuffle_present<ShuffleUp>(::simt::detail::shfl_up, value, delta, width, SIMT_THERE);                   \
  }                                                                                                                \
  SIMT_INLINE T __shfl_down(T value, unsigned delta, int width = 32, SIMT_HERE) {                                  \
    using namespace ::simt::detail;                                                                                \
    return shuffle_present<ShuffleDown>(::simt::detail::shfl_down, value, delta, width, SIMT_THERE);               \
  }                                                                                                                \
  SIMT_INLINE T __shfl_xor(T value, int lanes, int width = 32, SIMT_HERE) {                                        \
    using namespace ::simt::detail;                                                                                \
    return shuffle_present<ShuffleXor>(::simt::detail::shfl_xor, value, lanes, width, SIMT_THERE);                 \
  }
SIMT_SHUFFLES(int)
SIMT_SHUFFLES(unsigned)
SIMT_SHUFFLES(long)
SIMT_SHUFFLES(unsigned long)
SIMT_SHUFFLES(long long)
SIMT_SHUFFLES(unsigned long long)
SIMT_SHUFFLES(float)
SIMT_SHUFFLES(double)

SIMT_INLINE unsigned __ballot_sync(unsigned mask, int predicate, SIMT_HERE) {
  return static_cast<unsigned>(::simt::detail::vote(::simt::detail::ballot_sync, mask, predicate, SIMT_THERE).word);
}
SIMT_INLINE int __any_sync(unsigned mask, int predicate, SIMT_HERE) {
  return ::simt::detail::vote(::simt::detail::any_sync, mask, predicate, SIMT_THERE).word != 0;
}
SIMT_INLINE int __all_sync(unsigned mask, int predicate, SIMT_HERE) {
  const ::simt::Meeting& votes = ::simt::detail::vote(::simt::detail::all_sync, mask, predicate, SIMT_THERE);
  return votes.word == votes.lanes;
}
SIMT_INLINE int __uni_sync(unsigned mask, int predicate, SIMT_HERE) {
  const ::simt::Meeting& votes = ::simt::detail::vote(::simt::detail::uni_sync, mask, predicate, SIMT_THERE);
  return votes.word == votes.lanes || votes.word == 0;
}
SIMT_INLINE unsigned __ballot(int predicate, SIMT_HERE) {
  return static_cast<unsigned>(::simt::detail::vote_present(::simt::detail::ballot, predicate, SIMT_THERE).word);
}
SIMT_INLINE int __any(int predicate, SIMT_HERE) {
  return ::simt::detail::vote_present(::simt::detail::any, predicate, SIMT_THERE).word != 0;
}
SIMT_INLINE int __all(int predicate, SIMT_HERE) {
  const ::simt::Meeting& votes = ::simt::detail::vote_present(::simt::detail::all, predicate, SIMT_THERE);
  return votes.word == votes.lanes;
}
SIMT_INLINE unsigned __activemask(SIMT_HERE) {
  return static_cast<unsigned>(::simt::meet_present(::simt::detail::activemask, nullptr, 0, SIMT_THERE).lanes);
}
SIMT_INLINE void __syncwarp(unsigned mask = 0xffffffffu, SIMT_HERE) {
  ::simt::meet_masked(::simt::detail::syncwarp, mask, nullptr, 0, SIMT_THERE);
}

// Values match by their bits. If all are equal, the result is the lanes of the mask that have not exited.
#define SIMT_MATCHES(T)                                                                                            \
  inline unsigned __match_any_sync(unsigned mask, T value, SIMT_HERE) {                                            \
    using Word = ::simt::detail::word_of<T>;                                                                       \
    const ::simt::Operation& operation = ::simt::detail::match_any_sync<Word>;                                     \
    const unsigned lane = ::simt::lane();                                                                          \
    return static_cast<unsigned>(                                                                                  \
        ::simt::meet_masked(operation, mask, &value, sizeof value, SIMT_THERE).get<std::uint64_t>(lane));          \
  }                                                                                                                \
  inline unsigned __match_all_sync(unsigned mask, T value, int* predicate, SIMT_HERE) {                            \
    using Word = ::simt::detail::word_of<T>;                                                                       \
    const ::simt::Operation& operation = ::simt::detail::match_all_sync<Word>;                                     \
    const unsigned lane = ::simt::lane();                                                                          \
    const ::simt::Meeting& meeting = ::simt::meet_masked(operation, mask, &value, sizeof value, SIMT_THERE);       \
    *predicate = meeting.get<std::uint64_t>(lane) == meeting.lanes;                                                \
    return *predicate ? static_cast<unsigned>(meeting.lanes) : 0;                                                  \
  }
SIMT_MATCHES(int)
SIMT_MATCHES(unsigned)
SIMT_MATCHES(long)
SIMT_MATCHES(unsigned long)
SIMT_MATCHES(long long)
SIMT_MATCHES(unsigned long long)
SIMT_MATCHES(float)
SIMT_MATCHES(double)
#undef SIMT_MATCHES

#define SIMT_REDUCTION(name, T, Combine)                                                                           \
  inline T __##name(unsigned mask, T value, SIMT_HERE) {                                                           \
    static constexpr ::simt::Operation operation{                                                                  \
        "__" #name, &::simt::detail::finish_reduce<T, ::simt::detail::Combine>};                                   \
    return static_cast<T>(::simt::meet_masked(operation, mask, &value, sizeof value, SIMT_THERE).word);            \
  }
SIMT_REDUCTION(reduce_add_sync, unsigned, Add)
SIMT_REDUCTION(reduce_add_sync, int, Add)
SIMT_REDUCTION(reduce_min_sync, unsigned, Lesser)
SIMT_REDUCTION(reduce_min_sync, int, Lesser)
SIMT_REDUCTION(reduce_max_sync, unsigned, Greater)
SIMT_REDUCTION(reduce_max_sync, int, Greater)
SIMT_REDUCTION(reduce_and_sync, unsigned, And)
SIMT_REDUCTION(reduce_or_sync, unsigned, Or)
SIMT_REDUCTION(reduce_xor_sync, unsigned, Xor)
#undef SIMT_REDUCTION

namespace simt {
/// PTX's `bar.sync` and `bar.arrive`. Barrier 0 with all threads is that of __syncthreads().
inline void barrier_of(unsigned number, unsigned threads, bool arrive, Place place) {
  const unsigned all = (blockDim.x * blockDim.y * blockDim.z + 31u) / 32u * 32u;
  if (number == 0 && !arrive && (threads == 0 || threads == all)) {
    block_barrier("bar.sync", 0, place);
  } else {
    named_barrier(static_cast<int>(number), static_cast<int>(threads), arrive, place);
  }
}
}  // namespace simt
inline void __barrier_sync(unsigned number, SIMT_HERE) { ::simt::barrier_of(number, 0, false, SIMT_THERE); }
inline void __barrier_sync_count(unsigned number, unsigned threads, SIMT_HERE) {
  ::simt::barrier_of(number, threads, false, SIMT_THERE);
}

#endif
