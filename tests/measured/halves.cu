// SPDX-License-Identifier: Apache-2.0
// Halves: two at a time, and their sum in each warp.
#include <cuda_fp16.h>
#include "shown.h"

__global__ void axpy(const float* x, const float* y, float* out, float* sums, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  __half2 value = __floats2half2_rn(0.0f, 0.0f);
  if (i < n) {
    value = __hfma2(__floats2half2_rn(x[2 * i], x[2 * i + 1]), __float2half2_rn(1.5f),
                    __floats2half2_rn(y[2 * i], y[2 * i + 1]));
    out[2 * i] = __low2float(value);
    out[2 * i + 1] = __high2float(value);
  }
  float sum = __low2float(value) + __high2float(value);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  if (lane == 0) sums[i / 32] = sum;
}

int main() {
  const int n = 100;
  float *out = room<float>(2 * n), *sums = room<float>(4);
  axpy<<<(n + 63) / 64, 64>>>(up(fractions(2 * n)), up(fractions(2 * n, 7)), out, sums, n);
  show("values", down(out, 2 * n));
  show("sums", down(sums, 4));
}
