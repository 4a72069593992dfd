// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <tuple>

std::tuple<torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor> binPointsCUDA(const torch::Tensor& points, int64_t level);

// Sums from the right if `reverse`.
torch::Tensor rowCumsumCUDA(const torch::Tensor& x, bool reverse);
