// SPDX-License-Identifier: Apache-2.0
// hipport/ptx_integer.h: PTX's instructions on bits and integers. Part of hipport/ptx.h.
// Put here by hipport.
#ifndef HIPPORT_PTX_INTEGER_H
#define HIPPORT_PTX_INTEGER_H

#ifndef HIPPORT_PTX
#error "include hipport/ptx.h"
#endif

namespace hipport {
namespace ptx {
namespace detail {

/// The lowest `count` bits, up to all of them.
template <typename Word>
HIPPORT_DEVICE Word low_bits(unsigned count) {
  return static_cast<Word>(count < 8 * sizeof(Word) ? (Word(1) << count) - 1 : ~Word(0));
}

// Shifts by any number: bits that are shifted out are lost, possibly all of them.
template <typename T>
HIPPORT_DEVICE T shifted_left(T a, unsigned count) {
  using Word = word_of<T>;
  return static_cast<T>(count < 8 * sizeof(T) ? static_cast<Word>(static_cast<Word>(a) << count) : Word(0));
}
template <typename T>
HIPPORT_DEVICE T shifted_right(T a, unsigned count) {
  constexpr unsigned last = 8 * sizeof(T) - 1;
  if (count <= last) return static_cast<T>(a >> count);
  return static_cast<T>(is_signed<T>() ? a >> last : T(0));
}

// PTX restricts a position and a length to 255; of larger ones, the lower bits count.
// Not written as `position >= bits ? 0 : smaller(length, bits - position)`: clang 21 moves that difference before its
// guard, concludes that the position is always below `bits`, and drops other clamps of it in the same kernel.
template <typename T>
HIPPORT_DEVICE T field(T a, unsigned position, unsigned length) {
  using Word = word_of<T>;
  constexpr unsigned bits = 8 * sizeof(T);
  length &= 255u;
  const unsigned begin = smaller(position & 255u, bits);
  const unsigned there = smaller(length, bits - begin);
  // Bits above the field are shifted out at the top, and bits below it at the bottom, where the sign is extended.
  const Word top = shifted_left(static_cast<Word>(a), bits - begin - there);
  return length == 0 ? T(0) : shifted_right(static_cast<T>(top), bits - there);
}

template <typename Word>
HIPPORT_DEVICE Word with_field(Word a, Word b, unsigned position, unsigned length) {
  const Word mask = shifted_left(low_bits<Word>(length & 255u), position & 255u);
  return (b & ~mask) | (shifted_left(a, position & 255u) & mask);
}

#if HIPPORT_NVCC
HIPPORT_DEVICE unsigned ones(unsigned a) { return static_cast<unsigned>(__popc(static_cast<int>(a))); }
HIPPORT_DEVICE unsigned ones(unsigned long long a) { return static_cast<unsigned>(__popcll(a)); }
HIPPORT_DEVICE unsigned leading_zeros(unsigned a) { return static_cast<unsigned>(__clz(static_cast<int>(a))); }
HIPPORT_DEVICE unsigned leading_zeros(unsigned long long a) {
  return static_cast<unsigned>(__clzll(static_cast<long long>(a)));
}
#else
HIPPORT_DEVICE unsigned ones(unsigned a) { return static_cast<unsigned>(__builtin_popcount(a)); }
HIPPORT_DEVICE unsigned ones(unsigned long long a) { return static_cast<unsigned>(__builtin_popcountll(a)); }
HIPPORT_DEVICE unsigned leading_zeros(unsigned a) { return a ? static_cast<unsigned>(__builtin_clz(a)) : 32u; }
HIPPORT_DEVICE unsigned leading_zeros(unsigned long long a) {
  return a ? static_cast<unsigned>(__builtin_clzll(a)) : 64u;
}
#endif

template <typename Word>
HIPPORT_DEVICE Word reversed(Word a) {
#if defined(__clang__)
  return static_cast<Word>(sizeof(Word) == 8 ? __builtin_bitreverse64(a)
                                             : __builtin_bitreverse32(static_cast<unsigned>(a)));
#else
  Word result = 0;
  for (unsigned i = 0; i < 8 * sizeof(Word); ++i) result = static_cast<Word>(result << 1 | (a >> i & 1));
  return result;
#endif
}

/// The place of the highest bit that differs from the sign, or its distance from the top; all bits if there is none.
template <typename T>
HIPPORT_DEVICE unsigned highest_bit(T a, bool from_top) {
  using Word = word_of<T>;
  const Word x = static_cast<Word>(is_negative(a) ? ~a : a);
  const unsigned zeros = leading_zeros(x);
  return x == 0 ? ~0u : from_top ? zeros : static_cast<unsigned>(8 * sizeof(T)) - 1 - zeros;
}

HIPPORT_DEVICE unsigned byte_of(unsigned low, unsigned high, unsigned selector) {
  const unsigned place = 8 * (selector & 3u);
  return ((selector & 4u ? high : low) >> place) & 255u;
}
/// The bytes of {high, low} that four numbers select, the lowest first.
HIPPORT_DEVICE unsigned bytes_of(unsigned low, unsigned high, unsigned s0, unsigned s1, unsigned s2, unsigned s3) {
  return byte_of(low, high, s0) | byte_of(low, high, s1) << 8 | byte_of(low, high, s2) << 16 |
         byte_of(low, high, s3) << 24;
}

/// a * b in twice the bits.
template <typename T>
HIPPORT_DEVICE typename wider<T>::type product(T a, T b) {
  using Wide = typename wider<T>::type;
  return static_cast<Wide>(a) * static_cast<Wide>(b);
}
template <typename T>
HIPPORT_DEVICE T product_low(T a, T b) {
  using Word = typename wider<word_of<T>>::type;
  return static_cast<T>(static_cast<Word>(a) * static_cast<Word>(b));
}
template <typename T>
HIPPORT_DEVICE T product_high(T a, T b) {
  return static_cast<T>(product(a, b) >> (8 * sizeof(T)));
}

// Wrapping sums: C++ guarantees wrapping only for unsigned numbers.
template <typename T>
HIPPORT_DEVICE T sum(T a, T b) {
  return static_cast<T>(static_cast<word_of<T>>(a) + static_cast<word_of<T>>(b));
}
template <typename T>
HIPPORT_DEVICE T difference(T a, T b) {
  return static_cast<T>(static_cast<word_of<T>>(a) - static_cast<word_of<T>>(b));
}
template <typename T>
HIPPORT_DEVICE T opposite(T a) {
  return difference(T(0), a);
}

/// The value of To nearest to `a`.
template <typename To, typename From>
HIPPORT_DEVICE To nearest_integer(From a) {
  if (is_negative(a)) {
    if (!is_signed<To>()) return To(0);
    if (sizeof(To) < sizeof(From) && static_cast<long long>(a) < static_cast<long long>(lowest<To>())) {
      return lowest<To>();
    }
    return static_cast<To>(a);
  }
  return static_cast<unsigned long long>(a) > static_cast<unsigned long long>(highest<To>()) ? highest<To>()
                                                                                             : static_cast<To>(a);
}

// PTX leaves division by zero open; these are the bits that NVIDIA's GPUs return. C++ must not execute one.
template <typename T>
HIPPORT_DEVICE T quotient(T a, T b) {
  if (b == 0) return static_cast<T>(~T(0));
  if (is_signed<T>() && b == static_cast<T>(-1)) return opposite(a);
  return static_cast<T>(a / b);
}
template <typename T>
HIPPORT_DEVICE T remainder(T a, T b) {
  if (b == 0) return static_cast<T>(~T(0));
  if (is_signed<T>() && b == static_cast<T>(-1)) return T(0);
  return static_cast<T>(a % b);
}

/// The lower 24 bits, sign-extended for a signed type.
HIPPORT_DEVICE unsigned of_24_bits(unsigned a) { return a & 0xffffffu; }
HIPPORT_DEVICE int of_24_bits(int a) { return static_cast<int>(static_cast<unsigned>(a) << 8) >> 8; }

/// a + b + carry, and sets the carry.
template <typename T>
HIPPORT_DEVICE T sum_with(unsigned& carry, T a, T b) {
  using Word = word_of<T>;
  const Word partial = static_cast<Word>(a) + static_cast<Word>(b);
  const Word result = partial + static_cast<Word>(carry);
  carry = (partial < static_cast<Word>(a)) | (result < partial);
  return static_cast<T>(result);
}
/// a - b - carry, and sets the carry if that borrows.
template <typename T>
HIPPORT_DEVICE T difference_with(unsigned& carry, T a, T b) {
  using Word = word_of<T>;
  const Word partial = static_cast<Word>(a) - static_cast<Word>(b);
  const Word result = partial - static_cast<Word>(carry);
  carry = (static_cast<Word>(a) < static_cast<Word>(b)) | (partial < static_cast<Word>(carry));
  return static_cast<T>(result);
}

/// c plus the products of the fields of `a`, each `bits` wide, and the bytes of `b`. // Signs are extended by shifts:
/// for fields whose sign is set by an OR, clang 21 generates an unsigned v_dot4_u32_u8 if a // kernel has two such sums
/// of the same bytes.
template <typename A, typename B, unsigned bits>
HIPPORT_DEVICE unsigned dot(unsigned a, unsigned b, unsigned c) {
  for (unsigned i = 0; i < 32 / bits; ++i) {
    const A x = static_cast<A>(a << (32 - bits * (i + 1))) >> (32 - bits);
    const B y = static_cast<B>(b << (24 - 8 * i)) >> 24;
    c += static_cast<unsigned>(x) * static_cast<unsigned>(y);
  }
  return c;
}

}  // namespace detail

// ---- bits

#define HIPPORT_BITS(U, S, B)                                                                           \
  HIPPORT_DEVICE U bfe_##U(U a, u32 b, u32 c) { return detail::field(a, b, c); }                        \
  HIPPORT_DEVICE S bfe_##S(S a, u32 b, u32 c) { return detail::field(a, b, c); }                        \
  HIPPORT_DEVICE B bfi_##B(B a, B b, u32 c, u32 d) { return detail::with_field(a, b, c, d); }           \
  HIPPORT_DEVICE u32 bfind_##U(U a) { return detail::highest_bit(a, false); }                           \
  HIPPORT_DEVICE u32 bfind_##S(S a) { return detail::highest_bit(a, false); }                           \
  HIPPORT_DEVICE u32 bfind_shiftamt_##U(U a) { return detail::highest_bit(a, true); }                   \
  HIPPORT_DEVICE u32 bfind_shiftamt_##S(S a) { return detail::highest_bit(a, true); }                   \
  HIPPORT_DEVICE B brev_##B(B a) { return detail::reversed(a); }                                        \
  HIPPORT_DEVICE u32 clz_##B(B a) { return detail::leading_zeros(a); }                                  \
  HIPPORT_DEVICE u32 popc_##B(B a) { return detail::ones(a); }
HIPPORT_BITS(u32, s32, b32)
HIPPORT_BITS(u64, s64, b64)
#undef HIPPORT_BITS

#define HIPPORT_LOGIC(U, S, B)                                                               \
  HIPPORT_DEVICE B and_##B(B a, B b) { return static_cast<B>(a & b); }                       \
  HIPPORT_DEVICE B or_##B(B a, B b) { return static_cast<B>(a | b); }                        \
  HIPPORT_DEVICE B xor_##B(B a, B b) { return static_cast<B>(a ^ b); }                       \
  HIPPORT_DEVICE B not_##B(B a) { return static_cast<B>(~a); }                               \
  HIPPORT_DEVICE B cnot_##B(B a) { return static_cast<B>(a == 0); }                          \
  HIPPORT_DEVICE B shl_##B(B a, u32 b) { return detail::shifted_left(a, b); }                \
  HIPPORT_DEVICE B shr_##B(B a, u32 b) { return detail::shifted_right(a, b); }               \
  HIPPORT_DEVICE U shr_##U(U a, u32 b) { return detail::shifted_right(a, b); }               \
  HIPPORT_DEVICE S shr_##S(S a, u32 b) { return detail::shifted_right(a, b); }
HIPPORT_LOGIC(u16, s16, b16)
HIPPORT_LOGIC(u32, s32, b32)
HIPPORT_LOGIC(u64, s64, b64)
#undef HIPPORT_LOGIC
HIPPORT_DEVICE bool and_pred(bool a, bool b) { return a && b; }
HIPPORT_DEVICE bool or_pred(bool a, bool b) { return a || b; }
HIPPORT_DEVICE bool xor_pred(bool a, bool b) { return a != b; }
HIPPORT_DEVICE bool not_pred(bool a) { return !a; }

/// The bytes of {b, a} that the nibbles of `c` select; with its highest bit set, a nibble selects the sign of the byte.
HIPPORT_DEVICE b32 prmt_b32(b32 a, b32 b, b32 c) {
  b32 result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const b32 selector = c >> (4 * i);
    b32 byte = detail::byte_of(a, b, selector);
    if (selector & 8u) byte = byte & 0x80u ? 0xffu : 0u;
    result |= byte << (8 * i);
  }
  return result;
}
HIPPORT_DEVICE b32 prmt_b32_f4e(b32 a, b32 b, b32 c) {
  const b32 n = c & 3u;
  return detail::bytes_of(a, b, n, n + 1, n + 2, n + 3);
}
HIPPORT_DEVICE b32 prmt_b32_b4e(b32 a, b32 b, b32 c) {
  const b32 n = c & 3u;
  return detail::bytes_of(a, b, n, n + 7, n + 6, n + 5);
}
HIPPORT_DEVICE b32 prmt_b32_rc8(b32 a, b32 b, b32 c) {
  const b32 n = c & 3u;
  return detail::bytes_of(a, b, n, n, n, n);
}
HIPPORT_DEVICE b32 prmt_b32_ecl(b32 a, b32 b, b32 c) {
  const b32 n = c & 3u;
  return detail::bytes_of(a, b, n, n > 1 ? n : 1, n > 2 ? n : 2, 3);
}
HIPPORT_DEVICE b32 prmt_b32_ecr(b32 a, b32 b, b32 c) {
  const b32 n = c & 3u;
  return detail::bytes_of(a, b, 0, n < 1 ? n : 1, n < 2 ? n : 2, n);
}
HIPPORT_DEVICE b32 prmt_b32_rc16(b32 a, b32 b, b32 c) {
  const b32 n = 2 * (c & 1u);
  return detail::bytes_of(a, b, n, n + 1, n, n + 1);
}

/// Each bit is the bit of `lut` that the three bits of a, b and c select, where that of `a` is the highest.
HIPPORT_DEVICE b32 lop3_b32(b32 a, b32 b, b32 c, b32 lut) {
  b32 result = 0;
  for (unsigned i = 0; i < 8; ++i) {
    if (lut >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  }
  return result;
}

/// The same; `p` is whether any bit is set in it, combined with `q`.
HIPPORT_DEVICE b32 lop3_and_b32(b32 a, b32 b, b32 c, b32 lut, pred q, bool& p) {
  const b32 result = lop3_b32(a, b, c, lut);
  p = result != 0 && q;
  return result;
}
HIPPORT_DEVICE b32 lop3_or_b32(b32 a, b32 b, b32 c, b32 lut, pred q, bool& p) {
  const b32 result = lop3_b32(a, b, c, lut);
  p = result != 0 || q;
  return result;
}

#define HIPPORT_FUNNEL(mode, ...)                                                                        \
  HIPPORT_DEVICE b32 shf_l_##mode##_b32(b32 a, b32 b, u32 c) {                                           \
    const u32 n = __VA_ARGS__;                                                                           \
    return static_cast<b32>(((static_cast<b64>(b) << 32 | a) << n) >> 32);                               \
  }                                                                                                      \
  HIPPORT_DEVICE b32 shf_r_##mode##_b32(b32 a, b32 b, u32 c) {                                           \
    const u32 n = __VA_ARGS__;                                                                           \
    return static_cast<b32>((static_cast<b64>(b) << 32 | a) >> n);                                       \
  }
HIPPORT_FUNNEL(wrap, c & 31u)
HIPPORT_FUNNEL(clamp, detail::smaller(c, 32u))
#undef HIPPORT_FUNNEL

// The lower `b` bits of `a` as a word; and a word with `b` bits from bit `a` on.
HIPPORT_DEVICE u32 szext_clamp_u32(u32 a, u32 b) { return a & detail::low_bits<u32>(b); }
HIPPORT_DEVICE u32 szext_wrap_u32(u32 a, u32 b) { return szext_clamp_u32(a, b & 31u); }
HIPPORT_DEVICE s32 szext_clamp_s32(s32 a, u32 b) { return detail::field(a, 0, detail::smaller(b, 32u)); }
HIPPORT_DEVICE s32 szext_wrap_s32(s32 a, u32 b) { return szext_clamp_s32(a, b & 31u); }
HIPPORT_DEVICE b32 bmsk_clamp_b32(u32 a, u32 b) { return detail::shifted_left(detail::low_bits<b32>(b), a); }
HIPPORT_DEVICE b32 bmsk_wrap_b32(u32 a, u32 b) { return bmsk_clamp_b32(a & 31u, b & 31u); }

/// The place of the `offset`-th set bit of `mask` from `base` on, upwards or downwards; all bits if there is none.
HIPPORT_DEVICE b32 fns_b32(b32 mask, b32 base, s32 offset) {
  if (offset == 0) return mask >> (base & 31u) & 1u ? base : ~0u;
  s32 left = offset < 0 ? -offset : offset;
  for (u32 at = base; at < 32; at += offset < 0 ? ~0u : 1u) {
    if ((mask >> at & 1u) && --left == 0) return at;
  }
  return ~0u;
}

// ---- integers

#define HIPPORT_EACH_INTEGER(T, B)                                                                                    \
  HIPPORT_DEVICE T add_##T(T a, T b) { return detail::sum(a, b); }                                                    \
  HIPPORT_DEVICE T sub_##T(T a, T b) { return detail::difference(a, b); }                                             \
  HIPPORT_DEVICE T div_##T(T a, T b) { return detail::quotient(a, b); }                                               \
  HIPPORT_DEVICE T rem_##T(T a, T b) { return detail::remainder(a, b); }                                              \
  HIPPORT_DEVICE T min_##T(T a, T b) { return detail::smaller(a, b); }                                                \
  HIPPORT_DEVICE T max_##T(T a, T b) { return detail::larger(a, b); }                                                 \
  HIPPORT_DEVICE T sad_##T(T a, T b, T c) {                                                                           \
    return detail::sum(c, a < b ? detail::difference(b, a) : detail::difference(a, b));                               \
  }                                                                                                                   \
  HIPPORT_DEVICE T mul_lo_##T(T a, T b) { return detail::product_low(a, b); }                                         \
  HIPPORT_DEVICE T mul_hi_##T(T a, T b) { return detail::product_high(a, b); }                                        \
  HIPPORT_DEVICE T mad_lo_##T(T a, T b, T c) { return detail::sum(detail::product_low(a, b), c); }                    \
  HIPPORT_DEVICE T mad_hi_##T(T a, T b, T c) { return detail::sum(detail::product_high(a, b), c); }
HIPPORT_EACH_INTEGER(u16, b16)
HIPPORT_EACH_INTEGER(s16, b16)
HIPPORT_EACH_INTEGER(u32, b32)
HIPPORT_EACH_INTEGER(s32, b32)
HIPPORT_EACH_INTEGER(u64, b64)
HIPPORT_EACH_INTEGER(s64, b64)
#undef HIPPORT_EACH_INTEGER

#define HIPPORT_EACH_SIGNED(T)                                                       \
  HIPPORT_DEVICE T abs_##T(T a) { return a < 0 ? detail::opposite(a) : a; }          \
  HIPPORT_DEVICE T neg_##T(T a) { return detail::opposite(a); }
HIPPORT_EACH_SIGNED(s16)
HIPPORT_EACH_SIGNED(s32)
HIPPORT_EACH_SIGNED(s64)
#undef HIPPORT_EACH_SIGNED

#define HIPPORT_WIDE(T, Wide)                                                                           \
  HIPPORT_DEVICE Wide mul_wide_##T(T a, T b) { return detail::product(a, b); }                          \
  HIPPORT_DEVICE Wide mad_wide_##T(T a, T b, Wide c) { return detail::sum(detail::product(a, b), c); }
HIPPORT_WIDE(u16, u32)
HIPPORT_WIDE(s16, s32)
HIPPORT_WIDE(u32, u64)
HIPPORT_WIDE(s32, s64)
#undef HIPPORT_WIDE

HIPPORT_DEVICE s32 add_sat_s32(s32 a, s32 b) { return detail::nearest_integer<s32>(static_cast<s64>(a) + b); }
HIPPORT_DEVICE s32 sub_sat_s32(s32 a, s32 b) { return detail::nearest_integer<s32>(static_cast<s64>(a) - b); }
HIPPORT_DEVICE s32 mad_hi_sat_s32(s32 a, s32 b, s32 c) { return add_sat_s32(mul_hi_s32(a, b), c); }
HIPPORT_DEVICE s32 min_relu_s32(s32 a, s32 b) { return detail::larger(detail::smaller(a, b), 0); }
HIPPORT_DEVICE s32 max_relu_s32(s32 a, s32 b) { return detail::larger(detail::larger(a, b), 0); }

#define HIPPORT_24(T)                                                                                     \
  HIPPORT_DEVICE T mul24_lo_##T(T a, T b) {                                                               \
    return static_cast<T>(detail::product(detail::of_24_bits(a), detail::of_24_bits(b)));                 \
  }                                                                                                       \
  HIPPORT_DEVICE T mul24_hi_##T(T a, T b) {                                                               \
    return static_cast<T>(detail::product(detail::of_24_bits(a), detail::of_24_bits(b)) >> 16);           \
  }                                                                                                       \
  HIPPORT_DEVICE T mad24_lo_##T(T a, T b, T c) { return detail::sum(mul24_lo_##T(a, b), c); }             \
  HIPPORT_DEVICE T mad24_hi_##T(T a, T b, T c) { return detail::sum(mul24_hi_##T(a, b), c); }
HIPPORT_24(u32)
HIPPORT_24(s32)
#undef HIPPORT_24
HIPPORT_DEVICE s32 mad24_hi_sat_s32(s32 a, s32 b, s32 c) { return add_sat_s32(mul24_hi_s32(a, b), c); }

// ---- carries: `cc` is 0 or 1

#define HIPPORT_CARRY(T)                                                                                              \
  HIPPORT_DEVICE T add_cc_##T(T a, T b, u32& cc) { return cc = 0, detail::sum_with(cc, a, b); }                       \
  HIPPORT_DEVICE T addc_cc_##T(T a, T b, u32& cc) { return detail::sum_with(cc, a, b); }                              \
  HIPPORT_DEVICE T addc_##T(T a, T b, const u32& cc) { return detail::sum(detail::sum(a, b), static_cast<T>(cc)); }   \
  HIPPORT_DEVICE T sub_cc_##T(T a, T b, u32& cc) { return cc = 0, detail::difference_with(cc, a, b); }                \
  HIPPORT_DEVICE T subc_cc_##T(T a, T b, u32& cc) { return detail::difference_with(cc, a, b); }                       \
  HIPPORT_DEVICE T subc_##T(T a, T b, const u32& cc) {                                                                \
    return detail::difference(detail::difference(a, b), static_cast<T>(cc));                                          \
  }
#define HIPPORT_CARRY_OF(T, half)                                                                                     \
  HIPPORT_DEVICE T mad_##half##_cc_##T(T a, T b, T c, u32& cc) { return add_cc_##T(mul_##half##_##T(a, b), c, cc); }  \
  HIPPORT_DEVICE T madc_##half##_cc_##T(T a, T b, T c, u32& cc) {                                                     \
    return addc_cc_##T(mul_##half##_##T(a, b), c, cc);                                                                \
  }                                                                                                                   \
  HIPPORT_DEVICE T madc_##half##_##T(T a, T b, T c, const u32& cc) {                                                  \
    return addc_##T(mul_##half##_##T(a, b), c, cc);                                                                   \
  }
HIPPORT_CARRY(u32)
HIPPORT_CARRY(s32)
HIPPORT_CARRY(u64)
HIPPORT_CARRY(s64)
HIPPORT_CARRY_OF(u32, lo)
HIPPORT_CARRY_OF(u32, hi)
HIPPORT_CARRY_OF(s32, lo)
HIPPORT_CARRY_OF(s32, hi)
HIPPORT_CARRY_OF(u64, lo)
HIPPORT_CARRY_OF(u64, hi)
HIPPORT_CARRY_OF(s64, lo)
HIPPORT_CARRY_OF(s64, hi)
#undef HIPPORT_CARRY_OF
#undef HIPPORT_CARRY

// ---- dot products: signed if one factor is

#define HIPPORT_DOT(D, A, B)                                                                                   \
  HIPPORT_DEVICE D dp2a_lo_##A##_##B(A a, B b, D c) {                                                          \
    return static_cast<D>(                                                                                     \
        detail::dot<A, B, 16>(static_cast<u32>(a), static_cast<u32>(b), static_cast<u32>(c)));                 \
  }                                                                                                            \
  HIPPORT_DEVICE D dp2a_hi_##A##_##B(A a, B b, D c) {                                                          \
    return static_cast<D>(                                                                                     \
        detail::dot<A, B, 16>(static_cast<u32>(a), static_cast<u32>(b) >> 16, static_cast<u32>(c)));           \
  }
#define HIPPORT_DOT4(D, A, B)                                                                                  \
  HIPPORT_DEVICE D dp4a_##A##_##B(A a, B b, D c) {                                                             \
    return static_cast<D>(                                                                                     \
        detail::dot<A, B, 8>(static_cast<u32>(a), static_cast<u32>(b), static_cast<u32>(c)));                  \
  }
HIPPORT_DOT(u32, u32, u32)
HIPPORT_DOT(s32, u32, s32)
HIPPORT_DOT(s32, s32, u32)
HIPPORT_DOT(s32, s32, s32)
HIPPORT_DOT4(s32, u32, s32)
HIPPORT_DOT4(s32, s32, u32)
#if HIPPORT_NVCC
HIPPORT_DOT4(u32, u32, u32)
HIPPORT_DOT4(s32, s32, s32)
#else
HIPPORT_DEVICE u32 dp4a_u32_u32(u32 a, u32 b, u32 c) { return ::hipport::dp4a(a, b, c); }
HIPPORT_DEVICE s32 dp4a_s32_s32(s32 a, s32 b, s32 c) { return ::hipport::dp4a(a, b, c); }
#endif
#undef HIPPORT_DOT4
#undef HIPPORT_DOT

// ---- selection

#define HIPPORT_CHOICE(T)                                                                 \
  HIPPORT_DEVICE T selp_##T(T a, T b, bool p) { return p ? a : b; }                       \
  HIPPORT_DEVICE T slct_##T##_s32(T a, T b, s32 c) { return c >= 0 ? a : b; }             \
  HIPPORT_DEVICE T slct_##T##_f32(T a, T b, f32 c) { return c >= 0.0f ? a : b; }          \
  /* A flushed value becomes -0 at most, which is not less than 0. */                     \
  HIPPORT_DEVICE T slct_ftz_##T##_f32(T a, T b, f32 c) { return c > -1.17549435e-38f ? a : b; }
HIPPORT_CHOICE(b16)
HIPPORT_CHOICE(u16)
HIPPORT_CHOICE(s16)
HIPPORT_CHOICE(b32)
HIPPORT_CHOICE(u32)
HIPPORT_CHOICE(s32)
HIPPORT_CHOICE(b64)
HIPPORT_CHOICE(u64)
HIPPORT_CHOICE(s64)
HIPPORT_CHOICE(f32)
HIPPORT_CHOICE(f64)
#undef HIPPORT_CHOICE

#define HIPPORT_SETP(T)                                                     \
  HIPPORT_DEVICE bool setp_eq_##T(T a, T b) { return a == b; }              \
  HIPPORT_DEVICE bool setp_ne_##T(T a, T b) { return a != b; }
#define HIPPORT_SETP_ORDER(T)                                               \
  HIPPORT_SETP(T)                                                           \
  HIPPORT_DEVICE bool setp_lt_##T(T a, T b) { return a < b; }               \
  HIPPORT_DEVICE bool setp_le_##T(T a, T b) { return a <= b; }              \
  HIPPORT_DEVICE bool setp_gt_##T(T a, T b) { return a > b; }               \
  HIPPORT_DEVICE bool setp_ge_##T(T a, T b) { return a >= b; }
#define HIPPORT_SETP_UNSIGNED(T)                                            \
  HIPPORT_SETP_ORDER(T)                                                     \
  HIPPORT_DEVICE bool setp_lo_##T(T a, T b) { return a < b; }               \
  HIPPORT_DEVICE bool setp_ls_##T(T a, T b) { return a <= b; }              \
  HIPPORT_DEVICE bool setp_hi_##T(T a, T b) { return a > b; }               \
  HIPPORT_DEVICE bool setp_hs_##T(T a, T b) { return a >= b; }
HIPPORT_SETP(b16)
HIPPORT_SETP(b32)
HIPPORT_SETP(b64)
HIPPORT_SETP_ORDER(s16)
HIPPORT_SETP_ORDER(s32)
HIPPORT_SETP_ORDER(s64)
HIPPORT_SETP_UNSIGNED(u16)
HIPPORT_SETP_UNSIGNED(u32)
HIPPORT_SETP_UNSIGNED(u64)
#undef HIPPORT_SETP_UNSIGNED
#undef HIPPORT_SETP_ORDER
#undef HIPPORT_SETP

HIPPORT_DEVICE u32 set_u32(bool p) { return p ? ~0u : 0u; }
HIPPORT_DEVICE s32 set_s32(bool p) { return p ? -1 : 0; }
HIPPORT_DEVICE f32 set_f32(bool p) { return p ? 1.0f : 0.0f; }
HIPPORT_DEVICE u16 set_u16(bool p) { return p ? 0xffffu : 0u; }
HIPPORT_DEVICE s16 set_s16(bool p) { return p ? -1 : 0; }
HIPPORT_DEVICE u16 set_f16(bool p) { return p ? 0x3c00u : 0u; }

// ---- words from parts, the lowest first

HIPPORT_DEVICE b16 mov_b16(b8 x, b8 y) { return static_cast<b16>(x | y << 8); }
HIPPORT_DEVICE b32 mov_b32(b16 x, b16 y) { return static_cast<b32>(x) | static_cast<b32>(y) << 16; }
HIPPORT_DEVICE b32 mov_b32(b8 x, b8 y, b8 z, b8 w) { return mov_b32(mov_b16(x, y), mov_b16(z, w)); }
HIPPORT_DEVICE b64 mov_b64(b32 x, b32 y) { return static_cast<b64>(x) | static_cast<b64>(y) << 32; }
HIPPORT_DEVICE b64 mov_b64(b16 x, b16 y, b16 z, b16 w) { return mov_b64(mov_b32(x, y), mov_b32(z, w)); }

// The parts may have any type with their bits.
template <typename X, typename Y>
HIPPORT_DEVICE void mov_b16(X& x, Y& y, b16 a) {
  put(x, static_cast<b8>(a));
  put(y, static_cast<b8>(a >> 8));
}
template <typename X, typename Y>
HIPPORT_DEVICE void mov_b32(X& x, Y& y, b32 a) {
  put(x, static_cast<b16>(a));
  put(y, static_cast<b16>(a >> 16));
}
template <typename X, typename Y, typename Z, typename W>
HIPPORT_DEVICE void mov_b32(X& x, Y& y, Z& z, W& w, b32 a) {
  mov_b16(x, y, static_cast<b16>(a));
  mov_b16(z, w, static_cast<b16>(a >> 16));
}
template <typename X, typename Y>
HIPPORT_DEVICE void mov_b64(X& x, Y& y, b64 a) {
  put(x, static_cast<b32>(a));
  put(y, static_cast<b32>(a >> 32));
}
template <typename X, typename Y, typename Z, typename W>
HIPPORT_DEVICE void mov_b64(X& x, Y& y, Z& z, W& w, b64 a) {
  mov_b32(x, y, static_cast<b32>(a));
  mov_b32(z, w, static_cast<b32>(a >> 32));
}

}  // namespace ptx
}  // namespace hipport

#endif  // HIPPORT_PTX_INTEGER_H
