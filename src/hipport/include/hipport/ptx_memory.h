// SPDX-License-Identifier: Apache-2.0
// hipport/ptx_memory.h: PTX's accesses to memory. Part of hipport/ptx.h.
// Put here by hipport.
//
// Weak accesses are plain ones. Those with .cg, .cv, .wt or .volatile and those with an order are atomic, a word at a
// time, at device or system scope, because code uses them to see stores of others. The scopes cta, gpu and sys are
// AMD's workgroup, agent and system. Results of atom.add on floats are not flushed to zero.
//
// With nvcc they mean the same, but are built from CUDA's functions, without regard to speed.
#ifndef HIPPORT_PTX_MEMORY_H
#define HIPPORT_PTX_MEMORY_H

#ifndef HIPPORT_PTX
#error "include hipport/ptx.h"
#endif

#define HIPPORT_ON_GPU static __device__ __forceinline__

namespace hipport {
namespace ptx {

// ---- addresses

HIPPORT_ON_GPU void* generic(const volatile void* address, s64 offset = 0) {
  return const_cast<char*>(static_cast<const volatile char*>(address)) + offset;
}
HIPPORT_ON_GPU void* generic(u64 address, s64 offset = 0) { return reinterpret_cast<char*>(address) + offset; }

#if HIPPORT_NVCC
HIPPORT_ON_GPU void* shared(u64 address, s64 offset = 0) {
  return static_cast<char*>(__cvta_shared_to_generic(address)) + offset;
}
HIPPORT_ON_GPU void* local(u64 address, s64 offset = 0) {
  return static_cast<char*>(__cvta_local_to_generic(address)) + offset;
}
#elif defined(SIMT_CORE_H)  // hipport's CPU executor: 32 bits from the start of a window around the block's memory
HIPPORT_ON_GPU void* shared(u64 address, s64 offset = 0) {
  return reinterpret_cast<char*>(::simt::detail::shared_window() + (address & 0xffffffffu)) + offset;
}
HIPPORT_ON_GPU void* local(u64 address, s64 offset = 0) { return reinterpret_cast<char*>(address) + offset; }
HIPPORT_ON_GPU u64 in_shared(void* address) { return reinterpret_cast<u64>(address) - ::simt::detail::shared_window(); }
HIPPORT_ON_GPU u64 in_local(void* address) { return reinterpret_cast<u64>(address); }
#else
#define HIPPORT_SPACE(number) __attribute__((address_space(number)))
HIPPORT_ON_GPU void* shared(u64 address, s64 offset = 0) {
  return (void*)((HIPPORT_SPACE(3) char*)(address & 0xffffffffu) + offset);
}
HIPPORT_ON_GPU void* local(u64 address, s64 offset = 0) {
  return (void*)((HIPPORT_SPACE(5) char*)(address & 0xffffffffu) + offset);
}
#endif

#define HIPPORT_CVTA(to_shared, to_local)                  \
  template <typename Address>                              \
  HIPPORT_ON_GPU u64 cvta_to_shared_u64(Address address) { \
    return (u64)(to_shared(generic(address)));             \
  }                                                        \
  template <typename Address>                              \
  HIPPORT_ON_GPU u64 cvta_to_local_u64(Address address) {  \
    return (u64)(to_local(generic(address)));              \
  }
#if HIPPORT_NVCC
HIPPORT_CVTA(__cvta_generic_to_shared, __cvta_generic_to_local)
#elif defined(SIMT_CORE_H)
HIPPORT_CVTA(in_shared, in_local)
#else
HIPPORT_CVTA((HIPPORT_SPACE(3) void*), (HIPPORT_SPACE(5) void*))
#endif
#undef HIPPORT_CVTA
HIPPORT_ON_GPU u64 cvta_shared_u64(u64 address) { return reinterpret_cast<u64>(shared(address)); }
HIPPORT_ON_GPU u64 cvta_local_u64(u64 address) { return reinterpret_cast<u64>(local(address)); }
// A place in two of these spaces has the same address in both.
#define HIPPORT_CVTA(space)                                   \
  template <typename Address>                                 \
  HIPPORT_ON_GPU u64 cvta_to_##space##_u64(Address address) { \
    return reinterpret_cast<u64>(generic(address));           \
  }                                                           \
  template <typename Address>                                 \
  HIPPORT_ON_GPU u64 cvta_##space##_u64(Address address) {    \
    return reinterpret_cast<u64>(generic(address));           \
  }
HIPPORT_CVTA(global)
HIPPORT_CVTA(const)
HIPPORT_CVTA(param)
#undef HIPPORT_CVTA

// Host code of HIP must parse these, but AMD's built-ins are only valid in device code.
#if HIPPORT_NVCC
#define HIPPORT_IS(nvidia, amd) nvidia
#elif defined(__HIP_DEVICE_COMPILE__)
#define HIPPORT_IS(nvidia, amd) amd
#else
#define HIPPORT_IS(nvidia, amd) address == nullptr
#endif
namespace detail {
HIPPORT_ON_GPU bool is_shared(const void* address) {
  return HIPPORT_IS(__isShared(address), __builtin_amdgcn_is_shared(address));
}
HIPPORT_ON_GPU bool is_local(const void* address) {
  return HIPPORT_IS(__isLocal(address), __builtin_amdgcn_is_private(address));
}
HIPPORT_ON_GPU bool is_global(const void* address) {
  return HIPPORT_IS(__isGlobal(address), !is_shared(address) && !is_local(address));
}
}  // namespace detail
#undef HIPPORT_IS
#define HIPPORT_ISSPACEP(space)                           \
  template <typename Address>                             \
  HIPPORT_ON_GPU bool isspacep_##space(Address address) { \
    return detail::is_##space(generic(address));          \
  }
HIPPORT_ISSPACEP(shared)
HIPPORT_ISSPACEP(local)
HIPPORT_ISSPACEP(global)
#undef HIPPORT_ISSPACEP
#undef HIPPORT_SPACE

/// A prefetch, which changes no value.
template <typename Address>
HIPPORT_ON_GPU void prefetch(Address) {}

// ---- orders and scopes

namespace detail {

#if HIPPORT_NVCC

enum scope { cta, gpu, sys };
enum order { relaxed, acquire, release, acq_rel, sc };

template <order, scope where>
HIPPORT_ON_GPU void fence() {
  if (where == cta) {
    __threadfence_block();
  } else if (where == gpu) {
    __threadfence();
  } else {
    __threadfence_system();
  }
}
template <order how, scope where, typename Word>
HIPPORT_ON_GPU Word load(const void* from) {
  const Word result = *static_cast<const volatile Word*>(from);
  if (how != relaxed) fence<how, where>();
  return result;
}
template <order how, scope where, typename Word>
HIPPORT_ON_GPU void store(void* to, Word value) {
  if (how != relaxed) fence<how, where>();
  *static_cast<volatile Word*>(to) = value;
}
HIPPORT_ON_GPU bool exchanged(u16* at, u16& expected, u16 value) {
  const u16 found = atomicCAS(at, expected, value);
  const bool same = found == expected;
  expected = found;
  return same;
}
HIPPORT_ON_GPU bool exchanged(u32* at, u32& expected, u32 value) {
  const u32 found = atomicCAS_system(at, expected, value);
  const bool same = found == expected;
  expected = found;
  return same;
}
HIPPORT_ON_GPU bool exchanged(u64* at, u64& expected, u64 value) {
  const u64 found = atomicCAS_system(at, expected, value);
  const bool same = found == expected;
  expected = found;
  return same;
}
template <order how, scope where, typename Word>
HIPPORT_ON_GPU bool exchange_if(void* at, Word& expected, Word value) {
  if (how == release || how == acq_rel) fence<how, where>();
  const bool same = exchanged(static_cast<Word*>(at), expected, value);
  if (how == acquire || how == acq_rel) fence<how, where>();
  return same;
}

#else

enum scope {
  cta = __HIP_MEMORY_SCOPE_WORKGROUP,
  gpu = __HIP_MEMORY_SCOPE_AGENT,
  sys = __HIP_MEMORY_SCOPE_SYSTEM,
};
enum order {
  relaxed = __ATOMIC_RELAXED,
  acquire = __ATOMIC_ACQUIRE,
  release = __ATOMIC_RELEASE,
  acq_rel = __ATOMIC_ACQ_REL,
  sc = __ATOMIC_SEQ_CST,
};

template <order how, scope where, typename Word>
HIPPORT_ON_GPU Word load(const void* from) {
  return __hip_atomic_load(static_cast<const Word*>(from), how, where);
}
template <order how, scope where, typename Word>
HIPPORT_ON_GPU void store(void* to, Word value) {
  __hip_atomic_store(static_cast<Word*>(to), value, how, where);
}
template <order how, scope where, typename Word>
HIPPORT_ON_GPU bool exchange_if(void* at, Word& expected, Word value) {
  constexpr order if_not = how == acq_rel ? acquire : how == release ? relaxed : how;
  return __hip_atomic_compare_exchange_strong(static_cast<Word*>(at), &expected, value, how, if_not, where);
}

#endif

/// The elements of a vector, which PTX aligns to their total size.
template <typename T, unsigned count>
struct elements {
  T of[count];
};
template <typename T>
HIPPORT_ON_GPU T plain_load(const void* from) {
  T value;
  __builtin_memcpy(&value, __builtin_assume_aligned(from, sizeof(T)), sizeof(T));
  return value;
}
template <typename T>
HIPPORT_ON_GPU void plain_store(void* to, T value) {
  __builtin_memcpy(__builtin_assume_aligned(to, sizeof(T)), &value, sizeof(T));
}
template <order how, scope where, typename T>
HIPPORT_ON_GPU T atomic_load(const void* from) {
  return as<T>(load<how, where, word_of<T>>(from));
}
template <order how, scope where, typename T>
HIPPORT_ON_GPU void atomic_store(void* to, T value) {
  store<how, where>(to, as<word_of<T>>(value));
}
template <typename T>
HIPPORT_ON_GPU char* at(const void* address, unsigned i) {
  return static_cast<char*>(const_cast<void*>(address)) + i * sizeof(T);
}

/// Copy `size` bytes (4, 8 or 16, as the addresses are aligned), of which only the first `given` are read.
template <unsigned size>
HIPPORT_ON_GPU void copied(void* to, const void* from, unsigned given) {
  elements<u32, size / 4> value;
  if (given >= size) {
    value = plain_load<elements<u32, size / 4>>(from);
  } else {
    for (u32& word : value.of) word = 0;
    for (unsigned i = 0; i < given; i++)
      value.of[i / 4] |= static_cast<u32>(static_cast<const u8*>(from)[i]) << (i % 4 * 8);
  }
  plain_store(to, value);
}

/// Atomically replace a number by `operation` of it; return the old value.
template <order how, scope where, typename T, typename Operation>
HIPPORT_ON_GPU T updated(void* at, Operation operation) {
  using Word = word_of<T>;
  Word found = load<relaxed, where, Word>(at);
  while (!exchange_if<how, where>(at, found, as<Word>(static_cast<T>(operation(as<T>(found)))))) {
  }
  return as<T>(found);
}

// Each operation of atom.
#if HIPPORT_NVCC
#define HIPPORT_ATOM(name, built_in, ...)                                \
  template <order how, scope where, typename T>                          \
  HIPPORT_ON_GPU T atom_##name(void* at, T b) {                          \
    return updated<how, where, T>(at, [=](T a) { return __VA_ARGS__; }); \
  }
#else
#define HIPPORT_ATOM(name, built_in, ...)                \
  template <order how, scope where, typename T>          \
  HIPPORT_ON_GPU T atom_##name(void* at, T b) {          \
    return built_in(static_cast<T*>(at), b, how, where); \
  }
#endif
HIPPORT_ATOM(add, __hip_atomic_fetch_add, a + b)
HIPPORT_ATOM(min, __hip_atomic_fetch_min, smaller(a, b))
HIPPORT_ATOM(max, __hip_atomic_fetch_max, larger(a, b))
HIPPORT_ATOM(and, __hip_atomic_fetch_and, a & b)
HIPPORT_ATOM(or, __hip_atomic_fetch_or, a | b)
HIPPORT_ATOM(xor, __hip_atomic_fetch_xor, a ^ b)
HIPPORT_ATOM(exch, __hip_atomic_exchange, b)
#undef HIPPORT_ATOM
template <order how, scope where, typename T>
HIPPORT_ON_GPU T atom_inc(void* at, T b) {
  return updated<how, where, T>(at, [=](T a) { return a >= b ? T(0) : a + 1; });
}
template <order how, scope where, typename T>
HIPPORT_ON_GPU T atom_dec(void* at, T b) {
  return updated<how, where, T>(at, [=](T a) { return a == 0 || a > b ? b : a - 1; });
}
template <order how, scope where, typename T>
HIPPORT_ON_GPU T atom_cas(void* at, T b, T c) {
  word_of<T> found = as<word_of<T>>(b);
  exchange_if<how, where>(at, found, as<word_of<T>>(c));
  return as<T>(found);
}

// Additions to halves of 32-bit words, which not all GPUs support.
template <order how, scope where, typename Add>
HIPPORT_ON_GPU u32 atom_halves(void* at, u32 b, Add add) {
  return updated<how, where, u32>(at, [=](u32 a) { return add(a, b); });
}
template <order how, scope where, typename Add>
HIPPORT_ON_GPU u16 atom_half(void* at, u16 b, Add add) {
  const u64 address = reinterpret_cast<u64>(at);
  const unsigned place = address & 2 ? 16 : 0;
  const u32 found = updated<how, where, u32>(reinterpret_cast<void*>(address & ~2ull), [=](u32 a) {
    return with_field(static_cast<u32>(add(static_cast<u16>(a >> place), b)), a, place, 16);
  });
  return static_cast<u16>(found >> place);
}

}  // namespace detail

// ---- ld, st

// The functions of one kind, given how to load and store a T.
#define HIPPORT_LD(kind, ...)                                                                    \
  template <typename T>                                                                          \
  HIPPORT_ON_GPU T ld##kind(const void* p) {                                                     \
    return detail::__VA_ARGS__(p);                                                               \
  }                                                                                              \
  template <typename T, typename X, typename Y>                                                  \
  HIPPORT_ON_GPU void ld##kind##_v2(X& x, Y& y, const void* p) {                                 \
    const T first = ld##kind<T>(p), second = ld##kind<T>(detail::at<T>(p, 1));                   \
    put(x, first);                                                                               \
    put(y, second);                                                                              \
  }                                                                                              \
  template <typename T, typename X, typename Y, typename Z, typename W>                          \
  HIPPORT_ON_GPU void ld##kind##_v4(X& x, Y& y, Z& z, W& w, const void* p) {                     \
    const T third = ld##kind<T>(detail::at<T>(p, 2)), fourth = ld##kind<T>(detail::at<T>(p, 3)); \
    ld##kind##_v2<T>(x, y, p);                                                                   \
    put(z, third);                                                                               \
    put(w, fourth);                                                                              \
  }
#define HIPPORT_ST(kind, ...)                                      \
  template <typename T>                                            \
  HIPPORT_ON_GPU void st##kind(void* p, T value) {                 \
    detail::__VA_ARGS__(p, value);                                 \
  }                                                                \
  template <typename T>                                            \
  HIPPORT_ON_GPU void st##kind##_v2(void* p, T x, T y) {           \
    st##kind<T>(p, x);                                             \
    st##kind<T>(detail::at<T>(p, 1), y);                           \
  }                                                                \
  template <typename T>                                            \
  HIPPORT_ON_GPU void st##kind##_v4(void* p, T x, T y, T z, T w) { \
    st##kind##_v2<T>(p, x, y);                                     \
    st##kind##_v2<T>(detail::at<T>(p, 2), z, w);                   \
  }
#define HIPPORT_LD_ORDER(how, where) HIPPORT_LD(_##how##_##where, atomic_load<detail::how, detail::where, T>)
#define HIPPORT_ST_ORDER(how, where) HIPPORT_ST(_##how##_##where, atomic_store<detail::how, detail::where, T>)
HIPPORT_LD(_cg, atomic_load<detail::relaxed, detail::gpu, T>)
HIPPORT_LD(_cv, atomic_load<detail::relaxed, detail::sys, T>)
HIPPORT_LD(_volatile, atomic_load<detail::relaxed, detail::sys, T>)
HIPPORT_LD_ORDER(relaxed, cta)
HIPPORT_LD_ORDER(relaxed, gpu)
HIPPORT_LD_ORDER(relaxed, sys)
HIPPORT_LD_ORDER(acquire, cta)
HIPPORT_LD_ORDER(acquire, gpu)
HIPPORT_LD_ORDER(acquire, sys)
HIPPORT_ST(_cg, atomic_store<detail::relaxed, detail::gpu, T>)
HIPPORT_ST(_wt, atomic_store<detail::relaxed, detail::sys, T>)
HIPPORT_ST(_volatile, atomic_store<detail::relaxed, detail::sys, T>)
HIPPORT_ST_ORDER(relaxed, cta)
HIPPORT_ST_ORDER(relaxed, gpu)
HIPPORT_ST_ORDER(relaxed, sys)
HIPPORT_ST_ORDER(release, cta)
HIPPORT_ST_ORDER(release, gpu)
HIPPORT_ST_ORDER(release, sys)
#undef HIPPORT_ST_ORDER
#undef HIPPORT_LD_ORDER
#undef HIPPORT_ST
#undef HIPPORT_LD

// Plain vectors are one access.
template <typename T>
HIPPORT_ON_GPU T ld(const void* p) {
  return detail::plain_load<T>(p);
}
template <typename T, typename X, typename Y>
HIPPORT_ON_GPU void ld_v2(X& x, Y& y, const void* p) {
  const detail::elements<T, 2> found = detail::plain_load<detail::elements<T, 2>>(p);
  put(x, found.of[0]);
  put(y, found.of[1]);
}
template <typename T, typename X, typename Y, typename Z, typename W>
HIPPORT_ON_GPU void ld_v4(X& x, Y& y, Z& z, W& w, const void* p) {
  const detail::elements<T, 4> found = detail::plain_load<detail::elements<T, 4>>(p);
  put(x, found.of[0]);
  put(y, found.of[1]);
  put(z, found.of[2]);
  put(w, found.of[3]);
}
template <typename T>
HIPPORT_ON_GPU T ldu(const void* p) {
  return detail::plain_load<T>(p);
}
template <typename T>
HIPPORT_ON_GPU void st(void* p, T value) {
  detail::plain_store(p, value);
}
template <typename T>
HIPPORT_ON_GPU void st_v2(void* p, T x, T y) {
  detail::plain_store(p, detail::elements<T, 2>{{x, y}});
}
template <typename T>
HIPPORT_ON_GPU void st_v4(void* p, T x, T y, T z, T w) {
  detail::plain_store(p, detail::elements<T, 4>{{x, y, z, w}});
}

// ---- cp.async

// A copy may be done as soon as it is requested, and here it is. So commit and wait have nothing left to do, and the
// barrier after the wait decides who sees the copy, as in PTX.

/// Copy `size` bytes, 4, 8 or 16, of which the first `given` are read and the others are 0.
HIPPORT_ON_GPU void cp_async(void* to, const void* from, u32 size, u32 given) {
  if (size == 16) {
    detail::copied<16>(to, from, given);
  } else if (size == 8) {
    detail::copied<8>(to, from, given);
  } else {
    detail::copied<4>(to, from, given);
  }
}
HIPPORT_ON_GPU void cp_async(void* to, const void* from, u32 size) { cp_async(to, from, size, size); }
/// The same, but all bytes are 0 if `ignored` is true.
HIPPORT_ON_GPU void cp_async_unless(void* to, const void* from, u32 size, pred ignored) {
  cp_async(to, from, size, ignored ? 0u : size);
}
HIPPORT_ON_GPU void cp_async_commit_group() {}
HIPPORT_ON_GPU void cp_async_wait_group(u32) {}
HIPPORT_ON_GPU void cp_async_wait_all() {}

// ---- atom, red

#define HIPPORT_ATOM_2(kind, how, where, operation)                       \
  template <typename T>                                                   \
  HIPPORT_ON_GPU T atom##kind##_##operation(void* p, T b) {               \
    return detail::atom_##operation<detail::how, detail::where, T>(p, b); \
  }                                                                       \
  template <typename T>                                                   \
  HIPPORT_ON_GPU void red##kind##_##operation(void* p, T b) {             \
    atom##kind##_##operation<T>(p, b);                                    \
  }
#define HIPPORT_ATOM_HALVES(kind, how, where, type)                                                            \
  HIPPORT_ON_GPU u16 atom##kind##_add_##type(void* p, u16 b) {                                                 \
    return detail::atom_half<detail::how, detail::where>(p, b, [](u16 x, u16 y) { return add_##type(x, y); }); \
  }                                                                                                            \
  HIPPORT_ON_GPU u32 atom##kind##_add_##type##x2(void* p, u32 b) {                                             \
    return detail::atom_halves<detail::how, detail::where>(                                                    \
        p, b, [](u32 x, u32 y) { return add_##type##x2(x, y); });                                              \
  }                                                                                                            \
  HIPPORT_ON_GPU void red##kind##_add_##type(void* p, u16 b) { atom##kind##_add_##type(p, b); }                \
  HIPPORT_ON_GPU void red##kind##_add_##type##x2(void* p, u32 b) { atom##kind##_add_##type##x2(p, b); }
// Each element of a vector is added separately.
#define HIPPORT_ATOM_VECTORS_OF(kind, type, word)                                            \
  HIPPORT_ON_GPU void red##kind##_add_##type##_v2(void* p, word x, word y) {                 \
    red##kind##_add_##type(p, x);                                                            \
    red##kind##_add_##type(detail::at<word>(p, 1), y);                                       \
  }                                                                                          \
  HIPPORT_ON_GPU void red##kind##_add_##type##_v4(void* p, word x, word y, word z, word w) { \
    red##kind##_add_##type##_v2(p, x, y);                                                    \
    red##kind##_add_##type##_v2(detail::at<word>(p, 2), z, w);                               \
  }                                                                                          \
  template <typename X, typename Y>                                                          \
  HIPPORT_ON_GPU void atom##kind##_add_##type##_v2(X& x, Y& y, void* p, word a, word b) {    \
    const word first = atom##kind##_add_##type(p, a);                                        \
    const word second = atom##kind##_add_##type(detail::at<word>(p, 1), b);                  \
    put(x, first);                                                                           \
    put(y, second);                                                                          \
  }                                                                                          \
  template <typename X, typename Y, typename Z, typename W>                                  \
  HIPPORT_ON_GPU void atom##kind##_add_##type##_v4(                                          \
      X& x, Y& y, Z& z, W& w, void* p, word a, word b, word c, word d) {                     \
    atom##kind##_add_##type##_v2(x, y, p, a, b);                                             \
    atom##kind##_add_##type##_v2(z, w, detail::at<word>(p, 2), c, d);                        \
  }
#define HIPPORT_ATOM_VECTORS(kind)                                                                   \
  template <typename T>                                                                              \
  HIPPORT_ON_GPU void red##kind##_add_v2(void* p, T x, T y) {                                        \
    red##kind##_add<T>(p, x);                                                                        \
    red##kind##_add<T>(detail::at<T>(p, 1), y);                                                      \
  }                                                                                                  \
  template <typename T>                                                                              \
  HIPPORT_ON_GPU void red##kind##_add_v4(void* p, T x, T y, T z, T w) {                              \
    red##kind##_add_v2<T>(p, x, y);                                                                  \
    red##kind##_add_v2<T>(detail::at<T>(p, 2), z, w);                                                \
  }                                                                                                  \
  template <typename T, typename X, typename Y>                                                      \
  HIPPORT_ON_GPU void atom##kind##_add_v2(X& x, Y& y, void* p, T a, T b) {                           \
    const T first = atom##kind##_add<T>(p, a), second = atom##kind##_add<T>(detail::at<T>(p, 1), b); \
    put(x, first);                                                                                   \
    put(y, second);                                                                                  \
  }                                                                                                  \
  template <typename T, typename X, typename Y, typename Z, typename W>                              \
  HIPPORT_ON_GPU void atom##kind##_add_v4(X& x, Y& y, Z& z, W& w, void* p, T a, T b, T c, T d) {     \
    atom##kind##_add_v2<T>(x, y, p, a, b);                                                           \
    atom##kind##_add_v2<T>(z, w, detail::at<T>(p, 2), c, d);                                         \
  }                                                                                                  \
  HIPPORT_ATOM_VECTORS_OF(kind, f16, u16)                                                            \
  HIPPORT_ATOM_VECTORS_OF(kind, bf16, u16)                                                           \
  HIPPORT_ATOM_VECTORS_OF(kind, f16x2, u32)                                                          \
  HIPPORT_ATOM_VECTORS_OF(kind, bf16x2, u32)
#define HIPPORT_ATOMS(kind, how, where)                              \
  HIPPORT_ATOM_2(kind, how, where, add)                              \
  HIPPORT_ATOM_2(kind, how, where, min)                              \
  HIPPORT_ATOM_2(kind, how, where, max)                              \
  HIPPORT_ATOM_2(kind, how, where, and)                              \
  HIPPORT_ATOM_2(kind, how, where, or)                               \
  HIPPORT_ATOM_2(kind, how, where, xor)                              \
  HIPPORT_ATOM_2(kind, how, where, exch)                             \
  HIPPORT_ATOM_2(kind, how, where, inc)                              \
  HIPPORT_ATOM_2(kind, how, where, dec)                              \
  template <typename T>                                              \
  HIPPORT_ON_GPU T atom##kind##_cas(void* p, T b, T c) {             \
    return detail::atom_cas<detail::how, detail::where, T>(p, b, c); \
  }                                                                  \
  HIPPORT_ATOM_HALVES(kind, how, where, f16)                         \
  HIPPORT_ATOM_HALVES(kind, how, where, bf16)                        \
  HIPPORT_ATOM_VECTORS(kind)
#define HIPPORT_ATOMS_OF(how)           \
  HIPPORT_ATOMS(_##how, how, gpu)       \
  HIPPORT_ATOMS(_##how##_cta, how, cta) \
  HIPPORT_ATOMS(_##how##_gpu, how, gpu) \
  HIPPORT_ATOMS(_##how##_sys, how, sys)
HIPPORT_ATOMS(, relaxed, gpu)
HIPPORT_ATOMS(_cta, relaxed, cta)
HIPPORT_ATOMS(_gpu, relaxed, gpu)
HIPPORT_ATOMS(_sys, relaxed, sys)
HIPPORT_ATOMS_OF(relaxed)
HIPPORT_ATOMS_OF(acquire)
HIPPORT_ATOMS_OF(release)
HIPPORT_ATOMS_OF(acq_rel)
#undef HIPPORT_ATOMS_OF
#undef HIPPORT_ATOMS
#undef HIPPORT_ATOM_VECTORS
#undef HIPPORT_ATOM_VECTORS_OF
#undef HIPPORT_ATOM_HALVES
#undef HIPPORT_ATOM_2

// ---- fences

#if HIPPORT_NVCC
#define HIPPORT_FENCE_AT(how, order, where, scope) \
  HIPPORT_ON_GPU void fence_##how##_##where() { detail::fence<detail::how, detail::where>(); }
#else
#define HIPPORT_FENCE_AT(how, order, where, scope) \
  HIPPORT_ON_GPU void fence_##how##_##where() { __builtin_amdgcn_fence(order, scope); }
#endif
#define HIPPORT_FENCE(how, order)                \
  HIPPORT_FENCE_AT(how, order, cta, "workgroup") \
  HIPPORT_FENCE_AT(how, order, gpu, "agent")     \
  HIPPORT_FENCE_AT(how, order, sys, "")
HIPPORT_FENCE(sc, __ATOMIC_SEQ_CST)
HIPPORT_FENCE(acq_rel, __ATOMIC_ACQ_REL)
HIPPORT_FENCE(acquire, __ATOMIC_ACQUIRE)
HIPPORT_FENCE(release, __ATOMIC_RELEASE)
#undef HIPPORT_FENCE_AT
#undef HIPPORT_FENCE
HIPPORT_ON_GPU void membar_cta() { fence_sc_cta(); }
HIPPORT_ON_GPU void membar_gl() { fence_sc_gpu(); }
HIPPORT_ON_GPU void membar_sys() { fence_sc_sys(); }

}  // namespace ptx
}  // namespace hipport

#undef HIPPORT_ON_GPU

#endif  // HIPPORT_PTX_MEMORY_H
