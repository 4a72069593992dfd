// SPDX-License-Identifier: Apache-2.0
// hipport/memory.h: CUDA's loads and stores with a cache operator, for AMD. Put here by hipport.
//
// Most operators are hints for the caches and change no value: they are plain accesses here. __ldcg, __ldcv, __stcg and
// __stwt are different: code uses them to see stores of other blocks, because they bypass the cache of one
// multiprocessor. So they are relaxed atomic accesses at device scope, a word of up to 8 bytes at a time.
#ifndef HIPPORT_MEMORY_H
#define HIPPORT_MEMORY_H

#if defined(__HIP__) || defined(__CUDACC__)  // nothing here is for host compilers

#if defined(__HIP__)
#include <hip/hip_runtime.h>
#else
#include <cuda_runtime.h>
#endif

namespace hipport {

#if defined(__HIP__)

namespace detail {

template <typename Word, typename T>
static __device__ __forceinline__ T load_words(const T* from) {
  Word words[sizeof(T) / sizeof(Word)];
#pragma unroll
  for (unsigned i = 0; i < sizeof(T) / sizeof(Word); ++i) {
    words[i] = __hip_atomic_load(reinterpret_cast<const Word*>(from) + i, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
  T value;
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}

template <typename Word, typename T>
static __device__ __forceinline__ void store_words(T* to, T value) {
  Word words[sizeof(T) / sizeof(Word)];
  __builtin_memcpy(words, &value, sizeof(T));
#pragma unroll
  for (unsigned i = 0; i < sizeof(T) / sizeof(Word); ++i) {
    __hip_atomic_store(reinterpret_cast<Word*>(to) + i, words[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
}

/// The widest word that divides a value of `size` bytes.
template <unsigned size>
struct word {
  using type = unsigned long long;
};
template <>
struct word<1> {
  using type = unsigned char;
};
template <>
struct word<2> {
  using type = unsigned short;
};
template <>
struct word<4> {
  using type = unsigned;
};

template <typename T>
using word_of = typename word<(sizeof(T) % 8 == 0 ? 8 : sizeof(T) % 4 == 0 ? 4 : sizeof(T) % 2 == 0 ? 2 : 1)>::type;

}  // namespace detail

#define HIPPORT_PLAIN(load, store)                               \
  template <typename T>                                          \
  static __device__ __forceinline__ T load(const T* from) {      \
    return *from;                                                \
  }                                                              \
  template <typename T>                                          \
  static __device__ __forceinline__ void store(T* to, T value) { \
    *to = value;                                                 \
  }
HIPPORT_PLAIN(ldca, stwb)
HIPPORT_PLAIN(ldcs, stcs)
#undef HIPPORT_PLAIN

template <typename T>
static __device__ __forceinline__ T ldlu(const T* from) {
  return *from;
}

#define HIPPORT_COHERENT(load, store)                                         \
  template <typename T>                                                       \
  static __device__ __forceinline__ T load(const T* from) {                   \
    return detail::load_words<detail::word_of<T>>(from);                      \
  }                                                                           \
  template <typename T>                                                       \
  static __device__ __forceinline__ void store(T* to, T value) {              \
    detail::store_words<detail::word_of<T>>(to, value);                       \
  }
HIPPORT_COHERENT(ldcg, stcg)
HIPPORT_COHERENT(ldcv, stwt)
#undef HIPPORT_COHERENT

#else  // nvcc

#define HIPPORT_NATIVE(name, native)                            \
  template <typename T>                                         \
  static __device__ __forceinline__ T name(const T* from) {     \
    return native(from);                                        \
  }
HIPPORT_NATIVE(ldca, __ldca)
HIPPORT_NATIVE(ldcg, __ldcg)
HIPPORT_NATIVE(ldcs, __ldcs)
HIPPORT_NATIVE(ldcv, __ldcv)
HIPPORT_NATIVE(ldlu, __ldlu)
#undef HIPPORT_NATIVE
#define HIPPORT_NATIVE(name, native)                             \
  template <typename T>                                          \
  static __device__ __forceinline__ void name(T* to, T value) {  \
    native(to, value);                                           \
  }
HIPPORT_NATIVE(stcg, __stcg)
HIPPORT_NATIVE(stcs, __stcs)
HIPPORT_NATIVE(stwb, __stwb)
HIPPORT_NATIVE(stwt, __stwt)
#undef HIPPORT_NATIVE

#endif

}  // namespace hipport

#endif  // host compilers

#endif  // HIPPORT_MEMORY_H
