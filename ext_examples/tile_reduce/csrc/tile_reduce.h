// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

// Statistics of rows: sum, greatest, least, greatest magnitude. `tile` threads (8, 16 or 32) to a row.
template <typename T>
struct RowStats {
  T *sums, *maxima, *minima, *magnitudes;
};
template <typename T>
void rowStats(const T* x, int rows, int columns, RowStats<T> out, int tile, int block, cudaStream_t stream);

// Sums along each row, with and without the element itself, and the greatest so far; a tile of 32 to a row.
template <typename T>
void rowScans(const T* x, int rows, int columns, T* inclusive, T* exclusive, T* greatest, int block, cudaStream_t stream);

// And, or, xor of all words of each block.
void blockBits(const int* x, int n, int* out, int block, cudaStream_t stream);

// sums[k] += the values of key k, counts[k] += how many; first[k]: the least index of them.
template <typename T>
void sumByKey(const int* keys, const T* values, int n, T* sums, int* counts, int* first, int block, cudaStream_t stream);

// The indices of positive elements and of negative ones, in any order.
void split(const int* x, int n, int* positive, int* negative, int* sizes, int block, cudaStream_t stream);

// Of each 16 elements: which are positive, which equal this one, whether any and whether all are; the sum of those that
// are as even or odd as this one. Five rows of n; n is a multiple of 16.
void votes(const int* x, int n, int* out, int block, cudaStream_t stream);
