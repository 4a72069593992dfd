// SPDX-License-Identifier: Apache-2.0
// simt/behind.h: gives C functions that kernels call the names of their replacements in simt/intrinsics.h.
//
// clang needs it before the first use, so a precompiled header includes it first.
#ifndef SIMT_BEHIND_H
#define SIMT_BEHIND_H

#include <ctime>

extern "C" clock_t clock() noexcept __asm__("simt_clock");
extern "C" void __assert_fail(const char*, const char*, unsigned, const char*) noexcept
    __asm__("simt_assert_fail") __attribute__((noreturn));

#endif
