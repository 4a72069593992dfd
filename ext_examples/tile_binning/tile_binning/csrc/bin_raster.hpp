// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

typedef int S32;
typedef unsigned int U32;
typedef long long S64;

enum {
  BIN_LOG2 = 8,         // a bin is 256 units wide and high, 16 pixels of 16 units
  MAX_BINS = 256,       // at most so many bins in an image
  BIN_WARPS = 16,       // a block is 32 lanes wide and 16 warps high
  BIN_BATCH = 32 * BIN_WARPS,
  CHUNK = 1300,         // triangles that one block takes at a time
  SEGMENT = 64          // triangles in a segment of a list
};

struct BinParams {
  const S32* triangles;  // x0 y0 x1 y1 x2 y2 for each
  S32 numTriangles;
  S32 binsX, binsY;
  S32 numChunks;
  S32* nextChunk;        // which chunk nobody has taken yet
  // For each chunk and bin a list of segments.
  S32* counts;           // triangles in the list
  S32* first;            // its first segment, or -1
  S32* segments;         // SEGMENT triangles each
  S32* next;             // the segment after this one, or -1
  S32* numSegments;      // more than maxSegments if there was no room
  S32 maxSegments;
};

cudaError_t launchBinRaster(const BinParams& params, S32 numBlocks, cudaStream_t stream);
