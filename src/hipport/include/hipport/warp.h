// SPDX-License-Identifier: Apache-2.0
// hipport/warp.h: CUDA's warp of 32 lanes, on AMD wavefronts of 32 and of 64 lanes. Put here by hipport.
//
// CUDA code assumes warps of 32. On a wavefront of 64, two such warps run side by side: lanes 0-31 and lanes 32-63.
// Each function below acts on the 32 lanes of its caller's warp, and has the name and the arguments of the
// corresponding CUDA function, without the leading underscores. Masks have 32 bits, as in CUDA.
//
// Only maskless built-ins are used, which every ROCm since 5.2 has. So a mask selects among the active lanes, and does
// not make lanes wait. AMD's compilers make lanes converge where the branches that separated them join: a call finds
// all lanes that reach it in one branch and one iteration of a loop. The lanes of one mask must reach the call so; CUDA
// also lets them meet in calls in different branches. Lanes that have exited do not count, here as there. The result of
// a shuffle from an inactive lane is undefined, as in CUDA.
//
// With nvcc the functions are the native ones.
//
// No #pragma once in hipport's headers: PyTorch's hipify makes a second file of some, and files that it leaves alone,
// such as `.inl` files, still include the first.
#ifndef HIPPORT_WARP_H
#define HIPPORT_WARP_H

namespace hipport {

/// Lanes in a warp, for any wavefront size.
constexpr int warp_size = 32;

}  // namespace hipport

#if defined(__HIP__) || defined(__CUDACC__)  // nothing below is for host compilers

#if defined(__HIP__)
#include <hip/hip_runtime.h>
#else
#include <cuda_runtime.h>
#endif

#define HIPPORT_DEVICE static __device__ __forceinline__

namespace hipport {

#if defined(__HIP__)

namespace detail {

/// The first lane of the caller's warp in its wavefront: 0 or 32.
HIPPORT_DEVICE unsigned first_lane() { return __lane_id() & 32u; }

HIPPORT_DEVICE unsigned ballot(bool predicate) {
  return static_cast<unsigned>(__ballot(predicate) >> first_lane());
}

/// The type as which CUDA's overloads take a value: a small integer as an int, and HIP 5.2's `threadIdx.x`, an empty
/// class that converts to a number, as that number. Other classes (half, vectors) are unchanged.
template <typename T>
struct has_words {
  static constexpr bool value = (__is_class(T) || __is_union(T)) && !__is_empty(T);
};
template <typename T, bool = has_words<T>::value>
struct taken {
  using type = T;
};
template <typename T>
struct taken<T, false> {
  using type = decltype(+*static_cast<T*>(nullptr));
};
template <typename T>
using taken_t = typename taken<T>::type;

/// Move the words of a value of any type, so that every size and every bit pattern is preserved.
template <typename T, typename Shuffle>
HIPPORT_DEVICE T by_words(T value, Shuffle shuffle) {
  constexpr unsigned count = (sizeof(T) + 3) / 4;
  int words[count] = {};
  __builtin_memcpy(words, static_cast<void*>(&value), sizeof(T));
#pragma unroll
  for (unsigned i = 0; i < count; ++i) words[i] = shuffle(words[i]);
  __builtin_memcpy(static_cast<void*>(&value), words, sizeof(T));
  return value;
}

template <typename T>
HIPPORT_DEVICE bool same_bits(T a, T b) {
  constexpr unsigned count = (sizeof(T) + 3) / 4;
  int x[count] = {}, y[count] = {};
  __builtin_memcpy(x, static_cast<void*>(&a), sizeof(T));
  __builtin_memcpy(y, static_cast<void*>(&b), sizeof(T));
  bool same = true;
#pragma unroll
  for (unsigned i = 0; i < count; ++i) same = same && x[i] == y[i];
  return same;
}

}  // namespace detail

/// The caller's lane in its warp, 0 to 31.
HIPPORT_DEVICE unsigned lane_id() { return __lane_id() & 31u; }

HIPPORT_DEVICE unsigned lanemask_eq() { return 1u << lane_id(); }
HIPPORT_DEVICE unsigned lanemask_lt() { return (1u << lane_id()) - 1u; }
HIPPORT_DEVICE unsigned lanemask_le() { return (2u << lane_id()) - 1u; }
HIPPORT_DEVICE unsigned lanemask_gt() { return ~((2u << lane_id()) - 1u); }
HIPPORT_DEVICE unsigned lanemask_ge() { return ~((1u << lane_id()) - 1u); }

HIPPORT_DEVICE unsigned activemask() { return detail::ballot(true); }

HIPPORT_DEVICE unsigned ballot_sync(unsigned mask, int predicate) { return detail::ballot(predicate != 0) & mask; }
HIPPORT_DEVICE int any_sync(unsigned mask, int predicate) { return (detail::ballot(predicate != 0) & mask) != 0; }
/// A lane that has exited does not count: no active lane may say no.
HIPPORT_DEVICE int all_sync(unsigned mask, int predicate) { return (detail::ballot(predicate == 0) & mask) == 0; }
/// Whether the lanes agree.
HIPPORT_DEVICE int uni_sync(unsigned mask, int predicate) {
  return all_sync(mask, predicate) || !any_sync(mask, predicate);
}

/// The deltas are taken modulo 32, as by the hardware behind CUDA's functions.
template <typename T>
HIPPORT_DEVICE detail::taken_t<T> shfl_sync(unsigned, T value, int lane, int width = warp_size) {
  return detail::by_words<detail::taken_t<T>>(value, [=](int word) { return __shfl(word, lane, width); });
}
template <typename T>
HIPPORT_DEVICE detail::taken_t<T> shfl_up_sync(unsigned, T value, unsigned delta, int width = warp_size) {
  return detail::by_words<detail::taken_t<T>>(value, [=](int word) { return __shfl_up(word, delta & 31u, width); });
}
template <typename T>
HIPPORT_DEVICE detail::taken_t<T> shfl_down_sync(unsigned, T value, unsigned delta, int width = warp_size) {
  return detail::by_words<detail::taken_t<T>>(value, [=](int word) { return __shfl_down(word, delta & 31u, width); });
}
template <typename T>
HIPPORT_DEVICE detail::taken_t<T> shfl_xor_sync(unsigned, T value, int lanes, int width = warp_size) {
  return detail::by_words<detail::taken_t<T>>(value, [=](int word) { return __shfl_xor(word, lanes & 31, width); });
}

/// The lanes of the mask with the same bits as the caller.
template <typename T>
HIPPORT_DEVICE unsigned match_any_sync(unsigned mask, T value) {
  const detail::taken_t<T> own = value;
  unsigned result = 0;
  // Each iteration settles all lanes with the value of the lowest unsettled one; the two warps of a wavefront proceed
  // independently.
  for (unsigned open = activemask(); open != 0;) {
    const bool same = detail::same_bits(own, shfl_sync(mask, own, __ffs(open) - 1));
    const unsigned group = detail::ballot(same);
    if (same) result = group & mask;
    open &= ~group;
  }
  return result;
}
/// The active lanes of the mask if all of them have the same bits, else 0.
template <typename T>
HIPPORT_DEVICE unsigned match_all_sync(unsigned mask, T value, int* predicate) {
  const detail::taken_t<T> own = value;
  const unsigned there = activemask() & mask;
  const detail::taken_t<T> first = shfl_sync(mask, own, __ffs(there) - 1);
  *predicate = all_sync(mask, detail::same_bits(own, first));
  return *predicate ? there : 0u;
}

namespace detail {

template <typename T, typename Combine>
HIPPORT_DEVICE T reduce(unsigned mask, T value, Combine combine) {
  unsigned open = activemask() & mask;
  if (open == 0xffffffffu) {
#pragma unroll
    for (int lanes = 16; lanes != 0; lanes /= 2) value = combine(value, shfl_xor_sync(mask, value, lanes));
    return value;
  }
  T result = shfl_sync(mask, value, __ffs(open) - 1);
  for (open &= open - 1; open != 0; open &= open - 1) result = combine(result, shfl_sync(mask, value, __ffs(open) - 1));
  return result;
}

}  // namespace detail

// The overloads are those of CUDA, so that smaller integers are promoted. Sums wrap around.
HIPPORT_DEVICE unsigned reduce_add_sync(unsigned mask, unsigned value) {
  return detail::reduce(mask, value, [](unsigned a, unsigned b) { return a + b; });
}
HIPPORT_DEVICE int reduce_add_sync(unsigned mask, int value) {
  return static_cast<int>(reduce_add_sync(mask, static_cast<unsigned>(value)));
}
HIPPORT_DEVICE unsigned reduce_min_sync(unsigned mask, unsigned value) {
  return detail::reduce(mask, value, [](unsigned a, unsigned b) { return b < a ? b : a; });
}
HIPPORT_DEVICE int reduce_min_sync(unsigned mask, int value) {
  return detail::reduce(mask, value, [](int a, int b) { return b < a ? b : a; });
}
HIPPORT_DEVICE unsigned reduce_max_sync(unsigned mask, unsigned value) {
  return detail::reduce(mask, value, [](unsigned a, unsigned b) { return a < b ? b : a; });
}
HIPPORT_DEVICE int reduce_max_sync(unsigned mask, int value) {
  return detail::reduce(mask, value, [](int a, int b) { return a < b ? b : a; });
}
HIPPORT_DEVICE unsigned reduce_and_sync(unsigned mask, unsigned value) {
  return detail::reduce(mask, value, [](unsigned a, unsigned b) { return a & b; });
}
HIPPORT_DEVICE unsigned reduce_or_sync(unsigned mask, unsigned value) {
  return detail::reduce(mask, value, [](unsigned a, unsigned b) { return a | b; });
}
HIPPORT_DEVICE unsigned reduce_xor_sync(unsigned mask, unsigned value) {
  return detail::reduce(mask, value, [](unsigned a, unsigned b) { return a ^ b; });
}

/// Orders memory among the lanes of the wavefront, and keeps the compiler from moving accesses across.
HIPPORT_DEVICE void syncwarp(unsigned = 0xffffffffu) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

#else  // nvcc

HIPPORT_DEVICE unsigned lane_id() {
#if defined(SIMT_CORE_H)  // hipport's CPU executor
  return ::simt::lane();
#else
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
#endif
}
HIPPORT_DEVICE unsigned lanemask_eq() { return 1u << lane_id(); }
HIPPORT_DEVICE unsigned lanemask_lt() { return (1u << lane_id()) - 1u; }
HIPPORT_DEVICE unsigned lanemask_le() { return (2u << lane_id()) - 1u; }
HIPPORT_DEVICE unsigned lanemask_gt() { return ~((2u << lane_id()) - 1u); }
HIPPORT_DEVICE unsigned lanemask_ge() { return ~((1u << lane_id()) - 1u); }
HIPPORT_DEVICE unsigned activemask() { return __activemask(); }
HIPPORT_DEVICE unsigned ballot_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate); }
HIPPORT_DEVICE int any_sync(unsigned mask, int predicate) { return __any_sync(mask, predicate); }
HIPPORT_DEVICE int all_sync(unsigned mask, int predicate) { return __all_sync(mask, predicate); }
HIPPORT_DEVICE int uni_sync(unsigned mask, int predicate) { return __uni_sync(mask, predicate); }
template <typename T>
HIPPORT_DEVICE auto shfl_sync(unsigned mask, T value, int lane, int width = warp_size)
    -> decltype(__shfl_sync(mask, value, lane, width)) {
  return __shfl_sync(mask, value, lane, width);
}
template <typename T>
HIPPORT_DEVICE auto shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warp_size)
    -> decltype(__shfl_up_sync(mask, value, delta, width)) {
  return __shfl_up_sync(mask, value, delta, width);
}
template <typename T>
HIPPORT_DEVICE auto shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warp_size)
    -> decltype(__shfl_down_sync(mask, value, delta, width)) {
  return __shfl_down_sync(mask, value, delta, width);
}
template <typename T>
HIPPORT_DEVICE auto shfl_xor_sync(unsigned mask, T value, int lanes, int width = warp_size)
    -> decltype(__shfl_xor_sync(mask, value, lanes, width)) {
  return __shfl_xor_sync(mask, value, lanes, width);
}
template <typename T>
HIPPORT_DEVICE unsigned match_any_sync(unsigned mask, T value) {
  return __match_any_sync(mask, value);
}
template <typename T>
HIPPORT_DEVICE unsigned match_all_sync(unsigned mask, T value, int* predicate) {
  return __match_all_sync(mask, value, predicate);
}
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
HIPPORT_DEVICE unsigned reduce_add_sync(unsigned mask, unsigned value) { return __reduce_add_sync(mask, value); }
HIPPORT_DEVICE int reduce_add_sync(unsigned mask, int value) { return __reduce_add_sync(mask, value); }
HIPPORT_DEVICE unsigned reduce_min_sync(unsigned mask, unsigned value) { return __reduce_min_sync(mask, value); }
HIPPORT_DEVICE int reduce_min_sync(unsigned mask, int value) { return __reduce_min_sync(mask, value); }
HIPPORT_DEVICE unsigned reduce_max_sync(unsigned mask, unsigned value) { return __reduce_max_sync(mask, value); }
HIPPORT_DEVICE int reduce_max_sync(unsigned mask, int value) { return __reduce_max_sync(mask, value); }
HIPPORT_DEVICE unsigned reduce_and_sync(unsigned mask, unsigned value) { return __reduce_and_sync(mask, value); }
HIPPORT_DEVICE unsigned reduce_or_sync(unsigned mask, unsigned value) { return __reduce_or_sync(mask, value); }
HIPPORT_DEVICE unsigned reduce_xor_sync(unsigned mask, unsigned value) { return __reduce_xor_sync(mask, value); }
#endif
HIPPORT_DEVICE void syncwarp(unsigned mask = 0xffffffffu) { __syncwarp(mask); }

#endif

/// The maskless forms, which CUDA had before sm_70: all active lanes take part.
HIPPORT_DEVICE int all(int predicate) { return all_sync(0xffffffffu, predicate); }
HIPPORT_DEVICE int any(int predicate) { return any_sync(0xffffffffu, predicate); }
HIPPORT_DEVICE unsigned ballot(int predicate) { return ballot_sync(0xffffffffu, predicate); }
template <typename T>
HIPPORT_DEVICE auto shfl(T value, int lane, int width = warp_size)
    -> decltype(shfl_sync(0xffffffffu, value, lane, width)) {
  return shfl_sync(0xffffffffu, value, lane, width);
}
template <typename T>
HIPPORT_DEVICE auto shfl_up(T value, unsigned delta, int width = warp_size)
    -> decltype(shfl_up_sync(0xffffffffu, value, delta, width)) {
  return shfl_up_sync(0xffffffffu, value, delta, width);
}
template <typename T>
HIPPORT_DEVICE auto shfl_down(T value, unsigned delta, int width = warp_size)
    -> decltype(shfl_down_sync(0xffffffffu, value, delta, width)) {
  return shfl_down_sync(0xffffffffu, value, delta, width);
}
template <typename T>
HIPPORT_DEVICE auto shfl_xor(T value, int lanes, int width = warp_size)
    -> decltype(shfl_xor_sync(0xffffffffu, value, lanes, width)) {
  return shfl_xor_sync(0xffffffffu, value, lanes, width);
}

}  // namespace hipport

#undef HIPPORT_DEVICE

#endif  // host compilers

#endif  // HIPPORT_WARP_H
