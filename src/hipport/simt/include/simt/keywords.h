// SPDX-License-Identifier: Apache-2.0
// simt/keywords.h: the words that CUDA and HIP add to C++.
//
// Functions and variables of the device are ordinary ones here. What the rewriter replaces before, and must not reach
// the compiler, is an error that says so.
#ifndef SIMT_KEYWORDS_H
#define SIMT_KEYWORDS_H

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __nv_pure__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define CUDARTAPI
#define CUDART_CB
#define CUDAAPI
#define CUDA_CB

#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __block_size__(...)
#define __cluster_dims__(...)

// libstdc++ writes __attribute__((__noinline__)), which is right with nothing in it, too. A function may be defined in a
// header with either word.
#define __noinline__
#define __inline_hint__ inline
#define __forceinline__ inline
#define __forceinline inline

#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __thread__ __thread

#define SIMT_KEYWORD_ERROR(text) _Pragma(#text)
#define __shared__ SIMT_KEYWORD_ERROR(GCC error "__shared__ that the rewriter has not replaced")
#define __cluster__ SIMT_KEYWORD_ERROR(GCC error "the executor has no clusters of blocks")

#endif
