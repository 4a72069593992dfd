// #include <hip/hip_fp16.h> /* hipport */
/*
#include <hip/hip_runtime.h> /* hipport */
__global__ void k() { __syncthreads(); }
