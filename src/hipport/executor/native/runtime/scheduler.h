// SPDX-License-Identifier: Apache-2.0
// Declarations that the files of the scheduler share: see scheduler.cpp. Code that every operation of a lane runs is
// inline.
#ifndef SIMT_RUNTIME_SCHEDULER_H
#define SIMT_RUNTIME_SCHEDULER_H

#include <cstdint>
#include <string>
#include <vector>

#include "internal.h"

namespace simt {

// After so many switches of a block's threads, a new thread starts although others can continue, and another block
// runs: about a millisecond, and half a second, if they do nothing else. A block that has waited in vain gets less.
constexpr std::uint64_t most_patience = 1 << 16, least_patience = 1 << 8;
constexpr std::uint64_t most_share = 1 << 24, fresh_share = 1 << 18, least_share = 1 << 16;

inline Block::Wave& wave_of(Block& block, const Thread& thread) { return block.wave[thread.rank >> wave_shift]; }
inline unsigned ordered(unsigned position) { return worker->order.empty() ? position : worker->order[position]; }

/// Whether all threads that could run have yielded in vain for many rounds.
inline bool is_stalled(const Block& block) { return block.idle > 256 + 64 * std::uint64_t(block.ready.count); }

// waiting_threads.cpp
/// The path on which a thread came to its wait, as far as it is known.
Path path_of(const Block&, const Thread&);
/// "threads 0-3, 7", for one: "thread 7".
std::string numbers_text(const char* what, const std::vector<unsigned>& ranks);
/// The waiting threads, one line for each place.
std::string waiting_text(Block&);
/// The user's place where one of the threads waits, or else is, for the place of a fault.
std::string place_of_one(const Block&);

// scheduler.cpp
std::uint64_t next_random(std::uint64_t& state);
/// Wake a list in its order, or shuffled if the order is random: who continues first after a barrier is open.
void wake_all(List&);
Fiber& take_fiber();
/// Leave the running stack for the start of `to`; the root continues where it was left. The waiting thread is not
/// running.
void leave_for(Fiber& to);
/// Leave the running stack for a ready thread.
void leave_for_ready(Worker&, Block&);
/// Run other threads while the running one cannot or will not run. Returns when that thread is to continue.
void dispatch();
void must_be_kernel(const char* name, Place);
void make_loud_for(const char* name, Place);

// collectives.cpp
Meeting* open_meeting(std::uint64_t mask);
void keep_meeting(Meeting*);
bool same_place(const Place&, const Place&);
/// Operations are the same if they have the same name: every instantiation of a template has its own object.
bool same_operation(const Operation*, const Operation*);
/// Do the operation for the lanes that have met.
void finish(Block&, const Thread& one, Meeting&, const Operation&, std::uint64_t lanes);
/// Let the lanes of a mask continue if all remaining ones have arrived; return whether there were such lanes.
bool settle_masked(Block&, Block::Wave&);

// convergence.cpp
/// Whether lanes in an operation wait only for lanes that will reach it, and not for those that spin.
bool is_of_loops(const Operation*);
/// No lane of the wavefront can run: let the lanes continue that arrived together on the first path. Also, if some
/// spin, the lanes at loops.
bool settle_present(Block&, Block::Wave&, bool at_loops = false);
/// All threads that could run only poll: let lanes continue that would wait for those.
bool settle_stalled(Block&);
/// Stop waiting for lanes in statements in which they wait for memory; return whether any lane waited.
bool open_regions(Block&, Block::Wave&);
bool open_regions(Block&);
/// Fault if the running thread's stack is nearly full at a statement that makes lanes converge.
void look_for_recursion(const Block::Wave&, Place);
/// Fault if lanes were let go for that reason, and those that waited for memory still wait.
void fault_if_stuck(const Block&);
/// Whether lanes wait at such statements.
bool is_any_held(const Block&);
/// Stop waiting at such statements, because nothing makes progress: then it is a fault if a lane that waits for memory
/// continues.
bool open_stuck_regions(Block&);
/// A lane has left such a statement. Returns whether no lane is in it; its record is deleted then.
bool is_left(Block&, Block::Wave&, Block::Region&, std::uint64_t lane);

// barriers.cpp
/// The number of threads that a named barrier counts.
unsigned arrived(const Block&, const Block::Named&);
/// Report that a thread is at another barrier than those that arrived before, if it is.
void meets_elsewhere(Block&, const Thread&);
/// All lanes of a wavefront arrive at the block's barrier, by one call.
void arrive_together(Block&, const Block::Wave&, const List&);
/// Whether all remaining threads are at the block's barrier, or have arrived and continued (`bar.arrive 0`).
bool all_arrived(const Block&);
void release_barrier(Block&);
/// Open the numbered barriers at which all expected threads have arrived.
void open_all_named(Block&);

// blocks.cpp
/// Take the next block of the launch; false if there is none.
bool take_block(Worker&, uint3& index);
void reset(Block&, const uint3& index);
/// The main function of a fiber: runs the threads of the block, one after the other.
[[noreturn]] void work();

/// A thread that continues has finished reading its last meeting.
inline void forget_meeting(Thread& thread) {
  if (thread.met != nullptr && --thread.met->readers == 0) keep_meeting(thread.met);
  thread.met = nullptr;
}

/// Make a ready thread the running one.
inline Thread& take_ready(Worker& w, Block& block) {
  Thread& next = *block.ready.pop();
  next.state = State::running;
  w.thread = &next;
  threadIdx = next.index;
  ++w.switches;
  return next;
}

/// The running thread waits, as its record says: return where to continue if only a switch is left to do; else it has
/// been woken already.
inline detail::Turn turn(Block& block, Thread& self) {
  Worker& w = *worker;
  if (!switches_are_plain() || block.idle > 256 || w.due || w.switches >= w.until) {
    dispatch();
    return {&self, nullptr};
  }
  if (block.ready.count == 0) {
    Fiber& to = block.started != block.size ? take_fiber() : w.root;
    w.thread = nullptr;
    w.fiber = &to;
    ++w.switches;
    return {&self, to.start};
  }
  Thread& next = take_ready(w, block);
  if (block.ready.first != nullptr) expect(block.ready.first->stack);
  return {&self, &next != &self ? next.stack : nullptr};
}

/// One lane less of the wavefront can run.
inline void less_busy(Block& block, Block::Wave& wave) {
  if (--wave.busy == 0) settle_present(block, wave);
}

/// A thread arrives at the block's barrier.
inline void arrive(Block& block, Thread& thread) {
  thread.wait = Wait::arrived;
  if (block.barrier.count == 0) {
    block.barrier_place = thread.place();
  } else if (block.barrier_place.line != thread.line || block.barrier_place.file != thread.file) {
    meets_elsewhere(block, thread);
  }
  block.barrier.push(&thread);
  block.count += thread.predicate;
  block.all &= thread.predicate;
}

/// A thread has ended: open the barriers that waited only for it.
inline void check_done(Block& block) {
  if (block.barrier.count != 0 && all_arrived(block)) release_barrier(block);
  if (block.names_barriers) open_all_named(block);
}

/// Record which function called the thread, before another stack is used, where another thread may be recorded.
/// (A signal may have recorded it earlier.)
inline void keep_row(Thread& self) {
  if (self.row == nullptr) self.row = worker->stack().has(detail::row_frame) ? detail::row_frame : self.base;
}

/// The running thread's record, ready to wait at `place`.
inline Thread& waiter(const char* name, Place place) {
  if (worker == nullptr || worker->thread == nullptr) make_loud_for(name, place);
  Thread& self = *worker->thread;
  forget_meeting(self);
  keep_row(self);
  self.came = Came::unknown;
  self.name = name;
  self.file = place.file;
  self.line = place.line;
  return self;
}

/// Record by which call of the caller the running thread arrived.
inline __attribute__((always_inline)) void keep_call(Thread& self) {
  self.came = Came::called;
  self.call = __builtin_return_address(0);
  self.frame = *static_cast<void**>(__builtin_frame_address(0));
}

/// Wait for lanes that arrive by the same call.
inline void join_present(Block::Wave& wave, Thread& self, Wait what, const Operation* operation) {
  const std::uint64_t hash = path_hash(self.call, self.frame, self.row);
  self.wait = what;
  self.operation = operation;
  self.path_hash = hash;
  if (wave.present.count == 0) {
    wave.lanes = 0;
    wave.count = 0;
    wave.all = 1;
    wave.wait = what;
    wave.operation = operation;
    wave.path_hash = hash;
    wave.together = true;
  } else {
    wave.together =
        wave.together && wave.wait == what && wave.path_hash == hash &&
        (wave.operation == operation || (operation != nullptr && same_operation(wave.operation, operation)));
  }
  wave.lanes |= self.bit();
  wave.present.push(&self);
}

}  // namespace simt

#endif
