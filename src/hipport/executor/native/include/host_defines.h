// SPDX-License-Identifier: Apache-2.0
// host_defines.h: the keywords that CUDA adds to C++.
#ifndef SIMT_NAME_HOST_DEFINES_H
#define SIMT_NAME_HOST_DEFINES_H

#ifdef SIMT_HIP
#error "host_defines.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/keywords.h"

#endif
