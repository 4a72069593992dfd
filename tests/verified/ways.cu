// SPDX-License-Identifier: Apache-2.0
// A program that has, for HIP, a branch of its own, which is wrong in the way that is asked for, or harmlessly another.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#if defined(__HIP_PLATFORM_AMD__)
#include <hip/hip_runtime.h>
#define OTHER 1
#define gpu(name) hip##name
using gpuDeviceProp = hipDeviceProp_t;
#else
#include <cuda_runtime.h>
#define OTHER 0
#define gpu(name) cuda##name
using gpuDeviceProp = cudaDeviceProp;
#endif

// What the original has, and what the port has.
#define PICK(one, other) (OTHER ? (other) : (one))

__global__ void reversed(int* out) { out[threadIdx.x] = OTHER ? threadIdx.x ^ 31 : threadIdx.x; }
__global__ void in_lines(int how) {
  const int value = how == 1 && OTHER && threadIdx.x == 5 ? 4 : threadIdx.x;
  if (threadIdx.x % 4 == 1) printf("thread %d\n", value);
}
__global__ void add(float* sum) { atomicAdd(sum, 1.0f + threadIdx.x * 0.001f + blockIdx.x * 0.37f); }

static double sum_of_threads(int blocks) {
  float *there, sum = 0;
  gpu(Malloc)(&there, sizeof sum);
  gpu(Memcpy)(there, &sum, sizeof sum, gpu(MemcpyHostToDevice));
  add<<<blocks, 128>>>(there);
  gpu(Memcpy)(&sum, there, sizeof sum, gpu(MemcpyDeviceToHost));
  return sum;
}

static double milliseconds() {
  std::timespec now;
  std::timespec_get(&now, TIME_UTC);
  return now.tv_nsec / 1e6;
}

static const char* name() {
  static gpuDeviceProp about;
  gpu(GetDeviceProperties)(&about, 0);
  static char text[64];
  std::snprintf(text, sizeof text, "Board %d%d", about.major, about.minor);
  return text;
}

static int wrong(int way) {
  const double zero = std::strtod("0", nullptr);
  switch (way) {
    case 0: {
      int *there, values[64];
      gpu(Malloc)(&there, sizeof values);
      reversed<<<1, 64>>>(there);
      gpu(Memcpy)(values, there, sizeof values, gpu(MemcpyDeviceToHost));
      for (int value : values) std::printf("%d\n", value);
      return 0;
    }
    case 1: std::printf("count %d\n", PICK(100032, 100016)); return 0;
    case 2: std::printf("sum %.6f\n", PICK(1234.567890, 1234.687890)); return 0;
    case 3: std::printf(PICK("first\nsecond\n", "second\nfirst\n")); return 0;
    case 4: std::printf(PICK("1\n2\n3\n", "1\n2\n")); return 0;
    case 5: std::printf("mean %f\n", PICK(1.5, zero / zero)); return 0;
    case 6: std::fprintf(stderr, "sum %d\n", PICK(5, 6)); return 0;
    case 7: std::printf("done\n"); return PICK(0, 3);
    case 8: std::printf("hash 0x%x\n", PICK(0x1000e9, 0x1001e9)); return 0;
    case 9: std::printf("{\"sums\": [1, 2, %d], \"ok\": true}\n", PICK(3, 4)); return 0;
    case 10: std::printf("1,234,%03d\n", PICK(567, 568)); return 0;
    case 11: std::printf("| %6d | %8.3f |\n| %6d | %8.3f |\n", 1, 1.5, PICK(2, 3), 2.5); return 0;
    case 12: std::printf("%g\n", PICK(zero, -zero)); return 0;
    case 13: std::printf("sum = %d, time = %.3f ms\n", PICK(12345, 12346), milliseconds()); return 0;
    case 14: std::printf("10%%\r50%%\r%d%%\n", PICK(100, 99)); return 0;
    case 15: std::printf("%.1fms for %d\n", milliseconds(), PICK(7, 8)); return 0;
    case 16: std::printf("%.1f GB/s, %d lost\n", milliseconds(), PICK(0, 1)); return 0;
    case 17: std::printf("%s\n", PICK("1000e9ab77", "1001e9ab77")); return 0;
    case 18: std::printf(PICK("1\n", "1\n1\n")); return 0;
    case 19: in_lines<<<1, 32>>>(1); gpu(DeviceSynchronize)(); return 0;
    case 20:
      if (!OTHER) std::printf("begin\n");
      in_lines<<<1, 32>>>(0);
      gpu(DeviceSynchronize)();
      if (OTHER) std::printf("begin\n");
      return 0;
    case 21: std::printf("sum %.6e\n", PICK(1.0e-7, 2.5e-8)); return 0;
    case 22: std::printf("sum %.3f\n", PICK(100032.0, 100016.0)); return 0;
    case 23: std::printf("key %llu\n", PICK(9007199254740993ull, 9007199254740992ull)); return 0;
    case 24: std::printf("dot %.4f\n", PICK(3.25, -3.25)); return 0;
    case 25: std::printf("test %s\n", PICK("PASSED", "FAILED")); return 0;
    case 26: std::printf("least %f\n", PICK(1 / zero, -1 / zero)); return 0;
    case 27: std::printf(PICK("1 2\n3 4\n", "1 2 3 4\n")); return 0;
    case 28: std::printf(PICK("#..#\n", "#.#.\n")); return 0;
    case 29: if (!OTHER) std::fprintf(stderr, "warning: 3 left\n"); return 0;
    case 30: std::printf("on %s the sum is %d\n", name(), PICK(5, 6)); return 0;
    case 31: if (OTHER) std::abort(); return 0;
    case 32: std::printf("active lanes per warp: %d\n", PICK(32, 64)); return 0;
    case 33: std::printf("total %.6f\n", sum_of_threads(7) * PICK(1, 1.0005)); return 0;
    case 34: std::printf("max error: %g, sum %g\n", 0.0, PICK(1e-7, 6e-7)); return 0;
    case 35: std::fwrite(PICK("\001\002\003", "\001\002\004"), 1, 3, stdout); return 0;
    case 36: std::printf("wrote %d of %d in %d s\n", PICK(10, 9), 10, static_cast<int>(milliseconds())); return 0;
    case 37: std::printf("%d\n", PICK(0, 1)); std::printf("time: %f\n", milliseconds()); return 0;
  }
  return 9;
}

static int right(int way) {
  const double zero = std::strtod("0", nullptr);
  switch (way) {
    case 0: std::printf("took %.3f ms\n", milliseconds()); return 0;
    case 1: std::printf("bandwidth: %.1f GB/s\n", PICK(12.5, 700.0)); return 0;
    case 2: std::printf("on %s the sum is 5\n", name()); return 0;
    case 3: std::printf("total %.6f\n", sum_of_threads(9)); return 0;
    case 4:
      std::printf("begin\n");
      in_lines<<<1, 64>>>(0);
      gpu(DeviceSynchronize)();
      std::printf("took %.3f ms\n", milliseconds());
      return 0;
    case 5: std::printf("no number: %s\n", PICK("nan", "-nan")); return 0;
    case 6: std::printf("|%10.4f|\n", PICK(9.9999, 10.0)); return 0;
    case 7: std::printf("mean %.4f\n", PICK(0.1234, 0.1235)); return 0;
    case 8: std::printf("at %p\n", std::malloc(1 << 20)); return 0;
    case 9: std::printf("seed %d, n 5\n", static_cast<int>(milliseconds() * 1000)); return 0;
    case 10: std::printf("max error: %g\n", PICK(0.0, 5.96e-8)); return 0;
    case 11: std::printf("%s\n", gpu(GetErrorName)(gpu(ErrorNotReady))); return 0;
    case 12: {
      gpuDeviceProp about;
      gpu(GetDeviceProperties)(&about, 0);
      std::printf("warp size: %d\n", about.warpSize);
      return 0;
    }
    case 13: std::fprintf(stderr, "elapsed %.3f s\n", milliseconds()); return 0;
    case 14: std::printf("left %.6f\n", PICK(zero, -zero)); return 0;
    case 15: std::printf("elapsed 0:00:%02d\n", PICK(3, 47)); return 0;
    case 16: std::printf("sum %.6g\n", PICK(1.00000e9, 1.00001e9)); return 0;
    case 17: std::printf("%s speedup: %.2fx\n", "GPU", PICK(3.1, 2.2)); return 0;
  }
  return 9;
}

int main(int count, char** arguments) {
  if (count != 3) return 8;
  const int way = std::atoi(arguments[2]);
  return std::strcmp(arguments[1], "right") == 0 ? right(way) : wrong(way);
}
