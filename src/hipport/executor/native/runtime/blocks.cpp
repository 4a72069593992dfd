// SPDX-License-Identifier: Apache-2.0
// The start and the end of a block's threads.
#include <algorithm>
#include <utility>

#include "scheduler.h"

namespace simt {

namespace detail {

__thread unsigned row_end = 0;
__thread void* row_frame = nullptr;

}  // namespace detail

namespace {

uint3 index_of(unsigned rank) {
  return uint3{rank % blockDim.x, rank / blockDim.x % blockDim.y, rank / (blockDim.x * blockDim.y)};
}

/// The number of started threads, including the running one.
unsigned position_now(const Block& block) {
  return worker->order.empty() && !block.loud ? thread_rank() : block.position;
}

/// Mark the running thread as the `position`-th started one.
void begin(Block& block, unsigned position) {
  Worker& w = *worker;
  Thread& thread = block.threads[ordered(position)];
  thread.state = State::running;
  thread.fiber = w.fiber;
  thread.base = w.fiber->base;
  thread.row = nullptr;
  thread.wait = Wait::none;
  thread.yielding = false;
  thread.came = Came::unknown;
  thread.met = nullptr;
  thread.looked_at = nullptr;
  w.thread = &thread;
  threadIdx = thread.index;
  block.position = position;
  block.started = position + 1;
  block.idle = 0;
}

void exited(Block& block, Thread& thread) {
  forget_meeting(thread);
  thread.state = State::exited;
  Block::Wave& wave = wave_of(block, thread);
  wave.alive &= ~thread.bit();
  --block.alive;
  block.idle = 0;
  while (settle_masked(block, wave)) {
  }
  for (std::size_t i = wave.regions.size(); i-- != 0;) is_left(block, wave, *wave.regions[i], thread.bit());
  less_busy(block, wave);
  check_done(block);
}

}  // namespace

bool take_block(Worker& w, uint3& index) {
  const std::uint64_t number = w.next_block->fetch_add(1, std::memory_order_relaxed);
  if (number >= w.blocks) return false;
  const dim3& grid = w.launch->grid;
  std::uint64_t n = number;
  if (settings().order == Settings::Order::reverse && !w.launch->cooperative) n = w.blocks - 1 - number;
  index = uint3{static_cast<unsigned>(n % grid.x), static_cast<unsigned>(n / grid.x % grid.y),
                static_cast<unsigned>(n / grid.x / grid.y)};
  return true;
}

void reset(Block& block, const uint3& index) {
  block.index = index;
  block.loud = false;
  block.entered = false;
  block.position = 0;
  block.started = 0;
  block.idle = 0;
  block.patience = most_patience;
  block.ready = block.barrier = block.grid = List{};
  block.apart = false;
  block.times_apart = 0;
  block.passed.clear();
  blockIdx = index;
  if (races_looked_for) races_block(block);
  if (settings().order == Settings::Order::random) {
    Worker& w = *worker;
    for (std::size_t i = w.order.size(); i > 1; --i) std::swap(w.order[i - 1], w.order[next_random(w.random) % i]);
  }
  detail::row_end = 0;
}

[[noreturn]] void work() {
  Worker& w = *worker;
  entered(*w.fiber);
  w.fiber->base = __builtin_frame_address(0);
  w.body(w.context);
  __builtin_unreachable();
}

namespace {

/// Nothing is left to start: this fiber is free, and a ready thread continues.
[[noreturn]] __attribute__((noinline)) void leave_stack_free() {
  Worker& w = *worker;
  Fiber& self = *w.fiber;
  self.next = w.free;
  w.free = &self;
  for (;;) dispatch();
}

/// Set the index of the next thread to start; false if none is left.
bool find_thread(Worker& w) {
  Block* block = w.block;
  if (block->loud) {
    if (block->started == block->size) return false;
    begin(*block, block->started);
    return true;
  }
  for (;;) {
    if (!block->entered) {
      block->entered = true;
      threadIdx = index_of(ordered(0));
      block->position = 0;
    } else {
      const unsigned position = w.order.empty() ? thread_rank() : block->position + 1;  // a row has counted on
      if (position == block->size) {
        if (block->used) end_arena(*block);
        uint3 index;
        if (w.resident || !take_block(w, index)) {
          block->started = block->size;
          detail::row_end = 0;  // another block may continue, whose threads have waited
          return false;
        }
        reset(*block, index);
        continue;
      }
      block->position = position;
      threadIdx = index_of(ordered(position));
    }
    detail::row_end = w.order.empty() ? blockDim.x : 0;
    return true;
  }
}

}  // namespace

void make_loud() {
  Worker& w = *worker;
  Block& block = *w.block;
  const unsigned wave = static_cast<unsigned>(wave_size());
  if (block.threads.size() < block.size) {
    block.threads.resize(block.size);
  }
  block.waves = (block.size + wave - 1) / wave;
  block.wave.resize(block.waves);
  for (unsigned i = 0; i < block.waves; ++i) {
    const unsigned count = std::min(wave, block.size - i * wave);
    Block::Wave& each = block.wave[i];
    each.busy = count;
    each.alive = count == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << count) - 1;
    each.present = List{};
    each.given = nullptr;
    each.groups.clear();
    each.regions.clear();
  }
  if (block.shape.x != blockDim.x || block.shape.y != blockDim.y || block.shape.z != blockDim.z) {
    block.shape = blockDim;
    for (unsigned rank = 0; rank < block.size; ++rank) {
      const uint3 index = index_of(rank);
      Thread& thread = block.threads[rank];
      thread.rank = static_cast<std::uint16_t>(rank);
      thread.lane = static_cast<std::uint8_t>(rank & (wave - 1));
      thread.index = Index{static_cast<std::uint16_t>(index.x), static_cast<std::uint16_t>(index.y),
                           static_cast<std::uint16_t>(index.z)};
    }
  }
  // The records belong to the previous block until a thread begins, so the block counts as ended.
  block.alive = block.size;
  if (block.names_barriers) {
    for (Block::Named& named : block.named) named = Block::Named{};
    block.names_barriers = false;
  }
  block.count = 0;
  block.all = 1;
  const unsigned position = position_now(block);
  for (unsigned i = 0; i < position; ++i) {
    Thread& t = block.threads[ordered(i)];
    t.state = State::exited;
    t.met = nullptr;
    Block::Wave& each = wave_of(block, t);
    --each.busy;
    each.alive &= ~t.bit();
    --block.alive;
  }
  block.loud = true;
  detail::row_end = 0;
  begin(block, position);
}

namespace detail {

void first_thread() {
  if (!find_thread(*worker)) leave_stack_free();
}

void next_thread(unsigned x) {
  Worker& w = *worker;
  if (w.thread != nullptr) {
    // A signal may have found the next thread of the row before it ran: then it is recorded already.
    if (w.thread->index.x == x) return;
    w.fiber = w.thread->fiber;
    exited(*w.block, *w.thread);
    w.thread = nullptr;
  }
  if (!find_thread(w)) leave_stack_free();
}

}  // namespace detail

}  // namespace simt
