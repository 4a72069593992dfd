// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

// op(a) is a or, with trans_a, its transpose; the same for b. All contiguous, 2-D, of one type.
at::Tensor matmul_cpu(const at::Tensor& a, const at::Tensor& b, bool trans_a, bool trans_b);
at::Tensor add_bias_cpu(const at::Tensor& c, const at::Tensor& bias);

#ifdef WITH_CUDA
at::Tensor matmul_cuda(const at::Tensor& a, const at::Tensor& b, bool trans_a, bool trans_b);
at::Tensor add_bias_cuda(const at::Tensor& c, const at::Tensor& bias);
#endif
