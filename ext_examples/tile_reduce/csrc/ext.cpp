// SPDX-License-Identifier: Apache-2.0
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <tuple>
#include <vector>

#include "tile_reduce.h"

#define DISPATCH(x, name, ...) \
  AT_DISPATCH_SWITCH(          \
      x.scalar_type(), name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(at::kInt, __VA_ARGS__))

static const int* ints(const torch::Tensor& x) {
  TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.scalar_type() == torch::kInt, "contiguous int32 on the GPU");
  return x.data_ptr<int>();
}

std::vector<torch::Tensor> row_stats(const torch::Tensor& x, int tile, int block) {
  TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.dim() == 2, "a contiguous matrix on the GPU");
  const c10::cuda::CUDAGuard guard(x.device());
  std::vector<torch::Tensor> out;
  for (int i = 0; i < 4; ++i) out.push_back(torch::empty({x.size(0)}, x.options()));
  if (x.numel() > 0) {
    DISPATCH(x, "row_stats", [&] {
      RowStats<scalar_t> stats{
          out[0].data_ptr<scalar_t>(), out[1].data_ptr<scalar_t>(), out[2].data_ptr<scalar_t>(), out[3].data_ptr<scalar_t>()};
      rowStats(x.data_ptr<scalar_t>(), x.size(0), x.size(1), stats, tile, block, c10::cuda::getCurrentCUDAStream());
    });
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return out;
}

std::vector<torch::Tensor> row_scans(const torch::Tensor& x, int block) {
  TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.dim() == 2, "a contiguous matrix on the GPU");
  const c10::cuda::CUDAGuard guard(x.device());
  auto inclusive = torch::empty_like(x), exclusive = torch::empty_like(x), greatest = torch::empty_like(x);
  if (x.numel() > 0) {
    DISPATCH(x, "row_scans", [&] {
      rowScans(
          x.data_ptr<scalar_t>(), x.size(0), x.size(1), inclusive.data_ptr<scalar_t>(), exclusive.data_ptr<scalar_t>(),
          greatest.data_ptr<scalar_t>(), block, c10::cuda::getCurrentCUDAStream());
    });
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return {inclusive, exclusive, greatest};
}

torch::Tensor block_bits(const torch::Tensor& x, int block) {
  TORCH_CHECK(block % 8 == 0, "whole groups of eight");
  const c10::cuda::CUDAGuard guard(x.device());
  auto out = torch::empty({3, (x.numel() + block - 1) / block}, x.options());
  if (x.numel() > 0) {
    blockBits(ints(x), x.numel(), out.data_ptr<int>(), block, c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return out;
}

std::vector<torch::Tensor> sum_by_key(const torch::Tensor& keys, const torch::Tensor& values, int bins, int block) {
  const c10::cuda::CUDAGuard guard(keys.device());
  auto sums = torch::zeros({bins}, values.options()), counts = torch::zeros({bins}, keys.options());
  auto first = torch::full({bins}, INT32_MAX, keys.options());
  if (keys.numel() > 0) {
    DISPATCH(values, "sum_by_key", [&] {
      sumByKey(
          ints(keys), values.data_ptr<scalar_t>(), keys.numel(), sums.data_ptr<scalar_t>(), counts.data_ptr<int>(),
          first.data_ptr<int>(), block, c10::cuda::getCurrentCUDAStream());
    });
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return {sums, counts, first};
}

std::tuple<torch::Tensor, torch::Tensor> split_(const torch::Tensor& x, int block) {
  const c10::cuda::CUDAGuard guard(x.device());
  auto positive = torch::empty_like(x), negative = torch::empty_like(x), sizes = torch::zeros({2}, x.options());
  if (x.numel() > 0) {
    split(
        ints(x), x.numel(), positive.data_ptr<int>(), negative.data_ptr<int>(), sizes.data_ptr<int>(), block,
        c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return {positive.slice(0, 0, sizes[0].item<int>()), negative.slice(0, 0, sizes[1].item<int>())};
}

torch::Tensor votes_(const torch::Tensor& x, int block) {
  TORCH_CHECK(x.numel() % 16 == 0 && block % 16 == 0, "whole groups of 16");
  const c10::cuda::CUDAGuard guard(x.device());
  auto out = torch::empty({5, x.numel()}, x.options());
  if (x.numel() > 0) {
    votes(ints(x), x.numel(), out.data_ptr<int>(), block, c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("row_stats", &row_stats);
  m.def("row_scans", &row_scans);
  m.def("block_bits", &block_bits);
  m.def("sum_by_key", &sum_by_key);
  m.def("split", &split_);
  m.def("votes", &votes_);
}
