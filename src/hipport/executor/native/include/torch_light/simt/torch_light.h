// SPDX-License-Identifier: Apache-2.0
// simt/torch_light.h: the part of PyTorch's C++ that nearly all extensions use: tensors, operators, autograd, bindings.
//
// It replaces torch/extension.h, which also includes neural networks, optimizers, data loaders and the script compiler.
// The templates that their inline functions use are instantiated in every unit, precompiled or not: that is half of a
// unit's compile time. A unit that does not compile with this header is compiled with PyTorch's own. Most units of
// kernels need only tensors: SIMT_TORCH_KERNELS leaves the rest out, too.
#ifndef SIMT_TORCH_LIGHT_H
#define SIMT_TORCH_LIGHT_H

#include <torch/types.h>
#include <torch/version.h>

#include <cstdio>
#include <fstream>
#include <queue>

#endif

#ifndef SIMT_TORCH_KERNELS
#include "simt/torch_host.h"
#endif
