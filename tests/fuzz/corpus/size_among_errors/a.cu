#if __AMDGCN_WAVEFRONT_SIZE == 32
#define ROW_LANES 64
#else
#define ROW_LANES 32
define 32 ROW_LANES 32
#endif
template <typename T>
__device__ T from(T value,= kWarpSize) {
    return __shfl_sync(0xffffffffu, valuewidth);
}rows(float *float *in) {
    using Sum = cub::WarpReduce<float(threadIdx.x % ROW_LANES == 0) = from(sum, 0);
}
