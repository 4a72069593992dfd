// SPDX-License-Identifier: Apache-2.0
// cuComplex.h: CUDA's complex numbers.
#ifndef SIMT_NAME_CUCOMPLEX_H
#define SIMT_NAME_CUCOMPLEX_H

#ifdef SIMT_HIP
#error "cuComplex.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/prelude.h"

#define SIMT_COMPLEX(before, after) before##cu##after
#include "simt/complex.h"

#endif
