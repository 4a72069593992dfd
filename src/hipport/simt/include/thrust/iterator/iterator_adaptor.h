// SPDX-License-Identifier: Apache-2.0
#if __has_include_next(<thrust/iterator/iterator_adaptor.h>)
#include <simt/thrust.h>
#include_next <thrust/iterator/iterator_adaptor.h>
#else
#include <simt/thrust_missing.h>
#endif
