// SPDX-License-Identifier: Apache-2.0
// simt/blas_lt.h: cuBLASLt and hipBLASLt: products of matrices followed by an epilogue on each number. A missing
// epilogue or attribute returns CUBLAS_STATUS_NOT_SUPPORTED, with a message.
#ifndef SIMT_BLAS_LT_H
#define SIMT_BLAS_LT_H

#include "blas.h"

#ifdef SIMT_HIP
#define SIMT_LT(name) hipblasLt##name
#define SIMT_LT_CONSTANT(name) HIPBLASLT_##name
#else
#define SIMT_LT(name) cublasLt##name
#define SIMT_LT_CONSTANT(name) CUBLASLT_##name
#endif

#ifdef SIMT_HIP
typedef void* hipblasLtHandle_t;
#else
typedef struct cublasLtContext* cublasLtHandle_t;
#endif

enum SIMT_LT(MatmulDescAttributes_t) {
  SIMT_LT_CONSTANT(MATMUL_DESC_COMPUTE_TYPE) = 50,
  SIMT_LT_CONSTANT(MATMUL_DESC_SCALE_TYPE) = 51,
  SIMT_LT_CONSTANT(MATMUL_DESC_POINTER_MODE) = 13,
  SIMT_LT_CONSTANT(MATMUL_DESC_TRANSA) = 0,
  SIMT_LT_CONSTANT(MATMUL_DESC_TRANSB) = 1,
  SIMT_LT_CONSTANT(MATMUL_DESC_TRANSC) = 52,
  SIMT_LT_CONSTANT(MATMUL_DESC_EPILOGUE) = 2,
  SIMT_LT_CONSTANT(MATMUL_DESC_BIAS_POINTER) = 3,
  SIMT_LT_CONSTANT(MATMUL_DESC_BIAS_DATA_TYPE) = 4,
  SIMT_LT_CONSTANT(MATMUL_DESC_BIAS_BATCH_STRIDE) = 53,
  SIMT_LT_CONSTANT(MATMUL_DESC_A_SCALE_POINTER) = 5,
  SIMT_LT_CONSTANT(MATMUL_DESC_B_SCALE_POINTER) = 6,
  SIMT_LT_CONSTANT(MATMUL_DESC_C_SCALE_POINTER) = 7,
  SIMT_LT_CONSTANT(MATMUL_DESC_D_SCALE_POINTER) = 8,
  SIMT_LT_CONSTANT(MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER) = 9,
  SIMT_LT_CONSTANT(MATMUL_DESC_EPILOGUE_AUX_POINTER) = 10,
  SIMT_LT_CONSTANT(MATMUL_DESC_EPILOGUE_AUX_LD) = 11,
  SIMT_LT_CONSTANT(MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE) = 12,
  SIMT_LT_CONSTANT(MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE) = 22,
  SIMT_LT_CONSTANT(MATMUL_DESC_AMAX_D_POINTER) = 14,
  SIMT_LT_CONSTANT(MATMUL_DESC_SM_COUNT_TARGET) = 54,
  SIMT_LT_CONSTANT(MATMUL_DESC_FAST_ACCUM) = 55,
};
enum SIMT_LT(MatrixLayoutAttribute_t) {
  SIMT_LT_CONSTANT(MATRIX_LAYOUT_TYPE),
  SIMT_LT_CONSTANT(MATRIX_LAYOUT_ORDER),
  SIMT_LT_CONSTANT(MATRIX_LAYOUT_ROWS),
  SIMT_LT_CONSTANT(MATRIX_LAYOUT_COLS),
  SIMT_LT_CONSTANT(MATRIX_LAYOUT_LD),
  SIMT_LT_CONSTANT(MATRIX_LAYOUT_BATCH_COUNT),
  SIMT_LT_CONSTANT(MATRIX_LAYOUT_STRIDED_BATCH_OFFSET),
};
enum SIMT_LT(MatmulPreferenceAttributes_t) {
  SIMT_LT_CONSTANT(MATMUL_PREF_SEARCH_MODE) = 0,
  SIMT_LT_CONSTANT(MATMUL_PREF_MAX_WORKSPACE_BYTES) = 1,
  SIMT_LT_CONSTANT(MATMUL_PREF_REDUCTION_SCHEME_MASK) = 3,
  SIMT_LT_CONSTANT(MATMUL_PREF_MIN_ALIGNMENT_A_BYTES) = 5,
  SIMT_LT_CONSTANT(MATMUL_PREF_MIN_ALIGNMENT_B_BYTES) = 6,
  SIMT_LT_CONSTANT(MATMUL_PREF_MIN_ALIGNMENT_C_BYTES) = 7,
  SIMT_LT_CONSTANT(MATMUL_PREF_MIN_ALIGNMENT_D_BYTES) = 8,
};
enum SIMT_LT(Order_t) { SIMT_LT_CONSTANT(ORDER_COL) = 0, SIMT_LT_CONSTANT(ORDER_ROW) = 1 };
enum SIMT_LT(PointerMode_t) { SIMT_LT_CONSTANT(POINTER_MODE_HOST) = 0, SIMT_LT_CONSTANT(POINTER_MODE_DEVICE) = 1 };
// The numbers are bits: 2 RELU, 4 BIAS, 32 GELU, 64 DGELU, 16 BGRAD, 128 AUX.
enum SIMT_LT(Epilogue_t) {
  SIMT_LT_CONSTANT(EPILOGUE_DEFAULT) = 1,
  SIMT_LT_CONSTANT(EPILOGUE_RELU) = 2,
  SIMT_LT_CONSTANT(EPILOGUE_BIAS) = 4,
  SIMT_LT_CONSTANT(EPILOGUE_RELU_BIAS) = 6,
  SIMT_LT_CONSTANT(EPILOGUE_GELU) = 32,
  SIMT_LT_CONSTANT(EPILOGUE_GELU_BIAS) = 36,
  SIMT_LT_CONSTANT(EPILOGUE_RELU_AUX) = 130,
  SIMT_LT_CONSTANT(EPILOGUE_RELU_AUX_BIAS) = 134,
  SIMT_LT_CONSTANT(EPILOGUE_DRELU) = 136,
  SIMT_LT_CONSTANT(EPILOGUE_DRELU_BGRAD) = 152,
  SIMT_LT_CONSTANT(EPILOGUE_GELU_AUX) = 160,
  SIMT_LT_CONSTANT(EPILOGUE_GELU_AUX_BIAS) = 164,
  SIMT_LT_CONSTANT(EPILOGUE_DGELU) = 192,
  SIMT_LT_CONSTANT(EPILOGUE_DGELU_BGRAD) = 208,
  SIMT_LT_CONSTANT(EPILOGUE_BGRADA) = 256,
  SIMT_LT_CONSTANT(EPILOGUE_BGRADB) = 512,
};

namespace simt {
namespace blas {
constexpr Status not_supported = SIMT_BLAS_CONSTANT(STATUS_NOT_SUPPORTED);
}  // namespace blas
}  // namespace simt

struct SIMT_LT(MatmulDescOpaque_t) {
  SIMT_BLAS(ComputeType_t) compute;
  hipDataType scale;
  std::int32_t pointer_mode, of_a, of_b;
  unsigned epilogue;
  void* bias;
  std::int32_t bias_type;  // -1: like the result
  void* kept;
  std::int64_t kept_ld, kept_stride;
  std::int32_t kept_type;
};
struct SIMT_LT(MatrixLayoutOpaque_t) {
  std::int32_t type, order;
  std::uint64_t rows, columns;
  std::int64_t ld;
  std::int32_t count;
  std::int64_t stride;
};
struct SIMT_LT(MatmulPreferenceOpaque_t) {
  std::uint64_t workspace;
};
typedef SIMT_LT(MatmulDescOpaque_t)* SIMT_LT(MatmulDesc_t);
typedef SIMT_LT(MatrixLayoutOpaque_t)* SIMT_LT(MatrixLayout_t);
typedef SIMT_LT(MatmulPreferenceOpaque_t)* SIMT_LT(MatmulPreference_t);
struct SIMT_LT(MatmulAlgo_t) {
  std::uint64_t data[8];
};
struct SIMT_LT(MatmulHeuristicResult_t) {
  SIMT_LT(MatmulAlgo_t) algo;
  std::size_t workspaceSize;
  ::simt::blas::Status state;
  float wavesCount;
  int reserved[4];
};

SIMT_BLAS_STATUS SIMT_LT(Create)(SIMT_LT(Handle_t)* handle) {
  if (handle == nullptr) return simt::blas::invalid;
  cublasContext* const made = new cublasContext;
  simt::host::add_handle(made, simt::host::HandleKind::blas);
  *handle = reinterpret_cast<SIMT_LT(Handle_t)>(made);
  return simt::blas::success;
}
SIMT_BLAS_STATUS SIMT_LT(Destroy)(SIMT_LT(Handle_t) handle) {
  if (!simt::host::remove_handle(handle, simt::host::HandleKind::blas)) {
    return SIMT_BLAS_CONSTANT(STATUS_NOT_INITIALIZED);
  }
  delete reinterpret_cast<cublasContext*>(handle);
  return simt::blas::success;
}

SIMT_BLAS_STATUS SIMT_LT(MatmulDescInit)(SIMT_LT(MatmulDesc_t) made, SIMT_BLAS(ComputeType_t) compute, hipDataType scale) {
  *made = {compute, scale,   0,  SIMT_BLAS_CONSTANT(OP_N), SIMT_BLAS_CONSTANT(OP_N), 1, nullptr, -1, nullptr, 0, 0, -1};
  return simt::blas::success;
}
SIMT_BLAS_STATUS SIMT_LT(MatmulDescCreate)(SIMT_LT(MatmulDesc_t)* made, SIMT_BLAS(ComputeType_t) compute,
                                           hipDataType scale) {
  *made = new SIMT_LT(MatmulDescOpaque_t);
  return SIMT_LT(MatmulDescInit)(*made, compute, scale);
}
SIMT_BLAS_STATUS SIMT_LT(MatmulDescDestroy)(SIMT_LT(MatmulDesc_t) made) {
  delete made;
  return simt::blas::success;
}
SIMT_BLAS_STATUS SIMT_LT(MatrixLayoutInit)(SIMT_LT(MatrixLayout_t) made, hipDataType type, std::uint64_t rows,
                                           std::uint64_t columns, std::int64_t ld) {
  *made = {type, 0, rows, columns, ld, 1, 0};
  return simt::blas::success;
}
SIMT_BLAS_STATUS SIMT_LT(MatrixLayoutCreate)(SIMT_LT(MatrixLayout_t)* made, hipDataType type, std::uint64_t rows,
                                             std::uint64_t columns, std::int64_t ld) {
  *made = new SIMT_LT(MatrixLayoutOpaque_t);
  return SIMT_LT(MatrixLayoutInit)(*made, type, rows, columns, ld);
}
SIMT_BLAS_STATUS SIMT_LT(MatrixLayoutDestroy)(SIMT_LT(MatrixLayout_t) made) {
  delete made;
  return simt::blas::success;
}
SIMT_BLAS_STATUS SIMT_LT(MatmulPreferenceCreate)(SIMT_LT(MatmulPreference_t)* made) {
  *made = new SIMT_LT(MatmulPreferenceOpaque_t){0};
  return simt::blas::success;
}
SIMT_BLAS_STATUS SIMT_LT(MatmulPreferenceInit)(SIMT_LT(MatmulPreference_t) made) {
  made->workspace = 0;
  return simt::blas::success;
}
SIMT_BLAS_STATUS SIMT_LT(MatmulPreferenceDestroy)(SIMT_LT(MatmulPreference_t) made) {
  delete made;
  return simt::blas::success;
}
// There is one algorithm, which needs no workspace.
SIMT_BLAS_STATUS SIMT_LT(MatmulPreferenceSetAttribute)(SIMT_LT(MatmulPreference_t),
                                                       SIMT_LT(MatmulPreferenceAttributes_t), const void*, std::size_t) {
  return simt::blas::success;
}

namespace simt {
namespace blas {
template <typename T>
Status set(T& member, const void* value, std::size_t size) {
  if (value == nullptr || size != sizeof(T)) return invalid;
  std::memcpy(&member, value, size);
  return success;
}
}  // namespace blas
}  // namespace simt

SIMT_BLAS_STATUS SIMT_LT(MatmulDescSetAttribute)(SIMT_LT(MatmulDesc_t) how, SIMT_LT(MatmulDescAttributes_t) which,
                                                 const void* value, std::size_t size, SIMT_HERE) {
  using simt::blas::set;
  switch (which) {
    case SIMT_LT_CONSTANT(MATMUL_DESC_COMPUTE_TYPE): return set(how->compute, value, size);
    case SIMT_LT_CONSTANT(MATMUL_DESC_SCALE_TYPE): return set(how->scale, value, size);
    case SIMT_LT_CONSTANT(MATMUL_DESC_POINTER_MODE): return set(how->pointer_mode, value, size);
    case SIMT_LT_CONSTANT(MATMUL_DESC_TRANSA): return set(how->of_a, value, size);
    case SIMT_LT_CONSTANT(MATMUL_DESC_TRANSB): return set(how->of_b, value, size);
    case SIMT_LT_CONSTANT(MATMUL_DESC_EPILOGUE): return set(how->epilogue, value, size);
    case SIMT_LT_CONSTANT(MATMUL_DESC_BIAS_POINTER): return set(how->bias, value, size);
    case SIMT_LT_CONSTANT(MATMUL_DESC_BIAS_DATA_TYPE): return set(how->bias_type, value, size);
    case SIMT_LT_CONSTANT(MATMUL_DESC_EPILOGUE_AUX_POINTER): return set(how->kept, value, size);
    case SIMT_LT_CONSTANT(MATMUL_DESC_EPILOGUE_AUX_LD): return set(how->kept_ld, value, size);
    case SIMT_LT_CONSTANT(MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE): return set(how->kept_stride, value, size);
    case SIMT_LT_CONSTANT(MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE): return set(how->kept_type, value, size);
    case SIMT_LT_CONSTANT(MATMUL_DESC_SM_COUNT_TARGET):
    case SIMT_LT_CONSTANT(MATMUL_DESC_FAST_ACCUM): return simt::blas::success;
    default:
      simt::warning("unsupported", SIMT_THERE, "cublasLtMatmulDescSetAttribute: the executor has no attribute %d",
                    int(which));
      return simt::blas::not_supported;
  }
}
SIMT_BLAS_STATUS SIMT_LT(MatrixLayoutSetAttribute)(SIMT_LT(MatrixLayout_t) layout,
                                                   SIMT_LT(MatrixLayoutAttribute_t) which, const void* value,
                                                   std::size_t size) {
  using simt::blas::set;
  switch (which) {
    case SIMT_LT_CONSTANT(MATRIX_LAYOUT_TYPE): return set(layout->type, value, size);
    case SIMT_LT_CONSTANT(MATRIX_LAYOUT_ORDER): return set(layout->order, value, size);
    case SIMT_LT_CONSTANT(MATRIX_LAYOUT_ROWS): return set(layout->rows, value, size);
    case SIMT_LT_CONSTANT(MATRIX_LAYOUT_COLS): return set(layout->columns, value, size);
    case SIMT_LT_CONSTANT(MATRIX_LAYOUT_LD): return set(layout->ld, value, size);
    case SIMT_LT_CONSTANT(MATRIX_LAYOUT_BATCH_COUNT): return set(layout->count, value, size);
    case SIMT_LT_CONSTANT(MATRIX_LAYOUT_STRIDED_BATCH_OFFSET): return set(layout->stride, value, size);
  }
  return simt::blas::invalid;
}

namespace simt {
namespace blas {
using Layout = const SIMT_LT(MatrixLayoutOpaque_t)*;

inline Ordered ordered(const Call& call, const char* what, const void* at, Layout layout, Index batch) {
  const auto type = static_cast<hipDataType>(layout->type);
  const Index offset = batch * layout->stride * bytes_of(type);
  const Index rows = static_cast<Index>(layout->rows), columns = static_cast<Index>(layout->columns);
  const Ordered all{{static_cast<const char*>(at) + offset, type, rows, columns, layout->ld},
                    layout->order == SIMT_LT_CONSTANT(ORDER_ROW)};
  Matrix memory = all.matrix;
  if (all.by_rows) std::swap(memory.rows, memory.columns);
  check(call, what, memory);
  return all;
}
/// Whether an epilogue is supported.
inline bool known(unsigned epilogue) {
  switch (epilogue) {
    case SIMT_LT_CONSTANT(EPILOGUE_DEFAULT):
    case SIMT_LT_CONSTANT(EPILOGUE_RELU):
    case SIMT_LT_CONSTANT(EPILOGUE_BIAS):
    case SIMT_LT_CONSTANT(EPILOGUE_RELU_BIAS):
    case SIMT_LT_CONSTANT(EPILOGUE_GELU):
    case SIMT_LT_CONSTANT(EPILOGUE_GELU_BIAS):
    case SIMT_LT_CONSTANT(EPILOGUE_GELU_AUX):
    case SIMT_LT_CONSTANT(EPILOGUE_GELU_AUX_BIAS):
    case SIMT_LT_CONSTANT(EPILOGUE_DGELU):
    case SIMT_LT_CONSTANT(EPILOGUE_DGELU_BGRAD): return true;
    default: return false;
  }
}
inline Status fits_together(const SIMT_LT(MatmulDescOpaque_t)& how, Layout a, Layout b, Layout c, Layout d) {
  Operation of_a, of_b;
  hipDataType sums, factors;
  if (!known(static_cast<SIMT_BLAS(Operation_t)>(how.of_a), of_a) ||
      !known(static_cast<SIMT_BLAS(Operation_t)>(how.of_b), of_b) ||
      !computed(how.compute, static_cast<hipDataType>(d->type), sums, factors)) {
    return invalid;
  }
  if (!known(how.epilogue)) return not_supported;
  const bool turned_a = of_a != Operation::none, turned_b = of_b != Operation::none;
  const bool meet = (turned_a ? a->columns : a->rows) == d->rows && (turned_b ? b->rows : b->columns) == d->columns &&
                    (turned_a ? a->rows : a->columns) == (turned_b ? b->columns : b->rows) && c->rows == d->rows &&
                    c->columns == d->columns;
  if (!meet) return invalid;
  for (const Layout each : {a, b, c, d}) {
    if (!is_known(static_cast<hipDataType>(each->type))) return not_supported;
    const std::uint64_t least = each->order == SIMT_LT_CONSTANT(ORDER_ROW) ? each->columns : each->rows;
    if (each->order > 1) return not_supported;
    if (each->ld < static_cast<std::int64_t>(least)) return invalid;
  }
  return success;
}
}  // namespace blas
}  // namespace simt

SIMT_BLAS_STATUS SIMT_LT(MatmulAlgoGetHeuristic)(SIMT_LT(Handle_t), SIMT_LT(MatmulDesc_t) how,
                                                 SIMT_LT(MatrixLayout_t) a, SIMT_LT(MatrixLayout_t) b,
                                                 SIMT_LT(MatrixLayout_t) c, SIMT_LT(MatrixLayout_t) d,
                                                 SIMT_LT(MatmulPreference_t), int most,
                                                 SIMT_LT(MatmulHeuristicResult_t) results[], int* found) {
  *found = 0;
  if (most < 1) return simt::blas::invalid;
  if (const auto status = simt::blas::fits_together(*how, a, b, c, d)) return status;
  results[0] = {};
  results[0].wavesCount = 1;
  *found = 1;
  return simt::blas::success;
}

SIMT_BLAS_STATUS SIMT_LT(Matmul)(SIMT_LT(Handle_t) handle, SIMT_LT(MatmulDesc_t) given, const void* alpha, const void* a,
                                 SIMT_LT(MatrixLayout_t) of_a, const void* b, SIMT_LT(MatrixLayout_t) of_b,
                                 const void* beta, const void* c, SIMT_LT(MatrixLayout_t) of_c, void* d,
                                 SIMT_LT(MatrixLayout_t) of_d, const SIMT_LT(MatmulAlgo_t)*, void*, std::size_t,
                                 hipStream_t stream, SIMT_HERE) {
#ifdef SIMT_HIP
  const simt::blas::Call call{"hipblasLtMatmul", SIMT_THERE};
#else
  const simt::blas::Call call{"cublasLtMatmul", SIMT_THERE};
#endif
  if (!simt::host::has_handle(handle, simt::host::HandleKind::blas)) return SIMT_BLAS_CONSTANT(STATUS_NOT_INITIALIZED);
  const SIMT_LT(MatmulDescOpaque_t) how = *given;
  if (const auto status = simt::blas::fits_together(how, of_a, of_b, of_c, of_d)) {
    if (status == simt::blas::not_supported) {
      simt::warning("unsupported", SIMT_THERE, "%s: the executor has no such product (epilogue %u)", call.name,
                    how.epilogue);
    }
    return status;
  }
  simt::blas::Operation op_a{}, op_b{};
  simt::blas::known(static_cast<SIMT_BLAS(Operation_t)>(how.of_a), op_a);
  simt::blas::known(static_cast<SIMT_BLAS(Operation_t)>(how.of_b), op_b);
  hipDataType sums{}, factors{};
  simt::blas::computed(how.compute, static_cast<hipDataType>(of_d->type), sums, factors);
  factors = how.scale;
  cublasContext pointers;
  pointers.device_pointers = how.pointer_mode != 0;
  const std::size_t size = simt::blas::size_of_factor(factors);
#ifdef SIMT_HIP
  const simt::blas::Handle mode = &pointers;
#else
  const simt::blas::Handle mode = &pointers;
#endif
  const simt::blas::Factor by(call, mode, alpha, factors, size), old(call, mode, beta, factors, size);
  const auto la = *of_a, lb = *of_b, lc = *of_c, ld = *of_d;
  simt::host::enqueue(stream, [=] {
    for (simt::blas::Index i = 0; i < ld.count; ++i) {
      const auto to = simt::blas::ordered(call, "D", d, &ld, i);
      const auto before = c == nullptr ? to : simt::blas::ordered(call, "C", c, &lc, i);
      simt::blas::Epilogue epilogue;
      using Activation = simt::blas::Epilogue::Activation;
      if (how.epilogue & 2) epilogue.activation = Activation::relu;
      if (how.epilogue & 32) epilogue.activation = Activation::gelu;
      if (how.epilogue & 64) epilogue.activation = Activation::gelu_gradient;
      epilogue.gradient = (how.epilogue & 16) != 0;
      if (how.epilogue & (4 | 16)) {
        // For half-precision and smaller numbers, the bias has the result's type by default.
        const auto type = how.bias_type < 0 ? to.matrix.type : static_cast<hipDataType>(how.bias_type);
        epilogue.bias = {how.bias, type, to.matrix.rows, 1};
        simt::blas::check(call, "the bias", epilogue.bias);
      }
      if (how.epilogue & 128) {
        const auto type = how.kept_type < 0 ? to.matrix.type : static_cast<hipDataType>(how.kept_type);
        char* const start = static_cast<char*>(how.kept) + i * how.kept_stride * simt::blas::bytes_of(type);
        epilogue.kept = {start, type, to.matrix.rows, to.matrix.columns, how.kept_ld};
        simt::blas::check(call, "the auxiliary matrix", epilogue.kept);
      }
      simt::blas::matmul(sums, op_a, op_b, by.get(), simt::blas::ordered(call, "A", a, &la, i),
                         simt::blas::ordered(call, "B", b, &lb, i), old.get(), before, to, epilogue);
    }
  });
  return simt::blas::success;
}

#endif
