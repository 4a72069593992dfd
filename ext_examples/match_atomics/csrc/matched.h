// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

namespace matched {

// counts[k] += how often key k stands in `keys`; ranks[i]: how many of the same key and warp stand before i.
void count(const int* keys, int n, int bins, int* counts, int* ranks, int block, cudaStream_t stream);
// sums[k] += the values of key k; maxima[k] = the greatest of the integers of key k.
template <typename T>
void accumulate(
    const int* keys, const T* values, const int* ints, int n, int bins, T* sums, int* maxima, int block,
    cudaStream_t stream);
// A place for each element within its key: 0, 1, 2 … in any order.
void places(const long long* keys, int n, int* next, int* out, int block, cudaStream_t stream);
// How many of each 32 elements have the bits of this one, and whether all of them have.
template <typename T>
void alike(const T* x, int n, int* sizes, int* all, int block, cudaStream_t stream);

}  // namespace matched
