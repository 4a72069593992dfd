// SPDX-License-Identifier: Apache-2.0

#include <ATen/Dispatch.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

#include <cub/block/block_load.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>

#include "scan_sort.h"

using namespace cub;

// The sum of all tiles so far, handed from tile to tile by the block's first warp.
template <typename T>
struct RunningSum {
  T total;

  __device__ T operator()(T tile) {
    const T before = total;
    total += tile;
    return before;
  }
};

template <typename T, int THREADS, int ITEMS>
__global__ void __launch_bounds__(THREADS) rowCumsumKernel(const T* x, T* y, int columns, bool reverse) {
  using Scan = BlockScan<T, THREADS, BLOCK_SCAN_RAKING>;
  typedef cub::BlockLoad<T, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE> Load;
  typedef cub::BlockStore<T, THREADS, ITEMS, cub::BLOCK_STORE_TRANSPOSE> Store;
  __shared__ union {
    typename Load::TempStorage load;
    typename Scan::TempStorage scan;
    typename Store::TempStorage store;
  } shared;

  x += static_cast<size_t>(blockIdx.x) * columns;
  y += static_cast<size_t>(blockIdx.x) * columns;
  RunningSum<T> before{T(0)};
  for (int first = 0; first < columns; first += THREADS * ITEMS) {
    const int count = min(columns - first, THREADS * ITEMS);
    T items[ITEMS];
    if (reverse) {
      for (int i = 0; i < ITEMS; ++i) {
        const int at = threadIdx.x * ITEMS + i;
        items[i] = at < count ? x[columns - 1 - first - at] : T(0);
      }
    } else {
      Load(shared.load).Load(x + first, items, count, T(0));
    }
    __syncthreads();
    Scan(shared.scan).InclusiveSum(items, items, before);
    __syncthreads();
    if (reverse) {
      for (int i = 0; i < ITEMS; ++i) {
        const int at = threadIdx.x * ITEMS + i;
        if (at < count) y[columns - 1 - first - at] = items[i];
      }
    } else {
      Store(shared.store).Store(y + first, items, count);
    }
    __syncthreads();
  }
}

torch::Tensor rowCumsumCUDA(const torch::Tensor& x_, bool reverse) {
  TORCH_CHECK(x_.is_cuda() && x_.dim() == 2, "x must be a matrix on the GPU");
  const at::cuda::CUDAGuard guard(x_.device());
  const auto x = x_.contiguous();
  auto y = torch::empty_like(x);
  if (x.numel() == 0) return y;
  const int rows = x.size(0), columns = x.size(1);
  const auto stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES_AND(torch::kLong, x.scalar_type(), "row_cumsum", [&] {
    rowCumsumKernel<scalar_t, 128, 4><<<rows, 128, 0, stream>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), columns, reverse);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
