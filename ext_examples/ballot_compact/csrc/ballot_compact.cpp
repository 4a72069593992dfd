// SPDX-License-Identifier: Apache-2.0
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <tuple>
#include <vector>

#include "compact_kernels.h"

#define CHECK_INPUT(x) TORCH_CHECK((x).is_cuda() && (x).is_contiguous(), #x " must be a contiguous CUDA tensor")

#define DISPATCH(x, ...)                                             \
  AT_DISPATCH_SWITCH(                                                \
      (x).scalar_type(), "ballot_compact",                           \
      AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(at::kInt, __VA_ARGS__))

std::tuple<at::Tensor, at::Tensor, int64_t> split(const at::Tensor& x, double pivot) {
  CHECK_INPUT(x);
  const c10::cuda::CUDAGuard guard(x.device());
  const auto stream = c10::cuda::getCurrentCUDAStream();
  const int n = static_cast<int>(x.numel());
  auto out = at::empty_like(x), source = at::empty({n}, x.options().dtype(at::kInt));
  if (n == 0) return {out, source, 0};
  auto counts = at::empty({(n + kSplitThreads - 1) / kSplitThreads}, source.options());
  int above = 0;
  DISPATCH(x, [&] {
    const auto limit = static_cast<scalar_t>(pivot);
    launch_count_above(x.data_ptr<scalar_t>(), n, limit, counts.data_ptr<int>(), stream);
    const auto ends = counts.cumsum(0, at::kInt);
    above = ends[-1].item<int>();
    launch_split(
        x.data_ptr<scalar_t>(), n, limit, ends.data_ptr<int>(), above, out.data_ptr<scalar_t>(), source.data_ptr<int>(),
        stream);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return {out, source, above};
}

std::tuple<at::Tensor, at::Tensor> select_outside(const at::Tensor& x, double low, double high, int64_t block) {
  CHECK_INPUT(x);
  const c10::cuda::CUDAGuard guard(x.device());
  const int n = static_cast<int>(x.numel());
  const auto ints = x.options().dtype(at::kInt);
  auto below = at::empty({n}, ints), above = at::empty({n}, ints), sizes = at::zeros({2}, ints);
  if (n > 0) {
    DISPATCH(x, [&] {
      launch_select(
          x.data_ptr<scalar_t>(), n, static_cast<scalar_t>(low), static_cast<scalar_t>(high), below.data_ptr<int>(),
          above.data_ptr<int>(), sizes.data_ptr<int>(), static_cast<int>(block), c10::cuda::getCurrentCUDAStream());
    });
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return {below.slice(0, 0, sizes[0].item<int>()), above.slice(0, 0, sizes[1].item<int>())};
}

std::vector<at::Tensor> bucket(const at::Tensor& keys, int64_t buckets, int64_t block) {
  CHECK_INPUT(keys);
  TORCH_CHECK(keys.scalar_type() == at::kInt, "keys must be int32");
  const c10::cuda::CUDAGuard guard(keys.device());
  const int n = static_cast<int>(keys.numel());
  auto lists = at::empty({buckets, n}, keys.options()), sizes = at::zeros({buckets}, keys.options());
  if (n > 0) {
    launch_bucket(
        keys.data_ptr<int>(), n, static_cast<int>(buckets), lists.data_ptr<int>(), sizes.data_ptr<int>(),
        static_cast<int>(block), c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  std::vector<at::Tensor> result;
  const auto sizes_cpu = sizes.cpu();
  for (int64_t i = 0; i < buckets; ++i) result.push_back(lists[i].slice(0, 0, sizes_cpu[i].item<int>()));
  return result;
}

std::tuple<at::Tensor, at::Tensor> extent(const at::Tensor& x, int64_t block) {
  CHECK_INPUT(x);
  TORCH_CHECK(x.scalar_type() == at::kInt, "x must be int32");
  const c10::cuda::CUDAGuard guard(x.device());
  const int n = static_cast<int>(x.numel());
  auto first = at::empty({(n + 31) / 32}, x.options()), last = at::empty_like(first);
  if (n > 0) {
    launch_extent(
        x.data_ptr<int>(), n, first.data_ptr<int>(), last.data_ptr<int>(), static_cast<int>(block),
        c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return {first, last};
}

std::tuple<at::Tensor, at::Tensor> unpack(const at::Tensor& words, const at::Tensor& starts, int64_t set, int64_t block) {
  CHECK_INPUT(words);
  CHECK_INPUT(starts);
  TORCH_CHECK(words.scalar_type() == at::kInt && starts.scalar_type() == at::kInt, "words and starts must be int32");
  const c10::cuda::CUDAGuard guard(words.device());
  const int n = static_cast<int>(words.numel());
  auto bytes = at::empty({int64_t(n) * 32}, words.options().dtype(at::kByte)), places = at::empty({set}, words.options());
  if (n > 0) {
    launch_unpack(
        words.data_ptr<int>(), n, starts.data_ptr<int>(), bytes.data_ptr<uint8_t>(), places.data_ptr<int>(),
        static_cast<int>(block), c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return {bytes, places};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("split", &split);
  m.def("select", &select_outside);
  m.def("bucket", &bucket);
  m.def("extent", &extent);
  m.def("unpack", &unpack);
}
