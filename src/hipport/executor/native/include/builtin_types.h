// SPDX-License-Identifier: Apache-2.0
// builtin_types.h: a name of CUDA; all of it is in the prelude.
#ifndef SIMT_NAME_BUILTIN_TYPES_H
#define SIMT_NAME_BUILTIN_TYPES_H

#ifdef SIMT_HIP
#error "builtin_types.h is a header of CUDA, which HIP does not have"
#endif

#include "simt/prelude.h"

#endif
