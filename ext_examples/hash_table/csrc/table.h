// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

// Buckets of 32 slots: as many as a warp has lanes, so that it looks at all of a bucket at once.
constexpr int kSlots = 32;
constexpr long long kEmpty = -1;

template <typename T>
struct Table {
  long long* keys;  // kEmpty where a slot is free
  T* sums;
  int* counts;
  int* locks;       // one to a bucket
  int* full;        // how many elements found no slot
  int log_buckets;  // 1 or more
};

enum class Method { retry, spin, patient, warp, open };

template <typename T>
void insert(Table<T> table, const long long* keys, const T* values, int n, Method method, int block, cudaStream_t stream);
