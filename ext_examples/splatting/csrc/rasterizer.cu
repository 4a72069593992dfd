// SPDX-License-Identifier: Apache-2.0
//
// Gaussians are projected, copied once for each tile that they touch, sorted by tile and depth, and blended tile by tile.

#include "cuda_runtime.h"
#include "device_launch_parameters.h"
#include <cub/cub.cuh>
#include <cub/device/device_radix_sort.cuh>
#define GLOBAL_RANK cg::this_grid().thread_rank()
#include <cooperative_groups.h>

// Behind CUB, which has names of its own that config.h defines.
#include "projection.cuh"

namespace cg = cooperative_groups;

namespace splat {

// One key for each tile that a Gaussian touches: the tile's number above the bits of the depth, which is positive, so that its
// bits are in the order of its values.
template <typename T>
__global__ void duplicateWithKeys(int P, const GeometryState<T> geometry, const int* __restrict__ radii, uint64_t* keys,
                                  uint32_t* values, dim3 grid) {
  auto idx = GLOBAL_RANK;
  if (idx >= P || radii[idx] == 0) return;
  uint32_t at = idx == 0 ? 0 : geometry.offsets[idx - 1];
  const float depth = static_cast<float>(geometry.depths[idx]);
  uint2 lo, hi;
  getRect(geometry.means2D[idx], radii[idx], lo, hi, grid);
  for (unsigned y = lo.y; y < hi.y; y++) {
    for (unsigned x = lo.x; x < hi.x; x++) {
      uint64_t key = y * grid.x + x;
      key <<= 32;
      key |= *((uint32_t*)&depth);
      keys[at] = key;
      values[at] = idx;
      at++;
    }
  }
}

// Where the tile changes in the sorted list, one range ends and another begins.
__global__ void identifyTileRanges(int pairs, const uint64_t* keys, uint2* ranges) {
  auto idx = GLOBAL_RANK;
  if (idx >= pairs) return;
  const uint32_t tile = keys[idx] >> 32;
  const uint32_t before = idx == 0 ? ~0u : static_cast<uint32_t>(keys[idx - 1] >> 32);
  if (tile != before) {
    ranges[tile].x = idx;
    if (idx > 0) ranges[before].y = idx;
  }
  if (idx == pairs - 1) ranges[tile].y = pairs;
}

template <typename T>
GeometryState<T>::GeometryState(Carver& carver, size_t P) {
  carver.take(depths, P);
  carver.take(means2D, P);
  carver.take(conicOpacity, P);
  carver.take(tilesTouched, P);
  carver.take(offsets, P);
  scanBytes = 0;
  cub::DeviceScan::InclusiveSum(nullptr, scanBytes, tilesTouched, offsets, static_cast<int>(P));
  carver.take(scanSpace, scanBytes);
}

BinningState::BinningState(Carver& carver, size_t pairs) {
  carver.take(keys, pairs);
  carver.take(keysUnsorted, pairs);
  carver.take(list, pairs);
  carver.take(listUnsorted, pairs);
  sortBytes = 0;
  cub::DeviceRadixSort::SortPairs(nullptr, sortBytes, keysUnsorted, keys, listUnsorted, list, static_cast<int>(pairs));
  carver.take(sortSpace, sortBytes);
}

namespace {

int bitsFor(unsigned count) {
  int bits = 0;
  while (bits < 32 && (count >> bits) != 0) bits++;
  return bits;
}

}  // namespace

template <typename T>
int rasterize(Alloc geometryAlloc, Alloc binningAlloc, Alloc imageAlloc, const Camera<T>& camera, const Scene<T>& scene,
              const Image<T>& out, cudaStream_t stream, bool debug) {
  const dim3 grid = tileGrid(camera.width, camera.height), block(BLOCK_X, BLOCK_Y, 1);
  const size_t tiles = grid.x * grid.y, pixels = static_cast<size_t>(camera.width) * camera.height;
  const int P = scene.P;

  Carver geometryCarver(geometryAlloc(required<GeometryState<T>>(P)));
  GeometryState<T> geometry(geometryCarver, P);
  Carver imageCarver(imageAlloc(required<ImageState<T>>(tiles, pixels)));
  ImageState<T> state(imageCarver, tiles, pixels);

  uint32_t pairs = 0;
  if (P > 0) {
    CHECK_CUDA(forward::preprocess(camera, scene, out.radii, geometry, grid, stream), debug);
    CHECK_CUDA(cub::DeviceScan::InclusiveSum(geometry.scanSpace, geometry.scanBytes, geometry.tilesTouched, geometry.offsets, P, stream),
               debug);
    CHECK_CUDA(cudaMemcpyAsync(&pairs, geometry.offsets + P - 1, sizeof(uint32_t), cudaMemcpyDeviceToHost, stream), debug);
    CHECK_CUDA(cudaStreamSynchronize(stream), debug);
  }

  Carver binningCarver(binningAlloc(required<BinningState>(static_cast<size_t>(pairs))));
  BinningState binning(binningCarver, pairs);
  CHECK_CUDA(cudaMemsetAsync(state.ranges, 0, tiles * sizeof(uint2), stream), debug);
  if (pairs > 0) {
    duplicateWithKeys << <(P + 255) / 256, 256, 0, stream >> > (
      P, geometry, out.radii, binning.keysUnsorted, binning.listUnsorted, grid);
    CHECK_CUDA(, debug);
    const int bits = 32 + bitsFor(grid.x * grid.y);
    CHECK_CUDA(cub::DeviceRadixSort::SortPairs(
      binning.sortSpace, binning.sortBytes, binning.keysUnsorted, binning.keys, binning.listUnsorted, binning.list,
      static_cast<int>(pairs), 0, bits, stream), debug);
    identifyTileRanges << <(pairs + 255) / 256, 256, 0, stream >> > (pairs, binning.keys, state.ranges);
    CHECK_CUDA(, debug);
  }
  CHECK_CUDA(forward::render(grid, block, camera, scene, binning.list, geometry, state, out, stream), debug);
  return pairs;
}

template <typename T>
void rasterizeBackward(char* geometryBuffer, char* binningBuffer, char* imageBuffer, int pairs, const Camera<T>& camera,
                       const Scene<T>& scene, const int* radii, const Gradients<T>& gradients, cudaStream_t stream, bool debug) {
  if (pairs == 0) return;
  const dim3 grid = tileGrid(camera.width, camera.height), block(BLOCK_X, BLOCK_Y, 1);
  Carver geometryCarver(geometryBuffer), binningCarver(binningBuffer), imageCarver(imageBuffer);
  GeometryState<T> geometry(geometryCarver, scene.P);
  BinningState binning(binningCarver, pairs);
  ImageState<T> state(imageCarver, grid.x * grid.y, static_cast<size_t>(camera.width) * camera.height);
  CHECK_CUDA(backward::render(grid, block, camera, scene, binning.list, geometry, state, gradients, stream), debug);
  CHECK_CUDA(backward::preprocess(camera, scene, radii, gradients, stream), debug);
}

#define INSTANTIATE(T)                                                                                                         \
  template int rasterize<T>(Alloc, Alloc, Alloc, const Camera<T>&, const Scene<T>&, const Image<T>&, cudaStream_t, bool);       \
  template void rasterizeBackward<T>(char*, char*, char*, int, const Camera<T>&, const Scene<T>&, const int*,                  \
                                     const Gradients<T>&, cudaStream_t, bool);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace splat
