// SPDX-License-Identifier: Apache-2.0
// Dense linear algebra in plain loops: include/simt/blas_core.h describes the functions. Correctness comes first; only
// the product of matrices is optimized, and other functions use it.
#include "../include/simt/blas_core.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "../include/simt/host.h"
#include "../include/simt/narrow.h"

// Without fused operations, wider vectors give the same results.
#if defined(__x86_64__) && defined(__gnu_linux__)
#define SIMT_WIDE SIMT_VECTORIZED __attribute__((target_clones("avx2", "default")))
#else
#define SIMT_WIDE SIMT_VECTORIZED
#endif
// g++ 12 vectorizes loops of unknown length at -O3.
#if defined(__GNUC__) && !defined(__clang__)
#define SIMT_VECTORIZED __attribute__((optimize("O3")))
#else
#define SIMT_VECTORIZED
#endif

namespace simt {
namespace blas {

namespace {

using ComplexFloat = std::complex<float>;
using ComplexDouble = std::complex<double>;

template <typename T>
constexpr bool is_complex = false;
template <typename R>
constexpr bool is_complex<std::complex<R>> = true;

template <typename T>
struct RealOf {
  using type = T;
};
template <typename R>
struct RealOf<std::complex<R>> {
  using type = R;
};
template <typename T>
using Real = typename RealOf<T>::type;

// Without C99's special cases for infinities, as a GPU multiplies.
template <typename T>
T times(T a, T b) {
  return a * b;
}
template <typename R>
std::complex<R> times(std::complex<R> a, std::complex<R> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
template <typename T>
T conjugate(T a) {
  return a;
}
template <typename R>
std::complex<R> conjugate(std::complex<R> a) {
  return {a.real(), -a.imag()};
}
template <typename T>
Real<T> real_part(T a) {
  if constexpr (is_complex<T>) {
    return a.real();
  } else {
    return a;
  }
}
/// The magnitude that BLAS compares and sums.
template <typename T>
Real<T> magnitude(T a) {
  if constexpr (is_complex<T>) {
    return std::abs(a.real()) + std::abs(a.imag());
  } else {
    return std::abs(a);
  }
}

/// Convert between number types; from complex to real, the real part is kept.
template <typename To, typename From>
To as(From from) {
  if constexpr (is_complex<To>) {
    if constexpr (is_complex<From>) {
      return To(static_cast<Real<To>>(from.real()), static_cast<Real<To>>(from.imag()));
    } else {
      return To(static_cast<Real<To>>(from), 0);
    }
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    const From whole = std::nearbyint(from);
    return static_cast<To>(
        std::min<double>(std::max<double>(whole, std::numeric_limits<To>::min()), std::numeric_limits<To>::max()));
  } else if constexpr (std::is_integral_v<To> && !is_complex<From>) {
    // Narrower integers saturate.
    return static_cast<To>(std::min<std::int64_t>(std::max<std::int64_t>(from, std::numeric_limits<To>::min()),
                                                  std::numeric_limits<To>::max()));
  } else {
    return static_cast<To>(real_part(from));
  }
}

/// A 16-bit number.
template <typename Format>
struct Small {
  unsigned short bits;
};
using Half = Small<detail::HalfFormat>;
using Bfloat = Small<detail::BfloatFormat>;

template <typename To, typename Stored>
To loaded(Stored stored) {
  return as<To>(stored);
}
template <typename To, typename Format>
To loaded(Small<Format> stored) {
  return as<To>(Format::to_float(stored.bits));
}
template <typename Stored, typename From>
Stored stored_as(From from) {
  if constexpr (std::is_same_v<Stored, Half>) {
    return Half{detail::HalfFormat::from(as<double>(from))};
  } else if constexpr (std::is_same_v<Stored, Bfloat>) {
    return Bfloat{detail::BfloatFormat::from(as<double>(from))};
  } else {
    return as<Stored>(from);
  }
}

template <typename T>
struct Tag {
  using type = T;
};

/// Call `use(Tag<T>())` with the type in memory.
template <typename Use>
void with_stored(hipDataType type, Use use) {
  switch (type) {
    case HIP_R_32F: return use(Tag<float>());
    case HIP_R_64F: return use(Tag<double>());
    case HIP_C_32F: return use(Tag<ComplexFloat>());
    case HIP_C_64F: return use(Tag<ComplexDouble>());
    case HIP_R_16F: return use(Tag<Half>());
    case HIP_R_16BF: return use(Tag<Bfloat>());
    case HIP_R_8I: return use(Tag<std::int8_t>());
    case HIP_R_8U: return use(Tag<std::uint8_t>());
    case HIP_R_32I: return use(Tag<std::int32_t>());
    default: fault("unsupported", Place{"", 0}, "numbers of type %d (cudaDataType) in linear algebra", int(type));
  }
}
/// Call `use(Tag<T>())` with the type that numbers of `type` are computed in.
template <typename Use>
void with_computed(hipDataType type, Use use) {
  switch (type) {
    case HIP_R_64F: return use(Tag<double>());
    case HIP_C_32F: return use(Tag<ComplexFloat>());
    case HIP_C_64F: return use(Tag<ComplexDouble>());
    case HIP_R_32I: return use(Tag<std::int32_t>());
    default: return use(Tag<float>());
  }
}

template <typename T>
T value(Scalar scalar) {
  T result{};
  with_stored(scalar.type,
              [&](auto tag) { result = loaded<T>(*static_cast<const typename decltype(tag)::type*>(scalar.at)); });
  return result;
}
template <typename T>
void put(void* at, hipDataType type, T number) {
  with_stored(type, [&](auto tag) {
    using Stored = typename decltype(tag)::type;
    *static_cast<Stored*>(at) = stored_as<Stored>(number);
  });
}

Index first_of(const Vector& x) { return x.step < 0 ? (1 - x.n) * x.step : 0; }

/// The numbers of a vector, in order.
template <typename T>
std::vector<T> read(const Vector& x) {
  std::vector<T> all(static_cast<std::size_t>(std::max<Index>(x.n, 0)));
  with_stored(x.type, [&](auto tag) {
    const auto* at = static_cast<const typename decltype(tag)::type*>(x.at) + first_of(x);
    for (T& each : all) {
      each = loaded<T>(*at);
      at += x.step;
    }
  });
  return all;
}
template <typename T>
void write(const Vector& x, const std::vector<T>& all) {
  with_stored(x.type, [&](auto tag) {
    using Stored = typename decltype(tag)::type;
    auto* at = static_cast<Stored*>(const_cast<void*>(x.at)) + first_of(x);
    for (const T& each : all) {
      *at = stored_as<Stored>(each);
      at += x.step;
    }
  });
}

/// A matrix without gaps between its columns.
template <typename T>
struct Dense {
  Index rows, columns;
  std::vector<T> all;

  Dense(Index rows, Index columns)
      : rows(rows), columns(columns), all(static_cast<std::size_t>(std::max<Index>(rows * columns, 0))) {}
  T& operator()(Index i, Index j) { return all[static_cast<std::size_t>(i + j * rows)]; }
  const T& operator()(Index i, Index j) const { return all[static_cast<std::size_t>(i + j * rows)]; }
};

template <typename T>
Dense<T> read(const Matrix& a) {
  Dense<T> all(a.rows, a.columns);
  with_stored(a.type, [&](auto tag) {
    const auto* at = static_cast<const typename decltype(tag)::type*>(a.at);
    for (Index j = 0; j < a.columns; ++j) {
      for (Index i = 0; i < a.rows; ++i) all(i, j) = loaded<T>(at[i + j * a.ld]);
    }
  });
  return all;
}
/// `which(i, j)` says whether an element is written.
template <typename T, typename Which>
void write(const Matrix& a, const Dense<T>& all, Which which) {
  with_stored(a.type, [&](auto tag) {
    using Stored = typename decltype(tag)::type;
    auto* at = static_cast<Stored*>(const_cast<void*>(a.at));
    for (Index j = 0; j < a.columns; ++j) {
      for (Index i = 0; i < a.rows; ++i) {
        if (which(i, j)) at[i + j * a.ld] = stored_as<Stored>(all(i, j));
      }
    }
  });
}
template <typename T>
void write(const Matrix& a, const Dense<T>& all) {
  write(a, all, [](Index, Index) { return true; });
}

template <typename T>
Dense<T> operated(Dense<T> a, Operation operation) {
  if (operation == Operation::none) return a;
  const bool conjugates = is_complex<T> && operation != Operation::transposed;
  if (operation == Operation::conjugated) {
    for (T& each : a.all) each = conjugate(each);
    return a;
  }
  Dense<T> result(a.columns, a.rows);
  constexpr Index tile = 32;
  for (Index jj = 0; jj < a.columns; jj += tile) {
    for (Index ii = 0; ii < a.rows; ii += tile) {
      for (Index j = jj; j < std::min(jj + tile, a.columns); ++j) {
        for (Index i = ii; i < std::min(ii + tile, a.rows); ++i) {
          result(j, i) = conjugates ? conjugate(a(i, j)) : a(i, j);
        }
      }
    }
  }
  return result;
}

/// The stored elements of a triangle, with 1 on the diagonal if that is implicit.
template <typename T>
Dense<T> triangle(const Matrix& stored, Fill fill, bool unit) {
  Dense<T> a = read<T>(stored);
  for (Index j = 0; j < a.columns; ++j) {
    for (Index i = 0; i < a.rows; ++i) {
      if (fill == Fill::lower ? i < j : i > j) a(i, j) = T(0);
    }
    if (unit) a(j, j) = T(1);
  }
  return a;
}
template <typename T>
Dense<T> symmetric(const Matrix& stored, Fill fill, bool hermitian) {
  Dense<T> a = read<T>(stored);
  for (Index j = 0; j < a.columns; ++j) {
    if (hermitian) a(j, j) = T(real_part(a(j, j)));
    for (Index i = j + 1; i < a.rows; ++i) {
      T& below = a(i, j);
      T& above = a(j, i);
      (fill == Fill::lower ? above : below) =
          hermitian ? conjugate(fill == Fill::lower ? below : above) : (fill == Fill::lower ? below : above);
    }
  }
  return a;
}

// Four columns of C at a time, a part of A that stays in the cache, and every sum in the order of its index.
#define SIMT_PRODUCT(T)                                                                                           \
  SIMT_WIDE void product_of(Index m, Index n, Index k, const T* __restrict a, const T* __restrict b,              \
                            T* __restrict c) {                                                                    \
    constexpr Index rows = 256, depth = 128;                                                                      \
    for (Index ii = 0; ii < m; ii += rows) {                                                                      \
      const Index end = std::min(ii + rows, m);                                                                   \
      for (Index pp = 0; pp < k; pp += depth) {                                                                   \
        const Index last = std::min(pp + depth, k);                                                               \
        Index j = 0;                                                                                              \
        for (; j + 4 <= n; j += 4) {                                                                              \
          T* __restrict c0 = c + j * m;                                                                           \
          T* __restrict c1 = c0 + m;                                                                              \
          T* __restrict c2 = c1 + m;                                                                              \
          T* __restrict c3 = c2 + m;                                                                              \
          for (Index p = pp; p < last; ++p) {                                                                     \
            const T* __restrict column = a + p * m;                                                               \
            const T b0 = b[p + j * k], b1 = b[p + (j + 1) * k], b2 = b[p + (j + 2) * k], b3 = b[p + (j + 3) * k]; \
            for (Index i = ii; i < end; ++i) {                                                                    \
              c0[i] += times(column[i], b0);                                                                      \
              c1[i] += times(column[i], b1);                                                                      \
              c2[i] += times(column[i], b2);                                                                      \
              c3[i] += times(column[i], b3);                                                                      \
            }                                                                                                     \
          }                                                                                                       \
        }                                                                                                         \
        for (; j < n; ++j) {                                                                                      \
          for (Index p = pp; p < last; ++p) {                                                                     \
            for (Index i = ii; i < end; ++i) c[i + j * m] += times(a[i + p * m], b[p + j * k]);                   \
          }                                                                                                       \
        }                                                                                                         \
      }                                                                                                           \
    }                                                                                                             \
  }
SIMT_PRODUCT(float)
SIMT_PRODUCT(double)
SIMT_PRODUCT(ComplexFloat)
SIMT_PRODUCT(ComplexDouble)
// Unsigned: sums of integers wrap.
SIMT_PRODUCT(std::uint32_t)
#undef SIMT_PRODUCT

template <typename T>
Dense<T> product(const Dense<T>& a, const Dense<T>& b) {
  Dense<T> c(a.rows, b.columns);
  if constexpr (std::is_same_v<T, std::int32_t>) {
    product_of(a.rows, b.columns, a.columns, reinterpret_cast<const std::uint32_t*>(a.all.data()),
               reinterpret_cast<const std::uint32_t*>(b.all.data()), reinterpret_cast<std::uint32_t*>(c.all.data()));
  } else {
    product_of(a.rows, b.columns, a.columns, a.all.data(), b.all.data(), c.all.data());
  }
  return c;
}

/// alpha sum + beta c, where c is not read if beta is 0.
template <typename T, typename S, typename Which>
void combine(S alpha, const Dense<T>& sum, S beta, const Matrix& c, Which which) {
  Dense<S> result(c.rows, c.columns);
  if (beta != S(0)) result = read<S>(c);
  for (Index j = 0; j < c.columns; ++j) {
    for (Index i = 0; i < c.rows; ++i) {
      const S scaled = alpha == S(0) ? S(0) : times(alpha, as<S>(sum(i, j)));
      result(i, j) = beta == S(0) ? scaled : scaled + times(beta, result(i, j));
    }
  }
  write(c, result, which);
}
template <typename T, typename S>
void combine(S alpha, const Dense<T>& sum, S beta, const Matrix& c) {
  combine(alpha, sum, beta, c, [](Index, Index) { return true; });
}

template <typename T>
std::vector<T> product(const Dense<T>& a, const std::vector<T>& x) {
  std::vector<T> y(static_cast<std::size_t>(a.rows));
  for (Index j = 0; j < a.columns; ++j) {
    for (Index i = 0; i < a.rows; ++i) {
      y[static_cast<std::size_t>(i)] += times(a(i, j), x[static_cast<std::size_t>(j)]);
    }
  }
  return y;
}
template <typename T>
void combine(T alpha, const std::vector<T>& sum, T beta, const Vector& y) {
  std::vector<T> result(sum.size());
  if (beta != T(0)) result = read<T>(y);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const T scaled = alpha == T(0) ? T(0) : times(alpha, sum[i]);
    result[i] = beta == T(0) ? scaled : scaled + times(beta, result[i]);
  }
  write(y, result);
}

/// Solve a X = b in place of b, where `a` is a triangle.
template <typename T>
void solve_triangle(const Dense<T>& a, bool lower, Dense<T>& b) {
  const Index n = a.rows;
  for (Index column = 0; column < b.columns; ++column) {
    for (Index step = 0; step < n; ++step) {
      const Index j = lower ? step : n - 1 - step;
      const T x = b(j, column) = b(j, column) / a(j, j);
      if (lower) {
        for (Index i = j + 1; i < n; ++i) b(i, column) -= times(a(i, j), x);
      } else {
        for (Index i = 0; i < j; ++i) b(i, column) -= times(a(i, j), x);
      }
    }
  }
}

bool turns(Operation operation) { return operation == Operation::transposed || operation == Operation::adjoint; }

std::size_t size_of(hipDataType type) {
  std::size_t size = 0;
  with_stored(type, [&](auto tag) { size = sizeof(typename decltype(tag)::type); });
  return size;
}

void check_memory(const Call& call, const char* what, const void* at, Index count, hipDataType type) {
  if (count <= 0) return;
  if (host::side(at) == host::Side::host) {
    fault("host-memory", call.place, "%s: %s is host memory, which the device cannot reach", call.name, what);
  }
  check_range(call.name, at, static_cast<std::size_t>(count) * size_of(type), call.place);
}

}  // namespace

bool is_known(hipDataType type) {
  switch (type) {
    case HIP_R_32F:
    case HIP_R_64F:
    case HIP_C_32F:
    case HIP_C_64F:
    case HIP_R_16F:
    case HIP_R_16BF:
    case HIP_R_8I:
    case HIP_R_8U:
    case HIP_R_32I: return true;
    default: return false;
  }
}

void check(const Call& call, const char* what, const Vector& x) {
  check_memory(call, what, x.at, x.n <= 0 ? 0 : 1 + (x.n - 1) * std::abs(x.step), x.type);
}
void check(const Call& call, const char* what, const Matrix& a) {
  check_memory(call, what, a.at, a.rows <= 0 || a.columns <= 0 ? 0 : (a.columns - 1) * a.ld + a.rows, a.type);
}

// ---------------------------------------------------------------------------------------------------------- level 1

Index extreme(Vector x, bool largest) {
  Index found = 0;
  with_computed(x.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Real<T> best{};
    const std::vector<T> all = read<T>(x);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Real<T> size = magnitude(all[i]);
      if (i == 0 || (largest ? size > best : size < best)) {
        best = size;
        found = static_cast<Index>(i) + 1;
      }
    }
  });
  return found;
}

void sum_of_magnitudes(Vector x, void* result, hipDataType type) {
  double sum = 0;
  with_computed(x.type, [&](auto tag) {
    for (const auto each : read<typename decltype(tag)::type>(x)) sum += static_cast<double>(magnitude(each));
  });
  put(result, type, sum);
}

void norm(Vector x, void* result, hipDataType type) {
  // Scaled, so that squares neither overflow nor vanish.
  double scale = 0, squares = 0;
  with_computed(x.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto all = read<T>(x);
    const auto parts = [](T each) {
      const ComplexDouble wide = as<ComplexDouble>(each);
      return std::max(std::abs(wide.real()), std::abs(wide.imag()));
    };
    for (const T each : all) {
      const double part = parts(each);
      if (!(part <= scale)) scale = part;  // a NaN stays
    }
    if (scale == 0 || !std::isfinite(scale)) return;
    for (const T each : all) squares += std::norm(as<ComplexDouble>(each) / scale);
  });
  put(result, type, scale == 0 || !std::isfinite(scale) ? scale : scale * std::sqrt(squares));
}

void dot(Vector x, bool conjugated, Vector y, void* result, hipDataType type) {
  with_computed(x.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Wide = std::conditional_t<is_complex<T>, ComplexDouble, double>;
    const auto a = read<T>(x), b = read<T>(y);
    Wide sum{};
    for (std::size_t i = 0; i < a.size(); ++i) {
      const Wide left = as<Wide>(a[i]);
      sum += times(conjugated ? conjugate(left) : left, as<Wide>(b[i]));
    }
    put(result, type, sum);
  });
}

void axpy(Scalar alpha, Vector x, Vector y) {
  with_computed(y.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T factor = value<T>(alpha);
    if (factor == T(0)) return;
    const auto a = read<T>(x);
    auto b = read<T>(y);
    for (std::size_t i = 0; i < a.size(); ++i) b[i] += times(factor, a[i]);
    write(y, b);
  });
}

void scale(Scalar alpha, Vector x) {
  with_computed(x.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T factor = value<T>(alpha);
    auto all = read<T>(x);
    for (T& each : all) each = times(factor, each);
    write(x, all);
  });
}

void copy(Vector x, Vector y) {
  with_computed(x.type, [&](auto tag) { write(y, read<typename decltype(tag)::type>(x)); });
}

void swap(Vector x, Vector y) {
  with_computed(x.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto a = read<T>(x), b = read<T>(y);
    write(x, b);
    write(y, a);
  });
}

void rotate(Vector x, Vector y, Scalar cosine, Scalar sine) {
  with_computed(x.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T c = value<T>(cosine), s = value<T>(sine);
    auto a = read<T>(x), b = read<T>(y);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const T first = times(c, a[i]) + times(s, b[i]);
      b[i] = times(c, b[i]) - times(conjugate(s), a[i]);
      a[i] = first;
    }
    write(x, a);
    write(y, b);
  });
}

void make_rotation(void* a, void* b, void* cosine, void* sine, hipDataType type) {
  with_computed(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T& first = *static_cast<T*>(a);
    T& second = *static_cast<T*>(b);
    Real<T>& c = *static_cast<Real<T>*>(cosine);
    T& s = *static_cast<T*>(sine);
    const double x = std::abs(as<ComplexDouble>(first)), y = std::abs(as<ComplexDouble>(second));
    if constexpr (is_complex<T>) {
      if (x == 0) {
        c = 0;
        s = T(1);
        first = second;
      } else {
        const double r = std::hypot(x, y);
        const ComplexDouble sign = as<ComplexDouble>(first) / x;
        c = static_cast<Real<T>>(x / r);
        s = as<T>(sign * std::conj(as<ComplexDouble>(second)) / r);
        first = as<T>(sign * r);
      }
    } else {
      const double larger = as<double>(x > y ? first : second);
      const double r = std::copysign(std::hypot(x, y), larger);
      c = r == 0 ? T(1) : as<T>(as<double>(first) / r);
      s = r == 0 ? T(0) : as<T>(as<double>(second) / r);
      const T z = r == 0 ? T(0) : x > y ? s : c != 0 ? T(1) / c : T(1);
      first = as<T>(r);
      second = z;
    }
  });
}

void rotate_modified(Vector x, Vector y, Scalar parameters) {
  with_computed(x.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* p = static_cast<const T*>(parameters.at);
    if (p[0] == T(-2)) return;
    const T h11 = p[0] == T(0) ? T(1) : p[1], h22 = p[0] == T(0) ? T(1) : p[4];
    const T h21 = p[0] == T(1) ? T(-1) : p[2], h12 = p[0] == T(1) ? T(1) : p[3];
    auto a = read<T>(x), b = read<T>(y);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const T first = times(h11, a[i]) + times(h12, b[i]);
      b[i] = times(h21, a[i]) + times(h22, b[i]);
      a[i] = first;
    }
    write(x, a);
    write(y, b);
  });
}

// ---------------------------------------------------------------------------------------------------------- level 2

void gemv(Operation operation, Scalar alpha, Matrix a, Vector x, Scalar beta, Vector y) {
  with_computed(a.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T factor = value<T>(alpha);
    std::vector<T> sum(static_cast<std::size_t>(y.n));
    if (factor != T(0)) sum = product(operated(read<T>(a), operation), read<T>(x));
    combine(factor, sum, value<T>(beta), y);
  });
}

void gbmv(Operation operation, Index below, Index above, Scalar alpha, Matrix band, Index rows, Vector x, Scalar beta,
          Vector y) {
  with_computed(band.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Dense<T> stored = read<T>(band);
    Dense<T> a(rows, band.columns);
    for (Index j = 0; j < a.columns; ++j) {
      for (Index i = std::max<Index>(0, j - above); i <= std::min(rows - 1, j + below); ++i) {
        a(i, j) = stored(above + i - j, j);
      }
    }
    combine(value<T>(alpha), product(operated(a, operation), read<T>(x)), value<T>(beta), y);
  });
}

void rank_one(Scalar alpha, Vector x, Vector y, bool conjugated, Matrix a) {
  with_computed(a.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T factor = value<T>(alpha);
    const auto left = read<T>(x), right = read<T>(y);
    Dense<T> all = read<T>(a);
    for (Index j = 0; j < a.columns; ++j) {
      const T other = right[static_cast<std::size_t>(j)];
      const T by = times(factor, conjugated ? conjugate(other) : other);
      for (Index i = 0; i < a.rows; ++i) all(i, j) += times(left[static_cast<std::size_t>(i)], by);
    }
    write(a, all);
  });
}

namespace {
auto inside(Fill fill) {
  return [fill](Index i, Index j) { return fill == Fill::full || (fill == Fill::lower ? i >= j : i <= j); };
}
}  // namespace

void rank_one_symmetric(Fill fill, bool hermitian, Scalar alpha, Vector x, Matrix a) {
  with_computed(a.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T factor = value<T>(alpha);
    const auto all = read<T>(x);
    Dense<T> result = read<T>(a);
    for (Index j = 0; j < a.columns; ++j) {
      const T other = all[static_cast<std::size_t>(j)];
      const T by = times(factor, hermitian ? conjugate(other) : other);
      for (Index i = 0; i < a.rows; ++i) result(i, j) += times(all[static_cast<std::size_t>(i)], by);
      if (hermitian) result(j, j) = T(real_part(result(j, j)));
    }
    write(a, result, inside(fill));
  });
}

void rank_two_symmetric(Fill fill, bool hermitian, Scalar alpha, Vector x, Vector y, Matrix a) {
  with_computed(a.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T factor = value<T>(alpha);
    const auto left = read<T>(x), right = read<T>(y);
    const auto second = [&](T number) { return hermitian ? conjugate(number) : number; };
    Dense<T> result = read<T>(a);
    for (Index j = 0; j < a.columns; ++j) {
      const T by_right = times(factor, second(right[static_cast<std::size_t>(j)]));
      const T by_left = times(second(factor), second(left[static_cast<std::size_t>(j)]));
      for (Index i = 0; i < a.rows; ++i) {
        result(i, j) +=
            times(left[static_cast<std::size_t>(i)], by_right) + times(right[static_cast<std::size_t>(i)], by_left);
      }
      if (hermitian) result(j, j) = T(real_part(result(j, j)));
    }
    write(a, result, inside(fill));
  });
}

void symv(Fill fill, bool hermitian, Scalar alpha, Matrix a, Vector x, Scalar beta, Vector y) {
  with_computed(a.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    combine(value<T>(alpha), product(symmetric<T>(a, fill, hermitian), read<T>(x)), value<T>(beta), y);
  });
}

void trmv(Fill fill, Operation operation, bool unit, Matrix a, Vector x) {
  with_computed(a.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    write(x, product(operated(triangle<T>(a, fill, unit), operation), read<T>(x)));
  });
}

void trsv(Fill fill, Operation operation, bool unit, Matrix a, Vector x) {
  with_computed(a.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Dense<T> right(x.n, 1);
    right.all = read<T>(x);
    solve_triangle(operated(triangle<T>(a, fill, unit), operation), (fill == Fill::lower) != turns(operation), right);
    write(x, right.all);
  });
}

// ---------------------------------------------------------------------------------------------------------- level 3

void gemm(hipDataType compute, Operation of_a, Operation of_b, Scalar alpha, Matrix a, Matrix b, Scalar beta,
          Matrix c) {
  with_computed(compute, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto finish = [&](auto scalar) {
      using S = typename decltype(scalar)::type;
      const S factor = value<S>(alpha);
      Dense<T> sum(c.rows, c.columns);
      if (factor != S(0)) sum = product(operated(read<T>(a), of_a), operated(read<T>(b), of_b));
      combine(factor, sum, value<S>(beta), c);
    };
    // Integer sums may be scaled as floats.
    if constexpr (std::is_same_v<T, std::int32_t>) {
      if (alpha.type == HIP_R_32F) return finish(Tag<float>());
    }
    finish(Tag<T>());
  });
}

void symm(Side side, Fill fill, bool hermitian, Scalar alpha, Matrix a, Matrix b, Scalar beta, Matrix c) {
  with_computed(a.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Dense<T> whole = symmetric<T>(a, fill, hermitian), other = read<T>(b);
    combine(value<T>(alpha), side == Side::left ? product(whole, other) : product(other, whole), value<T>(beta), c);
  });
}

void syrk(Fill fill, Operation operation, bool hermitian, Scalar alpha, Matrix a, const Matrix* b, Scalar beta,
          Matrix c) {
  with_computed(a.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Operation turn = hermitian ? Operation::adjoint : Operation::transposed;
    const Dense<T> left = operated(read<T>(a), operation);
    const Dense<T> right = b == nullptr ? left : operated(read<T>(*b), operation);
    T factor = value<T>(alpha);
    Dense<T> sum = product(left, operated(right, turn));
    if (b != nullptr) {
      const Dense<T> other = product(right, operated(left, turn));
      const T second = hermitian ? conjugate(factor) : factor;
      for (std::size_t i = 0; i < sum.all.size(); ++i) {
        sum.all[i] = times(factor, sum.all[i]) + times(second, other.all[i]);
      }
      factor = T(1);
    }
    if (hermitian) {
      for (Index j = 0; j < sum.columns; ++j) sum(j, j) = T(real_part(sum(j, j)));
    }
    combine(factor, sum, value<T>(beta), c, inside(fill));
  });
}

void trmm(Side side, Fill fill, Operation operation, bool unit, Scalar alpha, Matrix a, Matrix b, Matrix c) {
  with_computed(a.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Dense<T> factor = operated(triangle<T>(a, fill, unit), operation), other = read<T>(b);
    combine(value<T>(alpha), side == Side::left ? product(factor, other) : product(other, factor), T(0), c);
  });
}

void trsm(Side side, Fill fill, Operation operation, bool unit, Scalar alpha, Matrix a, Matrix b) {
  with_computed(a.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T factor = value<T>(alpha);
    Dense<T> right = read<T>(b);
    for (T& each : right.all) each = factor == T(0) ? T(0) : times(factor, each);
    Dense<T> left = operated(triangle<T>(a, fill, unit), operation);
    bool lower = (fill == Fill::lower) != turns(operation);
    if (side == Side::right) {
      // X A = B where A' X' = B'.
      left = operated(std::move(left), Operation::transposed);
      right = operated(std::move(right), Operation::transposed);
      lower = !lower;
    }
    solve_triangle(left, lower, right);
    write(b, side == Side::right ? operated(std::move(right), Operation::transposed) : right);
  });
}

void geam(Operation of_a, Operation of_b, Scalar alpha, Matrix a, Scalar beta, Matrix b, Matrix c) {
  with_computed(c.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T first = value<T>(alpha), second = value<T>(beta);
    Dense<T> sum(c.rows, c.columns);
    const auto add = [&](T factor, const Matrix& matrix, Operation operation) {
      if (factor == T(0)) return;
      const Dense<T> all = operated(read<T>(matrix), operation);
      for (std::size_t i = 0; i < sum.all.size(); ++i) sum.all[i] += times(factor, all.all[i]);
    };
    add(first, a, of_a);
    add(second, b, of_b);
    write(c, sum);
  });
}

void dgmm(Side side, Matrix a, Vector x, Matrix c) {
  with_computed(a.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Dense<T> all = read<T>(a);
    const auto diagonal = read<T>(x);
    for (Index j = 0; j < all.columns; ++j) {
      for (Index i = 0; i < all.rows; ++i) {
        all(i, j) = times(all(i, j), diagonal[static_cast<std::size_t>(side == Side::left ? i : j)]);
      }
    }
    write(c, all);
  });
}

namespace {

template <typename T>
Dense<T> read(const Ordered& a) {
  if (!a.by_rows) return read<T>(a.matrix);
  const Matrix turned{a.matrix.at, a.matrix.type, a.matrix.columns, a.matrix.rows, a.matrix.ld};
  return operated(read<T>(turned), Operation::transposed);
}
template <typename T>
void write(const Ordered& a, const Dense<T>& all) {
  if (!a.by_rows) return write(a.matrix, all);
  const Matrix turned{a.matrix.at, a.matrix.type, a.matrix.columns, a.matrix.rows, a.matrix.ld};
  write(turned, operated(all, Operation::transposed));
}

// GELU by tanh, as in cuBLASLt, and its derivative.
double gelu(double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }
double gelu_slope(double x) {
  const double t = std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

}  // namespace

void matmul(hipDataType compute, Operation of_a, Operation of_b, Scalar alpha, Ordered a, Ordered b, Scalar beta,
            Ordered c, Ordered d, const Epilogue& epilogue) {
  const auto in = [&](auto computed, auto scaled) {
    using T = typename decltype(computed)::type;
    using S = typename decltype(scaled)::type;
    const Index rows = d.matrix.rows, columns = d.matrix.columns;
    const S factor = value<S>(alpha), old = value<S>(beta);
    Dense<T> sum(rows, columns);
    if (factor != S(0)) sum = product(operated(read<T>(a), of_a), operated(read<T>(b), of_b));
    Dense<S> result(rows, columns);
    if (old != S(0)) result = read<S>(c);
    for (std::size_t i = 0; i < result.all.size(); ++i) {
      const S before = old == S(0) ? S(0) : times(old, result.all[i]);
      result.all[i] = factor == S(0) ? before : times(factor, as<S>(sum.all[i])) + before;
    }
    if constexpr (std::is_floating_point_v<S>) {
      using Activation = Epilogue::Activation;
      std::vector<S> bias;
      if (epilogue.bias.at != nullptr && !epilogue.gradient) bias = read<S>(epilogue.bias);
      Dense<S> kept(rows, columns);
      if (epilogue.activation == Activation::gelu_gradient) kept = read<S>(epilogue.kept);
      std::vector<double> sums(static_cast<std::size_t>(rows));
      for (Index j = 0; j < columns; ++j) {
        for (Index i = 0; i < rows; ++i) {
          S& each = result(i, j);
          if (!bias.empty()) each += bias[static_cast<std::size_t>(i)];
          switch (epilogue.activation) {
            case Activation::none: break;
            case Activation::relu: each = each < 0 ? S(0) : each; break;
            case Activation::gelu:
              kept(i, j) = each;
              each = static_cast<S>(gelu(each));
              break;
            case Activation::gelu_gradient: each = static_cast<S>(each * gelu_slope(kept(i, j))); break;
          }
          sums[static_cast<std::size_t>(i)] += each;
        }
      }
      if (epilogue.activation == Activation::gelu && epilogue.kept.at != nullptr) write(epilogue.kept, kept);
      if (epilogue.gradient) write(epilogue.bias, sums);
    }
    write(d, result);
  };
  with_computed(compute, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, std::int32_t>) {
      if (alpha.type == HIP_R_32F) return in(tag, Tag<float>());
    }
    in(tag, tag);
  });
}

// ---------------------------------------------------------------------------------------------------------- LAPACK

int getrf(Matrix a, int* pivots) {
  int singular = 0;
  with_computed(a.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Dense<T> all = read<T>(a);
    for (Index j = 0; j < std::min(all.rows, all.columns); ++j) {
      Index pivot = j;
      if (pivots != nullptr) {
        for (Index i = j + 1; i < all.rows; ++i) {
          if (magnitude(all(i, j)) > magnitude(all(pivot, j))) pivot = i;
        }
        pivots[j] = static_cast<int>(pivot) + 1;
      }
      if (all(pivot, j) == T(0)) {
        if (singular == 0) singular = static_cast<int>(j) + 1;
        continue;
      }
      if (pivot != j) {
        for (Index column = 0; column < all.columns; ++column) std::swap(all(j, column), all(pivot, column));
      }
      for (Index i = j + 1; i < all.rows; ++i) all(i, j) /= all(j, j);
      for (Index column = j + 1; column < all.columns; ++column) {
        const T by = all(j, column);
        for (Index i = j + 1; i < all.rows; ++i) all(i, column) -= times(all(i, j), by);
      }
    }
    write(a, all);
  });
  return singular;
}

namespace {
template <typename T>
void solve_factored(Operation operation, const Matrix& a, const int* pivots, Dense<T>& b) {
  const auto exchange = [&](Index i) {
    const Index other = pivots == nullptr ? i : pivots[i] - 1;
    for (Index j = 0; j < b.columns && other != i; ++j) std::swap(b(i, j), b(other, j));
  };
  const Dense<T> lower = operated(triangle<T>(a, Fill::lower, true), operation);
  const Dense<T> upper = operated(triangle<T>(a, Fill::upper, false), operation);
  if (!turns(operation)) {
    for (Index i = 0; i < a.rows; ++i) exchange(i);
    solve_triangle(lower, true, b);
    solve_triangle(upper, false, b);
  } else {
    solve_triangle(upper, true, b);
    solve_triangle(lower, false, b);
    for (Index i = a.rows - 1; i >= 0; --i) exchange(i);
  }
}
}  // namespace

void getrs(Operation operation, Matrix a, const int* pivots, Matrix b) {
  with_computed(a.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Dense<T> right = read<T>(b);
    solve_factored(operation, a, pivots, right);
    write(b, right);
  });
}

int getri(Matrix a, const int* pivots, Matrix inverse) {
  int singular = 0;
  with_computed(a.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Dense<T> all = read<T>(a);
    for (Index i = all.rows - 1; i >= 0; --i) {
      if (all(i, i) == T(0)) singular = static_cast<int>(i) + 1;
    }
    if (singular != 0) return;
    Dense<T> unit(a.rows, a.rows);
    for (Index i = 0; i < a.rows; ++i) unit(i, i) = T(1);
    solve_factored(Operation::none, a, pivots, unit);
    write(inverse, unit);
  });
  return singular;
}

int potrf(Fill fill, Matrix a) {
  int bad = 0;
  with_computed(a.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Dense<T> all = symmetric<T>(a, fill, true);
    const Index n = all.rows;
    for (Index j = 0; j < n; ++j) {
      const Real<T> square = real_part(all(j, j));
      if (!(square > 0)) {
        bad = static_cast<int>(j) + 1;
        break;
      }
      const Real<T> root = std::sqrt(square);
      all(j, j) = T(root);
      for (Index i = j + 1; i < n; ++i) all(i, j) /= root;
      for (Index k = j + 1; k < n; ++k) {
        const T by = conjugate(all(k, j));
        for (Index i = k; i < n; ++i) all(i, k) -= times(all(i, j), by);
      }
    }
    if (fill == Fill::upper) all = operated(std::move(all), Operation::adjoint);
    write(a, all, inside(fill));
  });
  return bad;
}

namespace {
template <typename T>
void reflect(const Dense<T>& v, Index column, T tau, Dense<T>& c, Index first) {
  // C = (1 - tau v v') C, where v is 1 at `column`, and has the stored values below.
  for (Index j = first; j < c.columns; ++j) {
    T sum = c(column, j);
    for (Index i = column + 1; i < c.rows; ++i) sum += times(conjugate(v(i, column)), c(i, j));
    sum = times(tau, sum);
    c(column, j) -= sum;
    for (Index i = column + 1; i < c.rows; ++i) c(i, j) -= times(v(i, column), sum);
  }
}
}  // namespace

void geqrf(Matrix a, Vector tau) {
  with_computed(a.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Dense<T> all = read<T>(a);
    std::vector<T> taus(static_cast<std::size_t>(tau.n));
    for (Index j = 0; j < tau.n; ++j) {
      double below = 0;
      for (Index i = j + 1; i < all.rows; ++i) below += std::norm(as<ComplexDouble>(all(i, j)));
      const ComplexDouble first = as<ComplexDouble>(all(j, j));
      if (below == 0 && first.imag() == 0) continue;
      const double size = -std::copysign(std::sqrt(std::norm(first) + below), first.real());
      taus[static_cast<std::size_t>(j)] = as<T>((size - first) / size);
      const ComplexDouble by = first - size;
      for (Index i = j + 1; i < all.rows; ++i) all(i, j) = as<T>(as<ComplexDouble>(all(i, j)) / by);
      all(j, j) = as<T>(size);
      reflect(all, j, conjugate(taus[static_cast<std::size_t>(j)]), all, j + 1);
    }
    write(a, all);
    write(tau, taus);
  });
}

void ormqr(Side side, Operation operation, Matrix a, Vector tau, Matrix c) {
  with_computed(a.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Dense<T> v = read<T>(a);
    const auto taus = read<T>(tau);
    Dense<T> all = read<T>(c);
    bool adjoint = turns(operation);
    if (side == Side::right) {
      // C Q = (Q' C')'
      all = operated(std::move(all), Operation::adjoint);
      adjoint = !adjoint;
    }
    for (Index step = 0; step < tau.n; ++step) {
      const Index j = adjoint ? step : tau.n - 1 - step;
      const T factor = taus[static_cast<std::size_t>(j)];
      reflect(v, j, adjoint ? conjugate(factor) : factor, all, 0);
    }
    write(c, side == Side::right ? operated(std::move(all), Operation::adjoint) : all);
  });
}

namespace {

/// Jacobi rotations of columns, until they are orthogonal: a = a V. Returns V.
template <typename T>
Dense<T> orthogonalize(Dense<T>& a) {
  Dense<T> v(a.columns, a.columns);
  for (Index i = 0; i < a.columns; ++i) v(i, i) = T(1);
  for (int sweep = 0; sweep < 60; ++sweep) {
    bool rotated = false;
    for (Index p = 0; p < a.columns; ++p) {
      for (Index q = p + 1; q < a.columns; ++q) {
        double pp = 0, qq = 0;
        T pq{};
        for (Index i = 0; i < a.rows; ++i) {
          pp += std::norm(a(i, p));
          qq += std::norm(a(i, q));
          pq += times(conjugate(a(i, p)), a(i, q));
        }
        const double size = std::abs(pq);
        if (size <= 1e-15 * std::sqrt(pp * qq) || size == 0) continue;
        rotated = true;
        const T phase = pq / T(size);
        const double zeta = (qq - pp) / (2 * size);
        const double t = std::copysign(1 / (std::abs(zeta) + std::sqrt(1 + zeta * zeta)), zeta);
        const double c = 1 / std::sqrt(1 + t * t), s = c * t;
        const auto turn = [&](Dense<T>& columns) {
          for (Index i = 0; i < columns.rows; ++i) {
            const T x = columns(i, p), y = times(columns(i, q), conjugate(phase));
            columns(i, p) = x * T(c) - y * T(s);
            columns(i, q) = x * T(s) + y * T(c);
          }
        };
        turn(a);
        turn(v);
      }
    }
    if (!rotated) break;
  }
  return v;
}

template <typename T>
using WideOf = std::conditional_t<is_complex<T>, ComplexDouble, double>;

}  // namespace

void syevd(bool vectors, Fill fill, Matrix a, Vector values) {
  with_computed(a.type, [&](auto tag) {
    using W = WideOf<typename decltype(tag)::type>;
    Dense<W> all = symmetric<W>(a, fill, true);
    const Index n = all.rows;
    Dense<W> v(n, n);
    for (Index i = 0; i < n; ++i) v(i, i) = W(1);
    // Jacobi's method.
    for (int sweep = 0; sweep < 60; ++sweep) {
      double off = 0, whole = 0;
      for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) (i == j ? whole : off) += std::norm(all(i, j));
      }
      if (off <= 1e-31 * (whole + off)) break;
      for (Index p = 0; p < n; ++p) {
        for (Index q = p + 1; q < n; ++q) {
          const double size = std::abs(all(p, q));
          if (size == 0) continue;
          const W phase = all(p, q) / W(size);
          const double theta = (real_part(all(q, q)) - real_part(all(p, p))) / (2 * size);
          const double t = std::copysign(1 / (std::abs(theta) + std::sqrt(1 + theta * theta)), theta);
          const double c = 1 / std::sqrt(1 + t * t), s = c * t;
          const auto turn_columns = [&](Dense<W>& m) {
            for (Index i = 0; i < n; ++i) {
              const W x = m(i, p), y = times(m(i, q), conjugate(phase));
              m(i, p) = x * W(c) - y * W(s);
              m(i, q) = x * W(s) + y * W(c);
            }
          };
          turn_columns(all);
          turn_columns(v);
          for (Index j = 0; j < n; ++j) {
            const W x = all(p, j), y = times(all(q, j), phase);
            all(p, j) = x * W(c) - y * W(s);
            all(q, j) = x * W(s) + y * W(c);
          }
        }
      }
    }
    std::vector<Index> order(static_cast<std::size_t>(n));
    for (Index i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i;
    std::sort(order.begin(), order.end(),
              [&](Index x, Index y) { return real_part(all(x, x)) < real_part(all(y, y)); });
    std::vector<double> found;
    Dense<W> sorted(n, n);
    for (Index j = 0; j < n; ++j) {
      const Index from = order[static_cast<std::size_t>(j)];
      found.push_back(real_part(all(from, from)));
      for (Index i = 0; i < n; ++i) sorted(i, j) = v(i, from);
    }
    write(values, found);
    if (vectors) write(a, sorted);
  });
}

void gesvd(Matrix a, Vector values, const Matrix* left, const Matrix* right) {
  with_computed(a.type, [&](auto tag) {
    using W = WideOf<typename decltype(tag)::type>;
    Dense<W> u = read<W>(a);
    const bool wide = u.rows < u.columns;
    if (wide) u = operated(std::move(u), Operation::adjoint);
    const Index rows = u.rows, n = u.columns;
    Dense<W> v = orthogonalize(u);
    std::vector<double> sizes;
    std::vector<Index> order;
    for (Index j = 0; j < n; ++j) {
      double square = 0;
      for (Index i = 0; i < rows; ++i) square += std::norm(u(i, j));
      sizes.push_back(std::sqrt(square));
      order.push_back(j);
    }
    std::sort(order.begin(), order.end(), [&](Index x, Index y) {
      return sizes[static_cast<std::size_t>(x)] > sizes[static_cast<std::size_t>(y)];
    });
    // Columns of U beyond A's are arbitrary ones that are orthogonal to the others.
    Dense<W> whole(rows, rows), turned(n, n);
    std::vector<double> found;
    Index known = 0;
    for (const Index from : order) {
      const double size = sizes[static_cast<std::size_t>(from)];
      found.push_back(size);
      for (Index i = 0; i < n; ++i) turned(i, static_cast<Index>(found.size()) - 1) = v(i, from);
      if (size <= sizes[static_cast<std::size_t>(order[0])] * 1e-300) continue;
      for (Index i = 0; i < rows; ++i) whole(i, known) = u(i, from) / W(size);
      ++known;
    }
    for (Index unit = 0; known < rows && unit < rows; ++unit) {
      std::vector<W> next(static_cast<std::size_t>(rows));
      next[static_cast<std::size_t>(unit)] = W(1);
      for (int twice = 0; twice < 2; ++twice) {
        for (Index j = 0; j < known; ++j) {
          W sum{};
          for (Index i = 0; i < rows; ++i) sum += times(conjugate(whole(i, j)), next[static_cast<std::size_t>(i)]);
          for (Index i = 0; i < rows; ++i) next[static_cast<std::size_t>(i)] -= times(sum, whole(i, j));
        }
      }
      double square = 0;
      for (const W each : next) square += std::norm(each);
      if (square < 1e-8) continue;
      for (Index i = 0; i < rows; ++i) whole(i, known) = next[static_cast<std::size_t>(i)] / W(std::sqrt(square));
      ++known;
    }
    write(values, found);
    const auto part = [](const Matrix& to, const Dense<W>& from) {
      Dense<W> kept(to.rows, to.columns);
      for (Index j = 0; j < to.columns; ++j) {
        for (Index i = 0; i < to.rows; ++i) kept(i, j) = from(i, j);
      }
      write(to, kept);
    };
    // A' = U S V' where A = V S U'.
    if (left != nullptr) part(*left, wide ? turned : whole);
    if (right != nullptr) part(*right, operated(wide ? whole : turned, Operation::adjoint));
  });
}

}  // namespace blas
}  // namespace simt
