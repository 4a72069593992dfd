// SPDX-License-Identifier: Apache-2.0
// Declarations that the parts of the runtime share.
#ifndef SIMT_RUNTIME_INTERNAL_H
#define SIMT_RUNTIME_INTERNAL_H

#include <ucontext.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#ifndef SIMT_RUNTIME
#define SIMT_RUNTIME
#endif
#include "../include/simt/core.h"
#include "fiber.h"

/// For variables of the runtime alone: accessed directly, not through the table of symbols that a program may replace.
#define SIMT_OWN __attribute__((visibility("hidden")))

namespace simt {

/// The settings in SIMT_* environment variables, read once.
struct Settings {
  int wave = 32;
  enum class Order { forward, reverse, random } order = Order::forward;
  std::uint64_t seed = 0;
  int threads = 1;
  int poison = 0xff;  // the byte that fills new memory; -1: none
  bool minimal = false;  // lanes that meet by chance continue in parts
  const char* report = nullptr;
  const char* trace = nullptr;
  double watchdog = 20;  // seconds without progress
};
/// Null until they are read. A pointer needs no constructor, and units ask for settings before main begins.
extern SIMT_OWN const Settings* settings_kept;
const Settings& read_settings();
inline const Settings& settings() { return settings_kept != nullptr ? *settings_kept : read_settings(); }

/// Whether lanes run as CUDA's (independently) or as AMD's (a wavefront together): the dialect of the compiled program.
/// Every unit of a program defines a variable that reports it; see `compiled_as`.
extern SIMT_OWN Dialect compiled_dialect;
inline bool dialect_is(Dialect dialect) { return compiled_dialect == dialect; }
/// The logarithm of the wavefront size, which is needed all the time.
extern SIMT_OWN unsigned wave_shift;

/// Return addresses, innermost first, of the frames between the caller and `base`.
struct Path {
  static constexpr unsigned most = 30;
  unsigned depth = 0;
  void* frames[most];
};
/// A hash of the path of `call`, in a function with this frame, equal for all threads that arrive on it. The kernel may
/// be inlined into the function with the frame `row`, that of a row: frames further out are equal for all, and are
/// ignored.
inline std::uint64_t path_hash(const void* call, const void* frame, const void* row) {
  std::uint64_t hash = reinterpret_cast<std::uintptr_t>(call) * 0x9e3779b97f4a7c15ull;
  for (auto *at = static_cast<void* const*>(frame), *end = static_cast<void* const*>(row); at < end;) {
    hash = (hash ^ reinterpret_cast<std::uintptr_t>(at[1])) * 0x9e3779b97f4a7c15ull;
    auto* up = static_cast<void* const*>(at[0]);
    if (up <= at) break;
    at = up;
  }
  return hash;
}

enum class State : std::uint8_t { unstarted, ready, running, waiting, exited };
enum class Wait : std::uint8_t { none, masked, present, barrier, arrived, named, grid, loop };
/// Whether a waiting thread's path is known: from a call, or saved where a signal interrupted the thread.
enum class Came : std::uint8_t { unknown, called, kept };

/// A compact threadIdx: a block has at most 1024 threads.
struct Index {
  std::uint16_t x = 0, y = 0, z = 0;
  operator uint3() const { return uint3{x, y, z}; }
};

struct Thread;

/// The fields that every wait of a thread accesses: one cache line.
struct WaitRecord : detail::Left {
  Thread* next = nullptr;  // in a list of threads that are ready, or wait together
  void* row = nullptr;  // the frame of the function that called it; see `path_hash`
  const char* name = nullptr;  // of the operation in which it waits
  const char* file = "";  // and its place
  int line = 0;
  Index index;
  std::uint16_t rank = 0;
  std::uint8_t lane = 0;
  State state = State::unstarted;
  Wait wait = Wait::none;
  bool predicate = false;
};
static_assert(sizeof(WaitRecord) == 64, "what every wait touches is in one line of the cache");

struct alignas(64) Thread : WaitRecord {
  // If the path on which it arrived is known: the call, the frame of the function with the call, and a hash that is
  // equal for all threads on the same path.
  void* call = nullptr;
  void* frame = nullptr;
  void* base = nullptr;  // that of its stack
  std::uint64_t path_hash = 0;
  const Operation* operation = nullptr;
  Fiber* fiber = nullptr;
  int number = 0;
  Came came = Came::unknown;
  bool yielding = false;
  const void* looked_at = nullptr;  // volatile memory, last read; see races.cpp
  unsigned looks = 0;

  std::uint64_t bit() const { return std::uint64_t(1) << lane; }
  Place place() const { return {file, line}; }
};

/// A list of threads, first in first out.
struct List {
  Thread* first = nullptr;
  Thread* last = nullptr;
  unsigned count = 0;
  void push(Thread* thread) {
    thread->next = nullptr;
    (last ? last->next : first) = thread;
    last = thread;
    ++count;
  }
  void append(const List& other) {
    (last ? last->next : first) = other.first;
    last = other.last;
    count += other.count;
  }
  Thread* pop() {
    Thread* thread = first;
    first = thread->next;
    if (first == nullptr) last = nullptr;
    --count;
    return thread;
  }
};

struct Shared {
  SharedSlot* slot;
  std::size_t offset, size;
};

struct Racing;

/// One block of a launch, while it runs.
struct Block {
  uint3 index{};
  unsigned size = 0, waves = 0;
  dim3 shape{0, 0, 0};  // for which `threads` has the indices
  std::vector<Thread> threads;
  std::vector<Path> paths;  // of threads whose path was saved

  bool loud = false;  // whether `threads` is maintained
  bool used = false;  // whether it has shared memory to check and to clear
  bool entered = false;
  unsigned position = 0;  // of the last started thread, in the order of starting
  unsigned started = 0;  // started threads, while loud
  unsigned alive = 0;
  List ready;
  std::uint64_t idle = 0;  // yields since the last progress
  std::uint64_t patience = 0;  // switches after which a new thread starts although others can continue

  List barrier;
  int count = 0, all = 1;
  Votes votes{};
  Place barrier_place{"", 0};
  bool apart = false;  // whether threads wait in barriers on several lines
  /// Where each thread was at the last barrier that was opened so: see `passed_by`.
  struct Passed {
    Place place{"", 0};
    unsigned number = 0;  // the number of that barrier among such barriers; 0: none
  };
  std::vector<Passed> passed;
  unsigned times_apart = 0;
  struct Named {
    List list;
    int wanted = 0;  // the number of threads, from its first caller; 0: all
    /// For each wavefront that has arrived: how often all of it arrived, and the lanes since.
    struct Came {
      unsigned wave = 0, times = 0;
      std::uint64_t lanes = 0;
    };
    std::vector<Came> came;
  };
  Named named[16];
  bool names_barriers = false;  // whether any of these has been used
  List grid;

  // Shared memory: static memory grows from the start, dynamic memory ends at the guard page.
  char* arena = nullptr;
  std::size_t dynamic_size = 0;
  char* dynamic = nullptr;
  std::vector<Shared> slots;  // by the number of the slot; size 0: not used by this block
  std::size_t static_end = 0, static_bytes = 0;

  struct Group {
    const Operation* operation;
    std::uint64_t mask, arrived;
    Meeting* meeting;
    List list;
  };
  /// A statement in which lanes wait for memory, and the lanes that entered it together: see `leave_loop`.
  struct Region {
    Place place{"", 0};
    std::uint64_t inside = 0;
    List left;  // lanes that wait for those inside
    List aside;  // lanes that wait in a branch for those in an earlier one
    std::uint8_t side[64] = {};  // the branch that each lane has taken, plus 1; 0 if unknown
    bool backwards = false;  // whether branches run from the last in the text to the first
    bool open = false;  // whether no lane waits in it any more
    std::uint64_t stuck = 0;  // the lanes that waited for memory when nothing made progress, so that it was opened
    std::string held, where;  // the lanes that waited for those, and the places of all
  };
  struct alignas(64) Wave {
    std::uint64_t alive = 0;
    unsigned busy = 0;  // lanes that run, can run, or have not started
    bool together = false;  // whether the waiting lanes arrived on one path at one operation
    std::uint64_t lanes = 0;  // these lanes; and their votes, in a barrier
    int count = 0, all = 1;
    // If together: what they wait in, and how they arrived.
    Wait wait = Wait::none;
    const Operation* operation = nullptr;
    std::uint64_t path_hash = 0;
    List present;  // lanes that wait for the active lanes
    Meeting* given = nullptr;  // their values
    std::vector<Group> groups;
    std::vector<Region*> regions;
  };
  std::vector<Wave> wave;
  Racing* racing = nullptr;  // see races.cpp
};

enum class Entered { done, stuck };

/// The state of one thread of the operating system that runs blocks.
struct Worker {
  const Launch* launch = nullptr;
  detail::Run body = nullptr;
  void* context = nullptr;
  std::atomic<std::uint64_t>* next_block = nullptr;
  std::uint64_t blocks = 0;

  Fiber root;
  Fiber* fiber = &root;  // the running one, or the one before the running thread
  Fiber* free = nullptr;
  unsigned fibers = 0;
  Block* block = nullptr;
  Thread* thread = nullptr;  // the running thread, while the block is loud
  Path current;  // of the running thread, if a signal interrupted it
  std::vector<Block*> pool;
  std::vector<Meeting*> meetings;  // free ones
  std::vector<unsigned> order;  // ranks in the order of starting; empty: forward
  std::uint64_t random = 1;
  std::int64_t ticks = 0;
  std::uint64_t switches = 0;
  // A block that polls may never be stalled: each iteration of its loop reaches a shuffle or a barrier. So a block that
  // has yielded often, or switched often, lets other blocks run, and starts further threads. This is counted, not
  // timed, so that blocks alternate in the same order in each run.
  bool due = false;
  std::uint64_t yields = 0;  // since a block was entered
  std::uint64_t until = 0;  // the number of switches at which that is checked
  std::uint64_t end = 0;  // and at which the block's share ends
  std::uint64_t share = 0;  // the share of a block that has run before, in switches
  struct Watched {  // see watch.cpp
    std::uint64_t switches = 0;
    uint3 thread{}, block{};
    double since = 0;  // the processor time in seconds since that thread runs
    std::uint64_t stay = 0;  // how often it was found running since
    std::vector<std::uint64_t> stays;  // and the states in which it was
    std::uint64_t samples = 0;
    std::vector<std::uint64_t> states;
    std::vector<const void*> waits;  // the places where threads were found to wait
  } watched;
  struct Looked {  // the last read of volatile memory: see races.cpp
    const void* at = nullptr;
    uint3 thread{};
    unsigned times = 0;
  } looked;
  /// The current stack.
  Fiber& stack() { return thread != nullptr ? *thread->fiber : *fiber; }
  bool resident = false;  // several blocks at a time: each returns to the root when it ends or is stuck
};

extern __thread Worker* worker;
inline bool runs_kernel() { return worker != nullptr && worker->launch != nullptr; }

// blocks.cpp
/// Start to record the state of each thread of the running block.
void make_loud();
inline void become_loud() {
  if (!worker->block->loud) make_loud();
}

// scheduler.cpp
/// Let others of the block run, from a signal handler; `path` is where the running thread was.
void preempt(const Path& path);

// waiting_threads.cpp
/// End with a fault that reports where all threads of the running block are.
[[noreturn]] void stop_here(const char* kind, const char* message);

// standstill.cpp
/// Detects that blocks repeat the same states: see there.
class Standstill {
 public:
  /// There is progress, or may be.
  void begin();
  /// Whether nothing has changed for that long; called when all threads have left their stacks.
  bool is_seen(const Worker&, const std::vector<Block*>& resident, double now, double seconds);

 private:
  std::map<std::pair<const Block*, unsigned>, std::vector<std::uint64_t>> states_;
  unsigned samples_ = 0;
  double since_ = 0, next_ = 0;
  std::uint64_t memory_ = 0;
};

// watch.cpp
void begin_watch();
void end_watch();
/// Whether the interrupted threads only repeat a few states.
bool spins(const Worker&);

// races.cpp
extern bool races_looked_for;
/// Determine it, when all units have reported how they were compiled.
void races_start();
void races_paused(bool);  // while an operation is done for all of its lanes
void races_launch();
void races_block(Block&);
void races_barrier(Block&);
void races_meeting(Block&, unsigned first_rank, std::uint64_t lanes);

// collectives.cpp
/// Whether an address is in a meeting: memory of the runtime that lanes of all blocks read.
bool is_meeting(const void*);

// shared.cpp
void make_arena(Block&, std::size_t dynamic);
/// Fault on writes past a variable, and clear the block's state.
void end_arena(Block&);
void set_dynamic(Block&);
/// The variable of the running block at an address in its shared memory, in words.
std::string shared_name(const void*);

// memory.cpp
struct Known {
  Allocation allocation;
  std::uint64_t number;
  char* mapping;
  std::size_t mapped;
  bool suspended = false;
};
/// The allocation that contains `address` in its guard pages or memory, also one that was released.
bool explain(const void* address, char* text, std::size_t size);
/// All live allocations in order of creation.
std::vector<Known> live();

// trace.cpp
void trace(const Launch&, Started, std::uint64_t number);

// faults.cpp
void install_handlers();
/// The user's call: the innermost frame of `path` outside hipport's own headers; "" if unknown.
std::string user_place(const Path& path);
void capture(Path&, void* base);
/// Add the return addresses from `frame` on.
void walk(Path&, void* frame, void* base);
/// The same for a thread that a signal interrupted; the first address is one past its instruction.
void path_of(Path&, const ucontext_t&, void* base);
void warning_at(const char* kind, const std::string& place, const std::string& message);
[[noreturn]] void fault_at(const char* kind, const std::string& place, const std::string& message);
[[noreturn]] void fault_with(const char* kind, Place place, const std::string& message);

}  // namespace simt

#endif
