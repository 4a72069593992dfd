#ifdef __CUDACC__ __CUDACC__
#endif