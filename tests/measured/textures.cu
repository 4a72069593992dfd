// SPDX-License-Identifier: Apache-2.0
// A table read through a texture.
#include "shown.h"

__global__ void look_up(cudaTextureObject_t table, const int* where, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex1Dfetch<float>(table, where[i]) + tex1Dfetch<float>(table, 0);
}

int main() {
  const int n = 120, size = 50;
  float *values = up(fractions(size)), *out = room<float>(n);
  cudaResourceDesc from = {};
  from.resType = cudaResourceTypeLinear;
  from.res.linear.devPtr = values;
  from.res.linear.desc = cudaCreateChannelDesc<float>();
  from.res.linear.sizeInBytes = 200;
  cudaTextureDesc how = {};
  how.readMode = cudaReadModeElementType;
  cudaTextureObject_t table = 0;
  check(cudaCreateTextureObject(&table, &from, &how, nullptr));
  look_up<<<(n + 63) / 64, 64>>>(table, up(some(n, size)), out, n);
  show("values", down(out, n));
}
