// SPDX-License-Identifier: Apache-2.0
// simt/torch_headers.h: PyTorch's headers as in its CPU build; precompiled, and included first.
//
// They must not take themselves for part of a CUDA or ROCm build, whose inline functions need its libraries. So the
// macros for such a build follow this header, with the program's own.
#include <torch/extension.h>
#include <torch/script.h>

#include <ATen/AccumulateType.h>
#include <ATen/NumericUtils.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ceil_div.h>
#include <c10/core/CPUAllocator.h>
