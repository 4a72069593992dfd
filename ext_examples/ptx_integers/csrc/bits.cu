// SPDX-License-Identifier: Apache-2.0

#include "kernels.h"
#include "ptx_bits.cuh"
#include "ptx_video.cuh"

__global__ void bits_kernel(const u32* as, const u32* bs, const u32* cs, int n, u32* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const u32 a = as[i], b = bs[i], c = cs[i];
  int row = 0;
  auto put = [&](u32 value) { out[row++ * n + i] = value; };
  put(bfe(a, b, c));
  put(bfe(a, b & 31, c & 31));
  put(bfe_signed(a, b, c));
  put(bfe_signed(a, b & 31, c & 31));
  put(bfi(a, b, c & 31, c >> 8 & 31));
  put(bfi(a, b, c, c >> 8));
  put(permute(a, b, c));
  put(permute(a, 0, 0x4103));
  put(permute_f4e(a, b, c));
  put(permute_b4e(a, b, c));
  put(permute_rc8(a, b, c));
  put(permute_ecl(a, b, c));
  put(permute_ecr(a, b, c));
  put(permute_rc16(a, b, c));
  put(lop3<0x96>(a, b, c));
  put(lop3<0xe8>(a, b, c));
  put(lop3<0xCA>(a, b, c));
  put(funnel_left(a, b, c));
  put(funnel_right(a, b, c));
  put(funnel_left_clamped(a, b, c & 63));
  put(funnel_right_clamped(a, b, c & 63));
  put(brev(a));
  put(leading_zeros(a));
  put(ones(a));
  put(logical_not(a & b & c));
  put(highest_bit(a));
  put(highest_bit_signed(a));
  put(normalizing_shift(a));
  put(add_saturating(a, b));
  put(less_signed(a, b));
  put(sad_unsigned(a, b, c));
  put(sad_signed(a, b, c));
  put(select_by_sign(a, b, c));
  put(if_less(a, b, c) + add_or_subtract(a, b));
  put(dot4(a, b, c));
  put(dot4_mixed(a, b, c));
}

__global__ void video_kernel(const u32* as, const u32* bs, const u32* cs, int n, u32* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const u32 a = as[i], b = bs[i], c = cs[i];
  int row = 0;
  auto put = [&](u32 value) { out[row++ * n + i] = value; };
  put(add_us(a, b));
  put(add_sat(a, b));
  put(sub_sat(a, b));
  put(add_bytes_add(a, b, c));
  put(sub_halves(a, b));
  put(distance(a, b));
  put(distance_add(a, b, c));
  put(distance_of_bytes(a, b));
  put(max_max(a, b, c));
  put(min_max(a, b, c));
  put(max_min(a, b, c));
  put(less(a, b));
  put(not_less_add(a, b, c));
  put(shift_left(a, b & 63));
  put(shift_right(a, b));
  put(mad_halves(a, b, c));
  put(mad_scaled(a, b, c));
  put(into_half(a, b, c));
  put(distance4(a, b, c));
  put(add2_sat(a, b));
}

// Floats and doubles to integers, by the rounding that the name says; what does not fit becomes the nearest that does.
__global__ void round_kernel(const float* xs, const double* ys, int n, u32* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = xs[i];
  const double y = ys[i];
  int nearest, down;
  u32 cut;
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(nearest) : "f"(x));
  asm("cvt.rmi.s32.f32 %0, %1;" : "=r"(down) : "f"(x));
  asm("cvt.rzi.u32.f32 %0, %1;" : "=r"(cut) : "f"(x));
  int up;
  asm("cvt.rpi.s32.f64 %0, %1;" : "=r"(up) : "d"(y));
  u32 byte;
  asm("cvt.rni.sat.u8.f32 %0, %1;" : "=r"(byte) : "f"(x));
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(x));
  float back;
  asm("cvt.f32.f16 %0, %1;" : "=f"(back) : "h"(half));
  float narrow;
  asm("cvt.rz.f32.f64 %0, %1;" : "=f"(narrow) : "d"(y));
  out[0 * n + i] = nearest;
  out[1 * n + i] = down;
  out[2 * n + i] = cut;
  out[3 * n + i] = up;
  out[4 * n + i] = byte;
  out[5 * n + i] = half;
  out[6 * n + i] = __float_as_uint(back);
  out[7 * n + i] = __float_as_uint(narrow);
}

void launch_bits(const u32* a, const u32* b, const u32* c, int n, u32* out, cudaStream_t stream) {
  bits_kernel<<<(n + 127) / 128, 128, 0, stream>>>(a, b, c, n, out);
}

void launch_video(const u32* a, const u32* b, const u32* c, int n, u32* out, cudaStream_t stream) {
  video_kernel<<<(n + 127) / 128, 128, 0, stream>>>(a, b, c, n, out);
}

void launch_round(const float* x, const double* y, int n, u32* out, cudaStream_t stream) {
  round_kernel<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n, out);
}
