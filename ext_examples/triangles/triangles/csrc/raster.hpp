// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

typedef int S32;
typedef unsigned int U32;
typedef long long S64;
typedef unsigned long long U64;

enum {
  SUBPIXEL_LOG2 = 4,    // a pixel is 16 units wide and high
  TILE_LOG2 = 3,        // a tile is 8 × 8 pixels, one bit of 64 to each
  TILE_SIZE = 1 << TILE_LOG2,
  BIN_LOG2 = 5,         // a bin is 4 × 4 tiles, one warp of 16 to each
  BIN_SIZE = 1 << BIN_LOG2,
  BIN_TILES = 1 << (BIN_LOG2 - TILE_LOG2),
  MAX_SIZE = 512,       // of an image
  GUARD = 1 << 13,      // pixels from the middle of the image within which corners must be
  DEPTH_BITS = 24,
  WARPS = 16,           // a block of the first stages is 32 lanes wide and 16 warps high
  BATCH = 32 * WARPS,   // triangles that it takes at a time, one to a thread
  FINE_WARPS = 4
};

// What stands for a triangle after its setup: oriented so that its area is positive.
struct Setup {
  S32 x[3], y[3];
  U32 z[3];
  short loX, loY, hiX, hiY;  // the pixels whose centers may be inside
};

struct RasterParams {
  const float4* vertices;  // in clip space
  const S32* triangles;    // three vertices each
  S32 numTriangles, numVertices;
  S32 width, height;
  S32 binsX, binsY, tilesX, tilesY;
  S32 numChunks;           // batches of triangles

  Setup* setups;
  U32* visible;            // one bit for each triangle
  S32* binCounts;          // for each chunk and bin: how many triangles,
  S32* binLists;           // and which, in room for BATCH
  S32* tileCounts;
  S32* tileStarts;         // one more than there are tiles
  S32* tileLists;
  S32* nextTile;           // that no warp has taken yet

  S32* ids;                // height × width: the triangle, or -1
  float* depth;            // from 0 to 1
};

template <typename T>
struct InterpolateParams {
  const T* vertices;    // 4 each, in clip space
  const T* attributes;  // numAttributes each
  const S32* triangles;
  const S32* ids;
  S32 width, height, numAttributes;
  T* out;               // height × width × numAttributes
  const T* dOut;
  T* dVertices;
  T* dAttributes;
};

cudaError_t launchBinning(const RasterParams& p, cudaStream_t stream);  // up to tileStarts
cudaError_t launchTiles(const RasterParams& p, S32 numBlocks, cudaStream_t stream);
template <typename T>
cudaError_t launchInterpolate(const InterpolateParams<T>& p, bool backward, cudaStream_t stream);
