// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

// Sums are float whatever the matrices hold.
__device__ __forceinline__ float to_float(float x) { return x; }
__device__ __forceinline__ float to_float(__half x) { return __half2float(x); }

template <typename T>
__device__ __forceinline__ T from_float(float x);
template <>
__device__ __forceinline__ float from_float<float>(float x) { return x; }
template <>
__device__ __forceinline__ __half from_float<__half>(float x) { return __float2half(x); }

template <typename T>
__device__ __forceinline__ T zero() { return from_float<T>(0.0f); }

// A row-major matrix that may be read as its transpose; reads outside are zero.
template <typename T, bool TRANS>
struct View {
  const T* __restrict__ data;
  int rows, cols;  // of what is read, after transposing

  __device__ __forceinline__ T operator()(int row, int col) const {
    if (row >= rows || col >= cols) return zero<T>();
    return TRANS ? data[static_cast<size_t>(col) * rows + row] : data[static_cast<size_t>(row) * cols + col];
  }
};
