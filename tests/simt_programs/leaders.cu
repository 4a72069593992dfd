// SPDX-License-Identifier: Apache-2.0
// Sums by key, for which a lane of each group sets a shared sum to zero, all add to it, and the lane passes it on.
#include <cstdio>

#define ADD(leads, sum, out, value)           \
  do {                                        \
    if (leads) *sum = 0;                      \
    atomicAdd(sum, (value));                  \
    if (leads) atomicAdd((out), *sum);        \
  } while (0)

__global__ void add(const int* keys, int* sums) {
  __shared__ int partial[128];
  const int key = keys[threadIdx.x], lane = threadIdx.x & 31;
  const int leader = __ffs(__match_any_sync(0xffffffffu, key)) - 1;
  int* sum = &partial[(threadIdx.x & ~31) + leader];
  ADD(lane == leader, sum, sums + 2 * key, 1);
  ADD(lane == leader, sum, sums + 2 * key + 1, (int)threadIdx.x);
}

int main() {
  int host[128], expected[14] = {}, *keys, *sums, result[14];
  for (int i = 0; i < 128; i++) {
    host[i] = i * i % 7;
    expected[2 * host[i]] += 1;
    expected[2 * host[i] + 1] += i;
  }
  cudaMalloc((void**)&keys, sizeof host);
  cudaMalloc((void**)&sums, sizeof result);
  cudaMemcpy(keys, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemset(sums, 0, sizeof result);
  add<<<1, 128>>>(keys, sums);
  cudaMemcpy(result, sums, sizeof result, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < 14; i++) wrong += result[i] != expected[i];
  std::printf("%d wrong\n", wrong);
  return wrong != 0;
}
