// SPDX-License-Identifier: Apache-2.0

// One bin to a block, one of its tiles to each warp. Runs twice: to count, and to write.
template <bool EMIT>
__global__ void __launch_bounds__(BATCH) coarseRasterKernel(const RasterParams p) {
  __shared__ Setup s_setup[BATCH];
  __shared__ S32 s_triangle[BATCH];

  const S32 lane = threadIdx.x, warp = threadIdx.y;
  const S32 thrInBlock = threadIdx.x + threadIdx.y * 32;
  const S32 numBins = p.binsX * p.binsY, bin = blockIdx.x;
  const S32 tileX = (bin % p.binsX) * BIN_TILES + warp % BIN_TILES, tileY = (bin / p.binsX) * BIN_TILES + warp / BIN_TILES;
  const bool inImage = tileX < p.tilesX && tileY < p.tilesY;
  const S32 tile = tileX + tileY * p.tilesX;
  S32 count = EMIT && inImage ? p.tileStarts[tile] : 0;

  for (S32 base = 0; base < p.numChunks; base += 32) {
    // Which of 32 chunks have something for this bin: each warp finds the same.
    const S32 of = base + lane < p.numChunks ? p.binCounts[(base + lane) * numBins + bin] : 0;
    for (U32 chunks = __ballot_sync(~0u, of > 0); chunks != 0; chunks &= chunks - 1) {
      const S32 owner = __ffs(chunks) - 1;
      const S32 size = __shfl_sync(~0u, of, owner);
      const S32* list = p.binLists + S64((base + owner) * numBins + bin) * BATCH;
      __syncthreads();
      if (thrInBlock < size) {
        s_triangle[thrInBlock] = list[thrInBlock];
        s_setup[thrInBlock] = p.setups[list[thrInBlock]];
      }
      __syncthreads();
      if (!inImage) continue;
      for (S32 first = 0; first < size; first += 32) {
        const S32 at = first + lane;
        const bool touches = at < size && mayTouch(s_setup[at], tileX << TILE_LOG2, tileY << TILE_LOG2, TILE_SIZE);
        const U32 mask = __ballot_sync(~0u, touches);
        if (EMIT && touches) p.tileLists[count + __popc(mask & getLaneMaskLt())] = s_triangle[at];
        count += __popc(mask);
      }
    }
  }
  if (!EMIT && inImage && lane == 0) p.tileCounts[tile] = count;
}

// Where each tile's list starts: one block adds the counts of all.
__global__ void __launch_bounds__(BATCH) tileStartsKernel(const RasterParams p) {
  __shared__ volatile S32 s_temp[WARPS + 1];
  const S32 thrInBlock = threadIdx.x + threadIdx.y * 32;
  const S32 numTiles = p.tilesX * p.tilesY;
  S32 start = 0;
  for (S32 base = 0; base < numTiles; base += BATCH) {
    const S32 tile = base + thrInBlock;
    const S32 count = tile < numTiles ? p.tileCounts[tile] : 0;
    const S32 upTo = scanWarp(count);
    S32 total;
    const S32 before = sumOfWarpsBefore(__shfl_sync(~0u, upTo, 31), s_temp, total);
    if (tile < numTiles) p.tileStarts[tile] = start + before + upTo - count;
    start += total;
  }
  if (thrInBlock == 0) p.tileStarts[numTiles] = start;
}
