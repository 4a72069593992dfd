// SPDX-License-Identifier: Apache-2.0
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <tuple>

#include "matched.h"

namespace {

const int* keys_of(const at::Tensor& keys) {
  TORCH_CHECK(keys.is_cuda() && keys.is_contiguous() && keys.scalar_type() == at::kInt, "keys: contiguous int32 on the GPU");
  return keys.const_data_ptr<int>();
}

std::tuple<at::Tensor, at::Tensor> count(const at::Tensor& keys, int bins, int block) {
  const int* in = keys_of(keys);
  const c10::cuda::CUDAGuard guard(keys.device());
  auto counts = at::zeros({bins}, keys.options()), ranks = at::empty_like(keys);
  if (keys.numel() > 0) {
    matched::count(
        in, keys.numel(), bins, counts.data_ptr<int>(), ranks.data_ptr<int>(), block, c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return {counts, ranks};
}

std::tuple<at::Tensor, at::Tensor> accumulate(
    const at::Tensor& keys, const at::Tensor& values, const at::Tensor& ints, int bins, int block) {
  const int *in = keys_of(keys), *numbers = keys_of(ints);
  TORCH_CHECK(values.is_contiguous() && values.sizes() == keys.sizes() && ints.sizes() == keys.sizes(), "one for each key");
  const c10::cuda::CUDAGuard guard(keys.device());
  auto sums = at::zeros({bins}, values.options()), maxima = at::full({bins}, INT32_MIN, keys.options());
  if (keys.numel() > 0) {
    AT_DISPATCH_FLOATING_TYPES(values.scalar_type(), "accumulate", [&] {
      matched::accumulate(
          in, values.const_data_ptr<scalar_t>(), numbers, keys.numel(), bins, sums.data_ptr<scalar_t>(),
          maxima.data_ptr<int>(), block, c10::cuda::getCurrentCUDAStream());
    });
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return {sums, maxima};
}

at::Tensor places(const at::Tensor& keys, int block) {
  TORCH_CHECK(keys.is_cuda() && keys.is_contiguous() && keys.scalar_type() == at::kLong, "keys: contiguous int64 on the GPU");
  const c10::cuda::CUDAGuard guard(keys.device());
  auto out = at::empty_like(keys, keys.options().dtype(at::kInt)), next = at::zeros({1024}, out.options());
  if (keys.numel() > 0) {
    matched::places(
        reinterpret_cast<const long long*>(keys.const_data_ptr<int64_t>()), keys.numel(), next.data_ptr<int>(),
        out.data_ptr<int>(), block, c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return out;
}

template <typename T, typename Element>
void alike_as(const at::Tensor& x, at::Tensor& sizes, at::Tensor& all, int block) {
  matched::alike(
      reinterpret_cast<const T*>(x.const_data_ptr<Element>()), x.numel(), sizes.data_ptr<int>(), all.data_ptr<int>(), block,
      c10::cuda::getCurrentCUDAStream());
}

std::tuple<at::Tensor, at::Tensor> alike(const at::Tensor& x, int block) {
  TORCH_CHECK(x.is_cuda() && x.is_contiguous(), "x: contiguous on the GPU");
  const c10::cuda::CUDAGuard guard(x.device());
  const auto ints = x.options().dtype(at::kInt);
  auto sizes = at::empty({x.numel()}, ints), all = at::empty({(x.numel() + 31) / 32}, ints);
  if (x.numel() > 0) {
    switch (x.scalar_type()) {
      case at::kFloat: alike_as<float, float>(x, sizes, all, block); break;
      case at::kDouble: alike_as<double, double>(x, sizes, all, block); break;
      case at::kInt: alike_as<int, int>(x, sizes, all, block); break;
      case at::kLong: alike_as<unsigned long long, int64_t>(x, sizes, all, block); break;
      default: TORCH_CHECK(false, "x must be float, double, int32 or int64");
    }
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return {sizes, all};
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("count", &count);
  m.def("accumulate", &accumulate);
  m.def("places", &places);
  m.def("alike", &alike);
}
