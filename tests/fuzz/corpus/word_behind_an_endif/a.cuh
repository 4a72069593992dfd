#ifdef
#endif)ifdef __CUDACC__ __CUDACC__