// SPDX-License-Identifier: Apache-2.0
//
// A warp of 32 decides together: a ballot says which of its lanes keep their element, and counting bits says where
// each goes. Packed words hold 32 elements too, but that is their format and no matter of warps.

#include <ATen/Dispatch.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>

#include "compaction.h"
#include "warp.cuh"

namespace {

constexpr int kBitsPerWord = 32;

inline int div_up(int64_t a, int64_t b) { return static_cast<int>((a + b - 1) / b); }

// The lanes past the end have returned before the ballot: it counts them as zeros.
template <typename scalar_t>
__global__ void compact_atomic_kernel(
    const scalar_t* __restrict__ x, int n, float threshold, scalar_t* values, int* indices, int* count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const scalar_t value = x[i];
  const bool keep = static_cast<float>(value) > threshold;
  if (!__any_sync(FULL_MASK, keep)) return;
  const unsigned ballot = __ballot_sync(0xffffffff, keep);
  if (keep) {
    const int at = warp_append(count, ballot);
    values[at] = value;
    indices[at] = i;
  }
}

// Each warp walks over the input and keeps what it finds in a queue of its own in shared memory; it writes 32
// items whenever it has so many, and the rest at the end. blockDim.x is a multiple of 32.
template <typename scalar_t>
__global__ void compact_queue_kernel(
    const scalar_t* __restrict__ x, int n, float threshold, scalar_t* values, int* indices, int* count) {
  extern __shared__ int queues[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int warps = blockDim.x / WARP_SIZE;
  int* queue = queues + warp * 2 * WARP_SIZE;
  int queued = 0;
  const int step = gridDim.x * warps * WARP_SIZE;
  for (int first = (blockIdx.x * warps + warp) * WARP_SIZE; first < n; first += step) {
    const int i = first + lane;
    // The last chunk may be shorter than a warp; only its lanes vote.
    const unsigned active = __ballot_sync(0xffffffff, i < n);
    if (i < n) {
      const bool keep = static_cast<float>(x[i]) > threshold;
      const unsigned kept = __ballot_sync(active, keep);
      if (keep) queue[queued + __popc(kept & lanes_before())] = i;
      queued += __popc(kept);
    }
    queued = __shfl_sync(FULL_MASK, queued, 0);
    __syncwarp();
    if (queued >= WARP_SIZE) {
      int base = 0;
      if (lane == 0) base = atomicAdd(count, WARP_SIZE);
      base = __shfl_sync(0xffffffff, base, 0);
      const int item = queue[lane];
      values[base + lane] = x[item];
      indices[base + lane] = item;
      __syncwarp();
      queued -= WARP_SIZE;
      if (lane < queued) queue[lane] = queue[WARP_SIZE + lane];
      __syncwarp();
    }
  }
  const unsigned rest = __ballot_sync(FULL_MASK, lane < queued);
  if (lane < queued) {
    const int at = warp_append(count, rest);
    const int item = queue[lane];
    values[at] = x[item];
    indices[at] = item;
  }
}

// Lane 0 writes the word of its warp. blockDim.x is a multiple of 32, the last warp may reach past the end.
template <typename scalar_t>
__global__ void pack_bits_kernel(const scalar_t* __restrict__ x, int n, float threshold, int* words) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned bits = __ballot_sync(~0u, i < n && static_cast<float>(x[i]) > threshold);
  if (lane_id() == 0 && i < n) words[i / kBitsPerWord] = static_cast<int>(bits);
}

__global__ void count_bits_kernel(const int* __restrict__ words, int n, int* counts) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) counts[i] = __popc(words[i]);
}

// No lane asks another here: the words say it all.
template <typename scalar_t>
__global__ void compact_stable_kernel(
    const scalar_t* __restrict__ x, int n, const int* __restrict__ words, const int* __restrict__ ends,
    scalar_t* values, int* indices) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int word = i >> 5, bit = i & 31;
  const unsigned bits = static_cast<unsigned>(words[word]);
  if (!(bits >> bit & 1u)) return;
  const int at = ends[word] - __popc(bits) + __popc(bits & ((1u << bit) - 1));
  values[at] = x[i];
  indices[at] = i;
}

__global__ void warp_totals_kernel(const int* __restrict__ x, int n, int* sums, int* totals) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int sum = warp_inclusive_sum(i < n ? x[i] : 0);
  if (i < n) sums[i] = sum;
  const int total = __shfl_sync(FULL_MASK, sum, WARP_SIZE - 1);
  if ((threadIdx.x % WARP_SIZE) == 0 && i < n) totals[i / WARP_SIZE] = total;
}

template <typename scalar_t>
__global__ void scatter_kernel(const scalar_t* __restrict__ values, const int* __restrict__ indices, int n, scalar_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[indices[i]] = values[i];
}

std::pair<at::Tensor, at::Tensor> first(const at::Tensor& values, const at::Tensor& indices, int64_t count) {
  return {values.slice(0, 0, count), indices.slice(0, 0, count)};
}

int whole_warps(int block) { return div_up(block, WARP_SIZE) * WARP_SIZE; }

}  // namespace

std::pair<at::Tensor, at::Tensor> compact_atomic_cuda(const at::Tensor& x, double threshold, int block) {
  const c10::cuda::CUDAGuard guard(x.device());
  const auto stream = at::cuda::getCurrentCUDAStream();
  const auto ints = x.options().dtype(at::kInt);
  auto values = at::empty_like(x), indices = at::empty({x.numel()}, ints), count = at::zeros({1}, ints);
  const int n = static_cast<int>(x.numel());
  if (n == 0) return {values, indices};
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "compact_atomic", [&] {
    compact_atomic_kernel<scalar_t><<<div_up(n, block), block, 0, stream>>>(
        x.data_ptr<scalar_t>(), n, static_cast<float>(threshold), values.data_ptr<scalar_t>(), indices.data_ptr<int>(),
        count.data_ptr<int>());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return first(values, indices, count.item<int>());
}

std::pair<at::Tensor, at::Tensor> compact_queue_cuda(const at::Tensor& x, double threshold, int block) {
  const c10::cuda::CUDAGuard guard(x.device());
  const auto stream = at::cuda::getCurrentCUDAStream();
  const auto ints = x.options().dtype(at::kInt);
  auto values = at::empty_like(x), indices = at::empty({x.numel()}, ints), count = at::zeros({1}, ints);
  const int n = static_cast<int>(x.numel());
  if (n == 0) return {values, indices};
  block = whole_warps(block);
  const int blocks = std::min(div_up(n, 4 * block), at::cuda::getCurrentDeviceProperties()->multiProcessorCount);
  const size_t shared = block / WARP_SIZE * 2 * WARP_SIZE * sizeof(int);
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "compact_queue", [&] {
    compact_queue_kernel<scalar_t><<<blocks, block, shared, stream>>>(
        x.data_ptr<scalar_t>(), n, static_cast<float>(threshold), values.data_ptr<scalar_t>(), indices.data_ptr<int>(),
        count.data_ptr<int>());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return first(values, indices, count.item<int>());
}

at::Tensor pack_bits_cuda(const at::Tensor& x, double threshold, int block) {
  const c10::cuda::CUDAGuard guard(x.device());
  const auto stream = at::cuda::getCurrentCUDAStream();
  const int n = static_cast<int>(x.numel());
  auto words = at::empty({div_up(n, kBitsPerWord)}, x.options().dtype(at::kInt));
  if (n == 0) return words;
  block = whole_warps(block);
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "pack_bits", [&] {
    pack_bits_kernel<scalar_t><<<div_up(n, block), block, 0, stream>>>(
        x.data_ptr<scalar_t>(), n, static_cast<float>(threshold), words.data_ptr<int>());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return words;
}

std::pair<at::Tensor, at::Tensor> compact_stable_cuda(const at::Tensor& x, double threshold, int block) {
  const c10::cuda::CUDAGuard guard(x.device());
  const auto stream = at::cuda::getCurrentCUDAStream();
  const int n = static_cast<int>(x.numel());
  if (n == 0) return {at::empty_like(x), at::empty({0}, x.options().dtype(at::kInt))};
  const auto words = pack_bits_cuda(x, threshold, block);
  const int n_words = static_cast<int>(words.numel());
  auto counts = at::empty_like(words);
  count_bits_kernel<<<div_up(n_words, block), block, 0, stream>>>(words.data_ptr<int>(), n_words, counts.data_ptr<int>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  const auto ends = counts.cumsum(0, at::kInt);
  const int64_t kept = ends[n_words - 1].item<int>();
  auto values = at::empty({kept}, x.options()), indices = at::empty({kept}, words.options());
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "compact_stable", [&] {
    compact_stable_kernel<scalar_t><<<div_up(n, block), block, 0, stream>>>(
        x.data_ptr<scalar_t>(), n, words.data_ptr<int>(), ends.data_ptr<int>(), values.data_ptr<scalar_t>(),
        indices.data_ptr<int>());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return {values, indices};
}

std::pair<at::Tensor, at::Tensor> warp_totals_cuda(const at::Tensor& x, int block) {
  const c10::cuda::CUDAGuard guard(x.device());
  const auto stream = at::cuda::getCurrentCUDAStream();
  const int n = static_cast<int>(x.numel());
  auto sums = at::empty_like(x), totals = at::empty({div_up(n, WARP_SIZE)}, x.options());
  if (n == 0) return {sums, totals};
  block = whole_warps(block);
  warp_totals_kernel<<<div_up(n, block), block, 0, stream>>>(x.data_ptr<int>(), n, sums.data_ptr<int>(), totals.data_ptr<int>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return {sums, totals};
}

at::Tensor scatter_cuda(const at::Tensor& values, const at::Tensor& indices, int64_t length) {
  const c10::cuda::CUDAGuard guard(values.device());
  const auto stream = at::cuda::getCurrentCUDAStream();
  auto out = at::zeros({length}, values.options());
  const int n = static_cast<int>(values.numel());
  if (n == 0) return out;
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(values.scalar_type(), "scatter", [&] {
    scatter_kernel<scalar_t><<<div_up(n, 256), 256, 0, stream>>>(
        values.data_ptr<scalar_t>(), indices.data_ptr<int>(), n, out.data_ptr<scalar_t>());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}
