#include <hip/hip_runtime.h>
__global__ void kernel(int *out) { out[threadIdx.x] = x / warpSize; }
__global__ void scaled(T* out, double by) {
}
int best(int a, int b, bool *first) { return __vibmax_s32(a, b, first); }
