// SPDX-License-Identifier: Apache-2.0
// What the files of the scheduler share: see scheduler.cpp. Inline is what every operation of a lane does.
#ifndef SIMT_RUNTIME_SCHEDULER_H
#define SIMT_RUNTIME_SCHEDULER_H

#include <cstdint>
#include <string>
#include <vector>

#include "internal.h"

namespace simt {

// How often threads of a block change before one begins that has not, though others can go on, and before another block
// runs: about a millisecond and half a second where they do nothing else. Who has waited in vain gets less.
constexpr std::uint64_t most_patience = 1 << 16, least_patience = 1 << 8;
constexpr std::uint64_t most_share = 1 << 24, fresh_share = 1 << 18, least_share = 1 << 16;

inline Block::Wave& wave_of(Block& block, const Thread& thread) { return block.wave[thread.rank >> wave_shift]; }
inline unsigned ordered(unsigned position) { return worker->order.empty() ? position : worker->order[position]; }

/// Whether all who could run have yielded in vain for many rounds.
inline bool is_stalled(const Block& block) { return block.idle > 256 + 64 * std::uint64_t(block.ready.count); }

// waiting_threads.cpp
/// How a thread came to where it waits, as far as that is known.
Path path_of(const Block&, const Thread&);
/// "threads 0-3, 7", for one: "thread 7".
std::string numbers_text(const char* what, const std::vector<unsigned>& ranks);
/// Who waits where, one line for each place.
std::string waiting_text(Block&);
/// Where the user wrote what one of the threads waits in, or else does, for the place of a fault.
std::string place_of_one(const Block&);

// scheduler.cpp
std::uint64_t next_random(std::uint64_t& state);
/// Wake a list in its order, or shuffled where the order is random: who goes on first after a barrier is open.
void wake_all(List&);
Fiber& take_fiber();
/// Leave what runs for where `to` starts; the root starts where it was left. What waits is not what runs there.
void leave_for(Fiber& to);
/// Leave what runs for a thread that is ready.
void leave_for_ready(Worker&, Block&);
/// Go on with whatever can run, as the running thread cannot or will not. Returns when that thread is to go on.
void dispatch();
void must_be_kernel(const char* name, Place);
void make_loud_for(const char* name, Place);

// collectives.cpp
Meeting* open_meeting(std::uint64_t mask);
void keep_meeting(Meeting*);
bool same_place(const Place&, const Place&);
/// Operations are the same if they have one name: every instantiation of a template has an object of its own.
bool same_operation(const Operation*, const Operation*);
/// Do the operation for the lanes that have met.
void finish(Block&, const Thread& one, Meeting&, const Operation&, std::uint64_t lanes);
/// Let the lanes of a mask go on, if all that are left have come; whether there were such.
bool settle_masked(Block&, Block::Wave&);

// convergence.cpp
/// Whether lanes wait in an operation only for those that will get there, and not for those that spin.
bool is_of_loops(const Operation*);
/// No lane of the wavefront can run: let those that came together, and come first, go on. Also, where some spin, those
/// at loops.
bool settle_present(Block&, Block::Wave&, bool at_loops = false);
/// All that could run only looks whether something has changed: let lanes go on that would wait for those.
bool settle_stalled(Block&);
/// Have nobody wait any more for lanes that are in a statement in which they wait for memory; whether anybody did.
bool open_regions(Block&, Block::Wave&);
bool open_regions(Block&);
/// Fault if the running thread's stack is nearly full, where it comes to a statement in which lanes are kept together.
void look_for_recursion(const Block::Wave&, Place);
/// Fault if lanes were let go on for that, and those who waited for memory wait still.
void fault_if_stuck(const Block&);
/// Whether lanes wait so.
bool is_any_held(const Block&);
/// Have nobody wait so, as nothing goes on: from then on it is a fault if who waits for memory goes on.
bool open_stuck_regions(Block&);
/// A lane is not in such a statement any more. Returns whether nobody is; its record is gone then.
bool is_left(Block&, Block::Wave&, Block::Region&, std::uint64_t lane);

// barriers.cpp
/// How many threads a named barrier counts.
unsigned arrived(const Block&, const Block::Named&);
/// Say that a thread is in another barrier than those that came before it, if it is.
void meets_elsewhere(Block&, const Thread&);
/// All lanes of a wavefront come to the block's barrier, by one call.
void arrive_together(Block&, const Block::Wave&, const List&);
/// Whether all threads that are left are in the block's barrier, or have arrived at it and gone on (`bar.arrive 0`).
bool all_arrived(const Block&);
void release_barrier(Block&);
/// Open the barriers with numbers to which all have come that they wait for.
void open_all_named(Block&);

// blocks.cpp
/// Take the next block of the launch; false if there is none.
bool take_block(Worker&, uint3& index);
void reset(Block&, const uint3& index);
/// What a fiber does: the threads of the block, one after the other.
[[noreturn]] void work();

/// A thread that goes on has read what it wanted of its last meeting.
inline void forget_meeting(Thread& thread) {
  if (thread.met != nullptr && --thread.met->readers == 0) keep_meeting(thread.met);
  thread.met = nullptr;
}

/// Take a thread that is ready as the one that runs.
inline Thread& take_ready(Worker& w, Block& block) {
  Thread& next = *block.ready.pop();
  next.state = State::running;
  w.thread = &next;
  threadIdx = next.index;
  ++w.switches;
  return next;
}

/// The running thread waits, as its record says: where to go on, if nothing but a switch is left to do; else it has
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

/// The wavefront has one lane less that can run.
inline void less_busy(Block& block, Block::Wave& wave) {
  if (--wave.busy == 0) settle_present(block, wave);
}

/// A thread comes to the block's barrier.
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

/// A thread has ended: open the barriers that waited for it alone.
inline void check_done(Block& block) {
  if (block.barrier.count != 0 && all_arrived(block)) release_barrier(block);
  if (block.names_barriers) open_all_named(block);
}

/// Keep which function called the thread: before another stack is used, where the same may be said of another thread.
/// (It was, if a signal came before this one said it.)
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

/// Keep by which call of the caller's the running thread came.
inline __attribute__((always_inline)) void keep_call(Thread& self) {
  self.came = Came::called;
  self.call = __builtin_return_address(0);
  self.frame = *static_cast<void**>(__builtin_frame_address(0));
}

/// Wait for those that come by the same call.
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
