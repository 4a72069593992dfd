// SPDX-License-Identifier: Apache-2.0
// hipport/groups.h: CUDA's cooperative groups, for AMD. Put here by hipport.
//
// CUDA's tiles and coalesced groups are lanes of one warp of 32, and their masks have 32 bits. HIP's span a wavefront,
// which may have 64 lanes, have 64-bit masks, need a macro or a release for half of the functions, and lack scans,
// reductions and labeled partitions. The groups below are CUDA's on the 32 lanes of the caller's warp, with every ROCm
// since 5.2. The order in which reductions and scans combine values is not specified, as in CUDA.
//
// memcpy_async copies immediately, as CUDA allows: its data may be used after wait(), which synchronizes the group.
//
// With nvcc the groups are the native ones.
#ifndef HIPPORT_GROUPS_H
#define HIPPORT_GROUPS_H

#if defined(__HIP__) || defined(__CUDACC__)  // nothing here is for host compilers

#include "warp.h"

#if defined(__HIP__)

#define HIPPORT_DEVICE static __device__ __forceinline__
#define HIPPORT_MEMBER __device__ __forceinline__

namespace hipport {
namespace cooperative_groups {

namespace details {

HIPPORT_DEVICE unsigned block_size() { return blockDim.x * blockDim.y * blockDim.z; }
HIPPORT_DEVICE unsigned rank_in_block() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
HIPPORT_DEVICE unsigned long long blocks() { return 1ull * gridDim.x * gridDim.y * gridDim.z; }
HIPPORT_DEVICE unsigned long long rank_of_block() {
  return (1ull * blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}

HIPPORT_DEVICE unsigned rank_in(unsigned mask) { return static_cast<unsigned>(__popc(mask & lanemask_lt())); }

/// The lane that has `rank` in `mask`; 31 if there is none.
HIPPORT_DEVICE unsigned lane_of(unsigned mask, unsigned rank) {
  unsigned lane = 0;
#pragma unroll
  for (unsigned step = 16; step != 0; step /= 2) {
    const unsigned below = static_cast<unsigned>(__popc(mask & ((1u << step) - 1u)));
    if (rank >= below) {
      rank -= below;
      lane += step;
      mask >>= step;
    }
  }
  return lane;
}

/// One bit for each lane of `mask`, by rank: whether the lane is in `lanes`.
HIPPORT_DEVICE unsigned by_rank(unsigned mask, unsigned lanes) {
  if (mask == 0xffffffffu) return lanes;
  unsigned packed = 0, bit = 1;
  for (unsigned open = mask; open != 0; open &= open - 1, bit <<= 1) {
    if (lanes & open & (~open + 1u)) packed |= bit;
  }
  return packed;
}

/// The lanes of `mask` in the caller's part, if it is divided, by rank, into parts of `size` lanes.
HIPPORT_DEVICE unsigned part_of(unsigned mask, unsigned size) {
  const unsigned first = rank_in(mask) / size * size;
  unsigned part = 0, rank = 0;
  for (unsigned open = mask; open != 0; open &= open - 1, ++rank) {
    if (rank - first < size) part |= open & (~open + 1u);
  }
  return part;
}

/// The lanes of the caller's tile of `size` neighbours.
HIPPORT_DEVICE unsigned tile_mask(unsigned size) {
  return (0xffffffffu >> (32u - size)) << (lane_id() & ~(size - 1u));
}

}  // namespace details

/// The base of all groups: a function may take any of them as a thread_group.
class thread_group {
 public:
  HIPPORT_MEMBER unsigned long long num_threads() const { return size_; }
  HIPPORT_MEMBER unsigned long long size() const { return size_; }
  HIPPORT_MEMBER unsigned long long thread_rank() const {
    if (kind_ == lanes) return details::rank_in(mask_);
    if (kind_ == block) return details::rank_in_block();
    return details::rank_of_block() * details::block_size() + details::rank_in_block();
  }
  HIPPORT_MEMBER void sync() const {
    if (kind_ == lanes) {
      syncwarp(mask_);
    } else if (kind_ == block) {
      __syncthreads();
    } else {
      __ockl_grid_sync();
    }
  }

 protected:
  enum kind : unsigned char { lanes, block, grid };
  HIPPORT_MEMBER thread_group(kind kind, unsigned long long size) : kind_(kind), size_(size) {}
  HIPPORT_MEMBER thread_group(unsigned mask, unsigned meta_rank, unsigned meta_size)
      : size_(static_cast<unsigned>(__popc(mask))), mask_(mask), meta_rank_(meta_rank), meta_size_(meta_size) {}

  kind kind_ = lanes;
  unsigned long long size_;
  unsigned mask_ = 0, meta_rank_ = 0, meta_size_ = 1;

  friend HIPPORT_MEMBER thread_group tiled_partition(const thread_group& parent, unsigned size);
};

/// All threads of a cooperative launch.
class grid_group : public thread_group {
 public:
  HIPPORT_MEMBER grid_group() : thread_group(grid, num_threads()) {}
  static HIPPORT_MEMBER bool is_valid() { return __ockl_grid_is_valid() != 0; }
  static HIPPORT_MEMBER void sync() { __ockl_grid_sync(); }
  static HIPPORT_MEMBER unsigned long long num_threads() { return details::blocks() * details::block_size(); }
  static HIPPORT_MEMBER unsigned long long size() { return num_threads(); }
  static HIPPORT_MEMBER unsigned long long thread_rank() {
    return details::rank_of_block() * details::block_size() + details::rank_in_block();
  }
  static HIPPORT_MEMBER unsigned long long num_blocks() { return details::blocks(); }
  static HIPPORT_MEMBER unsigned long long block_rank() { return details::rank_of_block(); }
  static HIPPORT_MEMBER dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  static HIPPORT_MEMBER dim3 dim_blocks() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
  static HIPPORT_MEMBER dim3 group_dim() { return dim_blocks(); }
};
HIPPORT_DEVICE grid_group this_grid() { return grid_group(); }

class thread_block : public thread_group {
 public:
  HIPPORT_MEMBER thread_block() : thread_group(block, details::block_size()) {}
  static HIPPORT_MEMBER void sync() { __syncthreads(); }
  static HIPPORT_MEMBER unsigned num_threads() { return details::block_size(); }
  static HIPPORT_MEMBER unsigned size() { return details::block_size(); }
  static HIPPORT_MEMBER unsigned thread_rank() { return details::rank_in_block(); }
  static HIPPORT_MEMBER dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  static HIPPORT_MEMBER dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  static HIPPORT_MEMBER dim3 dim_threads() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
  static HIPPORT_MEMBER dim3 group_dim() { return dim_threads(); }
};
HIPPORT_DEVICE thread_block this_thread_block() { return thread_block(); }

/// The lanes of a warp that were active where the group was created.
class coalesced_group : public thread_group {
 public:
  HIPPORT_MEMBER explicit coalesced_group(unsigned mask, unsigned meta_rank = 0, unsigned meta_size = 1)
      : thread_group(mask, meta_rank, meta_size) {}
  HIPPORT_MEMBER unsigned num_threads() const { return static_cast<unsigned>(size_); }
  HIPPORT_MEMBER unsigned size() const { return num_threads(); }
  HIPPORT_MEMBER unsigned thread_rank() const { return details::rank_in(mask_); }
  HIPPORT_MEMBER unsigned meta_group_rank() const { return meta_rank_; }
  HIPPORT_MEMBER unsigned meta_group_size() const { return meta_size_; }
  HIPPORT_MEMBER void sync() const { syncwarp(mask_); }
  /// The lanes, as a mask; not in CUDA's interface.
  HIPPORT_MEMBER unsigned mask() const { return mask_; }

  template <typename T>
  HIPPORT_MEMBER T shfl(T value, int rank) const {
    return shfl_sync(mask_, value, static_cast<int>(details::lane_of(mask_, static_cast<unsigned>(rank))));
  }
  /// A lane whose source would be outside the group keeps its value.
  template <typename T>
  HIPPORT_MEMBER T shfl_up(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return shfl(value, static_cast<int>(delta <= rank ? rank - delta : rank));
  }
  template <typename T>
  HIPPORT_MEMBER T shfl_down(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return shfl(value, static_cast<int>(delta < num_threads() - rank ? rank + delta : rank));
  }
  HIPPORT_MEMBER int any(int predicate) const { return any_sync(mask_, predicate); }
  HIPPORT_MEMBER int all(int predicate) const { return all_sync(mask_, predicate); }
  HIPPORT_MEMBER unsigned ballot(int predicate) const {
    return details::by_rank(mask_, ballot_sync(mask_, predicate));
  }
  template <typename T>
  HIPPORT_MEMBER unsigned match_any(T value) const {
    return details::by_rank(mask_, match_any_sync(mask_, value));
  }
  template <typename T>
  HIPPORT_MEMBER unsigned match_all(T value, int& predicate) const {
    return details::by_rank(mask_, match_all_sync(mask_, value, &predicate));
  }
};
HIPPORT_DEVICE coalesced_group coalesced_threads() { return coalesced_group(activemask()); }

/// `Size` neighbouring lanes of a warp: tiled_partition<Size> of a block, or of a larger tile.
template <unsigned Size, typename Parent = void>
class thread_block_tile;

namespace details {

template <unsigned Size>
class tile_base : public thread_group {
  static_assert(Size != 0 && (Size & (Size - 1)) == 0 && Size <= 32, "a tile has 1, 2, 4, 8, 16 or 32 lanes");

 public:
  static constexpr HIPPORT_MEMBER unsigned num_threads() { return Size; }
  static constexpr HIPPORT_MEMBER unsigned size() { return Size; }
  static HIPPORT_MEMBER unsigned thread_rank() { return lane_id() & (Size - 1u); }
  static HIPPORT_MEMBER void sync() { syncwarp(mask()); }
  /// The lanes, as a mask; not in CUDA's interface.
  static HIPPORT_MEMBER unsigned mask() { return tile_mask(Size); }

  template <typename T>
  HIPPORT_MEMBER T shfl(T value, int rank) const {
    return shfl_sync(mask(), value, rank, static_cast<int>(Size));
  }
  template <typename T>
  HIPPORT_MEMBER T shfl_up(T value, unsigned delta) const {
    return shfl_up_sync(mask(), value, delta, static_cast<int>(Size));
  }
  template <typename T>
  HIPPORT_MEMBER T shfl_down(T value, unsigned delta) const {
    return shfl_down_sync(mask(), value, delta, static_cast<int>(Size));
  }
  template <typename T>
  HIPPORT_MEMBER T shfl_xor(T value, unsigned lanes) const {
    return shfl_xor_sync(mask(), value, static_cast<int>(lanes), static_cast<int>(Size));
  }
  HIPPORT_MEMBER int any(int predicate) const { return any_sync(mask(), predicate); }
  HIPPORT_MEMBER int all(int predicate) const { return all_sync(mask(), predicate); }
  HIPPORT_MEMBER unsigned ballot(int predicate) const { return ballot_sync(mask(), predicate) >> first(); }
  template <typename T>
  HIPPORT_MEMBER unsigned match_any(T value) const {
    return match_any_sync(mask(), value) >> first();
  }
  template <typename T>
  HIPPORT_MEMBER unsigned match_all(T value, int& predicate) const {
    return match_all_sync(mask(), value, &predicate) >> first();
  }

 protected:
  HIPPORT_MEMBER tile_base(unsigned meta_rank, unsigned meta_size) : thread_group(mask(), meta_rank, meta_size) {}
  static HIPPORT_MEMBER unsigned first() { return lane_id() & ~(Size - 1u); }
};

}  // namespace details

template <unsigned Size, typename Parent>
class thread_block_tile : public details::tile_base<Size> {
 public:
  HIPPORT_MEMBER explicit thread_block_tile(const Parent&)
      : details::tile_base<Size>(meta_group_rank(), meta_group_size()) {}
  static HIPPORT_MEMBER unsigned meta_group_rank() { return Parent::thread_rank() / Size; }
  static HIPPORT_MEMBER unsigned meta_group_size() { return (Parent::size() + Size - 1u) / Size; }
};

template <unsigned Size>
class thread_block_tile<Size, void> : public details::tile_base<Size> {
 public:
  template <typename Parent>
  HIPPORT_MEMBER thread_block_tile(const thread_block_tile<Size, Parent>& tile)
      : details::tile_base<Size>(tile.meta_group_rank(), tile.meta_group_size()) {}
  HIPPORT_MEMBER unsigned meta_group_rank() const { return this->meta_rank_; }
  HIPPORT_MEMBER unsigned meta_group_size() const { return this->meta_size_; }

 private:
  friend HIPPORT_MEMBER thread_block_tile<1, void> this_thread();
  HIPPORT_MEMBER thread_block_tile() : details::tile_base<Size>(0, 1) {}
};
HIPPORT_MEMBER thread_block_tile<1, void> this_thread() { return thread_block_tile<1, void>(); }

template <unsigned Size, typename Parent>
HIPPORT_DEVICE thread_block_tile<Size, Parent> tiled_partition(const Parent& parent) {
  return thread_block_tile<Size, Parent>(parent);
}

/// Tiles whose size is known only at run time: 1, 2, 4, 8, 16 or 32.
HIPPORT_MEMBER thread_group tiled_partition(const thread_group& parent, unsigned size) {
  const unsigned count = (static_cast<unsigned>(parent.size_) + size - 1u) / size;
  if (parent.kind_ == thread_group::lanes) {
    return thread_group(details::part_of(parent.mask_, size), details::rank_in(parent.mask_) / size, count);
  }
  return thread_group(details::tile_mask(size), details::rank_in_block() / size, count);
}
HIPPORT_DEVICE coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) {
  const unsigned count = (parent.num_threads() + size - 1u) / size;
  return coalesced_group(details::part_of(parent.mask(), size), parent.thread_rank() / size, count);
}

/// The lanes of the group with the caller's label.
template <typename Group, typename T>
HIPPORT_DEVICE coalesced_group labeled_partition(const Group& group, T label) {
  const unsigned mask = group.mask(), same = match_any_sync(mask, label);
  const unsigned leader = same & (~same + 1u);
  const unsigned leaders = ballot_sync(mask, leader == lanemask_eq());
  return coalesced_group(same, static_cast<unsigned>(__popc(leaders & (leader - 1u))),
                         static_cast<unsigned>(__popc(leaders)));
}
template <typename Group>
HIPPORT_DEVICE coalesced_group binary_partition(const Group& group, bool predicate) {
  const unsigned mask = group.mask(), yes = ballot_sync(mask, predicate);
  const bool parted = yes != 0 && yes != mask;
  return coalesced_group(predicate ? yes : mask & ~yes, parted && predicate, 1u + parted);
}
template <typename Group>
HIPPORT_DEVICE coalesced_group labeled_partition(const Group& group, bool label) {
  return binary_partition(group, label);
}

template <typename Group>
HIPPORT_DEVICE void sync(const Group& group) {
  group.sync();
}
template <typename Group>
HIPPORT_DEVICE auto thread_rank(const Group& group) -> decltype(group.thread_rank()) {
  return group.thread_rank();
}
template <typename Group>
HIPPORT_DEVICE auto group_size(const Group& group) -> decltype(group.num_threads()) {
  return group.num_threads();
}

// ---- combining

template <typename T>
struct plus {
  HIPPORT_MEMBER T operator()(T a, T b) const { return a + b; }
};
/// Keeps the lesser of the two.
template <typename T>
struct less {
  HIPPORT_MEMBER T operator()(T a, T b) const { return b < a ? b : a; }
};
/// Keeps the greater of the two.
template <typename T>
struct greater {
  HIPPORT_MEMBER T operator()(T a, T b) const { return a < b ? b : a; }
};
template <typename T>
struct bit_and {
  HIPPORT_MEMBER T operator()(T a, T b) const { return a & b; }
};
template <typename T>
struct bit_or {
  HIPPORT_MEMBER T operator()(T a, T b) const { return a | b; }
};
template <typename T>
struct bit_xor {
  HIPPORT_MEMBER T operator()(T a, T b) const { return a ^ b; }
};

/// Every lane of the group gets the combination of all values.
template <unsigned Size, typename Parent, typename T, typename Combine>
HIPPORT_DEVICE T reduce(const thread_block_tile<Size, Parent>& tile, T value, Combine combine) {
#pragma unroll
  for (unsigned lanes = Size / 2; lanes != 0; lanes /= 2) value = combine(value, tile.shfl_xor(value, lanes));
  return value;
}
template <typename T, typename Combine>
HIPPORT_DEVICE T reduce(const coalesced_group& group, T value, Combine combine) {
  return ::hipport::detail::reduce(group.mask(), value, combine);
}

/// Each lane gets the combination of the values of all lanes up to itself.
template <typename Group, typename T, typename Combine>
HIPPORT_DEVICE T inclusive_scan(const Group& group, T value, Combine combine) {
  for (unsigned lanes = 1; lanes < group.num_threads(); lanes *= 2) {
    const T before = group.shfl_up(value, lanes);
    if (lanes <= group.thread_rank()) value = combine(before, value);
  }
  return value;
}
/// Each lane gets the combination of the values of all lanes before it, and the first one T().
template <typename Group, typename T, typename Combine>
HIPPORT_DEVICE T exclusive_scan(const Group& group, T value, Combine combine) {
  const T before = group.shfl_up(inclusive_scan(group, value, combine), 1);
  return group.thread_rank() == 0 ? T() : before;
}
template <typename Group, typename T>
HIPPORT_DEVICE T inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, plus<T>());
}
template <typename Group, typename T>
HIPPORT_DEVICE T exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

// ---- one thread for all

template <typename Group, typename Function, typename... Arguments>
HIPPORT_DEVICE void invoke_one(const Group& group, Function function, Arguments... arguments) {
  if (group.thread_rank() == 0) function(arguments...);
}
template <typename Group, typename Function, typename... Arguments>
HIPPORT_DEVICE auto invoke_one_broadcast(const Group& group, Function function, Arguments... arguments)
    -> decltype(function(arguments...)) {
  decltype(function(arguments...)) result{};
  if (group.thread_rank() == 0) result = function(arguments...);
  return group.shfl(result, 0);
}

// ---- copies

namespace details {

template <typename Group>
HIPPORT_DEVICE void copy_bytes(const Group& group, char* to, const char* from, size_t first, size_t bytes) {
  for (size_t i = first + group.thread_rank(); i < bytes; i += group.num_threads()) to[i] = from[i];
}

}  // namespace details

/// Copies `bytes` bytes.
template <typename Group, typename T>
HIPPORT_DEVICE void memcpy_async(const Group& group, T* to, const T* from, size_t bytes) {
  const size_t count = bytes / sizeof(T);
  for (size_t i = group.thread_rank(); i < count; i += group.num_threads()) to[i] = from[i];
  details::copy_bytes(group, reinterpret_cast<char*>(to), reinterpret_cast<const char*>(from), count * sizeof(T), bytes);
}
template <typename Group>
HIPPORT_DEVICE void memcpy_async(const Group& group, void* to, const void* from, size_t bytes) {
  details::copy_bytes(group, static_cast<char*>(to), static_cast<const char*>(from), 0, bytes);
}
/// Copies as many elements as exist on both sides.
template <typename Group, typename T>
HIPPORT_DEVICE void memcpy_async(const Group& group, T* to, size_t room, const T* from, size_t count) {
  memcpy_async(group, to, from, (room < count ? room : count) * sizeof(T));
}
template <typename Group>
HIPPORT_DEVICE void wait(const Group& group) {
  group.sync();
}
template <unsigned Stages, typename Group>
HIPPORT_DEVICE void wait_prior(const Group& group) {
  group.sync();
}

}  // namespace cooperative_groups
}  // namespace hipport

#undef HIPPORT_DEVICE
#undef HIPPORT_MEMBER

#else  // nvcc

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace hipport {
namespace cooperative_groups = ::cooperative_groups;
}

#endif

#endif  // host compilers

#endif  // HIPPORT_GROUPS_H
