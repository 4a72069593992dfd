// SPDX-License-Identifier: Apache-2.0
// Launches and shared memory in every form, for tests/test_simt_compile.py.
#include <cstdio>
#include <map>
#include <type_traits>

#define LOCAL __shared__
#define DECLARE(T, name, n) __shared__ T name[n]
#define GO(kernel, ...) kernel<<<1, 4, 64>>>(__VA_ARGS__)

extern __shared__ int of_file[];
__constant__ int scale = 3;
__device__ int counter;
__shared__ int own[4];

template <typename T>
struct SharedMemory {
  __device__ operator T*() {
    extern __shared__ int bytes[];
    return (T*)bytes;
  }
  __device__ operator const T*() const {
    extern __shared__ int bytes[];
    return (T*)bytes;
  }
};

struct Holder {
  int value[2];
  __device__ Holder() {}
};

template <typename T, int N>
__device__ T reversed(T mine) {
  __shared__ T kept[N];
  kept[threadIdx.x] = mine;
  __syncthreads();
  T other = kept[N - 1 - threadIdx.x];
  __syncthreads();
  return other;
}

template <typename T>
__global__ void all_forms(T* out, const T* null) {
  LOCAL float a[4], b;
  static __shared__ T c[2][2];
  volatile __shared__ int d;
  __shared__ __align__(64) char e[5];
  __shared__ struct { int x; float y[2]; } f;
  __shared__ union { int as_int; float as_float; } g[2], h;
  __shared__ T *p, (*q)[2];
  DECLARE(int, i, 4);
  __shared__ Holder holder;
  int j = threadIdx.x;
  a[j] = j;
  i[j] = 2 * j;
  of_file[j] = 5;
  own[j] = 6;
  T* dynamic = SharedMemory<T>();
  if (j == 0) {
    b = 1;
    d = 2;
    e[4] = 3;
    f.y[1] = 4;
    g[1].as_int = 5;
    h.as_float = 0;
    c[1][1] = 7;
    p = &c[1][0];
    q = &c[1];
    holder.value[1] = 9;
    atomicAdd(&counter, 1);
  }
  __syncthreads();
  auto get = [=] __device__(int k) { return a[k] + b + i[k]; };
  auto more = [&](int k) { return of_file[k] + own[3 - k] + dynamic[k]; };
  auto none = [](int k) { return f.y[k]; };
  a[0] = 100;
  __syncthreads();
  T sum = get(j) + d + e[4] + none(1) + g[1].as_int + h.as_int + p[1] + (*q)[1] + more(j) + holder.value[1];
  sum += null == nullptr ? scale : 1000;
  sum += reinterpret_cast<size_t>(e) % 64 == 0 ? 0 : 10000;
  sum += sizeof(a) == 16 && sizeof(i) / sizeof(i[0]) == 4 ? 0 : 100000;
  out[j] = sum + reversed<int, 4>(j) + static_cast<int>(reversed<T, 4>(T(j)));
}

__global__ void overloaded(int* out, int x) { *out = x; }
__global__ void overloaded(float* out, float x) { *out = x; }
__global__ void plain(int* out, short x, const int* null = nullptr) { *out = x + (null != nullptr); }
template <typename T = int>
__global__ void deduced(T* out, T x) { *out = x; }
namespace inner {
__global__ void member(int* out) { *out = 11; }
struct Class {
  void (*pointer)(int*, short, const int*) = plain;
  void run(int* out) { this->pointer<<<1, 1>>>(out, 12, 0); }
};
}  // namespace inner

// A constant of one lambda, which another names in the arguments of a template.
#define BY_SIZE(size, ...)          \
  [&] {                             \
    switch (size) {                 \
      case 1: {                     \
        const int SIZE = 1;         \
        return __VA_ARGS__();       \
      }                             \
      default: {                    \
        const int SIZE = 2;         \
        return __VA_ARGS__();       \
      }                             \
    }                               \
  }()
template <typename T, int N>
__global__ void sized(T* out, long x) { *out = static_cast<T>(N * x); }

void by_size(int* out, int size) {
  long x = 21;
  [&] {
    using scalar_t = int;
    BY_SIZE(size, [&] { sized<scalar_t, SIZE><<<1, 1>>>(out, x); });
    BY_SIZE(size, [&] { GO((sized<scalar_t, SIZE>), out + 1, x); });
  }();
}

int main() {
  float* out;
  int* ints;
  cudaMallocManaged(&out, 64);
  cudaMallocManaged(&ints, 64);
  GO(all_forms<float>, out, 0);
  cudaDeviceSynchronize();
  printf("%g %g %g %g\n", out[0], out[1], out[2], out[3]);
  inner::Class object;
  void (*kernels[])(int*, short, const int*) = {plain, plain};
  auto chosen = &deduced<long long>;
  long long* longs = reinterpret_cast<long long*>(ints + 8);
  overloaded<<<1, 1>>>(ints, 7);
  overloaded<<<1, 1>>>(out, 8.5f);
  cudaDeviceSynchronize();
  printf("%d %g ", ints[0], out[0]);
  kernels[1]<<<1, 1>>>(ints, 65537 + 8, nullptr), inner::member<<<dim3(1), dim3(1, 1)>>>(ints + 1);
  object.run(ints + 2);
  chosen<<<1, 1>>>(longs, 1);
  deduced<<<1, 1, 0, 0>>>(ints + 3, 4);
  if (ints) deduced<float> <<< 1,
      1 >>> (out, 5); else plain<<<1, 1>>>(ints, 0);
  std::map<int, void (*)(int*, short, const int*)> named{{1, plain}};
  by_size(ints + 4, 2);
  named[1]<<<1, 1>>>(ints + 6, 43, nullptr);
  cudaDeviceSynchronize();
  printf("%d %d %d\n", ints[4], ints[5], ints[6]);
  printf("%d %d %d %lld %d %g\n", ints[0], ints[1], ints[2], longs[0], ints[3], out[0]);
}
