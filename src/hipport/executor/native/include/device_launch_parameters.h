// SPDX-License-Identifier: Apache-2.0
// device_launch_parameters.h: a CUDA header; the prelude declares all of it.
#ifndef SIMT_NAME_DEVICE_LAUNCH_PARAMETERS_H
#define SIMT_NAME_DEVICE_LAUNCH_PARAMETERS_H

#ifdef SIMT_HIP
#error "device_launch_parameters.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/prelude.h"

#endif
