#ifdef __CUDACC__#endif
#endif _