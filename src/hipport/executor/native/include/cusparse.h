// SPDX-License-Identifier: Apache-2.0
// cusparse.h: cuSPARSE's generic functions; all of them are in simt/sparse.h.
#ifndef SIMT_NAME_CUSPARSE_H
#define SIMT_NAME_CUSPARSE_H

#ifdef SIMT_HIP
#error "cusparse.h is a header of CUDA, which HIP does not have"
#endif

#include "cuComplex.h"
#include "simt/sparse.h"

#endif
