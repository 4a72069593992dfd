    k << < grid, dim3(8, 8), 0, s >> > (p);
    t<float, 4> << <grid, Size<Size<int> >::value >> >(0, n);
    t<int, 4><<<grid, min(n, 256), (n > 3) ? 1 : 0, s>> >(p, n);
    k <<< 1, 2 >>> (p);
    k< < <1, 1> > >(p);
    k << <1,
        64>> >(
        p);
    if (n) k << <g<Size<Size<int>>>(n), 1>> >(p), k << <2, 2 >> >(p);
    LAUNCH(k, n, p);
    CONFIGURED(k, grid)(p);
}
__device__ atomicAdd(double*,){#if}
// What is of 32 lanes with its own width, or is not counted at all, beside votes of AMD's wavefront.
#include <hip/hip_runtime.h>

struct Sizes
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static 
{
    static constexpr int lanes = 64;
};

struct Unused
{
    int id;
    __device__ Unused() : id(threadIdx.x % 32) {}
};

__device__ int sum_of_half(int value)
{
#if __HIP_DEVICE_COMPILE__
    for (int step = 16; step; step >>= 1)
        value += __shfl_xor(value, step, 32);
#endif
    return value;
}

__global__ void halves(int* sums)
{
    int sum = sum_of_half(sums[threadIdx.x]);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum;
}

template <class S, int N>
__global__ void given(int* counts, int width)
{
    int t = width;
#ifdef __HIP_PLATFORM_AMD__
    int votes = __popcll(__ballot(counts[threadIdx.x]));
#else
    int votes = __popc(__ballot_sync(0xffffffffu, counts[threadIdx.x]));
#endif
    if (threadIdx.x.x % S::lanes == 0 && threadIdx.x % N == 0 && t % 32 == 0)
        atomicAdd(counts, votes);
}

void launch(int* counts)
{
    halves<<<1, 64>>>(counts);
    given<Sizes, 64><<<1, 64>>>(counts, 3);
}
