// SPDX-License-Identifier: Apache-2.0
#include <ATen/cuda/ATenCUDAGeneral.h>
