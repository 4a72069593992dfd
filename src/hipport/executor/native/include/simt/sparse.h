// SPDX-License-Identifier: Apache-2.0
// simt/sparse.h: the generic functions of cuSPARSE and hipSPARSE: sparse matrices in CSR, CSC and COO format, their
// products with dense vectors and matrices and with each other, triangular solves, and conversions. Values are those of
// CUDA 12 and of hipSPARSE 3 (ROCm 6.0). A missing function is a compile error.
#ifndef SIMT_SPARSE_H
#define SIMT_SPARSE_H

#include <cstring>

#include "prelude.h"
#include "sparse_core.h"

#ifdef SIMT_HIP
#define SIMT_SPARSE(name) hipsparse##name
#define SIMT_SPARSE_CONSTANT(name) HIPSPARSE_##name
#define SIMT_SPARSE_CALLED(name) "hipsparse" name
#define HIPSPARSE_H
#else
#define SIMT_SPARSE(name) cusparse##name
#define SIMT_SPARSE_CONSTANT(name) CUSPARSE_##name
#define SIMT_SPARSE_CALLED(name) "cusparse" name
#define CUSPARSE_H_
#define CUSPARSE_VERSION 12300
#define CUSPARSE_VER_MAJOR 12
#define CUSPARSE_VER_MINOR 3
#endif

#define SIMT_SPARSE_ENUM(type, ...) enum SIMT_SPARSE(type) { __VA_ARGS__ }
#define SIMT_S(name) SIMT_SPARSE_CONSTANT(name)
SIMT_SPARSE_ENUM(Status_t, SIMT_S(STATUS_SUCCESS) = 0, SIMT_S(STATUS_NOT_INITIALIZED), SIMT_S(STATUS_ALLOC_FAILED),
                 SIMT_S(STATUS_INVALID_VALUE), SIMT_S(STATUS_ARCH_MISMATCH), SIMT_S(STATUS_MAPPING_ERROR),
                 SIMT_S(STATUS_EXECUTION_FAILED), SIMT_S(STATUS_INTERNAL_ERROR),
                 SIMT_S(STATUS_MATRIX_TYPE_NOT_SUPPORTED), SIMT_S(STATUS_ZERO_PIVOT), SIMT_S(STATUS_NOT_SUPPORTED),
                 SIMT_S(STATUS_INSUFFICIENT_RESOURCES));
SIMT_SPARSE_ENUM(PointerMode_t, SIMT_S(POINTER_MODE_HOST) = 0, SIMT_S(POINTER_MODE_DEVICE) = 1);
SIMT_SPARSE_ENUM(Operation_t, SIMT_S(OPERATION_NON_TRANSPOSE) = 0, SIMT_S(OPERATION_TRANSPOSE) = 1,
                 SIMT_S(OPERATION_CONJUGATE_TRANSPOSE) = 2);
SIMT_SPARSE_ENUM(IndexBase_t, SIMT_S(INDEX_BASE_ZERO) = 0, SIMT_S(INDEX_BASE_ONE) = 1);
SIMT_SPARSE_ENUM(IndexType_t, SIMT_S(INDEX_16U) = 1, SIMT_S(INDEX_32I) = 2, SIMT_S(INDEX_64I) = 3);
SIMT_SPARSE_ENUM(Format_t, SIMT_S(FORMAT_CSR) = 1, SIMT_S(FORMAT_CSC) = 2, SIMT_S(FORMAT_COO) = 3);
#ifdef SIMT_HIP
enum hipsparseOrder_t { HIPSPARSE_ORDER_COL = 1, HIPSPARSE_ORDER_COLUMN = 1, HIPSPARSE_ORDER_ROW = 2 };
#else
enum cusparseOrder_t { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW = 2 };
#endif
SIMT_SPARSE_ENUM(SpMVAlg_t, SIMT_S(SPMV_ALG_DEFAULT) = 0, SIMT_S(MV_ALG_DEFAULT) = 0, SIMT_S(SPMV_COO_ALG1) = 1,
                 SIMT_S(COOMV_ALG) = 1, SIMT_S(SPMV_CSR_ALG1) = 2, SIMT_S(CSRMV_ALG1) = 2, SIMT_S(SPMV_CSR_ALG2) = 3,
                 SIMT_S(CSRMV_ALG2) = 3, SIMT_S(SPMV_COO_ALG2) = 4);
SIMT_SPARSE_ENUM(SpMMAlg_t, SIMT_S(SPMM_ALG_DEFAULT) = 0, SIMT_S(SPMM_COO_ALG1) = 1, SIMT_S(SPMM_COO_ALG2) = 2,
                 SIMT_S(SPMM_COO_ALG3) = 3, SIMT_S(SPMM_CSR_ALG1) = 4, SIMT_S(SPMM_COO_ALG4) = 5,
                 SIMT_S(SPMM_CSR_ALG2) = 6, SIMT_S(SPMM_CSR_ALG3) = 12);
SIMT_SPARSE_ENUM(SparseToDenseAlg_t, SIMT_S(SPARSETODENSE_ALG_DEFAULT) = 0);
SIMT_SPARSE_ENUM(DenseToSparseAlg_t, SIMT_S(DENSETOSPARSE_ALG_DEFAULT) = 0);
SIMT_SPARSE_ENUM(Action_t, SIMT_S(ACTION_SYMBOLIC) = 0, SIMT_S(ACTION_NUMERIC) = 1);
SIMT_SPARSE_ENUM(Csr2CscAlg_t, SIMT_S(CSR2CSC_ALG_DEFAULT) = 1, SIMT_S(CSR2CSC_ALG1) = 1, SIMT_S(CSR2CSC_ALG2) = 2);
SIMT_SPARSE_ENUM(SpSVAlg_t, SIMT_S(SPSV_ALG_DEFAULT) = 0);
SIMT_SPARSE_ENUM(SpSMAlg_t, SIMT_S(SPSM_ALG_DEFAULT) = 0);
SIMT_SPARSE_ENUM(SDDMMAlg_t, SIMT_S(SDDMM_ALG_DEFAULT) = 0);
SIMT_SPARSE_ENUM(SpGEMMAlg_t, SIMT_S(SPGEMM_DEFAULT) = 0, SIMT_S(SPGEMM_ALG1) = 3, SIMT_S(SPGEMM_ALG2) = 4,
                 SIMT_S(SPGEMM_ALG3) = 5);
SIMT_SPARSE_ENUM(SpMatAttribute_t, SIMT_S(SPMAT_FILL_MODE) = 0, SIMT_S(SPMAT_DIAG_TYPE) = 1);
SIMT_SPARSE_ENUM(FillMode_t, SIMT_S(FILL_MODE_LOWER) = 0, SIMT_S(FILL_MODE_UPPER) = 1);
SIMT_SPARSE_ENUM(DiagType_t, SIMT_S(DIAG_TYPE_NON_UNIT) = 0, SIMT_S(DIAG_TYPE_UNIT) = 1);
SIMT_SPARSE_ENUM(MatrixType_t, SIMT_S(MATRIX_TYPE_GENERAL) = 0, SIMT_S(MATRIX_TYPE_SYMMETRIC) = 1,
                 SIMT_S(MATRIX_TYPE_HERMITIAN) = 2, SIMT_S(MATRIX_TYPE_TRIANGULAR) = 3);
SIMT_SPARSE_ENUM(Direction_t, SIMT_S(DIRECTION_ROW) = 0, SIMT_S(DIRECTION_COLUMN) = 1);
#undef SIMT_SPARSE_ENUM

/// The object of a handle.
struct cusparseContext {
  hipStream_t stream = nullptr;
  SIMT_SPARSE(PointerMode_t) mode = SIMT_S(POINTER_MODE_HOST);
};
struct cusparseSpMatDescr : simt::sparse::SparseMatrix {
  simt::sparse::Triangle triangle;
};
/// For the older functions, whose matrix descriptors do not contain the numbers.
struct cusparseMatDescr {
  SIMT_SPARSE(MatrixType_t) type = SIMT_S(MATRIX_TYPE_GENERAL);
  SIMT_SPARSE(FillMode_t) fill = SIMT_S(FILL_MODE_LOWER);
  SIMT_SPARSE(DiagType_t) diagonal = SIMT_S(DIAG_TYPE_NON_UNIT);
  SIMT_SPARSE(IndexBase_t) base = SIMT_S(INDEX_BASE_ZERO);
};
/// The state of solving and multiplying between their steps.
struct cusparseSpSVDescr {};
struct cusparseSpSMDescr {};
struct cusparseSpGEMMDescr : simt::sparse::Product {};
struct cusparseDnVecDescr : simt::sparse::DenseVector {};
struct cusparseDnMatDescr : simt::sparse::DenseMatrix {};
#ifdef SIMT_HIP
typedef void *hipsparseHandle_t, *hipsparseSpMatDescr_t, *hipsparseDnVecDescr_t, *hipsparseDnMatDescr_t;
typedef void* hipsparseMatDescr_t;
typedef cusparseSpSVDescr* hipsparseSpSVDescr_t;
typedef cusparseSpSMDescr* hipsparseSpSMDescr_t;
typedef cusparseSpGEMMDescr* hipsparseSpGEMMDescr_t;
typedef const void *hipsparseConstSpMatDescr_t, *hipsparseConstDnVecDescr_t, *hipsparseConstDnMatDescr_t;
#else
typedef cusparseContext* cusparseHandle_t;
typedef cusparseMatDescr* cusparseMatDescr_t;
typedef cusparseSpSVDescr* cusparseSpSVDescr_t;
typedef cusparseSpSMDescr* cusparseSpSMDescr_t;
typedef cusparseSpGEMMDescr* cusparseSpGEMMDescr_t;
typedef cusparseSpMatDescr* cusparseSpMatDescr_t;
typedef cusparseDnVecDescr* cusparseDnVecDescr_t;
typedef cusparseDnMatDescr* cusparseDnMatDescr_t;
typedef const cusparseSpMatDescr* cusparseConstSpMatDescr_t;
typedef const cusparseDnVecDescr* cusparseConstDnVecDescr_t;
typedef const cusparseDnMatDescr* cusparseConstDnMatDescr_t;
#endif

namespace simt {
namespace sparse {

using Handle = SIMT_SPARSE(Handle_t);
using Status = SIMT_SPARSE(Status_t);
constexpr Status success = SIMT_S(STATUS_SUCCESS), invalid = SIMT_S(STATUS_INVALID_VALUE);

inline cusparseContext* context(Handle handle) { return static_cast<cusparseContext*>(handle); }
inline Status check(Handle handle) {
  return host::has_handle(handle, host::HandleKind::sparse) ? success : SIMT_S(STATUS_NOT_INITIALIZED);
}
inline const SparseMatrix& matrix(const void* of) { return *static_cast<const cusparseSpMatDescr*>(of); }
inline const DenseVector& vector(const void* of) { return *static_cast<const cusparseDnVecDescr*>(of); }
inline const DenseMatrix& dense(const void* of) { return *static_cast<const cusparseDnMatDescr*>(of); }

inline Operation operation(SIMT_SPARSE(Operation_t) op) {
  return op == SIMT_S(OPERATION_NON_TRANSPOSE) ? Operation::none
         : op == SIMT_S(OPERATION_TRANSPOSE)   ? Operation::transposed
                                               : Operation::adjoint;
}
/// A scalar: the host's is read now, the device's when the work is done.
struct Factor {
  alignas(16) unsigned char kept[16];
  const void* at;
  hipDataType type;
  Factor(Handle handle, const void* from, hipDataType type) : at(nullptr), type(type) {
    if (context(handle)->mode == SIMT_S(POINTER_MODE_DEVICE)) {
      at = from;
    } else {
      const std::size_t size = type == HIP_C_64F ? 16 : type == HIP_R_64F || type == HIP_C_32F ? 8 : 4;
      std::memcpy(kept, from, size);
    }
  }
  Scalar get() const { return {at != nullptr ? at : kept, type}; }
};
template <typename Work>
Status submit(Handle handle, Work work) {
  host::enqueue(context(handle)->stream, work);
  return success;
}
template <typename Of, typename Descriptor, typename Value>
Status make(Descriptor* descriptor, const Value& value) {
  if (descriptor == nullptr) return invalid;
  Of* const made = new Of;
  static_cast<Value&>(*made) = value;
  *descriptor = made;
  return success;
}
/// The size of the workspace, which is not used.
constexpr std::size_t work_space = 64;

}  // namespace sparse
}  // namespace simt

#define SIMT_SPARSE_STATUS inline ::simt::sparse::Status
#define SIMT_SPARSE_CALL(name) const ::simt::sparse::Call simt_call{SIMT_SPARSE_CALLED(name), SIMT_THERE}

SIMT_SPARSE_STATUS SIMT_SPARSE(Create)(SIMT_SPARSE(Handle_t)* handle) {
  if (handle == nullptr) return simt::sparse::invalid;
  auto* const made = new cusparseContext;
  simt::host::add_handle(made, simt::host::HandleKind::sparse);
  *handle = made;
  return simt::sparse::success;
}
SIMT_SPARSE_STATUS SIMT_SPARSE(Destroy)(SIMT_SPARSE(Handle_t) handle) {
  if (!simt::host::remove_handle(handle, simt::host::HandleKind::sparse)) return SIMT_S(STATUS_NOT_INITIALIZED);
  delete simt::sparse::context(handle);
  return simt::sparse::success;
}
#define SIMT_SPARSE_SETTING(Name, type, member)                                                       \
  SIMT_SPARSE_STATUS SIMT_SPARSE(Set##Name)(SIMT_SPARSE(Handle_t) handle, type value) {               \
    if (const auto status = simt::sparse::check(handle)) return status;                               \
    simt::sparse::context(handle)->member = value;                                                    \
    return simt::sparse::success;                                                                     \
  }                                                                                                   \
  SIMT_SPARSE_STATUS SIMT_SPARSE(Get##Name)(SIMT_SPARSE(Handle_t) handle, type * value) {             \
    if (const auto status = simt::sparse::check(handle)) return status;                               \
    if (value == nullptr) return simt::sparse::invalid;                                               \
    *value = simt::sparse::context(handle)->member;                                                   \
    return simt::sparse::success;                                                                     \
  }
SIMT_SPARSE_SETTING(Stream, hipStream_t, stream)
SIMT_SPARSE_SETTING(PointerMode, SIMT_SPARSE(PointerMode_t), mode)
#undef SIMT_SPARSE_SETTING
SIMT_SPARSE_STATUS SIMT_SPARSE(GetVersion)(SIMT_SPARSE(Handle_t) handle, int* version) {
  if (const auto status = simt::sparse::check(handle)) return status;
  *version = simt::dialect == simt::Dialect::cuda ? 12300 : 300000;
  return simt::sparse::success;
}
inline const char* SIMT_SPARSE(GetErrorName)(SIMT_SPARSE(Status_t) status) {
  switch (status) {
#ifdef SIMT_HIP
#define SIMT_SPARSE_NAME(name) "HIPSPARSE_" #name
#else
#define SIMT_SPARSE_NAME(name) "CUSPARSE_" #name
#endif
#define SIMT_SPARSE_NAMED(name) \
  case SIMT_S(name): return SIMT_SPARSE_NAME(name);
    SIMT_SPARSE_NAMED(STATUS_SUCCESS)
    SIMT_SPARSE_NAMED(STATUS_NOT_INITIALIZED)
    SIMT_SPARSE_NAMED(STATUS_ALLOC_FAILED)
    SIMT_SPARSE_NAMED(STATUS_INVALID_VALUE)
    SIMT_SPARSE_NAMED(STATUS_ARCH_MISMATCH)
    SIMT_SPARSE_NAMED(STATUS_MAPPING_ERROR)
    SIMT_SPARSE_NAMED(STATUS_EXECUTION_FAILED)
    SIMT_SPARSE_NAMED(STATUS_INTERNAL_ERROR)
    SIMT_SPARSE_NAMED(STATUS_MATRIX_TYPE_NOT_SUPPORTED)
    SIMT_SPARSE_NAMED(STATUS_ZERO_PIVOT)
    SIMT_SPARSE_NAMED(STATUS_NOT_SUPPORTED)
    SIMT_SPARSE_NAMED(STATUS_INSUFFICIENT_RESOURCES)
#undef SIMT_SPARSE_NAMED
#undef SIMT_SPARSE_NAME
  }
  return "unknown";
}
inline const char* SIMT_SPARSE(GetErrorString)(SIMT_SPARSE(Status_t) status) { return SIMT_SPARSE(GetErrorName)(status); }

// ----------------------------------------------------------------------------------------------------- descriptors

#define SIMT_SPARSE_MADE(name, kind, Const)                                                                          \
  SIMT_SPARSE_STATUS SIMT_SPARSE(Create##Const##name)(                                                                 \
      SIMT_SPARSE(Const##SpMatDescr_t) * made, std::int64_t rows, std::int64_t columns, std::int64_t count,            \
      SIMT_SPARSE_##Const##POINTER offsets, SIMT_SPARSE_##Const##POINTER indices, SIMT_SPARSE_##Const##POINTER values, \
      SIMT_SPARSE(IndexType_t) offsets_type, SIMT_SPARSE(IndexType_t) indices_type, SIMT_SPARSE(IndexBase_t) base,     \
      hipDataType type) {                                                                                              \
    if (rows < 0 || columns < 0 || count < 0) return simt::sparse::invalid;                                            \
    return simt::sparse::make<cusparseSpMatDescr>(                                                                     \
        made, simt::sparse::SparseMatrix{simt::sparse::Format::kind, rows, columns, count,                           \
                                         const_cast<void*>(offsets), const_cast<void*>(indices),                       \
                                         const_cast<void*>(values), simt::sparse::IndexType(offsets_type),             \
                                         simt::sparse::IndexType(indices_type), int(base), type});                     \
  }
#define SIMT_SPARSE_POINTER void*
#define SIMT_SPARSE_ConstPOINTER const void*
SIMT_SPARSE_MADE(Csr, csr, )
SIMT_SPARSE_MADE(Csr, csr, Const)
SIMT_SPARSE_MADE(Csc, csc, )
SIMT_SPARSE_MADE(Csc, csc, Const)
#undef SIMT_SPARSE_MADE

#define SIMT_SPARSE_MADE(Const)                                                                                        \
  SIMT_SPARSE_STATUS SIMT_SPARSE(Create##Const##Coo)(                                                                  \
      SIMT_SPARSE(Const##SpMatDescr_t) * made, std::int64_t rows, std::int64_t columns, std::int64_t count,            \
      SIMT_SPARSE_##Const##POINTER row_indices, SIMT_SPARSE_##Const##POINTER column_indices,                           \
      SIMT_SPARSE_##Const##POINTER values, SIMT_SPARSE(IndexType_t) indices_type, SIMT_SPARSE(IndexBase_t) base,       \
      hipDataType type) {                                                                                              \
    if (rows < 0 || columns < 0 || count < 0) return simt::sparse::invalid;                                            \
    const auto indices = simt::sparse::IndexType(indices_type);                                                        \
    return simt::sparse::make<cusparseSpMatDescr>(                                                                     \
        made, simt::sparse::SparseMatrix{simt::sparse::Format::coo, rows, columns, count,                              \
                                         const_cast<void*>(row_indices), const_cast<void*>(column_indices),            \
                                         const_cast<void*>(values), indices, indices, int(base), type});               \
  }                                                                                                                    \
  SIMT_SPARSE_STATUS SIMT_SPARSE(Create##Const##DnVec)(SIMT_SPARSE(Const##DnVecDescr_t) * made, std::int64_t size,     \
                                                       SIMT_SPARSE_##Const##POINTER values, hipDataType type) {        \
    if (size < 0) return simt::sparse::invalid;                                                                        \
    return simt::sparse::make<cusparseDnVecDescr>(made,                                                                \
                                                  simt::sparse::DenseVector{size, const_cast<void*>(values), type});   \
  }                                                                                                                    \
  SIMT_SPARSE_STATUS SIMT_SPARSE(Create##Const##DnMat)(SIMT_SPARSE(Const##DnMatDescr_t) * made, std::int64_t rows,     \
                                                       std::int64_t columns, std::int64_t ld,                          \
                                                       SIMT_SPARSE_##Const##POINTER values, hipDataType type,          \
                                                       SIMT_SPARSE(Order_t) order) {                                   \
    const bool by_rows = order == SIMT_S(ORDER_ROW);                                                                   \
    if (rows < 0 || columns < 0 || ld < (by_rows ? columns : rows)) return simt::sparse::invalid;                      \
    return simt::sparse::make<cusparseDnMatDescr>(                                                                     \
        made, simt::sparse::DenseMatrix{rows, columns, ld, const_cast<void*>(values), type, by_rows});                 \
  }
SIMT_SPARSE_MADE()
SIMT_SPARSE_MADE(Const)
#undef SIMT_SPARSE_MADE
#undef SIMT_SPARSE_POINTER
#undef SIMT_SPARSE_ConstPOINTER

#define SIMT_SPARSE_OF(name)                                                                         \
  SIMT_SPARSE_STATUS SIMT_SPARSE(Destroy##name)(SIMT_SPARSE(Const##name##Descr_t) descriptor) {      \
    delete static_cast<const cusparse##name##Descr*>(descriptor);                                    \
    return simt::sparse::success;                                                                    \
  }                                                                                                  \
  SIMT_SPARSE_STATUS SIMT_SPARSE(name##GetValues)(SIMT_SPARSE(name##Descr_t) descriptor, void** to) { \
    *to = static_cast<cusparse##name##Descr*>(descriptor)->values;                                   \
    return simt::sparse::success;                                                                    \
  }                                                                                                  \
  SIMT_SPARSE_STATUS SIMT_SPARSE(name##SetValues)(SIMT_SPARSE(name##Descr_t) descriptor, void* to) { \
    static_cast<cusparse##name##Descr*>(descriptor)->values = to;                                    \
    return simt::sparse::success;                                                                    \
  }
SIMT_SPARSE_OF(SpMat)
SIMT_SPARSE_OF(DnVec)
SIMT_SPARSE_OF(DnMat)
#undef SIMT_SPARSE_OF
SIMT_SPARSE_STATUS SIMT_SPARSE(SpMatGetSize)(SIMT_SPARSE(ConstSpMatDescr_t) of, std::int64_t* rows,
                                             std::int64_t* columns, std::int64_t* count) {
  const auto& a = simt::sparse::matrix(of);
  *rows = a.rows;
  *columns = a.columns;
  *count = a.count;
  return simt::sparse::success;
}
#define SIMT_SPARSE_POINTERS(name)                                                                                 \
  SIMT_SPARSE_STATUS SIMT_SPARSE(name##SetPointers)(SIMT_SPARSE(SpMatDescr_t) of, void* major, void* minor,        \
                                                    void* values) {                                                \
    auto& a = *static_cast<cusparseSpMatDescr*>(of);                                                               \
    a.major = major;                                                                                               \
    a.minor = minor;                                                                                               \
    a.values = values;                                                                                             \
    return simt::sparse::success;                                                                                  \
  }
SIMT_SPARSE_POINTERS(Csr)
SIMT_SPARSE_POINTERS(Csc)
SIMT_SPARSE_POINTERS(Coo)
#undef SIMT_SPARSE_POINTERS

// -------------------------------------------------------------------------------------------------------- products

SIMT_SPARSE_STATUS SIMT_SPARSE(SpMV_bufferSize)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(Operation_t), const void*,
                                                SIMT_SPARSE(ConstSpMatDescr_t), SIMT_SPARSE(ConstDnVecDescr_t),
                                                const void*, SIMT_SPARSE(DnVecDescr_t), hipDataType,
                                                SIMT_SPARSE(SpMVAlg_t), std::size_t* size) {
  *size = simt::sparse::work_space;
  return simt::sparse::check(handle);
}
SIMT_SPARSE_STATUS SIMT_SPARSE(SpMV_preprocess)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(Operation_t), const void*,
                                                SIMT_SPARSE(ConstSpMatDescr_t), SIMT_SPARSE(ConstDnVecDescr_t),
                                                const void*, SIMT_SPARSE(DnVecDescr_t), hipDataType,
                                                SIMT_SPARSE(SpMVAlg_t), void*) {
  return simt::sparse::check(handle);
}
SIMT_SPARSE_STATUS SIMT_SPARSE(SpMV)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(Operation_t) op, const void* alpha,
                                     SIMT_SPARSE(ConstSpMatDescr_t) a, SIMT_SPARSE(ConstDnVecDescr_t) x,
                                     const void* beta, SIMT_SPARSE(DnVecDescr_t) y, hipDataType compute,
                                     SIMT_SPARSE(SpMVAlg_t), void*, SIMT_HERE) {
  SIMT_SPARSE_CALL("SpMV");
  using namespace simt::sparse;
  if (const auto status = check(handle)) return status;
  const SparseMatrix of = matrix(a);
  const DenseVector from = vector(x), to = vector(y);
  const bool none = op == SIMT_S(OPERATION_NON_TRANSPOSE);
  if (from.size != (none ? of.columns : of.rows) || to.size != (none ? of.rows : of.columns)) return invalid;
  const Factor by(handle, alpha, compute), old(handle, beta, compute);
  return submit(handle, [=] { multiply(simt_call, compute, operation(op), by.get(), of, from, old.get(), to); });
}

SIMT_SPARSE_STATUS SIMT_SPARSE(SpMM_bufferSize)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(Operation_t),
                                                SIMT_SPARSE(Operation_t), const void*, SIMT_SPARSE(ConstSpMatDescr_t),
                                                SIMT_SPARSE(ConstDnMatDescr_t), const void*, SIMT_SPARSE(DnMatDescr_t),
                                                hipDataType, SIMT_SPARSE(SpMMAlg_t), std::size_t* size) {
  *size = simt::sparse::work_space;
  return simt::sparse::check(handle);
}
SIMT_SPARSE_STATUS SIMT_SPARSE(SpMM_preprocess)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(Operation_t),
                                                SIMT_SPARSE(Operation_t), const void*, SIMT_SPARSE(ConstSpMatDescr_t),
                                                SIMT_SPARSE(ConstDnMatDescr_t), const void*, SIMT_SPARSE(DnMatDescr_t),
                                                hipDataType, SIMT_SPARSE(SpMMAlg_t), void*) {
  return simt::sparse::check(handle);
}
SIMT_SPARSE_STATUS SIMT_SPARSE(SpMM)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(Operation_t) op_a,
                                     SIMT_SPARSE(Operation_t) op_b, const void* alpha,
                                     SIMT_SPARSE(ConstSpMatDescr_t) a, SIMT_SPARSE(ConstDnMatDescr_t) b,
                                     const void* beta, SIMT_SPARSE(DnMatDescr_t) c, hipDataType compute,
                                     SIMT_SPARSE(SpMMAlg_t), void*, SIMT_HERE) {
  SIMT_SPARSE_CALL("SpMM");
  using namespace simt::sparse;
  if (const auto status = check(handle)) return status;
  const SparseMatrix of = matrix(a);
  const DenseMatrix from = dense(b), to = dense(c);
  const bool none_a = op_a == SIMT_S(OPERATION_NON_TRANSPOSE), none_b = op_b == SIMT_S(OPERATION_NON_TRANSPOSE);
  if (to.rows != (none_a ? of.rows : of.columns) || to.columns != (none_b ? from.columns : from.rows) ||
      (none_a ? of.columns : of.rows) != (none_b ? from.rows : from.columns)) {
    return invalid;
  }
  const Factor by(handle, alpha, compute), old(handle, beta, compute);
  return submit(handle, [=] {
    multiply(simt_call, compute, operation(op_a), operation(op_b), by.get(), of, from, old.get(), to);
  });
}

// ----------------------------------------------------------------------------------------------------- conversions

SIMT_SPARSE_STATUS SIMT_SPARSE(SparseToDense_bufferSize)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(ConstSpMatDescr_t),
                                                         SIMT_SPARSE(DnMatDescr_t), SIMT_SPARSE(SparseToDenseAlg_t),
                                                         std::size_t* size) {
  *size = simt::sparse::work_space;
  return simt::sparse::check(handle);
}
SIMT_SPARSE_STATUS SIMT_SPARSE(SparseToDense)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(ConstSpMatDescr_t) a,
                                              SIMT_SPARSE(DnMatDescr_t) b, SIMT_SPARSE(SparseToDenseAlg_t), void*,
                                              SIMT_HERE) {
  SIMT_SPARSE_CALL("SparseToDense");
  if (const auto status = simt::sparse::check(handle)) return status;
  const auto from = simt::sparse::matrix(a);
  const auto to = simt::sparse::dense(b);
  return simt::sparse::submit(handle, [=] { simt::sparse::to_dense(simt_call, from, to); });
}
SIMT_SPARSE_STATUS SIMT_SPARSE(DenseToSparse_bufferSize)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(ConstDnMatDescr_t),
                                                         SIMT_SPARSE(SpMatDescr_t), SIMT_SPARSE(DenseToSparseAlg_t),
                                                         std::size_t* size) {
  *size = simt::sparse::work_space;
  return simt::sparse::check(handle);
}
SIMT_SPARSE_STATUS SIMT_SPARSE(DenseToSparse_analysis)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(ConstDnMatDescr_t) a,
                                                       SIMT_SPARSE(SpMatDescr_t) b, SIMT_SPARSE(DenseToSparseAlg_t),
                                                       void*, SIMT_HERE) {
  SIMT_SPARSE_CALL("DenseToSparse_analysis");
  if (const auto status = simt::sparse::check(handle)) return status;
  auto* const to = static_cast<cusparseSpMatDescr*>(b);
  to->count = simt::sparse::count(simt_call, simt::sparse::dense(a), *to);
  return simt::sparse::success;
}
SIMT_SPARSE_STATUS SIMT_SPARSE(DenseToSparse_convert)(SIMT_SPARSE(Handle_t) handle, SIMT_SPARSE(ConstDnMatDescr_t) a,
                                                      SIMT_SPARSE(SpMatDescr_t) b, SIMT_SPARSE(DenseToSparseAlg_t),
                                                      void*, SIMT_HERE) {
  SIMT_SPARSE_CALL("DenseToSparse_convert");
  if (const auto status = simt::sparse::check(handle)) return status;
  const auto from = simt::sparse::dense(a);
  const auto to = simt::sparse::matrix(b);
  return simt::sparse::submit(handle, [=] { simt::sparse::to_sparse(simt_call, from, to); });
}
SIMT_SPARSE_STATUS SIMT_SPARSE(Csr2cscEx2_bufferSize)(SIMT_SPARSE(Handle_t) handle, int, int, int, const void*,
                                                      const int*, const int*, void*, int*, int*, hipDataType,
                                                      SIMT_SPARSE(Action_t), SIMT_SPARSE(IndexBase_t),
                                                      SIMT_SPARSE(Csr2CscAlg_t), std::size_t* size) {
  *size = simt::sparse::work_space;
  return simt::sparse::check(handle);
}
SIMT_SPARSE_STATUS SIMT_SPARSE(Csr2cscEx2)(SIMT_SPARSE(Handle_t) handle, int rows, int columns, int count,
                                           const void* values, const int* offsets, const int* indices, void* to_values,
                                           int* to_offsets, int* to_indices, hipDataType type,
                                           SIMT_SPARSE(Action_t) action, SIMT_SPARSE(IndexBase_t) base,
                                           SIMT_SPARSE(Csr2CscAlg_t), void*, SIMT_HERE) {
  SIMT_SPARSE_CALL("Csr2cscEx2");
  using namespace simt::sparse;
  if (const auto status = check(handle)) return status;
  const SparseMatrix from{Format::csr, rows, columns, count, const_cast<int*>(offsets), const_cast<int*>(indices),
                          const_cast<void*>(values), IndexType::bits32, IndexType::bits32, int(base), type};
  const SparseMatrix to{Format::csc, rows, columns, count, to_offsets, to_indices, to_values,
                        IndexType::bits32, IndexType::bits32, int(base), type};
  return submit(handle, [=] { convert(simt_call, from, to, action == SIMT_S(ACTION_SYMBOLIC)); });
}

#include "sparse_solve.h"

#undef SIMT_S

#endif
