__device__ atomicAdd(double*,){
#if}