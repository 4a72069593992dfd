// SPDX-License-Identifier: Apache-2.0
// hipport/location.h: advice on managed memory by location, as since CUDA 13, for AMD. Put here by hipport.
//
// HIP's functions take the number of a device, as CUDA's did up to 12, and hipCpuDeviceId for the host.
#ifndef HIPPORT_LOCATION_H
#define HIPPORT_LOCATION_H

#if defined(__HIP__) || defined(__HIP_PLATFORM_AMD__)

#if defined(__HIP__)
#include <hip/hip_runtime.h>
#else
#include <hip/hip_runtime_api.h>
#endif

namespace hipport {

/// A location that is not a device, for which HIP of ROCm 6.4 has no name.
constexpr hipMemLocationType memory_of_host = hipMemLocationTypeInvalid;

inline int device_of(hipMemLocation place) {
  return place.type == hipMemLocationTypeDevice ? place.id : hipCpuDeviceId;
}

inline hipError_t prefetch(const void* from, size_t bytes, hipMemLocation to, unsigned, hipStream_t stream = nullptr) {
  return hipMemPrefetchAsync(from, bytes, device_of(to), stream);
}

inline hipError_t advise(const void* from, size_t bytes, hipMemoryAdvise advice, hipMemLocation place) {
  return hipMemAdvise(from, bytes, advice, device_of(place));
}

}  // namespace hipport

#endif

#endif
