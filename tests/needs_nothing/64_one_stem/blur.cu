#include <cuda_runtime.h>
#include "blur.h"

template <typename T>
__global__ void blur(T *out) { out[threadIdx.x] *= T(0.5); }
void launch_blur(float *out, int n) { blur<<<1, n>>>(out); }
