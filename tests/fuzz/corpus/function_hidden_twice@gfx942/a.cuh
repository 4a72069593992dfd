#if(_())&&!defined(__HIPCC__)/*hipport*/
x(){(d);}
#ifndef __HIPCC__/*hipport*/
__device__ atomicAdd(double*,v){}
#endif
#endif
k(){}