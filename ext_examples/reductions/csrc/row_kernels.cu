// SPDX-License-Identifier: Apache-2.0

#include <ATen/AccumulateType.h>
#include <ATen/Dispatch.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

#include "block_reduce.cuh"
#include "reductions.h"

namespace {

using namespace reductions;

enum Style { kTree, kShared, kHalving };

// A block to a row.
template <Style kStyle, int kThreads, typename scalar_t, typename acc_t>
__global__ void reduce_rows_kernel(const scalar_t* __restrict__ x, int columns, acc_t* sums, acc_t* maxima) {
  x += static_cast<int64_t>(blockIdx.x) * columns;
  acc_t sum = Sum<acc_t>::identity(), maximum = Max<acc_t>::identity();
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    const acc_t value = static_cast<acc_t>(x[i]);
    sum += value;
    maximum = Max<acc_t>()(maximum, value);
  }
  if constexpr (kStyle == kTree) {
    sum = block_reduce_tree(sum, Sum<acc_t>());
    maximum = block_reduce_tree(maximum, Max<acc_t>());
  } else if constexpr (kStyle == kShared) {
    sum = block_reduce_shared(sum, Sum<acc_t>());
    maximum = block_reduce_shared(maximum, Max<acc_t>());
  } else {
    sum = block_reduce_halving<kThreads>(sum, Sum<acc_t>());
    __syncthreads();
    maximum = block_reduce_halving<kThreads>(maximum, Max<acc_t>());
  }
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    maxima[blockIdx.x] = maximum;
  }
}

template <typename T>
struct Best {
  T value;
  int index;

  // NaN before all else, then the greater, then the earlier.
  __device__ __forceinline__ bool worse_than(const Best& other) const {
    const bool nan = value != value, other_nan = other.value != other.value;
    if (nan != other_nan) return other_nan;
    if (!nan && value != other.value) return value < other.value;
    return index > other.index;
  }
};

template <typename T>
__device__ Best<T> warp_best(Best<T> best) {
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    Best<T> other;
    other.value = __shfl_xor_sync(kFullMask, best.value, lanes);
    other.index = __shfl_xor_sync(kFullMask, best.index, lanes);
    if (best.worse_than(other)) best = other;
  }
  return best;
}

template <typename scalar_t, typename acc_t>
__global__ void argmax_rows_kernel(const scalar_t* __restrict__ x, int columns, acc_t* values, int* indices) {
  __shared__ Best<acc_t> of_warp[kMaxWarps];
  x += static_cast<int64_t>(blockIdx.x) * columns;
  Best<acc_t> best{Max<acc_t>::identity(), INT_MAX};
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    const Best<acc_t> candidate{static_cast<acc_t>(x[i]), i};
    if (best.worse_than(candidate)) best = candidate;
  }
  best = warp_best(best);
  const int lane = threadIdx.x & (kWarpSize - 1);
  if (lane == 0) of_warp[threadIdx.x / kWarpSize] = best;
  __syncthreads();
  if (threadIdx.x >= kWarpSize) return;
  best = lane < static_cast<int>(blockDim.x / kWarpSize) ? of_warp[lane] : Best<acc_t>{Max<acc_t>::identity(), INT_MAX};
  best = warp_best(best);
  if (lane == 0) {
    values[blockIdx.x] = best.value;
    indices[blockIdx.x] = best.index;
  }
}

// Welford's mean and variance; kWidth lanes to a row, so that a warp has 32 / kWidth rows.
template <int kWidth, typename scalar_t, typename acc_t>
__global__ void moments_kernel(const scalar_t* __restrict__ x, int rows, int columns, acc_t* means, acc_t* variances) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / kWidth;
  const int lane = threadIdx.x % kWidth;
  acc_t mean = 0, squares = 0;
  int count = 0;
  if (row < rows) {
    for (int i = lane; i < columns; i += kWidth) {
      const acc_t value = static_cast<acc_t>(x[static_cast<int64_t>(row) * columns + i]);
      ++count;
      const acc_t delta = value - mean;
      mean += delta / count;
      squares += delta * (value - mean);
    }
  }
#pragma unroll
  for (int lanes = kWidth / 2; lanes >= 1; lanes /= 2) {
    const acc_t other_mean = __shfl_xor_sync(0xffffffff, mean, lanes, kWidth);
    const acc_t other_squares = __shfl_xor_sync(0xffffffff, squares, lanes, kWidth);
    const int other_count = __shfl_xor_sync(0xffffffff, count, lanes, kWidth);
    const int both = count + other_count;
    if (both > 0) {
      const acc_t delta = other_mean - mean;
      mean = (mean * count + other_mean * other_count) / both;
      squares += other_squares + delta * delta * count * other_count / both;
      count = both;
    }
  }
  if (row < rows && lane == 0) {
    means[row] = mean;
    variances[row] = squares / count;
  }
}

}  // namespace

#define LAUNCH_ROWS(STYLE, THREADS, BLOCK)                                                           \
  reduce_rows_kernel<STYLE, THREADS, scalar_t, acc_t><<<rows, BLOCK, 0, stream>>>(                   \
      x.const_data_ptr<scalar_t>(), columns, sums.data_ptr<acc_t>(), maxima.data_ptr<acc_t>())

std::vector<at::Tensor> reduce_rows_cuda(const at::Tensor& x, int64_t style, int64_t block) {
  const c10::cuda::CUDAGuard guard(x.device());
  const auto stream = at::cuda::getCurrentCUDAStream();
  const int rows = x.size(0), columns = x.size(1);
  const int whole = (block + kWarpSize - 1) / kWarpSize * kWarpSize;
  const auto options = x.options().dtype(at::toAccumulateType(x.scalar_type(), true));
  auto sums = at::empty({rows}, options), maxima = at::empty({rows}, options);
  if (rows == 0) return {sums, maxima};
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "reduce_rows", [&] {
    using acc_t = at::acc_type<scalar_t, true>;
    if (style == kTree) {
      LAUNCH_ROWS(kTree, 0, block);
    } else if (style == kShared) {
      LAUNCH_ROWS(kShared, 0, whole);
    } else {
      switch (whole) {
        case 64: LAUNCH_ROWS(kHalving, 64, 64); break;
        case 128: LAUNCH_ROWS(kHalving, 128, 128); break;
        default: LAUNCH_ROWS(kHalving, 512, 512); break;
      }
    }
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return {sums, maxima};
}

std::vector<at::Tensor> argmax_rows_cuda(const at::Tensor& x, int64_t block) {
  const c10::cuda::CUDAGuard guard(x.device());
  const int rows = x.size(0), columns = x.size(1);
  const int whole = (block + kWarpSize - 1) / kWarpSize * kWarpSize;
  auto values = at::empty({rows}, x.options().dtype(at::toAccumulateType(x.scalar_type(), true)));
  auto indices = at::empty({rows}, x.options().dtype(at::kInt));
  if (rows == 0) return {values, indices};
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "argmax_rows", [&] {
    using acc_t = at::acc_type<scalar_t, true>;
    argmax_rows_kernel<scalar_t, acc_t><<<rows, whole, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.const_data_ptr<scalar_t>(), columns, values.data_ptr<acc_t>(), indices.data_ptr<int>());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return {values, indices};
}

std::vector<at::Tensor> moments_cuda(const at::Tensor& x, int64_t width) {
  const c10::cuda::CUDAGuard guard(x.device());
  const auto stream = at::cuda::getCurrentCUDAStream();
  constexpr int kBlock = 96;
  const int rows = x.size(0), columns = x.size(1);
  const auto options = x.options().dtype(at::toAccumulateType(x.scalar_type(), true));
  auto means = at::empty({rows}, options), variances = at::empty({rows}, options);
  if (rows == 0) return {means, variances};
  const int blocks = (rows * static_cast<int>(width) + kBlock - 1) / kBlock;
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "moments", [&] {
    using acc_t = at::acc_type<scalar_t, true>;
    const auto* in = x.const_data_ptr<scalar_t>();
    auto *mean = means.data_ptr<acc_t>(), *variance = variances.data_ptr<acc_t>();
    if (width == 4) {
      moments_kernel<4, scalar_t, acc_t><<<blocks, kBlock, 0, stream>>>(in, rows, columns, mean, variance);
    } else if (width == 16) {
      moments_kernel<16, scalar_t, acc_t><<<blocks, kBlock, 0, stream>>>(in, rows, columns, mean, variance);
    } else {
      moments_kernel<32, scalar_t, acc_t><<<blocks, kBlock, 0, stream>>>(in, rows, columns, mean, variance);
    }
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return {means, variances};
}
