// SPDX-License-Identifier: Apache-2.0
// ATen/native/cuda/KernelUtils.cuh: fastAtomicAdd, without the optimization.
#ifndef SIMT_ATEN_NATIVE_CUDA_KERNEL_UTILS_CUH
#define SIMT_ATEN_NATIVE_CUDA_KERNEL_UTILS_CUH
#include <ATen/cuda/Atomic.cuh>

namespace at::native {

inline size_t idx(size_t n, size_t channels, size_t height, size_t width, size_t c, size_t h, size_t w) {
  return ((n * channels + c) * height + h) * width + w;
}
template <typename scalar_t, typename index_t>
void fastAtomicAdd(scalar_t* tensor, index_t index, const index_t numel, scalar_t value, bool) {
  if (index < 0 || index >= numel)
    simt::fault("out-of-bounds", {__FILE__, __LINE__}, "fastAtomicAdd at %lld of a tensor of %lld elements",
                static_cast<long long>(index), static_cast<long long>(numel));
  gpuAtomicAddNoReturn(tensor + index, value);
}

}  // namespace at::native

#endif
