// SPDX-License-Identifier: Apache-2.0
// Barriers with a number: the executor's, and as HIP those of hipport/barrier.h.
#include "check.h"
#include <hipport/barrier.h>

// One half of the block hands a buffer to the other, to and fro; `width` threads each.
template <int width>
__global__ void hands_over(int* out, int rounds) {
  hipport::begin_numbered_barriers();
  __shared__ int buffer[width];
  const int t = threadIdx.x % width;
  if (threadIdx.x < width) {
    for (int i = 0; i < rounds; ++i) {
      hipport::numbered_sync(1, 2 * width);
      buffer[(t + i) % width] = i + t;
      hipport::numbered_arrive(2, 2 * width);
    }
  } else {
    hipport::numbered_arrive(1, 2 * width);
    int sum = 0;
    for (int i = 0; i < rounds; ++i) {
      hipport::numbered_sync(2, 2 * width);
      sum += buffer[width - 1 - t];
      if (i + 1 < rounds) hipport::numbered_arrive(1, 2 * width);
    }
    out[blockIdx.x * width + t] = sum;
  }
}

// Groups of wavefronts synchronize apart, then all of them; a last wavefront is cut off, and lanes have left.
__global__ void apart(int* out) {
  hipport::begin_numbered_barriers();
  __shared__ int cells[256];
  const unsigned t = threadIdx.x, group = t / 128;
  if (t % 32 == 31) return;
  cells[t] = static_cast<int>(t);
  hipport::numbered_sync(3 + group, 128);
  int sum = 0;
  for (unsigned i = group * 128; i < group * 128 + 128 && i < blockDim.x; ++i) sum += i % 32 == 31 ? 0 : cells[i];
  hipport::numbered_sync(9);
  cells[t] = sum;
  hipport::numbered_sync(9);
  out[t] = cells[0] * 1000 + cells[128];
}

// Warps that share a wavefront of 64 lanes come to barriers of different numbers in one call.
__global__ void paired(int* out) {
  hipport::begin_numbered_barriers();
  __shared__ int cells[128];
  const unsigned t = threadIdx.x, warp = t / 32;
  cells[t] = static_cast<int>(t);
  hipport::numbered_sync(1 + (warp & 1), 64);
  out[t] = cells[t ^ 64];
}

template <int width>
void handed_over(int blocks, int rounds) {
  const Device<int> out(blocks * width);
  hands_over<width><<<blocks, 2 * width>>>(out, rounds);
  const auto got = out.get();
  for (int i = 0; i < blocks * width; ++i) {
    int want = 0;
    for (int round = 0; round < rounds; ++round) want += round + ((width - 1 - i % width - round) % width + width) % width;
    check(got[i] == want, "handed over", i, width);
  }
}

int main(int argc, char**) {
  if (argc > 1) {
    handed_over<32>(1, 2);  // by warps, which may share a wavefront
    return finish();
  }
  handed_over<64>(3, 7);
  handed_over<128>(1, 4);
  {
    const Device<int> out(128);
    paired<<<1, 128>>>(out);
    const auto got = out.get();
    for (int i = 0; i < 128; ++i) check(got[i] == (i ^ 64), "paired", i);
  }
  for (const int n : {250, 225}) {
    const Device<int> out(std::vector<int>(n, -1));
    apart<<<1, n>>>(out);
    const auto got = out.get();
    int sums[2] = {};
    for (int i = 0; i < n; ++i) sums[i / 128] += i % 32 == 31 ? 0 : i;
    for (int i = 0; i < n; ++i) check(got[i] == (i % 32 == 31 ? -1 : sums[0] * 1000 + sums[1]), "apart", i, n);
  }
  return finish();
}
