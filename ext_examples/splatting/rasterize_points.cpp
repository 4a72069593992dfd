// SPDX-License-Identifier: Apache-2.0
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

#include <functional>
#include <tuple>

#include "csrc/config.h"
#include "csrc/rasterizer.h"

#define CHECK_INPUT(x) TORCH_CHECK((x).is_cuda() && (x).is_contiguous(), #x " must be contiguous and on the GPU")

namespace {

splat::Alloc growing(torch::Tensor& buffer) {
  return [&buffer](size_t bytes) {
    buffer = torch::empty({static_cast<int64_t>(bytes)}, buffer.options());
    return reinterpret_cast<char*>(buffer.data_ptr<uint8_t>());
  };
}

template <typename T>
splat::Camera<T> cameraOf(int64_t width, int64_t height, double fx, double fy) {
  splat::Camera<T> camera;
  camera.width = static_cast<int>(width);
  camera.height = static_cast<int>(height);
  camera.fx = static_cast<T>(fx);
  camera.fy = static_cast<T>(fy);
  camera.cx = static_cast<T>(width / 2.0);
  camera.cy = static_cast<T>(height / 2.0);
  camera.limX = static_cast<T>(1.3 * width / (2 * fx));
  camera.limY = static_cast<T>(1.3 * height / (2 * fy));
  return camera;
}

template <typename T>
splat::Scene<T> sceneOf(const torch::Tensor& view, const torch::Tensor& background, const torch::Tensor& means,
                        const torch::Tensor& scales, const torch::Tensor& quats, const torch::Tensor& opacities,
                        const torch::Tensor& colors) {
  return {static_cast<int>(means.size(0)), view.data_ptr<T>(),  background.data_ptr<T>(), means.data_ptr<T>(),
          scales.data_ptr<T>(),            quats.data_ptr<T>(), opacities.data_ptr<T>(),  colors.data_ptr<T>()};
}

}  // namespace

std::tuple<int64_t, torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor>
RasterizeGaussiansCUDA(const torch::Tensor& means, const torch::Tensor& scales, const torch::Tensor& quats,
                       const torch::Tensor& opacities, const torch::Tensor& colors, const torch::Tensor& background,
                       const torch::Tensor& view, int64_t width, int64_t height, double fx, double fy, bool debug) {
  for (const auto& x : {means, scales, quats, opacities, colors, background, view}) {
    CHECK_INPUT(x);
    TORCH_CHECK(x.scalar_type() == means.scalar_type(), "all of one type");
  }
  TORCH_CHECK(means.dim() == 2 && means.size(1) == 3, "means must be [P, 3]");
  TORCH_CHECK(colors.dim() == 2 && colors.size(1) == NUM_CHANNELS, "colors must be [P, 3]");
  TORCH_CHECK(view.numel() == 12 && width > 0 && height > 0, "a view of 3 × 4 and an image");
  const at::cuda::OptionalCUDAGuard guard(device_of(means));
  const auto options = means.options();
  const auto ints = options.dtype(torch::kInt), bytes = options.dtype(torch::kByte);

  auto color = torch::empty({NUM_CHANNELS, height, width}, options), transmittance = torch::empty({height, width}, options);
  auto blended = torch::empty({height, width}, ints), radii = torch::zeros({means.size(0)}, ints);
  auto geometry = torch::empty({0}, bytes), binning = torch::empty({0}, bytes), image = torch::empty({0}, bytes);
  int64_t pairs = 0;
  AT_DISPATCH_FLOATING_TYPES(means.scalar_type(), "rasterize_gaussians", [&] {
    const splat::Image<scalar_t> out = {
        color.data_ptr<scalar_t>(), transmittance.data_ptr<scalar_t>(), blended.data_ptr<int>(), radii.data_ptr<int>()};
    pairs = splat::rasterize<scalar_t>(
        growing(geometry), growing(binning), growing(image), cameraOf<scalar_t>(width, height, fx, fy),
        sceneOf<scalar_t>(view, background, means, scales, quats, opacities, colors), out,
        at::cuda::getCurrentCUDAStream(), debug);
  });
  return std::make_tuple(pairs, color, transmittance, blended, radii, geometry, binning, image);
}

std::tuple<torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor> RasterizeGaussiansBackwardCUDA(
    const torch::Tensor& means, const torch::Tensor& scales, const torch::Tensor& quats, const torch::Tensor& opacities,
    const torch::Tensor& colors, const torch::Tensor& background, const torch::Tensor& view, double fx, double fy, int64_t pairs,
    const torch::Tensor& radii, const torch::Tensor& geometry, const torch::Tensor& binning, const torch::Tensor& image,
    const torch::Tensor& dL_dcolor, const torch::Tensor& dL_dtransmittance, bool debug) {
  CHECK_INPUT(dL_dcolor);
  CHECK_INPUT(dL_dtransmittance);
  const at::cuda::OptionalCUDAGuard guard(device_of(means));
  const int64_t P = means.size(0), height = dL_dcolor.size(1), width = dL_dcolor.size(2);
  auto dL_dmean2D = torch::zeros({P, 2}, means.options()), dL_dconic = torch::zeros({P, 3}, means.options());
  auto dL_dmeans = torch::zeros_like(means), dL_dscales = torch::zeros_like(scales), dL_dquats = torch::zeros_like(quats);
  auto dL_dopacities = torch::zeros_like(opacities), dL_dcolors = torch::zeros_like(colors);
  AT_DISPATCH_FLOATING_TYPES(means.scalar_type(), "rasterize_gaussians_backward", [&] {
    const splat::Gradients<scalar_t> gradients = {
        dL_dcolor.data_ptr<scalar_t>(),  dL_dtransmittance.data_ptr<scalar_t>(), dL_dmean2D.data_ptr<scalar_t>(),
        dL_dconic.data_ptr<scalar_t>(),  dL_dopacities.data_ptr<scalar_t>(),     dL_dcolors.data_ptr<scalar_t>(),
        dL_dmeans.data_ptr<scalar_t>(),  dL_dscales.data_ptr<scalar_t>(),        dL_dquats.data_ptr<scalar_t>()};
    splat::rasterizeBackward<scalar_t>(
        reinterpret_cast<char*>(geometry.data_ptr<uint8_t>()), reinterpret_cast<char*>(binning.data_ptr<uint8_t>()),
        reinterpret_cast<char*>(image.data_ptr<uint8_t>()), static_cast<int>(pairs), cameraOf<scalar_t>(width, height, fx, fy),
        sceneOf<scalar_t>(view, background, means, scales, quats, opacities, colors), radii.data_ptr<int>(), gradients,
        at::cuda::getCurrentCUDAStream(), debug);
  });
  return std::make_tuple(dL_dmeans, dL_dscales, dL_dquats, dL_dopacities, dL_dcolors);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("rasterize_gaussians", &RasterizeGaussiansCUDA);
  m.def("rasterize_gaussians_backward", &RasterizeGaussiansBackwardCUDA);
}
