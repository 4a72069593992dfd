// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

constexpr int kSplitThreads = 256;

// How many elements of each kSplitThreads are above the pivot.
template <typename T>
void launch_count_above(const T* x, int n, T pivot, int* counts, cudaStream_t stream);

// Those above the pivot first, then the others, each in their order. `ends` are the inclusive sums of the counts.
template <typename T>
void launch_split(const T* x, int n, T pivot, const int* ends, int above, T* out, int* source, cudaStream_t stream);

// The indices of what is below `low` and of what is above `high`, in any order; sizes[0] and sizes[1] start at 0.
template <typename T>
void launch_select(
    const T* x, int n, T low, T high, int* below, int* above, int* sizes, int block, cudaStream_t stream);

// The indices of each key in 0 .. buckets-1, in any order: lists[key * n ...]; other keys are left out.
void launch_bucket(const int* keys, int n, int buckets, int* lists, int* sizes, int block, cudaStream_t stream);

// The first and the last nonzero of each 32 elements, as indices into the 32; -1 where there is none.
void launch_extent(const int* x, int n, int* first, int* last, int block, cudaStream_t stream);

// Bit i % 32 of word i / 32 becomes byte i; and the place of each bit that is set, after `starts` bits of the words before.
void launch_unpack(
    const int* words, int n_words, const int* starts, unsigned char* bytes, int* places, int block, cudaStream_t stream);
