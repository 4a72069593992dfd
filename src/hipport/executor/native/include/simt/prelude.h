// SPDX-License-Identifier: Apache-2.0
// simt/prelude.h: what every unit includes before its first line, as nvcc includes cuda_runtime.h.
//
// Flags that a unit is compiled with, beside -include of this file (CUDA: -D__CUDACC__ -D__NVCC__ -D__CUDA_ARCH__=800;
// HIP: -DSIMT_HIP -D__HIP__=1 -D__HIPCC__=1 -D__HIP_PLATFORM_AMD__=1 -D__HIP_DEVICE_COMPILE__=1):
//   -fpermissive                 nvcc and hipcc take goto over initializations, calls of what is declared later
//   -Wno-narrowing               nvcc warns where a constant is narrowed in braces, g++ refuses
//   -Wno-unknown-pragmas         #pragma unroll
//   -Wno-attributes              attributes of GPUs
//   -fno-strict-aliasing         device code reads floats as integers; nvcc and hipcc do not use aliasing by type
//   -fwrapv                      integers wrap on a GPU
//   -fno-omit-frame-pointer      the runtime tells operations apart by their chain of calls
//   -fsigned-char                CUDA and HIP have it so on every machine
//   -ffp-contract=off            the same results with every compiler
// and -ldl where the C library is older than 2.34.
#ifndef SIMT_PRELUDE_H
#define SIMT_PRELUDE_H

#ifdef __cplusplus

#include "keywords.h"
#include "versions.h"

// What nvcc and hip_runtime.h bring without being asked.
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "core.h"

#include "device.h"

#include "runtime_api.h"
#include "textures.h"

#endif

#endif
