// SPDX-License-Identifier: Apache-2.0
//
// Which triangles touch which bins of an image, in their order. A block of 16 warps takes a chunk of triangles: it queues
// those that can be seen, and takes 512 of them at a time, one to a thread. For each bin and warp a word of 32 bits says
// which of the warp's triangles touch the bin; counting bits says where each goes.

#include "bin_raster.hpp"
#include "bin_util.inl"

namespace {

struct Bounds {
  S32 loX, loY, hiX, hiY;
  __device__ __inline__ S32 width() const { return hiX - loX + 1; }
  __device__ __inline__ S32 size() const { return width() * (hiY - loY + 1); }
};

struct Triangle {
  S32 x[3], y[3];

  // The bins that the box around the triangle touches; none if it has no area.
  __device__ __inline__ bool setup(const BinParams& p, S32 index, Bounds& bounds) {
    const S32* v = p.triangles + index * 6;
#pragma unroll
    for (int i = 0; i < 3; i++) {
      x[i] = v[2 * i];
      y[i] = v[2 * i + 1];
    }
    bounds.loX = max(min(min(x[0], x[1]), x[2]) >> BIN_LOG2, 0);
    bounds.loY = max(min(min(y[0], y[1]), y[2]) >> BIN_LOG2, 0);
    bounds.hiX = min(max(max(x[0], x[1]), x[2]) >> BIN_LOG2, p.binsX - 1);
    bounds.hiY = min(max(max(y[0], y[1]), y[2]) >> BIN_LOG2, p.binsY - 1);
    const S64 area = S64(x[1] - x[0]) * (y[2] - y[0]) - S64(x[2] - x[0]) * (y[1] - y[0]);
    if (area < 0) {
      const S32 tx = x[1], ty = y[1];
      x[1] = x[2], y[1] = y[2];
      x[2] = tx, y[2] = ty;
    }
    return area != 0 && bounds.loX <= bounds.hiX && bounds.loY <= bounds.hiY;
  }

  // No edge has the whole bin outside.
  __device__ __inline__ bool touches(S32 binX, S32 binY) const {
    const S32 left = binX << BIN_LOG2, top = binY << BIN_LOG2, size = 1 << BIN_LOG2;
#pragma unroll
    for (int i = 0; i < 3; i++) {
      const int j = i == 2 ? 0 : i + 1;
      const S32 dx = x[j] - x[i], dy = y[j] - y[i];
      // The corner that is farthest inside.
      const S32 cx = dy < 0 ? left + size : left, cy = dx > 0 ? top + size : top;
      if (S64(dx) * (cy - y[i]) - S64(dy) * (cx - x[i]) < 0) return false;
    }
    return true;
  }
};

__global__ void __launch_bounds__(BIN_BATCH, 1) binRasterKernel(const BinParams p) {
  __shared__ volatile S32 s_broadcast[BIN_WARPS + 1];
  __shared__ S32 s_queue[2 * BIN_BATCH];
  __shared__ U32 s_outMask[BIN_WARPS][MAX_BINS];
  __shared__ unsigned short s_before[BIN_WARPS][MAX_BINS];
  __shared__ S32 s_fill[MAX_BINS];      // triangles in the list before this batch
  __shared__ S32 s_segment[MAX_BINS];   // the list's last segment before this batch
  __shared__ S32 s_fresh[MAX_BINS];     // the first segment that this batch adds
  __shared__ S32 s_chunk;

  const S32 lane = threadIdx.x, warp = threadIdx.y;
  const S32 thrInBlock = threadIdx.x + threadIdx.y * 32;
  const S32 numBins = p.binsX * p.binsY;

  for (;;) {
    if (thrInBlock == 0) s_chunk = atomicAdd(p.nextChunk, 1);
    __syncthreads();
    const S32 chunk = s_chunk;
    if (chunk >= p.numChunks) break;
    S32 input = chunk * CHUNK;
    const S32 inputEnd = min(input + CHUNK, p.numTriangles);
    S32 queued = 0, head = 0;
    if (thrInBlock < numBins) {
      s_fill[thrInBlock] = 0;
      s_segment[thrInBlock] = -1;
    }
    __syncthreads();

    do {
      // Read until there is a batch, or nothing more.
      while (queued < BIN_BATCH && input < inputEnd) {
        Triangle tri;
        Bounds bounds;
        const bool seen = input + thrInBlock < inputEnd && tri.setup(p, input + thrInBlock, bounds);
        const U32 seenMask = __ballot_sync(~0u, seen);
        const S32 total = prefixOfWarps(__popc(seenMask), s_broadcast);
        if (seen) {
          const S32 at = head + queued + s_broadcast[warp] + __popc(seenMask & getLaneMaskLt());
          s_queue[at & (2 * BIN_BATCH - 1)] = input + thrInBlock;
        }
        queued += total;
        input += BIN_BATCH;
        __syncthreads();
      }

      const S32 taken = min(queued, S32(BIN_BATCH));
      for (S32 i = thrInBlock; i < BIN_WARPS * MAX_BINS; i += BIN_BATCH) (&s_outMask[0][0])[i] = 0;
      __syncthreads();

      // One triangle to a thread. A thread looks at four bins itself; a triangle of more bins is for the whole warp.
      Triangle tri;
      Bounds bounds = {0, 0, -1, -1};
      const bool has = thrInBlock < taken;
      const S32 triangle = has ? s_queue[(head + thrInBlock) & (2 * BIN_BATCH - 1)] : -1;
      if (has) tri.setup(p, triangle, bounds);
      if (__any_sync(~0u, has)) {
        const bool large = has && bounds.size() > 4;
        if (has && !large) {
          for (S32 y = bounds.loY; y <= bounds.hiY; y++)
            for (S32 x = bounds.loX; x <= bounds.hiX; x++)
              if (tri.touches(x, y)) atomicOr(&s_outMask[warp][x + y * p.binsX], 1u << lane);
        }
        __syncwarp();
        for (U32 todo = __ballot_sync(~0u, large); todo != 0; todo &= todo - 1) {
          const S32 owner = __ffs(todo) - 1;
          Triangle its;
          for (int i = 0; i < 3; i++) {
            its.x[i] = __shfl_sync(~0u, tri.x[i], owner);
            its.y[i] = __shfl_sync(~0u, tri.y[i], owner);
          }
          const S32 loX = __shfl_sync(~0u, bounds.loX, owner), loY = __shfl_sync(~0u, bounds.loY, owner);
          const S32 width = __shfl_sync(~0u, bounds.width(), owner), size = __shfl_sync(~0u, bounds.size(), owner);
          // Each bin has one lane that looks at it: no atomics.
          for (S32 i = lane; i < size; i += 32) {
            const S32 x = loX + i % width, y = loY + i / width;
            if (its.touches(x, y)) s_outMask[warp][x + y * p.binsX] |= 1u << owner;
          }
          __syncwarp();
        }
      }
      __syncthreads();

      // One bin to a thread: how many triangles it gets, and of which warp.
      S32 added = 0, fill = 0, fresh = 0;
      if (thrInBlock < numBins) {
        for (S32 w = 0; w < BIN_WARPS; w++) {
          s_before[w][thrInBlock] = static_cast<unsigned short>(added);
          added += __popc(s_outMask[w][thrInBlock]);
        }
        fill = s_fill[thrInBlock];
        fresh = divUp(fill + added, SEGMENT) - divUp(fill, SEGMENT);
      }
      // All segments of the block at once, and each bin's share of them.
      const S32 freshBefore = scanWarp(fresh) - fresh;
      const S32 freshOfBlock = prefixOfWarps(__shfl_sync(~0u, freshBefore + fresh, 31), s_broadcast);
      const S32 share = s_broadcast[warp] + freshBefore;
      __syncthreads();
      if (thrInBlock == 0) s_broadcast[BIN_WARPS] = freshOfBlock ? atomicAdd(p.numSegments, freshOfBlock) : 0;
      __syncthreads();
      const S32 base = s_broadcast[BIN_WARPS];
      if (base + freshOfBlock > p.maxSegments) return;  // the whole block; the caller sees that there was no room
      if (fresh > 0) {
        const S32 segment = base + share;
        const S32 last = s_segment[thrInBlock];
        if (last < 0) p.first[chunk * numBins + thrInBlock] = segment;
        else p.next[last] = segment;
        for (S32 i = 0; i < fresh; i++) p.next[segment + i] = i + 1 < fresh ? segment + i + 1 : -1;
        s_fresh[thrInBlock] = segment;
      }
      __syncthreads();

      // One triangle to a thread again: to all bins that it touches.
      for (S32 y = bounds.loY; y <= bounds.hiY; y++) {
        for (S32 x = bounds.loX; x <= bounds.hiX; x++) {
          const S32 bin = x + y * p.binsX;
          const U32 mask = s_outMask[warp][bin];
          if (!((mask >> lane) & 1)) continue;
          const S32 old = s_fill[bin];
          const S32 at = old + s_before[warp][bin] + __popc(mask & getLaneMaskLt());
          const S32 ordinal = at / SEGMENT - divUp(old, SEGMENT);
          const S32 segment = ordinal < 0 ? s_segment[bin] : s_fresh[bin] + ordinal;
          p.segments[segment * SEGMENT + at % SEGMENT] = triangle;
        }
      }
      __syncthreads();
      if (thrInBlock < numBins) {
        s_fill[thrInBlock] = fill + added;
        if (fresh > 0) s_segment[thrInBlock] = s_fresh[thrInBlock] + fresh - 1;
      }
      queued -= taken;
      head = (head + taken) & (2 * BIN_BATCH - 1);
      __syncthreads();
    } while (queued > 0 || input < inputEnd);

    if (thrInBlock < numBins) p.counts[chunk * numBins + thrInBlock] = s_fill[thrInBlock];
  }
}

}  // namespace

cudaError_t launchBinRaster(const BinParams& params, S32 numBlocks, cudaStream_t stream) {
  const dim3 block(32, BIN_WARPS);
  void* args[] = {const_cast<BinParams*>(&params)};
  return cudaLaunchKernel((void*)binRasterKernel, dim3(numBlocks), block, args, 0, stream);
}
