// SPDX-License-Identifier: Apache-2.0
#include "internal.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>

// As in <sanitizer/asan_interface.h> and common_interface_defs.h: defined only in programs compiled with
// -fsanitize=address.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the names are the sanitizer's.
extern "C" {
__attribute__((weak)) void* __asan_get_current_fake_stack();
__attribute__((weak)) void* __asan_addr_is_in_fake_stack(void* fake_stack, void* address, void** begin, void** end);
__attribute__((weak)) void __sanitizer_start_switch_fiber(void** fake_stack_save, const void* bottom, std::size_t size);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom_old,
                                                           std::size_t* size_old);
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)

namespace simt {

const bool has_address_sanitizer = &__asan_get_current_fake_stack != nullptr;

namespace {

// Pages are allocated on first use: a stack costs only what it uses.
constexpr std::size_t stack_size = 256 << 10;

}  // namespace

Fiber* new_fiber(unsigned number) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* all = mmap(nullptr, stack_size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED || mprotect(static_cast<char*>(all) + page, stack_size, PROT_READ | PROT_WRITE) != 0) {
    fault("out-of-memory", {"", 0},
          "no memory for the stacks of all waiting threads: fewer blocks may wait for others at once, as on a GPU");
  }
  Fiber* fiber = new Fiber;
  fiber->low = static_cast<char*>(all) + page;
  // Stacks that all end at the same offset of a page would compete for the same cache lines.
  fiber->size = stack_size - std::size_t(number % 32) * 192;
  return fiber;
}

const Fiber& own_stack() {
  static thread_local Fiber own;
  if (own.low == nullptr) {
    pthread_attr_t attributes;
    void* low = nullptr;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      pthread_attr_getstack(&attributes, &low, &own.size);
      pthread_attr_destroy(&attributes);
      own.low = static_cast<char*>(low);
    }
  }
  return own;
}

bool is_local(const void* address) {
  if (!runs_kernel()) return false;
  // Variables whose addresses may be used after their function has ended have frames elsewhere.
  if (void* frames = has_address_sanitizer ? __asan_get_current_fake_stack() : nullptr) {
    void *begin, *end;
    if (__asan_addr_is_in_fake_stack(frames, const_cast<void*>(address), &begin, &end) != nullptr) return true;
  }
  return worker->stack().has(address);
}

#ifdef SIMT_UCONTEXT

extern "C" SIMT_EXPORT void hipport_simt_switch(void** save, void* load) {
  if (*save == nullptr) *save = new ucontext_t;
  swapcontext(static_cast<ucontext_t*>(*save), static_cast<ucontext_t*>(load));
}

void prepare(Fiber& fiber, void (*entry)()) {
  if (fiber.start == nullptr) fiber.start = new ucontext_t;
  ucontext_t& start = *static_cast<ucontext_t*>(fiber.start);
  getcontext(&start);
  start.uc_stack.ss_sp = fiber.low;
  start.uc_stack.ss_size = fiber.size;
  start.uc_link = nullptr;
  makecontext(&start, entry, 0);
}

#else

// Callee-saved registers are saved on the stack that is left. Fibers differ in nothing else: rounding modes and signal
// masks belong to the thread.

#if defined(__x86_64__)

// The address to continue at is on top of the stack, as in `leave_stack` (core.h).
asm(R"(
.text
.p2align 4
.globl hipport_simt_switch
.type hipport_simt_switch, @function
hipport_simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  leaq 1f(%rip), %rax
  pushq %rax
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %rcx
  jmpq *%rcx
1:
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size hipport_simt_switch, .-hipport_simt_switch
)");

void prepare(Fiber& fiber, void (*entry)()) {
  auto* top =
      reinterpret_cast<void**>((reinterpret_cast<std::uintptr_t>(fiber.low) + fiber.size) & ~std::uintptr_t(15));
  *--top = nullptr;  // as if the entry had been called: 16 bytes aligned before the return address
  *--top = reinterpret_cast<void*>(entry);
  fiber.start = static_cast<void*>(top);
}

#else

asm(R"(
.text
.p2align 4
.globl hipport_simt_switch
.type hipport_simt_switch, %function
hipport_simt_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  br x30
.size hipport_simt_switch, .-hipport_simt_switch
)");

void prepare(Fiber& fiber, void (*entry)()) {
  auto* top =
      reinterpret_cast<void**>((reinterpret_cast<std::uintptr_t>(fiber.low) + fiber.size) & ~std::uintptr_t(15));
  top -= 20;
  for (int i = 0; i < 20; ++i) top[i] = nullptr;
  top[11] = reinterpret_cast<void*>(entry);
  fiber.start = static_cast<void*>(top);
}

#endif

#endif

void switch_fibers(Fiber& from, void** save, Fiber& to, void* load) {
  if (has_address_sanitizer) __sanitizer_start_switch_fiber(&from.fake_stack, to.low, to.size);
  detail::hipport_simt_switch(save, load);
  if (has_address_sanitizer) __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
}

void entered(Fiber& fiber) {
  if (has_address_sanitizer) __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
  (void)fiber;
}

}  // namespace simt
