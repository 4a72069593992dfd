// SPDX-License-Identifier: Apache-2.0
// simt/sparse_core.h: products of sparse matrices on the CPU, what cuSPARSE's and hipSPARSE's generic functions stand on
// (math/sparse.cpp). Compiled once, for programs of both dialects.
#ifndef SIMT_SPARSE_CORE_H
#define SIMT_SPARSE_CORE_H

#include "blas_core.h"

namespace simt {
namespace sparse {

using blas::Call;
using blas::Index;
using blas::Operation;
using blas::Scalar;

/// As cusparseFormat_t and cusparseIndexType_t number them.
enum class Format : int { csr = 1, csc = 2, coo = 3 };
enum class IndexType : int { bits16 = 1, bits32 = 2, bits64 = 3 };

/// `major` has the offsets of rows (csr) or columns (csc), one more than there are, or the row of each number (coo);
/// `minor` the other place of each number.
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
/// Columns lie `ld` numbers apart, or rows.
struct DenseMatrix {
  Index rows, columns, ld;
  void* values;
  hipDataType type;
  bool by_rows;
};

/// y = alpha op(A) x + beta y, summed as `compute` in the order of the numbers in memory. Faults for memory that kernels
/// do not reach, and for an index outside of the matrix.
SIMT_EXPORT void multiply(const Call&, hipDataType compute, Operation, Scalar alpha, const SparseMatrix& a,
                          const DenseVector& x, Scalar beta, const DenseVector& y);
/// C = alpha op(A) op(B) + beta C.
SIMT_EXPORT void multiply(const Call&, hipDataType compute, Operation, Operation, Scalar alpha, const SparseMatrix& a,
                          const DenseMatrix& b, Scalar beta, const DenseMatrix& c);
SIMT_EXPORT void to_dense(const Call&, const SparseMatrix& from, const DenseMatrix& to);
/// How many numbers are not 0; the offsets of `to` are written, where it has such.
SIMT_EXPORT Index count(const Call&, const DenseMatrix& from, const SparseMatrix& to);
/// Write the numbers that are not 0, and where they are.
SIMT_EXPORT void to_sparse(const Call&, const DenseMatrix& from, const SparseMatrix& to);
/// The same matrix in another format, numbers in the order of its places; without values if `symbolic`.
SIMT_EXPORT void convert(const Call&, const SparseMatrix& from, const SparseMatrix& to, bool symbolic);

}  // namespace sparse
}  // namespace simt

#endif
