// SPDX-License-Identifier: Apache-2.0
// Barriers, latches, semaphores, pipelines and asynchronous copies of libcu++, against what they mean.
//
// Compiled as HIP, they are those of hipport/async.h: what a wavefront cannot wait for is left out there.
#include "check.h"
#ifdef __HIP__
#include <hip/hip_cooperative_groups.h>
#include <hipport/async.h>
namespace lib = hipport;
#else
#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/std/barrier>
namespace lib = cuda;
#endif
namespace cg = cooperative_groups;
constexpr auto in_block = lib::thread_scope_block;

// Turn after turn the threads read what their neighbors wrote, in the two halves of a barrier.
__global__ void turns(int* out, int rounds) {
  __shared__ lib::barrier<in_block> bar;
  __shared__ int cells[2][96];
  const unsigned t = threadIdx.x, n = blockDim.x;
  if (t == 0) init(&bar, n);
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    cells[i % 2][t] = static_cast<int>(t) * 3 + i;
    auto token = bar.arrive();
    sum += i;  // while others come
    bar.wait(std::move(token));
    sum += cells[i % 2][(t + 1) % n];
  }
  bar.arrive_and_wait();
  out[blockIdx.x * n + t] = sum;
}

// Each turn one thread more drops out.
__global__ void drops(int* out) {
  __shared__ lib::barrier<in_block> bar;
  __shared__ int count;
  if (threadIdx.x == 0) {
    count = 0;
    init(&bar, blockDim.x);
  }
  __syncthreads();
  // By whole wavefronts, as lanes of one do not wait for each other on AMD.
  const unsigned wave = threadIdx.x / 64;
  for (unsigned i = 0; i < wave; ++i) bar.arrive_and_wait();
  atomicAdd(&count, 1);
  if (wave == 1) {
    bar.arrive_and_drop();
    return;
  }
  bar.arrive_and_wait();
  if (wave == 0) bar.arrive_and_wait(), bar.arrive_and_wait();
  out[threadIdx.x] = count;
}

struct Adds {
  int* to;
  __device__ void operator()() const { *to += 1; }
};
// What is done once in each turn.
__global__ void completes(int* out) {
  __shared__ lib::barrier<in_block, Adds> bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x, Adds{out});
  __syncthreads();
  for (int i = 0; i < 5; ++i) {
    bar.arrive_and_wait();
    if (threadIdx.x == 7) out[i + 1] = *out;
    __syncthreads();
  }
}

// Copies of groups and of threads, that a barrier is told of.
__global__ void copies(const int* in, int* out, int n) {
  __shared__ lib::barrier<in_block> bar;
  __shared__ alignas(16) int whole[256];
  __shared__ alignas(16) int single[256];
  const auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  lib::memcpy_async(block, whole, in, sizeof(int) * n, bar);
  for (unsigned i = 4 * threadIdx.x; i + 3 < n; i += 4 * blockDim.x) {
    lib::memcpy_async(single + i, in + i, lib::aligned_size_t<16>(16), bar);
  }
  for (unsigned i = n / 4 * 4 + threadIdx.x; i < n; i += blockDim.x) lib::memcpy_async(&single[i], &in[i], sizeof(int), bar);
  bar.arrive_and_wait();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = whole[n - 1 - i] - single[i];
}

// The usual ring of stages of a block, where every thread produces and consumes.
template <int Stages>
__global__ void staged(const int* in, int* out, int batches) {
  __shared__ lib::pipeline_shared_state<in_block, Stages> state;
  __shared__ int buffer[Stages][96];
  const auto block = cg::this_thread_block();
  auto pipe = lib::make_pipeline(block, &state);
  const int n = block.size();
  int sum = 0;
  for (int compute = 0, fetch = 0; compute < batches; ++compute) {
    for (; fetch < batches && fetch < compute + Stages; ++fetch) {
      pipe.producer_acquire();
      lib::memcpy_async(block, buffer[fetch % Stages], in + fetch * n, sizeof(int) * n, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += buffer[compute % Stages][(threadIdx.x + 5) % n];
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}

// Wavefronts with roles: the first one fetches for the others.
template <int How, unsigned producers = 64>
__global__ void roles(const int* in, int* out, int batches) {
  __shared__ lib::pipeline_shared_state<in_block, 2> state;
  __shared__ int buffer[2][64];
  const auto block = cg::this_thread_block();
  const bool produces = block.thread_rank() < producers;
  auto pipe = How == 0 ? lib::make_pipeline(block, &state, producers)
                       : lib::make_pipeline(block, &state, produces ? lib::pipeline_role::producer : lib::pipeline_role::consumer);
  if (produces) {
    for (int i = 0; i < batches; ++i) {
      pipe.producer_acquire();
      for (unsigned k = threadIdx.x; k < 64; k += producers) lib::memcpy_async(&buffer[i % 2][k], in + i * 64 + k, sizeof(int), pipe);
      pipe.producer_commit();
    }
  } else {
    int sum = 0;
    for (int i = 0; i < batches; ++i) {
      pipe.consumer_wait();
      for (int k = 0; k < 64; ++k) sum += buffer[i % 2][k] * (k + 1);
      pipe.consumer_release();
    }
    out[threadIdx.x - producers] = sum;
  }
}

// A pipeline of one thread.
__global__ void alone(const int* in, int* out) {
  __shared__ int buffer[3][64];
  auto pipe = lib::make_pipeline();
  for (int i = 0; i < 3; ++i) {
    pipe.producer_acquire();
    lib::memcpy_async(&buffer[i][threadIdx.x], &in[i * 64 + threadIdx.x], sizeof(int), pipe);
    pipe.producer_commit();
  }
  int sum = 0;
  for (int i = 0; i < 2; ++i) {
    lib::pipeline_consumer_wait_prior<1>(pipe);
    __syncthreads();
    sum += buffer[i][63 - threadIdx.x];
    pipe.consumer_release();
  }
  pipe.consumer_wait();
  pipe.consumer_release();
  out[threadIdx.x] = sum;
}

// The functions of C.
__global__ void primitives(const int* in, int* out) {
  __shared__ alignas(16) int buffer[64][4];
#ifdef __HIP__
  using namespace hipport;
  pipeline_memcpy_async(buffer[threadIdx.x], in + 4 * threadIdx.x, 16, 4);
  pipeline_commit();
  pipeline_wait_prior(0);
#else
  __pipeline_memcpy_async(buffer[threadIdx.x], in + 4 * threadIdx.x, 16, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
#endif
  __syncthreads();
  for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = buffer[63 - threadIdx.x][i];
}

__global__ void counts_down(int* out) {
  __shared__ lib::latch<in_block> gate;
  __shared__ int made;
  if (threadIdx.x == 0) init(&gate, 64);
  __syncthreads();
  if (threadIdx.x >= 64) {
    if (threadIdx.x == 100) made = 11;
    gate.count_down();
  }
  if (threadIdx.x < 64) {
    gate.wait();
    out[threadIdx.x] = made;
  }
}

#ifndef __HIP__
// At most two threads at a time.
__global__ void admits(int* out) {
  __shared__ cuda::counting_semaphore<in_block, 2> two;
  __shared__ int inside, most;
  if (threadIdx.x == 0) {
    new (&two) cuda::counting_semaphore<in_block, 2>(2);
    inside = most = 0;
  }
  __syncthreads();
  two.acquire();
  atomicMax(&most, atomicAdd(&inside, 1) + 1);
  __nanosleep(20);
  atomicSub(&inside, 1);
  two.release();
  __syncthreads();
  if (threadIdx.x == 0) out[0] = most;
}

// Of the whole system: blocks of a launch wait for each other.
__device__ cuda::std::barrier<> all(0);
__global__ void across(int* out) {
  if (blockIdx.x == 0 && threadIdx.x == 0) init(&all, gridDim.x);
  cg::this_grid().sync();
  if (threadIdx.x != 0) return;
  out[blockIdx.x] = 1;
  all.arrive_and_wait();
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += out[i];
  all.arrive_and_wait();
  out[blockIdx.x] = sum;
}
#endif

// A lane arrives in another branch than those that wait for it.
__global__ void arrives_elsewhere(int* out) {
  __shared__ lib::barrier<in_block> bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  if (threadIdx.x != 5) {
    bar.arrive_and_wait();
  } else {
    (void)bar.arrive();
  }
  out[threadIdx.x] = 1;
}

int main(int argc, char** argv) {
  std::vector<int> in(1024);
  for (int i = 0; i < 1024; ++i) in[i] = static_cast<int>(number(i) % 1000);
  const Device<int> from(in);
  if (argc > 1) {
    const Device<int> out(64);
    if (argv[1][0] == 'w') roles<0, 32><<<1, 64>>>(from, out, 1);
    if (argv[1][0] == 'l') arrives_elsewhere<<<1, 64>>>(out);
    return finish();
  }
  {
    const int n = 96, rounds = 7;
    const Device<int> out(2 * n);
    turns<<<2, n>>>(out, rounds);
    const auto got = out.get();
    for (int t = 0; t < 2 * n; ++t) {
      check(got[t] == rounds * ((t % n + 1) % n * 3) + rounds * (rounds - 1), "turns", t, n);
    }
  }
  {
    const Device<int> out(std::vector<int>(192, -1));
    drops<<<1, 192>>>(out);
    const auto got = out.get();
    for (int t = 0; t < 192; ++t) check(got[t] == (t >= 64 && t < 128 ? -1 : 192), "drops", t, got[t]);
  }
  {
    const Device<int> out(std::vector<int>(6, 0));
    completes<<<1, 96>>>(out);
    const auto got = out.get();
    for (int i = 0; i < 5; ++i) check(got[i + 1] == i + 1, "completes", i);
  }
  for (const int n : {256, 101, 3}) {
    const Device<int> out(n);
    copies<<<1, 64>>>(from, out, n);
    const auto got = out.get();
    for (int i = 0; i < n; ++i) check(got[i] == in[n - 1 - i] - in[i], "copies", i, n);
  }
  const auto ring = [&](auto kernel, const char* what) {
    const Device<int> out(96);
    kernel<<<1, 96>>>(from, out, 9);
    const auto got = out.get();
    for (int t = 0; t < 96; ++t) {
      int want = 0;
      for (int b = 0; b < 9; ++b) want += in[b * 96 + (t + 5) % 96];
      check(got[t] == want, what, t);
    }
  };
  ring(staged<1>, "one stage");
  ring(staged<2>, "two stages");
  ring(staged<4>, "four stages");
  const auto parted = [&](auto kernel, const char* what) {
    const Device<int> out(128);
    kernel<<<1, 192>>>(from, out, 5);
    const auto got = out.get();
    int want = 0;
    for (int i = 0; i < 5 * 64; ++i) want += in[i] * (i % 64 + 1);
    for (int t = 0; t < 128; ++t) check(got[t] == want, what, t);
  };
  parted(roles<0>, "the first produce");
  parted(roles<1>, "roles");
  {
    const Device<int> out(64);
    alone<<<1, 64>>>(from, out);
    const auto got = out.get();
    for (int t = 0; t < 64; ++t) check(got[t] == in[63 - t] + in[64 + 63 - t], "alone", t);
  }
  {
    const Device<int> out(256);
    primitives<<<1, 64>>>(from, out);
    const auto got = out.get();
    for (int i = 0; i < 256; ++i) check(got[i] == (i % 4 == 3 ? 0 : in[(63 - i / 4) * 4 + i % 4]), "primitives", i);
  }
  {
    const Device<int> out(64);
    counts_down<<<1, 128>>>(out);
    const auto got = out.get();
    for (int t = 0; t < 64; ++t) check(got[t] == 11, "counts down", t, got[t]);
  }
#ifndef __HIP__
  {
    const Device<int> out(1);
    admits<<<1, 64>>>(out);
    check(out.get()[0] >= 1 && out.get()[0] <= 2, "admits");
  }
  {
    const Device<int> out(4);
    int* data = out;
    void* arguments[] = {&data};
    cudaLaunchCooperativeKernel((void*)across, dim3(4), dim3(32), arguments);
    const auto got = out.get();
    for (int i = 0; i < 4; ++i) check(got[i] == 4, "across", i, got[i]);
  }
#endif
  return finish();
}
