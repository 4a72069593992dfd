// SPDX-License-Identifier: Apache-2.0
// cufftXt.h: cuFFT's functions; those of cufftXt.h are missing.
#ifndef SIMT_NAME_CUFFTXT_H
#define SIMT_NAME_CUFFTXT_H

#ifdef SIMT_HIP
#error "cufftXt.h is a header of CUDA, which HIP does not have"
#endif

#include "cufft.h"

#endif
