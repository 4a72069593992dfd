// SPDX-License-Identifier: Apache-2.0
// Loops that wait and reach an operation of lanes or a barrier in each iteration: `while (!__any_sync(mask, *flag));`.
// Threads then switch without end, and each meeting looks like progress. So from time to time everything is examined on
// which a thread's progress may depend: the threads' stacks, which hold everything that they need after a wait, and the
// device's memory. If only a few states of each thread are seen for as long as SIMT_WATCHDOG, and the memory does not
// change, nothing will ever change.
//
// If that cannot be known, progress is assumed: a thread counts, asks for the time, or kernels may use host memory that
// is not examined. Stores to memory from a kernel's own malloc are not seen.
#include <link.h>

#include <algorithm>
#include <cstring>

#include "../include/simt/host.h"
#include "internal.h"

namespace simt {
namespace {

constexpr unsigned samples_wanted = 24;
constexpr std::size_t most_states = 8;  // of a thread: it may wait at several places of the loop

std::uint64_t hash_of(std::uint64_t hash, const void* memory, std::size_t size) {
  const auto* at = static_cast<const unsigned char*>(memory);
  for (; size >= 8; at += 8, size -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  }
  for (; size != 0; ++at, --size) hash = (hash ^ *at) * 0x100000001b3ull;
  return hash;
}

/// Variables of the program or library that contains the kernel.
struct Variables {
  std::uintptr_t code;
  std::uint64_t hash;
};
int add_variables(dl_phdr_info* info, std::size_t, void* raw) {
  auto& variables = *static_cast<Variables*>(raw);
  const auto all_of = [info](auto visit) {
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) visit(info->dlpi_phdr[i]);
  };
  bool has_it = false;
  all_of([&](const auto& part) {
    const std::uintptr_t start = info->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && variables.code - start < part.p_memsz) has_it = true;
  });
  if (!has_it) return 0;
  all_of([&](const auto& part) {
    const auto* start = reinterpret_cast<const void*>(info->dlpi_addr + part.p_vaddr);
    const bool is_written = part.p_type == PT_LOAD && (part.p_flags & PF_W) != 0;
    if (is_written) variables.hash = hash_of(variables.hash, start, part.p_memsz);
    if (part.p_type == PT_TLS && info->dlpi_tls_data != nullptr) {
      variables.hash = hash_of(variables.hash, info->dlpi_tls_data, part.p_memsz);
    }
  });
  return 1;
}

std::uint64_t memory_of(const Worker& w, const std::vector<Block*>& resident) {
  Variables variables{reinterpret_cast<std::uintptr_t>(w.body), static_cast<std::uint64_t>(w.ticks)};
  dl_iterate_phdr(add_variables, &variables);
  std::uint64_t hash = variables.hash;
  for (const Known& each : live()) hash = hash_of(hash, each.allocation.start, each.allocation.size);
  for (const Block* block : resident) {
    hash = hash_of(hash, block->arena, block->static_end);
    hash = hash_of(hash, block->dynamic, block->dynamic_size);
  }
  return hash;
}

}  // namespace

void Standstill::begin() {
  states_.clear();
  samples_ = 0;
  since_ = 0;
}

bool Standstill::is_seen(const Worker& w, const std::vector<Block*>& resident, double now, double seconds) {
  // The time is checked first, because this is called in every round, and the rest takes longer than a round of
  // spinning.
  if (now < next_) return false;
  const bool first = next_ == 0;
  next_ = now + seconds / samples_wanted;
  // Stacks can be examined only if threads leave them by a plain switch.
  if (first || !switches_are_plain() || host::host_memory_is_device() || host::is_any_registered()) return false;
  if (since_ == 0) since_ = now;
  if (samples_++ == 0) memory_ = memory_of(w, resident);
  for (const Block* block : resident) {
    if (!block->loud) return begin(), false;
    for (const Thread& thread : block->threads) {
      if (thread.rank >= block->size || thread.state == State::exited || thread.state == State::unstarted) continue;
      const auto *top = static_cast<const char*>(thread.stack), *base = static_cast<const char*>(thread.base);
      if (thread.fiber == nullptr || !thread.fiber->has(top) || base < top) return begin(), false;
      auto& seen = states_[{block, thread.rank}];
      const std::uint64_t state = hash_of(0, top, static_cast<std::size_t>(base - top));
      if (std::find(seen.begin(), seen.end(), state) != seen.end()) continue;
      if (seen.size() == most_states) return begin(), false;
      seen.push_back(state);
    }
  }
  if (samples_ < samples_wanted || now - since_ < seconds) return false;
  if (memory_of(w, resident) == memory_) return true;
  begin();
  return false;
}

}  // namespace simt
