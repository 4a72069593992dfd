// SPDX-License-Identifier: Apache-2.0
// Fibers: stacks that one thread of the operating system switches between.
#ifndef SIMT_RUNTIME_FIBER_H
#define SIMT_RUNTIME_FIBER_H

#include <cstddef>

// How switches go: in assembly where there is some, else by ucontext, which is a call of the system each time.
#if !defined(SIMT_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define SIMT_UCONTEXT
#endif

namespace simt {

/// A stack.
struct Fiber {
  void* start = nullptr;  // where it begins; of the thread's own stack, where it was left
  char* low = nullptr;  // the usable part of the stack
  std::size_t size = 0;
  void* base = nullptr;  // frame of the function that runs the threads: where a walk over the frames ends
  Fiber* next = nullptr;  // in a list of free ones
  void* fake_stack = nullptr;  // AddressSanitizer's, for variables whose addresses outlive their function
  bool has(const void* address) const { return address >= low && address < low + size; }
};

/// Make a fiber with a stack of its own between guard pages; `number` spreads the stacks over the cache.
Fiber* new_fiber(unsigned number);
/// Where the stack lies that the system gave the calling thread; no `low` if it does not say.
const Fiber& own_stack();
/// Have `fiber` call `entry`, which never returns, where it starts.
void prepare(Fiber& fiber, void (*entry)());
/// To be called first by an entry.
void entered(Fiber& fiber);

/// Whether AddressSanitizer is in the program: it has to be told of each switch.
extern const bool has_address_sanitizer;
/// Whether nothing but the switch is needed to go to another stack.
inline bool switches_are_plain() {
#ifdef SIMT_UCONTEXT
  return false;
#else
  return !has_address_sanitizer;
#endif
}
/// Leave the stack `from` for the stack `to`, where it was left or starts.
void switch_fibers(Fiber& from, void** save, Fiber& to, void* load);

/// Have what goes on soon touches first in the cache by then: more threads wait than it has room for.
inline void expect(const void* saved) {
  for (std::size_t line = 0; line < 4; ++line) __builtin_prefetch(static_cast<const char*>(saved) + 64 * line, 1);
}

}  // namespace simt

#endif
