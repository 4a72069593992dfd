// SPDX-License-Identifier: Apache-2.0
// simt/sparse_solve.h: further functions of cuSPARSE and hipSPARSE: triangular solves, products of sparse matrices,
// sampled products, and functions on arrays of indices. Part of sparse.h.
#ifndef SIMT_SPARSE_SOLVE_H
#define SIMT_SPARSE_SOLVE_H

#ifndef SIMT_SPARSE
#error "this is a part of simt/sparse.h"
#endif

// ------------------------------------------------------------------------------------- descriptors and attributes

SIMT_SPARSE_STATUS SIMT_SPARSE(CreateMatDescr)(SIMT_SPARSE(MatDescr_t) * made) {
  if (made == nullptr) return simt::sparse::invalid;
  *made = new cusparseMatDescr;
  return simt::sparse::success;
}
SIMT_SPARSE_STATUS SIMT_SPARSE(DestroyMatDescr)(SIMT_SPARSE(MatDescr_t) descriptor) {
  delete static_cast<cusparseMatDescr*>(descriptor);
  return simt::sparse::success;
}
#define SIMT_SPARSE_SETTING(Name, kind, member)                                                                     \
  SIMT_SPARSE_STATUS SIMT_SPARSE(SetMat##Name)(SIMT_SPARSE(MatDescr_t) descriptor, SIMT_SPARSE(kind) value) {       \
    if (descriptor == nullptr) return simt::sparse::invalid;                                                        \
    static_cast<cusparseMatDescr*>(descriptor)->member = value;                                                     \
    return simt::sparse::success;                                                                                   \
  }                                                                                                                 \
  inline SIMT_SPARSE(kind) SIMT_SPARSE(GetMat##Name)(SIMT_SPARSE(MatDescr_t) descriptor) {                          \
    return static_cast<cusparseMatDescr*>(descriptor)->member;                                                      \
  }
SIMT_SPARSE_SETTING(Type, MatrixType_t, type)
SIMT_SPARSE_SETTING(FillMode, FillMode_t, fill)
SIMT_SPARSE_SETTING(DiagType, DiagType_t, diagonal)
SIMT_SPARSE_SETTING(IndexBase, IndexBase_t, base)
#undef SIMT_SPARSE_SETTING

SIMT_SPARSE_STATUS SIMT_SPARSE(SpMatSetAttribute)(SIMT_SPARSE(SpMatDescr_t) of, SIMT_SPARSE(SpMatAttribute_t) which,
                                                  const void* value, std::size_t size) {
  if (of == nullptr || value == nullptr || size != sizeof(int)) return simt::sparse::invalid;
  int given;
  std::memcpy(&given, value, sizeof given);
  auto& triangle = static_cast<cusparseSpMatDescr*>(of)->triangle;
  (which == SIMT_S(SPMAT_FILL_MODE) ? triangle.upper : triangle.unit) = given != 0;
  return simt::sparse::success;
}
SIMT_SPARSE_STATUS SIMT_SPARSE(SpMatGetAttribute)(SIMT_SPARSE(ConstSpMatDescr_t) of, SIMT_SPARSE(SpMatAttribute_t) which,
                                                  void* value, std::size_t size) {
  if (of == nullptr || value == nullptr || size != sizeof(int)) return simt::sparse::invalid;
  const auto& triangle = static_cast<const cusparseSpMatDescr*>(of)->triangle;
  const int kept = which == SIMT_S(SPMAT_FILL_MODE) ? triangle.upper : triangle.unit;
  std::memcpy(value, &kept, sizeof kept);
  return simt::sparse::success;
}
SIMT_SPARSE_STATUS SIMT_SPARSE(SpMatGetIndexBase)(SIMT_SPARSE(ConstSpMatDescr_t) of, SIMT_SPARSE(IndexBase_t) * base) {
  *base = SIMT_SPARSE(IndexBase_t)(simt::sparse::matrix(of).base);
  return simt::sparse::success;
}

#define SIMT_SPARSE_STEPS(name)                                                                       \
  SIMT_SPARSE_STATUS SIMT_SPARSE(name##_createDescr)(SIMT_SPARSE(name##Descr_t) * made) {             \
    if (made == nullptr) return simt::sparse::invalid;                                                \
    *made = new cusparse##name##Descr;                                                                \
    return simt::sparse::success;                                                                     \
  }                                                                                                   \
  SIMT_SPARSE_STATUS SIMT_SPARSE(name##_destroyDescr)(SIMT_SPARSE(name##Descr_t) descriptor) {        \
    delete descriptor;                                                                                \
    return simt::sparse::success;                                                                     \
  }
SIMT_SPARSE_STEPS(SpSV)
SIMT_SPARSE_STEPS(SpSM)
SIMT_SPARSE_STEPS(SpGEMM)
#undef SIMT_SPARSE_STEPS

// ------------------------------------------------------------------------------------------------ triangular solves

SIMT_SPARSE_STATUS SIMT_SPARSE(SpSV_bufferSize)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(Operation_t), const void*,
                                                SIMT_SPARSE(ConstSpMatDescr_t), SIMT_SPARSE(ConstDnVecDescr_t),
                                                SIMT_SPARSE(DnVecDescr_t), hipDataType, SIMT_SPARSE(SpSVAlg_t),
                                                SIMT_SPARSE(SpSVDescr_t), std::size_t* size) {
  *size = simt::sparse::work_space;
  return simt::sparse::check(handle);
}
SIMT_SPARSE_STATUS SIMT_SPARSE(SpSV_analysis)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(Operation_t), const void*,
                                              SIMT_SPARSE(ConstSpMatDescr_t), SIMT_SPARSE(ConstDnVecDescr_t),
                                              SIMT_SPARSE(DnVecDescr_t), hipDataType, SIMT_SPARSE(SpSVAlg_t),
                                              SIMT_SPARSE(SpSVDescr_t), void*) {
  return simt::sparse::check(handle);
}
SIMT_SPARSE_STATUS SIMT_SPARSE(SpSV_solve)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(Operation_t) op,
                                           const void* alpha, SIMT_SPARSE(ConstSpMatDescr_t) a,
                                           SIMT_SPARSE(ConstDnVecDescr_t) x, SIMT_SPARSE(DnVecDescr_t) y,
                                           hipDataType compute, SIMT_SPARSE(SpSVAlg_t), SIMT_SPARSE(SpSVDescr_t),
                                           SIMT_HERE) {
  SIMT_SPARSE_CALL("SpSV_solve");
  using namespace simt::sparse;
  if (const auto status = check(handle)) return status;
  const SparseMatrix of = matrix(a);
  const Triangle triangle = static_cast<const cusparseSpMatDescr*>(a)->triangle;
  const DenseVector from = vector(x), to = vector(y);
  if (of.rows != of.columns || from.size != of.rows || to.size != of.rows) return invalid;
  const Factor by(handle, alpha, compute);
  return submit(handle, [=] { solve(simt_call, compute, operation(op), by.get(), of, triangle, from, to); });
}

SIMT_SPARSE_STATUS SIMT_SPARSE(SpSM_bufferSize)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(Operation_t),
                                                SIMT_SPARSE(Operation_t), const void*, SIMT_SPARSE(ConstSpMatDescr_t),
                                                SIMT_SPARSE(ConstDnMatDescr_t), SIMT_SPARSE(DnMatDescr_t), hipDataType,
                                                SIMT_SPARSE(SpSMAlg_t), SIMT_SPARSE(SpSMDescr_t), std::size_t* size) {
  *size = simt::sparse::work_space;
  return simt::sparse::check(handle);
}
SIMT_SPARSE_STATUS SIMT_SPARSE(SpSM_analysis)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(Operation_t),
                                              SIMT_SPARSE(Operation_t), const void*, SIMT_SPARSE(ConstSpMatDescr_t),
                                              SIMT_SPARSE(ConstDnMatDescr_t), SIMT_SPARSE(DnMatDescr_t), hipDataType,
                                              SIMT_SPARSE(SpSMAlg_t), SIMT_SPARSE(SpSMDescr_t), void*) {
  return simt::sparse::check(handle);
}
// hipSPARSE's gets the buffer again.
SIMT_SPARSE_STATUS SIMT_SPARSE(SpSM_solve)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(Operation_t) op_a,
                                           SIMT_SPARSE(Operation_t) op_b, const void* alpha,
                                           SIMT_SPARSE(ConstSpMatDescr_t) a, SIMT_SPARSE(ConstDnMatDescr_t) b,
                                           SIMT_SPARSE(DnMatDescr_t) c, hipDataType compute, SIMT_SPARSE(SpSMAlg_t),
                                           SIMT_SPARSE(SpSMDescr_t),
#ifdef SIMT_HIP
                                           void*,
#endif
                                           SIMT_HERE) {
  SIMT_SPARSE_CALL("SpSM_solve");
  using namespace simt::sparse;
  if (const auto status = check(handle)) return status;
  const SparseMatrix of = matrix(a);
  const Triangle triangle = static_cast<const cusparseSpMatDescr*>(a)->triangle;
  const DenseMatrix from = dense(b), to = dense(c);
  const bool none = op_b == SIMT_S(OPERATION_NON_TRANSPOSE);
  if (of.rows != of.columns || to.rows != of.rows || (none ? from.rows : from.columns) != of.rows ||
      (none ? from.columns : from.rows) != to.columns) {
    return invalid;
  }
  const Factor by(handle, alpha, compute);
  return submit(handle, [=] {
    solve(simt_call, compute, operation(op_a), operation(op_b), by.get(), of, triangle, from, to);
  });
}

// ------------------------------------------------------------------------------------- products of sparse matrices

#define SIMT_SPARSE_PRODUCT                                                                                         \
  SIMT_SPARSE(Handle_t) handle, [[maybe_unused]] SIMT_SPARSE(Operation_t) op_a,                                     \
      [[maybe_unused]] SIMT_SPARSE(Operation_t) op_b, [[maybe_unused]] const void *alpha,                           \
      [[maybe_unused]] SIMT_SPARSE(ConstSpMatDescr_t) a, [[maybe_unused]] SIMT_SPARSE(ConstSpMatDescr_t) b,         \
      [[maybe_unused]] const void *beta, [[maybe_unused]] SIMT_SPARSE(SpMatDescr_t) c,                              \
      [[maybe_unused]] hipDataType compute, SIMT_SPARSE(SpGEMMAlg_t),                                               \
      [[maybe_unused]] SIMT_SPARSE(SpGEMMDescr_t) descriptor
SIMT_SPARSE_STATUS SIMT_SPARSE(SpGEMM_workEstimation)(SIMT_SPARSE_PRODUCT, std::size_t* size, void*) {
  *size = simt::sparse::work_space;
  return simt::sparse::check(handle);
}
/// With a buffer it is computed, because afterwards the program queries the size of the result.
SIMT_SPARSE_STATUS SIMT_SPARSE(SpGEMM_compute)(SIMT_SPARSE_PRODUCT, std::size_t* size, void* buffer, SIMT_HERE) {
  SIMT_SPARSE_CALL("SpGEMM_compute");
  using namespace simt::sparse;
  if (const auto status = check(handle)) return status;
  *size = work_space;
  if (buffer == nullptr) return success;
  const SparseMatrix left = matrix(a), right = matrix(b);
  auto* const to = static_cast<cusparseSpMatDescr*>(c);
  if (left.columns != right.rows || to->rows != left.rows || to->columns != right.columns) return invalid;
  const bool by_rows = left.format == Format::csr && right.format == Format::csr && to->format == Format::csr;
  // C is overwritten, so there must be nothing to be multiplied by beta.
  if (op_a != SIMT_S(OPERATION_NON_TRANSPOSE) || op_b != SIMT_S(OPERATION_NON_TRANSPOSE) || !by_rows || to->count != 0) {
    return SIMT_S(STATUS_NOT_SUPPORTED);
  }
  const Factor by(handle, alpha, compute);
  static_cast<Product&>(*descriptor) = multiply(simt_call, compute, by.get(), left, right);
  to->count = static_cast<std::int64_t>(descriptor->columns.size());
  return success;
}
SIMT_SPARSE_STATUS SIMT_SPARSE(SpGEMM_copy)(SIMT_SPARSE_PRODUCT, SIMT_HERE) {
  SIMT_SPARSE_CALL("SpGEMM_copy");
  using namespace simt::sparse;
  if (const auto status = check(handle)) return status;
  const SparseMatrix to = matrix(c);
  if (descriptor->offsets.empty() || to.count != static_cast<std::int64_t>(descriptor->columns.size())) return invalid;
  const Product from = *descriptor;
  return submit(handle, [=] { write(simt_call, from, to); });
}
#undef SIMT_SPARSE_PRODUCT

SIMT_SPARSE_STATUS SIMT_SPARSE(SDDMM_bufferSize)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(Operation_t),
                                                 SIMT_SPARSE(Operation_t), const void*, SIMT_SPARSE(ConstDnMatDescr_t),
                                                 SIMT_SPARSE(ConstDnMatDescr_t), const void*, SIMT_SPARSE(SpMatDescr_t),
                                                 hipDataType, SIMT_SPARSE(SDDMMAlg_t), std::size_t* size) {
  *size = simt::sparse::work_space;
  return simt::sparse::check(handle);
}
SIMT_SPARSE_STATUS SIMT_SPARSE(SDDMM_preprocess)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(Operation_t),
                                                 SIMT_SPARSE(Operation_t), const void*, SIMT_SPARSE(ConstDnMatDescr_t),
                                                 SIMT_SPARSE(ConstDnMatDescr_t), const void*, SIMT_SPARSE(SpMatDescr_t),
                                                 hipDataType, SIMT_SPARSE(SDDMMAlg_t), void*) {
  return simt::sparse::check(handle);
}
SIMT_SPARSE_STATUS SIMT_SPARSE(SDDMM)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(Operation_t) op_a,
                                      SIMT_SPARSE(Operation_t) op_b, const void* alpha,
                                      SIMT_SPARSE(ConstDnMatDescr_t) a, SIMT_SPARSE(ConstDnMatDescr_t) b,
                                      const void* beta, SIMT_SPARSE(SpMatDescr_t) c, hipDataType compute,
                                      SIMT_SPARSE(SDDMMAlg_t), void*, SIMT_HERE) {
  SIMT_SPARSE_CALL("SDDMM");
  using namespace simt::sparse;
  if (const auto status = check(handle)) return status;
  const DenseMatrix left = dense(a), right = dense(b);
  const SparseMatrix to = matrix(c);
  const bool none_a = op_a == SIMT_S(OPERATION_NON_TRANSPOSE), none_b = op_b == SIMT_S(OPERATION_NON_TRANSPOSE);
  if ((none_a ? left.rows : left.columns) != to.rows || (none_b ? right.columns : right.rows) != to.columns ||
      (none_a ? left.columns : left.rows) != (none_b ? right.rows : right.columns)) {
    return invalid;
  }
  const Factor by(handle, alpha, compute), old(handle, beta, compute);
  return submit(handle, [=] {
    multiply_sampled(simt_call, compute, operation(op_a), operation(op_b), by.get(), left, right, old.get(), to);
  });
}

// ------------------------------------------------------------------------------------------------ arrays of indices

SIMT_SPARSE_STATUS SIMT_SPARSE(CreateIdentityPermutation)(SIMT_SPARSE(Handle_t) handle, int count, int* order) {
  if (const auto status = simt::sparse::check(handle)) return status;
  return simt::sparse::submit(handle, [=] {
    for (int i = 0; i < count; ++i) order[i] = i;
  });
}
#define SIMT_SPARSE_SIZE(name)                                                                                       \
  SIMT_SPARSE_STATUS SIMT_SPARSE(name##_bufferSizeExt)(SIMT_SPARSE(Handle_t) handle, int, int, int, const int*,      \
                                                       const int*, std::size_t* size) {                              \
    *size = simt::sparse::work_space;                                                                                \
    return simt::sparse::check(handle);                                                                              \
  }
SIMT_SPARSE_SIZE(Xcsrsort)
SIMT_SPARSE_SIZE(Xcscsort)
SIMT_SPARSE_SIZE(Xcoosort)
#undef SIMT_SPARSE_SIZE
#define SIMT_SPARSE_SORT(name, kind)                                                                                  \
  SIMT_SPARSE_STATUS SIMT_SPARSE(name)(SIMT_SPARSE(Handle_t) handle, int rows, int columns, int count,                \
                                       const SIMT_SPARSE(MatDescr_t) descriptor, const int* offsets, int* indices,    \
                                       int* order, void*, SIMT_HERE) {                                                \
    SIMT_SPARSE_CALL(#name);                                                                                          \
    using namespace simt::sparse;                                                                                     \
    if (const auto status = check(handle)) return status;                                                             \
    const int base = static_cast<const cusparseMatDescr*>(descriptor)->base;                                          \
    const SparseMatrix a{Format::kind, rows, columns, count, const_cast<int*>(offsets), indices, nullptr,             \
                         IndexType::bits32, IndexType::bits32, base, HIP_R_32F};                                      \
    return submit(handle, [=] { sort(simt_call, a, Format::kind == Format::csc, order); });                           \
  }
SIMT_SPARSE_SORT(Xcsrsort, csr)
SIMT_SPARSE_SORT(Xcscsort, csc)
#undef SIMT_SPARSE_SORT
#define SIMT_SPARSE_SORT(name, by_columns)                                                                            \
  SIMT_SPARSE_STATUS SIMT_SPARSE(name)(SIMT_SPARSE(Handle_t) handle, int rows, int columns, int count, int* row_of,   \
                                       int* column_of, int* order, void*, SIMT_HERE) {                                \
    SIMT_SPARSE_CALL(#name);                                                                                          \
    using namespace simt::sparse;                                                                                     \
    if (const auto status = check(handle)) return status;                                                             \
    const SparseMatrix a{Format::coo, rows, columns, count, row_of, column_of, nullptr,                               \
                         IndexType::bits32, IndexType::bits32, 0, HIP_R_32F};                                         \
    return submit(handle, [=] { sort(simt_call, a, by_columns, order); });                                            \
  }
SIMT_SPARSE_SORT(XcoosortByRow, false)
SIMT_SPARSE_SORT(XcoosortByColumn, true)
#undef SIMT_SPARSE_SORT

/// The offsets of rows from the row of each number, in order; and the inverse.
SIMT_SPARSE_STATUS SIMT_SPARSE(Xcoo2csr)(SIMT_SPARSE(Handle_t) handle, const int* row_of, int count, int rows,
                                         int* offsets, SIMT_SPARSE(IndexBase_t) base) {
  if (const auto status = simt::sparse::check(handle)) return status;
  return simt::sparse::submit(handle, [=] {
    for (int row = 0, at = 0; row <= rows; ++row) {
      while (at < count && row_of[at] - base < row) ++at;
      offsets[row] = at + base;
    }
  });
}
SIMT_SPARSE_STATUS SIMT_SPARSE(Xcsr2coo)(SIMT_SPARSE(Handle_t) handle, const int* offsets, int, int rows, int* row_of,
                                         SIMT_SPARSE(IndexBase_t) base) {
  if (const auto status = simt::sparse::check(handle)) return status;
  return simt::sparse::submit(handle, [=] {
    for (int row = 0; row < rows; ++row) {
      for (int at = offsets[row]; at < offsets[row + 1]; ++at) row_of[at - base] = row + base;
    }
  });
}

#endif
