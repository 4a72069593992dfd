// SPDX-License-Identifier: Apache-2.0
// simt/thrust.h: settings for Thrust before its first header, by which its own backend for CPUs (its C++ system) runs
// in the place of that for GPUs. Thrust itself is not included: its headers are those of Debian's libthrust-dev, of a
// CUDA toolkit or of rocThrust. The files of include/thrust precede them and include this one.
#ifndef SIMT_THRUST_H
#define SIMT_THRUST_H

#include "core.h"

#undef THRUST_DEVICE_SYSTEM
#undef THRUST_HOST_SYSTEM
#define THRUST_DEVICE_SYSTEM THRUST_DEVICE_SYSTEM_CPP
#define THRUST_HOST_SYSTEM THRUST_HOST_SYSTEM_CPP
#ifndef THRUST_IGNORE_CUB_VERSION_CHECK
#define THRUST_IGNORE_CUB_VERSION_CHECK
#endif
#ifndef THRUST_IGNORE_DEPRECATED_CPP_DIALECT
#define THRUST_IGNORE_DEPRECATED_CPP_DIALECT
#endif
#if defined(__clang__) && defined(__HIP__)
// With __HIP__, rocThrust would take the compiler for hipcc, and include the GPU system as well.
#pragma push_macro("__HIP__")
#undef __HIP__
#include <thrust/detail/config/compiler.h>
#pragma pop_macro("__HIP__")
#endif

#endif
