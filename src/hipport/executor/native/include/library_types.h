// SPDX-License-Identifier: Apache-2.0
// library_types.h: types that the math libraries share.
#ifndef SIMT_NAME_LIBRARY_TYPES_H
#define SIMT_NAME_LIBRARY_TYPES_H

#ifdef SIMT_HIP
#error "library_types.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/runtime_types.h"

#endif
