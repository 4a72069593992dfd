// SPDX-License-Identifier: Apache-2.0
// The blocks of a launch: which ones run, on which threads of the operating system, and when none can continue.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "scheduler.h"

namespace simt {

namespace {

constexpr unsigned most_threads = 1024;

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Block& new_block(Worker& w) {
  if (w.pool.empty()) {
    Block* block = new Block;
    make_arena(*block, w.launch->shared);
    w.pool.push_back(block);
  }
  Block* block = w.pool.back();
  w.pool.pop_back();
  block->size = w.launch->block.x * w.launch->block.y * w.launch->block.z;
  if (block->dynamic_size != w.launch->shared) make_arena(*block, w.launch->shared);
  return *block;
}

/// Continue a block until all its threads have ended or none can run. Called from the root.
Entered enter(Worker& w, Block& block) {
  w.block = &block;
  blockIdx = block.index;
  set_dynamic(block);
  w.due = false;
  w.yields = 0;
  w.end = w.switches + (block.entered ? w.share : std::max(fresh_share, w.share));  // begun blocks take memory
  w.until = block.entered && block.started == block.size ? w.end : w.switches + block.patience;
  if (!block.entered) {
    leave_for(take_fiber());
  } else if (block.ready.count != 0) {
    block.idle = 0;
    leave_for_ready(w, block);
  }
  if (!block.loud) return Entered::done;
  return block.alive == 0 ? Entered::done : Entered::stuck;
}

[[noreturn]] void deadlock(Block& block, bool spins) {
  worker->block = &block;
  worker->thread = nullptr;
  blockIdx = block.index;
  if (spins) fault_if_stuck(block);
  fault_at(spins ? "no-progress" : "deadlock", place_of_one(block),
           (spins ? "threads wait for a value that is never written"
                  : "all remaining threads wait, and none of them for a thread that could still arrive") +
               waiting_text(block));
}

/// Nothing of a launch has made progress for long. If lanes wait for spinning lanes of their wavefront, let them
/// continue: then it shows whether the spinning ones wait for them.
bool look_behind_waits(Worker& w, const std::vector<Block*>& resident) {
  bool any = false;
  for (Block* block : resident) {
    w.block = block;
    w.thread = nullptr;
    any = open_stuck_regions(*block) || any;
  }
  return any;
}

bool at_grid_barrier(const Block& block) { return block.grid.count != 0 && block.grid.count == block.alive; }

void run_blocks(Worker& w) {
  constexpr std::size_t most_resident = 4096;
  std::vector<Block*> resident;
  uint3 index;
  bool more = true;
  double since = 0;
  Standstill standstill;
  w.resident = w.launch->cooperative;
  for (;;) {
    // A new block, if every other only waits, or if all must be resident at once.
    if (more && (resident.empty() || w.resident)) {
      more = resident.size() < most_resident && take_block(w, index);
      if (more) {
        Block& block = new_block(w);
        w.block = &block;
        reset(block, index);
        if (enter(w, block) == Entered::stuck) {
          if (block.ready.count == 0 && block.grid.count == 0 && !open_regions(block)) deadlock(block, false);
          resident.push_back(&block);
          w.resident = true;
        } else {
          if (block.used) end_arena(block);
          w.pool.push_back(&block);
        }
        since = 0;
        standstill.begin();
        continue;
      }
    }
    if (resident.empty()) break;
    bool progress = false, fewer = false;
    if (!more && w.launch->cooperative &&
        std::all_of(resident.begin(), resident.end(), [](Block* b) { return at_grid_barrier(*b); })) {
      if (races_looked_for) races_launch();  // a launch orders the accesses of all blocks
      for (Block* block : resident) {
        w.block = block;
        for (Thread* t = block->grid.first; t != nullptr; t = t->next) ++wave_of(*block, *t).busy;
        block->idle = 0;
        wake_all(block->grid);
      }
      progress = true;
    }
    for (std::size_t i = 0; i < resident.size(); ++i) {
      Block& block = *resident[i];
      if (block.ready.count == 0) {
        if ((block.grid.count == 0 || (!more && !at_grid_barrier(block))) && !open_regions(block))
          deadlock(block, false);
        continue;
      }
      const unsigned alive = block.alive;
      if (enter(w, block) == Entered::done) {
        if (block.used) end_arena(block);
        w.pool.push_back(&block);
        resident.erase(resident.begin() + static_cast<std::ptrdiff_t>(i--));
        progress = fewer = true;
      } else if (block.alive != alive) {
        progress = fewer = true;
      } else if (block.ready.count == 0 || !is_stalled(block)) {
        progress = true;
      }
    }
    if (w.watched.samples != 0 && !spins(w)) progress = true;  // it computes, as far as can be seen
    const double time = now();
    // If lanes wait for each other, that is examined sooner: if it was too soon, they continue.
    const bool held = std::any_of(resident.begin(), resident.end(), [](Block* b) { return is_any_held(*b); });
    const double patience = held ? settings().watchdog / 4 : settings().watchdog;
    bool in_vain = false;
    if (progress) {
      since = 0;
    } else if (since == 0) {
      since = time;
    } else {
      in_vain = time - since > patience;
    }
    if (fewer) {
      standstill.begin();
    } else if (!in_vain && standstill.is_seen(w, resident, time, patience)) {
      in_vain = true;
    }
    if (in_vain) {
      if (!look_behind_waits(w, resident)) deadlock(*resident.front(), true);
      since = 0;
      standstill.begin();
    }
    if (resident.empty() && !w.launch->cooperative) w.resident = false;
  }
}

std::mutex workers_mutex;
std::vector<Worker*> idle_workers;

/// A worker for this thread of the operating system: those of ended threads are reused, with their stacks.
/// stacks.
Worker& take_worker() {
  const std::lock_guard<std::mutex> lock(workers_mutex);
  if (idle_workers.empty()) {
    idle_workers.push_back(new Worker);
    idle_workers.back()->random = settings().seed * 0x9e3779b97f4a7c15ull + 0x1234567;
  }
  Worker& w = *idle_workers.back();
  idle_workers.pop_back();
  const Fiber& own = own_stack();
  w.root.low = own.low;
  w.root.size = own.size;
  return w;
}

void run_on(const Launch& how, detail::Run body, void* context, std::atomic<std::uint64_t>& next,
            std::uint64_t blocks) {
  Worker& w = take_worker();
  w.launch = &how;
  w.body = body;
  w.context = context;
  w.next_block = &next;
  w.blocks = blocks;
  w.fiber = &w.root;
  w.thread = nullptr;
  w.order.clear();
  const unsigned size = how.block.x * how.block.y * how.block.z;
  if (settings().order != Settings::Order::forward) {
    for (unsigned i = 0; i < size; ++i) {
      w.order.push_back(settings().order == Settings::Order::reverse ? size - 1 - i : i);
    }
  }
  blockDim = how.block;
  gridDim = how.grid;
  if (races_looked_for) races_launch();
  Worker* before = worker;
  worker = &w;
  w.watched = Worker::Watched{};
  w.share = races_looked_for ? fresh_share : most_share;  // then a switch takes many times as long
  begin_watch();
  run_blocks(w);
  end_watch();
  worker = before;
  w.launch = nullptr;
  const std::lock_guard<std::mutex> lock(workers_mutex);
  idle_workers.push_back(&w);
}

std::atomic<std::uint64_t> launches{0};

}  // namespace

/// The number of launches, for a process that loads the library: a case without a kernel launch shows nothing.
extern "C" SIMT_EXPORT std::uint64_t simt_launches() { return launches; }

namespace detail {

Started run(const Launch& how, Run body, void* context) {
  const std::uint64_t number = launches++;
  if (number == 0) races_start();
  const auto product = [](const dim3& d) { return std::uint64_t(d.x) * d.y * d.z; };
  Started started = Started::yes;
  const std::uint64_t threads = product(how.block), blocks = product(how.grid);
  if (threads == 0 || threads > most_threads || blocks == 0 || how.block.z > (dialect_is(Dialect::hip) ? 1024u : 64u) ||
      how.grid.y > 65535 || how.grid.z > 65535 || how.grid.x > 0x7fffffffu ||
      (dialect_is(Dialect::hip) && std::uint64_t(how.grid.x) * how.block.x > 0xffffffffull)) {
    started = Started::invalid_configuration;
    warning(
        "launch-limit", how.place,
        "%s is not started: a grid of %u x %u x %u blocks of %u x %u x %u threads (a block has 1 to 1024 threads, on "
        "NVIDIA at most 64 in z; a grid at most 2147483647 x 65535 x 65535 blocks%s)",
        how.name, how.grid.x, how.grid.y, how.grid.z, how.block.x, how.block.y, how.block.z,
        dialect_is(Dialect::hip) ? ", on AMD less than 2^32 threads in x" : "");
  } else if (how.shared > (dialect_is(Dialect::hip) ? 65536u : 232448u)) {
    started = Started::shared_too_large;
    warning("launch-limit", how.place, "%s is not started: %zu bytes of dynamic shared memory, of at most %u", how.name,
            how.shared, dialect_is(Dialect::hip) ? 65536u : 232448u);
  } else if (recordings != 0 && reinterpret_cast<std::uintptr_t>(how.stream) <= 1 &&
             refused_by_recordings(Unrecorded::launch) != 0) {
    started = Started::while_captured;
  } else if (in_kernel()) {
    fault("launch-in-kernel", how.place,
          "a kernel launches the kernel %s: neither the executor nor AMD GPUs can do this", how.name);
  } else {
    std::atomic<std::uint64_t> next{0};
    const int most =
        how.cooperative
            ? 1
            : static_cast<int>(std::min<std::uint64_t>(blocks, static_cast<std::uint64_t>(settings().threads)));
    std::vector<std::thread> others;
    for (int i = 1; i < most; ++i) {
      others.emplace_back([&] { run_on(how, body, context, next, blocks); });
    }
    run_on(how, body, context, next, blocks);
    for (std::thread& other : others) other.join();
  }
  if (settings().trace != nullptr) trace(how, started, number);
  return started;
}

}  // namespace detail

}  // namespace simt
