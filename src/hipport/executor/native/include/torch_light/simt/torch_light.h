// SPDX-License-Identifier: Apache-2.0
// simt/torch_light.h: what nearly all extensions use of PyTorch's C++: tensors, operators, autograd, bindings.
//
// In place of torch/extension.h, which brings neural networks, optimizers, data loaders and the compiler of scripts
// besides. What their inline functions use of templates is instantiated in every unit, precompiled or not: that is
// half of what a unit takes. A unit that does not compile with this one is compiled with PyTorch's own. Of kernels most
// need tensors alone: SIMT_TORCH_KERNELS leaves the rest out, too.
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
