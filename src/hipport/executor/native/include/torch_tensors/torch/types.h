// SPDX-License-Identifier: Apache-2.0
// torch/types.h: the names of PyTorch 2.13's header of that name. Functions that create tensors are ATen's: they have
// no `requires_grad`, and a unit that names that is not compiled with this header.
#ifndef SIMT_TORCH_TYPES_H
#define SIMT_TORCH_TYPES_H

#include "simt/torch_tensors.h"

namespace torch {

using namespace at;

using std::nullopt;
using std::optional;

using Dtype = at::ScalarType;

#define SIMT_TYPE(name, brief, type) inline constexpr at::ScalarType name = at::type, brief = at::type;
SIMT_TYPE(kUInt8, kU8, kByte)
SIMT_TYPE(kUInt16, kU16, kUInt16)
SIMT_TYPE(kUInt32, kU32, kUInt32)
SIMT_TYPE(kUInt64, kU64, kUInt64)
SIMT_TYPE(kInt8, kI8, kChar)
SIMT_TYPE(kInt16, kI16, kShort)
SIMT_TYPE(kInt32, kI32, kInt)
SIMT_TYPE(kInt64, kI64, kLong)
SIMT_TYPE(kFloat16, kF16, kHalf)
SIMT_TYPE(kFloat32, kF32, kFloat)
SIMT_TYPE(kFloat64, kF64, kDouble)
#undef SIMT_TYPE

}  // namespace torch

#endif
