// SPDX-License-Identifier: Apache-2.0
// simt/together.h: operations of several lanes that the library headers are made of (groups.h, cub_warp.h).
//
// Every lane gives the address of a record on its stack. The last one that comes runs the algorithm over all records
// while the others wait, so a record may be of any type and size, and results are written into the records.
#ifndef SIMT_TOGETHER_H
#define SIMT_TOGETHER_H

#include "core.h"

namespace simt {

inline int count_bits(std::uint64_t bits) { return __builtin_popcountll(bits); }
inline unsigned lowest_bit(std::uint64_t bits) { return static_cast<unsigned>(__builtin_ctzll(bits)); }

/// A lane's rank among those of `lanes`.
inline unsigned rank_among(std::uint64_t lanes, unsigned lane) {
  return static_cast<unsigned>(count_bits(lanes & ((std::uint64_t{1} << lane) - 1)));
}
/// The lane that has `rank` in `lanes`; 64 if there is none.
inline unsigned lane_with_rank(std::uint64_t lanes, unsigned rank) {
  for (; lanes != 0; lanes &= lanes - 1) {
    if (rank-- == 0) return lowest_bit(lanes);
  }
  return 64;
}
/// One bit for each lane of `lanes`, by rank: whether it is in `chosen`.
inline std::uint64_t bits_by_rank(std::uint64_t lanes, std::uint64_t chosen) {
  std::uint64_t packed = 0, bit = 1;
  for (; lanes != 0; lanes &= lanes - 1, bit <<= 1) {
    if ((chosen & lanes & (~lanes + 1)) != 0) packed |= bit;
  }
  return packed;
}
/// `width` neighbors (a power of two) of the caller's wavefront, the caller among them.
inline std::uint64_t neighbors(unsigned lane, unsigned width) {
  const std::uint64_t ones = width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  return ones << (lane & ~(width - 1) & 63);
}

/// The records of one group, by rank in it, while all its threads wait; null for one that is not there.
template <typename Record>
struct Gathered {
  Record* const* record;
  unsigned size;
};

namespace detail {

/// Run `Algorithm::run` for each group of lanes in the meeting. A record says in `lanes` which group it is of.
template <typename Algorithm, typename Record>
void finish_gathered(Meeting& meeting) {
  for (std::uint64_t open = meeting.lanes; open != 0;) {
    const std::uint64_t lanes = meeting.get<Record*>(lowest_bit(open))->lanes;
    Record* records[64];
    unsigned size = 0;
    for (std::uint64_t rest = lanes; rest != 0; rest &= rest - 1, ++size) {
      const unsigned lane = lowest_bit(rest);
      records[size] = meeting.has(lane) ? meeting.get<Record*>(lane) : nullptr;
    }
    open &= ~lanes;
    Algorithm::run(Gathered<Record>{records, size});
  }
}

}  // namespace detail

/// Meet the lanes of `record.lanes` and have `Algorithm` run over what they give. CUDA: the lanes are a mask, and are
/// waited for. HIP: those that come together on one path; several groups of one wavefront may do so at once.
template <typename Algorithm, typename Record>
void together(Record& record, Place place) {
  static constexpr Operation operation{Algorithm::name, &detail::finish_gathered<Algorithm, Record>};
  Record* const address = &record;
  if constexpr (dialect == Dialect::cuda) {
    meet_masked(operation, record.lanes, &address, sizeof address, place);
  } else {
    meet_present(operation, &address, sizeof address, place);
  }
}

/// Fault if the algorithm needs a thread that is not there: its result would be undefined.
template <typename Record>
void need_all(const Gathered<Record>& gathered, unsigned count, const char* name, Place place) {
  for (unsigned rank = 0; rank < count; ++rank) {
    if (gathered.record[rank] == nullptr) {
      fault("inactive-lane", place, "%s is an operation of %u threads, and thread %u of them is not here", name, count,
            rank);
    }
  }
}

/// What a result is that is not defined: all bits set, as uninitialized memory. A bool or a class stays as it was.
template <typename T>
void make_undefined(T& value) {
  if constexpr (std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>) {
    std::memset(static_cast<void*>(&value), 0xff, sizeof(T));
  }
}

}  // namespace simt

#endif
