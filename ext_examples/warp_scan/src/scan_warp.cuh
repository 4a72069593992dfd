// SPDX-License-Identifier: Apache-2.0
//
// Scans of a warp through shared memory, as they were written before there were shuffles. `volatile` keeps values out of
// registers; a warp no longer runs in lockstep since Volta, so that WARP_WAIT stands between what one lane writes and
// another reads.
#ifndef WARP_SCAN_SCAN_WARP_CUH
#define WARP_SCAN_SCAN_WARP_CUH

#define LOG_WARP_SIZE 5
#define WARP_SIZE (1 << LOG_WARP_SIZE)

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
#define WARP_WAIT() __syncwarp()
#else
#define WARP_WAIT()
#endif

// 16 zeros stand before the 32 places of each warp, so that no lane asks whether there is one before it.
#define PADDED_WARP (WARP_SIZE + WARP_SIZE / 2)

template <typename T>
__device__ inline T scanWarpPadded(T value, volatile T* places) {
  const int lane = threadIdx.x & (WARP_SIZE - 1);
  volatile T* mine = places + (threadIdx.x >> LOG_WARP_SIZE) * PADDED_WARP + WARP_SIZE / 2 + lane;
  if (lane < WARP_SIZE / 2) mine[-(WARP_SIZE / 2)] = T(0);
  mine[0] = value;
  WARP_WAIT();
#pragma unroll
  for (int i = 0; i < LOG_WARP_SIZE; ++i) {
    const T before = mine[-(1 << i)];
    WARP_WAIT();
    value += before;
    mine[0] = value;
    WARP_WAIT();
  }
  return value;
}

// The same without the zeros; places[threadIdx.x] is the lane's own.
template <typename T>
__device__ inline T scanWarp(volatile T* places, T value) {
  const unsigned int t = threadIdx.x, lane = t & 31;
  places[t] = value;
  WARP_WAIT();
#define STEP(distance)                                           \
  do {                                                           \
    T before = lane >= distance ? places[t - distance] : T(0);   \
    WARP_WAIT();                                                 \
    places[t] = value = value + before;                          \
    WARP_WAIT();                                                 \
  } while (0)
  STEP(1);
  STEP(2);
  STEP(4);
  STEP(8);
  STEP(16);
#undef STEP
  return value;
}

#endif
