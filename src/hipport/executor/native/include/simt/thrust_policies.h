// SPDX-License-Identifier: Apache-2.0
// simt/thrust_policies.h: thrust::cuda::par and thrust::hip::par, with streams and allocators, run as thrust::cpp::par.
#ifndef SIMT_THRUST_POLICIES_H
#define SIMT_THRUST_POLICIES_H

#include "thrust.h"
// Thrust's backends for GPUs, CUDA's and rocThrust's, also include the algorithms, the iterators, and thrust::seq and
// similar policies: programs use them without including their headers.
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/distance.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/system/cpp/execution_policy.h>
#include <thrust/system_error.h>
#include <thrust/unique.h>

namespace simt {
namespace thrust_policies {

/// Streams order nothing here, because all work is synchronous; allocators are not used for temporary memory.
struct par_t : ::thrust::cpp::execution_policy<par_t> {
  template <typename Stream>
  par_t on(Stream stream, SIMT_HERE) const {
    if constexpr (std::is_pointer_v<Stream>) {
      if (records(stream)) {
        fault("not-recorded", SIMT_THERE,
              "an algorithm of Thrust while its stream is captured: the executor does it at once and cannot keep it for a "
              "graph");
      }
    }
    return *this;
  }
  template <typename Allocator>
  par_t operator()(Allocator&&) const {
    return *this;
  }
};

class category_t : public ::thrust::system::error_category {
 public:
  const char* name() const override { return dialect == Dialect::cuda ? "cuda" : "hip"; }
  std::string message(int code) const override { return "error " + std::to_string(code); }
};
inline const ::thrust::system::error_category& category() {
  static const category_t made;
  return made;
}

}  // namespace thrust_policies
}  // namespace simt

#define SIMT_THRUST_SYSTEM(name)                                                               \
  namespace thrust {                                                                           \
  namespace name {                                                                             \
  using par_t = ::simt::thrust_policies::par_t;                                                \
  using tag = par_t;                                                                           \
  template <typename Derived>                                                                  \
  using execution_policy = ::thrust::cpp::execution_policy<Derived>;                           \
  static const par_t par{};                                                                    \
  static const par_t par_nosync{};                                                             \
  }                                                                                            \
  namespace system {                                                                           \
  namespace name {                                                                             \
  using ::thrust::name::execution_policy;                                                      \
  using ::thrust::name::par;                                                                   \
  using ::thrust::name::par_nosync;                                                            \
  }                                                                                            \
  inline const error_category& name##_category() { return ::simt::thrust_policies::category(); } \
  }                                                                                            \
  using system::name##_category;                                                               \
  }
#ifdef SIMT_HIP
SIMT_THRUST_SYSTEM(hip)
#else
SIMT_THRUST_SYSTEM(cuda)
#endif
// Names for the other vendor's GPU stay an error.

#endif
