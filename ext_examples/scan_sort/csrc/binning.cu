// SPDX-License-Identifier: Apache-2.0

#include "cuda_runtime.h"
#include "device_launch_parameters.h"
#include <math_constants.h>
#include <cub/cub.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <thrust/execution_policy.h>
#include <thrust/sequence.h>
#include <cfloat>
#ifndef __CUDACC__
#define __CUDACC__
#endif
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

#include "scan_sort.h"
#include "morton.inl"

namespace cg = cooperative_groups;
namespace prim = cub;

#define BLOCK_SIZE 256

struct CustomMin {
  __device__ __forceinline__ float3 operator()(const float3& a, const float3& b) const {
    return {min(a.x, b.x), min(a.y, b.y), min(a.z, b.z)};
  }
};

struct CustomMax {
  __device__ __forceinline__ float3 operator()(const float3& a, const float3& b) const {
    return {max(a.x, b.x), max(a.y, b.y), max(a.z, b.z)};
  }
};

__global__ void mortonKernel(int P, const float3* points, const float3* box, uint32_t* codes) {
  auto idx = cg::this_grid().thread_rank();
  if (idx >= P) return;
  codes[idx] = mortonCode(points[idx], box[0], box[1]);
}

// Where the cell changes from one sorted point to the next, one range ends and another starts. The block keeps its
// cells in shared memory, so that each is read once.
__global__ void rangesKernel(int P, int shift, const uint32_t* codes, int2* ranges) {
  auto block = cg::this_thread_block();
  __shared__ uint32_t cells[BLOCK_SIZE + 1];
  const int idx = blockIdx.x * BLOCK_SIZE + block.thread_rank();
  if (idx < P) cells[block.thread_rank() + 1] = codes[idx] >> shift;
  if (block.thread_rank() == 0 && idx > 0) cells[0] = codes[idx - 1] >> shift;
  block.sync();
  if (idx >= P) return;
  const uint32_t cell = cells[block.thread_rank() + 1];
  if (idx == 0) {
    ranges[cell].x = 0;
  } else if (cells[block.thread_rank()] != cell) {
    ranges[cells[block.thread_rank()]].y = idx;
    ranges[cell].x = idx;
  }
  if (idx == P - 1) ranges[cell].y = P;
}

__global__ void countKernel(int cells, const int2* ranges, int* counts) {
  auto idx = cg::this_grid().thread_rank();
  if (idx > cells) return;
  counts[idx] = idx < cells ? ranges[idx].y - ranges[idx].x : 0;
}

namespace {

// Calls a CUB algorithm twice: for the size of its temporary storage, and to run.
template <typename F>
void withStorage(const torch::TensorOptions& options, F&& algorithm) {
  size_t bytes = 0;
  C10_CUDA_CHECK(algorithm(nullptr, bytes));
  auto storage = torch::empty({static_cast<int64_t>(bytes)}, options.dtype(torch::kByte));
  C10_CUDA_CHECK(algorithm(storage.data_ptr(), bytes));
}

}  // namespace

std::tuple<torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor> binPointsCUDA(const torch::Tensor& points_, int64_t level) {
  TORCH_CHECK(points_.is_cuda() && points_.dim() == 2 && points_.size(1) == 3, "points must be [N, 3] and on the GPU");
  TORCH_CHECK(points_.scalar_type() == torch::kFloat, "points must be float32");
  TORCH_CHECK(level >= 0 && level <= 8, "level must be 0 to 8");
  const at::cuda::OptionalCUDAGuard guard(device_of(points_));
  const auto points = points_.contiguous();
  const int P = points.size(0);
  const int cells = 1 << (3 * level);
  const auto ints = points.options().dtype(torch::kInt);
  auto order = torch::empty({P}, ints), codes = torch::empty({P}, ints);
  auto ranges = torch::zeros({cells, 2}, ints), offsets = torch::zeros({cells + 1}, ints);
  if (P == 0) return std::make_tuple(order, codes, ranges, offsets);

  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  const auto* xyz = reinterpret_cast<const float3*>(points.data_ptr<float>());
  auto box_ = torch::empty({2, 3}, points.options());
  auto* box = reinterpret_cast<float3*>(box_.data_ptr<float>());
  const float3 highest = {FLT_MAX, FLT_MAX, FLT_MAX}, lowest = {-FLT_MAX, -FLT_MAX, -FLT_MAX};
  withStorage(points.options(), [&](void* storage, size_t& bytes) {
    return cub::DeviceReduce::Reduce(storage, bytes, xyz, box, P, CustomMin(), highest, stream);
  });
  withStorage(points.options(), [&](void* storage, size_t& bytes) {
    return cub::DeviceReduce::Reduce(storage, bytes, xyz, box + 1, P, CustomMax(), lowest, stream);
  });

  auto codes_out = torch::empty({P}, ints), order_out = torch::empty({P}, ints);
  prim::DoubleBuffer<uint32_t> keys(
      reinterpret_cast<uint32_t*>(codes.data_ptr<int>()), reinterpret_cast<uint32_t*>(codes_out.data_ptr<int>()));
  prim::DoubleBuffer<int> values(order.data_ptr<int>(), order_out.data_ptr<int>());
  const int blocks = (P + BLOCK_SIZE - 1) / BLOCK_SIZE;
  mortonKernel << <blocks, BLOCK_SIZE, 0, stream >> > (P, xyz, box, keys.Current());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  thrust::sequence(thrust::cuda::par.on(stream), values.Current(), values.Current() + P);
  withStorage(points.options(), [&](void* storage, size_t& bytes) {
    return prim::DeviceRadixSort::SortPairs(storage, bytes, keys, values, P, 0, 3 * MORTON_BITS, stream);
  });

  rangesKernel << <blocks, BLOCK_SIZE, 0, stream >> > (
      P, 3 * (MORTON_BITS - static_cast<int>(level)), keys.Current(), reinterpret_cast<int2*>(ranges.data_ptr<int>()));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  auto counts = torch::empty({cells + 1}, ints);
  countKernel << <(cells + BLOCK_SIZE) / BLOCK_SIZE, BLOCK_SIZE, 0, stream >> > (
      cells, reinterpret_cast<const int2*>(ranges.data_ptr<int>()), counts.data_ptr<int>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  withStorage(points.options(), [&](void* storage, size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(storage, bytes, counts.data_ptr<int>(), offsets.data_ptr<int>(), cells + 1, stream);
  });

  // The sort says in which half of each buffer it left its result.
  const bool second = keys.Current() != reinterpret_cast<uint32_t*>(codes.data_ptr<int>());
  return std::make_tuple(
      values.Current() == order.data_ptr<int>() ? order : order_out, second ? codes_out : codes, ranges, offsets);
}
