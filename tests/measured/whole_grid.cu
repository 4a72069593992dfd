// SPDX-License-Identifier: Apache-2.0
// All blocks wait for one another between two steps.
#include <cooperative_groups.h>
#include "shown.h"
namespace cg = cooperative_groups;

__global__ void shift(const int* x, int* between, int* out, int n) {
  const cg::grid_group grid = cg::this_grid();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) between[i] = 2 * x[i];
  grid.sync();
  if (i < n) out[i] = between[(i + 40) % n] + between[n - 1 - i];
}

int main() {
  int n = 150;
  int *x = up(some(n, 100)), *between = room<int>(n), *out = room<int>(n);
  void* arguments[] = {&x, &between, &out, &n};
  check(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(shift), dim3((n + 63) / 64), dim3(64), arguments, 0, 0));
  show("shifted", down(out, n));
}
