// SPDX-License-Identifier: Apache-2.0
// A program that has functions of its own with names of the device's library, in both dialects: its own are called.
#include <cstdio>
#include <algorithm>
#include <cmath>

using namespace std;

__host__ __device__ inline float rsqrtf(float x) { return x + 1000; }
__host__ __device__ inline double normcdf(double) { return 77; }
__device__ inline unsigned __usad(unsigned, unsigned, unsigned) { return 5; }
__host__ __device__ inline int min(int, int) { return -9; }
__device__ inline short atomicAdd(short* address, short value) {
  const short old = *address;
  *address = short(old + value);
  return old;
}
template <typename T>
__device__ inline T atomicMul(T* address, T value) {
  return *address = T(*address * value);
}
__host__ __device__ inline float3 operator+(const float3& a, const float3& b) {
  return make_float3(a.x + b.x, a.y + b.y, a.z + b.z);
}
__host__ __device__ inline float4 make_float4(float x) { return make_float4(x, x, x, x); }
__host__ __device__ inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
struct Properties {
  int warpSize, threadIdx, clock, lane;
};

__device__ short counter;
__device__ int product = 3;

__global__ void kernel(float* out) {
  Properties own = {7, 8, 9, 10};
  const float3 sum = make_float3(1, 2, 3) + make_float3(1, 1, 1);
  atomicAdd(&counter, short(2));
  out[0] = rsqrtf(4.0f);
  out[1] = float(normcdf(0.0));
  out[2] = float(__usad(1u, 2u, 3u));
  out[3] = float(min(3, 4));
  out[4] = float(max(3, 4));
  out[5] = float(counter);
  out[6] = float(atomicMul(&product, 5));
  out[7] = dot(sum, sum);
  out[8] = make_float4(6.0f).w + max(1.0f, 0.5f);
  out[9] = float(own.warpSize + own.threadIdx + own.clock + own.lane);
  out[10] = std::min(2.5f, 3.5f) + fabs(-1.0f) + abs(-2);
}

int main() {
  float* out;
#ifdef __HIP__
  (void)hipMallocManaged(&out, 64);
  kernel<<<1, 1>>>(out);
  (void)hipDeviceSynchronize();
#else
  cudaMallocManaged(&out, 64);
  kernel<<<1, 1>>>(out);
  cudaDeviceSynchronize();
#endif
  for (int i = 0; i < 11; ++i) printf("%g ", out[i]);
  printf("%g %ld\n", rsqrtf(1.0f), long(clock() >= 0));
}
