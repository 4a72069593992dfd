// SPDX-License-Identifier: Apache-2.0
// cuFFT and hipFFT on the executor, against the sum that defines the transform.
#include "check.h"

#include <complex>

#ifdef __HIP__
#include <hipfft/hipfft.h>
#define FFT(name) hipfft##name
#define KIND(name) HIPFFT_##name
constexpr int inverse = HIPFFT_BACKWARD;
#else
#include <cufft.h>
#define FFT(name) cufft##name
#define KIND(name) CUFFT_##name
constexpr int inverse = CUFFT_INVERSE;
#endif
constexpr auto good = KIND(SUCCESS);
using Z = std::complex<double>;

unsigned seed = 7;
double random_number() {
  seed = seed * 1664525u + 1013904223u;
  return static_cast<double>(seed >> 8) / (1 << 23) - 1;
}
std::vector<Z> random_numbers(int n, bool real) {
  std::vector<Z> all(static_cast<std::size_t>(n));
  for (Z& each : all) each = {random_number(), real ? 0 : random_number()};
  return all;
}
/// The transform of an array of rows * columns * depth points.
std::vector<Z> transformed(const std::vector<Z>& all, int rows, int columns, int depth, int direction) {
  std::vector<Z> result(all.size());
  for (int a = 0; a < rows; ++a) {
    for (int b = 0; b < columns; ++b) {
      for (int c = 0; c < depth; ++c) {
        Z sum = 0;
        for (int i = 0; i < rows; ++i) {
          for (int j = 0; j < columns; ++j) {
            for (int k = 0; k < depth; ++k) {
              const double turns = double(a * i) / rows + double(b * j) / columns + double(c * k) / depth;
              sum += all[std::size_t((i * columns + j) * depth + k)] * std::polar(1.0, direction * 6.283185307179586 * turns);
            }
          }
        }
        result[std::size_t((a * columns + b) * depth + c)] = sum;
      }
    }
  }
  return result;
}

template <typename E>
struct Memory {
  E* at = nullptr;
  std::size_t size;
  explicit Memory(std::size_t size) : size(size) { GPU(Malloc)(&at, size * sizeof(E)); }
  ~Memory() { GPU(Free)(at); }
  void put(const std::vector<E>& from) { GPU(Memcpy)(at, from.data(), from.size() * sizeof(E), GPU(MemcpyHostToDevice)); }
  std::vector<E> get() const {
    std::vector<E> to(size);
    GPU(Memcpy)(to.data(), at, size * sizeof(E), GPU(MemcpyDeviceToHost));
    return to;
  }
};
void close(Z got, Z want, const char* what, int where, double tolerance = 1e-4) {
  if (!(std::abs(got - want) <= tolerance)) std::printf("%s: (%g, %g), not (%g, %g)\n", what, got.real(), got.imag(), want.real(), want.imag());
  check(std::abs(got - want) <= tolerance, what, where);
}

void complex_of_one_dimension() {
  for (const int n : {1, 2, 3, 8, 12, 30, 49, 53, 64, 97, 101, 106}) {
    const int batch = 3;
    FFT(Handle) plan;
    check(FFT(Plan1d)(&plan, n, KIND(C2C), batch) == good, "Plan1d", n);
    std::vector<float2> host;
    std::vector<std::vector<Z>> parts;
    for (int b = 0; b < batch; ++b) {
      parts.push_back(random_numbers(n, false));
      for (const Z each : parts.back()) host.push_back(float2{float(each.real()), float(each.imag())});
    }
    Memory<float2> data(host.size());
    for (const int direction : {-1, 1}) {
      data.put(host);
      check(FFT(ExecC2C)(plan, data.at, data.at, direction) == good, "ExecC2C", n);
      const auto got = data.get();
      for (int b = 0; b < batch; ++b) {
        const auto want = transformed(parts[std::size_t(b)], 1, 1, n, direction);
        for (int i = 0; i < n; ++i) {
          const float2 each = got[std::size_t(b * n + i)];
          close({each.x, each.y}, want[std::size_t(i)], "ExecC2C", n);
        }
      }
    }
    check(FFT(Destroy)(plan) == good && FFT(Destroy)(plan) == KIND(INVALID_PLAN), "Destroy");
  }
}

template <typename R, typename C, typename Forward, typename Backward>
void real(int rows, int columns, int depth, bool in_place, FFT(Type) there_type, FFT(Type) back_type, Forward forward,
          Backward backward) {
  const int half = depth / 2 + 1, lines = rows * columns, width = in_place ? 2 * half : depth;
  FFT(Handle) there, back;
  if (rows > 1) {
    check(FFT(Plan3d)(&there, rows, columns, depth, there_type) == good && FFT(Plan3d)(&back, rows, columns, depth, back_type) == good, "Plan3d");
  } else if (columns > 1) {
    check(FFT(Plan2d)(&there, columns, depth, there_type) == good && FFT(Plan2d)(&back, columns, depth, back_type) == good, "Plan2d");
  } else {
    check(FFT(Plan1d)(&there, depth, there_type, 1) == good && FFT(Plan1d)(&back, depth, back_type, 1) == good, "Plan1d");
  }
  const auto all = random_numbers(lines * depth, true);
  Memory<R> reals(std::size_t(lines * 2 * half));
  Memory<C> complexes(std::size_t(lines * half));
  std::vector<R> host(reals.size);
  for (int i = 0; i < lines; ++i) {
    for (int k = 0; k < depth; ++k) host[std::size_t(i * width + k)] = R(all[std::size_t(i * depth + k)].real());
  }
  reals.put(host);
  C* const to = in_place ? reinterpret_cast<C*>(reals.at) : complexes.at;
  check(forward(there, reals.at, to) == good, "to complex");
  std::vector<C> got(complexes.size);
  GPU(Memcpy)(got.data(), to, got.size() * sizeof(C), GPU(MemcpyDeviceToHost));
  const auto want = transformed(all, rows, columns, depth, -1);
  for (int i = 0; i < lines; ++i) {
    for (int k = 0; k < half; ++k) {
      const C each = got[std::size_t(i * half + k)];
      close({double(each.x), double(each.y)}, want[std::size_t(i * depth + k)], "to complex", i);
    }
  }
  check(backward(back, to, reals.at) == good, "to real");
  const auto again = reals.get();
  for (int i = 0; i < lines; ++i) {
    for (int k = 0; k < depth; ++k) {
      close(double(again[std::size_t(i * width + k)]) / (lines * depth), all[std::size_t(i * depth + k)], "to real", i);
    }
  }
  FFT(Destroy)(there);
  FFT(Destroy)(back);
}

void layouts() {
  // Columns of a matrix: numbers lie 5 apart, transforms 1.
  int points[] = {8}, embedded[] = {8};
  FFT(Handle) plan;
  check(FFT(PlanMany)(&plan, 1, points, embedded, 5, 1, embedded, 1, 8, KIND(Z2Z), 5) == good, "PlanMany");
  const auto all = random_numbers(40, false);
  std::vector<double2> host;
  for (const Z each : all) host.push_back(double2{each.real(), each.imag()});
  Memory<double2> in(40), out(40);
  in.put(host);
  GPU(Stream_t) stream;
  GPU(StreamCreate)(&stream);
  check(FFT(SetStream)(plan, stream) == good, "SetStream");
  check(FFT(ExecZ2Z)(plan, in.at, out.at, inverse) == good, "ExecZ2Z");
  const auto got = out.get();
  for (int column = 0; column < 5; ++column) {
    std::vector<Z> part;
    for (int i = 0; i < 8; ++i) part.push_back(all[std::size_t(i * 5 + column)]);
    const auto want = transformed(part, 1, 1, 8, 1);
    for (int i = 0; i < 8; ++i) {
      const double2 each = got[std::size_t(column * 8 + i)];
      close({each.x, each.y}, want[std::size_t(i)], "PlanMany", column, 1e-12);
    }
  }
  check(FFT(ExecC2C)(plan, reinterpret_cast<float2*>(in.at), reinterpret_cast<float2*>(in.at), -1) == KIND(INVALID_TYPE), "another type");
  FFT(Handle) bad;
  check(FFT(Plan1d)(&bad, 0, KIND(C2C), 1) == KIND(INVALID_SIZE), "no points");
}

int main() {
  complex_of_one_dimension();
  const auto r2c = [](FFT(Handle) plan, float* in, float2* out) { return FFT(ExecR2C)(plan, in, out); };
  const auto c2r = [](FFT(Handle) plan, float2* in, float* out) { return FFT(ExecC2R)(plan, in, out); };
  const auto d2z = [](FFT(Handle) plan, double* in, double2* out) { return FFT(ExecD2Z)(plan, in, out); };
  const auto z2d = [](FFT(Handle) plan, double2* in, double* out) { return FFT(ExecZ2D)(plan, in, out); };
  for (const bool in_place : {false, true}) {
    for (const int depth : {8, 7}) {
      real<float, float2>(1, 1, depth, in_place, KIND(R2C), KIND(C2R), r2c, c2r);
      real<float, float2>(1, 6, depth, in_place, KIND(R2C), KIND(C2R), r2c, c2r);
      real<double, double2>(3, 4, depth, in_place, KIND(D2Z), KIND(Z2D), d2z, z2d);
    }
  }
  layouts();
  std::printf("%d checks, %d failures\n", checks, failures);
  return failures != 0;
}
