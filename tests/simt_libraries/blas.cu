// SPDX-License-Identifier: Apache-2.0
// cuBLAS and hipBLAS on the executor, against the formulas of the BLAS in plain loops on complex doubles.
#include "check.h"

#include <complex>

#ifdef __HIP__
#define HIPBLAS_V2 1
#include <hip/hip_fp16.h>
#include <hipblas/hipblas.h>
#define BLAS(name) hipblas##name
#define KIND(name) HIPBLAS_##name
#define TYPE(name) HIP_##name
#else
#include <cublas_v2.h>
#include <cuda_fp16.h>
#define BLAS(name) cublas##name
#define KIND(name) CUBLAS_##name
#define TYPE(name) CUDA_##name
#endif

using Z = std::complex<double>;
using Operation = BLAS(Operation_t);
constexpr auto N = KIND(OP_N), T = KIND(OP_T), C = KIND(OP_C);
constexpr auto good = KIND(STATUS_SUCCESS);

unsigned seed = 1;
double random_number() {
  seed = seed * 1664525u + 1013904223u;
  return static_cast<double>(seed >> 8) / (1 << 23) - 1;
}

// Numbers of each type, and what they are.
inline Z wide(float x) { return x; }
inline Z wide(double x) { return x; }
inline Z wide(float2 x) { return {x.x, x.y}; }
inline Z wide(double2 x) { return {x.x, x.y}; }
inline Z wide(__half x) { return __half2float(x); }
inline Z wide(int x) { return x; }
inline void set(float& to, Z x) { to = static_cast<float>(x.real()); }
inline void set(double& to, Z x) { to = x.real(); }
inline void set(float2& to, Z x) { to = float2{static_cast<float>(x.real()), static_cast<float>(x.imag())}; }
inline void set(double2& to, Z x) { to = double2{x.real(), x.imag()}; }
inline void set(__half& to, Z x) { to = __float2half(static_cast<float>(x.real())); }
inline void set(signed char& to, Z x) { to = static_cast<signed char>(x.real() * 100); }
template <typename E>
E number(Z x) {
  E made;
  set(made, x);
  return made;
}

/// Numbers on the device, with a copy from before anything was done.
template <typename E>
struct Data {
  std::vector<E> host;
  E* device = nullptr;
  explicit Data(int size) : host(static_cast<std::size_t>(size)) {
    for (E& each : host) set(each, {random_number(), random_number()});
    GPU(Malloc)(&device, host.size() * sizeof(E));
    put();
  }
  ~Data() { GPU(Free)(device); }
  Data(const Data&) = delete;
  void put() { GPU(Memcpy)(device, host.data(), host.size() * sizeof(E), GPU(MemcpyHostToDevice)); }
  std::vector<E> now() const {
    std::vector<E> got(host.size());
    GPU(Memcpy)(got.data(), device, got.size() * sizeof(E), GPU(MemcpyDeviceToHost));
    return got;
  }
  Z operator()(int i) const { return wide(host[static_cast<std::size_t>(i)]); }
};

template <typename E>
void close(const Data<E>& data, const std::vector<Z>& want, const char* what, double tolerance = 1e-4) {
  const std::vector<E> got = data.now();
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!(std::abs(wide(got[i]) - want[i]) <= tolerance)) {
      std::printf("%s: (%g, %g), not (%g, %g)\n", what, wide(got[i]).real(), wide(got[i]).imag(), want[i].real(),
                  want[i].imag());
      return check(false, what, static_cast<long long>(i));
    }
  }
  check(true, what);
}
template <typename E>
std::vector<Z> all(const Data<E>& data) {
  std::vector<Z> result;
  for (const E& each : data.host) result.push_back(wide(each));
  return result;
}

BLAS(Handle_t) handle;

/// op(A)(i, j) of a matrix whose columns are `ld` apart.
template <typename E>
Z at(const Data<E>& a, Operation operation, int ld, int i, int j) {
  const Z x = operation == N ? a(i + j * ld) : a(j + i * ld);
  return operation == C ? std::conj(x) : x;
}
/// As `at`, of the triangle that `lower` names.
template <typename E>
Z triangular(const Data<E>& a, Operation operation, bool lower, bool unit, int ld, int i, int j) {
  if (i == j && unit) return 1;
  const bool plain = operation == N;
  if ((plain ? lower == (i < j) : lower == (j < i)) && i != j) return 0;
  return at(a, operation, ld, i, j);
}
template <typename E>
Z symmetric(const Data<E>& a, bool lower, bool hermitian, int ld, int i, int j) {
  if (i == j) return hermitian ? Z(a(i + i * ld).real()) : a(i + i * ld);
  const bool stored = lower == (i > j);
  const Z x = stored ? a(i + j * ld) : a(j + i * ld);
  return stored || !hermitian ? x : std::conj(x);
}
constexpr auto fill_of(bool lower) { return lower ? KIND(FILL_MODE_LOWER) : KIND(FILL_MODE_UPPER); }

#define LEVEL1(L, l, E, R, ASUM, NRM2, DOT, DOTC)                                                              \
  {                                                                                                          \
    const int n = 17, incx = 3, incy = -2;                                                                   \
    Data<E> x(n * 3), y(n * 2);                                                                              \
    const auto yi = [&](int i) { return (n - 1 - i) * 2; };                                                  \
    const E alpha = number<E>({0.5, -1.25});                                                                 \
    check(BLAS(L##axpy)(handle, n, &alpha, x.device, incx, y.device, incy) == good, #L "axpy");              \
    std::vector<Z> want = all(y);                                                                            \
    for (int i = 0; i < n; ++i) want[std::size_t(yi(i))] += wide(alpha) * x(i * 3);                          \
    close(y, want, #L "axpy");                                                                               \
    y.put();                                                                                                 \
    check(BLAS(L##swap)(handle, n, x.device, incx, y.device, incy) == good, #L "swap");                      \
    std::vector<Z> other = all(x);                                                                           \
    want = all(y);                                                                                           \
    for (int i = 0; i < n; ++i) std::swap(other[std::size_t(i * 3)], want[std::size_t(yi(i))]);              \
    close(x, other, #L "swap");                                                                              \
    close(y, want, #L "swap");                                                                               \
    x.put();                                                                                                 \
    check(BLAS(L##copy)(handle, n, x.device, incx, y.device, incy) == good, #L "copy");                      \
    for (int i = 0; i < n; ++i) want[std::size_t(yi(i))] = x(i * 3);                                         \
    close(y, want, #L "copy", 0);                                                                            \
    y.put();                                                                                                 \
    check(BLAS(L##scal)(handle, n, &alpha, x.device, incx) == good, #L "scal");                              \
    other = all(x);                                                                                          \
    for (int i = 0; i < n; ++i) other[std::size_t(i * 3)] *= wide(alpha);                                    \
    close(x, other, #L "scal");                                                                              \
    x.put();                                                                                                 \
    double sum = 0, squares = 0, best = -1, least = 1e9;                                                     \
    int where = 0, lowest = 0;                                                                               \
    Z dot = 0, dotc = 0;                                                                                     \
    for (int i = 0; i < n; ++i) {                                                                            \
      const Z each = x(i * 3);                                                                               \
      const double size = std::fabs(each.real()) + std::fabs(each.imag());                                   \
      sum += size;                                                                                           \
      squares += std::norm(each);                                                                            \
      if (size > best) best = size, where = i + 1;                                                           \
      if (size < least) least = size, lowest = i + 1;                                                        \
      dot += each * y(yi(i));                                                                                \
      dotc += std::conj(each) * y(yi(i));                                                                    \
    }                                                                                                        \
    R real = 0;                                                                                              \
    E result;                                                                                                \
    int index = -1;                                                                                          \
    check(BLAS(ASUM)(handle, n, x.device, incx, &real) == good && std::fabs(real - sum) < 1e-5, #ASUM);      \
    check(BLAS(NRM2)(handle, n, x.device, incx, &real) == good &&                                            \
              std::fabs(real - std::sqrt(squares)) < 1e-5, #NRM2);                                           \
    check(BLAS(I##l##amax)(handle, n, x.device, incx, &index) == good && index == where, #L "amax");         \
    check(BLAS(I##l##amin)(handle, n, x.device, incx, &index) == good && index == lowest, #L "amin");        \
    check(BLAS(DOT)(handle, n, x.device, incx, y.device, incy, &result) == good &&                           \
              std::abs(wide(result) - dot) < 1e-5, #DOT);                                                    \
    check(BLAS(DOTC)(handle, n, x.device, incx, y.device, incy, &result) == good &&                          \
              std::abs(wide(result) - dotc) < 1e-5, #DOTC);                                                  \
    /* Results and factors on the device. */                                                                 \
    Data<E> scalar(1);                                                                                       \
    BLAS(SetPointerMode)(handle, KIND(POINTER_MODE_DEVICE));                                                 \
    BLAS(DOT)(handle, n, x.device, incx, y.device, incy, scalar.device);                                     \
    close(scalar, {dot}, "on the device");                                                                   \
    scalar.put();                                                                                            \
    check(BLAS(L##scal)(handle, n, scalar.device, x.device, 3) == good, #L "scal on the device");            \
    other = all(x);                                                                                          \
    for (int i = 0; i < n; ++i) other[std::size_t(i * 3)] *= scalar(0);                                      \
    close(x, other, #L "scal on the device");                                                                \
    BLAS(SetPointerMode)(handle, KIND(POINTER_MODE_HOST));                                                   \
  }

#define LEVEL2(L, E)                                                                                         \
  {                                                                                                          \
    const E alpha = number<E>({0.75, 0.5}), beta = number<E>({-0.5, 0.25});                                  \
    for (const Operation op : {N, T, C}) {                                                                   \
      const int m = 5, n = 7, lda = 6;                                                                       \
      Data<E> a(lda * n), x(14), y(14);                                                                      \
      const int rows = op == N ? m : n, columns = op == N ? n : m;                                           \
      std::vector<Z> want = all(y);                                                                          \
      for (int i = 0; i < rows; ++i) {                                                                       \
        Z sum = 0;                                                                                           \
        for (int j = 0; j < columns; ++j) sum += at(a, op, lda, i, j) * x(j * 2);                            \
        want[std::size_t(i)] = wide(alpha) * sum + wide(beta) * want[std::size_t(i)];                        \
      }                                                                                                      \
      check(BLAS(L##gemv)(handle, op, m, n, &alpha, a.device, lda, x.device, 2, &beta, y.device, 1) == good, "gemv"); \
      close(y, want, #L "gemv");                                                                             \
      /* A band of one diagonal below and two above. */                                                      \
      y.put();                                                                                               \
      want = all(y);                                                                                         \
      Data<E> band(4 * n);                                                                                   \
      for (int i = 0; i < rows; ++i) {                                                                       \
        Z sum = 0;                                                                                           \
        for (int j = 0; j < columns; ++j) {                                                                  \
          const int row = op == N ? i : j, column = op == N ? j : i;                                         \
          if (row - column > 1 || column - row > 2) continue;                                                \
          const Z stored = band(2 + row - column + column * 4);                                              \
          sum += (op == C ? std::conj(stored) : stored) * x(j);                                              \
        }                                                                                                    \
        want[std::size_t(i)] = wide(alpha) * sum + wide(beta) * want[std::size_t(i)];                        \
      }                                                                                                      \
      check(BLAS(L##gbmv)(handle, op, m, n, 1, 2, &alpha, band.device, 4, x.device, 1, &beta, y.device, 1) == good, "gbmv"); \
      close(y, want, #L "gbmv");                                                                             \
      for (const bool lower : {true, false}) {                                                               \
        for (const bool unit : {true, false}) {                                                              \
          const auto diagonal = unit ? KIND(DIAG_UNIT) : KIND(DIAG_NON_UNIT);                                \
          Data<E> t(6 * 6), v(6);                                                                            \
          for (int i = 0; i < 6; ++i) set(t.host[std::size_t(i * 7)], {3.0 + i, 1});                         \
          t.put();                                                                                           \
          std::vector<Z> product(6);                                                                         \
          for (int i = 0; i < 6; ++i) {                                                                      \
            for (int j = 0; j < 6; ++j) product[std::size_t(i)] += triangular(t, op, lower, unit, 6, i, j) * v(j); \
          }                                                                                                  \
          check(BLAS(L##trmv)(handle, fill_of(lower), op, diagonal, 6, t.device, 6, v.device, 1) == good, "trmv"); \
          close(v, product, #L "trmv", 1e-3);                                                                \
          check(BLAS(L##trsv)(handle, fill_of(lower), op, diagonal, 6, t.device, 6, v.device, 1) == good, "trsv"); \
          close(v, all(v), #L "trsv", 1e-3);                                                                 \
        }                                                                                                    \
      }                                                                                                      \
    }                                                                                                        \
  }

#define GER(Name, E, conjugated)                                                                             \
  {                                                                                                          \
    const E alpha = number<E>({0.75, 0.5});                                                                  \
    Data<E> a(6 * 4), x(5), y(4);                                                                            \
    std::vector<Z> want = all(a);                                                                            \
    for (int j = 0; j < 4; ++j) {                                                                            \
      for (int i = 0; i < 5; ++i) {                                                                          \
        want[std::size_t(i + j * 6)] += wide(alpha) * x(i) * (conjugated ? std::conj(y(j)) : y(j));          \
      }                                                                                                      \
    }                                                                                                        \
    check(BLAS(Name)(handle, 5, 4, &alpha, x.device, 1, y.device, 1, a.device, 6) == good, #Name);           \
    close(a, want, #Name);                                                                                   \
  }

#define SYMMETRIC(MV, R1, R2, MM, RK, R2K, E, R, hermitian)                                                  \
  for (const bool lower : {true, false}) {                                                                   \
    const int n = 6;                                                                                         \
    const E alpha = number<E>({0.75, 0.5}), beta = number<E>({-0.5, 0.25});                                  \
    const R real = number<R>({1.5, 0.5}), less = number<R>({0.25, -2});                                      \
    const auto second = [](Z z) { return hermitian ? std::conj(z) : z; };                                    \
    const auto inside = [=](int i, int j) { return lower ? i >= j : i <= j; };                               \
    Data<E> a(n * n), x(n), y(n), b(n * 4), c(n * 4);                                                        \
    for (int i = 0; hermitian && i < n; ++i) set(a.host[std::size_t(i * 7)], a(i * 7).real());               \
    a.put();                                                                                                 \
    std::vector<Z> want = all(y);                                                                            \
    for (int i = 0; i < n; ++i) {                                                                            \
      Z sum = 0;                                                                                             \
      for (int j = 0; j < n; ++j) sum += symmetric(a, lower, hermitian, n, i, j) * x(j);                     \
      want[std::size_t(i)] = wide(alpha) * sum + wide(beta) * want[std::size_t(i)];                          \
    }                                                                                                        \
    check(BLAS(MV)(handle, fill_of(lower), n, &alpha, a.device, n, x.device, 1, &beta, y.device, 1) == good, #MV); \
    close(y, want, #MV);                                                                                     \
    y.put();                                                                                                 \
    check(BLAS(R1)(handle, fill_of(lower), n, &real, x.device, 1, a.device, n) == good, #R1);                \
    want = all(a);                                                                                           \
    for (int j = 0; j < n; ++j) {                                                                            \
      for (int i = 0; i < n; ++i) {                                                                          \
        if (inside(i, j)) want[std::size_t(i + j * n)] += wide(real) * x(i) * second(x(j));                  \
      }                                                                                                      \
    }                                                                                                        \
    close(a, want, #R1);                                                                                     \
    a.put();                                                                                                 \
    check(BLAS(R2)(handle, fill_of(lower), n, &alpha, x.device, 1, y.device, 1, a.device, n) == good, #R2);  \
    want = all(a);                                                                                           \
    for (int j = 0; j < n; ++j) {                                                                            \
      for (int i = 0; i < n; ++i) {                                                                          \
        if (!inside(i, j)) continue;                                                                         \
        want[std::size_t(i + j * n)] +=                                                                      \
            wide(alpha) * x(i) * second(y(j)) + second(wide(alpha)) * y(i) * second(x(j));                   \
      }                                                                                                      \
    }                                                                                                        \
    close(a, want, #R2);                                                                                     \
    a.put();                                                                                                 \
    for (const bool left : {true, false}) {                                                                  \
      const int rows = left ? n : 4, columns = left ? 4 : n;                                                 \
      const auto side = left ? KIND(SIDE_LEFT) : KIND(SIDE_RIGHT);                                           \
      want = all(c);                                                                                         \
      for (int j = 0; j < columns; ++j) {                                                                    \
        for (int i = 0; i < rows; ++i) {                                                                     \
          Z sum = 0;                                                                                         \
          for (int k = 0; k < n; ++k) {                                                                      \
            sum += left ? symmetric(a, lower, hermitian, n, i, k) * b(k + j * rows)                          \
                        : b(i + k * rows) * symmetric(a, lower, hermitian, n, k, j);                         \
          }                                                                                                  \
          Z& each = want[std::size_t(i + j * rows)];                                                         \
          each = wide(alpha) * sum + wide(beta) * each;                                                      \
        }                                                                                                    \
      }                                                                                                      \
      check(BLAS(MM)(handle, side, fill_of(lower), rows, columns, &alpha, a.device, n, b.device, rows, &beta, c.device, \
                     rows) == good, #MM);                                                                    \
      close(c, want, #MM);                                                                                   \
      c.put();                                                                                               \
    }                                                                                                        \
    for (const Operation op : {N, hermitian ? C : T}) {                                                      \
      const int k = 4, ld = op == N ? n : k;                                                                 \
      Data<E> other(n * 4);                                                                                  \
      const auto turned = hermitian ? [](Z z) { return std::conj(z); } : [](Z z) { return z; };              \
      const auto product = [&](const Data<E>& left, const Data<E>& right, int i, int j) {                    \
        Z sum = 0;                                                                                           \
        for (int p = 0; p < k; ++p) sum += at(left, op, ld, i, p) * turned(at(right, op, ld, j, p));         \
        return sum;                                                                                          \
      };                                                                                                     \
      std::vector<Z> one = all(a), two = all(a);                                                             \
      for (int j = 0; j < n; ++j) {                                                                          \
        for (int i = 0; i < n; ++i) {                                                                        \
          if (!inside(i, j)) continue;                                                                       \
          Z& first = one[std::size_t(i + j * n)];                                                            \
          first = wide(real) * product(b, b, i, j) + wide(less) * first;                                     \
          Z& last = two[std::size_t(i + j * n)];                                                             \
          last = wide(alpha) * product(b, other, i, j) + second(wide(alpha)) * product(other, b, i, j) +     \
                 wide(less) * last;                                                                          \
        }                                                                                                    \
      }                                                                                                      \
      check(BLAS(RK)(handle, fill_of(lower), op, n, k, &real, b.device, ld, &less, a.device, n) == good, #RK); \
      close(a, one, #RK);                                                                                    \
      a.put();                                                                                               \
      check(BLAS(R2K)(handle, fill_of(lower), op, n, k, &alpha, b.device, ld, other.device, ld, &less, a.device, n) == \
                good, #R2K);                                                                                 \
      close(a, two, #R2K);                                                                                   \
      a.put();                                                                                               \
    }                                                                                                        \
  }

/// C of op(A) op(B), beside which what was in C counts.
template <typename E, typename F>
std::vector<Z> product(const Data<E>& a, const Data<E>& b, std::vector<Z> c, Operation of_a, Operation of_b, int m, int n,
                       int k, Z alpha, Z beta, int lda, int ldb, int ldc, F skip) {
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      Z sum = 0;
      for (int p = 0; p < k; ++p) {
        const Z x = of_a == N ? a(skip(0) + i + p * lda) : a(skip(0) + p + i * lda);
        const Z y = of_b == N ? b(skip(1) + p + j * ldb) : b(skip(1) + j + p * ldb);
        sum += (of_a == C ? std::conj(x) : x) * (of_b == C ? std::conj(y) : y);
      }
      Z& each = c[std::size_t(skip(2) + i + j * ldc)];
      each = alpha * sum + beta * each;
    }
  }
  return c;
}

#define GEMM(L, E, tolerance)                                                                                \
  for (const Operation of_a : {N, T, C}) {                                                                   \
    for (const Operation of_b : {N, T, C}) {                                                                 \
      const int m = 9, n = 7, k = 131, lda = of_a == N ? m + 1 : k, ldb = of_b == N ? k : n + 2, ldc = m + 3; \
      const E alpha = number<E>({0.75, 0.5}), beta = number<E>({-0.5, 0.25});                                \
      const int size_a = lda * (of_a == N ? k : m), size_b = ldb * (of_b == N ? n : k), size_c = ldc * n;    \
      Data<E> a(size_a * 2), b(size_b * 2), c(size_c * 2);                                                   \
      std::vector<Z> want = product(a, b, all(c), of_a, of_b, m, n, k, wide(alpha), wide(beta), lda, ldb, ldc, \
                                    [](int) { return 0; });                                                  \
      check(BLAS(L##gemm)(handle, of_a, of_b, m, n, k, &alpha, a.device, lda, b.device, ldb, &beta, c.device, ldc) == \
                good, #L "gemm");                                                                            \
      close(c, want, #L "gemm", tolerance);                                                                  \
      want = product(a, b, want, of_a, of_b, m, n, k, wide(alpha), wide(beta), lda, ldb, ldc, [&](int which) { \
        return which == 0 ? size_a : which == 1 ? size_b : size_c;                                           \
      });                                                                                                    \
      c.put();                                                                                               \
      check(BLAS(L##gemmStridedBatched)(handle, of_a, of_b, m, n, k, &alpha, a.device, lda, size_a, b.device, ldb, \
                                        size_b, &beta, c.device, ldc, size_c, 2) == good, #L "gemmStridedBatched"); \
      close(c, want, #L "gemmStridedBatched", tolerance);                                                    \
      c.put();                                                                                               \
      E* pointers[6] = {a.device, a.device + size_a, b.device, b.device + size_b, c.device, c.device + size_c}; \
      E** there = nullptr;                                                                                   \
      GPU(Malloc)(&there, sizeof(pointers));                                                                 \
      GPU(Memcpy)(there, pointers, sizeof(pointers), GPU(MemcpyHostToDevice));                               \
      check(BLAS(L##gemmBatched)(handle, of_a, of_b, m, n, k, &alpha, there, lda, there + 2, ldb, &beta, there + 4, ldc, \
                                 2) == good, #L "gemmBatched");                                              \
      close(c, want, #L "gemmBatched", tolerance);                                                           \
      GPU(Free)(there);                                                                                      \
    }                                                                                                        \
  }

#define LEVEL3(L, E)                                                                                         \
  for (const bool left : {true, false}) {                                                                    \
    for (const bool lower : {true, false}) {                                                                 \
      for (const Operation op : {N, T, C}) {                                                                 \
        const int m = 5, n = 4, order = left ? m : n;                                                        \
        const bool unit = lower == left;                                                                     \
        const E alpha = number<E>({0.75, 0.5});                                                              \
        const auto side = left ? KIND(SIDE_LEFT) : KIND(SIDE_RIGHT);                                         \
        const auto diagonal = unit ? KIND(DIAG_UNIT) : KIND(DIAG_NON_UNIT);                                  \
        Data<E> a(order * order), b(m * n), c(m * n);                                                        \
        for (int i = 0; i < order; ++i) set(a.host[std::size_t(i * (order + 1))], {3.0 + i, 1});             \
        a.put();                                                                                             \
        std::vector<Z> want = all(c);                                                                        \
        for (int j = 0; j < n; ++j) {                                                                        \
          for (int i = 0; i < m; ++i) {                                                                      \
            Z sum = 0;                                                                                       \
            for (int p = 0; p < order; ++p) {                                                                \
              sum += left ? triangular(a, op, lower, unit, order, i, p) * b(p + j * m)                       \
                          : b(i + p * m) * triangular(a, op, lower, unit, order, p, j);                      \
            }                                                                                                \
            want[std::size_t(i + j * m)] = wide(alpha) * sum;                                                \
          }                                                                                                  \
        }                                                                                                    \
        check(BLAS(L##trmm)(handle, side, fill_of(lower), op, diagonal, m, n, &alpha, a.device, order, b.device, m, \
                            c.device, m) == good, #L "trmm");                                                \
        close(c, want, #L "trmm");                                                                           \
        /* Back again: X with op(A) X = alpha C. */                                                          \
        const E inverse = number<E>(1.0 / wide(alpha));                                                      \
        check(BLAS(L##trsm)(handle, side, fill_of(lower), op, diagonal, m, n, &inverse, a.device, order, c.device, m) == \
                  good, #L "trsm");                                                                          \
        close(c, all(b), #L "trsm", 1e-3);                                                                   \
      }                                                                                                      \
    }                                                                                                        \
    const int m = 5, n = 4;                                                                                  \
    const E alpha = number<E>({0.75, 0.5}), beta = number<E>({-0.5, 0.25});                                  \
    const Operation of_a = left ? N : T, of_b = left ? C : N;                                                \
    Data<E> a(m * n), b(m * n), c(m * n), x(5);                                                              \
    std::vector<Z> want(std::size_t(m * n)), scaled(std::size_t(m * n));                                     \
    for (int j = 0; j < n; ++j) {                                                                            \
      for (int i = 0; i < m; ++i) {                                                                          \
        want[std::size_t(i + j * m)] = wide(alpha) * at(a, of_a, of_a == N ? m : n, i, j) +                  \
                                       wide(beta) * at(b, of_b, of_b == N ? m : n, i, j);                    \
        scaled[std::size_t(i + j * m)] = a(i + j * m) * x(left ? i : j);                                     \
      }                                                                                                      \
    }                                                                                                        \
    check(BLAS(L##geam)(handle, of_a, of_b, m, n, &alpha, a.device, of_a == N ? m : n, &beta, b.device,      \
                        of_b == N ? m : n, c.device, m) == good, #L "geam");                                 \
    close(c, want, #L "geam");                                                                               \
    check(BLAS(L##dgmm)(handle, left ? KIND(SIDE_LEFT) : KIND(SIDE_RIGHT), m, n, a.device, m, x.device, 1, c.device, m) == \
              good, #L "dgmm");                                                                              \
    close(c, scaled, #L "dgmm");                                                                             \
  }                                                                                                          \
  {                                                                                                          \
    /* LU and inverse: A A^-1 = 1. */                                                                        \
    const int n = 6;                                                                                         \
    Data<E> a(n * n), inverse(n * n), unit(n * n);                                                           \
    E* pointers[2] = {a.device, inverse.device};                                                             \
    E** there = nullptr;                                                                                     \
    int* numbers = nullptr;                                                                                  \
    GPU(Malloc)(&there, sizeof(pointers));                                                                   \
    GPU(Malloc)(&numbers, (n + 1) * sizeof(int));                                                            \
    GPU(Memcpy)(there, pointers, sizeof(pointers), GPU(MemcpyHostToDevice));                                 \
    check(BLAS(L##getrfBatched)(handle, n, there, n, numbers, numbers + n, 1) == good, #L "getrf");          \
    check(BLAS(L##getriBatched)(handle, n, there, n, numbers, there + 1, n, numbers + n, 1) == good, #L "getri"); \
    a.put();                                                                                                 \
    const E one = number<E>(1), zero = number<E>(0);                                                         \
    BLAS(L##gemm)(handle, N, N, n, n, n, &one, a.device, n, inverse.device, n, &zero, unit.device, n);       \
    std::vector<Z> want(std::size_t(n * n));                                                                 \
    for (int i = 0; i < n; ++i) want[std::size_t(i * (n + 1))] = 1;                                          \
    close(unit, want, #L "getri", 1e-3);                                                                     \
    GPU(Free)(there);                                                                                        \
    GPU(Free)(numbers);                                                                                      \
  }

void other_types() {
  const int m = 6, n = 5, k = 40;
  Data<__half> a(m * k), b(k * n), c(m * n);
  const float one = 1, half = 0.5f;
  const std::vector<Z> want = product(a, b, all(c), N, N, m, n, k, 1, 0.5, m, k, m, [](int) { return 0; });
  check(BLAS(GemmEx)(handle, N, N, m, n, k, &one, a.device, TYPE(R_16F), m, b.device, TYPE(R_16F), k, &half, c.device,
                     TYPE(R_16F), m, KIND(COMPUTE_32F), KIND(GEMM_DEFAULT)) == good, "GemmEx");
  close(c, want, "GemmEx", 1e-2);
  // Half numbers into floats, without what was there.
  Data<float> wide_c(m * n);
  const float zero = 0;
  check(BLAS(GemmEx)(handle, N, N, m, n, k, &one, a.device, TYPE(R_16F), m, b.device, TYPE(R_16F), k, &zero, wide_c.device,
                     TYPE(R_32F), m, KIND(COMPUTE_32F), KIND(GEMM_DEFAULT)) == good, "GemmEx into floats");
  close(wide_c, product(a, b, all(wide_c), N, N, m, n, k, 1, 0, m, k, m, [](int) { return 0; }), "GemmEx into floats", 1e-4);
  Data<signed char> x(m * k), y(k * n);
  Data<float> space(m * n);
  int* sums = reinterpret_cast<int*>(space.device);
  const int two = 2, nothing = 0;
  check(BLAS(GemmEx)(handle, N, N, m, n, k, &two, x.device, TYPE(R_8I), m, y.device, TYPE(R_8I), k, &nothing, sums,
                     TYPE(R_32I), m, KIND(COMPUTE_32I), KIND(GEMM_DEFAULT)) == good, "GemmEx of bytes");
  std::vector<int> got(std::size_t(m * n));
  GPU(Memcpy)(got.data(), sums, got.size() * sizeof(int), GPU(MemcpyDeviceToHost));
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      int sum = 0;
      for (int p = 0; p < k; ++p) sum += int(x.host[std::size_t(i + p * m)]) * int(y.host[std::size_t(p + j * k)]);
      check(got[std::size_t(i + j * m)] == 2 * sum, "GemmEx of bytes", i, j);
    }
  }
}

void misuse() {
  Data<float> a(16);
  const float one = 1;
  check(BLAS(Sgemm)(handle, N, N, 4, 4, 4, &one, a.device, 3, a.device, 4, &one, a.device, 4) ==
            KIND(STATUS_INVALID_VALUE), "lda is too small");
  check(BLAS(Sgemm)(nullptr, N, N, 4, 4, 4, &one, a.device, 4, a.device, 4, &one, a.device, 4) ==
            KIND(STATUS_NOT_INITIALIZED), "no handle");
  float nan = NAN;
  Data<float> c(16);
  c.host.assign(16, nan);
  c.put();
  const float zero = 0;
  check(BLAS(Sgemm)(handle, N, N, 4, 4, 4, &zero, c.device, 4, c.device, 4, &zero, c.device, 4) == good, "only zeros");
  close(c, std::vector<Z>(16), "what is multiplied by 0 is not read", 0);
  std::vector<float> host(12, 1.0f), back(12, 0.0f);
  check(BLAS(SetMatrix)(3, 4, sizeof(float), host.data(), 3, a.device, 4) == good &&
            BLAS(GetMatrix)(3, 4, sizeof(float), a.device, 4, back.data(), 3) == good && back == host, "SetMatrix");
  check(BLAS(SetVector)(4, sizeof(float), host.data(), 3, a.device, 2) == good &&
            BLAS(GetVector)(4, sizeof(float), a.device, 2, back.data(), 1) == good && back[3] == 1, "SetVector");
}

int main() {
  check(BLAS(Create)(&handle) == good, "Create");
  GPU(Stream_t) stream, same_stream;
  GPU(StreamCreate)(&stream);
  check(BLAS(SetStream)(handle, stream) == good && BLAS(GetStream)(handle, &same_stream) == good && stream == same_stream,
        "SetStream");
  LEVEL1(S, s, float, float, Sasum, Snrm2, Sdot, Sdot)
  LEVEL1(D, d, double, double, Dasum, Dnrm2, Ddot, Ddot)
  LEVEL1(C, c, float2, float, Scasum, Scnrm2, Cdotu, Cdotc)
  LEVEL1(Z, z, double2, double, Dzasum, Dznrm2, Zdotu, Zdotc)
  LEVEL2(S, float)
  LEVEL2(D, double)
  LEVEL2(C, float2)
  LEVEL2(Z, double2)
  GER(Sger, float, false)
  GER(Dger, double, false)
  GER(Cgeru, float2, false)
  GER(Cgerc, float2, true)
  GER(Zgerc, double2, true)
  SYMMETRIC(Ssymv, Ssyr, Ssyr2, Ssymm, Ssyrk, Ssyr2k, float, float, false)
  SYMMETRIC(Dsymv, Dsyr, Dsyr2, Dsymm, Dsyrk, Dsyr2k, double, double, false)
  SYMMETRIC(Csymv, Csyr, Csyr2, Csymm, Csyrk, Csyr2k, float2, float2, false)
  SYMMETRIC(Chemv, Cher, Cher2, Chemm, Cherk, Cher2k, float2, float, true)
  SYMMETRIC(Zhemv, Zher, Zher2, Zhemm, Zherk, Zher2k, double2, double, true)
  GEMM(S, float, 1e-4)
  GEMM(D, double, 1e-10)
  GEMM(C, float2, 1e-4)
  GEMM(Z, double2, 1e-10)
  GEMM(H, __half, 2e-2)
  LEVEL3(S, float)
  LEVEL3(D, double)
  LEVEL3(C, float2)
  LEVEL3(Z, double2)
  other_types();
  misuse();
  check(BLAS(Destroy)(handle) == good && BLAS(Destroy)(handle) == KIND(STATUS_NOT_INITIALIZED), "Destroy");
  std::printf("%d checks, %d failures\n", checks, failures);
  return failures != 0;
}
