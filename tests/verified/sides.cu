// SPDX-License-Identifier: Apache-2.0
// Functions of host and device that do something else on each side, called on both.
#include <cstdio>

#define BOTH __host__ __device__

template <typename T>
BOTH constexpr T pick(T ofDevice, T ofHost) {
#ifdef __CUDA_ARCH__
  return ofDevice;  // the device's
#else
  return ofHost;
#endif
}

struct Counter {
  int count;
  BOTH void add(int n) {
#if defined(__CUDA_ARCH__)
    atomicAdd(&count, n);
#else
    const char* twice = "// no comment";
    count += twice[0] == '/' ? 2 * n : n;
#endif
  }
};

BOTH int lanes() {
#ifdef __CUDA_ARCH__
  const int n = 32;
#else
#ifdef NEVER
  const int n = 7;
#else
  const int n = 1;
#endif
#endif
  return 3 * n;
}

template <typename F>
__global__ void run(F f, int* out) {
  out[threadIdx.x] = f(threadIdx.x);
}
__global__ void kernel(Counter* counter, int* out) {
  counter->add(1);
  out[threadIdx.x] = 1000 * pick(1, 2) + lanes();
}

int main() {
  Counter* counter;
  int* out;
  cudaMallocManaged(&counter, sizeof *counter);
  cudaMallocManaged(&out, 64 * sizeof(int));
  counter->count = 0;
  kernel<<<1, 64>>>(counter, out);
  cudaDeviceSynchronize();
  int wrong = counter->count != 64;
  for (int i = 0; i < 64; ++i) wrong += out[i] != 1096;
  counter->add(3);
  wrong += counter->count != 70;
  static_assert(pick(3, 4) == 4, "worked out by the compiler");
  wrong += pick(1, 2) != 2;
  wrong += lanes() != 3;
  auto sign = [] __host__ __device__(int i) -> int {
#ifdef __CUDA_ARCH__
    return i;
#else
    return -i;
#endif
  };
  run<<<1, 64>>>(sign, out);
  cudaDeviceSynchronize();
  for (int i = 0; i < 64; ++i) wrong += out[i] != i;
  wrong += sign(5) != -5;
  std::printf("%d wrong\n", wrong);
  return wrong != 0;
}
