// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

namespace splat {

// Gives a buffer of so many bytes, which the caller keeps until the backward pass.
using Alloc = std::function<char*(size_t)>;

template <typename T>
struct Camera {
  int width, height;
  T fx, fy;      // focal lengths in pixels
  T cx, cy;      // where the axis meets the image
  T limX, limY;  // beyond these slopes the projection is not followed
};

// P Gaussians.
template <typename T>
struct Scene {
  int P;
  const T* view;       // 3 × 4, row by row
  const T* background;
  const T* means;      // P × 3
  const T* scales;     // P × 3
  const T* quats;      // P × 4
  const T* opacities;  // P
  const T* colors;     // P × NUM_CHANNELS
};

template <typename T>
struct Image {
  T* color;          // NUM_CHANNELS × height × width
  T* transmittance;  // height × width
  int* blended;      // height × width: of how many Gaussians
  int* radii;        // P, in pixels; 0 if not in the image
};

template <typename T>
struct Gradients {
  const T* dL_dcolor;          // by the image
  const T* dL_dtransmittance;
  T* dL_dmean2D;               // P × 2, by the projected Gaussian; zero before
  T* dL_dconic;                // P × 3
  T* dL_dopacity;              // P
  T* dL_dfeature;              // P × NUM_CHANNELS
  T* dL_dmean;                 // P × 3
  T* dL_dscale;                // P × 3
  T* dL_dquat;                 // P × 4
};

// Returns how many pairs of a Gaussian and a tile there are.
template <typename T>
int rasterize(Alloc geometry, Alloc binning, Alloc image, const Camera<T>& camera, const Scene<T>& scene, const Image<T>& out,
              cudaStream_t stream, bool debug);

template <typename T>
void rasterizeBackward(char* geometry, char* binning, char* image, int pairs, const Camera<T>& camera, const Scene<T>& scene,
                       const int* radii, const Gradients<T>& gradients, cudaStream_t stream, bool debug);

}  // namespace splat
