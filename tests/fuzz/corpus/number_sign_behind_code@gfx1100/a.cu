((7));#f()
__device__ atomicAdd(double*,e){}#d