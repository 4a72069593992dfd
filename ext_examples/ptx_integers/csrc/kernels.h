// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

typedef unsigned int u32;
typedef unsigned long long u64;

// Each writes rows of n words; how many rows is said here.
constexpr int kBitRows = 36, kVideoRows = 20, kWideRows = 26, kLaneRows = 24;

void launch_bits(const u32* a, const u32* b, const u32* c, int n, u32* out, cudaStream_t stream);
void launch_video(const u32* a, const u32* b, const u32* c, int n, u32* out, cudaStream_t stream);
void launch_wide(const u32* a, const u32* b, const u32* c, int n, u32* out, cudaStream_t stream);
// n is a multiple of 32.
void launch_lanes(const u32* a, int n, u32* out, int block, cudaStream_t stream);

// tables: 4 rows of `bins`: counts (twice), maxima, unions of bits; sums: of squares.
void launch_tables(const u32* keys, const u32* values, int n, int bins, u32* tables, u64* sums, int block, cudaStream_t stream);
// Inclusive sums of values; links has a word for each block of 128 and one more, all 0.
void launch_chained_sums(const u32* values, int n, u32* sums, u64* links, cudaStream_t stream);
// Four words at a time, the words reversed in their order within each four; n is a multiple of 4.
void launch_reverse4(const u32* in, int n, u32* out, cudaStream_t stream);
// Rounded to integers in four ways, as bits; and to half and back.
void launch_round(const float* x, const double* y, int n, u32* out, cudaStream_t stream);
