// SPDX-License-Identifier: Apache-2.0
#include <torch/extension.h>

#ifdef WITH_CUDA
#include "reductions.h"
#endif

#define NEEDS_CUDA(call)                                         \
  TORCH_CHECK(x.is_cuda(), "only for tensors on the GPU");       \
  TORCH_CHECK(x.is_contiguous(), "the tensor has gaps");         \
  return call

#ifndef WITH_CUDA
#undef NEEDS_CUDA
#define NEEDS_CUDA(call) TORCH_CHECK(false, "built without CUDA")
#endif

std::vector<at::Tensor> reduce_rows(const at::Tensor& x, int64_t style, int64_t block) {
  NEEDS_CUDA(reduce_rows_cuda(x, style, block));
}
std::vector<at::Tensor> argmax_rows(const at::Tensor& x, int64_t block) { NEEDS_CUDA(argmax_rows_cuda(x, block)); }
std::vector<at::Tensor> moments(const at::Tensor& x, int64_t width) { NEEDS_CUDA(moments_cuda(x, width)); }
std::vector<at::Tensor> reduce_ints(const at::Tensor& x, int64_t block) { NEEDS_CUDA(reduce_ints_cuda(x, block)); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("reduce_rows", &reduce_rows);
  m.def("argmax_rows", &argmax_rows);
  m.def("moments", &moments);
  m.def("reduce_ints", &reduce_ints);
}
