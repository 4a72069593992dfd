// SPDX-License-Identifier: Apache-2.0
// simt/cub_warp.h: CUB's and hipCUB's algorithms of a warp.
//
// Orders of combination are those of CUB on current GPUs, so that sums of floats have the same bits: a reduction
// combines neighbors, then neighbors of neighbors; a scan is Kogge and Stone's. A logical warp has the requested lanes,
// for any wavefront. Results that CUB leaves undefined (a reduction in lanes other than the first) have all bits set
// here, so that their use is visible.
#ifndef SIMT_CUB_WARP_H
#define SIMT_CUB_WARP_H

#include <vector>

#include "cub_util.h"

namespace cub {
namespace detail {

template <typename T, typename Op>
struct WarpRecord {
  std::uint64_t lanes;
  ::simt::Place place;
  T value, next;
  Op* op;
  unsigned count;  // the number of lanes with a value, from the first on
  bool flag;
};

template <typename Record>
Record* any_record(const ::simt::Gathered<Record>& all) {
  unsigned rank = 0;
  while (all.record[rank] == nullptr) ++rank;
  return all.record[rank];
}

/// Combine the values of [first, end) into that of `first`.
template <typename Record>
void reduce_tree(const ::simt::Completed<Record>& whole, unsigned first, unsigned end) {
  const auto& all = whole.all;
  for (unsigned step = 1; step < end - first; step *= 2) {
    for (unsigned i = first; i + step < end; i += 2 * step) {
      Record* const own = all.record[i];
      if (whole.has(i)) own->value = (*own->op)(own->value, all.record[i + step]->value);
    }
  }
}

template <typename T, typename Op>
struct WarpReduction {
  static constexpr const char* name = "cub::WarpReduce";
  static void run(const ::simt::Gathered<WarpRecord<T, Op>>& gathered) {
    auto* const some = any_record(gathered);
    const unsigned count = some->count < gathered.size ? some->count : gathered.size;
    const ::simt::Completed<WarpRecord<T, Op>> whole(gathered, count, name, some->place);
    const auto& all = whole.all;
    if (whole.missing && ::simt::OverThoseHere<T, Op>::value) {
      for (unsigned i = 0; i < count; ++i) {
        if (whole.has(i) && all.record[i] != some) some->value = (*some->op)(some->value, all.record[i]->value);
      }
      all.record[0]->value = some->value;
    } else {
      reduce_tree(whole, 0, count);
    }
    for (unsigned i = 1; i < all.size; ++i) {
      if (all.record[i] != nullptr) ::simt::make_undefined(all.record[i]->value);
    }
  }
};

/// Segments that a flag starts (`Heads`) or ends; the first lane of each gets the result.
template <bool Heads, typename T, typename Op>
struct WarpSegments {
  static constexpr const char* name = "cub::WarpReduce (segmented)";
  static void run(const ::simt::Gathered<WarpRecord<T, Op>>& gathered) {
    const ::simt::Completed<WarpRecord<T, Op>> whole(gathered, gathered.size, name, any_record(gathered)->place);
    const auto& all = whole.all;
    for (unsigned first = 0; first < all.size;) {
      unsigned end = first + 1;
      const auto flag = [&](unsigned i) { return whole.has(i) && all.record[i]->flag; };
      while (end < all.size && !flag(Heads ? end : end - 1)) ++end;
      reduce_tree(whole, first, end);
      for (unsigned i = first + 1; i < end; ++i) ::simt::make_undefined(all.record[i]->value);
      first = end;
    }
  }
};
template <typename T, typename Op>
using WarpHeads = WarpSegments<true, T, Op>;
template <typename T, typename Op>
using WarpTails = WarpSegments<false, T, Op>;

/// `value` becomes the inclusive scan, `next` that of the previous lane.
template <typename T, typename Op>
struct WarpScanning {
  static constexpr const char* name = "cub::WarpScan";
  static void run(const ::simt::Gathered<WarpRecord<T, Op>>& gathered) {
    const unsigned n = gathered.size;
    const ::simt::Completed<WarpRecord<T, Op>> whole(gathered, n, name, any_record(gathered)->place);
    const auto& all = whole.all;
    for (unsigned step = 1; step < n; step *= 2) {
      for (unsigned i = n; i-- > step;) {
        auto* const own = all.record[i];
        if (whole.has(i)) own->value = (*own->op)(all.record[i - step]->value, own->value);
      }
    }
    for (unsigned i = 1; i < n; ++i) all.record[i]->next = all.record[i - 1]->value;
    ::simt::make_undefined(all.record[0]->next);
  }
};

template <template <typename, typename> class Algorithm, typename T, typename Op>
WarpRecord<T, Op> warp_combine(const LogicalWarp& warp, const T& value, Op& op, unsigned count, bool flag,
                               ::simt::Place place) {
  WarpRecord<T, Op> record{warp.lanes, place, value, value, &op, count, flag};
  ::simt::together<Algorithm<T, Op>>(record, place);
  return record;
}

/// The items of all lanes, in the order of lanes, rearranged by `Algorithm` while the lanes wait.
template <typename Key, typename Value, typename Compare>
struct WarpItems {
  std::uint64_t lanes;
  ::simt::Place place;
  Key* keys;
  Value* values;
  int items;
  Compare* compare;
  int valid;
};
template <typename Key, typename Value, typename Compare>
struct WarpSorting {
  static constexpr const char* name = "cub::WarpMergeSort";
  static void run(const ::simt::Gathered<WarpItems<Key, Value, Compare>>& all) {
    auto* const some = any_record(all);
    for (unsigned rank = 0; rank < all.size; ++rank) {
      if (all.record[rank] != nullptr) continue;
      ::simt::fault("inactive-lane", some->place, "%s is an operation of %u threads, but thread %u of them did not reach it",
                    name, all.size, rank);
    }
    const int items = some->items, total = static_cast<int>(all.size) * items;
    const int count = some->valid < total ? some->valid : total;
    const auto at = [&](int i) { return all.record[i / items]; };
    std::vector<int> order(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) order[static_cast<std::size_t>(i)] = i;
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return static_cast<bool>((*some->compare)(at(a)->keys[a % items], at(b)->keys[b % items]));
    });
    std::vector<Key> keys;
    for (int i : order) keys.push_back(at(i)->keys[i % items]);
    for (int i = 0; i < count; ++i) at(i)->keys[i % items] = keys[static_cast<std::size_t>(i)];
    if (some->values != nullptr) {
      std::vector<Value> values;
      for (int i : order) values.push_back(at(i)->values[i % items]);
      for (int i = 0; i < count; ++i) at(i)->values[i % items] = values[static_cast<std::size_t>(i)];
    }
  }
};

}  // namespace detail

template <typename T, int LogicalThreads = detail::default_warp, int = 0>
class WarpReduce {
  template <template <typename, typename> class Algorithm, typename Op>
  T run(const T& value, Op& op, int count, bool flag, ::simt::Place place) const {
    const auto warp = detail::logical_warp(LogicalThreads, "cub::WarpReduce", place);
    return detail::warp_combine<Algorithm>(warp, value, op, static_cast<unsigned>(count), flag, place).value;
  }

 public:
  struct TempStorage {
    unsigned char unused;
  };
  explicit WarpReduce(TempStorage&) {}

  T Sum(T value, SIMT_HERE) { return Reduce(value, cub::Sum(), simt_file, simt_line); }
  T Sum(T value, int valid, SIMT_HERE) { return Reduce(value, cub::Sum(), valid, simt_file, simt_line); }
  T Max(T value, SIMT_HERE) { return Reduce(value, cub::Max(), simt_file, simt_line); }
  T Min(T value, SIMT_HERE) { return Reduce(value, cub::Min(), simt_file, simt_line); }
  template <typename Op>
  T Reduce(T value, Op op, SIMT_HERE) {
    return run<detail::WarpReduction>(value, op, 64, false, SIMT_THERE);
  }
  template <typename Op>
  T Reduce(T value, Op op, int valid, SIMT_HERE) {
    return run<detail::WarpReduction>(value, op, valid, false, SIMT_THERE);
  }
  template <typename Flag>
  T HeadSegmentedSum(T value, Flag head, SIMT_HERE) {
    return HeadSegmentedReduce(value, head, cub::Sum(), simt_file, simt_line);
  }
  template <typename Flag>
  T TailSegmentedSum(T value, Flag tail, SIMT_HERE) {
    return TailSegmentedReduce(value, tail, cub::Sum(), simt_file, simt_line);
  }
  template <typename Op, typename Flag>
  T HeadSegmentedReduce(T value, Flag head, Op op, SIMT_HERE) {
    return run<detail::WarpHeads>(value, op, 64, static_cast<bool>(head), SIMT_THERE);
  }
  template <typename Op, typename Flag>
  T TailSegmentedReduce(T value, Flag tail, Op op, SIMT_HERE) {
    return run<detail::WarpTails>(value, op, 64, static_cast<bool>(tail), SIMT_THERE);
  }
};

template <typename T, int LogicalThreads = detail::default_warp, int = 0>
class WarpScan {
  template <typename Op>
  auto run(const T& value, Op& op, ::simt::Place place) const {
    const auto warp = detail::logical_warp(LogicalThreads, "cub::WarpScan", place);
    return detail::warp_combine<detail::WarpScanning>(warp, value, op, 64, false, place);
  }
  unsigned rank(::simt::Place place) const {
    return detail::logical_warp(LogicalThreads, "cub::WarpScan", place).rank;
  }

 public:
  struct TempStorage {
    unsigned char unused;
  };
  explicit WarpScan(TempStorage&) {}

  void InclusiveSum(T input, T& inclusive, SIMT_HERE) {
    InclusiveScan(input, inclusive, cub::Sum(), simt_file, simt_line);
  }
  void InclusiveSum(T input, T& inclusive, T& aggregate, SIMT_HERE) {
    InclusiveScan(input, inclusive, cub::Sum(), aggregate, simt_file, simt_line);
  }
  void ExclusiveSum(T input, T& exclusive, SIMT_HERE) {
    ExclusiveScan(input, exclusive, T(), cub::Sum(), simt_file, simt_line);
  }
  void ExclusiveSum(T input, T& exclusive, T& aggregate, SIMT_HERE) {
    ExclusiveScan(input, exclusive, T(), cub::Sum(), aggregate, simt_file, simt_line);
  }
  template <typename Op>
  void InclusiveScan(T input, T& inclusive, Op op, SIMT_HERE) {
    inclusive = run(input, op, SIMT_THERE).value;
  }
  template <typename Op>
  void InclusiveScan(T input, T& inclusive, Op op, T& aggregate, SIMT_HERE) {
    const auto warp = detail::logical_warp(LogicalThreads, "cub::WarpScan", SIMT_THERE);
    inclusive = run(input, op, SIMT_THERE).value;
    aggregate = detail::move(warp, inclusive, warp.size - 1, SIMT_THERE);
  }
  template <typename Op>
  void ExclusiveScan(T input, T& exclusive, Op op, SIMT_HERE) {
    exclusive = run(input, op, SIMT_THERE).next;
  }
  template <typename Op>
  void ExclusiveScan(T input, T& exclusive, T initial, Op op, SIMT_HERE) {
    T inclusive;
    Scan(input, inclusive, exclusive, initial, op, simt_file, simt_line);
  }
  template <typename Op>
  void ExclusiveScan(T input, T& exclusive, Op op, T& aggregate, SIMT_HERE) {
    const auto warp = detail::logical_warp(LogicalThreads, "cub::WarpScan", SIMT_THERE);
    const auto scanned = run(input, op, SIMT_THERE);
    exclusive = scanned.next;
    aggregate = detail::move(warp, scanned.value, warp.size - 1, SIMT_THERE);
  }
  /// The aggregate excludes the initial value.
  template <typename Op>
  void ExclusiveScan(T input, T& exclusive, T initial, Op op, T& aggregate, SIMT_HERE) {
    const auto warp = detail::logical_warp(LogicalThreads, "cub::WarpScan", SIMT_THERE);
    const auto scanned = run(input, op, SIMT_THERE);
    aggregate = detail::move(warp, scanned.value, warp.size - 1, SIMT_THERE);
    exclusive = warp.rank == 0 ? initial : static_cast<T>(op(initial, scanned.next));
  }
  template <typename Op>
  void Scan(T input, T& inclusive, T& exclusive, Op op, SIMT_HERE) {
    const auto scanned = run(input, op, SIMT_THERE);
    inclusive = scanned.value;
    exclusive = scanned.next;
  }
  template <typename Op>
  void Scan(T input, T& inclusive, T& exclusive, T initial, Op op, SIMT_HERE) {
    const auto scanned = run(input, op, SIMT_THERE);
    exclusive = rank(SIMT_THERE) == 0 ? initial : static_cast<T>(op(initial, scanned.next));
    inclusive = op(initial, scanned.value);
  }
  T Broadcast(T input, unsigned source, SIMT_HERE) {
    const auto warp = detail::logical_warp(LogicalThreads, "cub::WarpScan::Broadcast", SIMT_THERE);
    return detail::move(warp, input, source % warp.size, SIMT_THERE);
  }
};

enum WarpExchangeAlgorithm { WARP_EXCHANGE_SMEM, WARP_EXCHANGE_SHUFFLE };

/// Items of a logical warp in other orders. They pass through the temporary storage, as in CUB.
template <typename T, int ItemsPerThread, int LogicalThreads = detail::default_warp, int = 0,
          WarpExchangeAlgorithm = WARP_EXCHANGE_SMEM>
class WarpExchange {
 public:
  struct TempStorage {
    alignas(T) unsigned char bytes[sizeof(T) * ItemsPerThread * (LogicalThreads ? LogicalThreads : 64)];
  };

 private:
  T* slots_;
  template <typename Out, typename To, typename From>
  void pass(const T (&input)[ItemsPerThread], Out (&output)[ItemsPerThread], To to, From from, ::simt::Place place) {
    const auto warp = detail::logical_warp(LogicalThreads, "cub::WarpExchange", place);
    const int rank = static_cast<int>(warp.rank), size = static_cast<int>(warp.size);
    for (int i = 0; i < ItemsPerThread; ++i) slots_[to(rank, size, i)] = input[i];
    detail::sync_lanes(warp.lanes, place);
    for (int i = 0; i < ItemsPerThread; ++i) output[i] = slots_[from(rank, size, i)];
  }
  static int blocked(int rank, int, int i) { return rank * ItemsPerThread + i; }
  static int striped(int rank, int size, int i) { return i * size + rank; }

 public:
  explicit WarpExchange(TempStorage& storage) : slots_(reinterpret_cast<T*>(storage.bytes)) {}
  template <typename Out>
  void BlockedToStriped(const T (&input)[ItemsPerThread], Out (&output)[ItemsPerThread], SIMT_HERE) {
    pass(input, output, blocked, striped, SIMT_THERE);
  }
  template <typename Out>
  void StripedToBlocked(const T (&input)[ItemsPerThread], Out (&output)[ItemsPerThread], SIMT_HERE) {
    pass(input, output, striped, blocked, SIMT_THERE);
  }
  template <typename Offset>
  void ScatterToStriped(T (&items)[ItemsPerThread], Offset (&ranks)[ItemsPerThread], SIMT_HERE) {
    pass(items, items, [&](int, int, int i) { return static_cast<int>(ranks[i]); }, striped, SIMT_THERE);
  }
  template <typename Out, typename Offset>
  void ScatterToStriped(const T (&input)[ItemsPerThread], Out (&output)[ItemsPerThread],
                        Offset (&ranks)[ItemsPerThread], SIMT_HERE) {
    pass(input, output, [&](int, int, int i) { return static_cast<int>(ranks[i]); }, striped, SIMT_THERE);
  }
};

enum WarpLoadAlgorithm { WARP_LOAD_DIRECT, WARP_LOAD_STRIPED, WARP_LOAD_VECTORIZE, WARP_LOAD_TRANSPOSE };
enum WarpStoreAlgorithm { WARP_STORE_DIRECT, WARP_STORE_STRIPED, WARP_STORE_VECTORIZE, WARP_STORE_TRANSPOSE };

template <typename T, int ItemsPerThread, WarpLoadAlgorithm Algorithm = WARP_LOAD_DIRECT,
          int LogicalThreads = detail::default_warp, int = 0>
class WarpLoad {
  static int place_of(int i, ::simt::Place place) {
    const auto warp = detail::logical_warp(LogicalThreads, "cub::WarpLoad", place);
    return Algorithm == WARP_LOAD_STRIPED ? i * static_cast<int>(warp.size) + static_cast<int>(warp.rank)
                                          : static_cast<int>(warp.rank) * ItemsPerThread + i;
  }

 public:
  struct TempStorage {
    unsigned char unused;
  };
  WarpLoad() = default;
  explicit WarpLoad(TempStorage&) {}
  template <typename Iterator>
  void Load(Iterator from, T (&items)[ItemsPerThread], SIMT_HERE) {
    for (int i = 0; i < ItemsPerThread; ++i) items[i] = from[place_of(i, SIMT_THERE)];
  }
  template <typename Iterator>
  void Load(Iterator from, T (&items)[ItemsPerThread], int valid, SIMT_HERE) {
    for (int i = 0; i < ItemsPerThread; ++i) {
      if (place_of(i, SIMT_THERE) < valid) items[i] = from[place_of(i, SIMT_THERE)];
    }
  }
  template <typename Iterator, typename Default>
  void Load(Iterator from, T (&items)[ItemsPerThread], int valid, Default otherwise, SIMT_HERE) {
    for (int i = 0; i < ItemsPerThread; ++i) items[i] = static_cast<T>(otherwise);
    Load(from, items, valid, simt_file, simt_line);
  }
};

template <typename T, int ItemsPerThread, WarpStoreAlgorithm Algorithm = WARP_STORE_DIRECT,
          int LogicalThreads = detail::default_warp, int = 0>
class WarpStore {
  static int place_of(int i, ::simt::Place place) {
    const auto warp = detail::logical_warp(LogicalThreads, "cub::WarpStore", place);
    return Algorithm == WARP_STORE_STRIPED ? i * static_cast<int>(warp.size) + static_cast<int>(warp.rank)
                                           : static_cast<int>(warp.rank) * ItemsPerThread + i;
  }

 public:
  struct TempStorage {
    unsigned char unused;
  };
  WarpStore() = default;
  explicit WarpStore(TempStorage&) {}
  template <typename Iterator>
  void Store(Iterator to, T (&items)[ItemsPerThread], SIMT_HERE) {
    for (int i = 0; i < ItemsPerThread; ++i) to[place_of(i, SIMT_THERE)] = items[i];
  }
  template <typename Iterator>
  void Store(Iterator to, T (&items)[ItemsPerThread], int valid, SIMT_HERE) {
    for (int i = 0; i < ItemsPerThread; ++i) {
      if (place_of(i, SIMT_THERE) < valid) to[place_of(i, SIMT_THERE)] = items[i];
    }
  }
};

template <typename Key, int ItemsPerThread, int LogicalThreads = detail::default_warp, typename Value = NullType,
          int = 0>
class WarpMergeSort {
  template <typename Compare>
  void run(Key* keys, Value* values, Compare& compare, int valid, ::simt::Place place) {
    const auto warp = detail::logical_warp(LogicalThreads, "cub::WarpMergeSort", place);
    detail::WarpItems<Key, Value, Compare> record{warp.lanes, place, keys, values, ItemsPerThread, &compare, valid};
    ::simt::together<detail::WarpSorting<Key, Value, Compare>>(record, place);
  }
  void fill(Key (&keys)[ItemsPerThread], int valid, const Key& otherwise, ::simt::Place place) {
    const auto warp = detail::logical_warp(LogicalThreads, "cub::WarpMergeSort", place);
    for (int i = 0; i < ItemsPerThread; ++i) {
      if (static_cast<int>(warp.rank) * ItemsPerThread + i >= valid) keys[i] = otherwise;
    }
  }
  static constexpr int all = 1 << 30;

 public:
  struct TempStorage {
    unsigned char unused;
  };
  explicit WarpMergeSort(TempStorage&) {}
  unsigned get_member_mask() const {
    return static_cast<unsigned>(detail::logical_warp(LogicalThreads, "cub::WarpMergeSort", {"", 0}).lanes);
  }
  template <typename Compare>
  void Sort(Key (&keys)[ItemsPerThread], Compare compare, SIMT_HERE) {
    run(keys, nullptr, compare, all, SIMT_THERE);
  }
  template <typename Compare>
  void Sort(Key (&keys)[ItemsPerThread], Compare compare, int valid, Key otherwise, SIMT_HERE) {
    fill(keys, valid, otherwise, SIMT_THERE);
    run(keys, nullptr, compare, valid, SIMT_THERE);
  }
  template <typename Compare>
  void Sort(Key (&keys)[ItemsPerThread], Value (&values)[ItemsPerThread], Compare compare, SIMT_HERE) {
    run(keys, values, compare, all, SIMT_THERE);
  }
  template <typename Compare>
  void Sort(Key (&keys)[ItemsPerThread], Value (&values)[ItemsPerThread], Compare compare, int valid, Key otherwise,
            SIMT_HERE) {
    fill(keys, valid, otherwise, SIMT_THERE);
    run(keys, values, compare, valid, SIMT_THERE);
  }
  template <typename... Arguments>
  void StableSort(Arguments&&... arguments) {
    Sort(std::forward<Arguments>(arguments)...);
  }
};

}  // namespace cub

#endif
