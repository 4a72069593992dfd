// SPDX-License-Identifier: Apache-2.0
// simt/cub_block.h: CUB's and hipCUB's algorithms of a block.
//
// Values pass through the temporary storage between barriers, so reuse of storage without a barrier has visible
// effects, as on a GPU. A reduction combines as CUB's for warps does, 32 threads at a time for any wavefront, then the
// warps in order; a scan combines the threads one after the other. Sorts access the items in their place.
//
// A block of another shape than the type's, or one with exited threads, is a fault: CUB's result is undefined.
#ifndef SIMT_CUB_BLOCK_H
#define SIMT_CUB_BLOCK_H

#include <vector>

#include "cub_util.h"
#include "cub_warp.h"

namespace cub {
namespace detail {

template <int X, int Y, int Z>
struct Block {
  static constexpr int threads = X * Y * Z;
  static int rank() { return static_cast<int>(::simt::thread_rank()); }
  static void check(const char* name, ::simt::Place place) {
    if (blockDim.x != X || blockDim.y != Y || blockDim.z != Z) {
      ::simt::fault("block-shape", place, "%s for blocks of %d x %d x %d threads in one of %u x %u x %u", name, X, Y, Z,
                    blockDim.x, blockDim.y, blockDim.z);
    }
  }
  static void barrier(const char* name, ::simt::Place place) {
    const int here = ::simt::block_barrier(name, 1, place).count;
    if (here != threads) {
      ::simt::fault("exited-thread", place, "%s of %d threads is reached by %d: the others have exited", name, threads,
                    here);
    }
  }
};

/// Storage for values of T whose constructors do not run.
template <typename T, int Count>
struct Room {
  alignas(T) unsigned char bytes[sizeof(T) * (Count > 0 ? Count : 1)];
  T& operator[](int i) { return reinterpret_cast<T*>(bytes)[i]; }
};

/// The bits of a key, which compare as unsigned numbers like the keys; -0.0 equals 0.0.
template <typename Key>
typename NumericTraits<Key>::UnsignedBits sortable(const Key& key) {
  using Numeric = NumericTraits<Key>;
  typename Numeric::UnsignedBits bits;
  std::memcpy(&bits, static_cast<const void*>(&key), sizeof bits);
  if (Numeric::CATEGORY == FLOATING_POINT && bits == Numeric::HIGH_BIT) bits = 0;
  return Numeric::TwiddleIn(bits);
}
/// Whether a key sorts before another by the bits [begin, end).
template <bool Descending, typename Key>
struct ByBits {
  int begin, end;
  unsigned __int128 part(const Key& key) const {
    const unsigned __int128 bits = static_cast<unsigned __int128>(sortable(key)) >> begin;
    const int width = end - begin;
    return width >= 128 ? bits : bits & ((static_cast<unsigned __int128>(1) << width) - 1);
  }
  bool operator()(const Key& a, const Key& b) const { return Descending ? part(b) < part(a) : part(a) < part(b); }
};

}  // namespace detail

// --------------------------------------------------------------------------------- loads and stores in thread order

template <typename T, int Items, typename Iterator>
void LoadDirectBlocked(int thread, Iterator from, T (&items)[Items]) {
  for (int i = 0; i < Items; ++i) items[i] = from[thread * Items + i];
}
template <typename T, int Items, typename Iterator>
void LoadDirectBlocked(int thread, Iterator from, T (&items)[Items], int valid) {
  for (int i = 0; i < Items; ++i) {
    if (thread * Items + i < valid) items[i] = from[thread * Items + i];
  }
}
template <typename T, typename Default, int Items, typename Iterator>
void LoadDirectBlocked(int thread, Iterator from, T (&items)[Items], int valid, Default otherwise) {
  for (int i = 0; i < Items; ++i) items[i] = static_cast<T>(otherwise);
  LoadDirectBlocked(thread, from, items, valid);
}
template <typename T, int Items>
void LoadDirectBlockedVectorized(int thread, T* from, T (&items)[Items]) {
  LoadDirectBlocked(thread, from, items);
}
template <int Threads, typename T, int Items, typename Iterator>
void LoadDirectStriped(int thread, Iterator from, T (&items)[Items]) {
  for (int i = 0; i < Items; ++i) items[i] = from[thread + i * Threads];
}
template <int Threads, typename T, int Items, typename Iterator>
void LoadDirectStriped(int thread, Iterator from, T (&items)[Items], int valid) {
  for (int i = 0; i < Items; ++i) {
    if (thread + i * Threads < valid) items[i] = from[thread + i * Threads];
  }
}
template <int Threads, typename T, typename Default, int Items, typename Iterator>
void LoadDirectStriped(int thread, Iterator from, T (&items)[Items], int valid, Default otherwise) {
  for (int i = 0; i < Items; ++i) items[i] = static_cast<T>(otherwise);
  LoadDirectStriped<Threads>(thread, from, items, valid);
}
template <typename T, int Items, typename Iterator>
void StoreDirectBlocked(int thread, Iterator to, T (&items)[Items]) {
  for (int i = 0; i < Items; ++i) to[thread * Items + i] = items[i];
}
template <typename T, int Items, typename Iterator>
void StoreDirectBlocked(int thread, Iterator to, T (&items)[Items], int valid) {
  for (int i = 0; i < Items; ++i) {
    if (thread * Items + i < valid) to[thread * Items + i] = items[i];
  }
}
template <typename T, int Items>
void StoreDirectBlockedVectorized(int thread, T* to, T (&items)[Items]) {
  StoreDirectBlocked(thread, to, items);
}
template <int Threads, typename T, int Items, typename Iterator>
void StoreDirectStriped(int thread, Iterator to, T (&items)[Items]) {
  for (int i = 0; i < Items; ++i) to[thread + i * Threads] = items[i];
}
template <int Threads, typename T, int Items, typename Iterator>
void StoreDirectStriped(int thread, Iterator to, T (&items)[Items], int valid) {
  for (int i = 0; i < Items; ++i) {
    if (thread + i * Threads < valid) to[thread + i * Threads] = items[i];
  }
}

namespace detail {
/// The place of an item of a thread, if each warp has a contiguous part and its lanes take turns.
inline int warp_striped(int thread, int items, int i) {
  const int wave = ::simt::wave_size();
  return thread / wave * wave * items + thread % wave + i * wave;
}
}  // namespace detail
template <typename T, int Items, typename Iterator>
void LoadDirectWarpStriped(int thread, Iterator from, T (&items)[Items]) {
  for (int i = 0; i < Items; ++i) items[i] = from[detail::warp_striped(thread, Items, i)];
}
template <typename T, int Items, typename Iterator>
void LoadDirectWarpStriped(int thread, Iterator from, T (&items)[Items], int valid) {
  for (int i = 0; i < Items; ++i) {
    if (detail::warp_striped(thread, Items, i) < valid) items[i] = from[detail::warp_striped(thread, Items, i)];
  }
}
template <typename T, typename Default, int Items, typename Iterator>
void LoadDirectWarpStriped(int thread, Iterator from, T (&items)[Items], int valid, Default otherwise) {
  for (int i = 0; i < Items; ++i) items[i] = static_cast<T>(otherwise);
  LoadDirectWarpStriped(thread, from, items, valid);
}
template <typename T, int Items, typename Iterator>
void StoreDirectWarpStriped(int thread, Iterator to, T (&items)[Items]) {
  for (int i = 0; i < Items; ++i) to[detail::warp_striped(thread, Items, i)] = items[i];
}
template <typename T, int Items, typename Iterator>
void StoreDirectWarpStriped(int thread, Iterator to, T (&items)[Items], int valid) {
  for (int i = 0; i < Items; ++i) {
    if (detail::warp_striped(thread, Items, i) < valid) to[detail::warp_striped(thread, Items, i)] = items[i];
  }
}

// ------------------------------------------------------------------------------------------------------------- reduce

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS
};

/// Storage for an object that was created without one: `Storage& s = private_storage<Storage>()`, one for each block.
#define SIMT_CUB_PRIVATE(type)                            \
  type& simt_private() {                                  \
    type& room = SIMT_SHARED("temporary storage of CUB"); \
    return room;                                          \
  }

template <typename T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0>
class BlockReduce {
  using Block = detail::Block<X, Y, Z>;
  static constexpr const char* name = "cub::BlockReduce";

 public:
  struct TempStorage {
    detail::Room<T, X * Y * Z> values;
  };

 private:
  TempStorage& storage_;
  SIMT_CUB_PRIVATE(TempStorage)

  template <typename Op>
  T run(const T& value, Op& op, int valid, ::simt::Place place) {
    // With a number of valid items a block may be smaller than its type says (vLLM's are): the rest is ignored.
    const int here = static_cast<int>(blockDim.x * blockDim.y * blockDim.z);
    const bool smaller = Y == 1 && Z == 1 && here < X && blockDim.x == static_cast<unsigned>(here) && valid <= here;
    if (!smaller) Block::check(name, place);
    const int count = valid < Block::threads ? valid : Block::threads;
    if (Block::rank() < count) new (static_cast<void*>(&storage_.values[Block::rank()])) T(value);
    if (smaller) {
      ::simt::block_barrier(name, 0, place);
    } else {
      Block::barrier(name, place);
    }
    T result = value;
    if (Block::rank() != 0 || count <= 0) {
      ::simt::make_undefined(result);
      return result;
    }
    for (int first = 0; first < count; first += 32) {
      const int size = count - first < 32 ? count - first : 32;
      T warp[32];
      for (int i = 0; i < size; ++i) warp[i] = storage_.values[first + i];
      for (int step = 1; step < size; step *= 2) {
        for (int i = 0; i + step < size; i += 2 * step) warp[i] = op(warp[i], warp[i + step]);
      }
      if (first == 0) {
        result = warp[0];
      } else {
        result = op(result, warp[0]);
      }
    }
    return result;
  }
  template <int Items, typename Op>
  static T own(T (&input)[Items], Op& op) {
    T sum = input[0];
    for (int i = 1; i < Items; ++i) sum = op(sum, input[i]);
    return sum;
  }

 public:
  BlockReduce() : storage_(simt_private()) {}
  explicit BlockReduce(TempStorage& storage) : storage_(storage) {}

  template <typename Op>
  T Reduce(T input, Op op, SIMT_HERE) {
    return run(input, op, Block::threads, SIMT_THERE);
  }
  template <int Items, typename Op>
  T Reduce(T (&inputs)[Items], Op op, SIMT_HERE) {
    return run(own(inputs, op), op, Block::threads, SIMT_THERE);
  }
  template <typename Op>
  T Reduce(T input, Op op, int valid, SIMT_HERE) {
    return run(input, op, valid, SIMT_THERE);
  }
  T Sum(T input, SIMT_HERE) { return Reduce(input, cub::Sum(), simt_file, simt_line); }
  template <int Items>
  T Sum(T (&inputs)[Items], SIMT_HERE) {
    return Reduce(inputs, cub::Sum(), simt_file, simt_line);
  }
  T Sum(T input, int valid, SIMT_HERE) { return Reduce(input, cub::Sum(), valid, simt_file, simt_line); }
};

// --------------------------------------------------------------------------------------------------------------- scan

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

template <typename T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan {
  using Block = detail::Block<X, Y, Z>;
  static constexpr const char* name = "cub::BlockScan";

 public:
  struct TempStorage {
    detail::Room<T, X * Y * Z> values;
    detail::Room<T, 1> aggregate, prefix;
  };

 private:
  TempStorage& storage_;
  SIMT_CUB_PRIVATE(TempStorage)

  struct Scanned {
    bool has_before;
    T before;  // of all threads before the caller, combined
    T aggregate;
  };
  /// Combine the values of all threads over the block.
  template <typename Op>
  Scanned scan(const T& value, Op& op, ::simt::Place place) {
    Block::check(name, place);
    new (static_cast<void*>(&storage_.values[Block::rank()])) T(value);
    Block::barrier(name, place);
    if (Block::rank() == 0) {
      // A thread reads the previous sum from its neighbor's place, so that reuse of storage without a barrier is
      // visible.
      T sum = storage_.values[0], next = storage_.values[1 % Block::threads];
      for (int i = 1; i < Block::threads; ++i) {
        T own = next;
        next = storage_.values[(i + 1) % Block::threads];
        storage_.values[(i + 1) % Block::threads] = sum;
        sum = op(sum, own);
      }
      new (static_cast<void*>(&storage_.aggregate[0])) T(sum);
    }
    Block::barrier(name, place);
    return {Block::rank() != 0, storage_.values[(Block::rank() + 1) % Block::threads], storage_.aggregate[0]};
  }
  template <typename Prefix>
  T prefix(Prefix& callback, const T& aggregate, ::simt::Place place) {
    // CUB calls it in all lanes of the first warp, and takes the result of the first lane.
    if (Block::rank() < ::simt::wave_size()) {
      T said = callback(aggregate);
      if (Block::rank() == 0) new (static_cast<void*>(&storage_.prefix[0])) T(said);
    }
    Block::barrier(name, place);
    return storage_.prefix[0];
  }
  template <int Items, typename Op>
  static T own(T (&input)[Items], Op& op) {
    T sum = input[0];
    for (int i = 1; i < Items; ++i) sum = op(sum, input[i]);
    return sum;
  }
  template <int Items, typename Op>
  static void put_inclusive(T (&input)[Items], T (&output)[Items], Op& op, bool has_before, T before) {
    T sum = has_before ? static_cast<T>(op(before, input[0])) : input[0];
    output[0] = sum;
    for (int i = 1; i < Items; ++i) {
      sum = op(sum, input[i]);
      output[i] = sum;
    }
  }
  template <int Items, typename Op>
  static void put_exclusive(T (&input)[Items], T (&output)[Items], Op& op, bool has_before, T before) {
    T sum = has_before ? static_cast<T>(op(before, input[0])) : input[0];
    output[0] = before;
    if (!has_before) ::simt::make_undefined(output[0]);
    for (int i = 1; i < Items; ++i) {
      T next = input[i];
      output[i] = sum;
      sum = op(sum, next);
    }
  }
  template <int Items, typename Op>
  T inclusive(const T (&given)[Items], T (&output)[Items], Op& op, ::simt::Place place) {
    T input[Items];
    for (int i = 0; i < Items; ++i) input[i] = given[i];
    Scanned all = scan(own(input, op), op, place);
    put_inclusive(input, output, op, all.has_before, all.before);
    return all.aggregate;
  }
  template <int Items, typename Op, typename Prefix>
  void inclusive_with(const T (&given)[Items], T (&output)[Items], Op& op, Prefix& callback, ::simt::Place place) {
    T input[Items];
    for (int i = 0; i < Items; ++i) input[i] = given[i];
    Scanned all = scan(own(input, op), op, place);
    T start = prefix(callback, all.aggregate, place);
    put_inclusive(input, output, op, true, all.has_before ? static_cast<T>(op(start, all.before)) : start);
  }
  template <int Items, typename Op>
  T inclusive_from(const T (&given)[Items], T (&output)[Items], T initial, Op& op, ::simt::Place place) {
    T input[Items];
    for (int i = 0; i < Items; ++i) input[i] = given[i];
    Scanned all = scan(own(input, op), op, place);
    put_inclusive(input, output, op, true, all.has_before ? static_cast<T>(op(initial, all.before)) : initial);
    return all.aggregate;
  }
  template <int Items, typename Op>
  T exclusive(const T (&given)[Items], T (&output)[Items], Op& op, ::simt::Place place) {
    T input[Items];
    for (int i = 0; i < Items; ++i) input[i] = given[i];
    Scanned all = scan(own(input, op), op, place);
    put_exclusive(input, output, op, all.has_before, all.before);
    return all.aggregate;
  }
  template <int Items, typename Op>
  T exclusive_from(const T (&given)[Items], T (&output)[Items], T initial, Op& op, ::simt::Place place) {
    T input[Items];
    for (int i = 0; i < Items; ++i) input[i] = given[i];
    Scanned all = scan(own(input, op), op, place);
    put_exclusive(input, output, op, true, all.has_before ? static_cast<T>(op(initial, all.before)) : initial);
    return all.aggregate;
  }
  template <int Items, typename Op, typename Prefix>
  void exclusive_with(const T (&given)[Items], T (&output)[Items], Op& op, Prefix& callback, ::simt::Place place) {
    T input[Items];
    for (int i = 0; i < Items; ++i) input[i] = given[i];
    Scanned all = scan(own(input, op), op, place);
    T start = prefix(callback, all.aggregate, place);
    put_exclusive(input, output, op, true, all.has_before ? static_cast<T>(op(start, all.before)) : start);
  }
  static T (&one(T& value))[1] { return reinterpret_cast<T(&)[1]>(value); }

 public:
  BlockScan() : storage_(simt_private()) {}
  explicit BlockScan(TempStorage& storage) : storage_(storage) {}

  // Every form with one item, then with several.
  void ExclusiveSum(T in, T& out, SIMT_HERE) {
    cub::Sum op;
    exclusive_from(one(in), one(out), T(), op, SIMT_THERE);
  }
  void ExclusiveSum(T in, T& out, T& aggregate, SIMT_HERE) {
    cub::Sum op;
    aggregate = exclusive_from(one(in), one(out), T(), op, SIMT_THERE);
  }
  template <typename Prefix>
  void ExclusiveSum(T in, T& out, Prefix& callback, SIMT_HERE) {
    cub::Sum op;
    exclusive_with(one(in), one(out), op, callback, SIMT_THERE);
  }
  template <int Items>
  void ExclusiveSum(T (&in)[Items], T (&out)[Items], SIMT_HERE) {
    cub::Sum op;
    exclusive_from(in, out, T(), op, SIMT_THERE);
  }
  template <int Items>
  void ExclusiveSum(T (&in)[Items], T (&out)[Items], T& aggregate, SIMT_HERE) {
    cub::Sum op;
    aggregate = exclusive_from(in, out, T(), op, SIMT_THERE);
  }
  template <int Items, typename Prefix>
  void ExclusiveSum(T (&in)[Items], T (&out)[Items], Prefix& callback, SIMT_HERE) {
    cub::Sum op;
    exclusive_with(in, out, op, callback, SIMT_THERE);
  }

  template <typename Op>
  void ExclusiveScan(T in, T& out, T initial, Op op, SIMT_HERE) {
    exclusive_from(one(in), one(out), initial, op, SIMT_THERE);
  }
  template <typename Op>
  void ExclusiveScan(T in, T& out, T initial, Op op, T& aggregate, SIMT_HERE) {
    aggregate = exclusive_from(one(in), one(out), initial, op, SIMT_THERE);
  }
  template <typename Op>
  void ExclusiveScan(T in, T& out, Op op, SIMT_HERE) {
    exclusive(one(in), one(out), op, SIMT_THERE);
  }
  template <typename Op>
  void ExclusiveScan(T in, T& out, Op op, T& aggregate, SIMT_HERE) {
    aggregate = exclusive(one(in), one(out), op, SIMT_THERE);
  }
  template <typename Op, typename Prefix>
  void ExclusiveScan(T in, T& out, Op op, Prefix& callback, SIMT_HERE) {
    exclusive_with(one(in), one(out), op, callback, SIMT_THERE);
  }
  template <int Items, typename Op>
  void ExclusiveScan(T (&in)[Items], T (&out)[Items], T initial, Op op, SIMT_HERE) {
    exclusive_from(in, out, initial, op, SIMT_THERE);
  }
  template <int Items, typename Op>
  void ExclusiveScan(T (&in)[Items], T (&out)[Items], T initial, Op op, T& aggregate, SIMT_HERE) {
    aggregate = exclusive_from(in, out, initial, op, SIMT_THERE);
  }
  template <int Items, typename Op>
  void ExclusiveScan(T (&in)[Items], T (&out)[Items], Op op, SIMT_HERE) {
    exclusive(in, out, op, SIMT_THERE);
  }
  template <int Items, typename Op>
  void ExclusiveScan(T (&in)[Items], T (&out)[Items], Op op, T& aggregate, SIMT_HERE) {
    aggregate = exclusive(in, out, op, SIMT_THERE);
  }
  template <int Items, typename Op, typename Prefix>
  void ExclusiveScan(T (&in)[Items], T (&out)[Items], Op op, Prefix& callback, SIMT_HERE) {
    exclusive_with(in, out, op, callback, SIMT_THERE);
  }

  void InclusiveSum(T in, T& out, SIMT_HERE) {
    cub::Sum op;
    inclusive(one(in), one(out), op, SIMT_THERE);
  }
  void InclusiveSum(T in, T& out, T& aggregate, SIMT_HERE) {
    cub::Sum op;
    aggregate = inclusive(one(in), one(out), op, SIMT_THERE);
  }
  template <typename Prefix>
  void InclusiveSum(T in, T& out, Prefix& callback, SIMT_HERE) {
    cub::Sum op;
    inclusive_with(one(in), one(out), op, callback, SIMT_THERE);
  }
  template <int Items>
  void InclusiveSum(T (&in)[Items], T (&out)[Items], SIMT_HERE) {
    cub::Sum op;
    inclusive(in, out, op, SIMT_THERE);
  }
  template <int Items>
  void InclusiveSum(T (&in)[Items], T (&out)[Items], T& aggregate, SIMT_HERE) {
    cub::Sum op;
    aggregate = inclusive(in, out, op, SIMT_THERE);
  }
  template <int Items, typename Prefix>
  void InclusiveSum(T (&in)[Items], T (&out)[Items], Prefix& callback, SIMT_HERE) {
    cub::Sum op;
    inclusive_with(in, out, op, callback, SIMT_THERE);
  }

  template <typename Op>
  void InclusiveScan(T in, T& out, Op op, SIMT_HERE) {
    inclusive(one(in), one(out), op, SIMT_THERE);
  }
  template <typename Op>
  void InclusiveScan(T in, T& out, Op op, T& aggregate, SIMT_HERE) {
    aggregate = inclusive(one(in), one(out), op, SIMT_THERE);
  }
  template <typename Op, typename Prefix>
  void InclusiveScan(T in, T& out, Op op, Prefix& callback, SIMT_HERE) {
    inclusive_with(one(in), one(out), op, callback, SIMT_THERE);
  }
  template <int Items, typename Op>
  void InclusiveScan(T (&in)[Items], T (&out)[Items], Op op, SIMT_HERE) {
    inclusive(in, out, op, SIMT_THERE);
  }
  template <int Items, typename Op>
  void InclusiveScan(T (&in)[Items], T (&out)[Items], T initial, Op op, SIMT_HERE) {
    inclusive_from(in, out, initial, op, SIMT_THERE);
  }
  template <int Items, typename Op>
  void InclusiveScan(T (&in)[Items], T (&out)[Items], T initial, Op op, T& aggregate, SIMT_HERE) {
    aggregate = inclusive_from(in, out, initial, op, SIMT_THERE);
  }
  template <int Items, typename Op>
  void InclusiveScan(T (&in)[Items], T (&out)[Items], Op op, T& aggregate, SIMT_HERE) {
    aggregate = inclusive(in, out, op, SIMT_THERE);
  }
  template <int Items, typename Op, typename Prefix>
  void InclusiveScan(T (&in)[Items], T (&out)[Items], Op op, Prefix& callback, SIMT_HERE) {
    inclusive_with(in, out, op, callback, SIMT_THERE);
  }
};

// ----------------------------------------------------------------------------------------------------------- exchange

template <typename T, int X, int ItemsPerThread, bool WarpTimeSlicing = false, int Y = 1, int Z = 1, int = 0>
class BlockExchange {
  using Block = detail::Block<X, Y, Z>;
  static constexpr const char* name = "cub::BlockExchange";
  static constexpr int items = ItemsPerThread;

 public:
  struct TempStorage {
    detail::Room<T, X * Y * Z * ItemsPerThread> values;
  };

 private:
  TempStorage& storage_;
  SIMT_CUB_PRIVATE(TempStorage)

  static int blocked(int thread, int i) { return thread * items + i; }
  static int striped(int thread, int i) { return i * Block::threads + thread; }
  /// The items of one warp; the last warp of a block may have fewer threads.
  static int warp_striped(int thread, int i) {
    const int wave = ::simt::wave_size(), first = thread / wave * wave;
    const int size = Block::threads - first < wave ? Block::threads - first : wave;
    return first * items + i * size + thread - first;
  }
  template <typename Out, typename To, typename From>
  void pass(const T (&input)[ItemsPerThread], Out (&output)[ItemsPerThread], To to, From from, ::simt::Place place) {
    Block::check(name, place);
    for (int i = 0; i < items; ++i) {
      const int slot = to(Block::rank(), i);
      if (slot < 0 || slot >= Block::threads * items) {
        ::simt::fault("out-of-bounds", place, "%s scatters to rank %d of %d", name, slot, Block::threads * items);
      }
      new (static_cast<void*>(&storage_.values[slot])) T(input[i]);
    }
    Block::barrier(name, place);
    for (int i = 0; i < items; ++i) output[i] = storage_.values[from(Block::rank(), i)];
  }

 public:
  BlockExchange() : storage_(simt_private()) {}
  explicit BlockExchange(TempStorage& storage) : storage_(storage) {}

#define SIMT_CUB_EXCHANGE(method, to, from)                                                              \
  template <typename Out>                                                                                \
  void method(const T(&input)[ItemsPerThread], Out(&output)[ItemsPerThread], SIMT_HERE) {                \
    pass(input, output, to, from, SIMT_THERE);                                                           \
  }                                                                                                      \
  void method(T(&in_place)[ItemsPerThread], SIMT_HERE) { pass(in_place, in_place, to, from, SIMT_THERE); }
  SIMT_CUB_EXCHANGE(StripedToBlocked, striped, blocked)
  SIMT_CUB_EXCHANGE(BlockedToStriped, blocked, striped)
  SIMT_CUB_EXCHANGE(WarpStripedToBlocked, warp_striped, blocked)
  SIMT_CUB_EXCHANGE(BlockedToWarpStriped, blocked, warp_striped)
#undef SIMT_CUB_EXCHANGE

  template <typename Out, typename Offset>
  void ScatterToBlocked(const T (&input)[ItemsPerThread], Out (&output)[ItemsPerThread],
                        Offset (&ranks)[ItemsPerThread], SIMT_HERE) {
    pass(input, output, [&](int, int i) { return static_cast<int>(ranks[i]); }, blocked, SIMT_THERE);
  }
  template <typename Offset>
  void ScatterToBlocked(T (&in_place)[ItemsPerThread], Offset (&ranks)[ItemsPerThread], SIMT_HERE) {
    ScatterToBlocked(in_place, in_place, ranks, simt_file, simt_line);
  }
  template <typename Out, typename Offset>
  void ScatterToStriped(const T (&input)[ItemsPerThread], Out (&output)[ItemsPerThread],
                        Offset (&ranks)[ItemsPerThread], SIMT_HERE) {
    pass(input, output, [&](int, int i) { return static_cast<int>(ranks[i]); }, striped, SIMT_THERE);
  }
  template <typename Offset>
  void ScatterToStriped(T (&in_place)[ItemsPerThread], Offset (&ranks)[ItemsPerThread], SIMT_HERE) {
    ScatterToStriped(in_place, in_place, ranks, simt_file, simt_line);
  }
  /// An item with a negative rank is not stored.
  template <typename Out, typename Offset>
  void ScatterToStripedGuarded(const T (&input)[ItemsPerThread], Out (&output)[ItemsPerThread],
                               Offset (&ranks)[ItemsPerThread], SIMT_HERE) {
    bool valid[ItemsPerThread];
    for (int i = 0; i < items; ++i) valid[i] = ranks[i] >= 0;
    ScatterToStripedFlagged(input, output, ranks, valid, simt_file, simt_line);
  }
  template <typename Offset>
  void ScatterToStripedGuarded(T (&in_place)[ItemsPerThread], Offset (&ranks)[ItemsPerThread], SIMT_HERE) {
    ScatterToStripedGuarded(in_place, in_place, ranks, simt_file, simt_line);
  }
  template <typename Out, typename Offset, typename Valid>
  void ScatterToStripedFlagged(const T (&input)[ItemsPerThread], Out (&output)[ItemsPerThread],
                               Offset (&ranks)[ItemsPerThread], Valid (&valid)[ItemsPerThread], SIMT_HERE) {
    Block::check(name, SIMT_THERE);
    for (int i = 0; i < items; ++i) {
      if (valid[i]) new (static_cast<void*>(&storage_.values[static_cast<int>(ranks[i])])) T(input[i]);
    }
    Block::barrier(name, SIMT_THERE);
    for (int i = 0; i < items; ++i) output[i] = storage_.values[striped(Block::rank(), i)];
  }
  template <typename Offset, typename Valid>
  void ScatterToStripedFlagged(T (&in_place)[ItemsPerThread], Offset (&ranks)[ItemsPerThread],
                               Valid (&valid)[ItemsPerThread], SIMT_HERE) {
    ScatterToStripedFlagged(in_place, in_place, ranks, valid, simt_file, simt_line);
  }
};

// ----------------------------------------------------------------------------------------------------- load and store

enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

/// The transposing algorithm uses the temporary storage with a barrier, like CUB's; those of a warp load directly.
template <typename T, int X, int ItemsPerThread, BlockLoadAlgorithm Algorithm = BLOCK_LOAD_DIRECT, int Y = 1,
          int Z = 1, int = 0>
class BlockLoad {
  using Block = detail::Block<X, Y, Z>;
  using Exchange = BlockExchange<T, X, ItemsPerThread, false, Y, Z>;
  static constexpr bool transposes = Algorithm == BLOCK_LOAD_TRANSPOSE;
  static constexpr bool striped = Algorithm == BLOCK_LOAD_STRIPED || transposes;
  struct Nothing {
    unsigned char unused;
  };

 public:
  using TempStorage = std::conditional_t<transposes, typename Exchange::TempStorage, Nothing>;

 private:
  TempStorage& storage_;
  SIMT_CUB_PRIVATE(TempStorage)
  void finish(T (&items)[ItemsPerThread], ::simt::Place place) {
    if constexpr (transposes) Exchange(storage_).StripedToBlocked(items, place.file, place.line);
  }

 public:
  BlockLoad() : storage_(simt_private()) {}
  explicit BlockLoad(TempStorage& storage) : storage_(storage) {}
  template <typename Iterator>
  void Load(Iterator from, T (&items)[ItemsPerThread], SIMT_HERE) {
    Block::check("cub::BlockLoad", SIMT_THERE);
    if constexpr (striped) {
      LoadDirectStriped<Block::threads>(Block::rank(), from, items);
    } else {
      LoadDirectBlocked(Block::rank(), from, items);
    }
    finish(items, SIMT_THERE);
  }
  template <typename Iterator>
  void Load(Iterator from, T (&items)[ItemsPerThread], int valid, SIMT_HERE) {
    Block::check("cub::BlockLoad", SIMT_THERE);
    if constexpr (striped) {
      LoadDirectStriped<Block::threads>(Block::rank(), from, items, valid);
    } else {
      LoadDirectBlocked(Block::rank(), from, items, valid);
    }
    finish(items, SIMT_THERE);
  }
  template <typename Iterator, typename Default>
  void Load(Iterator from, T (&items)[ItemsPerThread], int valid, Default otherwise, SIMT_HERE) {
    for (int i = 0; i < ItemsPerThread; ++i) items[i] = static_cast<T>(otherwise);
    Load(from, items, valid, simt_file, simt_line);
  }
};

template <typename T, int X, int ItemsPerThread, BlockStoreAlgorithm Algorithm = BLOCK_STORE_DIRECT, int Y = 1,
          int Z = 1, int = 0>
class BlockStore {
  using Block = detail::Block<X, Y, Z>;
  using Exchange = BlockExchange<T, X, ItemsPerThread, false, Y, Z>;
  static constexpr bool transposes = Algorithm == BLOCK_STORE_TRANSPOSE;
  static constexpr bool striped = Algorithm == BLOCK_STORE_STRIPED || transposes;
  struct Nothing {
    unsigned char unused;
  };

 public:
  using TempStorage = std::conditional_t<transposes, typename Exchange::TempStorage, Nothing>;

 private:
  TempStorage& storage_;
  SIMT_CUB_PRIVATE(TempStorage)

 public:
  BlockStore() : storage_(simt_private()) {}
  explicit BlockStore(TempStorage& storage) : storage_(storage) {}
  template <typename Iterator>
  void Store(Iterator to, T (&items)[ItemsPerThread], SIMT_HERE) {
    Store(to, items, Block::threads * ItemsPerThread, simt_file, simt_line);
  }
  template <typename Iterator>
  void Store(Iterator to, T (&items)[ItemsPerThread], int valid, SIMT_HERE) {
    Block::check("cub::BlockStore", SIMT_THERE);
    if constexpr (transposes) Exchange(storage_).BlockedToStriped(items, simt_file, simt_line);
    if constexpr (striped) {
      StoreDirectStriped<Block::threads>(Block::rank(), to, items, valid);
    } else {
      StoreDirectBlocked(Block::rank(), to, items, valid);
    }
  }
};

// --------------------------------------------------------------------------------------------------------------- sorts

namespace detail {

/// A sort of a block: each thread publishes the place of its items, the first one sorts all, stably.
template <int X, int Y, int Z, int Items, typename Key, typename Value>
struct BlockSort {
  using Block = detail::Block<X, Y, Z>;
  struct Shown {
    Key* keys;
    Value* values;
  };
  struct Storage {
    Room<Shown, Block::threads> shown;
  };
  template <typename Less, typename Give>
  static void run(Storage& storage, Key (&keys)[Items], Value* values, Less& less, int valid, Give give,
                  const char* name, ::simt::Place place) {
    Block::check(name, place);
    storage.shown[Block::rank()] = Shown{keys, values};
    Block::barrier(name, place);
    if (Block::rank() == 0) {
      const int total = Block::threads * Items, count = valid < total ? valid : total;
      std::vector<int> order(static_cast<std::size_t>(total));
      for (int i = 0; i < total; ++i) order[static_cast<std::size_t>(i)] = i;
      const auto key = [&](int i) -> Key& { return storage.shown[i / Items].keys[i % Items]; };
      std::stable_sort(order.begin(), order.begin() + count,
                       [&](int a, int b) { return static_cast<bool>(less(key(a), key(b))); });
      std::vector<Key> sorted;
      for (int i : order) sorted.push_back(key(i));
      for (int i = 0; i < total; ++i) {
        const auto to = give(i);
        storage.shown[to.first].keys[to.second] = sorted[static_cast<std::size_t>(i)];
      }
      if (values != nullptr) {
        std::vector<Value> moved;
        for (int i : order) moved.push_back(storage.shown[i / Items].values[i % Items]);
        for (int i = 0; i < total; ++i) {
          const auto to = give(i);
          storage.shown[to.first].values[to.second] = moved[static_cast<std::size_t>(i)];
        }
      }
    }
    Block::barrier(name, place);
  }
  static std::pair<int, int> blocked(int i) { return {i / Items, i % Items}; }
  static std::pair<int, int> striped(int i) { return {i % Block::threads, i / Block::threads}; }
};

}  // namespace detail

/// The template's further parameters only tune the GPU's algorithm; the last three sizes are as in CUB.
template <typename Key, int X, int ItemsPerThread, typename Value = NullType, int RadixBits = 4,
          bool MemoizeOuterScan = true, BlockScanAlgorithm InnerScan = BLOCK_SCAN_WARP_SCANS, int SharedBanks = 0,
          int Y = 1, int Z = 1, int = 0>
class BlockRadixSort {
  using Sorting = detail::BlockSort<X, Y, Z, ItemsPerThread, Key, Value>;

 public:
  using TempStorage = typename Sorting::Storage;

 private:
  TempStorage& storage_;
  SIMT_CUB_PRIVATE(TempStorage)
  template <bool Descending, bool Striped>
  void run(Key (&keys)[ItemsPerThread], Value* values, int begin, int end, ::simt::Place place) {
    detail::ByBits<Descending, Key> less{begin, end};
    Sorting::run(storage_, keys, values, less, 1 << 30, Striped ? &Sorting::striped : &Sorting::blocked,
                 "cub::BlockRadixSort", place);
  }
  static constexpr int bits = static_cast<int>(sizeof(Key) * 8);

 public:
  BlockRadixSort() : storage_(simt_private()) {}
  explicit BlockRadixSort(TempStorage& storage) : storage_(storage) {}

#define SIMT_CUB_SORT(method, descending, striped)                                                                   \
  void method(Key(&keys)[ItemsPerThread], int begin = 0, int end = bits, SIMT_HERE) {                                \
    run<descending, striped>(keys, nullptr, begin, end, SIMT_THERE);                                                 \
  }                                                                                                                  \
  void method(Key(&keys)[ItemsPerThread], Value(&values)[ItemsPerThread], int begin = 0, int end = bits, SIMT_HERE) { \
    run<descending, striped>(keys, values, begin, end, SIMT_THERE);                                                  \
  }
  SIMT_CUB_SORT(Sort, false, false)
  SIMT_CUB_SORT(SortDescending, true, false)
  SIMT_CUB_SORT(SortBlockedToStriped, false, true)
  SIMT_CUB_SORT(SortDescendingBlockedToStriped, true, true)
#undef SIMT_CUB_SORT
};

template <typename Key, int X, int ItemsPerThread, typename Value = NullType, int Y = 1, int Z = 1>
class BlockMergeSort {
  using Sorting = detail::BlockSort<X, Y, Z, ItemsPerThread, Key, Value>;

 public:
  using TempStorage = typename Sorting::Storage;

 private:
  TempStorage& storage_;
  SIMT_CUB_PRIVATE(TempStorage)
  static constexpr int all = 1 << 30;
  template <typename Compare>
  void run(Key (&keys)[ItemsPerThread], Value* values, Compare& compare, int valid, ::simt::Place place) {
    Sorting::run(storage_, keys, values, compare, valid, &Sorting::blocked, "cub::BlockMergeSort", place);
  }
  static void fill(Key (&keys)[ItemsPerThread], int valid, const Key& otherwise) {
    for (int i = 0; i < ItemsPerThread; ++i) {
      if (Sorting::Block::rank() * ItemsPerThread + i >= valid) keys[i] = otherwise;
    }
  }

 public:
  BlockMergeSort() : storage_(simt_private()) {}
  explicit BlockMergeSort(TempStorage& storage) : storage_(storage) {}
  template <typename Compare>
  void Sort(Key (&keys)[ItemsPerThread], Compare compare, SIMT_HERE) {
    run(keys, nullptr, compare, all, SIMT_THERE);
  }
  template <typename Compare>
  void Sort(Key (&keys)[ItemsPerThread], Compare compare, int valid, Key otherwise, SIMT_HERE) {
    fill(keys, valid, otherwise);
    run(keys, nullptr, compare, valid, SIMT_THERE);
  }
  template <typename Compare>
  void Sort(Key (&keys)[ItemsPerThread], Value (&values)[ItemsPerThread], Compare compare, SIMT_HERE) {
    run(keys, values, compare, all, SIMT_THERE);
  }
  template <typename Compare>
  void Sort(Key (&keys)[ItemsPerThread], Value (&values)[ItemsPerThread], Compare compare, int valid, Key otherwise,
            SIMT_HERE) {
    fill(keys, valid, otherwise);
    run(keys, values, compare, valid, SIMT_THERE);
  }
  template <typename... Arguments>
  void StableSort(Arguments&&... arguments) {
    Sort(std::forward<Arguments>(arguments)...);
  }
};

// ----------------------------------------------------------------------------------------------------------- histogram

enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };

template <typename T, int X, int ItemsPerThread, int Bins, BlockHistogramAlgorithm = BLOCK_HISTO_SORT, int Y = 1,
          int Z = 1, int = 0>
class BlockHistogram {
  using Block = detail::Block<X, Y, Z>;
  static constexpr const char* name = "cub::BlockHistogram";

 public:
  struct TempStorage {
    unsigned char unused;
  };
  BlockHistogram() = default;
  explicit BlockHistogram(TempStorage&) {}
  template <typename Counter>
  void InitHistogram(Counter (&histogram)[Bins]) {
    for (int i = Block::rank(); i < Bins; i += Block::threads) histogram[i] = Counter(0);
  }
  template <typename Counter>
  void Composite(T (&items)[ItemsPerThread], Counter (&histogram)[Bins], SIMT_HERE) {
    Block::check(name, SIMT_THERE);
    for (int i = 0; i < ItemsPerThread; ++i) {
      const long long bin = static_cast<long long>(items[i]);
      if (bin < 0 || bin >= Bins) {
        ::simt::fault("out-of-bounds", SIMT_THERE, "%s counts in bin %lld of %d", name, bin, Bins);
      }
      if constexpr (std::is_integral_v<Counter>) {
        __atomic_fetch_add(&histogram[bin], Counter(1), __ATOMIC_RELAXED);
      } else {
        histogram[bin] = static_cast<Counter>(histogram[bin] + Counter(1));
      }
    }
    Block::barrier(name, SIMT_THERE);
  }
  template <typename Counter>
  void Histogram(T (&items)[ItemsPerThread], Counter (&histogram)[Bins], SIMT_HERE) {
    InitHistogram(histogram);
    Block::barrier(name, SIMT_THERE);
    Composite(items, histogram, simt_file, simt_line);
  }
};

// -------------------------------------------------------------------------------------- neighbors: flags, differences

namespace detail {

/// The neighbors of a thread's items.
template <typename T, int X, int Y, int Z>
struct Edges {
  using Block = detail::Block<X, Y, Z>;
  struct Storage {
    Room<T, Block::threads> first, last;
  };
  T before, after;  // the last item of the previous thread, the first of the next
  template <int Items>
  static Edges of(Storage& storage, const T (&items)[Items], const char* name, ::simt::Place place) {
    Block::check(name, place);
    const int rank = Block::rank();
    new (static_cast<void*>(&storage.first[rank])) T(items[0]);
    new (static_cast<void*>(&storage.last[rank])) T(items[Items - 1]);
    Block::barrier(name, place);
    return {storage.last[rank > 0 ? rank - 1 : 0], storage.first[rank + 1 < Block::threads ? rank + 1 : rank]};
  }
};

template <typename Op, typename T>
bool flag_of(Op& op, T& a, T& b, int index) {
  if constexpr (std::is_invocable_v<Op&, T&, T&, int>) {
    return static_cast<bool>(op(a, b, index));
  } else {
    return static_cast<bool>(op(a, b));
  }
}

}  // namespace detail

template <typename T, int X, int Y = 1, int Z = 1, int = 0>
class BlockDiscontinuity {
  using Edges = detail::Edges<T, X, Y, Z>;
  static constexpr const char* name = "cub::BlockDiscontinuity";

 public:
  using TempStorage = typename Edges::Storage;

 private:
  TempStorage& storage_;
  SIMT_CUB_PRIVATE(TempStorage)
  static constexpr int threads = X * Y * Z;
  static int rank() { return static_cast<int>(::simt::thread_rank()); }

  template <int Items, typename Flag, typename Op>
  static void heads(Edges edges, Flag (&flags)[Items], T (&in)[Items], Op& op, T* predecessor) {
    for (int i = Items; i-- > 0;) {
      const int index = rank() * Items + i;
      if (index == 0 && predecessor == nullptr) {
        flags[i] = Flag(1);
      } else {
        T& before = index == 0 ? *predecessor : i == 0 ? edges.before : in[i - 1];
        flags[i] = static_cast<Flag>(detail::flag_of(op, before, in[i], index));
      }
    }
  }
  template <int Items, typename Flag, typename Op>
  static void tails(Edges edges, Flag (&flags)[Items], T (&in)[Items], Op& op, T* successor) {
    for (int i = 0; i < Items; ++i) {
      const int index = rank() * Items + i;
      const bool last = index == threads * Items - 1;
      if (last && successor == nullptr) {
        flags[i] = Flag(1);
      } else {
        T& after = last ? *successor : i == Items - 1 ? edges.after : in[i + 1];
        flags[i] = static_cast<Flag>(detail::flag_of(op, in[i], after, index + 1));
      }
    }
  }

 public:
  BlockDiscontinuity() : storage_(simt_private()) {}
  explicit BlockDiscontinuity(TempStorage& storage) : storage_(storage) {}

  template <int Items, typename Flag, typename Op>
  void FlagHeads(Flag (&flags)[Items], T (&in)[Items], Op op, SIMT_HERE) {
    heads(Edges::of(storage_, in, name, SIMT_THERE), flags, in, op, nullptr);
  }
  template <int Items, typename Flag, typename Op>
  void FlagHeads(Flag (&flags)[Items], T (&in)[Items], Op op, T predecessor, SIMT_HERE) {
    heads(Edges::of(storage_, in, name, SIMT_THERE), flags, in, op, &predecessor);
  }
  template <int Items, typename Flag, typename Op>
  void FlagTails(Flag (&flags)[Items], T (&in)[Items], Op op, SIMT_HERE) {
    tails(Edges::of(storage_, in, name, SIMT_THERE), flags, in, op, nullptr);
  }
  template <int Items, typename Flag, typename Op>
  void FlagTails(Flag (&flags)[Items], T (&in)[Items], Op op, T successor, SIMT_HERE) {
    tails(Edges::of(storage_, in, name, SIMT_THERE), flags, in, op, &successor);
  }
  template <int Items, typename Flag, typename Op>
  void FlagHeadsAndTails(Flag (&head)[Items], Flag (&tail)[Items], T (&in)[Items], Op op, SIMT_HERE) {
    const Edges edges = Edges::of(storage_, in, name, SIMT_THERE);
    heads(edges, head, in, op, nullptr);
    tails(edges, tail, in, op, nullptr);
  }
  template <int Items, typename Flag, typename Op>
  void FlagHeadsAndTails(Flag (&head)[Items], Flag (&tail)[Items], T successor, T (&in)[Items], Op op, SIMT_HERE) {
    const Edges edges = Edges::of(storage_, in, name, SIMT_THERE);
    heads(edges, head, in, op, nullptr);
    tails(edges, tail, in, op, &successor);
  }
  template <int Items, typename Flag, typename Op>
  void FlagHeadsAndTails(Flag (&head)[Items], T predecessor, Flag (&tail)[Items], T (&in)[Items], Op op, SIMT_HERE) {
    const Edges edges = Edges::of(storage_, in, name, SIMT_THERE);
    heads(edges, head, in, op, &predecessor);
    tails(edges, tail, in, op, nullptr);
  }
  template <int Items, typename Flag, typename Op>
  void FlagHeadsAndTails(Flag (&head)[Items], T predecessor, Flag (&tail)[Items], T successor, T (&in)[Items], Op op,
                         SIMT_HERE) {
    const Edges edges = Edges::of(storage_, in, name, SIMT_THERE);
    heads(edges, head, in, op, &predecessor);
    tails(edges, tail, in, op, &successor);
  }
};

template <typename T, int X, int Y = 1, int Z = 1, int = 0>
class BlockAdjacentDifference {
  using Edges = detail::Edges<T, X, Y, Z>;
  static constexpr const char* name = "cub::BlockAdjacentDifference";

 public:
  using TempStorage = typename Edges::Storage;

 private:
  TempStorage& storage_;
  SIMT_CUB_PRIVATE(TempStorage)

  /// Items from `valid` on are copied; `outer` stands for the neighbor outside the block.
  template <bool Left, int Items, typename Out, typename Op>
  void run(T (&given)[Items], Out (&out)[Items], Op& op, int valid, T* outer, ::simt::Place place) {
    T in[Items];
    for (int i = 0; i < Items; ++i) in[i] = given[i];
    Edges edges = Edges::of(storage_, in, name, place);
    const int total = X * Y * Z * Items;
    for (int i = 0; i < Items; ++i) {
      const int index = static_cast<int>(::simt::thread_rank()) * Items + i;
      const bool edge = Left ? index == 0 : index + 1 == (valid < total ? valid : total);
      if (index >= valid || (edge && outer == nullptr)) {
        out[i] = static_cast<Out>(in[i]);
      } else if constexpr (Left) {
        out[i] = static_cast<Out>(op(in[i], edge ? *outer : i == 0 ? edges.before : in[i - 1]));
      } else {
        out[i] = static_cast<Out>(op(in[i], edge ? *outer : i == Items - 1 ? edges.after : in[i + 1]));
      }
    }
  }
  static constexpr int all = 1 << 30;

 public:
  BlockAdjacentDifference() : storage_(simt_private()) {}
  explicit BlockAdjacentDifference(TempStorage& storage) : storage_(storage) {}

  template <int Items, typename Out, typename Op>
  void SubtractLeft(T (&in)[Items], Out (&out)[Items], Op op, SIMT_HERE) {
    run<true>(in, out, op, all, nullptr, SIMT_THERE);
  }
  template <int Items, typename Out, typename Op>
  void SubtractLeft(T (&in)[Items], Out (&out)[Items], Op op, T predecessor, SIMT_HERE) {
    run<true>(in, out, op, all, &predecessor, SIMT_THERE);
  }
  template <int Items, typename Out, typename Op>
  void SubtractLeftPartialTile(T (&in)[Items], Out (&out)[Items], Op op, int valid, SIMT_HERE) {
    run<true>(in, out, op, valid, nullptr, SIMT_THERE);
  }
  template <int Items, typename Out, typename Op>
  void SubtractLeftPartialTile(T (&in)[Items], Out (&out)[Items], Op op, int valid, T predecessor, SIMT_HERE) {
    run<true>(in, out, op, valid, &predecessor, SIMT_THERE);
  }
  template <int Items, typename Out, typename Op>
  void SubtractRight(T (&in)[Items], Out (&out)[Items], Op op, SIMT_HERE) {
    run<false>(in, out, op, all, nullptr, SIMT_THERE);
  }
  template <int Items, typename Out, typename Op>
  void SubtractRight(T (&in)[Items], Out (&out)[Items], Op op, T successor, SIMT_HERE) {
    run<false>(in, out, op, all, &successor, SIMT_THERE);
  }
  template <int Items, typename Out, typename Op>
  void SubtractRightPartialTile(T (&in)[Items], Out (&out)[Items], Op op, int valid, SIMT_HERE) {
    run<false>(in, out, op, valid, nullptr, SIMT_THERE);
  }
};

// ------------------------------------------------------------------------------------------------------------- shuffle

template <typename T, int X, int Y = 1, int Z = 1, int = 0>
class BlockShuffle {
  using Block = detail::Block<X, Y, Z>;
  static constexpr const char* name = "cub::BlockShuffle";

 public:
  struct TempStorage {
    detail::Room<T, X * Y * Z> values;
  };

 private:
  TempStorage& storage_;
  SIMT_CUB_PRIVATE(TempStorage)
  void give(const T& value, ::simt::Place place) {
    Block::check(name, place);
    new (static_cast<void*>(&storage_.values[Block::rank()])) T(value);
    Block::barrier(name, place);
  }

 public:
  BlockShuffle() : storage_(simt_private()) {}
  explicit BlockShuffle(TempStorage& storage) : storage_(storage) {}
  /// The value of the thread `distance` further; a thread without one keeps the value in `out`.
  void Offset(T in, T& out, int distance = 1, SIMT_HERE) {
    give(in, SIMT_THERE);
    const int source = Block::rank() + distance;
    if (source >= 0 && source < Block::threads) out = storage_.values[source];
  }
  void Rotate(T in, T& out, unsigned distance = 1, SIMT_HERE) {
    give(in, SIMT_THERE);
    out = storage_.values[static_cast<int>((static_cast<unsigned>(Block::rank()) + distance) %
                                           static_cast<unsigned>(Block::threads))];
  }
  /// Every item becomes the previous one; the first of the block stays.
  template <int Items>
  void Up(T (&in)[Items], T (&out)[Items], SIMT_HERE) {
    give(in[Items - 1], SIMT_THERE);
    for (int i = Items; i-- > 1;) out[i] = in[i - 1];
    if (Block::rank() > 0) out[0] = storage_.values[Block::rank() - 1];
  }
  template <int Items>
  void Up(T (&in)[Items], T (&out)[Items], T& suffix, SIMT_HERE) {
    Up(in, out, simt_file, simt_line);
    suffix = storage_.values[Block::threads - 1];
  }
  template <int Items>
  void Down(T (&in)[Items], T (&out)[Items], SIMT_HERE) {
    give(in[0], SIMT_THERE);
    for (int i = 0; i + 1 < Items; ++i) out[i] = in[i + 1];
    if (Block::rank() + 1 < Block::threads) out[Items - 1] = storage_.values[Block::rank() + 1];
  }
  template <int Items>
  void Down(T (&in)[Items], T (&out)[Items], T& prefix, SIMT_HERE) {
    Down(in, out, simt_file, simt_line);
    prefix = storage_.values[0];
  }
};

// -------------------------------------------------------------------------------------------------- run-length decode

template <typename Item, int X, int RunsPerThread, int DecodedPerThread, typename DecodedOffset = unsigned, int Y = 1,
          int Z = 1>
class BlockRunLengthDecode {
  using Block = detail::Block<X, Y, Z>;
  static constexpr const char* name = "cub::BlockRunLengthDecode";
  static constexpr int runs = X * Y * Z * RunsPerThread;

 public:
  struct TempStorage {
    detail::Room<Item, runs> items;
    detail::Room<DecodedOffset, runs + 1> starts;
  };

 private:
  TempStorage& storage_;
  void begin(Item (&items)[RunsPerThread], ::simt::Place place) {
    Block::check(name, place);
    for (int i = 0; i < RunsPerThread; ++i) {
      new (static_cast<void*>(&storage_.items[Block::rank() * RunsPerThread + i])) Item(items[i]);
    }
  }

 public:
  template <typename Length, typename Total>
  BlockRunLengthDecode(TempStorage& storage, Item (&items)[RunsPerThread], Length (&lengths)[RunsPerThread],
                       Total& total, SIMT_HERE)
      : storage_(storage) {
    begin(items, SIMT_THERE);
    for (int i = 0; i < RunsPerThread; ++i) {
      storage_.starts[Block::rank() * RunsPerThread + i + 1] = static_cast<DecodedOffset>(lengths[i]);
    }
    Block::barrier(name, SIMT_THERE);
    if (Block::rank() == 0) {
      storage_.starts[0] = 0;
      for (int i = 0; i < runs; ++i) storage_.starts[i + 1] += storage_.starts[i];
    }
    Block::barrier(name, SIMT_THERE);
    total = static_cast<Total>(storage_.starts[runs]);
  }
  template <typename Offset>
  BlockRunLengthDecode(TempStorage& storage, Item (&items)[RunsPerThread], Offset (&offsets)[RunsPerThread],
                       SIMT_HERE)
      : storage_(storage) {
    begin(items, SIMT_THERE);
    for (int i = 0; i < RunsPerThread; ++i) {
      storage_.starts[Block::rank() * RunsPerThread + i] = static_cast<DecodedOffset>(offsets[i]);
    }
    if (Block::rank() == 0) storage_.starts[runs] = static_cast<DecodedOffset>(~DecodedOffset(0));
    Block::barrier(name, SIMT_THERE);
  }
  template <typename Relative>
  void RunLengthDecode(Item (&decoded)[DecodedPerThread], Relative (&offsets)[DecodedPerThread],
                       DecodedOffset from = 0) {
    for (int i = 0; i < DecodedPerThread; ++i) {
      const DecodedOffset at = static_cast<DecodedOffset>(from + static_cast<DecodedOffset>(
                                                                     Block::rank() * DecodedPerThread + i));
      int low = 0, high = runs - 1;  // the last run that starts at or before `at`
      while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (storage_.starts[middle] <= at) {
          low = middle;
        } else {
          high = middle - 1;
        }
      }
      decoded[i] = storage_.items[low];
      offsets[i] = static_cast<Relative>(at - storage_.starts[low]);
    }
  }
  void RunLengthDecode(Item (&decoded)[DecodedPerThread], DecodedOffset from = 0) {
    DecodedOffset offsets[DecodedPerThread];
    RunLengthDecode(decoded, offsets, from);
  }
};

}  // namespace cub

#endif
