// SPDX-License-Identifier: Apache-2.0
// simt/blas_core.h: dense linear algebra on the CPU, on which cuBLAS's and hipBLAS's functions are built: plain loops
// over column-major matrices (math/blas.cpp). Compiled once, for programs of both dialects.
//
// Sums in float are computed in the order of the index, like a program's own loops on the host.
#ifndef SIMT_BLAS_CORE_H
#define SIMT_BLAS_CORE_H

#include "core.h"
#include "runtime_types.h"

namespace simt {
namespace blas {

using Index = std::int64_t;

enum class Operation : unsigned char { none, transposed, adjoint, conjugated };
enum class Fill : unsigned char { lower, upper, full };
enum class Side : unsigned char { left, right };

/// The function that a program called, and the place of the call, for faults.
struct Call {
  const char* name;
  Place place;
};

/// `n` numbers, `step` apart; with a negative step the first is the last in memory, as in BLAS.
struct Vector {
  const void* at;
  hipDataType type;
  Index n, step;
};

/// Columns are `ld` numbers apart.
struct Matrix {
  const void* at;
  hipDataType type;
  Index rows, columns, ld;
};

/// A number that is read when the work is done: `at` points to a number of `type`.
struct Scalar {
  const void* at;
  hipDataType type;
};

/// The type in which a function computes: float, double, complex ones of these, or int.
SIMT_EXPORT bool is_known(hipDataType type);

/// Fault if a kernel could not access the numbers, or if they extend past the end of an allocation.
SIMT_EXPORT void check(const Call&, const char* what, const Vector&);
SIMT_EXPORT void check(const Call&, const char* what, const Matrix&);

// Level 1. Types are those of the vectors: float, double and complex ones, for some functions also half and bfloat16,
// which are computed in float.
SIMT_EXPORT Index extreme(Vector x, bool largest);  // by |Re| + |Im|; from 1, the first of equals; 0 if there is none
SIMT_EXPORT void sum_of_magnitudes(Vector x, void* result, hipDataType type);
SIMT_EXPORT void norm(Vector x, void* result, hipDataType type);
SIMT_EXPORT void dot(Vector x, bool conjugated, Vector y, void* result, hipDataType type);
SIMT_EXPORT void axpy(Scalar alpha, Vector x, Vector y);
SIMT_EXPORT void scale(Scalar alpha, Vector x);
SIMT_EXPORT void copy(Vector x, Vector y);
SIMT_EXPORT void swap(Vector x, Vector y);
SIMT_EXPORT void rotate(Vector x, Vector y, Scalar cosine, Scalar sine);
SIMT_EXPORT void make_rotation(void* a, void* b, void* cosine, void* sine, hipDataType type);
SIMT_EXPORT void rotate_modified(Vector x, Vector y, Scalar parameters);

// Level 2.
SIMT_EXPORT void gemv(Operation, Scalar alpha, Matrix a, Vector x, Scalar beta, Vector y);
/// Within a band of `below` and `above` diagonals, of a matrix in BLAS's band storage.
SIMT_EXPORT void gbmv(Operation, Index below, Index above, Scalar alpha, Matrix band, Index rows, Vector x, Scalar beta,
                      Vector y);
SIMT_EXPORT void rank_one(Scalar alpha, Vector x, Vector y, bool conjugated, Matrix a);
SIMT_EXPORT void rank_one_symmetric(Fill, bool hermitian, Scalar alpha, Vector x, Matrix a);
SIMT_EXPORT void rank_two_symmetric(Fill, bool hermitian, Scalar alpha, Vector x, Vector y, Matrix a);
SIMT_EXPORT void symv(Fill, bool hermitian, Scalar alpha, Matrix a, Vector x, Scalar beta, Vector y);
SIMT_EXPORT void trmv(Fill, Operation, bool unit, Matrix a, Vector x);
SIMT_EXPORT void trsv(Fill, Operation, bool unit, Matrix a, Vector x);

// Level 3. In gemm the three types may differ; `compute` is the type of sums.
SIMT_EXPORT void gemm(hipDataType compute, Operation, Operation, Scalar alpha, Matrix a, Matrix b, Scalar beta,
                      Matrix c);
SIMT_EXPORT void symm(Side, Fill, bool hermitian, Scalar alpha, Matrix a, Matrix b, Scalar beta, Matrix c);
/// Only one triangle of C: alpha op(A) op(A)' + beta C; with B, op(A) op(B)' + op(B) op(A)'.
SIMT_EXPORT void syrk(Fill, Operation, bool hermitian, Scalar alpha, Matrix a, const Matrix* b, Scalar beta, Matrix c);
SIMT_EXPORT void trmm(Side, Fill, Operation, bool unit, Scalar alpha, Matrix a, Matrix b, Matrix c);
SIMT_EXPORT void trsm(Side, Fill, Operation, bool unit, Scalar alpha, Matrix a, Matrix b);
SIMT_EXPORT void geam(Operation, Operation, Scalar alpha, Matrix a, Scalar beta, Matrix b, Matrix c);
SIMT_EXPORT void dgmm(Side, Matrix a, Vector x, Matrix c);

/// The operations on each number of a product before it is stored. `bias` has a number for each row; with `gradient`,
/// it receives the sums of rows. `kept` receives the numbers before the activation, or provides them for its gradient.
struct Epilogue {
  enum class Activation : unsigned char { none, relu, gelu, gelu_gradient } activation = Activation::none;
  bool gradient = false;
  Vector bias{};
  Matrix kept{};
};
/// A matrix in row-major or column-major order, with rows or columns `ld` apart.
struct Ordered {
  Matrix matrix;
  bool by_rows = false;
};
/// D = epilogue(alpha op(A) op(B) + beta C), as in cublasLtMatmul. `scales` multiplies the factors A and B.
SIMT_EXPORT void matmul(hipDataType compute, Operation, Operation, Scalar alpha, Ordered a, Ordered b, Scalar beta,
                        Ordered c, Ordered d, const Epilogue&);

// Functions of LAPACK.
/// LU with partial pivoting, in place; without `pivots` none. Returns 0, or the first column whose pivot is 0.
SIMT_EXPORT int getrf(Matrix a, int* pivots);
SIMT_EXPORT void getrs(Operation, Matrix a, const int* pivots, Matrix b);
/// The inverse of a matrix that getrf has factored.
SIMT_EXPORT int getri(Matrix a, const int* pivots, Matrix inverse);
/// Cholesky's factor of one triangle, in place. Returns 0, or the order of the first minor that is not positive.
SIMT_EXPORT int potrf(Fill, Matrix a);
/// Householder's QR, in place, in LAPACK's storage.
SIMT_EXPORT void geqrf(Matrix a, Vector tau);
/// C = op(Q) C or C op(Q), with the result of geqrf.
SIMT_EXPORT void ormqr(Side, Operation, Matrix a, Vector tau, Matrix c);
/// Eigenvalues, ascending, and vectors in place of a symmetric or Hermitian matrix, of which one triangle is read.
SIMT_EXPORT void syevd(bool vectors, Fill, Matrix a, Vector values);
/// Singular values, descending, and vectors (either may be null): A = U diag(S) V', `right` gets V'.
SIMT_EXPORT void gesvd(Matrix a, Vector values, const Matrix* left, const Matrix* right);

}  // namespace blas
}  // namespace simt

#endif
