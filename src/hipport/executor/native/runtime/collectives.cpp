// SPDX-License-Identifier: Apache-2.0
// Operations of several lanes with a mask, and the memory of their meetings.
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "scheduler.h"

namespace simt {

namespace {

/// Meetings are in one range of addresses, by which `is_meeting` recognizes them. Unused memory costs nothing.
constexpr std::size_t meetings_size = std::size_t(1) << 32;
char* meetings_start = nullptr;
std::atomic<std::size_t> meetings_used{0};

Meeting* make_meeting() {
  static std::once_flag once;
  std::call_once(once, [] {
    void* all =
        mmap(nullptr, meetings_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    meetings_start = all == MAP_FAILED ? nullptr : static_cast<char*>(all);
  });
  const std::size_t at = meetings_used.fetch_add(sizeof(Meeting));
  if (meetings_start == nullptr || at + sizeof(Meeting) > meetings_size) return new Meeting;
  return new (meetings_start + at) Meeting;
}

Meeting* new_meeting() {
  if (worker->meetings.empty()) return make_meeting();
  Meeting* meeting = worker->meetings.back();
  worker->meetings.pop_back();
  return meeting;
}

}  // namespace

__attribute__((noinline)) Meeting* open_meeting(std::uint64_t mask) {
  Meeting* meeting = new_meeting();
  meeting->mask = mask;
  meeting->word = 0;
  meeting->readers = 0;
  return meeting;
}

__attribute__((noinline)) void keep_meeting(Meeting* meeting) { worker->meetings.push_back(meeting); }

bool is_meeting(const void* address) {
  const auto* a = static_cast<const char*>(address);
  return meetings_start != nullptr && a >= meetings_start && a < meetings_start + meetings_size;
}

bool same_place(const Place& a, const Place& b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

bool same_operation(const Operation* a, const Operation* b) {
  return a == b || a->name == b->name || std::strcmp(a->name, b->name) == 0;
}

void finish(Block& block, const Thread& one, Meeting& meeting, const Operation& operation, std::uint64_t lanes) {
  meeting.lanes = lanes;
  if (operation.finish != nullptr) {
    // The values of lanes are on the stacks of all of them.
    if (races_looked_for) races_paused(true);
    operation.finish(meeting);
    if (races_looked_for) races_paused(false);
  }
  if (races_looked_for && !is_of_loops(&operation)) races_meeting(block, one.rank - one.lane, lanes);
}

namespace {

/// All lanes of a group have arrived: they continue, except `last`, which has not waited.
__attribute__((noinline)) void release_group(Block& block, Block::Wave& wave, Block::Group& group, const Thread& last) {
  finish(block, last, *group.meeting, *group.operation, group.arrived);
  List list = group.list;
  group = wave.groups.back();
  wave.groups.pop_back();
  wave.busy += list.count;
  block.idle = 0;
  wake_all(list);
}

}  // namespace

bool settle_masked(Block& block, Block::Wave& wave) {
  for (Block::Group& group : wave.groups) {
    if ((group.mask & wave.alive & ~group.arrived) != 0) continue;
    release_group(block, wave, group, *group.list.first);
    return true;
  }
  return false;
}

namespace {

/// The group that waits for the lanes of `mask` in an operation; a new one if there is none.
__attribute__((noinline)) Block::Group& find_group(Block::Wave& wave, const Operation& operation, std::uint64_t mask) {
  for (Block::Group& each : wave.groups) {
    if (each.mask == mask && same_operation(each.operation, &operation)) return each;
  }
  wave.groups.push_back({&operation, mask, 0, open_meeting(mask), List{}});
  return wave.groups.back();
}

/// The same, with a fast path for a single group with the same lanes as before.
inline Block::Group& group_of(Block::Wave& wave, const Operation& operation, std::uint64_t mask) {
  if (!wave.groups.empty()) {
    Block::Group& first = wave.groups.front();
    if (first.mask == mask && first.operation == &operation) return first;
  }
  return find_group(wave, operation, mask);
}

/// Report that a lane joins others that wait for it on another line. In CUDA such lanes converge; a wavefront of AMD's
/// executes one branch after the other.
__attribute__((noinline)) void comes_elsewhere(const Thread& others, const Thread& self) {
  const Place there = others.place();
  if (self.line == 0 || same_place(there, self.place()) || !dialect_is(Dialect::cuda)) return;
  warning(
      "warp-places", self.place(),
      "lanes of one warp meet in this %s and in the one at %s:%d: on AMD the lanes of one branch continue before those of the other "
      "come",
      self.name, there.file, there.line);
}

/// Copy a lane's value; the usual sizes without a call.
inline void give(unsigned char* to, const void* value, std::size_t size) {
  if (size == 4) {
    std::memcpy(to, value, 4);
  } else if (size == 8) {
    std::memcpy(to, value, 8);
  } else if (size != 0) {
    std::memcpy(to, value, size);
  }
}

}  // namespace

std::uint64_t living() {
  become_loud();
  return wave_of(*worker->block, *worker->thread).alive;
}

std::uint64_t existing() {
  const unsigned size = blockDim.x * blockDim.y * blockDim.z, per = static_cast<unsigned>(wave_size());
  const unsigned count = std::min(per, size - wave() * per);
  return count == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << count) - 1;
}

namespace detail {

void lost_lanes(std::uint64_t ballot, unsigned bits, Place place) {
  std::vector<unsigned> lanes;
  for (unsigned lane = bits; lane < 64; ++lane) {
    if ((ballot >> lane & 1) != 0) lanes.push_back(lane);
  }
  fault("lost-lanes", place, "a ballot of 64 lanes, 0x%llx, is kept in %u bits: the votes of %s are lost",
        static_cast<unsigned long long>(ballot), bits, numbers_text("lane", lanes).c_str());
}

Turn come_masked(const Operation& operation, std::uint64_t mask, const void* value, std::size_t size, Place place) {
  Thread& self = waiter(operation.name, place);
  Block& block = *worker->block;
  Block::Wave& wave = wave_of(block, self);
  const std::uint64_t bit = self.bit();
  if (dialect_is(Dialect::hip)) keep_call(self);
  if ((mask & bit) == 0) {
    fault("mask-without-caller", self.place(), "lane %u calls %s with mask 0x%llx, which does not name it", self.lane,
          operation.name, static_cast<unsigned long long>(mask));
  }
  Block::Group& group = group_of(wave, operation, mask);
  give(group.meeting->values[self.lane], value, size);
  group.arrived |= bit;
  ++group.meeting->readers;
  self.met = group.meeting;
  if (const Thread* one = group.list.first; one != nullptr && (one->line != self.line || one->file != self.file)) {
    comes_elsewhere(*one, self);
  }
  if ((mask & wave.alive & ~group.arrived) == 0) {
    // The last lane continues at once.
    release_group(block, wave, group, self);
    return {&self, nullptr};
  }
  self.wait = Wait::masked;
  group.list.push(&self);
  self.state = State::waiting;
  less_busy(block, wave);
  return turn(block, self);
}

Turn come_present(const Operation& operation, const void* value, std::size_t size, Place place) {
  Thread& self = waiter(operation.name, place);
  Block& block = *worker->block;
  Block::Wave& wave = wave_of(block, self);
  keep_call(self);
  if (&operation == &loop_begins) look_for_recursion(wave, place);
  if (wave.given == nullptr) wave.given = open_meeting(0);
  give(wave.given->values[self.lane], value, size);
  ++wave.given->readers;
  self.met = wave.given;
  join_present(wave, self, Wait::present, &operation);
  self.state = State::waiting;
  less_busy(block, wave);
  return turn(block, self);
}

}  // namespace detail

}  // namespace simt
