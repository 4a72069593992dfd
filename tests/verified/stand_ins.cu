// SPDX-License-Identifier: Apache-2.0
// What hipport's headers stand in for beside warps: device functions, vectors in memory, votes of a block, members of
// groups. Each thread counts what is not as CUDA's documentation says.
#include <cooperative_groups.h>
#include <cstdio>

namespace cg = cooperative_groups;

#define WANT(condition) wrong += !(condition)

__global__ void functions(int *out) {
  int wrong = 0;
  const unsigned t = threadIdx.x, big = 0x80000000u + t;
  const long long low = -5000000000ll - t, high = 5000000000ll + t;
  const unsigned long long huge = 0x8000000000000000ull + t;
  WANT(umin(big, t) == t && umax(big, t) == big);
  WANT(llmin(low, high) == low && llmax(low, high) == high);
  WANT(ullmin(huge, 7ull) == 7ull && ullmax(huge, 7ull) == huge);
  const unsigned char few = 3 + t % 7, more = 10 + t % 7;
  WANT(min(few, more) == few && max(few, more) == more && max(few, t - t) == few);
  WANT(fdivide(6.0, 3.0) == 2.0);
  __prof_trigger(1);
  WANT(__ffsll(1ll << 40) == 41 && __ffsll(0ll) == 0);
  WANT(__frsqrt_rn(4.0f) == 0.5f);
  __shared__ int words[64];
  int own = 3;
  WANT(__isShared(words) && !__isGlobal(words) && !__isLocal(words));
  WANT(__isGlobal(out) && !__isShared(out));
  WANT(__isLocal(&own) && !__isGlobal(&own));
  words[t % 64] = static_cast<int>(t);
  __syncthreads();
  const size_t at = __cvta_generic_to_shared(&words[5]);
  WANT(*static_cast<int *>(__cvta_shared_to_generic(at)) == words[5]);
  unsigned space;
  asm("{ .reg .pred p; isspacep.shared p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(space) : "l"(words));
  WANT(space == 1);
  asm("{ .reg .pred p; isspacep.global p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(space) : "l"(words));
  WANT(space == 0);
  asm("{ .reg .pred p; isspacep.local p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(space) : "l"(&own));
  WANT(space == 1);
  atomicAdd(out, wrong);
}

__global__ void vectors(int *out, unsigned *words, double *numbers) {
  int wrong = 0;
  unsigned *mine = words + 8 * threadIdx.x;
  double *two = numbers + 2 * threadIdx.x;
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
               ::"l"(mine), "r"(1u), "r"(2u), "r"(3u), "r"(threadIdx.x)
               : "memory");
  asm volatile("st.global.v2.f32 [%0+16], {%1, %2};" ::"l"(mine), "f"(0.5f), "f"(-2.0f) : "memory");
  asm volatile("st.global.v2.f64 [%0], {%1, %2};" ::"l"(two), "d"(0.25), "d"(-8.0) : "memory");
  asm volatile("st.global.v2.b16 [%0+24], {%1, %2};"
               ::"l"(mine), "h"((unsigned short)7), "h"((unsigned short)9)
               : "memory");
  unsigned a, b, c, d;
  float x, y;
  double u, v;
  unsigned short s, t;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(mine) : "memory");
  asm volatile("ld.global.v2.f32 {%0, %1}, [%2+16];" : "=f"(x), "=f"(y) : "l"(mine) : "memory");
  asm volatile("ld.global.v2.f64 {%0, %1}, [%2];" : "=d"(u), "=d"(v) : "l"(two) : "memory");
  asm volatile("ld.global.v2.u16 {%0, %1}, [%2+24];" : "=h"(s), "=h"(t) : "l"(mine) : "memory");
  WANT(a == 1 && b == 2 && c == 3 && d == threadIdx.x);
  WANT(x == 0.5f && y == -2.0f && u == 0.25 && v == -8.0);
  WANT(s == 7 && t == 9);
  unsigned old;
  asm volatile("atom.global.inc.u32 %0, [%1], %2;" : "=r"(old) : "l"(mine), "r"(1u) : "memory");
  WANT(old == 1 && mine[0] == 0);
  asm volatile("atom.global.dec.u32 %0, [%1], %2;" : "=r"(old) : "l"(mine), "r"(5u) : "memory");
  WANT(old == 0 && mine[0] == 5);
  asm volatile("atom.global.cas.b64 %0, [%1], %2, %3;"
               : "=l"(*(unsigned long long *)&u)
               : "l"(two), "l"(__double_as_longlong(0.25)), "l"(3ll)
               : "memory");
  WANT(u == 0.25 && __double_as_longlong(two[0]) == 3);
  asm volatile("red.global.xor.b32 [%0], %1;" ::"l"(mine), "r"(6u) : "memory");
  WANT(mine[0] == 3);
  atomicAdd(out, wrong);
}

// Threads that have left have no vote.
__global__ void votes(int *out, int n) {
  const int t = static_cast<int>(threadIdx.x);
  if (t >= n) return;
  int wrong = 0;
  WANT(__syncthreads_count(t % 3 == 0) == (n + 2) / 3);
  WANT(__syncthreads_and(t < n) != 0 && __syncthreads_and(t != n - 1) == 0);
  WANT(__syncthreads_or(t == n - 1) != 0 && __syncthreads_or(t >= n) == 0);
  atomicAdd(out, wrong);
}

__global__ void groups(int *out) {
  int wrong = 0;
  __shared__ int once;
  if (threadIdx.x == 0 && threadIdx.y == 0) once = 0;
  const cg::thread_block block = cg::this_thread_block();
  block.sync();
  WANT(block.group_index().x == blockIdx.x && block.thread_index().y == threadIdx.y);
  WANT(block.group_dim().x == blockDim.x && block.dim_threads().y == blockDim.y);
  WANT(block.size() == blockDim.x * blockDim.y && block.num_threads() == block.size());
  const auto tile = cg::tiled_partition<32>(block);
  WANT(tile.meta_group_size() == block.size() / 32 && tile.meta_group_rank() == block.thread_rank() / 32);
  WANT(tile.num_threads() == 32 && tile.thread_rank() == block.thread_rank() % 32);
  cg::invoke_one(tile, [&] { atomicAdd(&once, 1); });
  block.sync();
  WANT(once == static_cast<int>(tile.meta_group_size()));
  const auto small = cg::tiled_partition<8>(tile);
  WANT(small.meta_group_size() == 4 && small.meta_group_rank() == tile.thread_rank() / 8);
  const int first = cg::invoke_one_broadcast(small, [&] { return 5; });
  WANT(first == 5);
  const cg::grid_group grid = cg::this_grid();
  WANT(grid.thread_rank() == block.thread_rank() + blockIdx.x * block.size());
  WANT(grid.size() == block.size() * gridDim.x && grid.dim_blocks().x == gridDim.x);
  WANT(grid.block_rank() == blockIdx.x && grid.num_blocks() == gridDim.x && grid.block_index().x == blockIdx.x);
  atomicAdd(out, wrong);
}

int main() {
  int *out, wrong[4];
  unsigned *words;
  double *numbers;
  cudaMalloc(&out, sizeof(wrong));
  cudaMalloc(&words, 96 * 8 * sizeof(unsigned));
  cudaMalloc(&numbers, 96 * 2 * sizeof(double));
  cudaMemset(out, 0, sizeof(wrong));
  functions<<<2, 96>>>(out);
  vectors<<<1, 96>>>(out + 1, words, numbers);
  votes<<<2, 96>>>(out + 2, 75);
  groups<<<2, dim3(16, 6)>>>(out + 3);
  cudaMemcpy(wrong, out, sizeof(wrong), cudaMemcpyDeviceToHost);
  std::printf("wrong: functions %d, vectors %d, votes %d, groups %d\n", wrong[0], wrong[1], wrong[2], wrong[3]);
  return wrong[0] + wrong[1] + wrong[2] + wrong[3] != 0;
}
