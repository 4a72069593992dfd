// SPDX-License-Identifier: Apache-2.0
// Counts by atomics from many blocks, and what lanes find that come together: for tests of the executor's settings.
#include <cstdio>

__global__ void count(unsigned* bins, double* total, int n) {
  __shared__ unsigned local[16];
  if (threadIdx.x < 16) local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&local[i * 7 % 16], 1u);
    if (i % 1000 == 0) atomicAdd(total, double(i));
  }
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__global__ void together(unsigned* masks) {
  if (threadIdx.x % 2) masks[threadIdx.x] = __activemask();
}

int main() {
  unsigned *bins, *masks, host[16], found[32];
  double *total, sum;
  cudaMalloc(&bins, sizeof host);
  cudaMalloc(&masks, sizeof found);
  cudaMalloc(&total, sizeof sum);
  cudaMemset(bins, 0, sizeof host);
  cudaMemset(masks, 0, sizeof found);
  cudaMemset(total, 0, sizeof sum);
  count<<<40, 96>>>(bins, total, 100000);
  together<<<1, 32>>>(masks);
  cudaMemcpy(host, bins, sizeof host, cudaMemcpyDeviceToHost);
  cudaMemcpy(found, masks, sizeof found, cudaMemcpyDeviceToHost);
  cudaMemcpy(&sum, total, sizeof sum, cudaMemcpyDeviceToHost);
  for (unsigned bin : host) std::printf("%u ", bin);
  std::printf("\n%.0f\n%x %x\n", sum, found[1], found[31]);
  return 0;
}
