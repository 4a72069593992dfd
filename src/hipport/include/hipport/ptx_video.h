// SPDX-License-Identifier: Apache-2.0
// hipport/ptx_video.h: PTX's video instructions. Part of hipport/ptx.h.
// Put here by hipport.
//
// They follow NVIDIA's manual. Its GPUs since Maxwell no longer have them, and CUDA 13's emulation of some differs from
// it: those whose destination is a part and that end in .h1 or have .sat; many with .min or .max; vshl with .sat; some
// of vmad with .sat or a shift.
#ifndef HIPPORT_PTX_VIDEO_H
#define HIPPORT_PTX_VIDEO_H

#ifndef HIPPORT_PTX
#error "include hipport/ptx.h"
#endif

namespace hipport {
namespace ptx {

// ---- the selected part of a source

#define HIPPORT_PART(name, position, length)                                              \
  HIPPORT_DEVICE u32 name##_u32(u32 a) { return detail::field(a, position, length); }     \
  HIPPORT_DEVICE s32 name##_s32(u32 a) { return detail::field(static_cast<s32>(a), position, length); }
HIPPORT_PART(b0, 0, 8)
HIPPORT_PART(b1, 8, 8)
HIPPORT_PART(b2, 16, 8)
HIPPORT_PART(b3, 24, 8)
HIPPORT_PART(h0, 0, 16)
HIPPORT_PART(h1, 16, 16)
#undef HIPPORT_PART

namespace detail {

/// A result before it is narrowed: no step overflows in it.
using exact = s64;

struct vadd {
  HIPPORT_DEVICE exact of(exact a, exact b) { return a + b; }
};
struct vsub {
  HIPPORT_DEVICE exact of(exact a, exact b) { return a - b; }
};
struct vabsdiff {
  HIPPORT_DEVICE exact of(exact a, exact b) { return a < b ? b - a : a - b; }
};
struct vmin {
  HIPPORT_DEVICE exact of(exact a, exact b) { return smaller(a, b); }
};
struct vmax {
  HIPPORT_DEVICE exact of(exact a, exact b) { return larger(a, b); }
};
/// Half the sum; halves are rounded away from zero.
struct vavrg {
  HIPPORT_DEVICE exact of(exact a, exact b) { return (a + b + (a + b >= 0)) >> 1; }
};
struct vset_eq {
  HIPPORT_DEVICE exact of(exact a, exact b) { return a == b; }
};
struct vset_ne {
  HIPPORT_DEVICE exact of(exact a, exact b) { return a != b; }
};
struct vset_lt {
  HIPPORT_DEVICE exact of(exact a, exact b) { return a < b; }
};
struct vset_le {
  HIPPORT_DEVICE exact of(exact a, exact b) { return a <= b; }
};
struct vset_gt {
  HIPPORT_DEVICE exact of(exact a, exact b) { return a > b; }
};
struct vset_ge {
  HIPPORT_DEVICE exact of(exact a, exact b) { return a >= b; }
};
struct vshl_clamp {
  HIPPORT_DEVICE exact of(exact a, exact b) { return static_cast<exact>(static_cast<u64>(a) << smaller(b, exact(32))); }
};
struct vshl_wrap {
  HIPPORT_DEVICE exact of(exact a, exact b) { return static_cast<exact>(static_cast<u64>(a) << (b & 31)); }
};
struct vshr_clamp {
  HIPPORT_DEVICE exact of(exact a, exact b) { return a >> smaller(b, exact(32)); }
};
struct vshr_wrap {
  HIPPORT_DEVICE exact of(exact a, exact b) { return a >> (b & 31); }
};

/// The nearest integer with `bits` bits.
HIPPORT_DEVICE exact nearest_of(bool has_sign, unsigned bits, exact a) {
  const exact least = has_sign ? -(exact(1) << (bits - 1)) : 0;
  return smaller(larger(a, least), least + (exact(1) << bits) - 1);
}

// The use of a result: none, the second operation, or it replaces a part of c.
struct second_none {
  static constexpr unsigned bits = 32;
  template <typename D>
  HIPPORT_DEVICE D of(D a, D) {
    return a;
  }
};
struct second_add {
  static constexpr unsigned bits = 32;
  template <typename D>
  HIPPORT_DEVICE D of(D a, D c) {
    return sum(a, c);
  }
};
struct second_min {
  static constexpr unsigned bits = 32;
  template <typename D>
  HIPPORT_DEVICE D of(D a, D c) {
    return smaller(a, c);
  }
};
struct second_max {
  static constexpr unsigned bits = 32;
  template <typename D>
  HIPPORT_DEVICE D of(D a, D c) {
    return larger(a, c);
  }
};
template <unsigned position, unsigned length>
struct replaced {
  static constexpr unsigned bits = length;
  template <typename D>
  HIPPORT_DEVICE D of(D a, D c) {
    return static_cast<D>(with_field(static_cast<u32>(a), static_cast<u32>(c), position, length));
  }
};
using second_b0 = replaced<0, 8>;
using second_b1 = replaced<8, 8>;
using second_b2 = replaced<16, 8>;
using second_b3 = replaced<24, 8>;
using second_h0 = replaced<0, 16>;
using second_h1 = replaced<16, 16>;

template <typename Operation, typename Second, bool sat, typename D, typename A, typename B>
HIPPORT_DEVICE D video(A a, B b, D c) {
  exact result = Operation::of(a, b);
  if (sat) result = nearest_of(is_signed<D>(), Second::bits, result);
  return Second::of(static_cast<D>(static_cast<u32>(result)), c);
}

/// The same for each of the fields of words. A sum of results is added to c.
template <typename Operation, unsigned bits, bool sat, bool add, typename D, typename A, typename B>
HIPPORT_DEVICE D video_fields(A a, B b, D c) {
  u32 result = add ? static_cast<u32>(c) : 0u;
  for (unsigned i = 0; i < 32; i += bits) {
    exact each = Operation::of(field(a, i, bits), field(b, i, bits));
    if (sat) each = nearest_of(is_signed<D>(), bits, each);
    result = add ? result + static_cast<u32>(each) : with_field(static_cast<u32>(each), result, i, bits);
  }
  return static_cast<D>(result);
}

/// a * b + c, where each may be negated or c incremented by one, shifted to the right.
template <bool sat, typename D, typename A, typename B>
HIPPORT_DEVICE D multiplied(A a, B b, D c, bool negate_product, bool negate_c, bool one_more, unsigned shift) {
  const bool is_product_signed = is_signed<A>() || is_signed<B>() || negate_product;
  const bool has_sign = is_product_signed || negate_c;
  const s128 product = static_cast<s128>(a) * static_cast<s128>(b);
  const s128 addend = is_product_signed ? s128(static_cast<s32>(c)) : s128(static_cast<u32>(c));
  s128 result = (negate_product ? -product : product) + (negate_c ? -addend : addend) + one_more;
  result >>= shift;
  if (sat) {
    const s128 least = has_sign ? s128(lowest<s32>()) : 0;
    const s128 most = has_sign ? s128(highest<s32>()) : s128(highest<u32>());
    result = smaller(larger(result, least), most);
  }
  return static_cast<D>(static_cast<u32>(result));
}

}  // namespace detail

// ---- words: a function without c, and nine with it

#define HIPPORT_SECOND(name, operation, second, sat, D, A, B)                              \
  HIPPORT_DEVICE D name##_##second(A a, B b, D c) {                                        \
    return detail::video<detail::operation, detail::second_##second, sat>(a, b, c);        \
  }
#define HIPPORT_VIDEO(name, operation, sat, D, A, B)                                       \
  HIPPORT_DEVICE D name(A a, B b) {                                                        \
    return detail::video<detail::operation, detail::second_none, sat>(a, b, D(0));         \
  }                                                                                        \
  HIPPORT_SECOND(name, operation, add, sat, D, A, B)                                       \
  HIPPORT_SECOND(name, operation, min, sat, D, A, B)                                       \
  HIPPORT_SECOND(name, operation, max, sat, D, A, B)                                       \
  HIPPORT_SECOND(name, operation, b0, sat, D, A, B)                                        \
  HIPPORT_SECOND(name, operation, b1, sat, D, A, B)                                        \
  HIPPORT_SECOND(name, operation, b2, sat, D, A, B)                                        \
  HIPPORT_SECOND(name, operation, b3, sat, D, A, B)                                        \
  HIPPORT_SECOND(name, operation, h0, sat, D, A, B)                                        \
  HIPPORT_SECOND(name, operation, h1, sat, D, A, B)

#define HIPPORT_VIDEO_OF(D, A, B, operation)                                               \
  HIPPORT_VIDEO(operation##_##D##_##A##_##B, operation, false, D, A, B)                    \
  HIPPORT_VIDEO(operation##_##D##_##A##_##B##_sat, operation, true, D, A, B)
#define HIPPORT_SHIFT_OF(D, A, operation, mode)                                            \
  HIPPORT_VIDEO(operation##_##D##_##A##_u32_##mode, operation##_##mode, false, D, A, u32)  \
  HIPPORT_VIDEO(operation##_##D##_##A##_u32_sat_##mode, operation##_##mode, true, D, A, u32)
#define HIPPORT_SET_OF(A, B, comparison) \
  HIPPORT_VIDEO(vset_##A##_##B##_##comparison, vset_##comparison, false, u32, A, B)

// X for the types of sources, and of the destination too.
#define HIPPORT_A_B(X, ...) \
  X(u32, u32, __VA_ARGS__) X(u32, s32, __VA_ARGS__) X(s32, u32, __VA_ARGS__) X(s32, s32, __VA_ARGS__)
#define HIPPORT_D_A_B(X, ...)                                                              \
  X(u32, u32, u32, __VA_ARGS__) X(u32, u32, s32, __VA_ARGS__)                              \
  X(u32, s32, u32, __VA_ARGS__) X(u32, s32, s32, __VA_ARGS__)                              \
  X(s32, u32, u32, __VA_ARGS__) X(s32, u32, s32, __VA_ARGS__)                              \
  X(s32, s32, u32, __VA_ARGS__) X(s32, s32, s32, __VA_ARGS__)

HIPPORT_D_A_B(HIPPORT_VIDEO_OF, vadd)
HIPPORT_D_A_B(HIPPORT_VIDEO_OF, vsub)
HIPPORT_D_A_B(HIPPORT_VIDEO_OF, vabsdiff)
HIPPORT_D_A_B(HIPPORT_VIDEO_OF, vmin)
HIPPORT_D_A_B(HIPPORT_VIDEO_OF, vmax)
HIPPORT_A_B(HIPPORT_SHIFT_OF, vshl, clamp)
HIPPORT_A_B(HIPPORT_SHIFT_OF, vshl, wrap)
HIPPORT_A_B(HIPPORT_SHIFT_OF, vshr, clamp)
HIPPORT_A_B(HIPPORT_SHIFT_OF, vshr, wrap)
HIPPORT_A_B(HIPPORT_SET_OF, eq)
HIPPORT_A_B(HIPPORT_SET_OF, ne)
HIPPORT_A_B(HIPPORT_SET_OF, lt)
HIPPORT_A_B(HIPPORT_SET_OF, le)
HIPPORT_A_B(HIPPORT_SET_OF, gt)
HIPPORT_A_B(HIPPORT_SET_OF, ge)
#undef HIPPORT_SET_OF
#undef HIPPORT_SHIFT_OF
#undef HIPPORT_VIDEO_OF
#undef HIPPORT_VIDEO
#undef HIPPORT_SECOND

#define HIPPORT_MULTIPLY(D, A, B, start, end, sat, negate_product, negate_c, one_more, shift)                        \
  HIPPORT_DEVICE D start##_##D##_##A##_##B##end(A a, B b, D c) {                                                     \
    return detail::multiplied<sat>(a, b, c, negate_product, negate_c, one_more, shift);                              \
  }
#define HIPPORT_VMAD_END(D, A, B, end, shift)                                           \
  HIPPORT_MULTIPLY(D, A, B, vmad, end, false, false, false, false, shift)               \
  HIPPORT_MULTIPLY(D, A, B, vmad, _sat##end, true, false, false, false, shift)          \
  HIPPORT_MULTIPLY(D, A, B, vmad, _po##end, false, false, false, true, shift)           \
  HIPPORT_MULTIPLY(D, A, B, vmad, _po_sat##end, true, false, false, true, shift)        \
  HIPPORT_MULTIPLY(D, A, B, vmad_neg, end, false, true, false, false, shift)            \
  HIPPORT_MULTIPLY(D, A, B, vmad_neg, _sat##end, true, true, false, false, shift)       \
  HIPPORT_MULTIPLY(D, A, B, vmad_negc, end, false, false, true, false, shift)           \
  HIPPORT_MULTIPLY(D, A, B, vmad_negc, _sat##end, true, false, true, false, shift)
#define HIPPORT_VMAD(D, A, B, ...)        \
  HIPPORT_VMAD_END(D, A, B, , 0)          \
  HIPPORT_VMAD_END(D, A, B, _shr7, 7)     \
  HIPPORT_VMAD_END(D, A, B, _shr15, 15)
HIPPORT_D_A_B(HIPPORT_VMAD, )
#undef HIPPORT_VMAD
#undef HIPPORT_VMAD_END
#undef HIPPORT_MULTIPLY

// ---- halves and bytes of words

#define HIPPORT_FIELDS(name, operation, bits, sat, add, D, A, B)                                  \
  HIPPORT_DEVICE D name(A a, B b, D c) {                                                          \
    return detail::video_fields<detail::operation, bits, sat, add>(a, b, c);                      \
  }
#define HIPPORT_FIELDS_OF(D, A, B, operation, n, bits)                                                    \
  HIPPORT_FIELDS(operation##n##_##D##_##A##_##B, operation, bits, false, false, D, A, B)                  \
  HIPPORT_FIELDS(operation##n##_##D##_##A##_##B##_sat, operation, bits, true, false, D, A, B)             \
  HIPPORT_FIELDS(operation##n##_##D##_##A##_##B##_add, operation, bits, false, true, D, A, B)
#define HIPPORT_FIELDS_SET(A, B, comparison, n, bits)                                                     \
  HIPPORT_FIELDS(vset##n##_##A##_##B##_##comparison, vset_##comparison, bits, false, false, u32, A, B)    \
  HIPPORT_FIELDS(vset##n##_##A##_##B##_##comparison##_add, vset_##comparison, bits, false, true, u32, A, B)
#define HIPPORT_FIELDS_ALL(n, bits)                      \
  HIPPORT_D_A_B(HIPPORT_FIELDS_OF, vadd, n, bits)        \
  HIPPORT_D_A_B(HIPPORT_FIELDS_OF, vsub, n, bits)        \
  HIPPORT_D_A_B(HIPPORT_FIELDS_OF, vavrg, n, bits)       \
  HIPPORT_D_A_B(HIPPORT_FIELDS_OF, vabsdiff, n, bits)    \
  HIPPORT_D_A_B(HIPPORT_FIELDS_OF, vmin, n, bits)        \
  HIPPORT_D_A_B(HIPPORT_FIELDS_OF, vmax, n, bits)        \
  HIPPORT_A_B(HIPPORT_FIELDS_SET, eq, n, bits)           \
  HIPPORT_A_B(HIPPORT_FIELDS_SET, ne, n, bits)           \
  HIPPORT_A_B(HIPPORT_FIELDS_SET, lt, n, bits)           \
  HIPPORT_A_B(HIPPORT_FIELDS_SET, le, n, bits)           \
  HIPPORT_A_B(HIPPORT_FIELDS_SET, gt, n, bits)           \
  HIPPORT_A_B(HIPPORT_FIELDS_SET, ge, n, bits)
HIPPORT_FIELDS_ALL(2, 16)
HIPPORT_FIELDS_ALL(4, 8)
#undef HIPPORT_FIELDS_ALL
#undef HIPPORT_FIELDS_SET
#undef HIPPORT_FIELDS_OF
#undef HIPPORT_FIELDS

#undef HIPPORT_D_A_B
#undef HIPPORT_A_B

// PTX has simpler names for some operations on pairs of 16 bits.
HIPPORT_DEVICE u32 add_u16x2(u32 a, u32 b) { return vadd2_u32_u32_u32(a, b, 0); }
HIPPORT_DEVICE u32 add_s16x2(u32 a, u32 b) { return vadd2_u32_u32_u32(a, b, 0); }
HIPPORT_DEVICE u32 min_u16x2(u32 a, u32 b) { return vmin2_u32_u32_u32(a, b, 0); }
HIPPORT_DEVICE u32 max_u16x2(u32 a, u32 b) { return vmax2_u32_u32_u32(a, b, 0); }
HIPPORT_DEVICE u32 min_s16x2(u32 a, u32 b) {
  return vmin2_u32_s32_s32(static_cast<s32>(a), static_cast<s32>(b), 0);
}
HIPPORT_DEVICE u32 max_s16x2(u32 a, u32 b) {
  return vmax2_u32_s32_s32(static_cast<s32>(a), static_cast<s32>(b), 0);
}
HIPPORT_DEVICE u32 min_relu_s16x2(u32 a, u32 b) { return max_s16x2(min_s16x2(a, b), 0); }
HIPPORT_DEVICE u32 max_relu_s16x2(u32 a, u32 b) { return max_s16x2(max_s16x2(a, b), 0); }

}  // namespace ptx
}  // namespace hipport

#endif  // HIPPORT_PTX_VIDEO_H
