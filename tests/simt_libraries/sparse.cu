// SPDX-License-Identifier: Apache-2.0
// cuSPARSE's generic functions and hipSPARSE's, against sums over a dense matrix.
#include "check.h"
#include <complex>
#include <cstdint>
#include <string>
#ifdef __HIP__
#include <hipsparse/hipsparse.h>
#define LIB(name) hipsparse##name
#define IS(name) HIPSPARSE_##name
#define TYPE(name) HIP_##name
#else
#include <cusparse.h>
#define LIB(name) cusparse##name
#define IS(name) CUSPARSE_##name
#define TYPE(name) CUDA_##name
#endif

constexpr int rows = 13, columns = 9;
constexpr auto good = IS(STATUS_SUCCESS);
LIB(Handle_t) handle;

/// A third of the places, by rows, by columns and by coordinates.
template <typename T, typename I>
struct Matrix {
  std::vector<T> dense, by_rows, by_columns;  // dense: row after row
  std::vector<I> row_offsets, column_offsets, row_of, column_of, row_of_csc;
  explicit Matrix(I base) : dense(rows * columns) {
    for (int i = 0; i < rows * columns; ++i) {
      if (number(i) % 3 == 0) dense[i] = T(static_cast<int>(number(i + 999) % 19) - 9) * T(0.5);
    }
    for (int r = 0; r < rows; ++r) {
      row_offsets.push_back(static_cast<I>(by_rows.size()) + base);
      for (int c = 0; c < columns; ++c) {
        if (dense[r * columns + c] == T()) continue;
        by_rows.push_back(dense[r * columns + c]);
        row_of.push_back(r + base);
        column_of.push_back(c + base);
      }
    }
    row_offsets.push_back(static_cast<I>(by_rows.size()) + base);
    for (int c = 0; c < columns; ++c) {
      column_offsets.push_back(static_cast<I>(by_columns.size()) + base);
      for (int r = 0; r < rows; ++r) {
        if (dense[r * columns + c] == T()) continue;
        by_columns.push_back(dense[r * columns + c]);
        row_of_csc.push_back(r + base);
      }
    }
    column_offsets.push_back(static_cast<I>(by_columns.size()) + base);
  }
};

template <typename T>
std::vector<T> some(int n, int seed) {
  std::vector<T> values(n);
  for (int i = 0; i < n; ++i) values[i] = T(static_cast<int>(number(i + seed) % 11) - 5);
  return values;
}

template <typename T, typename I>
void products(decltype(TYPE(R_32F)) type, LIB(IndexType_t) index, LIB(IndexBase_t) base, bool on_device) {
  const Matrix<T, I> m(base == IS(INDEX_BASE_ONE) ? 1 : 0);
  const Device<I> row_offsets(m.row_offsets), column_offsets(m.column_offsets), row_of(m.row_of), column_of(m.column_of),
      row_of_csc(m.row_of_csc);
  const Device<T> by_rows(m.by_rows), by_columns(m.by_columns);
  const auto count = static_cast<std::int64_t>(m.by_rows.size());
  const Device<T> factors(std::vector<T>{T(2), T(3)});
  const T two = T(2), three = T(3);
  const T *alpha = on_device ? factors.data : &two, *beta = on_device ? factors.data + 1 : &three;
  LIB(SetPointerMode)(handle, on_device ? IS(POINTER_MODE_DEVICE) : IS(POINTER_MODE_HOST));
  for (int format = 0; format < 3; ++format) {
    LIB(SpMatDescr_t) a;
    const auto made = format == 0   ? LIB(CreateCsr)(&a, rows, columns, count, row_offsets, column_of, by_rows, index, index, base, type)
                      : format == 1 ? LIB(CreateCsc)(&a, rows, columns, count, column_offsets, row_of_csc, by_columns, index, index, base, type)
                                    : LIB(CreateCoo)(&a, rows, columns, count, row_of, column_of, by_rows, index, base, type);
    check(made == good, "created", format);
    for (int turned = 0; turned < 2; ++turned) {
      const int n = turned ? rows : columns, k = turned ? columns : rows;
      const auto op = turned ? IS(OPERATION_TRANSPOSE) : IS(OPERATION_NON_TRANSPOSE);
      const std::vector<T> x = some<T>(n, 5), y = some<T>(k, 77);
      const Device<T> dx(x), dy(y);
      LIB(DnVecDescr_t) vx, vy;
      LIB(CreateDnVec)(&vx, n, dx, type);
      LIB(CreateDnVec)(&vy, k, dy, type);
      std::size_t bytes = 0;
      check(LIB(SpMV_bufferSize)(handle, op, alpha, a, vx, beta, vy, type, IS(SPMV_ALG_DEFAULT), &bytes) == good, "size");
      const Device<char> buffer(bytes);
      check(LIB(SpMV)(handle, op, alpha, a, vx, beta, vy, type, IS(SPMV_ALG_DEFAULT), buffer.data) == good, "SpMV");
      check(LIB(SpMV)(handle, op, alpha, a, vy, beta, vx, type, IS(SPMV_ALG_DEFAULT), buffer.data) != good, "sizes differ");
      const std::vector<T> got = dy.get();
      for (int i = 0; i < k; ++i) {
        T want = T();
        for (int j = 0; j < n; ++j) want += (turned ? m.dense[j * columns + i] : m.dense[i * columns + j]) * x[j];
        check(got[i] == T(2) * want + T(3) * y[i], "SpMV", i, format);
      }
      // Several columns, of which some lie row after row.
      constexpr int wide = 4;
      for (int how = 0; how < 4; ++how) {
        const bool b_by_rows = how & 1, b_turned = how & 2;
        const int b_rows = b_turned ? wide : n, b_columns = b_turned ? n : wide, ld = (b_by_rows ? b_columns : b_rows) + 1;
        const std::vector<T> b = some<T>(ld * (b_by_rows ? b_rows : b_columns), 300 + how);
        const std::vector<T> c = some<T>(k * wide, 900);
        const Device<T> db(b), dc(c);
        LIB(DnMatDescr_t) mb, mc;
        LIB(CreateDnMat)(&mb, b_rows, b_columns, ld, db, type, b_by_rows ? IS(ORDER_ROW) : IS(ORDER_COL));
        LIB(CreateDnMat)(&mc, k, wide, k, dc, type, IS(ORDER_COL));
        const auto op_b = b_turned ? IS(OPERATION_TRANSPOSE) : IS(OPERATION_NON_TRANSPOSE);
        check(LIB(SpMM)(handle, op, op_b, alpha, a, mb, beta, mc, type, IS(SPMM_ALG_DEFAULT), buffer.data) == good, "SpMM");
        const std::vector<T> out = dc.get();
        for (int i = 0; i < k; ++i) {
          for (int l = 0; l < wide; ++l) {
            T want = T();
            for (int j = 0; j < n; ++j) {
              const int r = b_turned ? l : j, q = b_turned ? j : l;
              want += (turned ? m.dense[j * columns + i] : m.dense[i * columns + j]) * b[b_by_rows ? r * ld + q : q * ld + r];
            }
            check(out[l * k + i] == T(2) * want + T(3) * c[l * k + i], "SpMM", i, how);
          }
        }
        LIB(DestroyDnMat)(mb);
        LIB(DestroyDnMat)(mc);
      }
      LIB(DestroyDnVec)(vx);
      LIB(DestroyDnVec)(vy);
    }
    // To a dense matrix and back.
    const Device<T> dense(std::vector<T>(rows * columns, T(7)));
    LIB(DnMatDescr_t) full;
    LIB(CreateDnMat)(&full, rows, columns, columns, dense, type, IS(ORDER_ROW));
    check(LIB(SparseToDense)(handle, a, full, IS(SPARSETODENSE_ALG_DEFAULT), nullptr) == good, "SparseToDense");
    same(dense.get(), m.dense, "SparseToDense");
    const Device<I> offsets(std::vector<I>((format == 1 ? columns : rows) + 1, 99));
    LIB(SpMatDescr_t) again;
    if (format == 0) {
      LIB(CreateCsr)(&again, rows, columns, 0, offsets, nullptr, nullptr, index, index, base, type);
      check(LIB(DenseToSparse_analysis)(handle, full, again, IS(DENSETOSPARSE_ALG_DEFAULT), nullptr) == good, "analysis");
      std::int64_t r, c, found;
      LIB(SpMatGetSize)(again, &r, &c, &found);
      check(r == rows && c == columns && found == count, "found", found, count);
      const Device<I> indices(found);
      const Device<T> values(found);
      LIB(CsrSetPointers)(again, offsets, indices, values);
      check(LIB(DenseToSparse_convert)(handle, full, again, IS(DENSETOSPARSE_ALG_DEFAULT), nullptr) == good, "convert");
      same(offsets.get(), m.row_offsets, "offsets");
      same(indices.get(), m.column_of, "indices");
      same(values.get(), m.by_rows, "values");
      LIB(DestroySpMat)(again);
    }
    LIB(DestroyDnMat)(full);
    LIB(DestroySpMat)(a);
  }
  if (sizeof(I) == 4) {
    const Device<int> offsets(columns + 1), indices(count);
    const Device<T> values(count);
    check(LIB(Csr2cscEx2)(handle, rows, columns, static_cast<int>(count), by_rows, reinterpret_cast<int*>(row_offsets.data),
                          reinterpret_cast<int*>(column_of.data), values, offsets, indices, type, IS(ACTION_NUMERIC), base,
                          IS(CSR2CSC_ALG1), nullptr) == good, "Csr2cscEx2");
    same(values.get(), m.by_columns, "Csr2cscEx2");
    const std::vector<int> got = indices.get();
    for (std::size_t i = 0; i < got.size(); ++i) check(got[i] == static_cast<int>(m.row_of_csc[i]), "row indices", i);
  }
}

constexpr int n = 11;
/// A matrix with numbers above, on and below its diagonal, by rows.
template <typename T>
struct Square {
  std::vector<T> dense, values;
  std::vector<int> offsets, indices;
  explicit Square(int base, int seed) : dense(n * n), offsets{base} {
    for (int r = 0; r < n; ++r) {
      for (int c = 0; c < n; ++c) {
        if (r != c && number(seed + r * n + c) % 3 != 0) continue;
        const int value = static_cast<int>(number(seed + 7 * (r * n + c)) % 9) - 4;
        dense[r * n + c] = r == c ? T(r % 2 ? 2 : -4) : T(value != 0 ? value : 5);
        values.push_back(dense[r * n + c]);
        indices.push_back(c + base);
      }
      offsets.push_back(static_cast<int>(values.size()) + base);
    }
  }
};

template <typename T>
void solves(decltype(TYPE(R_32F)) type, LIB(IndexBase_t) base) {
  const Square<T> m(base, 3);
  const Device<int> offsets(m.offsets), indices(m.indices);
  const Device<T> values(m.values);
  LIB(SpMatDescr_t) a;
  LIB(CreateCsr)(&a, n, n, m.values.size(), offsets, indices, values, IS(INDEX_32I), IS(INDEX_32I), base, type);
  const T half = T(0.5);
  LIB(SetPointerMode)(handle, IS(POINTER_MODE_HOST));
  for (int how = 0; how < 8; ++how) {
    const bool upper = how & 1, unit = how & 2, turned = how & 4;
    const auto fill = upper ? IS(FILL_MODE_UPPER) : IS(FILL_MODE_LOWER);
    const auto diagonal = unit ? IS(DIAG_TYPE_UNIT) : IS(DIAG_TYPE_NON_UNIT);
    check(LIB(SpMatSetAttribute)(a, IS(SPMAT_FILL_MODE), &fill, sizeof fill) == good, "fill mode");
    check(LIB(SpMatSetAttribute)(a, IS(SPMAT_DIAG_TYPE), &diagonal, sizeof diagonal) == good, "diagonal");
    const auto op = turned ? IS(OPERATION_TRANSPOSE) : IS(OPERATION_NON_TRANSPOSE);
    const auto at = [&](int r, int c) {
      if (turned) std::swap(r, c);
      if (r == c) return unit ? T(1) : m.dense[r * n + c];
      return (r < c) == upper ? m.dense[r * n + c] : T();
    };
    constexpr int wide = 3;
    const std::vector<T> want = some<T>(n * wide, 40 + how);  // column after column
    std::vector<T> given(n * wide);
    for (int k = 0; k < wide; ++k) {
      for (int r = 0; r < n; ++r) {
        for (int c = 0; c < n; ++c) given[k * n + r] += T(2) * at(r, c) * want[k * n + c];
      }
    }
    const Device<T> x(given), y(n * wide);
    LIB(DnVecDescr_t) vx, vy;
    LIB(CreateDnVec)(&vx, n, x, type);
    LIB(CreateDnVec)(&vy, n, y, type);
    LIB(SpSVDescr_t) steps;
    LIB(SpSV_createDescr)(&steps);
    std::size_t bytes = 0;
    check(LIB(SpSV_bufferSize)(handle, op, &half, a, vx, vy, type, IS(SPSV_ALG_DEFAULT), steps, &bytes) == good, "size");
    const Device<char> buffer(bytes);
    check(LIB(SpSV_analysis)(handle, op, &half, a, vx, vy, type, IS(SPSV_ALG_DEFAULT), steps, buffer.data) == good, "analysis");
    check(LIB(SpSV_solve)(handle, op, &half, a, vx, vy, type, IS(SPSV_ALG_DEFAULT), steps) == good, "SpSV");
    std::vector<T> got = y.get();
    for (int i = 0; i < n; ++i) check(got[i] == want[i], "SpSV", i, how);
    LIB(SpSV_destroyDescr)(steps);
    // Several columns; what is given lies row after row where it is turned.
    std::vector<T> by_rows(n * wide);
    for (int i = 0; i < n * wide; ++i) by_rows[i % n * wide + i / n] = given[i];
    const Device<T> b(by_rows), c(n * wide);
    LIB(DnMatDescr_t) mb, mc;
    LIB(CreateDnMat)(&mb, turned ? wide : n, turned ? n : wide, wide, b, type, turned ? IS(ORDER_COL) : IS(ORDER_ROW));
    LIB(CreateDnMat)(&mc, n, wide, n, c, type, IS(ORDER_COL));
    const auto op_b = turned ? IS(OPERATION_TRANSPOSE) : IS(OPERATION_NON_TRANSPOSE);
    LIB(SpSMDescr_t) all;
    LIB(SpSM_createDescr)(&all);
    check(LIB(SpSM_bufferSize)(handle, op, op_b, &half, a, mb, mc, type, IS(SPSM_ALG_DEFAULT), all, &bytes) == good, "size");
    check(LIB(SpSM_analysis)(handle, op, op_b, &half, a, mb, mc, type, IS(SPSM_ALG_DEFAULT), all, buffer.data) == good, "analysis");
#ifdef __HIP__
    check(LIB(SpSM_solve)(handle, op, op_b, &half, a, mb, mc, type, IS(SPSM_ALG_DEFAULT), all, buffer.data) == good, "SpSM");
#else
    check(LIB(SpSM_solve)(handle, op, op_b, &half, a, mb, mc, type, IS(SPSM_ALG_DEFAULT), all) == good, "SpSM");
#endif
    same(c.get(), want, "SpSM", how);
    LIB(SpSM_destroyDescr)(all);
    LIB(DestroyDnMat)(mb);
    LIB(DestroyDnMat)(mc);
    LIB(DestroyDnVec)(vx);
    LIB(DestroyDnVec)(vy);
  }
  LIB(DestroySpMat)(a);
}

template <typename T>
void multiplies(decltype(TYPE(R_32F)) type, LIB(IndexBase_t) base) {
  const Square<T> m(base, 3), o(base, 500);
  const Device<int> offsets(m.offsets), indices(m.indices), other_offsets(o.offsets), other_indices(o.indices);
  const Device<T> values(m.values), other_values(o.values);
  LIB(SpMatDescr_t) a, b, c;
  LIB(CreateCsr)(&a, n, n, m.values.size(), offsets, indices, values, IS(INDEX_32I), IS(INDEX_32I), base, type);
  LIB(CreateCsr)(&b, n, n, o.values.size(), other_offsets, other_indices, other_values, IS(INDEX_32I), IS(INDEX_32I), base, type);
  const Device<int> to(n + 1);
  LIB(CreateCsr)(&c, n, n, 0, to, nullptr, nullptr, IS(INDEX_32I), IS(INDEX_32I), base, type);
  const auto none = IS(OPERATION_NON_TRANSPOSE);
  const T two = T(2), zero = T();
  LIB(SpGEMMDescr_t) steps;
  LIB(SpGEMM_createDescr)(&steps);
  std::size_t bytes = 0;
  const auto by = IS(SPGEMM_DEFAULT);
  check(LIB(SpGEMM_workEstimation)(handle, none, none, &two, a, b, &zero, c, type, by, steps, &bytes, nullptr) == good, "size");
  const Device<char> buffer(bytes);
  check(LIB(SpGEMM_workEstimation)(handle, none, none, &two, a, b, &zero, c, type, by, steps, &bytes, buffer.data) == good, "estimation");
  check(LIB(SpGEMM_compute)(handle, none, none, &two, a, b, &zero, c, type, by, steps, &bytes, nullptr) == good, "size");
  check(LIB(SpGEMM_compute)(handle, none, none, &two, a, b, &zero, c, type, by, steps, &bytes, buffer.data) == good, "compute");
  std::int64_t r, q, count;
  LIB(SpMatGetSize)(c, &r, &q, &count);
  const Device<int> columns_of(count);
  const Device<T> numbers(count);
  LIB(CsrSetPointers)(c, to, columns_of, numbers);
  check(LIB(SpGEMM_copy)(handle, none, none, &two, a, b, &zero, c, type, by, steps) == good, "copy");
  LIB(SpGEMM_destroyDescr)(steps);
  const std::vector<int> rows_at = to.get(), column = columns_of.get();
  const std::vector<T> number_at = numbers.get();
  const int first = base == IS(INDEX_BASE_ONE);
  check(rows_at[0] == first && rows_at[n] == count + first, "offsets");
  std::vector<T> got(n * n);
  for (int row = 0; row < n; ++row) {
    for (int i = rows_at[row] - first; i < rows_at[row + 1] - first; ++i) {
      got[row * n + column[i] - first] = number_at[i];
      check(i == rows_at[row] - first || column[i - 1] < column[i], "order", i);
    }
  }
  std::vector<T> want(n * n);
  for (int row = 0; row < n; ++row) {
    for (int k = 0; k < n; ++k) {
      for (int l = 0; l < n; ++l) want[row * n + l] += T(2) * m.dense[row * n + k] * o.dense[k * n + l];
    }
  }
  same(got, want, "SpGEMM");
  // 2 A B + 3 C where C has numbers, with dense A and B, of which B is turned.
  const Device<T> da(m.dense), db(o.dense);
  LIB(DnMatDescr_t) ma, mb;
  LIB(CreateDnMat)(&ma, n, n, n, da, type, IS(ORDER_ROW));
  LIB(CreateDnMat)(&mb, n, n, n, db, type, IS(ORDER_COL));
  const T three = T(3);
  check(LIB(SDDMM_bufferSize)(handle, none, IS(OPERATION_TRANSPOSE), &two, ma, mb, &three, a, type, IS(SDDMM_ALG_DEFAULT), &bytes) == good, "size");
  check(LIB(SDDMM)(handle, none, IS(OPERATION_TRANSPOSE), &two, ma, mb, &three, a, type, IS(SDDMM_ALG_DEFAULT), buffer.data) == good, "SDDMM");
  const std::vector<T> sampled = values.get();
  for (int row = 0; row < n; ++row) {
    for (int i = m.offsets[row] - first; i < m.offsets[row + 1] - first; ++i) {
      const int l = m.indices[i] - first;
      check(sampled[i] == want[row * n + l] + T(3) * m.values[i], "SDDMM", i);
    }
  }
  LIB(DestroyDnMat)(ma);
  LIB(DestroyDnMat)(mb);
  for (auto each : {a, b, c}) LIB(DestroySpMat)(each);
}

void sorts() {
  LIB(MatDescr_t) descriptor;
  check(LIB(CreateMatDescr)(&descriptor) == good, "CreateMatDescr");
  check(LIB(GetMatIndexBase)(descriptor) == IS(INDEX_BASE_ZERO) && LIB(GetMatType)(descriptor) == IS(MATRIX_TYPE_GENERAL), "of itself");
  LIB(SetMatType)(descriptor, IS(MATRIX_TYPE_GENERAL));
  LIB(SetMatIndexBase)(descriptor, IS(INDEX_BASE_ONE));
  const Device<int> offsets(std::vector<int>{1, 4, 4, 6}), indices(std::vector<int>{3, 1, 2, 2, 1}), order(5);
  check(LIB(CreateIdentityPermutation)(handle, 5, order) == good, "CreateIdentityPermutation");
  std::size_t bytes = 0;
  check(LIB(Xcsrsort_bufferSizeExt)(handle, 3, 3, 5, offsets, indices, &bytes) == good, "size");
  const Device<char> buffer(bytes);
  check(LIB(Xcsrsort)(handle, 3, 3, 5, descriptor, offsets, indices, order, buffer.data) == good, "Xcsrsort");
  same(indices.get(), std::vector<int>{1, 2, 3, 1, 2}, "Xcsrsort");
  same(order.get(), std::vector<int>{1, 2, 0, 4, 3}, "Xcsrsort's order");
  LIB(DestroyMatDescr)(descriptor);
  const Device<int> row_of(std::vector<int>{2, 0, 1, 0, 2}), column_of(std::vector<int>{1, 2, 0, 1, 0});
  LIB(CreateIdentityPermutation)(handle, 5, order);
  check(LIB(XcoosortByRow)(handle, 3, 3, 5, row_of, column_of, order, buffer.data) == good, "XcoosortByRow");
  same(row_of.get(), std::vector<int>{0, 0, 1, 2, 2}, "rows");
  same(column_of.get(), std::vector<int>{1, 2, 0, 0, 1}, "columns");
  same(order.get(), std::vector<int>{3, 1, 2, 4, 0}, "XcoosortByRow's order");
  const Device<int> found(4), again(5);
  LIB(Xcoo2csr)(handle, row_of, 5, 3, found, IS(INDEX_BASE_ZERO));
  same(found.get(), std::vector<int>{0, 2, 3, 5}, "Xcoo2csr");
  LIB(Xcsr2coo)(handle, found, 5, 3, again, IS(INDEX_BASE_ZERO));
  same(again.get(), std::vector<int>{0, 0, 1, 2, 2}, "Xcsr2coo");
}

int main(int argc, char** argv) {
  check(LIB(Create)(&handle) == good, "Create");
  if (argc > 1) {
    // An index that is none of the matrix.
    const Device<int> offsets(std::vector<int>{0, 1, 2}), indices(std::vector<int>{0, 5});
    const Device<float> values(2), x(2), y(2);
    LIB(SpMatDescr_t) a;
    LIB(DnVecDescr_t) vx, vy;
    LIB(CreateCsr)(&a, 2, 2, 2, offsets, indices, values, IS(INDEX_32I), IS(INDEX_32I), IS(INDEX_BASE_ZERO), TYPE(R_32F));
    LIB(CreateDnVec)(&vx, 2, x, TYPE(R_32F));
    LIB(CreateDnVec)(&vy, 2, y, TYPE(R_32F));
    const float one = 1;
    LIB(SpMV)(handle, IS(OPERATION_NON_TRANSPOSE), &one, a, vx, &one, vy, TYPE(R_32F), IS(SPMV_ALG_DEFAULT), nullptr);
    return 0;
  }
  products<float, int>(TYPE(R_32F), IS(INDEX_32I), IS(INDEX_BASE_ZERO), false);
  products<double, int>(TYPE(R_64F), IS(INDEX_32I), IS(INDEX_BASE_ONE), true);
  products<std::complex<float>, std::int64_t>(TYPE(C_32F), IS(INDEX_64I), IS(INDEX_BASE_ZERO), false);
  products<std::complex<double>, int>(TYPE(C_64F), IS(INDEX_32I), IS(INDEX_BASE_ZERO), false);
  solves<float>(TYPE(R_32F), IS(INDEX_BASE_ZERO));
  solves<std::complex<double>>(TYPE(C_64F), IS(INDEX_BASE_ONE));
  multiplies<double>(TYPE(R_64F), IS(INDEX_BASE_ZERO));
  multiplies<std::complex<float>>(TYPE(C_32F), IS(INDEX_BASE_ONE));
  sorts();
  check(LIB(Destroy)(handle) == good && LIB(Destroy)(handle) != good, "Destroy");
  check(std::string(LIB(GetErrorName)(IS(STATUS_ZERO_PIVOT))) == (is_hip ? "HIPSPARSE_STATUS_ZERO_PIVOT" : "CUSPARSE_STATUS_ZERO_PIVOT"), "name");
  return finish();
}
