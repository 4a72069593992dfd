// SPDX-License-Identifier: Apache-2.0
// simt/torch_macros.h: the macros of PyTorch's headers for device code; they replace those for the host.
#ifndef SIMT_TORCH_MACROS_H
#define SIMT_TORCH_MACROS_H

#include "simt/core.h"

// c10's header of half-precision numbers includes the vendor's.
#if defined(__CUDACC__) || defined(__HIPCC__)
#include "simt/half.h"
#ifndef SIMT_HIP
#include "simt/bfloat16.h"
#endif
#endif

// PyTorch's launch checks and device assertions become the executor's.
#undef CUDA_KERNEL_ASSERT
#undef CUDA_KERNEL_ASSERT_MSG
#undef CUDA_KERNEL_ASSERT_PRINTF
#undef SYCL_KERNEL_ASSERT
#define CUDA_KERNEL_ASSERT(condition) \
  ((condition) ? (void)0 : ::simt::fault("assert", {__FILE__, __LINE__}, "assertion failed: %s", #condition))
#define CUDA_KERNEL_ASSERT_MSG(condition, message) \
  ((condition) ? (void)0                           \
               : ::simt::fault("assert", {__FILE__, __LINE__}, "assertion failed: %s: %s", #condition, message))
#define CUDA_KERNEL_ASSERT_PRINTF(condition, ...) CUDA_KERNEL_ASSERT(condition)

// Only a PyTorch for a device compiler has it.
namespace at {
template <typename T>
struct RestrictPtrTraits {
  typedef T* __restrict__ PtrType;
};
}  // namespace at

// Launch bounds are for a GPU compiler.
#ifndef C10_LAUNCH_BOUNDS_0
#define C10_LAUNCH_BOUNDS_0
#define C10_LAUNCH_BOUNDS_1(...)
#define C10_LAUNCH_BOUNDS_2(...)
#define C10_MAX_THREADS_PER_BLOCK(threads) ((threads) <= 1024 ? (threads) : 256)
#define C10_MIN_BLOCKS_PER_SM(threads, blocks) (blocks)
#endif

// In a ROCm build, the wavefront size is that of the run; CUDA's is 32, and a constant.
#ifdef SIMT_HIP
#undef C10_WARP_SIZE
#undef C10_WARP_SIZE_LOWER_BOUND
#undef C10_WARP_SIZE_UPPER_BOUND
#undef SIMT_C10_WARP_SIZE_BOUND
#ifdef SIMT_WAVE_OF_BUILD
// A build that runs with one wavefront size has a constant, like device code of a ROCm build.
#define C10_WARP_SIZE SIMT_WAVE_OF_BUILD
#define C10_WARP_SIZE_LOWER_BOUND SIMT_WAVE_OF_BUILD
#define C10_WARP_SIZE_UPPER_BOUND SIMT_WAVE_OF_BUILD
#define SIMT_C10_WARP_SIZE_BOUND SIMT_WAVE_OF_BUILD
#else
#define C10_WARP_SIZE (::simt::wave_size())
#define C10_WARP_SIZE_LOWER_BOUND 32
#define C10_WARP_SIZE_UPPER_BOUND 64
// For array bounds, which the rewriter finds: room for either.
#define SIMT_C10_WARP_SIZE_BOUND 64
#endif
#endif

#endif
