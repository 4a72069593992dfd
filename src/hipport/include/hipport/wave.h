// SPDX-License-Identifier: Apache-2.0
// hipport/wave.h: CUDA's warp functions on whole wavefronts of AMD, of 32 or of 64 lanes. Put here by hipport.
//
// For kernels that were ported with `--warp native`: a warp is as large as the wavefront, and masks of lanes have 64
// bits for both sizes. Device code gets the size from `wave_size()`, which the compiler knows for each target GPU; host
// code from `wave_size_of(device)`. Neither is a constant expression: arrays have room for `max_lanes` lanes or
// `max_waves` wavefronts of a block, and no name or type depends on the size. As in hipport/warp.h a mask selects among
// the active lanes, and does not make lanes wait.
//
// With nvcc a wavefront is a warp.
#ifndef HIPPORT_WAVE_H
#define HIPPORT_WAVE_H

#include "warp.h"

#if !defined(__HIP__) && !defined(__CUDACC__) && defined(__HIP_PLATFORM_AMD__)
#include <hip/hip_runtime_api.h>
#endif

#define HIPPORT_DEVICE static __device__ __forceinline__

namespace hipport {
namespace native {

/// The size of an array with an entry for each lane, or for each wavefront of the largest block.
constexpr int max_lanes = 64;
constexpr int max_waves = 32;

#if defined(__HIP__) || (!defined(__CUDACC__) && defined(__HIP_PLATFORM_AMD__))
/// The size of the device's wavefronts, for host code that lays out a launch.
inline hipError_t wave_size_of(int device, int* size) {
  return hipDeviceGetAttribute(size, hipDeviceAttributeWarpSize, device);
}
#endif

#if defined(__HIP__) || defined(__CUDACC__)  // nothing below is for host compilers

#if defined(__HIP__)

using lane_mask = unsigned long long;

HIPPORT_DEVICE int wave_size() {
#if __has_builtin(__builtin_amdgcn_wavefrontsize)
  return static_cast<int>(__builtin_amdgcn_wavefrontsize());
#else
  return __AMDGCN_WAVEFRONT_SIZE;  // clang before 17; deprecated since, and wrong for host code
#endif
}
HIPPORT_DEVICE int lane_id() { return static_cast<int>(__lane_id()); }
HIPPORT_DEVICE lane_mask activemask() { return __ballot(1); }

HIPPORT_DEVICE lane_mask ballot_sync(lane_mask mask, int predicate) { return __ballot(predicate != 0) & mask; }
HIPPORT_DEVICE int any_sync(lane_mask mask, int predicate) { return (__ballot(predicate != 0) & mask) != 0; }
HIPPORT_DEVICE int all_sync(lane_mask mask, int predicate) { return (__ballot(predicate == 0) & mask) == 0; }

/// The number of lanes in a mask; its first lane plus one, 0 for none; its last lane, -1 for none.
HIPPORT_DEVICE int popc(lane_mask mask) { return __builtin_popcountll(mask); }
HIPPORT_DEVICE int ffs(lane_mask mask) { return __builtin_ffsll(static_cast<long long>(mask)); }
HIPPORT_DEVICE int last_lane(lane_mask mask) { return mask == 0 ? -1 : 63 - __builtin_clzll(mask); }

template <typename T>
HIPPORT_DEVICE detail::taken_t<T> shfl_sync(lane_mask, T value, int lane, int width = wave_size()) {
  return detail::by_words<detail::taken_t<T>>(value, [=](int word) { return __shfl(word, lane, width); });
}
template <typename T>
HIPPORT_DEVICE detail::taken_t<T> shfl_up_sync(lane_mask, T value, unsigned delta, int width = wave_size()) {
  return detail::by_words<detail::taken_t<T>>(value, [=](int word) { return __shfl_up(word, delta, width); });
}
template <typename T>
HIPPORT_DEVICE detail::taken_t<T> shfl_down_sync(lane_mask, T value, unsigned delta, int width = wave_size()) {
  return detail::by_words<detail::taken_t<T>>(value, [=](int word) { return __shfl_down(word, delta, width); });
}
template <typename T>
HIPPORT_DEVICE detail::taken_t<T> shfl_xor_sync(lane_mask, T value, int lanes, int width = wave_size()) {
  return detail::by_words<detail::taken_t<T>>(value, [=](int word) { return __shfl_xor(word, lanes, width); });
}

template <typename T>
HIPPORT_DEVICE lane_mask match_any_sync(lane_mask mask, T value) {
  const detail::taken_t<T> own = value;
  lane_mask result = 0;
  for (lane_mask open = activemask(); open != 0;) {
    const bool same = detail::same_bits(own, shfl_sync(mask, own, ffs(open) - 1));
    const lane_mask group = __ballot(same);
    if (same) result = group & mask;
    open &= ~group;
  }
  return result;
}
template <typename T>
HIPPORT_DEVICE lane_mask match_all_sync(lane_mask mask, T value, int* predicate) {
  const detail::taken_t<T> own = value;
  const lane_mask there = activemask() & mask;
  const detail::taken_t<T> first = shfl_sync(mask, own, ffs(there) - 1);
  *predicate = all_sync(mask, detail::same_bits(own, first));
  return *predicate ? there : 0;
}

template <typename T, typename Combine>
HIPPORT_DEVICE T reduce_with(lane_mask mask, T value, Combine combine) {
  lane_mask open = activemask() & mask;
  T result = value;
  if (popc(open) == wave_size()) {
    for (int lanes = wave_size() / 2; lanes != 0; lanes /= 2) {
      result = combine(result, shfl_xor_sync(mask, result, lanes));
    }
    return result;
  }
  result = shfl_sync(mask, value, ffs(open) - 1);
  for (open &= open - 1; open != 0; open &= open - 1) result = combine(result, shfl_sync(mask, value, ffs(open) - 1));
  return result;
}

HIPPORT_DEVICE unsigned reduce_add_sync(lane_mask mask, unsigned value) {
  return reduce_with(mask, value, [](unsigned a, unsigned b) { return a + b; });
}
HIPPORT_DEVICE int reduce_add_sync(lane_mask mask, int value) {
  return static_cast<int>(reduce_add_sync(mask, static_cast<unsigned>(value)));
}
HIPPORT_DEVICE unsigned reduce_min_sync(lane_mask mask, unsigned value) {
  return reduce_with(mask, value, [](unsigned a, unsigned b) { return b < a ? b : a; });
}
HIPPORT_DEVICE int reduce_min_sync(lane_mask mask, int value) {
  return reduce_with(mask, value, [](int a, int b) { return b < a ? b : a; });
}
HIPPORT_DEVICE unsigned reduce_max_sync(lane_mask mask, unsigned value) {
  return reduce_with(mask, value, [](unsigned a, unsigned b) { return a < b ? b : a; });
}
HIPPORT_DEVICE int reduce_max_sync(lane_mask mask, int value) {
  return reduce_with(mask, value, [](int a, int b) { return a < b ? b : a; });
}
HIPPORT_DEVICE unsigned reduce_and_sync(lane_mask mask, unsigned value) {
  return reduce_with(mask, value, [](unsigned a, unsigned b) { return a & b; });
}
HIPPORT_DEVICE unsigned reduce_or_sync(lane_mask mask, unsigned value) {
  return reduce_with(mask, value, [](unsigned a, unsigned b) { return a | b; });
}
HIPPORT_DEVICE unsigned reduce_xor_sync(lane_mask mask, unsigned value) {
  return reduce_with(mask, value, [](unsigned a, unsigned b) { return a ^ b; });
}

HIPPORT_DEVICE void syncwarp(lane_mask = 0) { ::hipport::syncwarp(); }

#else  // nvcc

using lane_mask = unsigned;

HIPPORT_DEVICE int wave_size() { return warp_size; }
HIPPORT_DEVICE int lane_id() { return static_cast<int>(::hipport::lane_id()); }
HIPPORT_DEVICE int popc(lane_mask mask) { return __popc(mask); }
HIPPORT_DEVICE int ffs(lane_mask mask) { return __ffs(static_cast<int>(mask)); }
HIPPORT_DEVICE int last_lane(lane_mask mask) { return 31 - __clz(static_cast<int>(mask)); }
using ::hipport::activemask;
using ::hipport::all_sync;
using ::hipport::any_sync;
using ::hipport::ballot_sync;
using ::hipport::match_all_sync;
using ::hipport::match_any_sync;
using ::hipport::shfl_down_sync;
using ::hipport::shfl_sync;
using ::hipport::shfl_up_sync;
using ::hipport::shfl_xor_sync;
using ::hipport::syncwarp;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
using ::hipport::reduce_add_sync;
using ::hipport::reduce_and_sync;
using ::hipport::reduce_max_sync;
using ::hipport::reduce_min_sync;
using ::hipport::reduce_or_sync;
using ::hipport::reduce_xor_sync;
#endif

inline cudaError_t wave_size_of(int device, int* size) {
  return cudaDeviceGetAttribute(size, cudaDevAttrWarpSize, device);
}

#endif

/// All lanes of a wavefront.
HIPPORT_DEVICE lane_mask full_mask() {
  return ~lane_mask(0) >> (8 * static_cast<int>(sizeof(lane_mask)) - wave_size());
}

/// A mask with only the given lane.
HIPPORT_DEVICE lane_mask one_lane(int lane) { return lane_mask(1) << lane; }
HIPPORT_DEVICE lane_mask lanemask_eq() { return one_lane(lane_id()); }
HIPPORT_DEVICE lane_mask lanemask_lt() { return lanemask_eq() - 1; }
HIPPORT_DEVICE lane_mask lanemask_le() { return lanemask_lt() | lanemask_eq(); }
HIPPORT_DEVICE lane_mask lanemask_gt() { return full_mask() & ~lanemask_le(); }
HIPPORT_DEVICE lane_mask lanemask_ge() { return full_mask() & ~lanemask_lt(); }
/// Whether the lanes agree.
HIPPORT_DEVICE int uni_sync(lane_mask mask, int predicate) {
  return all_sync(mask, predicate) || !any_sync(mask, predicate);
}
/// The maskless forms: all active lanes take part.
HIPPORT_DEVICE int all(int predicate) { return all_sync(full_mask(), predicate); }
HIPPORT_DEVICE int any(int predicate) { return any_sync(full_mask(), predicate); }
HIPPORT_DEVICE lane_mask ballot(int predicate) { return ballot_sync(full_mask(), predicate); }
template <typename T>
HIPPORT_DEVICE auto shfl(T value, int lane, int width = wave_size())
    -> decltype(shfl_sync(full_mask(), value, lane, width)) {
  return shfl_sync(full_mask(), value, lane, width);
}
template <typename T>
HIPPORT_DEVICE auto shfl_up(T value, unsigned delta, int width = wave_size())
    -> decltype(shfl_up_sync(full_mask(), value, delta, width)) {
  return shfl_up_sync(full_mask(), value, delta, width);
}
template <typename T>
HIPPORT_DEVICE auto shfl_down(T value, unsigned delta, int width = wave_size())
    -> decltype(shfl_down_sync(full_mask(), value, delta, width)) {
  return shfl_down_sync(full_mask(), value, delta, width);
}
template <typename T>
HIPPORT_DEVICE auto shfl_xor(T value, int lanes, int width = wave_size())
    -> decltype(shfl_xor_sync(full_mask(), value, lanes, width)) {
  return shfl_xor_sync(full_mask(), value, lanes, width);
}

#endif  // host compilers

}  // namespace native
}  // namespace hipport

#undef HIPPORT_DEVICE

#endif  // HIPPORT_WAVE_H
