// SPDX-License-Identifier: Apache-2.0
// simt/blas.h: cuBLAS and hipBLAS, in column-major order, with 64-bit sizes everywhere. Functions check their arguments
// and call simt::blas; a missing function is a compile error.
#ifndef SIMT_BLAS_H
#define SIMT_BLAS_H

#include "bfloat16.h"
#include "blas_types.h"
#include "half.h"

namespace simt {
namespace blas {

constexpr Status success = SIMT_BLAS_CONSTANT(STATUS_SUCCESS);
constexpr Status invalid = SIMT_BLAS_CONSTANT(STATUS_INVALID_VALUE);

template <>
inline constexpr hipDataType type_of<__half> = HIP_R_16F;

inline Status check(Handle handle) {
  return handle != nullptr && host::has_handle(handle, host::HandleKind::blas)
             ? success
             : SIMT_BLAS_CONSTANT(STATUS_NOT_INITIALIZED);
}

/// A scalar in the place that the program chose: on the host, read when the function is called, or on the device, read
/// when the work is done.
struct Factor {
  const Call& call;
  bool device;
  hipDataType type;
  alignas(16) unsigned char kept[16];
  const void* at;

  Factor(const Call& call, Handle handle, const void* at, hipDataType type, std::size_t size)
      : call(call), device(context(handle)->device_pointers), type(type), kept{}, at(at) {
    const host::Side side = host::side(at);
    if (device && side == host::Side::host) {
      fault("pointer-mode", call.place, "%s: a factor is in host memory, but the pointer mode is the device's",
            call.name);
    }
    if (!device && side == host::Side::device) {
      fault("pointer-mode", call.place, "%s: a factor is in device memory, but the pointer mode is the host's",
            call.name);
    }
    if (!device) std::memcpy(kept, at, size);
  }
  Scalar get() const { return {device ? at : kept, type}; }
};
template <typename T>
Factor factor(const Call& call, Handle handle, const T* at) {
  return Factor(call, handle, at, type_of<T>, sizeof(T));
}
inline std::size_t size_of_factor(hipDataType type) {
  switch (type) {
    case HIP_R_16F:
    case HIP_R_16BF: return 2;
    case HIP_R_64F:
    case HIP_C_32F: return 8;
    case HIP_C_64F: return 16;
    default: return 4;
  }
}

/// The place of a result: on the host or the device, as the pointer mode says.
inline void check_result(const Call& call, Handle handle, const void* at) {
  const host::Side side = host::side(at);
  if (context(handle)->device_pointers ? side == host::Side::host : side == host::Side::device) {
    fault("pointer-mode", call.place, "%s: the result is in %s memory, but the pointer mode is the %s's",
          call.name, side == host::Side::host ? "host" : "device", side == host::Side::host ? "device" : "host");
  }
}

/// Do the work, or record it for the graph of the handle's stream.
template <typename Work>
Status submit(Handle handle, Work work) {
  host::enqueue(context(handle)->stream, work);
  return success;
}

template <typename T>
Vector vector(const T* at, Index n, Index step) {
  return {at, type_of<T>, n, step};
}
template <typename T>
Matrix matrix(const T* at, Index rows, Index columns, Index ld) {
  return {at, type_of<T>, rows, columns, ld};
}
inline Matrix operand(const void* at, hipDataType type, Operation operation, Index rows, Index columns, Index ld) {
  const bool turned = operation == Operation::transposed || operation == Operation::adjoint;
  return {at, type, turned ? columns : rows, turned ? rows : columns, ld};
}
inline bool fits(const Matrix& a) { return a.rows >= 0 && a.columns >= 0 && a.ld >= (a.rows > 1 ? a.rows : 1); }

/// All kinds of gemm: `count` products, whose matrices `at(i)` returns.
template <typename At>
Status gemm_each(const Call call, Handle handle, SIMT_BLAS(Operation_t) of_a, SIMT_BLAS(Operation_t) of_b, Index m,
                 Index n, Index k, const void* alpha, hipDataType factors, hipDataType a_type, Index lda,
                 hipDataType b_type, Index ldb, const void* beta, hipDataType c_type, Index ldc, hipDataType sums,
                 Index count, At at) {
  if (const Status status = check(handle)) return status;
  Operation op_a, op_b;
  if (!known(of_a, op_a) || !known(of_b, op_b) || m < 0 || n < 0 || k < 0 || count < 0) return invalid;
  const Matrix a = operand(nullptr, a_type, op_a, m, k, lda), b = operand(nullptr, b_type, op_b, k, n, ldb);
  const Matrix c{nullptr, c_type, m, n, ldc};
  if (!fits(a) || !fits(b) || !fits(c) || alpha == nullptr || beta == nullptr) return invalid;
  if (!is_known(a_type) || !is_known(b_type) || !is_known(c_type)) return SIMT_BLAS_CONSTANT(STATUS_NOT_SUPPORTED);
  if (m == 0 || n == 0 || count == 0) return success;
  const Factor by(call, handle, alpha, factors, size_of_factor(factors));
  const Factor old(call, handle, beta, factors, size_of_factor(factors));
  return submit(handle, [=] {
    for (Index i = 0; i < count; ++i) {
      Matrix x = a, y = b, z = c;
      at(i, x.at, y.at, z.at);
      if (k > 0) {
        blas::check(call, "A", x);
        blas::check(call, "B", y);
      }
      blas::check(call, "C", z);
      blas::gemm(sums, op_a, op_b, by.get(), x, y, old.get(), z);
    }
  });
}

struct One {
  const void *a, *b;
  void* c;
  void operator()(Index, const void*& x, const void*& y, const void*& z) const { x = a, y = b, z = c; }
};
struct Strided {
  const void *a, *b;
  void* c;
  Index step_a, step_b, step_c;  // in bytes
  void operator()(Index i, const void*& x, const void*& y, const void*& z) const {
    x = static_cast<const char*>(a) + i * step_a;
    y = static_cast<const char*>(b) + i * step_b;
    z = static_cast<char*>(c) + i * step_c;
  }
};
struct Batched {
  const Call call;
  const void *const *a, *const *b;
  void* const* c;
  void operator()(Index i, const void*& x, const void*& y, const void*& z) const {
    if (host::side(a) == host::Side::host) {
      fault("host-memory", call.place, "%s: the array of pointers is in host memory", call.name);
    }
    x = a[i], y = b[i], z = c[i];
  }
};
inline Index bytes_of(hipDataType type) {
  switch (type) {
    case HIP_R_8I:
    case HIP_R_8U: return 1;
    default: return static_cast<Index>(size_of_factor(type));
  }
}
/// The type in which half-precision numbers are summed.
template <typename T>
constexpr hipDataType sums_of = type_of<T> == HIP_R_16F ? HIP_R_32F : type_of<T>;

/// The vectors of an operation.
template <typename Work>
Status over(const Call call, Handle handle, Vector x, Work work) {
  if (const Status status = blas::check(handle)) return status;
  if (x.n <= 0) return success;
  return submit(handle, [=] {
    blas::check(call, "x", x);
    work();
  });
}
template <typename Work>
Status over(const Call call, Handle handle, Vector x, Vector y, Work work) {
  return over(call, handle, x, [=] {
    blas::check(call, "y", y);
    work();
  });
}

}  // namespace blas
}  // namespace simt

#define SIMT_BLAS_CALL(name) const ::simt::blas::Call simt_call{SIMT_BLAS_CALLED(name), SIMT_THERE}
#define SIMT_BLAS_HANDLE ::simt::blas::Handle handle
#define SIMT_BLAS_STATUS inline ::simt::blas::Status
using simtIndex = ::simt::blas::Index;

// ---------------------------------------------------------------------------------------------------------- handles

SIMT_BLAS_STATUS SIMT_BLAS(Create)(::simt::blas::Handle* handle) {
  if (handle == nullptr) return simt::blas::invalid;
  cublasContext* const made = new cublasContext;
  simt::host::add_handle(made, simt::host::HandleKind::blas);
  *handle = made;
  return simt::blas::success;
}
SIMT_BLAS_STATUS SIMT_BLAS(Destroy)(SIMT_BLAS_HANDLE) {
  if (!simt::host::remove_handle(handle, simt::host::HandleKind::blas)) {
    return SIMT_BLAS_CONSTANT(STATUS_NOT_INITIALIZED);
  }
  delete simt::blas::context(handle);
  return simt::blas::success;
}

#define SIMT_BLAS_SETTING(Name, type, member)                                     \
  SIMT_BLAS_STATUS SIMT_BLAS(Set##Name)(SIMT_BLAS_HANDLE, type value) {           \
    if (const auto status = simt::blas::check(handle)) return status;             \
    simt::blas::context(handle)->member = static_cast<decltype(cublasContext::member)>(value); \
    return simt::blas::success;                                                   \
  }                                                                               \
  SIMT_BLAS_STATUS SIMT_BLAS(Get##Name)(SIMT_BLAS_HANDLE, type* value) {          \
    if (const auto status = simt::blas::check(handle)) return status;             \
    if (value == nullptr) return simt::blas::invalid;                             \
    *value = static_cast<type>(simt::blas::context(handle)->member);              \
    return simt::blas::success;                                                   \
  }
SIMT_BLAS_SETTING(Stream, hipStream_t, stream)
SIMT_BLAS_SETTING(PointerMode, SIMT_BLAS(PointerMode_t), device_pointers)
SIMT_BLAS_SETTING(MathMode, SIMT_BLAS(Math_t), math)
SIMT_BLAS_SETTING(AtomicsMode, SIMT_BLAS(AtomicsMode_t), atomics)
#undef SIMT_BLAS_SETTING

SIMT_BLAS_STATUS SIMT_BLAS(SetWorkspace)(SIMT_BLAS_HANDLE, void*, std::size_t) { return simt::blas::check(handle); }

#define SIMT_BLAS_EACH_STATUS(S) \
  S(SUCCESS)                     \
  S(NOT_INITIALIZED) S(ALLOC_FAILED) S(INVALID_VALUE) S(ARCH_MISMATCH) S(MAPPING_ERROR) S(EXECUTION_FAILED) \
      S(INTERNAL_ERROR) S(NOT_SUPPORTED)
#ifdef SIMT_HIP
inline const char* hipblasStatusToString(hipblasStatus_t status) {
  switch (status) {
#define SIMT_BLAS_STATUS_NAME(name) \
  case HIPBLAS_STATUS_##name: return "HIPBLAS_STATUS_" #name;
    SIMT_BLAS_EACH_STATUS(SIMT_BLAS_STATUS_NAME)
    SIMT_BLAS_STATUS_NAME(HANDLE_IS_NULLPTR)
    SIMT_BLAS_STATUS_NAME(INVALID_ENUM)
    default: return "HIPBLAS_STATUS_UNKNOWN";
  }
}
#else
inline const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
#define SIMT_BLAS_STATUS_NAME(name) \
  case CUBLAS_STATUS_##name: return "CUBLAS_STATUS_" #name;
    SIMT_BLAS_EACH_STATUS(SIMT_BLAS_STATUS_NAME)
    SIMT_BLAS_STATUS_NAME(LICENSE_ERROR)
  }
  return "unknown";
}
inline const char* cublasGetStatusString(cublasStatus_t status) { return cublasGetStatusName(status); }
inline cublasStatus_t cublasGetVersion(cublasHandle_t handle, int* version) {
  if (const auto status = simt::blas::check(handle)) return status;
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasGetProperty(libraryPropertyType which, int* value) {
  *value = which == MAJOR_VERSION ? CUBLAS_VER_MAJOR : which == MINOR_VERSION ? CUBLAS_VER_MINOR : CUBLAS_VER_PATCH;
  return CUBLAS_STATUS_SUCCESS;
}
inline std::size_t cublasGetCudartVersion() { return CUDART_VERSION; }
inline cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int) { return simt::blas::check(handle); }
#endif
#undef SIMT_BLAS_EACH_STATUS
#undef SIMT_BLAS_STATUS_NAME

// ------------------------------------------------------------------------------------------- copies of the host's data

namespace simt {
namespace blas {
inline Status move(const char* name, Index rows, Index columns, Index size, const void* from, Index from_ld, void* to,
                   Index to_ld, bool to_device, Place place) {
  if (rows < 0 || columns < 0 || size <= 0 || from_ld <= 0 || to_ld <= 0) return invalid;
  const host::Box target{to, static_cast<std::size_t>(to_ld * size), 0};
  const host::Box source{from, static_cast<std::size_t>(from_ld * size), 0};
  const hipError_t error = host::copy(name, target, source, static_cast<std::size_t>(rows * size),
                                      static_cast<std::size_t>(columns), 1,
                                      to_device ? hipMemcpyHostToDevice : hipMemcpyDeviceToHost, place);
  return error == hipSuccess ? success : SIMT_BLAS_CONSTANT(STATUS_MAPPING_ERROR);
}
}  // namespace blas
}  // namespace simt

#define SIMT_BLAS_MOVES(Way, to_device)                                                                              \
  SIMT_BLAS_STATUS SIMT_BLAS(Way##Vector)(simtIndex n, simtIndex size, const void* x, simtIndex incx, void* y,       \
                                          simtIndex incy, SIMT_HERE) {                                               \
    /* A vector is a row of a matrix with one row. */                                                                \
    return simt::blas::move(SIMT_BLAS_CALLED(#Way "Vector"), 1, n, size, x, incx, y, incy, to_device, SIMT_THERE);   \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(Way##Matrix)(simtIndex rows, simtIndex columns, simtIndex size, const void* a,          \
                                          simtIndex lda, void* b, simtIndex ldb, SIMT_HERE) {                        \
    return simt::blas::move(SIMT_BLAS_CALLED(#Way "Matrix"), rows, columns, size, a, lda, b, ldb, to_device,         \
                            SIMT_THERE);                                                                             \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(Way##VectorAsync)(simtIndex n, simtIndex size, const void* x, simtIndex incx, void* y,  \
                                               simtIndex incy, hipStream_t, SIMT_HERE) {                             \
    return SIMT_BLAS(Way##Vector)(n, size, x, incx, y, incy, simt_file, simt_line);                                  \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(Way##MatrixAsync)(simtIndex rows, simtIndex columns, simtIndex size, const void* a,     \
                                               simtIndex lda, void* b, simtIndex ldb, hipStream_t, SIMT_HERE) {      \
    return SIMT_BLAS(Way##Matrix)(rows, columns, size, a, lda, b, ldb, simt_file, simt_line);                        \
  }
SIMT_BLAS_MOVES(Set, true)
SIMT_BLAS_MOVES(Get, false)
#undef SIMT_BLAS_MOVES

// ---------------------------------------------------------------------------------------------------------- level 1

#define SIMT_BLAS_INDEX(Name, letter, T, largest)                                                                    \
  template <typename Result>                                                                                         \
  ::simt::blas::Status SIMT_BLAS(Name)(SIMT_BLAS_HANDLE, simtIndex n, const T* x, simtIndex incx, Result* result,    \
                                       SIMT_HERE) {                                                                  \
    SIMT_BLAS_CALL(#Name);                                                                                           \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    if (result == nullptr) return simt::blas::invalid;                                                               \
    simt::blas::check_result(simt_call, handle, result);                                                             \
    const simt::blas::Vector all = simt::blas::vector(x, incx <= 0 ? 0 : n, incx);                                   \
    return simt::blas::submit(handle, [=] {                                                                          \
      simt::blas::check(simt_call, "x", all);                                                                        \
      *result = static_cast<Result>(simt::blas::extreme(all, largest));                                              \
    });                                                                                                              \
  }

#define SIMT_BLAS_LEVEL1(L, l, T, R)                                                                                 \
  SIMT_BLAS_INDEX(I##l##amax, L, T, true)                                                                            \
  SIMT_BLAS_INDEX(I##l##amin, L, T, false)                                                                           \
  SIMT_BLAS_STATUS SIMT_BLAS(L##copy)(SIMT_BLAS_HANDLE, simtIndex n, const T* x, simtIndex incx, T* y,               \
                                      simtIndex incy, SIMT_HERE) {                                                   \
    SIMT_BLAS_CALL(#L "copy");                                                                                       \
    const auto from = simt::blas::vector(x, n, incx), to = simt::blas::vector(y, n, incy);                           \
    return simt::blas::over(simt_call, handle, from, to, [=] { simt::blas::copy(from, to); });                       \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(L##swap)(SIMT_BLAS_HANDLE, simtIndex n, T* x, simtIndex incx, T* y, simtIndex incy,     \
                                      SIMT_HERE) {                                                                   \
    SIMT_BLAS_CALL(#L "swap");                                                                                       \
    const auto from = simt::blas::vector(x, n, incx), to = simt::blas::vector(y, n, incy);                           \
    return simt::blas::over(simt_call, handle, from, to, [=] { simt::blas::swap(from, to); });                       \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(L##axpy)(SIMT_BLAS_HANDLE, simtIndex n, const T* alpha, const T* x, simtIndex incx,     \
                                      T* y, simtIndex incy, SIMT_HERE) {                                             \
    SIMT_BLAS_CALL(#L "axpy");                                                                                       \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    const auto by = simt::blas::factor(simt_call, handle, alpha);                                                    \
    const auto from = simt::blas::vector(x, n, incx), to = simt::blas::vector(y, n, incy);                           \
    return simt::blas::over(simt_call, handle, from, to, [=] { simt::blas::axpy(by.get(), from, to); });             \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(L##scal)(SIMT_BLAS_HANDLE, simtIndex n, const T* alpha, T* x, simtIndex incx,           \
                                      SIMT_HERE) {                                                                   \
    SIMT_BLAS_CALL(#L "scal");                                                                                       \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    const auto by = simt::blas::factor(simt_call, handle, alpha);                                                    \
    const auto all = simt::blas::vector(x, n, incx);                                                                 \
    return simt::blas::over(simt_call, handle, all, [=] { simt::blas::scale(by.get(), all); });                      \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(L##rotg)(SIMT_BLAS_HANDLE, T* a, T* b, R* c, T* s, SIMT_HERE) {                         \
    SIMT_BLAS_CALL(#L "rotg");                                                                                       \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    simt::blas::check_result(simt_call, handle, a);                                                                  \
    return simt::blas::submit(handle, [=] { simt::blas::make_rotation(a, b, c, s, simt::blas::type_of<T>); });       \
  }
SIMT_BLAS_LEVEL1(S, s, float, float)
SIMT_BLAS_LEVEL1(D, d, double, double)
SIMT_BLAS_LEVEL1(C, c, float2, float)
SIMT_BLAS_LEVEL1(Z, z, double2, double)
#undef SIMT_BLAS_LEVEL1
#undef SIMT_BLAS_INDEX

/// Functions that return a number: of x alone, or of x and y.
#define SIMT_BLAS_NUMBER(Name, T, R, function)                                                                       \
  SIMT_BLAS_STATUS SIMT_BLAS(Name)(SIMT_BLAS_HANDLE, simtIndex n, const T* x, simtIndex incx, R* result, SIMT_HERE) { \
    SIMT_BLAS_CALL(#Name);                                                                                           \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    if (result == nullptr) return simt::blas::invalid;                                                               \
    simt::blas::check_result(simt_call, handle, result);                                                             \
    const auto all = simt::blas::vector(x, n < 0 || incx <= 0 ? 0 : n, incx);                                        \
    return simt::blas::submit(handle, [=] {                                                                          \
      simt::blas::check(simt_call, "x", all);                                                                        \
      simt::blas::function(all, result, simt::blas::type_of<R>);                                                     \
    });                                                                                                              \
  }
#define SIMT_BLAS_DOT(Name, T, conjugated)                                                                           \
  SIMT_BLAS_STATUS SIMT_BLAS(Name)(SIMT_BLAS_HANDLE, simtIndex n, const T* x, simtIndex incx, const T* y,            \
                                   simtIndex incy, T* result, SIMT_HERE) {                                           \
    SIMT_BLAS_CALL(#Name);                                                                                           \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    if (result == nullptr) return simt::blas::invalid;                                                               \
    simt::blas::check_result(simt_call, handle, result);                                                             \
    const auto a = simt::blas::vector(x, n < 0 ? 0 : n, incx), b = simt::blas::vector(y, n < 0 ? 0 : n, incy);       \
    return simt::blas::submit(handle, [=] {                                                                          \
      simt::blas::check(simt_call, "x", a);                                                                          \
      simt::blas::check(simt_call, "y", b);                                                                          \
      simt::blas::dot(a, conjugated, b, result, simt::blas::type_of<T>);                                             \
    });                                                                                                              \
  }
#define SIMT_BLAS_ROT(Name, T, C, S)                                                                                 \
  SIMT_BLAS_STATUS SIMT_BLAS(Name)(SIMT_BLAS_HANDLE, simtIndex n, T* x, simtIndex incx, T* y, simtIndex incy,        \
                                   const C* c, const S* s, SIMT_HERE) {                                              \
    SIMT_BLAS_CALL(#Name);                                                                                           \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    const auto cosine = simt::blas::factor(simt_call, handle, c), sine = simt::blas::factor(simt_call, handle, s);   \
    const auto a = simt::blas::vector(x, n, incx), b = simt::blas::vector(y, n, incy);                               \
    return simt::blas::over(simt_call, handle, a, b, [=] { simt::blas::rotate(a, b, cosine.get(), sine.get()); });   \
  }
#define SIMT_BLAS_REAL_SCAL(Name, T, R)                                                                              \
  SIMT_BLAS_STATUS SIMT_BLAS(Name)(SIMT_BLAS_HANDLE, simtIndex n, const R* alpha, T* x, simtIndex incx, SIMT_HERE) { \
    SIMT_BLAS_CALL(#Name);                                                                                           \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    const auto by = simt::blas::factor(simt_call, handle, alpha);                                                    \
    const auto all = simt::blas::vector(x, n, incx);                                                                 \
    return simt::blas::over(simt_call, handle, all, [=] { simt::blas::scale(by.get(), all); });                      \
  }
SIMT_BLAS_NUMBER(Sasum, float, float, sum_of_magnitudes)
SIMT_BLAS_NUMBER(Dasum, double, double, sum_of_magnitudes)
SIMT_BLAS_NUMBER(Scasum, float2, float, sum_of_magnitudes)
SIMT_BLAS_NUMBER(Dzasum, double2, double, sum_of_magnitudes)
SIMT_BLAS_NUMBER(Snrm2, float, float, norm)
SIMT_BLAS_NUMBER(Dnrm2, double, double, norm)
SIMT_BLAS_NUMBER(Scnrm2, float2, float, norm)
SIMT_BLAS_NUMBER(Dznrm2, double2, double, norm)
SIMT_BLAS_DOT(Sdot, float, false)
SIMT_BLAS_DOT(Ddot, double, false)
SIMT_BLAS_DOT(Cdotu, float2, false)
SIMT_BLAS_DOT(Cdotc, float2, true)
SIMT_BLAS_DOT(Zdotu, double2, false)
SIMT_BLAS_DOT(Zdotc, double2, true)
SIMT_BLAS_ROT(Srot, float, float, float)
SIMT_BLAS_ROT(Drot, double, double, double)
SIMT_BLAS_ROT(Crot, float2, float, float2)
SIMT_BLAS_ROT(Csrot, float2, float, float)
SIMT_BLAS_ROT(Zrot, double2, double, double2)
SIMT_BLAS_ROT(Zdrot, double2, double, double)
SIMT_BLAS_REAL_SCAL(Csscal, float2, float)
SIMT_BLAS_REAL_SCAL(Zdscal, double2, double)
#undef SIMT_BLAS_NUMBER
#undef SIMT_BLAS_DOT
#undef SIMT_BLAS_ROT
#undef SIMT_BLAS_REAL_SCAL

SIMT_BLAS_STATUS SIMT_BLAS(AxpyEx)(SIMT_BLAS_HANDLE, simtIndex n, const void* alpha, hipDataType alpha_type,
                                   const void* x, hipDataType x_type, simtIndex incx, void* y, hipDataType y_type,
                                   simtIndex incy, hipDataType, SIMT_HERE) {
  SIMT_BLAS_CALL("AxpyEx");
  if (const auto status = simt::blas::check(handle)) return status;
  const simt::blas::Factor by(simt_call, handle, alpha, alpha_type, simt::blas::size_of_factor(alpha_type));
  const simt::blas::Vector from{x, x_type, n, incx}, to{y, y_type, n, incy};
  return simt::blas::over(simt_call, handle, from, to, [=] { simt::blas::axpy(by.get(), from, to); });
}
SIMT_BLAS_STATUS SIMT_BLAS(ScalEx)(SIMT_BLAS_HANDLE, simtIndex n, const void* alpha, hipDataType alpha_type, void* x,
                                   hipDataType x_type, simtIndex incx, hipDataType, SIMT_HERE) {
  SIMT_BLAS_CALL("ScalEx");
  if (const auto status = simt::blas::check(handle)) return status;
  const simt::blas::Factor by(simt_call, handle, alpha, alpha_type, simt::blas::size_of_factor(alpha_type));
  const simt::blas::Vector all{x, x_type, n, incx};
  return simt::blas::over(simt_call, handle, all, [=] { simt::blas::scale(by.get(), all); });
}
SIMT_BLAS_STATUS SIMT_BLAS(Nrm2Ex)(SIMT_BLAS_HANDLE, simtIndex n, const void* x, hipDataType x_type, simtIndex incx,
                                   void* result, hipDataType result_type, hipDataType, SIMT_HERE) {
  SIMT_BLAS_CALL("Nrm2Ex");
  if (const auto status = simt::blas::check(handle)) return status;
  simt::blas::check_result(simt_call, handle, result);
  const simt::blas::Vector all{x, x_type, n < 0 ? 0 : n, incx};
  return simt::blas::submit(handle, [=] {
    simt::blas::check(simt_call, "x", all);
    simt::blas::norm(all, result, result_type);
  });
}
#define SIMT_BLAS_DOT_EX(Name, conjugated)                                                                           \
  SIMT_BLAS_STATUS SIMT_BLAS(Name)(SIMT_BLAS_HANDLE, simtIndex n, const void* x, hipDataType x_type, simtIndex incx, \
                                   const void* y, hipDataType y_type, simtIndex incy, void* result,                  \
                                   hipDataType result_type, hipDataType, SIMT_HERE) {                                \
    SIMT_BLAS_CALL(#Name);                                                                                           \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    simt::blas::check_result(simt_call, handle, result);                                                             \
    const simt::blas::Vector a{x, x_type, n < 0 ? 0 : n, incx}, b{y, y_type, n < 0 ? 0 : n, incy};                   \
    return simt::blas::submit(handle, [=] {                                                                          \
      simt::blas::check(simt_call, "x", a);                                                                          \
      simt::blas::check(simt_call, "y", b);                                                                          \
      simt::blas::dot(a, conjugated, b, result, result_type);                                                        \
    });                                                                                                              \
  }
SIMT_BLAS_DOT_EX(DotEx, false)
SIMT_BLAS_DOT_EX(DotcEx, true)
#undef SIMT_BLAS_DOT_EX

// ---------------------------------------------------------------------------------------------------------- level 2

#define SIMT_BLAS_LEVEL2(L, T)                                                                                        \
  SIMT_BLAS_STATUS SIMT_BLAS(L##gemv)(SIMT_BLAS_HANDLE, SIMT_BLAS(Operation_t) of_a, simtIndex m, simtIndex n,       \
                                      const T* alpha, const T* a, simtIndex lda, const T* x, simtIndex incx,         \
                                      const T* beta, T* y, simtIndex incy, SIMT_HERE) {                              \
    SIMT_BLAS_CALL(#L "gemv");                                                                                       \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    simt::blas::Operation operation;                                                                                 \
    const auto all = simt::blas::matrix(a, m, n, lda);                                                               \
    if (!simt::blas::known(of_a, operation) || !simt::blas::fits(all) || incx == 0 || incy == 0) {                   \
      return simt::blas::invalid;                                                                                    \
    }                                                                                                                \
    if (m == 0 || n == 0) return simt::blas::success;                                                                \
    const bool plain = of_a == SIMT_BLAS_CONSTANT(OP_N);                                                             \
    const auto by = simt::blas::factor(simt_call, handle, alpha), old = simt::blas::factor(simt_call, handle, beta); \
    const auto from = simt::blas::vector(x, plain ? n : m, incx), to = simt::blas::vector(y, plain ? m : n, incy);   \
    return simt::blas::over(simt_call, handle, from, to, [=] {                                                       \
      simt::blas::check(simt_call, "A", all);                                                                        \
      simt::blas::gemv(operation, by.get(), all, from, old.get(), to);                                               \
    });                                                                                                              \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(L##gbmv)(SIMT_BLAS_HANDLE, SIMT_BLAS(Operation_t) of_a, simtIndex m, simtIndex n,       \
                                      simtIndex below, simtIndex above, const T* alpha, const T* a, simtIndex lda,   \
                                      const T* x, simtIndex incx, const T* beta, T* y, simtIndex incy, SIMT_HERE) {  \
    SIMT_BLAS_CALL(#L "gbmv");                                                                                       \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    simt::blas::Operation operation;                                                                                 \
    const auto band = simt::blas::matrix(a, below + above + 1, n, lda);                                              \
    if (!simt::blas::known(of_a, operation) || !simt::blas::fits(band) || m < 0 || incx == 0 || incy == 0) {         \
      return simt::blas::invalid;                                                                                    \
    }                                                                                                                \
    if (m == 0 || n == 0) return simt::blas::success;                                                                \
    const bool plain = of_a == SIMT_BLAS_CONSTANT(OP_N);                                                             \
    const auto by = simt::blas::factor(simt_call, handle, alpha), old = simt::blas::factor(simt_call, handle, beta); \
    const auto from = simt::blas::vector(x, plain ? n : m, incx), to = simt::blas::vector(y, plain ? m : n, incy);   \
    return simt::blas::over(simt_call, handle, from, to, [=] {                                                       \
      simt::blas::check(simt_call, "A", band);                                                                       \
      simt::blas::gbmv(operation, below, above, by.get(), band, m, from, old.get(), to);                             \
    });                                                                                                              \
  }                                                                                                                  \
  SIMT_BLAS_TRIANGULAR(L##trmv, T, trmv)                                                                             \
  SIMT_BLAS_TRIANGULAR(L##trsv, T, trsv)                                                                             \
  SIMT_BLAS_STATUS SIMT_BLAS(L##gemvStridedBatched)(                                                                 \
      SIMT_BLAS_HANDLE, SIMT_BLAS(Operation_t) of_a, simtIndex m, simtIndex n, const T* alpha, const T* a,           \
      simtIndex lda, simtIndex step_a, const T* x, simtIndex incx, simtIndex step_x, const T* beta, T* y,            \
      simtIndex incy, simtIndex step_y, simtIndex count, SIMT_HERE) {                                                \
    for (simtIndex i = 0; i < count; ++i) {                                                                          \
      const auto status = SIMT_BLAS(L##gemv)(handle, of_a, m, n, alpha, a + i * step_a, lda, x + i * step_x, incx,   \
                                             beta, y + i * step_y, incy, simt_file, simt_line);                      \
      if (status != simt::blas::success) return status;                                                              \
    }                                                                                                                \
    return simt::blas::check(handle);                                                                                \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(L##gemvBatched)(                                                                        \
      SIMT_BLAS_HANDLE, SIMT_BLAS(Operation_t) of_a, simtIndex m, simtIndex n, const T* alpha, const T* const a[],   \
      simtIndex lda, const T* const x[], simtIndex incx, const T* beta, T* const y[], simtIndex incy,                \
      simtIndex count, SIMT_HERE) {                                                                                  \
    for (simtIndex i = 0; i < count; ++i) {                                                                          \
      const auto status = SIMT_BLAS(L##gemv)(handle, of_a, m, n, alpha, a[i], lda, x[i], incx, beta, y[i], incy,     \
                                             simt_file, simt_line);                                                  \
      if (status != simt::blas::success) return status;                                                              \
    }                                                                                                                \
    return simt::blas::check(handle);                                                                                \
  }
#define SIMT_BLAS_TRIANGULAR(Name, T, function)                                                                      \
  SIMT_BLAS_STATUS SIMT_BLAS(Name)(SIMT_BLAS_HANDLE, SIMT_BLAS(FillMode_t) fill, SIMT_BLAS(Operation_t) of_a,        \
                                   SIMT_BLAS(DiagType_t) diagonal, simtIndex n, const T* a, simtIndex lda, T* x,     \
                                   simtIndex incx, SIMT_HERE) {                                                      \
    SIMT_BLAS_CALL(#Name);                                                                                           \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    simt::blas::Operation operation;                                                                                 \
    simt::blas::Fill part;                                                                                           \
    const auto all = simt::blas::matrix(a, n, n, lda);                                                               \
    if (!simt::blas::known(of_a, operation) || !simt::blas::known(fill, part) || !simt::blas::fits(all) ||           \
        incx == 0) {                                                                                                 \
      return simt::blas::invalid;                                                                                    \
    }                                                                                                                \
    const bool unit = diagonal == SIMT_BLAS_CONSTANT(DIAG_UNIT);                                                     \
    const auto vector = simt::blas::vector(x, n, incx);                                                              \
    return simt::blas::over(simt_call, handle, vector, [=] {                                                         \
      simt::blas::check(simt_call, "A", all);                                                                        \
      simt::blas::function(part, operation, unit, all, vector);                                                      \
    });                                                                                                              \
  }
SIMT_BLAS_LEVEL2(S, float)
SIMT_BLAS_LEVEL2(D, double)
SIMT_BLAS_LEVEL2(C, float2)
SIMT_BLAS_LEVEL2(Z, double2)
#undef SIMT_BLAS_LEVEL2
#undef SIMT_BLAS_TRIANGULAR

#define SIMT_BLAS_GER(Name, T, conjugated)                                                                           \
  SIMT_BLAS_STATUS SIMT_BLAS(Name)(SIMT_BLAS_HANDLE, simtIndex m, simtIndex n, const T* alpha, const T* x,           \
                                   simtIndex incx, const T* y, simtIndex incy, T* a, simtIndex lda, SIMT_HERE) {     \
    SIMT_BLAS_CALL(#Name);                                                                                           \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    const auto all = simt::blas::matrix(a, m, n, lda);                                                               \
    if (!simt::blas::fits(all) || incx == 0 || incy == 0) return simt::blas::invalid;                                \
    if (m == 0 || n == 0) return simt::blas::success;                                                                \
    const auto by = simt::blas::factor(simt_call, handle, alpha);                                                    \
    const auto left = simt::blas::vector(x, m, incx), right = simt::blas::vector(y, n, incy);                        \
    return simt::blas::over(simt_call, handle, left, right, [=] {                                                    \
      simt::blas::check(simt_call, "A", all);                                                                        \
      simt::blas::rank_one(by.get(), left, right, conjugated, all);                                                  \
    });                                                                                                              \
  }
#define SIMT_BLAS_SYMMETRIC(mv, r1, r2, T, R, hermitian)                                                             \
  SIMT_BLAS_STATUS SIMT_BLAS(mv)(SIMT_BLAS_HANDLE, SIMT_BLAS(FillMode_t) fill, simtIndex n, const T* alpha,          \
                                 const T* a, simtIndex lda, const T* x, simtIndex incx, const T* beta, T* y,         \
                                 simtIndex incy, SIMT_HERE) {                                                        \
    SIMT_BLAS_CALL(#mv);                                                                                             \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    simt::blas::Fill part;                                                                                           \
    const auto all = simt::blas::matrix(a, n, n, lda);                                                               \
    if (!simt::blas::known(fill, part) || !simt::blas::fits(all) || incx == 0 || incy == 0) {                        \
      return simt::blas::invalid;                                                                                    \
    }                                                                                                                \
    const auto by = simt::blas::factor(simt_call, handle, alpha), old = simt::blas::factor(simt_call, handle, beta); \
    const auto from = simt::blas::vector(x, n, incx), to = simt::blas::vector(y, n, incy);                           \
    return simt::blas::over(simt_call, handle, from, to, [=] {                                                       \
      simt::blas::check(simt_call, "A", all);                                                                        \
      simt::blas::symv(part, hermitian, by.get(), all, from, old.get(), to);                                         \
    });                                                                                                              \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(r1)(SIMT_BLAS_HANDLE, SIMT_BLAS(FillMode_t) fill, simtIndex n, const R* alpha,          \
                                 const T* x, simtIndex incx, T* a, simtIndex lda, SIMT_HERE) {                       \
    SIMT_BLAS_CALL(#r1);                                                                                             \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    simt::blas::Fill part;                                                                                           \
    const auto all = simt::blas::matrix(a, n, n, lda);                                                               \
    if (!simt::blas::known(fill, part) || !simt::blas::fits(all) || incx == 0) return simt::blas::invalid;           \
    const auto by = simt::blas::factor(simt_call, handle, alpha);                                                    \
    const auto from = simt::blas::vector(x, n, incx);                                                                \
    return simt::blas::over(simt_call, handle, from, [=] {                                                           \
      simt::blas::check(simt_call, "A", all);                                                                        \
      simt::blas::rank_one_symmetric(part, hermitian, by.get(), from, all);                                          \
    });                                                                                                              \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(r2)(SIMT_BLAS_HANDLE, SIMT_BLAS(FillMode_t) fill, simtIndex n, const T* alpha,          \
                                 const T* x, simtIndex incx, const T* y, simtIndex incy, T* a, simtIndex lda,        \
                                 SIMT_HERE) {                                                                        \
    SIMT_BLAS_CALL(#r2);                                                                                             \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    simt::blas::Fill part;                                                                                           \
    const auto all = simt::blas::matrix(a, n, n, lda);                                                               \
    if (!simt::blas::known(fill, part) || !simt::blas::fits(all) || incx == 0 || incy == 0) {                        \
      return simt::blas::invalid;                                                                                    \
    }                                                                                                                \
    const auto by = simt::blas::factor(simt_call, handle, alpha);                                                    \
    const auto left = simt::blas::vector(x, n, incx), right = simt::blas::vector(y, n, incy);                        \
    return simt::blas::over(simt_call, handle, left, right, [=] {                                                    \
      simt::blas::check(simt_call, "A", all);                                                                        \
      simt::blas::rank_two_symmetric(part, hermitian, by.get(), left, right, all);                                   \
    });                                                                                                              \
  }
SIMT_BLAS_GER(Sger, float, false)
SIMT_BLAS_GER(Dger, double, false)
SIMT_BLAS_GER(Cgeru, float2, false)
SIMT_BLAS_GER(Cgerc, float2, true)
SIMT_BLAS_GER(Zgeru, double2, false)
SIMT_BLAS_GER(Zgerc, double2, true)
SIMT_BLAS_SYMMETRIC(Ssymv, Ssyr, Ssyr2, float, float, false)
SIMT_BLAS_SYMMETRIC(Dsymv, Dsyr, Dsyr2, double, double, false)
SIMT_BLAS_SYMMETRIC(Csymv, Csyr, Csyr2, float2, float2, false)
SIMT_BLAS_SYMMETRIC(Zsymv, Zsyr, Zsyr2, double2, double2, false)
SIMT_BLAS_SYMMETRIC(Chemv, Cher, Cher2, float2, float, true)
SIMT_BLAS_SYMMETRIC(Zhemv, Zher, Zher2, double2, double, true)
#undef SIMT_BLAS_GER
#undef SIMT_BLAS_SYMMETRIC

// ------------------------------------------------------------------------------------------- products of matrices

#define SIMT_BLAS_GEMM(L, T)                                                                                         \
  SIMT_BLAS_STATUS SIMT_BLAS(L##gemm)(SIMT_BLAS_HANDLE, SIMT_BLAS(Operation_t) of_a, SIMT_BLAS(Operation_t) of_b,    \
                                      simtIndex m, simtIndex n, simtIndex k, const T* alpha, const T* a,             \
                                      simtIndex lda, const T* b, simtIndex ldb, const T* beta, T* c, simtIndex ldc,  \
                                      SIMT_HERE) {                                                                   \
    SIMT_BLAS_CALL(#L "gemm");                                                                                       \
    constexpr hipDataType type = simt::blas::type_of<T>;                                                             \
    return simt::blas::gemm_each(simt_call, handle, of_a, of_b, m, n, k, alpha, type, type, lda, type, ldb, beta,    \
                                 type, ldc, simt::blas::sums_of<T>, 1, simt::blas::One{a, b, c});                    \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(L##gemmStridedBatched)(                                                                 \
      SIMT_BLAS_HANDLE, SIMT_BLAS(Operation_t) of_a, SIMT_BLAS(Operation_t) of_b, simtIndex m, simtIndex n,          \
      simtIndex k, const T* alpha, const T* a, simtIndex lda, long long step_a, const T* b, simtIndex ldb,           \
      long long step_b, const T* beta, T* c, simtIndex ldc, long long step_c, simtIndex count, SIMT_HERE) {          \
    SIMT_BLAS_CALL(#L "gemmStridedBatched");                                                                         \
    constexpr hipDataType type = simt::blas::type_of<T>;                                                             \
    constexpr simtIndex size = sizeof(T);                                                                            \
    return simt::blas::gemm_each(                                                                                    \
        simt_call, handle, of_a, of_b, m, n, k, alpha, type, type, lda, type, ldb, beta, type, ldc,                  \
        simt::blas::sums_of<T>, count, simt::blas::Strided{a, b, c, step_a * size, step_b * size, step_c * size});   \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(L##gemmBatched)(                                                                        \
      SIMT_BLAS_HANDLE, SIMT_BLAS(Operation_t) of_a, SIMT_BLAS(Operation_t) of_b, simtIndex m, simtIndex n,          \
      simtIndex k, const T* alpha, const T* const a[], simtIndex lda, const T* const b[], simtIndex ldb,             \
      const T* beta, T* const c[], simtIndex ldc, simtIndex count, SIMT_HERE) {                                      \
    SIMT_BLAS_CALL(#L "gemmBatched");                                                                                \
    constexpr hipDataType type = simt::blas::type_of<T>;                                                             \
    return simt::blas::gemm_each(                                                                                    \
        simt_call, handle, of_a, of_b, m, n, k, alpha, type, type, lda, type, ldb, beta, type, ldc,                  \
        simt::blas::sums_of<T>, count,                                                                               \
        simt::blas::Batched{simt_call, reinterpret_cast<const void* const*>(a),                                      \
                            reinterpret_cast<const void* const*>(b), reinterpret_cast<void* const*>(c)});            \
  }
SIMT_BLAS_GEMM(S, float)
SIMT_BLAS_GEMM(D, double)
SIMT_BLAS_GEMM(C, float2)
SIMT_BLAS_GEMM(Z, double2)
SIMT_BLAS_GEMM(H, __half)
#undef SIMT_BLAS_GEMM

#define SIMT_BLAS_EX_HEAD                                                                                        \
  SIMT_BLAS_HANDLE, SIMT_BLAS(Operation_t) of_a, SIMT_BLAS(Operation_t) of_b, simtIndex m, simtIndex n, simtIndex k, \
      const void *alpha
namespace simt {
namespace blas {
/// The meaning of `computeType`, which was a type of numbers before CUDA 11.
struct Computation {
  Status status = success;
  hipDataType sums = HIP_R_32F, factors = HIP_R_32F;
  Computation(SIMT_BLAS(ComputeType_t) compute, hipDataType of_c) {
    if (!computed(compute, of_c, sums, factors)) status = invalid;
  }
  Computation(hipDataType compute, hipDataType of_c) : factors(compute) {
    sums = compute == HIP_R_16F ? HIP_R_32F : compute;
    if (compute == HIP_R_32I && of_c != HIP_R_32I) factors = HIP_R_32F;
    if (!is_known(compute)) status = invalid;
  }
};
}  // namespace blas
}  // namespace simt
template <typename Compute>
::simt::blas::Status SIMT_BLAS(GemmEx)(SIMT_BLAS_EX_HEAD, const void* a, hipDataType a_type, simtIndex lda,
                                       const void* b, hipDataType b_type, simtIndex ldb, const void* beta, void* c,
                                       hipDataType c_type, simtIndex ldc, Compute compute,
                                       SIMT_BLAS(GemmAlgo_t) = {}, SIMT_HERE) {
  SIMT_BLAS_CALL("GemmEx");
  const simt::blas::Computation how(compute, c_type);
  if (how.status != simt::blas::success) return how.status;
  return simt::blas::gemm_each(simt_call, handle, of_a, of_b, m, n, k, alpha, how.factors, a_type, lda, b_type, ldb,
                               beta, c_type, ldc, how.sums, 1, simt::blas::One{a, b, c});
}
template <typename Compute>
::simt::blas::Status SIMT_BLAS(GemmStridedBatchedEx)(SIMT_BLAS_EX_HEAD, const void* a, hipDataType a_type,
                                                     simtIndex lda, long long step_a, const void* b,
                                                     hipDataType b_type, simtIndex ldb, long long step_b,
                                                     const void* beta, void* c, hipDataType c_type, simtIndex ldc,
                                                     long long step_c, simtIndex count, Compute compute,
                                                     SIMT_BLAS(GemmAlgo_t) = {}, SIMT_HERE) {
  SIMT_BLAS_CALL("GemmStridedBatchedEx");
  const simt::blas::Computation how(compute, c_type);
  if (how.status != simt::blas::success) return how.status;
  using simt::blas::bytes_of;
  return simt::blas::gemm_each(simt_call, handle, of_a, of_b, m, n, k, alpha, how.factors, a_type, lda, b_type, ldb,
                               beta, c_type, ldc, how.sums, count,
                               simt::blas::Strided{a, b, c, step_a * bytes_of(a_type), step_b * bytes_of(b_type),
                                                   step_c * bytes_of(c_type)});
}
template <typename Compute>
::simt::blas::Status SIMT_BLAS(GemmBatchedEx)(SIMT_BLAS_EX_HEAD, const void* const a[], hipDataType a_type,
                                              simtIndex lda, const void* const b[], hipDataType b_type,
                                              simtIndex ldb, const void* beta, void* const c[], hipDataType c_type,
                                              simtIndex ldc, simtIndex count, Compute compute,
                                              SIMT_BLAS(GemmAlgo_t) = {}, SIMT_HERE) {
  SIMT_BLAS_CALL("GemmBatchedEx");
  const simt::blas::Computation how(compute, c_type);
  if (how.status != simt::blas::success) return how.status;
  return simt::blas::gemm_each(simt_call, handle, of_a, of_b, m, n, k, alpha, how.factors, a_type, lda, b_type, ldb,
                               beta, c_type, ldc, how.sums, count, simt::blas::Batched{simt_call, a, b, c});
}
#ifndef SIMT_HIP
inline cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b,
                                    simtIndex m, simtIndex n, simtIndex k, const float* alpha, const void* a,
                                    cudaDataType a_type, simtIndex lda, const void* b, cudaDataType b_type,
                                    simtIndex ldb, const float* beta, void* c, cudaDataType c_type, simtIndex ldc,
                                    SIMT_HERE) {
  return cublasGemmEx(handle, of_a, of_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc,
                      CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT, simt_file, simt_line);
}
#define cublasCgemm3m cublasCgemm
#define cublasZgemm3m cublasZgemm
#endif

// ---------------------------------------------------------------------------------------------------------- level 3

#define SIMT_BLAS_LEVEL3(L, T)                                                                                       \
  SIMT_BLAS_SYMM(L##symm, T, false)                                                                                  \
  SIMT_BLAS_SYRK(L##syrk, L##syr2k, T, T, T, false)                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(L##trmm)(SIMT_BLAS_HANDLE, SIMT_BLAS(SideMode_t) of_a_side,                             \
                                      SIMT_BLAS(FillMode_t) fill, SIMT_BLAS(Operation_t) of_a,                       \
                                      SIMT_BLAS(DiagType_t) diagonal, simtIndex m, simtIndex n, const T* alpha,      \
                                      const T* a, simtIndex lda, const T* b, simtIndex ldb, T* c, simtIndex ldc,     \
                                      SIMT_HERE) {                                                                   \
    SIMT_BLAS_CALL(#L "trmm");                                                                                       \
    SIMT_BLAS_SIDED;                                                                                                 \
    const auto to = simt::blas::matrix(c, m, n, ldc);                                                                \
    if (!simt::blas::fits(to)) return simt::blas::invalid;                                                           \
    return simt::blas::submit(handle, [=] {                                                                          \
      simt::blas::check(simt_call, "A", all);                                                                        \
      simt::blas::check(simt_call, "B", other);                                                                      \
      simt::blas::check(simt_call, "C", to);                                                                         \
      simt::blas::trmm(side, part, operation, unit, by.get(), all, other, to);                                       \
    });                                                                                                              \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(L##trsm)(SIMT_BLAS_HANDLE, SIMT_BLAS(SideMode_t) of_a_side,                             \
                                      SIMT_BLAS(FillMode_t) fill, SIMT_BLAS(Operation_t) of_a,                       \
                                      SIMT_BLAS(DiagType_t) diagonal, simtIndex m, simtIndex n, const T* alpha,      \
                                      const T* a, simtIndex lda, T* b, simtIndex ldb, SIMT_HERE) {                   \
    SIMT_BLAS_CALL(#L "trsm");                                                                                       \
    SIMT_BLAS_SIDED;                                                                                                 \
    return simt::blas::submit(handle, [=] {                                                                          \
      simt::blas::check(simt_call, "A", all);                                                                        \
      simt::blas::check(simt_call, "B", other);                                                                      \
      simt::blas::trsm(side, part, operation, unit, by.get(), all, other);                                           \
    });                                                                                                              \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(L##trsmBatched)(                                                                        \
      SIMT_BLAS_HANDLE, SIMT_BLAS(SideMode_t) side, SIMT_BLAS(FillMode_t) fill, SIMT_BLAS(Operation_t) of_a,         \
      SIMT_BLAS(DiagType_t) diagonal, simtIndex m, simtIndex n, const T* alpha, const T* const a[], simtIndex lda,   \
      T* const b[], simtIndex ldb, simtIndex count, SIMT_HERE) {                                                     \
    for (simtIndex i = 0; i < count; ++i) {                                                                          \
      const auto status = SIMT_BLAS(L##trsm)(handle, side, fill, of_a, diagonal, m, n, alpha, a[i], lda, b[i], ldb,  \
                                             simt_file, simt_line);                                                  \
      if (status != simt::blas::success) return status;                                                              \
    }                                                                                                                \
    return simt::blas::check(handle);                                                                                \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(L##geam)(SIMT_BLAS_HANDLE, SIMT_BLAS(Operation_t) of_a, SIMT_BLAS(Operation_t) of_b,    \
                                      simtIndex m, simtIndex n, const T* alpha, const T* a, simtIndex lda,           \
                                      const T* beta, const T* b, simtIndex ldb, T* c, simtIndex ldc, SIMT_HERE) {    \
    SIMT_BLAS_CALL(#L "geam");                                                                                       \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    simt::blas::Operation op_a, op_b;                                                                                \
    if (!simt::blas::known(of_a, op_a) || !simt::blas::known(of_b, op_b)) return simt::blas::invalid;                \
    constexpr hipDataType type = simt::blas::type_of<T>;                                                             \
    const auto left = simt::blas::operand(a, type, op_a, m, n, lda);                                                 \
    const auto right = simt::blas::operand(b, type, op_b, m, n, ldb);                                                \
    const auto to = simt::blas::matrix(c, m, n, ldc);                                                                \
    if (!simt::blas::fits(left) || !simt::blas::fits(right) || !simt::blas::fits(to)) return simt::blas::invalid;    \
    if (m == 0 || n == 0) return simt::blas::success;                                                                \
    const auto by = simt::blas::factor(simt_call, handle, alpha);                                                    \
    const auto by_b = simt::blas::factor(simt_call, handle, beta);                                                   \
    return simt::blas::submit(handle, [=] {                                                                          \
      /* A matrix with factor 0 is not read, and may be null. */                                                     \
      if (a != nullptr) simt::blas::check(simt_call, "A", left);                                                     \
      if (b != nullptr) simt::blas::check(simt_call, "B", right);                                                    \
      simt::blas::check(simt_call, "C", to);                                                                         \
      simt::blas::geam(op_a, op_b, by.get(), left, by_b.get(), right, to);                                           \
    });                                                                                                              \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(L##dgmm)(SIMT_BLAS_HANDLE, SIMT_BLAS(SideMode_t) of_side, simtIndex m, simtIndex n,     \
                                      const T* a, simtIndex lda, const T* x, simtIndex incx, T* c, simtIndex ldc,    \
                                      SIMT_HERE) {                                                                   \
    SIMT_BLAS_CALL(#L "dgmm");                                                                                       \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    simt::blas::Side side;                                                                                           \
    const auto from = simt::blas::matrix(a, m, n, lda), to = simt::blas::matrix(c, m, n, ldc);                       \
    if (!simt::blas::known(of_side, side) || !simt::blas::fits(from) || !simt::blas::fits(to)) {                     \
      return simt::blas::invalid;                                                                                    \
    }                                                                                                                \
    const auto diagonal = simt::blas::vector(x, side == simt::blas::Side::left ? m : n, incx);                       \
    return simt::blas::over(simt_call, handle, diagonal, [=] {                                                       \
      simt::blas::check(simt_call, "A", from);                                                                       \
      simt::blas::check(simt_call, "C", to);                                                                         \
      simt::blas::dgmm(side, from, diagonal, to);                                                                    \
    });                                                                                                              \
  }                                                                                                                  \
  SIMT_BLAS_BATCHED_LAPACK(L, T)

#define SIMT_BLAS_SIDED                                                                                              \
  if (const auto status = simt::blas::check(handle)) return status;                                                  \
  simt::blas::Side side;                                                                                             \
  simt::blas::Fill part;                                                                                             \
  simt::blas::Operation operation;                                                                                   \
  if (!simt::blas::known(of_a_side, side) || !simt::blas::known(fill, part) || !simt::blas::known(of_a, operation)) { \
    return simt::blas::invalid;                                                                                      \
  }                                                                                                                  \
  const simtIndex order = side == simt::blas::Side::left ? m : n;                                                    \
  const auto all = simt::blas::matrix(a, order, order, lda);                                                         \
  const auto other = simt::blas::matrix(b, m, n, ldb);                                                               \
  if (!simt::blas::fits(all) || !simt::blas::fits(other)) return simt::blas::invalid;                                \
  if (m == 0 || n == 0) return simt::blas::success;                                                                  \
  const bool unit = diagonal == SIMT_BLAS_CONSTANT(DIAG_UNIT);                                                       \
  const auto by = simt::blas::factor(simt_call, handle, alpha)

#define SIMT_BLAS_SYMM(Name, T, hermitian)                                                                           \
  SIMT_BLAS_STATUS SIMT_BLAS(Name)(SIMT_BLAS_HANDLE, SIMT_BLAS(SideMode_t) of_side, SIMT_BLAS(FillMode_t) fill,      \
                                   simtIndex m, simtIndex n, const T* alpha, const T* a, simtIndex lda, const T* b,  \
                                   simtIndex ldb, const T* beta, T* c, simtIndex ldc, SIMT_HERE) {                   \
    SIMT_BLAS_CALL(#Name);                                                                                           \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    simt::blas::Side side;                                                                                           \
    simt::blas::Fill part;                                                                                           \
    if (!simt::blas::known(of_side, side) || !simt::blas::known(fill, part)) return simt::blas::invalid;             \
    const simtIndex order = side == simt::blas::Side::left ? m : n;                                                  \
    const auto all = simt::blas::matrix(a, order, order, lda), other = simt::blas::matrix(b, m, n, ldb);             \
    const auto to = simt::blas::matrix(c, m, n, ldc);                                                                \
    if (!simt::blas::fits(all) || !simt::blas::fits(other) || !simt::blas::fits(to)) return simt::blas::invalid;     \
    if (m == 0 || n == 0) return simt::blas::success;                                                                \
    const auto by = simt::blas::factor(simt_call, handle, alpha), old = simt::blas::factor(simt_call, handle, beta); \
    return simt::blas::submit(handle, [=] {                                                                          \
      simt::blas::check(simt_call, "A", all);                                                                        \
      simt::blas::check(simt_call, "B", other);                                                                      \
      simt::blas::check(simt_call, "C", to);                                                                         \
      simt::blas::symm(side, part, hermitian, by.get(), all, other, old.get(), to);                                  \
    });                                                                                                              \
  }
#define SIMT_BLAS_SYRK(one, two, T, R, R2, hermitian)                                                                \
  SIMT_BLAS_STATUS SIMT_BLAS(one)(SIMT_BLAS_HANDLE, SIMT_BLAS(FillMode_t) fill, SIMT_BLAS(Operation_t) of_a,         \
                                  simtIndex n, simtIndex k, const R* alpha, const T* a, simtIndex lda, const R* beta, \
                                  T* c, simtIndex ldc, SIMT_HERE) {                                                  \
    SIMT_BLAS_CALL(#one);                                                                                            \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    simt::blas::Fill part;                                                                                           \
    simt::blas::Operation operation;                                                                                 \
    if (!simt::blas::known(of_a, operation) || !simt::blas::known(fill, part)) return simt::blas::invalid;           \
    const auto all = simt::blas::operand(a, simt::blas::type_of<T>, operation, n, k, lda);                           \
    const auto to = simt::blas::matrix(c, n, n, ldc);                                                                \
    if (!simt::blas::fits(all) || !simt::blas::fits(to)) return simt::blas::invalid;                                 \
    if (n == 0) return simt::blas::success;                                                                          \
    const auto by = simt::blas::factor(simt_call, handle, alpha), old = simt::blas::factor(simt_call, handle, beta); \
    return simt::blas::submit(handle, [=] {                                                                          \
      simt::blas::check(simt_call, "A", all);                                                                        \
      simt::blas::check(simt_call, "C", to);                                                                         \
      simt::blas::syrk(part, operation, hermitian, by.get(), all, nullptr, old.get(), to);                           \
    });                                                                                                              \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(two)(SIMT_BLAS_HANDLE, SIMT_BLAS(FillMode_t) fill, SIMT_BLAS(Operation_t) of_a,         \
                                  simtIndex n, simtIndex k, const R2* alpha, const T* a, simtIndex lda, const T* b,  \
                                  simtIndex ldb, const R* beta, T* c, simtIndex ldc, SIMT_HERE) {                    \
    SIMT_BLAS_CALL(#two);                                                                                            \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    simt::blas::Fill part;                                                                                           \
    simt::blas::Operation operation;                                                                                 \
    if (!simt::blas::known(of_a, operation) || !simt::blas::known(fill, part)) return simt::blas::invalid;           \
    const auto all = simt::blas::operand(a, simt::blas::type_of<T>, operation, n, k, lda);                           \
    const auto other = simt::blas::operand(b, simt::blas::type_of<T>, operation, n, k, ldb);                         \
    const auto to = simt::blas::matrix(c, n, n, ldc);                                                                \
    if (!simt::blas::fits(all) || !simt::blas::fits(other) || !simt::blas::fits(to)) return simt::blas::invalid;     \
    if (n == 0) return simt::blas::success;                                                                          \
    const auto by = simt::blas::factor(simt_call, handle, alpha);                                                    \
    const auto old = simt::blas::factor(simt_call, handle, beta);                                                    \
    return simt::blas::submit(handle, [=] {                                                                          \
      simt::blas::check(simt_call, "A", all);                                                                        \
      simt::blas::check(simt_call, "B", other);                                                                      \
      simt::blas::check(simt_call, "C", to);                                                                         \
      simt::blas::syrk(part, operation, hermitian, by.get(), all, &other, old.get(), to);                            \
    });                                                                                                              \
  }

namespace simt {
namespace blas {
/// The pivots of one matrix of a batch, or none.
inline int* pivots_of(int* all, Index n, Index i) { return all == nullptr ? nullptr : all + i * n; }
inline const int* pivots_of(const int* all, Index n, Index i) { return all == nullptr ? nullptr : all + i * n; }
}  // namespace blas
}  // namespace simt

#define SIMT_BLAS_BATCHED_LAPACK(L, T)                                                                               \
  SIMT_BLAS_STATUS SIMT_BLAS(L##getrfBatched)(SIMT_BLAS_HANDLE, simtIndex n, T* const a[], simtIndex lda,            \
                                              int* pivots, int* info, simtIndex count, SIMT_HERE) {                  \
    SIMT_BLAS_CALL(#L "getrfBatched");                                                                               \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    if (!simt::blas::fits(simt::blas::matrix((T*)nullptr, n, n, lda))) return simt::blas::invalid;                   \
    return simt::blas::submit(handle, [=] {                                                                          \
      for (simtIndex i = 0; i < count; ++i) {                                                                        \
        const auto all = simt::blas::matrix(a[i], n, n, lda);                                                        \
        simt::blas::check(simt_call, "A", all);                                                                      \
        info[i] = simt::blas::getrf(all, simt::blas::pivots_of(pivots, n, i));                                       \
      }                                                                                                              \
    });                                                                                                              \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(L##getriBatched)(SIMT_BLAS_HANDLE, simtIndex n, const T* const a[], simtIndex lda,      \
                                              const int* pivots, T* const c[], simtIndex ldc, int* info,             \
                                              simtIndex count, SIMT_HERE) {                                          \
    SIMT_BLAS_CALL(#L "getriBatched");                                                                               \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    if (!simt::blas::fits(simt::blas::matrix((T*)nullptr, n, n, lda))) return simt::blas::invalid;                   \
    return simt::blas::submit(handle, [=] {                                                                          \
      for (simtIndex i = 0; i < count; ++i) {                                                                        \
        const auto all = simt::blas::matrix(a[i], n, n, lda), to = simt::blas::matrix(c[i], n, n, ldc);              \
        simt::blas::check(simt_call, "A", all);                                                                      \
        simt::blas::check(simt_call, "C", to);                                                                       \
        info[i] = simt::blas::getri(all, simt::blas::pivots_of(pivots, n, i), to);                                   \
      }                                                                                                              \
    });                                                                                                              \
  }                                                                                                                  \
  SIMT_BLAS_STATUS SIMT_BLAS(L##getrsBatched)(                                                                       \
      SIMT_BLAS_HANDLE, SIMT_BLAS(Operation_t) of_a, simtIndex n, simtIndex columns, const T* const a[],             \
      simtIndex lda, const int* pivots, T* const b[], simtIndex ldb, int* info, simtIndex count, SIMT_HERE) {        \
    SIMT_BLAS_CALL(#L "getrsBatched");                                                                               \
    if (const auto status = simt::blas::check(handle)) return status;                                                \
    simt::blas::Operation operation;                                                                                 \
    if (!simt::blas::known(of_a, operation) || info == nullptr) return simt::blas::invalid;                          \
    *info = 0;                                                                                                       \
    return simt::blas::submit(handle, [=] {                                                                          \
      for (simtIndex i = 0; i < count; ++i) {                                                                        \
        const auto all = simt::blas::matrix(a[i], n, n, lda), to = simt::blas::matrix(b[i], n, columns, ldb);        \
        simt::blas::check(simt_call, "A", all);                                                                      \
        simt::blas::check(simt_call, "B", to);                                                                       \
        simt::blas::getrs(operation, all, simt::blas::pivots_of(pivots, n, i), to);                                  \
      }                                                                                                              \
    });                                                                                                              \
  }
SIMT_BLAS_LEVEL3(S, float)
SIMT_BLAS_LEVEL3(D, double)
SIMT_BLAS_LEVEL3(C, float2)
SIMT_BLAS_LEVEL3(Z, double2)
SIMT_BLAS_SYMM(Chemm, float2, true)
SIMT_BLAS_SYMM(Zhemm, double2, true)
SIMT_BLAS_SYRK(Cherk, Cher2k, float2, float, float2, true)
SIMT_BLAS_SYRK(Zherk, Zher2k, double2, double, double2, true)
#undef SIMT_BLAS_LEVEL3
#undef SIMT_BLAS_SIDED
#undef SIMT_BLAS_SYMM
#undef SIMT_BLAS_SYRK
#undef SIMT_BLAS_BATCHED_LAPACK

#ifndef SIMT_HIP
#include "blas_names.h"
#endif

#endif
