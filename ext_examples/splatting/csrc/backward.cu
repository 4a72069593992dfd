// SPDX-License-Identifier: Apache-2.0

#include "projection.cuh"
#include "cuda_runtime.h"
#include "device_launch_parameters.h"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

namespace splat {

// The sum over a warp, for its first lane.
template <typename T>
__device__ __forceinline__ T warpSum(T value) {
#pragma unroll
  for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2) value += __shfl_down_sync(FULL_MASK, value, offset);
  return value;
}

// From the last Gaussian that a pixel saw to the first. What a warp's pixels say of one Gaussian is added before it goes to
// memory.
template <typename T, uint32_t CHANNELS>
__global__ void __launch_bounds__(BLOCK_SIZE)
renderBackwardCUDA(const uint2* __restrict__ ranges, const uint32_t* __restrict__ list, int W, int H,
                   const Vec2<T>* __restrict__ means2D, const Vec4<T>* __restrict__ conicOpacity, const T* __restrict__ features,
                   const T* __restrict__ background, const T* __restrict__ finalT, const uint32_t* __restrict__ last,
                   const Gradients<T> gradients) {
  auto block = cg::this_thread_block();
  const uint32_t x = block.group_index().x * BLOCK_X + block.thread_index().x;
  const uint32_t y = block.group_index().y * BLOCK_Y + block.thread_index().y;
  const bool inside = x < W && y < H;
  const uint32_t at = y * W + x;
  const Vec2<T> pixel = {x + T(0.5), y + T(0.5)};
  const uint2 range = ranges[block.group_index().y * gridDim.x + block.group_index().x];
  const int lane = block.thread_rank() % WARP_SIZE;

  __shared__ int batchId[BLOCK_SIZE];
  __shared__ Vec2<T> batchMean[BLOCK_SIZE];
  __shared__ Vec4<T> batchConic[BLOCK_SIZE];
  __shared__ T batchFeature[CHANNELS * BLOCK_SIZE];

  const T throughAll = inside ? finalT[at] : T(0);
  const T dL_dthrough = inside ? gradients.dL_dtransmittance[at] : T(0);
  const uint32_t seen = inside ? last[at] : 0;
  T through = throughAll;
  T behind[CHANNELS], dL_dpixel[CHANNELS];  // the color of all that is behind
  for (uint32_t c = 0; c < CHANNELS; c++) {
    behind[c] = background[c];
    dL_dpixel[c] = inside ? gradients.dL_dcolor[c * H * W + at] : T(0);
  }

  for (uint32_t left = range.y - range.x; left > 0;) {
    const uint32_t count = min(left, static_cast<uint32_t>(BLOCK_SIZE));
    block.sync();
    if (block.thread_rank() < count) {
      const int id = list[range.x + left - 1 - block.thread_rank()];
      batchId[block.thread_rank()] = id;
      batchMean[block.thread_rank()] = means2D[id];
      batchConic[block.thread_rank()] = conicOpacity[id];
      for (uint32_t c = 0; c < CHANNELS; c++) batchFeature[c * BLOCK_SIZE + block.thread_rank()] = features[id * CHANNELS + c];
    }
    block.sync();

    for (uint32_t j = 0; j < count; j++) {
      const Vec2<T> d = batchMean[j] - pixel;
      const Vec4<T> conic = batchConic[j];
      T gauss = 0, raw = 0;
      // Gaussians behind the last one that was seen are not part of the pixel.
      if (left - j <= seen) raw = alphaAt(d, conic, gauss);
      if (!__any_sync(FULL_MASK, raw > T(0))) continue;

      T dL_dalpha = 0, weight = 0;
      if (raw > T(0)) {
        const T alpha = min(T(ALPHA_MAX), raw);
        through = through / (1 - alpha);
        weight = alpha * through;
        for (uint32_t c = 0; c < CHANNELS; c++) {
          const T feature = batchFeature[c * BLOCK_SIZE + j];
          dL_dalpha += through * (feature - behind[c]) * dL_dpixel[c];
          behind[c] = alpha * feature + (1 - alpha) * behind[c];
        }
        dL_dalpha -= dL_dthrough * throughAll / (1 - alpha);
        if (raw > T(ALPHA_MAX)) dL_dalpha = 0;
      }

      T sums[CHANNELS + 6];
      const T dL_dpower = dL_dalpha * conic.w * gauss;
      for (uint32_t c = 0; c < CHANNELS; c++) sums[c] = weight * dL_dpixel[c];
      sums[CHANNELS + 0] = gauss * dL_dalpha;
      sums[CHANNELS + 1] = -dL_dpower * (conic.x * d.x + conic.y * d.y);
      sums[CHANNELS + 2] = -dL_dpower * (conic.z * d.y + conic.y * d.x);
      sums[CHANNELS + 3] = T(-0.5) * dL_dpower * d.x * d.x;
      sums[CHANNELS + 4] = -dL_dpower * d.x * d.y;
      sums[CHANNELS + 5] = T(-0.5) * dL_dpower * d.y * d.y;
      for (uint32_t i = 0; i < CHANNELS + 6; i++) sums[i] = warpSum(sums[i]);
      if (lane == 0) {
        const int id = batchId[j];
        for (uint32_t c = 0; c < CHANNELS; c++) atomicAdd(gradients.dL_dfeature + id * CHANNELS + c, sums[c]);
        atomicAdd(gradients.dL_dopacity + id, sums[CHANNELS]);
        atomicAdd(gradients.dL_dmean2D + 2 * id, sums[CHANNELS + 1]);
        atomicAdd(gradients.dL_dmean2D + 2 * id + 1, sums[CHANNELS + 2]);
        for (int i = 0; i < 3; i++) atomicAdd(gradients.dL_dconic + 3 * id + i, sums[CHANNELS + 3 + i]);
      }
    }
    left -= count;
  }
}

// From the conic, through the covariance, to scale, rotation and mean.
template <typename T>
__global__ void preprocessBackwardCUDA(const Camera<T> camera, const Scene<T> scene, const int* __restrict__ radii,
                                       const Gradients<T> gradients) {
  auto idx = cg::this_grid().thread_rank();
  if (idx >= scene.P || radii[idx] == 0) return;

  const View<T> view(scene.view);
  const Projected<T> g(camera, scene, view, idx);

  // conic = C⁻¹, so that dC = -conic dconic conic; the off-diagonal entry stands twice in the matrix.
  const T det = g.cxx * g.cyy - g.cxy * g.cxy;
  const T ka = g.cyy / det, kb = -g.cxy / det, kc = g.cxx / det;
  const Vec3<T> dL_dconic = load3(gradients.dL_dconic + 3 * idx);
  const T da = dL_dconic.x, db = dL_dconic.y / 2, dc = dL_dconic.z;
  const T p00 = ka * da + kb * db, p01 = ka * db + kb * dc, p10 = kb * da + kc * db, p11 = kb * db + kc * dc;
  const T gxx = -(p00 * ka + p01 * kb), gxy = -(p00 * kb + p01 * kc), gyy = -(p10 * kb + p11 * kc);

  // C = B Bᵀ, B = A M, M = R S.
  const Mat2x3<T> dB = {T(2) * (gxx * g.B.r0 + gxy * g.B.r1), T(2) * (gxy * g.B.r0 + gyy * g.B.r1)};
  const Mat3<T> R = g.R;
  const Mat3<T> M = {g.scaled(R.r0), g.scaled(R.r1), g.scaled(R.r2)};
  const Mat2x3<T> dA = {M * dB.r0, M * dB.r1};
  const Mat3<T> dM = {
      g.A.r0.x * dB.r0 + g.A.r1.x * dB.r1,
      g.A.r0.y * dB.r0 + g.A.r1.y * dB.r1,
      g.A.r0.z * dB.r0 + g.A.r1.z * dB.r1,
  };
  store3(gradients.dL_dscale + 3 * idx, Vec3<T>{
      dM.r0.x * R.r0.x + dM.r1.x * R.r1.x + dM.r2.x * R.r2.x,
      dM.r0.y * R.r0.y + dM.r1.y * R.r1.y + dM.r2.y * R.r2.y,
      dM.r0.z * R.r0.z + dM.r1.z * R.r1.z + dM.r2.z * R.r2.z,
  });

  const Mat3<T> D = {g.scaled(dM.r0), g.scaled(dM.r1), g.scaled(dM.r2)};  // by R
  const T inverse = 1 / g.norm;
  const T r = g.quat.x * inverse, x = g.quat.y * inverse, y = g.quat.z * inverse, z = g.quat.w * inverse;
  const T dr = 2 * (x * (D.r2.y - D.r1.z) + y * (D.r0.z - D.r2.x) + z * (D.r1.x - D.r0.y));
  const T dx = 2 * (y * (D.r0.y + D.r1.x) + z * (D.r0.z + D.r2.x) + r * (D.r2.y - D.r1.z)) - 4 * x * (D.r1.y + D.r2.z);
  const T dy = 2 * (x * (D.r0.y + D.r1.x) + z * (D.r1.z + D.r2.y) + r * (D.r0.z - D.r2.x)) - 4 * y * (D.r0.x + D.r2.z);
  const T dz = 2 * (x * (D.r0.z + D.r2.x) + y * (D.r1.z + D.r2.y) + r * (D.r1.x - D.r0.y)) - 4 * z * (D.r0.x + D.r1.y);
  // Only what is across the quaternion turns anything.
  const T along = r * dr + x * dx + y * dy + z * dz;
  T* dL_dquat = gradients.dL_dquat + 4 * idx;
  dL_dquat[0] = (dr - along * r) * inverse;
  dL_dquat[1] = (dx - along * x) * inverse;
  dL_dquat[2] = (dy - along * y) * inverse;
  dL_dquat[3] = (dz - along * z) * inverse;

  // A = J W; J depends on the mean by its depth and, within the limits, by its slopes.
  const Vec3<T> dJ0 = view.turn * dA.r0, dJ1 = view.turn * dA.r1;
  const T jx = camera.fx / g.t.z, jy = camera.fy / g.t.z;
  const T dSlopeX = -jx * dJ0.z, dSlopeY = -jy * dJ1.z;
  Vec3<T> dt = {0, 0, 0};
  dt.z -= jx / g.t.z * (dJ0.x - g.slopeX * dJ0.z) + jy / g.t.z * (dJ1.y - g.slopeY * dJ1.z);
  if (fabs(g.t.x / g.t.z) < camera.limX) {
    dt.x += dSlopeX / g.t.z;
    dt.z -= dSlopeX * g.t.x / (g.t.z * g.t.z);
  }
  if (fabs(g.t.y / g.t.z) < camera.limY) {
    dt.y += dSlopeY / g.t.z;
    dt.z -= dSlopeY * g.t.y / (g.t.z * g.t.z);
  }
  const T du = gradients.dL_dmean2D[2 * idx], dv = gradients.dL_dmean2D[2 * idx + 1];
  dt.x += jx * du;
  dt.y += jy * dv;
  dt.z -= (jx * g.t.x * du + jy * g.t.y * dv) / g.t.z;
  store3(gradients.dL_dmean + 3 * idx, view.turn.transposed(dt));
}

template <typename T>
void backward::render(dim3 grid, dim3 block, const Camera<T>& camera, const Scene<T>& scene, const uint32_t* list,
                      const GeometryState<T>& geometry, const ImageState<T>& state, const Gradients<T>& gradients,
                      cudaStream_t stream) {
  renderBackwardCUDA<T, NUM_CHANNELS> << <grid, block, 0, stream >> >(
    state.ranges, list, camera.width, camera.height, geometry.means2D, geometry.conicOpacity, scene.colors, scene.background,
    state.finalT, state.last, gradients);
}

template <typename T>
void backward::preprocess(const Camera<T>& camera, const Scene<T>& scene, const int* radii, const Gradients<T>& gradients,
                          cudaStream_t stream) {
  preprocessBackwardCUDA<T> << < (scene.P + 255) / 256, 256, 0, stream >> > (camera, scene, radii, gradients);
}

#define INSTANTIATE(T)                                                                                                       \
  template void backward::render<T>(dim3, dim3, const Camera<T>&, const Scene<T>&, const uint32_t*, const GeometryState<T>&, \
                                    const ImageState<T>&, const Gradients<T>&, cudaStream_t);                                \
  template void backward::preprocess<T>(const Camera<T>&, const Scene<T>&, const int*, const Gradients<T>&, cudaStream_t);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace splat
