// SPDX-License-Identifier: Apache-2.0
#include <ATen/cuda/CUDADevice.h>
