// SPDX-License-Identifier: Apache-2.0
// simt/cub_device.h: CUB's and hipCUB's algorithms of a device, as serial code of the host.
//
// The two calls are as in CUB: without storage the first returns its size, and the second rejects less (as an invalid
// value). Results are those of CUB for associative operators. For sums of floats the order is: a reduction halves its
// input until 32 values are left, a scan goes in tiles of 512 and adds the prefix to each. Sorts are stable. A sort
// between two buffers leaves its result in the other one, and sets the selector.
#ifndef SIMT_CUB_DEVICE_H
#define SIMT_CUB_DEVICE_H

#include <map>
#include <mutex>
#include <vector>

#include "cub_block.h"
#include "cub_util.h"
#include "errors.h"
#include "runtime_types.h"

namespace cub {

/// A value that another kernel will have written.
template <typename T, typename Iterator = T*>
struct FutureValue {
  using value_type = T;
  Iterator from;
  explicit FutureValue(Iterator from) : from(from) {}
  operator T() const { return *from; }
};

namespace detail {

inline hipError_t phase(void* temp, std::size_t& bytes, std::size_t items, const char* name, ::simt::Place place) {
  const std::size_t need = 1024 + items / 32;
  if (temp == nullptr) {
    bytes = need;
    return hipSuccess;
  }
  if (bytes < need) return hipErrorInvalidValue;
  if (::simt::recordings != 0) {
    ::simt::fault("not-recorded", place, "%s while a stream is captured: the executor executes it at once and cannot record it in a graph", name);
  }
  ::simt::check_range(name, temp, need, place);
  return hipSuccess;
}
/// The beginning of every algorithm: returns if the size was asked for.
#define SIMT_CUB_PHASE(items)                                                                               \
  do {                                                                                                      \
    const hipError_t simt_status =                                                                          \
        ::cub::detail::phase(temp, bytes, static_cast<std::size_t>(items), name, ::simt::Place{"", 0});     \
    if (temp == nullptr || simt_status != hipSuccess) return simt_status;                                   \
  } while (false)

/// The value type of an output iterator; `Otherwise` if it accepts any type.
template <typename Iterator, typename Otherwise, typename V = value_of<Iterator>>
using output_of = std::conditional_t<std::is_void_v<V>, Otherwise, V>;
template <typename T>
using bare = std::remove_cv_t<std::remove_reference_t<T>>;
template <typename Op, typename Initial, typename Input>
using accumulator = bare<std::invoke_result_t<Op&, Initial, Input>>;

template <typename T, typename Iterator, typename Op>
T reduce_range(Iterator in, std::size_t first, std::size_t count, Op& op) {
  if (count <= 32) {
    T sum = static_cast<T>(in[static_cast<std::ptrdiff_t>(first)]);
    for (std::size_t i = 1; i < count; ++i) {
      sum = static_cast<T>(op(sum, static_cast<T>(in[static_cast<std::ptrdiff_t>(first + i)])));
    }
    return sum;
  }
  std::size_t half = 32;
  while (half * 2 < count) half *= 2;
  const T low = reduce_range<T>(in, first, half, op);
  return static_cast<T>(op(low, reduce_range<T>(in, first + half, count - half, op)));
}

constexpr std::size_t scan_tile = 512;

/// `same(i)` says whether item i continues the segment of the previous one.
template <bool Inclusive, typename T, typename In, typename Out, typename Op, typename Initial, typename Same>
void scan_range(In in, Out out, std::size_t count, Op& op, const Initial& initial, Same same) {
  constexpr bool from_initial = !std::is_same_v<Initial, NullType>;
  T prefix{}, tile{};
  bool has_prefix = false, has_tile = false;
  const auto now = [&]() -> T {
    if (!has_prefix) return tile;
    return has_tile ? static_cast<T>(op(prefix, tile)) : prefix;
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (i == 0 || !same(i)) {
      has_tile = false;
      has_prefix = from_initial;
      if constexpr (from_initial) prefix = static_cast<T>(initial);
    } else if (i % scan_tile == 0) {
      prefix = now();
      has_prefix = true;
      has_tile = false;
    }
    const T value = static_cast<T>(in[static_cast<std::ptrdiff_t>(i)]);
    if constexpr (!Inclusive) out[static_cast<std::ptrdiff_t>(i)] = now();
    if (has_tile) {
      tile = static_cast<T>(op(tile, value));
    } else {
      tile = value;
    }
    has_tile = true;
    if constexpr (Inclusive) out[static_cast<std::ptrdiff_t>(i)] = now();
  }
}
struct Always {
  bool operator()(std::size_t) const { return true; }
};

/// The sources of the items of [first, end) when sorted by bits.
template <bool Descending, typename Key>
std::vector<std::size_t> radix_order(const Key* keys, std::size_t first, std::size_t end, int begin_bit, int end_bit) {
  using Bits = typename NumericTraits<Key>::UnsignedBits;
  const std::size_t count = end > first ? end - first : 0;
  std::vector<std::size_t> order(count), next(count);
  std::vector<Bits> bits(count);
  for (std::size_t i = 0; i < count; ++i) {
    order[i] = first + i;
    bits[i] = sortable(keys[first + i]);
    if (Descending) bits[i] = static_cast<Bits>(~bits[i]);
  }
  for (int bit = begin_bit; bit < end_bit; bit += 8) {
    const unsigned mask = end_bit - bit >= 8 ? 255u : (1u << (end_bit - bit)) - 1u;
    std::size_t starts[257] = {};
    const auto digit = [&](std::size_t i) { return static_cast<unsigned>(bits[i - first] >> bit) & mask; };
    for (std::size_t i : order) ++starts[digit(i) + 1];
    for (int d = 0; d < 256; ++d) starts[d + 1] += starts[d];
    for (std::size_t i : order) next[starts[digit(i)]++] = i;
    order.swap(next);
  }
  return order;
}
template <typename T>
void permute(const T* in, T* out, std::size_t first, const std::vector<std::size_t>& order) {
  std::vector<T> moved;
  moved.reserve(order.size());
  for (std::size_t i : order) moved.push_back(in[i]);
  for (std::size_t i = 0; i < order.size(); ++i) out[first + i] = moved[i];
}
template <bool Descending, typename Key, typename Value>
void radix_sort(const Key* keys_in, Key* keys_out, const Value* values_in, Value* values_out, std::size_t first,
                std::size_t end, int begin_bit, int end_bit) {
  const auto order = radix_order<Descending>(keys_in, first, end, begin_bit, end_bit);
  if constexpr (!std::is_same_v<Value, NullType>) permute(values_in, values_out, first, order);
  permute(keys_in, keys_out, first, order);
}

}  // namespace detail

// ------------------------------------------------------------------------------------------------------------- reduce

struct DeviceReduce {
  static constexpr const char* name = "cub::DeviceReduce";

  template <typename In, typename Out, typename Op, typename T, typename N>
  static hipError_t Reduce(void* temp, std::size_t& bytes, In in, Out out, N n, Op op, T initial, hipStream_t = {},
                           bool = false) {
    SIMT_CUB_PHASE(n);
    put<detail::accumulator<Op, T, detail::value_of<In>>>(in, out, static_cast<std::size_t>(n), op, initial);
    return hipSuccess;
  }
  template <typename In, typename Out, typename N>
  static hipError_t Sum(void* temp, std::size_t& bytes, In in, Out out, N n, hipStream_t stream = {}, bool = false) {
    using T = detail::output_of<Out, detail::value_of<In>>;
    return Reduce(temp, bytes, in, out, n, cub::Sum(), T(0), stream);
  }
  template <typename In, typename Out, typename N>
  static hipError_t Min(void* temp, std::size_t& bytes, In in, Out out, N n, hipStream_t stream = {}, bool = false) {
    using T = detail::value_of<In>;
    return Reduce(temp, bytes, in, out, n, cub::Min(), NumericTraits<T>::Max(), stream);
  }
  template <typename In, typename Out, typename N>
  static hipError_t Max(void* temp, std::size_t& bytes, In in, Out out, N n, hipStream_t stream = {}, bool = false) {
    using T = detail::value_of<In>;
    return Reduce(temp, bytes, in, out, n, cub::Max(), NumericTraits<T>::Lowest(), stream);
  }
  template <typename In, typename Out, typename N>
  static hipError_t ArgMin(void* temp, std::size_t& bytes, In in, Out out, N n, hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(n);
    put_arg(in, out, n, [](const auto& a, const auto& b) { return a < b; },
            NumericTraits<detail::value_of<In>>::Max());
    return hipSuccess;
  }
  template <typename In, typename Out, typename N>
  static hipError_t ArgMax(void* temp, std::size_t& bytes, In in, Out out, N n, hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(n);
    put_arg(in, out, n, [](const auto& a, const auto& b) { return b < a; },
            NumericTraits<detail::value_of<In>>::Lowest());
    return hipSuccess;
  }
  template <typename In, typename Out, typename Op, typename Transform, typename T, typename N>
  static hipError_t TransformReduce(void* temp, std::size_t& bytes, In in, Out out, N n, Op op, Transform transform,
                                    T initial, hipStream_t stream = {}) {
    using U = detail::bare<std::invoke_result_t<Transform&, detail::value_of<In>>>;
    return Reduce(temp, bytes, TransformInputIterator<U, Transform, In>(in, transform), out, n, op, initial, stream);
  }
  template <typename KeysIn, typename KeysOut, typename ValuesIn, typename ValuesOut, typename Count, typename Op,
            typename N>
  static hipError_t ReduceByKey(void* temp, std::size_t& bytes, KeysIn keys, KeysOut unique, ValuesIn values,
                                ValuesOut aggregates, Count runs, Op op, N n, hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(n);
    using T = detail::accumulator<Op, detail::value_of<ValuesIn>, detail::value_of<ValuesIn>>;
    N count = 0;
    for (N i = 0; i < n;) {
      const auto key = keys[i];
      T sum = static_cast<T>(values[i]);
      N end = i + 1;
      for (; end < n && keys[end] == key; ++end) sum = static_cast<T>(op(sum, static_cast<T>(values[end])));
      unique[count] = key;
      aggregates[count] = sum;
      ++count;
      i = end;
    }
    *runs = count;
    return hipSuccess;
  }

  template <typename T, typename In, typename Out, typename Op, typename Initial>
  static void put(In in, Out out, std::size_t n, Op& op, const Initial& initial) {
    if (n == 0) {
      *out = initial;
    } else {
      *out = static_cast<T>(op(static_cast<T>(initial), detail::reduce_range<T>(in, 0, n, op)));
    }
  }
  template <typename In, typename Out, typename N, typename Before, typename T>
  static void put_arg(In in, Out out, N n, Before before, const T& empty) {
    using Pair = detail::output_of<Out, KeyValuePair<int, detail::value_of<In>>>;
    Pair best;
    best.key = 1;
    best.value = empty;
    for (N i = 0; i < n; ++i) {
      const auto value = in[i];
      if (i == 0 || before(value, best.value)) {
        best.key = static_cast<decltype(best.key)>(i);
        best.value = value;
      }
    }
    *out = best;
  }
};

struct DeviceSegmentedReduce {
  static constexpr const char* name = "cub::DeviceSegmentedReduce";

  template <typename In, typename Out, typename Begin, typename End, typename Op, typename T>
  static hipError_t Reduce(void* temp, std::size_t& bytes, In in, Out out, int segments, Begin begin, End end, Op op,
                           T initial, hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(segments);
    for (int s = 0; s < segments; ++s) {
      const auto first = begin[s];
      const auto last = end[s];
      DeviceReduce::put<detail::accumulator<Op, T, detail::value_of<In>>>(
          in + first, out + s, last > first ? static_cast<std::size_t>(last - first) : 0, op, initial);
    }
    return hipSuccess;
  }
  template <typename In, typename Out, typename Begin, typename End>
  static hipError_t Sum(void* temp, std::size_t& bytes, In in, Out out, int segments, Begin begin, End end,
                        hipStream_t stream = {}, bool = false) {
    using T = detail::output_of<Out, detail::value_of<In>>;
    return Reduce(temp, bytes, in, out, segments, begin, end, cub::Sum(), T(0), stream);
  }
  template <typename In, typename Out, typename Begin, typename End>
  static hipError_t Min(void* temp, std::size_t& bytes, In in, Out out, int segments, Begin begin, End end,
                        hipStream_t stream = {}, bool = false) {
    using T = detail::value_of<In>;
    return Reduce(temp, bytes, in, out, segments, begin, end, cub::Min(), NumericTraits<T>::Max(), stream);
  }
  template <typename In, typename Out, typename Begin, typename End>
  static hipError_t Max(void* temp, std::size_t& bytes, In in, Out out, int segments, Begin begin, End end,
                        hipStream_t stream = {}, bool = false) {
    using T = detail::value_of<In>;
    return Reduce(temp, bytes, in, out, segments, begin, end, cub::Max(), NumericTraits<T>::Lowest(), stream);
  }
  template <typename In, typename Out, typename Begin, typename End>
  static hipError_t ArgMin(void* temp, std::size_t& bytes, In in, Out out, int segments, Begin begin, End end,
                           hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(segments);
    for (int s = 0; s < segments; ++s) {
      DeviceReduce::put_arg(in + begin[s], out + s, end[s] - begin[s],
                            [](const auto& a, const auto& b) { return a < b; },
                            NumericTraits<detail::value_of<In>>::Max());
    }
    return hipSuccess;
  }
  template <typename In, typename Out, typename Begin, typename End>
  static hipError_t ArgMax(void* temp, std::size_t& bytes, In in, Out out, int segments, Begin begin, End end,
                           hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(segments);
    for (int s = 0; s < segments; ++s) {
      DeviceReduce::put_arg(in + begin[s], out + s, end[s] - begin[s],
                            [](const auto& a, const auto& b) { return b < a; },
                            NumericTraits<detail::value_of<In>>::Lowest());
    }
    return hipSuccess;
  }
};

// --------------------------------------------------------------------------------------------------------------- scan

struct DeviceScan {
  static constexpr const char* name = "cub::DeviceScan";

  template <typename In, typename Out, typename N>
  static hipError_t ExclusiveSum(void* temp, std::size_t& bytes, In in, Out out, N n, hipStream_t stream = {},
                                 bool = false) {
    return ExclusiveScan(temp, bytes, in, out, cub::Sum(), detail::value_of<In>(0), n, stream);
  }
  template <typename In, typename N, typename = std::enable_if_t<std::is_integral_v<N>>>
  static hipError_t ExclusiveSum(void* temp, std::size_t& bytes, In data, N n, hipStream_t stream = {}) {
    return ExclusiveSum(temp, bytes, data, data, n, stream);
  }
  template <typename In, typename Out, typename Op, typename T, typename N>
  static hipError_t ExclusiveScan(void* temp, std::size_t& bytes, In in, Out out, Op op, T initial, N n,
                                  hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(n);
    using Acc = detail::accumulator<Op, T, detail::value_of<In>>;
    detail::scan_range<false, Acc>(in, out, static_cast<std::size_t>(n), op, initial, detail::Always());
    return hipSuccess;
  }
  template <typename In, typename Op, typename T, typename N, typename = std::enable_if_t<std::is_integral_v<N>>>
  static hipError_t ExclusiveScan(void* temp, std::size_t& bytes, In data, Op op, T initial, N n,
                                  hipStream_t stream = {}) {
    return ExclusiveScan(temp, bytes, data, data, op, initial, n, stream);
  }
  template <typename In, typename Out, typename N>
  static hipError_t InclusiveSum(void* temp, std::size_t& bytes, In in, Out out, N n, hipStream_t stream = {},
                                 bool = false) {
    return InclusiveScan(temp, bytes, in, out, cub::Sum(), n, stream);
  }
  template <typename In, typename N, typename = std::enable_if_t<std::is_integral_v<N>>>
  static hipError_t InclusiveSum(void* temp, std::size_t& bytes, In data, N n, hipStream_t stream = {}) {
    return InclusiveSum(temp, bytes, data, data, n, stream);
  }
  template <typename In, typename Out, typename Op, typename N>
  static hipError_t InclusiveScan(void* temp, std::size_t& bytes, In in, Out out, Op op, N n, hipStream_t = {},
                                  bool = false) {
    SIMT_CUB_PHASE(n);
    using Acc = detail::accumulator<Op, detail::value_of<In>, detail::value_of<In>>;
    detail::scan_range<true, Acc>(in, out, static_cast<std::size_t>(n), op, NullType(), detail::Always());
    return hipSuccess;
  }
  template <typename In, typename Op, typename N, typename = std::enable_if_t<std::is_integral_v<N>>>
  static hipError_t InclusiveScan(void* temp, std::size_t& bytes, In data, Op op, N n, hipStream_t stream = {}) {
    return InclusiveScan(temp, bytes, data, data, op, n, stream);
  }
  template <typename In, typename Out, typename Op, typename T, typename N>
  static hipError_t InclusiveScanInit(void* temp, std::size_t& bytes, In in, Out out, Op op, T initial, N n,
                                      hipStream_t = {}) {
    SIMT_CUB_PHASE(n);
    using Acc = detail::accumulator<Op, T, detail::value_of<In>>;
    detail::scan_range<true, Acc>(in, out, static_cast<std::size_t>(n), op, initial, detail::Always());
    return hipSuccess;
  }
  template <typename Keys, typename In, typename Out, typename N, typename Same = Equality>
  static hipError_t ExclusiveSumByKey(void* temp, std::size_t& bytes, Keys keys, In in, Out out, N n,
                                      Same same = Same(), hipStream_t stream = {}) {
    return ExclusiveScanByKey(temp, bytes, keys, in, out, cub::Sum(), detail::value_of<In>(0), n, same, stream);
  }
  template <typename Keys, typename In, typename Out, typename Op, typename T, typename N, typename Same = Equality>
  static hipError_t ExclusiveScanByKey(void* temp, std::size_t& bytes, Keys keys, In in, Out out, Op op, T initial,
                                       N n, Same same = Same(), hipStream_t = {}) {
    SIMT_CUB_PHASE(n);
    using Acc = detail::accumulator<Op, T, detail::value_of<In>>;
    detail::scan_range<false, Acc>(in, out, static_cast<std::size_t>(n), op, initial, [&](std::size_t i) {
      return static_cast<bool>(same(keys[static_cast<std::ptrdiff_t>(i) - 1], keys[static_cast<std::ptrdiff_t>(i)]));
    });
    return hipSuccess;
  }
  template <typename Keys, typename In, typename Out, typename N, typename Same = Equality>
  static hipError_t InclusiveSumByKey(void* temp, std::size_t& bytes, Keys keys, In in, Out out, N n,
                                      Same same = Same(), hipStream_t stream = {}) {
    return InclusiveScanByKey(temp, bytes, keys, in, out, cub::Sum(), n, same, stream);
  }
  template <typename Keys, typename In, typename Out, typename Op, typename N, typename Same = Equality>
  static hipError_t InclusiveScanByKey(void* temp, std::size_t& bytes, Keys keys, In in, Out out, Op op, N n,
                                       Same same = Same(), hipStream_t = {}) {
    SIMT_CUB_PHASE(n);
    using Acc = detail::accumulator<Op, detail::value_of<In>, detail::value_of<In>>;
    detail::scan_range<true, Acc>(in, out, static_cast<std::size_t>(n), op, NullType(), [&](std::size_t i) {
      return static_cast<bool>(same(keys[static_cast<std::ptrdiff_t>(i) - 1], keys[static_cast<std::ptrdiff_t>(i)]));
    });
    return hipSuccess;
  }
};

// --------------------------------------------------------------------------------------------------------------- sorts

namespace detail {

/// By the members of a key that `decompose` returns, the first member first, sorted by their bits.
template <bool Descending, typename Key, typename Value, typename Decompose>
void decomposed_sort(const Key* keys_in, Key* keys_out, const Value* values_in, Value* values_out, std::size_t count,
                     Decompose decompose) {
  std::vector<Key> keys(keys_in, keys_in + count);
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  const auto bits = [&](std::size_t i) {
    return std::apply([](const auto&... each) { return std::make_tuple(sortable(each)...); }, decompose(keys[i]));
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    return Descending ? bits(j) < bits(i) : bits(i) < bits(j);
  });
  permute(keys_in, keys_out, 0, order);
  if constexpr (!std::is_same_v<Value, NullType>) permute(values_in, values_out, 0, order);
}
template <typename T>
using if_decomposer = std::enable_if_t<!std::is_convertible_v<T, int>, int>;

}  // namespace detail

struct DeviceRadixSort {
  static constexpr const char* name = "cub::DeviceRadixSort";

#define SIMT_CUB_SORT(suffix, descending)                                                                              \
  template <typename Key, typename N, typename Decompose, detail::if_decomposer<Decompose> = 0>                        \
  static hipError_t SortKeys##suffix(void* temp, std::size_t& bytes, const Key* in, Key* out, N n,                     \
                                     Decompose decompose, hipStream_t = {}) {                                          \
    SIMT_CUB_PHASE(n);                                                                                                 \
    detail::decomposed_sort<descending>(in, out, static_cast<const NullType*>(nullptr),                                \
                                        static_cast<NullType*>(nullptr), static_cast<std::size_t>(n), decompose);      \
    return hipSuccess;                                                                                                 \
  }                                                                                                                    \
  template <typename Key, typename Value, typename N, typename Decompose, detail::if_decomposer<Decompose> = 0>        \
  static hipError_t SortPairs##suffix(void* temp, std::size_t& bytes, const Key* keys_in, Key* keys_out,               \
                                      const Value* values_in, Value* values_out, N n, Decompose decompose,             \
                                      hipStream_t = {}) {                                                              \
    SIMT_CUB_PHASE(n);                                                                                                 \
    detail::decomposed_sort<descending>(keys_in, keys_out, values_in, values_out, static_cast<std::size_t>(n),         \
                                        decompose);                                                                    \
    return hipSuccess;                                                                                                 \
  }                                                                                                                    \
  template <typename Key, typename N>                                                                                  \
  static hipError_t SortKeys##suffix(void* temp, std::size_t& bytes, const Key* in, Key* out, N n, int begin_bit = 0,  \
                                     int end_bit = sizeof(Key) * 8, hipStream_t = {}, bool = false) {                  \
    SIMT_CUB_PHASE(n);                                                                                                 \
    detail::radix_sort<descending>(in, out, static_cast<const NullType*>(nullptr), static_cast<NullType*>(nullptr), 0, \
                                   static_cast<std::size_t>(n), begin_bit, end_bit);                                   \
    return hipSuccess;                                                                                                 \
  }                                                                                                                    \
  template <typename Key, typename N>                                                                                  \
  static hipError_t SortKeys##suffix(void* temp, std::size_t& bytes, DoubleBuffer<Key>& keys, N n, int begin_bit = 0,  \
                                     int end_bit = sizeof(Key) * 8, hipStream_t = {}, bool = false) {                  \
    SIMT_CUB_PHASE(n);                                                                                                 \
    detail::radix_sort<descending>(keys.Current(), keys.Alternate(), static_cast<const NullType*>(nullptr),            \
                                   static_cast<NullType*>(nullptr), 0, static_cast<std::size_t>(n), begin_bit,         \
                                   end_bit);                                                                           \
    keys.selector ^= 1;                                                                                                \
    return hipSuccess;                                                                                                 \
  }                                                                                                                    \
  template <typename Key, typename Value, typename N>                                                                  \
  static hipError_t SortPairs##suffix(void* temp, std::size_t& bytes, const Key* keys_in, Key* keys_out,               \
                                      const Value* values_in, Value* values_out, N n, int begin_bit = 0,               \
                                      int end_bit = sizeof(Key) * 8, hipStream_t = {}, bool = false) {                 \
    SIMT_CUB_PHASE(n);                                                                                                 \
    detail::radix_sort<descending>(keys_in, keys_out, values_in, values_out, 0, static_cast<std::size_t>(n),           \
                                   begin_bit, end_bit);                                                                \
    return hipSuccess;                                                                                                 \
  }                                                                                                                    \
  template <typename Key, typename Value, typename N>                                                                  \
  static hipError_t SortPairs##suffix(void* temp, std::size_t& bytes, DoubleBuffer<Key>& keys,                         \
                                      DoubleBuffer<Value>& values, N n, int begin_bit = 0,                             \
                                      int end_bit = sizeof(Key) * 8, hipStream_t = {}, bool = false) {                 \
    SIMT_CUB_PHASE(n);                                                                                                 \
    detail::radix_sort<descending>(keys.Current(), keys.Alternate(), values.Current(), values.Alternate(), 0,          \
                                   static_cast<std::size_t>(n), begin_bit, end_bit);                                   \
    keys.selector ^= 1;                                                                                                \
    values.selector ^= 1;                                                                                              \
    return hipSuccess;                                                                                                 \
  }
  SIMT_CUB_SORT(, false)
  SIMT_CUB_SORT(Descending, true)
#undef SIMT_CUB_SORT
};

namespace detail {
template <bool Descending, typename Key, typename Value, typename Begin, typename End>
void segmented_sort(const Key* keys_in, Key* keys_out, const Value* values_in, Value* values_out, int segments,
                    Begin begin, End end, int begin_bit, int end_bit) {
  for (int s = 0; s < segments; ++s) {
    if (end[s] <= begin[s]) continue;
    radix_sort<Descending>(keys_in, keys_out, values_in, values_out, static_cast<std::size_t>(begin[s]),
                           static_cast<std::size_t>(end[s]), begin_bit, end_bit);
  }
}
template <typename T>
void copy_all(const T* in, T* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = in[i];
}
}  // namespace detail

#define SIMT_CUB_SEGMENTED(method, suffix, descending, BITS, FIRST, LAST)                                             \
  template <typename Key, typename N, typename Begin, typename End>                                                   \
  static hipError_t method##Keys##suffix(void* temp, std::size_t& bytes, const Key* in, Key* out, N n, int segments,  \
                                         Begin begin, End end BITS(Key), hipStream_t = {}, bool = false) {            \
    SIMT_CUB_PHASE(n);                                                                                                \
    detail::segmented_sort<descending>(in, out, static_cast<const NullType*>(nullptr),                                \
                                       static_cast<NullType*>(nullptr), segments, begin, end, FIRST, LAST(Key));      \
    return hipSuccess;                                                                                                \
  }                                                                                                                   \
  template <typename Key, typename N, typename Begin, typename End>                                                   \
  static hipError_t method##Keys##suffix(void* temp, std::size_t& bytes, DoubleBuffer<Key>& keys, N n, int segments,  \
                                         Begin begin, End end BITS(Key), hipStream_t = {}, bool = false) {            \
    SIMT_CUB_PHASE(n);                                                                                                \
    detail::segmented_sort<descending>(keys.Current(), keys.Alternate(), static_cast<const NullType*>(nullptr),       \
                                       static_cast<NullType*>(nullptr), segments, begin, end, FIRST, LAST(Key));      \
    keys.selector ^= 1;                                                                                               \
    return hipSuccess;                                                                                                \
  }                                                                                                                   \
  template <typename Key, typename Value, typename N, typename Begin, typename End>                                   \
  static hipError_t method##Pairs##suffix(void* temp, std::size_t& bytes, const Key* keys_in, Key* keys_out,          \
                                          const Value* values_in, Value* values_out, N n, int segments, Begin begin,  \
                                          End end BITS(Key), hipStream_t = {}, bool = false) {                        \
    SIMT_CUB_PHASE(n);                                                                                                \
    detail::segmented_sort<descending>(keys_in, keys_out, values_in, values_out, segments, begin, end, FIRST,         \
                                       LAST(Key));                                                                    \
    return hipSuccess;                                                                                                \
  }                                                                                                                   \
  template <typename Key, typename Value, typename N, typename Begin, typename End>                                   \
  static hipError_t method##Pairs##suffix(void* temp, std::size_t& bytes, DoubleBuffer<Key>& keys,                    \
                                          DoubleBuffer<Value>& values, N n, int segments, Begin begin,                \
                                          End end BITS(Key), hipStream_t = {}, bool = false) {                        \
    SIMT_CUB_PHASE(n);                                                                                                \
    detail::segmented_sort<descending>(keys.Current(), keys.Alternate(), values.Current(), values.Alternate(),        \
                                       segments, begin, end, FIRST, LAST(Key));                                       \
    keys.selector ^= 1;                                                                                               \
    values.selector ^= 1;                                                                                             \
    return hipSuccess;                                                                                                \
  }
#define SIMT_CUB_BITS(Key) , int begin_bit = 0, int end_bit = sizeof(Key) * 8
#define SIMT_CUB_NO_BITS(Key)
#define SIMT_CUB_END_BIT(Key) end_bit
#define SIMT_CUB_ALL_BITS(Key) static_cast<int>(sizeof(Key) * 8)

struct DeviceSegmentedRadixSort {
  static constexpr const char* name = "cub::DeviceSegmentedRadixSort";
  SIMT_CUB_SEGMENTED(Sort, , false, SIMT_CUB_BITS, begin_bit, SIMT_CUB_END_BIT)
  SIMT_CUB_SEGMENTED(Sort, Descending, true, SIMT_CUB_BITS, begin_bit, SIMT_CUB_END_BIT)
};
struct DeviceSegmentedSort {
  static constexpr const char* name = "cub::DeviceSegmentedSort";
  SIMT_CUB_SEGMENTED(Sort, , false, SIMT_CUB_NO_BITS, 0, SIMT_CUB_ALL_BITS)
  SIMT_CUB_SEGMENTED(Sort, Descending, true, SIMT_CUB_NO_BITS, 0, SIMT_CUB_ALL_BITS)
  SIMT_CUB_SEGMENTED(StableSort, , false, SIMT_CUB_NO_BITS, 0, SIMT_CUB_ALL_BITS)
  SIMT_CUB_SEGMENTED(StableSort, Descending, true, SIMT_CUB_NO_BITS, 0, SIMT_CUB_ALL_BITS)
};
#undef SIMT_CUB_SEGMENTED
#undef SIMT_CUB_BITS
#undef SIMT_CUB_NO_BITS
#undef SIMT_CUB_END_BIT
#undef SIMT_CUB_ALL_BITS

struct DeviceMergeSort {
  static constexpr const char* name = "cub::DeviceMergeSort";

  template <typename Keys, typename N, typename Compare>
  static hipError_t SortKeys(void* temp, std::size_t& bytes, Keys keys, N n, Compare compare, hipStream_t = {},
                             bool = false) {
    SIMT_CUB_PHASE(n);
    sort(keys, keys, n, compare);
    return hipSuccess;
  }
  template <typename In, typename Out, typename N, typename Compare>
  static hipError_t SortKeysCopy(void* temp, std::size_t& bytes, In in, Out out, N n, Compare compare,
                                 hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(n);
    sort(in, out, n, compare);
    return hipSuccess;
  }
  template <typename Keys, typename Items, typename N, typename Compare>
  static hipError_t SortPairs(void* temp, std::size_t& bytes, Keys keys, Items items, N n, Compare compare,
                              hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(n);
    const auto order = sort(keys, keys, n, compare);
    move(items, items, order);
    return hipSuccess;
  }
  template <typename KeysIn, typename ItemsIn, typename KeysOut, typename ItemsOut, typename N, typename Compare>
  static hipError_t SortPairsCopy(void* temp, std::size_t& bytes, KeysIn keys_in, ItemsIn items_in, KeysOut keys_out,
                                  ItemsOut items_out, N n, Compare compare, hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(n);
    const auto order = sort(keys_in, keys_out, n, compare);
    move(items_in, items_out, order);
    return hipSuccess;
  }
  template <typename... Arguments>
  static hipError_t StableSortKeys(void* temp, std::size_t& bytes, Arguments... arguments) {
    return SortKeys(temp, bytes, arguments...);
  }
  template <typename... Arguments>
  static hipError_t StableSortKeysCopy(void* temp, std::size_t& bytes, Arguments... arguments) {
    return SortKeysCopy(temp, bytes, arguments...);
  }
  template <typename... Arguments>
  static hipError_t StableSortPairs(void* temp, std::size_t& bytes, Arguments... arguments) {
    return SortPairs(temp, bytes, arguments...);
  }

 private:
  template <typename In, typename Out>
  static void move(In in, Out out, const std::vector<std::ptrdiff_t>& order) {
    std::vector<detail::value_of<In>> moved;
    moved.reserve(order.size());
    for (std::ptrdiff_t i : order) moved.push_back(in[i]);
    for (std::size_t i = 0; i < order.size(); ++i) out[static_cast<std::ptrdiff_t>(i)] = moved[i];
  }
  template <typename In, typename Out, typename N, typename Compare>
  static std::vector<std::ptrdiff_t> sort(In in, Out out, N n, Compare& compare) {
    std::vector<std::ptrdiff_t> order(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::ptrdiff_t>(i);
    std::stable_sort(order.begin(), order.end(), [&](std::ptrdiff_t a, std::ptrdiff_t b) {
      return static_cast<bool>(compare(in[a], in[b]));
    });
    move(in, out, order);
    return order;
  }
};

// ------------------------------------------------------------------------------------------------ select and partition

struct DeviceSelect {
  static constexpr const char* name = "cub::DeviceSelect";

  template <typename In, typename Flags, typename Out, typename Count, typename N>
  static hipError_t Flagged(void* temp, std::size_t& bytes, In in, Flags flags, Out out, Count selected, N n,
                            hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(n);
    keep(in, out, selected, n, [&](N i) { return static_cast<bool>(flags[i]); });
    return hipSuccess;
  }
  template <typename In, typename Flags, typename Count, typename N,
            typename = std::enable_if_t<std::is_integral_v<N>>>
  static hipError_t Flagged(void* temp, std::size_t& bytes, In data, Flags flags, Count selected, N n,
                            hipStream_t stream = {}) {
    return Flagged(temp, bytes, data, flags, data, selected, n, stream);
  }
  template <typename In, typename Out, typename Count, typename N, typename Op>
  static hipError_t If(void* temp, std::size_t& bytes, In in, Out out, Count selected, N n, Op op, hipStream_t = {},
                       bool = false) {
    SIMT_CUB_PHASE(n);
    keep(in, out, selected, n, [&](N i) { return static_cast<bool>(op(in[i])); });
    return hipSuccess;
  }
  template <typename In, typename Count, typename N, typename Op, typename = std::enable_if_t<std::is_integral_v<N>>>
  static hipError_t If(void* temp, std::size_t& bytes, In data, Count selected, N n, Op op, hipStream_t stream = {}) {
    return If(temp, bytes, data, data, selected, n, op, stream);
  }
  template <typename In, typename Flags, typename Out, typename Count, typename N, typename Op>
  static hipError_t FlaggedIf(void* temp, std::size_t& bytes, In in, Flags flags, Out out, Count selected, N n, Op op,
                              hipStream_t = {}) {
    SIMT_CUB_PHASE(n);
    keep(in, out, selected, n, [&](N i) { return static_cast<bool>(op(flags[i])); });
    return hipSuccess;
  }
  template <typename In, typename Out, typename Count, typename N>
  static hipError_t Unique(void* temp, std::size_t& bytes, In in, Out out, Count selected, N n, hipStream_t = {},
                           bool = false) {
    SIMT_CUB_PHASE(n);
    // In place, an item is compared with the original value of the previous one.
    detail::value_of<In> before{};
    keep(in, out, selected, n, [&](N i) {
      const detail::value_of<In> own = in[i];
      const bool first = i == 0 || !(own == before);
      before = own;
      return first;
    });
    return hipSuccess;
  }
  template <typename KeysIn, typename ValuesIn, typename KeysOut, typename ValuesOut, typename Count, typename N,
            typename Same = Equality>
  static hipError_t UniqueByKey(void* temp, std::size_t& bytes, KeysIn keys_in, ValuesIn values_in, KeysOut keys_out,
                                ValuesOut values_out, Count selected, N n, Same same = Same(), hipStream_t = {}) {
    SIMT_CUB_PHASE(n);
    N count = 0;
    detail::value_of<KeysIn> before{};
    for (N i = 0; i < n; ++i) {
      const detail::value_of<KeysIn> own = keys_in[i];
      if (i == 0 || !same(before, own)) {
        const auto value = values_in[i];
        keys_out[count] = own;
        values_out[count] = value;
        ++count;
      }
      before = own;
    }
    *selected = count;
    return hipSuccess;
  }

 private:
  template <typename In, typename Out, typename Count, typename N, typename Wanted>
  static void keep(In in, Out out, Count selected, N n, Wanted wanted) {
    N count = 0;
    for (N i = 0; i < n; ++i) {
      if (!wanted(i)) continue;
      const auto value = in[i];
      out[count] = value;
      ++count;
    }
    *selected = count;
  }
};

/// Items that are not selected follow in reverse order, from the end on.
struct DevicePartition {
  static constexpr const char* name = "cub::DevicePartition";

  template <typename In, typename Flags, typename Out, typename Count, typename N>
  static hipError_t Flagged(void* temp, std::size_t& bytes, In in, Flags flags, Out out, Count selected, N n,
                            hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(n);
    part(in, out, selected, n, [&](N i) { return static_cast<bool>(flags[i]); });
    return hipSuccess;
  }
  template <typename In, typename Out, typename Count, typename N, typename Op>
  static hipError_t If(void* temp, std::size_t& bytes, In in, Out out, Count selected, N n, Op op, hipStream_t = {},
                       bool = false) {
    SIMT_CUB_PHASE(n);
    part(in, out, selected, n, [&](N i) { return static_cast<bool>(op(in[i])); });
    return hipSuccess;
  }
  template <typename In, typename First, typename Second, typename Rest, typename Count, typename N, typename A,
            typename B>
  static hipError_t If(void* temp, std::size_t& bytes, In in, First first, Second second, Rest rest, Count selected,
                       N n, A select_first, B select_second, hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(n);
    N counts[3] = {};
    for (N i = 0; i < n; ++i) {
      const auto value = in[i];
      if (select_first(value)) {
        first[counts[0]++] = value;
      } else if (select_second(value)) {
        second[counts[1]++] = value;
      } else {
        rest[counts[2]++] = value;
      }
    }
    selected[0] = counts[0];
    selected[1] = counts[1];
    return hipSuccess;
  }

 private:
  template <typename In, typename Out, typename Count, typename N, typename Wanted>
  static void part(In in, Out out, Count selected, N n, Wanted wanted) {
    N count = 0, rear = n;
    for (N i = 0; i < n; ++i) {
      const auto value = in[i];
      if (wanted(i)) {
        out[count++] = value;
      } else {
        out[--rear] = value;
      }
    }
    *selected = count;
  }
};

struct DeviceRunLengthEncode {
  static constexpr const char* name = "cub::DeviceRunLengthEncode";

  template <typename In, typename Unique, typename Counts, typename Runs, typename N>
  static hipError_t Encode(void* temp, std::size_t& bytes, In in, Unique unique, Counts counts, Runs runs, N n,
                           hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(n);
    N count = 0;
    each_run(in, n, [&](N first, N length) {
      unique[count] = in[first];
      counts[count] = length;
      ++count;
    });
    *runs = count;
    return hipSuccess;
  }
  template <typename In, typename Offsets, typename Lengths, typename Runs, typename N>
  static hipError_t NonTrivialRuns(void* temp, std::size_t& bytes, In in, Offsets offsets, Lengths lengths, Runs runs,
                                   N n, hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(n);
    N count = 0;
    each_run(in, n, [&](N first, N length) {
      if (length < 2) return;
      offsets[count] = first;
      lengths[count] = length;
      ++count;
    });
    *runs = count;
    return hipSuccess;
  }

 private:
  template <typename In, typename N, typename Take>
  static void each_run(In in, N n, Take take) {
    for (N i = 0; i < n;) {
      N end = i + 1;
      while (end < n && in[end] == in[i]) ++end;
      take(i, end - i);
      i = end;
    }
  }
};

// ----------------------------------------------------------------------------------------------------------- histogram

struct DeviceHistogram {
  static constexpr const char* name = "cub::DeviceHistogram";

  template <typename Samples, typename Counter, typename Level, typename N>
  static hipError_t HistogramEven(void* temp, std::size_t& bytes, Samples samples, Counter* histogram, int levels,
                                  Level lower, Level upper, N n, hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(n);
    clear(histogram, levels);
    for (N i = 0; i < n; ++i) count_even(samples[i], histogram, levels, lower, upper);
    return hipSuccess;
  }
  template <typename Samples, typename Counter, typename Level, typename N>
  static hipError_t HistogramEven(void* temp, std::size_t& bytes, Samples samples, Counter* histogram, int levels,
                                  Level lower, Level upper, N row_samples, N rows, std::size_t row_bytes,
                                  hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(row_samples * rows);
    clear(histogram, levels);
    const std::ptrdiff_t stride = static_cast<std::ptrdiff_t>(row_bytes / sizeof(detail::value_of<Samples>));
    for (N row = 0; row < rows; ++row) {
      for (N i = 0; i < row_samples; ++i) count_even(samples[row * stride + i], histogram, levels, lower, upper);
    }
    return hipSuccess;
  }
  template <typename Samples, typename Counter, typename Level, typename N>
  static hipError_t HistogramRange(void* temp, std::size_t& bytes, Samples samples, Counter* histogram, int levels,
                                   const Level* bounds, N n, hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(n);
    clear(histogram, levels);
    for (N i = 0; i < n; ++i) count_range(samples[i], histogram, levels, bounds);
    return hipSuccess;
  }
  template <int Channels, int Active, typename Samples, typename Counter, typename Level, typename N>
  static hipError_t MultiHistogramEven(void* temp, std::size_t& bytes, Samples samples, Counter* (&histogram)[Active],
                                       const int (&levels)[Active], const Level (&lower)[Active],
                                       const Level (&upper)[Active], N pixels, hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(pixels);
    for (int c = 0; c < Active; ++c) {
      clear(histogram[c], levels[c]);
      for (N i = 0; i < pixels; ++i) count_even(samples[i * Channels + c], histogram[c], levels[c], lower[c], upper[c]);
    }
    return hipSuccess;
  }
  template <int Channels, int Active, typename Samples, typename Counter, typename Level, typename N>
  static hipError_t MultiHistogramRange(void* temp, std::size_t& bytes, Samples samples,
                                        Counter* (&histogram)[Active], const int (&levels)[Active],
                                        const Level* const (&bounds)[Active], N pixels, hipStream_t = {},
                                        bool = false) {
    SIMT_CUB_PHASE(pixels);
    for (int c = 0; c < Active; ++c) {
      clear(histogram[c], levels[c]);
      for (N i = 0; i < pixels; ++i) count_range(samples[i * Channels + c], histogram[c], levels[c], bounds[c]);
    }
    return hipSuccess;
  }

 private:
  template <typename Counter>
  static void clear(Counter* histogram, int levels) {
    for (int i = 0; i + 1 < levels; ++i) histogram[i] = Counter(0);
  }
  /// Bins of equal width; samples outside [lower, upper) do not count.
  template <typename Sample, typename Counter, typename Level>
  static void count_even(const Sample& sample, Counter* histogram, int levels, Level lower, Level upper) {
    using Common = std::common_type_t<Level, Sample>;
    const Common value = static_cast<Common>(sample), low = static_cast<Common>(lower),
                 high = static_cast<Common>(upper);
    if (!(value >= low && value < high)) return;
    int bin;
    if constexpr (std::is_integral_v<Common>) {
      bin = static_cast<int>(static_cast<unsigned __int128>(value - low) * static_cast<unsigned>(levels - 1) /
                             static_cast<unsigned __int128>(high - low));
    } else {
      bin = static_cast<int>((value - low) * (static_cast<Common>(levels - 1) / (high - low)));
      if (bin > levels - 2) bin = levels - 2;
    }
    ++histogram[bin];
  }
  template <typename Sample, typename Counter, typename Level>
  static void count_range(const Sample& sample, Counter* histogram, int levels, const Level* bounds) {
    const auto bin = std::upper_bound(bounds, bounds + levels, static_cast<Level>(sample)) - bounds - 1;
    if (bin >= 0 && bin < levels - 1) ++histogram[bin];
  }
};

// --------------------------------------------------------------------------------------------- for, difference, copies

struct DeviceFor {
  template <typename N, typename Op>
  static hipError_t Bulk(N n, Op op, hipStream_t = {}) {
    for (N i = 0; i < n; ++i) op(i);
    return hipSuccess;
  }
  template <typename Iterator, typename N, typename Op>
  static hipError_t ForEachN(Iterator first, N n, Op op, hipStream_t = {}) {
    for (N i = 0; i < n; ++i) op(first[i]);
    return hipSuccess;
  }
  template <typename Iterator, typename Op>
  static hipError_t ForEach(Iterator first, Iterator last, Op op, hipStream_t = {}) {
    return ForEachN(first, last - first, op);
  }
  template <typename Iterator, typename N, typename Op>
  static hipError_t ForEachCopyN(Iterator first, N n, Op op, hipStream_t = {}) {
    for (N i = 0; i < n; ++i) {
      const detail::value_of<Iterator> copy = first[i];
      op(copy);
    }
    return hipSuccess;
  }
  template <typename Iterator, typename Op>
  static hipError_t ForEachCopy(Iterator first, Iterator last, Op op, hipStream_t = {}) {
    return ForEachCopyN(first, last - first, op);
  }
  template <typename Op, typename N>
  static hipError_t Bulk(void* temp, std::size_t& bytes, N n, Op op, hipStream_t = {}) {
    constexpr const char* name = "cub::DeviceFor";
    SIMT_CUB_PHASE(n);
    return Bulk(n, op);
  }
};

struct DeviceAdjacentDifference {
  static constexpr const char* name = "cub::DeviceAdjacentDifference";

  template <typename In, typename Out, typename N, typename Op = Difference>
  static hipError_t SubtractLeftCopy(void* temp, std::size_t& bytes, In in, Out out, N n, Op op = Op(),
                                     hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(n);
    detail::value_of<In> before{};
    for (N i = 0; i < n; ++i) {
      const detail::value_of<In> own = in[i];
      if (i == 0) {
        out[i] = own;
      } else {
        out[i] = op(own, before);
      }
      before = own;
    }
    return hipSuccess;
  }
  template <typename Data, typename N, typename Op = Difference>
  static hipError_t SubtractLeft(void* temp, std::size_t& bytes, Data data, N n, Op op = Op(), hipStream_t = {},
                                 bool = false) {
    return SubtractLeftCopy(temp, bytes, data, data, n, op);
  }
  template <typename In, typename Out, typename N, typename Op = Difference>
  static hipError_t SubtractRightCopy(void* temp, std::size_t& bytes, In in, Out out, N n, Op op = Op(),
                                      hipStream_t = {}, bool = false) {
    SIMT_CUB_PHASE(n);
    for (N i = 0; i < n; ++i) {
      const detail::value_of<In> own = in[i];
      if (i + 1 < n) {
        out[i] = op(own, in[i + 1]);
      } else {
        out[i] = own;
      }
    }
    return hipSuccess;
  }
  template <typename Data, typename N, typename Op = Difference>
  static hipError_t SubtractRight(void* temp, std::size_t& bytes, Data data, N n, Op op = Op(), hipStream_t = {},
                                  bool = false) {
    return SubtractRightCopy(temp, bytes, data, data, n, op);
  }
};

struct DeviceMemcpy {
  static constexpr const char* name = "cub::DeviceMemcpy";
  template <typename In, typename Out, typename Sizes, typename N>
  static hipError_t Batched(void* temp, std::size_t& bytes, In from, Out to, Sizes sizes, N count, hipStream_t = {}) {
    SIMT_CUB_PHASE(count);
    for (N i = 0; i < count; ++i) std::memcpy(to[i], from[i], static_cast<std::size_t>(sizes[i]));
    return hipSuccess;
  }
};
struct DeviceCopy {
  static constexpr const char* name = "cub::DeviceCopy";
  template <typename In, typename Out, typename Sizes, typename N>
  static hipError_t Batched(void* temp, std::size_t& bytes, In from, Out to, Sizes sizes, N count, hipStream_t = {}) {
    SIMT_CUB_PHASE(count);
    for (N i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < static_cast<std::size_t>(sizes[i]); ++k) {
        to[i][static_cast<std::ptrdiff_t>(k)] = from[i][static_cast<std::ptrdiff_t>(k)];
      }
    }
    return hipSuccess;
  }
};
#undef SIMT_CUB_PHASE

// ----------------------------------------------------------------------------------------------------------- utilities

/// Give each of several parts its place in one piece of storage, at multiples of 256 bytes.
template <int Count>
hipError_t AliasTemporaries(void* temp, std::size_t& bytes, void* (&allocations)[Count],
                            const std::size_t (&sizes)[Count]) {
  std::size_t total = 255, offset = 0;
  for (std::size_t size : sizes) total += (size + 255) / 256 * 256;
  if (temp == nullptr) {
    bytes = total;
    return hipSuccess;
  }
  if (bytes < total) return hipErrorInvalidValue;
  const std::uintptr_t start = (reinterpret_cast<std::uintptr_t>(temp) + 255) / 256 * 256;
  for (int i = 0; i < Count; ++i) {
    allocations[i] = reinterpret_cast<void*>(start + offset);
    offset += (sizes[i] + 255) / 256 * 256;
  }
  return hipSuccess;
}

/// Caches nothing, so that the use of freed memory is detected.
struct CachingDeviceAllocator {
  static constexpr unsigned INVALID_BIN = ~0u;
  static constexpr std::size_t INVALID_SIZE = ~std::size_t{0};
  static constexpr int INVALID_DEVICE_ORDINAL = -1;
  CachingDeviceAllocator(unsigned, unsigned = 1, unsigned = INVALID_BIN, std::size_t = INVALID_SIZE, bool = false,
                         bool = false) {}
  CachingDeviceAllocator(bool = false, bool = false) {}
  hipError_t SetMaxCachedBytes(std::size_t) { return hipSuccess; }
  hipError_t DeviceAllocate(int, void** pointer, std::size_t bytes, hipStream_t = {}, SIMT_HERE) {
    *pointer = bytes == 0 ? nullptr : ::simt::allocate(bytes, ::simt::Memory::device, SIMT_THERE);
    return hipSuccess;
  }
  hipError_t DeviceAllocate(void** pointer, std::size_t bytes, hipStream_t = {}, SIMT_HERE) {
    return DeviceAllocate(0, pointer, bytes, {}, simt_file, simt_line);
  }
  hipError_t DeviceFree(int, void* pointer) {
    return pointer == nullptr || ::simt::release(pointer) ? hipSuccess : hipErrorInvalidValue;
  }
  hipError_t DeviceFree(void* pointer) { return DeviceFree(0, pointer); }
  hipError_t FreeAllCached() { return hipSuccess; }
};

inline hipError_t Debug(hipError_t error, const char* file, int line) {
  if (error != hipSuccess) {
    std::fprintf(stderr, "CUDA error %d [%s, %d]: %s\n", static_cast<int>(error), file, line, hipGetErrorString(error));
    std::fflush(stderr);
  }
  return error;
}
inline int CurrentDevice() { return 0; }
inline int DeviceCount() { return 1; }
inline hipError_t PtxVersion(int& version, int = 0) {
  version = 800;
  return hipSuccess;
}
inline hipError_t SmVersion(int& version, int = 0) {
  version = 800;
  return hipSuccess;
}
inline hipError_t SyncStream(hipStream_t) { return hipSuccess; }

}  // namespace cub

#ifndef CubDebug
#define CubDebug(e) ::cub::Debug(static_cast<hipError_t>(e), __FILE__, __LINE__)
#define CubDebugExit(e)            \
  if (CubDebug((e)) != hipSuccess) { \
    std::exit(1);                  \
  }
#define _CubLog(format, ...) std::printf(format, __VA_ARGS__)
#endif
#ifdef SIMT_HIP
#define HipcubDebug(e) CubDebug(e)
#define HIPCUB_MAX CUB_MAX
#define HIPCUB_MIN CUB_MIN
#endif

#endif
