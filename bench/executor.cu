// SPDX-License-Identifier: Apache-2.0
// Three kernels that stress what an executor does most: threads that never wait, barriers, and shuffles; and plain loops
// that compute the same. Prints the best CPU time of several runs of each, in milliseconds, and checks the results.
#include <cuda_runtime.h>
#include <time.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int tile = 16;

__global__ void saxpy(float a, const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float as[tile][tile], bs[tile][tile];
  const int column = blockIdx.x * tile + threadIdx.x, row = blockIdx.y * tile + threadIdx.y;
  float sum = 0;
  for (int t = 0; t < n; t += tile) {
    as[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < tile; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

__global__ void reduce(const float* x, float* sums, int n) {
  __shared__ float warps[32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  float sum = i < n ? x[i] : 0;
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lanes);
  if (lane == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lanes);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  }
}

static double cpu() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e3 * t.tv_sec + 1e-6 * t.tv_nsec;
}

template <typename F>
static double best(int runs, F f) {
  double least = 1e30;
  for (int i = 0; i < runs; ++i) {
    const double start = cpu();
    f();
    cudaDeviceSynchronize();
    const double took = cpu() - start;
    if (took < least) least = took;
  }
  return least;
}

static void check(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "%s: wrong\n", what);
  std::exit(1);
}

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 5, size = argc > 2 ? std::atoi(argv[2]) : 1024;
  const int n = 1 << 20, block = 256;
  float *x, *y, *c;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  cudaMalloc(&c, size * size * sizeof(float));
  std::vector<float> host(n), result(n);
  for (int i = 0; i < n; ++i) host[i] = float(i % 13) - 6;
  cudaMemcpy(x, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(y, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);

  std::printf("saxpy %.3f\n", best(runs, [&] { saxpy<<<n / block, block>>>(1, x, y, n); }));
  cudaMemcpy(result.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) check(result[i] == (runs + 1) * host[i], "saxpy");
  std::printf("saxpy-loop %.3f\n", best(runs, [&] {
                for (int i = 0; i < n; ++i) result[i] = host[i] + result[i];
                asm volatile("" ::: "memory");
              }));

  std::printf("reduce %.3f\n", best(runs, [&] { reduce<<<n / block, block>>>(x, y, n); }));
  cudaMemcpy(result.data(), y, n / block * sizeof(float), cudaMemcpyDeviceToHost);
  for (int b = 0; b < n / block; ++b) {
    float sum = 0;
    for (int i = 0; i < block; ++i) sum += host[b * block + i];
    check(sum == result[b], "reduce");
  }
  std::printf("reduce-loop %.3f\n", best(runs, [&] {
                for (int b = 0; b < n / block; ++b) {
                  float sum = 0;
                  for (int i = 0; i < block; ++i) sum += host[b * block + i];
                  result[b] = sum;
                }
                asm volatile("" ::: "memory");
              }));

  const dim3 grid(size / tile, size / tile);
  std::printf("matmul %.3f\n", best(runs < 2 ? runs : 2, [&] { matmul<<<grid, dim3(tile, tile)>>>(x, x, c, size); }));
  std::vector<float> product(size * size), expected(size * size);
  cudaMemcpy(product.data(), c, product.size() * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("matmul-loop %.3f\n", best(1, [&] {
                for (int r = 0; r < size; ++r) {
                  for (int k = 0; k < size; ++k) {
                    const float a = host[r * size + k];
                    for (int j = 0; j < size; ++j) expected[r * size + j] += a * host[k * size + j];
                  }
                }
              }));
  for (int i = 0; i < size * size; ++i) check(product[i] == expected[i], "matmul");
  return 0;
}
