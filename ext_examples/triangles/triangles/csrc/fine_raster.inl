// SPDX-License-Identifier: Apache-2.0

// The pixels of a tile that the triangle covers, a bit for each.
static __device__ __inline__ U64 coverageOf(const Setup& s, S32 x, S32 y) {
  U64 mask = 0;
  S64 row[3], stepX[3], stepY[3];
#pragma unroll
  for (S32 i = 0; i < 3; i++) {
    const S32 j = i == 2 ? 0 : i + 1;
    row[i] = edge(s, i, centerOf(x), centerOf(y)) + edgeBias(s, i);
    stepX[i] = -S64(s.y[j] - s.y[i]) << SUBPIXEL_LOG2;
    stepY[i] = S64(s.x[j] - s.x[i]) << SUBPIXEL_LOG2;
  }
  for (S32 iy = 0; iy < TILE_SIZE; iy++) {
    S64 e0 = row[0], e1 = row[1], e2 = row[2];
    for (S32 ix = 0; ix < TILE_SIZE; ix++) {
      if ((e0 | e1 | e2) >= 0) mask |= U64(1) << (ix + iy * TILE_SIZE);
      e0 += stepX[0], e1 += stepX[1], e2 += stepX[2];
    }
    row[0] += stepY[0], row[1] += stepY[1], row[2] += stepY[2];
  }
  return mask;
}

// Exact: the weights add up to the area, and what is cut off is less than one step of depth.
static __device__ __inline__ U32 depthAt(const Setup& s, S32 x, S32 y) {
  const S32 px = centerOf(x), py = centerOf(y);
  const U64 w2 = edge(s, 0, px, py), w0 = edge(s, 1, px, py), w1 = edge(s, 2, px, py);
  return U32((w0 * s.z[0] + w1 * s.z[1] + w2 * s.z[2]) / (w0 + w1 + w2));
}

// One tile to a warp, which takes another when it is done. Each lane finds the pixels that one triangle covers; then the warp
// shares the pixels of all 32 out to its lanes. Depth and triangle are one number, of which the least stays.
__global__ void __launch_bounds__(32 * FINE_WARPS) fineRasterKernel(const RasterParams p) {
  __shared__ U64 s_key[FINE_WARPS][TILE_SIZE * TILE_SIZE];
  __shared__ Setup s_setup[FINE_WARPS][32];
  __shared__ volatile S32 s_triangle[FINE_WARPS][32];

  const S32 lane = threadIdx.x, warp = threadIdx.y;
  U64* key = s_key[warp];
  const S32 numTiles = p.tilesX * p.tilesY;

  for (;;) {
    S32 tile = 0;
    if (lane == 0) tile = atomicAdd(p.nextTile, 1);
    tile = __shfl_sync(~0u, tile, 0);
    if (tile >= numTiles) break;
    const S32 x = (tile % p.tilesX) << TILE_LOG2, y = (tile / p.tilesX) << TILE_LOG2;
    const S32 start = p.tileStarts[tile], end = p.tileStarts[tile + 1];
    key[lane] = key[lane + 32] = ~U64(0);
    // What of the tile is in the image.
    U64 inImage = 0;
    for (S32 iy = 0; iy < min((S32)TILE_SIZE, p.height - y); iy++)
      inImage |= ((U64(1) << min((S32)TILE_SIZE, p.width - x)) - 1) << (iy * TILE_SIZE);
    __syncwarp();

    for (S32 first = start; first < end; first += 32) {
      U64 covered = 0;
      if (first + lane < end) {
        const S32 triangle = p.tileLists[first + lane];
        const Setup s = p.setups[triangle];
        s_triangle[warp][lane] = triangle;
        s_setup[warp][lane] = s;
        covered = coverageOf(s, x, y) & inImage;
      }
      __syncwarp();
      if (!__any_sync(~0u, covered != 0)) continue;

      const S32 own = __popcll(covered);
      const S32 upTo = scanWarp(own);
      const S32 total = __shfl_sync(~0u, upTo, 31);
      const U32 low = U32(covered), high = U32(covered >> 32);
      for (S32 done = 0; done < total; done += 32) {
        const S32 fragment = min(done + lane, total - 1);
        // The triangle of a fragment: as many as end at or before it come first.
        S32 owner = 0;
#pragma unroll
        for (S32 step = 16; step > 0; step >>= 1) {
          if (__shfl_sync(~0u, upTo, owner + step - 1) <= fragment) owner += step;
        }
        const S32 before = __shfl_sync(~0u, upTo - own, owner);
        const U64 its = U64(__shfl_sync(~0u, high, owner)) << 32 | __shfl_sync(~0u, low, owner);
        if (done + lane < total) {
          const S32 pixel = findSetBit(its, fragment - before);
          const U32 depth = depthAt(s_setup[warp][owner], x + (pixel & (TILE_SIZE - 1)), y + (pixel >> TILE_LOG2));
          atomicMin(&key[pixel], U64(depth) << 32 | U32(s_triangle[warp][owner]));
        }
      }
      __syncwarp();
    }

    for (S32 pixel = lane; pixel < TILE_SIZE * TILE_SIZE; pixel += 32) {
      const S32 px = x + (pixel & (TILE_SIZE - 1)), py = y + (pixel >> TILE_LOG2);
      if (px >= p.width || py >= p.height) continue;
      const U64 best = key[pixel];
      const S32 at = px + py * p.width;
      p.ids[at] = best == ~U64(0) ? -1 : S32(best & 0xffffffffu);
      p.depth[at] = best == ~U64(0) ? 1.0f : float(U32(best >> 32)) / float(1 << DEPTH_BITS);
    }
    __syncwarp();
  }
}
