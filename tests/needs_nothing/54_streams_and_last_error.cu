#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK_LAST()                                                                    \
    do {                                                                                \
        cudaError_t error = cudaGetLastError();                                         \
        if (error != cudaSuccess) fprintf(stderr, "%s\n", cudaGetErrorString(error));   \
    } while (0)

template <typename T>
__global__ void filled(T *out) { out[threadIdx.x] = T(1); }

static void CUDART_CB done(cudaStream_t, cudaError_t, void *count) { ++*static_cast<int *>(count); }

void run(float *out, int *count) {
    cudaStream_t stream;
    (void)cudaStreamCreate(&stream);
    filled<<<1, 64, 0, stream>>>(out);
    CHECK_LAST();
    (void)cudaStreamAddCallback(stream, done, count, 0);
    filled<<<1, 64>>>(out);
    CHECK_LAST();
    (void)cudaStreamDestroy(stream);
}
