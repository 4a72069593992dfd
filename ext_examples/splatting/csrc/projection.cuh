// SPDX-License-Identifier: Apache-2.0
// What the forward and the backward pass compute alike.
#pragma once

#include "rasterizer_impl.h"

namespace splat {

template <typename T>
struct View {
  Mat3<T> turn;
  Vec3<T> move;

  __device__ __forceinline__ explicit View(const T* m)
      : turn{load3(m), load3(m + 4), load3(m + 8)}, move{m[3], m[7], m[11]} {}
};

// A Gaussian as its camera sees it: covariance = B Bᵀ with B = J W R S, of two rows.
template <typename T>
struct Projected {
  Vec3<T> t;              // mean, relative to the camera
  Vec3<T> scale;
  Vec4<T> quat;           // as given, not yet of unit length
  T norm;                 // its length
  Mat3<T> R;
  T slopeX, slopeY;       // t.x / t.z and t.y / t.z, limited
  Mat2x3<T> A, B;         // J W, and that times R S
  T cxx, cxy, cyy;        // covariance in pixels

  __device__ __forceinline__ Projected(const Camera<T>& camera, const Scene<T>& scene, const View<T>& view, int i) {
    t = view.turn * load3(scene.means + 3 * i) + view.move;
    scale = load3(scene.scales + 3 * i);
    const T* q = scene.quats + 4 * i;
    quat = {q[0], q[1], q[2], q[3]};
    norm = sqrt(quat.x * quat.x + quat.y * quat.y + quat.z * quat.z + quat.w * quat.w);
    R = rotation(Vec4<T>{quat.x / norm, quat.y / norm, quat.z / norm, quat.w / norm});
    slopeX = min(camera.limX, max(-camera.limX, t.x / t.z));
    slopeY = min(camera.limY, max(-camera.limY, t.y / t.z));
    const T jx = camera.fx / t.z, jy = camera.fy / t.z;
    const Mat2x3<T> J = {{jx, 0, -jx * slopeX}, {0, jy, -jy * slopeY}};
    A = J * view.turn;
    const Mat3<T> M = {scaled(R.r0), scaled(R.r1), scaled(R.r2)};
    B = A * M;
    cxx = dot(B.r0, B.r0) + T(LOW_PASS);
    cxy = dot(B.r0, B.r1);
    cyy = dot(B.r1, B.r1) + T(LOW_PASS);
  }

  // A row of R times S.
  __device__ __forceinline__ Vec3<T> scaled(Vec3<T> row) const { return {row.x * scale.x, row.y * scale.y, row.z * scale.z}; }
};

// The tiles from lo up to, but without, hi that a circle touches.
template <typename T>
__device__ __forceinline__ void getRect(Vec2<T> p, int radius, uint2& lo, uint2& hi, dim3 grid) {
  const int x0 = static_cast<int>(floor((p.x - radius) / BLOCK_X)), x1 = static_cast<int>(floor((p.x + radius) / BLOCK_X)) + 1;
  const int y0 = static_cast<int>(floor((p.y - radius) / BLOCK_Y)), y1 = static_cast<int>(floor((p.y + radius) / BLOCK_Y)) + 1;
  lo = {static_cast<unsigned>(min(max(x0, 0), (int)grid.x)), static_cast<unsigned>(min(max(y0, 0), (int)grid.y))};
  hi = {static_cast<unsigned>(min(max(x1, 0), (int)grid.x)), static_cast<unsigned>(min(max(y1, 0), (int)grid.y))};
}

// How much of a Gaussian there is at a pixel that lies d away from its mean, or 0 if not enough to be seen.
template <typename T>
__device__ __forceinline__ T alphaAt(Vec2<T> d, Vec4<T> conicOpacity, T& gauss) {
  const T power = T(-0.5) * (conicOpacity.x * d.x * d.x + conicOpacity.z * d.y * d.y) - conicOpacity.y * d.x * d.y;
  gauss = exp(power);
  if (power > T(0)) return T(0);
  const T alpha = conicOpacity.w * gauss;
  return alpha < T(ALPHA_MIN) ? T(0) : alpha;
}

}  // namespace splat
