// SPDX-License-Identifier: Apache-2.0
// simt/warp.h: the common part of CUDA's and HIP's warp operations, and barriers of the block.
#ifndef SIMT_WARP_H
#define SIMT_WARP_H

#include "core.h"
#include "define.h"

namespace simt {
namespace detail {

/// The value of an undefined read: a recognizable pattern, also as one or two half-precision numbers.
template <typename T>
inline T poison() {
  constexpr std::uint32_t pattern = 0xdeadbeef;
  unsigned char bytes[sizeof(T)];
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes[i] = static_cast<unsigned char>(pattern >> 8 * (i % 4));
  T value;
  std::memcpy(static_cast<void*>(&value), bytes, sizeof(T));
  return value;
}

__attribute__((noinline)) inline void warn_of_lane(const Meeting& meeting, unsigned source, const Operation& operation,
                                                   Place place) {
  warning("inactive-lane", place,
          "%s: lane %u reads from lane %u, which takes no part: the result is undefined, and 0 here (lanes 0x%llx take part)",
          operation.name, lane(), source, static_cast<unsigned long long>(meeting.lanes));
}

/// The result of a shuffle from a lane that takes no part: all bits 0 on NVIDIA's GPUs (seen on an H200, for lanes that
/// have exited, never existed, or are in another branch), and by ds_bpermute on AMD's. Programs rely on it, without
/// harm.
template <typename T>
SIMT_INLINE T nothing() {
  T value;
  std::memset(static_cast<void*>(&value), 0, sizeof value);
  return value;
}

/// The value of the lane `source`, if it takes part.
template <typename T>
SIMT_INLINE T given_by(const Meeting& meeting, unsigned source, const Operation& operation, Place place) {
  if (meeting.has(source)) return meeting.get<T>(source);
  warn_of_lane(meeting, source, operation, place);
  return nothing<T>();
}

// The algorithms that run when all lanes have arrived. Votes are unsigned, nonzero for yes.
inline void finish_ballot(Meeting& meeting) {
  meeting.word = 0;
  for (std::uint64_t open = meeting.lanes; open != 0; open &= open - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctzll(open));
    if (meeting.get<unsigned>(lane) != 0) meeting.word |= std::uint64_t{1} << lane;
  }
}

/// Each lane gets the set of lanes with an equal value.
template <typename T>
inline void finish_match(Meeting& meeting) {
  std::uint64_t groups[64] = {};
  for (std::uint64_t open = meeting.lanes; open != 0;) {
    const unsigned first = static_cast<unsigned>(__builtin_ctzll(open));
    std::uint64_t group = 0;
    for (std::uint64_t rest = open; rest != 0; rest &= rest - 1) {
      const unsigned lane = static_cast<unsigned>(__builtin_ctzll(rest));
      if (meeting.get<T>(lane) == meeting.get<T>(first)) group |= std::uint64_t{1} << lane;
    }
    for (std::uint64_t rest = group; rest != 0; rest &= rest - 1) groups[__builtin_ctzll(rest)] = group;
    open &= ~group & ~(std::uint64_t{1} << first);
  }
  for (std::uint64_t open = meeting.lanes; open != 0; open &= open - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctzll(open));
    meeting.set(lane, groups[lane]);
  }
}

struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    // Sums wrap around.
    if constexpr (std::is_integral_v<T>) return static_cast<T>(0ull + a + b);
    return a + b;
  }
};
struct Lesser {
  template <typename T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Greater {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct And {
  template <typename T>
  T operator()(T a, T b) const {
    return a & b;
  }
};
struct Or {
  template <typename T>
  T operator()(T a, T b) const {
    return a | b;
  }
};
struct Xor {
  template <typename T>
  T operator()(T a, T b) const {
    return a ^ b;
  }
};

template <typename T, typename Combine>
inline void finish_reduce(Meeting& meeting) {
  std::uint64_t open = meeting.lanes;
  T result = meeting.get<T>(static_cast<unsigned>(__builtin_ctzll(open)));
  for (open &= open - 1; open != 0; open &= open - 1) {
    result = Combine()(result, meeting.get<T>(static_cast<unsigned>(__builtin_ctzll(open))));
  }
  meeting.word = static_cast<std::uint64_t>(result);
}

}  // namespace detail
}  // namespace simt

SIMT_INLINE void __syncthreads(SIMT_HERE) { ::simt::block_barrier("__syncthreads", 0, SIMT_THERE); }
SIMT_INLINE int __syncthreads_count(int predicate, SIMT_HERE) {
  return ::simt::block_barrier("__syncthreads_count", predicate != 0, SIMT_THERE).count;
}
SIMT_INLINE int __syncthreads_and(int predicate, SIMT_HERE) {
  return ::simt::block_barrier("__syncthreads_and", predicate != 0, SIMT_THERE).all;
}
SIMT_INLINE int __syncthreads_or(int predicate, SIMT_HERE) {
  return ::simt::block_barrier("__syncthreads_or", predicate != 0, SIMT_THERE).any;
}

#endif
