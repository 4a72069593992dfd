// SPDX-License-Identifier: Apache-2.0
#include "tiled_matmul.h"

#include <torch/extension.h>

namespace {

at::Tensor matmul(const at::Tensor& a, const at::Tensor& b, bool trans_a, bool trans_b) {
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2, "matmul wants two matrices");
  TORCH_CHECK(a.size(trans_a ? 0 : 1) == b.size(trans_b ? 1 : 0), "inner sizes differ");
  TORCH_CHECK(a.scalar_type() == b.scalar_type() && a.device() == b.device(), "matrices of two kinds");
  if (a.is_cuda()) {
#ifdef WITH_CUDA
    return matmul_cuda(a.contiguous(), b.contiguous(), trans_a, trans_b);
#else
    AT_ERROR("tiled_matmul was built without CUDA; set CUDA_HOME and build again");
#endif
  }
  return matmul_cpu(a.contiguous(), b.contiguous(), trans_a, trans_b);
}

at::Tensor add_bias(const at::Tensor& c, const at::Tensor& bias) {
  TORCH_CHECK(bias.dim() == 1 && bias.size(0) == c.size(1), "bias must have one value for each column");
  if (c.is_cuda()) {
#ifdef WITH_CUDA
    return add_bias_cuda(c.contiguous(), bias.contiguous());
#else
    AT_ERROR("tiled_matmul was built without CUDA; set CUDA_HOME and build again");
#endif
  }
  return add_bias_cpu(c, bias);
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("matmul", &matmul, "op(a) @ op(b)");
  m.def("add_bias", &add_bias, "c + bias, row by row");
}
