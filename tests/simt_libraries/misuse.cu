// SPDX-License-Identifier: Apache-2.0
// Uses of the libraries that a GPU lets pass with an undefined result: each must end with a fault,
// or with numbers that are seen to be wrong.
#include "check.h"
#ifdef __HIP__
#include <hip/hip_cooperative_groups.h>
#include <hipcub/hipcub.hpp>
namespace lib = hipcub;
#else
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cub/cub.cuh>
namespace lib = cub;
#endif
#include <cstring>
namespace cg = cooperative_groups;

__global__ void wrong_shape(int* out) {
  using Reduce = lib::BlockReduce<int, 128>;
  __shared__ typename Reduce::TempStorage temp;
  const int sum = Reduce(temp).Sum(1);
  if (threadIdx.x == 0) *out = sum;
}
__global__ void exited(int* out) {
  using Reduce = lib::BlockReduce<int, 64>;
  __shared__ typename Reduce::TempStorage temp;
  if (threadIdx.x >= 40) return;
  const int sum = Reduce(temp).Sum(1);
  if (threadIdx.x == 0) *out = sum;
}
__global__ void short_warp(int* out) {
  using Reduce = lib::WarpReduce<int>;
  __shared__ typename Reduce::TempStorage temp;
  *out = Reduce(temp).Sum(1);
}
__global__ void only_the_first(int* out) {
  using Reduce = lib::BlockReduce<int, 64>;
  __shared__ typename Reduce::TempStorage temp;
  out[threadIdx.x] = Reduce(temp).Sum(1);
}
__global__ void used_again(int* out) {
  using Scan = lib::BlockScan<int, 64>;
  __shared__ typename Scan::TempStorage temp;
  int a, b;
  Scan(temp).ExclusiveSum(1, a);
  Scan(temp).ExclusiveSum(1000, b);  // without a barrier between
  out[threadIdx.x] = a;
}
__global__ void short_tile(int* out) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  *out = tile.shfl(1, 31);
}
__global__ void not_cooperative() { cg::this_grid().sync(); }
__global__ void destroyed(GPU(TextureObject_t) t, float* out) { *out = tex1Dfetch<float>(t, 0); }
__global__ void other_type(GPU(TextureObject_t) t, int* out) { *out = tex1Dfetch<int>(t, 0); }

int main(int, char** arguments) {
  const auto is = [&](const char* name) { return std::strcmp(arguments[1], name) == 0; };
  Device<int> out(64);
  Device<float> values(16);
  GPU(ResourceDesc) resource{};
  resource.resType = GPU(ResourceTypeLinear);
  resource.res.linear.devPtr = values.data;
  resource.res.linear.desc = GPU(CreateChannelDesc)<float>();
  resource.res.linear.sizeInBytes = 64;
  GPU(TextureDesc) how{};
  GPU(TextureObject_t) texture;
  GPU(CreateTextureObject)(&texture, &resource, &how, nullptr);
  if (is("wrong_shape")) wrong_shape<<<1, 64>>>(out);
  if (is("exited")) exited<<<1, 64>>>(out);
  if (is("short_warp")) short_warp<<<1, 7>>>(out);
  if (is("short_tile")) {
    short_tile<<<1, 20>>>(out);
    std::printf("%d\n", out.get()[0]);
  }
  if (is("not_cooperative")) not_cooperative<<<1, 32>>>();
  if (is("other_type")) other_type<<<1, 1>>>(texture, out);
  if (is("destroyed")) {
    GPU(DestroyTextureObject)(texture);
    destroyed<<<1, 1>>>(texture, values);
  }
  if (is("captured")) {
    GPU(Stream_t) stream;
    GPU(StreamCreate)(&stream);
    std::size_t bytes = 0;
    lib::DeviceReduce::Sum(nullptr, bytes, out.data, out.data, 64, stream);
    Device<char> storage(bytes);
    GPU(StreamBeginCapture)(stream, GPU(StreamCaptureModeGlobal));
    lib::DeviceReduce::Sum(storage.data, bytes, out.data, out.data, 64, stream);
  }
  if (is("only_the_first")) {
    only_the_first<<<1, 64>>>(out);
    const std::vector<int> sums = out.get();
    std::printf("%d %d %d\n", sums[0], sums[1], sums[63]);
  }
  if (is("used_again")) {
    used_again<<<1, 64>>>(out);
    const std::vector<int> sums = out.get();
    int wrong = 0;
    for (int i = 0; i < 64; ++i) wrong += sums[i] != i;
    std::printf("%d wrong\n", wrong);
  }
  return 0;
}
