// SPDX-License-Identifier: Apache-2.0
// Which lanes of a wavefront go on together once none of them can run: those that came on one path, as on a GPU those
// that have converged; and loops in which lanes wait for memory, which a wavefront leaves together.
#include <algorithm>
#include <cstring>
#include <string>

#include "scheduler.h"

namespace simt {

namespace detail {

const Operation loop_begins{"the beginning of a loop", nullptr};
const Operation loop_turns{"the end of an iteration of a loop", nullptr};

}  // namespace detail

bool is_of_loops(const Operation* operation) {
  return operation == &detail::loop_begins || operation == &detail::loop_turns;
}

namespace {

bool later(const Path& a, const Path& b) {
  // From the outermost call inwards: what stands later in a function comes later.
  for (unsigned i = 1; i <= a.depth && i <= b.depth; ++i) {
    if (a.frames[a.depth - i] != b.frames[b.depth - i]) return a.frames[a.depth - i] > b.frames[b.depth - i];
  }
  return a.depth > b.depth;
}

/// Of the threads that are present in a wavefront (or only of those at loops), those that came on the path that comes
/// first.
List take_first(Block& block, Block::Wave& wave, bool at_loops) {
  List all = wave.present, first;
  wave.present = List{};
  const bool apart = settings().minimal && dialect_is(Dialect::cuda);
  if (wave.together && !apart) return all;
  if (at_loops) {
    List here;
    while (all.count != 0) {
      Thread& t = *all.pop();
      (is_of_loops(t.operation) ? here : wave.present).push(&t);
    }
    all = here;
  }
  Thread* least = all.first;
  for (Thread* t = all.first; t != nullptr; t = t->next) {
    if (t->path_hash != least->path_hash && later(path_of(block, *least), path_of(block, *t))) least = t;
  }
  const auto same = [&](const Thread& t) {
    return t.wait == least->wait && t.path_hash == least->path_hash &&
           (t.wait == Wait::barrier || same_operation(t.operation, least->operation));
  };
  // Half of the time one lane alone, else some of them, and never all of several: any part is legal where nothing in the
  // program brings lanes together.
  std::uint64_t others = ~std::uint64_t(0);
  unsigned most = ~0u;
  if (apart && least->wait == Wait::present) {
    most = 0;
    for (Thread* t = all.first; t != nullptr; t = t->next) most += same(*t);
    most = std::max(most, 2u) - 1;
    others = is_of_loops(least->operation) || next_random(worker->random) >> 63 ? 0 : next_random(worker->random);
  }
  while (all.count != 0) {
    Thread& t = *all.pop();
    const bool goes = same(t) && (first.count == 0 || (first.count < most && (others & t.bit()) != 0));
    (goes ? first : wave.present).push(&t);
  }
  return first;
}

/// Let lanes go on that wait at the end of a loop.
void open_loop(Block::Wave& wave, Block::Loop& loop) {
  wave.busy += loop.left.count;
  wake_all(loop.left);
}

}  // namespace

bool open_loops(Block& block, Block::Wave& wave) {
  bool any = false;
  for (Block::Loop* loop : wave.loops) {
    if (loop->left.count != 0) any = true;
    loop->open = true;
    open_loop(wave, *loop);
  }
  if (any) block.idle = 0;
  return any;
}

bool open_loops(Block& block) {
  bool any = false;
  if (!block.loud) return false;
  for (unsigned i = 0; i < block.waves; ++i) any = open_loops(block, block.wave[i]) || any;
  return any;
}

__attribute__((noinline)) bool settle_present(Block& block, Block::Wave& wave, bool at_loops) {
  if (wave.present.count == 0) return false;
  List list = take_first(block, wave, at_loops);
  const Thread& one = *list.first;
  // Most often all came together. Records of a wavefront do not fit into the first level of the cache: they are not read.
  const bool all = wave.together && list.count == static_cast<unsigned>(__builtin_popcountll(wave.lanes));
  std::uint64_t lanes = all ? wave.lanes : 0;
  for (Thread* t = all ? nullptr : list.first; t != nullptr; t = t->next) lanes |= t->bit();
  if (one.wait == Wait::barrier) {
    if (lanes != wave.alive && open_loops(block, wave)) {
      // What looked like a loop without a barrier has one: who has left it may be on the way to it.
      while (list.count != 0) wave.present.push(list.pop());
      wave.together = false;
      return true;
    }
    if (lanes != wave.alive) {
      fault_with("divergent-barrier", one.place(),
                 std::string(one.name) +
                     " is reached by some lanes of a wavefront, but not by others: on AMD the "
                     "whole wavefront counts as arrived, and its other lanes arrive once more or never" +
                     waiting_text(block));
    }
    if (all) {
      arrive_together(block, wave, list);
    } else {
      while (list.count != 0) arrive(block, *list.pop());
    }
    if (all_arrived(block)) release_barrier(block);
    return true;
  }
  Meeting* meeting = wave.given;
  if (meeting->readers == list.count) {
    wave.given = nullptr;
  } else {
    meeting = open_meeting(0);
    for (Thread* t = list.first; t != nullptr; t = t->next) {
      std::memcpy(meeting->values[t->lane], wave.given->values[t->lane], sizeof meeting->values[0]);
      t->met = meeting;
    }
    wave.given->readers -= list.count;
    meeting->readers = list.count;
  }
  finish(block, one, *meeting, *one.operation, lanes);
  if (one.operation == &detail::loop_begins && list.count > 1) {
    wave.loops.push_back(new Block::Loop);
    wave.loops.back()->inside = lanes;
    meeting->word = reinterpret_cast<std::uintptr_t>(wave.loops.back());
  }
  wave.busy += list.count;
  block.idle = 0;
  wake_all(list);
  // Parts that go on apart do so at once: each may change what another has yet to read.
  if (settings().minimal && dialect_is(Dialect::cuda)) settle_present(block, wave, at_loops);
  return true;
}

bool settle_stalled(Block& block) {
  for (unsigned i = 0; i < block.waves; ++i) {
    Block::Wave& wave = block.wave[i];
    if (dialect_is(Dialect::hip)) {
      // A wavefront of AMD's does not go on without the lanes that it waits for.
      bool at_loops = false;
      for (Thread* t = wave.present.first; t != nullptr && !at_loops; t = t->next) {
        at_loops = t->wait == Wait::present && is_of_loops(t->operation);
      }
      if (!at_loops) continue;
      settle_present(block, wave, true);
      return true;
    }
    if (settle_present(block, wave)) return true;
  }
  return false;
}

bool is_left(Block& block, Block::Wave& wave, Block::Loop& loop, std::uint64_t lane) {
  loop.inside &= ~lane;
  if ((loop.inside & wave.alive) != 0) return false;
  if (loop.left.count != 0) block.idle = 0;
  open_loop(wave, loop);
  wave.loops.erase(std::find(wave.loops.begin(), wave.loops.end(), &loop));
  delete &loop;
  return true;
}

namespace detail {

Turn leave_loop(void* raw, Place place) {
  Thread& self = waiter("the end of a loop in which other lanes of the wavefront still are", place);
  Block& block = *worker->block;
  Block::Wave& wave = wave_of(block, self);
  Block::Loop& loop = *static_cast<Block::Loop*>(raw);
  keep_call(self);
  if (!loop.stuck.empty()) {
    fault_with(
        "spin-in-wavefront", place,
        "lanes wait in this loop for something that others of their wavefront do after it: on AMD those do not continue before all "
        "have left the loop, and the launch hangs" +
            loop.stuck);
  }
  if (is_left(block, wave, loop, self.bit())) return {&self, nullptr};
  if (loop.open) return {&self, nullptr};
  self.wait = Wait::loop;
  loop.left.push(&self);
  self.state = State::waiting;
  less_busy(block, wave);
  return turn(block, self);
}

}  // namespace detail

}  // namespace simt
