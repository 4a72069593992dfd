// SPDX-License-Identifier: Apache-2.0
// ATen/cuda/DeviceUtils.cuh: PyTorch's names for warp operations; in a ROCm build the maskless ones.
#ifndef SIMT_ATEN_CUDA_DEVICE_UTILS_CUH
#define SIMT_ATEN_CUDA_DEVICE_UTILS_CUH
#include "simt/torch.h"

#ifdef SIMT_HIP
inline unsigned long long WARP_BALLOT(int predicate, SIMT_HERE) {
  (void)simt_file, (void)simt_line;
  return __ballot(predicate);
}
inline unsigned long long WARP_ACTIVE_MASK() { return __ballot(1); }
template <typename T>
T WARP_SHFL_XOR(T value, int lanes, int width = warpSize, unsigned = 0xffffffff) {
  return __shfl_xor(value, lanes, width);
}
template <typename T>
T WARP_SHFL(T value, int lane, int width = warpSize, unsigned = 0xffffffff) {
  return __shfl(value, lane, width);
}
template <typename T>
T WARP_SHFL_UP(T value, unsigned delta, int width = warpSize, unsigned = 0xffffffff) {
  return __shfl_up(value, delta, width);
}
template <typename T>
T WARP_SHFL_DOWN(T value, unsigned delta, int width = warpSize, unsigned = 0xffffffff) {
  return __shfl_down(value, delta, width);
}
template <typename T>
c10::complex<T> WARP_SHFL_DOWN(c10::complex<T> value, unsigned delta, int width = warpSize, unsigned = 0xffffffff) {
  return {__shfl_down(value.real(), delta, width), __shfl_down(value.imag(), delta, width)};
}
inline unsigned ACTIVE_MASK() { return 0xffffffff; }
inline void WARP_SYNC(unsigned = 0xffffffff) {}
#else
inline unsigned WARP_BALLOT(int predicate, unsigned mask = 0xffffffff) { return __ballot_sync(mask, predicate); }
inline unsigned WARP_ACTIVE_MASK() { return __activemask(); }
template <typename T>
T WARP_SHFL_XOR(T value, int lanes, int width = warpSize, unsigned mask = 0xffffffff) {
  return __shfl_xor_sync(mask, value, lanes, width);
}
template <typename T>
T WARP_SHFL(T value, int lane, int width = warpSize, unsigned mask = 0xffffffff) {
  return __shfl_sync(mask, value, lane, width);
}
template <typename T>
T WARP_SHFL_UP(T value, unsigned delta, int width = warpSize, unsigned mask = 0xffffffff) {
  return __shfl_up_sync(mask, value, delta, width);
}
template <typename T>
T WARP_SHFL_DOWN(T value, unsigned delta, int width = warpSize, unsigned mask = 0xffffffff) {
  return __shfl_down_sync(mask, value, delta, width);
}
template <typename T>
c10::complex<T> WARP_SHFL_DOWN(c10::complex<T> value, unsigned delta, int width = warpSize,
                               unsigned mask = 0xffffffff) {
  return {__shfl_down_sync(mask, value.real(), delta, width), __shfl_down_sync(mask, value.imag(), delta, width)};
}
inline unsigned ACTIVE_MASK() { return __activemask(); }
inline void WARP_SYNC(unsigned mask = 0xffffffff) { __syncwarp(mask); }
#endif

template <typename T>
T doLdg(const T* address) {
  return *address;
}

#endif
