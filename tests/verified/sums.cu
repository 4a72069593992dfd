// SPDX-License-Identifier: Apache-2.0
// A program with a check of its own, for tests of verification: sums of warps, their number and size from the arguments.
#include <cstdio>
#include <cstdlib>
#include <ctime>

__global__ void sums(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = i >> 5;
  float sum = i < n ? x[i] : 0;
  for (int lanes = 16; lanes > 0; lanes >>= 1) sum += __shfl_down_sync(0xffffffff, sum, lanes);
  const unsigned positive = __ballot_sync(0xffffffff, i < n && x[i] > 0);
  if (lane == 0) {
    out[2 * warp] = sum;
    out[2 * warp + 1] = __popc(positive);
  }
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 1000, warps = (n + 31) / 32, blocks = (n + 127) / 128;
  float *x, *out, *host = new float[n + 1], *result = new float[8 * blocks];
  for (int i = 0; i < n; ++i) host[i] = (i % 7 - 3) * 0.37f;
  cudaMalloc(&x, (n + 1) * sizeof(float));
  cudaMalloc(&out, 8 * blocks * sizeof(float));
  cudaMemcpy(x, host, (n + 1) * sizeof(float), cudaMemcpyHostToDevice);
  const std::clock_t start = std::clock();
  sums<<<blocks, 128>>>(x, out, n);
  cudaDeviceSynchronize();
  std::printf("kernel time: %f s\n", double(std::clock() - start) / CLOCKS_PER_SEC);
  cudaMemcpy(result, out, 8 * blocks * sizeof(float), cudaMemcpyDeviceToHost);
  bool right = true;
  double total = 0;
  for (int w = 0; w < warps; ++w) {
    double sum = 0;
    int positive = 0;
    for (int i = 32 * w; i < 32 * w + 32 && i < n; ++i) {
      sum += host[i];
      positive += host[i] > 0;
    }
    total += result[2 * w];
    if (result[2 * w] - sum > 1e-4 || sum - result[2 * w] > 1e-4 || result[2 * w + 1] != positive) right = false;
  }
  std::printf("total %.4f\n%s\n", total, right ? "PASS" : "FAIL");
  return right ? 0 : 1;
}
