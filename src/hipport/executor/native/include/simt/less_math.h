// SPDX-License-Identifier: Apache-2.0
// simt/less_math.h: leaves std::cyl_bessel_j and C++17's other special functions out of <cmath>.
//
// libstdc++'s definitions call templates, which g++ instantiates again in each unit, even with precompiled headers and
// if nothing uses them: that is half of the time that it takes to begin a unit. A unit that does use one does not
// compile, and is compiled again with SIMT_SPECIAL_FUNCTIONS (executor/special_functions.py).
#ifndef SIMT_LESS_MATH_H
#define SIMT_LESS_MATH_H

#if defined(__cplusplus) && !defined(SIMT_SPECIAL_FUNCTIONS)

// Defines the macros of the library.
#include <cstddef>

#if defined(__GLIBCXX__) && defined(_GLIBCXX_USE_STD_SPEC_FUNCS)
#undef _GLIBCXX_USE_STD_SPEC_FUNCS

// What that part of <cmath> says and includes.
#define __STDCPP_MATH_SPEC_FUNCS__ 201003L
#define __cpp_lib_math_special_functions 201603L
#include <bits/stl_algobase.h>
#include <limits>
#include <type_traits>
#endif

#endif

#endif
