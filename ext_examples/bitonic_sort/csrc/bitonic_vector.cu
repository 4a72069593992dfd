// SPDX-License-Identifier: Apache-2.0
//
// A whole vector: blocks sort and merge what fits into shared memory; longer distances go through global memory.

#include "bitonic.h"

namespace {

constexpr int BLOCK = 512;          // threads, each with two words
constexpr int IN_BLOCK = 2 * BLOCK;

typedef unsigned long long word_t;

__device__ __forceinline__ void order_pair(word_t& a, word_t& b, bool rising) {
  if ((a > b) == rising) {
    const word_t c = a;
    a = b;
    b = c;
  }
}

// The merges of `size` from `away` down, of IN_BLOCK words in shared memory.
__device__ void merge_shared(word_t* s, int first, int size, int away) {
  for (; away > 0; away >>= 1) {
    // The pairs of a warp lie within 64 words as soon as partners are at most 32 away: no need to wait for other warps.
    if (away >= 32) __syncthreads();
    else __syncwarp();
    const int t = threadIdx.x;
    const int low = 2 * away * (t / away) + t % away;
    order_pair(s[low], s[low + away], ((first + low) & size) == 0);
  }
  __syncthreads();
}

__global__ void __launch_bounds__(BLOCK) sort_blocks(word_t* words) {
  __shared__ word_t s[IN_BLOCK];
  const int first = blockIdx.x * IN_BLOCK;
  for (int i = threadIdx.x; i < IN_BLOCK; i += BLOCK) s[i] = words[first + i];
  __syncthreads();
  for (int size = 2; size <= IN_BLOCK; size <<= 1) merge_shared(s, first, size, size >> 1);
  for (int i = threadIdx.x; i < IN_BLOCK; i += BLOCK) words[first + i] = s[i];
}

__global__ void merge_step(word_t* words, int size, int away) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  const int low = 2 * away * (t / away) + t % away;
  order_pair(words[low], words[low + away], (low & size) == 0);
}

__global__ void __launch_bounds__(BLOCK) merge_blocks(word_t* words, int size) {
  __shared__ word_t s[IN_BLOCK];
  const int first = blockIdx.x * IN_BLOCK;
  for (int i = threadIdx.x; i < IN_BLOCK; i += BLOCK) s[i] = words[first + i];
  merge_shared(s, first, size, BLOCK);
  for (int i = threadIdx.x; i < IN_BLOCK; i += BLOCK) words[first + i] = s[i];
}

}  // namespace

void sort_words(std::uint64_t* words, int n, cudaStream_t stream) {
  word_t* data = reinterpret_cast<word_t*>(words);
  const int blocks = n / IN_BLOCK;
  sort_blocks<<<blocks, BLOCK, 0, stream>>>(data);
  for (int size = 2 * IN_BLOCK; size <= n; size *= 2) {
    for (int away = size / 2; away >= IN_BLOCK; away /= 2) merge_step<<<blocks, BLOCK, 0, stream>>>(data, size, away);
    merge_blocks<<<blocks, BLOCK, 0, stream>>>(data, size);
  }
}
