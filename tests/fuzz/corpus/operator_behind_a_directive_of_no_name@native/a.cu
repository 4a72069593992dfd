__device__ atomicAdd(double*,e){}#d//
HE t operator*(float3a,float3b){}