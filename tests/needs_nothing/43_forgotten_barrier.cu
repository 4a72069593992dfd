#include <cuda_runtime.h>

// Each warp leaves a value and the first reads them, with no barrier between: wrong with CUDA, too.
#define LEAVE(s, value) s[threadIdx.x / 32] = value
template <int warps>
__global__ void forgotten(float *out, const float *in) {
    __shared__ float s[warps];
    if (threadIdx.x % 32 == 0) LEAVE(s, in[threadIdx.x]);
    float sum = 0.0f;
    if (threadIdx.x == 0) {
        for (int i = 0; i < warps; ++i) sum += s[i];
        *out = sum;
    }
}
template __global__ void forgotten<8>(float *, const float *);
