// SPDX-License-Identifier: Apache-2.0
// simt/fft_core.h: Fourier transforms on the CPU, on which cuFFT's and hipFFT's functions are built (math/fft.cpp).
// They are computed in double and rounded once. Results are not divided by the number of points.
#ifndef SIMT_FFT_CORE_H
#define SIMT_FFT_CORE_H

#include "core.h"

namespace simt {
namespace fft {

using Index = std::int64_t;

/// The types of input and output, in double or float.
enum class Kind : unsigned char { complex, to_complex, to_real };

/// The layout of a transform's numbers: point (i, j, k) of batch b is at `b distance + ((i rows + j) columns + k)
/// step`.
struct Layout {
  Index embedded[3];  // the extent of each dimension in memory; the first is not used
  Index step, distance;
};

struct Plan {
  Kind kind = Kind::complex;
  bool wide = false;
  int rank = 0;
  Index points[3] = {1, 1, 1};
  Index batch = 1;
  bool basic = true;  // without given layouts: an in-place transform has room for the complex numbers
  Layout in{}, out{};
  void* stream = nullptr;
};

/// Plans by number, from 1. Null for an invalid number.
SIMT_EXPORT long add(const Plan&);
SIMT_EXPORT Plan* find(long number);
SIMT_EXPORT bool remove(long number);

/// Fill in the layouts of a plan that has none, for an in-place transform or not.
SIMT_EXPORT void lay_out(Plan&, bool in_place);
/// The number of elements of its type that a transform accesses, up to the last.
SIMT_EXPORT Index reach(const Plan&, bool output);
/// `direction` is -1 for the exponent -2 pi i, 1 for the inverse.
SIMT_EXPORT void run(const Plan&, const void* in, void* out, int direction);

}  // namespace fft
}  // namespace simt

#endif
