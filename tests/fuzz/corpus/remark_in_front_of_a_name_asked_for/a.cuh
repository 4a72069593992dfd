#ifdef/*
*/__CUDACC__#f
#endif