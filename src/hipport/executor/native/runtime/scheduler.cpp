// SPDX-License-Identifier: Apache-2.0
// Which thread runs next.
//
// A block is quiet until one of its threads has to wait: its threads run one after the other on one fiber, and no state
// is recorded for them. The first one that waits makes the block loud: each thread gets a record, and whenever one
// waits, a ready one continues, or a fresh fiber starts the remaining threads. Wavefronts are settled as soon as none
// of their lanes can run, a block ends when all have exited, and a block in which nothing can run is a deadlock.
//
// Related files: collectives.cpp (lanes that meet by a mask), convergence.cpp (lanes that meet because none of the
// wavefront can continue), barriers.cpp, blocks.cpp (threads that start and end), launch.cpp (blocks of a launch).
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
  // Records of woken threads are not accessed, if possible: they say `waiting` until they run.
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
    if (!settle_stalled(block)) return leave_for(w.root);  // another block may change what they wait for
    block.idle = 0;
  }
  if (w.switches >= w.until && block.ready.count != 0) {
    if (block.started != block.size) {
      // The others may wait for the action of a thread that has not started.
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

/// The running thread could continue, but lets others run.
void let_others(Block& block, Thread& self) {
  self.yielding = true;
  self.state = State::ready;
  block.ready.push(&self);
  if (block.started != block.size) {
    // Threads that have not started are the first candidates for what this one waits for.
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
  // It may still read from its last meeting.
  if (block.paths.size() < block.size) block.paths.resize(block.size);
  block.paths[self.rank] = path;
  self.came = Came::kept;
  self.name = "a loop";
  block.idle += 256 + 64 * std::uint64_t(block.ready.count + 1);
  self.yielding = true;
  // From here on the thread's place is known; the signal handler may not end for long.
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &ending, nullptr);
  let_others(block, self);
}

bool in_kernel() { return worker != nullptr && worker->launch != nullptr; }

std::int64_t clock() {
  if (!in_kernel()) return 0;
  // Loops that wait for a number of cycles end after few iterations; and others run meanwhile.
  return worker->ticks += 1000;
}

bool is_cooperative() { return in_kernel() && worker->launch->cooperative; }

}  // namespace simt
