// SPDX-License-Identifier: Apache-2.0
#include <ATen/native/cuda/KernelUtils.cuh>
