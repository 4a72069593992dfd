// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ordered.cuh"

#define SHFL_XOR(value, lanes) __shfl_xor_sync(0xffffffffU, value, lanes)

namespace warp {

// Keeps the earlier of two items in one lane and the later in the other.
template <typename Key>
__device__ __forceinline__ void exchange(Item<Key>& mine, int lanes, bool keep_earlier) {
  Item<Key> other;
  other.key = SHFL_XOR(mine.key, lanes);
  other.index = SHFL_XOR(mine.index, lanes);
  if (other.before(mine) == keep_earlier) mine = other;
}

// The items of kWidth lanes, which rise and then fall, become sorted.
template <int kWidth, typename Key>
__device__ __forceinline__ void merge(Item<Key>& mine, int lane, bool rising = true) {
#pragma unroll
  for (int lanes = kWidth / 2; lanes > 0; lanes >>= 1) exchange(mine, lanes, ((lane & lanes) == 0) == rising);
}

// Each kWidth lanes become sorted.
template <int kWidth, typename Key>
__device__ __forceinline__ void sort(Item<Key>& mine, int lane) {
#pragma unroll
  for (int size = 2; size <= kWidth; size <<= 1) {
#pragma unroll
    for (int lanes = size / 2; lanes > 0; lanes >>= 1) {
      const bool rising = size == kWidth || (lane & size) == 0;
      exchange(mine, lanes, ((lane & lanes) == 0) == rising);
    }
  }
}

}  // namespace warp
