#include <cuda_runtime.h>

// A program's own macro for the size of a warp, on the host and in a template; no macro of a compiler's.
#define WARP 32
#define WARPS(threads) ((threads) / WARP)

template <int warps>
__global__ void kernel(int *out) {
    __shared__ int sums[warps];
    if (threadIdx.x % WARP == 0) sums[threadIdx.x / WARP] = static_cast<int>(blockIdx.x);
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = sums[threadIdx.x / WARP];
}

void run(int *out) { kernel<WARPS(256)><<<4, 256>>>(out); }
