#if)defined(__NVCC__)defined(__NVCC__
#endif