// SPDX-License-Identifier: Apache-2.0
//
// Numbers of 64 and 128 bits, by words of 32 and their carries.

#include "kernels.h"

namespace {

struct U128 {
  u32 word[4];
};

__device__ __forceinline__ U128 add128(const U128& a, const U128& b) {
  U128 r;
  asm("add.cc.u32 %0, %4, %8;\n\t"
      "addc.cc.u32 %1, %5, %9;\n\t"
      "addc.cc.u32 %2, %6, %10;\n\t"
      "addc.u32 %3, %7, %11;"
      : "=r"(r.word[0]), "=r"(r.word[1]), "=r"(r.word[2]), "=r"(r.word[3])
      : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b.word[0]), "r"(b.word[1]), "r"(b.word[2]),
        "r"(b.word[3]));
  return r;
}

// Also whether it borrows.
__device__ __forceinline__ U128 sub128(const U128& a, const U128& b, u32& borrow) {
  U128 r;
  asm("sub.cc.u32 %0, %5, %9;\n\t"
      "subc.cc.u32 %1, %6, %10;\n\t"
      "subc.cc.u32 %2, %7, %11;\n\t"
      "subc.cc.u32 %3, %8, %12;\n\t"
      "subc.u32 %4, 0, 0;"
      : "=r"(r.word[0]), "=r"(r.word[1]), "=r"(r.word[2]), "=r"(r.word[3]), "=r"(borrow)
      : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b.word[0]), "r"(b.word[1]), "r"(b.word[2]),
        "r"(b.word[3]));
  return r;
}

__device__ __forceinline__ U128 mul64(u32 a0, u32 a1, u32 b0, u32 b1) {
  U128 r;
  asm("{\n\t"
      ".reg .u32 t0, t1, t2, t3;\n\t"
      "mul.lo.u32 t0, %4, %6;\n\t"
      "mul.hi.u32 t1, %4, %6;\n\t"
      "mad.lo.cc.u32 t1, %4, %7, t1;\n\t"
      "madc.hi.u32 t2, %4, %7, 0;\n\t"
      "mad.lo.cc.u32 t1, %5, %6, t1;\n\t"
      "madc.hi.cc.u32 t2, %5, %6, t2;\n\t"
      "addc.u32 t3, 0, 0;\n\t"
      "mad.lo.cc.u32 t2, %5, %7, t2;\n\t"
      "madc.hi.u32 t3, %5, %7, t3;\n\t"
      "mov.u32 %0, t0;\n\t"
      "mov.u32 %1, t1;\n\t"
      "mov.u32 %2, t2;\n\t"
      "mov.u32 %3, t3;\n\t"
      "}"
      : "=r"(r.word[0]), "=r"(r.word[1]), "=r"(r.word[2]), "=r"(r.word[3])
      : "r"(a0), "r"(a1), "r"(b0), "r"(b1));
  return r;
}

// a * b + the accumulator of 96 bits.
__device__ __forceinline__ void multiply_add(u32& low, u32& middle, u32& high, u32 a, u32 b) {
  asm("mad.lo.cc.u32 %0, %3, %4, %0; madc.hi.cc.u32 %1, %3, %4, %1; addc.u32 %2, %2, 0;"
      : "+r"(low), "+r"(middle), "+r"(high)
      : "r"(a), "r"(b));
}

__device__ __forceinline__ u64 mul_wide(u32 a, u32 b) {
  u64 r;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(r) : "r"(a), "r"(b));
  return r;
}
__device__ __forceinline__ long long mad_wide(int a, int b, long long c) {
  long long r;
  asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(r) : "r"(a), "r"(b), "l"(c));
  return r;
}
__device__ __forceinline__ u64 mul_high(u64 a, u64 b) {
  u64 r;
  asm("mul.hi.u64 %0, %1, %2;" : "=l"(r) : "l"(a), "l"(b));
  return r;
}

__device__ __forceinline__ u64 pack(u32 low, u32 high) {
  u64 r;
  asm("mov.b64 %0, {%1, %2};" : "=l"(r) : "r"(low), "r"(high));
  return r;
}
__device__ __forceinline__ void unpack(u64 wide, u32& low, u32& high) {
  asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(wide));
}

__device__ __forceinline__ u64 bfe64(u64 value, u32 start, u32 count) {
  u64 r;
  asm("bfe.u64 %0, %1, %2, %3;" : "=l"(r) : "l"(value), "r"(start), "r"(count));
  return r;
}

}  // namespace

__global__ void wide_kernel(const u32* as, const u32* bs, const u32* cs, int n, u32* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const u32 a = as[i], b = bs[i], c = cs[i];
  int row = 0;
  auto put = [&](u32 value) { out[row++ * n + i] = value; };
  auto put_wide = [&](u64 value) {
    u32 low, high;
    unpack(value, low, high);
    put(low);
    put(high);
  };

  const U128 x{a, b, c, a ^ b}, y{c, a, ~b, b};
  const U128 sum = add128(x, y);
  for (int w = 0; w < 4; ++w) put(sum.word[w]);
  u32 borrow;
  const U128 difference = sub128(x, y, borrow);
  for (int w = 0; w < 4; ++w) put(difference.word[w]);
  put(borrow);
  const U128 product = mul64(a, b, c, a);
  for (int w = 0; w < 4; ++w) put(product.word[w]);
  u32 low = a, middle = b, high = c;
  multiply_add(low, middle, high, b, c);
  put(low);
  put(middle);
  put(high);
  put_wide(mul_wide(a, b));
  put_wide(mad_wide(a, b, static_cast<long long>(pack(b, c))));
  put_wide(mul_high(pack(a, b), pack(b, c)));
  put_wide(bfe64(pack(a, b), c & 63, c >> 8 & 63));
  u32 upper;
  asm("mad.hi.u32 %0, %1, %2, %3;" : "=r"(upper) : "r"(a), "r"(b), "r"(c));
  put(upper);
  asm("mul.hi.s32 %0, %1, %2;" : "=r"(upper) : "r"(a), "r"(b));
  put(upper);
}

void launch_wide(const u32* a, const u32* b, const u32* c, int n, u32* out, cudaStream_t stream) {
  wide_kernel<<<(n + 95) / 96, 96, 0, stream>>>(a, b, c, n, out);
}
