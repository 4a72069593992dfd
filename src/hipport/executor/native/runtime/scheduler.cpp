// SPDX-License-Identifier: Apache-2.0
// Which thread runs next.
//
// A block is quiet until one of its threads has to wait: its threads run one after the other on one fiber, and nothing
// is kept of them. The first that waits makes the block loud: each thread gets a record, and whenever one waits, one
// that is ready goes on, or a fresh fiber goes on starting those that are left. Wavefronts are settled as soon as none
// of their lanes can run, a block ends when all have exited, and a block where nothing can run is a deadlock.
//
// Beside this: collectives.cpp (lanes that meet by a mask), convergence.cpp (lanes that meet because none of the
// wavefront can go on), barriers.cpp, blocks.cpp (threads that start and end), launch.cpp (blocks of a launch).
#include "scheduler.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <utility>
#include <vector>

__thread uint3 threadIdx, blockIdx;
__thread dim3 blockDim, gridDim;

namespace simt {

__thread Worker* worker = nullptr;
__thread Started last_launch = Started::yes;

std::uint64_t next_random(std::uint64_t& state) {
  // xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled" (2016).
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1dull;
}

namespace {

void wake(Thread& thread) {
  thread.state = State::ready;
  thread.wait = Wait::none;
  thread.yielding = false;
  worker->block->ready.push(&thread);
}

}  // namespace

void wake_all(List& list) {
  // Records of those that are woken are not touched, where that can be: they say `waiting` until they run.
  Thread* thread = list.first;
  if (settings().order == Settings::Order::random && list.count > 1) {
    static thread_local std::vector<Thread*> all;
    all.clear();
    for (; thread != nullptr; thread = thread->next) all.push_back(thread);
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[next_random(worker->random) % i]);
    for (Thread* each : all) wake(*each);
  } else if (thread != nullptr) {
    worker->block->ready.append(list);
  }
  list = List{};
}

Fiber& take_fiber() {
  if (worker->free == nullptr) worker->free = new_fiber(worker->fibers++);
  Fiber* fiber = worker->free;
  worker->free = fiber->next;
  prepare(*fiber, work);
  return *fiber;
}

void leave_for(Fiber& to) {
  Worker& w = *worker;
  Fiber& stack = w.stack();
  void** save = w.thread != nullptr ? &w.thread->stack : &stack.start;
  w.thread = nullptr;
  w.fiber = &to;
  ++w.switches;
  switch_fibers(stack, save, to, to.start);
}

void leave_for_ready(Worker& w, Block& block) {
  Thread* self = w.thread;
  Fiber& stack = w.stack();
  Thread& next = take_ready(w, block);
  if (&next != self) switch_fibers(stack, self != nullptr ? &self->stack : &stack.start, *next.fiber, next.stack);
}

__attribute__((noinline)) void dispatch() {
  Worker& w = *worker;
  Block& block = *w.block;
  if (block.ready.count != 0 && is_stalled(block) && block.started == block.size) {
    if (!settle_stalled(block)) return leave_for(w.root);  // perhaps another block changes what they wait for
    block.idle = 0;
  }
  if (w.switches >= w.until && block.ready.count != 0) {
    if (block.started != block.size) {
      // What the others wait for may be what one does that has not begun.
      block.patience = std::max<std::uint64_t>(least_patience, block.patience / 2);
      w.until = w.switches + block.patience;
      return leave_for(take_fiber());
    }
    w.until = w.end;
    if (w.switches >= w.end) {
      w.due = true;
      w.until = ~std::uint64_t(0);
      w.share = std::max(least_share, w.share / 2);
    }
  }
  if (w.due && block.ready.count != 0 && block.started == block.size) return leave_for(w.root);
  if (block.ready.count != 0) {
    leave_for_ready(w, block);
  } else {
    leave_for(block.started != block.size ? take_fiber() : w.root);
  }
}

void must_be_kernel(const char* name, Place place) {
  if (!runs_kernel()) fault("not-in-kernel", place, "%s is called on the host", name);
}

__attribute__((noinline)) void make_loud_for(const char* name, Place place) {
  must_be_kernel(name, place);
  make_loud();
}

namespace {

/// The running thread can go on, but lets others.
void let_others(Block& block, Thread& self) {
  self.yielding = true;
  self.state = State::ready;
  block.ready.push(&self);
  if (block.started != block.size) {
    // Those that have not begun are the first to look for what this one waits for.
    leave_for(take_fiber());
  } else {
    dispatch();
  }
  self.yielding = false;
}

}  // namespace

void yield(Place place) {
  if (!runs_kernel()) return;
  Thread& self = waiter("a loop", place);
  Block& block = *worker->block;
  ++block.idle;
  if (++worker->yields > 1024 + 256 * std::uint64_t(block.ready.count)) worker->due = true;
  if (block.ready.count == 0 && block.started == block.size && !is_stalled(block) && !worker->due) return;
  keep_call(self);
  let_others(block, self);
}

void preempt(const Path& path) {
  become_loud();
  Thread& self = *worker->thread;
  Block& block = *worker->block;
  keep_row(self);
  // What it has read of a meeting it may be reading still.
  if (block.paths.size() < block.size) block.paths.resize(block.size);
  block.paths[self.rank] = path;
  self.came = Came::kept;
  self.name = "a loop";
  block.idle += 256 + 64 * std::uint64_t(block.ready.count + 1);
  self.yielding = true;
  // From here on it is known where the thread was; the handler of the signal may not end for long.
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &ending, nullptr);
  let_others(block, self);
}

bool in_kernel() { return worker != nullptr && worker->launch != nullptr; }

std::int64_t clock() {
  if (!in_kernel()) return 0;
  // Loops that wait until so many cycles have passed end after few turns; and others get to run meanwhile.
  return worker->ticks += 1000;
}

bool is_cooperative() { return in_kernel() && worker->launch->cooperative; }

}  // namespace simt
