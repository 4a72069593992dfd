// SPDX-License-Identifier: Apache-2.0
// simt/errors.h: the last error, and the names of errors.
#ifndef SIMT_ERRORS_H
#define SIMT_ERRORS_H

#include "core.h"
#include "runtime_types.h"

namespace simt {
namespace host {

SIMT_EXPORT extern __thread hipError_t last_error;

inline hipError_t as_error(Started started) {
  switch (started) {
    case Started::yes: return hipSuccess;
    case Started::invalid_configuration: return hipErrorInvalidConfiguration;
    case Started::shared_too_large: return hipErrorInvalidValue;
    case Started::while_captured: return hipErrorStreamCaptureImplicit;
  }
  return hipErrorUnknown;
}

/// The result of an API function: an error stays until it is queried, a success leaves it.
inline hipError_t result(hipError_t error) {
  if (error != hipSuccess) {
    last_error = error;
    last_launch = Started::yes;  // that error is older
  }
  return error;
}

inline hipError_t peek() { return last_launch != Started::yes ? as_error(last_launch) : last_error; }

}  // namespace host
}  // namespace simt

inline hipError_t hipPeekAtLastError() { return simt::host::peek(); }

inline hipError_t hipGetLastError() {
  const hipError_t error = simt::host::peek();
  simt::host::last_error = hipSuccess;
  simt::last_launch = simt::Started::yes;
  return error;
}
inline hipError_t hipExtGetLastError() { return hipGetLastError(); }

inline const char* hipGetErrorName(hipError_t error) {
  switch (error) {
#ifdef SIMT_HIP
#define SIMT_ERROR(number, hip, cuda, text) \
  case hip: return #hip;
#else
#define SIMT_ERROR(number, hip, cuda, text) \
  case hip: return #cuda;
#endif
    SIMT_ERRORS(SIMT_ERROR)
#undef SIMT_ERROR
  }
  return "unrecognized error code";
}

inline const char* hipGetErrorString(hipError_t error) {
  switch (error) {
#define SIMT_ERROR(number, hip, cuda, text) \
  case hip: return text;
    SIMT_ERRORS(SIMT_ERROR)
#undef SIMT_ERROR
  }
  return "unrecognized error code";
}

#endif
