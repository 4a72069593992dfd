}#if
__device__
atomicAdd(double*,){}