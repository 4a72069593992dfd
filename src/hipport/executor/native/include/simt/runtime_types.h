// SPDX-License-Identifier: Apache-2.0
// simt/runtime_types.h: the types of the runtime API, under HIP's names; names.h gives them CUDA's.
//
// Names and numbers are those of hip/hip_runtime_api.h and hip/driver_types.h of ROCm 7.0 and, for those that only CUDA
// has, of driver_types.h of CUDA 12. CUDA and HIP number errors, kinds of copies and flags alike.
#ifndef SIMT_RUNTIME_TYPES_H
#define SIMT_RUNTIME_TYPES_H

#include <cstddef>
#include <cstdint>

#include "types.h"

// ---------------------------------------------------------------------------------------------------------- errors

/// Every error: number, HIP's name, CUDA's name, message. Names that HIP lacks begin with simt.
#define SIMT_ERRORS(E)                                                                                               \
  E(0, hipSuccess, cudaSuccess, "no error")                                                                          \
  E(1, hipErrorInvalidValue, cudaErrorInvalidValue, "invalid argument")                                              \
  E(2, hipErrorOutOfMemory, cudaErrorMemoryAllocation, "out of memory")                                              \
  E(3, hipErrorNotInitialized, cudaErrorInitializationError, "initialization error")                                 \
  E(4, hipErrorDeinitialized, cudaErrorCudartUnloading, "driver shutting down")                                      \
  E(5, hipErrorProfilerDisabled, cudaErrorProfilerDisabled, "profiler disabled while using external profiling tool") \
  E(6, hipErrorProfilerNotInitialized, cudaErrorProfilerNotInitialized, "profiler not initialized")                  \
  E(7, hipErrorProfilerAlreadyStarted, cudaErrorProfilerAlreadyStarted, "profiler already started")                  \
  E(8, hipErrorProfilerAlreadyStopped, cudaErrorProfilerAlreadyStopped, "profiler already stopped")                  \
  E(9, hipErrorInvalidConfiguration, cudaErrorInvalidConfiguration, "invalid configuration argument")                \
  E(12, hipErrorInvalidPitchValue, cudaErrorInvalidPitchValue, "invalid pitch argument")                             \
  E(13, hipErrorInvalidSymbol, cudaErrorInvalidSymbol, "invalid device symbol")                                      \
  E(16, simtErrorInvalidHostPointer, cudaErrorInvalidHostPointer, "invalid host pointer")                             \
  E(17, hipErrorInvalidDevicePointer, cudaErrorInvalidDevicePointer, "invalid device pointer")                       \
  E(18, hipErrorInvalidTexture, cudaErrorInvalidTexture, "invalid texture reference")                                \
  E(20, hipErrorInvalidChannelDescriptor, cudaErrorInvalidChannelDescriptor, "invalid channel descriptor")           \
  E(21, hipErrorInvalidMemcpyDirection, cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")        \
  E(35, hipErrorInsufficientDriver, cudaErrorInsufficientDriver, "driver version is insufficient")                   \
  E(52, hipErrorMissingConfiguration, cudaErrorMissingConfiguration, "__global__ function call is not configured")   \
  E(53, hipErrorPriorLaunchFailure, cudaErrorPriorLaunchFailure, "unspecified launch failure in prior launch")       \
  E(98, hipErrorInvalidDeviceFunction, cudaErrorInvalidDeviceFunction, "invalid device function")                    \
  E(100, hipErrorNoDevice, cudaErrorNoDevice, "no capable device is detected")                                       \
  E(101, hipErrorInvalidDevice, cudaErrorInvalidDevice, "invalid device ordinal")                                    \
  E(200, hipErrorInvalidImage, cudaErrorInvalidKernelImage, "device kernel image is invalid")                        \
  E(201, hipErrorInvalidContext, cudaErrorDeviceUninitialized, "invalid device context")                             \
  E(205, hipErrorMapFailed, cudaErrorMapBufferObjectFailed, "mapping of buffer object failed")                       \
  E(206, hipErrorUnmapFailed, cudaErrorUnmapBufferObjectFailed, "unmapping of buffer object failed")                 \
  E(207, hipErrorArrayIsMapped, cudaErrorArrayIsMapped, "array is mapped")                                           \
  E(208, hipErrorAlreadyMapped, cudaErrorAlreadyMapped, "resource already mapped")                                   \
  E(209, hipErrorNoBinaryForGpu, cudaErrorNoKernelImageForDevice, "no kernel image is available for the device")     \
  E(210, hipErrorAlreadyAcquired, cudaErrorAlreadyAcquired, "resource already acquired")                             \
  E(211, hipErrorNotMapped, cudaErrorNotMapped, "resource not mapped")                                               \
  E(212, hipErrorNotMappedAsArray, cudaErrorNotMappedAsArray, "resource not mapped as array")                        \
  E(213, hipErrorNotMappedAsPointer, cudaErrorNotMappedAsPointer, "resource not mapped as pointer")                  \
  E(214, hipErrorECCNotCorrectable, cudaErrorECCUncorrectable, "uncorrectable ECC error encountered")                \
  E(215, hipErrorUnsupportedLimit, cudaErrorUnsupportedLimit, "limit is not supported")                              \
  E(216, hipErrorContextAlreadyInUse, cudaErrorDeviceAlreadyInUse, "device is in use by another thread")             \
  E(217, hipErrorPeerAccessUnsupported, cudaErrorPeerAccessUnsupported, "peer access is not supported")              \
  E(218, hipErrorInvalidKernelFile, cudaErrorInvalidPtx, "invalid kernel file")                                      \
  E(219, hipErrorInvalidGraphicsContext, cudaErrorInvalidGraphicsContext, "invalid graphics context")                \
  E(300, hipErrorInvalidSource, cudaErrorInvalidSource, "device kernel image is invalid")                            \
  E(301, hipErrorFileNotFound, cudaErrorFileNotFound, "file not found")                                              \
  E(302, hipErrorSharedObjectSymbolNotFound, cudaErrorSharedObjectSymbolNotFound, "shared object symbol not found")  \
  E(303, hipErrorSharedObjectInitFailed, cudaErrorSharedObjectInitFailed, "shared object initialization failed")     \
  E(304, hipErrorOperatingSystem, cudaErrorOperatingSystem, "call of the operating system failed")                   \
  E(400, hipErrorInvalidHandle, cudaErrorInvalidResourceHandle, "invalid resource handle")                           \
  E(401, hipErrorIllegalState, cudaErrorIllegalState, "the operation cannot be performed in the present state")      \
  E(500, hipErrorNotFound, cudaErrorSymbolNotFound, "named symbol not found")                                        \
  E(600, hipErrorNotReady, cudaErrorNotReady, "device not ready")                                                    \
  E(700, hipErrorIllegalAddress, cudaErrorIllegalAddress, "an illegal memory access was encountered")                \
  E(701, hipErrorLaunchOutOfResources, cudaErrorLaunchOutOfResources, "too many resources requested for launch")     \
  E(702, hipErrorLaunchTimeOut, cudaErrorLaunchTimeout, "the launch timed out and was terminated")                   \
  E(704, hipErrorPeerAccessAlreadyEnabled, cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled")      \
  E(705, hipErrorPeerAccessNotEnabled, cudaErrorPeerAccessNotEnabled, "peer access has not been enabled")            \
  E(708, hipErrorSetOnActiveProcess, cudaErrorSetOnActiveProcess, "cannot set while device is active")               \
  E(709, hipErrorContextIsDestroyed, cudaErrorContextIsDestroyed, "context is destroyed")                            \
  E(710, hipErrorAssert, cudaErrorAssert, "device-side assert triggered")                                            \
  E(712, hipErrorHostMemoryAlreadyRegistered, cudaErrorHostMemoryAlreadyRegistered,                                  \
    "part or all of the requested memory range is already mapped")                                                   \
  E(713, hipErrorHostMemoryNotRegistered, cudaErrorHostMemoryNotRegistered,                                          \
    "pointer does not correspond to a registered memory region")                                                     \
  E(716, simtErrorMisalignedAddress, cudaErrorMisalignedAddress, "misaligned address")                                \
  E(719, hipErrorLaunchFailure, cudaErrorLaunchFailure, "unspecified launch failure")                                \
  E(720, hipErrorCooperativeLaunchTooLarge, cudaErrorCooperativeLaunchTooLarge,                                      \
    "too many blocks in cooperative launch")                                                                         \
  E(800, simtErrorNotPermitted, cudaErrorNotPermitted, "operation not permitted")                                     \
  E(801, hipErrorNotSupported, cudaErrorNotSupported, "operation not supported")                                     \
  E(900, hipErrorStreamCaptureUnsupported, cudaErrorStreamCaptureUnsupported,                                        \
    "operation not permitted when stream is capturing")                                                              \
  E(901, hipErrorStreamCaptureInvalidated, cudaErrorStreamCaptureInvalidated,                                        \
    "operation failed due to a previous error during capture")                                                       \
  E(902, hipErrorStreamCaptureMerge, cudaErrorStreamCaptureMerge, "operation would merge separate captures")         \
  E(903, hipErrorStreamCaptureUnmatched, cudaErrorStreamCaptureUnmatched, "capture was not ended in this stream")    \
  E(904, hipErrorStreamCaptureUnjoined, cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work")        \
  E(905, hipErrorStreamCaptureIsolation, cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work")   \
  E(906, hipErrorStreamCaptureImplicit, cudaErrorStreamCaptureImplicit, "operation would depend on legacy stream")   \
  E(907, hipErrorCapturedEvent, cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a "    \
    "capturing stream")                                                                                              \
  E(908, hipErrorStreamCaptureWrongThread, cudaErrorStreamCaptureWrongThread, "capture is of another thread")        \
  E(910, hipErrorGraphExecUpdateFailure, cudaErrorGraphExecUpdateFailure, "the graph could not be updated")          \
  E(999, hipErrorUnknown, cudaErrorUnknown, "unknown error")                                                         \
  E(1052, hipErrorRuntimeMemory, hipErrorRuntimeMemory, "runtime memory call returned error")                        \
  E(1053, hipErrorRuntimeOther, hipErrorRuntimeOther, "runtime call other than memory returned error")

enum hipError_t {
#define SIMT_ERROR(number, hip, cuda, text) hip = number,
  SIMT_ERRORS(SIMT_ERROR)
#undef SIMT_ERROR
  hipErrorMemoryAllocation = hipErrorOutOfMemory,
  hipErrorInitializationError = hipErrorNotInitialized,
  hipErrorMapBufferObjectFailed = hipErrorMapFailed,
  hipErrorInvalidResourceHandle = hipErrorInvalidHandle,
};

// ----------------------------------------------------------------------------------------------------------- types

struct ihipStream_t;
struct ihipEvent_t;
struct ihipMemPoolHandle_t;
using hipStream_t = ihipStream_t*;
using hipEvent_t = ihipEvent_t*;
using hipMemPool_t = ihipMemPoolHandle_t*;
using hipStreamCallback_t = void (*)(hipStream_t stream, hipError_t status, void* data);
using hipHostFn_t = void (*)(void* data);
using hipDevice_t = int;

#ifdef SIMT_HIP
using hipDeviceptr_t = void*;
#else
using hipDeviceptr_t = unsigned long long;  // CUdeviceptr: programs do arithmetic with it
#endif

enum hipMemcpyKind {
  hipMemcpyHostToHost = 0,
  hipMemcpyHostToDevice = 1,
  hipMemcpyDeviceToHost = 2,
  hipMemcpyDeviceToDevice = 3,
  hipMemcpyDefault = 4,
  hipMemcpyDeviceToDeviceNoCU = 1024,
};

enum hipMemoryType {
  hipMemoryTypeUnregistered = 0,
  hipMemoryTypeHost = 1,
  hipMemoryTypeDevice = 2,
  hipMemoryTypeManaged = 3,
  hipMemoryTypeArray = 10,
  hipMemoryTypeUnified = 11,
};

struct hipPointerAttribute_t {
  union {
    hipMemoryType type;
    hipMemoryType memoryType;  // as in CUDA 10 and ROCm 5
  };
  int device;
  void* devicePointer;
  void* hostPointer;
  int isManaged;
  unsigned allocationFlags;
};

struct hipPos {
  std::size_t x, y, z;
};
struct hipExtent {
  std::size_t width, height, depth;
};
struct hipPitchedPtr {
  void* ptr;
  std::size_t pitch, xsize, ysize;
};

enum hipChannelFormatKind {
  hipChannelFormatKindSigned = 0,
  hipChannelFormatKindUnsigned = 1,
  hipChannelFormatKindFloat = 2,
  hipChannelFormatKindNone = 3,
};
struct hipChannelFormatDesc {
  int x, y, z, w;  // bits of each channel
  hipChannelFormatKind f;
};

/// An array: rows are contiguous, and layers follow each other. Textures read from it.
struct hipArray {
  void* data;
  hipChannelFormatDesc desc;
  std::size_t width, height, depth;  // in elements; height and depth are 0 if there is no such dimension
  std::size_t element;  // bytes of one
  unsigned flags;

  std::size_t rows() const { return (height ? height : 1) * (depth ? depth : 1); }
  std::size_t pitch() const { return width * element; }
  std::size_t bytes() const { return rows() * pitch(); }
};
using hipArray_t = hipArray*;
using hipArray_const_t = const hipArray*;

struct hipMemcpy3DParms {
  hipArray_t srcArray;
  hipPos srcPos;
  hipPitchedPtr srcPtr;
  hipArray_t dstArray;
  hipPos dstPos;
  hipPitchedPtr dstPtr;
  hipExtent extent;
  hipMemcpyKind kind;
};
struct hipMemcpy3DPeerParms {
  hipArray_t srcArray;
  hipPos srcPos;
  hipPitchedPtr srcPtr;
  int srcDevice;
  hipArray_t dstArray;
  hipPos dstPos;
  hipPitchedPtr dstPtr;
  int dstDevice;
  hipExtent extent;
};

enum hipMemoryAdvise {
  hipMemAdviseSetReadMostly = 1,
  hipMemAdviseUnsetReadMostly = 2,
  hipMemAdviseSetPreferredLocation = 3,
  hipMemAdviseUnsetPreferredLocation = 4,
  hipMemAdviseSetAccessedBy = 5,
  hipMemAdviseUnsetAccessedBy = 6,
  hipMemAdviseSetCoarseGrain = 100,
  hipMemAdviseUnsetCoarseGrain = 101,
};

enum hipMemLocationType {
  hipMemLocationTypeInvalid = 0,
  hipMemLocationTypeDevice = 1,
  hipMemLocationTypeHost = 2,
  hipMemLocationTypeHostNuma = 3,
};
struct hipMemLocation {
  hipMemLocationType type;
  int id;
};
enum hipMemAllocationType { hipMemAllocationTypeInvalid = 0, hipMemAllocationTypePinned = 1 };
enum hipMemAllocationHandleType { hipMemHandleTypeNone = 0, hipMemHandleTypePosixFileDescriptor = 1 };
struct hipMemPoolProps {
  hipMemAllocationType allocType;
  hipMemAllocationHandleType handleTypes;
  hipMemLocation location;
  void* win32SecurityAttributes;
  std::size_t maxSize;
  unsigned char reserved[56];
};
enum hipMemPoolAttr {
  hipMemPoolReuseFollowEventDependencies = 1,
  hipMemPoolReuseAllowOpportunistic = 2,
  hipMemPoolReuseAllowInternalDependencies = 3,
  hipMemPoolAttrReleaseThreshold = 4,
  hipMemPoolAttrReservedMemCurrent = 5,
  hipMemPoolAttrReservedMemHigh = 6,
  hipMemPoolAttrUsedMemCurrent = 7,
  hipMemPoolAttrUsedMemHigh = 8,
};
enum hipMemAccessFlags {
  hipMemAccessFlagsProtNone = 0,
  hipMemAccessFlagsProtRead = 1,
  hipMemAccessFlagsProtReadWrite = 3,
};
struct hipMemAccessDesc {
  hipMemLocation location;
  hipMemAccessFlags flags;
};

enum hipLimit_t {
  hipLimitStackSize = 0,
  hipLimitPrintfFifoSize = 1,
  hipLimitMallocHeapSize = 2,
  // Only CUDA has these.
  simtLimitDevRuntimeSyncDepth = 3,
  simtLimitDevRuntimePendingLaunchCount = 4,
  simtLimitMaxL2FetchGranularity = 5,
  simtLimitPersistingL2CacheSize = 6,
};

enum hipFuncCache_t {
  hipFuncCachePreferNone,
  hipFuncCachePreferShared,
  hipFuncCachePreferL1,
  hipFuncCachePreferEqual,
};
enum hipSharedMemConfig {
  hipSharedMemBankSizeDefault,
  hipSharedMemBankSizeFourByte,
  hipSharedMemBankSizeEightByte,
};
enum hipFuncAttribute {
  hipFuncAttributeMaxDynamicSharedMemorySize = 8,
  hipFuncAttributePreferredSharedMemoryCarveout = 9,
  hipFuncAttributeMax,
  simtFuncAttributeNonPortableClusterSizeAllowed = 14,  // CUDA alone
};
struct hipFuncAttributes {
  int binaryVersion;
  int cacheModeCA;
  std::size_t constSizeBytes;
  std::size_t localSizeBytes;
  int maxDynamicSharedSizeBytes;
  int maxThreadsPerBlock;
  int numRegs;
  int preferredShmemCarveout;
  int ptxVersion;
  std::size_t sharedSizeBytes;
};
enum simtSharedCarveout {
  simtSharedmemCarveoutDefault = -1,
  simtSharedmemCarveoutMaxL1 = 0,
  simtSharedmemCarveoutMaxShared = 100,
};

enum hipComputeMode {
  hipComputeModeDefault = 0,
  hipComputeModeExclusive = 1,
  hipComputeModeProhibited = 2,
  hipComputeModeExclusiveProcess = 3,
};

enum hipDeviceP2PAttr {
  hipDevP2PAttrPerformanceRank = 0,
  hipDevP2PAttrAccessSupported,
  hipDevP2PAttrNativeAtomicSupported,
  hipDevP2PAttrHipArrayAccessSupported,
};

enum hipAccessProperty {
  hipAccessPropertyNormal = 0,
  hipAccessPropertyStreaming = 1,
  hipAccessPropertyPersisting = 2,
};
struct hipAccessPolicyWindow {
  void* base_ptr;
  hipAccessProperty hitProp;
  float hitRatio;
  hipAccessProperty missProp;
  std::size_t num_bytes;
};
enum hipLaunchAttributeID {
  hipLaunchAttributeAccessPolicyWindow = 1,
  hipLaunchAttributeCooperative = 2,
  simtLaunchAttributeSynchronizationPolicy = 3,
  simtLaunchAttributeClusterDimension = 4,
  simtLaunchAttributeProgrammaticStreamSerialization = 6,
  hipLaunchAttributePriority = 8,
};
union hipLaunchAttributeValue {
  char pad[64];
  hipAccessPolicyWindow accessPolicyWindow;
  int syncPolicy;
  int cooperative;
  int priority;
  struct {
    unsigned x, y, z;
  } clusterDim;
  int programmaticStreamSerializationAllowed;
};
struct hipLaunchAttribute {
  hipLaunchAttributeID id;
  union {
    hipLaunchAttributeValue val;
    hipLaunchAttributeValue value;
  };
};
struct hipLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  std::size_t dynamicSmemBytes;
  hipStream_t stream;
  hipLaunchAttribute* attrs;
  unsigned numAttrs;
};
struct hipLaunchParams {
  void* func;
  dim3 gridDim;
  dim3 blockDim;
  void** args;
  std::size_t sharedMem;
  hipStream_t stream;
};

enum hipStreamCaptureStatus {
  hipStreamCaptureStatusNone = 0,
  hipStreamCaptureStatusActive,
  hipStreamCaptureStatusInvalidated,
};
enum hipStreamCaptureMode {
  hipStreamCaptureModeGlobal = 0,
  hipStreamCaptureModeThreadLocal,
  hipStreamCaptureModeRelaxed,
};

// Names of number types that the math libraries share, with CUDA's values, which are also HIP's.
enum hipDataType {
  HIP_R_32F = 0,
  HIP_R_64F = 1,
  HIP_R_16F = 2,
  HIP_R_8I = 3,
  HIP_C_32F = 4,
  HIP_C_64F = 5,
  HIP_C_16F = 6,
  HIP_C_8I = 7,
  HIP_R_8U = 8,
  HIP_C_8U = 9,
  HIP_R_32I = 10,
  HIP_C_32I = 11,
  HIP_R_32U = 12,
  HIP_C_32U = 13,
  HIP_R_16BF = 14,
  HIP_C_16BF = 15,
  HIP_R_4I = 16,
  HIP_C_4I = 17,
  HIP_R_4U = 18,
  HIP_C_4U = 19,
  HIP_R_16I = 20,
  HIP_C_16I = 21,
  HIP_R_16U = 22,
  HIP_C_16U = 23,
  HIP_R_64I = 24,
  HIP_C_64I = 25,
  HIP_R_64U = 26,
  HIP_C_64U = 27,
  HIP_R_8F_E4M3 = 28,
  HIP_R_8F_E5M2 = 29,
  HIP_R_8F_E4M3_FNUZ = 1000,
  HIP_R_8F_E5M2_FNUZ = 1001,
};
#ifdef SIMT_HIP
enum hipLibraryPropertyType { HIP_LIBRARY_MAJOR_VERSION, HIP_LIBRARY_MINOR_VERSION, HIP_LIBRARY_PATCH_LEVEL };
#else
enum libraryPropertyType { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL };
#endif

// ----------------------------------------------------------------------------------------------------------- flags

// Macros, as in HIP and CUDA: programs test some of them with #ifdef.
#define hipStreamDefault 0x00
#define hipStreamNonBlocking 0x01
#define hipEventDefault 0x0
#define hipEventBlockingSync 0x1
#define hipEventDisableTiming 0x2
#define hipEventInterprocess 0x4
#define hipEventRecordDefault 0x0
#define hipEventWaitDefault 0x0
#define hipEventDisableSystemFence 0x20000000
#define hipEventReleaseToDevice 0x40000000
#define hipEventReleaseToSystem 0x80000000
#define hipHostAllocDefault 0x0
#define hipHostAllocPortable 0x1
#define hipHostAllocMapped 0x2
#define hipHostAllocWriteCombined 0x4
#define hipHostMallocDefault 0x0
#define hipHostMallocPortable 0x1
#define hipHostMallocMapped 0x2
#define hipHostMallocWriteCombined 0x4
#define hipHostMallocNumaUser 0x20000000
#define hipHostMallocCoherent 0x40000000
#define hipHostMallocNonCoherent 0x80000000
#define hipMemAttachGlobal 0x01
#define hipMemAttachHost 0x02
#define hipMemAttachSingle 0x04
#define hipDeviceMallocDefault 0x0
#define hipDeviceMallocFinegrained 0x1
#define hipMallocSignalMemory 0x2
#define hipDeviceMallocUncached 0x3
#define hipHostRegisterDefault 0x0
#define hipHostRegisterPortable 0x1
#define hipHostRegisterMapped 0x2
#define hipHostRegisterIoMemory 0x4
#define hipHostRegisterReadOnly 0x08
#define hipDeviceScheduleAuto 0x0
#define hipDeviceScheduleSpin 0x1
#define hipDeviceScheduleYield 0x2
#define hipDeviceScheduleBlockingSync 0x4
#define hipDeviceScheduleMask 0x7
#define hipDeviceMapHost 0x8
#define hipDeviceLmemResizeToMax 0x10
#define hipArrayDefault 0x00
#define hipArrayLayered 0x01
#define hipArraySurfaceLoadStore 0x02
#define hipArrayCubemap 0x04
#define hipArrayTextureGather 0x08
#define hipOccupancyDefault 0x00
#define hipOccupancyDisableCachingOverride 0x01
#define hipCooperativeLaunchMultiDeviceNoPreSync 0x01
#define hipCooperativeLaunchMultiDeviceNoPostSync 0x02
#define hipCpuDeviceId (-1)
#define hipInvalidDeviceId (-2)
#define hipStreamLegacy (reinterpret_cast<hipStream_t>(1))
#define hipStreamPerThread (reinterpret_cast<hipStream_t>(2))

#endif
