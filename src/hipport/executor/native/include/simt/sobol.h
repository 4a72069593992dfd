// SPDX-License-Identifier: Apache-2.0
// simt/sobol.h: 32- and 64-bit Sobol sequences, in kernels and from the host; included by random.h.
//
// Points come in Gray code order, the first is 0. The polynomials and first direction numbers are those of Joe and Kuo,
// "Constructing Sobol sequences with better two-dimensional projections" (2008), new-joe-kuo-6.21201
// (https://web.maths.unsw.edu.au/~fkuo/sobol/): of the 20,000 dimensions that cuRAND has, those of the polynomials up
// to degree 8. The vectors, the order of the host's numbers and their conversion to fractions and normal numbers are
// those of cuRAND 10.3.10, found by running its generators on the CPU (November 2026); hipRAND's are assumed to be the
// same.
//
// cuRAND's scrambled vectors and constants follow no published rule: they are refused. Kernels can scramble by their
// own.
#ifndef SIMT_SOBOL_H
#define SIMT_SOBOL_H

namespace simt {
namespace random {
namespace sobol {

/// A polynomial: its degree, its inner coefficients as bits, and the first direction numbers.
struct Row {
  unsigned char degree, inner, first[8];
};
/// From the second dimension on.
constexpr Row rows[] = {
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
    {7, 7, {1, 1, 3, 13, 7, 35, 63}},
    {7, 8, {1, 3, 5, 9, 1, 25, 53}},
    {7, 14, {1, 3, 1, 13, 9, 35, 107}},
    {7, 19, {1, 3, 1, 5, 27, 61, 31}},
    {7, 21, {1, 1, 5, 11, 19, 41, 61}},
    {7, 28, {1, 3, 5, 3, 3, 13, 69}},
    {7, 31, {1, 1, 7, 13, 1, 19, 1}},
    {7, 32, {1, 3, 7, 5, 13, 19, 59}},
    {7, 37, {1, 1, 3, 9, 25, 29, 41}},
    {7, 41, {1, 3, 5, 13, 23, 1, 55}},
    {7, 42, {1, 3, 7, 3, 13, 59, 17}},
    {7, 50, {1, 3, 1, 3, 5, 53, 69}},
    {7, 55, {1, 1, 5, 5, 23, 33, 13}},
    {7, 56, {1, 1, 7, 7, 1, 61, 123}},
    {7, 59, {1, 1, 7, 9, 13, 61, 49}},
    {7, 62, {1, 3, 3, 5, 3, 55, 33}},
    {8, 14, {1, 3, 1, 15, 31, 13, 49, 245}},
    {8, 21, {1, 3, 5, 15, 31, 59, 63, 97}},
    {8, 22, {1, 3, 1, 11, 11, 11, 77, 249}},
    {8, 38, {1, 3, 1, 11, 27, 43, 71, 9}},
    {8, 47, {1, 1, 7, 15, 21, 11, 81, 45}},
    {8, 49, {1, 3, 7, 3, 25, 31, 65, 79}},
    {8, 50, {1, 3, 1, 1, 19, 11, 3, 205}},
    {8, 52, {1, 1, 5, 9, 19, 21, 29, 157}},
    {8, 56, {1, 3, 7, 11, 1, 33, 89, 185}},
    {8, 67, {1, 3, 3, 3, 15, 9, 79, 71}},
    {8, 70, {1, 3, 7, 11, 15, 39, 119, 27}},
    {8, 84, {1, 1, 3, 1, 11, 31, 97, 225}},
    {8, 97, {1, 1, 1, 3, 23, 43, 57, 177}},
    {8, 103, {1, 3, 7, 7, 17, 17, 37, 71}},
    {8, 115, {1, 3, 1, 5, 27, 63, 123, 213}},
    {8, 122, {1, 1, 3, 5, 11, 43, 53, 133}},
};
constexpr unsigned dimensions = 1 + sizeof rows / sizeof rows[0];

template <typename Word>
constexpr unsigned bits = 8 * sizeof(Word);

/// All direction vectors, one dimension after the other, in memory with a guard page behind it: a program that uses too
/// many dimensions faults.
template <typename Word>
Word* vectors(Place place) {
  static Word* const all = [&] {
    auto* const made = static_cast<Word*>(allocate(dimensions * bits<Word> * sizeof(Word), Memory::pinned, place));
    for (unsigned d = 0; d < dimensions; ++d) {
      Word* const v = made + d * bits<Word>;
      for (unsigned i = 0; i < bits<Word>; ++i) {
        const unsigned degree = d == 0 ? 0 : rows[d - 1].degree;
        if (d == 0 || i < degree) {
          v[i] = static_cast<Word>(d == 0 ? 1 : rows[d - 1].first[i]) << (bits<Word> - 1 - i);
          continue;
        }
        v[i] = v[i - degree] ^ v[i - degree] >> degree;
        for (unsigned k = 1; k < degree; ++k) {
          if (rows[d - 1].inner >> (degree - 1 - k) & 1) v[i] ^= v[i - k];
        }
      }
    }
    return made;
  }();
  return all;
}

template <typename Word>
struct State {
  Word i, x, c;
  Word direction_vectors[bits<Word>];
};
/// Advance by `n` points: to the Gray code of the new index.
template <typename Word>
void go(State<Word>& state, unsigned long long n) {
  state.i += static_cast<Word>(n);
  state.x = state.c;
  const Word gray = state.i ^ state.i >> 1;
  for (unsigned bit = 0; bit < bits<Word>; ++bit) {
    if (gray >> bit & 1) state.x ^= state.direction_vectors[bit];
  }
}
template <typename Word>
void begin(State<Word>& state, const Word* vectors, Word scramble, unsigned long long offset) {
  state.i = 0;
  state.c = scramble;
  for (unsigned bit = 0; bit < bits<Word>; ++bit) state.direction_vectors[bit] = vectors[bit];
  go(state, offset);
}
template <typename Word>
Word next(State<Word>& state) {
  const Word result = state.x;
  unsigned zero = 0;
  while (zero + 1 < bits<Word> && (state.i >> zero & 1) != 0) ++zero;
  state.x ^= state.direction_vectors[zero];
  ++state.i;
  return result;
}

inline std::uint32_t upper(std::uint32_t x) { return x; }
inline std::uint32_t upper(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }
inline double fraction(std::uint32_t x) { return x * two_to_minus_32_double + two_to_minus_32_double; }
inline double fraction(std::uint64_t x) {
  return static_cast<double>(x >> 11) * two_to_minus_53 + two_to_minus_53 / 2;
}
/// By inverting the distribution, with the upper half mirrored: each number gives one.
inline float normal(std::uint32_t x) {
  const bool is_upper = x > 0x7fffffffu;
  const float z = static_cast<float>(detail::normcdfinv(static_cast<double>(uniform(is_upper ? 0xffffffffu - x : x))));
  return is_upper ? -z : z;
}
inline double normal_double(std::uint32_t x) {
  return detail::normcdfinv(x * two_to_minus_32_double + two_to_minus_32_double / 2);
}
inline double normal_double(std::uint64_t x) { return detail::normcdfinv(fraction(x)); }

}  // namespace sobol
}  // namespace random
}  // namespace simt

using SIMT_RAND(DirectionVectors32_t) = unsigned int[32];
using SIMT_RAND(DirectionVectors64_t) = unsigned long long[64];

// ---- in kernels: names that exist for four kinds of states

/// The states of `word` bits, plain and scrambled, and their functions.
#define SIMT_SOBOL(word, Word)                                                                                       \
  struct SIMT_RAND(StateSobol##word) : simt::random::sobol::State<Word> {};                                          \
  struct SIMT_RAND(StateScrambledSobol##word) : simt::random::sobol::State<Word> {};                                 \
  using SIMT_RAND(StateSobol##word##_t) = SIMT_RAND(StateSobol##word);                                               \
  using SIMT_RAND(StateScrambledSobol##word##_t) = SIMT_RAND(StateScrambledSobol##word);                             \
  inline void SIMT_RAND(_init)(const Word* vectors, Word offset, SIMT_RAND(StateSobol##word) * state) {              \
    simt::random::sobol::begin<Word>(*state, vectors, 0, offset);                                                    \
  }                                                                                                                  \
  inline void SIMT_RAND(_init)(const Word* vectors, Word scramble, Word offset,                                      \
                               SIMT_RAND(StateScrambledSobol##word) * state) {                                       \
    simt::random::sobol::begin<Word>(*state, vectors, scramble, offset);                                             \
  }                                                                                                                  \
  SIMT_SOBOL_STATE(SIMT_RAND(StateSobol##word), Word)                                                                \
  SIMT_SOBOL_STATE(SIMT_RAND(StateScrambledSobol##word), Word)

#define SIMT_SOBOL_STATE(State, Word)                                                                                \
  inline void skipahead(unsigned long long n, State* state) { simt::random::sobol::go<Word>(*state, n); }            \
  inline Word SIMT_RAND()(State * state) { return simt::random::sobol::next<Word>(*state); }                         \
  inline float SIMT_RAND(_uniform)(State * state) {                                                                  \
    return simt::random::uniform(simt::random::sobol::upper(SIMT_SOBOL_NEXT(state)));                                \
  }                                                                                                                  \
  inline double SIMT_RAND(_uniform_double)(State * state) {                                                          \
    return simt::random::sobol::fraction(SIMT_SOBOL_NEXT(state));                                                    \
  }                                                                                                                  \
  inline float SIMT_RAND(_normal)(State * state) {                                                                   \
    return simt::random::sobol::normal(simt::random::sobol::upper(SIMT_SOBOL_NEXT(state)));                          \
  }                                                                                                                  \
  inline double SIMT_RAND(_normal_double)(State * state) {                                                           \
    return simt::random::sobol::normal_double(SIMT_SOBOL_NEXT(state));                                               \
  }                                                                                                                  \
  inline float SIMT_RAND(_log_normal)(State * state, float mean, float deviation) {                                  \
    return std::exp(mean + deviation * SIMT_RAND(_normal)(state));                                                   \
  }                                                                                                                  \
  inline double SIMT_RAND(_log_normal_double)(State * state, double mean, double deviation) {                        \
    return std::exp(mean + deviation * SIMT_RAND(_normal_double)(state));                                            \
  }                                                                                                                  \
  inline unsigned SIMT_RAND(_poisson)(State*, double, SIMT_HERE) {                                                   \
    simt::fault("not-supported", SIMT_THERE, "quasirandom numbers of Poisson's distribution");                       \
  }
// Types with the width of the word: the only ones of this width for which functions are overloaded.
#define SIMT_SOBOL_NEXT(state) \
  static_cast<std::conditional_t<sizeof(state->x) == 8, std::uint64_t, std::uint32_t>>(SIMT_RAND()(state))

SIMT_SOBOL(32, unsigned int)
SIMT_SOBOL(64, unsigned long long)
#undef SIMT_SOBOL_NEXT
#undef SIMT_SOBOL_STATE
#undef SIMT_SOBOL

#endif
