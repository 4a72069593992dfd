// SPDX-License-Identifier: Apache-2.0
// The loader tells under its lock which program or library has an address, and a signal may interrupt a thread that
// holds the lock. So handlers of signals look the address up in a table, which is written while kernels are launched.
#include "loaded_objects.h"

#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

namespace simt {
namespace {

using LoadedObjects = std::vector<LoadedObject>;

// Tables are never freed: a handler may still read one.
std::atomic<const LoadedObjects*> objects_table{nullptr};

struct ObjectListing {
  LoadedObjects* objects;
  unsigned long long loaded, unloaded;
};

// How many objects had been loaded and unloaded when the table was written.
unsigned long long objects_loaded = 0, objects_unloaded = 0;

/// Whether a thread may be interrupted in this library: it may hold a lock.
bool is_of_the_system(const char* file) {
  const char* const slash = std::strrchr(file, '/');
  const char* const name = slash != nullptr ? slash + 1 : file;
  for (const char* library :
       {"libhipport_simt", "libc.", "libc-", "libm.", "libm-", "libstdc++", "libgcc_s", "libpthread", "ld-linux",
        "libtorch", "libc10", "libgomp", "libasan", "libubsan", "libtsan", "linux-vdso"}) {
    if (std::strncmp(name, library, std::strlen(library)) == 0) return true;
  }
  return false;
}

int add_object(dl_phdr_info* info, std::size_t, void* raw) {
  auto& listing = *static_cast<ObjectListing*>(raw);
  if (info->dlpi_adds == objects_loaded && info->dlpi_subs == objects_unloaded) return 1;  // nothing has changed
  listing.loaded = info->dlpi_adds;
  listing.unloaded = info->dlpi_subs;
  const auto own = reinterpret_cast<std::uintptr_t>(&add_object);
  // The program itself has an empty name there.
  const bool users = info->dlpi_name == nullptr || !is_of_the_system(info->dlpi_name);
  const std::size_t first = listing.objects->size();
  bool is_own = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr, end = begin + segment.p_memsz;
    is_own = is_own || (begin <= own && own < end);
    listing.objects->push_back({begin, end, users, false});
  }
  for (std::size_t i = first; i < listing.objects->size(); ++i) (*listing.objects)[i].is_own = is_own;
  return 0;
}

}  // namespace

void note_loaded_objects() {
  static std::mutex& mutex = *new std::mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  auto* const objects = new LoadedObjects;
  ObjectListing listing{objects, 0, 0};
  dl_iterate_phdr(add_object, &listing);
  if (objects->empty()) {
    delete objects;
    return;
  }
  std::sort(objects->begin(), objects->end(),
            [](const LoadedObject& one, const LoadedObject& two) { return one.begin < two.begin; });
  objects_loaded = listing.loaded;
  objects_unloaded = listing.unloaded;
  objects_table.store(objects, std::memory_order_release);
}

const LoadedObject* object_at(const void* address) {
  const LoadedObjects* const objects = objects_table.load(std::memory_order_acquire);
  if (objects == nullptr) return nullptr;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto after =
      std::upper_bound(objects->begin(), objects->end(), at,
                       [](std::uintptr_t place, const LoadedObject& each) { return place < each.begin; });
  if (after == objects->begin()) return nullptr;
  const LoadedObject& found = *(after - 1);
  return at < found.end ? &found : nullptr;
}

}  // namespace simt
