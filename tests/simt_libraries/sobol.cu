// SPDX-License-Identifier: Apache-2.0
// Sobol's sequences. The numbers are what cuRAND 10.3.10's generators on the processor give, in November 2026.
#include "check.h"

#include <cstring>

#ifdef __HIP__
#include <hiprand/hiprand.h>
#include <hiprand/hiprand_kernel.h>
#define RAND(name) hiprand##name
#define KIND(name) HIPRAND_##name
#else
#include <curand.h>
#include <curand_kernel.h>
#define RAND(name) curand##name
#define KIND(name) CURAND_##name
#endif

constexpr auto good = KIND(STATUS_SUCCESS);

/// What a generator of the host gives, twice `count` numbers, one behind the other.
template <typename T, typename Make>
std::vector<T> generated(RAND(RngType) type, unsigned dimensions, unsigned long long offset, std::size_t count, Make make) {
  RAND(Generator_t) generator;
  check(RAND(CreateGenerator)(&generator, type) == good, "CreateGenerator");
  check(RAND(SetQuasiRandomGeneratorDimensions)(generator, dimensions) == good, "SetQuasiRandomGeneratorDimensions");
  check(RAND(SetGeneratorOrdering)(generator, KIND(ORDERING_QUASI_DEFAULT)) == good, "SetGeneratorOrdering");
  if (offset != 0) check(RAND(SetGeneratorOffset)(generator, offset) == good, "SetGeneratorOffset");
  Device<T> out(2 * count);
  for (int i = 0; i < 2; ++i) check(make(generator, out + i * count, count) == good, "Generate");
  check(RAND(SetPseudoRandomGeneratorSeed)(generator, 1) == KIND(STATUS_TYPE_ERROR), "there is no seed");
  RAND(DestroyGenerator)(generator);
  return out.get();
}

__global__ void draw(RAND(DirectionVectors32_t) * vectors, unsigned offset, unsigned* bits, float* fractions) {
  RAND(StateSobol32_t) state;
  RAND(_init)(vectors[threadIdx.x], offset, &state);
  for (int i = 0; i < 4; ++i) bits[threadIdx.x * 4 + i] = RAND()(&state);
  skipahead(2, &state);
  fractions[threadIdx.x] = RAND(_uniform)(&state);
}
__global__ void scrambled(RAND(DirectionVectors32_t) * vectors, unsigned constant, unsigned* bits) {
  RAND(StateScrambledSobol32_t) state;
  RAND(_init)(vectors[threadIdx.x], constant, 0u, &state);
  for (int i = 0; i < 4; ++i) bits[threadIdx.x * 4 + i] = RAND()(&state);
}
__global__ void draw64(RAND(DirectionVectors64_t) * vectors, unsigned long long* bits, double* normals) {
  RAND(StateSobol64_t) state;
  RAND(_init)(vectors[threadIdx.x], 0ull, &state);
  for (int i = 0; i < 4; ++i) bits[threadIdx.x * 4 + i] = RAND()(&state);
  normals[threadIdx.x] = RAND(_normal_double)(&state);
}

int main(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], "scrambled") == 0) {
    RAND(DirectionVectors32_t) * vectors;
    return RAND(GetDirectionVectors32)(&vectors, KIND(SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6));
  }
  if (count > 1 && std::strcmp(arguments[1], "dimensions") == 0) {
    RAND(Generator_t) generator;
    RAND(CreateGenerator)(&generator, KIND(RNG_QUASI_DEFAULT));
    return RAND(SetQuasiRandomGeneratorDimensions)(generator, 20000);
  }
  RAND(DirectionVectors32_t) * vectors;
  RAND(DirectionVectors64_t) * vectors64;
  check(RAND(GetDirectionVectors32)(&vectors, KIND(DIRECTION_VECTORS_32_JOEKUO6)) == good, "GetDirectionVectors32");
  check(RAND(GetDirectionVectors64)(&vectors64, KIND(DIRECTION_VECTORS_64_JOEKUO6)) == good, "GetDirectionVectors64");
  check(RAND(GetDirectionVectors32)(&vectors, KIND(DIRECTION_VECTORS_64_JOEKUO6)) != good, "not those of 64 bits");
  if (count > 1 && std::strcmp(arguments[1], "beyond") == 0) {
    Device<unsigned> all(20000 * 32);
    GPU(Memcpy)(all.data, vectors, 20000 * sizeof *vectors, GPU(MemcpyHostToDevice));
    return 0;
  }
  if (count > 1 && std::strcmp(arguments[1], "points") == 0) {
    for (int d = 0; d < 53; ++d) {
      for (int i = 0; i < 32; ++i) std::printf("%u ", vectors[d][i]);
      std::printf("%llu\n", vectors64[d][63]);
    }
    return 0;
  }

  const auto bits = [](auto generator, unsigned* out, std::size_t n) { return RAND(Generate)(generator, out, n); };
  same(generated<unsigned>(KIND(RNG_QUASI_DEFAULT), 2, 0, 16, bits),
       std::vector<unsigned>{0u,          2147483648u, 3221225472u, 1073741824u, 1610612736u, 3758096384u, 2684354560u,
                             536870912u,  0u,          2147483648u, 1073741824u, 3221225472u, 1610612736u, 3758096384u,
                             536870912u,  2684354560u, 805306368u,  2952790016u, 4026531840u, 1879048192u, 1342177280u,
                             3489660928u, 2415919104u, 268435456u,  1342177280u, 3489660928u, 268435456u,  2415919104u,
                             805306368u,  2952790016u, 1879048192u, 4026531840u},
       "Sobol32");
  same(generated<unsigned>(KIND(RNG_QUASI_SOBOL32), 2, 3, 16, bits),
       std::vector<unsigned>{1073741824u, 1610612736u, 3758096384u, 2684354560u, 536870912u,  805306368u,  2952790016u,
                             4026531840u, 3221225472u, 1610612736u, 3758096384u, 536870912u,  2684354560u, 1342177280u,
                             3489660928u, 268435456u,  1879048192u, 1342177280u, 3489660928u, 2415919104u, 268435456u,
                             402653184u,  2550136832u, 3623878656u, 2415919104u, 805306368u,  2952790016u, 1879048192u,
                             4026531840u, 2013265920u, 4160749568u, 939524096u},
       "Sobol32 with an offset");
  const auto fractions = [](auto generator, float* out, std::size_t n) { return RAND(GenerateUniform)(generator, out, n); };
  same(generated<float>(KIND(RNG_QUASI_SOBOL32), 2, 0, 8, fractions),
       std::vector<float>{1.1641532e-10f, 0.5f, 0.75f, 0.25f, 1.1641532e-10f, 0.5f, 0.25f, 0.75f, 0.375f, 0.875f, 0.625f,
                          0.125f, 0.375f, 0.875f, 0.125f, 0.625f},
       "fractions");
  same(generated<float>(KIND(RNG_QUASI_SOBOL64), 2, 0, 8, fractions),
       std::vector<float>{1.1641532e-10f, 0.5f, 0.75f, 0.25f, 1.1641532e-10f, 0.5f, 0.25f, 0.75f, 0.375f, 0.875f, 0.625f,
                          0.125f, 0.375f, 0.875f, 0.125f, 0.625f},
       "fractions of 64 bits");
  const auto normals = [](auto g, float* out, std::size_t n) { return RAND(GenerateNormal)(g, out, n, 0.0f, 1.0f); };
  near(generated<float>(KIND(RNG_QUASI_SOBOL32), 2, 0, 6, normals),
       std::vector<float>{-6.3379574f, 0.0f, 0.67448974f, -6.3379574f, 0.0f, -0.67448974f, -0.67448974f, -0.31863937f,
                          1.1503494f, 0.67448974f, -0.31863937f, 1.1503494f},
       2e-6, "normal numbers");
  const auto doubles = [](auto g, double* out, std::size_t n) { return RAND(GenerateNormalDouble)(g, out, n, 0.0, 1.0); };
  near(generated<double>(KIND(RNG_QUASI_SOBOL32), 2, 0, 4, doubles),
       std::vector<double>{-6.33795775455379, 2.918099372916623e-10, -6.33795775455379, 2.918099372916623e-10,
                           0.6744897505624251, -0.6744897498297384, -0.6744897498297384, 0.6744897505624251},
       1e-13, "normal numbers of double precision");
  near(generated<double>(KIND(RNG_QUASI_SOBOL64), 2, 0, 4, doubles),
       std::vector<double>{-8.292361075813593, 0.0, -8.292361075813593, 0.0, 0.6744897501960818, -0.6744897501960816,
                           -0.6744897501960816, 0.6744897501960818},
       1e-13, "normal numbers of 64 bits");
  const auto logarithmic = [](auto g, float* out, std::size_t n) {
    return RAND(GenerateLogNormal)(g, out, n, 0.5f, 0.25f);
  };
  near(generated<float>(KIND(RNG_QUASI_SOBOL32), 2, 0, 8, logarithmic),
       std::vector<float>{0.3380744f, 1.6487212f, 1.951547f, 1.3928856f, 0.3380744f, 1.6487212f, 1.3928856f, 1.951547f,
                          1.5224793f, 2.1980867f, 1.7854309f, 1.2366581f, 1.5224793f, 2.1980867f, 1.2366581f, 1.7854309f},
       2e-6, "numbers of the logarithmic normal distribution");
  const auto uniform_doubles = [](auto g, double* out, std::size_t n) { return RAND(GenerateUniformDouble)(g, out, n); };
  near(generated<double>(KIND(RNG_QUASI_SOBOL64), 1, 0, 2, uniform_doubles),
       std::vector<double>{5.55111512e-17, 0.5, 0.75, 0.25}, 1e-16, "fractions of double precision");
  near(generated<double>(KIND(RNG_QUASI_SOBOL32), 1, 0, 2, uniform_doubles),
       std::vector<double>{2.32830644e-10, 0.50000000023283064, 0.75000000023283064, 0.25000000023283064}, 1e-15,
       "of 32 bits");
  const auto words = [](auto g, unsigned long long* out, std::size_t n) { return RAND(GenerateLongLong)(g, out, n); };
  same(generated<unsigned long long>(KIND(RNG_QUASI_SOBOL64), 2, 0, 4, words),
       std::vector<unsigned long long>{0ull, 1ull << 63, 0ull, 1ull << 63, 3ull << 62, 1ull << 62, 1ull << 62, 3ull << 62},
       "Sobol64");

  RAND(Generator_t) generator;
  Device<unsigned> some(16);
  RAND(CreateGenerator)(&generator, KIND(RNG_QUASI_SOBOL32));
  check(RAND(SetQuasiRandomGeneratorDimensions)(generator, 3) == good, "three dimensions");
  check(RAND(Generate)(generator, some, 16) == KIND(STATUS_LENGTH_NOT_MULTIPLE), "no multiple of the dimensions");
  check(RAND(SetQuasiRandomGeneratorDimensions)(generator, 0) == KIND(STATUS_OUT_OF_RANGE), "no dimensions");
  check(RAND(SetQuasiRandomGeneratorDimensions)(generator, 20001) == KIND(STATUS_OUT_OF_RANGE), "too many");
  Device<unsigned long long> wide(3);
  check(RAND(GenerateLongLong)(generator, wide, 3) == KIND(STATUS_TYPE_ERROR), "no numbers of 64 bits");
  RAND(DestroyGenerator)(generator);
  RAND(CreateGenerator)(&generator, KIND(RNG_PSEUDO_DEFAULT));
  check(RAND(SetQuasiRandomGeneratorDimensions)(generator, 2) == KIND(STATUS_TYPE_ERROR), "pseudorandom numbers");
  RAND(DestroyGenerator)(generator);

  // In kernels: each thread one dimension.
  constexpr int threads = 53;
  Device<unsigned> table(threads * 32), out(threads * 4);
  Device<float> values(threads);
  GPU(Memcpy)(table.data, vectors, threads * sizeof *vectors, GPU(MemcpyHostToDevice));
  auto* const on_device = reinterpret_cast<RAND(DirectionVectors32_t)*>(table.data);
  for (unsigned offset : {0u, 1u, 1000003u}) {
    draw<<<1, threads>>>(on_device, offset, out, values);
    const std::vector<unsigned> all = generated<unsigned>(KIND(RNG_QUASI_SOBOL32), threads, offset, threads * 4, bits);
    const std::vector<unsigned> got = out.get();
    for (int i = 0; i < threads * 4; ++i) check(got[i] == all[i], "as the host's", i, offset);
    const std::vector<float> six =
        generated<float>(KIND(RNG_QUASI_SOBOL32), threads, offset + 6, threads, fractions);
    const std::vector<float> sixth = values.get();
    for (int i = 0; i < threads; ++i) check(sixth[i] == six[i], "further on", i, offset);
  }
  scrambled<<<1, threads>>>(on_device, 0x12345678u, out);
  const std::vector<unsigned> plain = generated<unsigned>(KIND(RNG_QUASI_SOBOL32), threads, 0, threads * 4, bits);
  const std::vector<unsigned> mixed = out.get();
  for (int i = 0; i < threads * 4; ++i) check(mixed[i] == (plain[i] ^ 0x12345678u), "scrambled by a digital shift", i);
  Device<unsigned long long> table64(threads * 64), out64(threads * 4);
  Device<double> last(threads);
  GPU(Memcpy)(table64.data, vectors64, threads * sizeof *vectors64, GPU(MemcpyHostToDevice));
  draw64<<<1, threads>>>(reinterpret_cast<RAND(DirectionVectors64_t)*>(table64.data), out64, last);
  const std::vector<unsigned long long> all64 =
      generated<unsigned long long>(KIND(RNG_QUASI_SOBOL64), threads, 0, threads * 4, words);
  const std::vector<unsigned long long> got64 = out64.get();
  for (int i = 0; i < threads * 4; ++i) check(got64[i] == all64[i], "as the host's, of 64 bits", i);
  check(std::fabs(last.get()[0] - -0.31863936396437503) < 1e-13, "a normal number in a kernel");
  return finish();
}
