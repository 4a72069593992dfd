// SPDX-License-Identifier: Apache-2.0
// What the programs of test_simt_libraries.py have in common. They are CUDA and HIP at once.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

#ifdef __HIP__
#include <hip/hip_runtime.h>
#define GPU(name) hip##name
constexpr bool is_hip = true;
#else
#include <cuda_runtime.h>
#define GPU(name) cuda##name
constexpr bool is_hip = false;
#endif

inline int checks = 0, failures = 0;

inline void check(bool good, const char* what, long long where = 0, long long size = 0) {
  ++checks;
  if (good) return;
  if (++failures <= 20) std::printf("FAIL %s at %lld of %lld\n", what, where, size);
}

template <typename A, typename B>
void same(const A& got, const B& want, const char* what, long long size = 0) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!(got[i] == want[i])) return check(false, what, static_cast<long long>(i), size);
  }
  check(true, what);
}

template <typename A, typename B>
void near(const A& got, const B& want, double tolerance, const char* what) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!(std::fabs(static_cast<double>(got[i]) - static_cast<double>(want[i])) <= tolerance)) {
      std::printf("%s: %.9g, not %.9g\n", what, static_cast<double>(got[i]), static_cast<double>(want[i]));
      return check(false, what, static_cast<long long>(i), 0);
    }
  }
  check(true, what);
}

/// Memory of the device that the host reads as an array.
template <typename T>
struct Device {
  T* data = nullptr;
  std::size_t count;
  explicit Device(std::size_t count) : count(count) {
    if (GPU(Malloc)(reinterpret_cast<void**>(&data), count * sizeof(T) + 1) != GPU(Success)) std::abort();
  }
  explicit Device(const std::vector<T>& values) : Device(values.size()) {
    if (count != 0) GPU(Memcpy)(data, values.data(), count * sizeof(T), GPU(MemcpyHostToDevice));
  }
  Device(const Device&) = delete;
  ~Device() { GPU(Free)(data); }
  std::vector<T> get() const {
    std::vector<T> values(count);
    if (count != 0) GPU(Memcpy)(values.data(), data, count * sizeof(T), GPU(MemcpyDeviceToHost));
    return values;
  }
  operator T*() const { return data; }
};

/// Numbers that are the same everywhere.
inline unsigned number(unsigned i) {
  i = (i ^ 61u) ^ (i >> 16);
  i *= 9u;
  i ^= i >> 4;
  i *= 0x27d4eb2du;
  return i ^ (i >> 15);
}

/// A function x -> a x + b modulo a prime. Applying one behind the other is associative and not commutative.
struct Affine {
  unsigned a, b;
  bool operator==(const Affine& other) const { return a == other.a && b == other.b; }
};
struct Then {
  __host__ __device__ Affine operator()(const Affine& f, const Affine& g) const {
    constexpr unsigned long long p = 65521;
    return {static_cast<unsigned>(1ull * g.a * f.a % p), static_cast<unsigned>((1ull * g.a * f.b + g.b) % p)};
  }
};
inline Affine affine(unsigned i) { return {number(i) % 65520 + 1, number(i + 77777) % 65521}; }

inline int finish() {
  std::printf("%d checks, %d failures\n", checks, failures);
  return failures != 0;
}
