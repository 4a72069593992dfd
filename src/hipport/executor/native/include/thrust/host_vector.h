// SPDX-License-Identifier: Apache-2.0
#if !__has_include_next(<thrust/host_vector.h>)
#include <simt/thrust_missing.h>
#elif defined(SIMT_THRUST_INSIDE)
#include_next <thrust/host_vector.h>
#else
#define SIMT_THRUST_INSIDE
#include <simt/thrust.h>
#include_next <thrust/host_vector.h>
#include <simt/thrust_policies.h>
#undef SIMT_THRUST_INSIDE
#endif
