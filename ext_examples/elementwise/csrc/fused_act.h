// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <tuple>

enum Activation { ACT_LRELU = 0, ACT_GELU = 1, ACT_SILU = 2 };

// Host wrappers of the kernels. All tensors are contiguous and on one CUDA device; bias may be empty.
torch::Tensor fused_act_forward_cuda(const torch::Tensor& x, const torch::Tensor& bias, int act, double slope, double gain);

std::tuple<torch::Tensor, torch::Tensor> fused_act_backward_cuda(
    const torch::Tensor& grad_y, const torch::Tensor& x, const torch::Tensor& bias, int act, double slope, double gain);
