// SPDX-License-Identifier: Apache-2.0
// cuSOLVER's and hipSOLVER's dense functions on the executor: what they factor, multiplied, is the matrix again.
#include "check.h"

#include <complex>

#ifdef __HIP__
#define HIPBLAS_V2 1
#include <hipblas/hipblas.h>
#include <hipsolver/hipsolver.h>
#define SOLVER(name) hipsolverDn##name
#define KIND(name) HIPSOLVER_##name
#define BLAS(name) HIPBLAS_##name
hipsolverHandle_t handle;
#else
#include <cusolverDn.h>
#define SOLVER(name) cusolverDn##name
#define KIND(name) CUSOLVER_##name
#define BLAS(name) CUBLAS_##name
cusolverDnHandle_t handle;
#endif
using Z = std::complex<double>;
constexpr auto good = KIND(STATUS_SUCCESS);

unsigned seed = 3;
double random_number() {
  seed = seed * 1664525u + 1013904223u;
  return static_cast<double>(seed >> 8) / (1 << 23) - 1;
}
inline Z wide(float x) { return x; }
inline Z wide(double x) { return x; }
inline Z wide(float2 x) { return {x.x, x.y}; }
inline Z wide(double2 x) { return {x.x, x.y}; }
inline void set(float& to, Z x) { to = static_cast<float>(x.real()); }
inline void set(double& to, Z x) { to = x.real(); }
inline void set(float2& to, Z x) { to = float2{static_cast<float>(x.real()), static_cast<float>(x.imag())}; }
inline void set(double2& to, Z x) { to = double2{x.real(), x.imag()}; }

/// A matrix on the host, column after column.
struct Matrix {
  int rows, columns;
  std::vector<Z> all;
  Matrix(int rows, int columns) : rows(rows), columns(columns), all(static_cast<std::size_t>(rows * columns)) {}
  Z& operator()(int i, int j) { return all[static_cast<std::size_t>(i + j * rows)]; }
  Z operator()(int i, int j) const { return all[static_cast<std::size_t>(i + j * rows)]; }
  Matrix adjoint() const {
    Matrix turned(columns, rows);
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) turned(j, i) = std::conj((*this)(i, j));
    }
    return turned;
  }
};
Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows, b.columns);
  for (int i = 0; i < a.rows; ++i) {
    for (int j = 0; j < b.columns; ++j) {
      for (int k = 0; k < a.columns; ++k) c(i, j) += a(i, k) * b(k, j);
    }
  }
  return c;
}
void close(const Matrix& got, const Matrix& want, const char* what) {
  for (std::size_t i = 0; i < want.all.size(); ++i) {
    if (!(std::abs(got.all[i] - want.all[i]) <= 1e-3)) {
      std::printf("%s: (%g, %g), not (%g, %g)\n", what, got.all[i].real(), got.all[i].imag(), want.all[i].real(), want.all[i].imag());
      return check(false, what, static_cast<long long>(i));
    }
  }
  check(true, what);
}
template <typename E>
Matrix random_matrix(int rows, int columns) {
  Matrix made(rows, columns);
  for (Z& each : made.all) {
    E number;
    set(number, {random_number(), random_number()});
    each = wide(number);
  }
  return made;
}
template <typename E>
struct There {
  E* at = nullptr;
  std::size_t size;
  explicit There(int n) : size(static_cast<std::size_t>(n)) { GPU(Malloc)(&at, size * sizeof(E)); }
  explicit There(const Matrix& from) : There(from.rows * from.columns) {
    std::vector<E> host(size);
    for (std::size_t i = 0; i < size; ++i) set(host[i], from.all[i]);
    GPU(Memcpy)(at, host.data(), size * sizeof(E), GPU(MemcpyHostToDevice));
  }
  ~There() { GPU(Free)(at); }
  There(const There&) = delete;
  Matrix get(int rows, int columns) const {
    std::vector<E> host(size);
    GPU(Memcpy)(host.data(), at, size * sizeof(E), GPU(MemcpyDeviceToHost));
    Matrix made(rows, columns);
    for (std::size_t i = 0; i < made.all.size(); ++i) made.all[i] = wide(host[i]);
    return made;
  }
};
int* info;
bool fine(decltype(good) status) {
  int value = -1;
  GPU(Memcpy)(&value, info, sizeof(int), GPU(MemcpyDeviceToHost));
  return status == good && value == 0;
}

#define SOLVE(L, E, R, mqr, evd)                                                                               \
  {                                                                                                          \
    const int n = 7;                                                                                         \
    int size = 0;                                                                                            \
    int* pivots;                                                                                             \
    GPU(Malloc)(&pivots, n * sizeof(int));                                                                   \
    const Matrix a = random_matrix<E>(n, n), x = random_matrix<E>(n, 2);                                     \
    There<E> work(1);                                                                                        \
    for (const auto op : {BLAS(OP_N), BLAS(OP_C)}) {                                                         \
      There<E> lu(a), b((op == BLAS(OP_N) ? a : a.adjoint()) * x);                                           \
      check(SOLVER(L##getrf_bufferSize)(handle, n, n, lu.at, n, &size) == good, "bufferSize");               \
      check(fine(SOLVER(L##getrf)(handle, n, n, lu.at, n, work.at, pivots, info)), #L "getrf");              \
      check(fine(SOLVER(L##getrs)(handle, op, n, 2, lu.at, n, pivots, b.at, n, info)), #L "getrs");          \
      close(b.get(n, 2), x, #L "getrs");                                                                     \
    }                                                                                                        \
    Matrix positive = a * a.adjoint();                                                                       \
    for (int i = 0; i < n; ++i) positive(i, i) += 1;                                                         \
    for (const auto fill : {BLAS(FILL_MODE_LOWER), BLAS(FILL_MODE_UPPER)}) {                                 \
      There<E> factor(positive), b(positive * x);                                                            \
      check(fine(SOLVER(L##potrf)(handle, fill, n, factor.at, n, work.at, 1, info)), #L "potrf");            \
      check(fine(SOLVER(L##potrs)(handle, fill, n, 2, factor.at, n, b.at, n, info)), #L "potrs");            \
      close(b.get(n, 2), x, #L "potrs");                                                                     \
      There<E> vectors(positive);                                                                            \
      There<R> values(n);                                                                                    \
      check(fine(SOLVER(L##evd)(handle, KIND(EIG_MODE_VECTOR), fill, n, vectors.at, n, values.at, work.at, 1, info)), #L #evd); \
      const Matrix v = vectors.get(n, n), sizes = values.get(n, 1);                                          \
      Matrix scaled = v;                                                                                     \
      for (int j = 0; j < n; ++j) {                                                                          \
        for (int i = 0; i < n; ++i) scaled(i, j) *= sizes(j, 0);                                             \
        check(j == 0 || sizes(j - 1, 0).real() <= sizes(j, 0).real(), "ascending", j);                       \
      }                                                                                                      \
      close(scaled * v.adjoint(), positive, #L #evd);                                                        \
      Matrix unit(n, n);                                                                                     \
      for (int i = 0; i < n; ++i) unit(i, i) = 1;                                                            \
      close(v.adjoint() * v, unit, #L #evd);                                                                 \
    }                                                                                                        \
    Matrix negative = positive;                                                                              \
    negative(2, 2) = -1;                                                                                     \
    There<E> bad(negative);                                                                                  \
    check(!fine(SOLVER(L##potrf)(handle, BLAS(FILL_MODE_LOWER), n, bad.at, n, work.at, 1, info)), "not positive"); \
    for (const int m : {7, 10, 4}) {                                                                         \
      const Matrix tall = random_matrix<E>(m, n);                                                            \
      const int least = m < n ? m : n;                                                                       \
      if (m >= n) {                                                                                          \
        There<E> qr(tall), tau(n);                                                                           \
        check(fine(SOLVER(L##geqrf)(handle, m, n, qr.at, m, tau.at, work.at, 1, info)), #L "geqrf");         \
        Matrix r = qr.get(m, n);                                                                             \
        for (int j = 0; j < n; ++j) {                                                                        \
          for (int i = j + 1; i < m; ++i) r(i, j) = 0;                                                       \
        }                                                                                                    \
        There<E> again(r);                                                                                   \
        check(fine(SOLVER(L##mqr)(handle, BLAS(SIDE_LEFT), BLAS(OP_N), m, n, n, qr.at, m, tau.at, again.at, m, work.at, 1, \
                                  info)), #L #mqr);                                                          \
        close(again.get(m, n), tall, #L #mqr);                                                               \
        There<E> back(tall);                                                                                 \
        check(fine(SOLVER(L##mqr)(handle, BLAS(SIDE_LEFT), BLAS(OP_C), m, n, n, qr.at, m, tau.at, back.at, m, work.at, 1, \
                                  info)), #L #mqr);                                                          \
        close(back.get(m, n), r, #L #mqr);                                                                   \
        /* From the right: (A' Q)' = Q' A. */                                                                \
        There<E> right(tall.adjoint());                                                                      \
        check(fine(SOLVER(L##mqr)(handle, BLAS(SIDE_RIGHT), BLAS(OP_N), n, m, n, qr.at, m, tau.at, right.at, n, work.at, 1, \
                                  info)), #L #mqr);                                                          \
        close(right.get(n, m).adjoint(), r, #L #mqr);                                                        \
      }                                                                                                      \
      There<E> whole(tall), u(m * m), v(n * n);                                                              \
      There<R> values(least);                                                                                \
      check(fine(SOLVER(L##gesvd)(handle, 'A', 'A', m, n, whole.at, m, values.at, u.at, m, v.at, n, work.at, 1, nullptr, \
                                  info)), #L "gesvd");                                                       \
      Matrix diagonal(m, n);                                                                                 \
      const Matrix sizes = values.get(least, 1);                                                             \
      for (int i = 0; i < least; ++i) {                                                                      \
        diagonal(i, i) = sizes(i, 0);                                                                        \
        check(i == 0 || sizes(i - 1, 0).real() >= sizes(i, 0).real(), "descending", i);                      \
      }                                                                                                      \
      close(u.get(m, m) * diagonal * v.get(n, n), tall, #L "gesvd");                                         \
      Matrix unit(m, m);                                                                                     \
      for (int i = 0; i < m; ++i) unit(i, i) = 1;                                                            \
      close(u.get(m, m).adjoint() * u.get(m, m), unit, #L "gesvd");                                          \
    }                                                                                                        \
    GPU(Free)(pivots);                                                                                       \
  }

int main() {
  check(SOLVER(Create)(&handle) == good, "Create");
  GPU(Malloc)(&info, sizeof(int));
  SOLVE(S, float, float, ormqr, syevd)
  SOLVE(D, double, double, ormqr, syevd)
  SOLVE(C, float2, float, unmqr, heevd)
  SOLVE(Z, double2, double, unmqr, heevd)
  check(SOLVER(Destroy)(handle) == good && SOLVER(Destroy)(handle) == KIND(STATUS_NOT_INITIALIZED), "Destroy");
  std::printf("%d checks, %d failures\n", checks, failures);
  return failures != 0;
}
