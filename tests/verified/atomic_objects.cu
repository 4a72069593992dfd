// SPDX-License-Identifier: Apache-2.0
// Atomic objects with a scope: tickets, a lock that every lane takes, extremes, words of other types, pointers.
#include <cuda/atomic>

#include <cstdint>
#include <cstdio>
#include <new>

constexpr int kThreads = 96, kBlocks = 3, kAll = kThreads * kBlocks;
struct Pair {
  short first, second;
};
template <typename T>
using Device = cuda::atomic<T, cuda::thread_scope_device>;

__device__ Device<unsigned> tickets{0};
__device__ Device<int> lock{0};
__device__ Device<unsigned char> bytes[4];
__device__ int guarded, missed;

__global__ void work(int* order, long long* most, float* sum, Device<Pair>* pair, Device<int*>* end, double* doubles) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> here;
  if (threadIdx.x == 0) new (&here) cuda::atomic<int, cuda::thread_scope_block>(0);
  __syncthreads();
  const unsigned mine = tickets.fetch_add(1, cuda::memory_order_relaxed);
  order[mine] = mine;
  while (lock.exchange(1, cuda::memory_order_acquire)) {
  }
  guarded = guarded + 1;
  lock.store(0, cuda::memory_order_release);
  cuda::atomic_ref<long long, cuda::thread_scope_device> extreme(*most);
  extreme.fetch_max((static_cast<long long>(mine) << 33) - 5);
  cuda::atomic_ref<float, cuda::thread_scope_device>(*sum).fetch_add(0.5f, cuda::std::memory_order_relaxed);
  cuda::atomic_ref<double, cuda::thread_scope_device>(doubles[0]).fetch_sub(0.25);
  cuda::atomic_ref<double, cuda::thread_scope_device>(doubles[1]).fetch_min(-1.0 * mine);
  bytes[mine % 4]++;
  Pair seen = pair->load(cuda::memory_order_relaxed);
  while (!pair->compare_exchange_weak(seen, Pair{static_cast<short>(seen.first + 1), static_cast<short>(seen.second - 2)},
                                      cuda::memory_order_acq_rel, cuda::memory_order_relaxed)) {
  }
  end->fetch_add(2);
  here += 1;
  __syncthreads();
  if (here.load() != kThreads) missed = 1;
  __syncthreads();
  here.fetch_or(1 << 20);
  here.fetch_and(~3);
  here ^= 0;
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_block);
  if (here.load() != ((1 << 20) | kThreads)) missed = 2;
}

int main() {
  int* order;
  long long* most;
  float* sum;
  Device<Pair>* pair;
  Device<int*>* end;
  double* doubles;
  cudaMallocManaged(&order, kAll * sizeof(int));
  cudaMallocManaged(&most, 8);
  cudaMallocManaged(&sum, 4);
  cudaMallocManaged(&pair, 4);
  cudaMallocManaged(&end, 8);
  cudaMallocManaged(&doubles, 16);
  *most = -1000;
  *sum = 0;
  doubles[0] = doubles[1] = 1;
  pair->store(Pair{0, 0});
  end->store(order);
  work<<<kBlocks, kThreads>>>(order, most, sum, pair, end, doubles);
  int wrong = cudaDeviceSynchronize() != cudaSuccess, count[2];
  Device<unsigned char> counted[4];  // CUDA's are larger than a byte
  cudaMemcpyFromSymbol(&count[0], guarded, sizeof(int));
  cudaMemcpyFromSymbol(&count[1], missed, sizeof(int));
  cudaMemcpyFromSymbol(static_cast<void*>(counted), bytes, sizeof(counted));
  for (int i = 0; i < kAll; ++i) wrong += order[i] != i;
  for (const auto& each : counted) wrong += each.load() != kAll / 4;
  wrong += count[0] != kAll || count[1] != 0 || *most != (287LL << 33) - 5 || *sum != kAll / 2;
  wrong += doubles[0] != 1 - kAll / 4 || doubles[1] != 1 - kAll;
  wrong += pair->load().first != kAll || pair->load().second != -2 * kAll || end->load() - order != 2 * kAll;
  std::printf("%d wrong\n", wrong);
  return wrong != 0;
}
