// SPDX-License-Identifier: Apache-2.0
// device_launch_parameters.h: a name of CUDA; all of it is in the prelude.
#ifndef SIMT_NAME_DEVICE_LAUNCH_PARAMETERS_H
#define SIMT_NAME_DEVICE_LAUNCH_PARAMETERS_H

#ifdef SIMT_HIP
#error "device_launch_parameters.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/prelude.h"

#endif
