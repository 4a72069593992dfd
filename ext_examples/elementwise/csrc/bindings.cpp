// SPDX-License-Identifier: Apache-2.0
#include <torch/extension.h>

#include "fused_act.h"

#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x " must be a CUDA tensor (did you forget .cuda()?)")

namespace {

void check(const torch::Tensor& x, const torch::Tensor& bias, int64_t act) {
  CHECK_CUDA(x);
  CHECK_CUDA(bias);
  TORCH_CHECK(act >= ACT_LRELU && act <= ACT_SILU, "unknown activation ", act);
  TORCH_CHECK(x.dim() >= 1, "x must have at least one dimension");
  TORCH_CHECK(bias.numel() == 0 || bias.numel() == x.size(-1), "bias must have one value for each of ", x.size(-1), " channels");
  TORCH_CHECK(bias.scalar_type() == x.scalar_type(), "bias must have the type of x");
}

torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& bias, int64_t act, double slope, double gain) {
  check(x, bias, act);
  return fused_act_forward_cuda(x.contiguous(), bias.contiguous(), static_cast<int>(act), slope, gain);
}

std::tuple<torch::Tensor, torch::Tensor> backward(
    const torch::Tensor& grad_y, const torch::Tensor& x, const torch::Tensor& bias, int64_t act, double slope, double gain) {
  check(x, bias, act);
  CHECK_CUDA(grad_y);
  TORCH_CHECK(grad_y.sizes() == x.sizes(), "grad_y must have the shape of x");
  return fused_act_backward_cuda(
      grad_y.contiguous(), x.contiguous(), bias.contiguous(), static_cast<int>(act), slope, gain);
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &forward, "gain * act(x + bias)");
  m.def("backward", &backward, "gradients of x and bias");
}
