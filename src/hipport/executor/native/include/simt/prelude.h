// SPDX-License-Identifier: Apache-2.0
// simt/prelude.h: included before the first line of every unit, as nvcc includes cuda_runtime.h.
//
// Flags for compiling a unit, besides -include of this file (CUDA: -D__CUDACC__ -D__NVCC__ -D__CUDA_ARCH__=800;
// HIP: -DSIMT_HIP -D__HIP__=1 -D__HIPCC__=1 -D__HIP_PLATFORM_AMD__=1 -D__HIP_DEVICE_COMPILE__=1):
//   -fpermissive                 nvcc and hipcc accept goto over initializations, and calls of functions declared later
//   -Wno-narrowing               nvcc warns about a constant that is narrowed in braces, g++ rejects it
//   -Wno-unknown-pragmas         #pragma unroll
//   -Wno-attributes              attributes of GPUs
//   -fno-strict-aliasing         device code reads floats as integers; nvcc and hipcc do not use type-based aliasing
//   -fwrapv                      integers wrap on a GPU
//   -fno-omit-frame-pointer      the runtime identifies operations by their chain of calls
//   -fsigned-char                char is signed in CUDA and HIP on every machine
//   -ffp-contract=off            the same results with every compiler
// and -ldl if the C library is older than 2.34.
#ifndef SIMT_PRELUDE_H
#define SIMT_PRELUDE_H

#ifdef __cplusplus

#include "keywords.h"
#include "less_math.h"
#include "versions.h"

// The headers that nvcc and hip_runtime.h include implicitly.
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
