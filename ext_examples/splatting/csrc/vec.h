// SPDX-License-Identifier: Apache-2.0
// The few vectors and matrices that are needed, for host and device.
#pragma once

#include <cuda_runtime.h>

#define VEC_FN __host__ __device__ __forceinline__

template <typename T> struct Vec2 { T x, y; };
template <typename T> struct Vec3 { T x, y, z; };
template <typename T> struct alignas(4 * sizeof(T)) Vec4 { T x, y, z, w; };

template <typename T> VEC_FN Vec2<T> operator-(Vec2<T> a, Vec2<T> b) { return {a.x - b.x, a.y - b.y}; }
template <typename T> VEC_FN Vec3<T> operator+(Vec3<T> a, Vec3<T> b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
template <typename T> VEC_FN Vec3<T> operator*(T s, Vec3<T> a) { return {s * a.x, s * a.y, s * a.z}; }
template <typename T> VEC_FN T dot(Vec3<T> a, Vec3<T> b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
template <typename T> VEC_FN Vec3<T> load3(const T* p) { return {p[0], p[1], p[2]}; }
template <typename T> VEC_FN void store3(T* p, Vec3<T> a) { p[0] = a.x, p[1] = a.y, p[2] = a.z; }

// Two rows or three.
template <typename T> struct Mat2x3 {
  Vec3<T> r0, r1;
};

template <typename T> struct Mat3 {
  Vec3<T> r0, r1, r2;

  VEC_FN Vec3<T> operator*(Vec3<T> v) const { return {dot(r0, v), dot(r1, v), dot(r2, v)}; }
  // The transposed matrix times v.
  VEC_FN Vec3<T> transposed(Vec3<T> v) const { return v.x * r0 + v.y * r1 + v.z * r2; }
};

// Rows times a matrix.
template <typename T> VEC_FN Mat2x3<T> operator*(const Mat2x3<T>& a, const Mat3<T>& b) {
  return {b.transposed(a.r0), b.transposed(a.r1)};
}

// The rotation of a unit quaternion (w, x, y, z).
template <typename T> VEC_FN Mat3<T> rotation(Vec4<T> q) {
  const T r = q.x, x = q.y, y = q.z, z = q.w;
  return {
      {1 - 2 * (y * y + z * z), 2 * (x * y - r * z), 2 * (x * z + r * y)},
      {2 * (x * y + r * z), 1 - 2 * (x * x + z * z), 2 * (y * z - r * x)},
      {2 * (x * z - r * y), 2 * (y * z + r * x), 1 - 2 * (x * x + y * y)},
  };
}
