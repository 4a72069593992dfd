// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <utility>

// (values, indices) of the elements above a threshold.
std::pair<at::Tensor, at::Tensor> compact_atomic_cuda(const at::Tensor& x, double threshold, int block);
std::pair<at::Tensor, at::Tensor> compact_queue_cuda(const at::Tensor& x, double threshold, int block);
std::pair<at::Tensor, at::Tensor> compact_stable_cuda(const at::Tensor& x, double threshold, int block);
at::Tensor pack_bits_cuda(const at::Tensor& x, double threshold, int block);
std::pair<at::Tensor, at::Tensor> warp_totals_cuda(const at::Tensor& x, int block);
at::Tensor scatter_cuda(const at::Tensor& values, const at::Tensor& indices, int64_t length);
