// SPDX-License-Identifier: Apache-2.0
// simt/torch_host.h: additions to simt/torch_light.h that kernels seldom need: autograd, registering operators, Python.
#ifndef SIMT_TORCH_HOST_H
#define SIMT_TORCH_HOST_H

#include <torch/autograd.h>
#include <torch/cuda.h>
#include <torch/enum.h>
#include <torch/library.h>
#include <torch/utils.h>

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/InferenceMode.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/object_ptr.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/utils/python_numbers.h>
#include <torch/csrc/utils/python_tuples.h>

#endif
