// SPDX-License-Identifier: Apache-2.0
//
// Two kernels: one output per thread for small matrices, and 4 x 4 outputs per thread with two stages of
// shared memory for large ones. 32 is nowhere a warp here: tiles are squares of 16 or 64.

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

#include "tiled_matmul.h"
#include "tiles.cuh"

#define CUDA_CHECK(expr) C10_CUDA_CHECK(expr)

namespace {

template <typename T, int TILE, bool TA, bool TB>
__global__ void small_matmul_kernel(View<T, TA> a, View<T, TB> b, T* __restrict__ c) {
  __shared__ T tile_a[TILE][TILE + 1];
  __shared__ T tile_b[TILE][TILE + 1];
  const int row = blockIdx.y * TILE + threadIdx.y;
  const int col = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < a.cols; k += TILE) {
    tile_a[threadIdx.y][threadIdx.x] = a(row, k + threadIdx.x);
    tile_b[threadIdx.y][threadIdx.x] = b(k + threadIdx.y, col);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; ++i) {
      sum = fmaf(to_float(tile_a[threadIdx.y][i]), to_float(tile_b[i][threadIdx.x]), sum);
    }
    __syncthreads();
  }
  if (row < a.rows && col < b.cols) c[static_cast<size_t>(row) * b.cols + col] = from_float<T>(sum);
}

constexpr int kStages = 2;

// Two stages of two float tiles: 64 KiB when TILE is 64, more than a kernel gets without asking.
template <typename T, int TILE>
constexpr size_t large_shared_bytes() { return kStages * 2 * TILE * TILE * sizeof(T); }

template <typename T, int TILE, int PER_THREAD, bool TA, bool TB>
__global__ void __launch_bounds__((TILE / PER_THREAD) * (TILE / PER_THREAD))
    large_matmul_kernel(View<T, TA> a, View<T, TB> b, T* __restrict__ c) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  T* tiles = reinterpret_cast<T*>(shared_bytes);
  constexpr int kSide = TILE / PER_THREAD;
  constexpr int kThreads = kSide * kSide;
  const int tid = threadIdx.x;
  const int thread_row = tid / kSide * PER_THREAD, thread_col = tid % kSide * PER_THREAD;
  const int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;

  auto load = [&](int stage, int k) {
    T* tile_a = tiles + stage * 2 * TILE * TILE;
    T* tile_b = tile_a + TILE * TILE;
    for (int i = tid; i < TILE * TILE; i += kThreads) {
      tile_a[i] = a(row0 + i / TILE, k + i % TILE);
      tile_b[i] = b(k + i / TILE, col0 + i % TILE);
    }
  };

  float sum[PER_THREAD][PER_THREAD] = {};
  load(0, 0);
  __syncthreads();
  int stage = 0;
  for (int k = 0; k < a.cols; k += TILE) {
    if (k + TILE < a.cols) load(stage ^ 1, k + TILE);
    const T* tile_a = tiles + stage * 2 * TILE * TILE;
    const T* tile_b = tile_a + TILE * TILE;
    for (int i = 0; i < TILE; ++i) {
#pragma unroll
      for (int r = 0; r < PER_THREAD; ++r) {
#pragma unroll
        for (int s = 0; s < PER_THREAD; ++s) {
          sum[r][s] = fmaf(to_float(tile_a[(thread_row + r) * TILE + i]), to_float(tile_b[i * TILE + thread_col + s]), sum[r][s]);
        }
      }
    }
    __syncthreads();
    stage ^= 1;
  }
  for (int r = 0; r < PER_THREAD; ++r) {
    for (int s = 0; s < PER_THREAD; ++s) {
      const int row = row0 + thread_row + r, col = col0 + thread_col + s;
      if (row < a.rows && col < b.cols) c[static_cast<size_t>(row) * b.cols + col] = from_float<T>(sum[r][s]);
    }
  }
}

// Written with the operators of __half, which PyTorch's own flags switch off: see -U__CUDA_NO_HALF_OPERATORS__.
template <typename T>
__global__ void add_bias_kernel(const T* __restrict__ c, const T* __restrict__ bias, T* __restrict__ out, int rows, int cols) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * cols; i += gridDim.x * blockDim.x) {
    out[i] = c[i] + bias[i % cols];
  }
}

inline int ceil_div(int a, int b) { return (a + b - 1) / b; }

// True if at least one block of the large kernel fits on a multiprocessor; asks for its shared memory first.
template <typename T, bool TA, bool TB>
bool large_fits(int threads, size_t shared) {
  int device;
  CUDA_CHECK(cudaGetDevice(&device));
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  if (shared > properties.sharedMemPerBlockOptin) return false;
  CUDA_CHECK(cudaFuncSetAttribute(
      large_matmul_kernel<T, 64, 4, TA, TB>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
  cudaFuncAttributes attributes;
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, large_matmul_kernel<T, 64, 4, TA, TB>));
  if (threads > attributes.maxThreadsPerBlock) return false;
  int blocks = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, large_matmul_kernel<T, 64, 4, TA, TB>, threads, shared));
  return blocks > 0;
}

template <typename T, bool TA, bool TB>
void launch(const T* a, const T* b, T* c, int m, int n, int k, cudaStream_t stream) {
  const View<T, TA> view_a{a, m, k};
  const View<T, TB> view_b{b, k, n};
  constexpr int kThreads = 16 * 16;
  constexpr size_t kShared = large_shared_bytes<T, 64>();
  if (m >= 64 && n >= 64 && large_fits<T, TA, TB>(kThreads, kShared)) {
    const dim3 grid(ceil_div(n, 64), ceil_div(m, 64));
    large_matmul_kernel<T, 64, 4, TA, TB><<<grid, kThreads, kShared, stream>>>(view_a, view_b, c);
  } else {
    const dim3 block(16, 16), grid(ceil_div(n, 16), ceil_div(m, 16));
    small_matmul_kernel<T, 16, TA, TB><<<grid, block, 0, stream>>>(view_a, view_b, c);
  }
  CUDA_CHECK(cudaGetLastError());
}

template <typename T>
void launch(const T* a, const T* b, T* c, int m, int n, int k, bool trans_a, bool trans_b, cudaStream_t stream) {
  if (trans_a && trans_b) launch<T, true, true>(a, b, c, m, n, k, stream);
  else if (trans_a) launch<T, true, false>(a, b, c, m, n, k, stream);
  else if (trans_b) launch<T, false, true>(a, b, c, m, n, k, stream);
  else launch<T, false, false>(a, b, c, m, n, k, stream);
}

template <typename T>
const T* data(const at::Tensor& tensor) { return reinterpret_cast<const T*>(tensor.data_ptr()); }

}  // namespace

at::Tensor matmul_cuda(const at::Tensor& a, const at::Tensor& b, bool trans_a, bool trans_b) {
  const at::cuda::CUDAGuard guard(a.device());
  const int m = a.size(trans_a ? 1 : 0), k = a.size(trans_a ? 0 : 1), n = b.size(trans_b ? 0 : 1);
  auto c = at::empty({m, n}, a.options());
  if (c.numel() == 0) return c;
  if (k == 0) return c.zero_();
  cudaStream_t stream = at::cuda::getCurrentCUDAStream().stream();
  if (a.scalar_type() == at::kHalf) {
    launch<__half>(data<__half>(a), data<__half>(b), reinterpret_cast<__half*>(c.data_ptr()), m, n, k, trans_a, trans_b, stream);
  } else {
    TORCH_CHECK(a.scalar_type() == at::kFloat, "matmul_cuda takes float32 and float16");
    launch<float>(data<float>(a), data<float>(b), c.data_ptr<float>(), m, n, k, trans_a, trans_b, stream);
  }
  return c;
}

at::Tensor add_bias_cuda(const at::Tensor& c, const at::Tensor& bias) {
  const at::cuda::CUDAGuard guard(c.device());
  auto out = at::empty_like(c);
  if (out.numel() == 0) return out;
  const int rows = c.size(0), cols = c.size(1);
  cudaStream_t stream = at::cuda::getCurrentCUDAStream().stream();
  int blocks = 0, threads = 0;
  if (c.scalar_type() == at::kHalf) {
    CUDA_CHECK(cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, add_bias_kernel<__half>, 0, 0));
    add_bias_kernel<__half><<<blocks, threads, 0, stream>>>(
        data<__half>(c), data<__half>(bias), reinterpret_cast<__half*>(out.data_ptr()), rows, cols);
  } else {
    TORCH_CHECK(c.scalar_type() == at::kFloat, "add_bias_cuda takes float32 and float16");
    auto kernel = add_bias_kernel<float>;
    CUDA_CHECK(cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, kernel));
    kernel<<<blocks, threads, 0, stream>>>(data<float>(c), data<float>(bias), out.data_ptr<float>(), rows, cols);
  }
  CUDA_CHECK(cudaGetLastError());
  return out;
}
