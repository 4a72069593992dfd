// SPDX-License-Identifier: Apache-2.0
// Device code for the units that include it; not a unit of its own.

constexpr int MORTON_BITS = 10;  // of each coordinate

__device__ __forceinline__ uint32_t spreadBits(uint32_t x) {
  x = (x | (x << 16)) & 0x030000FF;
  x = (x | (x << 8)) & 0x0300F00F;
  x = (x | (x << 4)) & 0x030C30C3;
  x = (x | (x << 2)) & 0x09249249;
  return x;
}

__device__ __forceinline__ uint32_t quantize(float x, float low, float high) {
  const float extent = high - low;
  // All points on one plane, or one of them at infinity: the division would give NaN, and NaN no cell.
  if (!(extent > 0.0f) || extent == CUDART_INF_F) return 0;
  return static_cast<uint32_t>((x - low) / extent * static_cast<float>((1 << MORTON_BITS) - 1));
}

__device__ __forceinline__ uint32_t mortonCode(float3 p, float3 low, float3 high) {
  return spreadBits(quantize(p.x, low.x, high.x)) | (spreadBits(quantize(p.y, low.y, high.y)) << 1) |
         (spreadBits(quantize(p.z, low.z, high.z)) << 2);
}
