// SPDX-License-Identifier: Apache-2.0
// simt/complex.h: complex numbers as vectors of two. No include guard: cuComplex.h and hip/hip_complex.h include it
// with SIMT_COMPLEX(before, after) as before##cu##after or before##hip##after.

typedef float2 SIMT_COMPLEX(, FloatComplex);
typedef double2 SIMT_COMPLEX(, DoubleComplex);
typedef float2 SIMT_COMPLEX(, Complex);

#define SIMT_COMPLEX_OF(T, V, name, f)                                                                             \
  inline T SIMT_COMPLEX(, Creal##f)(V z) { return z.x; }                                                           \
  inline T SIMT_COMPLEX(, Cimag##f)(V z) { return z.y; }                                                           \
  inline V SIMT_COMPLEX(make_, name)(T real, T imaginary) { return V{real, imaginary}; }                           \
  inline V SIMT_COMPLEX(, Conj##f)(V z) { return V{z.x, -z.y}; }                                                   \
  inline V SIMT_COMPLEX(, Cadd##f)(V a, V b) { return V{a.x + b.x, a.y + b.y}; }                                   \
  inline V SIMT_COMPLEX(, Csub##f)(V a, V b) { return V{a.x - b.x, a.y - b.y}; }                                   \
  inline V SIMT_COMPLEX(, Cmul##f)(V a, V b) { return V{a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }           \
  inline V SIMT_COMPLEX(, Cfma##f)(V a, V b, V c) {                                                                \
    return V{(a.x * b.x + c.x) - a.y * b.y, (b.y * a.x + c.y) + a.y * b.x};                                        \
  }                                                                                                                \
  /* Scaled, against overflow and underflow. */                                                                    \
  inline V SIMT_COMPLEX(, Cdiv##f)(V a, V b) {                                                                     \
    const T scale = std::fabs(b.x) + std::fabs(b.y), by = T(1) / scale;                                            \
    const T ax = a.x * by, ay = a.y * by, bx = b.x * by, by_ = b.y * by;                                           \
    const T square = T(1) / (bx * bx + by_ * by_);                                                                 \
    return V{(ax * bx + ay * by_) * square, (ay * bx - ax * by_) * square};                                        \
  }                                                                                                                \
  inline T SIMT_COMPLEX(, Cabs##f)(V z) { return std::hypot(z.x, z.y); }
SIMT_COMPLEX_OF(float, float2, FloatComplex, f)
SIMT_COMPLEX_OF(double, double2, DoubleComplex, )
#undef SIMT_COMPLEX_OF
inline float2 SIMT_COMPLEX(make_, Complex)(float real, float imaginary) { return float2{real, imaginary}; }
inline double2 SIMT_COMPLEX(, ComplexFloatToDouble)(float2 z) { return double2{double(z.x), double(z.y)}; }
inline float2 SIMT_COMPLEX(, ComplexDoubleToFloat)(double2 z) {
  return float2{static_cast<float>(z.x), static_cast<float>(z.y)};
}
#undef SIMT_COMPLEX
