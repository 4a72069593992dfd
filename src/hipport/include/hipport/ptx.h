// SPDX-License-Identifier: Apache-2.0
// hipport/ptx.h: NVIDIA's PTX instructions as functions, for AMD. Put here by hipport.
//
// THE NAME. The function of an instruction is its opcode with an underscore for each "." and each "::":
//
//     bfe.u32 d, a, b, c;                          d = hipport::ptx::bfe_u32(a, b, c);
//     add.rz.ftz.sat.f32 d, a, b;                  d = hipport::ptx::add_rz_ftz_sat_f32(a, b);
//     mov.u32 d, %lanemask_lt;                     d = hipport::ptx::lanemask_lt();       (also tid_x(), clock64() ...)
//
// Parts of an opcode that have no effect on AMD are left out of the name first:
//     .aligned .uni .noftz .weak; of ld, st, atom, red: .global .const .param .local .shared (see below), .nc .ca .cs
//     .lu .wb, .L1::* .L2::* .level::*; and .cluster as a scope is .gpu, .shared::cta is .shared.
//
// THE ARGUMENTS are the sources in PTX's order; a vector {x, y} is one argument after the other. The function returns
// the first destination; further destinations (q in "d|p", carries) come after the sources, as references. If the
// destination is a vector, the function returns nothing and its elements come first, as references:
//
//     shfl.sync.up.b32 d|p, a, b, c, mask;         d = hipport::ptx::shfl_sync_up_b32(a, b, c, mask, p);
//     mov.b64 d, {lo, hi};  mov.b64 {lo, hi}, a;   d = mov_b64(lo, hi);  mov_b64(lo, hi, a);
//     ld.global.nc.v2.f32 {x, y}, [p];             hipport::ptx::ld_v2<float>(x, y, p);
//
// THE TYPES of arguments and results are those of the opcode: s32 int, u32 and b32 unsigned, s64 long long, u64 and b64
// unsigned long long, f32 float, f64 double, s16 short, u16 and b16 unsigned short, s8 signed char, u8 and b8 unsigned
// char, pred bool; f16 and bf16 are their bits in unsigned short; f16x2, bf16x2 and packed integers are unsigned.
// Registers of PTX have no type: a float in the place of a b32 is as<unsigned>(x), which keeps the bits, and put(d, x)
// gives the variable d the bits of x, or converts an integer of another size.
//
// CARRIES. add.cc, addc, addc.cc, sub.cc, subc, subc.cc, mad.lo.cc, madc.hi.cc, ... have one more argument, the last:
// `cc`, of type unsigned& (0 or 1), PTX's implicit flag: set by those with .cc, read by the others.
//
// MEMORY: ld, st, atom and red have the type as template argument, and take an address from one of
//     generic(p), generic(p, 16)   [p], [p+16]: p is a pointer, or its value as an integer
//     shared(a), shared(a, 16)     the same for .shared: a is the result of cvta.to.shared or __cvta_generic_to_shared
//     ld.global.cg.u32 d, [p];                     d = hipport::ptx::ld_cg<unsigned>(hipport::ptx::generic(p));
//     st.shared.v2.f32 [a+8], {x, y};              hipport::ptx::st_v2<float>(hipport::ptx::shared(a, 8), x, y);
//     atom.acquire.gpu.global.cas.b32 d, [p], b, c;
//                                                  d = hipport::ptx::atom_acquire_gpu_cas<unsigned>(generic(p), b, c);
//     atom.add.noftz.f16x2 d, [p], b;              d = atom_add_f16x2(generic(p), b)      (also f16, bf16, bf16x2)
//
// COMPARISONS. setp.lt.s32 p, a, b is p = setp_lt_s32(a, b); the boolean operation with a third operand and the second
// destination (of the complement) are C++: setp.lt.and.s32 p|q, a, b, c is p = setp_lt_s32(a, b) && c and q =
// !setp_lt_s32(a, b) && c. set.lt.and.u32.s32 d, a, b, c is d = set_u32(setp_lt_s32(a, b) && c); also s32, f32, u16
// s16 and f16.
//
// BARRIERS. Barrier 0 of all threads has no number: bar.sync 0 is bar_sync(), bar.red.popc.u32 d, 0, p is d =
// bar_red_popc_u32(p). Numbered ones are numbered_sync(a, b) and numbered_arrive(a, b) of hipport/barrier.h, in kernels
// that begin with begin_numbered_barriers(). Others have no function.
//
// VIDEO instructions. A selected part of a source is b0_s32(a) ... b3_s32(a), h0_s32(a), h1_s32(a), or the same with
// u32, by the operand's type in the opcode. A destination's selector is the last part of the name, in the place of a
// second operation; both have c as third argument:
//     vadd.s32.u32.s32.sat.max d, a.b0, b.h1, c;   d = hipport::ptx::vadd_s32_u32_s32_sat_max(b0_u32(a), h1_s32(b), c);
//     vadd.s32.u32.s32.sat d.h1, a, b, c;          d = hipport::ptx::vadd_s32_u32_s32_sat_h1(a, b, c);
// vmad of -a or -b has "neg" before the types, vmad of -c has "negc": vmad_neg_s32_s32_s32(a, b, c). vadd2, vadd4 and
// similar instructions exist with the default selectors and mask.
//
// THE FUNCTIONS ([x] is optional; R is nothing or rn rz rm rp)
//   registers   tid_x .. nctaid_z laneid lanemask_{eq,lt,le,gt,ge} warpid nwarpid smid nsmid warpsize(WARP_SZ) clock
//               clock_hi clock64 globaltimer[_lo|_hi]
//   bits        bfe_{u,s}{32,64} bfi_b{32,64} bfind[_shiftamt]_{u,s}{32,64} brev clz popc and or xor not cnot
//               _b{16,32,64} as PTX shl_b{16,32,64} shr_{b,u,s}{16,32,64} prmt_b32[_{f4e,b4e,rc8,ecl,ecr,rc16}]
//               lop3_b32(a, b, c, lut) shf_{l,r}_{wrap,clamp}_b32 szext_{wrap,clamp}_{u,s}32 bmsk_{wrap,clamp}_b32
//               fns_b32
//   integers    {add,sub,div,rem,min,max}_{u,s}{16,32,64} {add,sub}_sat_s32 {abs,neg}_s{16,32,64} sad_{u,s}{16,32,64}
//               mul_{lo,hi}_{u,s}{16,32,64} mul_wide_{u,s}{16,32} mad_ the same, mad_hi_sat_s32 mul24_{lo,hi}_{u,s}32
//               mad24_ the same, mad24_hi_sat_s32; min_relu_s32 max_relu_s32 add_cc addc[_cc] sub_cc subc[_cc]
//               _{u,s}{32,64}; {mad,madc}_{lo,hi}[_cc]_{u,s}{32,64} (madc without _cc reads) {add,min,max}_{u,s}16x2
//               {min,max}_relu_s16x2 dp4a_{u,s}32_{u,s}32 dp2a_{lo,hi}_{u,s}32_{u,s}32
//   choice      selp_T(a, b, p) slct_T_s32, slct[_ftz]_T_f32 setp_{eq,ne,lt,le,gt,ge,lo,ls,hi,hs}_T
//               setp_{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}[_ftz]_{f32,f64,f16,bf16} set_{u,s,f}{16,32}
//   floats      {add,sub,mul,fma,mad}[_R][_ftz][_sat]_f32, [_R]_f64 {div,sqrt,rcp}_R[_ftz]_f32, _R_f64
//               {add,sub,mul}[_rn][_ftz][_sat]_f16, fma_rn[_ftz][_sat][_relu]_f16, the same x2;
//               {abs,neg}[_ftz]_f{16,32}, _f64, x2 {min,max}[_ftz][_NaN]_f32, _f64, f16, f16x2;
//               {add,sub,mul,fma_rn,min,max}[_NaN]_bf16[x2] copysign_f{32,64}
//               testp_{finite,infinite,number,notanumber,normal,subnormal}_f{32,64}
//   approximate {rcp,rsqrt,sqrt,sin,cos,lg2,ex2}_approx[_ftz]_f32 div_{approx,full}[_ftz]_f32 tanh_approx_f32
//               {rcp,rsqrt}_approx_ftz_f64 rsqrt_approx_f64 {ex2,tanh}_approx_f16[x2] ex2_approx_ftz_bf16[x2]
//               tanh_approx_bf16[x2]
//   conversions cvt[_R|_rni|_rzi|_rmi|_rpi][_ftz][_sat]_TO_FROM for all of {u,s}{8,16,32,64} f16 f32 f64 that PTX has;
//               cvt_{rn,rz}[_relu]_{bf16,f16}_f32, the same x2 (a, b), cvt[_ftz]_f32_bf16 cvt_{rna,rn,rz}_tf32_f32
//               cvt_pack_sat_{u,s}{8_s32_b32(a,b,c)|16_s32(a,b)}
//   words       mov_b16 of b8, mov_b32 of b16 or b8, mov_b64 of b32 or b16: packed, unpacked
//   video       {vadd,vsub,vabsdiff,vmin,vmax}_D_A_B[_sat][_add|_min|_max|_b0.._b3|_h0|_h1] vset_A_B_CMP[...]
//               {vshl,vshr}_D_A_u32[_sat]_{clamp,wrap}[...] vmad[_neg|_negc]_D_A_B[_po][_sat][_shr7|_shr15]
//               {vadd,vsub,vavrg,vabsdiff,vmin,vmax}{2,4}_D_A_B[_sat|_add], vset{2,4}_A_B_CMP[_add]: with c
//   memory      ld[_cg|_cv|_volatile|_{relaxed,acquire}_{cta,gpu,sys}][_v2|_v4]<T> ldu<T>
//               st[_cg|_wt|_volatile|_{relaxed,release}_{cta,gpu,sys}][_v2|_v4]<T>
//               {atom,red}[_{relaxed,acquire,release,acq_rel}][_{cta,gpu,sys}]_OP<T>, OP one of add min max and or xor
//               exch cas inc dec; _add_{f16,bf16}[x2]; of vectors _add_v{2,4}<T>, _add_{f16,bf16}[x2]_v{2,4}
//               fence_{sc,acq_rel,acquire,release}_{cta,gpu,sys} membar_{cta,gl,sys} prefetch(p) (all kinds; does
//               nothing) isspacep_{global,shared,local}(p) cvta_{global,shared,local,const,param}_u64 cvta_to_ the same
//               cp_async(to, from, size[, given]) cp_async_unless(to, from, size, ignored) cp_async_commit_group()
//               cp_async_wait_group(n) cp_async_wait_all(): to is shared(a), from generic(p); .ca, .cg and L2 are left out
//   warp        vote_{all,any,uni}_pred(p) vote_ballot_b32(p) vote_sync_ the same (p, mask)
//               shfl[_sync]_{up,down,bfly,idx}_b32 match_{any,all}_sync_b{32,64}(a, mask[, p])
//               redux_sync_{add,min,max}_{u,s}32, _{and,or,xor}_b32 activemask_b32() elect_sync(mask, p)
//               bar_warp_sync(mask)
//   block       {bar,barrier}[_cta]_sync() {bar,barrier}[_cta]_red_{popc_u32,and_pred,or_pred}(p)
//   others      trap() brkpt() nanosleep_u32(t)
#ifndef HIPPORT_PTX_H
#define HIPPORT_PTX_H

#include "simd.h"

#if defined(__HIP__) || defined(__CUDACC__)
#include "barrier.h"
#include "warp.h"
#define HIPPORT_GPU 1
#else
#define HIPPORT_GPU 0
#endif

#if defined(__HIP__)
#define HIPPORT_DEVICE static __host__ __device__ __forceinline__
#define HIPPORT_NVCC 0
#elif defined(__CUDACC__)
#define HIPPORT_DEVICE static __device__ __forceinline__
#define HIPPORT_NVCC 1
#else
#define HIPPORT_DEVICE static inline
#define HIPPORT_NVCC 0
#endif

// Programs may define macros with such names, also by -D; these are restored at the end.
#pragma push_macro("pred")
#undef pred
#pragma push_macro("s8")
#undef s8
#pragma push_macro("u8")
#undef u8
#pragma push_macro("b8")
#undef b8
#pragma push_macro("s16")
#undef s16
#pragma push_macro("u16")
#undef u16
#pragma push_macro("b16")
#undef b16
#pragma push_macro("s32")
#undef s32
#pragma push_macro("u32")
#undef u32
#pragma push_macro("b32")
#undef b32
#pragma push_macro("s64")
#undef s64
#pragma push_macro("u64")
#undef u64
#pragma push_macro("b64")
#undef b64
#pragma push_macro("f32")
#undef f32
#pragma push_macro("f64")
#undef f64

namespace hipport {
namespace ptx {

using pred = bool;
using s8 = signed char;
using u8 = unsigned char;
using b8 = unsigned char;
using s16 = short;
using u16 = unsigned short;
using b16 = unsigned short;
using s32 = int;
using u32 = unsigned;
using b32 = unsigned;
using s64 = long long;
using u64 = unsigned long long;
using b64 = unsigned long long;
using f32 = float;
using f64 = double;

/// The same bits as another type.
template <typename To, typename From>
HIPPORT_DEVICE To as(From from) {
  static_assert(sizeof(To) == sizeof(From), "no bit may be lost or made up");
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}

namespace detail {

__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;

template <bool same_size>
struct assignment {
  template <typename To, typename From>
  HIPPORT_DEVICE void put(To& to, From from) {
    __builtin_memcpy(&to, &from, sizeof(to));
  }
};
template <>
struct assignment<false> {
  template <typename To, typename From>
  HIPPORT_DEVICE void put(To& to, From from) {
    to = static_cast<To>(from);
  }
};

template <typename T>
HIPPORT_DEVICE constexpr bool is_signed() {
  return static_cast<T>(-1) < static_cast<T>(1);
}

template <unsigned size>
struct word;
template <>
struct word<1> {
  using type = u8;
};
template <>
struct word<2> {
  using type = u16;
};
template <>
struct word<4> {
  using type = u32;
};
template <>
struct word<8> {
  using type = u64;
};
/// The unsigned integer with the size of T.
template <typename T>
using word_of = typename word<sizeof(T)>::type;

/// The integer with twice the bits.
template <typename T>
struct wider;
template <>
struct wider<u8> {
  using type = u32;
};
template <>
struct wider<u16> {
  using type = u32;
};
template <>
struct wider<s16> {
  using type = s32;
};
template <>
struct wider<u32> {
  using type = u64;
};
template <>
struct wider<s32> {
  using type = s64;
};
template <>
struct wider<u64> {
  using type = u128;
};
template <>
struct wider<s64> {
  using type = s128;
};

template <typename T>
HIPPORT_DEVICE constexpr T highest() {
  return static_cast<T>(static_cast<word_of<T>>(~word_of<T>(0)) >> is_signed<T>());
}
template <typename T>
HIPPORT_DEVICE constexpr T lowest() {
  return static_cast<T>(is_signed<T>() ? -highest<T>() - 1 : 0);
}

template <typename T>
HIPPORT_DEVICE bool is_negative(T a) {
  return is_signed<T>() && static_cast<word_of<T>>(a) >> (8 * sizeof(T) - 1) != 0;
}

template <typename T>
HIPPORT_DEVICE T smaller(T x, T y) {
  return y < x ? y : x;
}
template <typename T>
HIPPORT_DEVICE T larger(T x, T y) {
  return x < y ? y : x;
}

}  // namespace detail

/// Set a variable to the bits of `from`; between integers of different sizes, convert.
template <typename To, typename From>
HIPPORT_DEVICE void put(To& to, From from) {
  detail::assignment<sizeof(To) == sizeof(From)>::put(to, from);
}

}  // namespace ptx
}  // namespace hipport

#define HIPPORT_PTX
#include "ptx_integer.h"
#include "ptx_float.h"
#include "ptx_convert.h"
#include "ptx_video.h"
#if HIPPORT_GPU
#include "ptx_memory.h"
#include "ptx_warp.h"
#endif
#undef HIPPORT_PTX

#undef HIPPORT_NVCC
#undef HIPPORT_GPU
#undef HIPPORT_DEVICE

#pragma pop_macro("pred")
#pragma pop_macro("s8")
#pragma pop_macro("u8")
#pragma pop_macro("b8")
#pragma pop_macro("s16")
#pragma pop_macro("u16")
#pragma pop_macro("b16")
#pragma pop_macro("s32")
#pragma pop_macro("u32")
#pragma pop_macro("b32")
#pragma pop_macro("s64")
#pragma pop_macro("u64")
#pragma pop_macro("b64")
#pragma pop_macro("f32")
#pragma pop_macro("f64")
#endif  // HIPPORT_PTX_H
