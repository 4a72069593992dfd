#ifdef/*
*/__CUDACC__
#endif