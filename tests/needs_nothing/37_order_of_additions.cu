#include <cuda_runtime.h>

#define ADD(to, value) atomicAdd(to, value)
template <typename T>
__global__ void sums(T *out, const T *in, int n) {
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) ADD(&out[i % 4], in[i]);
}
template __global__ void sums<float>(float *, const float *, int);
template __global__ void sums<double>(double *, const double *, int);
