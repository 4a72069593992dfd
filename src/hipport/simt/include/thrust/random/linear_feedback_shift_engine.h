// SPDX-License-Identifier: Apache-2.0
#if __has_include_next(<thrust/random/linear_feedback_shift_engine.h>)
#include <simt/thrust.h>
#include_next <thrust/random/linear_feedback_shift_engine.h>
#else
#include <simt/thrust_missing.h>
#endif
