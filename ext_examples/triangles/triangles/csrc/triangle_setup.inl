// SPDX-License-Identifier: Apache-2.0

// One triangle to a thread. A warp writes one word that says which of its triangles can be seen.
__global__ void __launch_bounds__(BATCH) triangleSetupKernel(const RasterParams p) {
  const S32 index = threadIdx.x + 32 * (threadIdx.y + WARPS * blockIdx.x);
  Setup s;
  bool seen = index < p.numTriangles;
  if (seen) {
#pragma unroll
    for (S32 i = 0; i < 3; i++) {
      const U32 vertex = p.triangles[3 * index + i];
      if (vertex >= (U32)p.numVertices) {
        seen = false;
        break;
      }
      const float4 v = p.vertices[vertex];
      const float x = v.x / v.w, y = v.y / v.w, z = v.z / v.w;
      // What is behind the eye or far outside is not clipped, but left out. So is NaN.
      seen = seen && v.w > 0.0f && fabsf(x) * p.width < 2 * GUARD && fabsf(y) * p.height < 2 * GUARD;
      if (!seen) break;
      // One rounding, to a whole number of units: no two machines see another triangle.
      s.x[i] = __float2int_rn(x * float(p.width << (SUBPIXEL_LOG2 - 1))) + (p.width << (SUBPIXEL_LOG2 - 1));
      s.y[i] = __float2int_rn(y * float(p.height << (SUBPIXEL_LOG2 - 1))) + (p.height << (SUBPIXEL_LOG2 - 1));
      const float clamped = fminf(fmaxf(z, -1.0f), 1.0f);
      s.z[i] = min(__float2int_rn(clamped * float(1 << (DEPTH_BITS - 1))) + (1 << (DEPTH_BITS - 1)), (1 << DEPTH_BITS) - 1);
    }
  }
  if (seen) {
    const S64 area = edge(s, 0, s.x[2], s.y[2]);
    if (area < 0) {
      const S32 tx = s.x[1], ty = s.y[1];
      const U32 tz = s.z[1];
      s.x[1] = s.x[2], s.y[1] = s.y[2], s.z[1] = s.z[2];
      s.x[2] = tx, s.y[2] = ty, s.z[2] = tz;
    }
    // The first and the last center within the box.
    const S32 half = 1 << (SUBPIXEL_LOG2 - 1), most = (1 << SUBPIXEL_LOG2) - 1;
    const S32 loX = max((min(min(s.x[0], s.x[1]), s.x[2]) - half + most) >> SUBPIXEL_LOG2, 0);
    const S32 loY = max((min(min(s.y[0], s.y[1]), s.y[2]) - half + most) >> SUBPIXEL_LOG2, 0);
    const S32 hiX = min((max(max(s.x[0], s.x[1]), s.x[2]) - half) >> SUBPIXEL_LOG2, p.width - 1);
    const S32 hiY = min((max(max(s.y[0], s.y[1]), s.y[2]) - half) >> SUBPIXEL_LOG2, p.height - 1);
    seen = area != 0 && loX <= hiX && loY <= hiY;
    if (seen) {
      s.loX = (short)loX, s.loY = (short)loY, s.hiX = (short)hiX, s.hiY = (short)hiY;
      p.setups[index] = s;
    }
  }
  const U32 word = __ballot_sync(~0u, seen);
  if (threadIdx.x == 0) p.visible[threadIdx.y + WARPS * blockIdx.x] = word;
}
