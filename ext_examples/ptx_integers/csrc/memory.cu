// SPDX-License-Identifier: Apache-2.0

#include "kernels.h"

#if defined(_WIN64) || defined(__LP64__)
#define PTR "l"
#else
#define PTR "r"
#endif

namespace {

constexpr int kChain = 128;

__device__ __forceinline__ u32 load_once(const u32* p) {
  u32 value;
  asm("ld.global.nc.u32 %0, [%1];" : "=r"(value) : PTR(p));
  return value;
}
__device__ __forceinline__ u32 load_l2(const u32* p) {
  u32 value;
  asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : PTR(p));
  return value;
}
__device__ __forceinline__ void store_streaming(u32* p, u32 value) {
  asm volatile("st.global.cs.u32 [%0], %1;" ::PTR(p), "r"(value) : "memory");
}
__device__ __forceinline__ void add_to(u32* p, u32 value) {
  asm volatile("red.global.add.u32 [%0], %1;" ::PTR(p), "r"(value) : "memory");
}
__device__ __forceinline__ void raise_to(u32* p, u32 value) {
  asm volatile("red.global.max.u32 [%0], %1;" : : PTR(p), "r"(value) : "memory");
}
__device__ __forceinline__ u32 unite(u32* p, u32 bits) {
  u32 before;
  asm volatile("atom.global.or.b32 %0, [%1], %2;" : "=r"(before) : PTR(p), "r"(bits) : "memory");
  return before;
}
__device__ __forceinline__ u32 fetch_add(u32* p, u32 value) {
  u32 before;
  asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(before) : PTR(p), "r"(value) : "memory");
  return before;
}
__device__ __forceinline__ void add_wide(u64* p, u64 value) {
  asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::PTR(p), "l"(value) : "memory");
}

// Shared memory has addresses of 32 bits of its own.
__device__ __forceinline__ u32 shared_address(const void* p) {
  u32 address;
  asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(address) : "l"(p));
  return address;
}

__device__ __forceinline__ u64 load_acquire(const u64* p) {
  u64 value;
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : PTR(p) : "memory");
  return value;
}
__device__ __forceinline__ void store_release(u64* p, u64 value) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::PTR(p), "l"(value) : "memory");
}

}  // namespace

__global__ void tables_kernel(const u32* keys, const u32* values, int n, int bins, u32* tables, u64* sums) {
  extern __shared__ u32 counts[];
  for (int b = threadIdx.x; b < bins; b += blockDim.x) counts[b] = 0;
  asm volatile("bar.sync 0;" ::: "memory");
  const u32 base = shared_address(counts);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const u32 key = load_once(keys + i), value = load_l2(values + i);
    asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(base + key * 4) : "memory");
    add_to(tables + bins + key, 1);
    raise_to(tables + 2 * bins + key, value);
    unite(tables + 3 * bins + key, value);
    u64 square;
    asm("mul.wide.u32 %0, %1, %1;" : "=l"(square) : "r"(value));
    add_wide(sums + key, square);
  }
  asm volatile("bar.sync 0;" ::: "memory");
  for (int b = threadIdx.x; b < bins; b += blockDim.x) {
    u32 count;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(count) : "r"(base + b * 4) : "memory");
    if (count) fetch_add(tables + b, count);
  }
}

// Blocks take numbers, and each waits for the sum up to the one before it.
__global__ void chained_sums_kernel(const u32* values, int n, u32* sums, u64* links) {
  __shared__ u32 partial[kChain], before;
  __shared__ int number;
  if (threadIdx.x == 0) {
    u64 ticket;
    asm volatile("atom.global.add.u64 %0, [%1], 1;" : "=l"(ticket) : PTR(links) : "memory");
    number = static_cast<int>(ticket);
  }
  __syncthreads();
  const int i = number * kChain + threadIdx.x;
  partial[threadIdx.x] = i < n ? values[i] : 0;
  for (int distance = 1; distance < kChain; distance *= 2) {
    __syncthreads();
    const u32 other = threadIdx.x >= distance ? partial[threadIdx.x - distance] : 0;
    __syncthreads();
    partial[threadIdx.x] += other;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    u64 link = 1ull << 32;
    if (number > 0) {
      // The upper word says that the lower one is there.
      while ((link = load_acquire(links + number)) >> 32 == 0) {
        asm volatile("nanosleep.u32 20;");
      }
    }
    before = static_cast<u32>(link);
    store_release(links + number + 1, 1ull << 32 | static_cast<u32>(before + partial[kChain - 1]));
  }
  __syncthreads();
  if (i < n) store_streaming(sums + i, before + partial[threadIdx.x]);
  asm volatile("membar.gl;" ::: "memory");
}

__global__ void reverse4_kernel(const u32* in, int n, u32* out) {
  const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  u32 a, b, c, d;
  asm("prefetch.global.L2 [%0];" ::PTR(in + i));
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : PTR(in + i));
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::PTR(out + i), "r"(d), "r"(c), "r"(b), "r"(a) : "memory");
}

void launch_tables(const u32* keys, const u32* values, int n, int bins, u32* tables, u64* sums, int block, cudaStream_t stream) {
  const int blocks = (n + 2 * block - 1) / (2 * block);
  tables_kernel<<<blocks, block, bins * sizeof(u32), stream>>>(keys, values, n, bins, tables, sums);
}

void launch_chained_sums(const u32* values, int n, u32* sums, u64* links, cudaStream_t stream) {
  chained_sums_kernel<<<(n + kChain - 1) / kChain, kChain, 0, stream>>>(values, n, sums, links);
}

void launch_reverse4(const u32* in, int n, u32* out, cudaStream_t stream) {
  reverse4_kernel<<<(n / 4 + 63) / 64, 64, 0, stream>>>(in, n, out);
}
