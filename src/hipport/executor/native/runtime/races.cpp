// SPDX-License-Identifier: Apache-2.0
// Data races, in programs compiled with `-fsanitize=thread` and linked to this runtime instead of TSan's: the compiler
// then calls the functions below for every access except to local variables in registers.
//
// For each word of four bytes the last write and the last reads are recorded, with their threads and times. Two
// accesses of different threads, at least one a write and not both atomic, race unless something orders them: a barrier
// of the block, an operation of lanes in which both took part, the launch. Atomic operations order as well, as in locks
// and "last block" patterns: accesses before one in one thread and after one in another count as ordered. This is
// generous on purpose, so that nothing is reported that a lock may have ordered.
//
// For shared memory it is also recorded which bytes the block has written, because a read before that has any value.
//
// Programs with volatile memory are compiled the same way for another reason, with SIMT_LOCKSTEP defined: code from
// before __syncwarp relies on the lanes of a warp making each such access together. NVIDIA's GPUs did so, and mostly
// still do, and AMD's wavefronts always do. There, lanes converge before each volatile access to shared memory, and no
// races are looked for. A thread that polls other volatile memory lets others run, and need not be interrupted for it
// (watch.cpp).
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <unordered_map>

#include "internal.h"

namespace simt {

bool races_looked_for = false;

namespace {
bool is_instrumented = false, is_in_lockstep = false;
constexpr Operation volatile_access{"an access to volatile shared memory", nullptr};

void together(const void* address, bool writes) {
  if (!runs_kernel() || &worker->stack() == &worker->root) return;
  if (is_in_lockstep && is_shared(address)) {
    // A thread that has only polled one place this often waits, and does not converge with others: meetings would count
    // as progress for ever. A loop that writes between its reads is not such a loop, and others may rely on lockstep
    // with it.
    constexpr unsigned most = 4096;
    if (Thread* self = worker->thread) {
      if (writes || self->looked_at != address) {
        self->looked_at = writes ? nullptr : address;
        self->looks = 0;
      } else if (self->looks == most) {
        return yield({"", 0});
      } else {
        ++self->looks;
      }
    }
    meet_present(volatile_access, nullptr, 0, {"", 0});
    return;
  }
  // A thread that reads one place again and again waits for it to change.
  if (Thread* self = worker->thread) {
    if (self->looked_at == address) {
      if (++self->looks % 64 == 0) yield({"", 0});
    } else {
      self->looked_at = address;
      self->looks = 0;
    }
    return;
  }
  auto& looked = worker->looked;
  if (looked.at == address && std::memcmp(&looked.thread, &threadIdx, sizeof threadIdx) == 0) {
    if (++looked.times % 64 == 0) yield({"", 0});
  } else {
    looked = {address, threadIdx, 0};
  }
}
}  // namespace

namespace detail {
bool in_lockstep() { return is_in_lockstep = true; }
}  // namespace detail

/// The time of an access, for ordering.
struct Access {
  std::uint32_t launch = 0;
  std::uint32_t block = 0;
  std::uint32_t epoch = 0;  // barriers of the block before it
  std::uint32_t clock = 0;  // operations of its warp in which the thread took part before it
  std::uint32_t atomics = 0, block_atomics = 0;  // of the thread and of its block before it
  std::uint16_t rank = 0;
  std::uint8_t bytes = 0;  // which of the four bytes
  bool atomic = false;
  bool looking = false;  // volatile, in global memory
  std::uint8_t word = 0;  // its size, if it cannot be torn: at most eight bytes, and aligned
  void* pc = nullptr;
};

struct Cell {
  Access write;
  Access reads[3];
  std::uint32_t launch = 0, block = 0;  // which last wrote `written`, if this is shared memory
  std::uint8_t written = 0;  // which of the four bytes
};

struct Racing {
  std::uint32_t number = 0, epoch = 1;
  std::vector<std::uint32_t> clock, atomics;
  std::vector<std::uint32_t> seen;  // [rank][lane]: the clock of a lane of its wavefront that a thread has seen
};

namespace {

std::mutex races_mutex;
std::unordered_map<std::uintptr_t, Cell*>& pages() {
  static auto* all = new std::unordered_map<std::uintptr_t, Cell*>;
  return *all;
}
std::uint32_t launch_number = 1;
// Atomic operations by block of the launch: they may order the blocks' accesses before and after them.
std::unordered_map<std::uint32_t, std::uint32_t>& block_atomics() {
  static auto* all = new std::unordered_map<std::uint32_t, std::uint32_t>;
  return *all;
}
std::set<std::pair<void*, void*>>& reported() {
  static auto* all = new std::set<std::pair<void*, void*>>;
  return *all;
}

struct Pending {  // a write that races, unless it writes the same value
  bool is = false;
  const void* address = nullptr;
  unsigned size = 0;
  unsigned char before[16];
  Access mine, theirs;
  std::string what;
};
thread_local Pending pending;

Cell& cell_of(std::uintptr_t word) {
  static thread_local std::uintptr_t last = 0;
  static thread_local Cell* cells = nullptr;
  const std::uintptr_t page = word >> 10;
  if (page != last || cells == nullptr) {
    Cell*& found = pages()[page];
    if (found == nullptr) {
      void* memory = mmap(nullptr, 1024 * sizeof(Cell), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) fault("out-of-memory", {"", 0}, "no memory to look for races: use a smaller problem");
      found = static_cast<Cell*>(memory);
    }
    last = page;
    cells = found;
  }
  return cells[word & 1023];
}

Racing& racing_of(Block& block) {
  if (block.racing == nullptr) block.racing = new Racing;
  Racing& r = *block.racing;
  if (r.clock.size() < block.size) {
    r.clock.resize(block.size, 1);
    r.atomics.resize(block.size, 0);
    r.seen.resize(std::size_t(block.size) * 64, 0);
  }
  return r;
}

bool is_ordered(const Access& a, const Access& now, const Racing& r) {
  if (a.launch != now.launch) return true;
  if (a.block != now.block) {
    return block_atomics()[a.block] > a.block_atomics && now.block_atomics > 0;
  }
  if (a.rank == now.rank || a.epoch < now.epoch) return true;
  const unsigned wave = static_cast<unsigned>(warpSize);
  if (a.rank / wave == now.rank / wave && r.seen[now.rank * std::size_t(64) + a.rank % wave] >= a.clock) return true;
  return r.atomics[a.rank] > a.atomics && now.atomics > 0;
}

std::string who(const Access& a) {
  Path path;
  path.frames[path.depth++] = a.pc;
  std::string text = "thread " + std::to_string(a.rank) + " of block " + std::to_string(a.block);
  const std::string place = user_place(path);
  return place.empty() ? text : text + " at " + place;
}

std::string named(const Access& a, bool writes) {
  return std::string(a.atomic ? "an atomic " : "a ") + (writes ? "write" : "read");
}

/// The kinds of two accesses. An atomic one does not prevent a race: a barrier may be missing between a count and its
/// read. But a kernel may accept either the old or the new value, as union-find algorithms do.
std::string kinds(const Access& first, bool first_writes, const Access& second, bool second_writes) {
  if (first_writes && second_writes && first.atomic == second.atomic) return "two writes";
  std::string text = named(first, first_writes) + " and " + named(second, second_writes);
  const Access& read = first_writes ? second : first;
  const Access& write = first_writes ? first : second;
  const bool in_one = write.atomic && first_writes != second_writes && read.word != 0 && read.word <= write.word;
  return in_one ? text + " of one word (the read gives what it was before or after)" : text;
}

void say(const Access& theirs, const Access& mine, const std::string& what, const void* address) {
  const auto pair = std::minmax(theirs.pc, mine.pc);
  if (reported().size() > 200 || !reported().insert(pair).second) return;
  Path path;
  path.frames[path.depth++] = mine.pc;
  const bool shared = is_shared(address);
  warning_at("race", user_place(path),
             what + " on " + (shared ? "shared" : "global") + " memory without a barrier between: " + who(theirs) +
                 ", then " + who(mine));
}

/// The pending write is done: if it changed nothing, its race is not observable.
void settle_pending() {
  Pending& p = pending;
  if (!p.is) return;
  p.is = false;
  if (std::memcmp(p.address, p.before, p.size) != 0) say(p.theirs, p.mine, p.what, p.address);
}

bool is_index(const void* address) {
  const auto* a = static_cast<const char*>(address);
  const auto inside = [a](const auto& variable) {
    const auto* start = reinterpret_cast<const char*>(&variable);
    return a >= start && a < start + sizeof variable;
  };
  return inside(threadIdx) || inside(detail::row_end) || inside(detail::row_frame) || inside(blockIdx) ||
         inside(blockDim) || inside(gridDim);
}

thread_local bool paused = false;

/// Volatile accesses to global memory are as strong as relaxed atomic ones ("PTX ISA", memory consistency model):
/// blocks communicate by them. Two such writes can still lose one; and accesses to shared memory in lockstep rely on
/// more than the model guarantees.
__attribute__((noinline)) void access(const void* address, unsigned size, bool write, bool atomic, void* pc,
                                      bool is_volatile = false) {
  if (paused) return;
  Worker& w = *worker;
  const auto* a = static_cast<const char*>(address);
  // Local variables, those that the runtime sets between blocks, and its own: indices of the running thread, and
  // meetings, which only lanes that are done read.
  if (&w.stack() == &w.root || w.stack().has(a)) return;
  if (is_index(address) || is_meeting(address)) return;
  const bool looking = is_volatile && !is_shared(address);
  const std::lock_guard<std::mutex> lock(races_mutex);
  settle_pending();
  Block& block = *w.block;
  Racing& r = racing_of(block);
  const unsigned rank = thread_rank();
  // Not on the stack: its remains there would look like progress of waiting threads (standstill.cpp).
  static thread_local Access now;
  now.launch = launch_number;
  now.block = r.number;
  now.epoch = r.epoch;
  now.clock = r.clock[rank];
  now.rank = static_cast<std::uint16_t>(rank);
  now.atomic = atomic;
  now.looking = looking;
  now.word = size <= 8 && reinterpret_cast<std::uintptr_t>(address) % size == 0 ? static_cast<std::uint8_t>(size) : 0;
  now.pc = pc;
  if (atomic || looking) {
    ++r.atomics[rank];
    ++block_atomics()[r.number];
  }
  now.atomics = r.atomics[rank];
  now.block_atomics = block_atomics()[r.number];
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  for (std::uintptr_t word = start / 4; word * 4 < start + size; ++word) {
    unsigned bytes = 0;
    for (unsigned i = 0; i < 4; ++i) {
      if (word * 4 + i >= start && word * 4 + i < start + size) bytes |= 1u << i;
    }
    now.bytes = static_cast<std::uint8_t>(bytes);
    Cell& cell = cell_of(word);
    const bool shared = is_shared(address);
    const auto conflicts = [&](const Access& other) {
      if (shared && other.block != now.block) return false;  // the address is the same, but in another block's memory
      return other.launch == now.launch && (other.bytes & bytes) != 0 && !(other.atomic && atomic) &&
             !is_ordered(other, now, r);
    };
    const auto strong = [](const Access& each) { return each.atomic || each.looking; };
    if (conflicts(cell.write) && (write || !strong(cell.write) || !strong(now))) {
      if (write && size <= 16 && !atomic) {
        pending.is = true;
        pending.address = address;
        pending.size = size;
        std::memcpy(pending.before, address, size);
        pending.theirs = cell.write;
        pending.mine = now;
        pending.what = kinds(cell.write, true, now, true);
      } else {
        say(cell.write, now, kinds(cell.write, true, now, write), address);
      }
    }
    if (write && shared) {
      if (cell.launch != now.launch || cell.block != now.block) cell.written = 0;
      cell.launch = now.launch;
      cell.block = now.block;
      cell.written = static_cast<std::uint8_t>(cell.written | bytes);
    }
    if (write) {
      for (Access& read : cell.reads) {
        if (conflicts(read) && !(strong(read) && strong(now))) say(read, now, kinds(read, false, now, true), address);
      }
      cell.write = now;
      for (Access& read : cell.reads) read.launch = 0;
    } else {
      Access* slot = &cell.reads[0];
      for (Access& read : cell.reads) {
        if (read.launch != now.launch || (read.rank == now.rank && read.block == now.block)) {
          slot = &read;
          break;
        }
        if (read.clock < slot->clock) slot = &read;
      }
      *slot = now;
    }
  }
}

/// Report that a thread reads shared memory of which its block has written no byte. Writes that are not seen here, such
/// as those by functions of the C library, usually change the fill pattern of new memory.
__attribute__((noinline)) void reads(const void* address, unsigned size, void* pc) {
  if (paused || !is_shared(address)) return;
  const auto* held = static_cast<const unsigned char*>(address);
  const auto is_new = [](unsigned char byte) { return byte == settings().poison; };
  if (settings().poison >= 0 && !std::all_of(held, held + size, is_new)) return;
  const std::lock_guard<std::mutex> lock(races_mutex);
  const Racing& r = racing_of(*worker->block);
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  for (unsigned i = 0; i < size; ++i) {
    const Cell& cell = cell_of((start + i) / 4);
    const bool current = cell.launch == launch_number && cell.block == r.number;
    if (current && (cell.written >> (start + i) % 4 & 1) != 0) return;
  }
  if (reported().size() > 200 || !reported().insert({nullptr, pc}).second) return;
  Path path;
  path.frames[path.depth++] = pc;
  warning_at("uninitialized", user_place(path),
             shared_name(address) + " is read where no thread of the block has written it");
}

}  // namespace

void races_start() { races_looked_for = is_instrumented && !is_in_lockstep; }

void races_paused(bool now) { paused = now; }

void races_launch() {
  settle_pending();
  ++launch_number;
  block_atomics().clear();
}

void races_block(Block& block) {
  settle_pending();
  Racing& r = racing_of(block);
  r.number = block.index.x + worker->launch->grid.x * (block.index.y + worker->launch->grid.y * block.index.z);
  r.epoch = 1;
  std::fill(r.clock.begin(), r.clock.end(), 1);
  std::fill(r.atomics.begin(), r.atomics.end(), 0);
  std::fill(r.seen.begin(), r.seen.end(), 0);
}

void races_barrier(Block& block) { ++racing_of(block).epoch; }

void races_meeting(Block& block, unsigned first_rank, std::uint64_t lanes) {
  Racing& r = racing_of(block);
  std::uint32_t most[64] = {};
  for (unsigned i = 0; i < 64; ++i) {
    if ((lanes >> i & 1) == 0) continue;
    const std::uint32_t* seen = &r.seen[(first_rank + i) * std::size_t(64)];
    for (unsigned j = 0; j < 64; ++j) most[j] = std::max(most[j], seen[j]);
    most[i] = std::max(most[i], r.clock[first_rank + i]);
  }
  for (unsigned i = 0; i < 64; ++i) {
    if ((lanes >> i & 1) == 0) continue;
    std::memcpy(&r.seen[(first_rank + i) * std::size_t(64)], most, sizeof most);
    ++r.clock[first_rank + i];
  }
}

}  // namespace simt

// -------------------------------------------------------------------------------- functions that the compiler calls

#define SIMT_HOOKED extern "C" __attribute__((visibility("default")))
#define SIMT_ACCESS(size, write, atomic)             \
  if (simt::races_looked_for && simt::runs_kernel()) \
  simt::access(address, size, write, atomic, __builtin_return_address(0))

SIMT_HOOKED void __tsan_init() { simt::is_instrumented = true; }
SIMT_HOOKED void __tsan_func_entry(void*) {}
SIMT_HOOKED void __tsan_func_exit() {}
SIMT_HOOKED void __tsan_vptr_update(void**, void*) {}
SIMT_HOOKED void __tsan_vptr_read(void**) {}
SIMT_HOOKED void __tsan_read_range(void* address, std::size_t size) {
  SIMT_ACCESS(static_cast<unsigned>(size), false, false);
}
SIMT_HOOKED void __tsan_write_range(void* address, std::size_t size) {
  SIMT_ACCESS(static_cast<unsigned>(size), true, false);
}
// Newer clang calls these instead of the C functions.
SIMT_HOOKED void* __tsan_memset(void* address, int value, std::size_t size) {
  SIMT_ACCESS(static_cast<unsigned>(size), true, false);
  return std::memset(address, value, size);
}
#define SIMT_COPIES(name)                                                         \
  SIMT_HOOKED void* __tsan_##name(void* to, const void* from, std::size_t size) { \
    const void* address = from;                                                   \
    SIMT_ACCESS(static_cast<unsigned>(size), false, false);                       \
    address = to;                                                                 \
    SIMT_ACCESS(static_cast<unsigned>(size), true, false);                        \
    return std::name(to, from, size);                                             \
  }
SIMT_COPIES(memcpy)
SIMT_COPIES(memmove)
SIMT_HOOKED void __tsan_atomic_thread_fence(int order) {
  (void)order;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
SIMT_HOOKED void __tsan_atomic_signal_fence(int) {}

/// Operations that use the old value. An exchange does not count: programs begin with one.
#define SIMT_READS(size) \
  if (simt::races_looked_for && simt::runs_kernel()) simt::reads(address, size, __builtin_return_address(0))

#define SIMT_VOLATILE(size, write)                   \
  simt::together(address, write);                    \
  if (simt::races_looked_for && simt::runs_kernel()) \
  simt::access(address, size, write, false, __builtin_return_address(0), true)
#define SIMT_PLAIN(size)                                                                               \
  SIMT_HOOKED void __tsan_read##size(void* address) {                                                  \
    SIMT_READS(size);                                                                                  \
    SIMT_ACCESS(size, false, false);                                                                   \
  }                                                                                                    \
  SIMT_HOOKED void __tsan_write##size(void* address) { SIMT_ACCESS(size, true, false); }               \
  SIMT_HOOKED void __tsan_unaligned_read##size(void* address) {                                        \
    SIMT_READS(size);                                                                                  \
    SIMT_ACCESS(size, false, false);                                                                   \
  }                                                                                                    \
  SIMT_HOOKED void __tsan_unaligned_write##size(void* address) { SIMT_ACCESS(size, true, false); }     \
  SIMT_HOOKED void __tsan_volatile_read##size(void* address) {                                         \
    SIMT_READS(size);                                                                                  \
    SIMT_VOLATILE(size, false);                                                                        \
  }                                                                                                    \
  SIMT_HOOKED void __tsan_volatile_write##size(void* address) { SIMT_VOLATILE(size, true); }           \
  SIMT_HOOKED void __tsan_unaligned_volatile_read##size(void* address) {                               \
    SIMT_READS(size);                                                                                  \
    SIMT_VOLATILE(size, false);                                                                        \
  }                                                                                                    \
  SIMT_HOOKED void __tsan_unaligned_volatile_write##size(void* address) { SIMT_VOLATILE(size, true); } \
  SIMT_HOOKED void __tsan_read_write##size(void* address) {                                            \
    SIMT_READS(size);                                                                                  \
    SIMT_ACCESS(size, true, false);                                                                    \
  }                                                                                                    \
  SIMT_HOOKED void __tsan_unaligned_read_write##size(void* address) {                                  \
    SIMT_READS(size);                                                                                  \
    SIMT_ACCESS(size, true, false);                                                                    \
  }
SIMT_PLAIN(1)
SIMT_PLAIN(2)
SIMT_PLAIN(4)
SIMT_PLAIN(8)
SIMT_PLAIN(16)

// All with the strongest order, because the requested order is not examined here.
#define SIMT_RMW(bits, type, name, builtin, reads)                                    \
  SIMT_HOOKED type __tsan_atomic##bits##_##name(volatile type* at, type value, int) { \
    void* address = const_cast<type*>(at);                                            \
    reads;                                                                            \
    SIMT_ACCESS(bits / 8, true, true);                                                \
    return builtin(at, value, __ATOMIC_SEQ_CST);                                      \
  }
#define SIMT_ATOMIC(bits, type)                                                                                     \
  SIMT_HOOKED type __tsan_atomic##bits##_load(const volatile type* at, int) {                                       \
    void* address = const_cast<type*>(at);                                                                          \
    SIMT_READS(bits / 8);                                                                                           \
    SIMT_ACCESS(bits / 8, false, true);                                                                             \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                                   \
  }                                                                                                                 \
  SIMT_HOOKED void __tsan_atomic##bits##_store(volatile type* at, type value, int) {                                \
    void* address = const_cast<type*>(at);                                                                          \
    SIMT_ACCESS(bits / 8, true, true);                                                                              \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                                  \
  }                                                                                                                 \
  SIMT_RMW(bits, type, exchange, __atomic_exchange_n, )                                                             \
  SIMT_RMW(bits, type, fetch_add, __atomic_fetch_add, SIMT_READS(bits / 8))                                         \
  SIMT_RMW(bits, type, fetch_sub, __atomic_fetch_sub, SIMT_READS(bits / 8))                                         \
  SIMT_RMW(bits, type, fetch_and, __atomic_fetch_and, SIMT_READS(bits / 8))                                         \
  SIMT_RMW(bits, type, fetch_or, __atomic_fetch_or, SIMT_READS(bits / 8))                                           \
  SIMT_RMW(bits, type, fetch_xor, __atomic_fetch_xor, SIMT_READS(bits / 8))                                         \
  SIMT_RMW(bits, type, fetch_nand, __atomic_fetch_nand, SIMT_READS(bits / 8))                                       \
  SIMT_HOOKED int __tsan_atomic##bits##_compare_exchange_strong(volatile type* at, type* expected, type value, int, \
                                                                int) {                                              \
    void* address = const_cast<type*>(at);                                                                          \
    SIMT_READS(bits / 8);                                                                                           \
    SIMT_ACCESS(bits / 8, true, true);                                                                              \
    return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);             \
  }                                                                                                                 \
  SIMT_HOOKED int __tsan_atomic##bits##_compare_exchange_weak(volatile type* at, type* expected, type value, int,   \
                                                              int) {                                                \
    void* address = const_cast<type*>(at);                                                                          \
    SIMT_READS(bits / 8);                                                                                           \
    SIMT_ACCESS(bits / 8, true, true);                                                                              \
    return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);             \
  }                                                                                                                 \
  SIMT_HOOKED type __tsan_atomic##bits##_compare_exchange_val(volatile type* at, type expected, type value, int,    \
                                                              int) {                                                \
    void* address = const_cast<type*>(at);                                                                          \
    SIMT_READS(bits / 8);                                                                                           \
    SIMT_ACCESS(bits / 8, true, true);                                                                              \
    __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                   \
    return expected;                                                                                                \
  }
SIMT_ATOMIC(8, std::uint8_t)
SIMT_ATOMIC(16, std::uint16_t)
SIMT_ATOMIC(32, std::uint32_t)
SIMT_ATOMIC(64, std::uint64_t)
