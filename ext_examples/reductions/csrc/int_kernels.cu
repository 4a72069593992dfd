// SPDX-License-Identifier: Apache-2.0
//
// Integers are reduced by the warp's own instruction where the GPU has it.

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

#include <climits>

#include "block_reduce.cuh"
#include "reductions.h"

namespace {

using reductions::kFullMask;
using reductions::kWarpSize;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define WARP_SUM(mask, value) reductions::warp_all_reduce((value), reductions::Sum<int>())
#else
#define WARP_SUM(mask, value) __reduce_add_sync((mask), (value))
#endif

// Only the lanes inside take part: the mask says which they are.
__global__ void reduce_warps_kernel(const int* __restrict__ x, int n, int* out, int warps) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned inside = __ballot_sync(kFullMask, i < n);
  if (i >= n) return;
  const int value = x[i];
  const unsigned bits = static_cast<unsigned>(value);
  const int sum = __reduce_add_sync(inside, value);
  const int least = __reduce_min_sync(inside, value);
  const int greatest = __reduce_max_sync(inside, value);
  const unsigned all = __reduce_and_sync(inside, bits);
  const unsigned any = __reduce_or_sync(inside, bits);
  const unsigned odd = __reduce_xor_sync(inside, bits);
  const unsigned highest = __reduce_max_sync(inside, bits);  // of unsigned numbers
  if (threadIdx.x % kWarpSize == 0) {
    int* to = out + i / kWarpSize;
    to[0 * warps] = sum;
    to[1 * warps] = least;
    to[2 * warps] = greatest;
    to[3 * warps] = static_cast<int>(all);
    to[4 * warps] = static_cast<int>(any);
    to[5 * warps] = static_cast<int>(odd);
    to[6 * warps] = static_cast<int>(highest);
  }
}

// Odd and even lanes on their own: masks with holes.
__global__ void reduce_halves_kernel(const int* __restrict__ x, int n, int* even, int* odd) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int lane = threadIdx.x & 31;
  const int value = i < n ? x[i] : 0;
  int sum;
  if (lane & 1) {
    sum = __reduce_add_sync(0xaaaaaaaa, value);
  } else {
    sum = __reduce_add_sync(0x55555555, value);
  }
  if (i - lane < n && lane < 2) (lane ? odd : even)[i / kWarpSize] = sum;
}

__global__ void reduce_all_kernel(const int* __restrict__ x, int n, int* total, int* greatest) {
  __shared__ int sums[32], maxima[32];
  int sum = 0, maximum = INT_MIN;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    sum += x[i];
    maximum = max(maximum, x[i]);
  }
  sum = WARP_SUM(kFullMask, sum);
  maximum = __reduce_max_sync(kFullMask, maximum);
  const int lane = threadIdx.x & 0x1f, warp = threadIdx.x >> 5;
  if (lane == 0) {
    sums[warp] = sum;
    maxima[warp] = maximum;
  }
  __syncthreads();
  if (warp == 0) {
    const bool used = lane < (blockDim.x >> 5);
    sum = WARP_SUM(kFullMask, used ? sums[lane] : 0);
    maximum = __reduce_max_sync(kFullMask, used ? maxima[lane] : INT_MIN);
    if (lane == 0) {
      atomicAdd(total, sum);
      atomicMax(greatest, maximum);
    }
  }
}

}  // namespace

std::vector<at::Tensor> reduce_ints_cuda(const at::Tensor& x, int64_t block) {
  const c10::cuda::CUDAGuard guard(x.device());
  const auto stream = at::cuda::getCurrentCUDAStream();
  const int n = x.numel(), warps = (n + kWarpSize - 1) / kWarpSize;
  const int threads = (block + kWarpSize - 1) / kWarpSize * kWarpSize, blocks = (n + threads - 1) / threads;
  auto of_warps = at::zeros({7, warps}, x.options());
  auto even = at::zeros({warps}, x.options()), odd = at::zeros({warps}, x.options());
  auto total = at::zeros({1}, x.options()), greatest = at::full({1}, INT_MIN, x.options());
  if (n == 0) return {of_warps, even, odd, total, greatest};
  const int* in = x.const_data_ptr<int>();
  reduce_warps_kernel<<<blocks, threads, 0, stream>>>(in, n, of_warps.data_ptr<int>(), warps);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  reduce_halves_kernel<<<blocks, threads, 0, stream>>>(in, n, even.data_ptr<int>(), odd.data_ptr<int>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  reduce_all_kernel<<<(blocks + 1) / 2, threads, 0, stream>>>(in, n, total.data_ptr<int>(), greatest.data_ptr<int>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return {of_warps, even, odd, total, greatest};
}
