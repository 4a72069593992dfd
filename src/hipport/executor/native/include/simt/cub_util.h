// SPDX-License-Identifier: Apache-2.0
// simt/cub_util.h: CUB and hipCUB without their algorithms: types, traits, operators, iterators, functions.
//
// Names and meanings are from CUB's documentation (nvidia.github.io/cccl/cub); hipCUB has the same in its namespace.
#ifndef SIMT_CUB_UTIL_H
#define SIMT_CUB_UTIL_H

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>  // programs print with it, and rely on CUB's headers to include it
#include <iterator>
#include <limits>
#include <new>

#ifndef SIMT_HIP
#include <cuda/cmath>  // programs rely on CUB to include it
#endif
#include "core.h"
#include "together.h"

#define CUB_MAJOR_VERSION 2
#define CUB_MINOR_VERSION 5
#define CUB_SUBMINOR_VERSION 0
#define CUB_VERSION 200500
#ifdef SIMT_HIP
#define HIPCUB_VERSION 400000
#define HIPCUB_VERSION_MAJOR 4
#define HIPCUB_VERSION_MINOR 0
#define HIPCUB_VERSION_PATCH 0
#define HIPCUB_DEVICE
#define HIPCUB_HOST
#define HIPCUB_HOST_DEVICE
#define HIPCUB_RUNTIME_FUNCTION
#define HIPCUB_ROCPRIM_API 1
#else
#define CUB_PTX_ARCH 800
#define CUB_PTX_WARP_THREADS 32
#define CUB_PTX_LOG_WARP_THREADS 5
#define CUB_WARP_THREADS(arch) 32
#define CUB_LOG_WARP_THREADS(arch) 5
#endif
#define CUB_RUNTIME_FUNCTION
#define CUB_RUNTIME_ENABLED
#define CUB_MAX(a, b) (((b) > (a)) ? (b) : (a))
#define CUB_MIN(a, b) (((b) < (a)) ? (b) : (a))
#define CUB_QUOTIENT_FLOOR(x, y) ((x) / (y))
#define CUB_QUOTIENT_CEILING(x, y) (((x) + (y) - 1) / (y))
#define CUB_ROUND_UP_NEAREST(x, y) (CUB_QUOTIENT_CEILING(x, y) * (y))
#define CUB_ROUND_DOWN_NEAREST(x, y) (((x) / (y)) * (y))
#define CUB_STATIC_ASSERT(condition, message) static_assert(condition, message)

namespace cub {

// ---- types

struct NullType {
  NullType() = default;
  template <typename T>
  explicit NullType(const T&) {}
  template <typename T>
  NullType& operator=(const T&) {
    return *this;
  }
  bool operator==(const NullType&) const { return true; }
  bool operator!=(const NullType&) const { return false; }
};

template <int A>
struct Int2Type {
  enum { VALUE = A };
};

template <typename Key_, typename Value_>
struct KeyValuePair {
  using Key = Key_;
  using Value = Value_;
  Key key;
  Value value;
  KeyValuePair() = default;
  KeyValuePair(const Key& key, const Value& value) : key(key), value(value) {}
  bool operator==(const KeyValuePair& other) const { return key == other.key && value == other.value; }
  bool operator!=(const KeyValuePair& other) const { return !(*this == other); }
};

template <typename T>
struct DoubleBuffer {
  T* d_buffers[2];
  int selector;
  DoubleBuffer() : d_buffers{nullptr, nullptr}, selector(0) {}
  DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate}, selector(0) {}
  T* Current() { return d_buffers[selector]; }
  T* Alternate() { return d_buffers[selector ^ 1]; }
};

/// Storage for a T whose constructor does not run.
template <typename T>
struct Uninitialized {
  alignas(T) unsigned char storage[sizeof(T)];
  T& Alias() { return *reinterpret_cast<T*>(storage); }
};

template <typename T, int N>
struct alignas(sizeof(T) * (N == 3 ? 1 : N) > 16 ? 16 : sizeof(T) * (N == 3 ? 1 : N)) CubVector {
  T values[N];
};

template <bool Condition, typename A, typename B>
struct If {
  using Type = std::conditional_t<Condition, A, B>;
};
template <typename A, typename B>
struct Equals {
  enum { VALUE = std::is_same_v<A, B>, NEGATE = !std::is_same_v<A, B> };
};
template <typename T>
struct IsPointer {
  enum { VALUE = std::is_pointer_v<T> };
};
template <typename T>
struct IsVolatile {
  enum { VALUE = std::is_volatile_v<T> };
};
template <typename T>
struct RemoveQualifiers {
  using Type = std::remove_cv_t<T>;
};
template <int N, int Current = N, int Count = 0>
struct Log2 {
  enum { VALUE = Log2<N, (Current >> 1), Count + 1>::VALUE };
};
template <int N, int Count>
struct Log2<N, 0, Count> {
  enum { VALUE = (1 << (Count - 1) < N) ? Count : Count - 1 };
};
template <int N>
struct PowerOfTwo {
  enum { VALUE = (N & (N - 1)) == 0 };
};

enum Category { NOT_A_NUMBER, SIGNED_INTEGER, UNSIGNED_INTEGER, FLOATING_POINT };

namespace detail {

template <std::size_t Size>
struct bits_of_size;
template <>
struct bits_of_size<1> {
  using type = unsigned char;
};
template <>
struct bits_of_size<2> {
  using type = unsigned short;
};
template <>
struct bits_of_size<4> {
  using type = unsigned int;
};
template <>
struct bits_of_size<8> {
  using type = unsigned long long;
};
template <>
struct bits_of_size<16> {
  using type = unsigned __int128;
};

template <typename T>
constexpr bool is_int128 = std::is_same_v<T, __int128> || std::is_same_v<T, unsigned __int128>;
/// half and bfloat16, under any name: two bytes that convert to float and are not an integer.
template <typename T>
constexpr bool is_small_float =
    sizeof(T) == 2 && !std::is_arithmetic_v<T> && !std::is_enum_v<T> && std::is_convertible_v<T, float>;
template <typename T>
constexpr Category category =
    std::is_floating_point_v<T> || is_small_float<T> ? FLOATING_POINT
    : std::is_same_v<T, unsigned __int128>           ? UNSIGNED_INTEGER
    : std::is_same_v<T, __int128>                    ? SIGNED_INTEGER
    : !std::is_integral_v<T>                         ? NOT_A_NUMBER
    : std::is_signed_v<T>                            ? SIGNED_INTEGER
                                                     : UNSIGNED_INTEGER;

template <typename T, Category = category<T>>
struct numeric_traits;

template <typename T>
struct numeric_traits<T, NOT_A_NUMBER> {
  static constexpr Category CATEGORY = NOT_A_NUMBER;
  enum { PRIMITIVE = false, NULL_TYPE = std::is_same_v<T, NullType> };
};

template <typename T, Category kind>
struct numeric_traits {
  using UnsignedBits = typename bits_of_size<sizeof(T)>::type;
  static constexpr Category CATEGORY = kind;
  enum { PRIMITIVE = true, NULL_TYPE = false };
  static constexpr UnsignedBits HIGH_BIT = static_cast<UnsignedBits>(UnsignedBits(1) << (sizeof(T) * 8 - 1));
  static constexpr UnsignedBits ALL = static_cast<UnsignedBits>(~UnsignedBits(0));
  static constexpr UnsignedBits LOWEST_KEY = kind == FLOATING_POINT   ? ALL
                                             : kind == SIGNED_INTEGER ? HIGH_BIT
                                                                      : UnsignedBits(0);
  static constexpr UnsignedBits MAX_KEY =
      kind == UNSIGNED_INTEGER ? ALL : static_cast<UnsignedBits>(ALL ^ HIGH_BIT);

  /// Bits that compare as unsigned numbers like the values.
  static constexpr UnsignedBits TwiddleIn(UnsignedBits key) {
    if (kind == SIGNED_INTEGER) return static_cast<UnsignedBits>(key ^ HIGH_BIT);
    if (kind == FLOATING_POINT) return static_cast<UnsignedBits>(key ^ ((key & HIGH_BIT) ? ALL : HIGH_BIT));
    return key;
  }
  static constexpr UnsignedBits TwiddleOut(UnsignedBits key) {
    if (kind == SIGNED_INTEGER) return static_cast<UnsignedBits>(key ^ HIGH_BIT);
    if (kind == FLOATING_POINT) return static_cast<UnsignedBits>(key ^ ((key & HIGH_BIT) ? HIGH_BIT : ALL));
    return key;
  }
  static T Max() {
    if constexpr (std::is_arithmetic_v<T>) {
      return std::numeric_limits<T>::max();
    } else if constexpr (is_int128<T>) {
      return static_cast<T>(MAX_KEY);
    } else {
      return from_bits(max_small());
    }
  }
  static T Lowest() {
    if constexpr (std::is_arithmetic_v<T>) {
      return std::numeric_limits<T>::lowest();
    } else if constexpr (is_int128<T>) {
      return static_cast<T>(LOWEST_KEY);
    } else {
      return from_bits(static_cast<UnsignedBits>(max_small() | HIGH_BIT));
    }
  }

 private:
  static T from_bits(UnsignedBits bits) {
    T value;
    std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
    return value;
  }
  /// The greatest finite value: bfloat16's exponent has as many bits as float's, half's has five.
  static UnsignedBits max_small() {
    return static_cast<float>(from_bits(static_cast<UnsignedBits>(0x7bff))) == 65504.0f
               ? static_cast<UnsignedBits>(0x7bff)
               : static_cast<UnsignedBits>(0x7f7f);
  }
};

template <typename T>
using value_of = typename std::iterator_traits<T>::value_type;

}  // namespace detail

template <typename T>
struct NumericTraits : detail::numeric_traits<std::remove_cv_t<T>> {};
template <typename T>
struct Traits : NumericTraits<T> {};
template <Category kind, bool primitive, bool null_type, typename Bits, typename T>
struct BaseTraits : detail::numeric_traits<T, kind> {};

// ---- operators

struct Equality {
  template <typename T, typename U>
  constexpr bool operator()(T&& a, U&& b) const {
    return a == b;
  }
};
struct Inequality {
  template <typename T, typename U>
  constexpr bool operator()(T&& a, U&& b) const {
    return a != b;
  }
};
template <typename EqualityOp>
struct InequalityWrapper {
  EqualityOp op;
  explicit InequalityWrapper(EqualityOp op) : op(op) {}
  template <typename T, typename U>
  bool operator()(T&& a, U&& b) {
    return !op(a, b);
  }
};
struct Sum {
  template <typename T, typename U>
  constexpr auto operator()(const T& a, const U& b) const -> decltype(a + b) {
    return a + b;
  }
};
struct Difference {
  template <typename T, typename U>
  constexpr auto operator()(const T& a, const U& b) const -> decltype(a - b) {
    return a - b;
  }
};
struct Division {
  template <typename T, typename U>
  constexpr auto operator()(const T& a, const U& b) const -> decltype(a / b) {
    return a / b;
  }
};
struct Max {
  template <typename T, typename U>
  constexpr std::common_type_t<T, U> operator()(const T& a, const U& b) const {
    return b > a ? static_cast<std::common_type_t<T, U>>(b) : static_cast<std::common_type_t<T, U>>(a);
  }
};
struct Min {
  template <typename T, typename U>
  constexpr std::common_type_t<T, U> operator()(const T& a, const U& b) const {
    return b < a ? static_cast<std::common_type_t<T, U>>(b) : static_cast<std::common_type_t<T, U>>(a);
  }
};
}  // namespace cub
namespace simt {
template <typename T>
struct OverThoseHere<T, ::cub::Sum> : std::bool_constant<is_word<T>> {};
template <typename T>
struct OverThoseHere<T, ::cub::Max> : std::bool_constant<is_word<T>> {};
template <typename T>
struct OverThoseHere<T, ::cub::Min> : std::bool_constant<is_word<T>> {};
}  // namespace simt
namespace cub {
/// The greater value; of equal values the one with the smaller key.
struct ArgMax {
  template <typename T, typename Key>
  constexpr KeyValuePair<Key, T> operator()(const KeyValuePair<Key, T>& a, const KeyValuePair<Key, T>& b) const {
    return b.value > a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};
struct ArgMin {
  template <typename T, typename Key>
  constexpr KeyValuePair<Key, T> operator()(const KeyValuePair<Key, T>& a, const KeyValuePair<Key, T>& b) const {
    return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};
template <typename B>
struct CastOp {
  template <typename A>
  constexpr B operator()(A&& a) const {
    return static_cast<B>(a);
  }
};
template <typename Op>
struct SwizzleScanOp {
  Op op;
  explicit SwizzleScanOp(Op op) : op(op) {}
  template <typename T>
  T operator()(const T& a, const T& b) {
    return op(b, a);
  }
};
template <typename Op>
struct BinaryFlip {
  Op op;
  explicit BinaryFlip(Op op) : op(op) {}
  template <typename T, typename U>
  auto operator()(T&& a, U&& b) -> decltype(op(b, a)) {
    return op(b, a);
  }
};
template <typename Op>
BinaryFlip<Op> MakeBinaryFlip(Op op) {
  return BinaryFlip<Op>(op);
}
/// Pairs of (starts a segment, value).
template <typename Op>
struct ReduceBySegmentOp {
  Op op;
  ReduceBySegmentOp() = default;
  explicit ReduceBySegmentOp(Op op) : op(op) {}
  template <typename Pair>
  Pair operator()(const Pair& a, const Pair& b) {
    Pair result;
    result.key = a.key + b.key;
    result.value = b.key ? b.value : op(a.value, b.value);
    return result;
  }
};
template <typename Op>
struct ReduceByKeyOp {
  Op op;
  ReduceByKeyOp() = default;
  explicit ReduceByKeyOp(Op op) : op(op) {}
  template <typename Pair>
  Pair operator()(const Pair& a, const Pair& b) {
    Pair result = b;
    if (a.key == b.key) result.value = op(a.value, b.value);
    return result;
  }
};

// ---- loads and stores with a cache modifier, which has no effect here

enum CacheLoadModifier { LOAD_DEFAULT, LOAD_CA, LOAD_CG, LOAD_CS, LOAD_CV, LOAD_LDG, LOAD_VOLATILE };
enum CacheStoreModifier { STORE_DEFAULT, STORE_WB, STORE_CG, STORE_CS, STORE_WT, STORE_VOLATILE };

template <CacheLoadModifier modifier, typename Iterator>
detail::value_of<Iterator> ThreadLoad(Iterator from) {
  return *from;
}
template <CacheStoreModifier modifier, typename Iterator, typename T>
void ThreadStore(Iterator to, T value) {
  *to = value;
}

// ---- iterators

namespace detail {

/// The common part of all counting input iterators; `Self` has a member `at(offset)`.
template <typename Self, typename T, typename Offset>
class counted_iterator {
  Self& self() { return static_cast<Self&>(*this); }
  const Self& self() const { return static_cast<const Self&>(*this); }

 public:
  using self_type = Self;
  using difference_type = Offset;
  using value_type = T;
  using pointer = T*;
  using reference = T;
  using iterator_category = std::random_access_iterator_tag;

  T operator*() const { return self().at(0); }
  template <typename Distance>
  T operator[](Distance n) const {
    return self().at(static_cast<Offset>(n));
  }
  Self& operator++() {
    self().go(1);
    return self();
  }
  Self operator++(int) {
    Self old = self();
    self().go(1);
    return old;
  }
  Self& operator--() {
    self().go(-1);
    return self();
  }
  template <typename Distance>
  Self operator+(Distance n) const {
    Self moved = self();
    moved.go(static_cast<Offset>(n));
    return moved;
  }
  template <typename Distance>
  Self& operator+=(Distance n) {
    self().go(static_cast<Offset>(n));
    return self();
  }
  template <typename Distance>
  Self operator-(Distance n) const {
    Self moved = self();
    moved.go(static_cast<Offset>(-n));
    return moved;
  }
  template <typename Distance>
  Self& operator-=(Distance n) {
    self().go(static_cast<Offset>(-n));
    return self();
  }
  Offset operator-(const Self& other) const { return static_cast<Offset>(self().place() - other.place()); }
  bool operator==(const Self& other) const { return self().place() == other.place(); }
  bool operator!=(const Self& other) const { return !(self().place() == other.place()); }
};

}  // namespace detail

template <typename T, typename Offset = std::ptrdiff_t>
class CountingInputIterator
    : public detail::counted_iterator<CountingInputIterator<T, Offset>, T, Offset> {
  T value_;

 public:
  CountingInputIterator(const T& value) : value_(value) {}
  T at(Offset n) const { return static_cast<T>(value_ + static_cast<T>(n)); }
  void go(Offset n) { value_ = at(n); }
  T place() const { return value_; }
};

template <typename T, typename Offset = std::ptrdiff_t>
class ConstantInputIterator
    : public detail::counted_iterator<ConstantInputIterator<T, Offset>, T, Offset> {
  T value_;
  Offset offset_;

 public:
  ConstantInputIterator(T value, Offset offset = 0) : value_(value), offset_(offset) {}
  T at(Offset) const { return value_; }
  void go(Offset n) { offset_ += n; }
  Offset place() const { return offset_; }
};

template <typename T, typename Conversion, typename Input, typename Offset = std::ptrdiff_t>
class TransformInputIterator
    : public detail::counted_iterator<TransformInputIterator<T, Conversion, Input, Offset>, T, Offset> {
  mutable Conversion conversion_;
  Input input_;

 public:
  TransformInputIterator(Input input, Conversion conversion) : conversion_(conversion), input_(input) {}
  T at(Offset n) const { return static_cast<T>(conversion_(input_[n])); }
  void go(Offset n) { input_ += n; }
  const Input& place() const { return input_; }
};

template <typename Input, typename Offset = std::ptrdiff_t, typename Value = detail::value_of<Input>>
class ArgIndexInputIterator
    : public detail::counted_iterator<ArgIndexInputIterator<Input, Offset, Value>, KeyValuePair<Offset, Value>,
                                      Offset> {
  Input input_;
  Offset offset_;

 public:
  ArgIndexInputIterator(Input input, Offset offset = 0) : input_(input), offset_(offset) {}
  KeyValuePair<Offset, Value> at(Offset n) const { return {offset_ + n, static_cast<Value>(input_[offset_ + n])}; }
  void go(Offset n) { offset_ += n; }
  Offset place() const { return offset_; }
  void normalize() {
    input_ += offset_;
    offset_ = 0;
  }
};

template <CacheLoadModifier modifier, typename T, typename Offset = std::ptrdiff_t>
class CacheModifiedInputIterator
    : public detail::counted_iterator<CacheModifiedInputIterator<modifier, T, Offset>, T, Offset> {
 public:
  const T* ptr;
  template <typename Q>
  CacheModifiedInputIterator(Q* pointer) : ptr(const_cast<std::remove_cv_t<Q>*>(pointer)) {}
  T at(Offset n) const { return ptr[n]; }
  void go(Offset n) { ptr += n; }
  const T* place() const { return ptr; }
};

template <CacheStoreModifier modifier, typename T, typename Offset = std::ptrdiff_t>
class CacheModifiedOutputIterator {
  T* pointer_;

 public:
  using difference_type = Offset;
  using value_type = void;
  using pointer = void;
  using reference = T&;
  using iterator_category = std::random_access_iterator_tag;
  explicit CacheModifiedOutputIterator(T* pointer) : pointer_(pointer) {}
  T& operator*() const { return *pointer_; }
  T& operator[](Offset n) const { return pointer_[n]; }
  CacheModifiedOutputIterator& operator++() {
    ++pointer_;
    return *this;
  }
  CacheModifiedOutputIterator operator++(int) { return CacheModifiedOutputIterator(pointer_++); }
  CacheModifiedOutputIterator operator+(Offset n) const { return CacheModifiedOutputIterator(pointer_ + n); }
  CacheModifiedOutputIterator& operator+=(Offset n) {
    pointer_ += n;
    return *this;
  }
};

/// Discards what is written.
template <typename Offset = std::ptrdiff_t>
class DiscardOutputIterator {
  Offset offset_;

 public:
  struct Sink {
    template <typename T>
    const Sink& operator=(const T&) const {
      return *this;
    }
  };
  using difference_type = Offset;
  using value_type = void;
  using pointer = void;
  using reference = Sink;
  using iterator_category = std::random_access_iterator_tag;
  DiscardOutputIterator(Offset offset = 0) : offset_(offset) {}
  Sink operator*() const { return {}; }
  template <typename Distance>
  Sink operator[](Distance) const {
    return {};
  }
  DiscardOutputIterator& operator++() {
    ++offset_;
    return *this;
  }
  DiscardOutputIterator operator++(int) { return DiscardOutputIterator(offset_++); }
  template <typename Distance>
  DiscardOutputIterator operator+(Distance n) const {
    return DiscardOutputIterator(offset_ + static_cast<Offset>(n));
  }
  template <typename Distance>
  DiscardOutputIterator& operator+=(Distance n) {
    offset_ += static_cast<Offset>(n);
    return *this;
  }
  Offset operator-(const DiscardOutputIterator& other) const { return offset_ - other.offset_; }
};

// ---- functions of a thread

/// Combine the items of a thread, in order.
template <int Items, typename T, typename Op>
T ThreadReduce(T (&items)[Items], Op op) {
  T sum = items[0];
  for (int i = 1; i < Items; ++i) sum = op(sum, items[i]);
  return sum;
}
template <int Items, typename T, typename Op>
T ThreadReduce(T (&items)[Items], Op op, T prefix) {
  for (int i = 0; i < Items; ++i) prefix = op(prefix, items[i]);
  return prefix;
}
template <int Items, typename T, typename Op>
T ThreadScanInclusive(T (&items)[Items], T (&out)[Items], Op op) {
  T sum = items[0];
  out[0] = sum;
  for (int i = 1; i < Items; ++i) out[i] = sum = op(sum, items[i]);
  return sum;
}
namespace internal {
using ::cub::ThreadReduce;
using ::cub::ThreadScanInclusive;
}  // namespace internal

inline unsigned LaneId() { return ::simt::lane(); }
inline unsigned WarpId() { return ::simt::wave(); }
#ifndef SIMT_HIP  // hipCUB's have 64-bit masks, and ports use hipport's in their place
inline unsigned LaneMaskLt() { return (1u << ::simt::lane()) - 1u; }
inline unsigned LaneMaskLe() { return (2u << ::simt::lane()) - 1u; }
inline unsigned LaneMaskGt() { return ~LaneMaskLe(); }
inline unsigned LaneMaskGe() { return ~LaneMaskLt(); }
template <int LogicalThreads, int = 0>
unsigned WarpMask(unsigned warp) {
  static_assert(LogicalThreads > 0 && LogicalThreads <= 32, "threads of a warp");
  // If the number of threads is not a power of two, there is one logical warp in a warp.
  const bool several = LogicalThreads != 32 && (LogicalThreads & (LogicalThreads - 1)) == 0;
  return (0xffffffffu >> (32 - LogicalThreads)) << (several ? warp * LogicalThreads : 0u);
}
inline void WARP_SYNC(unsigned mask, SIMT_HERE) { ::__syncwarp(mask, simt_file, simt_line); }
inline int WARP_ALL(int predicate, unsigned mask, SIMT_HERE) { return ::__all_sync(mask, predicate, simt_file, simt_line); }
inline int WARP_ANY(int predicate, unsigned mask, SIMT_HERE) { return ::__any_sync(mask, predicate, simt_file, simt_line); }
inline int WARP_BALLOT(int predicate, unsigned mask, SIMT_HERE) {
  return static_cast<int>(::__ballot_sync(mask, predicate, simt_file, simt_line));
}
#endif
inline int RowMajorTid(int block_x, int block_y, int) {
  const unsigned row = threadIdx.z * static_cast<unsigned>(block_y) + threadIdx.y;
  return static_cast<int>(row * static_cast<unsigned>(block_x) + threadIdx.x);
}
inline void CTA_SYNC(SIMT_HERE) { ::simt::block_barrier("cub::CTA_SYNC", 0, SIMT_THERE); }
inline int CTA_SYNC_AND(int predicate, SIMT_HERE) {
  return ::simt::block_barrier("cub::CTA_SYNC_AND", predicate, SIMT_THERE).all;
}
inline int CTA_SYNC_OR(int predicate, SIMT_HERE) {
  return ::simt::block_barrier("cub::CTA_SYNC_OR", predicate, SIMT_THERE).any;
}

namespace detail {

/// The caller's logical warp: its lanes of the wavefront, and the caller's rank in it. A size of 0 means the
/// wavefront's.
struct LogicalWarp {
  std::uint64_t lanes;
  unsigned size, rank, number;
};
inline LogicalWarp logical_warp(unsigned size, const char* name, ::simt::Place place) {
  const unsigned wave = static_cast<unsigned>(::simt::wave_size()), lane = ::simt::lane();
  if (size == 0) size = wave;
  if (size > wave) {
    ::simt::fault("logical-warp", place, "%s over %u lanes on a wavefront of %u", name, size, wave);
  }
  const unsigned number = lane / size;
  const std::uint64_t ones = size >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1;
  return {ones << (number * size & 63), size, lane % size, number};
}
/// CUB's default is 32; hipCUB's is the wavefront of the GPU, known only at run time.
constexpr int default_warp = ::simt::dialect == ::simt::Dialect::cuda ? 32 : 0;

template <typename T>
struct Moved {
  std::uint64_t lanes;
  ::simt::Place place;
  T value, result;
  unsigned source;
};
template <typename T>
struct Move {
  static constexpr const char* name = "cub::Shuffle";
  static void run(const ::simt::Gathered<Moved<T>>& all) {
    for (unsigned rank = 0; rank < all.size; ++rank) {
      Moved<T>* const own = all.record[rank];
      if (own == nullptr) continue;
      if (own->source >= all.size || all.record[own->source] == nullptr) {
        ::simt::warning("inactive-lane", own->place,
                        "lane %u shuffles from lane %u, which is not here: what it gets is not defined, and 0 here", rank,
                        own->source);
        std::memset(static_cast<void*>(&own->result), 0, sizeof own->result);
      } else {
        own->result = all.record[own->source]->value;
      }
    }
  }
};
template <typename T>
T move(const LogicalWarp& warp, const T& value, unsigned source, ::simt::Place place) {
  Moved<T> record{warp.lanes, place, value, value, source};
  ::simt::together<Move<T>>(record, place);
  return record.result;
}

struct Met {
  std::uint64_t lanes;
  bool predicate;
  std::uint64_t yes;
};
struct Meet {
  static constexpr const char* name = "cub::WARP_SYNC";
  static void run(const ::simt::Gathered<Met>& all) {
    std::uint64_t yes = 0;
    for (unsigned i = 0; i < all.size; ++i) {
      if (all.record[i] != nullptr && all.record[i]->predicate) yes |= std::uint64_t{1} << i;
    }
    for (unsigned i = 0; i < all.size; ++i) {
      if (all.record[i] != nullptr) all.record[i]->yes = yes;
    }
  }
};
inline void sync_lanes(std::uint64_t lanes, ::simt::Place place) {
  Met record{lanes, false, 0};
  ::simt::together<Meet>(record, place);
}

}  // namespace detail

inline void WARP_SYNC(std::uint64_t mask, SIMT_HERE) { detail::sync_lanes(mask, SIMT_THERE); }
inline int WARP_BALLOT(int predicate, std::uint64_t mask, SIMT_HERE) {
  detail::Met record{mask, predicate != 0, 0};
  ::simt::together<detail::Meet>(record, SIMT_THERE);
  std::uint64_t lanes = 0;
  for (std::uint64_t rest = mask, rank = 0; rest != 0; rest &= rest - 1, ++rank) {
    if (record.yes >> rank & 1) lanes |= rest & (~rest + 1);
  }
  return static_cast<int>(lanes);
}
inline int WARP_ANY(int predicate, std::uint64_t mask, SIMT_HERE) {
  return WARP_BALLOT(predicate, mask, simt_file, simt_line) != 0;
}
inline int WARP_ALL(int predicate, std::uint64_t mask, SIMT_HERE) {
  return WARP_BALLOT(!predicate, mask, simt_file, simt_line) == 0;
}

/// The value of the lane `offset` below, in the logical warp that begins with `first_thread`.
template <int LogicalThreads, typename T>
T ShuffleUp(T value, int offset, int first_thread, unsigned long long, SIMT_HERE) {
  const auto warp = detail::logical_warp(LogicalThreads, "cub::ShuffleUp", SIMT_THERE);
  const int source = static_cast<int>(warp.rank) - offset;
  return detail::move(warp, value, source < first_thread ? warp.rank : static_cast<unsigned>(source), SIMT_THERE);
}
template <int LogicalThreads, typename T>
T ShuffleDown(T value, int offset, int last_thread, unsigned long long, SIMT_HERE) {
  const auto warp = detail::logical_warp(LogicalThreads, "cub::ShuffleDown", SIMT_THERE);
  const int source = static_cast<int>(warp.rank) + offset;
  return detail::move(warp, value, source > last_thread ? warp.rank : static_cast<unsigned>(source), SIMT_THERE);
}
template <int LogicalThreads, typename T>
T ShuffleIndex(T value, int source, unsigned long long, SIMT_HERE) {
  const auto warp = detail::logical_warp(LogicalThreads, "cub::ShuffleIndex", SIMT_THERE);
  return detail::move(warp, value, static_cast<unsigned>(source) % warp.size, SIMT_THERE);
}

template <typename Bits>
unsigned BFE(Bits source, unsigned start, unsigned count) {
  const Bits mask = static_cast<Bits>((Bits(1) << count) - 1);
  return static_cast<unsigned>((source >> start) & mask);
}
inline void BFI(unsigned& result, unsigned x, unsigned y, unsigned start, unsigned count) {
  const unsigned mask = ((1u << count) - 1u) << start;
  result = (x & ~mask) | ((y << start) & mask);
}
inline unsigned IADD3(unsigned x, unsigned y, unsigned z) { return x + y + z; }
inline unsigned SHR_ADD(unsigned x, unsigned shift, unsigned add) { return (x >> shift) + add; }
inline unsigned SHL_ADD(unsigned x, unsigned shift, unsigned add) { return (x << shift) + add; }

}  // namespace cub

namespace hipcub = cub;

#endif
