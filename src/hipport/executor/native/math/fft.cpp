// SPDX-License-Identifier: Apache-2.0
// Fourier transforms: by factors of the number of points; for a large prime factor as a convolution (Bluestein, "A
// linear filtering approach to the computation of the discrete Fourier transform", 1970).
#include "../include/simt/fft_core.h"

#include <cmath>
#include <complex>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace simt {
namespace fft {

namespace {

using Number = std::complex<double>;
using Numbers = std::vector<Number>;

constexpr double pi = 3.14159265358979323846;

Number times(Number a, Number b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
/// exp(direction 2 pi i k / n)
Number root(Index k, Index n, int direction) {
  return std::polar(1.0, direction * 2 * pi * static_cast<double>(k % n) / static_cast<double>(n));
}

void transform(Numbers& all, int direction);

void by_convolution(Numbers& all, int direction) {
  const Index n = static_cast<Index>(all.size());
  Index size = 1;
  while (size < 2 * n - 1) size *= 2;
  Numbers chirp(all.size()), left(static_cast<std::size_t>(size)), right(static_cast<std::size_t>(size));
  for (Index k = 0; k < n; ++k) {
    // k^2 mod 2n, so that the angle stays exact.
    const Index square =
        static_cast<Index>(static_cast<unsigned __int128>(k) * k % (static_cast<unsigned __int128>(n) * 2));
    chirp[static_cast<std::size_t>(k)] = root(square, 2 * n, direction);
    left[static_cast<std::size_t>(k)] = times(all[static_cast<std::size_t>(k)], chirp[static_cast<std::size_t>(k)]);
    right[static_cast<std::size_t>(k)] = std::conj(chirp[static_cast<std::size_t>(k)]);
    if (k != 0) right[static_cast<std::size_t>(size - k)] = right[static_cast<std::size_t>(k)];
  }
  transform(left, -1);
  transform(right, -1);
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = times(left[i], right[i]);
  transform(left, 1);
  for (std::size_t k = 0; k < all.size(); ++k) {
    all[k] = times(left[k], chirp[k]) / static_cast<double>(size);
  }
}

void transform(Numbers& all, int direction) {
  const Index n = static_cast<Index>(all.size());
  if (n <= 1) return;
  Index factor = 2;
  while (factor * factor <= n && n % factor != 0) ++factor;
  if (n % factor != 0) factor = n;
  if (factor > 50) return by_convolution(all, direction);
  const Index rest = n / factor;
  Numbers roots(all.size());
  for (Index k = 0; k < n; ++k) roots[static_cast<std::size_t>(k)] = root(k, n, direction);
  std::vector<Numbers> parts(static_cast<std::size_t>(factor), Numbers(static_cast<std::size_t>(rest)));
  for (Index i = 0; i < n; ++i) {
    parts[static_cast<std::size_t>(i % factor)][static_cast<std::size_t>(i / factor)] =
        all[static_cast<std::size_t>(i)];
  }
  for (Numbers& part : parts) transform(part, direction);
  for (Index k = 0; k < n; ++k) {
    Number sum{};
    for (Index p = 0; p < factor; ++p) {
      sum += times(parts[static_cast<std::size_t>(p)][static_cast<std::size_t>(k % rest)],
                   roots[static_cast<std::size_t>(p * k % n)]);
    }
    all[static_cast<std::size_t>(k)] = sum;
  }
}

/// Along each dimension of a contiguous array.
void transform_all(Numbers& all, const Index points[3], int direction) {
  Index stride = points[0] * points[1] * points[2];
  for (int dimension = 0; dimension < 3; ++dimension) {
    const Index n = points[dimension];
    const Index outer = points[0] * points[1] * points[2] / stride;
    stride /= n;
    Numbers line(static_cast<std::size_t>(n));
    for (Index a = 0; a < outer && n > 1; ++a) {
      for (Index b = 0; b < stride; ++b) {
        Number* const start = &all[static_cast<std::size_t>(a * n * stride + b)];
        for (Index i = 0; i < n; ++i) line[static_cast<std::size_t>(i)] = start[i * stride];
        transform(line, direction);
        for (Index i = 0; i < n; ++i) start[i * stride] = line[static_cast<std::size_t>(i)];
      }
    }
  }
}

Index place(const Layout& layout, Index batch, Index i, Index j, Index k) {
  return batch * layout.distance + ((i * layout.embedded[1] + j) * layout.embedded[2] + k) * layout.step;
}

std::mutex mutex;
std::map<long, std::unique_ptr<Plan>>& plans() {
  static auto* const all = new std::map<long, std::unique_ptr<Plan>>;
  return *all;
}

template <typename R>
void run_as(const Plan& plan, const void* in, void* out, int direction) {
  const Index rows = plan.points[0], columns = plan.points[1], depth = plan.points[2], half = depth / 2 + 1;
  Numbers all(static_cast<std::size_t>(rows * columns * depth));
  const auto at = [&](Index i, Index j, Index k) -> Number& {
    return all[static_cast<std::size_t>((i * columns + j) * depth + k)];
  };
  for (Index batch = 0; batch < plan.batch; ++batch) {
    const auto* complex_in = static_cast<const std::complex<R>*>(in);
    const auto* real_in = static_cast<const R*>(in);
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < columns; ++j) {
        for (Index k = 0; k < (plan.kind == Kind::to_real ? half : depth); ++k) {
          const Index from = place(plan.in, batch, i, j, k);
          at(i, j, k) = plan.kind == Kind::to_complex ? Number(real_in[from]) : Number(complex_in[from]);
        }
      }
    }
    if (plan.kind == Kind::to_real) {
      for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < columns; ++j) {
          for (Index k = half; k < depth; ++k) {
            at(i, j, k) = std::conj(at((rows - i) % rows, (columns - j) % columns, depth - k));
          }
        }
      }
    }
    transform_all(all, plan.points, direction);
    auto* complex_out = static_cast<std::complex<R>*>(out);
    auto* real_out = static_cast<R*>(out);
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < columns; ++j) {
        for (Index k = 0; k < (plan.kind == Kind::to_complex ? half : depth); ++k) {
          const Index to = place(plan.out, batch, i, j, k);
          const Number value = at(i, j, k);
          if (plan.kind == Kind::to_real) {
            real_out[to] = static_cast<R>(value.real());
          } else {
            complex_out[to] = std::complex<R>(static_cast<R>(value.real()), static_cast<R>(value.imag()));
          }
        }
      }
    }
  }
}

}  // namespace

long add(const Plan& plan) {
  const std::lock_guard<std::mutex> guard(mutex);
  static long last = 0;
  plans()[++last] = std::make_unique<Plan>(plan);
  return last;
}
Plan* find(long number) {
  const std::lock_guard<std::mutex> guard(mutex);
  const auto found = plans().find(number);
  return found == plans().end() ? nullptr : found->second.get();
}
bool remove(long number) {
  const std::lock_guard<std::mutex> guard(mutex);
  return plans().erase(number) != 0;
}

void lay_out(Plan& plan, bool in_place) {
  if (!plan.basic) return;
  const Index depth = plan.points[2], half = depth / 2 + 1;
  const auto fill = [&](Layout& layout, Index last) {
    layout.embedded[0] = plan.points[0];
    layout.embedded[1] = plan.points[1];
    layout.embedded[2] = last;
    layout.step = 1;
    layout.distance = plan.points[0] * plan.points[1] * last;
  };
  const Index reals = in_place ? 2 * half : depth;
  fill(plan.in, plan.kind == Kind::complex ? depth : plan.kind == Kind::to_complex ? reals : half);
  fill(plan.out, plan.kind == Kind::complex ? depth : plan.kind == Kind::to_complex ? half : reals);
}

Index reach(const Plan& plan, bool output) {
  const bool halved = plan.kind == (output ? Kind::to_complex : Kind::to_real);
  const Index last = halved ? plan.points[2] / 2 : plan.points[2] - 1;
  return place(output ? plan.out : plan.in, plan.batch - 1, plan.points[0] - 1, plan.points[1] - 1, last) + 1;
}

void run(const Plan& plan, const void* in, void* out, int direction) {
  plan.wide ? run_as<double>(plan, in, out, direction) : run_as<float>(plan, in, out, direction);
}

}  // namespace fft
}  // namespace simt
