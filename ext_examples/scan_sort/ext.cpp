// SPDX-License-Identifier: Apache-2.0
#include <torch/extension.h>

#include "csrc/scan_sort.h"

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("bin_points", &binPointsCUDA);
  m.def("row_cumsum", &rowCumsumCUDA);
}
