// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <vector>

// Sum and maximum of each row. style: 0 shuffle tree, 1 a shared array of 32, 2 halving.
std::vector<at::Tensor> reduce_rows_cuda(const at::Tensor& x, int64_t style, int64_t block);
// The greatest value of each row and where it stands first; NaN is the greatest.
std::vector<at::Tensor> argmax_rows_cuda(const at::Tensor& x, int64_t block);
// Mean and variance of each row of up to 32 columns; `width` lanes to a row.
std::vector<at::Tensor> moments_cuda(const at::Tensor& x, int64_t width);
// Sum, minimum, maximum, and, or, xor of each 32 elements of an int32 vector, and of all of it.
std::vector<at::Tensor> reduce_ints_cuda(const at::Tensor& x, int64_t block);
