// SPDX-License-Identifier: Apache-2.0
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <vector>

#include "bin_raster.hpp"

#define CHECK_CUDA_ERROR(CALL)                                                              \
  do {                                                                                      \
    const cudaError_t err = CALL;                                                           \
    TORCH_CHECK(err == cudaSuccess, "Cuda error: ", cudaGetErrorName(err), "[", #CALL, ";]"); \
  } while (0)

// Lists of triangles for each bin: counts and first (chunks × bins), segments, next.
std::vector<torch::Tensor> bin_triangles(torch::Tensor triangles, int64_t bins_x, int64_t bins_y, int64_t max_segments) {
  const at::cuda::OptionalCUDAGuard device_guard(device_of(triangles));
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  TORCH_CHECK(triangles.is_cuda() && triangles.is_contiguous() && triangles.scalar_type() == torch::kInt32, "int32 on the GPU");
  TORCH_CHECK(triangles.dim() == 2 && triangles.size(1) == 6, "six coordinates for each triangle");
  TORCH_CHECK(bins_x > 0 && bins_y > 0 && bins_x * bins_y <= MAX_BINS, "at most ", int(MAX_BINS), " bins");

  BinParams p = {};
  p.triangles = triangles.data_ptr<int>();
  p.numTriangles = static_cast<S32>(triangles.size(0));
  p.binsX = static_cast<S32>(bins_x);
  p.binsY = static_cast<S32>(bins_y);
  p.numChunks = (p.numTriangles + CHUNK - 1) / CHUNK;
  const auto opts = triangles.options();
  auto counts = torch::zeros({p.numChunks, bins_x * bins_y}, opts), first = torch::full_like(counts, -1);
  if (p.numTriangles == 0) return {counts, first, torch::empty({0, SEGMENT}, opts), torch::empty({0}, opts)};
  const int blocks = std::min(p.numChunks, at::cuda::getCurrentDeviceProperties()->multiProcessorCount);

  // Twice as much room until it is enough.
  for (;; max_segments *= 2) {
    auto segments = torch::full({max_segments, SEGMENT}, -1, opts), next = torch::empty({max_segments}, opts);
    auto counters = torch::zeros({2}, opts);
    p.counts = counts.data_ptr<int>();
    p.first = first.data_ptr<int>();
    p.segments = segments.data_ptr<int>();
    p.next = next.data_ptr<int>();
    p.nextChunk = counters.data_ptr<int>();
    p.numSegments = counters.data_ptr<int>() + 1;
    p.maxSegments = static_cast<S32>(max_segments);
    CHECK_CUDA_ERROR(launchBinRaster(p, blocks, stream));
    const int used = counters[1].item<int>();
    if (used <= max_segments) return {counts, first, segments.narrow(0, 0, used), next.narrow(0, 0, used)};
  }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("bin_triangles", &bin_triangles); }
