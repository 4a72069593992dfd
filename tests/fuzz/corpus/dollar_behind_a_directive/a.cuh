#ifdef$__CUDACC__#d
#endif