// SPDX-License-Identifier: Apache-2.0
// hipport/cooperative_groups.h: what CUDA's <cooperative_groups/reduce.h> declares and HIP before ROCm 7.13 does not.
// Put here by hipport.
//
// A tile of up to 32 lanes is reduced by shuffles within its lanes, on wavefronts of 32 and of 64; every lane gets the
// result. A coalesced group is gone through lane by lane. As in CUDA, the order of the additions is not specified.
#pragma once

#if defined(__HIP_PLATFORM_AMD__) || defined(__HIP__)

#include <hip/hip_runtime.h>  // HIP 5.2 needs it first

#include <hip/hip_cooperative_groups.h>

#if HIP_VERSION < 71300000

#include "warp.h"

namespace cooperative_groups {

template <typename T>
struct plus {
  __device__ __forceinline__ T operator()(T a, T b) const { return a + b; }
};
/// Keeps the lesser of the two.
template <typename T>
struct less {
  __device__ __forceinline__ T operator()(T a, T b) const { return b < a ? b : a; }
};
/// Keeps the greater of the two.
template <typename T>
struct greater {
  __device__ __forceinline__ T operator()(T a, T b) const { return a < b ? b : a; }
};
template <typename T>
struct bit_and {
  __device__ __forceinline__ T operator()(T a, T b) const { return a & b; }
};
template <typename T>
struct bit_or {
  __device__ __forceinline__ T operator()(T a, T b) const { return a | b; }
};
template <typename T>
struct bit_xor {
  __device__ __forceinline__ T operator()(T a, T b) const { return a ^ b; }
};

template <unsigned size, typename Parent, typename T, typename Combine>
__device__ __forceinline__ T reduce(const thread_block_tile<size, Parent>&, T value, Combine combine) {
  static_assert(size <= 32, "hipport reduces tiles of up to 32 lanes: split a larger one");
#pragma unroll
  for (unsigned lanes = size / 2; lanes != 0; lanes /= 2) {
    value = combine(value, ::hipport::shfl_xor_sync(0xffffffffu, value, static_cast<int>(lanes), static_cast<int>(size)));
  }
  return value;
}

template <typename T, typename Combine>
__device__ __forceinline__ T reduce(const coalesced_group& group, T value, Combine combine) {
  T result = group.shfl(value, 0);
  for (unsigned rank = 1; rank < group.size(); ++rank) {
    result = combine(result, group.shfl(value, static_cast<int>(rank)));
  }
  return result;
}

}  // namespace cooperative_groups

#endif

#else
#include <cooperative_groups/reduce.h>
#endif
