// SPDX-License-Identifier: Apache-2.0
// cufft.h: cuFFT's functions; all of them are in simt/fft.h.
#ifndef SIMT_NAME_CUFFT_H
#define SIMT_NAME_CUFFT_H

#ifdef SIMT_HIP
#error "cufft.h is a header of CUDA, which HIP does not have"
#endif

#include "cuComplex.h"
#include "simt/fft.h"

#endif
