// SPDX-License-Identifier: Apache-2.0
// Memory that a library is given on the wrong side, as faults.cu.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cufft.h>

#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  float host[16] = {1}, one = 1, *memory, *factor;
  float* pointers[1];
  cudaMalloc(&memory, sizeof host);
  cudaMalloc(&factor, sizeof one);
  cudaMemset(memory, 0, sizeof host);
  cudaMemset(factor, 0, sizeof one);
  pointers[0] = memory;
  cublasHandle_t handle;
  cublasCreate(&handle);
  cufftHandle plan;
  cufftPlan1d(&plan, 8, CUFFT_C2C, 1);
#define WHEN(name) if (std::strcmp(what, name) == 0)
  WHEN("factor-of-the-device") {
    cublasSaxpy(handle, 4, factor, memory, 1, memory + 8, 1);  // here: factor-of-the-device
  }
  WHEN("factor-of-the-host") {
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
    cublasSscal(handle, 4, &one, memory, 1);  // here: factor-of-the-host
  }
  WHEN("result-of-the-host") {
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
    cublasSasum(handle, 4, memory, 1, &one);  // here: result-of-the-host
  }
  WHEN("result-of-the-device") {
    cublasSasum(handle, 4, memory, 1, factor);  // here: result-of-the-device
  }
  WHEN("matrix-of-the-host") {
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, memory, 2, host, 2, &one, memory, 2);  // here: matrix-of-the-host
  }
  WHEN("pointers-of-the-host") {
    cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, pointers, 1, pointers, 1, &one, pointers, 1, 1);  // here: pointers-of-the-host
  }
  WHEN("signal-of-the-host") {
    cufftExecC2C(plan, reinterpret_cast<cufftComplex*>(memory), reinterpret_cast<cufftComplex*>(host), CUFFT_FORWARD);  // here: signal-of-the-host
  }
  WHEN("right") {
    cublasSaxpy(handle, 4, &one, memory, 1, memory + 8, 1);
    cublasSasum(handle, 4, memory, 1, &one);
    cufftExecC2C(plan, reinterpret_cast<cufftComplex*>(memory), reinterpret_cast<cufftComplex*>(memory), CUFFT_FORWARD);
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
    cublasSscal(handle, 4, factor, memory, 1);
    cublasSasum(handle, 4, memory, 1, factor);
  }
  std::printf("done\n");
  return 0;
}
