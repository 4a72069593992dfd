// SPDX-License-Identifier: Apache-2.0
// hip/channel_descriptor.h: a HIP header; the prelude declares all of it.
#ifndef SIMT_NAME_HIP_CHANNEL_DESCRIPTOR_H
#define SIMT_NAME_HIP_CHANNEL_DESCRIPTOR_H

#ifndef SIMT_HIP
#error "hip/channel_descriptor.h is a header of HIP, which CUDA does not have"
#endif

#include "../simt/prelude.h"

#endif
