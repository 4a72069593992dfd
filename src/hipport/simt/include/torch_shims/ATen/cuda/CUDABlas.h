// SPDX-License-Identifier: Apache-2.0
#error "hipport: the executor has no cuBLAS or hipBLAS; use at::matmul and its like, or leave this unit out"
