// SPDX-License-Identifier: Apache-2.0
// cuda_pipeline.h: asynchronous copies as C functions.
#ifndef SIMT_NAME_CUDA_PIPELINE_H
#define SIMT_NAME_CUDA_PIPELINE_H

#include "cuda_pipeline_primitives.h"

#endif
