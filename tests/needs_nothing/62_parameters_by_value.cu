#include <cuda_runtime.h>

struct Camera {
    float position[3], scale;
};
#define LAUNCH(kernel, ...) kernel<<<1, 64>>>(__VA_ARGS__)
template <typename Parameters>
__global__ void kernel(float *out, Parameters parameters) { out[threadIdx.x] = parameters.scale; }
template <typename F>
__global__ void each(float *out, F function) { out[threadIdx.x] = function(threadIdx.x); }

void run(float *out, Camera camera) {
    LAUNCH(kernel, out, camera);
    LAUNCH(each, out, [camera] __device__(unsigned i) { return camera.position[i % 3]; });
}
