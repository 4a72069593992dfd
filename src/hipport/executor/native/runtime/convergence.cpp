// SPDX-License-Identifier: Apache-2.0
// Which lanes of a wavefront continue together when none of them can run: those that arrived on one path, as converged
// lanes do on a GPU; and loops in which lanes wait for memory, which a wavefront leaves together.
#include <algorithm>
#include <cstring>
#include <string>

#include "scheduler.h"

namespace simt {

namespace detail {

const Operation loop_begins{"the beginning of a loop", nullptr};
const Operation loop_iterates{"the end of an iteration of a loop", nullptr};

}  // namespace detail

bool is_of_loops(const Operation* operation) {
  return operation == &detail::loop_begins || operation == &detail::loop_iterates;
}

namespace {

bool later(const Path& a, const Path& b) {
  // From the outermost call inwards: a call that is later in a function comes later.
  for (unsigned i = 1; i <= a.depth && i <= b.depth; ++i) {
    if (a.frames[a.depth - i] != b.frames[b.depth - i]) return a.frames[a.depth - i] > b.frames[b.depth - i];
  }
  return a.depth > b.depth;
}

/// Of the threads that wait in a wavefront (or only of those at loops), those that arrived on the path that comes
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
  // Half of the time one lane alone, else some of them, and never all of several: any part is legal if nothing in the
  // program makes lanes converge.
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

/// Let lanes continue that wait for those in the statement.
void open_region(Block::Wave& wave, Block::Region& region) {
  wave.busy += region.left.count + region.aside.count;
  wake_all(region.left);
  wake_all(region.aside);
}

/// The order of a branch among those of a statement.
unsigned turn_of(const Block::Region& region, unsigned lane) {
  return region.backwards ? 255u - region.side[lane] : region.side[lane];
}

/// Whether lanes in this one's branch may continue: no lane is in an earlier branch, or may still take one.
bool has_its_turn(const Block::Wave& wave, const Block::Region& region, unsigned lane) {
  for (std::uint64_t left = region.inside & wave.alive; left != 0; left &= left - 1) {
    const auto other = static_cast<unsigned>(__builtin_ctzll(left));
    if (region.side[other] == 0 || turn_of(region, other) < turn_of(region, lane)) return false;
  }
  return true;
}

/// Let lanes continue whose branch is next.
void settle_sides(Block& block, Block::Wave& wave, Block::Region& region) {
  List still, go;
  while (region.aside.count != 0) {
    Thread& each = *region.aside.pop();
    (has_its_turn(wave, region, each.lane) ? go : still).push(&each);
  }
  region.aside = still;
  if (go.count == 0) return;
  block.idle = 0;
  wave.busy += go.count;
  wake_all(go);
}

std::uint64_t lanes_of(const List& list) {
  std::uint64_t lanes = 0;
  for (const Thread* each = list.first; each != nullptr; each = each->next) lanes |= each->bit();
  return lanes;
}

/// The ranks of a wavefront's lanes in the block.
std::vector<unsigned> ranks_of(const List& list) {
  std::vector<unsigned> ranks;
  for (const Thread* each = list.first; each != nullptr; each = each->next) ranks.push_back(each->rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

/// The held lanes and their places, for a fault: those that have left a statement, and those in another branch.
std::string held_text(const Block::Wave& wave) {
  std::string text;
  const auto add = [&text](const List& list, const char* how) {
    if (list.count == 0) return;
    const Place place = list.first->place();
    if (!text.empty()) text += ", or for ";
    text += "what " + numbers_text("thread", ranks_of(list)) + (list.count == 1 ? " does " : " do ") + how +
            place.file + ":" + std::to_string(place.line);
  };
  for (const Block::Region* each : wave.regions) {
    add(each->left, "behind the statement at ");
    add(each->aside, "in another branch of the statement at ");
  }
  return text;
}

std::string stuck_text(const std::string& held) {
  return "lanes wait here for " + held +
         ": on AMD those do not go on before all lanes of the wavefront that came here with them have left, and the launch "
         "hangs. Do what they wait for before it, or in the same iteration of the loop (hipport/lock.h)";
}

}  // namespace

bool open_regions(Block& block, Block::Wave& wave) {
  bool any = false;
  for (Block::Region* region : wave.regions) {
    if (region->left.count + region->aside.count != 0) any = true;
    region->open = true;
    open_region(wave, *region);
  }
  if (any) block.idle = 0;
  return any;
}

bool open_regions(Block& block) {
  bool any = false;
  if (!block.loud) return false;
  for (unsigned i = 0; i < block.waves; ++i) any = open_regions(block, block.wave[i]) || any;
  return any;
}

void look_for_recursion(const Block::Wave& wave, Place place) {
  constexpr std::ptrdiff_t least = 64 << 10;
  const Fiber& stack = worker->stack();
  const auto* here = static_cast<const char*>(__builtin_frame_address(0));
  if (!stack.has(here) || here - stack.low > least) return;
  const std::string held = held_text(wave);
  if (held.empty()) fault_with("stack-overflow", place, "a thread's stack is full: it recurses too deep");
  fault_with("no-progress", place, stuck_text(held) + waiting_text(*worker->block));
}

void fault_if_stuck(const Block& block) {
  for (unsigned i = 0; block.loud && i < block.waves; ++i) {
    const auto& regions = block.wave[i].regions;
    for (auto each = regions.rbegin(); each != regions.rend(); ++each) {
      const Block::Region& region = **each;
      if (region.stuck != 0) fault_with("no-progress", region.place, stuck_text(region.held) + region.where);
    }
  }
}

bool is_any_held(const Block& block) {
  for (unsigned i = 0; block.loud && i < block.waves; ++i) {
    for (const Block::Region* region : block.wave[i].regions) {
      if (region->left.count + region->aside.count != 0) return true;
    }
  }
  return false;
}

bool open_stuck_regions(Block& block) {
  bool any = false;
  std::string where;
  for (unsigned i = 0; block.loud && i < block.waves; ++i) {
    Block::Wave& wave = block.wave[i];
    const std::string held = held_text(wave);
    if (held.empty()) continue;
    if (where.empty()) where = waiting_text(block);
    std::uint64_t waiting = wave.alive;
    for (const Block::Region* region : wave.regions) waiting &= ~(lanes_of(region->left) | lanes_of(region->aside));
    for (Block::Region* region : wave.regions) {
      region->stuck = region->inside & waiting;
      region->held = held;
      region->where = where;
    }
    any = open_regions(block, wave) || any;
  }
  return any;
}

__attribute__((noinline)) bool settle_present(Block& block, Block::Wave& wave, bool at_loops) {
  if (wave.present.count == 0) return false;
  List list = take_first(block, wave, at_loops);
  const Thread& one = *list.first;
  // In the common case all arrived together. Records of a wavefront exceed the first-level cache, so they are not read.
  const bool all = wave.together && list.count == static_cast<unsigned>(__builtin_popcountll(wave.lanes));
  std::uint64_t lanes = all ? wave.lanes : 0;
  for (Thread* t = all ? nullptr : list.first; t != nullptr; t = t->next) lanes |= t->bit();
  if (one.wait == Wait::barrier) {
    if (lanes != wave.alive && open_regions(block, wave)) {
      // What looked like a loop without a barrier has one: lanes that have left it may be on the way to it.
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
    auto* const region = new Block::Region;
    region->place = one.place();
    region->inside = lanes;
    // The compiler decides which branch comes first.
    region->backwards = settings().order == Settings::Order::reverse ||
                        (settings().order == Settings::Order::random && next_random(worker->random) >> 63 != 0);
    wave.regions.push_back(region);
    meeting->word = reinterpret_cast<std::uintptr_t>(region);
  }
  wave.busy += list.count;
  block.idle = 0;
  wake_all(list);
  // Parts that diverge continue at once: each may change values that another has yet to read.
  if (settings().minimal && dialect_is(Dialect::cuda)) settle_present(block, wave, at_loops);
  return true;
}

bool settle_stalled(Block& block) {
  for (unsigned i = 0; i < block.waves; ++i) {
    Block::Wave& wave = block.wave[i];
    if (dialect_is(Dialect::hip)) {
      // A wavefront of AMD's does not continue without the lanes that it waits for.
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

bool is_left(Block& block, Block::Wave& wave, Block::Region& region, std::uint64_t lane) {
  region.inside &= ~lane;
  if ((region.inside & wave.alive) != 0) {
    if (region.aside.count != 0) settle_sides(block, wave, region);
    return false;
  }
  if (region.left.count != 0) block.idle = 0;
  open_region(wave, region);
  wave.regions.erase(std::find(wave.regions.begin(), wave.regions.end(), &region));
  delete &region;
  return true;
}

namespace detail {

Turn leave_loop(void* raw, Place place) {
  Thread& self = waiter("the end of a statement in which other lanes of the wavefront still are", place);
  Block& block = *worker->block;
  Block::Wave& wave = wave_of(block, self);
  Block::Region& region = *static_cast<Block::Region*>(raw);
  keep_call(self);
  if ((region.stuck & self.bit()) != 0) {
    fault_with("no-progress", place, stuck_text(region.held) + region.where);
  }
  if (is_left(block, wave, region, self.bit())) return {&self, nullptr};
  if (region.open) return {&self, nullptr};
  self.wait = Wait::loop;
  region.left.push(&self);
  self.state = State::waiting;
  less_busy(block, wave);
  return turn(block, self);
}

Turn take_side(void* raw, unsigned side, Place place) {
  Thread& self = waiter("a branch, while other lanes of the wavefront take another", place);
  Block& block = *worker->block;
  Block::Wave& wave = wave_of(block, self);
  Block::Region& region = *static_cast<Block::Region*>(raw);
  keep_call(self);
  region.side[self.lane] = static_cast<std::uint8_t>(std::min(side, 253u) + 1);
  settle_sides(block, wave, region);
  if (region.open || has_its_turn(wave, region, self.lane)) return {&self, nullptr};
  self.wait = Wait::loop;
  region.aside.push(&self);
  self.state = State::waiting;
  less_busy(block, wave);
  return turn(block, self);
}

}  // namespace detail

}  // namespace simt
