#if !defined(__CUDA_ARCH__)
#elif __CUDA_ARCH__>0
#endif
