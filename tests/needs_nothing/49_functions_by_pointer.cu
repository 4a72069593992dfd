#include <cuda_runtime.h>

typedef float (*Operation)(float, float);
#define APPLY(operation, a, b) (operation)((a), (b))

struct Shape {
    __device__ virtual float area() const = 0;
};
struct Square : Shape {
    float side;
    __device__ explicit Square(float s) : side(s) {}
    __device__ float area() const override { return side * side; }
};

__device__ float add(float a, float b) { return a + b; }
__device__ float multiply(float a, float b) { return a * b; }
__device__ Operation operations[2] = {add, multiply};

template <typename F>
__global__ void each(float *out, F function) { out[threadIdx.x] = function(out[threadIdx.x]); }

__global__ void kernel(float *out, const int *which) {
    Square square(out[0]);
    const Shape *shape = &square;
    Operation operation = operations[which[threadIdx.x] & 1];
    out[threadIdx.x] = APPLY(operation, out[threadIdx.x], 2.0f) + shape->area();
}

void run(float *out, const int *which, float by) {
    kernel<<<1, 64>>>(out, which);
    each<<<1, 64>>>(out, [=] __device__(float x) { return x * by; });
}
