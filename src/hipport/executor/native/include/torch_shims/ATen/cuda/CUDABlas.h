// SPDX-License-Identifier: Apache-2.0
// ATen/cuda/CUDABlas.h: PyTorch's own calls of cuBLAS are missing. Many files include this header and call none.
#ifndef SIMT_ATEN_CUDA_BLAS_H
#define SIMT_ATEN_CUDA_BLAS_H
#include "simt/torch.h"

namespace at::cuda::blas {

#define SIMT_NO_BLAS(name)                                                                                 \
  template <typename T, typename... A>                                                                     \
  void name(A&&...) {                                                                                      \
    static_assert(sizeof(T) == 0, "hipport: the executor has no at::cuda::blas::" #name "; use at::matmul"); \
  }
SIMT_NO_BLAS(gemm)
SIMT_NO_BLAS(bgemm)
SIMT_NO_BLAS(gemv)
SIMT_NO_BLAS(dot)
SIMT_NO_BLAS(vdot)
#undef SIMT_NO_BLAS

}  // namespace at::cuda::blas
#endif
