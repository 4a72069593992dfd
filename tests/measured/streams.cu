// SPDX-License-Identifier: Apache-2.0
// Two streams, one of which waits for the other, and copies beside kernels.
#include "shown.h"

__global__ void scale(int* x, int factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}
__global__ void add(const int* x, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += x[n - 1 - i];
}

int main() {
  const int n = 130;
  const std::vector<int> given = some(n, 100);
  int *x = room<int>(n), *y = up(some(n, 10, 3));
  cudaStream_t one, two;
  cudaEvent_t ready;
  check(cudaStreamCreate(&one));
  check(cudaStreamCreate(&two));
  check(cudaEventCreate(&ready));
  check(cudaMemcpyAsync(x, given.data(), 520, cudaMemcpyHostToDevice, one));
  scale<<<(n + 63) / 64, 64, 0, one>>>(x, 3, n);
  check(cudaEventRecord(ready, one));
  check(cudaStreamWaitEvent(two, ready, 0));
  add<<<(n + 63) / 64, 64, 0, two>>>(x, y, n);
  check(cudaStreamSynchronize(two));
  show("scaled", down(x, n));
  show("added", down(y, n));
}
