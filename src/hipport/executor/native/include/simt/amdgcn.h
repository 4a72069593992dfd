// SPDX-License-Identifier: Apache-2.0
// simt/amdgcn.h: features of AMD's compiler and device libraries that HIP code uses beyond HIP: __builtin_amdgcn_*,
// __ockl_*, and HIP's own functions that CUDA lacks.
//
// The semantics of instructions are from AMD's instruction set manuals (CDNA3, RDNA2) and LLVM's AMDGPUUsage. An
// instruction that reads inactive lanes gets `poison` from lanes that take no part.
#ifndef SIMT_AMDGCN_H
#define SIMT_AMDGCN_H

#include "atomics.h"
#include "core.h"
#include "define.h"
#include "float16.h"
#include "intrinsics.h"
#include "vector_types.h"
#include "warp_hip.h"

// The wavefront size is known when the program runs. If source needs it as a constant (#if, array bounds), the program
// has to be compiled for one size.
#ifndef __AMDGCN_WAVEFRONT_SIZE
#ifdef SIMT_WAVE_SIZE
#define __AMDGCN_WAVEFRONT_SIZE SIMT_WAVE_SIZE
#else
#define __AMDGCN_WAVEFRONT_SIZE (::simt::wave_size())
#endif
#define __AMDGCN_WAVEFRONT_SIZE__ __AMDGCN_WAVEFRONT_SIZE
#endif

#ifndef __clang__
#define __builtin_debugtrap() ((void)0)
#define __builtin_bitreverse32(x) (::simt::detail::reversed(static_cast<unsigned>(x)))
#define __builtin_bitreverse64(x) (::simt::detail::reversed(static_cast<unsigned long long>(x)))
#define __builtin_nontemporal_load(from) (*(from))
#define __builtin_nontemporal_store(value, to) ((void)(*(to) = (value)))
#endif

// -------------------------------------------------------------------------------------------------- positions of
// threads

inline unsigned __builtin_amdgcn_wavefrontsize() { return static_cast<unsigned>(::simt::wave_size()); }
#define SIMT_AXIS(axis)                                                                                   \
  inline unsigned __builtin_amdgcn_workitem_id_##axis() { return threadIdx.axis; }                        \
  inline unsigned __builtin_amdgcn_workgroup_id_##axis() { return blockIdx.axis; }                        \
  inline unsigned short __builtin_amdgcn_workgroup_size_##axis() {                                        \
    return static_cast<unsigned short>(blockDim.axis);                                                    \
  }                                                                                                       \
  inline unsigned __builtin_amdgcn_grid_size_##axis() { return blockDim.axis * gridDim.axis; }
SIMT_AXIS(x)
SIMT_AXIS(y)
SIMT_AXIS(z)
#undef SIMT_AXIS
inline std::size_t __ockl_get_local_id(unsigned axis) {
  return axis == 0 ? threadIdx.x : axis == 1 ? threadIdx.y : axis == 2 ? threadIdx.z : 0;
}
inline std::size_t __ockl_get_group_id(unsigned axis) {
  return axis == 0 ? blockIdx.x : axis == 1 ? blockIdx.y : axis == 2 ? blockIdx.z : 0;
}
inline std::size_t __ockl_get_local_size(unsigned axis) {
  return axis == 0 ? blockDim.x : axis == 1 ? blockDim.y : axis == 2 ? blockDim.z : 1;
}
inline std::size_t __ockl_get_num_groups(unsigned axis) {
  return axis == 0 ? gridDim.x : axis == 1 ? gridDim.y : axis == 2 ? gridDim.z : 1;
}
inline std::size_t __ockl_get_global_size(unsigned axis) {
  return __ockl_get_local_size(axis) * __ockl_get_num_groups(axis);
}
inline std::size_t __ockl_get_global_id(unsigned axis) {
  return __ockl_get_group_id(axis) * __ockl_get_local_size(axis) + __ockl_get_local_id(axis);
}
inline unsigned __ockl_lane_u32() { return ::simt::lane(); }

/// The number of lanes before the caller's in the mask, of the lower and the upper half of a wavefront, plus `more`.
inline unsigned __builtin_amdgcn_mbcnt_lo(unsigned mask, unsigned more) {
  const unsigned lane = ::simt::lane();
  return more + static_cast<unsigned>(__builtin_popcount(lane >= 32 ? mask : mask & ((1u << lane) - 1)));
}
inline unsigned __builtin_amdgcn_mbcnt_hi(unsigned mask, unsigned more) {
  const unsigned lane = ::simt::lane();
  return more + static_cast<unsigned>(lane < 32 ? 0 : __builtin_popcount(mask & ((1u << (lane - 32)) - 1)));
}
inline unsigned __mbcnt_lo(unsigned mask, unsigned more) { return __builtin_amdgcn_mbcnt_lo(mask, more); }
inline unsigned __mbcnt_hi(unsigned mask, unsigned more) { return __builtin_amdgcn_mbcnt_hi(mask, more); }

inline bool __builtin_amdgcn_is_shared(const void* p) { return ::simt::is_shared(p); }
inline bool __builtin_amdgcn_is_private(const void* p) { return ::simt::is_local(p); }
inline unsigned __builtin_amdgcn_groupstaticsize() { return 0; }
inline void* __builtin_amdgcn_dynamic_group_ptr() { return ::simt::dynamic_shared(); }
inline void* __get_dynamicgroupbaseptr() { return ::simt::dynamic_shared(); }
inline void* __amdgcn_get_dynamicgroupbaseptr() { return ::simt::dynamic_shared(); }
/// Blocks are not tied to compute units here.
inline unsigned __smid() { return 0; }

// ---------------------------------------------------------------------------------------------- time, waits, barriers

inline long long __clock64() { return ::simt::clock(); }
inline long long __clock() { return ::simt::clock(); }
inline long long wall_clock64() { return ::simt::clock(); }
inline unsigned long long __builtin_amdgcn_s_memtime() { return static_cast<unsigned long long>(::simt::clock()); }
inline unsigned long long __builtin_amdgcn_s_memrealtime() { return static_cast<unsigned long long>(::simt::clock()); }
inline unsigned long long __ockl_steadyctr_u64() { return static_cast<unsigned long long>(::simt::clock()); }
inline void __builtin_amdgcn_s_sleep(int, SIMT_HERE) { ::simt::yield(SIMT_THERE); }
inline void __builtin_amdgcn_s_barrier(SIMT_HERE) {
  ::simt::block_barrier("__builtin_amdgcn_s_barrier", 0, SIMT_THERE);
}
inline void __builtin_amdgcn_fence(int, const char*, SIMT_HERE) { ::simt::detail::fence(SIMT_THERE); }
inline void __builtin_amdgcn_s_waitcnt(int) {}
inline void __builtin_amdgcn_s_setprio(int) {}
inline void __builtin_amdgcn_sched_barrier(int) {}
inline void __builtin_amdgcn_sched_group_barrier(int, int, int) {}
inline void __builtin_amdgcn_iglp_opt(int) {}
inline void __builtin_amdgcn_buffer_wbinvl1() {}
inline void __builtin_amdgcn_s_dcache_wb() {}
inline int __ockl_wgred_add_i32(int value, SIMT_HERE) { return __syncthreads_count(value, simt_file, simt_line); }
inline int __ockl_wgred_and_i32(int value, SIMT_HERE) { return __syncthreads_and(value, simt_file, simt_line); }
inline int __ockl_wgred_or_i32(int value, SIMT_HERE) { return __syncthreads_or(value, simt_file, simt_line); }
inline int __ockl_grid_is_valid() { return ::simt::is_cooperative(); }
inline void __ockl_grid_sync(SIMT_HERE) { ::simt::grid_barrier(SIMT_THERE); }

// ------------------------------------------------------------------------------------------------- across the lanes

namespace simt {
namespace detail {

inline constexpr Operation wave_barrier{"__builtin_amdgcn_wave_barrier", nullptr};
inline constexpr Operation readfirstlane{"__builtin_amdgcn_readfirstlane", nullptr};
inline constexpr Operation readlane{"__builtin_amdgcn_readlane", nullptr};
inline constexpr Operation bpermute{"__builtin_amdgcn_ds_bpermute", nullptr};
inline constexpr Operation permute{"__builtin_amdgcn_ds_permute", nullptr};
inline constexpr Operation swizzle{"__builtin_amdgcn_ds_swizzle", nullptr};
inline constexpr Operation update_dpp{"__builtin_amdgcn_update_dpp", nullptr};
inline constexpr Operation permlane{"__builtin_amdgcn_permlane", nullptr};

inline const Meeting& meet_with(const Operation& operation, int value, Place place) {
  return meet_present(operation, &value, sizeof value, place);
}

struct Sent {
  int to, value;
};

/// The lane from which a DPP control makes `lane` read; -1 if it is outside the control's range.
inline int dpp_source(int lane, int control, Place place) {
  const int row = lane & ~15, in_row = lane & 15, last = wave_size() - 1;
  if (control >= 0 && control <= 0xff) return (lane & ~3) | (control >> 2 * (lane & 3) & 3);  // quad_perm
  const int by = control & 15;
  switch (control & ~15) {
    case 0x100: return in_row + by <= 15 && by != 0 ? lane + by : -1;  // row_shl
    case 0x110: return in_row - by >= 0 && by != 0 ? lane - by : -1;  // row_shr
    case 0x120: return row | ((in_row - by) & 15);  // row_ror
    case 0x150: return row | by;  // row_newbcast, row_share
    case 0x160: return row | (in_row ^ by);  // row_xmask
    default: break;
  }
  switch (control) {
    case 0x130: return lane == last ? -1 : lane + 1;  // wave_shl
    case 0x134: return lane == last ? 0 : lane + 1;  // wave_rol
    case 0x138: return lane - 1;  // wave_shr
    case 0x13c: return lane == 0 ? last : lane - 1;  // wave_ror
    case 0x140: return row | (15 - in_row);  // row_mirror
    case 0x141: return (lane & ~7) | (7 - (lane & 7));  // row_half_mirror
    case 0x142: return lane < 16 ? -1 : row - 1;  // row_bcast:15
    case 0x143: return lane < 32 ? -1 : 31;  // row_bcast:31
    default: fault("unsupported", place, "__builtin_amdgcn_update_dpp: no such control as 0x%x", control);
  }
}

inline int dpp(const Operation& operation, int old, int value, int control, int row_mask, int bank_mask,
               bool bound_control, Place place) {
  const int lane = static_cast<int>(::simt::lane());
  const int source = dpp_source(lane, control, place);
  const Meeting& meeting = meet_with(operation, value, place);
  if ((row_mask >> (lane / 16) & 1) == 0 || (bank_mask >> (lane % 16 / 4) & 1) == 0) return old;
  if (source >= 0 && meeting.has(static_cast<unsigned>(source))) return meeting.get<int>(static_cast<unsigned>(source));
  return bound_control ? 0 : old;
}

}  // namespace detail
}  // namespace simt

inline void __builtin_amdgcn_wave_barrier(SIMT_HERE) {
  // On the GPU, lanes run in lockstep and this only keeps the compiler from moving code; here it makes them converge.
  ::simt::meet_present(::simt::detail::wave_barrier, nullptr, 0, SIMT_THERE);
}
inline unsigned long long __builtin_amdgcn_ballot_w64(bool predicate, SIMT_HERE) {
  return __ballot(predicate, simt_file, simt_line);
}
inline unsigned __builtin_amdgcn_ballot_w32(bool predicate, SIMT_HERE) {
  return static_cast<unsigned>(__ballot(predicate, simt_file, simt_line));
}
inline unsigned long long __builtin_amdgcn_read_exec(SIMT_HERE) { return __activemask(simt_file, simt_line); }
inline bool __builtin_amdgcn_inverse_ballot_w64(unsigned long long mask) { return (mask >> ::simt::lane() & 1) != 0; }
inline bool __builtin_amdgcn_inverse_ballot_w32(unsigned mask) { return (mask >> ::simt::lane() & 1) != 0; }

/// Any type of up to 8 bytes, as in clang since release 20.
template <typename T>
inline T __builtin_amdgcn_readfirstlane(T value, SIMT_HERE) {
  const ::simt::Meeting& all =
      ::simt::meet_present(::simt::detail::readfirstlane, &value, sizeof value, SIMT_THERE);
  return all.get<T>(static_cast<unsigned>(__builtin_ctzll(all.lanes)));
}
template <typename T>
inline T __builtin_amdgcn_readlane(T value, int lane, SIMT_HERE) {
  const ::simt::Meeting& all = ::simt::meet_present(::simt::detail::readlane, &value, sizeof value, SIMT_THERE);
  return ::simt::detail::given_by<T>(all, ::simt::detail::in_wave(lane), ::simt::detail::readlane, SIMT_THERE);
}
/// The lane of an address is that of its word; addresses wrap around at the end of the wavefront.
inline int __builtin_amdgcn_ds_bpermute(int address, int value, SIMT_HERE) {
  const ::simt::Meeting& all = ::simt::detail::meet_with(::simt::detail::bpermute, value, SIMT_THERE);
  return ::simt::detail::given_by<int>(all, ::simt::detail::in_wave(address >> 2), ::simt::detail::bpermute,
                                       SIMT_THERE);
}
/// Sends instead: of the lanes that send to one lane, the highest wins; a lane without a sender gets 0.
inline int __builtin_amdgcn_ds_permute(int address, int value, SIMT_HERE) {
  using ::simt::detail::Sent;
  const Sent sent{static_cast<int>(::simt::detail::in_wave(address >> 2)), value};
  const ::simt::Meeting& all = ::simt::meet_present(::simt::detail::permute, &sent, sizeof sent, SIMT_THERE);
  int result = 0;
  for (std::uint64_t open = all.lanes; open != 0; open &= open - 1) {
    const Sent each = all.get<Sent>(static_cast<unsigned>(__builtin_ctzll(open)));
    if (each.to == static_cast<int>(::simt::lane())) result = each.value;
  }
  return result;
}
/// Within 32 lanes by masks, or within four; inactive lanes give 0.
inline int __builtin_amdgcn_ds_swizzle(int value, int pattern, SIMT_HERE) {
  const unsigned lane = ::simt::lane(), bits = static_cast<unsigned>(pattern);
  if ((bits & 0xc000u) == 0xc000u) {
    ::simt::fault("unsupported", SIMT_THERE, "__builtin_amdgcn_ds_swizzle: pattern 0x%x (rotation or FFT)", bits);
  }
  const unsigned source =
      (bits & 0x8000u) != 0
          ? (lane & ~3u) | (bits >> 2 * (lane & 3) & 3u)
          : (lane & 32u) | ((((lane & 31u) & (bits & 31u)) | (bits >> 5 & 31u)) ^ (bits >> 10 & 31u));
  const ::simt::Meeting& all = ::simt::detail::meet_with(::simt::detail::swizzle, value, SIMT_THERE);
  return all.has(source) ? all.get<int>(source) : 0;
}
template <typename T>
inline T __builtin_amdgcn_update_dpp(T old, T value, int control, int rows, int banks, bool bound, SIMT_HERE) {
  static_assert(sizeof(T) == 4, "a value of 4 bytes");
  using ::simt::detail::bits_as;
  return bits_as<T>(::simt::detail::dpp(::simt::detail::update_dpp, bits_as<int>(old), bits_as<int>(value), control,
                                        rows, banks, bound, SIMT_THERE));
}
/// The value of a lane that gives none is undefined.
template <typename T>
inline T __builtin_amdgcn_mov_dpp(T value, int control, int rows, int banks, bool bound, SIMT_HERE) {
  return __builtin_amdgcn_update_dpp(::simt::detail::poison<T>(), value, control, rows, banks, bound, simt_file,
                                     simt_line);
}

#define __hip_ds_bpermute(address, value) \
  static_cast<unsigned>(__builtin_amdgcn_ds_bpermute(address, static_cast<int>(value)))
#define __hip_ds_bpermutef(address, value) \
  __int_as_float(__builtin_amdgcn_ds_bpermute(address, __float_as_int(value)))
#define __hip_ds_permute(address, value) \
  static_cast<unsigned>(__builtin_amdgcn_ds_permute(address, static_cast<int>(value)))
#define __hip_ds_permutef(address, value) __int_as_float(__builtin_amdgcn_ds_permute(address, __float_as_int(value)))
#define __hip_ds_swizzle(value, pattern) \
  static_cast<unsigned>(__builtin_amdgcn_ds_swizzle(static_cast<int>(value), pattern))
#define __hip_ds_swizzlef(value, pattern) __int_as_float(__builtin_amdgcn_ds_swizzle(__float_as_int(value), pattern))
#define __hip_move_dpp(value, control, rows, banks, bound) \
  __builtin_amdgcn_mov_dpp(value, control, rows, banks, bound)

inline std::uint64_t __lanemask_lt(SIMT_HERE) {
  const unsigned lane = ::simt::lane();
  return ((std::uint64_t{1} << lane) - 1) & __ballot(1, simt_file, simt_line);
}
inline std::uint64_t __lanemask_gt(SIMT_HERE) {
  const unsigned lane = ::simt::lane();
  return lane == 63 ? 0 : (~std::uint64_t{0} << (lane + 1)) & __ballot(1, simt_file, simt_line);
}
inline std::uint64_t __lanemask_eq() { return std::uint64_t{1} << ::simt::lane(); }
inline int __ockl_wfany_i32(int predicate, SIMT_HERE) { return __any(predicate, simt_file, simt_line); }
inline int __ockl_wfall_i32(int predicate, SIMT_HERE) { return __all(predicate, simt_file, simt_line); }

// -------------------------------------------------------------------------------------------------------- arithmetic

inline float __builtin_amdgcn_rcpf(float x) { return 1 / x; }
inline double __builtin_amdgcn_rcp(double x) { return 1 / x; }
inline float __builtin_amdgcn_rsqf(float x) { return ::rsqrtf(x); }
inline double __builtin_amdgcn_rsq(double x) { return ::rsqrt(x); }
inline float __builtin_amdgcn_sqrtf(float x) { return std::sqrt(x); }
inline double __builtin_amdgcn_sqrt(double x) { return std::sqrt(x); }
inline float __builtin_amdgcn_exp2f(float x) { return std::exp2(x); }
inline float __builtin_amdgcn_logf(float x) { return std::log2(x); }
/// The argument counts turns, not radians.
inline float __builtin_amdgcn_sinf(float x) { return ::sinpif(2 * x); }
inline float __builtin_amdgcn_cosf(float x) { return ::cospif(2 * x); }
inline float __builtin_amdgcn_fractf(float x) { return x - std::floor(x); }
inline float __builtin_amdgcn_ldexpf(float x, int by) { return std::ldexp(x, by); }
inline double __builtin_amdgcn_ldexp(double x, int by) { return std::ldexp(x, by); }
inline float __builtin_amdgcn_frexp_mantf(float x) {
  int exponent;
  return std::frexp(x, &exponent);
}
inline int __builtin_amdgcn_frexp_expf(float x) {
  int exponent = 0;
  std::frexp(x, &exponent);
  return exponent;
}
/// The median of three.
inline float __builtin_amdgcn_fmed3f(float x, float y, float z) {
  return std::fmax(std::fmin(x, y), std::fmin(std::fmax(x, y), z));
}

inline unsigned __builtin_amdgcn_alignbit(unsigned high, unsigned low, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t(high) << 32 | low) >> (shift & 31u));
}
inline unsigned __builtin_amdgcn_alignbyte(unsigned high, unsigned low, unsigned bytes) {
  return static_cast<unsigned>((std::uint64_t(high) << 32 | low) >> (bytes & 3u) * 8);
}
/// Each byte of the selector selects a byte of the result: 0 to 3 from b, 4 to 7 from a, 8 to 11 the sign of a half,
/// 12 zero, larger ones all bits.
inline unsigned __builtin_amdgcn_perm(unsigned a, unsigned b, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t(a) << 32 | b;
  unsigned result = 0;
  for (unsigned i = 0; i < 32; i += 8) {
    const unsigned which = selector >> i & 0xff;
    unsigned byte = 0xff;
    if (which < 8) byte = static_cast<unsigned>(bytes >> which * 8) & 0xff;
    if (which >= 8 && which < 12) byte = (bytes >> ((which - 8) * 16 + 15) & 1) != 0 ? 0xff : 0;
    if (which == 12) byte = 0;
    result |= byte << i;
  }
  return result;
}
inline unsigned __builtin_amdgcn_ubfe(unsigned x, unsigned offset, unsigned width) {
  return x >> (offset & 31u) & ((1u << (width & 31u)) - 1);
}
inline int __builtin_amdgcn_sbfe(int x, unsigned offset, unsigned width) {
  offset &= 31u, width &= 31u;
  if (width == 0) return 0;
  const unsigned field = static_cast<unsigned>(x >> offset);
  return static_cast<int>(field << (32 - width)) >> (32 - width);
}

namespace simt {
namespace detail {

/// The sum of `c` and of an operation on the fields of two words.
template <unsigned bits, typename Operation>
inline unsigned over_fields(unsigned a, unsigned b, unsigned c, Operation operation) {
  for (unsigned at = 0; at < 32; at += bits) {
    const unsigned ones = (1u << bits) - 1;
    c += static_cast<unsigned>(operation(a >> at & ones, b >> at & ones));
  }
  return c;
}
inline unsigned distance(unsigned x, unsigned y) { return x < y ? y - x : x - y; }
template <typename Field, unsigned bits>
inline int product(unsigned x, unsigned y) {
  if constexpr (std::is_signed_v<Field>) {
    return (static_cast<int>(x << (32 - bits)) >> (32 - bits)) * (static_cast<int>(y << (32 - bits)) >> (32 - bits));
  }
  return static_cast<int>(x * y);
}
/// With saturation to the field's range, if `clamp` asks for it.
template <typename Field, unsigned bits, typename Word>
inline Word dot(Word a, Word b, Word c, bool clamp) {
  std::int64_t sum = c;
  for (unsigned at = 0; at < 32; at += bits) {
    const unsigned ones = static_cast<unsigned>((std::uint64_t{1} << bits) - 1);
    const unsigned x = static_cast<unsigned>(a) >> at & ones, y = static_cast<unsigned>(b) >> at & ones;
    sum += std::is_signed_v<Field> ? std::int64_t(product<Field, bits>(x, y)) : std::int64_t(std::uint64_t(x) * y);
  }
  if (clamp) {
    if (sum > std::int64_t(std::numeric_limits<Word>::max())) return std::numeric_limits<Word>::max();
    if (sum < std::int64_t(std::numeric_limits<Word>::min())) return std::numeric_limits<Word>::min();
  }
  return static_cast<Word>(sum);
}

}  // namespace detail
}  // namespace simt

inline unsigned __builtin_amdgcn_sad_u8(unsigned a, unsigned b, unsigned c) {
  return ::simt::detail::over_fields<8>(a, b, c, ::simt::detail::distance);
}
inline unsigned __builtin_amdgcn_sad_u16(unsigned a, unsigned b, unsigned c) {
  return ::simt::detail::over_fields<16>(a, b, c, ::simt::detail::distance);
}
inline unsigned __builtin_amdgcn_sad_hi_u8(unsigned a, unsigned b, unsigned c) {
  return c + (__builtin_amdgcn_sad_u8(a, b, 0) << 16);
}
/// Like sad_u8, but bytes that are 0 in `b` do not count.
inline unsigned __builtin_amdgcn_msad_u8(unsigned a, unsigned b, unsigned c) {
  return ::simt::detail::over_fields<8>(
      a, b, c, [](unsigned x, unsigned y) { return y == 0 ? 0 : ::simt::detail::distance(x, y); });
}
inline unsigned __builtin_amdgcn_lerp(unsigned a, unsigned b, unsigned c) {
  unsigned result = 0;
  for (unsigned at = 0; at < 32; at += 8) {
    result |= (((a >> at & 0xff) + (b >> at & 0xff) + (c >> at & 1)) >> 1) << at;
  }
  return result;
}
inline int __builtin_amdgcn_mul_i24(int x, int y) { return ::__mul24(x, y); }
inline unsigned __builtin_amdgcn_mul_u24(unsigned x, unsigned y) { return ::__umul24(x, y); }
#define SIMT_DOT(suffix, signed_field, unsigned_field, bits)                                                \
  inline int __builtin_amdgcn_sdot##suffix(int a, int b, int c, bool clamp) {                               \
    return ::simt::detail::dot<signed_field, bits>(a, b, c, clamp);                                         \
  }                                                                                                         \
  inline unsigned __builtin_amdgcn_udot##suffix(unsigned a, unsigned b, unsigned c, bool clamp) {           \
    return ::simt::detail::dot<unsigned_field, bits>(a, b, c, clamp);                                       \
  }
SIMT_DOT(4, signed char, unsigned char, 8)
SIMT_DOT(8, signed char, unsigned char, 4)
#undef SIMT_DOT
/// Each word is four bytes, signed or unsigned as its flag says.
inline int __builtin_amdgcn_sudot4(bool a_has_sign, int a, bool b_has_sign, int b, int c, bool clamp) {
  std::int64_t sum = c;
  for (int at = 0; at < 32; at += 8) {
    const int x = a >> at & 0xff, y = b >> at & 0xff;
    sum += (a_has_sign && x > 127 ? x - 256 : x) * (b_has_sign && y > 127 ? y - 256 : y);
  }
  if (clamp && sum > std::numeric_limits<int>::max()) return std::numeric_limits<int>::max();
  if (clamp && sum < std::numeric_limits<int>::min()) return std::numeric_limits<int>::min();
  return static_cast<int>(sum);
}
inline int amd_mixed_dot(short2 a, short2 b, int c, bool clamp) {
  return ::simt::detail::dot<short, 16>(::simt::detail::bits_as<int>(a), ::simt::detail::bits_as<int>(b), c, clamp);
}
inline unsigned amd_mixed_dot(ushort2 a, ushort2 b, unsigned c, bool clamp) {
  return ::simt::detail::dot<unsigned short, 16>(::simt::detail::bits_as<unsigned>(a),
                                                 ::simt::detail::bits_as<unsigned>(b), c, clamp);
}
inline int amd_mixed_dot(char4 a, char4 b, int c, bool clamp) {
  return __builtin_amdgcn_sdot4(::simt::detail::bits_as<int>(a), ::simt::detail::bits_as<int>(b), c, clamp);
}
inline unsigned amd_mixed_dot(uchar4 a, uchar4 b, unsigned c, bool clamp) {
  return __builtin_amdgcn_udot4(::simt::detail::bits_as<unsigned>(a), ::simt::detail::bits_as<unsigned>(b), c, clamp);
}
inline int amd_mixed_dot(int a, int b, int c, bool clamp) { return __builtin_amdgcn_sdot8(a, b, c, clamp); }
inline unsigned amd_mixed_dot(unsigned a, unsigned b, unsigned c, bool clamp) {
  return __builtin_amdgcn_udot8(a, b, c, clamp);
}

#define SIMT_ATOMIC(name, T, how)                                     \
  inline T __builtin_amdgcn_##name(T* address, T value) {             \
    return ::simt::detail::how(address, value);                       \
  }
SIMT_ATOMIC(global_atomic_fadd_f32, float, fetch_add)
SIMT_ATOMIC(global_atomic_fadd_f64, double, fetch_add)
SIMT_ATOMIC(flat_atomic_fadd_f32, float, fetch_add)
SIMT_ATOMIC(flat_atomic_fadd_f64, double, fetch_add)
SIMT_ATOMIC(flat_atomic_fmin_f64, double, fetch_min)
SIMT_ATOMIC(flat_atomic_fmax_f64, double, fetch_max)
SIMT_ATOMIC(global_atomic_fmin_f64, double, fetch_min)
SIMT_ATOMIC(global_atomic_fmax_f64, double, fetch_max)
SIMT_ATOMIC(ds_atomic_fadd_f32, float, fetch_add)
SIMT_ATOMIC(ds_atomic_fadd_f64, double, fetch_add)
#undef SIMT_ATOMIC

// HIP's bit functions that CUDA lacks.
inline int __fns32(std::uint32_t mask, std::uint32_t base, std::int32_t offset) {
  return static_cast<int>(::simt::detail::nth_set_bit(mask, base, offset));
}
inline int __fns64(std::uint64_t mask, std::uint32_t base, std::int32_t offset) {
  return static_cast<int>(::simt::detail::nth_set_bit(mask, base, offset));
}
inline unsigned __lastbit_u32_u64(std::uint64_t x) {
  return x == 0 ? ~0u : static_cast<unsigned>(__builtin_ctzll(x));
}
inline unsigned __bitextract_u32(unsigned x, unsigned offset, unsigned width) {
  return __builtin_amdgcn_ubfe(x, offset, width);
}
inline std::uint64_t __bitextract_u64(std::uint64_t x, unsigned offset, unsigned width) {
  return x >> (offset & 63u) & ((std::uint64_t{1} << (width & 63u)) - 1);
}
inline unsigned __bitinsert_u32(unsigned x, unsigned y, unsigned offset, unsigned width) {
  const unsigned mask = ((1u << (width & 31u)) - 1) << (offset & 31u);
  return (x & ~mask) | (y << (offset & 31u) & mask);
}
inline std::uint64_t __bitinsert_u64(std::uint64_t x, std::uint64_t y, unsigned offset, unsigned width) {
  const std::uint64_t mask = ((std::uint64_t{1} << (width & 63u)) - 1) << (offset & 63u);
  return (x & ~mask) | (y << (offset & 63u) & mask);
}

#endif
