// SPDX-License-Identifier: Apache-2.0
// simt/behind.h: C's functions that kernels call, under the names of what simt/intrinsics.h has in their place.
//
// clang wants it before the first use, so what precompiles other headers includes it first.
#ifndef SIMT_BEHIND_H
#define SIMT_BEHIND_H

#include <ctime>

extern "C" clock_t clock() noexcept __asm__("simt_clock");
extern "C" void __assert_fail(const char*, const char*, unsigned, const char*) noexcept
    __asm__("simt_assert_fail") __attribute__((noreturn));

#endif
