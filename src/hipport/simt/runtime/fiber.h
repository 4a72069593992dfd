// SPDX-License-Identifier: Apache-2.0
// Fibers: stacks that one thread of the operating system switches between.
#ifndef SIMT_RUNTIME_FIBER_H
#define SIMT_RUNTIME_FIBER_H

#include <cstddef>

namespace simt {

/// A stack, and where it goes on.
struct Fiber {
  void* sp = nullptr;  // or, where there is no switch in assembly, a ucontext_t
  char* low = nullptr;  // the usable part of the stack
  std::size_t size = 0;
  void* base = nullptr;  // frame of the function that runs the threads: where a walk over the frames ends
  Fiber* next = nullptr;  // in a list of free ones
#ifdef SIMT_ASAN
  void* fake_stack = nullptr;
#endif
};

/// Make a fiber with a stack of its own between guard pages; `number` spreads the stacks over the cache.
Fiber* new_fiber(unsigned number);
/// Have `fiber` call `entry`, which never returns, when it is next switched to.
void prepare(Fiber& fiber, void (*entry)());
/// Save where `from` is and go on where `to` was left.
#if defined(SIMT_ASAN) || defined(SIMT_UCONTEXT) || !(defined(__x86_64__) || defined(__aarch64__))
void switch_fibers(Fiber& from, Fiber& to);
#else
extern "C" __attribute__((visibility("hidden"))) void hipport_simt_switch(void** save, void* load);
inline void switch_fibers(Fiber& from, Fiber& to) { hipport_simt_switch(&from.sp, to.sp); }
#endif
/// To be called first by an entry.
void entered(Fiber& fiber);
/// The name of the way that switches go: "x86-64", "aarch64", "ucontext".
const char* switch_name();

}  // namespace simt

#endif
