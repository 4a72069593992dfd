// What the shared memory of kernels' own is. The test compiles this as it is, and with every "cuda" replaced by "hip".
#include <cuda_runtime.h>

static int failed = 0;
#define EXPECT(...)                                                     \
  do {                                                                  \
    if (!(__VA_ARGS__)) {                                               \
      ++failed;                                                         \
      std::printf("line %d: %s\n", __LINE__, #__VA_ARGS__);             \
    }                                                                   \
  } while (0)
#define OK(call) EXPECT((call) == cudaSuccess)
#define FAILS(error, call) EXPECT((call) == (error) && cudaGetLastError() == (error))

__global__ void plain(int* out) { *out = 1; }
// Variables of a kernel's own, of what it calls, of templates, of macros and outside of functions.
#define WINDOW(type, size) __shared__ type window_##size[size]
__shared__ double outside[3];
__device__ __noinline__ int shift(int x) {
  __shared__ int shifted[10];
  shifted[x % 10] = x;
  __syncthreads();
  return shifted[(x + 1) % 10];
}
template <typename T>
__device__ __noinline__ T keep(T x) {
  __shared__ T kept[7];
  kept[0] = x;
  __syncthreads();
  return kept[0];
}
template <typename T, int size, bool shares = true>
__global__ void mirror(T* out) {
  if constexpr (shares) {
    __shared__ T line[size];
    line[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = line[size - 1 - threadIdx.x];
  }
}
__global__ void calls(int* out) { *out = shift(threadIdx.x) + static_cast<int>(keep<double>(2) + keep<char>(1)); }
static __global__ void windows(int* out) {
  extern __shared__ int dynamic[];
  WINDOW(float, 33);
  WINDOW(double, 5);
  window_33[threadIdx.x] = window_5[0] = 1;
  *out = static_cast<int>(window_33[0]) + dynamic[0];
}
__global__ void aligned(int* out) {
  __shared__ __align__(16) char first[3];
  __shared__ char last;
  first[0] = last = 1;
  outside[0] = 2;
  *out = first[0] + last + static_cast<int>(outside[0]);
}
template <typename Kernel>
static int shared_bytes(Kernel* kernel) {
  cudaFuncAttributes attributes;
  OK(cudaFuncGetAttributes(&attributes, kernel));
  return static_cast<int>(attributes.sharedSizeBytes);
}

int main() {
  EXPECT(shared_bytes(plain) == 0);
  EXPECT(shared_bytes(mirror<float, 32>) == 128 && shared_bytes(mirror<double, 1000>) == 8000);
  EXPECT(shared_bytes(mirror<float, 32, false>) == 0);
  EXPECT(shared_bytes(calls) == 56 + 40 + 7);
  EXPECT(shared_bytes(windows) == 40 + 132);
  EXPECT(shared_bytes(aligned) == 3 + 5 + 24 + 1);  // the three doubles start at a multiple of eight
  EXPECT(shared_bytes((const void*)mirror<char, 9>) == 9);
  cudaFunction_t function;
  int bytes = 0;
  OK(cudaGetFuncBySymbol(&function, (const void*)calls));
#ifdef __HIP__
  OK(hipFuncGetAttribute(&bytes, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
#else
  EXPECT(cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function) == CUDA_SUCCESS);
#endif
  EXPECT(bytes == 56 + 40 + 7);
  cudaDeviceProp prop;
  OK(cudaGetDeviceProperties(&prop, 0));
  cudaFuncAttributes attributes;
  OK(cudaFuncGetAttributes(&attributes, mirror<double, 1000>));
  EXPECT(attributes.maxDynamicSharedSizeBytes == static_cast<int>(prop.sharedMemPerBlock) - 8000);
  FAILS(cudaErrorInvalidValue, cudaFuncSetAttribute(mirror<double, 1000>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                    static_cast<int>(prop.sharedMemPerBlockOptin) - 7999));
  // A block has as much, whether static or dynamic.
  int blocks = 0, two = 0;
  const size_t eight = 8000;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&two, plain, 32, 2 * eight));
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, mirror<double, 1000>, 32, eight));
  EXPECT(blocks == two && blocks < prop.maxBlocksPerMultiProcessor);
  std::printf("%d failed\n", failed);
  return failed != 0;
}
