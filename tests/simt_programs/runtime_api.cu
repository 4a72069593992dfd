// The runtime API as a program sees it. The test compiles this as it is, and with every "cuda" replaced by "hip".
#include <cuda_runtime.h>
#include <cuda_profiler_api.h>
#include <string>

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

__device__ int device_value = 7;
__constant__ float constants[8];
__device__ int* device_pointer;
__managed__ int managed_value = 1;

__global__ void fill(int* out, int value) { out[blockIdx.x * blockDim.x + threadIdx.x] = value; }
__global__ void sum(int* out, const int* in, int n, float scale = 1) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i] * scale;
}
template <typename T, int N>
__global__ void typed(T* out) {
  out[threadIdx.x] = static_cast<T>(N);
}
template <typename T>
__global__ void deduced(T* out, T value) {
  out[threadIdx.x] = value;
}
__global__ void read_symbols(float* out) {
  out[0] = constants[3];
  out[1] = device_value;
  out[2] = *device_pointer;
}
__global__ void is_cooperative(int* out) { *out = simt::is_cooperative(); }

static int callbacks = 0;
static void on_stream(cudaStream_t, cudaError_t status, void* data) { callbacks += status == cudaSuccess && data; }
static void on_host(void* data) { callbacks += *static_cast<int*>(data); }

static void memory() {
  int *a, *b, host[64];
  OK(cudaMalloc(&a, sizeof(host)));
  OK(cudaMalloc((void**)&b, sizeof(host)));
  for (int i = 0; i < 64; ++i) host[i] = i;
  OK(cudaMemcpy(a, host, sizeof(host), cudaMemcpyHostToDevice));
  OK(cudaMemcpyAsync(b, a, sizeof(host), cudaMemcpyDeviceToDevice, 0));
  OK(cudaMemset(host == nullptr ? a : a, 0, 16));
  OK(cudaMemcpy(host, a, sizeof(host), cudaMemcpyDefault));
  EXPECT(host[0] == 0 && host[3] == 0 && host[4] == 4);
  OK(cudaMemcpy(host, b, sizeof(host), cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 0 && host[1] == 1 && host[63] == 63);

  int other[64];
  FAILS(cudaErrorInvalidValue, cudaMemcpy(other, host, sizeof(host), cudaMemcpyHostToDevice));
  FAILS(cudaErrorInvalidValue, cudaMemcpy(other, host, sizeof(host), cudaMemcpyDeviceToHost));
  FAILS(cudaErrorInvalidValue, cudaMemcpy(a, host, sizeof(host), cudaMemcpyDeviceToDevice));
  FAILS(cudaErrorInvalidValue, cudaMemset(other, 0, 4));
  FAILS(cudaErrorInvalidValue, cudaMemcpy(nullptr, a, 4, cudaMemcpyDeviceToHost));
  FAILS(cudaErrorInvalidMemcpyDirection, cudaMemcpy(a, b, 4, static_cast<cudaMemcpyKind>(9)));
  OK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDeviceToHost));

  size_t free_before, free_after, total;
  OK(cudaMemGetInfo(&free_before, &total));
  OK(cudaFree(b));
  OK(cudaMemGetInfo(&free_after, &total));
  EXPECT(free_after == free_before + sizeof(host) && free_after <= total);
  FAILS(cudaErrorInvalidValue, cudaFree(b));
  FAILS(cudaErrorInvalidValue, cudaFree(host));
  FAILS(cudaErrorInvalidValue, cudaFree(a + 1));
  OK(cudaFree(nullptr));
  FAILS(cudaErrorMemoryAllocation, cudaMalloc(&b, total + 1));
  OK(cudaMalloc(&b, 0));
  EXPECT(b == nullptr);

  // Memory of the host.
  int *pinned, *mapped, *managed;
  OK(cudaMallocHost((void**)&pinned, 256));
  OK(cudaHostAlloc(&mapped, 256, cudaHostAllocMapped));
  OK(cudaMallocManaged(&managed, 256));
  int* view;
  OK(cudaHostGetDevicePointer((void**)&view, mapped, 0));
  fill<<<1, 64>>>(view, 5);
  EXPECT(mapped[63] == 5);
  fill<<<1, 64>>>(managed, 6);
  EXPECT(managed[63] == 6);
  unsigned flags;
  OK(cudaHostGetFlags(&flags, mapped));
  EXPECT(flags == cudaHostAllocMapped);
  cudaPointerAttributes attributes;
  OK(cudaPointerGetAttributes(&attributes, a + 3));
  EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.devicePointer == a + 3 && !attributes.hostPointer);
  OK(cudaPointerGetAttributes(&attributes, pinned));
  EXPECT(attributes.type == cudaMemoryTypeHost);
  OK(cudaPointerGetAttributes(&attributes, managed));
  EXPECT(attributes.type == cudaMemoryTypeManaged);
  OK(cudaPointerGetAttributes(&attributes, host));
  EXPECT(attributes.type == cudaMemoryTypeUnregistered);
  OK(cudaMemPrefetchAsync(managed, 256, 0));
  OK(cudaMemAdvise(managed, 256, cudaMemAdviseSetReadMostly, 0));
  FAILS(cudaErrorInvalidValue, cudaMemPrefetchAsync(a, 4, 0));
  FAILS(cudaErrorInvalidValue, cudaFree(pinned));
  OK(cudaFreeHost(pinned));
  FAILS(cudaErrorInvalidValue, cudaFreeHost(managed));
  OK(cudaFreeHost(mapped));
  OK(cudaFree(managed));
  OK(cudaHostRegister(host, sizeof(host), cudaHostRegisterDefault));
  FAILS(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(host + 2, 4, 0));
  OK(cudaMemcpy(host, a, sizeof(host), cudaMemcpyDeviceToDevice));  // registered, so the device can use it
  OK(cudaHostUnregister(host));
  FAILS(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(host));

  // Pools.
  cudaMemPool_t pool;
  unsigned long long keep = 1 << 20, kept = 0;
  OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
  EXPECT(kept == keep);
  cudaMemAccessFlags access;
  cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
  OK(cudaMemPoolGetAccess(&access, pool, &here));
  EXPECT(access == cudaMemAccessFlagsProtReadWrite);
  OK(cudaMallocAsync(&b, 64, 0));
  OK(cudaMemsetAsync(b, 0xff, 64, 0));
  OK(cudaMemcpy(host, b, 64, cudaMemcpyDeviceToHost));
  EXPECT(host[15] == -1);
  OK(cudaFreeAsync(b, 0));
  OK(cudaFree(a));
}

static void pitched() {
  float host[6][10], back[6][10];
  for (int y = 0; y < 6; ++y)
    for (int x = 0; x < 10; ++x) host[y][x] = static_cast<float>(10 * y + x);
  float* device;
  size_t pitch;
  OK(cudaMallocPitch(&device, &pitch, sizeof(host[0]), 6));
  EXPECT(pitch >= sizeof(host[0]) && pitch % 256 == 0);
  OK(cudaMemset2D(device, pitch, 0, sizeof(host[0]), 6));
  OK(cudaMemcpy2D(device, pitch, host, sizeof(host[0]), sizeof(host[0]), 6, cudaMemcpyHostToDevice));
  OK(cudaMemcpy2DAsync(back, sizeof(back[0]), device, pitch, sizeof(back[0]), 6, cudaMemcpyDeviceToHost, 0));
  EXPECT(std::memcmp(host, back, sizeof(host)) == 0);
  FAILS(cudaErrorInvalidPitchValue, cudaMemcpy2D(device, 8, host, 40, 40, 6, cudaMemcpyHostToDevice));
  OK(cudaFree(device));

  // 3 layers of 2 rows of 10 numbers, to a box that is larger, and a part of it back.
  cudaPitchedPtr box;
  OK(cudaMalloc3D(&box, make_cudaExtent(48, 4, 3)));
  cudaMemcpy3DParms copy = {0};
  copy.srcPtr = make_cudaPitchedPtr(host, sizeof(host[0]), 10, 2);
  copy.dstPtr = box;
  copy.dstPos = make_cudaPos(4, 1, 0);
  copy.extent = make_cudaExtent(40, 2, 3);
  copy.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&copy));
  float part[2][3] = {};
  cudaMemcpy3DParms part_copy = {};
  part_copy.srcPtr = box;
  part_copy.srcPos = make_cudaPos(4 + 8, 2, 1);
  part_copy.dstPtr = make_cudaPitchedPtr(part, sizeof(part[0]), 3, 1);
  part_copy.extent = make_cudaExtent(12, 1, 2);
  part_copy.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&part_copy));
  EXPECT(part[0][0] == 32 && part[0][2] == 34 && part[1][0] == 52);
  cudaMemcpy3DPeerParms peer = {};
  peer.srcPtr = box;
  peer.dstPtr = box;
  peer.dstPos = make_cudaPos(0, 3, 0);
  peer.srcPos = make_cudaPos(0, 1, 0);
  peer.extent = make_cudaExtent(48, 1, 3);
  OK(cudaMemcpy3DPeer(&peer));
  OK(cudaMemcpy(back, static_cast<char*>(box.ptr) + 3 * box.pitch + 4, 40, cudaMemcpyDeviceToHost));
  EXPECT(std::memcmp(host, back, 40) == 0);
  peer.dstDevice = 1;
  FAILS(cudaErrorInvalidDevice, cudaMemcpy3DPeer(&peer));
  OK(cudaFree(box.ptr));

  cudaArray_t array;
  cudaChannelFormatDesc desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  OK(cudaMallocArray(&array, &desc, 10, 6));
  OK(cudaMemcpy2DToArray(array, 0, 0, host, sizeof(host[0]), sizeof(host[0]), 6, cudaMemcpyHostToDevice));
  OK(cudaMemcpy2DFromArray(part, 12, array, 8, 4, 12, 2, cudaMemcpyDeviceToHost));
  EXPECT(part[0][0] == 42 && part[1][2] == 54);
  FAILS(cudaErrorInvalidValue, cudaMemcpy2DToArray(array, 4, 0, host, 40, 40, 1, cudaMemcpyHostToDevice));
  cudaExtent extent;
  OK(cudaArrayGetInfo(&desc, &extent, nullptr, array));
  EXPECT(desc.x == 32 && extent.width == 10 && extent.height == 6 && extent.depth == 0);
  OK(cudaFreeArray(array));
  FAILS(cudaErrorInvalidResourceHandle, cudaFreeArray(array));
}

static void symbols() {
  float values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  int nine = 9, *place;
  OK(cudaMemcpyToSymbol(constants, values, sizeof(values)));
  OK(cudaMemcpyToSymbol(constants, &values[7], sizeof(float), 3 * sizeof(float)));
  OK(cudaMemcpyToSymbol(device_value, &nine, sizeof(nine), 0, cudaMemcpyHostToDevice));
  OK(cudaMalloc(&place, sizeof(int)));
  OK(cudaMemcpy(place, &nine, sizeof(int), cudaMemcpyHostToDevice));
  OK(cudaMemcpyToSymbol(device_pointer, &place, sizeof(place)));
  float *out, back[3];
  OK(cudaMalloc(&out, sizeof(back)));
  read_symbols<<<1, 1>>>(out);
  OK(cudaMemcpy(back, out, sizeof(back), cudaMemcpyDeviceToHost));
  EXPECT(back[0] == 7 && back[1] == 9 && back[2] == 9);
  int one = 0;
  OK(cudaMemcpyFromSymbol(&one, device_value, sizeof(one)));
  EXPECT(one == 9);
  void* address;
  size_t size;
  OK(cudaMemcpyToSymbolAsync(device_value, &nine, sizeof(nine), 0, cudaMemcpyHostToDevice, 0));
  OK(cudaGetSymbolAddress(&address, constants));
  OK(cudaGetSymbolSize(&size, constants));
  EXPECT(address == constants && size == sizeof(values));
  OK(cudaMemcpy(address, values, sizeof(values), cudaMemcpyHostToDevice));
  OK(cudaMemcpyFromSymbol(values, (const void*)constants, 4, 4));
  EXPECT(values[0] == 1);
  FAILS(cudaErrorInvalidSymbol, cudaMemcpyToSymbol(&device_value, &nine, sizeof(nine)));
  FAILS(cudaErrorInvalidMemcpyDirection, cudaMemcpyToSymbol(device_value, &nine, 4, 0, cudaMemcpyDeviceToHost));
  EXPECT(managed_value == 1);
  OK(cudaFree(place));
  OK(cudaFree(out));
}

static void streams() {
  cudaStream_t stream, urgent;
  cudaEvent_t start, stop, untimed;
  int least, greatest, priority, five = 5;
  OK(cudaStreamCreate(&stream));
  OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT(least >= greatest);
  OK(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest));
  OK(cudaStreamGetPriority(urgent, &priority));
  EXPECT(priority == greatest);
  OK(cudaEventCreate(&start));
  OK(cudaEventCreate(&stop));
  OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  float ms = -1;
  FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, stop));
  OK(cudaEventRecord(start));
  int* data;
  OK(cudaMalloc(&data, 4 * 64));
  fill<<<1, 64, 0, stream>>>(data, 3);
  OK(cudaEventRecord(stop, stream));
  OK(cudaEventRecord(untimed, stream));
  OK(cudaEventQuery(stop));
  OK(cudaEventSynchronize(stop));
  OK(cudaStreamWaitEvent(urgent, stop, 0));
  OK(cudaEventElapsedTime(&ms, start, stop));
  EXPECT(ms > 0 && ms < 60000);
  FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, untimed));
  OK(cudaStreamAddCallback(stream, on_stream, &five, 0));
  OK(cudaLaunchHostFunc(stream, on_host, &five));
  EXPECT(callbacks == 6);
  OK(cudaStreamQuery(stream));
  OK(cudaStreamSynchronize(stream));
  OK(cudaStreamSynchronize(0));
  OK(cudaStreamSynchronize(cudaStreamPerThread));
  OK(cudaStreamDestroy(stream));
  FAILS(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
  FAILS(cudaErrorInvalidResourceHandle, cudaStreamDestroy(stream));
  OK(cudaStreamDestroy(urgent));
  OK(cudaEventDestroy(start));
  FAILS(cudaErrorInvalidResourceHandle, cudaEventRecord(start));
  OK(cudaEventDestroy(stop));
  OK(cudaEventDestroy(untimed));
  OK(cudaFree(data));
}

static int at(const int* device, int i) {
  int value;
  OK(cudaMemcpy(&value, device + i, sizeof(int), cudaMemcpyDeviceToHost));
  return value;
}

static void launches() {
  int* a;
  OK(cudaMalloc(&a, 64 * sizeof(int)));
  int value = 11;
  void* arguments[] = {&a, &value};
  OK(cudaLaunchKernel((void*)fill, 2, 32, arguments, 0, 0));
  EXPECT(at(a, 63) == 11);
  value = 12;
  OK(cudaLaunchKernel((const void*)&fill, dim3(1, 2, 1), dim3(64), arguments));
  EXPECT(at(a, 63) == 12);
  value = 13;
  OK(cudaLaunchKernel(fill, 1, 64, arguments, 0, nullptr));
  EXPECT(at(a, 0) == 13);
  OK(cudaLaunchKernel((void*)typed<int, 14>, 1, 64, arguments, 0, 0));
  EXPECT(at(a, 5) == 14);
  OK(cudaLaunchKernel((const void*)(typed<int, 24>), 1, 64, arguments, 0, 0));
  EXPECT(at(a, 5) == 24);
  OK(cudaLaunchKernel((typed<int, 15>), 1, 64, arguments, 0, 0));
  EXPECT(at(a, 5) == 15);
  OK(cudaLaunchKernel<void(int*, int)>(fill, 1, 64, arguments));
  EXPECT(at(a, 5) == 13);
  value = 16;
  OK(cudaLaunchCooperativeKernel((void*)fill, 1, 64, arguments));
  EXPECT(at(a, 63) == 16);
  OK(cudaLaunchCooperativeKernel((void*)is_cooperative, 2, 32, arguments));
  EXPECT(at(a, 0) == 1);
  OK(cudaLaunchKernel((void*)is_cooperative, 2, 32, arguments));
  EXPECT(at(a, 0) == 0);
  // Without its type a kernel is found if its type was seen before.
  const void* untyped = (const void*)fill;
  OK(cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
  value = 17;
  OK(cudaLaunchKernel(untyped, 1, 64, arguments, 0, 0));
  EXPECT(at(a, 63) == 17);
  deduced<<<1, 64>>>(a, 18);
  EXPECT(at(a, 63) == 18);

  FAILS(cudaErrorInvalidConfiguration, cudaLaunchKernel(fill, 1, 2048, arguments, 0, 0));
  fill<<<1, 2000>>>(a, 1);
  EXPECT(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
  fill<<<1, 64>>>(a, 19);  // a success does not take the error away
  OK(cudaDeviceSynchronize());
  EXPECT(at(a, 63) == 19);
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  OK(cudaGetLastError());
  fill<<<0, 64>>>(a, 1);
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  EXPECT(cudaFree(a + 1) == cudaErrorInvalidValue);
  fill<<<1, 2000>>>(a, 1);
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);  // the last of both
  EXPECT(cudaFree(a + 1) == cudaErrorInvalidValue && cudaSetDevice(1) == cudaErrorInvalidDevice);
  EXPECT(cudaPeekAtLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaErrorInvalidDevice);

  int blocks = 0, grid = 0, block = 0;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, 0));
  EXPECT(blocks == 8);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, typed<float, 2>, 256, 40 * 1024));
  EXPECT(blocks >= 1 && blocks < 8);
  OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, fill, 0, 0));
  EXPECT(block == 1024 && grid >= 2);
  OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, (void*)sum));
  OK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, fill, [](int n) { return n * 100; }, 512));
  EXPECT(block > 0 && block <= 512);
  cudaFunction_t function;
  OK(cudaGetFuncBySymbol(&function, (const void*)is_cooperative));
  EXPECT(function != nullptr);
  cudaFuncAttributes attributes;
  OK(cudaFuncGetAttributes(&attributes, (const void*)fill));
  EXPECT(attributes.maxThreadsPerBlock == 1024 && attributes.maxDynamicSharedSizeBytes == 1024);
  OK(cudaFuncSetCacheConfig(typed<int, 3>, cudaFuncCachePreferL1));
  FAILS(cudaErrorInvalidValue, cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));

  OK(cudaFree(a));
}

static void device() {
  int count, device, value;
  OK(cudaGetDeviceCount(&count));
  OK(cudaGetDevice(&device));
  EXPECT(count == 1 && device == 0);
  OK(cudaSetDevice(0));
  FAILS(cudaErrorInvalidDevice, cudaSetDevice(1));
  cudaDeviceProp prop;
  OK(cudaGetDeviceProperties(&prop, 0));
  EXPECT(prop.warpSize == warpSize && std::string(prop.name).find("hipport CPU executor") == 0);
  EXPECT(prop.maxThreadsPerBlock == 1024 && prop.totalGlobalMem > 0);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0));
  EXPECT(value == warpSize);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  EXPECT(value == prop.multiProcessorCount);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlock, 0));
  EXPECT(value == static_cast<int>(prop.sharedMemPerBlock));
  std::printf("%d lanes, %d.%d, %zu KiB\n", prop.warpSize, prop.major, prop.minor, prop.sharedMemPerBlock / 1024);
  FAILS(cudaErrorInvalidDevice, cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1));
  OK(cudaDeviceCanAccessPeer(&value, 0, 0));
  EXPECT(value == 0);
  FAILS(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(1, 0));
  size_t limit;
  OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 24));
  OK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
  EXPECT(limit == 1 << 24);
  OK(cudaRuntimeGetVersion(&value));
  EXPECT(value > 5000);
  EXPECT(std::string(cudaGetErrorName(cudaErrorInvalidValue)) == "cudaErrorInvalidValue");
  EXPECT(std::string(cudaGetErrorString(cudaErrorInvalidValue)) == "invalid argument");
  EXPECT(std::string(cudaGetErrorString(cudaSuccess)) == "no error");
  OK(cudaProfilerStart());
  OK(cudaProfilerStop());
}

#ifdef __CUDA_RUNTIME_H__
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>

static void spelled_as_cuda() {
  CUdevice device;
  CUdeviceptr memory;
  CUcontext context;
  char name[64];
  int words[8];
  EXPECT(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, 0) == CUDA_SUCCESS);
  EXPECT(cuDeviceGetName(name, sizeof(name), device) == CUDA_SUCCESS && name[0] == 'h');
  EXPECT(cuCtxCreate(&context, 0, device) == CUDA_SUCCESS);
  EXPECT(cuMemAlloc(&memory, sizeof(words)) == CUDA_SUCCESS);
  EXPECT(cuMemsetD32(memory, 21, 8) == CUDA_SUCCESS);
  EXPECT(cuMemcpyDtoH(words, memory + 4, 28) == CUDA_SUCCESS && words[0] == 21);
  EXPECT(cuMemFree(memory) == CUDA_SUCCESS && cuMemFree(memory) == CUDA_ERROR_INVALID_VALUE);
  OK(cudaGetLastError());
  const char* text;
  EXPECT(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text) == CUDA_SUCCESS);
  EXPECT(std::string(text) == "CUDA_ERROR_INVALID_VALUE");
  CUfunction function;
  int* written;
  OK(cudaMalloc(&written, 64 * sizeof(int)));
  OK(cudaGetFuncBySymbol(&function, (void*)fill));
  int said = 23, blocks = 0;
  void* arguments[] = {&written, &said};
  EXPECT(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr) == CUDA_SUCCESS);
  EXPECT(at(written, 63) == 23);
  EXPECT(cuFuncGetAttribute(&said, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function) == CUDA_SUCCESS && said == 1024);
  EXPECT(cuFuncGetAttribute(&said, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function) == CUDA_SUCCESS && said == 0);
  EXPECT(cuFuncSetCacheConfig(function, CU_FUNC_CACHE_PREFER_L1) == CUDA_SUCCESS);
  EXPECT(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0) == CUDA_SUCCESS && blocks == 8);
  unsigned type = 0;
  size_t bytes = 0;
  const CUdeviceptr inside = (CUdeviceptr)(written + 3);
  EXPECT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside) == CUDA_SUCCESS);
  EXPECT(type == CU_MEMORYTYPE_DEVICE);
  EXPECT(cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside) == CUDA_SUCCESS && bytes == 256);
  EXPECT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)words) != CUDA_SUCCESS);
  CUdeviceptr rows;
  CUstream stream;
  size_t pitch;
  EXPECT(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
  EXPECT(cuMemAllocPitch(&rows, &pitch, 8, 4, 4) == CUDA_SUCCESS);
  EXPECT(cuMemsetD2D32(rows, pitch, 7, 2, 4) == CUDA_SUCCESS && at((int*)rows, static_cast<int>(pitch / 4)) == 7);
  EXPECT(cuMemcpyAsync((CUdeviceptr)written, rows + pitch, 8, stream) == CUDA_SUCCESS && at(written, 1) == 7);
  int called = 0;
  const auto callback = [](CUstream, CUresult error, void* data) { *static_cast<int*>(data) += error == CUDA_SUCCESS; };
  EXPECT(cuStreamAddCallback(stream, callback, &called, 0) == CUDA_SUCCESS && called == 1);
  EXPECT(cuMemFreeAsync(rows, stream) == CUDA_SUCCESS && cuStreamDestroy(stream) == CUDA_SUCCESS);
  OK(cudaFree(written));
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute cooperative[1];
  cooperative[0].id = cudaLaunchAttributeCooperative;
  cooperative[0].val.cooperative = 1;
  int* a;
  OK(cudaMalloc(&a, 64 * sizeof(int)));
  config.gridDim = 1;
  config.blockDim = dim3(64);
  config.attrs = cooperative;
  config.numAttrs = 1;
  OK(cudaLaunchKernelEx(&config, fill, a, 22));
  EXPECT(at(a, 63) == 22);
  said = 24;
  arguments[0] = &a;
  OK(cudaLaunchKernelExC(&config, (void*)fill, arguments));
  EXPECT(at(a, 63) == 24);
  OK(cudaFree(a));
  OK(cudaThreadSynchronize());
  nvtxRangePushA("range");
  nvtxRangePop();
}
#else
#include <hip/hip_ext.h>
#include <roctracer/roctx.h>

static void spelled_as_hip() {
  int* a;
  OK(hipMalloc(&a, 64 * sizeof(int)));
  hipLaunchKernelGGL(fill, dim3(1), dim3(64), 0, 0, a, 31);
  EXPECT(at(a, 63) == 31);
  hipLaunchKernelGGL(HIP_KERNEL_NAME(typed<int, 32>), 1, 64, 0, 0, a);
  EXPECT(at(a, 63) == 32);
  hipLaunchKernelGGL((typed<int, 33>), dim3(1, 1, 1), 64, 0, 0, a);
  EXPECT(at(a, 63) == 33);
  hipLaunchKernelGGL(deduced, 1, 64, 0, 0, a, 34);
  EXPECT(at(a, 63) == 34);
  hipLaunchKernelGGL(sum, 1, 64, 0, 0, a, NULL, 0, 1);
  hipEvent_t start, stop;
  float ms = 0;
  OK(hipEventCreate(&start));
  OK(hipEventCreate(&stop));
  hipExtLaunchKernelGGL(fill, 1, 64, 0, nullptr, start, stop, 0, a, 35);
  OK(hipEventElapsedTime(&ms, start, stop));
  EXPECT(at(a, 63) == 35 && ms > 0);
  int value = 36;
  OK(hipMemcpyToSymbol(HIP_SYMBOL(device_value), &value, sizeof(value)));
  OK(hipMemsetD32(a, 37, 64));
  EXPECT(at(a, 63) == 37);
  OK(hipMemcpyHtoD(a, &value, sizeof(value)));
  EXPECT(at(a, 0) == 36);
  hipFunction_t function;
  OK(hipGetFuncBySymbol(&function, (const void*)fill));
  value = 38;
  void* arguments[] = {&a, &value};
  OK(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  EXPECT(at(a, 63) == 38);
  OK(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
  EXPECT(value == 0);
  OK(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&value, function, 256, 0));
  EXPECT(value == 8);
  hipMemoryType type;
  OK(hipPointerGetAttribute(&type, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, (hipDeviceptr_t)(a + 1)));
  EXPECT(type == hipMemoryTypeDevice);
  hipDeviceProp_t prop;
  OK(hipGetDeviceProperties(&prop, 0));
  std::printf("%s\n", prop.gcnArchName);
  OK(hipFree(a));
  roctxRangePush("range");
  roctxRangePop();
}
#endif

int main(int argc, char** argv) {
  const std::string fault = argc > 1 ? argv[1] : "";
  int *a, host[16] = {};
  OK(cudaMalloc(&a, sizeof(host)));
  if (fault == "copy") cudaMemcpy(a + 1, host, sizeof(host), cudaMemcpyHostToDevice);
  if (fault == "memset") cudaMemset(a, 0, sizeof(host) + 1);
  if (fault == "rows") cudaMemcpy2D(host, 16, a, 32, 16, 4, cudaMemcpyDeviceToHost);
  if (fault == "symbol") cudaMemcpyToSymbol(constants, host, sizeof(constants), 4);
  if (fault == "kernel") {
    // A number tells nobody what it is the address of.
    const unsigned long address = (unsigned long)sum;
    void* untyped = (void*)address;
    cudaLaunchKernel(untyped, 1, 1, nullptr, 0, 0);
  }
  if (fault == "processes") cudaIpcCloseMemHandle(a);
  if (fault == "direction") cudaMemcpy(a, a + 8, 4, cudaMemcpyHostToDevice);
  memory();
  pitched();
  symbols();
  streams();
  launches();
  device();
#ifdef __CUDA_RUNTIME_H__
  spelled_as_cuda();
#else
  spelled_as_hip();
#endif
  OK(cudaFree(a));
  std::printf("%d failed\n", failed);
  return failed != 0;
}
