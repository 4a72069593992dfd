__syncthreads;
