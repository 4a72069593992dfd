// SPDX-License-Identifier: Apache-2.0
// hip/hip_complex.h: HIP's complex numbers.
#ifndef SIMT_NAME_HIP_HIP_COMPLEX_H
#define SIMT_NAME_HIP_HIP_COMPLEX_H

#ifndef SIMT_HIP
#error "hip/hip_complex.h is a header of HIP, which CUDA does not have"
#endif

#include "../simt/prelude.h"

#define SIMT_COMPLEX(before, after) before##hip##after
#include "../simt/complex.h"

inline float hipCsqabsf(hipFloatComplex z) { return z.x * z.x + z.y * z.y; }
inline double hipCsqabs(hipDoubleComplex z) { return z.x * z.x + z.y * z.y; }

#endif
