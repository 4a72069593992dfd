// SPDX-License-Identifier: Apache-2.0
// What each intrinsic gives on a warp of 32 lanes, one line of hexadecimal words for each case.
//
// Compiled as it is with nvcc and run on an NVIDIA GPU it printed recorded.txt; run by the executor it has to print the
// same. Only what CUDA defines is printed: no value from a lane that takes no part. Blocks have 64 threads, or 45.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace cg = cooperative_groups;
typedef unsigned long long u64;

constexpr int threads = 64, slots = 64;

#define CHECK(call)                                                                       \
  do {                                                                                    \
    const cudaError_t error = (call);                                                     \
    if (error != cudaSuccess) {                                                           \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));          \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

__device__ __forceinline__ int rank_() { return threadIdx.x; }

// What a thread gives as its result: up to `slots` words.
struct Out {
  u64* words;
  int next;
  __device__ Out(u64* all) : words(all + rank_() * slots), next(0) {}
  __device__ void put(u64 word) {
    if (next < slots) words[next++] = word;
  }
  __device__ void put(int word) { put((u64)(unsigned)word); }
  __device__ void put(unsigned word) { put((u64)word); }
  __device__ void put(long long word) { put((u64)word); }
  __device__ void put(float value) { put((u64)__float_as_uint(value)); }
  __device__ void put(double value) { put((u64)__double_as_longlong(value)); }
  __device__ void put(__half value) { put((u64)__half_as_ushort(value)); }
  __device__ void put(__nv_bfloat16 value) { put((u64)__bfloat16_as_ushort(value)); }
};

__device__ unsigned noise(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}

template <typename T>
__device__ T value_of(int i) {
  return T(int(noise(unsigned(i) + 17)) >> 8);
}
template <>
__device__ u64 value_of<u64>(int i) {
  return u64(noise(i)) << 32 | noise(i + 1000);
}
template <>
__device__ __half value_of<__half>(int i) {
  return __float2half(float(int(noise(i) % 2001) - 1000) / 16);
}

template <typename T>
__global__ void shuffles(u64* all) {
  Out out(all);
  const unsigned full = 0xffffffffu;
  const T v = value_of<T>(rank_());
  const int lane = rank_() % 32;
  for (int width = 1; width <= 32; width *= 2) {
    out.put(__shfl_sync(full, v, 5, width));
    out.put(__shfl_sync(full, v, lane + 3, width));
    out.put(__shfl_up_sync(full, v, 1, width));
    out.put(__shfl_up_sync(full, v, 3, width));
    out.put(__shfl_down_sync(full, v, 2, width));
    out.put(__shfl_down_sync(full, v, 7, width));
    out.put(__shfl_xor_sync(full, v, 1, width));
    out.put(__shfl_xor_sync(full, v, 6, width));
  }
  out.put(__shfl_sync(full, v, -1));
  out.put(__shfl_sync(full, v, 33));
  out.put(__shfl_xor_sync(full, v, 31));
  if (lane % 3 == 0) {
    const unsigned some = 0x49249249u;  // lanes 0, 3, 6, ...
    out.put(__shfl_sync(some, v, 9));
    out.put(__shfl_sync(some, v, lane == 30 ? 0 : lane + 3));
    out.put(__shfl_up_sync(some, v, 3));
    out.put(__shfl_xor_sync(some, v, 0));
  } else if (lane >= 16) {
    const unsigned some = 0xffff0000u & ~0x49249249u;
    out.put(__shfl_sync(some, v, 17));
    out.put(__shfl_sync(some, v, lane % 2 ? 31 : 19));
  }
}

__global__ void votes(u64* all) {
  Out out(all);
  const unsigned full = 0xffffffffu;
  const int lane = rank_() % 32, i = rank_();
  out.put(__ballot_sync(full, i % 3 == 0));
  out.put(__ballot_sync(full, i & 32));
  out.put(__any_sync(full, i == 40));
  out.put(__all_sync(full, i >= 32));
  out.put(__any_sync(full, 0));
  out.put(__all_sync(full, 4));
  if (lane % 2) {
    out.put(__ballot_sync(0xaaaaaaaau, lane > 10));
    out.put(__any_sync(0xaaaaaaaau, lane == 31));
    out.put(__all_sync(0xaaaaaaaau, lane != 30));
    if (lane == 7 || lane == 9) out.put(__ballot_sync(1u << 7 | 1u << 9, lane == 9));
  } else {
    out.put(__ballot_sync(0x55555555u, lane > 20));
    out.put(__activemask());
  }
  __syncwarp();
  out.put(__activemask());
  for (int turn = 0; turn < 3; ++turn) {
    if (lane < 10 * (turn + 1)) out.put(__activemask());
    __syncwarp();
  }
  out.put(__match_any_sync(full, lane / 5));
  out.put(__match_any_sync(full, u64(lane % 4) << 40));
  out.put(__match_any_sync(full, float(lane % 7)));
  out.put(__match_any_sync(full, double(i / 16)));
  int same = -1;
  out.put(__match_all_sync(full, i / 32, &same));
  out.put(same);
  out.put(__match_all_sync(full, lane / 16, &same));
  out.put(same);
  if (lane >= 8) {
    out.put(__match_any_sync(0xffffff00u, lane & 6));
    out.put(__match_all_sync(0xffffff00u, 5, &same));
    out.put(same);
  }
  out.put(__reduce_add_sync(full, i * i));
  out.put(__reduce_add_sync(full, noise(i)));
  out.put(__reduce_min_sync(full, int(noise(i))));
  out.put(__reduce_max_sync(full, int(noise(i))));
  out.put(__reduce_min_sync(full, noise(i)));
  out.put(__reduce_max_sync(full, noise(i)));
  out.put(__reduce_and_sync(full, noise(i) | 0xf0f0u));
  out.put(__reduce_or_sync(full, 1u << lane));
  out.put(__reduce_xor_sync(full, noise(i)));
  if (lane < 9) out.put(__reduce_add_sync(0x1ffu, 1 << lane));
}

// Lanes that have exited do not count, whatever the mask says of them; 45 threads leave a warp of 13.
__global__ void leavers(u64* all) {
  Out out(all);
  const int lane = rank_() % 32;
  if (lane % 4 == 3) return;
  const unsigned here = rank_() < 32 ? 0x77777777u : blockDim.x == 45 ? 0x1777u & 0x1fffu : 0x77777777u;
  out.put(__ballot_sync(here, 1));
  out.put(__ballot_sync(here, lane < 9));
  out.put(__all_sync(here, lane % 4 != 3));
  out.put(__shfl_sync(here, lane * 10, 4));
  out.put(__syncthreads_count(lane == 1));
  out.put(__syncthreads_and(1));
  out.put(__syncthreads_or(rank_() == 33));
  out.put(__activemask());
}

__global__ void registers(u64* all) {
  Out out(all);
  unsigned x;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(x));
  out.put(x);
  asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(x));
  out.put(x);
  asm volatile("mov.u32 %0, %%lanemask_le;" : "=r"(x));
  out.put(x);
  asm volatile("mov.u32 %0, %%lanemask_eq;" : "=r"(x));
  out.put(x);
  asm volatile("mov.u32 %0, %%lanemask_gt;" : "=r"(x));
  out.put(x);
  asm volatile("mov.u32 %0, %%lanemask_ge;" : "=r"(x));
  out.put(x);
  out.put(warpSize);
}

__constant__ unsigned edges[12] = {0,          1,          2,          31,         32,         0x7fffffffu,
                                   0x80000000u, 0x80000001u, 0xffffffffu, 0xfffffffeu, 0x12345678u, 0xdeadbeefu};

__device__ unsigned edge(int i) { return i < 12 ? edges[i] : noise(i); }

__global__ void integers(u64* all) {
  Out out(all);
  const unsigned a = edge(rank_() % 16), b = edge(rank_() / 4), c = edge(rank_() % 5 + 7);
  const u64 wide = u64(a) << 32 | b;
  out.put(__popc(a));
  out.put(__popcll(wide));
  out.put(__clz(a));
  out.put(__clzll(wide));
  out.put(__ffs(a));
  out.put(__ffsll(wide));
  out.put(__brev(a));
  out.put(__brevll(wide));
  out.put(__byte_perm(a, b, c));
  out.put(__byte_perm(a, b, 0x7531));
  out.put(__funnelshift_l(a, b, c));
  out.put(__funnelshift_r(a, b, c));
  out.put(__funnelshift_lc(a, b, c));
  out.put(__funnelshift_rc(a, b, c));
  out.put(__mulhi(int(a), int(b)));
  out.put(__umulhi(a, b));
  out.put(__mul64hi((long long)wide, (long long)(wide * 3 + 1)));
  out.put(__umul64hi(wide, wide * 3 + 1));
  out.put(__mul24(int(a), int(b)));
  out.put(__umul24(a, b));
  out.put(__sad(int(a), int(b), c));
  out.put(__usad(a, b, c));
  out.put(__hadd(int(a), int(b)));
  out.put(__rhadd(int(a), int(b)));
  out.put(__uhadd(a, b));
  out.put(__urhadd(a, b));
  out.put(__dp4a(int(a), int(b), int(c)));
  out.put(__dp4a(a, b, c));
  out.put(__dp2a_lo(int(a), int(b), int(c)));
  out.put(__dp2a_hi(a, b, c));
  out.put(__vadd2(a, b));
  out.put(__vsub4(a, b));
  out.put(__vabsdiffu4(a, b));
  out.put(__vmaxs2(a, b));
  out.put(__vminu4(a, b));
  out.put(__vcmpgts4(a, b));
  out.put(__vsetltu2(a, b));
  out.put(__vavgu4(a, b));
  out.put(__vsadu4(a, b));
  out.put(__vaddss2(a, b));
  out.put(__vsubus4(a, b));
  out.put(__vneg2(a));
  out.put(__vabs4(a));
  out.put(min(int(a), int(b)));
  out.put(max(a, b));
  out.put(abs(int(a) == int(0x80000000u) ? 0 : int(a)));
}

// Not a number has many bit patterns; which one comes out is not what is tested.
__device__ float one_nan(float x) { return x != x ? __uint_as_float(0x7fffffffu) : x; }

__device__ float special(int i) {
  const unsigned bits[16] = {0u,          0x80000000u, 0x3f800000u, 0xbfc00000u, 0x40200000u, 0x4b000001u, 0x4f000000u, 0xcf000001u,
                             0x7f800000u, 0xff800000u, 0x7fc00000u, 0x00000001u, 0x807fffffu, 0x7f7fffffu, 0x3effffffu, 0x5f000000u};
  return i < 16 ? __uint_as_float(bits[i]) : __uint_as_float((noise(i) & 0x87ffffffu) | 0x38000000u);
}

__global__ void conversions(u64* all) {
  Out out(all);
  const float x = special(rank_());
  const double d = double(x) * 1.0000001;
  out.put(__float2int_rn(x));
  out.put(__float2int_rz(x));
  out.put(__float2int_ru(x));
  out.put(__float2int_rd(x));
  out.put(__float2uint_rn(x));
  out.put(__float2uint_rz(x));
  out.put(__float2ll_rn(x));
  out.put(__float2ull_rd(x));
  out.put(__double2int_rn(d));
  out.put(__double2int_rz(d));
  out.put(__double2uint_ru(d));
  out.put(__double2ll_rz(d));
  out.put(one_nan(__double2float_rn(d)));
  out.put(one_nan(__double2float_rz(d)));
  out.put(one_nan(__double2float_ru(d)));
  out.put(one_nan(__double2float_rd(d)));
  out.put(__int2float_rn(int(noise(rank_()))));
  out.put(__int2float_rz(int(noise(rank_()))));
  out.put(__uint2float_ru(noise(rank_())));
  out.put(__ll2double_rn((long long)(u64(noise(rank_())) << 32 | noise(rank_() + 5))));
  out.put(__ull2float_rd(u64(noise(rank_())) << 32 | noise(rank_() + 5)));
  out.put(__double2hiint(d));
  out.put(__double2loint(d));
  out.put(__float2half(x));
  out.put(__float2half_rz(x));
  out.put(__float2half_ru(x));
  out.put(one_nan(__half2float(__float2half_rd(x))));
  out.put(__half2int_rn(__float2half(x)));
  out.put(__half2int_rz(__float2half(x)));
  out.put(__float2bfloat16(x));
  out.put(__float2bfloat16_rz(x));
  out.put(one_nan(__bfloat162float(__float2bfloat16(x))));
  out.put(__saturatef(x));
  out.put(one_nan(rintf(x)));
  out.put(one_nan(roundf(x)));
  out.put(one_nan(truncf(x)));
  out.put(one_nan(floorf(x)));
  out.put(one_nan(ceilf(x)));
}

__global__ void arithmetic(u64* all) {
  Out out(all);
  const float x = special(rank_()), y = special((rank_() * 7 + 3) % 64), z = special((rank_() * 5 + 1) % 64);
  out.put(one_nan(__fadd_rn(x, y)));
  out.put(one_nan(__fadd_rz(x, y)));
  out.put(one_nan(__fadd_ru(x, y)));
  out.put(one_nan(__fadd_rd(x, y)));
  out.put(one_nan(__fmul_rn(x, y)));
  out.put(one_nan(__fmul_rz(x, y)));
  out.put(one_nan(__fmul_ru(x, y)));
  out.put(one_nan(__fmul_rd(x, y)));
  out.put(one_nan(__fmaf_rn(x, y, z)));
  out.put(one_nan(__fmaf_rz(x, y, z)));
  out.put(one_nan(__fmaf_ru(x, y, z)));
  out.put(one_nan(__fmaf_rd(x, y, z)));
  out.put(one_nan(__fdiv_rn(x, y)));
  out.put(one_nan(__fdiv_rz(x, y)));
  out.put(one_nan(__frcp_rn(x)));
  out.put(one_nan(__frcp_ru(x)));
  out.put(one_nan(__fsqrt_rn(x)));
  out.put(one_nan(__fsqrt_rd(x)));
  out.put(one_nan(fminf(x, y)));
  out.put(one_nan(fmaxf(x, y)));
  out.put(one_nan(fmodf(x, 3.0f)));
  out.put(one_nan(copysignf(x, y)));
  const double a = x, b = y, c = z;
  out.put(one_nan(float(__dadd_rz(a, b * 1e-20))));
  out.put(one_nan(float(__dmul_ru(a, b))));
  out.put(one_nan(float(__fma_rd(a, b, c))));
  out.put(one_nan(float(__ddiv_rn(a, b))));
}

__global__ void halves(u64* all) {
  Out out(all);
  const __half x = value_of<__half>(rank_()), y = value_of<__half>(rank_() + 100);
  const __half2 p = __halves2half2(x, y), q = __halves2half2(y, __float2half(0.5f));
  out.put(__hadd(x, y));
  out.put(__hsub(x, y));
  out.put(__hmul(x, y));
  out.put(__hfma(x, y, x));
  out.put(__hneg(x));
  out.put(__habs(x));
  out.put(__hmax(x, y));
  out.put(__hmin(x, y));
  out.put(int(__hlt(x, y)));
  out.put(int(__hge(x, y)));
  out.put(int(__heq(x, x)));
  const __half2 sum = __hadd2(p, q), product = __hmul2(p, q), fused = __hfma2(p, q, p);
  out.put(__low2half(sum));
  out.put(__high2half(sum));
  out.put(__low2half(product));
  out.put(__high2half(fused));
  out.put(__low2float(p));
  out.put(__high2float(p));
  const __nv_bfloat16 u = __float2bfloat16(__half2float(x)), v = __float2bfloat16(__half2float(y));
  out.put(__hadd(u, v));
  out.put(__hmul(u, v));
  out.put(__hfma(u, v, u));
  out.put(__hmax(u, v));
  out.put(__shfl_down_sync(0xffffffffu, x, 3));
  out.put(__low2half(__shfl_xor_sync(0xffffffffu, p, 5)));
}

__global__ void atomics(u64* all, unsigned* memory) {
  if (rank_() != 0) return;
  Out out(all);
  unsigned* u = memory;
  int* i = (int*)(memory + 1);
  float* f = (float*)(memory + 2);
  u64* w = (u64*)(memory + 4);
  *u = 5;
  *i = -7;
  *f = 1.5f;
  *w = 1ull << 40;
  out.put(atomicAdd(u, 0xffffffffu));
  out.put(atomicSub(u, 9u));
  out.put(atomicInc(u, 0xffffffffu));
  out.put(atomicInc(u, 3u));
  out.put(atomicDec(u, 7u));
  out.put(atomicDec(u, 2u));
  out.put(atomicExch(u, 0xf0f0u));
  out.put(atomicAnd(u, 0xff00u));
  out.put(atomicOr(u, 0x11u));
  out.put(atomicXor(u, 0xffffu));
  out.put(atomicCAS(u, 1u, 2u));
  out.put(atomicCAS(u, *u, 77u));
  out.put(atomicMax(u, 80u));
  out.put(atomicMin(u, 3u));
  out.put(*u);
  out.put(atomicAdd(i, 3));
  out.put(atomicMax(i, -2));
  out.put(atomicMin(i, -9));
  out.put(atomicExch(i, 1));
  out.put(atomicCAS(i, 1, -1));
  out.put(*i);
  out.put(atomicAdd(f, 0.25f));
  out.put(atomicExch(f, -3.0f));
  out.put(*f);
  out.put(atomicAdd(w, 3ull));
  out.put(atomicMax(w, 1ull << 50));
  out.put(atomicCAS(w, 1ull << 50, 9ull));
  out.put(atomicAnd(w, 8ull));
  out.put(*w);
}

__global__ void counted(u64* all, unsigned* memory) {
  if (rank_() == 0) memory[0] = 0, memory[1] = 0, memory[2] = 0xffffffffu;
  __syncthreads();
  atomicAdd(&memory[0], unsigned(rank_()));
  atomicMax(&memory[1], noise(rank_()));
  atomicMin(&memory[2], noise(rank_()));
  __syncthreads();
  Out out(all);
  out.put(memory[0]);
  out.put(memory[1]);
  out.put(memory[2]);
  out.put(__syncthreads_count(rank_() % 5 == 0));
}

template <int N>
__global__ void tiles(u64* all) {
  Out out(all);
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<N> tile = cg::tiled_partition<N>(block);
  const int v = int(noise(rank_()) % 1000) - 500;
  out.put(tile.thread_rank());
  out.put(tile.size());
  out.put(tile.meta_group_rank());
  out.put(tile.meta_group_size());
  out.put(tile.shfl(v, 1));
  out.put(tile.shfl_up(v, 1));
  out.put(tile.shfl_down(v, 2));
  out.put(tile.shfl_xor(v, 1));
  out.put(tile.ballot(v > 0));
  out.put(tile.any(v > 490));
  out.put(tile.all(v > -400));
  out.put(tile.match_any(v / 200));
  out.put(cg::reduce(tile, v, cg::plus<int>()));
  out.put(cg::reduce(tile, v, cg::less<int>()));
  out.put(cg::reduce(tile, unsigned(v), cg::bit_xor<unsigned>()));
  out.put(cg::inclusive_scan(tile, v, cg::plus<int>()));
  out.put(cg::exclusive_scan(tile, v, cg::plus<int>()));
  if (v % 3 == 0) {
    cg::coalesced_group group = cg::coalesced_threads();
    out.put(int(group.thread_rank() < group.size()));
    out.put(group.shfl(7, 0));
  }
  block.sync();
  out.put(block.thread_rank());
  out.put(block.size());
}

__global__ void memory(u64* all) {
  extern __shared__ unsigned dynamic[];
  __shared__ int fixed[threads];
  __shared__ double table[2][5];
  fixed[rank_()] = rank_() * 3;
  dynamic[threads - 1 - rank_()] = noise(rank_());
  if (rank_() < 10) table[rank_() / 5][rank_() % 5] = rank_() * 0.5;
  __syncthreads();
  Out out(all);
  out.put(fixed[(rank_() + 1) % int(blockDim.x)]);
  out.put(dynamic[threads - 1 - (rank_() * 5) % int(blockDim.x)]);
  out.put(table[rank_() % 2][rank_() % 5]);
  out.put(int(sizeof(float3)));
  out.put(int(alignof(float4)) * 100 + int(alignof(double2)));
  out.put(int(sizeof(table)));
}

static u64* device_words;
static unsigned* device_memory;

static void show(const char* name) {
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::vector<u64> words(threads * slots);
  CHECK(cudaMemcpy(words.data(), device_words, words.size() * sizeof(u64), cudaMemcpyDeviceToHost));
  for (int t = 0; t < threads; ++t) {
    int last = slots;
    while (last > 0 && words[t * slots + last - 1] == 0x5a5a5a5a5a5a5a5aull) --last;
    if (last == 0) continue;
    std::printf("%s %d:", name, t);
    for (int i = 0; i < last; ++i) std::printf(" %llx", words[t * slots + i]);
    std::printf("\n");
  }
  CHECK(cudaMemset(device_words, 0x5a, threads * slots * sizeof(u64)));
}

int main() {
  CHECK(cudaMalloc(&device_words, threads * slots * sizeof(u64)));
  CHECK(cudaMalloc(&device_memory, 64 * sizeof(unsigned)));
  CHECK(cudaMemset(device_words, 0x5a, threads * slots * sizeof(u64)));
  shuffles<int><<<1, threads>>>(device_words);
  show("shuffles<int>");
  shuffles<u64><<<1, threads>>>(device_words);
  show("shuffles<u64>");
  shuffles<float><<<1, threads>>>(device_words);
  show("shuffles<float>");
  shuffles<double><<<1, threads>>>(device_words);
  show("shuffles<double>");
  votes<<<1, threads>>>(device_words);
  show("votes");
  leavers<<<1, threads>>>(device_words);
  show("leavers");
  leavers<<<1, 45>>>(device_words);
  show("leavers45");
  registers<<<1, threads>>>(device_words);
  show("registers");
  integers<<<1, threads>>>(device_words);
  show("integers");
  conversions<<<1, threads>>>(device_words);
  show("conversions");
  arithmetic<<<1, threads>>>(device_words);
  show("arithmetic");
  halves<<<1, threads>>>(device_words);
  show("halves");
  atomics<<<1, threads>>>(device_words, device_memory);
  show("atomics");
  counted<<<1, threads>>>(device_words, device_memory);
  show("counted");
  tiles<2><<<1, threads>>>(device_words);
  show("tiles<2>");
  tiles<8><<<1, threads>>>(device_words);
  show("tiles<8>");
  tiles<32><<<1, threads>>>(device_words);
  show("tiles<32>");
  memory<<<1, threads, threads * sizeof(unsigned)>>>(device_words);
  show("memory");
  return 0;
}
