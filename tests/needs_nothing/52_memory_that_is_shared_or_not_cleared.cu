#include <cuda_runtime.h>

#define ALLOCATE(p, n) cudaMalloc(reinterpret_cast<void **>(&p), (n) * sizeof(*p))
template <typename T>
__global__ void counted(T *out) { out[threadIdx.x] += 1; }

void run(int n) {
    float *never_written, *managed;
    (void)ALLOCATE(never_written, n);
    (void)cudaMallocManaged(&managed, n * sizeof(float));
    counted<<<1, 64>>>(never_written);
    counted<<<1, 64>>>(managed);
    (void)cudaDeviceSynchronize();
    float first = managed[0];
    (void)cudaMemcpyAsync(&first, never_written, sizeof(float), cudaMemcpyDeviceToHost, nullptr);
    (void)cudaFree(managed);
    (void)cudaFree(never_written);
}
