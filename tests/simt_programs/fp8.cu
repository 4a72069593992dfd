// SPDX-License-Identifier: Apache-2.0
// Numbers of 8 bits, for tests/test_simt_device.py: a hash of each conversion of all half numbers and of some others.
#include <cuda_fp8.h>

#include <cstdio>

__device__ inline void add(unsigned long long& hash, unsigned word) { hash = (hash ^ word) * 0x100000001b3ull; }

__global__ void kernel(unsigned long long* hashes) {
  const __nv_fp8_interpretation_t as = threadIdx.x & 1 ? __NV_E5M2 : __NV_E4M3;
  const __nv_saturation_t saturate = threadIdx.x & 2 ? __NV_SATFINITE : __NV_NOSAT;
  unsigned long long half = 0xcbf29ce484222325ull, single = half, wide = half, back = half;
  for (unsigned i = 0; i < 65536; ++i) {
    __half_raw raw;
    raw.x = (unsigned short)i;
    add(half, __nv_cvt_halfraw_to_fp8(raw, saturate, as));
    const unsigned bits = i * 0x9e3779b9u;
    const float x = __uint_as_float((bits & 0x8fffffffu) | 0x38000000u);
    add(single, __nv_cvt_float_to_fp8(x, saturate, as));
    add(single, __nv_cvt_float_to_fp8(__uint_as_float(bits), saturate, as));
    add(wide, __nv_cvt_double_to_fp8(double(x) * (1 + 1e-12), saturate, as));
  }
  for (unsigned i = 0; i < 256; ++i) {
    const __half x(__half(__nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)i, as)));
    add(back, __hisnan(x) ? 0x7fff : __half_as_ushort(x));
  }
  add(back, __nv_fp8x4_e4m3(make_float4(1.0f, -2.0f, 0.3f, 1e6f)).__x);
  add(back, __float_as_uint(float(__nv_fp8_e5m2(3.3f))));
  hashes[threadIdx.x * 4] = half;
  hashes[threadIdx.x * 4 + 1] = single;
  hashes[threadIdx.x * 4 + 2] = wide;
  hashes[threadIdx.x * 4 + 3] = back;
}

int main() {
  unsigned long long *out, here[16];
  cudaMalloc(&out, sizeof(here));
  kernel<<<1, 4>>>(out);
  cudaMemcpy(here, out, sizeof(here), cudaMemcpyDeviceToHost);
  for (unsigned long long each : here) printf("%llx ", each);
  printf("\n");
}
