// SPDX-License-Identifier: Apache-2.0
// simt/blas_types.h: the types of cuBLAS and hipBLAS, with the values of CUDA 12 and of hipBLAS 3.0 (ROCm 7.0).
#ifndef SIMT_BLAS_TYPES_H
#define SIMT_BLAS_TYPES_H

#include "blas_core.h"
#include "prelude.h"

#ifdef SIMT_HIP
#define SIMT_BLAS(name) hipblas##name
#define SIMT_BLAS_TYPE(cuda, hip) hip
#define SIMT_BLAS_CONSTANT(name) HIPBLAS_##name
#define SIMT_BLAS_CALLED(name) "hipblas" name
#else
#define SIMT_BLAS(name) cublas##name
#define SIMT_BLAS_TYPE(cuda, hip) cuda
#define SIMT_BLAS_CONSTANT(name) CUBLAS_##name
#define SIMT_BLAS_CALLED(name) "cublas" name
#endif

/// The object of a handle.
struct cublasContext {
  hipStream_t stream = nullptr;
  bool device_pointers = false;
  int math = 0;
  int atomics = 0;
};

#ifdef SIMT_HIP

#define HIPBLAS_H
typedef void* hipblasHandle_t;
enum hipblasStatus_t {
  HIPBLAS_STATUS_SUCCESS = 0,
  HIPBLAS_STATUS_NOT_INITIALIZED = 1,
  HIPBLAS_STATUS_ALLOC_FAILED = 2,
  HIPBLAS_STATUS_INVALID_VALUE = 3,
  HIPBLAS_STATUS_MAPPING_ERROR = 4,
  HIPBLAS_STATUS_EXECUTION_FAILED = 5,
  HIPBLAS_STATUS_INTERNAL_ERROR = 6,
  HIPBLAS_STATUS_NOT_SUPPORTED = 7,
  HIPBLAS_STATUS_ARCH_MISMATCH = 8,
  HIPBLAS_STATUS_HANDLE_IS_NULLPTR = 9,
  HIPBLAS_STATUS_INVALID_ENUM = 10,
  HIPBLAS_STATUS_UNKNOWN = 11,
};
enum hipblasOperation_t { HIPBLAS_OP_N = 111, HIPBLAS_OP_T = 112, HIPBLAS_OP_C = 113 };
enum hipblasFillMode_t { HIPBLAS_FILL_MODE_UPPER = 121, HIPBLAS_FILL_MODE_LOWER = 122, HIPBLAS_FILL_MODE_FULL = 123 };
enum hipblasDiagType_t { HIPBLAS_DIAG_NON_UNIT = 131, HIPBLAS_DIAG_UNIT = 132 };
enum hipblasSideMode_t { HIPBLAS_SIDE_LEFT = 141, HIPBLAS_SIDE_RIGHT = 142, HIPBLAS_SIDE_BOTH = 143 };
enum hipblasPointerMode_t { HIPBLAS_POINTER_MODE_HOST, HIPBLAS_POINTER_MODE_DEVICE };
enum hipblasAtomicsMode_t { HIPBLAS_ATOMICS_NOT_ALLOWED = 0, HIPBLAS_ATOMICS_ALLOWED = 1 };
enum hipblasMath_t {
  HIPBLAS_DEFAULT_MATH,
  HIPBLAS_XF32_XDL_MATH,
  HIPBLAS_PEDANTIC_MATH,
  HIPBLAS_TF32_TENSOR_OP_MATH,
  HIPBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION,
  HIPBLAS_TENSOR_OP_MATH,
};
enum hipblasComputeType_t {
  HIPBLAS_COMPUTE_16F = 0,
  HIPBLAS_COMPUTE_16F_PEDANTIC = 1,
  HIPBLAS_COMPUTE_32F = 2,
  HIPBLAS_COMPUTE_32F_PEDANTIC = 3,
  HIPBLAS_COMPUTE_32F_FAST_16F = 4,
  HIPBLAS_COMPUTE_32F_FAST_16BF = 5,
  HIPBLAS_COMPUTE_32F_FAST_TF32 = 6,
  HIPBLAS_COMPUTE_64F = 7,
  HIPBLAS_COMPUTE_64F_PEDANTIC = 8,
  HIPBLAS_COMPUTE_32I = 9,
  HIPBLAS_COMPUTE_32I_PEDANTIC = 10,
};
enum hipblasGemmAlgo_t { HIPBLAS_GEMM_DEFAULT = 160 };
typedef std::int64_t hipblasStride;
typedef std::int8_t hipblasInt8;
typedef hipDataType hipblasDatatype_t;
#define HIPBLAS_R_16F HIP_R_16F
#define HIPBLAS_R_32F HIP_R_32F
#define HIPBLAS_R_64F HIP_R_64F
#define HIPBLAS_C_32F HIP_C_32F
#define HIPBLAS_C_64F HIP_C_64F
#define HIPBLAS_R_8I HIP_R_8I
#define HIPBLAS_R_32I HIP_R_32I
#define HIPBLAS_R_16B HIP_R_16BF

#else

#define CUBLAS_API_H_
#define CUBLAS_V2_H_
#define CUBLAS_VER_MAJOR 12
#define CUBLAS_VER_MINOR 4
#define CUBLAS_VER_PATCH 5
#define CUBLAS_VERSION 120405
#define CUBLASWINAPI
#define CUBLASAPI
typedef cublasContext* cublasHandle_t;
enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16,
};
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2, CUBLAS_OP_HERMITAN = 2, CUBLAS_OP_CONJG = 3 };
enum cublasFillMode_t { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1, CUBLAS_FILL_MODE_FULL = 2 };
enum cublasDiagType_t { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 };
enum cublasSideMode_t { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum cublasAtomicsMode_t { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 };
enum cublasMath_t {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_FP32_EMULATED_BF16X9_MATH = 4,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16,
};
enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_16F_PEDANTIC = 65,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_64F_PEDANTIC = 71,
  CUBLAS_COMPUTE_32I = 72,
  CUBLAS_COMPUTE_32I_PEDANTIC = 73,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
};
enum cublasGemmAlgo_t {
  CUBLAS_GEMM_DFALT = -1,
  CUBLAS_GEMM_DEFAULT = -1,
  CUBLAS_GEMM_ALGO0, CUBLAS_GEMM_ALGO1, CUBLAS_GEMM_ALGO2, CUBLAS_GEMM_ALGO3, CUBLAS_GEMM_ALGO4, CUBLAS_GEMM_ALGO5,
  CUBLAS_GEMM_ALGO6, CUBLAS_GEMM_ALGO7, CUBLAS_GEMM_ALGO8, CUBLAS_GEMM_ALGO9, CUBLAS_GEMM_ALGO10, CUBLAS_GEMM_ALGO11,
  CUBLAS_GEMM_ALGO12, CUBLAS_GEMM_ALGO13, CUBLAS_GEMM_ALGO14, CUBLAS_GEMM_ALGO15, CUBLAS_GEMM_ALGO16,
  CUBLAS_GEMM_ALGO17, CUBLAS_GEMM_ALGO18, CUBLAS_GEMM_ALGO19, CUBLAS_GEMM_ALGO20, CUBLAS_GEMM_ALGO21,
  CUBLAS_GEMM_ALGO22, CUBLAS_GEMM_ALGO23,
  CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
  CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
  CUBLAS_GEMM_ALGO0_TENSOR_OP = 100, CUBLAS_GEMM_ALGO1_TENSOR_OP, CUBLAS_GEMM_ALGO2_TENSOR_OP,
  CUBLAS_GEMM_ALGO3_TENSOR_OP, CUBLAS_GEMM_ALGO4_TENSOR_OP, CUBLAS_GEMM_ALGO5_TENSOR_OP, CUBLAS_GEMM_ALGO6_TENSOR_OP,
  CUBLAS_GEMM_ALGO7_TENSOR_OP, CUBLAS_GEMM_ALGO8_TENSOR_OP, CUBLAS_GEMM_ALGO9_TENSOR_OP, CUBLAS_GEMM_ALGO10_TENSOR_OP,
  CUBLAS_GEMM_ALGO11_TENSOR_OP, CUBLAS_GEMM_ALGO12_TENSOR_OP, CUBLAS_GEMM_ALGO13_TENSOR_OP,
  CUBLAS_GEMM_ALGO14_TENSOR_OP, CUBLAS_GEMM_ALGO15_TENSOR_OP,
};
typedef cudaDataType cublasDataType_t;

#endif

namespace simt {
namespace blas {

using Handle = SIMT_BLAS(Handle_t);
using Status = SIMT_BLAS(Status_t);

inline cublasContext* context(Handle handle) { return static_cast<cublasContext*>(handle); }

inline bool known(SIMT_BLAS(Operation_t) operation, Operation& found) {
  switch (operation) {
    case SIMT_BLAS_CONSTANT(OP_N): found = Operation::none; return true;
    case SIMT_BLAS_CONSTANT(OP_T): found = Operation::transposed; return true;
    case SIMT_BLAS_CONSTANT(OP_C): found = Operation::adjoint; return true;
#ifndef SIMT_HIP
    case CUBLAS_OP_CONJG: found = Operation::conjugated; return true;
#endif
  }
  return false;
}
inline bool known(SIMT_BLAS(FillMode_t) fill, Fill& found) {
  found = fill == SIMT_BLAS_CONSTANT(FILL_MODE_LOWER) ? Fill::lower : Fill::upper;
  return fill == SIMT_BLAS_CONSTANT(FILL_MODE_LOWER) || fill == SIMT_BLAS_CONSTANT(FILL_MODE_UPPER);
}
inline bool known(SIMT_BLAS(SideMode_t) side, Side& found) {
  found = side == SIMT_BLAS_CONSTANT(SIDE_LEFT) ? Side::left : Side::right;
  return side == SIMT_BLAS_CONSTANT(SIDE_LEFT) || side == SIMT_BLAS_CONSTANT(SIDE_RIGHT);
}

/// The type of sums for a type of computation, and the type of the factors.
inline bool computed(SIMT_BLAS(ComputeType_t) compute, hipDataType of_c, hipDataType& sums, hipDataType& factors) {
  const bool is_complex = of_c == HIP_C_32F || of_c == HIP_C_64F;
  switch (compute) {
    case SIMT_BLAS_CONSTANT(COMPUTE_16F):
    case SIMT_BLAS_CONSTANT(COMPUTE_16F_PEDANTIC): sums = HIP_R_32F; factors = HIP_R_16F; return true;
    case SIMT_BLAS_CONSTANT(COMPUTE_32F):
    case SIMT_BLAS_CONSTANT(COMPUTE_32F_PEDANTIC):
    case SIMT_BLAS_CONSTANT(COMPUTE_32F_FAST_16F):
    case SIMT_BLAS_CONSTANT(COMPUTE_32F_FAST_16BF):
    case SIMT_BLAS_CONSTANT(COMPUTE_32F_FAST_TF32): sums = factors = is_complex ? HIP_C_32F : HIP_R_32F; return true;
    case SIMT_BLAS_CONSTANT(COMPUTE_64F):
    case SIMT_BLAS_CONSTANT(COMPUTE_64F_PEDANTIC): sums = factors = is_complex ? HIP_C_64F : HIP_R_64F; return true;
    case SIMT_BLAS_CONSTANT(COMPUTE_32I):
    case SIMT_BLAS_CONSTANT(COMPUTE_32I_PEDANTIC):
      sums = HIP_R_32I;
      // Results in float or 8 bits are computed from integers scaled by floats.
      factors = of_c == HIP_R_32I ? HIP_R_32I : HIP_R_32F;
      return true;
    default: return false;
  }
}

template <typename T>
constexpr hipDataType type_of = HIP_R_32F;
template <>
inline constexpr hipDataType type_of<double> = HIP_R_64F;
template <>
inline constexpr hipDataType type_of<float2> = HIP_C_32F;
template <>
inline constexpr hipDataType type_of<double2> = HIP_C_64F;
template <typename T>
struct RealNumber {
  using type = T;
};
template <>
struct RealNumber<float2> {
  using type = float;
};
template <>
struct RealNumber<double2> {
  using type = double;
};
template <typename T>
using Real = typename RealNumber<T>::type;

}  // namespace blas
}  // namespace simt

#endif
