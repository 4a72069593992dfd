// SPDX-License-Identifier: Apache-2.0
// Half numbers and bfloat16, for tests/test_simt_device.py: all that they convert to, and what numbers convert to them.
// In both dialects; reads doubles, writes bits.
#include <cstdio>
#include <cstring>
#include <vector>
#ifdef __HIP__
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hipport/half.h>
#include <hipport/ptx.h>
using bfloat = __hip_bfloat16;
#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>
using bfloat = __nv_bfloat16;
#endif

template <typename T>
void put(T value) {
  fwrite(&value, sizeof(value), 1, stdout);
}

#ifdef __HIP__
/// hipport's functions for AMD, with the compiler's _Float16, against __hfma and its like, which GPUs were asked about.
bool differ(unsigned short a, unsigned short b, unsigned short c) {
  const __half x = __ushort_as_half(a), y = __ushort_as_half(b), z = __ushort_as_half(c);
  const auto other = [](unsigned short p, __half q) { return p != __half_as_ushort(q) && !__hisnan(q); };
  return other(hipport::ptx::fma_rn_f16(a, b, c), __hfma(x, y, z)) ||
         other(hipport::ptx::add_f16(a, b), __hadd(x, y)) || other(hipport::ptx::mul_f16(a, b), __hmul(x, y)) ||
         other(__half_as_ushort(hipport::hsub_rn(x, y)), __hsub(x, y));
}
#endif

int main() {
#ifdef __HIP__
  for (unsigned i = 0, x = 1; i < 300000; ++i) {
    x = x * 1664525u + 1013904223u;
    const unsigned y = x * 0x85ebca6bu ^ x >> 13;
    if (differ((unsigned short)(x >> 16), (unsigned short)(y >> 16), (unsigned short)y)) return 5;
  }
#endif
  for (unsigned i = 0; i < 65536; ++i) put(__half2float(__ushort_as_half((unsigned short)i)));
  for (unsigned i = 0; i < 65536; ++i) put(__bfloat162float(__ushort_as_bfloat16((unsigned short)i)));
  std::vector<double> numbers;
  for (double number; fread(&number, sizeof(number), 1, stdin) == 1;) numbers.push_back(number);
  for (double number : numbers) {
    const float x = (float)number;
    put(__half_as_ushort(__float2half(x)));
    put(__half_as_ushort(__half(number)));
    put(__half_as_ushort(__float2half_rz(x)));
    put(__half_as_ushort(__float2half_ru(x)));
    put(__half_as_ushort(__float2half_rd(x)));
    put(__bfloat16_as_ushort(__float2bfloat16(x)));
    put(__bfloat16_as_ushort(__double2bfloat16(number)));
  }
}
