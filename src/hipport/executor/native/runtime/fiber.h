// SPDX-License-Identifier: Apache-2.0
// Fibers: stacks that one thread of the operating system switches between.
#ifndef SIMT_RUNTIME_FIBER_H
#define SIMT_RUNTIME_FIBER_H

#include <cstddef>

// How stacks are switched: by assembly if it exists for the processor, else by ucontext, which makes a system call.
#if !defined(SIMT_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define SIMT_UCONTEXT
#endif

namespace simt {

/// A stack.
struct Fiber {
  void* start = nullptr;  // where it begins; for the thread's own stack, where it was left
  char* low = nullptr;  // the usable part of the stack
  std::size_t size = 0;
  void* base = nullptr;  // frame of the function that runs the threads, at which a walk over frames ends
  Fiber* next = nullptr;  // in a list of free fibers
  void* fake_stack = nullptr;  // AddressSanitizer's, for variables whose addresses outlive their function
  bool has(const void* address) const { return address >= low && address < low + size; }
};

/// Make a fiber with a stack of its own between guard pages; `number` spreads the stacks over the cache.
Fiber* new_fiber(unsigned number);
/// The stack that the system gave the calling thread; `low` is null if unknown.
const Fiber& own_stack();
/// Prepare `fiber` to call `entry`, which never returns.
void prepare(Fiber& fiber, void (*entry)());
/// Must be called first by an entry.
void entered(Fiber& fiber);

/// Whether AddressSanitizer is in the program: it must be notified of each switch.
extern const bool has_address_sanitizer;
/// Whether a switch of stacks needs no notification.
inline bool switches_are_plain() {
#ifdef SIMT_UCONTEXT
  return false;
#else
  return !has_address_sanitizer;
#endif
}
/// Leave the stack `from` and continue on the stack `to`, where it was left or at its start.
void switch_fibers(Fiber& from, void** save, Fiber& to, void* load);

/// Prefetch what the next thread touches first, because the waiting threads exceed the cache.
inline void expect(const void* saved) {
  for (std::size_t line = 0; line < 4; ++line) __builtin_prefetch(static_cast<const char*>(saved) + 64 * line, 1);
}

}  // namespace simt

#endif
