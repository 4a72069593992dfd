// SPDX-License-Identifier: Apache-2.0
//
// Attributes of a pixel's triangle, with perspective, and what their gradients are.

#include "raster.hpp"

// A pixel and its triangle's corners: each moved by w times the pixel's place, so that the pixel is where x and y are zero.
template <typename T>
struct Pixel {
  S32 vertex[3];
  T fx, fy;
  T x[3], y[3];
  T weight[3], inverse;  // of the corners; 1 / the sum of what they were before they were divided by it

  __device__ __forceinline__ Pixel(const InterpolateParams<T>& p, S32 px, S32 py, S32 triangle) {
    fx = T(2 * px + 1) / T(p.width) - T(1);
    fy = T(2 * py + 1) / T(p.height) - T(1);
    for (S32 i = 0; i < 3; i++) {
      vertex[i] = p.triangles[3 * triangle + i];
      const T* v = p.vertices + 4 * vertex[i];
      x[i] = v[0] - fx * v[3];
      y[i] = v[1] - fy * v[3];
    }
    T sum = 0;
    for (S32 i = 0; i < 3; i++) {
      const S32 j = (i + 1) % 3, k = (i + 2) % 3;
      weight[i] = x[j] * y[k] - y[j] * x[k];
      sum += weight[i];
    }
    inverse = T(1) / sum;
    for (S32 i = 0; i < 3; i++) weight[i] *= inverse;
  }
};

template <typename T>
__global__ void interpolateFwdKernel(const InterpolateParams<T> p) {
  const S32 px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= p.width || py >= p.height) return;
  const S32 at = px + py * p.width;
  const S32 triangle = p.ids[at];
  T* out = p.out + S64(at) * p.numAttributes;
  if (triangle < 0) {
    for (S32 a = 0; a < p.numAttributes; a++) out[a] = T(0);
    return;
  }
  const Pixel<T> pixel(p, px, py, triangle);
  for (S32 a = 0; a < p.numAttributes; a++) {
    T value = 0;
    for (S32 i = 0; i < 3; i++) value += pixel.weight[i] * p.attributes[S64(pixel.vertex[i]) * p.numAttributes + a];
    out[a] = value;
  }
}

// The sum over a warp, for all of its lanes.
template <typename T>
static __device__ __forceinline__ T sumOfWarp(T value) {
  for (S32 mask = 16; mask > 0; mask >>= 1) value += __shfl_xor_sync(~0u, value, mask);
  return value;
}

// A warp has 32 pixels of a row, most of them of few triangles: what it adds to one of them is one atomic for each number.
template <typename T>
__global__ void interpolateBwdKernel(const InterpolateParams<T> p) {
  const S32 px = blockIdx.x * 32 + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  const S32 lane = threadIdx.x;
  const bool inImage = px < p.width && py < p.height;
  const S32 at = px + py * p.width;
  const S32 triangle = inImage ? p.ids[at] : -1;

  for (U32 todo = __ballot_sync(~0u, triangle >= 0); todo != 0;) {
    const S32 leader = __ffs(todo) - 1;
    const S32 its = __shfl_sync(~0u, triangle, leader);
    const bool mine = triangle == its;
    todo &= ~__ballot_sync(~0u, mine);

    const Pixel<T> pixel(p, min(px, p.width - 1), min(py, p.height - 1), its);
    T dWeight[3] = {0, 0, 0};
    for (S32 a = 0; a < p.numAttributes; a++) {
      const T d = mine ? p.dOut[S64(at) * p.numAttributes + a] : T(0);
      for (S32 i = 0; i < 3; i++) {
        dWeight[i] += d * p.attributes[S64(pixel.vertex[i]) * p.numAttributes + a];
        const T sum = sumOfWarp(mine ? d * pixel.weight[i] : T(0));
        if (lane == leader) atomicAdd(p.dAttributes + S64(pixel.vertex[i]) * p.numAttributes + a, sum);
      }
    }

    const T along = dWeight[0] * pixel.weight[0] + dWeight[1] * pixel.weight[1] + dWeight[2] * pixel.weight[2];
    T dX[3] = {0, 0, 0}, dY[3] = {0, 0, 0};
    for (S32 i = 0; i < 3; i++) {
      const S32 j = (i + 1) % 3, k = (i + 2) % 3;
      const T d = (dWeight[i] - along) * pixel.inverse;
      dX[j] += d * pixel.y[k];
      dY[k] += d * pixel.x[j];
      dY[j] -= d * pixel.x[k];
      dX[k] -= d * pixel.y[j];
    }
    for (S32 i = 0; i < 3; i++) {
      const T x = sumOfWarp(mine ? dX[i] : T(0)), y = sumOfWarp(mine ? dY[i] : T(0));
      const T w = sumOfWarp(mine ? -pixel.fx * dX[i] - pixel.fy * dY[i] : T(0));
      if (lane == leader) {
        T* d = p.dVertices + 4 * pixel.vertex[i];
        atomicAdd(d, x);
        atomicAdd(d + 1, y);
        atomicAdd(d + 3, w);
      }
    }
  }
}

template <typename T>
cudaError_t launchInterpolate(const InterpolateParams<T>& p, bool backward, cudaStream_t stream) {
  const dim3 block(32, 4);
  const dim3 grid((p.width + block.x - 1) / block.x, (p.height + block.y - 1) / block.y);
  if (backward)
    interpolateBwdKernel<T><<<grid, block, 0, stream>>>(p);
  else
    interpolateFwdKernel<T><<<grid, block, 0, stream>>>(p);
  return cudaGetLastError();
}

template cudaError_t launchInterpolate<float>(const InterpolateParams<float>&, bool, cudaStream_t);
template cudaError_t launchInterpolate<double>(const InterpolateParams<double>&, bool, cudaStream_t);
