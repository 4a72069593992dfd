// SPDX-License-Identifier: Apache-2.0
// hip/math_functions.h: a HIP header; the prelude declares all of it.
#ifndef SIMT_NAME_HIP_MATH_FUNCTIONS_H
#define SIMT_NAME_HIP_MATH_FUNCTIONS_H

#ifndef SIMT_HIP
#error "hip/math_functions.h is a header of HIP, which CUDA does not have"
#endif

#include "../simt/prelude.h"

#endif
