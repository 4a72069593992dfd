#define STEP(n) s[t] += s[t + n]
__device__ void a(volatile int *s, int t) {
    for (int n = 16; n > 0; n >>= 1)STEP(n);STEP(3);
}
__global__ void k(int *out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t < 32) a(s, t);
    out[t] = s[t];
}
__device__ void b(volatile int *s, int t) {
    for (int m = 0; m < 3; m++) for (int n = 16; n > 0; n >>= 1) s[t] += s[t + n];s[t] += s[t + 3];
}
__global__ void k2(int *out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t < 32) b(s, t);
    out[t] = s[t];
}
