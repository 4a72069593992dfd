        if ((unsigned long long)base % 256 != 0 || (char*)base + used > end) return CUDA_ERROR_INVALID_VALUE;
#define VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE/* kept0 */ VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE VOTE(op) CAT(__##op, _sync)
#define SHUFFLE(kind, ...) __shfl_##kind##sync(__VA_ARGS__)
#define MATCH(which) \
    CAT(CAT(__match_, which), _sync)

__global__ void k(int *out) {
    out[0] = VOTE(any)(~0u, out[1] != 0) + SHUFFLE(up_, ~0u, out[2], 1);
__device__ unsigned/**/word(unsigned long long m) { return static_cast<unsigned>(m); }
    using Scan = = = = = = cub::WarpScan<T, 32>;
