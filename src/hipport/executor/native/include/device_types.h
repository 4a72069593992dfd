// SPDX-License-Identifier: Apache-2.0
// device_types.h: a CUDA header; the prelude declares all of it.
#ifndef SIMT_NAME_DEVICE_TYPES_H
#define SIMT_NAME_DEVICE_TYPES_H

#ifdef SIMT_HIP
#error "device_types.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/prelude.h"

#endif
