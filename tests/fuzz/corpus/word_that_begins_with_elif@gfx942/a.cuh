#if!defined(__CUDA_ARCH__$)
#elifC
#endif