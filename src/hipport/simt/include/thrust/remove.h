// SPDX-License-Identifier: Apache-2.0
#if __has_include_next(<thrust/remove.h>)
#include <simt/thrust.h>
#include_next <thrust/remove.h>
#else
#include <simt/thrust_missing.h>
#endif
