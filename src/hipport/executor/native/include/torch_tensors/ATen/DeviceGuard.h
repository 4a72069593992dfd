// SPDX-License-Identifier: Apache-2.0
// ATen/DeviceGuard.h: guards for the device of a tensor; not of a list of tensors, which may hold script values.
#ifndef SIMT_TORCH_DEVICE_GUARD_H
#define SIMT_TORCH_DEVICE_GUARD_H

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/ScalarType.h>

#include <optional>

namespace at {

inline std::optional<Device> device_of(const Tensor& tensor) {
  return tensor.defined() ? std::optional<Device>(tensor.device()) : std::nullopt;
}

inline std::optional<Device> device_of(const std::optional<Tensor>& tensor) {
  return tensor ? device_of(*tensor) : std::nullopt;
}

}  // namespace at

#endif
