// SPDX-License-Identifier: Apache-2.0
// simt/bfloat16.h: 16-bit numbers with float's exponent: CUDA's __nv_bfloat16, HIP's __hip_bfloat16.
#ifndef SIMT_BFLOAT16_H
#define SIMT_BFLOAT16_H

#include "half.h"

#ifdef SIMT_HIP
#define SIMT_N __hip_bfloat16
#define SIMT_N2 __hip_bfloat162
#define SIMT_RAW __hip_bfloat16_raw
#define SIMT_RAW2 __hip_bfloat162_raw
// Like HIP's: rounded to float first.
#define SIMT_FUSED(a, b, c) std::fma(a, b, c)
#define SIMT_CONVERSIONS 1
#ifdef __HIP_NO_BFLOAT16_OPERATORS__
#define SIMT_OPERATORS 0
#else
#define SIMT_OPERATORS 1
#endif
#ifdef __HIP_NO_BFLOAT162_OPERATORS__
#define SIMT_OPERATORS2 0
#else
#define SIMT_OPERATORS2 1
#endif
#else
#define SIMT_N __nv_bfloat16
#define SIMT_N2 __nv_bfloat162
#define SIMT_RAW __nv_bfloat16_raw
#define SIMT_RAW2 __nv_bfloat162_raw
#define SIMT_OTHER __half
#define SIMT_FUSED(a, b, c) ::simt::detail::fused_to_odd(a, b, c)
#ifdef __CUDA_NO_BFLOAT16_CONVERSIONS__
#define SIMT_CONVERSIONS 0
#else
#define SIMT_CONVERSIONS 1
#endif
#ifdef __CUDA_NO_BFLOAT16_OPERATORS__
#define SIMT_OPERATORS 0
#else
#define SIMT_OPERATORS 1
#endif
#ifdef __CUDA_NO_BFLOAT162_OPERATORS__
#define SIMT_OPERATORS2 0
#else
#define SIMT_OPERATORS2 1
#endif
#endif
#define SIMT_FORMAT BfloatFormat
#define SIMT_NAMED(before, after) before##bfloat16##after
#define SIMT_NAMED2(before, after) before##bfloat162##after
#define SIMT_NAMED_BOTH __bfloat162bfloat162
#define SIMT_LACKS_PAIRS 0
#ifdef SIMT_WITH_TORCH
#define SIMT_TORCH_NUMBER c10::BFloat16
#define SIMT_TORCH_EXPLICIT explicit
#endif
#include "narrow_type.h"

#ifndef SIMT_HIP
inline __half::__half(__nv_bfloat16 other) : __x(::simt::detail::HalfFormat::from(::simt::detail::wide_of(other))) {}
inline __nv_bfloat16::__nv_bfloat16(__half other)
    : __x(::simt::detail::BfloatFormat::from(::simt::detail::wide_of(other))) {}
#define __CUDA_BF16_H__
#define __CUDA_BF16_TYPES_EXIST__
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
typedef __nv_bfloat16_raw nv_bfloat16_raw;
typedef __nv_bfloat162_raw nv_bfloat162_raw;
#else
#define HIP_INCLUDE_HIP_HIP_BF16_H
#endif

#endif
