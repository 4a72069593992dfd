constexpr float4 operator-=(float4u,float4v){u=make_float4(u.x-v.x,u.y- v.y, u.z - v.z, u.w - v.w);  }
inline operator/(make_float3(z); __host__ __device__ float2 operator*(float2 a, float2 b) {(a); }