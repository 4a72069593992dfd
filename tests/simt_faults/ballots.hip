// SPDX-License-Identifier: Apache-2.0
// Ballots of HIP, which have a bit for each lane of a wavefront, kept in 32 bits.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>

#define VOTES(p) (__ballot(p))
using Mask = unsigned;
struct Found {
  std::uint32_t lanes;
  __device__ std::uint32_t of(int p) const { return __ballot(p) & ~1ull; }  // here: method
};
__device__ __forceinline__ unsigned returned(int p) {
  if (p > 1) return 1;
  return __ballot(p);  // here: returned
}
template <typename T>
__device__ static T returnedAs(int p) {
  return __ballot(p);  // here: template
}
__device__ auto whole(int p) { return __ballot(p); }
__device__ unsigned long long inTwo(int p) { return whole(p); }
__device__ unsigned inALambda(int p) {
  auto votes = [&](int q) { return __ballot(q); };
  return static_cast<unsigned>(votes(p) >> 32);
}
template <typename T>
__device__ T sum(T a, T b) {
  return a + b;
}

__global__ void variable(unsigned* out, int p) {
  unsigned mask = __ballot(p);  // here: variable
  out[0] = mask;
}
__global__ void constant(unsigned* out, int p) {
  const int a = 0, b = (VOTES(p) | a);  // here: constant
  out[0] = static_cast<unsigned>(b);
}
__global__ void element(unsigned* out, int p) {
  out[threadIdx.x >> 6] = __ballot(p);  // here: element
}
__global__ void member(unsigned* out, int p) {
  Found found{};
  if (p) found.lanes |= __ballot(p);  // here: member
  out[0] = found.lanes;
}
__global__ void pointed(Mask* out, int p) {
  for (int i = 0; i < 1; ++i) *out = __ballot_sync(~0ull, p);  // here: pointed
}
__global__ void active(unsigned* out, int) {
  unsigned mask = __activemask();  // here: active
  out[0] = mask;
}
__global__ void counted(unsigned* out, int p) {
  out[0] = __popc(__ballot(p));  // here: counted
}
__global__ void inverted(unsigned* out, int p) {
  std::uint32_t no = ~__ballot(!p);  // here: inverted
  out[0] = no;
}
__device__ unsigned few(int n, unsigned mask) { return mask + n; }
__device__ unsigned many(int n, std::uint64_t mask) { return static_cast<unsigned>(mask >> n); }
__global__ void byVariable(unsigned* out, int p) {
  const unsigned long long all = __ballot(p);
  out[1] = __popcll(all);
  out[0] = all;  // here: by-variable
}
__global__ void countedVariable(unsigned* out, int p) {
  auto all = ~__ballot(!p);
  out[0] = __popc(all & ~1ull);  // here: counted-variable
}
__global__ void argument(unsigned* out, int p) {
  out[0] = few(1, __ballot(p));  // here: argument
}
__global__ void variableAsArgument(unsigned* out, int p) {
  std::uint64_t all = __ballot(p);
  out[0] = many(3, all);
  out[1] = few(1, all);  // here: variable-as-argument
}
__global__ void inReturn(unsigned* out, int p) { out[0] = returned(p); }
__global__ void inTemplate(unsigned* out, int p) { out[0] = returnedAs<unsigned>(p); }
__global__ void inMethod(unsigned* out, int p) { out[0] = Found{}.of(p); }
__global__ void someLanes(unsigned* out, int) {
  unsigned mask = __ballot(threadIdx.x == 3 || threadIdx.x == 40 || threadIdx.x > 60);  // here: some-lanes
  out[0] = mask;
}

// What is meant to be so, or loses nothing.
__global__ void halves(unsigned* out, int p) {
  const unsigned long long all = __ballot(p);
  out[0] = static_cast<unsigned>(__ballot(p) & 0xffffffff);
  out[1] = (unsigned)(__ballot(p) >> 32);
  out[2] = (unsigned)__ballot(p);
  out[3] = __ballot(p) & 0xffffffffu;
  out[4] = all + (all >> 32);
  unsigned low = __ballot(p), high = __ballot(p) >> 32;
  out[5] = low + high;
  out[6] = __popc(__ballot(p)) + __popc(__ballot(p) >> 32);
  out[7] = __ballot(p) >> threadIdx.x & 1;
}
__global__ void others(unsigned* out, int p) {
  auto same = __ballot(p);
  static_assert(std::is_same_v<decltype(same), unsigned long long> && std::is_same_v<decltype(__ballot(p)), unsigned long long>);
  std::uint64_t wide = __ballot(p);
  unsigned long wider{__ballot(p)};
  bool any = __ballot(p);
  const double number = __ballot(p);
  out[0] = p ? __popcll(__ballot(p)) : 0;
  out[1] = any && __ballot(p) == same && __ballot(p) && wide == wider && number > 1;
  out[2] = sum(__ballot(p), 0ull) != 0;
  out[3] = __ffsll(static_cast<unsigned long long>(inTwo(p)));
  out[4] = inALambda(p);
  out[5] = !__ballot(p);
  unsigned none = __ballot(threadIdx.x == 5);
  out[6] = none + returnedAs<std::uint64_t>(p);
  unsigned long long masks[2] = {__ballot(p), p ? __ballot(p) : 0};
  masks[0] = __ballot(p);
  masks[1] ^= __ballot(p);
  while ((wide = __ballot(p)) != same) {
  }
  switch (__ballot(p)) {
    case 0:
      out[7] = 1;
      break;
    default:
      out[7] = masks[0] != 0;
  }
  unsigned long long later = __ballot(p);
  later >>= 32;
  out[8] = later;
  std::uint64_t changed = __ballot(p);
  changed &= 0xffff;
  out[9] = changed;
  if (threadIdx.x == 0) printf("%llu\n", __ballot(0));
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  unsigned* memory;
  (void)hipMalloc(&memory, 64 * sizeof(unsigned));
  (void)hipMemset(memory, 0, 64 * sizeof(unsigned));
#define RUN(name, kernel) \
  if (std::strcmp(what, name) == 0) kernel<<<1, 64>>>(memory, 1)
  RUN("variable", variable);
  RUN("constant", constant);
  RUN("element", element);
  RUN("member", member);
  RUN("pointed", pointed);
  RUN("active", active);
  RUN("counted", counted);
  RUN("inverted", inverted);
  RUN("by-variable", byVariable);
  RUN("counted-variable", countedVariable);
  RUN("argument", argument);
  RUN("variable-as-argument", variableAsArgument);
  RUN("returned", inReturn);
  RUN("template", inTemplate);
  RUN("method", inMethod);
  RUN("some-lanes", someLanes);
  RUN("halves", halves);
  RUN("others", others);
  (void)hipDeviceSynchronize();
  std::printf("done\n");
  return 0;
}
