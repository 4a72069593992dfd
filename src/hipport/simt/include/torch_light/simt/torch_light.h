// SPDX-License-Identifier: Apache-2.0
// simt/torch_light.h: what nearly all extensions use of PyTorch's C++: tensors, operators, autograd, bindings.
//
// In place of torch/extension.h, which brings neural networks, optimizers, data loaders and the compiler of scripts
// besides. What their inline functions use of templates is instantiated in every unit, precompiled or not: that is
// half of what a unit takes. A unit that does not compile with this one is compiled with PyTorch's own. Kernels bind
// nothing to Python as a rule: SIMT_TORCH_WITHOUT_PYTHON leaves that out, too (simt/torch_python.h).
#ifndef SIMT_TORCH_LIGHT_H
#define SIMT_TORCH_LIGHT_H

#include <torch/types.h>

#include <torch/autograd.h>
#include <torch/cuda.h>
#include <torch/enum.h>
#include <torch/library.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <torch/csrc/autograd/InferenceMode.h>

#include <cstdio>
#include <fstream>
#include <queue>

#endif

#ifndef SIMT_TORCH_WITHOUT_PYTHON
#include "simt/torch_python.h"
#endif
