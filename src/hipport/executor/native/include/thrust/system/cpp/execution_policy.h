// SPDX-License-Identifier: Apache-2.0
#if __has_include_next(<thrust/system/cpp/execution_policy.h>)
#include <simt/thrust.h>
#include_next <thrust/system/cpp/execution_policy.h>
#else
#include <simt/thrust_missing.h>
#endif
