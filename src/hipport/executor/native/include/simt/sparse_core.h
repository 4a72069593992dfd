// SPDX-License-Identifier: Apache-2.0
// simt/sparse_core.h: products of sparse matrices on the CPU, on which the generic functions of cuSPARSE and hipSPARSE
// are built (math/sparse.cpp). Compiled once, for programs of both dialects.
#ifndef SIMT_SPARSE_CORE_H
#define SIMT_SPARSE_CORE_H

#include <complex>
#include <vector>

#include "blas_core.h"

namespace simt {
namespace sparse {

using blas::Call;
using blas::Index;
using blas::Operation;
using blas::Scalar;

/// With the values of cusparseFormat_t and cusparseIndexType_t.
enum class Format : int { csr = 1, csc = 2, coo = 3 };
enum class IndexType : int { bits16 = 1, bits32 = 2, bits64 = 3 };

/// `major` has the offsets of rows (csr) or columns (csc), one more than there are, or the row of each number (coo);
/// `minor` has the other index of each number.
struct SparseMatrix {
  Format format;
  Index rows, columns, count;
  void *major, *minor, *values;
  IndexType major_type, minor_type;
  int base;
  hipDataType type;
};
struct DenseVector {
  Index size;
  void* values;
  hipDataType type;
};
/// Columns, or rows, are `ld` numbers apart.
struct DenseMatrix {
  Index rows, columns, ld;
  void* values;
  hipDataType type;
  bool by_rows;
};

/// y = alpha op(A) x + beta y, summed as `compute` in the order of the numbers in memory. Faults for memory that
/// kernels cannot access, and for an index outside the matrix.
SIMT_EXPORT void multiply(const Call&, hipDataType compute, Operation, Scalar alpha, const SparseMatrix& a,
                          const DenseVector& x, Scalar beta, const DenseVector& y);
/// C = alpha op(A) op(B) + beta C.
SIMT_EXPORT void multiply(const Call&, hipDataType compute, Operation, Operation, Scalar alpha, const SparseMatrix& a,
                          const DenseMatrix& b, Scalar beta, const DenseMatrix& c);
SIMT_EXPORT void to_dense(const Call&, const SparseMatrix& from, const DenseMatrix& to);
/// The number of nonzeros; the offsets of `to` are written, if it has any.
SIMT_EXPORT Index count(const Call&, const DenseMatrix& from, const SparseMatrix& to);
/// Write the nonzeros, and their indices.
SIMT_EXPORT void to_sparse(const Call&, const DenseMatrix& from, const SparseMatrix& to);
/// The same matrix in another format, with numbers in the order of its indices; without values if `symbolic`.
SIMT_EXPORT void convert(const Call&, const SparseMatrix& from, const SparseMatrix& to, bool symbolic);

/// The triangle of a square matrix that counts, and whether its diagonal is 1 whatever is stored.
struct Triangle {
  bool upper = false, unit = false;
};
/// Solve op(A) y = alpha x with the triangle of A, which may have numbers elsewhere.
SIMT_EXPORT void solve(const Call&, hipDataType compute, Operation, Scalar alpha, const SparseMatrix& a, Triangle,
                       const DenseVector& x, const DenseVector& y);
/// Solve op(A) C = alpha op(B).
SIMT_EXPORT void solve(const Call&, hipDataType compute, Operation, Operation, Scalar alpha, const SparseMatrix& a, Triangle,
                       const DenseMatrix& b, const DenseMatrix& c);
/// C = alpha (op(A) op(B)) at the nonzeros of C, + beta C.
SIMT_EXPORT void multiply_sampled(const Call&, hipDataType compute, Operation, Operation, Scalar alpha, const DenseMatrix& a,
                                  const DenseMatrix& b, Scalar beta, const SparseMatrix& c);
/// alpha A B by rows, with numbers in the order of their columns; kept until it is written.
struct Product {
  std::vector<Index> offsets, columns;
  std::vector<std::complex<double>> values;
};
SIMT_EXPORT Product multiply(const Call&, hipDataType compute, Scalar alpha, const SparseMatrix& a, const SparseMatrix& b);
SIMT_EXPORT void write(const Call&, const Product& from, const SparseMatrix& to);
/// The permutation that sorts the numbers of a matrix by their indices: `order[i]` is the place of the i-th. The
/// indices are sorted as well.
SIMT_EXPORT void sort(const Call&, const SparseMatrix& a, bool by_columns, int* order);

}  // namespace sparse
}  // namespace simt

#endif
