// SPDX-License-Identifier: Apache-2.0
#pragma once

// A word in global memory, 0 when it is free.
class SpinLock {
 public:
  __device__ explicit SpinLock(int* word) : word_(word) {}

  __device__ bool try_lock() {
    const bool taken = atomicCAS(word_, 0, 1) == 0;
    if (taken) __threadfence();
    return taken;
  }

  // Waits. Lanes of one warp may wait for each other: since Volta each goes on by itself, before it that hung.
  __device__ void lock() {
    while (atomicCAS(word_, 0, 1) != 0) {
    }
    __threadfence();
  }

  // Waits, and leaves the memory alone for a while each time.
  __device__ void lock_patiently() {
    unsigned int pause = 32;
    while (atomicCAS(word_, 0, 1) != 0) {
      __nanosleep(pause);
      if (pause < 1024) pause *= 2;
    }
    __threadfence();
  }

  __device__ void unlock() {
    __threadfence();
    atomicExch(word_, 0);
  }

 private:
  int* word_;
};
