// SPDX-License-Identifier: Apache-2.0
// Shared memory of a block: variables between red zones, and dynamic memory that ends at a guard page.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "internal.h"

namespace simt {
namespace {

// Static variables of a kernel may have at most 64 KiB on AMD (48 on CUDA), plus the red zones.
constexpr std::size_t static_size = 512 << 10;
constexpr std::size_t dynamic_room = 256 << 10;
constexpr std::size_t red_zone = 64;
constexpr unsigned char red = 0xfd;

std::mutex shared_mutex;
std::vector<void (*)(void*)>& listeners() {
  static auto* all = new std::vector<void (*)(void*)>;
  return *all;
}
std::atomic<int> slots{0};

bool is_red(const char* p, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    if (static_cast<unsigned char>(p[i]) != red) return false;
  }
  return true;
}

}  // namespace

void make_arena(Block& block, std::size_t dynamic) {
  if (block.arena == nullptr) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#ifdef MAP_32BIT
    flags |= MAP_32BIT;  // an address of shared memory has 32 bits in PTX
#endif
    void* all = mmap(nullptr, static_size + dynamic_room + page, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (all == MAP_FAILED) {
      all =
          mmap(nullptr, static_size + dynamic_room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (all == MAP_FAILED) {
      std::fprintf(stderr, "simt: no memory for a block's shared memory\n");
      std::abort();
    }
    block.arena = static_cast<char*>(all);
    mprotect(block.arena + static_size + dynamic_room, page, PROT_NONE);
  }
  block.dynamic_size = dynamic;
  const std::size_t rounded = (dynamic + 15) / 16 * 16;
  block.dynamic = block.arena + static_size + dynamic_room - rounded;
  block.used = dynamic != 0;
  block.static_end = block.static_bytes = 0;
  std::memset(block.dynamic - red_zone, red, red_zone);
  if (settings().poison >= 0) std::memset(block.dynamic, settings().poison, dynamic);
  std::memset(block.dynamic + dynamic, red, rounded - dynamic);
}

void end_arena(Block& block) {
  for (Shared& s : block.slots) {
    if (s.size == 0) continue;
    const char* start = block.arena + s.offset;
    if (!is_red(start - red_zone, red_zone) || !is_red(start + s.size, red_zone)) {
      const bool after = is_red(start - red_zone, red_zone);
      fault("out-of-bounds", s.slot->place, "shared variable %s of %zu bytes: the bytes %s it were written",
            s.slot->name, s.size, after ? "after" : "before");
    }
    s.size = 0;
  }
  if (block.dynamic_size != 0) {
    const std::size_t rounded = (block.dynamic_size + 15) / 16 * 16;
    if (!is_red(block.dynamic - red_zone, red_zone)) {
      fault("out-of-bounds", worker->launch->place, "the bytes before the dynamic shared memory were written");
    }
    if (!is_red(block.dynamic + block.dynamic_size, rounded - block.dynamic_size)) {
      fault("out-of-bounds", worker->launch->place,
            "the bytes after the %zu bytes of dynamic shared memory were written", block.dynamic_size);
    }
    if (settings().poison >= 0) std::memset(block.dynamic, settings().poison, block.dynamic_size);
  }
  block.static_end = block.static_bytes = 0;
  block.used = block.dynamic_size != 0;
}

void set_dynamic(Block& block) {
  for (auto listener : listeners()) listener(block.dynamic);
}

void* dynamic_shared() { return worker != nullptr && worker->block != nullptr ? worker->block->dynamic : nullptr; }
std::size_t dynamic_shared_size() { return in_kernel() ? worker->launch->shared : 0; }

bool is_shared(const void* p) {
  if (!in_kernel() || worker->block == nullptr) return false;
  const char* start = worker->block->arena;
  return p >= start && p < start + static_size + dynamic_room;
}

std::string shared_name(const void* p) {
  const Block& block = *worker->block;
  for (const Shared& each : block.slots) {
    const char* start = block.arena + each.offset;
    if (each.size != 0 && p >= start && p < start + each.size) return std::string("shared variable ") + each.slot->name;
  }
  return "dynamic shared memory";
}

namespace detail {

void* shared_place(SharedSlot& slot) {
  std::size_t size = slot.size;
  const std::size_t align = slot.alignment;
  if (!runs_kernel()) fault("not-in-kernel", slot.place, "shared variable %s is used on the host", slot.name);
  if (__atomic_load_n(&slot.number, __ATOMIC_ACQUIRE) < 0) {
    const std::lock_guard<std::mutex> lock(shared_mutex);
    if (slot.number < 0) __atomic_store_n(&slot.number, slots++, __ATOMIC_RELEASE);
  }
  Block& block = *worker->block;
  const auto number = static_cast<std::size_t>(slot.number);
  if (block.slots.size() <= number) block.slots.resize(number + 1, Shared{nullptr, 0, 0});
  Shared& shared = block.slots[number];
  if (shared.size != 0) return block.arena + shared.offset;
  if (size == 0) size = 1;
  if (!slot.own) block.static_bytes = (block.static_bytes + align - 1) / align * align + size;
  const std::size_t all = block.static_bytes + block.dynamic_size;
  if (dialect_is(Dialect::hip) && all > 65536) {
    fault("launch-limit", slot.place, "%zu bytes of shared memory with %s: AMD GPUs have 65536 in a block", all,
          slot.name);
  }
  const std::size_t step = align < 16 ? 16 : align;
  const std::size_t offset = (block.static_end + red_zone + step - 1) / step * step;
  if (offset + size + red_zone > static_size) {
    fault("launch-limit", slot.place, "%s needs %zu bytes of shared memory", slot.name, size);
  }
  char* start = block.arena + offset;
  std::memset(block.arena + block.static_end, red, offset - block.static_end);
  if (settings().poison >= 0) std::memset(start, settings().poison, size);
  std::memset(start + size, red, red_zone);
  block.static_end = offset + size;
  block.used = true;
  shared = {&slot, offset, size};
  return start;
}

void on_block(void (*set)(void*)) { listeners().push_back(set); }

}  // namespace detail
}  // namespace simt
