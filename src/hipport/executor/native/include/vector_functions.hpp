// SPDX-License-Identifier: Apache-2.0
// vector_functions.hpp: CUDA's vectors.
#ifndef SIMT_NAME_VECTOR_FUNCTIONS_HPP
#define SIMT_NAME_VECTOR_FUNCTIONS_HPP

#ifdef SIMT_HIP
#error "vector_functions.hpp is a header of CUDA, which HIP does not have"
#endif

#include "simt/vector_types.h"

#endif
