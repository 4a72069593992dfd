// SPDX-License-Identifier: Apache-2.0
#include <c10/cuda/CUDAEvent.h>
