// SPDX-License-Identifier: Apache-2.0
// simt/torch_headers.h: PyTorch's headers as its CPU build has them; precompiled, and included before all else.
//
// They must not take themselves for part of a CUDA or ROCm build, whose inline functions need its libraries: so the
// macros that say so come behind this header, with the program's own.
#include <torch/extension.h>
#include <torch/script.h>

#include <ATen/AccumulateType.h>
#include <ATen/NumericUtils.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ceil_div.h>
#include <c10/core/CPUAllocator.h>
