// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder have in common: values go up to the device, and all results come down and are shown.
#pragma once
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline void check(cudaError_t error) {
  if (error != cudaSuccess) {
    std::fprintf(stderr, "failed: %s\n", cudaGetErrorString(error));
    std::exit(1);
  }
}

template <typename T>
T* up(const std::vector<T>& values) {
  T* there = nullptr;
  check(cudaMalloc(&there, values.size() * sizeof(T)));
  check(cudaMemcpy(there, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return there;
}

template <typename T>
T* room(size_t many) {
  return up(std::vector<T>(many, T(0)));
}

template <typename T>
std::vector<T> down(const T* there, size_t many) {
  std::vector<T> values(many);
  check(cudaDeviceSynchronize());
  check(cudaMemcpy(values.data(), there, many * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

inline void show_one(int value) { std::printf(" %d", value); }
inline void show_one(unsigned value) { std::printf(" %u", value); }
inline void show_one(unsigned long long value) { std::printf(" %llu", value); }
inline void show_one(float value) { std::printf(" %.6g", value); }
inline void show_one(double value) { std::printf(" %.12g", value); }

template <typename T>
void show(const char* name, const std::vector<T>& values) {
  std::printf("%s:", name);
  for (const T& value : values) show_one(value);
  std::printf("\n");
}

/// Numbers that look like chance, the same each time.
inline std::vector<int> some(int many, int below, unsigned seed = 1) {
  std::vector<int> values(many);
  for (int& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<int>((seed >> 8) % static_cast<unsigned>(below));
  }
  return values;
}
inline std::vector<float> fractions(int many, unsigned seed = 1) {
  std::vector<float> values;
  for (int value : some(many, 2001, seed)) values.push_back((value - 1000) / 500.0f);
  return values;
}
