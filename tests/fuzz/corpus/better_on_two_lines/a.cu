inline
HE t operator*(float3a,float3b){}