// SPDX-License-Identifier: Apache-2.0
// THC/THC.h: the parts of PyTorch's first CUDA library that extensions still use; PyTorch removed it in release 1.11.
#ifndef SIMT_THC_H
#define SIMT_THC_H
#include "simt/torch.h"

#define THCudaCheck(...) C10_CUDA_CHECK(__VA_ARGS__)
#define THCudaCheckWarn(...) C10_CUDA_CHECK_WARN(__VA_ARGS__)
#define THError(...) TORCH_CHECK(false, __VA_ARGS__)
#define THAssert(...) TORCH_CHECK(__VA_ARGS__)
#define THArgCheck(condition, argument, ...) TORCH_CHECK(condition, "argument ", argument, ": ", __VA_ARGS__)

struct THCState {};

template <typename T>
constexpr T THCCeilDiv(T a, T b) {
  return (a + b - 1) / b;
}
template <typename T>
constexpr T THCRoundUp(T a, T b) {
  return THCCeilDiv(a, b) * b;
}
inline void* THCudaMalloc(THCState*, std::size_t size) { return c10::cuda::CUDACachingAllocator::raw_alloc(size); }
inline void THCudaFree(THCState*, void* address) { c10::cuda::CUDACachingAllocator::raw_delete(address); }
inline simt::torch_glue::Stream THCState_getCurrentStream(THCState*) { return c10::cuda::getCurrentCUDAStream(); }

namespace at {
/// The state that extensions get from `globalContext()`.
inline THCState* simt_thc_state() {
  static THCState state;
  return &state;
}
}  // namespace at

#endif
