// SPDX-License-Identifier: Apache-2.0
// Sparse matrices in plain loops: include/simt/sparse_core.h describes the functions.
#include "../include/simt/sparse_core.h"

#include <algorithm>
#include <complex>
#include <map>
#include <utility>
#include <vector>

#include "../include/simt/host.h"
#include "../include/simt/narrow.h"

namespace simt {
namespace sparse {

namespace {

using Wide = std::complex<double>;

Index read(const void* at, IndexType type, Index i) {
  switch (type) {
    case IndexType::bits16: return static_cast<const std::uint16_t*>(at)[i];
    case IndexType::bits32: return static_cast<const std::int32_t*>(at)[i];
    case IndexType::bits64: return static_cast<const std::int64_t*>(at)[i];
  }
  return 0;
}
void write(void* at, IndexType type, Index i, Index value) {
  switch (type) {
    case IndexType::bits16: static_cast<std::uint16_t*>(at)[i] = static_cast<std::uint16_t>(value); break;
    case IndexType::bits32: static_cast<std::int32_t*>(at)[i] = static_cast<std::int32_t>(value); break;
    case IndexType::bits64: static_cast<std::int64_t*>(at)[i] = value; break;
  }
}

[[noreturn]] void no_such_type(hipDataType type) {
  fault("unsupported", Place{"", 0}, "numbers of type %d (cudaDataType) in sparse matrices", int(type));
}
Wide read(const void* at, hipDataType type, Index i) {
  switch (type) {
    case HIP_R_32F: return static_cast<const float*>(at)[i];
    case HIP_R_64F: return static_cast<const double*>(at)[i];
    case HIP_C_32F: return Wide(static_cast<const std::complex<float>*>(at)[i]);
    case HIP_C_64F: return static_cast<const Wide*>(at)[i];
    case HIP_R_16F: return detail::HalfFormat::to_float(static_cast<const std::uint16_t*>(at)[i]);
    case HIP_R_16BF: return detail::BfloatFormat::to_float(static_cast<const std::uint16_t*>(at)[i]);
    case HIP_R_8I: return static_cast<const std::int8_t*>(at)[i];
    case HIP_R_32I: return static_cast<const std::int32_t*>(at)[i];
    default: no_such_type(type);
  }
}
void write(void* at, hipDataType type, Index i, Wide value) {
  switch (type) {
    case HIP_R_32F: static_cast<float*>(at)[i] = static_cast<float>(value.real()); break;
    case HIP_R_64F: static_cast<double*>(at)[i] = value.real(); break;
    case HIP_C_32F: static_cast<std::complex<float>*>(at)[i] = std::complex<float>(value); break;
    case HIP_C_64F: static_cast<Wide*>(at)[i] = value; break;
    case HIP_R_16F: static_cast<std::uint16_t*>(at)[i] = detail::HalfFormat::from(value.real()); break;
    case HIP_R_16BF: static_cast<std::uint16_t*>(at)[i] = detail::BfloatFormat::from(value.real()); break;
    case HIP_R_8I: static_cast<std::int8_t*>(at)[i] = static_cast<std::int8_t>(value.real()); break;
    case HIP_R_32I: static_cast<std::int32_t*>(at)[i] = static_cast<std::int32_t>(value.real()); break;
    default: no_such_type(type);
  }
}

template <typename T>
T as(Wide value) {
  if constexpr (std::is_same_v<T, Wide> || std::is_same_v<T, std::complex<float>>) {
    return T(value);
  } else {
    return static_cast<T>(value.real());
  }
}
template <typename T>
T times(T a, T b) {
  if constexpr (std::is_arithmetic_v<T>) {
    return a * b;
  } else {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
}
template <typename Use>
void with_computed(hipDataType type, Use use) {
  switch (type) {
    case HIP_R_32F: return use(0.0f);
    case HIP_R_64F: return use(0.0);
    case HIP_C_32F: return use(std::complex<float>());
    case HIP_C_64F: return use(Wide());
    case HIP_R_32I: return use(std::int32_t());
    default: no_such_type(type);
  }
}

/// Memory of indices is checked like that of numbers of the same size.
void check(const Call& call, const char* what, const void* at, IndexType type, Index n) {
  const hipDataType as_large = type == IndexType::bits64   ? HIP_R_64F
                               : type == IndexType::bits32 ? HIP_R_32F
                                                           : HIP_R_16F;
  blas::check(call, what, blas::Vector{at, as_large, n, 1});
}
Index offsets_of(const SparseMatrix& a) {
  return a.format == Format::csr ? a.rows + 1 : a.format == Format::csc ? a.columns + 1 : a.count;
}
void check(const Call& call, const SparseMatrix& a) {
  check(call, "the offsets or rows of a sparse matrix", a.major, a.major_type, offsets_of(a));
  check(call, "the indices of a sparse matrix", a.minor, a.minor_type, a.count);
  blas::check(call, "the values of a sparse matrix", blas::Vector{a.values, a.type, a.count, 1});
}
void check(const Call& call, const DenseMatrix& a) {
  blas::check(call, "a dense matrix",
              blas::Matrix{a.values, a.type, a.by_rows ? a.columns : a.rows, a.by_rows ? a.rows : a.columns, a.ld});
}

/// Call `use(number, row, column)` for each stored number of the matrix, in memory order.
template <typename Use>
void each(const Call& call, const SparseMatrix& a, Use use) {
  const auto visit = [&](Index i, Index row, Index column) {
    if (row < 0 || row >= a.rows || column < 0 || column >= a.columns) {
      fault("out-of-bounds", call.place, "%s: number %td of a sparse matrix of %td x %td is at row %td, column %td",
            call.name, static_cast<std::ptrdiff_t>(i), static_cast<std::ptrdiff_t>(a.rows),
            static_cast<std::ptrdiff_t>(a.columns), static_cast<std::ptrdiff_t>(row),
            static_cast<std::ptrdiff_t>(column));
    }
    use(i, row, column);
  };
  if (a.format == Format::coo) {
    for (Index i = 0; i < a.count; ++i) {
      visit(i, read(a.major, a.major_type, i) - a.base, read(a.minor, a.minor_type, i) - a.base);
    }
    return;
  }
  const Index lines = a.format == Format::csr ? a.rows : a.columns;
  for (Index line = 0; line < lines; ++line) {
    const Index first = read(a.major, a.major_type, line) - a.base,
                end = read(a.major, a.major_type, line + 1) - a.base;
    if (first < 0 || end < first || end > a.count) {
      fault("out-of-bounds", call.place, "%s: line %td of a sparse matrix of %td numbers has those from %td to %td",
            call.name, static_cast<std::ptrdiff_t>(line), static_cast<std::ptrdiff_t>(a.count),
            static_cast<std::ptrdiff_t>(first), static_cast<std::ptrdiff_t>(end));
    }
    for (Index i = first; i < end; ++i) {
      const Index other = read(a.minor, a.minor_type, i) - a.base;
      if (a.format == Format::csr) {
        visit(i, line, other);
      } else {
        visit(i, other, line);
      }
    }
  }
}

Index place(const DenseMatrix& a, Index row, Index column) {
  return a.by_rows ? row * a.ld + column : column * a.ld + row;
}

/// Multiply one column: `get(i)` of op(B), into `put(i, sum)`.
template <typename T, typename Get, typename Old, typename Put>
void column(const Call& call, Operation op, T alpha, const SparseMatrix& a, Get get, T beta, Index rows, Old old,
            Put put) {
  std::vector<T> sums(static_cast<std::size_t>(rows));
  each(call, a, [&](Index i, Index row, Index column) {
    Wide value = read(a.values, a.type, i);
    if (op == Operation::adjoint || op == Operation::conjugated) value = std::conj(value);
    const bool turned = op == Operation::transposed || op == Operation::adjoint;
    sums[static_cast<std::size_t>(turned ? column : row)] += times(as<T>(value), as<T>(get(turned ? row : column)));
  });
  for (Index i = 0; i < rows; ++i) {
    T sum = times(alpha, sums[static_cast<std::size_t>(i)]);
    // An old value with factor 0 is not read, because it may be uninitialized.
    if (beta != T()) sum += times(beta, as<T>(old(i)));
    put(i, Wide(sum));
  }
}

}  // namespace

void multiply(const Call& call, hipDataType compute, Operation op, Scalar alpha, const SparseMatrix& a,
              const DenseVector& x, Scalar beta, const DenseVector& y) {
  check(call, a);
  blas::check(call, "x", blas::Vector{x.values, x.type, x.size, 1});
  blas::check(call, "y", blas::Vector{y.values, y.type, y.size, 1});
  with_computed(compute, [&](auto zero) {
    using T = decltype(zero);
    column<T>(
        call, op, as<T>(read(alpha.at, alpha.type, 0)), a, [&](Index i) { return read(x.values, x.type, i); },
        as<T>(read(beta.at, beta.type, 0)), y.size, [&](Index i) { return read(y.values, y.type, i); },
        [&](Index i, Wide value) { write(y.values, y.type, i, value); });
  });
}

void multiply(const Call& call, hipDataType compute, Operation op_a, Operation op_b, Scalar alpha,
              const SparseMatrix& a, const DenseMatrix& b, Scalar beta, const DenseMatrix& c) {
  check(call, a);
  check(call, b);
  check(call, c);
  with_computed(compute, [&](auto zero) {
    using T = decltype(zero);
    for (Index j = 0; j < c.columns; ++j) {
      const auto get = [&](Index i) {
        if (op_b == Operation::none) return read(b.values, b.type, place(b, i, j));
        const Wide value = read(b.values, b.type, place(b, j, i));
        return op_b == Operation::adjoint ? std::conj(value) : value;
      };
      column<T>(
          call, op_a, as<T>(read(alpha.at, alpha.type, 0)), a, get, as<T>(read(beta.at, beta.type, 0)), c.rows,
          [&](Index i) { return read(c.values, c.type, place(c, i, j)); },
          [&](Index i, Wide value) { write(c.values, c.type, place(c, i, j), value); });
    }
  });
}

void to_dense(const Call& call, const SparseMatrix& from, const DenseMatrix& to) {
  check(call, from);
  check(call, to);
  for (Index row = 0; row < to.rows; ++row) {
    for (Index column = 0; column < to.columns; ++column) write(to.values, to.type, place(to, row, column), 0);
  }
  each(call, from, [&](Index i, Index row, Index column) {
    write(to.values, to.type, place(to, row, column), read(from.values, from.type, i));
  });
}

namespace {
/// Call `use(row, column)` for each nonzero, line by line in the order of `to`.
template <typename Line, typename Use>
void each_given(const DenseMatrix& from, const SparseMatrix& to, Line begin, Use use) {
  const bool columns = to.format == Format::csc;
  for (Index line = 0; line < (columns ? from.columns : from.rows); ++line) {
    begin(line);
    for (Index other = 0; other < (columns ? from.rows : from.columns); ++other) {
      const Index row = columns ? other : line, column = columns ? line : other;
      if (read(from.values, from.type, place(from, row, column)) != Wide()) use(row, column);
    }
  }
}
}  // namespace

Index count(const Call& call, const DenseMatrix& from, const SparseMatrix& to) {
  check(call, from);
  Index found = 0;
  const bool offsets = to.format != Format::coo;
  if (offsets) check(call, "the offsets of a sparse matrix", to.major, to.major_type, offsets_of(to));
  each_given(
      from, to,
      [&](Index line) {
        if (offsets) write(to.major, to.major_type, line, found + to.base);
      },
      [&](Index, Index) { ++found; });
  if (offsets) write(to.major, to.major_type, offsets_of(to) - 1, found + to.base);
  return found;
}

void to_sparse(const Call& call, const DenseMatrix& from, const SparseMatrix& to) {
  count(call, from, to);
  check(call, to);
  Index i = 0;
  each_given(
      from, to, [](Index) {},
      [&](Index row, Index column) {
        if (to.format == Format::coo) write(to.major, to.major_type, i, row + to.base);
        write(to.minor, to.minor_type, i, (to.format == Format::csc ? row : column) + to.base);
        write(to.values, to.type, i, read(from.values, from.type, place(from, row, column)));
        ++i;
      });
}

void convert(const Call& call, const SparseMatrix& from, const SparseMatrix& to, bool symbolic) {
  check(call, "the offsets of a sparse matrix", from.major, from.major_type, offsets_of(from));
  check(call, "the offsets of a sparse matrix", to.major, to.major_type, offsets_of(to));
  struct Number {
    Index line, other, from;
  };
  std::vector<Number> numbers;
  each(call, from, [&](Index i, Index row, Index column) {
    numbers.push_back(to.format == Format::csc ? Number{column, row, i} : Number{row, column, i});
  });
  std::stable_sort(numbers.begin(), numbers.end(), [](const Number& a, const Number& b) {
    return a.line != b.line ? a.line < b.line : a.other < b.other;
  });
  const Index lines = offsets_of(to) - 1;
  Index at = 0;
  for (Index line = 0; line <= lines; ++line) {
    write(to.major, to.major_type, line, at + to.base);
    for (; at < static_cast<Index>(numbers.size()) && numbers[static_cast<std::size_t>(at)].line == line; ++at) {
      const Number& number = numbers[static_cast<std::size_t>(at)];
      write(to.minor, to.minor_type, at, number.other + to.base);
      if (!symbolic) write(to.values, to.type, at, read(from.values, from.type, number.from));
    }
  }
}

namespace {

/// The numbers of op(A) by rows, in the triangle that counts.
template <typename T>
struct Rows {
  struct Number {
    Index column;
    T value;
  };
  std::vector<std::vector<Number>> of;
  std::vector<T> diagonal;

  Rows(const Call& call, const SparseMatrix& a, Operation op, Triangle triangle)
      : of(static_cast<std::size_t>(a.rows)), diagonal(of.size()) {
    if (triangle.unit) std::fill(diagonal.begin(), diagonal.end(), T(1));
    const bool turned = op == Operation::transposed || op == Operation::adjoint;
    each(call, a, [&](Index i, Index row, Index column) {
      if (row != column && (row < column) != triangle.upper) return;
      Wide value = read(a.values, a.type, i);
      if (op == Operation::adjoint || op == Operation::conjugated) value = std::conj(value);
      if (row != column) {
        of[static_cast<std::size_t>(turned ? column : row)].push_back({turned ? row : column, as<T>(value)});
      } else if (!triangle.unit) {
        diagonal[static_cast<std::size_t>(row)] = as<T>(value);
      }
    });
  }

  /// Solve for one column, in place. Rows are processed in the order of their dependences.
  void solve(std::vector<T>& x, bool from_below) const {
    const auto size = static_cast<Index>(of.size());
    for (Index step = 0; step < size; ++step) {
      const auto row = static_cast<std::size_t>(from_below ? size - 1 - step : step);
      for (const Number& number : of[row]) x[row] -= times(number.value, x[static_cast<std::size_t>(number.column)]);
      x[row] = x[row] / diagonal[row];
    }
  }
};

bool from_below(Operation op, Triangle triangle) {
  return triangle.upper == (op == Operation::none || op == Operation::conjugated);
}

Wide number_of(const DenseMatrix& a, Operation op, Index row, Index column) {
  if (op == Operation::none) return read(a.values, a.type, place(a, row, column));
  const Wide value = read(a.values, a.type, place(a, column, row));
  return op == Operation::adjoint ? std::conj(value) : value;
}

}  // namespace

void solve(const Call& call, hipDataType compute, Operation op, Scalar alpha, const SparseMatrix& a, Triangle triangle,
           const DenseVector& x, const DenseVector& y) {
  check(call, a);
  blas::check(call, "x", blas::Vector{x.values, x.type, x.size, 1});
  blas::check(call, "y", blas::Vector{y.values, y.type, y.size, 1});
  with_computed(compute, [&](auto zero) {
    using T = decltype(zero);
    const Rows<T> rows(call, a, op, triangle);
    std::vector<T> values;
    values.reserve(static_cast<std::size_t>(x.size));
    for (Index i = 0; i < x.size; ++i) {
      values.push_back(times(as<T>(read(alpha.at, alpha.type, 0)), as<T>(read(x.values, x.type, i))));
    }
    rows.solve(values, from_below(op, triangle));
    for (Index i = 0; i < y.size; ++i) write(y.values, y.type, i, Wide(values[static_cast<std::size_t>(i)]));
  });
}

void solve(const Call& call, hipDataType compute, Operation op_a, Operation op_b, Scalar alpha, const SparseMatrix& a,
           Triangle triangle, const DenseMatrix& b, const DenseMatrix& c) {
  check(call, a);
  check(call, b);
  check(call, c);
  with_computed(compute, [&](auto zero) {
    using T = decltype(zero);
    const Rows<T> rows(call, a, op_a, triangle);
    for (Index j = 0; j < c.columns; ++j) {
      std::vector<T> values;
      values.reserve(static_cast<std::size_t>(c.rows));
      for (Index i = 0; i < c.rows; ++i) {
        values.push_back(times(as<T>(read(alpha.at, alpha.type, 0)), as<T>(number_of(b, op_b, i, j))));
      }
      rows.solve(values, from_below(op_a, triangle));
      for (Index i = 0; i < c.rows; ++i) {
        write(c.values, c.type, place(c, i, j), Wide(values[static_cast<std::size_t>(i)]));
      }
    }
  });
}

void multiply_sampled(const Call& call, hipDataType compute, Operation op_a, Operation op_b, Scalar alpha,
                      const DenseMatrix& a, const DenseMatrix& b, Scalar beta, const SparseMatrix& c) {
  check(call, a);
  check(call, b);
  check(call, c);
  const Index inner = op_a == Operation::none ? a.columns : a.rows;
  with_computed(compute, [&](auto zero) {
    using T = decltype(zero);
    const T by = as<T>(read(alpha.at, alpha.type, 0)), old = as<T>(read(beta.at, beta.type, 0));
    each(call, c, [&](Index i, Index row, Index column) {
      T sum = T();
      for (Index k = 0; k < inner; ++k) {
        sum += times(as<T>(number_of(a, op_a, row, k)), as<T>(number_of(b, op_b, k, column)));
      }
      sum = times(by, sum);
      if (old != T()) sum += times(old, as<T>(read(c.values, c.type, i)));
      write(c.values, c.type, i, Wide(sum));
    });
  });
}

Product multiply(const Call& call, hipDataType compute, Scalar alpha, const SparseMatrix& a, const SparseMatrix& b) {
  check(call, a);
  check(call, b);
  Product product;
  with_computed(compute, [&](auto zero) {
    using T = decltype(zero);
    const T by = as<T>(read(alpha.at, alpha.type, 0));
    std::vector<std::vector<std::pair<Index, T>>> rows(static_cast<std::size_t>(b.rows));
    each(call, b, [&](Index i, Index row, Index column) {
      rows[static_cast<std::size_t>(row)].push_back({column, as<T>(read(b.values, b.type, i))});
    });
    std::vector<std::map<Index, T>> sums(static_cast<std::size_t>(a.rows));
    each(call, a, [&](Index i, Index row, Index column) {
      const T value = as<T>(read(a.values, a.type, i));
      for (const auto& [at, other] : rows[static_cast<std::size_t>(column)]) {
        sums[static_cast<std::size_t>(row)][at] += times(value, other);
      }
    });
    product.offsets.push_back(0);
    for (const auto& row : sums) {
      for (const auto& [column, sum] : row) {
        product.columns.push_back(column);
        product.values.push_back(Wide(times(by, sum)));
      }
      product.offsets.push_back(static_cast<Index>(product.columns.size()));
    }
  });
  return product;
}

void write(const Call& call, const Product& from, const SparseMatrix& to) {
  check(call, to);
  for (std::size_t i = 0; i < from.offsets.size(); ++i) {
    write(to.major, to.major_type, static_cast<Index>(i), from.offsets[i] + to.base);
  }
  for (std::size_t i = 0; i < from.columns.size(); ++i) {
    write(to.minor, to.minor_type, static_cast<Index>(i), from.columns[i] + to.base);
    write(to.values, to.type, static_cast<Index>(i), from.values[i]);
  }
}

void sort(const Call& call, const SparseMatrix& a, bool by_columns, int* order) {
  check(call, "the offsets or rows of a sparse matrix", a.major, a.major_type, offsets_of(a));
  check(call, "the indices of a sparse matrix", a.minor, a.minor_type, a.count);
  if (order != nullptr) check(call, "the permutation", order, IndexType::bits32, a.count);
  struct Number {
    Index first, second;
    int at;
  };
  std::vector<Number> numbers;
  each(call, a, [&](Index i, Index row, Index column) {
    const Number by_row{row, column, order != nullptr ? order[i] : 0}, by_column{column, row, by_row.at};
    numbers.push_back(by_columns ? by_column : by_row);
  });
  std::stable_sort(numbers.begin(), numbers.end(), [](const Number& x, const Number& y) {
    return x.first != y.first ? x.first < y.first : x.second < y.second;
  });
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const auto i = static_cast<Index>(n);
    const Index row = by_columns ? numbers[n].second : numbers[n].first,
                column = by_columns ? numbers[n].first : numbers[n].second;
    if (a.format == Format::coo) write(a.major, a.major_type, i, row + a.base);
    write(a.minor, a.minor_type, i, (a.format == Format::csc ? row : column) + a.base);
    if (order != nullptr) order[i] = numbers[n].at;
  }
}

}  // namespace sparse
}  // namespace simt
