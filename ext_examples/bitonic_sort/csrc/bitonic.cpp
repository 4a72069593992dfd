// SPDX-License-Identifier: Apache-2.0
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "bitonic.h"

#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) \
  CHECK_CUDA(x);       \
  CHECK_CONTIGUOUS(x)

#define DISPATCH(x, name, ...)                                               \
  AT_DISPATCH_SWITCH(                                                        \
      x.scalar_type(), name,                                                 \
      AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(__VA_ARGS__) AT_DISPATCH_CASE(at::kInt, __VA_ARGS__) \
          AT_DISPATCH_CASE(at::kLong, __VA_ARGS__))

torch::Tensor order_of_rows(torch::Tensor x, bool descending) {
  CHECK_INPUT(x);
  TORCH_CHECK(x.dim() == 2 && x.size(1) <= 1024, "x must be a matrix of up to 1024 columns");
  const c10::cuda::CUDAGuard guard(x.device());
  auto order = torch::empty_like(x, x.options().dtype(torch::kInt));
  if (x.numel() == 0) return order;
  DISPATCH(x, "order_of_rows", [&] {
    sort_rows<scalar_t>(
        x.data_ptr<scalar_t>(), x.size(0), x.size(1), descending, order.data_ptr<int>(), c10::cuda::getCurrentCUDAStream());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return order;
}

torch::Tensor top_of_rows_(torch::Tensor x, int64_t k) {
  CHECK_INPUT(x);
  TORCH_CHECK(x.dim() == 2 && k >= 1 && k <= 32, "a matrix, and k of 1 to 32");
  const c10::cuda::CUDAGuard guard(x.device());
  auto order = torch::empty({x.size(0), k}, x.options().dtype(torch::kInt));
  if (order.numel() == 0) return order;
  DISPATCH(x, "top_of_rows", [&] {
    top_of_rows<scalar_t>(
        x.data_ptr<scalar_t>(), x.size(0), x.size(1), k, order.data_ptr<int>(), c10::cuda::getCurrentCUDAStream());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return order;
}

torch::Tensor rank_groups_(torch::Tensor x, int64_t width) {
  CHECK_INPUT(x);
  TORCH_CHECK(width == 8 || width == 16 || width == 32, "groups have 8, 16 or 32 elements");
  const c10::cuda::CUDAGuard guard(x.device());
  auto ranks = torch::empty_like(x, x.options().dtype(torch::kInt));
  if (x.numel() == 0) return ranks;
  DISPATCH(x, "rank_groups", [&] {
    rank_groups<scalar_t>(
        x.data_ptr<scalar_t>(), x.numel(), width, ranks.data_ptr<int>(), c10::cuda::getCurrentCUDAStream());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return ranks;
}

// Sorts in place; int64 words that are not negative.
void sort_words_(torch::Tensor words) {
  CHECK_INPUT(words);
  const int64_t n = words.numel();
  TORCH_CHECK(n >= 1024 && (n & (n - 1)) == 0, "a power of two of words");
  const c10::cuda::CUDAGuard guard(words.device());
  sort_words(reinterpret_cast<uint64_t*>(words.data_ptr<int64_t>()), n, c10::cuda::getCurrentCUDAStream());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("order_of_rows", &order_of_rows);
  m.def("top_of_rows", &top_of_rows_);
  m.def("rank_groups", &rank_groups_);
  m.def("sort_words", &sort_words_);
}
