// SPDX-License-Identifier: Apache-2.0
// simt/driver_api.h: the parts of the driver API that programs use besides modules: devices, contexts, memory.
//
// CUDA's has its own type of errors (CUresult), and programs overload functions by it.
#ifndef SIMT_DRIVER_API_H
#define SIMT_DRIVER_API_H

#include "launch_api.h"
#include "memory_api.h"
#include "run_time_core.h"

struct ihipCtx_t {
  int device;
};
using hipCtx_t = ihipCtx_t*;

namespace simt {
namespace host {

inline ihipCtx_t context{0};

inline void* pointer_of(hipDeviceptr_t address) {
#ifdef SIMT_HIP
  return address;
#else
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
#endif
}
inline hipDeviceptr_t address_of(void* pointer) {
#ifdef SIMT_HIP
  return pointer;
#else
  return static_cast<hipDeviceptr_t>(reinterpret_cast<std::uintptr_t>(pointer));
#endif
}

}  // namespace host
}  // namespace simt

// --------------------------------------------------------------------------------------------- devices and contexts

inline hipError_t hipInit(unsigned flags) {
  return simt::host::result(flags == 0 ? hipSuccess : hipErrorInvalidValue);
}
inline hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  if (device == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (const hipError_t error = simt::host::check_device(ordinal)) return error;
  *device = ordinal;
  return hipSuccess;
}
inline hipError_t hipDeviceGetName(char* name, int length, hipDevice_t device) {
  if (name == nullptr || length < 1) return simt::host::result(hipErrorInvalidValue);
  if (const hipError_t error = simt::host::check_device(device)) return error;
  std::snprintf(name, static_cast<std::size_t>(length), "%s", simt::host::properties().name);
  return hipSuccess;
}
inline hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device) {
  if (uuid == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (const hipError_t error = simt::host::check_device(device)) return error;
  *uuid = simt::host::properties().uuid;
  return hipSuccess;
}
inline hipError_t hipDeviceTotalMem(std::size_t* bytes, hipDevice_t device) {
  if (bytes == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (const hipError_t error = simt::host::check_device(device)) return error;
  *bytes = simt::host::properties().totalGlobalMem;
  return hipSuccess;
}
inline hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t device) {
  if (major == nullptr || minor == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (const hipError_t error = simt::host::check_device(device)) return error;
  *major = simt::host::properties().major;
  *minor = simt::host::properties().minor;
  return hipSuccess;
}

inline hipError_t hipCtxCreate(hipCtx_t* context, unsigned, hipDevice_t device) {
  if (context == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (const hipError_t error = simt::host::check_device(device)) return error;
  *context = &simt::host::context;
  return hipSuccess;
}
inline hipError_t hipCtxDestroy(hipCtx_t context) {
  return simt::host::result(context != nullptr ? hipSuccess : hipErrorInvalidValue);
}
inline hipError_t hipCtxGetCurrent(hipCtx_t* context) { return hipCtxCreate(context, 0, 0); }
inline hipError_t hipCtxSetCurrent(hipCtx_t) { return hipSuccess; }
inline hipError_t hipCtxPushCurrent(hipCtx_t) { return hipSuccess; }
inline hipError_t hipCtxPopCurrent(hipCtx_t* context) {
  return context != nullptr ? hipCtxGetCurrent(context) : hipSuccess;
}
inline hipError_t hipCtxGetDevice(hipDevice_t* device) { return hipGetDevice(device); }
inline hipError_t hipCtxSynchronize() { return hipSuccess; }
inline hipError_t hipDevicePrimaryCtxRetain(hipCtx_t* context, hipDevice_t device) {
  return hipCtxCreate(context, 0, device);
}
inline hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device) { return simt::host::check_device(device); }
inline hipError_t hipDevicePrimaryCtxReset(hipDevice_t device) { return simt::host::check_device(device); }
inline hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t device, unsigned) {
  return simt::host::check_device(device);
}
inline hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned* flags, int* active) {
  if (flags != nullptr) *flags = 0;
  if (active != nullptr) *active = 1;
  return simt::host::check_device(device);
}

// ---------------------------------------------------------------------------------------------------------- memory

inline hipError_t hipMemcpyHtoD(hipDeviceptr_t to, const void* from, std::size_t size, SIMT_HERE) {
  return hipMemcpy(simt::host::pointer_of(to), from, size, hipMemcpyHostToDevice, simt_file, simt_line);
}
inline hipError_t hipMemcpyDtoH(void* to, hipDeviceptr_t from, std::size_t size, SIMT_HERE) {
  return hipMemcpy(to, simt::host::pointer_of(from), size, hipMemcpyDeviceToHost, simt_file, simt_line);
}
inline hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, std::size_t size, SIMT_HERE) {
  return hipMemcpy(simt::host::pointer_of(to), simt::host::pointer_of(from), size, hipMemcpyDeviceToDevice, simt_file,
                   simt_line);
}
inline hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, const void* from, std::size_t size, hipStream_t, SIMT_HERE) {
  return hipMemcpyHtoD(to, from, size, simt_file, simt_line);
}
inline hipError_t hipMemcpyDtoHAsync(void* to, hipDeviceptr_t from, std::size_t size, hipStream_t, SIMT_HERE) {
  return hipMemcpyDtoH(to, from, size, simt_file, simt_line);
}
inline hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, std::size_t size, hipStream_t,
                                     SIMT_HERE) {
  return hipMemcpyDtoD(to, from, size, simt_file, simt_line);
}

namespace simt {
namespace host {
template <typename Word>
hipError_t fill_words(const char* name, hipDeviceptr_t to, Word value, std::size_t count, Place place) {
  return fill(name, {pointer_of(to), count * sizeof(Word), 0}, value, count, 1, 1, place);
}
}  // namespace host
}  // namespace simt

inline hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, std::size_t count, SIMT_HERE) {
  return simt::host::fill_words("MemsetD8", to, value, count, SIMT_THERE);
}
inline hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, std::size_t count, SIMT_HERE) {
  return simt::host::fill_words("MemsetD16", to, value, count, SIMT_THERE);
}
inline hipError_t hipMemsetD32(hipDeviceptr_t to, int value, std::size_t count, SIMT_HERE) {
  return simt::host::fill_words("MemsetD32", to, value, count, SIMT_THERE);
}
inline hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, std::size_t count, hipStream_t = nullptr,
                                   SIMT_HERE) {
  return hipMemsetD8(to, value, count, simt_file, simt_line);
}
inline hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, std::size_t count,
                                    hipStream_t = nullptr, SIMT_HERE) {
  return hipMemsetD16(to, value, count, simt_file, simt_line);
}
inline hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, std::size_t count, hipStream_t = nullptr,
                                    SIMT_HERE) {
  return hipMemsetD32(to, value, count, simt_file, simt_line);
}

inline hipError_t hipMemGetAddressRange(hipDeviceptr_t* start, std::size_t* size, hipDeviceptr_t address) {
  const simt::Allocation allocation = simt::find(simt::host::pointer_of(address));
  if (allocation.kind == simt::Memory::none) return simt::host::result(hipErrorNotFound);
  if (start != nullptr) *start = simt::host::address_of(allocation.start);
  if (size != nullptr) *size = allocation.size;
  return hipSuccess;
}

inline hipError_t hipDrvGetErrorName(hipError_t error, const char** name) {
  *name = hipGetErrorName(error);
  return hipSuccess;
}
inline hipError_t hipDrvGetErrorString(hipError_t error, const char** text) {
  *text = hipGetErrorString(error);
  return hipSuccess;
}

// ------------------------------------------------------------------------------- kernels as functions, and pointers

/// Stands for a kernel of the program: its address.
struct ihipModuleSymbol_t;
using hipFunction_t = ihipModuleSymbol_t*;

#ifdef SIMT_HIP
#define HIP_LAUNCH_PARAM_BUFFER_POINTER ((void*)0x01)
#define HIP_LAUNCH_PARAM_BUFFER_SIZE ((void*)0x02)
#define HIP_LAUNCH_PARAM_END ((void*)0x03)
#else
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void*)0x01)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void*)0x02)
#define CU_LAUNCH_PARAM_END ((void*)0x00)
#endif

namespace simt {
namespace host {
inline const char* function_name(hipFunction_t function) {
  const char* const name = modules::name_of(function);
  return name != nullptr ? name : "a kernel by its function";
}
}  // namespace host
}  // namespace simt

enum hipFunction_attribute {
  HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
  HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
  HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
  HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
  HIP_FUNC_ATTRIBUTE_NUM_REGS,
  HIP_FUNC_ATTRIBUTE_PTX_VERSION,
  HIP_FUNC_ATTRIBUTE_BINARY_VERSION,
  HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA,
  HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
  HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
  HIP_FUNC_ATTRIBUTE_MAX,
};
template <typename T>
hipError_t hipGetFuncBySymbol(hipFunction_t* function, T* kernel) {
  if (function == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (kernel == nullptr) return simt::host::result(hipErrorInvalidDeviceFunction);
  simt::host::remember_if_kernel(kernel);
  *function = (hipFunction_t)kernel;
  return hipSuccess;
}
inline hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute attribute, hipFunction_t function, SIMT_HERE) {
  hipFuncAttributes all;
  if (value == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (const hipError_t error = hipFuncGetAttributes(&all, function, simt_file, simt_line)) return error;
  switch (attribute) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = all.maxThreadsPerBlock; break;
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = static_cast<int>(all.sharedSizeBytes); break;
    case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = static_cast<int>(all.constSizeBytes); break;
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = static_cast<int>(all.localSizeBytes); break;
    case HIP_FUNC_ATTRIBUTE_NUM_REGS: *value = all.numRegs; break;
    case HIP_FUNC_ATTRIBUTE_PTX_VERSION: *value = all.ptxVersion; break;
    case HIP_FUNC_ATTRIBUTE_BINARY_VERSION: *value = all.binaryVersion; break;
    case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = all.cacheModeCA; break;
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = all.maxDynamicSharedSizeBytes; break;
    case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = all.preferredShmemCarveout; break;
    default: return simt::host::result(hipErrorInvalidValue);
  }
  return hipSuccess;
}
inline hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                        hipStream_t stream, void** arguments, void** extra = nullptr, SIMT_HERE) {
  if (arguments != nullptr && extra != nullptr) return simt::host::result(hipErrorInvalidValue);
  const simt::host::Launcher launcher{simt::host::function_name(function), SIMT_THERE, false};
  return launcher((const void*)function, dim3(grid_x, grid_y, grid_z), dim3(block_x, block_y, block_z),
                  arguments != nullptr ? arguments : extra, shared, stream);
}
inline hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y,
                                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                                   unsigned block_z, unsigned shared, hipStream_t stream,
                                                   void** arguments, SIMT_HERE) {
  const simt::host::Launcher launcher{simt::host::function_name(function), SIMT_THERE, true};
  return launcher((const void*)function, dim3(grid_x, grid_y, grid_z), dim3(block_x, block_y, block_z), arguments,
                  shared, stream);
}
inline hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, hipFunction_t function, int threads,
                                                                     std::size_t shared, SIMT_HERE) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared, simt_file, simt_line);
}
inline hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, hipFunction_t function,
                                                                              int threads, std::size_t shared,
                                                                              unsigned flags, SIMT_HERE) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, flags, simt_file,
                                                               simt_line);
}
inline hipError_t hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* block, hipFunction_t function,
                                                          std::size_t shared, int limit, SIMT_HERE) {
  return hipOccupancyMaxPotentialBlockSize(grid, block, function, shared, limit, simt_file, simt_line);
}

enum hipPointer_attribute {
  HIP_POINTER_ATTRIBUTE_CONTEXT = 1,
  HIP_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  HIP_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
  HIP_POINTER_ATTRIBUTE_HOST_POINTER = 4,
  HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
  HIP_POINTER_ATTRIBUTE_IS_MANAGED = 8,
  HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
  HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
  HIP_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
  HIP_POINTER_ATTRIBUTE_MAPPED = 13,
};
inline hipError_t hipPointerGetAttribute(void* value, hipPointer_attribute attribute, hipDeviceptr_t address,
                                         SIMT_HERE) {
  void* const pointer = simt::host::pointer_of(address);
  hipPointerAttribute_t all;
  if (value == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (const hipError_t error = hipPointerGetAttributes(&all, pointer)) return error;
  const simt::Allocation allocation = simt::find(pointer);
  const bool is_known = allocation.kind != simt::Memory::none || all.type != hipMemoryTypeUnregistered;
  if (!is_known) return simt::host::result(hipErrorInvalidValue);
  const auto give = [value](auto given) {
    std::memcpy(value, &given, sizeof given);
    return hipSuccess;
  };
  switch (attribute) {
    case HIP_POINTER_ATTRIBUTE_CONTEXT: return give(&simt::host::context);
    // The driver has no type for managed memory: it is device memory with IS_MANAGED.
    case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return give(static_cast<unsigned>(all.type == hipMemoryTypeManaged ? hipMemoryTypeDevice : all.type));
    case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER: return give(simt::host::address_of(all.devicePointer));
    case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
      return all.hostPointer != nullptr ? give(all.hostPointer) : simt::host::result(hipErrorInvalidValue);
    case HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS: return give(0);
    case HIP_POINTER_ATTRIBUTE_IS_MANAGED: return give(static_cast<int>(all.type == hipMemoryTypeManaged));
    case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return give(0);
    case HIP_POINTER_ATTRIBUTE_MAPPED: return give(1);
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return give(simt::host::address_of(allocation.start != nullptr ? allocation.start : pointer));
    case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
      if (allocation.start != nullptr) return give(allocation.size);
      break;
  }
  simt::fault("unsupported", SIMT_THERE, "this attribute of a pointer (%d)", static_cast<int>(attribute));
}

#ifndef SIMT_HIP

// ----------------------------------------------------------------------------------------------- CUDA's driver API

/// The driver's names of errors in CUDA; the numbers are those of the runtime's.
#define SIMT_DRIVER_ERRORS(E)                           \
  E(0, CUDA_SUCCESS)                                    \
  E(1, CUDA_ERROR_INVALID_VALUE)                        \
  E(2, CUDA_ERROR_OUT_OF_MEMORY)                        \
  E(3, CUDA_ERROR_NOT_INITIALIZED)                      \
  E(4, CUDA_ERROR_DEINITIALIZED)                        \
  E(100, CUDA_ERROR_NO_DEVICE)                          \
  E(101, CUDA_ERROR_INVALID_DEVICE)                     \
  E(200, CUDA_ERROR_INVALID_IMAGE)                      \
  E(201, CUDA_ERROR_INVALID_CONTEXT)                    \
  E(205, CUDA_ERROR_MAP_FAILED)                         \
  E(206, CUDA_ERROR_UNMAP_FAILED)                       \
  E(209, CUDA_ERROR_NO_BINARY_FOR_GPU)                  \
  E(214, CUDA_ERROR_ECC_UNCORRECTABLE)                  \
  E(215, CUDA_ERROR_UNSUPPORTED_LIMIT)                  \
  E(216, CUDA_ERROR_CONTEXT_ALREADY_IN_USE)             \
  E(217, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED)            \
  E(218, CUDA_ERROR_INVALID_PTX)                        \
  E(300, CUDA_ERROR_INVALID_SOURCE)                     \
  E(301, CUDA_ERROR_FILE_NOT_FOUND)                     \
  E(302, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND)     \
  E(303, CUDA_ERROR_SHARED_OBJECT_INIT_FAILED)          \
  E(304, CUDA_ERROR_OPERATING_SYSTEM)                   \
  E(400, CUDA_ERROR_INVALID_HANDLE)                     \
  E(401, CUDA_ERROR_ILLEGAL_STATE)                      \
  E(500, CUDA_ERROR_NOT_FOUND)                          \
  E(600, CUDA_ERROR_NOT_READY)                          \
  E(700, CUDA_ERROR_ILLEGAL_ADDRESS)                    \
  E(701, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)            \
  E(702, CUDA_ERROR_LAUNCH_TIMEOUT)                     \
  E(704, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)        \
  E(705, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED)            \
  E(709, CUDA_ERROR_CONTEXT_IS_DESTROYED)               \
  E(710, CUDA_ERROR_ASSERT)                             \
  E(712, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)     \
  E(713, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)         \
  E(719, CUDA_ERROR_LAUNCH_FAILED)                      \
  E(720, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)       \
  E(800, CUDA_ERROR_NOT_PERMITTED)                      \
  E(801, CUDA_ERROR_NOT_SUPPORTED)                      \
  E(999, CUDA_ERROR_UNKNOWN)

enum cudaError_enum {
#define SIMT_ERROR(number, name) name = number,
  SIMT_DRIVER_ERRORS(SIMT_ERROR)
#undef SIMT_ERROR
};
using CUresult = cudaError_enum;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = hipCtx_t;
using CUstream = hipStream_t;
using CUevent = hipEvent_t;
using CUarray = hipArray_t;
using CUuuid = hipUUID;
using CUmemorytype = hipMemoryType;
using CUfunction = hipFunction_t;
using CUfunc_cache = hipFuncCache_t;

/// The attributes that programs query from the driver.
enum CUdevice_attribute {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = hipDeviceAttributeMaxThreadsPerBlock,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = hipDeviceAttributeMaxBlockDimX,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = hipDeviceAttributeMaxBlockDimY,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = hipDeviceAttributeMaxBlockDimZ,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = hipDeviceAttributeMaxGridDimX,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = hipDeviceAttributeMaxGridDimY,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = hipDeviceAttributeMaxGridDimZ,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = hipDeviceAttributeMaxSharedMemoryPerBlock,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = hipDeviceAttributeSharedMemPerBlockOptin,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = hipDeviceAttributeSharedMemPerMultiprocessor,
  CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY = hipDeviceAttributeTotalConstantMemory,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = hipDeviceAttributeWarpSize,
  CU_DEVICE_ATTRIBUTE_MAX_PITCH = hipDeviceAttributeMaxPitch,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = hipDeviceAttributeMaxRegistersPerBlock,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = hipDeviceAttributeMaxRegistersPerMultiprocessor,
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = hipDeviceAttributeClockRate,
  CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT = hipDeviceAttributeTextureAlignment,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = hipDeviceAttributeMultiprocessorCount,
  CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT = hipDeviceAttributeKernelExecTimeout,
  CU_DEVICE_ATTRIBUTE_INTEGRATED = hipDeviceAttributeIntegrated,
  CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = hipDeviceAttributeCanMapHostMemory,
  CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = hipDeviceAttributeComputeMode,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS = hipDeviceAttributeConcurrentKernels,
  CU_DEVICE_ATTRIBUTE_ECC_ENABLED = hipDeviceAttributeEccEnabled,
  CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = hipDeviceAttributePciBusId,
  CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = hipDeviceAttributePciDeviceId,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = hipDeviceAttributeMemoryClockRate,
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = hipDeviceAttributeMemoryBusWidth,
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = hipDeviceAttributeL2CacheSize,
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = hipDeviceAttributeMaxThreadsPerMultiProcessor,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = hipDeviceAttributeMaxBlocksPerMultiProcessor,
  CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = hipDeviceAttributeAsyncEngineCount,
  CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = hipDeviceAttributeUnifiedAddressing,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = hipDeviceAttributeComputeCapabilityMajor,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = hipDeviceAttributeComputeCapabilityMinor,
  CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = hipDeviceAttributeManagedMemory,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = hipDeviceAttributeConcurrentManagedAccess,
  CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = hipDeviceAttributePageableMemoryAccess,
  CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = hipDeviceAttributeCooperativeLaunch,
  CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH = hipDeviceAttributeCooperativeMultiDeviceLaunch,
  CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED = hipDeviceAttributeComputePreemptionSupported,
  CU_DEVICE_ATTRIBUTE_GPU_OVERLAP = hipDeviceAttributeDeviceOverlap,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH = hipDeviceAttributeMaxTexture1DWidth,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH = hipDeviceAttributeMaxTexture2DWidth,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT = hipDeviceAttributeMaxTexture2DHeight,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH = hipDeviceAttributeMaxTexture3DWidth,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT = hipDeviceAttributeMaxTexture3DHeight,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH = hipDeviceAttributeMaxTexture3DDepth,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH = hipDeviceAttributeMaxTexture1DLayered,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS = hipDeviceAttributeMaxTexture1DLayeredLayers,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH = hipDeviceAttributeMaxTexture2DLayered,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT = hipDeviceAttributeMaxTexture2DLayeredHeight,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS = hipDeviceAttributeMaxTexture2DLayeredLayers,
  CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = hipDeviceAttributePciDomainID,
  CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT = hipDeviceAttributeSurfaceAlignment,
  CU_DEVICE_ATTRIBUTE_TCC_DRIVER = hipDeviceAttributeTccDriver,
  CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED = hipDeviceAttributeVirtualMemoryManagementSupported,
  CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = hipDeviceAttributeVirtualMemoryManagementSupported,
  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = hipDeviceAttributeMemoryPoolsSupported,
};

enum CUfunction_attribute {
#define SIMT_SAME(name) CU_##name = HIP_##name
  SIMT_SAME(FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
  SIMT_SAME(FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
  SIMT_SAME(FUNC_ATTRIBUTE_CONST_SIZE_BYTES),
  SIMT_SAME(FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
  SIMT_SAME(FUNC_ATTRIBUTE_NUM_REGS),
  SIMT_SAME(FUNC_ATTRIBUTE_PTX_VERSION),
  SIMT_SAME(FUNC_ATTRIBUTE_BINARY_VERSION),
  SIMT_SAME(FUNC_ATTRIBUTE_CACHE_MODE_CA),
  SIMT_SAME(FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
  SIMT_SAME(FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT),
};
enum CUpointer_attribute {
  SIMT_SAME(POINTER_ATTRIBUTE_CONTEXT),
  SIMT_SAME(POINTER_ATTRIBUTE_MEMORY_TYPE),
  SIMT_SAME(POINTER_ATTRIBUTE_DEVICE_POINTER),
  SIMT_SAME(POINTER_ATTRIBUTE_HOST_POINTER),
  SIMT_SAME(POINTER_ATTRIBUTE_SYNC_MEMOPS),
  SIMT_SAME(POINTER_ATTRIBUTE_IS_MANAGED),
  SIMT_SAME(POINTER_ATTRIBUTE_DEVICE_ORDINAL),
  SIMT_SAME(POINTER_ATTRIBUTE_RANGE_START_ADDR),
  SIMT_SAME(POINTER_ATTRIBUTE_RANGE_SIZE),
  SIMT_SAME(POINTER_ATTRIBUTE_MAPPED),
#undef SIMT_SAME
};
constexpr CUmemorytype CU_MEMORYTYPE_HOST = hipMemoryTypeHost, CU_MEMORYTYPE_DEVICE = hipMemoryTypeDevice;
constexpr CUfunc_cache CU_FUNC_CACHE_PREFER_NONE = hipFuncCachePreferNone,
                       CU_FUNC_CACHE_PREFER_SHARED = hipFuncCachePreferShared,
                       CU_FUNC_CACHE_PREFER_L1 = hipFuncCachePreferL1,
                       CU_FUNC_CACHE_PREFER_EQUAL = hipFuncCachePreferEqual;

enum CUcomputemode {
  CU_COMPUTEMODE_DEFAULT = hipComputeModeDefault,
  CU_COMPUTEMODE_PROHIBITED = hipComputeModeProhibited,
  CU_COMPUTEMODE_EXCLUSIVE_PROCESS = hipComputeModeExclusiveProcess,
};

#define CU_CTX_SCHED_AUTO 0x00
#define CU_CTX_SCHED_SPIN 0x01
#define CU_CTX_SCHED_YIELD 0x02
#define CU_CTX_SCHED_BLOCKING_SYNC 0x04
#define CU_CTX_MAP_HOST 0x08
#define CU_STREAM_DEFAULT 0x0
#define CU_STREAM_NON_BLOCKING 0x1
#define CU_EVENT_DEFAULT 0x0
#define CU_EVENT_BLOCKING_SYNC 0x1
#define CU_EVENT_DISABLE_TIMING 0x2
#define CU_MEM_ATTACH_GLOBAL 0x1
#define CU_MEM_ATTACH_HOST 0x2

namespace simt {
namespace host {
/// The driver's functions return their errors and leave the runtime's last error alone.
class AsDriver {
 public:
  AsDriver() : before_(last_error) {}
  CUresult operator()(hipError_t error) const {
    last_error = before_;
    return static_cast<CUresult>(error);
  }

 private:
  hipError_t before_;
};
}  // namespace host
}  // namespace simt

#define SIMT_DRIVER(name, parameters, call)                        \
  inline CUresult name parameters {                                \
    const simt::host::AsDriver simt_as_driver;                     \
    return simt_as_driver(call);                                   \
  }

SIMT_DRIVER(cuInit, (unsigned flags), hipInit(flags))
SIMT_DRIVER(cuDriverGetVersion, (int* version), hipDriverGetVersion(version))
SIMT_DRIVER(cuDeviceGet, (CUdevice* device, int ordinal), hipDeviceGet(device, ordinal))
SIMT_DRIVER(cuDeviceGetCount, (int* count), hipGetDeviceCount(count))
SIMT_DRIVER(cuDeviceGetName, (char* name, int length, CUdevice device), hipDeviceGetName(name, length, device))
SIMT_DRIVER(cuDeviceGetUuid, (CUuuid* uuid, CUdevice device), hipDeviceGetUuid(uuid, device))
SIMT_DRIVER(cuDeviceTotalMem, (std::size_t* bytes, CUdevice device), hipDeviceTotalMem(bytes, device))
SIMT_DRIVER(cuDeviceComputeCapability, (int* major, int* minor, CUdevice device),
            hipDeviceComputeCapability(major, minor, device))
SIMT_DRIVER(cuDeviceGetAttribute, (int* value, CUdevice_attribute attribute, CUdevice device),
            hipDeviceGetAttribute(value, static_cast<hipDeviceAttribute_t>(attribute), device))
SIMT_DRIVER(cuDeviceCanAccessPeer, (int* can, CUdevice device, CUdevice peer),
            hipDeviceCanAccessPeer(can, device, peer))
SIMT_DRIVER(cuCtxCreate, (CUcontext* context, unsigned flags, CUdevice device), hipCtxCreate(context, flags, device))
SIMT_DRIVER(cuCtxDestroy, (CUcontext context), hipCtxDestroy(context))
SIMT_DRIVER(cuCtxGetCurrent, (CUcontext* context), hipCtxGetCurrent(context))
SIMT_DRIVER(cuCtxSetCurrent, (CUcontext context), hipCtxSetCurrent(context))
SIMT_DRIVER(cuCtxPushCurrent, (CUcontext context), hipCtxPushCurrent(context))
SIMT_DRIVER(cuCtxPopCurrent, (CUcontext* context), hipCtxPopCurrent(context))
SIMT_DRIVER(cuCtxGetDevice, (CUdevice* device), hipCtxGetDevice(device))
SIMT_DRIVER(cuCtxSynchronize, (), hipCtxSynchronize())
SIMT_DRIVER(cuDevicePrimaryCtxRetain, (CUcontext* context, CUdevice device),
            hipDevicePrimaryCtxRetain(context, device))
SIMT_DRIVER(cuDevicePrimaryCtxRelease, (CUdevice device), hipDevicePrimaryCtxRelease(device))
SIMT_DRIVER(cuMemGetInfo, (std::size_t* free, std::size_t* total), hipMemGetInfo(free, total))
SIMT_DRIVER(cuMemFree, (CUdeviceptr address), hipFree(simt::host::pointer_of(address)))
SIMT_DRIVER(cuMemFreeHost, (void* pointer), hipHostFree(pointer))
SIMT_DRIVER(cuMemHostUnregister, (void* pointer), hipHostUnregister(pointer))
SIMT_DRIVER(cuMemGetAddressRange, (CUdeviceptr* start, std::size_t* size, CUdeviceptr address),
            hipMemGetAddressRange(start, size, address))
SIMT_DRIVER(cuMemHostRegister, (void* pointer, std::size_t size, unsigned flags),
            hipHostRegister(pointer, size, flags))
SIMT_DRIVER(cuMemcpyHtoD, (CUdeviceptr to, const void* from, std::size_t size, SIMT_HERE),
            hipMemcpyHtoD(to, from, size, simt_file, simt_line))
SIMT_DRIVER(cuMemcpyDtoH, (void* to, CUdeviceptr from, std::size_t size, SIMT_HERE),
            hipMemcpyDtoH(to, from, size, simt_file, simt_line))
SIMT_DRIVER(cuMemcpyDtoD, (CUdeviceptr to, CUdeviceptr from, std::size_t size, SIMT_HERE),
            hipMemcpyDtoD(to, from, size, simt_file, simt_line))
SIMT_DRIVER(cuMemcpyHtoDAsync, (CUdeviceptr to, const void* from, std::size_t size, CUstream stream, SIMT_HERE),
            hipMemcpyHtoDAsync(to, from, size, stream, simt_file, simt_line))
SIMT_DRIVER(cuMemcpyDtoHAsync, (void* to, CUdeviceptr from, std::size_t size, CUstream stream, SIMT_HERE),
            hipMemcpyDtoHAsync(to, from, size, stream, simt_file, simt_line))
SIMT_DRIVER(cuMemcpyDtoDAsync, (CUdeviceptr to, CUdeviceptr from, std::size_t size, CUstream stream, SIMT_HERE),
            hipMemcpyDtoDAsync(to, from, size, stream, simt_file, simt_line))
SIMT_DRIVER(cuMemsetD8, (CUdeviceptr to, unsigned char value, std::size_t count, SIMT_HERE),
            hipMemsetD8(to, value, count, simt_file, simt_line))
SIMT_DRIVER(cuMemsetD16, (CUdeviceptr to, unsigned short value, std::size_t count, SIMT_HERE),
            hipMemsetD16(to, value, count, simt_file, simt_line))
SIMT_DRIVER(cuMemsetD32, (CUdeviceptr to, unsigned value, std::size_t count, SIMT_HERE),
            hipMemsetD32(to, static_cast<int>(value), count, simt_file, simt_line))
SIMT_DRIVER(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream, SIMT_HERE),
            hipMemsetD8Async(to, value, count, stream, simt_file, simt_line))
SIMT_DRIVER(cuMemsetD32Async, (CUdeviceptr to, unsigned value, std::size_t count, CUstream stream, SIMT_HERE),
            hipMemsetD32Async(to, static_cast<int>(value), count, stream, simt_file, simt_line))
SIMT_DRIVER(cuStreamCreate, (CUstream* stream, unsigned flags), hipStreamCreateWithFlags(stream, flags))
SIMT_DRIVER(cuStreamDestroy, (CUstream stream), hipStreamDestroy(stream))
SIMT_DRIVER(cuStreamSynchronize, (CUstream stream), hipStreamSynchronize(stream))
SIMT_DRIVER(cuStreamQuery, (CUstream stream), hipStreamQuery(stream))
SIMT_DRIVER(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags),
            hipStreamWaitEvent(stream, event, flags))
SIMT_DRIVER(cuEventCreate, (CUevent* event, unsigned flags), hipEventCreateWithFlags(event, flags))
SIMT_DRIVER(cuEventDestroy, (CUevent event), hipEventDestroy(event))
SIMT_DRIVER(cuEventRecord, (CUevent event, CUstream stream), hipEventRecord(event, stream))
SIMT_DRIVER(cuEventSynchronize, (CUevent event), hipEventSynchronize(event))
SIMT_DRIVER(cuEventElapsedTime, (float* milliseconds, CUevent start, CUevent stop),
            hipEventElapsedTime(milliseconds, start, stop))
SIMT_DRIVER(cuEventQuery, (CUevent event), hipEventQuery(event))
SIMT_DRIVER(cuStreamCreateWithPriority, (CUstream* stream, unsigned flags, int priority),
            hipStreamCreateWithPriority(stream, flags, priority))
SIMT_DRIVER(cuStreamGetPriority, (CUstream stream, int* priority), hipStreamGetPriority(stream, priority))
SIMT_DRIVER(cuStreamGetFlags, (CUstream stream, unsigned* flags), hipStreamGetFlags(stream, flags))
SIMT_DRIVER(cuCtxGetStreamPriorityRange, (int* least, int* greatest), hipDeviceGetStreamPriorityRange(least, greatest))
SIMT_DRIVER(cuCtxSetCacheConfig, (CUfunc_cache cache), hipDeviceSetCacheConfig(cache))
SIMT_DRIVER(cuDevicePrimaryCtxReset, (CUdevice device), hipDevicePrimaryCtxReset(device))
SIMT_DRIVER(cuDevicePrimaryCtxSetFlags, (CUdevice device, unsigned flags), hipDevicePrimaryCtxSetFlags(device, flags))
SIMT_DRIVER(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned* flags, int* active),
            hipDevicePrimaryCtxGetState(device, flags, active))
SIMT_DRIVER(cuDeviceGetPCIBusId, (char* text, int length, CUdevice device),
            hipDeviceGetPCIBusId(text, length, device))
SIMT_DRIVER(cuDeviceGetByPCIBusId, (CUdevice* device, const char* text), hipDeviceGetByPCIBusId(device, text))
SIMT_DRIVER(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, std::size_t size, SIMT_HERE),
            hipMemcpy(simt::host::pointer_of(to), simt::host::pointer_of(from), size, hipMemcpyDefault, simt_file,
                      simt_line))
SIMT_DRIVER(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, std::size_t size, CUstream stream, SIMT_HERE),
            hipMemcpyAsync(simt::host::pointer_of(to), simt::host::pointer_of(from), size, hipMemcpyDefault, stream,
                           simt_file, simt_line))
SIMT_DRIVER(cuMemsetD2D8,
            (CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width, std::size_t height, SIMT_HERE),
            simt::host::fill("MemsetD2D8", {simt::host::pointer_of(to), pitch, 0}, value, width, height, 1, SIMT_THERE))
SIMT_DRIVER(cuMemsetD2D32,
            (CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width, std::size_t height, SIMT_HERE),
            simt::host::fill("MemsetD2D32", {simt::host::pointer_of(to), pitch, 0}, value, width, height, 1,
                             SIMT_THERE))
SIMT_DRIVER(cuMemFreeAsync, (CUdeviceptr address, CUstream stream),
            hipFreeAsync(simt::host::pointer_of(address), stream))
SIMT_DRIVER(cuMemPrefetchAsync, (CUdeviceptr address, std::size_t size, CUdevice device, CUstream stream, SIMT_HERE),
            hipMemPrefetchAsync(simt::host::pointer_of(address), size, device, stream, simt_file, simt_line))
SIMT_DRIVER(cuFuncGetAttribute, (int* value, CUfunction_attribute attribute, CUfunction function, SIMT_HERE),
            hipFuncGetAttribute(value, static_cast<hipFunction_attribute>(attribute), function, simt_file, simt_line))
SIMT_DRIVER(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute attribute, int value, SIMT_HERE),
            hipFuncSetAttribute(function, static_cast<hipFuncAttribute>(attribute), value, simt_file, simt_line))
SIMT_DRIVER(cuFuncSetCacheConfig, (CUfunction function, CUfunc_cache cache), hipFuncSetCacheConfig(function, cache))
SIMT_DRIVER(cuLaunchKernel,
            (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
             unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** arguments, void** extra,
             SIMT_HERE),
            hipModuleLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                                  arguments, extra, simt_file, simt_line))
SIMT_DRIVER(cuLaunchCooperativeKernel,
            (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
             unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** arguments, SIMT_HERE),
            hipModuleLaunchCooperativeKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                                             stream, arguments, simt_file, simt_line))
SIMT_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor,
            (int* blocks, CUfunction function, int threads, std::size_t shared, SIMT_HERE),
            hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared, simt_file, simt_line))
SIMT_DRIVER(cuPointerGetAttribute, (void* value, CUpointer_attribute attribute, CUdeviceptr address, SIMT_HERE),
            hipPointerGetAttribute(value, static_cast<hipPointer_attribute>(attribute), address, simt_file, simt_line))
SIMT_DRIVER(cuLaunchHostFunc, (CUstream stream, hipHostFn_t function, void* data),
            hipLaunchHostFunc(stream, function, data))

inline CUresult cuMemAlloc(CUdeviceptr* address, std::size_t size, SIMT_HERE) {
  const simt::host::AsDriver as_driver;
  if (address == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  void* pointer = nullptr;
  const hipError_t error = hipMalloc(&pointer, size, simt_file, simt_line);
  if (error == hipSuccess) *address = simt::host::address_of(pointer);
  return as_driver(error);
}
inline CUresult cuMemAllocManaged(CUdeviceptr* address, std::size_t size, unsigned flags, SIMT_HERE) {
  const simt::host::AsDriver as_driver;
  if (address == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  void* pointer = nullptr;
  const hipError_t error = hipMallocManaged(&pointer, size, flags, simt_file, simt_line);
  if (error == hipSuccess) *address = simt::host::address_of(pointer);
  return as_driver(error);
}
inline CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t size, CUstream, SIMT_HERE) {
  return cuMemAlloc(address, size, simt_file, simt_line);
}
inline CUresult cuMemAllocPitch(CUdeviceptr* address, std::size_t* pitch, std::size_t width, std::size_t height,
                                unsigned, SIMT_HERE) {
  const simt::host::AsDriver as_driver;
  if (address == nullptr || width == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
  void* pointer = nullptr;
  const hipError_t error = hipMallocPitch(&pointer, pitch, width, height, simt_file, simt_line);
  if (error == hipSuccess) *address = simt::host::address_of(pointer);
  return as_driver(error);
}
inline CUresult cuMemHostGetDevicePointer(CUdeviceptr* address, void* host, unsigned flags) {
  const simt::host::AsDriver as_driver;
  void* pointer = nullptr;
  const hipError_t error = hipHostGetDevicePointer(&pointer, host, flags);
  if (error == hipSuccess) *address = simt::host::address_of(pointer);
  return as_driver(error);
}
using CUstreamCallback = void (*)(CUstream, CUresult, void*);
using CUhostFn = hipHostFn_t;
inline CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data, unsigned flags) {
  const simt::host::AsDriver as_driver;
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const hipError_t error = hipStreamQuery(stream);
  if (error == hipSuccess) callback(stream, CUDA_SUCCESS, data);
  return as_driver(error);
}

inline CUresult cuMemAllocHost(void** pointer, std::size_t size, SIMT_HERE) {
  const simt::host::AsDriver as_driver;
  return as_driver(hipHostMalloc(pointer, size, hipHostMallocDefault, simt_file, simt_line));
}
inline CUresult cuMemHostAlloc(void** pointer, std::size_t size, unsigned flags, SIMT_HERE) {
  const simt::host::AsDriver as_driver;
  return as_driver(hipHostMalloc(pointer, size, flags, simt_file, simt_line));
}

inline CUresult cuGetErrorName(CUresult error, const char** name) {
  switch (error) {
#define SIMT_ERROR(number, text) \
  case text: *name = #text; return CUDA_SUCCESS;
    SIMT_DRIVER_ERRORS(SIMT_ERROR)
#undef SIMT_ERROR
  }
  *name = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}
inline CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = hipGetErrorString(static_cast<hipError_t>(error));
  return CUDA_SUCCESS;
}

#endif

#endif
