// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/cuda/CUDAContext.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <device_launch_parameters.h>

#include <algorithm>

constexpr int kThreads = 256;

// The message names the call, so a failure reads "cudaGetLastError() failed: ..." in the traceback.
#define CUDA_CHECK(call)                                                                                      \
  do {                                                                                                        \
    const cudaError_t status_ = (call);                                                                       \
    TORCH_CHECK(status_ == cudaSuccess, #call " failed: ", cudaGetErrorString(status_), " (cudaError_t ",     \
                static_cast<int>(status_), ") at " __FILE__ ":", __LINE__);                                   \
  } while (0)

// Our own helper, in spite of its name: blocks for a grid-stride loop over n elements.
inline int cudaGridFor(int64_t n, int threads) {
  int device = 0, processors = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  const int64_t wanted = (n + threads - 1) / threads;
  return static_cast<int>(std::max<int64_t>(1, std::min<int64_t>(wanted, static_cast<int64_t>(processors) << 3)));
}

// Write LAUNCH((kernel<a, b>), n, stream, arguments...); the parentheses keep the comma inside.
#define LAUNCH(kernel, n, stream, ...)                                           \
  do {                                                                           \
    kernel << <cudaGridFor((n), kThreads), kThreads, 0, (stream) >> > (__VA_ARGS__); \
    CUDA_CHECK(cudaGetLastError());                                              \
  } while (0)

#ifdef FUSED_ACT_DEBUG
#define DEBUG_SYNC(stream) CUDA_CHECK(cudaStreamSynchronize(stream))
#else
#define DEBUG_SYNC(stream) ((void)(stream))
#endif
