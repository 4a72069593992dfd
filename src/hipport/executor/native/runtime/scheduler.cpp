// SPDX-License-Identifier: Apache-2.0
// Which thread runs next, and where threads meet.
//
// A block is quiet until one of its threads has to wait: its threads run one after the other on one fiber, and nothing
// is kept of them. The first that waits makes the block loud: each thread gets a record, and whenever one waits, one
// that is ready goes on, or a fresh fiber goes on starting those that are left. Wavefronts are settled as soon as none
// of their lanes can run, a block ends when all have exited, and a block where nothing can run is a deadlock.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <thread>

#include "internal.h"

__thread uint3 threadIdx, blockIdx;
__thread dim3 blockDim, gridDim;
int warpSize = 32;

namespace simt {

__thread Worker* worker = nullptr;
__thread Started last_launch = Started::yes;
namespace detail {
__thread unsigned row_end = 0;
__thread void* row_frame = nullptr;
const Operation loop_begins{"the beginning of a loop", nullptr};
const Operation loop_turns{"the end of a turn of a loop", nullptr};
}

namespace {

constexpr unsigned most_threads = 1024;

Dialect said = Dialect::cuda;
bool is_said = false;

std::uint64_t next_random(std::uint64_t& state) {
  // xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled" (2016).
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1dull;
}

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Settings read_settings() {
  Settings s;
  const auto text = [](const char* name) -> const char* {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
  };
  const auto bad = [](const char* name, const char* value, const char* wanted) {
    std::fprintf(stderr, "simt: %s=%s: %s is wanted\n", name, value, wanted);
    std::_Exit(2);
  };
  if (const char* v = text("SIMT_WAVE")) {
    s.wave = std::atoi(v);
    if (s.wave != 32 && s.wave != 64) bad("SIMT_WAVE", v, "32 or 64");
  }
  if (const char* v = text("SIMT_ORDER")) {
    const std::string order = v;
    if (order == "reverse") {
      s.order = Settings::Order::reverse;
    } else if (order.rfind("random", 0) == 0) {
      s.order = Settings::Order::random;
      s.seed = order.size() > 7 ? std::strtoull(v + 7, nullptr, 10) : 1;
    } else if (order != "forward") {
      bad("SIMT_ORDER", v, "forward, reverse or random:SEED");
    }
  }
  if (const char* v = text("SIMT_THREADS")) {
    s.threads = std::atoi(v);
    if (s.threads < 1 || s.threads > 1024) bad("SIMT_THREADS", v, "1 to 1024");
  }
  if (const char* v = text("SIMT_POISON")) s.poison = std::strcmp(v, "0") == 0 ? -1 : 0xff;
  if (const char* v = text("SIMT_CONVERGENCE")) {
    if (std::strcmp(v, "minimal") != 0 && std::strcmp(v, "maximal") != 0) bad("SIMT_CONVERGENCE", v, "maximal or minimal");
    s.minimal = std::strcmp(v, "minimal") == 0;
  }
  if (const char* v = text("SIMT_WATCHDOG")) s.watchdog = std::atof(v);
  s.report = text("SIMT_REPORT");
  s.trace = text("SIMT_TRACE");
  return s;
}

void wake(Thread& thread) {
  thread.state = State::ready;
  thread.wait = Wait::none;
  thread.yielding = false;
  worker->block->ready.push(&thread);
}

/// Wake a list in its order, or shuffled where the order is random: who goes on first after a barrier is open. Records
/// of those that are woken are not touched, where that can be: they say `waiting` until they run.
void wake_all(List& list) {
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

/// The wavefront's size as a power of two, for what is asked for all the time.
unsigned wave_shift = 5;

Block::Wave& wave_of(Block& block, const Thread& thread) { return block.wave[thread.rank >> wave_shift]; }

/// Meetings lie together, so that `is_meeting` knows them. What is not used costs nothing.
constexpr std::size_t meetings_size = std::size_t(1) << 32;
char* meetings_start = nullptr;
std::atomic<std::size_t> meetings_used{0};

Meeting* make_meeting() {
  static std::once_flag once;
  std::call_once(once, [] {
    void* all = mmap(nullptr, meetings_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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

__attribute__((noinline)) Meeting* open_meeting(std::uint64_t mask) {
  Meeting* meeting = new_meeting();
  meeting->mask = mask;
  meeting->word = 0;
  meeting->readers = 0;
  return meeting;
}

/// A thread that goes on has read what it wanted of its last meeting.
__attribute__((noinline)) void keep_meeting(Meeting* meeting) { worker->meetings.push_back(meeting); }
inline void forget_meeting(Thread& thread) {
  if (thread.met != nullptr && --thread.met->readers == 0) keep_meeting(thread.met);
  thread.met = nullptr;
}

/// How a thread came to where it waits, as far as that is known.
Path path_of(const Block& block, const Thread& thread) {
  Path path;
  if (thread.came == Came::kept) return block.paths[thread.rank];
  if (thread.came == Came::unknown) return path;
  path.frames[path.depth++] = thread.call;
  walk(path, thread.frame, thread.base);
  return path;
}

unsigned ordered(unsigned position) { return worker->order.empty() ? position : worker->order[position]; }

/// How many threads a named barrier counts. A warp counts as a whole (PTX ISA 9.0, "bar"): lanes that have exited, or
/// were never there, come with the others.
unsigned arrived(const Block& block, const Block::Named& named) {
  const unsigned size = 1u << wave_shift;
  const std::uint64_t all = size == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << size) - 1;
  unsigned count = 0;
  for (const Block::Named::Came& each : named.came) {
    count += each.times * size + static_cast<unsigned>(__builtin_popcountll((each.lanes | ~block.wave[each.wave].alive) & all));
  }
  return count;
}

std::string numbers_text(const char* what, const std::vector<unsigned>& ranks) {
  std::string text = std::string(what) + (ranks.size() == 1 ? " " : "s ");
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t j = i;
    while (j + 1 < ranks.size() && ranks[j + 1] == ranks[j] + 1) ++j;
    if (i != 0) text += ", ";
    text += std::to_string(ranks[i]);
    if (j != i) text += "-" + std::to_string(ranks[j]);
    i = j + 1;
  }
  return text;
}

/// Who waits where, one line for each place.
std::string waiting_text(Block& block) {
  std::vector<std::pair<std::string, std::vector<unsigned>>> places;
  unsigned exited = 0;
  std::vector<bool> begun(block.size);
  for (unsigned i = 0; i < block.started; ++i) begun[ordered(i)] = true;
  for (Thread* t = block.ready.first; t != nullptr; t = t->next) t->state = State::ready;
  for (unsigned rank = 0; rank < block.size; ++rank) {
    Thread& thread = block.threads[rank];
    if (!begun[rank]) continue;
    if (thread.state == State::exited) {
      ++exited;
      continue;
    }
    const bool runs = &thread == worker->thread && worker->current.depth != 0 && !thread.yielding;
    std::string where = user_place(runs ? worker->current : path_of(block, thread));
    if (where.empty()) where = std::string(thread.file) + ":" + std::to_string(thread.line);
    std::string text;
    if (thread.yielding || thread.state != State::waiting) {
      text = (runs ? "run at " : "spin at ") + where;
    } else {
      text = std::string("wait in ") + thread.name;
      if (thread.wait == Wait::masked) {
        char mask[32];
        std::snprintf(mask, sizeof mask, " (mask 0x%llx)", static_cast<unsigned long long>(thread.met->mask));
        text += mask;
      } else if (thread.wait == Wait::named) {
        const Block::Named& named = block.named[thread.number];
        text += " (number " + std::to_string(thread.number) + ", where " + std::to_string(arrived(block, named)) + " of " +
                (named.wanted != 0 ? std::to_string(named.wanted) : "all") + " threads have come)";
      }
      text += " at " + where;
    }
    const auto same = std::find_if(places.begin(), places.end(), [&](const auto& p) { return p.first == text; });
    if (same != places.end()) {
      same->second.push_back(thread.rank);
    } else {
      places.push_back({text, {thread.rank}});
    }
  }
  std::string text;
  for (const auto& [what, ranks] : places) text += "\n    " + numbers_text("thread", ranks) + " " + what;
  if (exited != 0) text += "\n    " + std::to_string(exited) + " threads have exited";
  if (block.started != block.size) text += "\n    " + std::to_string(block.size - block.started) + " have not begun";
  return text;
}

// --------------------------------------------------------------------------------------------- going on elsewhere

/// Where the user wrote what one of the threads waits in, or else does, for the place of a fault.
std::string place_of_one(const Block& block) {
  const Thread* one = nullptr;
  for (unsigned i = 0; i < block.started; ++i) {
    const Thread& thread = block.threads[ordered(i)];
    if (thread.state == State::exited) continue;
    const bool waits = thread.state == State::waiting, better = one == nullptr || (waits && one->state != State::waiting);
    if (better || (waits == (one->state == State::waiting) && thread.rank < one->rank)) one = &thread;
  }
  if (one == nullptr) return "";
  const std::string where = user_place(path_of(block, *one));
  return !where.empty() || one->line == 0 ? where : std::string(one->file) + ":" + std::to_string(one->line);
}

[[noreturn]] void work();

Fiber& take_fiber() {
  if (worker->free == nullptr) worker->free = new_fiber(worker->fibers++);
  Fiber* fiber = worker->free;
  worker->free = fiber->next;
  prepare(*fiber, work);
  return *fiber;
}

/// Leave what runs for where `to` starts; the root starts where it was left. What waits is not what runs there.
void leave_for(Fiber& to) {
  Worker& w = *worker;
  Fiber& stack = w.stack();
  void** save = w.thread != nullptr ? &w.thread->stack : &stack.start;
  w.thread = nullptr;
  w.fiber = &to;
  ++w.switches;
  switch_fibers(stack, save, to, to.start);
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

/// Leave what runs for a thread that is ready.
void leave_for_ready(Worker& w, Block& block) {
  Thread* self = w.thread;
  Fiber& stack = w.stack();
  Thread& next = take_ready(w, block);
  if (&next != self) switch_fibers(stack, self != nullptr ? &self->stack : &stack.start, *next.fiber, next.stack);
}

bool settle_stalled(Block& block);

// How often threads of a block change before one begins that has not, though others can go on, and before another block
// runs: about a millisecond and half a second where they do nothing else. Who has waited in vain gets less.
constexpr std::uint64_t most_patience = 1 << 16, least_patience = 1 << 8;
constexpr std::uint64_t most_share = 1 << 24, fresh_share = 1 << 18, least_share = 1 << 16;

/// Whether lanes wait in an operation only for those that will get there, and not for those that spin.
bool is_of_loops(const Operation* operation) { return operation == &detail::loop_begins || operation == &detail::loop_turns; }

/// The rounds of yields that all who could run made in vain.
bool is_stalled(const Block& block) { return block.idle > 256 + 64 * std::uint64_t(block.ready.count); }

/// Go on with whatever can run, as the running thread cannot or will not. Returns when that thread is to go on.
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

/// The running thread waits, as its record says: where to go on, if nothing but a switch is left to do; else it has been
/// woken already.
inline detail::Turn turn(Block& block, Thread& self) {
  Worker& w = *worker;
  if (!switches_are_plain || block.idle > 256 || w.due || w.switches >= w.until) {
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

// -------------------------------------------------------------------------------------------------------- meetings

bool same_place(const Place& a, const Place& b) { return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0); }

/// Operations are the same if they have one name: every instantiation of a template has an object of its own.
bool same_operation(const Operation* a, const Operation* b) {
  return a == b || a->name == b->name || std::strcmp(a->name, b->name) == 0;
}

void finish(Block& block, const Thread& one, Meeting& meeting, const Operation& operation, std::uint64_t lanes) {
  meeting.lanes = lanes;
  if (operation.finish != nullptr) {
    // What lanes have given lies on the stacks of all.
    if (races_looked_for) races_paused(true);
    operation.finish(meeting);
    if (races_looked_for) races_paused(false);
  }
  if (races_looked_for && !is_of_loops(&operation)) races_meeting(block, one.rank - one.lane, lanes);
}

/// All lanes of a group have come: they go on, but for `last`, who has not waited.
__attribute__((noinline)) void release(Block& block, Block::Wave& wave, Block::Group& group, const Thread& last) {
  finish(block, last, *group.meeting, *group.operation, group.arrived);
  List list = group.list;
  group = wave.groups.back();
  wave.groups.pop_back();
  wave.busy += list.count;
  block.idle = 0;
  wake_all(list);
}

bool settle_masked(Block& block, Block::Wave& wave) {
  for (Block::Group& group : wave.groups) {
    if ((group.mask & wave.alive & ~group.arrived) != 0) continue;
    release(block, wave, group, *group.list.first);
    return true;
  }
  return false;
}

/// The group that waits for the lanes of `mask` in an operation; a new one, if there is none.
__attribute__((noinline)) Block::Group& find_group(Block::Wave& wave, const Operation& operation, std::uint64_t mask) {
  for (Block::Group& each : wave.groups) {
    if (each.mask == mask && same_operation(each.operation, &operation)) return each;
  }
  wave.groups.push_back({&operation, mask, 0, open_meeting(mask), List{}});
  return wave.groups.back();
}

/// Say that a lane comes to others that wait for it in another line. With CUDA lanes meet so; a wavefront of AMD's takes
/// one branch after the other.
__attribute__((noinline)) void comes_elsewhere(const Thread& others, const Thread& self) {
  const Place there = others.place();
  if (self.line == 0 || same_place(there, self.place()) || !dialect_is(Dialect::cuda)) return;
  warning("warp-places", self.place(),
          "lanes of one warp meet in this %s and in the one at %s:%d: on AMD those of one branch go on before those of the other "
          "come",
          self.name, there.file, there.line);
}

/// The same. Most often there is one group, that of the lanes before.
inline Block::Group& group_of(Block::Wave& wave, const Operation& operation, std::uint64_t mask) {
  if (!wave.groups.empty()) {
    Block::Group& first = wave.groups.front();
    if (first.mask == mask && first.operation == &operation) return first;
  }
  return find_group(wave, operation, mask);
}

/// A barrier opens, and in one before it threads were in several lines. Fault if some are now, without those that have
/// ended, where these were when the others were elsewhere: they have counted one barrier more.
__attribute__((noinline)) void passed_by(Block& block) {
  for (const Thread* t = block.barrier.first; t != nullptr; t = t->next) {
    const Block::Passed own = block.passed[t->rank];
    if (own.number == 0 || same_place(own.place, t->place())) continue;
    std::vector<unsigned> before, now;
    for (unsigned rank = 0; rank < block.size; ++rank) {
      const Block::Passed& other = block.passed[rank];
      if (block.threads[rank].state == State::exited && other.number == own.number && same_place(other.place, t->place())) {
        before.push_back(rank);
      }
    }
    if (before.empty()) continue;
    for (const Thread* each = block.barrier.first; each != nullptr; each = each->next) now.push_back(each->rank);
    std::sort(now.begin(), now.end());
    fault_with("divergent-barrier", t->place(),
               numbers_text("thread", now) + " come to this barrier when " + numbers_text("thread", before) +
                   " have passed it and ended: those met the others at " + own.place.file + ":" + std::to_string(own.place.line) +
                   ", so nothing orders what is between the two");
  }
}

/// A barrier opens, in which threads are in several lines: keep which.
__attribute__((noinline)) void keep_places(Block& block) {
  ++block.times_apart;
  block.passed.resize(block.size);
  for (const Thread* t = block.barrier.first; t != nullptr; t = t->next) block.passed[t->rank] = {t->place(), block.times_apart};
  block.apart = false;
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
    // All that are left were in it.
    for (unsigned i = 0; i < block.waves; ++i) {
      block.wave[i].busy = static_cast<unsigned>(__builtin_popcountll(block.wave[i].alive));
    }
  } else {
    block.named[0].came.clear();
    for (Thread* t = block.barrier.first; t != nullptr; t = t->next) ++wave_of(block, *t).busy;
  }
  wake_all(block.barrier);
}

/// Whether all threads that are left are in the block's barrier, or have arrived at it and gone on (`bar.arrive 0`).
bool all_arrived(const Block& block) {
  unsigned count = block.barrier.count;
  for (const Block::Named::Came& each : block.named[0].came) {
    count += static_cast<unsigned>(__builtin_popcountll(each.lanes & block.wave[each.wave].alive));
  }
  return count == block.alive;
}

/// Say that a thread is in another barrier than those that came before it, if it is.
__attribute__((noinline)) void meets_elsewhere(Block& block, const Thread& thread) {
  if (thread.line == 0 || same_place(block.barrier_place, thread.place())) return;
  block.apart = true;
  if (!dialect_is(Dialect::cuda)) return;
  warning("barrier-places", thread.place(), "threads of one block meet in this barrier and in the one at %s:%d",
          block.barrier_place.file, block.barrier_place.line);
}

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

/// The same for a wavefront of which all came by one call.
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

bool open_named(Block& block, Block::Named& named) {
  const bool open = named.wanted != 0 ? arrived(block, named) >= static_cast<unsigned>(named.wanted) : named.list.count == block.alive;
  if (!open) return false;
  named.came.clear();
  if (races_looked_for) races_barrier(block);
  for (Thread* t = named.list.first; t != nullptr; t = t->next) ++wave_of(block, *t).busy;
  block.idle = 0;
  wake_all(named.list);
  return true;
}

bool later(const Path& a, const Path& b) {
  // From the outermost call inwards: what stands later in a function comes later.
  for (unsigned i = 1; i <= a.depth && i <= b.depth; ++i) {
    if (a.frames[a.depth - i] != b.frames[b.depth - i]) return a.frames[a.depth - i] > b.frames[b.depth - i];
  }
  return a.depth > b.depth;
}
/// Of the threads that are present in a wavefront (or only of those at loops), those that came on the path that comes first.
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

/// Have nobody wait any more at the ends of loops of the wavefront; whether anybody did.
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

/// No lane of the wavefront can run: let those that came together, and come first, go on. Also, where some spin, those
/// at loops.
__attribute__((noinline)) bool settle_present(Block& block, Block::Wave& wave, bool at_loops = false) {
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
                 std::string(one.name) + " is reached by some lanes of a wavefront while others are elsewhere: on AMD the "
                 "wavefront counts as arrived, and its other lanes arrive again or never" + waiting_text(block));
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

/// The wavefront has one lane less that can run.
inline void less_busy(Block& block, Block::Wave& wave) {
  if (--wave.busy == 0) settle_present(block, wave);
}

/// All that could run only looks whether something has changed: let lanes go on that would wait for those.
bool settle_stalled(Block& block) {
  for (unsigned i = 0; i < block.waves; ++i) {
    Block::Wave& wave = block.wave[i];
    if (dialect_is(Dialect::hip)) {
      // A wavefront of AMD's does not go on without the lanes that it waits for.
      bool at_loops = false;
      for (Thread* t = wave.present.first; t != nullptr && !at_loops; t = t->next) at_loops = t->wait == Wait::present && is_of_loops(t->operation);
      if (!at_loops) continue;
      settle_present(block, wave, true);
      return true;
    }
    if (settle_present(block, wave)) return true;
  }
  return false;
}

/// A lane is not in a loop any more. Returns whether nobody is; the loop is gone then.
bool is_left(Block& block, Block::Wave& wave, Block::Loop& loop, std::uint64_t lane) {
  loop.inside &= ~lane;
  if ((loop.inside & wave.alive) != 0) return false;
  if (loop.left.count != 0) block.idle = 0;
  open_loop(wave, loop);
  wave.loops.erase(std::find(wave.loops.begin(), wave.loops.end(), &loop));
  delete &loop;
  return true;
}

// --------------------------------------------------------------------------------------------- starting and ending

uint3 index_of(unsigned rank) {
  return uint3{rank % blockDim.x, rank / blockDim.x % blockDim.y, rank / (blockDim.x * blockDim.y)};
}


/// How many have been started, the running one included.
unsigned position_now(const Block& block) {
  return worker->order.empty() && !block.loud ? thread_rank() : block.position;
}

/// Mark the thread that runs as the one that has been started `position`-th.
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

void check_done(Block& block) {
  if (block.barrier.count != 0 && all_arrived(block)) release_barrier(block);
  if (!block.names_barriers) return;
  for (Block::Named& named : block.named) {
    if (named.list.count != 0) open_named(block, named);
  }
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
  for (std::size_t i = wave.loops.size(); i-- != 0;) is_left(block, wave, *wave.loops[i], thread.bit());
  less_busy(block, wave);
  check_done(block);
}

/// Take the next block of the launch; false if there is none.
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

/// Nothing is left to start: this fiber is free, and whoever is ready goes on.
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
          detail::row_end = 0;  // another block may go on, whose threads have waited
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

const Settings& settings() {
  // Units say what they were compiled as before main begins; a plain variable costs no guard later.
  static Settings* read = nullptr;
  if (read == nullptr) read = new Settings(read_settings());
  return *read;
}

Dialect program_dialect() { return said; }
bool dialect_is(Dialect dialect) { return said == dialect; }

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
    each.loops.clear();
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
  // Records are of the block before until a thread begins: it has ended, as far as anybody asks.
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

bool compiled_as(Dialect dialect) {
  if (is_said && said != dialect) {
    std::fprintf(stderr, "simt: some units of this program were compiled as CUDA and some as HIP\n");
    std::_Exit(2);
  }
  is_said = true;
  said = dialect;
  warpSize = wave_size();
  wave_shift = warpSize == 64 ? 6 : 5;
  install_handlers();
  return true;
}

void first_thread() {
  if (!find_thread(*worker)) leave_stack_free();
}

void next_thread(unsigned x) {
  Worker& w = *worker;
  if (w.thread != nullptr) {
    // A signal may have found the thread that a row had gone on to: that one is known, and has not run.
    if (w.thread->index.x == x) return;
    w.fiber = w.thread->fiber;
    exited(*w.block, *w.thread);
    w.thread = nullptr;
  }
  if (!find_thread(w)) leave_stack_free();
}

}  // namespace detail

namespace {

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

/// Go on with a block until all its threads have ended or none can run. Call from the root.
Entered enter(Worker& w, Block& block) {
  w.block = &block;
  blockIdx = block.index;
  set_dynamic(block);
  w.due = false;
  w.yields = 0;
  w.end = w.switches + (block.entered ? w.share : std::max(fresh_share, w.share));  // all that have begun take memory
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
  fault_at(spins ? "no-progress" : "deadlock", place_of_one(block),
           (spins ? "threads wait for a value that does not come" : "all threads that are left wait, and none for another that could come") +
               waiting_text(block));
}

/// Nothing of a launch has gone on for long. If lanes wait at the ends of loops for others that spin in them, let them go
/// on: then it is seen whether those wait for them.
bool look_behind_loops(Worker& w, const std::vector<Block*>& resident) {
  bool any = false;
  for (Block* block : resident) {
    w.block = block;
    w.thread = nullptr;
    std::string where;
    for (unsigned i = 0; block->loud && i < block->waves; ++i) {
      for (Block::Loop* loop : block->wave[i].loops) {
        if (loop->left.count == 0) continue;
        if (where.empty()) where = waiting_text(*block);
        loop->stuck = where;
      }
      any = open_loops(*block, block->wave[i]) || any;
    }
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
    // A new block, if there is none that only waits for others, or all must be there at once.
    if (more && (resident.empty() || w.resident)) {
      more = resident.size() < most_resident && take_block(w, index);
      if (more) {
        Block& block = new_block(w);
        w.block = &block;
        reset(block, index);
        if (enter(w, block) == Entered::stuck) {
          if (block.ready.count == 0 && block.grid.count == 0 && !open_loops(block)) deadlock(block, false);
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
    if (!more && w.launch->cooperative && std::all_of(resident.begin(), resident.end(), [](Block* b) { return at_grid_barrier(*b); })) {
      if (races_looked_for) races_launch();  // it orders what all blocks did
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
        if ((block.grid.count == 0 || (!more && !at_grid_barrier(block))) && !open_loops(block)) deadlock(block, false);
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
    if (w.watched.samples != 0 && !spins(w)) progress = true;  // it computes, for all that can be seen
    const double time = now();
    bool in_vain = false;
    if (progress) {
      since = 0;
    } else if (since == 0) {
      since = time;
    } else {
      in_vain = time - since > settings().watchdog;
    }
    if (fewer) {
      standstill.begin();
    } else if (!in_vain && standstill.is_seen(w, resident, time)) {
      in_vain = true;
    }
    if (in_vain) {
      if (!look_behind_loops(w, resident)) deadlock(*resident.front(), true);
      since = 0;
      standstill.begin();
    }
    if (resident.empty() && !w.launch->cooperative) w.resident = false;
  }
}

std::mutex workers_mutex;
std::vector<Worker*> idle_workers;

/// A worker for this thread of the operating system: those of threads that have ended are used again, with their stacks.
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

void run_on(const Launch& how, detail::Run body, void* context, std::atomic<std::uint64_t>& next, std::uint64_t blocks) {
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
  w.share = races_looked_for ? fresh_share : most_share;  // a switch takes many times as long then
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

int wave_size() {
  static const int forced = [] {
    const char* v = std::getenv("SIMT_FORCE_WAVE");
    return v != nullptr && std::atoi(v) == 64 ? 64 : 0;
  }();
  return forced != 0 ? forced : said == Dialect::cuda ? 32 : settings().wave;
}

bool is_meeting(const void* address) {
  const auto* a = static_cast<const char*>(address);
  return meetings_start != nullptr && a >= meetings_start && a < meetings_start + meetings_size;
}

bool in_kernel() { return worker != nullptr && worker->launch != nullptr; }

/// How many launches there were, for who loads the library by hand: a case in which no kernel runs shows nothing.
extern "C" SIMT_EXPORT std::uint64_t simt_launches() { return launches; }

namespace detail {

Started run(const Launch& how, Run body, void* context) {
  const std::uint64_t number = launches++;
  if (number == 0) races_start();
  const auto product = [](const dim3& d) { return std::uint64_t(d.x) * d.y * d.z; };
  Started started = Started::yes;
  const std::uint64_t threads = product(how.block), blocks = product(how.grid);
  if (threads == 0 || threads > most_threads || blocks == 0 || how.block.z > (said == Dialect::hip ? 1024u : 64u) || how.grid.y > 65535 || how.grid.z > 65535 ||
      how.grid.x > 0x7fffffffu || (said == Dialect::hip && std::uint64_t(how.grid.x) * how.block.x > 0xffffffffull)) {
    started = Started::invalid_configuration;
    warning("launch-limit", how.place,
            "%s is not started: a grid of %u x %u x %u blocks of %u x %u x %u threads (a block has 1 to 1024 threads, on "
            "NVIDIA at most 64 in z; a grid at most 2147483647 x 65535 x 65535 blocks%s)",
            how.name, how.grid.x, how.grid.y, how.grid.z, how.block.x, how.block.y, how.block.z,
            said == Dialect::hip ? ", on AMD less than 2^32 threads in x" : "");
  } else if (how.shared > (said == Dialect::hip ? 65536u : 232448u)) {
    started = Started::shared_too_large;
    warning("launch-limit", how.place, "%s is not started: %zu bytes of dynamic shared memory, of at most %u", how.name,
            how.shared, said == Dialect::hip ? 65536u : 232448u);
  } else if (recordings != 0 && reinterpret_cast<std::uintptr_t>(how.stream) <= 1 && refused_by_recordings(Unrecorded::launch) != 0) {
    started = Started::while_captured;
  } else if (in_kernel()) {
    fault("launch-in-kernel", how.place, "a kernel starts the kernel %s: the executor cannot, and AMD GPUs cannot", how.name);
  } else {
    std::atomic<std::uint64_t> next{0};
    const int most = how.cooperative ? 1 : static_cast<int>(std::min<std::uint64_t>(blocks, static_cast<std::uint64_t>(settings().threads)));
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

// ------------------------------------------------------------------------------------ what shims call in a kernel


std::uint64_t living() {
  become_loud();
  return wave_of(*worker->block, *worker->thread).alive;
}

std::uint64_t existing() {
  const unsigned size = blockDim.x * blockDim.y * blockDim.z, per = static_cast<unsigned>(wave_size());
  const unsigned count = std::min(per, size - wave() * per);
  return count == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << count) - 1;
}

std::int64_t clock() {
  if (!in_kernel()) return 0;
  // Loops that wait until so many cycles have passed end after few turns; and others get to run meanwhile.
  return worker->ticks += 1000;
}

bool is_cooperative() { return in_kernel() && worker->launch->cooperative; }

namespace {

void must_be_kernel(const char* name, Place place) {
  if (!runs_kernel()) fault("not-in-kernel", place, "%s is called on the host", name);
}

__attribute__((noinline)) void make_loud_for(const char* name, Place place) {
  must_be_kernel(name, place);
  make_loud();
}

/// Keep which function called the thread: before another stack is used, where the same may be said of another thread. (It
/// was, if a signal came before this one said it.)
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

/// Copy what a lane gives; the usual sizes without a call.
inline void give(unsigned char* to, const void* value, std::size_t size) {
  if (size == 4) {
    std::memcpy(to, value, 4);
  } else if (size == 8) {
    std::memcpy(to, value, 8);
  } else if (size != 0) {
    std::memcpy(to, value, size);
  }
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
    wave.together = wave.together && wave.wait == what && wave.path_hash == hash &&
                    (wave.operation == operation || (operation != nullptr && same_operation(wave.operation, operation)));
  }
  wave.lanes |= self.bit();
  wave.present.push(&self);
}

}  // namespace

/// The running thread can go on, but lets others.
static void let_others(Block& block, Thread& self) {
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

void stop_here(const char* kind, const char* message) {
  become_loud();
  const Block& block = *worker->block;
  const std::string here = worker->current.depth != 0 ? user_place(worker->current) : "";
  fault_at(kind, here.empty() ? place_of_one(block) : here, message + waiting_text(*worker->block));
}

namespace detail {

void lost_lanes(std::uint64_t ballot, unsigned bits, Place place) {
  std::vector<unsigned> lanes;
  for (unsigned lane = bits; lane < 64; ++lane) {
    if ((ballot >> lane & 1) != 0) lanes.push_back(lane);
  }
  fault("lost-lanes", place, "a ballot of 64 lanes, 0x%llx, is kept in %u bits: what %s said is lost",
        static_cast<unsigned long long>(ballot), bits, numbers_text("lane", lanes).c_str());
}

Turn come_masked(const Operation& operation, std::uint64_t mask, const void* value, std::size_t size, Place place) {
  Thread& self = waiter(operation.name, place);
  Block& block = *worker->block;
  Block::Wave& wave = wave_of(block, self);
  const std::uint64_t bit = self.bit();
  if (said == Dialect::hip) keep_call(self);
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
    // The last to come goes on at once.
    release(block, wave, group, self);
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
  if (wave.given == nullptr) wave.given = open_meeting(0);
  give(wave.given->values[self.lane], value, size);
  ++wave.given->readers;
  self.met = wave.given;
  join_present(wave, self, Wait::present, &operation);
  self.state = State::waiting;
  less_busy(block, wave);
  return turn(block, self);
}

Turn come_to_barrier(const char* name, int predicate, Place place) {
  Thread& self = waiter(name, place);
  Block& block = *worker->block;
  Block::Wave& wave = wave_of(block, self);
  self.predicate = predicate != 0;
  self.state = State::waiting;
  if (said == Dialect::hip) {
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

Turn leave_loop(void* raw, Place place) {
  Thread& self = waiter("the end of a loop that others of the wavefront are in", place);
  Block& block = *worker->block;
  Block::Wave& wave = wave_of(block, self);
  Block::Loop& loop = *static_cast<Block::Loop*>(raw);
  keep_call(self);
  if (!loop.stuck.empty()) {
    fault_with("spin-in-wavefront", place,
               "lanes wait in this loop for what others of their wavefront do behind it: on AMD those do not go on before all "
               "have left the loop, and the launch hangs" + loop.stuck);
  }
  if (is_left(block, wave, loop, self.bit())) return {&self, nullptr};
  if (loop.open) return {&self, nullptr};
  self.wait = Wait::loop;
  loop.left.push(&self);
  self.state = State::waiting;
  less_busy(block, wave);
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
          threads == 0 ? "who arrives without waiting has to say how many" : "warps come as a whole, so it must be a multiple of their size");
  }
  Block::Named& named = block.named[number];
  // Number 0 of all threads is the barrier that __syncthreads() waits at.
  const bool of_block = number == 0 && static_cast<unsigned>(threads) >= blockDim.x * blockDim.y * blockDim.z;
  if (!of_block) block.names_barriers = true;
  if (named.came.empty()) {
    named.wanted = threads;
  } else if (named.wanted != threads) {
    fault("barrier-number", place, "barrier %d is for %d threads here, and for %d where others have come to it", number, threads, named.wanted);
  }
  const unsigned wave = self.rank >> wave_shift;
  const auto same = std::find_if(named.came.begin(), named.came.end(), [&](const auto& each) { return each.wave == wave; });
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
  // Who opens it goes on in its turn.
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
