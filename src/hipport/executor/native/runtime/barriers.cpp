// SPDX-License-Identifier: Apache-2.0
// Barriers: of the block, numbered ones, and of the grid.
#include <algorithm>
#include <string>
#include <vector>

#include "scheduler.h"

namespace simt {

unsigned arrived(const Block& block, const Block::Named& named) {
  // A warp counts as a whole (PTX ISA 9.0, "bar"): lanes that have exited, or never existed, arrive with the others.
  const unsigned size = 1u << wave_shift;
  const std::uint64_t all = size == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << size) - 1;
  unsigned count = 0;
  for (const Block::Named::Came& each : named.came) {
    count += each.times * size +
             static_cast<unsigned>(__builtin_popcountll((each.lanes | ~block.wave[each.wave].alive) & all));
  }
  return count;
}

namespace {

/// A barrier opens, and at an earlier one threads were on several lines. Fault if threads are now on the line where other
/// threads, which have exited since, were at that barrier while these were elsewhere: these pass one more barrier.
__attribute__((noinline)) void passed_by(Block& block) {
  for (const Thread* t = block.barrier.first; t != nullptr; t = t->next) {
    const Block::Passed own = block.passed[t->rank];
    if (own.number == 0 || same_place(own.place, t->place())) continue;
    std::vector<unsigned> before, now;
    for (unsigned rank = 0; rank < block.size; ++rank) {
      const Block::Passed& other = block.passed[rank];
      if (block.threads[rank].state == State::exited && other.number == own.number &&
          same_place(other.place, t->place())) {
        before.push_back(rank);
      }
    }
    if (before.empty()) continue;
    for (const Thread* each = block.barrier.first; each != nullptr; each = each->next) now.push_back(each->rank);
    std::sort(now.begin(), now.end());
    fault_with("divergent-barrier", t->place(),
               numbers_text("thread", now) + " reach this barrier when " + numbers_text("thread", before) +
                   " have passed it and ended: those met the others at " + own.place.file + ":" +
                   std::to_string(own.place.line) + ", so nothing orders the code between the two");
  }
}

/// A barrier opens in which threads are on several lines: record these.
__attribute__((noinline)) void keep_places(Block& block) {
  ++block.times_apart;
  block.passed.resize(block.size);
  for (const Thread* t = block.barrier.first; t != nullptr; t = t->next) {
    block.passed[t->rank] = {t->place(), block.times_apart};
  }
  block.apart = false;
}

}  // namespace

__attribute__((noinline)) void meets_elsewhere(Block& block, const Thread& thread) {
  if (thread.line == 0 || same_place(block.barrier_place, thread.place())) return;
  block.apart = true;
  if (!dialect_is(Dialect::cuda)) return;
  warning("barrier-places", thread.place(), "threads of one block meet in this barrier and in the one at %s:%d",
          block.barrier_place.file, block.barrier_place.line);
}

void release_barrier(Block& block) {
  block.votes = Votes{block.count, block.all, block.count != 0};
  block.count = 0;
  block.all = 1;
  block.idle = 0;
  if (races_looked_for) races_barrier(block);
  if (block.times_apart != 0 && block.barrier.count != block.size) passed_by(block);
  if (block.apart) keep_places(block);
  if (block.named[0].came.empty()) {
    // All remaining threads were in it.
    for (unsigned i = 0; i < block.waves; ++i) {
      block.wave[i].busy = static_cast<unsigned>(__builtin_popcountll(block.wave[i].alive));
    }
  } else {
    block.named[0].came.clear();
    for (Thread* t = block.barrier.first; t != nullptr; t = t->next) ++wave_of(block, *t).busy;
  }
  wake_all(block.barrier);
}

bool all_arrived(const Block& block) {
  unsigned count = block.barrier.count;
  for (const Block::Named::Came& each : block.named[0].came) {
    count += static_cast<unsigned>(__builtin_popcountll(each.lanes & block.wave[each.wave].alive));
  }
  return count == block.alive;
}

void arrive_together(Block& block, const Block::Wave& wave, const List& list) {
  const Thread& one = *list.first;
  if (block.barrier.count == 0) {
    block.barrier_place = one.place();
  } else if (block.barrier_place.line != one.line || block.barrier_place.file != one.file) {
    meets_elsewhere(block, one);
  }
  block.barrier.append(list);
  block.count += wave.count;
  block.all &= wave.all;
}

namespace {

bool open_named(Block& block, Block::Named& named) {
  const bool open = named.wanted != 0 ? arrived(block, named) >= static_cast<unsigned>(named.wanted)
                                      : named.list.count == block.alive;
  if (!open) return false;
  named.came.clear();
  if (races_looked_for) races_barrier(block);
  for (Thread* t = named.list.first; t != nullptr; t = t->next) ++wave_of(block, *t).busy;
  block.idle = 0;
  wake_all(named.list);
  return true;
}

}  // namespace

void open_all_named(Block& block) {
  for (Block::Named& named : block.named) {
    if (named.list.count != 0) open_named(block, named);
  }
}

namespace detail {

Turn come_to_barrier(const char* name, int predicate, Place place) {
  Thread& self = waiter(name, place);
  Block& block = *worker->block;
  Block::Wave& wave = wave_of(block, self);
  self.predicate = predicate != 0;
  self.state = State::waiting;
  if (dialect_is(Dialect::hip)) {
    keep_call(self);
    join_present(wave, self, Wait::barrier, nullptr);
    wave.count += self.predicate;
    wave.all &= self.predicate;
    less_busy(block, wave);
  } else {
    arrive(block, self);
    less_busy(block, wave);
    if (all_arrived(block)) release_barrier(block);
  }
  return turn(block, self);
}

Votes votes() { return worker->block->votes; }

}  // namespace detail

void named_barrier(int number, int threads, bool arrive_only, Place place) {
  Thread& self = waiter("a named barrier", place);
  Block& block = *worker->block;
  if (number < 0 || number > 15) fault("barrier-number", place, "there is no barrier %d: they are 0 to 15", number);
  if (threads < 0 || threads % warpSize != 0 || (threads == 0 && arrive_only)) {
    fault("barrier-number", place, "barrier %d is for %d threads: %s", number, threads,
          threads == 0 ? "a warp that arrives without waiting has to give the number"
                       : "whole warps arrive, so it has to be a multiple of their size");
  }
  Block::Named& named = block.named[number];
  // Number 0 with all threads is the barrier of __syncthreads().
  const bool of_block = number == 0 && static_cast<unsigned>(threads) >= blockDim.x * blockDim.y * blockDim.z;
  if (!of_block) block.names_barriers = true;
  if (named.came.empty()) {
    named.wanted = threads;
  } else if (named.wanted != threads) {
    fault("barrier-number", place, "barrier %d is for %d threads here, and for %d where other threads wait at it",
          number, threads, named.wanted);
  }
  const unsigned wave = self.rank >> wave_shift;
  const auto same =
      std::find_if(named.came.begin(), named.came.end(), [&](const auto& each) { return each.wave == wave; });
  Block::Named::Came& came = same != named.came.end() ? *same : named.came.emplace_back(Block::Named::Came{wave, 0, 0});
  if ((came.lanes & self.bit()) != 0) {
    ++came.times;
    came.lanes = 0;
  }
  came.lanes |= self.bit();
  if (!arrive_only) {
    self.wait = Wait::named;
    self.state = State::waiting;
    self.number = number;
    named.list.push(&self);
    less_busy(block, wave_of(block, self));
  }
  if (of_block) {
    if (block.barrier.count != 0 && all_arrived(block)) release_barrier(block);
    return;
  }
  // The thread that opens it continues in its turn.
  open_named(block, named);
  if (!arrive_only) dispatch();
}

void grid_barrier(Place place) {
  must_be_kernel("grid.sync", place);
  if (!worker->launch->cooperative) {
    fault("not-cooperative", place, "grid.sync() in a kernel that was not launched as cooperative");
  }
  Thread& self = waiter("grid.sync", place);
  Block& block = *worker->block;
  self.wait = Wait::grid;
  self.state = State::waiting;
  block.grid.push(&self);
  less_busy(block, wave_of(block, self));
  dispatch();
}

}  // namespace simt
