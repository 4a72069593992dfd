// SPDX-License-Identifier: Apache-2.0
// simt/host.h: common parts of the runtime API's functions: handles, kinds of addresses, copies.
#ifndef SIMT_HOST_H
#define SIMT_HOST_H

#include "core.h"
#include "errors.h"
#include "runtime_types.h"

/// A function's name as the program knows it: SIMT_CALLED("Malloc") is "cudaMalloc" or "hipMalloc".
#ifdef SIMT_HIP
#define SIMT_CALLED(name) "hip" name
#else
#define SIMT_CALLED(name) "cuda" name
#endif

namespace simt {
namespace host {

template <typename T>
constexpr T smaller(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
constexpr T larger(T a, T b) {
  return a < b ? b : a;
}

// ------------------------------------------------------------------ state that is kept in the runtime
// (runtime/host.cpp)

/// Whether ordinary host memory counts as device memory, too, because PyTorch's tensors lie there. A program with other
/// such tensors declares it by `claim_host_memory`.
SIMT_EXPORT bool host_memory_is_device();
SIMT_EXPORT void claim_host_memory();

/// Settings of the device that programs may query.
struct Settings {
  std::size_t limits[7] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};
  unsigned flags = 0;
  hipFuncCache_t cache = hipFuncCachePreferNone;
  hipSharedMemConfig banks = hipSharedMemBankSizeFourByte;
};
SIMT_EXPORT extern Settings settings;

/// Existing handles: any other value is not a handle, or was destroyed.
enum class HandleKind : unsigned char {
  stream, event, array, pool, blas, graph, executable, fft, sparse, solver, object
};
SIMT_EXPORT void add_handle(const void*, HandleKind);
SIMT_EXPORT bool has_handle(const void*, HandleKind);
SIMT_EXPORT bool remove_handle(const void*, HandleKind);

/// Whether an address is in the file of a program or library: a variable, of the host or the device.
SIMT_EXPORT bool is_variable(const void* address);
SIMT_EXPORT bool is_registered(const void* address, unsigned* flags = nullptr);
SIMT_EXPORT bool is_any_registered();
/// False if part of it is registered already.
SIMT_EXPORT bool add_registered(const void* address, std::size_t size, unsigned flags);
SIMT_EXPORT bool remove_registered(const void* address);
SIMT_EXPORT void set_pinned_flags(const void* start, unsigned flags);
SIMT_EXPORT unsigned pinned_flags(const void* start);

/// The device's memory in bytes, at most half of the machine's, because allocations are filled; and the bytes in use.
SIMT_EXPORT std::size_t device_memory();
SIMT_EXPORT std::size_t used_memory();
/// Count `size` bytes as used; false if not enough are left.
SIMT_EXPORT bool take_memory(std::size_t size);
SIMT_EXPORT void give_memory_back(std::size_t size);

/// Kernels by address: `cudaLaunchKernel` gets a `const void*`, without the types of the kernel's parameters.
using Untyped = Started (*)(const Launch&, const void* kernel, void** arguments);
SIMT_EXPORT void remember_kernel(const void* kernel, Untyped);
SIMT_EXPORT Untyped known_kernel(const void* kernel);
/// The limit of dynamic shared memory for a kernel, as set by the program.
SIMT_EXPORT void set_shared_limit(const void* kernel, int size);
SIMT_EXPORT int shared_limit(const void* kernel, int otherwise);

/// Bytes of the `__shared__` variables of a kernel and its callees. False if the program's file has no such
/// information.
SIMT_EXPORT bool static_shared(const void* kernel, std::size_t& size);

/// From "(void*)k<a, b>, grid, …" the kernel's name; the string stays valid.
SIMT_EXPORT const char* kernel_name(const char* arguments);
/// A monotonic clock.
SIMT_EXPORT std::int64_t nanoseconds();

/// Whether an existing graph's node allocates the memory; then it is released, unless it was (`released`).
SIMT_EXPORT bool release_of_graph(void* start, bool& released);

/// An error if streams record and CUDA rejects this meanwhile.
inline hipError_t may(Unrecorded what) {
  return recordings == 0 ? hipSuccess : result(static_cast<hipError_t>(refused_by_recordings(what)));
}

/// Work with parameters for the API.
template <typename F, typename Parameters>
struct DescribedWork final : Work {
  F work;
  Parameters parameters;
  DescribedWork(F given, const Parameters& how) : work(std::move(given)), parameters(how) {}
  void run() override { work(); }
  const void* description() const override { return &parameters; }
};
/// Do the work for a stream; a recording stream records it, with its parameters, if given.
template <typename F, typename Parameters = std::nullptr_t>
hipError_t asked(hipStream_t stream, NodeKind kind, F work, const Parameters& parameters = {}) {
  if (stream == nullptr || stream == hipStreamLegacy) {
    if (const hipError_t error = may(Unrecorded::launch)) return error;
  }
  if (!records(stream)) return work();
  if constexpr (std::is_same_v<Parameters, std::nullptr_t>) {
    record(stream, kind, new WorkOf<F>(std::move(work)));
  } else {
    record(stream, kind, new DescribedWork<F, Parameters>(std::move(work), parameters));
  }
  return hipSuccess;
}

// ------------------------------------------------------------------------------------------------------- addresses

/// Who can use an address. Variables of the program count as `both`: the host's cannot be distinguished from the
/// device's.
enum class Side { host, device, both };

inline Side side(const void* address) {
  switch (find(address).kind) {
    case Memory::device:
    case Memory::array: return Side::device;
    case Memory::managed:
    case Memory::pinned: return Side::both;
    case Memory::none: break;
  }
  if (host_memory_is_device() || is_registered(address)) return Side::both;
  return is_variable(address) ? Side::both : Side::host;
}

inline hipError_t allocate_into(void** pointer, std::size_t size, Memory kind, Place place) {
  if (pointer == nullptr) return result(hipErrorInvalidValue);
  if (size == 0) {
    *pointer = nullptr;
    return hipSuccess;
  }
  const bool on_device = kind != Memory::pinned;
  if (on_device && !take_memory(size)) return result(hipErrorOutOfMemory);
  void* const memory = allocate(size, kind, place);
  if (memory == nullptr) {
    if (on_device) give_memory_back(size);
    return result(hipErrorOutOfMemory);
  }
  *pointer = memory;
  return hipSuccess;
}

/// Free memory of one of two kinds; an error for any other memory and for freed memory.
inline hipError_t release_of(void* pointer, Memory kind, Memory other) {
  if (pointer == nullptr) return hipSuccess;
  const Allocation allocation = find(pointer);
  const bool right = allocation.kind == kind || allocation.kind == other;
  bool released = false;
  if (release_of_graph(pointer, released)) return result(released ? hipSuccess : hipErrorInvalidValue);
  if (!right || allocation.start != pointer || !release(pointer)) return result(hipErrorInvalidValue);
  if (allocation.kind != Memory::pinned) give_memory_back(allocation.size);
  return hipSuccess;
}

// ---------------------------------------------------------------------------------------------------------- copies

/// Whether CUDA makes a copy of this kind between these. With a unified address space, it only requires that the
/// device's side is memory that the device can use. A device address on the host's side is suspicious, but copied.
inline hipError_t check_direction(const char* name, const void* to, const void* from, hipMemcpyKind kind, Place place) {
  bool to_device = false, from_device = false;
  switch (kind) {
    case hipMemcpyDefault: return hipSuccess;
    case hipMemcpyHostToHost: break;
    case hipMemcpyHostToDevice: to_device = true; break;
    case hipMemcpyDeviceToHost: from_device = true; break;
    case hipMemcpyDeviceToDevice:
    case hipMemcpyDeviceToDeviceNoCU: to_device = from_device = true; break;
    default: return hipErrorInvalidMemcpyDirection;
  }
  const Side target = side(to), source = side(from);
  if ((to_device && target == Side::host) || (from_device && source == Side::host)) return hipErrorInvalidValue;
  if (!to_device && target == Side::device) {
    warning("copy-direction", place, "%s: the target of a copy to the host is device memory", name);
  }
  if (!from_device && source == Side::device) {
    warning("copy-direction", place, "%s: the source of a copy from the host is device memory", name);
  }
  return hipSuccess;
}

/// A box of bytes in memory: rows `pitch` apart, layers `slice` apart.
struct Box {
  const void* start;
  std::size_t pitch, slice;

  char* row(std::size_t y, std::size_t z) const {
    return static_cast<char*>(const_cast<void*>(start)) + z * slice + y * pitch;
  }
};

/// Copy `width` bytes of `height` rows of `depth` layers.
inline hipError_t copy(const char* name, Box to, Box from, std::size_t width, std::size_t height, std::size_t depth,
                       hipMemcpyKind kind, Place place) {
  if (width == 0 || height == 0 || depth == 0) return hipSuccess;
  if (to.start == nullptr || from.start == nullptr) return result(hipErrorInvalidValue);
  if (height > 1 && (to.pitch < width || from.pitch < width)) return result(hipErrorInvalidPitchValue);
  if (const hipError_t error = check_direction(name, to.start, from.start, kind, place)) return result(error);
  const char* const to_end = to.row(height - 1, depth - 1) + width;
  const char* const from_end = from.row(height - 1, depth - 1) + width;
  check_range(name, to.start, static_cast<std::size_t>(to_end - to.row(0, 0)), place);
  check_range(name, from.start, static_cast<std::size_t>(from_end - from.row(0, 0)), place);
  if (height == 1 && depth == 1 && to.start != from.start && to.row(0, 0) < from_end && from.row(0, 0) < to_end) {
    warning("overlapping-copy", place, "%s: source and target overlap, which is undefined", name);
  }
  for (std::size_t z = 0; z < depth; ++z) {
    for (std::size_t y = 0; y < height; ++y) std::memmove(to.row(y, z), from.row(y, z), width);
  }
  return hipSuccess;
}
inline hipError_t copy(const char* name, void* to, const void* from, std::size_t size, hipMemcpyKind kind,
                       Place place) {
  return copy(name, Box{to, size, size}, Box{from, size, size}, size, 1, 1, kind, place);
}

/// Fill `count` words of each row.
template <typename Word>
hipError_t fill(const char* name, Box to, Word value, std::size_t count, std::size_t height, std::size_t depth,
                Place place) {
  if (count == 0 || height == 0 || depth == 0) return hipSuccess;
  const std::size_t width = count * sizeof(Word);
  if (to.start == nullptr || side(to.start) == Side::host) return result(hipErrorInvalidValue);
  if (reinterpret_cast<std::uintptr_t>(to.start) % sizeof(Word) != 0) return result(hipErrorInvalidValue);
  if (height > 1 && to.pitch < width) return result(hipErrorInvalidPitchValue);
  const char* const end = to.row(height - 1, depth - 1) + width;
  check_range(name, to.start, static_cast<std::size_t>(end - to.row(0, 0)), place);
  for (std::size_t z = 0; z < depth; ++z) {
    for (std::size_t y = 0; y < height; ++y) {
      char* const row = to.row(y, z);
      for (std::size_t i = 0; i < count; ++i) std::memcpy(row + i * sizeof(Word), &value, sizeof(Word));
    }
  }
  return hipSuccess;
}

}  // namespace host
}  // namespace simt

#endif
