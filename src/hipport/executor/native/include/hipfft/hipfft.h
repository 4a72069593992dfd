// SPDX-License-Identifier: Apache-2.0
// hipfft/hipfft.h: hipFFT's functions; all of them are in simt/fft.h.
#ifndef SIMT_NAME_HIPFFT_HIPFFT_H
#define SIMT_NAME_HIPFFT_HIPFFT_H

#include "../hip/hip_complex.h"
#include "../simt/fft.h"

#endif
