// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace matched {

using mask_t = std::uint32_t;

__device__ inline unsigned lane() { return threadIdx.x & 31u; }
__device__ inline mask_t lanes_below() { return (mask_t{1} << lane()) - 1; }
__device__ inline mask_t lanes_above() { return ~mask_t{1} << lane(); }

// Lanes that have the same key, and what is done once for all of them.
struct Peers {
  mask_t mask;

  template <typename Key>
  static __device__ inline Peers of(mask_t here, Key key) {
    return Peers{__match_any_sync(here, key)};
  }
  __device__ inline int size() const { return __popc(mask); }
  __device__ inline unsigned first() const { return __ffs(mask) - 1; }
  __device__ inline unsigned last() const { return 31 - __clz(mask); }
  __device__ inline bool leads() const { return lane() == first(); }
  __device__ inline int rank() const { return __popc(mask & lanes_below()); }
};

// The sum of what the peers have, in the lane that leads them. All lanes of `here` take part, whoever their peers are:
// each adds what its next peer holds and then leaves every other peer out.
template <typename T>
__device__ T sum_of_peers(mask_t here, Peers peers, T value) {
  mask_t after = peers.mask & lanes_above();
  int rank = peers.rank();
  while (__any_sync(here, after != 0)) {
    const int next = __ffs(after) - 1;
    const T other = __shfl_sync(here, value, next < 0 ? lane() : next);
    if (next >= 0) value += other;
    // Peers of odd rank are done: their value is with the peer before.
    const mask_t odd = __ballot_sync(here, rank & 1);
    after &= ~odd;
    rank >>= 1;
  }
  return value;
}

}  // namespace matched
