// SPDX-License-Identifier: Apache-2.0
// simt/half.h: __half, __half2 and their functions, from CUDA's cuda_fp16.h and HIP's hip_fp16.h.
#ifndef SIMT_HALF_H
#define SIMT_HALF_H

#include "device.h"
#include "narrow.h"

#ifdef SIMT_HIP
#define SIMT_RAW_NUMBER _Float16
#ifdef __HIP_NO_HALF_CONVERSIONS__
#define SIMT_CONVERSIONS 0
#else
#define SIMT_CONVERSIONS 1
#endif
#ifdef __HIP_NO_HALF_OPERATORS__
#define SIMT_OPERATORS 0
#define SIMT_OPERATORS2 0
#else
#define SIMT_OPERATORS 1
#define SIMT_OPERATORS2 1
#endif
#else
struct __nv_bfloat16;
#define SIMT_OTHER __nv_bfloat16
#ifdef __CUDA_NO_HALF_CONVERSIONS__
#define SIMT_CONVERSIONS 0
#else
#define SIMT_CONVERSIONS 1
#endif
#ifdef __CUDA_NO_HALF_OPERATORS__
#define SIMT_OPERATORS 0
#else
#define SIMT_OPERATORS 1
#endif
#ifdef __CUDA_NO_HALF2_OPERATORS__
#define SIMT_OPERATORS2 0
#else
#define SIMT_OPERATORS2 1
#endif
#endif

#define SIMT_N __half
#define SIMT_N2 __half2
#define SIMT_RAW __half_raw
#define SIMT_RAW2 __half2_raw
#define SIMT_FORMAT HalfFormat
#define SIMT_NAMED(before, after) before##half##after
#define SIMT_NAMED2(before, after) before##half2##after
#define SIMT_NAMED_BOTH __half2half2
#define SIMT_FUSED(a, b, c) ::simt::detail::fused_to_odd(a, b, c)
#define SIMT_LACKS_PAIRS 1
#ifdef SIMT_WITH_TORCH
#define SIMT_TORCH_NUMBER c10::Half
#define SIMT_TORCH_EXPLICIT
#endif
#include "narrow_type.h"

#ifdef SIMT_HIP
// Of the loads with a cache operator, HIP has only these.
inline __half __ldca(const __half* from) { return *from; }
inline __half __ldcg(const __half* from) { return *from; }
inline __half __ldcs(const __half* from) { return *from; }
inline __half2 __ldca(const __half2* from) { return *from; }
inline __half2 __ldcg(const __half2* from) { return *from; }
inline __half2 __ldcs(const __half2* from) { return *from; }
#endif

typedef __half half;
typedef __half2 half2;
#ifndef SIMT_HIP
// Programs test this macro to know whether half-precision numbers are declared.
#define __CUDA_FP16_H__
#define __CUDA_FP16_TYPES_EXIST__
typedef __half nv_half;
typedef __half2 nv_half2;
typedef __half_raw nv_half_raw;
typedef __half2_raw nv_half2_raw;
#else
#define HIP_INCLUDE_HIP_HIP_FP16_H
#endif

#endif
