// SPDX-License-Identifier: Apache-2.0
// Half numbers and bfloat16, for tests/test_simt_device.py: all that they convert to, and what numbers convert to them.
// In both dialects; reads doubles, writes bits.
#include <cstdio>
#include <cstring>
#include <vector>
#ifdef __HIP__
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
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

int main() {
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
