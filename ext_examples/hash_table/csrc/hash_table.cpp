// SPDX-License-Identifier: Apache-2.0
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <tuple>

#include "table.h"

// Keys (int64, not negative) in any order, the sums of their values, and how many there were.
std::tuple<at::Tensor, at::Tensor, at::Tensor> sum_by_key(
    const at::Tensor& keys, const at::Tensor& values, int64_t method, int64_t log_buckets, int64_t block) {
  TORCH_CHECK(keys.is_cuda() && keys.is_contiguous() && keys.scalar_type() == at::kLong, "keys: contiguous int64 on the GPU");
  TORCH_CHECK(values.is_cuda() && values.is_contiguous() && values.sizes() == keys.sizes(), "a value for each key");
  const c10::cuda::CUDAGuard guard(keys.device());
  const auto ints = keys.options().dtype(at::kInt);

  for (;; ++log_buckets) {  // until there is room for all
    const int64_t buckets = int64_t(1) << log_buckets;
    auto table_keys = at::full({buckets * kSlots}, kEmpty, keys.options());
    auto sums = at::zeros({buckets * kSlots}, values.options());
    auto counts = at::zeros({buckets * kSlots}, ints), locks = at::zeros({buckets}, ints), full = at::zeros({1}, ints);
    if (keys.numel() > 0) {
      AT_DISPATCH_FLOATING_TYPES(values.scalar_type(), "sum_by_key", [&] {
        const Table<scalar_t> table{
            reinterpret_cast<long long*>(table_keys.data_ptr<int64_t>()), sums.data_ptr<scalar_t>(), counts.data_ptr<int>(),
            locks.data_ptr<int>(), full.data_ptr<int>(), static_cast<int>(log_buckets)};
        insert(
            table, reinterpret_cast<const long long*>(keys.data_ptr<int64_t>()), values.data_ptr<scalar_t>(),
            static_cast<int>(keys.numel()), static_cast<Method>(method), static_cast<int>(block),
            c10::cuda::getCurrentCUDAStream());
      });
      C10_CUDA_KERNEL_LAUNCH_CHECK();
    }
    if (full.item<int>() != 0) continue;
    const auto used = (table_keys != kEmpty).nonzero().flatten();
    return {table_keys.index_select(0, used), sums.index_select(0, used), counts.index_select(0, used)};
  }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("sum_by_key", &sum_by_key); }
