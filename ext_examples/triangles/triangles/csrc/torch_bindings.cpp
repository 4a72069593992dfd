// SPDX-License-Identifier: Apache-2.0
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <tuple>

#include "raster.hpp"

#define TRI_CHECK_CUDA(CALL)                                                                                      \
  do {                                                                                                            \
    cudaError_t err = CALL;                                                                                       \
    TORCH_CHECK(!err, "Cuda error: ", cudaGetLastError(), "[", #CALL, ";]: ", cudaGetErrorString(err));           \
  } while (0)

static void checkInts(const torch::Tensor& x, const char* name) {
  TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.scalar_type() == torch::kInt32, name, " must be contiguous int32 on the GPU");
}

// The triangle at each pixel's center that is nearest, and its depth.
std::tuple<torch::Tensor, torch::Tensor> rasterize_fwd(torch::Tensor vertices, torch::Tensor triangles, int64_t width, int64_t height) {
  const at::cuda::OptionalCUDAGuard device_guard(device_of(vertices));
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  TORCH_CHECK(vertices.is_cuda() && vertices.is_contiguous() && vertices.scalar_type() == torch::kFloat32, "float32 on the GPU");
  TORCH_CHECK(vertices.dim() == 2 && vertices.size(1) == 4, "vertices must be [V, 4]");
  checkInts(triangles, "triangles");
  TORCH_CHECK(triangles.dim() == 2 && triangles.size(1) == 3, "triangles must be [N, 3]");
  TORCH_CHECK(width > 0 && height > 0 && width <= MAX_SIZE && height <= MAX_SIZE, "at most ", int(MAX_SIZE), " pixels");

  RasterParams p = {};
  p.vertices = reinterpret_cast<const float4*>(vertices.data_ptr<float>());
  p.triangles = triangles.data_ptr<int>();
  p.numTriangles = static_cast<S32>(triangles.size(0));
  p.numVertices = static_cast<S32>(vertices.size(0));
  p.width = static_cast<S32>(width);
  p.height = static_cast<S32>(height);
  p.binsX = (p.width + BIN_SIZE - 1) / BIN_SIZE;
  p.binsY = (p.height + BIN_SIZE - 1) / BIN_SIZE;
  p.tilesX = (p.width + TILE_SIZE - 1) / TILE_SIZE;
  p.tilesY = (p.height + TILE_SIZE - 1) / TILE_SIZE;
  p.numChunks = (p.numTriangles + BATCH - 1) / BATCH;

  const auto ints = triangles.options();
  const int64_t numBins = p.binsX * p.binsY, numTiles = p.tilesX * p.tilesY, room = int64_t(p.numChunks) * BATCH;
  auto setups = torch::empty({room * int64_t(sizeof(Setup))}, ints.dtype(torch::kUInt8));
  auto visible = torch::empty({p.numChunks * WARPS}, ints), binCounts = torch::empty({p.numChunks * numBins}, ints);
  auto binLists = torch::empty({room * numBins}, ints), tileCounts = torch::empty({numTiles}, ints);
  auto tileStarts = torch::empty({numTiles + 1}, ints), nextTile = torch::zeros({1}, ints);
  auto ids = torch::empty({height, width}, ints), depth = torch::empty({height, width}, vertices.options());
  p.setups = reinterpret_cast<Setup*>(setups.data_ptr<uint8_t>());
  p.visible = reinterpret_cast<U32*>(visible.data_ptr<int>());
  p.binCounts = binCounts.data_ptr<int>();
  p.binLists = binLists.data_ptr<int>();
  p.tileCounts = tileCounts.data_ptr<int>();
  p.tileStarts = tileStarts.data_ptr<int>();
  p.nextTile = nextTile.data_ptr<int>();
  p.ids = ids.data_ptr<int>();
  p.depth = depth.data_ptr<float>();
  TRI_CHECK_CUDA(launchBinning(p, stream));

  // Only now is it known how long the lists are.
  auto tileLists = torch::empty({tileStarts[numTiles].item<int>()}, ints);
  p.tileLists = tileLists.data_ptr<int>();
  const int blocks = static_cast<int>(std::min<int64_t>(
      (numTiles + FINE_WARPS - 1) / FINE_WARPS, 2 * at::cuda::getCurrentDeviceProperties()->multiProcessorCount));
  TRI_CHECK_CUDA(launchTiles(p, blocks, stream));
  return {ids, depth};
}

template <typename T>
static InterpolateParams<T> paramsOf(const torch::Tensor& vertices, const torch::Tensor& attributes, const torch::Tensor& triangles,
                                     const torch::Tensor& ids) {
  InterpolateParams<T> p = {};
  p.vertices = vertices.data_ptr<T>();
  p.attributes = attributes.data_ptr<T>();
  p.triangles = triangles.data_ptr<int>();
  p.ids = ids.data_ptr<int>();
  p.width = static_cast<S32>(ids.size(1));
  p.height = static_cast<S32>(ids.size(0));
  p.numAttributes = static_cast<S32>(attributes.size(1));
  return p;
}

static void checkInterpolate(const torch::Tensor& vertices, const torch::Tensor& attributes, const torch::Tensor& triangles,
                             const torch::Tensor& ids) {
  checkInts(triangles, "triangles");
  checkInts(ids, "ids");
  TORCH_CHECK(vertices.is_cuda() && vertices.is_contiguous() && attributes.is_contiguous(), "contiguous and on the GPU");
  TORCH_CHECK(vertices.scalar_type() == attributes.scalar_type() && vertices.size(0) == attributes.size(0), "as many, of one type");
}

torch::Tensor interpolate_fwd(torch::Tensor vertices, torch::Tensor attributes, torch::Tensor triangles, torch::Tensor ids) {
  const at::cuda::OptionalCUDAGuard device_guard(device_of(vertices));
  checkInterpolate(vertices, attributes, triangles, ids);
  auto out = torch::empty({ids.size(0), ids.size(1), attributes.size(1)}, attributes.options());
  AT_DISPATCH_FLOATING_TYPES(attributes.scalar_type(), "interpolate_fwd", [&] {
    auto p = paramsOf<scalar_t>(vertices, attributes, triangles, ids);
    p.out = out.data_ptr<scalar_t>();
    TRI_CHECK_CUDA(launchInterpolate(p, false, at::cuda::getCurrentCUDAStream()));
  });
  return out;
}

std::tuple<torch::Tensor, torch::Tensor> interpolate_bwd(torch::Tensor vertices, torch::Tensor attributes, torch::Tensor triangles,
                                                         torch::Tensor ids, torch::Tensor d_out) {
  const at::cuda::OptionalCUDAGuard device_guard(device_of(vertices));
  checkInterpolate(vertices, attributes, triangles, ids);
  TORCH_CHECK(d_out.is_contiguous() && d_out.scalar_type() == attributes.scalar_type(), "d_out must be contiguous");
  auto d_vertices = torch::zeros_like(vertices), d_attributes = torch::zeros_like(attributes);
  AT_DISPATCH_FLOATING_TYPES(attributes.scalar_type(), "interpolate_bwd", [&] {
    auto p = paramsOf<scalar_t>(vertices, attributes, triangles, ids);
    p.dOut = d_out.data_ptr<scalar_t>();
    p.dVertices = d_vertices.data_ptr<scalar_t>();
    p.dAttributes = d_attributes.data_ptr<scalar_t>();
    TRI_CHECK_CUDA(launchInterpolate(p, true, at::cuda::getCurrentCUDAStream()));
  });
  return {d_vertices, d_attributes};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("rasterize_fwd", &rasterize_fwd);
  m.def("interpolate_fwd", &interpolate_fwd);
  m.def("interpolate_bwd", &interpolate_bwd);
}
