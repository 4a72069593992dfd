// SPDX-License-Identifier: Apache-2.0
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "kernels.h"

namespace {

const u32* words(const torch::Tensor& x) {
  TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.scalar_type() == torch::kInt, "contiguous int32 on the GPU");
  return reinterpret_cast<const u32*>(x.data_ptr<int>());
}
u32* words_out(torch::Tensor& x) { return reinterpret_cast<u32*>(x.data_ptr<int>()); }

using Launch = void (*)(const u32*, const u32*, const u32*, int, u32*, cudaStream_t);

template <Launch launch, int kRows>
torch::Tensor rows(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& c) {
  const c10::cuda::CUDAGuard guard(a.device());
  auto out = torch::empty({kRows, a.numel()}, a.options());
  if (a.numel() > 0) {
    launch(words(a), words(b), words(c), a.numel(), words_out(out), c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return out;
}

torch::Tensor lanes(const torch::Tensor& a, int block) {
  TORCH_CHECK(a.numel() % 32 == 0 && block % 32 == 0, "whole warps");
  const c10::cuda::CUDAGuard guard(a.device());
  auto out = torch::empty({kLaneRows, a.numel()}, a.options());
  if (a.numel() > 0) {
    launch_lanes(words(a), a.numel(), words_out(out), block, c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return out;
}

std::tuple<torch::Tensor, torch::Tensor> tables(const torch::Tensor& keys, const torch::Tensor& values, int bins, int block) {
  const c10::cuda::CUDAGuard guard(keys.device());
  auto tables = torch::zeros({4, bins}, keys.options()), sums = torch::zeros({bins}, keys.options().dtype(torch::kLong));
  if (keys.numel() > 0) {
    launch_tables(
        words(keys), words(values), keys.numel(), bins, words_out(tables), reinterpret_cast<u64*>(sums.data_ptr<int64_t>()),
        block, c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return {tables, sums};
}

torch::Tensor chained_sums(const torch::Tensor& values) {
  const c10::cuda::CUDAGuard guard(values.device());
  auto sums = torch::empty_like(values), links = torch::zeros({values.numel() / 128 + 2}, values.options().dtype(torch::kLong));
  if (values.numel() > 0) {
    launch_chained_sums(
        words(values), values.numel(), words_out(sums), reinterpret_cast<u64*>(links.data_ptr<int64_t>()),
        c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return sums;
}

torch::Tensor reverse4(const torch::Tensor& x) {
  TORCH_CHECK(x.numel() % 4 == 0, "groups of four");
  const c10::cuda::CUDAGuard guard(x.device());
  auto out = torch::empty_like(x);
  if (x.numel() > 0) {
    launch_reverse4(words(x), x.numel(), words_out(out), c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return out;
}

torch::Tensor round_(const torch::Tensor& x, const torch::Tensor& y) {
  TORCH_CHECK(x.is_cuda() && y.is_cuda() && x.sizes() == y.sizes(), "as many doubles as floats");
  const c10::cuda::CUDAGuard guard(x.device());
  auto out = torch::empty({8, x.numel()}, x.options().dtype(torch::kInt));
  if (x.numel() > 0) {
    launch_round(x.data_ptr<float>(), y.data_ptr<double>(), x.numel(), words_out(out), c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return out;
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("bits", &rows<launch_bits, kBitRows>);
  m.def("video", &rows<launch_video, kVideoRows>);
  m.def("wide", &rows<launch_wide, kWideRows>);
  m.def("lanes", &lanes);
  m.def("tables", &tables);
  m.def("chained_sums", &chained_sums);
  m.def("reverse4", &reverse4);
  m.def("round", &round_);
}
