// SPDX-License-Identifier: Apache-2.0
// ATen/cuda/Atomic.cuh: atomic operations on every element type of tensors. Names as in PyTorch 2.13.
#ifndef SIMT_ATEN_CUDA_ATOMIC_CUH
#define SIMT_ATEN_CUDA_ATOMIC_CUH
#include "simt/torch.h"

#include <cmath>
#include <cstring>

namespace simt::torch_glue {

template <std::size_t size>
struct Word;
template <>
struct Word<1> {
  using type = std::uint8_t;
};
template <>
struct Word<2> {
  using type = std::uint16_t;
};
template <>
struct Word<4> {
  using type = std::uint32_t;
};
template <>
struct Word<8> {
  using type = std::uint64_t;
};

/// Replace the value at `address` by `change(old)`, and return the old value.
template <typename T, typename Change>
T update(T* address, Change change) {
  using W = typename Word<sizeof(T)>::type;
  W* place = reinterpret_cast<W*>(address);
  W old = __atomic_load_n(place, __ATOMIC_RELAXED);
  for (;;) {
    T before;
    std::memcpy(static_cast<void*>(&before), &old, sizeof(T));
    const T after = change(before);
    W wanted;
    std::memcpy(&wanted, static_cast<const void*>(&after), sizeof(T));
    if (__atomic_compare_exchange_n(place, &old, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return before;
  }
}

template <typename T>
bool is_nan(T value) {
  if constexpr (std::is_integral_v<T>)
    return false;
  else
    return std::isnan(static_cast<double>(value));
}

}  // namespace simt::torch_glue

template <typename T>
T gpuAtomicAdd(T* address, T value) {
  if constexpr (std::is_same_v<T, bool>)
    return simt::torch_glue::update(address, [=](T old) { return old || value; });
  else
    return simt::torch_glue::update(address, [=](T old) { return static_cast<T>(old + value); });
}
/// The two parts separately, as on the GPU.
inline c10::complex<double> gpuAtomicAdd(c10::complex<double>* address, c10::complex<double> value) {
  auto* parts = reinterpret_cast<double*>(address);
  const double real = gpuAtomicAdd(parts, value.real());
  return {real, gpuAtomicAdd(parts + 1, value.imag())};
}
inline c10::complex<float> gpuAtomicAdd(c10::complex<float>* address, c10::complex<float> value) {
  auto* parts = reinterpret_cast<float*>(address);
  const float real = gpuAtomicAdd(parts, value.real());
  return {real, gpuAtomicAdd(parts + 1, value.imag())};
}
// The value may have a type that converts, as in atomicAdd(pointer_to_double, 1).
template <typename T, typename U, typename = std::enable_if_t<!std::is_same_v<T, U>>>
T gpuAtomicAdd(T* address, U value) {
  return gpuAtomicAdd(address, static_cast<T>(value));
}
template <typename T, typename U>
void gpuAtomicAddNoReturn(T* address, U value) {
  gpuAtomicAdd(address, static_cast<T>(value));
}
template <typename T>
T gpuAtomicMul(T* address, T value) {
  return simt::torch_glue::update(address, [=](T old) { return static_cast<T>(old * value); });
}
// NaN propagates, as in PyTorch.
template <typename T>
T gpuAtomicMax(T* address, T value) {
  return simt::torch_glue::update(address, [=](T old) {
    return simt::torch_glue::is_nan(old) || (!simt::torch_glue::is_nan(value) && old > value) ? old : value;
  });
}
template <typename T>
T gpuAtomicMin(T* address, T value) {
  return simt::torch_glue::update(address, [=](T old) {
    return simt::torch_glue::is_nan(old) || (!simt::torch_glue::is_nan(value) && old < value) ? old : value;
  });
}

// CUDA and HIP have atomicAdd for their own types; PyTorch adds it for these.
#define SIMT_ATOMIC_ADD(T) \
  inline T atomicAdd(T* address, T value) { return gpuAtomicAdd(address, value); }
SIMT_ATOMIC_ADD(std::uint8_t)
SIMT_ATOMIC_ADD(std::int8_t)
SIMT_ATOMIC_ADD(std::int16_t)
SIMT_ATOMIC_ADD(std::int64_t)
SIMT_ATOMIC_ADD(bool)
SIMT_ATOMIC_ADD(c10::Half)
SIMT_ATOMIC_ADD(c10::BFloat16)
SIMT_ATOMIC_ADD(c10::complex<float>)
SIMT_ATOMIC_ADD(c10::complex<double>)
#undef SIMT_ATOMIC_ADD

#endif
