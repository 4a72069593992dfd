// SPDX-License-Identifier: Apache-2.0
// simt/warp_hip.h: HIP's operations of the lanes of a wavefront, of 32 or of 64 lanes.
//
// Maskless ones act on the active lanes, as converged by AMD's compilers. Those with a mask are built from them
// (amd_warp_sync_functions.h of ROCm 6.2 to 7): the mask has 64 bits, of which a wavefront of 32 uses only the lower,
// and it must be exactly the active lanes with that mask. ROCm checks that if NDEBUG is not defined; here it is always
// checked, but for lanes that have exited it is only a warning.
#ifndef SIMT_WARP_HIP_H
#define SIMT_WARP_HIP_H

#include "warp.h"

namespace simt {
namespace detail {

// The lane that a shuffle reads: computed as by __shfl and similar functions (amd_warp_functions.h), modulo the
// wavefront.
inline unsigned in_wave(int lane) { return static_cast<unsigned>(lane) & static_cast<unsigned>(warpSize - 1); }
struct ShuffleIndex {
  static unsigned source(int self, int index, int width) {
    return in_wave((index & (width - 1)) + (self & ~(width - 1)));
  }
};
struct ShuffleUp {
  static unsigned source(int self, unsigned delta, int width) {
    const int from = static_cast<int>(static_cast<unsigned>(self) - delta);
    return in_wave(from < (self & ~(width - 1)) ? self : from);
  }
};
struct ShuffleDown {
  static unsigned source(int self, unsigned delta, int width) {
    const int from = static_cast<int>(static_cast<unsigned>(self) + delta);
    return in_wave(static_cast<int>(static_cast<unsigned>(self & (width - 1)) + delta) >= width ? self : from);
  }
};
struct ShuffleXor {
  static unsigned source(int self, int lanes, int width) {
    const int from = self ^ lanes;
    return in_wave(from >= ((self + width) & ~(width - 1)) ? self : from);
  }
};

inline void check_width(int width, const Operation& operation, Place place) {
  if (width < 1 || width > warpSize || (width & (width - 1)) != 0) {
    warning("shuffle-width", place, "%s: the width %d is not a power of two from 1 to the wavefront's %d", operation.name,
            width, warpSize);
  }
}

template <typename How, typename T, typename By>
SIMT_INLINE T shuffle_present(const Operation& operation, T value, By by, int width, Place place) {
  check_width(width, operation, place);
  const unsigned source = How::source(static_cast<int>(lane()), by, width);
  return given_by<T>(meet_present(operation, &value, sizeof value, place), source, operation, place);
}

/// A lane's contribution to an operation with a mask.
template <typename T>
struct Masked {
  std::uint64_t mask;
  T value;
};
struct Nothing {};

/// The active lanes with the caller's mask, which must name exactly these lanes.
template <typename T>
inline std::uint64_t same_mask(const Meeting& meeting, const Operation& operation, std::uint64_t mask,
                               bool exited_may_be_named, Place place) {
  std::uint64_t lanes = 0;
  for (std::uint64_t open = meeting.lanes; open != 0; open &= open - 1) {
    const unsigned each = static_cast<unsigned>(__builtin_ctzll(open));
    if (meeting.get<Masked<T>>(each).mask == mask) lanes |= std::uint64_t{1} << each;
  }
  if (lanes == mask) return lanes;
  const auto shown = static_cast<unsigned long long>(mask), here = static_cast<unsigned long long>(lanes);
  if (mask == 0) fault("mask", place, "%s: the mask is 0", operation.name);
  if ((mask >> lane() & 1) == 0) {
    fault("mask", place, "%s: the mask 0x%llx does not name the caller, lane %u", operation.name, shown, lane());
  }
  if (exited_may_be_named && (mask & ~lanes & living()) == 0) {
    warning("mask", place, "%s: the mask 0x%llx names lanes that have exited (0x%llx are here)", operation.name, shown,
            here);
    return lanes;
  }
  fault("mask", place,
        "%s: all lanes of the mask 0x%llx have to come here together with this mask, but those that did are 0x%llx: "
        "ROCm's headers stop the program",
        operation.name, shown, here);
}

/// On a wavefront of 32, ROCm's functions use 32 bits of the mask.
template <typename Mask>
inline std::uint64_t checked_mask(Mask mask) {
  static_assert(std::is_integral_v<Mask> && sizeof(Mask) == 8,
                "the mask of HIP's _sync functions must be a 64-bit integer: smaller ones would lose lanes");
  return static_cast<std::uint64_t>(mask) & (wave_size() == 32 ? 0xffffffffu : ~std::uint64_t{0});
}

#ifdef NDEBUG
#define SIMT_EXITED_MAY_BE_NAMED true
#else
#define SIMT_EXITED_MAY_BE_NAMED false
#endif

inline constexpr Operation shfl{"__shfl", nullptr};
inline constexpr Operation shfl_up{"__shfl_up", nullptr};
inline constexpr Operation shfl_down{"__shfl_down", nullptr};
inline constexpr Operation shfl_xor{"__shfl_xor", nullptr};
inline constexpr Operation ballot{"__ballot", &finish_ballot};
inline constexpr Operation any{"__any", &finish_ballot};
inline constexpr Operation all{"__all", &finish_ballot};
inline constexpr Operation activemask{"__activemask", nullptr};
inline constexpr Operation shfl_sync{"__shfl_sync", nullptr};
inline constexpr Operation shfl_up_sync{"__shfl_up_sync", nullptr};
inline constexpr Operation shfl_down_sync{"__shfl_down_sync", nullptr};
inline constexpr Operation shfl_xor_sync{"__shfl_xor_sync", nullptr};
inline constexpr Operation ballot_sync{"__ballot_sync", nullptr};
inline constexpr Operation any_sync{"__any_sync", nullptr};
inline constexpr Operation all_sync{"__all_sync", nullptr};
inline constexpr Operation match_any_sync{"__match_any_sync", nullptr};
inline constexpr Operation match_all_sync{"__match_all_sync", nullptr};
inline constexpr Operation match_any{"__match_any", nullptr};
inline constexpr Operation match_all{"__match_all", nullptr};
inline constexpr Operation syncwarp{"__syncwarp", nullptr};

SIMT_INLINE const Meeting& vote_present(const Operation& operation, int predicate, Place place) {
  const unsigned yes = predicate != 0;
  return meet_present(operation, &yes, sizeof yes, place);
}

/// Converge with a mask: `use(meeting, lanes)` computes the result from the contributions of the mask's lanes.
template <typename Mask, typename T, typename Use>
SIMT_INLINE auto with_mask(const Operation& operation, Mask mask, const T& value, bool exited, Place place, Use use) {
  static_assert(sizeof(Masked<T>) <= 16, "values of up to 8 bytes");
  const Masked<T> given{checked_mask(mask), value};
  const Meeting& meeting = meet_present(operation, &given, sizeof given, place);
  return use(meeting, same_mask<T>(meeting, operation, given.mask, exited, place));
}

template <typename How, typename Mask, typename T, typename By>
SIMT_INLINE T shuffle(const Operation& operation, Mask mask, T value, By by, int width, bool exited, Place place) {
  check_width(width, operation, place);
  const unsigned source = How::source(static_cast<int>(lane()), by, width);
  return with_mask(operation, mask, value, exited, place, [&](const Meeting& meeting, std::uint64_t lanes) {
    // A lane of another group contributes its value as well, as in ROCm, but that is undefined.
    if ((lanes >> source & 1) != 0) return meeting.get<Masked<T>>(source).value;
    warning("inactive-lane", place,
            "%s: lane %u reads from lane %u, which takes no part: the result is undefined, and 0 here (lanes 0x%llx take part)",
            operation.name, lane(), source, static_cast<unsigned long long>(lanes));
    return nothing<T>();
  });
}
template <typename Mask>
SIMT_INLINE std::uint64_t vote(const Operation& operation, Mask mask, int predicate, bool exited, std::uint64_t* lanes,
                          Place place) {
  const unsigned yes = predicate != 0;
  return with_mask(operation, mask, yes, exited, place, [&](const Meeting& meeting, std::uint64_t in) {
    std::uint64_t votes = 0;
    for (std::uint64_t open = in; open != 0; open &= open - 1) {
      const unsigned each = static_cast<unsigned>(__builtin_ctzll(open));
      if (meeting.get<Masked<unsigned>>(each).value != 0) votes |= std::uint64_t{1} << each;
    }
    *lanes = in;
    return votes;
  });
}

/// Whether a value equals itself: ROCm's loop over the values never ends for a NaN.
template <typename T>
inline void check_matches(T value, const Operation& operation, Place place) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8), "numbers of 4 or 8 bytes");
  if (value != value) fault("match", place, "%s of a NaN never ends on AMD's GPUs, because a NaN equals nothing", operation.name);
}

}  // namespace detail
}  // namespace simt

inline unsigned __lane_id() { return ::simt::lane(); }

#define SIMT_SHUFFLES(T)                                                                                           \
  SIMT_INLINE T __shfl(T value, int lane, int width = warpSize, SIMT_HERE) {                                       \
    using namespace ::simt::detail;                                                                                \
    return shuffle_present<ShuffleIndex>(::simt::detail::shfl, value, lane, width, SIMT_THERE);                    \
  }                                                                                                                \
  SIMT_INLINE T __shfl_up(T value, unsigned delta, int width = warpSize, SIMT_HERE) {                              \
    using namespace ::simt::detail;                                                                                \
    return shuffle_present<ShuffleUp>(::simt::detail::shfl_up, value, delta, width, SIMT_THERE);                   \
  }                                                                                                                \
  SIMT_INLINE T __shfl_down(T value, unsigned delta, int width = warpSize, SIMT_HERE) {                            \
    using namespace ::simt::detail;                                                                                \
    return shuffle_present<ShuffleDown>(::simt::detail::shfl_down, value, delta, width, SIMT_THERE);               \
  }                                                                                                                \
  SIMT_INLINE T __shfl_xor(T value, int lanes, int width = warpSize, SIMT_HERE) {                                  \
    using namespace ::simt::detail;                                                                                \
    return shuffle_present<ShuffleXor>(::simt::detail::shfl_xor, value, lanes, width, SIMT_THERE);                 \
  }
SIMT_SHUFFLES(int)
SIMT_SHUFFLES(unsigned)
SIMT_SHUFFLES(long)
SIMT_SHUFFLES(unsigned long)
SIMT_SHUFFLES(long long)
SIMT_SHUFFLES(unsigned long long)
SIMT_SHUFFLES(float)
SIMT_SHUFFLES(double)

#define SIMT_SHUFFLE(name, How, By)                                                                                \
  template <typename Mask, typename T>                                                                             \
  SIMT_INLINE T __##name(Mask mask, T value, By by, int width = warpSize, SIMT_HERE) {                             \
    using namespace ::simt::detail;                                                                                \
    return shuffle<How>(::simt::detail::name, mask, value, by, width, SIMT_EXITED_MAY_BE_NAMED, SIMT_THERE);       \
  }
SIMT_SHUFFLE(shfl_sync, ShuffleIndex, int)
SIMT_SHUFFLE(shfl_up_sync, ShuffleUp, unsigned)
SIMT_SHUFFLE(shfl_down_sync, ShuffleDown, unsigned)
SIMT_SHUFFLE(shfl_xor_sync, ShuffleXor, int)
#undef SIMT_SHUFFLE

SIMT_INLINE unsigned long long __ballot(int predicate, SIMT_HERE) {
  return ::simt::detail::vote_present(::simt::detail::ballot, predicate, SIMT_THERE).word;
}
SIMT_INLINE unsigned long long __ballot64(int predicate, SIMT_HERE) { return __ballot(predicate, simt_file, simt_line); }
SIMT_INLINE int __any(int predicate, SIMT_HERE) {
  return ::simt::detail::vote_present(::simt::detail::any, predicate, SIMT_THERE).word != 0;
}
SIMT_INLINE int __all(int predicate, SIMT_HERE) {
  const ::simt::Meeting& votes = ::simt::detail::vote_present(::simt::detail::all, predicate, SIMT_THERE);
  return votes.word == votes.lanes;
}
SIMT_INLINE unsigned long long __activemask(SIMT_HERE) {
  return ::simt::meet_present(::simt::detail::activemask, nullptr, 0, SIMT_THERE).lanes;
}

template <typename Mask>
SIMT_INLINE unsigned long long __ballot_sync(Mask mask, int predicate, SIMT_HERE) {
  std::uint64_t lanes;
  return ::simt::detail::vote(::simt::detail::ballot_sync, mask, predicate, SIMT_EXITED_MAY_BE_NAMED, &lanes,
                              SIMT_THERE);
}
template <typename Mask>
SIMT_INLINE int __any_sync(Mask mask, int predicate, SIMT_HERE) {
  std::uint64_t lanes;
  return ::simt::detail::vote(::simt::detail::any_sync, mask, predicate, SIMT_EXITED_MAY_BE_NAMED, &lanes,
                              SIMT_THERE) != 0;
}
/// Compares with the mask, like ROCm's: a lane that has exited has not voted for it.
template <typename Mask>
SIMT_INLINE int __all_sync(Mask mask, int predicate, SIMT_HERE) {
  std::uint64_t lanes;
  return ::simt::detail::vote(::simt::detail::all_sync, mask, predicate, SIMT_EXITED_MAY_BE_NAMED, &lanes,
                              SIMT_THERE) == ::simt::detail::checked_mask(mask);
}

namespace simt {
namespace detail {

/// The lanes of `lanes` whose value equals that of `own`.
template <typename T, typename Of>
inline std::uint64_t equals(std::uint64_t lanes, T own, Of of) {
  std::uint64_t result = 0;
  for (std::uint64_t open = lanes; open != 0; open &= open - 1) {
    const unsigned each = static_cast<unsigned>(__builtin_ctzll(open));
    if (of(each) == own) result |= std::uint64_t{1} << each;
  }
  return result;
}

}  // namespace detail
}  // namespace simt

template <typename T>
inline unsigned long long __match_any(T value, SIMT_HERE) {
  ::simt::detail::check_matches(value, ::simt::detail::match_any, SIMT_THERE);
  const ::simt::Meeting& all = ::simt::meet_present(::simt::detail::match_any, &value, sizeof value, SIMT_THERE);
  return ::simt::detail::equals(all.lanes, value, [&](unsigned lane) { return all.get<T>(lane); });
}
template <typename T>
inline unsigned long long __match_all(T value, int* predicate, SIMT_HERE) {
  ::simt::detail::check_matches(value, ::simt::detail::match_all, SIMT_THERE);
  const ::simt::Meeting& all = ::simt::meet_present(::simt::detail::match_all, &value, sizeof value, SIMT_THERE);
  *predicate = ::simt::detail::equals(all.lanes, value, [&](unsigned lane) { return all.get<T>(lane); }) == all.lanes;
  return *predicate ? all.lanes : 0;
}
template <typename Mask, typename T>
inline unsigned long long __match_any_sync(Mask mask, T value, SIMT_HERE) {
  using namespace ::simt::detail;
  check_matches(value, ::simt::detail::match_any_sync, SIMT_THERE);
  return with_mask(::simt::detail::match_any_sync, mask, value, SIMT_EXITED_MAY_BE_NAMED, SIMT_THERE,
                   [&](const ::simt::Meeting& meeting, std::uint64_t lanes) {
                     return equals(lanes, value, [&](unsigned lane) { return meeting.get<Masked<T>>(lane).value; });
                   });
}
template <typename Mask, typename T>
inline unsigned long long __match_all_sync(Mask mask, T value, int* predicate, SIMT_HERE) {
  using namespace ::simt::detail;
  check_matches(value, ::simt::detail::match_all_sync, SIMT_THERE);
  return with_mask(::simt::detail::match_all_sync, mask, value, SIMT_EXITED_MAY_BE_NAMED, SIMT_THERE,
                   [&](const ::simt::Meeting& meeting, std::uint64_t lanes) {
                     *predicate = equals(lanes, value, [&](unsigned lane) {
                                    return meeting.get<Masked<T>>(lane).value;
                                  }) == lanes;
                     return *predicate ? lanes : 0;
                   });
}

// Releases after 7.0 have these too.
template <typename Mask>
SIMT_INLINE void __syncwarp(Mask mask, SIMT_HERE) {
  ::simt::detail::with_mask(::simt::detail::syncwarp, mask, ::simt::detail::Nothing(), SIMT_EXITED_MAY_BE_NAMED,
                            SIMT_THERE, [](const ::simt::Meeting&, std::uint64_t) { return 0; });
}
SIMT_INLINE void __syncwarp(SIMT_HERE) { ::simt::meet_present(::simt::detail::syncwarp, nullptr, 0, SIMT_THERE); }
#define SIMT_REDUCTION(name, Combine, Condition)                                                                   \
  template <typename Mask, typename T>                                                                             \
  inline std::enable_if_t<Condition, T> __##name(Mask mask, T value, SIMT_HERE) {                                  \
    using namespace ::simt::detail;                                                                                \
    static constexpr ::simt::Operation operation{"__" #name, nullptr};                                             \
    return with_mask(operation, mask, value, SIMT_EXITED_MAY_BE_NAMED, SIMT_THERE,                                 \
                     [](const ::simt::Meeting& meeting, std::uint64_t lanes) {                                     \
                       T result = meeting.get<Masked<T>>(static_cast<unsigned>(__builtin_ctzll(lanes))).value;     \
                       for (lanes &= lanes - 1; lanes != 0; lanes &= lanes - 1) {                                  \
                         const unsigned each = static_cast<unsigned>(__builtin_ctzll(lanes));                      \
                         result = Combine()(result, meeting.get<Masked<T>>(each).value);                           \
                       }                                                                                           \
                       return result;                                                                              \
                     });                                                                                           \
  }
SIMT_REDUCTION(reduce_add_sync, Add, std::is_arithmetic_v<T>)
SIMT_REDUCTION(reduce_min_sync, Lesser, std::is_arithmetic_v<T>)
SIMT_REDUCTION(reduce_max_sync, Greater, std::is_arithmetic_v<T>)
SIMT_REDUCTION(reduce_and_sync, And, std::is_integral_v<T>)
SIMT_REDUCTION(reduce_or_sync, Or, std::is_integral_v<T>)
SIMT_REDUCTION(reduce_xor_sync, Xor, std::is_integral_v<T>)
#undef SIMT_REDUCTION

#endif
