// SPDX-License-Identifier: Apache-2.0
// ATen/cuda/CUDAApplyUtils.cuh: its includes. `CUDA_tensor_apply` and its kernels, which most files that include this
// header do not use, are missing: the compiler reports their names.
#ifndef SIMT_ATEN_CUDA_APPLY_UTILS_CUH
#define SIMT_ATEN_CUDA_APPLY_UTILS_CUH
#include <ATen/ceil_div.h>
#include <ATen/cuda/ApplyGridUtils.cuh>
#include <ATen/cuda/Atomic.cuh>

#include <cmath>

#include "simt/torch.h"
#endif
