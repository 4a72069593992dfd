// SPDX-License-Identifier: Apache-2.0
// simt/torch_python.h: what of PyTorch's headers has to do with Python, of which pybind11 is the largest part.
#ifndef SIMT_TORCH_PYTHON_H
#define SIMT_TORCH_PYTHON_H

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/object_ptr.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/utils/python_numbers.h>
#include <torch/csrc/utils/python_tuples.h>

#endif
