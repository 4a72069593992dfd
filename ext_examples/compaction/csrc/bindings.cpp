// SPDX-License-Identifier: Apache-2.0
#include <torch/extension.h>

#include "compaction.h"

namespace {

at::Tensor checked(const at::Tensor& x, int64_t block) {
  TORCH_CHECK(x.is_cuda(), "x must be on the GPU");
  TORCH_CHECK(x.dim() == 1, "x must have one dimension");
  TORCH_CHECK(x.numel() < (int64_t(1) << 31), "indices are 32 bits wide");
  TORCH_CHECK(block >= 1 && block <= 1024, "a block has 1 to 1024 threads");
  return x.contiguous();
}

std::pair<at::Tensor, at::Tensor> compact_atomic(const at::Tensor& x, double threshold, int64_t block) {
  return compact_atomic_cuda(checked(x, block), threshold, static_cast<int>(block));
}

std::pair<at::Tensor, at::Tensor> compact_queue(const at::Tensor& x, double threshold, int64_t block) {
  return compact_queue_cuda(checked(x, block), threshold, static_cast<int>(block));
}

std::pair<at::Tensor, at::Tensor> compact_stable(const at::Tensor& x, double threshold, int64_t block) {
  return compact_stable_cuda(checked(x, block), threshold, static_cast<int>(block));
}

at::Tensor pack_bits(const at::Tensor& x, double threshold, int64_t block) {
  return pack_bits_cuda(checked(x, block), threshold, static_cast<int>(block));
}

std::pair<at::Tensor, at::Tensor> warp_totals(const at::Tensor& x, int64_t block) {
  TORCH_CHECK(x.scalar_type() == at::kInt, "x must be int32");
  return warp_totals_cuda(checked(x, block), static_cast<int>(block));
}

at::Tensor scatter(const at::Tensor& values, const at::Tensor& indices, int64_t length) {
  TORCH_CHECK(values.is_cuda() && indices.is_cuda(), "values and indices must be on the GPU");
  TORCH_CHECK(indices.scalar_type() == at::kInt && values.sizes() == indices.sizes(), "one int32 index for each value");
  return scatter_cuda(values.contiguous(), indices.contiguous(), length);
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("compact_atomic", &compact_atomic, "any order, one atomic per warp");
  m.def("compact_queue", &compact_queue, "any order, whole rows of 32 written at once");
  m.def("compact_stable", &compact_stable, "in order");
  m.def("pack_bits", &pack_bits, "32 comparisons in a word");
  m.def("warp_totals", &warp_totals, "sums within runs of 32");
  m.def("scatter", &scatter, "the gradient of compact");
}
