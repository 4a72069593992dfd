// SPDX-License-Identifier: Apache-2.0
// simt/random.h: cuRAND and hipRAND: the generators XORWOW, Philox4x32-10 and MRG32k3a, in kernels and from the host.
//
// The algorithms are published: Marsaglia, "Xorshift RNGs" (2003); Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3" (2011); L'Ecuyer, "Good parameters and implementations for combined multiple recursive random number
// generators" (1999). The mapping of seeds to states, the starts of subsequences, and the order of the host generators'
// numbers are cuRAND's (curand_kernel.h and its guide, 12.9): the bits are those of cuRAND's own code. Normal numbers
// use the C library's logarithm and sines, and differ from the GPU's in the last digits.
//
// rocRAND, behind hipRAND, maps seeds to states in its own way and returns other numbers. The executor returns cuRAND's
// for both, so that a port can be compared with its original, and reports that once.
//
// Sobol's sequences are in sobol.h. MTGP32, MT19937 and discrete distributions are refused.
#ifndef SIMT_RANDOM_H
#define SIMT_RANDOM_H

#include <cmath>
#include <memory>
#include <vector>

// CUDA's and HIP's headers include the runtime as well.
#include "prelude.h"

#ifdef SIMT_HIP
#define SIMT_RAND(name) hiprand##name
#define SIMT_RAND_CONSTANT(name) HIPRAND_##name
#else
#define SIMT_RAND(name) curand##name
#define SIMT_RAND_CONSTANT(name) CURAND_##name
#endif

namespace simt {
namespace random {

constexpr float two_to_minus_32 = 2.3283064e-10f;
constexpr double two_to_minus_32_double = 2.3283064365386963e-10;
constexpr double two_to_minus_53 = 1.1102230246251565e-16;
constexpr float two_pi = 6.2831855f;

// ---- XORWOW: a linear map of 160 bits and a counter

struct Xorwow {
  std::uint32_t v[5];
};
inline void step(Xorwow& x) {
  const std::uint32_t t = x.v[0] ^ (x.v[0] >> 2);
  for (int i = 0; i < 4; ++i) x.v[i] = x.v[i + 1];
  x.v[4] = (x.v[3] ^ (x.v[3] << 4)) ^ (t ^ (t << 1));
}
/// The map of 2^k steps for every k up to those of 2^63 subsequences of 2^67 steps, as its images of single bits.
class XorwowJumps {
  struct Map {
    Xorwow image[160];
    Xorwow operator()(const Xorwow& x) const {
      Xorwow sum{};
      for (int word = 0; word < 5; ++word) {
        for (std::uint32_t bits = x.v[word]; bits != 0; bits &= bits - 1) {
          const Xorwow& column = image[word * 32 + __builtin_ctz(bits)];
          for (int i = 0; i < 5; ++i) sum.v[i] ^= column.v[i];
        }
      }
      return sum;
    }
  };
  std::vector<Map> maps_;

 public:
  XorwowJumps() : maps_(131) {
    for (int bit = 0; bit < 160; ++bit) {
      Xorwow& x = maps_[0].image[bit];
      x = Xorwow{};
      x.v[bit / 32] = 1u << bit % 32;
      step(x);
    }
    for (std::size_t k = 1; k < maps_.size(); ++k) {
      for (int bit = 0; bit < 160; ++bit) maps_[k].image[bit] = maps_[k - 1](maps_[k - 1].image[bit]);
    }
  }
  /// `count` times 2^`power` steps.
  void jump(Xorwow& x, std::uint64_t count, unsigned power) const {
    for (; count != 0; count >>= 1, ++power) {
      if (count & 1) x = maps_[power](x);
    }
  }
  static const XorwowJumps& all() {
    static const XorwowJumps jumps;
    return jumps;
  }
};

// ---- MRG32k3a: two recurrences of order three

constexpr std::uint64_t mrg_modulus[2] = {4294967087u, 4294944443u};

class MrgJumps {
  struct Matrix {
    std::uint64_t at[3][3];
  };
  std::vector<Matrix> powers_[2];

 public:
  MrgJumps() {
    const std::uint64_t m1 = mrg_modulus[0], m2 = mrg_modulus[1];
    powers_[0].push_back({{{0, 1, 0}, {0, 0, 1}, {m1 - 810728, 1403580, 0}}});
    powers_[1].push_back({{{0, 1, 0}, {0, 0, 1}, {m2 - 1370589, 0, 527612}}});
    for (int which = 0; which < 2; ++which) {
      const std::uint64_t m = mrg_modulus[which];
      for (int k = 1; k < 192; ++k) {
        const Matrix& a = powers_[which].back();
        Matrix square{};
        for (int i = 0; i < 3; ++i) {
          for (int j = 0; j < 3; ++j) {
            for (int l = 0; l < 3; ++l) square.at[i][j] = (square.at[i][j] + a.at[i][l] * a.at[l][j] % m) % m;
          }
        }
        powers_[which].push_back(square);
      }
    }
  }
  void jump(std::uint32_t (&s)[3], int which, std::uint64_t count, unsigned power) const {
    const std::uint64_t m = mrg_modulus[which];
    for (; count != 0; count >>= 1, ++power) {
      if ((count & 1) == 0) continue;
      const Matrix& a = powers_[which][power];
      std::uint64_t next[3];
      for (int i = 0; i < 3; ++i) next[i] = (a.at[i][0] * s[0] % m + a.at[i][1] * s[1] % m + a.at[i][2] * s[2] % m) % m;
      for (int i = 0; i < 3; ++i) s[i] = static_cast<std::uint32_t>(next[i]);
    }
  }
  static const MrgJumps& all() {
    static const MrgJumps jumps;
    return jumps;
  }
};

// ---- Philox: a bijection of 128 bits under a key

inline uint4 philox(uint4 c, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * c.x, b = std::uint64_t{0xCD9E8D57u} * c.z;
    uint4 next;
    next.x = static_cast<std::uint32_t>(b >> 32) ^ c.y ^ key.x;
    next.y = static_cast<std::uint32_t>(b);
    next.z = static_cast<std::uint32_t>(a >> 32) ^ c.w ^ key.y;
    next.w = static_cast<std::uint32_t>(a);
    c = next;
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return c;
}

// ---- numbers of a distribution, from bits

inline float uniform(std::uint32_t x) {
  return static_cast<float>(x) * two_to_minus_32 + two_to_minus_32 / 2.0f;
}
inline double uniform_double(std::uint32_t x, std::uint32_t y) {
  const std::uint64_t z = std::uint64_t{x} ^ (std::uint64_t{y} << 21);
  return static_cast<double>(z) * two_to_minus_53 + two_to_minus_53 / 2.0;
}
inline float2 polar(float radius_of, float angle) {
  const float s = std::sqrt(-2.0f * std::log(radius_of));
  float2 result;
  result.x = std::sin(angle) * s;
  result.y = std::cos(angle) * s;
  return result;
}
inline float2 box_muller(std::uint32_t x, std::uint32_t y) {
  constexpr float scale = two_to_minus_32 * two_pi;
  return polar(uniform(x), static_cast<float>(y) * scale + scale / 2.0f);
}
/// The angle in units of pi, the argument of the GPU's sincospi.
inline double2 polar_double(double radius_of, double turns) {
  constexpr double pi = 3.1415926535897932;
  const double s = std::sqrt(-2.0 * std::log(radius_of));
  double2 result;
  result.x = std::sin(turns * pi) * s;
  result.y = std::cos(turns * pi) * s;
  return result;
}
inline double2 box_muller_double(uint4 x) {
  const std::uint64_t z = std::uint64_t{x.z} ^ (std::uint64_t{x.w} << 21);
  return polar_double(uniform_double(x.x, x.y), static_cast<double>(z) * (two_to_minus_53 * 2.0) + two_to_minus_53);
}

enum Kept : int { nothing = 0, normal = 1, log_normal = 2 };

inline void say_whose(Place place) {
  if constexpr (dialect == Dialect::hip) {
    warning("random-numbers", place, "these are cuRAND's random numbers: rocRAND generates others for the same seed");
  }
}

}  // namespace random
}  // namespace simt

// -------------------------------------------------------------------------------------------------------------- states

struct SIMT_RAND(StateXORWOW) {
  unsigned int d, v[5];
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
struct SIMT_RAND(StateMRG32k3a) {
  unsigned int s1[3], s2[3];
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
struct SIMT_RAND(StatePhilox4_32_10) {
  uint4 ctr, output;
  uint2 key;
  unsigned int STATE;
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
using SIMT_RAND(StateXORWOW_t) = SIMT_RAND(StateXORWOW);
using SIMT_RAND(StateMRG32k3a_t) = SIMT_RAND(StateMRG32k3a);
using SIMT_RAND(StatePhilox4_32_10_t) = SIMT_RAND(StatePhilox4_32_10);
using SIMT_RAND(State) = SIMT_RAND(StateXORWOW);
using SIMT_RAND(State_t) = SIMT_RAND(StateXORWOW);

/// Only declared: the executor lacks this generator.
struct SIMT_RAND(StateMtgp32);
using SIMT_RAND(StateMtgp32_t) = SIMT_RAND(StateMtgp32);

#include "sobol.h"

namespace simt {
namespace random {
template <typename State>
void keep_nothing(State& state) {
  state.boxmuller_flag = state.boxmuller_flag_double = nothing;
  state.boxmuller_extra = 0.0f;
  state.boxmuller_extra_double = 0.0;
}
inline void xorwow_jump(SIMT_RAND(StateXORWOW) & state, std::uint64_t count, unsigned power) {
  if (count == 0) return;
  Xorwow x;
  for (int i = 0; i < 5; ++i) x.v[i] = state.v[i];
  XorwowJumps::all().jump(x, count, power);
  for (int i = 0; i < 5; ++i) state.v[i] = x.v[i];
}
inline void philox_add(unsigned& low, unsigned& high, std::uint64_t n) {
  const std::uint64_t sum = (std::uint64_t{high} << 32 | low) + n;
  low = static_cast<unsigned>(sum);
  high = static_cast<unsigned>(sum >> 32);
}
/// The counter is one 128-bit number.
inline void philox_advance(SIMT_RAND(StatePhilox4_32_10) & state, std::uint64_t n) {
  const std::uint64_t before = std::uint64_t{state.ctr.y} << 32 | state.ctr.x;
  philox_add(state.ctr.x, state.ctr.y, n);
  if (before + n < before) philox_add(state.ctr.z, state.ctr.w, 1);
}
/// A number from 1 to the first modulus.
inline double mrg_next(SIMT_RAND(StateMRG32k3a) & state) {
  const std::uint64_t m1 = mrg_modulus[0], m2 = mrg_modulus[1];
  const std::uint64_t p1 = (1403580ull * state.s1[1] % m1 + m1 - 810728ull * state.s1[0] % m1) % m1;
  const std::uint64_t p2 = (527612ull * state.s2[2] % m2 + m2 - 1370589ull * state.s2[0] % m2) % m2;
  state.s1[0] = state.s1[1];
  state.s1[1] = state.s1[2];
  state.s1[2] = static_cast<unsigned>(p1);
  state.s2[0] = state.s2[1];
  state.s2[1] = state.s2[2];
  state.s2[2] = static_cast<unsigned>(p2);
  return static_cast<double>(p1 > p2 ? p1 - p2 : p1 + m1 - p2);
}
}  // namespace random
}  // namespace simt

// --------------------------------------------------------------------------------------------------------- in kernels

inline void skipahead(unsigned long long n, SIMT_RAND(StateXORWOW) * state) {
  simt::random::xorwow_jump(*state, n, 0);
  state->d += 362437u * static_cast<unsigned>(n);
}
inline void skipahead_sequence(unsigned long long n, SIMT_RAND(StateXORWOW) * state) {
  simt::random::xorwow_jump(*state, n, 67);
}
inline void skipahead_subsequence(unsigned long long n, SIMT_RAND(StateXORWOW) * state) {
  skipahead_sequence(n, state);
}
inline void SIMT_RAND(_init)(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                             SIMT_RAND(StateXORWOW) * state, SIMT_HERE) {
  simt::random::say_whose(SIMT_THERE);
  const unsigned s0 = static_cast<unsigned>(seed) ^ 0xaad26b49u;
  const unsigned s1 = static_cast<unsigned>(seed >> 32) ^ 0xf7dcefddu;
  const unsigned t0 = 1099087573u * s0, t1 = 2591861531u * s1;
  state->d = 6615241u + t1 + t0;
  state->v[0] = 123456789u + t0;
  state->v[1] = 362436069u ^ t0;
  state->v[2] = 521288629u + t1;
  state->v[3] = 88675123u ^ t1;
  state->v[4] = 5783321u + t0;
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
  simt::random::keep_nothing(*state);
}
inline unsigned SIMT_RAND()(SIMT_RAND(StateXORWOW) * state) {
  simt::random::Xorwow x;
  for (int i = 0; i < 5; ++i) x.v[i] = state->v[i];
  simt::random::step(x);
  for (int i = 0; i < 5; ++i) state->v[i] = x.v[i];
  state->d += 362437u;
  return state->v[4] + state->d;
}

inline void skipahead(unsigned long long n, SIMT_RAND(StatePhilox4_32_10) * state) {
  state->STATE += static_cast<unsigned>(n & 3);
  n /= 4;
  if (state->STATE > 3) {
    ++n;
    state->STATE -= 4;
  }
  simt::random::philox_advance(*state, n);
  state->output = simt::random::philox(state->ctr, state->key);
}
inline void skipahead_sequence(unsigned long long n, SIMT_RAND(StatePhilox4_32_10) * state) {
  simt::random::philox_add(state->ctr.z, state->ctr.w, n);
  state->output = simt::random::philox(state->ctr, state->key);
}
inline void skipahead_subsequence(unsigned long long n, SIMT_RAND(StatePhilox4_32_10) * state) {
  skipahead_sequence(n, state);
}
inline void SIMT_RAND(_init)(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                             SIMT_RAND(StatePhilox4_32_10) * state, SIMT_HERE) {
  simt::random::say_whose(SIMT_THERE);
  state->ctr.x = state->ctr.y = state->ctr.z = state->ctr.w = 0;
  state->key.x = static_cast<unsigned>(seed);
  state->key.y = static_cast<unsigned>(seed >> 32);
  state->STATE = 0;
  simt::random::keep_nothing(*state);
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
}
inline unsigned SIMT_RAND()(SIMT_RAND(StatePhilox4_32_10) * state) {
  const unsigned all[4] = {state->output.x, state->output.y, state->output.z, state->output.w};
  const unsigned result = all[state->STATE & 3];
  if (++state->STATE == 4) {
    simt::random::philox_advance(*state, 1);
    state->output = simt::random::philox(state->ctr, state->key);
    state->STATE = 0;
  }
  return result;
}
inline uint4 SIMT_RAND(4)(SIMT_RAND(StatePhilox4_32_10) * state) {
  uint4 result;
  result.x = SIMT_RAND()(state);
  result.y = SIMT_RAND()(state);
  result.z = SIMT_RAND()(state);
  result.w = SIMT_RAND()(state);
  return result;
}

inline void skipahead(unsigned long long n, SIMT_RAND(StateMRG32k3a) * state) {
  simt::random::MrgJumps::all().jump(state->s1, 0, n, 0);
  simt::random::MrgJumps::all().jump(state->s2, 1, n, 0);
}
/// Subsequences are 2^76 numbers long, sequences 2^127.
inline void skipahead_subsequence(unsigned long long n, SIMT_RAND(StateMRG32k3a) * state) {
  n &= (1ull << 51) - 1;
  simt::random::MrgJumps::all().jump(state->s1, 0, n, 76);
  simt::random::MrgJumps::all().jump(state->s2, 1, n, 76);
}
inline void skipahead_sequence(unsigned long long n, SIMT_RAND(StateMRG32k3a) * state) {
  simt::random::MrgJumps::all().jump(state->s1, 0, n, 127);
  simt::random::MrgJumps::all().jump(state->s2, 1, n, 127);
}
inline void SIMT_RAND(_init)(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                             SIMT_RAND(StateMRG32k3a) * state, SIMT_HERE) {
  simt::random::say_whose(SIMT_THERE);
  const std::uint64_t m1 = simt::random::mrg_modulus[0], m2 = simt::random::mrg_modulus[1];
  std::uint64_t x1 = 1, x2 = 1;
  if (seed != 0) {
    x1 = static_cast<unsigned>(seed) ^ 0x55555555u;
    x2 = static_cast<unsigned>(seed >> 32) ^ 0xAAAAAAAAu;
  }
  state->s1[0] = state->s1[2] = static_cast<unsigned>(x1 * 12345u % m1);
  state->s1[1] = static_cast<unsigned>(x2 * 12345u % m1);
  state->s2[0] = state->s2[2] = static_cast<unsigned>(x2 * 12345u % m2);
  state->s2[1] = static_cast<unsigned>(x1 * 12345u % m2);
  skipahead_subsequence(subsequence, state);
  skipahead(offset, state);
  simt::random::keep_nothing(*state);
}
inline unsigned SIMT_RAND()(SIMT_RAND(StateMRG32k3a) * state) {
  return static_cast<unsigned>(simt::random::mrg_next(*state) * 1.000000048662);
}

// ---- uniform numbers: 0 is excluded, 1 is included

inline float SIMT_RAND(_uniform)(SIMT_RAND(StateXORWOW) * state) { return simt::random::uniform(SIMT_RAND()(state)); }
inline float SIMT_RAND(_uniform)(SIMT_RAND(StatePhilox4_32_10) * state) {
  return simt::random::uniform(SIMT_RAND()(state));
}
inline float SIMT_RAND(_uniform)(SIMT_RAND(StateMRG32k3a) * state) {
  return static_cast<float>(simt::random::mrg_next(*state) * 2.3283065498378288e-10);
}
inline float4 SIMT_RAND(_uniform4)(SIMT_RAND(StatePhilox4_32_10) * state) {
  const uint4 x = SIMT_RAND(4)(state);
  float4 result;
  result.x = simt::random::uniform(x.x);
  result.y = simt::random::uniform(x.y);
  result.z = simt::random::uniform(x.z);
  result.w = simt::random::uniform(x.w);
  return result;
}
inline double SIMT_RAND(_uniform_double)(SIMT_RAND(StateXORWOW) * state) {
  const unsigned x = SIMT_RAND()(state), y = SIMT_RAND()(state);
  return simt::random::uniform_double(x, y);
}
inline double SIMT_RAND(_uniform_double)(SIMT_RAND(StatePhilox4_32_10) * state) {
  return SIMT_RAND()(state) * simt::random::two_to_minus_32_double + simt::random::two_to_minus_32_double;
}
inline double SIMT_RAND(_uniform_double)(SIMT_RAND(StateMRG32k3a) * state) {
  return simt::random::mrg_next(*state) * 2.3283065498378288e-10;
}
inline double2 SIMT_RAND(_uniform2_double)(SIMT_RAND(StatePhilox4_32_10) * state) {
  const uint4 x = SIMT_RAND(4)(state);
  double2 result;
  result.x = simt::random::uniform_double(x.x, x.y);
  result.y = simt::random::uniform_double(x.z, x.w);
  return result;
}

// ---- normal numbers, two at a time; the second is stored for the next call

template <typename State>
float2 SIMT_RAND(_normal2)(State* state) {
  if constexpr (std::is_same_v<State, SIMT_RAND(StateMRG32k3a)>) {
    const float x = SIMT_RAND(_uniform)(state), y = SIMT_RAND(_uniform)(state) * simt::random::two_pi;
    return simt::random::polar(x, y);
  } else {
    const unsigned x = SIMT_RAND()(state), y = SIMT_RAND()(state);
    return simt::random::box_muller(x, y);
  }
}
inline float4 SIMT_RAND(_normal4)(SIMT_RAND(StatePhilox4_32_10) * state) {
  const float2 a = SIMT_RAND(_normal2)(state), b = SIMT_RAND(_normal2)(state);
  float4 result;
  result.x = a.x;
  result.y = a.y;
  result.z = b.x;
  result.w = b.y;
  return result;
}
template <typename State>
double2 SIMT_RAND(_normal2_double)(State* state) {
  if constexpr (std::is_same_v<State, SIMT_RAND(StateMRG32k3a)>) {
    const double x = SIMT_RAND(_uniform_double)(state), y = SIMT_RAND(_uniform_double)(state) * 2.0;
    return simt::random::polar_double(x, y);
  } else {
    uint4 x;
    x.x = SIMT_RAND()(state);
    x.y = SIMT_RAND()(state);
    x.z = SIMT_RAND()(state);
    x.w = SIMT_RAND()(state);
    return simt::random::box_muller_double(x);
  }
}
template <typename State>
float SIMT_RAND(_normal)(State* state) {
  if (state->boxmuller_flag == simt::random::normal) {
    state->boxmuller_flag = simt::random::nothing;
    return state->boxmuller_extra;
  }
  const float2 both = SIMT_RAND(_normal2)(state);
  state->boxmuller_extra = both.y;
  state->boxmuller_flag = simt::random::normal;
  return both.x;
}
template <typename State>
double SIMT_RAND(_normal_double)(State* state) {
  if (state->boxmuller_flag_double == simt::random::normal) {
    state->boxmuller_flag_double = simt::random::nothing;
    return state->boxmuller_extra_double;
  }
  const double2 both = SIMT_RAND(_normal2_double)(state);
  state->boxmuller_extra_double = both.y;
  state->boxmuller_flag_double = simt::random::normal;
  return both.x;
}
template <typename State>
float2 SIMT_RAND(_log_normal2)(State* state, float mean, float deviation) {
  float2 both = SIMT_RAND(_normal2)(state);
  both.x = std::exp(mean + deviation * both.x);
  both.y = std::exp(mean + deviation * both.y);
  return both;
}
inline float4 SIMT_RAND(_log_normal4)(SIMT_RAND(StatePhilox4_32_10) * state, float mean, float deviation) {
  float4 all = SIMT_RAND(_normal4)(state);
  all.x = std::exp(mean + deviation * all.x);
  all.y = std::exp(mean + deviation * all.y);
  all.z = std::exp(mean + deviation * all.z);
  all.w = std::exp(mean + deviation * all.w);
  return all;
}
template <typename State>
double2 SIMT_RAND(_log_normal2_double)(State* state, double mean, double deviation) {
  double2 both = SIMT_RAND(_normal2_double)(state);
  both.x = std::exp(mean + deviation * both.x);
  both.y = std::exp(mean + deviation * both.y);
  return both;
}
template <typename State>
float SIMT_RAND(_log_normal)(State* state, float mean, float deviation) {
  if (state->boxmuller_flag == simt::random::log_normal) {
    state->boxmuller_flag = simt::random::nothing;
    return state->boxmuller_extra;
  }
  const float2 both = SIMT_RAND(_log_normal2)(state, mean, deviation);
  state->boxmuller_extra = both.y;
  state->boxmuller_flag = simt::random::log_normal;
  return both.x;
}
template <typename State>
double SIMT_RAND(_log_normal_double)(State* state, double mean, double deviation) {
  if (state->boxmuller_flag_double == simt::random::log_normal) {
    state->boxmuller_flag_double = simt::random::nothing;
    return state->boxmuller_extra_double;
  }
  const double2 both = SIMT_RAND(_log_normal2_double)(state, mean, deviation);
  state->boxmuller_extra_double = both.y;
  state->boxmuller_flag_double = simt::random::log_normal;
  return both.x;
}

/// Knuth's algorithm, which cuRAND uses below 64, and normal numbers, which it uses above 4000.
template <typename State>
unsigned SIMT_RAND(_poisson)(State* state, double lambda, SIMT_HERE) {
  if (lambda > 4000) {
    return static_cast<unsigned>(std::sqrt(lambda) * SIMT_RAND(_normal_double)(state) + lambda + 0.5);
  }
  if (lambda >= 64) {
    simt::fault("not-supported", SIMT_THERE, "random numbers of Poisson's distribution with a mean of 64 to 4000 (%g)",
                lambda);
  }
  unsigned k = 0;
  float p = std::exp(static_cast<float>(lambda));
  do {
    ++k;
    p *= SIMT_RAND(_uniform)(state);
  } while (p > 1.0f);
  return k - 1;
}
template <typename State, typename Distribution>
unsigned SIMT_RAND(_discrete)(State*, Distribution) {
  static_assert(!sizeof(State), "the CPU executor has no random numbers of a discrete distribution");
  return 0;
}

// ------------------------------------------------------------------------------------------------------ from the host

enum SIMT_RAND(Status) {
  SIMT_RAND_CONSTANT(STATUS_SUCCESS) = 0,
  SIMT_RAND_CONSTANT(STATUS_VERSION_MISMATCH) = 100,
  SIMT_RAND_CONSTANT(STATUS_NOT_INITIALIZED) = 101,
  SIMT_RAND_CONSTANT(STATUS_ALLOCATION_FAILED) = 102,
  SIMT_RAND_CONSTANT(STATUS_TYPE_ERROR) = 103,
  SIMT_RAND_CONSTANT(STATUS_OUT_OF_RANGE) = 104,
  SIMT_RAND_CONSTANT(STATUS_LENGTH_NOT_MULTIPLE) = 105,
  SIMT_RAND_CONSTANT(STATUS_DOUBLE_PRECISION_REQUIRED) = 106,
  SIMT_RAND_CONSTANT(STATUS_LAUNCH_FAILURE) = 201,
  SIMT_RAND_CONSTANT(STATUS_PREEXISTING_FAILURE) = 202,
  SIMT_RAND_CONSTANT(STATUS_INITIALIZATION_FAILED) = 203,
  SIMT_RAND_CONSTANT(STATUS_ARCH_MISMATCH) = 204,
  SIMT_RAND_CONSTANT(STATUS_INTERNAL_ERROR) = 999,
#ifdef SIMT_HIP
  HIPRAND_STATUS_NOT_IMPLEMENTED = 1000,
#endif
};
using SIMT_RAND(Status_t) = SIMT_RAND(Status);
enum SIMT_RAND(RngType) {
  SIMT_RAND_CONSTANT(RNG_TEST) = 0,
#ifdef SIMT_HIP
  HIPRAND_RNG_PSEUDO_DEFAULT = 400,
  HIPRAND_RNG_PSEUDO_XORWOW = 401,
  HIPRAND_RNG_PSEUDO_MRG32K3A = 402,
  HIPRAND_RNG_PSEUDO_MTGP32 = 403,
  HIPRAND_RNG_PSEUDO_MT19937 = 404,
  HIPRAND_RNG_PSEUDO_PHILOX4_32_10 = 405,
  HIPRAND_RNG_QUASI_DEFAULT = 500,
  HIPRAND_RNG_QUASI_SOBOL32 = 501,
  HIPRAND_RNG_QUASI_SCRAMBLED_SOBOL32 = 502,
  HIPRAND_RNG_QUASI_SOBOL64 = 503,
  HIPRAND_RNG_QUASI_SCRAMBLED_SOBOL64 = 504,
#else
  CURAND_RNG_PSEUDO_DEFAULT = 100,
  CURAND_RNG_PSEUDO_XORWOW = 101,
  CURAND_RNG_PSEUDO_MRG32K3A = 121,
  CURAND_RNG_PSEUDO_MTGP32 = 141,
  CURAND_RNG_PSEUDO_MT19937 = 142,
  CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
  CURAND_RNG_QUASI_DEFAULT = 200,
  CURAND_RNG_QUASI_SOBOL32 = 201,
  CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 = 202,
  CURAND_RNG_QUASI_SOBOL64 = 203,
  CURAND_RNG_QUASI_SCRAMBLED_SOBOL64 = 204,
#endif
};
using SIMT_RAND(RngType_t) = SIMT_RAND(RngType);
enum SIMT_RAND(Ordering) {
  SIMT_RAND_CONSTANT(ORDERING_PSEUDO_BEST) = 100,
  SIMT_RAND_CONSTANT(ORDERING_PSEUDO_DEFAULT) = 101,
  SIMT_RAND_CONSTANT(ORDERING_PSEUDO_SEEDED) = 102,
  SIMT_RAND_CONSTANT(ORDERING_PSEUDO_LEGACY) = 103,
  SIMT_RAND_CONSTANT(ORDERING_PSEUDO_DYNAMIC) = 104,
  SIMT_RAND_CONSTANT(ORDERING_QUASI_DEFAULT) = 201,
};
using SIMT_RAND(Ordering_t) = SIMT_RAND(Ordering);

/// Numbers of many subsequences, interleaved: one number (Philox: four) of each, then the next of each.
struct SIMT_RAND(Generator_st) {
  SIMT_RAND(RngType) type;
  SIMT_RAND(Ordering) order = SIMT_RAND_CONSTANT(ORDERING_PSEUDO_DEFAULT);
  unsigned long long seed = 0, offset = 0;
  unsigned dimensions = 1;
};
using SIMT_RAND(Generator_t) = SIMT_RAND(Generator_st)*;

namespace simt {
namespace random {

constexpr auto ok = SIMT_RAND_CONSTANT(STATUS_SUCCESS);

/// Fill `out` with groups of `width` results; `draw` makes one group from a state and consumes `used` numbers of it.
template <typename State, typename T, typename Draw>
void fill(SIMT_RAND(Generator_st) & generator, std::size_t streams, T* out, std::size_t count, unsigned width,
          unsigned used, unsigned unit, Draw draw, Place place) {
  // The position in the sequence, in 32-bit numbers, in groups of `unit`.
  const unsigned long long start = generator.offset;
  const std::size_t groups = (count + width - 1) / width;
  const unsigned skip = static_cast<unsigned>(start % unit);
  const unsigned long long first = start / unit;
  const std::size_t all = groups + (skip != 0 ? 1 : 0);
  for (std::size_t s = 0; s < (all < streams ? all : streams); ++s) {
    const unsigned long long at = first + s;
    State state;
    SIMT_RAND(_init)(generator.seed, at % streams, at / streams * unit, &state, place.file, place.line);
    for (std::size_t group = s; group < all; group += streams) {
      T values[8];
      draw(state, values);
      for (unsigned i = 0; i < width; ++i) {
        const std::size_t index = group * width + i;
        if (index >= skip && index - skip < count) out[index - skip] = values[i];
      }
    }
  }
  generator.offset += count / width * used + (count % width * used + width - 1) / width;
}

inline bool is_sobol(SIMT_RAND(Generator_t) generator) {
  return generator != nullptr && (generator->type == SIMT_RAND_CONSTANT(RNG_QUASI_SOBOL32) ||
                                  generator->type == SIMT_RAND_CONSTANT(RNG_QUASI_SOBOL64));
}
template <typename State, typename T, typename Draw>
void fill_sobol(SIMT_RAND(Generator_st) & generator, T* out, std::size_t points, Draw draw, Place place) {
  using Word = decltype(State::x);
  for (unsigned d = 0; d < generator.dimensions; ++d) {
    State state;
    const Word* const vectors = sobol::vectors<Word>(place) + d * sobol::bits<Word>;
    SIMT_RAND(_init)(vectors, static_cast<Word>(generator.offset), &state);
    for (std::size_t i = 0; i < points; ++i) out[d * points + i] = draw(state);
  }
}
/// All points of the first dimension, then of the second ...
template <typename T, typename Draw>
SIMT_RAND(Status)
generate_sobol(SIMT_RAND(Generator_t) generator, T* out, std::size_t count, Draw draw, Place place) {
  if (count % generator->dimensions != 0) return SIMT_RAND_CONSTANT(STATUS_LENGTH_NOT_MULTIPLE);
  check_range("generating quasirandom numbers", out, count * sizeof(T), place);
  const std::size_t points = count / generator->dimensions;
  if (generator->type == SIMT_RAND_CONSTANT(RNG_QUASI_SOBOL64)) {
    fill_sobol<SIMT_RAND(StateSobol64)>(*generator, out, points, draw, place);
  } else {
    fill_sobol<SIMT_RAND(StateSobol32)>(*generator, out, points, draw, place);
  }
  generator->offset += points;
  return ok;
}

template <typename T, typename One, typename Philox>
SIMT_RAND(Status)
generate(const char* name, SIMT_RAND(Generator_t) generator, T* out, std::size_t count, unsigned width, unsigned used,
         One one, Philox four, unsigned philox_used, Place place) {
  if (generator == nullptr) return SIMT_RAND_CONSTANT(STATUS_NOT_INITIALIZED);
  if (count == 0) return ok;
  check_range(name, out, count * sizeof(T), place);
  switch (generator->type) {
    case SIMT_RAND_CONSTANT(RNG_PSEUDO_XORWOW):
      fill<SIMT_RAND(StateXORWOW)>(*generator, 4096, out, count, width, used, 1, one, place);
      return ok;
    case SIMT_RAND_CONSTANT(RNG_PSEUDO_MRG32K3A):
      fill<SIMT_RAND(StateMRG32k3a)>(
          *generator, generator->order == SIMT_RAND_CONSTANT(ORDERING_PSEUDO_LEGACY) ? 4096 : 81920, out, count, width,
          width, 1, one, place);
      return ok;
    default:
      fill<SIMT_RAND(StatePhilox4_32_10)>(*generator, 65536, out, count, 4, philox_used, 4, four, place);
      return ok;
  }
}

}  // namespace random
}  // namespace simt

inline SIMT_RAND(Status)
    SIMT_RAND(CreateGenerator)(SIMT_RAND(Generator_t) * generator, SIMT_RAND(RngType) type, SIMT_HERE) {
  if (type == SIMT_RAND_CONSTANT(RNG_PSEUDO_DEFAULT)) type = SIMT_RAND_CONSTANT(RNG_PSEUDO_XORWOW);
  if (type == SIMT_RAND_CONSTANT(RNG_QUASI_DEFAULT)) type = SIMT_RAND_CONSTANT(RNG_QUASI_SOBOL32);
  switch (type) {
    case SIMT_RAND_CONSTANT(RNG_PSEUDO_XORWOW):
    case SIMT_RAND_CONSTANT(RNG_PSEUDO_MRG32K3A):
    case SIMT_RAND_CONSTANT(RNG_PSEUDO_PHILOX4_32_10): simt::random::say_whose(SIMT_THERE); break;
    case SIMT_RAND_CONSTANT(RNG_QUASI_SOBOL32):
    case SIMT_RAND_CONSTANT(RNG_QUASI_SOBOL64): break;
    default:
      simt::fault("not-supported", SIMT_THERE, "a generator of random numbers of type %d: %s", static_cast<int>(type),
                  "there are XORWOW, MRG32k3a, Philox4x32-10, and Sobol's sequences that are not scrambled");
  }
  *generator = new SIMT_RAND(Generator_st){};
  (*generator)->type = type;
  return simt::random::ok;
}
inline SIMT_RAND(Status)
    SIMT_RAND(CreateGeneratorHost)(SIMT_RAND(Generator_t) * generator, SIMT_RAND(RngType) type, SIMT_HERE) {
  return SIMT_RAND(CreateGenerator)(generator, type, simt_file, simt_line);
}
inline SIMT_RAND(Status) SIMT_RAND(DestroyGenerator)(SIMT_RAND(Generator_t) generator) {
  if (generator == nullptr) return SIMT_RAND_CONSTANT(STATUS_NOT_INITIALIZED);
  delete generator;
  return simt::random::ok;
}
inline SIMT_RAND(Status) SIMT_RAND(SetStream)(SIMT_RAND(Generator_t), hipStream_t) { return simt::random::ok; }
inline SIMT_RAND(Status)
    SIMT_RAND(SetPseudoRandomGeneratorSeed)(SIMT_RAND(Generator_t) generator, unsigned long long seed) {
  if (simt::random::is_sobol(generator)) return SIMT_RAND_CONSTANT(STATUS_TYPE_ERROR);
  generator->seed = seed;
  generator->offset = 0;
  return simt::random::ok;
}
inline SIMT_RAND(Status) SIMT_RAND(SetGeneratorOffset)(SIMT_RAND(Generator_t) generator, unsigned long long offset) {
  generator->offset = offset;
  return simt::random::ok;
}
inline SIMT_RAND(Status)
    SIMT_RAND(SetGeneratorOrdering)(SIMT_RAND(Generator_t) generator, SIMT_RAND(Ordering) order, SIMT_HERE) {
  if (order == SIMT_RAND_CONSTANT(ORDERING_PSEUDO_SEEDED) || order == SIMT_RAND_CONSTANT(ORDERING_PSEUDO_DYNAMIC)) {
    simt::fault("not-supported", SIMT_THERE, "random numbers in the order %d (seeded, dynamic)",
                static_cast<int>(order));
  }
  if ((order == SIMT_RAND_CONSTANT(ORDERING_QUASI_DEFAULT)) != simt::random::is_sobol(generator)) {
    return SIMT_RAND_CONSTANT(STATUS_OUT_OF_RANGE);
  }
  generator->order = order;
  return simt::random::ok;
}
inline SIMT_RAND(Status) SIMT_RAND(GenerateSeeds)(SIMT_RAND(Generator_t)) { return simt::random::ok; }
inline SIMT_RAND(Status) SIMT_RAND(GetVersion)(int* version) {
  *version = 10310;
  return simt::random::ok;
}

inline SIMT_RAND(Status)
    SIMT_RAND(Generate)(SIMT_RAND(Generator_t) generator, unsigned* out, std::size_t count, SIMT_HERE) {
  if (simt::random::is_sobol(generator)) {
    if (generator->type != SIMT_RAND_CONSTANT(RNG_QUASI_SOBOL32)) return SIMT_RAND_CONSTANT(STATUS_TYPE_ERROR);
    return simt::random::generate_sobol(
        generator, out, count, [](auto& state) { return static_cast<unsigned>(SIMT_RAND()(&state)); }, SIMT_THERE);
  }
  return simt::random::generate(
      "generating random numbers", generator, out, count, 1, 1,
      [](auto& state, unsigned* to) { to[0] = SIMT_RAND()(&state); },
      [](auto& state, unsigned* to) {
        for (int i = 0; i < 4; ++i) to[i] = SIMT_RAND()(&state);
      },
      4, SIMT_THERE);
}
inline SIMT_RAND(Status)
    SIMT_RAND(GenerateUniform)(SIMT_RAND(Generator_t) generator, float* out, std::size_t count, SIMT_HERE) {
  if (simt::random::is_sobol(generator)) {
    return simt::random::generate_sobol(
        generator, out, count, [](auto& state) { return SIMT_RAND(_uniform)(&state); }, SIMT_THERE);
  }
  return simt::random::generate(
      "generating random numbers", generator, out, count, 1, 1,
      [](auto& state, float* to) { to[0] = SIMT_RAND(_uniform)(&state); },
      [](auto& state, float* to) {
        for (int i = 0; i < 4; ++i) to[i] = SIMT_RAND(_uniform)(&state);
      },
      4, SIMT_THERE);
}
inline SIMT_RAND(Status)
    SIMT_RAND(GenerateUniformDouble)(SIMT_RAND(Generator_t) generator, double* out, std::size_t count, SIMT_HERE) {
  if (simt::random::is_sobol(generator)) {
    return simt::random::generate_sobol(
        generator, out, count, [](auto& state) { return SIMT_RAND(_uniform_double)(&state); }, SIMT_THERE);
  }
  return simt::random::generate(
      "generating random numbers", generator, out, count, 1, 2,
      [](auto& state, double* to) { to[0] = SIMT_RAND(_uniform_double)(&state); },
      [](auto& state, double* to) {
        for (int i = 0; i < 4; i += 2) {
          const double2 both = SIMT_RAND(_uniform2_double)(&state);
          to[i] = both.x;
          to[i + 1] = both.y;
        }
      },
      8, SIMT_THERE);
}
namespace simt {
namespace random {
/// Normal numbers, transformed by `change`. Their count must be even.
template <typename Change>
SIMT_RAND(Status)
normals(SIMT_RAND(Generator_t) generator, float* out, std::size_t count, Change change, Place place) {
  if (is_sobol(generator)) {
    return generate_sobol(
        generator, out, count, [change](auto& state) { return change(SIMT_RAND(_normal)(&state)); }, place);
  }
  if (count % 2 != 0) return SIMT_RAND_CONSTANT(STATUS_LENGTH_NOT_MULTIPLE);
  const auto pair = [change](auto& state, float* to) {
    const float2 both = SIMT_RAND(_normal2)(&state);
    to[0] = change(both.x);
    to[1] = change(both.y);
  };
  return generate(
      "generating random numbers", generator, out, count, 2, 2, pair,
      [pair](auto& state, float* to) {
        pair(state, to);
        pair(state, to + 2);
      },
      4, place);
}
template <typename Change>
SIMT_RAND(Status)
normals(SIMT_RAND(Generator_t) generator, double* out, std::size_t count, Change change, Place place) {
  if (is_sobol(generator)) {
    return generate_sobol(
        generator, out, count, [change](auto& state) { return change(SIMT_RAND(_normal_double)(&state)); }, place);
  }
  if (count % 2 != 0) return SIMT_RAND_CONSTANT(STATUS_LENGTH_NOT_MULTIPLE);
  const auto pair = [change](auto& state, double* to) {
    const double2 both = SIMT_RAND(_normal2_double)(&state);
    to[0] = change(both.x);
    to[1] = change(both.y);
  };
  return generate(
      "generating random numbers", generator, out, count, 2, 4, pair,
      [pair](auto& state, double* to) {
        pair(state, to);
        pair(state, to + 2);
      },
      8, place);
}
}  // namespace random
}  // namespace simt
inline SIMT_RAND(Status) SIMT_RAND(GenerateNormal)(SIMT_RAND(Generator_t) generator, float* out, std::size_t count,
                                                   float mean, float deviation, SIMT_HERE) {
  return simt::random::normals(generator, out, count, [=](float z) { return mean + deviation * z; }, SIMT_THERE);
}
inline SIMT_RAND(Status) SIMT_RAND(GenerateNormalDouble)(SIMT_RAND(Generator_t) generator, double* out,
                                                         std::size_t count, double mean, double deviation, SIMT_HERE) {
  return simt::random::normals(generator, out, count, [=](double z) { return mean + deviation * z; }, SIMT_THERE);
}
inline SIMT_RAND(Status) SIMT_RAND(GenerateLogNormal)(SIMT_RAND(Generator_t) generator, float* out, std::size_t count,
                                                      float mean, float deviation, SIMT_HERE) {
  return simt::random::normals(generator, out, count, [=](float z) { return std::exp(mean + deviation * z); },
                               SIMT_THERE);
}
inline SIMT_RAND(Status)
    SIMT_RAND(GenerateLogNormalDouble)(SIMT_RAND(Generator_t) generator, double* out, std::size_t count, double mean,
                                       double deviation, SIMT_HERE) {
  return simt::random::normals(generator, out, count, [=](double z) { return std::exp(mean + deviation * z); },
                               SIMT_THERE);
}
template <typename Generator>
SIMT_RAND(Status) SIMT_RAND(GeneratePoisson)(Generator, unsigned*, std::size_t, double) {
  static_assert(!sizeof(Generator), "the CPU executor has no host generator of Poisson's distribution");
  return simt::random::ok;
}
/// 64-bit numbers, which only 64-bit Sobol sequences provide.
inline SIMT_RAND(Status) SIMT_RAND(GenerateLongLong)(SIMT_RAND(Generator_t) generator, unsigned long long* out,
                                                     std::size_t count, SIMT_HERE) {
  if (generator == nullptr) return SIMT_RAND_CONSTANT(STATUS_NOT_INITIALIZED);
  if (generator->type != SIMT_RAND_CONSTANT(RNG_QUASI_SOBOL64)) return SIMT_RAND_CONSTANT(STATUS_TYPE_ERROR);
  return simt::random::generate_sobol(
      generator, out, count, [](auto& state) { return static_cast<unsigned long long>(SIMT_RAND()(&state)); },
      SIMT_THERE);
}
inline SIMT_RAND(Status)
    SIMT_RAND(SetQuasiRandomGeneratorDimensions)(SIMT_RAND(Generator_t) generator, unsigned dimensions, SIMT_HERE) {
  if (generator == nullptr) return SIMT_RAND_CONSTANT(STATUS_NOT_INITIALIZED);
  if (!simt::random::is_sobol(generator)) return SIMT_RAND_CONSTANT(STATUS_TYPE_ERROR);
  if (dimensions < 1 || dimensions > 20000) return SIMT_RAND_CONSTANT(STATUS_OUT_OF_RANGE);
  if (dimensions > simt::random::sobol::dimensions) {
    simt::fault("not-supported", SIMT_THERE, "Sobol's sequences of %u dimensions: the executor has the first %u",
                dimensions, simt::random::sobol::dimensions);
  }
  generator->dimensions = dimensions;
  return simt::random::ok;
}
enum SIMT_RAND(DirectionVectorSet) {
  SIMT_RAND_CONSTANT(DIRECTION_VECTORS_32_JOEKUO6) = 101,
  SIMT_RAND_CONSTANT(SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6) = 102,
  SIMT_RAND_CONSTANT(DIRECTION_VECTORS_64_JOEKUO6) = 103,
  SIMT_RAND_CONSTANT(SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6) = 104,
};
using SIMT_RAND(DirectionVectorSet_t) = SIMT_RAND(DirectionVectorSet);

namespace simt {
namespace random {
[[noreturn]] inline void no_scrambling(Place place) {
  fault("not-supported", place, "scrambled direction vectors and scramble constants, which are a table of cuRAND's own");
}
template <typename Word, typename Vectors>
SIMT_RAND(Status)
give_vectors(Vectors** to, int set, int plain, int scrambled, Place place) {
  if (set == scrambled) no_scrambling(place);
  if (set != plain || to == nullptr) return SIMT_RAND_CONSTANT(STATUS_OUT_OF_RANGE);
  *to = reinterpret_cast<Vectors*>(sobol::vectors<Word>(place));
  return ok;
}
}  // namespace random
}  // namespace simt
inline SIMT_RAND(Status) SIMT_RAND(GetDirectionVectors32)(SIMT_RAND(DirectionVectors32_t) * *vectors,
                                                          SIMT_RAND(DirectionVectorSet) set, SIMT_HERE) {
  return simt::random::give_vectors<unsigned>(vectors, set, SIMT_RAND_CONSTANT(DIRECTION_VECTORS_32_JOEKUO6),
                                              SIMT_RAND_CONSTANT(SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6), SIMT_THERE);
}
inline SIMT_RAND(Status) SIMT_RAND(GetDirectionVectors64)(SIMT_RAND(DirectionVectors64_t) * *vectors,
                                                          SIMT_RAND(DirectionVectorSet) set, SIMT_HERE) {
  return simt::random::give_vectors<unsigned long long>(
      vectors, set, SIMT_RAND_CONSTANT(DIRECTION_VECTORS_64_JOEKUO6),
      SIMT_RAND_CONSTANT(SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6), SIMT_THERE);
}
inline SIMT_RAND(Status) SIMT_RAND(GetScrambleConstants32)(unsigned int**, SIMT_HERE) {
  simt::random::no_scrambling(SIMT_THERE);
}
inline SIMT_RAND(Status) SIMT_RAND(GetScrambleConstants64)(unsigned long long**, SIMT_HERE) {
  simt::random::no_scrambling(SIMT_THERE);
}

#ifndef SIMT_HIP
#define CURAND_VER_MAJOR 10
#define CURAND_VER_MINOR 3
#define CURAND_VER_PATCH 10
#define CURAND_VERSION 11310
#endif

#endif
