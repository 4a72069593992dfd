// SPDX-License-Identifier: Apache-2.0
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "src/scan.h"

// Tensors of int64 have `long long` on the device.
template <typename T>
struct OnDevice {
  using type = T;
};
template <>
struct OnDevice<int64_t> {
  using type = long long;
};

#define DISPATCH(TENSOR, ...)                                                             \
  AT_DISPATCH_SWITCH(                                                                     \
      TENSOR.scalar_type(), "warp_scan",                                                  \
      AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(at::kInt, __VA_ARGS__) \
          AT_DISPATCH_CASE(at::kLong, __VA_ARGS__))

std::tuple<torch::Tensor, torch::Tensor> scan_rows(const torch::Tensor& x, int block) {
  TORCH_CHECK(x.is_cuda() && x.dim() == 2, "x must be a matrix on the GPU");
  const c10::cuda::CUDAGuard guard(x.device());
  const auto in = x.contiguous();
  auto inclusive = torch::empty_like(in), exclusive = torch::empty_like(in);
  if (x.numel() > 0) {
    DISPATCH(x, [&] {
      using T = OnDevice<scalar_t>::type;
      C10_CUDA_CHECK(scanRows<T>(
          reinterpret_cast<const T*>(in.data_ptr<scalar_t>()), in.size(0), in.size(1),
          reinterpret_cast<T*>(inclusive.data_ptr<scalar_t>()), reinterpret_cast<T*>(exclusive.data_ptr<scalar_t>()),
          block, c10::cuda::getCurrentCUDAStream()));
    });
  }
  return {inclusive, exclusive};
}

torch::Tensor scan_segments(const torch::Tensor& x, const torch::Tensor& flags, int block) {
  TORCH_CHECK(x.is_cuda() && flags.is_cuda() && x.sizes() == flags.sizes(), "one flag for each element, on the GPU");
  const c10::cuda::CUDAGuard guard(x.device());
  const auto in = x.contiguous(), starts = flags.contiguous();
  auto out = torch::empty_like(in);
  if (x.numel() > 0) {
    DISPATCH(x, [&] {
      using T = OnDevice<scalar_t>::type;
      C10_CUDA_CHECK(scanSegments<T>(
          reinterpret_cast<const T*>(in.data_ptr<scalar_t>()), starts.data_ptr<int>(), in.numel(),
          reinterpret_cast<T*>(out.data_ptr<scalar_t>()), block, c10::cuda::getCurrentCUDAStream()));
    });
  }
  return out;
}

torch::Tensor sum_blocks(const torch::Tensor& x, int block, bool lockstep) {
  TORCH_CHECK(x.is_cuda() && x.dim() == 1, "x must be a vector on the GPU");
  const c10::cuda::CUDAGuard guard(x.device());
  const auto in = x.contiguous();
  auto sums = torch::empty({(in.numel() + block - 1) / block}, in.options());
  if (x.numel() > 0) {
    DISPATCH(x, [&] {
      using T = OnDevice<scalar_t>::type;
      C10_CUDA_CHECK(sumBlocks<T>(
          reinterpret_cast<const T*>(in.data_ptr<scalar_t>()), in.numel(), reinterpret_cast<T*>(sums.data_ptr<scalar_t>()),
          block, lockstep, c10::cuda::getCurrentCUDAStream()));
    });
  }
  return sums;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("scan_rows", &scan_rows);
  m.def("scan_segments", &scan_segments);
  m.def("sum_blocks", &sum_blocks);
}
