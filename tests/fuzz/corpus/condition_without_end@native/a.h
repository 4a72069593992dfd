#if!defined(__CUDA_ARCH__//
)|(0)
#endif