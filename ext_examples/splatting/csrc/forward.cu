// SPDX-License-Identifier: Apache-2.0

#include "projection.cuh"
#include "cuda_runtime.h"
#include "device_launch_parameters.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

namespace splat {

// Where each Gaussian is in the image, how large, and how many tiles it touches.
template <typename T>
__global__ void preprocessCUDA(const Camera<T> camera, const Scene<T> scene, int* __restrict__ radii, GeometryState<T> geometry,
                               const dim3 grid) {
  auto idx = cg::this_grid().thread_rank();
  if (idx >= scene.P) return;

  radii[idx] = 0;
  geometry.tilesTouched[idx] = 0;
  const View<T> view(scene.view);
  if ((view.turn * load3(scene.means + 3 * idx) + view.move).z <= T(NEAR_PLANE)) return;
  const T opacity = scene.opacities[idx];
  if (opacity < T(ALPHA_MIN)) return;

  const Projected<T> g(camera, scene, view, idx);
  const T det = g.cxx * g.cyy - g.cxy * g.cxy;
  if (!(det > T(0))) return;
  const T half = T(0.5) * (g.cxx + g.cyy);
  const T largest = half + sqrt(max(T(0), half * half - det));
  // So far out alpha is less than what is seen.
  const T extent = ceil(sqrt(T(2) * log(opacity * T(255)) * largest));
  const int radius = static_cast<int>(min(extent, T(1 << 20)));
  const Vec2<T> mean = {camera.fx * g.t.x / g.t.z + camera.cx, camera.fy * g.t.y / g.t.z + camera.cy};
  uint2 lo, hi;
  getRect(mean, radius, lo, hi, grid);
  const uint32_t touched = (hi.x - lo.x) * (hi.y - lo.y);
  if (touched == 0) return;

  geometry.depths[idx] = g.t.z;
  geometry.means2D[idx] = mean;
  geometry.conicOpacity[idx] = {g.cyy / det, -g.cxy / det, g.cxx / det, opacity};
  geometry.tilesTouched[idx] = touched;
  radii[idx] = radius;
}

// One tile to a block, one pixel to a thread. The block reads as many Gaussians at a time as it has threads.
template <typename T, uint32_t CHANNELS>
__global__ void __launch_bounds__(BLOCK_SIZE)
renderCUDA(const uint2* __restrict__ ranges, const uint32_t* __restrict__ list, int W, int H, const Vec2<T>* __restrict__ means2D,
           const Vec4<T>* __restrict__ conicOpacity, const T* __restrict__ features, const T* __restrict__ background,
           T* __restrict__ finalT, uint32_t* __restrict__ last, const Image<T> out) {
  auto block = cg::this_thread_block();
  const uint32_t x = block.group_index().x * BLOCK_X + block.thread_index().x;
  const uint32_t y = block.group_index().y * BLOCK_Y + block.thread_index().y;
  const bool inside = x < W && y < H;
  const Vec2<T> pixel = {x + T(0.5), y + T(0.5)};
  const uint2 range = ranges[block.group_index().y * gridDim.x + block.group_index().x];

  __shared__ int batchId[BLOCK_SIZE];
  __shared__ Vec2<T> batchMean[BLOCK_SIZE];
  __shared__ Vec4<T> batchConic[BLOCK_SIZE];

  T through = 1;
  T color[CHANNELS] = {0};
  uint32_t visited = 0, lastSeen = 0;
  int blended = 0;
  bool done = !inside;

  for (uint32_t start = range.x; start < range.y; start += BLOCK_SIZE) {
    if (__syncthreads_count(done) == BLOCK_SIZE) break;
    const uint32_t mine = start + block.thread_rank();
    if (mine < range.y) {
      const int id = list[mine];
      batchId[block.thread_rank()] = id;
      batchMean[block.thread_rank()] = means2D[id];
      batchConic[block.thread_rank()] = conicOpacity[id];
    }
    block.sync();

    const int count = min(BLOCK_SIZE, (int)(range.y - start));
    for (int j = 0; !done && j < count; j++) {
      visited++;
      T gauss;
      const T alpha = min(T(ALPHA_MAX), alphaAt(batchMean[j] - pixel, batchConic[j], gauss));
      if (alpha == T(0)) continue;
      const T rest = through * (1 - alpha);
      if (rest < T(T_MIN)) {
        done = true;
        continue;
      }
      for (uint32_t c = 0; c < CHANNELS; c++) color[c] += features[batchId[j] * CHANNELS + c] * alpha * through;
      through = rest;
      lastSeen = visited;
      blended++;
    }
  }

  if (inside) {
    const uint32_t at = y * W + x;
    finalT[at] = through;
    last[at] = lastSeen;
    out.transmittance[at] = through;
    out.blended[at] = blended;
    for (uint32_t c = 0; c < CHANNELS; c++) out.color[c * H * W + at] = color[c] + through * background[c];
  }
}

template <typename T>
void forward::preprocess(const Camera<T>& camera, const Scene<T>& scene, int* radii, const GeometryState<T>& geometry, dim3 grid,
                         cudaStream_t stream) {
  preprocessCUDA<T> << <(scene.P + 255) / 256, 256, 0, stream >> > (camera, scene, radii, geometry, grid);
}

template <typename T>
void forward::render(dim3 grid, dim3 block, const Camera<T>& camera, const Scene<T>& scene, const uint32_t* list,
                     const GeometryState<T>& geometry, const ImageState<T>& state, const Image<T>& out, cudaStream_t stream) {
  renderCUDA<T, NUM_CHANNELS> << <grid, block, 0, stream >> > (
    state.ranges, list, camera.width, camera.height, geometry.means2D, geometry.conicOpacity, scene.colors, scene.background,
    state.finalT, state.last, out);
}

#define INSTANTIATE(T)                                                                                                    \
  template void forward::preprocess<T>(const Camera<T>&, const Scene<T>&, int*, const GeometryState<T>&, dim3, cudaStream_t); \
  template void forward::render<T>(dim3, dim3, const Camera<T>&, const Scene<T>&, const uint32_t*, const GeometryState<T>&,   \
                                   const ImageState<T>&, const Image<T>&, cudaStream_t);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace splat
