// SPDX-License-Identifier: Apache-2.0
// simt/types.h: the types of indices. CUDA's other vector types are in vector_types.h.
#ifndef SIMT_TYPES_H
#define SIMT_TYPES_H

struct uint3 {
  unsigned x, y, z;
};

/// A size with up to three dimensions. As in CUDA, missing ones are 1.
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return uint3{x, y, z}; }
};

#endif
