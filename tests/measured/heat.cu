// SPDX-License-Identifier: Apache-2.0
// Steps of the heat equation on a plane.
#include <utility>
#include "shown.h"

__global__ void step(const float* from, float* to, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) {
    const int i = y * width + x;
    const bool inside = x > 0 && y > 0 && x + 1 < width && y + 1 < height;
    to[i] = inside ? from[i] + 0.2f * (from[i - 1] + from[i + 1] + from[i - width] + from[i + width] - 4 * from[i])
                   : from[i];
  }
}

int main() {
  const int width = 21, height = 13;
  float *from = up(fractions(width * height)), *to = room<float>(width * height);
  const dim3 block(16, 8), grid((width + 15) / 16, (height + 7) / 8);
  for (int i = 0; i < 7; ++i) {
    step<<<grid, block>>>(from, to, width, height);
    std::swap(from, to);
  }
  show("heat", down(from, width * height));
}
