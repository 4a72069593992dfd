// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "config.h"
#include "rasterizer.h"
#include "vec.h"

namespace splat {

// In debug mode each launch is waited for, so that what fails is what is named.
#define CHECK_CUDA(CALL, debug)                                                                               \
  do {                                                                                                        \
    CALL;                                                                                                     \
    cudaError_t status_ = cudaGetLastError();                                                                 \
    if (status_ == cudaSuccess && (debug)) status_ = cudaDeviceSynchronize();                                 \
    if (status_ != cudaSuccess)                                                                               \
      throw std::runtime_error(std::string(__FILE__) + ":" + std::to_string(__LINE__) + ": " #CALL ": " +     \
                               cudaGetErrorString(status_));                                                  \
  } while (0)

// Hands out aligned parts of one buffer; without one it only counts.
class Carver {
 public:
  explicit Carver(char* base) : start_(reinterpret_cast<uintptr_t>(base)), at_(start_) {}

  template <typename X>
  void take(X*& part, size_t count) {
    at_ = (at_ + kAlign - 1) / kAlign * kAlign;
    part = reinterpret_cast<X*>(at_);
    at_ += count * sizeof(X);
  }
  // Room for the first alignment too.
  size_t bytes() const { return at_ - start_ + kAlign; }

 private:
  static constexpr uintptr_t kAlign = 128;
  uintptr_t start_, at_;
};

template <typename T>
struct GeometryState {
  T* depths;
  Vec2<T>* means2D;
  Vec4<T>* conicOpacity;
  uint32_t* tilesTouched;
  uint32_t* offsets;
  char* scanSpace;
  size_t scanBytes;

  GeometryState(Carver& carver, size_t P);
};

struct BinningState {
  uint64_t *keys, *keysUnsorted;
  uint32_t *list, *listUnsorted;
  char* sortSpace;
  size_t sortBytes;

  BinningState(Carver& carver, size_t pairs);
};

template <typename T>
struct ImageState {
  uint2* ranges;
  uint32_t* last;
  T* finalT;

  ImageState(Carver& carver, size_t tiles, size_t pixels) {
    carver.take(ranges, tiles);
    carver.take(last, pixels);
    carver.take(finalT, pixels);
  }
};

template <typename State, typename... Sizes>
size_t required(Sizes... sizes) {
  Carver carver(nullptr);
  State state(carver, sizes...);
  (void)state;
  return carver.bytes();
}

inline dim3 tileGrid(int width, int height) {
  return dim3((width + BLOCK_X - 1) / BLOCK_X, (height + BLOCK_Y - 1) / BLOCK_Y, 1);
}

namespace forward {
template <typename T>
void preprocess(const Camera<T>& camera, const Scene<T>& scene, int* radii, const GeometryState<T>& geometry, dim3 grid,
                cudaStream_t stream);
template <typename T>
void render(dim3 grid, dim3 block, const Camera<T>& camera, const Scene<T>& scene, const uint32_t* list,
            const GeometryState<T>& geometry, const ImageState<T>& state, const Image<T>& out, cudaStream_t stream);
}  // namespace forward

namespace backward {
template <typename T>
void render(dim3 grid, dim3 block, const Camera<T>& camera, const Scene<T>& scene, const uint32_t* list,
            const GeometryState<T>& geometry, const ImageState<T>& state, const Gradients<T>& gradients, cudaStream_t stream);
template <typename T>
void preprocess(const Camera<T>& camera, const Scene<T>& scene, const int* radii, const Gradients<T>& gradients,
                cudaStream_t stream);
}  // namespace backward

}  // namespace splat
