// SPDX-License-Identifier: Apache-2.0
// host_config.h: the keywords that CUDA adds to C++.
#ifndef SIMT_NAME_HOST_CONFIG_H
#define SIMT_NAME_HOST_CONFIG_H

#ifdef SIMT_HIP
#error "host_config.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/keywords.h"

#endif
