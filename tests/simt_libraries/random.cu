// SPDX-License-Identifier: Apache-2.0
// Prints random numbers of every generator, in kernels and from the host. random.txt is what NVIDIA's own code prints:
// compiled with nvcc and run on a GPU; or, with -DON_HOST, its headers and its library's generators on the processor.
#include <cstdio>
#include <vector>
#ifdef __HIP__
#include <hip/hip_runtime.h>
#include <hiprand/hiprand.h>
#include <hiprand/hiprand_kernel.h>
#define RAND(name) hiprand##name
#define KIND(name) HIPRAND_##name
#define GPU(name) hip##name
#else
#ifdef ON_HOST
#define QUALIFIERS static inline
#endif
#include <cuda_runtime.h>
#include <curand.h>
#include <curand_kernel.h>
#define RAND(name) curand##name
#define KIND(name) CURAND_##name
#define GPU(name) cuda##name
#endif

struct Numbers {
  unsigned bits[8], poisson[4];
  float uniform[2], normal[5], log_normal[2];
  double uniform_double[2], normal_double[4], log_normal_double[2];
};

template <typename State>
#ifndef ON_HOST
__global__
#endif
void draw(unsigned long long seed, unsigned long long subsequence, unsigned long long offset, Numbers* out) {
  State s;
  RAND(_init)(seed, subsequence, offset, &s);
  for (int i = 0; i < 6; ++i) out->bits[i] = RAND()(&s);
  for (int i = 0; i < 2; ++i) out->uniform[i] = RAND(_uniform)(&s);
  for (int i = 0; i < 2; ++i) out->uniform_double[i] = RAND(_uniform_double)(&s);
  for (int i = 0; i < 3; ++i) out->normal[i] = RAND(_normal)(&s);
  const float2 pair = RAND(_normal2)(&s);
  out->normal[3] = pair.x;
  out->normal[4] = pair.y;
  for (int i = 0; i < 2; ++i) out->normal_double[i] = RAND(_normal_double)(&s);
  const double2 two = RAND(_normal2_double)(&s);
  out->normal_double[2] = two.x;
  out->normal_double[3] = two.y;
  for (int i = 0; i < 2; ++i) out->log_normal[i] = RAND(_log_normal)(&s, 0.5f, 0.25f);
  for (int i = 0; i < 2; ++i) out->log_normal_double[i] = RAND(_log_normal_double)(&s, 0.5, 0.25);
  for (int i = 0; i < 3; ++i) out->poisson[i] = RAND(_poisson)(&s, 3.5 + 10 * i);
  out->poisson[3] = RAND(_poisson)(&s, 10000.0);
  out->bits[6] = RAND()(&s);
  skipahead(11, &s);
  skipahead_sequence(3, &s);
  out->bits[7] = RAND()(&s);
}

template <typename State>
void kernels(const char* name) {
  const unsigned long long cases[][3] = {
      {0, 0, 0},  {1234, 0, 0}, {1234, 5, 0}, {1234, 0, 7}, {0xdeadbeefcafeull, 123456789012ull, 98765432109ull},
      {42, 3, 1000003}, {~0ull, 1, ~0ull}};
  for (const auto& c : cases) {
    Numbers n{};
#ifdef ON_HOST
    draw<State>(c[0], c[1], c[2], &n);
#else
    Numbers* out;
    GPU(Malloc)(reinterpret_cast<void**>(&out), sizeof n);
    draw<State><<<1, 1>>>(c[0], c[1], c[2], out);
    GPU(Memcpy)(&n, out, sizeof n, GPU(MemcpyDeviceToHost));
    GPU(Free)(out);
#endif
    std::printf("%s %llu %llu %llu bits", name, c[0], c[1], c[2]);
    for (unsigned x : n.bits) std::printf(" %u", x);
    for (unsigned x : n.poisson) std::printf(" %u", x);
    std::printf(" uniform");
    for (float x : n.uniform) std::printf(" %.9g", x);
    for (double x : n.uniform_double) std::printf(" %.17g", x);
    std::printf(" normal");
    for (float x : n.normal) std::printf(" %.9g", x);
    for (float x : n.log_normal) std::printf(" %.9g", x);
    for (double x : n.normal_double) std::printf(" %.17g", x);
    for (double x : n.log_normal_double) std::printf(" %.17g", x);
    std::printf("\n");
  }
}

template <typename T, typename Generate>
void fill(const char* name, Generate generate, int count, const char* format) {
  T* out;
  std::vector<T> values(static_cast<std::size_t>(count));
#ifdef ON_HOST
  out = values.data();
  generate(out, static_cast<std::size_t>(count));
#else
  GPU(Malloc)(reinterpret_cast<void**>(&out), values.size() * sizeof(T));
  generate(out, values.size());
  GPU(Memcpy)(values.data(), out, values.size() * sizeof(T), GPU(MemcpyDeviceToHost));
  GPU(Free)(out);
#endif
  std::printf(" %s", name);
  for (int i = 0; i < count; i = i < 9 ? i + 1 : i * 2) std::printf(format, values[static_cast<std::size_t>(i)]);
  std::printf(format, values.back());
}

void host(const char* name, RAND(RngType) type, RAND(Ordering) order, unsigned long long offset) {
  RAND(Generator_t) g;
#ifdef ON_HOST
  curandCreateGeneratorHost(&g, type);
#else
  RAND(CreateGenerator)(&g, type);
#endif
  RAND(SetPseudoRandomGeneratorSeed)(g, 1234ull);
  RAND(SetGeneratorOrdering)(g, order);
  RAND(SetGeneratorOffset)(g, offset);
  std::printf("host-%s %d %llu", name, static_cast<int>(order), offset);
  const auto bits = [&](unsigned* to, std::size_t n) { RAND(Generate)(g, to, n); };
  const auto uniform = [&](float* to, std::size_t n) { RAND(GenerateUniform)(g, to, n); };
  const auto uniform_double = [&](double* to, std::size_t n) { RAND(GenerateUniformDouble)(g, to, n); };
  const auto normal = [&](float* to, std::size_t n) { RAND(GenerateNormal)(g, to, n, 1.0f, 2.0f); };
  const auto normal_double = [&](double* to, std::size_t n) { RAND(GenerateNormalDouble)(g, to, n, 1.0, 2.0); };
  const auto log_normal = [&](float* to, std::size_t n) { RAND(GenerateLogNormal)(g, to, n, 0.5f, 0.25f); };
  fill<unsigned>("bits", bits, 400000, " %u");
  fill<unsigned>("bits", bits, 10, " %u");
  fill<unsigned>("bits", bits, 10, " %u");
  const auto again = [&] {
    RAND(SetPseudoRandomGeneratorSeed)(g, 1234ull);
    RAND(SetGeneratorOffset)(g, offset);
  };
  again();
  fill<float>("uniform", uniform, 1000, " %.9g");
  again();
  fill<double>("uniform", uniform_double, 10000, " %.17g");
  again();
  fill<float>("normal", normal, 10000, " %.9g");
  again();
  fill<double>("normal", normal_double, 10000, " %.17g");
  again();
  fill<float>("normal", log_normal, 10, " %.9g");
  std::printf("\n");
  RAND(DestroyGenerator)(g);
}

int main() {
  kernels<RAND(StateXORWOW_t)>("xorwow");
  kernels<RAND(StatePhilox4_32_10_t)>("philox");
  kernels<RAND(StateMRG32k3a_t)>("mrg");
  host("xorwow", KIND(RNG_PSEUDO_XORWOW), KIND(ORDERING_PSEUDO_DEFAULT), 0);
  host("xorwow", KIND(RNG_PSEUDO_DEFAULT), KIND(ORDERING_PSEUDO_LEGACY), 8192);
  host("philox", KIND(RNG_PSEUDO_PHILOX4_32_10), KIND(ORDERING_PSEUDO_DEFAULT), 0);
  host("philox", KIND(RNG_PSEUDO_PHILOX4_32_10), KIND(ORDERING_PSEUDO_BEST), 1000);
  host("mrg", KIND(RNG_PSEUDO_MRG32K3A), KIND(ORDERING_PSEUDO_DEFAULT), 0);
  host("mrg", KIND(RNG_PSEUDO_MRG32K3A), KIND(ORDERING_PSEUDO_LEGACY), 0);
}
