// SPDX-License-Identifier: Apache-2.0
// Threads that spin on a plain load do not call the runtime. While kernels run, another thread of the operating system
// checks whether the same thread of a block has been running for long, and interrupts it by a signal. If the thread's
// registers repeat a few states, it is taken to wait, and the handler lets the block's other threads run, as if the
// loop had called `yield`. A waiting thread does the same however long it waits, so results do not depend on the time
// of the signal. A thread that computes is left alone, unless it does so for seconds: it may count its polls.
//
// A fault is reported if there is nothing but polling for as long as SIMT_WATCHDOG.
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "internal.h"
#include "loaded_objects.h"

namespace simt {
namespace {

const int interrupt = SIGRTMIN + 5;

// Never destroyed: the watching thread outlives main.
std::mutex& watch_mutex = *new std::mutex;
std::condition_variable& changed = *new std::condition_variable;
struct Running {
  pthread_t thread;
  std::atomic<bool>* asked;
};
std::vector<Running>& running = *new std::vector<Running>;
// Whether a signal is on its way to the thread. No second one is sent meanwhile: on a busy machine they would nest, and
// a thread's stack has room for only a few.
__thread std::atomic<bool> asked;
// How long a thread runs before it is examined; short once one was found to spin.
std::atomic<int> period{200};

void watch() {
  // Signals are for the threads that run kernels, or for the program's own.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::unique_lock<std::mutex> lock(watch_mutex);
  for (;;) {
    changed.wait(lock, [] { return !running.empty(); });
    changed.wait_for(lock, std::chrono::milliseconds(period.load()));
    for (const Running& each : running) {
      if (!each.asked->exchange(true)) pthread_kill(each.thread, interrupt);
    }
  }
}

std::uint64_t registers_of(const ucontext_t& context) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
#if defined(__x86_64__)
  for (int i = 0; i <= REG_RIP; ++i) {
    hash = (hash ^ static_cast<std::uint64_t>(context.uc_mcontext.gregs[i])) * 0x100000001b3ull;
  }
#elif defined(__aarch64__)
  for (const auto value : context.uc_mcontext.regs) hash = (hash ^ value) * 0x100000001b3ull;
  hash = (hash ^ context.uc_mcontext.pc) * 0x100000001b3ull;
#endif
  return hash;
}

double processor_time() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

bool are_few(std::uint64_t samples, std::size_t states) { return samples >= 64 && states * 4 < samples; }

void keep(std::vector<std::uint64_t>& states, std::uint64_t state) {
  if (std::find(states.begin(), states.end(), state) == states.end() && states.size() < 4096) states.push_back(state);
}

/// Whether the interrupted thread, which has not waited since the last signal, waits by polling. If one was found to,
/// all are taken to. After such a long time without effect, others may run, whatever it does.
bool looks(Worker::Watched& watched, const void* at, std::uint64_t state) {
  constexpr double long_enough = 5;  // seconds of processor time
  constexpr std::size_t most = 256;
  if (std::find(watched.waits.begin(), watched.waits.end(), at) != watched.waits.end()) return true;
  keep(watched.stays, state);
  if (!are_few(++watched.stay, watched.stays.size()) && processor_time() - watched.since < long_enough) return false;
  if (watched.waits.size() < most) watched.waits.push_back(at);
  return true;
}

/// Allows the next signal when the handler ends or continues with another thread.
struct Answered {
  ~Answered() { say(); }
  void say() const { asked.store(false); }
};

void on_interrupt(int, siginfo_t*, void* raw) {
  const Answered answered;
  Worker* w = worker;
  if (w == nullptr || w->launch == nullptr) return;
  if (&w->stack() == &w->root || w->block == nullptr) return;
  if (!w->stack().has(__builtin_frame_address(0))) return;  // during a switch of stacks
  // Between two threads, none is running.
  if (w->block->loud ? w->thread == nullptr : !w->block->entered || threadIdx.x >= blockDim.x) return;
  auto& watched = w->watched;
  const auto& context = *static_cast<ucontext_t*>(raw);
  Path path;
  path_of(path, context, w->stack().base);
  const bool same = watched.switches == w->switches &&
                    std::memcmp(&watched.thread, &threadIdx, sizeof threadIdx) == 0 &&
                    std::memcmp(&watched.block, &blockIdx, sizeof blockIdx) == 0;
  watched.switches = w->switches;
  watched.thread = threadIdx;
  watched.block = blockIdx;
  if (!same) {
    watched.stay = 0;
    watched.stays.clear();
    watched.since = processor_time();
    return;
  }
  // User code may be interrupted, a library that may hold a lock may not.
  const LoadedObject* const object = object_at(static_cast<char*>(path.frames[0]) - 1);
  if (object == nullptr || !object->is_users) return;
  const std::uint64_t state = registers_of(context);
  ++watched.samples;
  keep(watched.states, state);
  period = 2;
  if (!looks(watched, path.frames[0], state)) return;
  answered.say();
  preempt(path);
  // After it continues, its examination starts anew.
  w->watched.switches = 0;
}

}  // namespace

bool spins(const Worker& w) { return are_few(w.watched.samples, w.watched.states.size()); }

void begin_watch() {
  note_loaded_objects();
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action{};
    action.sa_sigaction = on_interrupt;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
    // A signal that ends the program should find the thread in the user's code, not in this handler.
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaction(interrupt, &action, nullptr);
    std::thread(watch).detach();
  });
  {
    const std::lock_guard<std::mutex> lock(watch_mutex);
    asked.store(false);
    running.push_back({pthread_self(), &asked});
    period = 200;
  }
  changed.notify_one();
}

void end_watch() {
  const std::lock_guard<std::mutex> lock(watch_mutex);
  running.erase(std::find_if(running.begin(), running.end(),
                             [](const Running& each) { return pthread_equal(each.thread, pthread_self()) != 0; }));
}

}  // namespace simt
