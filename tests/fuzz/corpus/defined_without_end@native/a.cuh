#if!defined(__CUDA_ARCH__$)
#endif