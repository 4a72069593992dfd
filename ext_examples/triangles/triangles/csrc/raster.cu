// SPDX-License-Identifier: Apache-2.0
//
// Triangles are set up in whole numbers, binned, sorted into tiles, and then drawn tile by tile. Which triangle a pixel has does
// not depend on the order in which anything runs.

#include "raster.hpp"
#include "util.inl"
#include "triangle_setup.inl"
#include "bin_raster.inl"
#include "coarse_raster.inl"
#include "fine_raster.inl"

cudaError_t launchBinning(const RasterParams& p, cudaStream_t stream) {
  const dim3 block(32, WARPS);
  void* args[] = {const_cast<RasterParams*>(&p)};
  cudaError_t err = cudaSuccess;
  if (p.numChunks > 0) {
    err = cudaLaunchKernel((void*)triangleSetupKernel, dim3(p.numChunks), block, args, 0, stream);
    if (err == cudaSuccess) err = cudaLaunchKernel((void*)binRasterKernel, dim3(p.numChunks), block, args, 0, stream);
  }
  if (err != cudaSuccess) return err;
  coarseRasterKernel<false><<<p.binsX * p.binsY, block, 0, stream>>>(p);
  tileStartsKernel<<<1, block, 0, stream>>>(p);
  return cudaGetLastError();
}

cudaError_t launchTiles(const RasterParams& p, S32 numBlocks, cudaStream_t stream) {
  coarseRasterKernel<true><<<p.binsX * p.binsY, dim3(32, WARPS), 0, stream>>>(p);
  fineRasterKernel<<<numBlocks, dim3(32, FINE_WARPS), 0, stream>>>(p);
  return cudaGetLastError();
}
