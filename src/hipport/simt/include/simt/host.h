// SPDX-License-Identifier: Apache-2.0
// simt/host.h: what the functions of the runtime API have in common: handles, whose memory an address is, copies.
#ifndef SIMT_HOST_H
#define SIMT_HOST_H

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "core.h"
#include "errors.h"
#include "runtime_types.h"

/// A function's name as the program knows it: SIMT_API("Malloc") is "cudaMalloc" or "hipMalloc".
#ifdef SIMT_HIP
#define SIMT_API(name) "hip" name
#else
#define SIMT_API(name) "cuda" name
#endif

namespace simt {
namespace host {

/// Takes ordinary memory of the host for memory of the device, too: for programs whose device tensors lie there.
inline bool host_memory_is_device = false;

/// Handles of one type that exist: what is not among them is no handle, or one that was destroyed.
template <typename T>
class Handles {
 public:
  T* add(T* handle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    all_.insert(handle);
    return handle;
  }
  bool has(const T* handle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return all_.count(const_cast<T*>(handle)) != 0;
  }
  bool remove(T* handle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (all_.erase(handle) == 0) return false;
    delete handle;
    return true;
  }

 private:
  std::mutex mutex_;
  std::set<T*> all_;
};

/// Never destroyed: programs free memory in destructors of static objects.
template <typename T>
Handles<T>& handles() {
  static Handles<T>* const all = new Handles<T>;
  return *all;
}

// ------------------------------------------------------------------------------------------------------- addresses

/// Host memory that is registered, and what pinned memory was asked for with.
struct Ranges {
  struct Range {
    std::size_t size;
    unsigned flags;
  };
  std::mutex mutex;
  std::map<std::uintptr_t, Range> registered;
  std::map<const void*, unsigned> pinned_flags;

  /// The registered range that holds `address`, or the end.
  std::map<std::uintptr_t, Range>::iterator of(const void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    auto next = registered.upper_bound(at);
    if (next == registered.begin()) return registered.end();
    --next;
    return at - next->first < next->second.size ? next : registered.end();
  }
};
inline Ranges& ranges() {
  static Ranges* const all = new Ranges;
  return *all;
}
inline bool is_registered(const void* address) {
  Ranges& all = ranges();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.of(address) != all.registered.end();
}

/// Who can use an address. Variables of the program count as `both`: the host's cannot be told from the device's.
enum class Side { host, device, both };

inline Side side(const void* address) {
  switch (find(address).kind) {
    case Memory::device:
    case Memory::array: return Side::device;
    case Memory::managed:
    case Memory::pinned: return Side::both;
    case Memory::none: break;
  }
  if (host_memory_is_device || is_registered(address)) return Side::both;
  Dl_info object;
  return dladdr(address, &object) != 0 ? Side::both : Side::host;
}

/// Bytes that the device has, and those that are in use. Half of the machine's, as they are filled when allocated.
inline std::size_t device_memory() {
  static const std::size_t size = [] {
    constexpr std::size_t least = std::size_t{1} << 30, most = std::size_t{16} << 30;
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
    const std::size_t half =
        pages > 0 && page > 0 ? static_cast<std::size_t>(pages) / 2 * static_cast<std::size_t>(page) : 0;
    return std::min(most, std::max(least, half / least * least));
  }();
  return size;
}
inline std::atomic<std::size_t> used_memory{0};

inline hipError_t allocate_into(void** pointer, std::size_t size, Memory kind, Place place) {
  if (pointer == nullptr) return result(hipErrorInvalidValue);
  if (size == 0) {
    *pointer = nullptr;
    return hipSuccess;
  }
  const bool on_device = kind != Memory::pinned;
  if (on_device && (size > device_memory() || used_memory > device_memory() - size)) {
    return result(hipErrorOutOfMemory);
  }
  void* const memory = allocate(size, kind, place);
  if (memory == nullptr) return result(hipErrorOutOfMemory);
  if (on_device) used_memory += size;
  *pointer = memory;
  return hipSuccess;
}

/// Free what is of one of two kinds; an error for anything else and for what is freed already.
inline hipError_t release_of(void* pointer, Memory kind, Memory other) {
  if (pointer == nullptr) return hipSuccess;
  const Allocation allocation = find(pointer);
  const bool right = allocation.kind == kind || allocation.kind == other;
  if (!right || allocation.start != pointer || !release(pointer)) return result(hipErrorInvalidValue);
  if (allocation.kind != Memory::pinned) used_memory -= allocation.size;
  return hipSuccess;
}

// ---------------------------------------------------------------------------------------------------------- copies

/// Whether CUDA makes a copy of this kind between these. With one address space for all it asks only that the device's
/// side is memory that the device can use; a device's address on the host's side is copied all the same, and suspicious.
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
    warning("copy-direction", place, "%s: the target of a copy to the host is memory of the device", name);
  }
  if (!from_device && source == Side::device) {
    warning("copy-direction", place, "%s: the source of a copy from the host is memory of the device", name);
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
