// SPDX-License-Identifier: Apache-2.0
// Memory of the device: each allocation ends at a guard page, so that an access past it faults at once.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "internal.h"

namespace simt {
namespace {

std::mutex known_mutex;
std::map<std::uintptr_t, Known>& known() {
  static auto* all = new std::map<std::uintptr_t, Known>;  // never destroyed: objects may release memory late
  return *all;
}
/// The last few released allocations, to name them in a fault.
std::map<std::uintptr_t, Known>& released() {
  static auto* all = new std::map<std::uintptr_t, Known>;
  return *all;
}
std::uint64_t numbers = 0;

// CUDA guarantees an alignment of 256 bytes. A size that is not a multiple of it leaves a gap before the guard page,
// which is filled with this byte, unless a smaller alignment is requested.
constexpr unsigned char canary = 0xfd;
constexpr std::size_t alignment = 256;
// A process may have about 65,000 mappings; an allocation with its guard pages takes three.
constexpr std::size_t most_guarded = 15000;
// Filling touches every page, so larger memory stays as the system provides it, zero.
constexpr std::size_t most_filled = std::size_t(1) << 30;

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

void check_canary(const Known& k, const char* when) {
  const char* end = static_cast<char*>(k.allocation.start) + k.allocation.size;
  const char* last = k.mapping + k.mapped - page_size();
  for (const char* p = end; p < last; ++p) {
    if (static_cast<unsigned char>(*p) != canary) {
      fault("out-of-bounds", {"", 0}, "%s: byte %zu past the end of an allocation of %zu bytes was written", when,
            static_cast<std::size_t>(p - end), k.allocation.size);
    }
  }
}

}  // namespace

void* allocate(std::size_t size, Memory kind, Place) {
  const std::size_t page = page_size();
  // Small sizes end close to the guard page, at the alignment of the largest access (16 bytes): reading one element
  // past the end is the most frequent error. A multiple of 256 is aligned as in CUDA.
  const std::size_t step = size % alignment == 0 ? alignment : 16;
  const std::size_t rounded = size == 0 ? step : (size + step - 1) / step * step;
  const std::size_t pages = (rounded + page - 1) / page * page;
  const std::lock_guard<std::mutex> lock(known_mutex);
  if (known().size() >= most_guarded) {
    void* start = nullptr;
    if (posix_memalign(&start, alignment, rounded) != 0) return nullptr;
    if (settings().poison >= 0) std::memset(start, settings().poison, size);
    known()[reinterpret_cast<std::uintptr_t>(start)] = {{start, size, kind}, numbers++, nullptr, 0};
    return start;
  }
  const std::size_t mapped = pages + 2 * page;
  void* all = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  char* low = static_cast<char*>(all) + page;
  if (mprotect(low, pages, PROT_READ | PROT_WRITE) != 0) {
    munmap(all, mapped);
    return nullptr;
  }
  char* start = low + pages - rounded;
  if (settings().poison >= 0 && size <= most_filled) std::memset(start, settings().poison, size);
  std::memset(start + size, canary, rounded - size);
  Known k{{start, size, kind}, numbers++, static_cast<char*>(all), mapped};
  known()[reinterpret_cast<std::uintptr_t>(start)] = k;
  return start;
}

bool release(void* address) {
  const std::lock_guard<std::mutex> lock(known_mutex);
  const auto at = known().find(reinterpret_cast<std::uintptr_t>(address));
  if (at == known().end()) return false;
  const Known k = at->second;
  known().erase(at);
  if (k.mapping == nullptr) {
    std::free(address);
    return true;
  }
  if (!k.suspended) check_canary(k, "found when it was released");
  munmap(k.mapping, k.mapped);
  if (released().size() > 4096) released().erase(released().begin());
  released()[reinterpret_cast<std::uintptr_t>(address)] = k;
  return true;
}

void suspend(void* start) {
  const std::lock_guard<std::mutex> lock(known_mutex);
  const auto at = known().find(reinterpret_cast<std::uintptr_t>(start));
  if (at == known().end() || at->second.suspended) return;
  Known& k = at->second;
  k.suspended = true;
  if (k.mapping == nullptr) return;
  check_canary(k, "found when it was released");
  mprotect(k.mapping, k.mapped, PROT_NONE);
}
void resume(void* start) {
  const std::lock_guard<std::mutex> lock(known_mutex);
  const auto at = known().find(reinterpret_cast<std::uintptr_t>(start));
  if (at == known().end()) return;
  Known& k = at->second;
  k.suspended = false;
  if (k.mapping != nullptr) mprotect(k.mapping + page_size(), k.mapped - 2 * page_size(), PROT_READ | PROT_WRITE);
  if (settings().poison >= 0 && k.allocation.size <= most_filled) {
    std::memset(k.allocation.start, settings().poison, k.allocation.size);
  }
}

Allocation find(const void* address) {
  const auto a = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard<std::mutex> lock(known_mutex);
  auto at = known().upper_bound(a);
  if (at == known().begin()) return {nullptr, 0, Memory::none};
  --at;
  const Allocation& found = at->second.allocation;
  // One past the end belongs to it too: an empty copy may start there.
  if (a - at->first > found.size || at->second.suspended) return {nullptr, 0, Memory::none};
  return found;
}

void check_range(const char* name, const void* address, std::size_t size, Place place) {
  const Allocation found = find(address);
  if (found.kind == Memory::none) return;
  const std::size_t offset =
      static_cast<std::size_t>(static_cast<const char*>(address) - static_cast<char*>(found.start));
  if (size > found.size - offset) {
    fault("out-of-bounds", place, "%s of %zu bytes at byte %zu of an allocation of %zu bytes", name, size, offset,
          found.size);
  }
}

bool explain(const void* address, char* text, std::size_t size) {
  const auto a = reinterpret_cast<std::uintptr_t>(address);
  const auto inside = [&](const Known& k, const char* what) {
    if (k.mapping == nullptr || address < k.mapping || address >= k.mapping + k.mapped) return false;
    const auto start = reinterpret_cast<std::uintptr_t>(k.allocation.start);
    if (a < start) {
      std::snprintf(text, size, "%zu bytes before %s of %zu bytes", static_cast<std::size_t>(start - a), what,
                    k.allocation.size);
    } else if (a >= start + k.allocation.size) {
      std::snprintf(text, size, "%zu bytes past the end of %s of %zu bytes",
                    static_cast<std::size_t>(a - start - k.allocation.size), what, k.allocation.size);
    } else {
      std::snprintf(text, size, "byte %zu of %s of %zu bytes", static_cast<std::size_t>(a - start), what,
                    k.allocation.size);
    }
    return true;
  };
  // Called from a signal handler: the thread that faulted may hold the lock.
  const bool locked = known_mutex.try_lock();
  bool found = false;
  for (auto& [start, k] : known()) {
    if (!found) found = inside(k, k.suspended ? "released memory" : "an allocation");
  }
  for (auto& [start, k] : released()) {
    if (!found) found = inside(k, "released memory");
  }
  if (locked) known_mutex.unlock();
  return found;
}

std::vector<Known> live() {
  const std::lock_guard<std::mutex> lock(known_mutex);
  std::vector<Known> all;
  for (const auto& [start, k] : known()) {
    if (!k.suspended) all.push_back(k);
  }
  // Addresses differ between runs, but the order of allocations does not.
  std::sort(all.begin(), all.end(), [](const Known& a, const Known& b) { return a.number < b.number; });
  return all;
}

}  // namespace simt
