// SPDX-License-Identifier: Apache-2.0
// Lanes that pass by an operation without a mask wait for the others at the end of a turn, for
// tests/test_simt_compile.py. HIP; prints what a wavefront of 64 lanes gives, as the order of a GPU's turns requires.
#include <hip/hip_runtime.h>

#include <cstdio>

__device__ unsigned long long those_here() { return __ballot(1); }

__global__ void turns(unsigned long long* p) {
  const unsigned lane = threadIdx.x;
  for (unsigned i = 0; i < 4; i++) {
    if ((lane + i) & 1) continue;
    p[lane * 16 + i] = __ballot(1);
  }
  unsigned turn = 0;
  while (turn < 4) {
    const unsigned now = turn++;
    if ((lane + now) & 2) p[lane * 16 + 4 + now] = those_here();
  }
  turn = 0;
  do {
    if (turn == lane % 4) p[lane * 16 + 8 + turn] = those_here();
  } while (++turn < 4);
  for (unsigned i = 0; i < 4; i++) {
    for (unsigned j = 0; j <= lane % 2; j++) p[lane * 16 + 12 + i] = __ballot(1);
  }
}

int main() {
  unsigned long long* p;
  if (hipMallocManaged(&p, 64 * 16 * sizeof(*p)) != hipSuccess) return 1;
  for (int i = 0; i < 64 * 16; i++) p[i] = 0;
  turns<<<1, 64>>>(p);
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  for (int lane = 0; lane < 2; lane++) {
    for (int i = 0; i < 16; i++) printf("%llx%c", p[lane * 16 + i], i % 4 == 3 ? '\n' : ' ');
  }
}
