// SPDX-License-Identifier: Apache-2.0
// simt/groups.h: cooperative groups, CUDA's <cooperative_groups.h> and HIP's <hip/hip_cooperative_groups.h>.
//
// Names and meanings are from CUDA's C++ Programming Guide ("Cooperative Groups") and, for HIP, from ROCm 7's
// <hip/amd_detail/amd_hip_cooperative_groups.h>. CUDA: masks have 32 bits, and the threads of a group wait for each
// other. HIP: tiles up to the wavefront, masks have 64 bits, and a group's operation acts on its active lanes.
// Features that HIP lacks (labeled partitions, reductions, scans) exist for both; the build reports that hipcc rejects
// them.
//
// Orders of combination are CUDA's: `reduce` over a tile is a butterfly from the widest step down; over coalesced
// threads it is the last value of a Kogge-Stone scan. memcpy_async copies immediately, as the standard allows.
#ifndef SIMT_GROUPS_H
#define SIMT_GROUPS_H

#include "core.h"
#include "together.h"
#include "warp.h"

namespace cooperative_groups {

class thread_group;
class thread_block;
class grid_group;
class coalesced_group;
template <unsigned Size, typename Parent = void>
class thread_block_tile;
template <unsigned MaxBlockSize = 1024>
struct block_tile_memory {
  unsigned char unused;
};

namespace details {

/// Lanes as the program sees them: the type of a ballot.
using Lanes = std::conditional_t<::simt::dialect == ::simt::Dialect::cuda, unsigned, unsigned long long>;

inline unsigned block_size() { return blockDim.x * blockDim.y * blockDim.z; }
inline unsigned long long grid_size() { return 1ull * gridDim.x * gridDim.y * gridDim.z; }
inline unsigned long long block_rank() {
  return (1ull * blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}

inline void sync_grid(::simt::Place place) {
  if (!::simt::is_cooperative()) {
    ::simt::fault("not-cooperative", place, "a grid is synchronized, but its launch was not cooperative");
  }
  ::simt::grid_barrier(place);
}

/// The size of the warp or wavefront that groups are parts of.
inline unsigned warp_width() { return static_cast<unsigned>(::simt::wave_size()); }

inline std::uint64_t tile_lanes(unsigned size, ::simt::Place place) {
  if (size == 0 || (size & (size - 1)) != 0 || size > warp_width()) {
    ::simt::fault("tile-size", place, "a tile of %u threads on a wavefront of %u", size, warp_width());
  }
  return ::simt::neighbors(::simt::lane(), size);
}

/// The input and output of all operations of a group of lanes.
struct Record {
  std::uint64_t lanes;
  ::simt::Place place;
};

template <typename T>
struct Shuffled : Record {
  T value, result;
  unsigned source;
};
template <typename T>
struct Shuffle {
  static constexpr const char* name = "a shuffle of a group";
  static void run(const ::simt::Gathered<Shuffled<T>>& all) {
    for (unsigned rank = 0; rank < all.size; ++rank) {
      Shuffled<T>* const own = all.record[rank];
      if (own == nullptr) continue;
      if (own->source >= all.size || all.record[own->source] == nullptr) {
        ::simt::warning("inactive-lane", own->place,
                        "thread %u of a group shuffles from thread %u, which is not here: what it gets is not defined, and 0 "
                        "here",
                        rank, own->source);
        own->result = ::simt::detail::nothing<T>();
      } else {
        own->result = all.record[own->source]->value;
      }
    }
  }
};

struct Voted : Record {
  bool predicate;
  std::uint64_t yes, here;  // by rank
};
struct Vote {
  static constexpr const char* name = "a vote of a group";
  static void run(const ::simt::Gathered<Voted>& all) {
    std::uint64_t yes = 0, here = 0;
    for (unsigned rank = 0; rank < all.size; ++rank) {
      if (all.record[rank] == nullptr) continue;
      here |= std::uint64_t{1} << rank;
      if (all.record[rank]->predicate) yes |= std::uint64_t{1} << rank;
    }
    for (unsigned rank = 0; rank < all.size; ++rank) {
      if (all.record[rank] == nullptr) continue;
      all.record[rank]->yes = yes;
      all.record[rank]->here = here;
    }
  }
};

template <typename T>
struct Matched : Record {
  T value;
  std::uint64_t same, here;  // by rank
};
template <typename T>
struct Match {
  static constexpr const char* name = "a match of a group";
  static void run(const ::simt::Gathered<Matched<T>>& all) {
    for (unsigned rank = 0; rank < all.size; ++rank) {
      Matched<T>* const own = all.record[rank];
      if (own == nullptr) continue;
      own->same = own->here = 0;
      for (unsigned other = 0; other < all.size; ++other) {
        if (all.record[other] == nullptr) continue;
        own->here |= std::uint64_t{1} << other;
        if (std::memcmp(&own->value, &all.record[other]->value, sizeof(T)) == 0) own->same |= std::uint64_t{1} << other;
      }
    }
  }
};

template <typename T, typename Combine>
struct Combined : Record {
  T value, next;
  Combine* combine;
};
template <typename T, typename Combine>
struct Butterfly {
  static constexpr const char* name = "reduce";
  using Complete = ::simt::Completed<Combined<T, Combine>>;
  static void run(const ::simt::Gathered<Combined<T, Combine>>& gathered) {
    const unsigned n = gathered.size;
    const Complete whole(gathered, n, name, first(gathered)->place);
    const auto& all = whole.all;
    if (whole.missing && ::simt::OverThoseHere<T, Combine>::value) {
      Combined<T, Combine>* const one = first(gathered);
      for (unsigned i = 0; i < n; ++i) {
        if (whole.has(i) && all.record[i] != one) one->value = (*one->combine)(one->value, all.record[i]->value);
      }
      for (unsigned i = 0; i < n; ++i) all.record[i]->value = one->value;
    } else if ((n & (n - 1)) == 0) {
      for (unsigned step = n / 2; step > 0; step /= 2) {
        for (unsigned i = 0; i < n; ++i) {
          if (whole.has(i)) all.record[i]->next = (*all.record[i]->combine)(all.record[i]->value, all.record[i ^ step]->value);
        }
        for (unsigned i = 0; i < n; ++i) {
          if (whole.has(i)) all.record[i]->value = all.record[i]->next;
        }
      }
    } else {
      scan(whole);
      for (unsigned i = 0; i + 1 < n; ++i) all.record[i]->value = all.record[n - 1]->value;
    }
  }
  static Combined<T, Combine>* first(const ::simt::Gathered<Combined<T, Combine>>& all) {
    unsigned rank = 0;
    while (all.record[rank] == nullptr) ++rank;
    return all.record[rank];
  }
  static void scan(const Complete& whole) {
    const auto& all = whole.all;
    for (unsigned step = 1; step < all.size; step *= 2) {
      for (unsigned i = all.size; i-- > step;) {
        if (whole.has(i)) all.record[i]->value = (*all.record[i]->combine)(all.record[i - step]->value, all.record[i]->value);
      }
    }
  }
};
template <typename T, typename Combine>
struct Scan {
  static constexpr const char* name = "scan";
  static void run(const ::simt::Gathered<Combined<T, Combine>>& gathered) {
    const typename Butterfly<T, Combine>::Complete whole(gathered, gathered.size, name,
                                                         Butterfly<T, Combine>::first(gathered)->place);
    const auto& all = whole.all;
    Butterfly<T, Combine>::scan(whole);
    for (unsigned i = 0; i < all.size; ++i) {
      if (i > 0) {
        all.record[i]->next = all.record[i - 1]->value;
      } else {
        all.record[i]->next = T();
      }
    }
  }
};

struct Synced : Record {};
struct Sync {
  static constexpr const char* name = "sync of a group";
  static void run(const ::simt::Gathered<Synced>&) {}
};

template <typename T>
using Bare = std::remove_cv_t<std::remove_reference_t<T>>;

/// Threads of one warp: the common part of tiles and coalesced groups. `Self` has lanes(), size() and thread_rank().
template <typename Self>
class lane_group {
  const Self& self() const { return static_cast<const Self&>(*this); }
  std::uint64_t lanes() const { return self().simt_lanes(); }

 public:
  void sync(SIMT_HERE) const {
    Synced record;
    record.lanes = lanes();
    record.place = SIMT_THERE;
    ::simt::together<Sync>(record, SIMT_THERE);
  }
  template <typename T>
  Bare<T> shfl(T&& value, int rank, SIMT_HERE) const {
    return move<Bare<T>>(value, static_cast<unsigned>(rank) % self().size(), SIMT_THERE);
  }
  /// A thread whose source would be outside the group keeps its value.
  template <typename T>
  Bare<T> shfl_up(T&& value, unsigned delta, SIMT_HERE) const {
    const unsigned rank = self().thread_rank();
    return move<Bare<T>>(value, delta <= rank ? rank - delta : rank, SIMT_THERE);
  }
  template <typename T>
  Bare<T> shfl_down(T&& value, unsigned delta, SIMT_HERE) const {
    const unsigned rank = self().thread_rank();
    return move<Bare<T>>(value, delta < self().size() - rank ? rank + delta : rank, SIMT_THERE);
  }
  int any(int predicate, SIMT_HERE) const { return vote(predicate != 0, SIMT_THERE).yes != 0; }
  int all(int predicate, SIMT_HERE) const {
    const Voted voted = vote(predicate != 0, SIMT_THERE);
    // CUDA compares with the whole group, whether its lanes are active or not.
    const std::uint64_t whole = ~std::uint64_t{0} >> (64 - self().size());
    return voted.yes == (::simt::dialect == ::simt::Dialect::cuda ? whole : voted.here);
  }
  Lanes ballot(int predicate, SIMT_HERE) const {
    return static_cast<Lanes>(vote(predicate != 0, SIMT_THERE).yes);
  }
  template <typename T>
  Lanes match_any(T value, SIMT_HERE) const {
    return static_cast<Lanes>(match(value, SIMT_THERE).same);
  }
  template <typename T>
  Lanes match_all(T value, int& predicate, SIMT_HERE) const {
    const Matched<T> matched = match(value, SIMT_THERE);
    predicate = matched.same == matched.here;
    return static_cast<Lanes>(predicate ? matched.here : 0);
  }

  template <typename T>
  T move(const T& value, unsigned source, ::simt::Place place) const {
    static_assert(std::is_trivially_copyable_v<T>, "only values that are copied by their bytes can be shuffled");
    Shuffled<T> record{{lanes(), place}, value, value, source};
    ::simt::together<Shuffle<T>>(record, place);
    return record.result;
  }
  Voted vote(bool predicate, ::simt::Place place) const {
    Voted record{{lanes(), place}, predicate, 0, 0};
    ::simt::together<Vote>(record, place);
    return record;
  }
  template <typename T>
  Matched<T> match(const T& value, ::simt::Place place) const {
    Matched<T> record{{lanes(), place}, value, 0, 0};
    ::simt::together<Match<T>>(record, place);
    return record;
  }
  template <template <typename, typename> class Algorithm, typename T, typename Combine>
  Combined<T, Combine> combine(const T& value, Combine& combine, ::simt::Place place) const {
    Combined<T, Combine> record{{lanes(), place}, value, value, &combine};
    ::simt::together<Algorithm<T, Combine>>(record, place);
    return record;
  }
};

}  // namespace details

/// The base of all groups.
class thread_group {
 public:
  unsigned long long size() const { return size_; }
  unsigned long long num_threads() const { return size_; }
  unsigned long long thread_rank() const {
    switch (kind_) {
      case lanes: return ::simt::rank_among(lanes_, ::simt::lane());
      case block: return ::simt::thread_rank();
      default: return details::block_rank() * details::block_size() + ::simt::thread_rank();
    }
  }
  bool is_valid() const { return kind_ != grid || ::simt::is_cooperative(); }
  void sync(SIMT_HERE) const {
    if (kind_ == lanes) {
      details::Synced record;
      record.lanes = lanes_;
      record.place = SIMT_THERE;
      ::simt::together<details::Sync>(record, SIMT_THERE);
    } else if (kind_ == block) {
      ::simt::block_barrier("sync of a block", 0, SIMT_THERE);
    } else if (kind_ == grid) {
      details::sync_grid(SIMT_THERE);
    } else {
      ::simt::fault("group", SIMT_THERE, "a tile of more than one warp has to be synchronized by its own type");
    }
  }
  unsigned meta_group_rank() const { return meta_rank_; }
  unsigned meta_group_size() const { return meta_size_; }

 protected:
  enum Kind : unsigned char { lanes, block, grid, warps };
  thread_group(Kind kind, unsigned long long size) : kind_(kind), size_(size) {}
  thread_group(std::uint64_t members, unsigned meta_rank, unsigned meta_size)
      : kind_(lanes),
        size_(static_cast<unsigned>(::simt::count_bits(members))),
        lanes_(members),
        meta_rank_(meta_rank),
        meta_size_(meta_size) {}

  Kind kind_;
  unsigned long long size_;
  std::uint64_t lanes_ = 0;
  unsigned meta_rank_ = 0, meta_size_ = 1;

  friend thread_group tiled_partition(const thread_group& parent, unsigned size, const char*, int);
};

namespace details {
/// A split barrier. The memory of a block has arbitrary initial contents.
struct Halves {
  static constexpr unsigned mark = 0x2ba1f5e5;
  unsigned made;
  unsigned long long arrived, turn;

  unsigned long long arrive(unsigned long long size) {
    if (made != mark) *this = Halves{mark, 0, 0};
    const unsigned long long now = __atomic_load_n(&turn, __ATOMIC_SEQ_CST);
    if (__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST) == size) {
      __atomic_store_n(&arrived, 0, __ATOMIC_SEQ_CST);
      __atomic_add_fetch(&turn, 1, __ATOMIC_SEQ_CST);
    }
    return now;
  }
  void wait(unsigned long long before, ::simt::Place place) const {
    while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) == before) ::simt::yield(place);
  }
};
inline Halves& halves_of_block() {
  Halves(&own)[1] = SIMT_SHARED_OWN("the barrier of a block in two halves");
  return own[0];
}
inline Halves halves_of_grid{};
struct Arrived {
  unsigned long long turn;
};
}  // namespace details

/// All threads of a cooperative launch.
class grid_group : public thread_group {
 public:
  grid_group() : thread_group(grid, num_threads()) {}
  using arrival_token = details::Arrived;
  [[nodiscard]] arrival_token barrier_arrive(SIMT_HERE) const {
    if (!::simt::is_cooperative()) {
      ::simt::fault("not-cooperative", SIMT_THERE, "a grid is synchronized, but its launch was not cooperative");
    }
    return {details::halves_of_grid.arrive(num_threads())};
  }
  void barrier_wait(arrival_token&& token, SIMT_HERE) const { details::halves_of_grid.wait(token.turn, SIMT_THERE); }
  static bool is_valid() { return ::simt::is_cooperative(); }
  static void sync(SIMT_HERE) { details::sync_grid(SIMT_THERE); }
  static unsigned long long num_threads() { return details::grid_size() * details::block_size(); }
  static unsigned long long size() { return num_threads(); }
  static unsigned long long thread_rank() {
    return details::block_rank() * details::block_size() + ::simt::thread_rank();
  }
  static unsigned long long num_blocks() { return details::grid_size(); }
  static unsigned long long block_rank() { return details::block_rank(); }
  static dim3 block_index() { return dim3(blockIdx); }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 group_dim() { return ::simt::dialect == ::simt::Dialect::cuda ? gridDim : blockDim; }
};
inline grid_group this_grid() { return grid_group(); }

class thread_block : public thread_group {
 public:
  thread_block() : thread_group(block, details::block_size()) {}
  using arrival_token = details::Arrived;
  [[nodiscard]] arrival_token barrier_arrive() const { return {details::halves_of_block().arrive(size())}; }
  void barrier_wait(arrival_token&& token, SIMT_HERE) const { details::halves_of_block().wait(token.turn, SIMT_THERE); }
  static void sync(SIMT_HERE) { ::simt::block_barrier("sync of a block", 0, SIMT_THERE); }
  static unsigned num_threads() { return details::block_size(); }
  static unsigned size() { return details::block_size(); }
  static unsigned thread_rank() { return ::simt::thread_rank(); }
  static dim3 group_index() { return dim3(blockIdx); }
  static dim3 thread_index() { return dim3(threadIdx); }
  static dim3 dim_threads() { return blockDim; }
  static dim3 group_dim() { return blockDim; }
};
inline thread_block this_thread_block() { return thread_block(); }
template <unsigned MaxBlockSize>
thread_block this_thread_block(block_tile_memory<MaxBlockSize>&) {
  return thread_block();
}

/// The threads of a warp that were active where the group was created.
class coalesced_group : public thread_group, public details::lane_group<coalesced_group> {
  using operations = details::lane_group<coalesced_group>;

 public:
  explicit coalesced_group(std::uint64_t members, unsigned meta_rank = 0, unsigned meta_size = 1)
      : thread_group(members, meta_rank, meta_size) {}
  unsigned num_threads() const { return static_cast<unsigned>(size_); }
  unsigned size() const { return static_cast<unsigned>(size_); }
  unsigned thread_rank() const { return ::simt::rank_among(lanes_, ::simt::lane()); }
  using operations::sync;
  std::uint64_t simt_lanes() const { return lanes_; }
};
inline coalesced_group coalesced_threads(SIMT_HERE) {
  static constexpr ::simt::Operation operation{"coalesced_threads", nullptr};
  return coalesced_group(::simt::meet_present(operation, nullptr, 0, SIMT_THERE).lanes);
}

namespace details {

/// A tile inside one warp.
template <unsigned Size>
class warp_tile : public thread_group, public lane_group<warp_tile<Size>> {
  using operations = lane_group<warp_tile<Size>>;

 public:
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
  static unsigned thread_rank() { return ::simt::lane() & (Size - 1); }
  using operations::sync;
  template <typename T>
  Bare<T> shfl_xor(T&& value, unsigned lanes, SIMT_HERE) const {
    const unsigned source = thread_rank() ^ lanes;
    return this->template move<Bare<T>>(value, source < Size ? source : thread_rank(), SIMT_THERE);
  }
  std::uint64_t simt_lanes() const { return lanes_; }

 protected:
  warp_tile(unsigned meta_rank, unsigned meta_size, ::simt::Place place)
      : thread_group(tile_lanes(Size, place), meta_rank, meta_size) {}
};

/// A tile of several warps: CUDA's, of 64 to 1024 threads. Records are exchanged in shared memory, between two
/// barriers.
template <unsigned Size>
class block_tile : public thread_group {
 public:
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
  static unsigned thread_rank() { return ::simt::thread_rank() & (Size - 1); }
  void sync(SIMT_HERE) const { barrier(SIMT_THERE); }
  template <typename T>
  Bare<T> shfl(T&& value, int rank, SIMT_HERE) const {
    Shuffled<Bare<T>> record{{0, SIMT_THERE}, value, value, static_cast<unsigned>(rank) % Size};
    gather<Shuffle<Bare<T>>>(record, SIMT_THERE);
    return record.result;
  }
  int any(int predicate, SIMT_HERE) const { return votes(predicate != 0, SIMT_THERE) != 0; }
  int all(int predicate, SIMT_HERE) const { return votes(predicate != 0, SIMT_THERE) == Size; }
  template <template <typename, typename> class Algorithm, typename T, typename Combine>
  Combined<T, Combine> combine(const T& value, Combine& combine, ::simt::Place place) const {
    Combined<T, Combine> record{{0, place}, value, value, &combine};
    gather<Algorithm<T, Combine>>(record, place);
    return record;
  }

 protected:
  block_tile(unsigned meta_rank, unsigned meta_size, ::simt::Place place) : thread_group(warps, Size) {
    meta_rank_ = meta_rank;
    meta_size_ = meta_size;
    if (block_size() % Size != 0) {
      ::simt::fault("tile-size", place, "a tile of %u threads in a block of %u", Size, block_size());
    }
  }

 private:
  static unsigned first() { return ::simt::thread_rank() & ~(Size - 1); }
  void barrier(::simt::Place place) const {
    if (Size == block_size()) {
      ::simt::block_barrier("sync of a tile", 0, place);
    } else {
      // Not one of the 16 barriers that programs can name. The memory of a tile has arbitrary initial contents.
      Barrier(&barriers)[16] = SIMT_SHARED_OWN("barriers of tiles");
      Barrier& own = barriers[first() / Size];
      if (own.made != Barrier::mark) own = Barrier{Barrier::mark, 0, 0};
      if (++own.arrived == Size) {
        own.arrived = 0;
        ++own.turn;
      } else {
        const unsigned turn = own.turn;
        while (__atomic_load_n(&own.turn, __ATOMIC_ACQUIRE) == turn) ::simt::yield(place);
      }
    }
  }
  struct Barrier {
    static constexpr unsigned mark = 0x7113ba44;
    unsigned made, arrived, turn;
  };
  struct Counted : Record {
    bool predicate;
    unsigned yes;
  };
  struct Count {
    static constexpr const char* name = "a vote of a tile";
    static void run(const ::simt::Gathered<Counted>& all) {
      unsigned yes = 0;
      for (unsigned i = 0; i < all.size; ++i) yes += all.record[i]->predicate;
      for (unsigned i = 0; i < all.size; ++i) all.record[i]->yes = yes;
    }
  };
  unsigned votes(bool predicate, ::simt::Place place) const {
    Counted record{{0, place}, predicate, 0};
    gather<Count>(record, place);
    return record.yes;
  }
  template <typename Algorithm, typename T>
  void gather(T& record, ::simt::Place place) const {
    void*(&slots)[1024] = SIMT_SHARED_OWN("memory of a tile");
    slots[::simt::thread_rank()] = &record;
    barrier(place);
    if (thread_rank() == 0) {
      T* records[Size];
      for (unsigned i = 0; i < Size; ++i) records[i] = static_cast<T*>(slots[first() + i]);
      Algorithm::run(::simt::Gathered<T>{records, Size});
    }
    barrier(place);
  }
};

template <unsigned Size>
using tile_base = std::conditional_t<(Size > 32 && ::simt::dialect == ::simt::Dialect::cuda) || (Size > 64),
                                     block_tile<Size>, warp_tile<Size>>;

}  // namespace details

/// `Size` neighboring threads: tiled_partition<Size> of a block, or of a larger tile.
template <unsigned Size, typename Parent>
class thread_block_tile : public details::tile_base<Size> {
 public:
  explicit thread_block_tile(const Parent& parent, SIMT_HERE)
      : details::tile_base<Size>(static_cast<unsigned>(parent.thread_rank()) / Size,
                                 (static_cast<unsigned>(parent.size()) + Size - 1) / Size, SIMT_THERE) {}
};
template <unsigned Size>
class thread_block_tile<Size, void> : public details::tile_base<Size> {
 public:
  template <typename Parent>
  thread_block_tile(const thread_block_tile<Size, Parent>& tile)
      : details::tile_base<Size>(tile.meta_group_rank(), tile.meta_group_size(), {"", 0}) {}
  thread_block_tile(unsigned meta_rank, unsigned meta_size)
      : details::tile_base<Size>(meta_rank, meta_size, {"", 0}) {}
};

template <unsigned Size, typename Parent>
thread_block_tile<Size, Parent> tiled_partition(const Parent& parent, SIMT_HERE) {
  static_assert(Size != 0 && (Size & (Size - 1)) == 0 && Size <= 1024, "the size of a tile is a power of two");
  static_assert(::simt::dialect == ::simt::Dialect::cuda || Size <= 64, "a tile larger than a wavefront: HIP has none");
  return thread_block_tile<Size, Parent>(parent, simt_file, simt_line);
}
inline thread_block_tile<1> this_thread() { return thread_block_tile<1>(0, 1); }

namespace details {
/// The lanes of the caller's part, if `lanes` is divided, by rank, into parts of `size`.
inline std::uint64_t part_of(std::uint64_t lanes, unsigned size) {
  const unsigned first = ::simt::rank_among(lanes, ::simt::lane()) / size * size;
  std::uint64_t part = 0;
  unsigned rank = 0;
  for (; lanes != 0; lanes &= lanes - 1, ++rank) {
    if (rank >= first && rank - first < size) part |= lanes & (~lanes + 1);
  }
  return part;
}
}  // namespace details

/// Tiles whose size is known only at run time.
inline thread_group tiled_partition(const thread_group& parent, unsigned size, SIMT_HERE) {
  const std::uint64_t tile = details::tile_lanes(size, SIMT_THERE);
  const unsigned count = (static_cast<unsigned>(parent.size()) + size - 1) / size;
  const unsigned rank = static_cast<unsigned>(parent.thread_rank()) / size;
  return thread_group(parent.kind_ == thread_group::lanes ? details::part_of(parent.lanes_, size) : tile, rank, count);
}
inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned size, SIMT_HERE) {
  details::tile_lanes(size, SIMT_THERE);
  return coalesced_group(details::part_of(parent.simt_lanes(), size), parent.thread_rank() / size,
                         (parent.size() + size - 1) / size);
}

/// The threads of the group with the caller's label.
template <typename Group, typename T>
coalesced_group labeled_partition(const Group& group, T label, SIMT_HERE) {
  const std::uint64_t ranks = group.match(label, SIMT_THERE).same;
  const bool leads = ::simt::lowest_bit(ranks) == group.thread_rank();
  const std::uint64_t leaders = group.vote(leads, SIMT_THERE).yes;
  std::uint64_t members = 0;
  for (std::uint64_t rest = ranks; rest != 0; rest &= rest - 1) {
    members |= std::uint64_t{1} << ::simt::lane_with_rank(group.simt_lanes(), ::simt::lowest_bit(rest));
  }
  return coalesced_group(members, ::simt::rank_among(leaders, ::simt::lowest_bit(ranks)),
                         static_cast<unsigned>(::simt::count_bits(leaders)));
}
template <typename Group>
coalesced_group binary_partition(const Group& group, bool predicate, SIMT_HERE) {
  const details::Voted voted = group.vote(predicate, SIMT_THERE);
  const std::uint64_t ranks = predicate ? voted.yes : voted.here & ~voted.yes;
  const bool diverged = voted.yes != 0 && voted.yes != voted.here;
  std::uint64_t members = 0;
  for (std::uint64_t rest = ranks; rest != 0; rest &= rest - 1) {
    members |= std::uint64_t{1} << ::simt::lane_with_rank(group.simt_lanes(), ::simt::lowest_bit(rest));
  }
  return coalesced_group(members, diverged && predicate, diverged ? 2 : 1);
}
template <typename Group>
coalesced_group labeled_partition(const Group& group, bool label, SIMT_HERE) {
  return binary_partition(group, label, simt_file, simt_line);
}

template <typename Group>
void sync(const Group& group, SIMT_HERE) {
  group.sync(simt_file, simt_line);
}
template <typename Group>
auto thread_rank(const Group& group) -> decltype(group.thread_rank()) {
  return group.thread_rank();
}
template <typename Group>
auto group_size(const Group& group) -> decltype(group.num_threads()) {
  return group.num_threads();
}
template <typename Group>
bool is_valid(const Group& group) {
  return group.is_valid();
}
/// The scopes that `synchronize` of CUDA 12 accepts.
inline void sync_warp(SIMT_HERE) {
  details::Synced record;
  record.lanes = ::simt::neighbors(::simt::lane(), details::warp_width());
  record.place = SIMT_THERE;
  ::simt::together<details::Sync>(record, SIMT_THERE);
}

// ---- combining

template <typename T>
struct plus {
  T operator()(T a, T b) const { return static_cast<T>(a + b); }
};
/// Keeps the lesser of the two.
template <typename T>
struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
/// Keeps the greater of the two.
template <typename T>
struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
template <typename T>
struct bit_and {
  T operator()(T a, T b) const { return static_cast<T>(a & b); }
};
template <typename T>
struct bit_or {
  T operator()(T a, T b) const { return static_cast<T>(a | b); }
};
template <typename T>
struct bit_xor {
  T operator()(T a, T b) const { return static_cast<T>(a ^ b); }
};
}  // namespace cooperative_groups

namespace simt {
#define SIMT_OVER_THOSE_HERE(combine)                                 \
  template <typename T>                                               \
  struct OverThoseHere<T, ::cooperative_groups::combine<T>> : std::bool_constant<is_word<T>> {}
SIMT_OVER_THOSE_HERE(plus);
SIMT_OVER_THOSE_HERE(less);
SIMT_OVER_THOSE_HERE(greater);
SIMT_OVER_THOSE_HERE(bit_and);
SIMT_OVER_THOSE_HERE(bit_or);
SIMT_OVER_THOSE_HERE(bit_xor);
#undef SIMT_OVER_THOSE_HERE
}  // namespace simt

namespace cooperative_groups {

/// Every thread of the group gets the combination of all values.
template <typename Group, typename T, typename Combine>
details::Bare<T> reduce(const Group& group, T&& value, Combine&& combine, SIMT_HERE) {
  std::decay_t<Combine> own = combine;
  const details::Bare<T> given = value;
  return group.template combine<details::Butterfly>(given, own, SIMT_THERE).value;
}
template <typename Group, typename T, typename V, typename Combine>
void reduce_store_async(const Group& group, T* to, V&& value, Combine&& combine, SIMT_HERE) {
  const details::Bare<V> result = reduce(group, value, combine, simt_file, simt_line);
  if (group.thread_rank() == 0) *to = static_cast<T>(result);
}

/// One thread combines all values with the contents of an atomic object or reference of libcu++.
template <typename Group, typename Atomic, typename V, typename Combine>
void reduce_update_async(const Group& group, Atomic& to, V&& value, Combine&& combine, SIMT_HERE) {
  const auto result = reduce(group, value, combine, simt_file, simt_line);
  if (group.thread_rank() == 0) {
    auto seen = to.load();
    while (!to.compare_exchange_weak(seen, combine(seen, static_cast<decltype(seen)>(result)))) {
    }
  }
}

/// Each thread gets the combination of the values of all threads up to itself.
template <typename Group, typename T, typename Combine>
details::Bare<T> inclusive_scan(const Group& group, T&& value, Combine&& combine, SIMT_HERE) {
  std::decay_t<Combine> own = combine;
  const details::Bare<T> given = value;
  return group.template combine<details::Scan>(given, own, SIMT_THERE).value;
}
/// Each thread gets the combination of the values of all threads before it, and the first one T().
template <typename Group, typename T, typename Combine>
details::Bare<T> exclusive_scan(const Group& group, T&& value, Combine&& combine, SIMT_HERE) {
  std::decay_t<Combine> own = combine;
  const details::Bare<T> given = value;
  return group.template combine<details::Scan>(given, own, SIMT_THERE).next;
}
template <typename Group, typename T>
details::Bare<T> inclusive_scan(const Group& group, T&& value) {
  return inclusive_scan(group, value, plus<details::Bare<T>>());
}
template <typename Group, typename T>
details::Bare<T> exclusive_scan(const Group& group, T&& value) {
  return exclusive_scan(group, value, plus<details::Bare<T>>());
}

// ---- one thread for all

template <typename Group, typename Function, typename... Arguments>
void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
  if (group.thread_rank() == 0) function(std::forward<Arguments>(arguments)...);
}
template <typename Group, typename Function, typename... Arguments>
auto invoke_one_broadcast(const Group& group, Function&& function, Arguments&&... arguments)
    -> details::Bare<decltype(function(std::forward<Arguments>(arguments)...))> {
  details::Bare<decltype(function(std::forward<Arguments>(arguments)...))> result{};
  if (group.thread_rank() == 0) result = function(std::forward<Arguments>(arguments)...);
  return group.shfl(result, 0);
}

// ---- copies

namespace details {
template <typename Group>
void copy_bytes(const Group& group, void* to, const void* from, std::size_t bytes, std::size_t unit) {
  const std::size_t count = bytes / unit;
  char* const target = static_cast<char*>(to);
  const char* const source = static_cast<const char*>(from);
  for (std::size_t i = group.thread_rank(); i < count; i += group.num_threads()) {
    std::memcpy(target + i * unit, source + i * unit, unit);
  }
  for (std::size_t i = count * unit + group.thread_rank(); i < bytes; i += group.num_threads()) target[i] = source[i];
}
}  // namespace details

/// Copies `bytes` bytes (a number, or cuda::aligned_size_t).
template <typename Group, typename T, typename Size>
void memcpy_async(const Group& group, T* to, const T* from, const Size& bytes) {
  if constexpr (std::is_void_v<T>) {
    details::copy_bytes(group, to, from, static_cast<std::size_t>(bytes), 1);
  } else {
    details::copy_bytes(group, to, from, static_cast<std::size_t>(bytes), sizeof(T));
  }
}
/// Copies as many elements as exist on both sides.
template <typename Group, typename T, typename Room, typename Count>
void memcpy_async(const Group& group, T* to, const Room& room, const T* from, const Count& count) {
  const std::size_t most = static_cast<std::size_t>(room), given = static_cast<std::size_t>(count);
  details::copy_bytes(group, to, from, (most < given ? most : given) * sizeof(T), sizeof(T));
}
template <typename Group>
void wait(const Group& group, SIMT_HERE) {
  group.sync(simt_file, simt_line);
}
template <unsigned Stages, typename Group>
void wait_prior(const Group& group, SIMT_HERE) {
  group.sync(simt_file, simt_line);
}

// ---- missing features

namespace details {
template <typename T>
constexpr bool never = false;
}
template <typename T = void>
thread_group this_cluster() {
  static_assert(details::never<T>, "the CPU executor has no clusters of blocks: cooperative_groups::this_cluster");
  return thread_block();
}
template <typename T = void>
thread_group this_multi_grid() {
  static_assert(details::never<T>, "the CPU executor is one device: cooperative_groups::this_multi_grid");
  return thread_block();
}

}  // namespace cooperative_groups

#endif
