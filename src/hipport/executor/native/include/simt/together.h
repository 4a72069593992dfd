// SPDX-License-Identifier: Apache-2.0
// simt/together.h: operations of several lanes, from which the library headers are built (groups.h, cub_warp.h).
//
// Every lane passes the address of a record on its stack. The last one that arrives runs the algorithm over all records
// while the others wait, so a record may have any type and size, and results are written into the records.
#ifndef SIMT_TOGETHER_H
#define SIMT_TOGETHER_H

#include <algorithm>
#include <vector>

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
/// `width` neighbors (a power of two) in the caller's wavefront, including the caller.
inline std::uint64_t neighbors(unsigned lane, unsigned width) {
  const std::uint64_t ones = width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  return ones << (lane & ~(width - 1) & 63);
}

/// The records of one group, by rank, while all its threads wait; null for an absent thread.
template <typename Record>
struct Gathered {
  Record* const* record;
  unsigned size;
};

namespace detail {

/// Run `Algorithm::run` for each group of lanes in the meeting. A record names its group in `lanes`.
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

/// Converge with the lanes of `record.lanes` and run `Algorithm` over their records. CUDA: the lanes are a mask, and
/// are waited for. HIP: the active lanes on one path; several groups of one wavefront may converge at once.
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

/// The same records, with a substitute for each absent thread that an algorithm needs. CUDA leaves the result open;
/// NVIDIA's GPUs read all bits 0 from such a thread (warp.h), and do not combine it. AMD's libraries read other values:
/// a fault there.
template <typename Record>
class Completed {
 public:
  Completed(const Gathered<Record>& gathered, unsigned count, const char* name, Place place) : all(gathered), there_(gathered) {
    unsigned missed = 0;
    while (missed < count && gathered.record[missed] != nullptr) ++missed;
    if (missed == count) return;
    missing = true;
    const char* const said = "%s is an operation of %u threads, but thread %u of them did not reach it%s";
    if constexpr (dialect == Dialect::hip) fault("inactive-lane", place, said, name, count, missed, "");
    warning("inactive-lane", place, said, name, count, missed, ": its result is undefined, and 0 here");
    records_.assign(gathered.record, gathered.record + gathered.size);
    none_.resize(gathered.size);
    const Record* const some = *std::find_if(records_.begin(), records_.end(), [](const Record* each) { return each != nullptr; });
    for (unsigned rank = 0; rank < count; ++rank) {
      if (has(rank)) continue;
      auto* const none = reinterpret_cast<Record*>(none_.data() + rank);
      std::memcpy(static_cast<void*>(none), static_cast<const void*>(some), sizeof(Record));
      std::memset(static_cast<void*>(&none->value), 0, sizeof none->value);
      records_[rank] = none;
    }
    all = {records_.data(), gathered.size};
  }
  Completed(const Completed&) = delete;
  Completed& operator=(const Completed&) = delete;

  /// Whether the thread itself is present.
  bool has(unsigned rank) const { return there_.record[rank] != nullptr; }

  Gathered<Record> all;
  bool missing = false;

 private:
  struct alignas(Record) None {
    unsigned char bytes[sizeof(Record)];
  };
  Gathered<Record> there_;
  std::vector<Record*> records_;
  std::vector<None> none_;
};

/// Whether NVIDIA's GPUs have an instruction for the combination, which covers the present threads (`redux.sync`).
template <typename T, typename Combine>
struct OverThoseHere : std::false_type {};
template <typename T>
constexpr bool is_word = std::is_integral_v<T> && sizeof(T) == 4;

/// An undefined result: all bits set, like uninitialized memory. A bool or a class is not changed.
template <typename T>
void make_undefined(T& value) {
  if constexpr (std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>) {
    std::memset(static_cast<void*>(&value), 0xff, sizeof(T));
  }
}

}  // namespace simt

#endif
