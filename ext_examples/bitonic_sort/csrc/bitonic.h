// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

// Where the elements of each row are once sorted; ties in their order, NaN as the greatest. Up to 1024 columns.
template <typename T>
void sort_rows(const T* x, int rows, int columns, bool descending, int* order, cudaStream_t stream);

// The k greatest of each row, k up to 32; -1 where a row has fewer.
template <typename T>
void top_of_rows(const T* x, int rows, int columns, int k, int* order, cudaStream_t stream);

// The same for groups of 8, 16 or 32 consecutive elements: how many of the group come before each.
template <typename T>
void rank_groups(const T* x, int n, int width, int* ranks, cudaStream_t stream);

// Words sorted in place, a power of two of them and at least 1024: the upper half is what is sorted by.
void sort_words(std::uint64_t* words, int n, cudaStream_t stream);
