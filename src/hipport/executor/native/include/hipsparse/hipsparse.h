// SPDX-License-Identifier: Apache-2.0
// hipsparse/hipsparse.h: hipSPARSE's generic functions; all of them are in simt/sparse.h.
#ifndef SIMT_NAME_HIPSPARSE_HIPSPARSE_H
#define SIMT_NAME_HIPSPARSE_HIPSPARSE_H

#include "../hip/hip_complex.h"
#include "../simt/sparse.h"

#endif
