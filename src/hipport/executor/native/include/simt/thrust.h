// SPDX-License-Identifier: Apache-2.0
// simt/thrust.h: what Thrust has to be told before its first header, so that its own code for processors (its C++
// system) runs where a GPU's would. Thrust itself is not here: its headers are those of Debian's libthrust-dev, of a
// CUDA toolkit or of rocThrust. The files of include/thrust stand in front of them and come through here.
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
// rocThrust would take it for the compiler of GPUs, and bring their system as well.
#pragma push_macro("__HIP__")
#undef __HIP__
#include <thrust/detail/config/compiler.h>
#pragma pop_macro("__HIP__")
#endif

#endif
