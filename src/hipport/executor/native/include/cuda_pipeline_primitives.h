// SPDX-License-Identifier: Apache-2.0
// cuda_pipeline_primitives.h: asynchronous copies as C functions. They copy immediately: see simt/cuda_pipeline.h.
#ifndef SIMT_NAME_CUDA_PIPELINE_PRIMITIVES_H
#define SIMT_NAME_CUDA_PIPELINE_PRIMITIVES_H

#include <cstring>

#include "simt/prelude.h"

/// Copy `size` bytes, 4, 8 or 16, to shared memory; the last `zeros` of them become 0.
inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t size, std::size_t zeros = 0, SIMT_HERE) {
  if ((size != 4 && size != 8 && size != 16) || zeros > size) {
    ::simt::fault("misaligned", SIMT_THERE, "__pipeline_memcpy_async of %zu bytes, %zu of them 0: it copies 4, 8 or 16", size, zeros);
  }
  if ((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % size != 0) {
    ::simt::fault("misaligned", SIMT_THERE, "__pipeline_memcpy_async: an address is not a multiple of the %zu bytes to copy", size);
  }
  std::memcpy(to, from, size - zeros);
  std::memset(static_cast<char*>(to) + size - zeros, 0, zeros);
}
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(std::size_t) {}

#endif
