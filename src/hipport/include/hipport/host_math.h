// SPDX-License-Identifier: Apache-2.0
// hipport/host_math.h: the min, max and functions of CUDA's host code, for AMD. Put here by hipport.
//
// nvcc declares them for all types of numbers. HIP has them only for int, to which others are converted silently:
// max(0.5f, 0.25f) is 0. These are CUDA's (cuda_runtime.h of CUDA 13.0), for host code; device code has
// HIP's, and those of hipport/min_max.h.
// nvcc also has functions for both that the C library lacks, such as rsqrt and normcdf; HIP's are only for devices.
#ifndef HIPPORT_HOST_MATH_H
#define HIPPORT_HOST_MATH_H

#if defined(__HIP__)  // nvcc has them, and plain host compilers never had them

#include <hip/hip_runtime.h>
#include <math.h>

#define HIPPORT_MIN_MAX(result, first, second)                                 \
  static inline __host__ result (min)(const first a, const second b) {           \
    const result x = static_cast<result>(a), y = static_cast<result>(b);       \
    return x < y ? x : y;                                                      \
  }                                                                            \
  static inline __host__ result (max)(const first a, const second b) {           \
    const result x = static_cast<result>(a), y = static_cast<result>(b);       \
    return x > y ? x : y;                                                      \
  }
// A number wins over a NaN.
#define HIPPORT_MIN_MAX_OF(result, first, second, suffix)                                                              \
  static inline __host__ result (min)(const first a, const second b) { return __builtin_fmin##suffix(a, b); }            \
  static inline __host__ result (max)(const first a, const second b) { return __builtin_fmax##suffix(a, b); }

// Newer compilers have them too if a program asks for them.
#if !defined(__HIP_DEFINE_EXTENDED_HOST_MIN_MAX__) || !__HIP_DEFINE_EXTENDED_HOST_MIN_MAX__
HIPPORT_MIN_MAX(unsigned, unsigned, unsigned)
HIPPORT_MIN_MAX(long, long, long)
HIPPORT_MIN_MAX(unsigned long, unsigned long, unsigned long)
HIPPORT_MIN_MAX(long long, long long, long long)
HIPPORT_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
HIPPORT_MIN_MAX_OF(float, float, float, f)
HIPPORT_MIN_MAX_OF(double, double, double, )
HIPPORT_MIN_MAX_OF(double, float, double, )
HIPPORT_MIN_MAX_OF(double, double, float, )
#endif
// hipport's CPU executor has one version for host and device.
#if (!defined(__HIP_DEFINE_MIXED_HOST_MIN_MAX__) || !__HIP_DEFINE_MIXED_HOST_MIN_MAX__) && \
    !(defined(SIMT_CORE_H) && defined(HIPPORT_MIN_MAX_H))
HIPPORT_MIN_MAX(unsigned, int, unsigned)
HIPPORT_MIN_MAX(unsigned, unsigned, int)
HIPPORT_MIN_MAX(unsigned long, long, unsigned long)
HIPPORT_MIN_MAX(unsigned long, unsigned long, long)
HIPPORT_MIN_MAX(unsigned long long, long long, unsigned long long)
HIPPORT_MIN_MAX(unsigned long long, unsigned long long, long long)
#endif

#undef HIPPORT_MIN_MAX
#undef HIPPORT_MIN_MAX_OF

namespace hipport {
namespace host_math {

// erfc(x) = y, for 0 < y < 2: an initial guess, and Halley's steps, which triple the number of correct digits.
static inline __host__ double inverse_of_erfc(const double y) {
  if (!(y > 0) || !(y < 2)) return y == 0 ? HUGE_VAL : y == 2 ? -HUGE_VAL : NAN;
  if (y > 1) return -inverse_of_erfc(2 - y);
  if (y == 1) return 0;
  const double t = ::sqrt(-2 * ::log(y / 2));
  double x = 0.70710678118654752 * (t - (2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)));
  for (int step = 0; step < 4; ++step) {
    const double slope = 1.12837916709551257 * ::exp(-x * x);
    if (slope == 0) break;
    const double off = (::erfc(x) - y) / slope;
    x += off / (1 + x * off);
  }
  return x;
}

static inline __host__ double inverse_of_erf(const double y) {
  if (!(y > -1) || !(y < 1)) return y == 1 ? HUGE_VAL : y == -1 ? -HUGE_VAL : NAN;
  if (y > 0.5 || y < -0.5) return y > 0 ? inverse_of_erfc(1 - y) : -inverse_of_erfc(1 + y);
  double x = 0.88622692545275801 * y;
  for (int step = 0; step < 5; ++step) {
    const double off = (::erf(x) - y) / (1.12837916709551257 * ::exp(-x * x));
    x -= off / (1 + x * off);
  }
  return x;
}

static inline __host__ double scaled_erfc(const double x) {
  if (x < 3) return ::exp(x * x) * ::erfc(x);
  double fraction = x;  // Laplace's continued fraction
  for (int k = 100; k > 0; --k) fraction = x + k / 2.0 / fraction;
  return 0.56418958354775629 / fraction;
}

static inline __host__ double sine_of_pi(const double x) {
  const double part = ::remainder(x, 2);  // exact
  if (part == 0 || ::fabs(part) == 1) return ::copysign(0, x);
  if (::fabs(part) <= 0.25) return ::sin(3.14159265358979324 * part);
  if (::fabs(part) >= 0.75) return ::copysign(::sin(3.14159265358979324 * (1 - ::fabs(part))), part);
  return ::copysign(::cos(3.14159265358979324 * (0.5 - ::fabs(part))), part);
}

static inline __host__ double cosine_of_pi(const double x) { return sine_of_pi(0.5 - ::fabs(::remainder(x, 2))); }

}  // namespace host_math
}  // namespace hipport

#define HIPPORT_OF_ONE(name, result)                                               \
  static inline __host__ double name(const double x) { return result; }           \
  static inline __host__ float name##f(const float x) { return static_cast<float>(name(static_cast<double>(x))); } \
  static inline __host__ float name(const float x) { return name##f(x); }
HIPPORT_OF_ONE(rcbrt, 1 / ::cbrt(x))
HIPPORT_OF_ONE(normcdf, 0.5 * ::erfc(-0.70710678118654752 * x))
HIPPORT_OF_ONE(normcdfinv, -1.41421356237309505 * hipport::host_math::inverse_of_erfc(2 * x))
HIPPORT_OF_ONE(erfinv, hipport::host_math::inverse_of_erf(x))
HIPPORT_OF_ONE(erfcinv, hipport::host_math::inverse_of_erfc(x))
HIPPORT_OF_ONE(erfcx, hipport::host_math::scaled_erfc(x))
// Functions of C23, which the GNU C library has since 2.41 and 2.42.
#if !defined(__GLIBC__) || !__GLIBC_PREREQ(2, 41)
HIPPORT_OF_ONE(sinpi, hipport::host_math::sine_of_pi(x))
HIPPORT_OF_ONE(cospi, hipport::host_math::cosine_of_pi(x))
#endif
#if !defined(__GLIBC__) || !__GLIBC_PREREQ(2, 42)
HIPPORT_OF_ONE(rsqrt, 1 / ::sqrt(x))
#endif
#undef HIPPORT_OF_ONE

static inline __host__ void sincospi(const double x, double* const sine, double* const cosine) {
  *sine = hipport::host_math::sine_of_pi(x);
  *cosine = hipport::host_math::cosine_of_pi(x);
}
static inline __host__ void sincospif(const float x, float* const sine, float* const cosine) {
  *sine = static_cast<float>(hipport::host_math::sine_of_pi(x));
  *cosine = static_cast<float>(hipport::host_math::cosine_of_pi(x));
}
static inline __host__ void sincospi(const float x, float* const sine, float* const cosine) {
  sincospif(x, sine, cosine);
}

#endif  // __HIP__

#endif  // HIPPORT_HOST_MATH_H
