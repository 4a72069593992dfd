#i
#if defined(__CUDACC__/*
*/\
)&T
#endif