// SPDX-License-Identifier: Apache-2.0
#ifndef WARP_SCAN_SCAN_H
#define WARP_SCAN_SCAN_H

#include <cuda_runtime_api.h>

// Inclusive and exclusive sums of each row; a block of 64, 128, 256 or 1024 threads to a row.
template <typename T>
cudaError_t scanRows(const T* x, int rows, int columns, T* inclusive, T* exclusive, int block, cudaStream_t stream);

// Inclusive sums of x that start again at each nonzero flag, within each 32 elements.
template <typename T>
cudaError_t scanSegments(const T* x, const int* flags, int n, T* out, int block, cudaStream_t stream);

// The sum of each `block` elements; `block` is 64, 128, 256 or 512. One way waits, the other trusts in lockstep.
template <typename T>
cudaError_t sumBlocks(const T* x, int n, T* sums, int block, bool lockstep, cudaStream_t stream);

#endif
