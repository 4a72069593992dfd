// SPDX-License-Identifier: Apache-2.0
// ATen/cuda/ApplyGridUtils.cuh: the grid of an elementwise kernel. Numbers as in PyTorch 2.13.
#ifndef SIMT_ATEN_CUDA_APPLY_GRID_UTILS_CUH
#define SIMT_ATEN_CUDA_APPLY_GRID_UTILS_CUH
#include "simt/torch.h"

namespace at::cuda {

constexpr uint32_t AT_APPLY_THREADS_PER_BLOCK = 512;
constexpr uint32_t AT_APPLY_BLOCKS_PER_SM = 4;

template <typename T>
constexpr T ATenCeilDiv(T a, T b) {
  return (a + b - 1) / b;
}

template <int step = 1>
bool getApplyGrid(uint64_t elements, dim3& grid, c10::DeviceIndex device, int threads = AT_APPLY_THREADS_PER_BLOCK) {
  if (device == -1) return false;
  const uint64_t each = static_cast<uint64_t>(threads) * step;
  grid = dim3(static_cast<unsigned>(std::min<uint64_t>((elements + each - 1) / each, 65535)));
  return true;
}
constexpr int getApplyBlocksPerSM() { return AT_APPLY_BLOCKS_PER_SM; }
constexpr int getApplyBlockSize() { return AT_APPLY_THREADS_PER_BLOCK; }
inline dim3 getApplyBlock(int threads = AT_APPLY_THREADS_PER_BLOCK) { return dim3(static_cast<unsigned>(threads)); }

}  // namespace at::cuda

#endif
