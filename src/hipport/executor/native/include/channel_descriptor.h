// SPDX-License-Identifier: Apache-2.0
// channel_descriptor.h: a CUDA header; the prelude declares all of it.
#ifndef SIMT_NAME_CHANNEL_DESCRIPTOR_H
#define SIMT_NAME_CHANNEL_DESCRIPTOR_H

#ifdef SIMT_HIP
#error "channel_descriptor.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/prelude.h"

#endif
