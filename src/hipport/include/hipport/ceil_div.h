// SPDX-License-Identifier: Apache-2.0
// hipport/ceil_div.h: cuda::ceil_div of libcu++ (CCCL 2.7 and later), for AMD. Put here by hipport.
#ifndef HIPPORT_CEIL_DIV_H
#define HIPPORT_CEIL_DIV_H

#include <type_traits>

#if defined(__HIPCC__)
#include <hip/hip_runtime.h>
#endif

#if defined(__HIPCC__) || defined(__CUDACC__)
#define HIPPORT_CEIL_DIV_BOTH __host__ __device__
#else
#define HIPPORT_CEIL_DIV_BOTH
#endif

namespace hipport {

// The number of parts of at most b that a is divided into, for a >= 0 and b > 0, as in libcu++. Without a + b - 1,
// which may overflow.
template <typename T, typename U>
HIPPORT_CEIL_DIV_BOTH constexpr typename std::common_type<T, U>::type ceil_div(const T a, const U b) {
  using common = typename std::common_type<T, U>::type;
  return static_cast<common>(static_cast<common>(a) / static_cast<common>(b) +
                             (static_cast<common>(a) % static_cast<common>(b) != 0 ? 1 : 0));
}

}  // namespace hipport

#undef HIPPORT_CEIL_DIV_BOTH

#endif
