// SPDX-License-Identifier: Apache-2.0
// crt/sm_70_rt.h: a CUDA header; the prelude declares all of it.
#ifndef SIMT_NAME_CRT_SM_70_RT_H
#define SIMT_NAME_CRT_SM_70_RT_H

#ifdef SIMT_HIP
#error "crt/sm_70_rt.h is a header of CUDA, which HIP does not have"
#endif

#include "../simt/prelude.h"

#endif
