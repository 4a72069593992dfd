// SPDX-License-Identifier: Apache-2.0
#include "tiled_matmul.h"

at::Tensor matmul_cpu(const at::Tensor& a, const at::Tensor& b, bool trans_a, bool trans_b) {
  return at::matmul(trans_a ? a.t() : a, trans_b ? b.t() : b);
}

at::Tensor add_bias_cpu(const at::Tensor& c, const at::Tensor& bias) { return c + bias; }
