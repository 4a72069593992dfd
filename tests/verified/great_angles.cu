// SPDX-License-Identifier: Apache-2.0
// Approximated sines of angles beyond the 256 turns that AMD's instruction takes.
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
__global__ void k(float *p, const float *a) { float s, c; __sincosf(a[threadIdx.x], &s, &c); p[threadIdx.x] = __sinf(a[threadIdx.x]) + s; p[threadIdx.x+8] = __cosf(a[threadIdx.x]) + c + __tanf(a[threadIdx.x]); }
int main() { float *p, *a; cudaMallocManaged(&p, 64); cudaMallocManaged(&a, 32); float v[8] = {0, 1, -3, 1599, 1601, -2000, 5000, 1e4f}; for (int i = 0; i < 8; i++) a[i] = v[i]; k<<<1, 8>>>(p, a); cudaDeviceSynchronize(); for (int i = 0; i < 8; i++) printf("%g\n", p[i]); for (int i = 0; i < 8; i++) if (!(fabsf(p[i] / 2 - sinf(v[i])) < 1e-2f)) { printf("bad %g\n", v[i]); return 1; } }
