// SPDX-License-Identifier: Apache-2.0
// CUB's algorithms of a device, against the standard library's.
#include "check.h"
#ifdef __HIP__
#include <hipcub/hipcub.hpp>
namespace lib = hipcub;
namespace tuples = rocprim;
#else
#include <cub/cub.cuh>
#include <cuda/std/tuple>
namespace lib = cub;
namespace tuples = cuda::std;
// Comes with CUB.
static_assert(cuda::ceil_div(257, 64u) == 5 && cuda::ceil_div(256LL, 64) == 4);
#endif
#include <algorithm>
#include <limits>
#include <numeric>

/// The two calls of an algorithm: one for the size of its storage, one with it.
template <typename Call>
void run(Call call, const char* what) {
  std::size_t bytes = 0;
  check(call(nullptr, bytes) == GPU(Success) && bytes > 0, what);
  void* temp;
  if (GPU(Malloc)(&temp, bytes) != GPU(Success)) std::abort();
  check(call(temp, bytes) == GPU(Success), what);
  std::size_t less = bytes - 1;
  check(call(temp, less) == GPU(ErrorInvalidValue), "too little storage");
  GPU(Free)(temp);
}
#define RUN(what, algorithm, ...) \
  run([&](void* temp, std::size_t& bytes) { return lib::algorithm(temp, bytes, __VA_ARGS__); }, what)

struct Even {
  __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};
struct Twice {
  __host__ __device__ int operator()(int x) const { return 2 * x; }
};

template <typename T>
std::vector<T> numbers(int n, int modulus, int minus) {
  std::vector<T> v(n);
  for (int i = 0; i < n; ++i) v[i] = static_cast<T>(static_cast<int>(number(i) % modulus) - minus);
  return v;
}

void reductions(int n) {
  const std::vector<int> in = numbers<int>(n, 1000, 500);
  Device<int> d(in), out(1);
  RUN("sum", DeviceReduce::Sum, d.data, out.data, n);
  check(out.get()[0] == std::accumulate(in.begin(), in.end(), 0), "sum", n);
  RUN("max", DeviceReduce::Max, d.data, out.data, n);
  check(out.get()[0] == (n ? *std::max_element(in.begin(), in.end()) : std::numeric_limits<int>::lowest()), "max", n);
  RUN("min", DeviceReduce::Min, d.data, out.data, n);
  check(out.get()[0] == (n ? *std::min_element(in.begin(), in.end()) : std::numeric_limits<int>::max()), "min", n);
  Device<lib::KeyValuePair<int, int>> pair(1);
  RUN("argmax", DeviceReduce::ArgMax, d.data, pair.data, n);
  if (n) check(pair.get()[0].key == std::max_element(in.begin(), in.end()) - in.begin(), "argmax", n);
  RUN("argmin", DeviceReduce::ArgMin, d.data, pair.data, n);
  if (n) check(pair.get()[0].key == std::min_element(in.begin(), in.end()) - in.begin(), "argmin", n);
  std::vector<Affine> functions(n);
  Affine all{7, 3};
  for (int i = 0; i < n; ++i) all = Then()(all, functions[i] = affine(i));
  Device<Affine> d_functions(functions), result(1), scanned(n);
  RUN("reduce", DeviceReduce::Reduce, d_functions.data, result.data, n, Then(), Affine{7, 3});
  check(result.get()[0] == all, "reduce in order", n);
  std::vector<Affine> inclusive(n), exclusive(n);
  Affine sum{7, 3};
  for (int i = 0; i < n; ++i) {
    exclusive[i] = sum;
    sum = Then()(sum, functions[i]);
    inclusive[i] = i ? Then()(inclusive[i - 1], functions[i]) : functions[0];
  }
  RUN("exclusive scan", DeviceScan::ExclusiveScan, d_functions.data, scanned.data, Then(), Affine{7, 3}, n);
  same(scanned.get(), exclusive, "exclusive scan", n);
  RUN("inclusive scan", DeviceScan::InclusiveScan, d_functions.data, scanned.data, Then(), n);
  same(scanned.get(), inclusive, "inclusive scan", n);
  // Input from an iterator that transforms.
  lib::TransformInputIterator<int, Twice, int*> twice(d.data, Twice());
  RUN("sum of an iterator", DeviceReduce::Sum, twice, out.data, n);
  check(out.get()[0] == 2 * std::accumulate(in.begin(), in.end(), 0), "sum of an iterator", n);
  lib::CountingInputIterator<int> counting(5);
  RUN("sum of counted", DeviceReduce::Sum, counting, out.data, n);
  check(out.get()[0] == n * 5 + n * (n - 1) / 2, "sum of counted", n);
  std::vector<int> prefix(n);
  std::partial_sum(in.begin(), in.end(), prefix.begin());
  // In place.
  Device<int> data(in);
  RUN("inclusive sum", DeviceScan::InclusiveSum, data.data, data.data, 0);
  std::size_t bytes = 0;
  lib::DeviceScan::InclusiveSum(nullptr, bytes, data.data, data.data, n);
  Device<char> temp(bytes);
  check(lib::DeviceScan::InclusiveSum(temp.data, bytes, data.data, data.data, n) == GPU(Success), "inclusive sum", n);
  same(data.get(), prefix, "inclusive sum in place", n);
}

template <typename Key>
void sorts(int n, int modulus, int minus) {
  std::vector<Key> keys = numbers<Key>(n, modulus, minus);
  std::vector<int> places(n);
  std::iota(places.begin(), places.end(), 0);
  Device<Key> in(keys), out(n);
  Device<int> values(places), moved(n);
  RUN("sort", DeviceRadixSort::SortPairs, in.data, out.data, values.data, moved.data, n);
  std::vector<int> order = places;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
  same(moved.get(), order, "stable sort", n);
  RUN("descending", DeviceRadixSort::SortPairsDescending, in.data, out.data, values.data, moved.data, n);
  order = places;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[b] < keys[a]; });
  same(moved.get(), order, "stable sort, descending", n);
  lib::DoubleBuffer<Key> both(in.data, out.data);
  std::size_t bytes = 0;
  lib::DeviceRadixSort::SortKeys(nullptr, bytes, both, n);
  Device<char> temp(bytes);
  lib::DeviceRadixSort::SortKeys(temp.data, bytes, both, n);
  std::vector<Key> sorted = keys, got(n);
  std::stable_sort(sorted.begin(), sorted.end());
  GPU(Memcpy)(got.data(), both.Current(), n * sizeof(Key), GPU(MemcpyDeviceToHost));
  same(got, sorted, "two buffers", n);
  if (std::is_integral_v<Key>) {
    RUN("bits", DeviceRadixSort::SortPairs, static_cast<const Key*>(both.Current()), both.Alternate(), values.data,
        moved.data, n, 2, 5);
    order = places;
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      const auto part = [&](int i) { return static_cast<unsigned long long>(sorted[i]) >> 2 & 7; };
      return part(a) < part(b);
    });
    same(moved.get(), order, "some bits", n);
  }
}

struct Edge {
  int from, to;
  float length;
  bool operator==(const Edge& o) const { return from == o.from && to == o.to && length == o.length; }
};
struct ByEndAndLength {
  __host__ __device__ tuples::tuple<int&, float&> operator()(Edge& edge) const {
    return tuples::tuple<int&, float&>{edge.to, edge.length};
  }
};

void members() {
  const int n = 257;
  std::vector<Edge> edges(n);
  std::vector<int> places(n);
  for (int i = 0; i < n; ++i) edges[i] = {i, (i * 7919) % 5 - 2, static_cast<float>((i * 31) % 11) - 5.5f};
  std::iota(places.begin(), places.end(), 0);
  Device<Edge> in(edges), out(n);
  Device<int> values(places), moved(n);
  const auto less = [&](int a, int b) {
    return edges[a].to != edges[b].to ? edges[a].to < edges[b].to : edges[a].length < edges[b].length;
  };
  RUN("members", DeviceRadixSort::SortPairs, in.data, out.data, values.data, moved.data, n, ByEndAndLength{});
  std::vector<int> order = places;
  std::stable_sort(order.begin(), order.end(), less);
  same(moved.get(), order, "by members", n);
  RUN("members, descending", DeviceRadixSort::SortKeysDescending, in.data, out.data, n, ByEndAndLength{});
  order = places;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return less(b, a); });
  std::vector<Edge> sorted;
  for (int i : order) sorted.push_back(edges[i]);
  same(out.get(), sorted, "by members, descending", n);
}

void segments() {
  const int n = 1000;
  const std::vector<int> in = numbers<int>(n, 100, 50), offsets{0, 0, 1, 33, 500, 500, 1000};
  const int count = static_cast<int>(offsets.size()) - 1;
  Device<int> d(in), out(n), sums(count), bounds(offsets);
  RUN("segmented sort", DeviceSegmentedRadixSort::SortKeys, d.data, out.data, n, count, bounds.data, bounds.data + 1);
  std::vector<int> sorted = in, want(count);
  for (int s = 0; s < count; ++s) {
    std::sort(sorted.begin() + offsets[s], sorted.begin() + offsets[s + 1]);
    want[s] = std::accumulate(in.begin() + offsets[s], in.begin() + offsets[s + 1], 0);
  }
  same(out.get(), sorted, "segmented sort");
  RUN("segmented sum", DeviceSegmentedReduce::Sum, d.data, sums.data, count, bounds.data, bounds.data + 1);
  same(sums.get(), want, "segmented sum");
}

void selections() {
  const int n = 777;
  const std::vector<int> in = numbers<int>(n, 100, 0);
  Device<int> d(in), out(n), count(1);
  std::vector<int> even, rest;
  for (int x : in) (x % 2 == 0 ? even : rest).push_back(x);
  RUN("if", DeviceSelect::If, d.data, out.data, count.data, n, Even());
  check(count.get()[0] == static_cast<int>(even.size()), "selected");
  same(out.get(), even, "select if");
  RUN("partition", DevicePartition::If, d.data, out.data, count.data, n, Even());
  std::vector<int> parted = even;
  parted.insert(parted.end(), rest.rbegin(), rest.rend());
  same(out.get(), parted, "partition");
  std::vector<char> flags(n);
  for (int i = 0; i < n; ++i) flags[i] = in[i] % 2 == 0;
  Device<char> d_flags(flags);
  RUN("flagged", DeviceSelect::Flagged, d.data, d_flags.data, out.data, count.data, n);
  same(out.get(), even, "select flagged");
  std::vector<int> runs(n), unique, lengths;
  for (int i = 0; i < n; ++i) runs[i] = in[i / 7] % 5;
  for (int i = 0; i < n; ++i) {
    if (i == 0 || runs[i] != runs[i - 1]) unique.push_back(runs[i]), lengths.push_back(0);
    ++lengths.back();
  }
  Device<int> d_runs(runs), counts(n);
  RUN("unique", DeviceSelect::Unique, d_runs.data, out.data, count.data, n);
  check(count.get()[0] == static_cast<int>(unique.size()), "unique count");
  same(out.get(), unique, "unique");
  RUN("encode", DeviceRunLengthEncode::Encode, d_runs.data, out.data, counts.data, count.data, n);
  same(counts.get(), lengths, "run lengths");
  RUN("reduce by key", DeviceReduce::ReduceByKey, d_runs.data, out.data, d.data, counts.data, count.data, lib::Sum(),
      n);
  std::vector<int> sums;
  for (int i = 0; i < n; ++i) {
    if (i == 0 || runs[i] != runs[i - 1]) sums.push_back(0);
    sums.back() += in[i];
  }
  same(counts.get(), sums, "reduce by key");
  std::vector<int> by_key(n);
  for (int i = 0; i < n; ++i) by_key[i] = i && runs[i] == runs[i - 1] ? by_key[i - 1] + in[i - 1] : 0;
  RUN("scan by key", DeviceScan::ExclusiveSumByKey, d_runs.data, d.data, out.data, n);
  same(out.get(), by_key, "scan by key");
  std::vector<int> bins(10);
  for (int x : in) ++bins[x / 10];
  RUN("histogram", DeviceHistogram::HistogramEven, d.data, counts.data, 11, 0, 100, n);
  same(counts.get(), bins, "histogram");
  const std::vector<int> levels{0, 7, 50, 60};
  Device<int> d_levels(levels);
  RUN("histogram", DeviceHistogram::HistogramRange, d.data, counts.data, 4, d_levels.data, n);
  std::vector<int> ranges(3);
  for (int x : in) if (x < 60) ++ranges[x < 7 ? 0 : x < 50 ? 1 : 2];
  same(counts.get(), ranges, "histogram of ranges");
  Device<int> keys(in);
  const auto more = [](int a, int b) { return b < a; };
  RUN("merge sort", DeviceMergeSort::StableSortKeys, keys.data, n, more);
  std::vector<int> descending = in;
  std::sort(descending.begin(), descending.end(), more);
  same(keys.get(), descending, "merge sort");
}

int main() {
  for (int n : {0, 1, 31, 33, 512, 513, 5000}) reductions(n);
  sorts<int>(3000, 1000, 500);
  sorts<unsigned char>(500, 256, 0);
  sorts<long long>(100, 10, 5);
  sorts<float>(1000, 100, 50);
  sorts<double>(1000, 100000, 50000);
  members();
  segments();
  selections();
  // Sums of many floats keep their places: 2^24 ones are 2^24, and so on.
  std::vector<float> ones((1 << 24) + 1000, 1.0f);
  Device<float> d(ones), sum(1);
  RUN("many", DeviceReduce::Sum, d.data, sum.data, static_cast<int>(ones.size()));
  check(sum.get()[0] == static_cast<float>(ones.size()), "sum of many ones");
  return finish();
}
