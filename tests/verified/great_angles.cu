// SPDX-License-Identifier: Apache-2.0
// Approximated sines of angles beyond the 256 turns that AMD's instruction takes.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>

__global__ void turn(float *sines, float *others, const float *angles) {
  float sine, cosine;
  __sincosf(angles[threadIdx.x], &sine, &cosine);
  sines[threadIdx.x] = __sinf(angles[threadIdx.x]) / 2 + sine / 2;
  others[threadIdx.x] = __cosf(angles[threadIdx.x]) + cosine + __tanf(angles[threadIdx.x]);
}

int main() {
  const float given[] = {0, 1, -3, 1599, 1601, -2000, 5000, 10000};
  const int n = sizeof(given) / sizeof(*given);
  float *sines, *others, *angles;
  cudaMallocManaged(&sines, sizeof(given));
  cudaMallocManaged(&others, sizeof(given));
  cudaMallocManaged(&angles, sizeof(given));
  for (int i = 0; i < n; i++) angles[i] = given[i];
  turn<<<1, n>>>(sines, others, angles);
  cudaDeviceSynchronize();
  int wrong = 0;
  for (int i = 0; i < n; i++) {
    printf("%g %g\n", sines[i], others[i]);
    wrong += !(std::fabs(sines[i] - std::sin(given[i])) < 1e-2f);
  }
  return wrong;
}
