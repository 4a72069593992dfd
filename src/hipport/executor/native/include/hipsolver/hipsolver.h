// SPDX-License-Identifier: Apache-2.0
// hipsolver/hipsolver.h: hipSOLVER's dense functions; all of them are in simt/solver.h.
#ifndef SIMT_NAME_HIPSOLVER_HIPSOLVER_H
#define SIMT_NAME_HIPSOLVER_HIPSOLVER_H

#include "../hip/hip_complex.h"
#include "../simt/solver.h"

#endif
