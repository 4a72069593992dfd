// SPDX-License-Identifier: Apache-2.0
// Operations of a warp of which only 10 threads are there, the others having ended: CUDA leaves open what comes of them.
// What an H200 printed (nvcc 13.0, -O2 -arch=sm_90) is in partial.txt; lanes that CUB leaves undefined are not printed.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cub/cub.cuh>

#include <cstdio>

namespace cg = cooperative_groups;

struct Greater {
  __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};

template <int What>
__global__ void kernel(float* out, int n) {
  const int t = threadIdx.x;
  if (t >= n) return;
  const int v = t + 1;
  const float f = 0.5f * float(v);
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const auto half = cg::tiled_partition<16>(cg::this_thread_block());
  using Ints = cub::WarpReduce<int>;
  using Floats = cub::WarpReduce<float>;
  using Scan = cub::WarpScan<int>;
  __shared__ typename Ints::TempStorage ints[4];
  __shared__ typename Floats::TempStorage floats[4];
  __shared__ typename Scan::TempStorage scans[4];
  const int w = t / 32;
  float r = 0;
  if (What == 0) r = float(cg::reduce(tile, v, cg::plus<int>()));
  if (What == 1) r = cg::reduce(tile, f, cg::plus<float>());
  if (What == 2) r = float(cg::reduce(tile, -v, cg::greater<int>()));
  if (What == 3) r = float(cg::reduce(tile, v, [](int a, int b) { return a + b; }));
  if (What == 4) r = float(cg::inclusive_scan(tile, v));
  if (What == 5) r = cg::exclusive_scan(tile, f, cg::plus<float>());
  if (What == 6) r = float(cg::reduce(half, v, cg::plus<int>()));
  if (What == 7) r = float(Ints(ints[w]).Sum(v));
  if (What == 8) r = Floats(floats[w]).Sum(f);
  if (What == 9) r = float(Ints(ints[w]).Reduce(-v, Greater()));
  if (What == 10) {
    int sum;
    Scan(scans[w]).InclusiveSum(v, sum);
    r = float(sum);
  }
  if (What == 11) r = float(tile.shfl(v, 20));
  if (What == 12) r = float(tile.shfl_down(v, 4));
  if (What == 13) r = float(tile.any(v == 1) + 2 * tile.all(v > 0));
  if (What == 14) r = float(cub::ShuffleDown<32>(v, 4, 31, 0xffffffffu));
  if (What == 15) r = float(tile.shfl_xor(v, 16));
  if (What == 16) r = float(__shfl_down_sync(0xffffffffu, v, 4));
  if (What == 17) r = float(Ints(ints[w]).HeadSegmentedSum(v, t % 5 == 0));
  const bool first = t % 32 == 0, leads = t % 5 == 0;
  out[t] = (What >= 7 && What <= 9 && !first) || (What == 17 && !first && !leads) ? -1 : r;
}

template <int What>
void run(float* out) {
  cudaMemset(out, 0, 64 * sizeof(float));
  kernel<What><<<1, 64>>>(out, 42);
  float host[64];
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%d:", What);
  for (int i = 0; i < 42; ++i) {
    if (i < 2 || i > 28) std::printf(" %g", double(host[i]));
  }
  std::printf("\n");
  if constexpr (What < 17) run<What + 1>(out);
}

int main() {
  float* out;
  cudaMalloc(&out, 64 * sizeof(float));
  run<0>(out);
  return cudaDeviceSynchronize() != cudaSuccess;
}
