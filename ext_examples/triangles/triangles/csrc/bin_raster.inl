// SPDX-License-Identifier: Apache-2.0

// One chunk of triangles to a block. Its 16 warps queue those that can be seen; then each takes a bin after the other and
// lists the queue's triangles that touch it, 32 at a time, in their order.
__global__ void __launch_bounds__(BATCH) binRasterKernel(const RasterParams p) {
  __shared__ volatile S32 s_temp[WARPS + 1];
  __shared__ S32 s_queue[BATCH];

  const S32 lane = threadIdx.x, warp = threadIdx.y, chunk = blockIdx.x;
  const S32 numBins = p.binsX * p.binsY;
  const U32 word = p.visible[warp + WARPS * chunk];
  S32 queued;
  const S32 before = sumOfWarpsBefore(__popc(word), s_temp, queued);
  if ((word >> lane) & 1) s_queue[before + __popc(word & getLaneMaskLt())] = lane + 32 * (warp + WARPS * chunk);
  __syncthreads();

  for (S32 bin = warp; bin < numBins; bin += WARPS) {
    const S32 x = (bin % p.binsX) << BIN_LOG2, y = (bin / p.binsX) << BIN_LOG2;
    S32* list = p.binLists + S64(chunk * numBins + bin) * BATCH;
    S32 count = 0;
    for (S32 first = 0; first < queued; first += 32) {
      S32 triangle = -1;
      if (first + lane < queued) triangle = s_queue[first + lane];
      const bool touches = triangle >= 0 && mayTouch(p.setups[triangle], x, y, BIN_SIZE);
      const U32 mask = __ballot_sync(~0u, touches);
      if (touches) list[count + __popc(mask & getLaneMaskLt())] = triangle;
      count += __popc(mask);
    }
    if (lane == 0) p.binCounts[chunk * numBins + bin] = count;
  }
}
