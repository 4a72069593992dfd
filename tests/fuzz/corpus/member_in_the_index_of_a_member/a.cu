int f(cudaDeviceProp* p, int* q) { return q[0] + p[p[0].warpSize].warpSize; }
