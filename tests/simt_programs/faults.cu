// SPDX-License-Identifier: Apache-2.0
// What device code must not do, for tests/test_simt_device.py: one case for each number that the program is given.
#include <cassert>
#include <cstdio>
#include <cstdlib>

#ifndef __HIP__
#include <cuda/atomic>
#include <cuda/std/type_traits>
#endif

#ifdef __HIP__
#define cudaMallocManaged hipMallocManaged
#define cudaDeviceSynchronize hipDeviceSynchronize
#endif

__global__ void kernel(int number, unsigned long long* out) {
  const unsigned lane = threadIdx.x;
  switch (number) {
    case 0: assert(lane < 3); break;
    case 1:
      if (lane == 5) __trap();
      break;
    case 2: __builtin_assume(lane != 6); break;
#ifdef __HIP__
    case 3: out[lane] = __ballot_sync(lane == 0 ? 2ull : ~0ull - 1, 1); break;
    case 4: out[lane] = __ballot_sync(0ull, 1); break;
    case 5:  // lanes of the mask that go another way
      if (lane % 2) out[lane] = __shfl_sync(~0ull, lane, 1);
      break;
    case 7: out[lane] = __match_any(0.0f / float(out[0])); break;
    case 8:
      if (lane % 2) out[lane] = __shfl(lane, 2);
      break;
    case 9: out[lane] = (unsigned)__builtin_amdgcn_ds_swizzle(int(lane), 0xc020); break;
#else
    case 13: {  // a turn for each, in another order than that in which threads start
      cuda::atomic_ref<int, cuda::thread_scope_device> turn(*(int*)out);
      while (turn.load(cuda::memory_order_acquire) != 63 - int(lane)) {
      }
      turn.fetch_add(1, cuda::std::memory_order_release);
      break;
    }
    case 14: {
      auto& counter = *(cuda::atomic<unsigned long long, cuda::thread_scope_block>*)out;
      static_assert(sizeof(counter) == 8, "");
      counter += 2;
      ++counter;
      float4 seen, next;
      do {
        seen = *(float4*)(out + 2);
        next = make_float4(seen.x + 1, 0, 0, 2);
        seen = atomicCAS((float4*)(out + 2), seen, next);
      } while (seen.x + 1 != next.x);
      __nv_atomic_fetch_add((int*)(out + 4), 3, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
      break;
    }
    case 3: out[lane] = __ballot_sync(0xfffffffe, 1); break;
    case 8: out[lane] = lane % 2 ? __shfl_sync(0xaaaaaaaa, lane, 2) : 0; break;
    case 9: out[lane] = __shfl_sync(0xffffffff, lane, 2, 3); break;
#endif
    case 10:  // a lock that another thread gives back
      if (lane == 0) {
        while (atomicCAS((int*)out, 1, 2) != 1) {
        }
      } else if (lane == 40) {
        atomicExch((int*)out, 1);
      }
      break;
    case 11:
      if (lane == 0) {
        while (atomicAdd((int*)out, 0) != 63) {
        }
      } else {
        atomicAdd((int*)out, 1);
      }
      break;
    case 12: {
      const long first = clock();
      const long long second = clock64();
      out[lane] = second >= first && clock() >= second;
      break;
    }
    default: break;
  }
}

#ifdef __HIP__
// Lanes of the mask that have exited. Nothing waits in this kernel: its lanes are not kept together.
__global__ void exited(unsigned long long* out) {
  const unsigned lane = threadIdx.x;
  if (lane % 2) return;
  out[lane] = __any_sync(~0ull, 1);
}
#endif

int main(int, char** arguments) {
  unsigned long long* out;
  (void)cudaMallocManaged(&out, 512);
  for (int i = 0; i < 64; ++i) out[i] = 0;
  const int number = atoi(arguments[1]);
#ifdef __HIP__
  if (number == 6)
    exited<<<1, 64>>>(out);
  else
#endif
    kernel<<<1, 64>>>(number, out);
  (void)cudaDeviceSynchronize();
  for (int i = 0; i < 64; ++i) printf("%llx ", out[i]);
  printf("\n");
}
