// SPDX-License-Identifier: Apache-2.0
//
// Sums by key. What is in a bucket is read and written by whoever has its lock, past the caches of a multiprocessor.

#include "spin_lock.cuh"
#include "table.h"

#define FULL_MASK 0xffffffff

template <typename T>
__device__ int bucket_of(const Table<T>& table, long long key) {
  return static_cast<int>((static_cast<unsigned long long>(key) * 0x9E3779B97F4A7C15ull) >> (64 - table.log_buckets));
}

// By one thread, which has the bucket's lock.
template <typename T>
__device__ void add_to_bucket(const Table<T>& table, int bucket, long long key, T value) {
  volatile long long* keys = table.keys + bucket * kSlots;
  for (int slot = 0; slot < kSlots; ++slot) {
    const long long there = keys[slot];
    if (there != kEmpty && there != key) continue;
    const int at = bucket * kSlots + slot;
    volatile T* sum = table.sums + at;
    volatile int* count = table.counts + at;
    keys[slot] = key;
    *sum = *sum + value;
    *count = *count + 1;
    return;
  }
  atomicAdd(table.full, 1);
}

// A lane that has the lock finishes and gives it back before the warp tries again: this never hung on any GPU.
template <typename T>
__global__ void insert_retry(Table<T> table, const long long* keys, const T* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int bucket = bucket_of(table, keys[i]);
  SpinLock lock(table.locks + bucket);
  bool done = false;
  while (!done) {
    if (lock.try_lock()) {
      add_to_bucket(table, bucket, keys[i], values[i]);
      lock.unlock();
      done = true;
    }
  }
}

// Lanes that wait for a lane of their own warp: right since Volta only.
template <typename T, bool patient>
__global__ void insert_spin(Table<T> table, const long long* keys, const T* values, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const int bucket = bucket_of(table, keys[i]);
    SpinLock lock(table.locks + bucket);
    if (patient) {
      lock.lock_patiently();
    } else {
      lock.lock();
    }
    add_to_bucket(table, bucket, keys[i], values[i]);
    lock.unlock();
  }
}

// A warp to an element: its first lane takes the lock for all.
template <typename T>
__global__ void insert_warp(Table<T> table, const long long* keys, const T* values, int n) {
  const int lane = threadIdx.x & 31;
  const int warps = gridDim.x * (blockDim.x >> 5);
  for (int i = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; i < n; i += warps) {
    const long long key = keys[i];
    const int bucket = bucket_of(table, key);
    SpinLock lock(table.locks + bucket);
    if (lane == 0) lock.lock();
    __syncwarp();
    const int at = bucket * kSlots + lane;
    const long long there = *static_cast<volatile long long*>(table.keys + at);
    const unsigned found = __ballot_sync(FULL_MASK, there == key);
    const unsigned free = __ballot_sync(FULL_MASK, there == kEmpty);
    const int slot = __ffs(found ? found : free) - 1;
    if (lane == slot) {
      volatile T* sum = table.sums + at;
      volatile int* count = table.counts + at;
      if (!found) *static_cast<volatile long long*>(table.keys + at) = key;
      *sum = *sum + values[i];
      *count = *count + 1;
      __threadfence();
    }
    if (slot < 0 && lane == 0) atomicAdd(table.full, 1);
    __syncwarp();
    if (lane == 0) lock.unlock();
  }
}

// Without locks: a slot belongs to the key that first came there. The buckets are one long row of slots.
template <typename T>
__global__ void insert_open(Table<T> table, const long long* keys, const T* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const long long key = keys[i];
  const int slots = kSlots << table.log_buckets;
  int slot = bucket_of(table, key) * kSlots;
  for (int tries = 0; tries < slots; ++tries, slot = (slot + 1) & (slots - 1)) {
    auto* at = reinterpret_cast<unsigned long long*>(table.keys + slot);
    const auto there = static_cast<long long>(
        atomicCAS(at, static_cast<unsigned long long>(kEmpty), static_cast<unsigned long long>(key)));
    if (there == kEmpty || there == key) {
      atomicAdd(table.sums + slot, values[i]);
      atomicAdd(table.counts + slot, 1);
      return;
    }
  }
  atomicAdd(table.full, 1);
}

template <typename T>
void insert(Table<T> table, const long long* keys, const T* values, int n, Method method, int block, cudaStream_t stream) {
  const int blocks = (n + block - 1) / block;
  const int whole = (block + 31) / 32 * 32;
  switch (method) {
    case Method::retry:
      insert_retry<T><<<blocks, block, 0, stream>>>(table, keys, values, n);
      break;
    case Method::spin:
      insert_spin<T, false><<<(blocks + 1) / 2, block, 0, stream>>>(table, keys, values, n);
      break;
    case Method::patient:
      insert_spin<T, true><<<(blocks + 1) / 2, block, 0, stream>>>(table, keys, values, n);
      break;
    case Method::warp:
      insert_warp<T><<<blocks, whole, 0, stream>>>(table, keys, values, n);
      break;
    case Method::open:
      insert_open<T><<<blocks, block, 0, stream>>>(table, keys, values, n);
      break;
  }
}

template void insert(Table<float>, const long long*, const float*, int, Method, int, cudaStream_t);
template void insert(Table<double>, const long long*, const double*, int, Method, int, cudaStream_t);
