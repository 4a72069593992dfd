#include
/**/<>__device__ atomicMin(float*,a){}//
#ifdef __CUDA_ARCH__
__device__ atomicMax(float*,a){}
#endif