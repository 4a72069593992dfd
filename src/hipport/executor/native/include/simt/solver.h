// SPDX-License-Identifier: Apache-2.0
// simt/solver.h: the dense functions of cuSOLVER (cusolverDn) and hipSOLVER: LU, Cholesky, QR, symmetric eigenvalues,
// singular values. Values are those of CUDA 12 and of hipSOLVER 3.0 (ROCm 7.0). A missing function is a compile error.
#ifndef SIMT_SOLVER_H
#define SIMT_SOLVER_H

#include "blas.h"

#ifdef SIMT_HIP
#define SIMT_SOLVER(name) hipsolverDn##name
#define SIMT_SOLVER_CONSTANT(name) HIPSOLVER_##name
#define SIMT_SOLVER_CALLED(name) "hipsolverDn" name
#define HIPSOLVER_H
typedef void* hipsolverHandle_t;
typedef void* hipsolverDnHandle_t;
typedef hipblasFillMode_t hipsolverFillMode_t;
typedef hipblasOperation_t hipsolverOperation_t;
typedef hipblasSideMode_t hipsolverSideMode_t;
#define HIPSOLVER_FILL_MODE_LOWER HIPBLAS_FILL_MODE_LOWER
#define HIPSOLVER_FILL_MODE_UPPER HIPBLAS_FILL_MODE_UPPER
#define HIPSOLVER_OP_N HIPBLAS_OP_N
#define HIPSOLVER_OP_T HIPBLAS_OP_T
#define HIPSOLVER_OP_C HIPBLAS_OP_C
#define HIPSOLVER_SIDE_LEFT HIPBLAS_SIDE_LEFT
#define HIPSOLVER_SIDE_RIGHT HIPBLAS_SIDE_RIGHT
enum hipsolverStatus_t {
  HIPSOLVER_STATUS_SUCCESS = 0,
  HIPSOLVER_STATUS_NOT_INITIALIZED = 1,
  HIPSOLVER_STATUS_ALLOC_FAILED = 2,
  HIPSOLVER_STATUS_INVALID_VALUE = 3,
  HIPSOLVER_STATUS_MAPPING_ERROR = 4,
  HIPSOLVER_STATUS_EXECUTION_FAILED = 5,
  HIPSOLVER_STATUS_INTERNAL_ERROR = 6,
  HIPSOLVER_STATUS_NOT_SUPPORTED = 7,
  HIPSOLVER_STATUS_ARCH_MISMATCH = 8,
  HIPSOLVER_STATUS_HANDLE_IS_NULLPTR = 9,
  HIPSOLVER_STATUS_INVALID_ENUM = 10,
  HIPSOLVER_STATUS_UNKNOWN = 11,
  HIPSOLVER_STATUS_ZERO_PIVOT = 12,
  HIPSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED = 13,
};
enum hipsolverEigMode_t { HIPSOLVER_EIG_MODE_NOVECTOR = 201, HIPSOLVER_EIG_MODE_VECTOR = 202 };
#else
#define SIMT_SOLVER(name) cusolverDn##name
#define SIMT_SOLVER_CONSTANT(name) CUSOLVER_##name
#define SIMT_SOLVER_CALLED(name) "cusolverDn" name
#define CUSOLVER_COMMON_H_
#define CUSOLVERDN_H_
typedef struct cublasContext* cusolverDnHandle_t;
enum cusolverStatus_t {
  CUSOLVER_STATUS_SUCCESS = 0,
  CUSOLVER_STATUS_NOT_INITIALIZED = 1,
  CUSOLVER_STATUS_ALLOC_FAILED = 2,
  CUSOLVER_STATUS_INVALID_VALUE = 3,
  CUSOLVER_STATUS_ARCH_MISMATCH = 4,
  CUSOLVER_STATUS_MAPPING_ERROR = 5,
  CUSOLVER_STATUS_EXECUTION_FAILED = 6,
  CUSOLVER_STATUS_INTERNAL_ERROR = 7,
  CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED = 8,
  CUSOLVER_STATUS_NOT_SUPPORTED = 9,
  CUSOLVER_STATUS_ZERO_PIVOT = 10,
  CUSOLVER_STATUS_INVALID_LICENSE = 11,
};
enum cusolverEigMode_t { CUSOLVER_EIG_MODE_NOVECTOR = 0, CUSOLVER_EIG_MODE_VECTOR = 1 };
#endif

namespace simt {
namespace solver {

#ifdef SIMT_HIP
using Handle = hipsolverHandle_t;
using Status = hipsolverStatus_t;
using EigMode = hipsolverEigMode_t;
#else
using Handle = cusolverDnHandle_t;
using Status = cusolverStatus_t;
using EigMode = cusolverEigMode_t;
#endif
constexpr Status success = SIMT_SOLVER_CONSTANT(STATUS_SUCCESS);
constexpr Status invalid = SIMT_SOLVER_CONSTANT(STATUS_INVALID_VALUE);
using blas::Index;
using blas::Matrix;

/// Do `work` on matrices after checking them; `info` gets its result.
template <std::size_t count, typename Work>
Status submit(const blas::Call call, Handle handle, const Matrix (&matrices)[count], int* info, Work work) {
  if (!host::has_handle(handle, host::HandleKind::solver)) return SIMT_SOLVER_CONSTANT(STATUS_NOT_INITIALIZED);
  for (const Matrix& each : matrices) {
    if (!blas::fits(each)) return invalid;
  }
  struct {
    Matrix each[count];
  } kept;
  for (std::size_t i = 0; i < count; ++i) kept.each[i] = matrices[i];
  host::enqueue(static_cast<cublasContext*>(handle)->stream, [=] {
    for (const Matrix& each : kept.each) blas::check(call, "a matrix", each);
    blas::check(call, "info", blas::Vector{info, HIP_R_32I, 1, 1});
    *info = work();
  });
  return success;
}

}  // namespace solver
}  // namespace simt

#define SIMT_SOLVER_STATUS inline ::simt::solver::Status
#define SIMT_SOLVER_CALL(name) const ::simt::blas::Call simt_call{SIMT_SOLVER_CALLED(name), SIMT_THERE}

SIMT_SOLVER_STATUS SIMT_SOLVER(Create)(::simt::solver::Handle* handle) {
  if (handle == nullptr) return simt::solver::invalid;
  cublasContext* const made = new cublasContext;
  simt::host::add_handle(made, simt::host::HandleKind::solver);
  *handle = made;
  return simt::solver::success;
}
SIMT_SOLVER_STATUS SIMT_SOLVER(Destroy)(::simt::solver::Handle handle) {
  if (!simt::host::remove_handle(handle, simt::host::HandleKind::solver)) {
    return SIMT_SOLVER_CONSTANT(STATUS_NOT_INITIALIZED);
  }
  delete static_cast<cublasContext*>(handle);
  return simt::solver::success;
}
SIMT_SOLVER_STATUS SIMT_SOLVER(SetStream)(::simt::solver::Handle handle, hipStream_t stream) {
  if (!simt::host::has_handle(handle, simt::host::HandleKind::solver)) {
    return SIMT_SOLVER_CONSTANT(STATUS_NOT_INITIALIZED);
  }
  static_cast<cublasContext*>(handle)->stream = stream;
  return simt::solver::success;
}
#ifdef SIMT_HIP
#define hipsolverCreate hipsolverDnCreate
#define hipsolverDestroy hipsolverDnDestroy
#define hipsolverSetStream hipsolverDnSetStream
#endif

// No workspace is needed; the size is not 0, because programs allocate it, and some reject a size of 0.
#define SIMT_SOLVER_TYPE(L, T, R, mqr, evd)                                                                        \
  SIMT_SOLVER_STATUS SIMT_SOLVER(L##getrf_bufferSize)(::simt::solver::Handle, int, int, T*, int, int* size) {        \
    *size = 1;                                                                                                       \
    return simt::solver::success;                                                                                    \
  }                                                                                                                  \
  SIMT_SOLVER_STATUS SIMT_SOLVER(L##getrf)(::simt::solver::Handle handle, int m, int n, T* a, int lda, T*,           \
                                           int* pivots, int* info, SIMT_HERE) {                                      \
    SIMT_SOLVER_CALL(#L "getrf");                                                                                    \
    const auto all = simt::blas::matrix(a, m, n, lda);                                                               \
    return simt::solver::submit(simt_call, handle, {all}, info, [=] { return simt::blas::getrf(all, pivots); });     \
  }                                                                                                                  \
  SIMT_SOLVER_STATUS SIMT_SOLVER(L##getrs)(::simt::solver::Handle handle, SIMT_BLAS(Operation_t) of_a, int n,        \
                                           int columns, const T* a, int lda, const int* pivots, T* b, int ldb,       \
                                           int* info, SIMT_HERE) {                                                   \
    SIMT_SOLVER_CALL(#L "getrs");                                                                                    \
    simt::blas::Operation operation;                                                                                 \
    if (!simt::blas::known(of_a, operation)) return simt::solver::invalid;                                           \
    const auto all = simt::blas::matrix(a, n, n, lda), to = simt::blas::matrix(b, n, columns, ldb);                  \
    return simt::solver::submit(simt_call, handle, {all, to}, info, [=] {                                            \
      simt::blas::getrs(operation, all, pivots, to);                                                                 \
      return 0;                                                                                                      \
    });                                                                                                              \
  }                                                                                                                  \
  SIMT_SOLVER_STATUS SIMT_SOLVER(L##potrf_bufferSize)(::simt::solver::Handle, SIMT_BLAS(FillMode_t), int, T*, int,   \
                                                      int* size) {                                                   \
    *size = 1;                                                                                                       \
    return simt::solver::success;                                                                                    \
  }                                                                                                                  \
  SIMT_SOLVER_STATUS SIMT_SOLVER(L##potrf)(::simt::solver::Handle handle, SIMT_BLAS(FillMode_t) fill, int n, T* a,   \
                                           int lda, T*, int, int* info, SIMT_HERE) {                                 \
    SIMT_SOLVER_CALL(#L "potrf");                                                                                    \
    simt::blas::Fill part;                                                                                           \
    if (!simt::blas::known(fill, part)) return simt::solver::invalid;                                                \
    const auto all = simt::blas::matrix(a, n, n, lda);                                                               \
    return simt::solver::submit(simt_call, handle, {all}, info, [=] { return simt::blas::potrf(part, all); });       \
  }                                                                                                                  \
  SIMT_SOLVER_STATUS SIMT_SOLVER(L##potrs)(::simt::solver::Handle handle, SIMT_BLAS(FillMode_t) fill, int n,         \
                                           int columns, const T* a, int lda, T* b, int ldb, int* info, SIMT_HERE) {  \
    SIMT_SOLVER_CALL(#L "potrs");                                                                                    \
    simt::blas::Fill part;                                                                                           \
    if (!simt::blas::known(fill, part)) return simt::solver::invalid;                                                \
    const auto all = simt::blas::matrix(a, n, n, lda), to = simt::blas::matrix(b, n, columns, ldb);                  \
    return simt::solver::submit(simt_call, handle, {all, to}, info, [=] {                                            \
      using simt::blas::Operation;                                                                                   \
      const R one = 1;                                                                                               \
      const bool lower = part == simt::blas::Fill::lower;                                                            \
      for (const Operation each : {lower ? Operation::none : Operation::adjoint,                                     \
                                   lower ? Operation::adjoint : Operation::none}) {                                  \
        simt::blas::trsm(simt::blas::Side::left, part, each, false, {&one, simt::blas::type_of<R>}, all, to);        \
      }                                                                                                              \
      return 0;                                                                                                      \
    });                                                                                                              \
  }                                                                                                                  \
  SIMT_SOLVER_STATUS SIMT_SOLVER(L##geqrf_bufferSize)(::simt::solver::Handle, int, int, T*, int, int* size) {        \
    *size = 1;                                                                                                       \
    return simt::solver::success;                                                                                    \
  }                                                                                                                  \
  SIMT_SOLVER_STATUS SIMT_SOLVER(L##geqrf)(::simt::solver::Handle handle, int m, int n, T* a, int lda, T* tau, T*,   \
                                           int, int* info, SIMT_HERE) {                                              \
    SIMT_SOLVER_CALL(#L "geqrf");                                                                                    \
    const auto all = simt::blas::matrix(a, m, n, lda);                                                               \
    const int least = m < n ? m : n;                                                                                 \
    return simt::solver::submit(simt_call, handle, {all, simt::blas::matrix(tau, least, 1, least > 0 ? least : 1)},  \
                                info, [=] {                                                                          \
                                  simt::blas::geqrf(all, simt::blas::vector(tau, least, 1));                         \
                                  return 0;                                                                          \
                                });                                                                                  \
  }                                                                                                                  \
  SIMT_SOLVER_STATUS SIMT_SOLVER(L##mqr##_bufferSize)(                                                            \
      ::simt::solver::Handle, SIMT_BLAS(SideMode_t), SIMT_BLAS(Operation_t), int, int, int, const T*, int, const T*, \
      const T*, int, int* size) {                                                                                    \
    *size = 1;                                                                                                       \
    return simt::solver::success;                                                                                    \
  }                                                                                                                  \
  SIMT_SOLVER_STATUS SIMT_SOLVER(L##mqr)(::simt::solver::Handle handle, SIMT_BLAS(SideMode_t) of_side,          \
                                              SIMT_BLAS(Operation_t) of_q, int m, int n, int k, const T* a, int lda, \
                                              const T* tau, T* c, int ldc, T*, int, int* info, SIMT_HERE) {          \
    SIMT_SOLVER_CALL(#L #mqr);                                                                                 \
    simt::blas::Side side;                                                                                           \
    simt::blas::Operation operation;                                                                                 \
    if (!simt::blas::known(of_side, side) || !simt::blas::known(of_q, operation)) return simt::solver::invalid;      \
    const auto all = simt::blas::matrix(a, side == simt::blas::Side::left ? m : n, k, lda);                          \
    const auto to = simt::blas::matrix(c, m, n, ldc);                                                                \
    return simt::solver::submit(simt_call, handle, {all, to}, info, [=] {                                            \
      simt::blas::ormqr(side, operation, all, simt::blas::vector(tau, k, 1), to);                                    \
      return 0;                                                                                                      \
    });                                                                                                              \
  }                                                                                                                  \
  SIMT_SOLVER_STATUS SIMT_SOLVER(L##evd##_bufferSize)(::simt::solver::Handle, ::simt::solver::EigMode,             \
                                                        SIMT_BLAS(FillMode_t), int, const T*, int, const R*,         \
                                                        int* size) {                                                 \
    *size = 1;                                                                                                       \
    return simt::solver::success;                                                                                    \
  }                                                                                                                  \
  SIMT_SOLVER_STATUS SIMT_SOLVER(L##evd)(::simt::solver::Handle handle, ::simt::solver::EigMode mode,              \
                                           SIMT_BLAS(FillMode_t) fill, int n, T* a, int lda, R* values, T*, int,     \
                                           int* info, SIMT_HERE) {                                                   \
    SIMT_SOLVER_CALL(#L #evd);                                                                                     \
    simt::blas::Fill part;                                                                                           \
    if (!simt::blas::known(fill, part)) return simt::solver::invalid;                                                \
    const auto all = simt::blas::matrix(a, n, n, lda);                                                               \
    return simt::solver::submit(simt_call, handle, {all, simt::blas::matrix(values, n, 1, n > 0 ? n : 1)}, info, [=] { \
      simt::blas::syevd(mode == SIMT_SOLVER_CONSTANT(EIG_MODE_VECTOR), part, all, simt::blas::vector(values, n, 1)); \
      return 0;                                                                                                      \
    });                                                                                                              \
  }                                                                                                                  \
  SIMT_SOLVER_STATUS SIMT_SOLVER(L##gesvd_bufferSize)(::simt::solver::Handle, int, int, int* size) {                 \
    *size = 1;                                                                                                       \
    return simt::solver::success;                                                                                    \
  }                                                                                                                  \
  SIMT_SOLVER_STATUS SIMT_SOLVER(L##gesvd)(::simt::solver::Handle handle, signed char of_u, signed char of_v, int m, \
                                           int n, T* a, int lda, R* values, T* u, int ldu, T* v, int ldv, T*, int,   \
                                           R*, int* info, SIMT_HERE) {                                               \
    SIMT_SOLVER_CALL(#L "gesvd");                                                                                    \
    const int least = m < n ? m : n;                                                                                 \
    for (const signed char each : {of_u, of_v}) {                                                                    \
      if (each == 'O') return SIMT_SOLVER_CONSTANT(STATUS_NOT_SUPPORTED);                                            \
      if (each != 'A' && each != 'S' && each != 'N') return simt::solver::invalid;                                   \
    }                                                                                                                \
    const auto all = simt::blas::matrix(a, m, n, lda);                                                               \
    const auto left = simt::blas::matrix(u, m, of_u == 'A' ? m : least, ldu);                                        \
    const auto right = simt::blas::matrix(v, of_v == 'A' ? n : least, n, ldv);                                       \
    return simt::solver::submit(                                                                                     \
        simt_call, handle,                                                                                           \
        {all, of_u == 'N' ? all : left, of_v == 'N' ? all : right}, info, [=] {                                      \
          simt::blas::gesvd(all, simt::blas::vector(values, least, 1), of_u == 'N' ? nullptr : &left,                \
                            of_v == 'N' ? nullptr : &right);                                                         \
          return 0;                                                                                                  \
        });                                                                                                          \
  }
SIMT_SOLVER_TYPE(S, float, float, ormqr, syevd)
SIMT_SOLVER_TYPE(D, double, double, ormqr, syevd)
SIMT_SOLVER_TYPE(C, float2, float, unmqr, heevd)
SIMT_SOLVER_TYPE(Z, double2, double, unmqr, heevd)
#undef SIMT_SOLVER_TYPE
#undef SIMT_SOLVER_STATUS
#undef SIMT_SOLVER_CALL

#endif
