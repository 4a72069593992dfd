// SPDX-License-Identifier: Apache-2.0
//
// One thread per element in a grid-stride loop. The first version called cudaMemcpyAsync for the bias and then
// launched act<<<grid, block>>>() per row; one fused launch is several times faster on small rows.

#include <ATen/AccumulateType.h>
#include <ATen/Dispatch.h>
#include <c10/cuda/CUDAGuard.h>

#include "common.cuh"
#include "fused_act.h"

namespace {

// Host constexpr functions that device code calls: this is what --expt-relaxed-constexpr is for.
constexpr float gelu_scale() { return 0.7978845608028654f; }  // sqrt(2 / pi)
constexpr float gelu_cubic() { return 0.044715f; }

__device__ __forceinline__ float sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }
__device__ __forceinline__ double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

template <typename T, int ACT>
struct Act {
  T slope;

  __device__ __forceinline__ T value(T x) const {
    if (ACT == ACT_LRELU) return x > T(0) ? x : x * slope;
    if (ACT == ACT_SILU) return x * sigmoid(x);
    // tanh(u) is 2 * sigmoid(2 * u) - 1, so 0.5 * x * (1 + tanh(u)) is:
    return x * sigmoid(T(2) * T(gelu_scale()) * (x + T(gelu_cubic()) * x * x * x));
  }

  __device__ __forceinline__ T slope_at(T x) const {
    if (ACT == ACT_LRELU) return x > T(0) ? T(1) : slope;
    if (ACT == ACT_SILU) {
      const T s = sigmoid(x);
      return s * (T(1) + x * (T(1) - s));
    }
    const T s = sigmoid(T(2) * T(gelu_scale()) * (x + T(gelu_cubic()) * x * x * x));
    const T du = T(2) * T(gelu_scale()) * (T(1) + T(3) * T(gelu_cubic()) * x * x);
    return s + x * s * (T(1) - s) * du;
  }
};

template <typename scalar_t, int ACT>
__global__ void act_forward_kernel(
    const scalar_t* __restrict__ x, const scalar_t* __restrict__ bias, scalar_t* __restrict__ y,
    int64_t n, int channels, Act<at::acc_type<scalar_t, true>, ACT> act, at::acc_type<scalar_t, true> gain) {
  using acc_t = at::acc_type<scalar_t, true>;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const acc_t b = bias != nullptr ? static_cast<acc_t>(bias[i % channels]) : acc_t(0);
    y[i] = static_cast<scalar_t>(gain * act.value(static_cast<acc_t>(x[i]) + b));
  }
}

template <typename scalar_t, int ACT>
__global__ void act_backward_kernel(
    const scalar_t* __restrict__ grad_y, const scalar_t* __restrict__ x, const scalar_t* __restrict__ bias,
    scalar_t* __restrict__ grad_x, int64_t n, int channels, Act<at::acc_type<scalar_t, true>, ACT> act,
    at::acc_type<scalar_t, true> gain) {
  using acc_t = at::acc_type<scalar_t, true>;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const acc_t b = bias != nullptr ? static_cast<acc_t>(bias[i % channels]) : acc_t(0);
    grad_x[i] = static_cast<scalar_t>(static_cast<acc_t>(grad_y[i]) * gain * act.slope_at(static_cast<acc_t>(x[i]) + b));
  }
}

// One block per channel; rows are summed in shared memory, in an order that does not depend on timing.
template <typename scalar_t>
__global__ void __launch_bounds__(kThreads) bias_grad_kernel(
    const scalar_t* __restrict__ grad_x, scalar_t* __restrict__ grad_bias, int64_t rows, int channels) {
  using acc_t = at::acc_type<scalar_t, true>;
  __shared__ acc_t partial[kThreads];
  acc_t sum = acc_t(0);
  for (int64_t row = threadIdx.x; row < rows; row += kThreads) {
    sum += static_cast<acc_t>(grad_x[row * channels + blockIdx.x]);
  }
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int width = kThreads / 2; width > 0; width >>= 1) {
    if (threadIdx.x < width) partial[threadIdx.x] += partial[threadIdx.x + width];
    __syncthreads();
  }
  if (threadIdx.x == 0) grad_bias[blockIdx.x] = static_cast<scalar_t>(partial[0]);
}

const char* const kHint = "if this fails with cudaErrorIllegalAddress, run with CUDA_LAUNCH_BLOCKING=1 and compute-sanitizer";

void check_size(const torch::Tensor& x) {
  const int64_t limit = int64_t(1) << 40;
  TORCH_CHECK(!(x.numel() << 1 > limit), "x is too large for the <<<grid, block>>> that is used here; ", kHint);
}

}  // namespace

#define DISPATCH_ACT(act, ...)                                           \
  switch (act) {                                                         \
    case ACT_LRELU: { constexpr int kAct = ACT_LRELU; __VA_ARGS__; break; } \
    case ACT_GELU: { constexpr int kAct = ACT_GELU; __VA_ARGS__; break; }   \
    default: { constexpr int kAct = ACT_SILU; __VA_ARGS__; break; }         \
  }

torch::Tensor fused_act_forward_cuda(
    const torch::Tensor& x, const torch::Tensor& bias, int act, double slope, double gain) {
  const c10::cuda::CUDAGuard guard(x.device());
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  check_size(x);
  auto y = torch::empty_like(x);
  const int64_t n = x.numel();
  if (n == 0) return y;
  const int channels = static_cast<int>(x.size(-1));

  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "fused_act_forward_cuda", [&] {
    using acc_t = at::acc_type<scalar_t, true>;
    const scalar_t* b = bias.numel() ? bias.data_ptr<scalar_t>() : nullptr;
    DISPATCH_ACT(act, LAUNCH((act_forward_kernel<scalar_t, kAct>), n, stream, x.data_ptr<scalar_t>(), b,
                             y.data_ptr<scalar_t>(), n, channels, Act<acc_t, kAct>{static_cast<acc_t>(slope)},
                             static_cast<acc_t>(gain)))
  });
  DEBUG_SYNC(stream);
  return y;
}

std::tuple<torch::Tensor, torch::Tensor> fused_act_backward_cuda(
    const torch::Tensor& grad_y, const torch::Tensor& x, const torch::Tensor& bias, int act, double slope, double gain) {
  const c10::cuda::CUDAGuard guard(x.device());
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  check_size(x);
  auto grad_x = torch::empty_like(x);
  auto grad_bias = torch::zeros_like(bias);
  const int64_t n = x.numel();
  if (n == 0) return std::make_tuple(grad_x, grad_bias);
  const int channels = static_cast<int>(x.size(-1));
  dim3 block(kThreads, 1, 1), grid(cudaGridFor(n, kThreads), 1, 1);

  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "fused_act_backward_cuda", [&] {
    using acc_t = at::acc_type<scalar_t, true>;
    const scalar_t* b = bias.numel() ? bias.data_ptr<scalar_t>() : nullptr;
    DISPATCH_ACT(act, {
      act_backward_kernel<scalar_t, kAct> << <grid, block, 0, stream >> > (
          grad_y.data_ptr<scalar_t>(), x.data_ptr<scalar_t>(), b, grad_x.data_ptr<scalar_t>(), n, channels,
          Act<acc_t, kAct>{static_cast<acc_t>(slope)}, static_cast<acc_t>(gain));
    })
    if (bias.numel()) {
      bias_grad_kernel<scalar_t> << < channels, kThreads, 0, stream >> >(
          grad_x.data_ptr<scalar_t>(), grad_bias.data_ptr<scalar_t>(), n / channels, channels);
    }
  });
  CUDA_CHECK(cudaPeekAtLastError());
  DEBUG_SYNC(stream);
  return std::make_tuple(grad_x, grad_bias);
}
