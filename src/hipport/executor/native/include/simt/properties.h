// SPDX-License-Identifier: Apache-2.0
// simt/properties.h: the executor's one device, its properties, attributes and limits.
//
// The numbers are those of a device that runs the code of an A100 (CUDA) or an MI300 or RX 7900 (HIP), as far as the
// executor enforces them: threads of a block, lanes, shared memory. It is small, with 8 multiprocessors, because
// programs derive the size of their grids from it.
#ifndef SIMT_PROPERTIES_H
#define SIMT_PROPERTIES_H

#include <cstdio>
#include <cstring>

#include <cstdlib>

#include "host.h"
#include "versions.h"

struct hipUUID {
  char bytes[16];
};
using hipUUID_t = hipUUID;

struct hipDeviceArch_t {
  unsigned hasGlobalInt32Atomics : 1;
  unsigned hasGlobalFloatAtomicExch : 1;
  unsigned hasSharedInt32Atomics : 1;
  unsigned hasSharedFloatAtomicExch : 1;
  unsigned hasFloatAtomicAdd : 1;
  unsigned hasGlobalInt64Atomics : 1;
  unsigned hasSharedInt64Atomics : 1;
  unsigned hasDoubles : 1;
  unsigned hasWarpVote : 1;
  unsigned hasWarpBallot : 1;
  unsigned hasWarpShuffle : 1;
  unsigned hasFunnelShift : 1;
  unsigned hasThreadFenceSystem : 1;
  unsigned hasSyncThreadsExt : 1;
  unsigned hasSurfaceFuncs : 1;
  unsigned has3dGrid : 1;
  unsigned hasDynamicParallelism : 1;
};

struct hipDeviceProp_t {
  char name[256];
  hipUUID uuid;
  char luid[8];
  unsigned luidDeviceNodeMask;
  std::size_t totalGlobalMem;
  std::size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  std::size_t memPitch;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int clockRate;
  std::size_t totalConstMem;
  int major;
  int minor;
  std::size_t textureAlignment;
  std::size_t texturePitchAlignment;
  int deviceOverlap;
  int multiProcessorCount;
  int kernelExecTimeoutEnabled;
  int integrated;
  int canMapHostMemory;
  int computeMode;
  int maxTexture1D;
  int maxTexture1DMipmap;
  int maxTexture1DLinear;
  int maxTexture2D[2];
  int maxTexture2DMipmap[2];
  int maxTexture2DLinear[3];
  int maxTexture2DGather[2];
  int maxTexture3D[3];
  int maxTexture3DAlt[3];
  int maxTextureCubemap;
  int maxTexture1DLayered[2];
  int maxTexture2DLayered[3];
  int maxTextureCubemapLayered[2];
  int maxSurface1D;
  int maxSurface2D[2];
  int maxSurface3D[3];
  int maxSurface1DLayered[2];
  int maxSurface2DLayered[3];
  int maxSurfaceCubemap;
  int maxSurfaceCubemapLayered[2];
  std::size_t surfaceAlignment;
  int concurrentKernels;
  int ECCEnabled;
  int pciBusID;
  int pciDeviceID;
  int pciDomainID;
  int tccDriver;
  int asyncEngineCount;
  int unifiedAddressing;
  int memoryClockRate;
  int memoryBusWidth;
  int l2CacheSize;
  int persistingL2CacheMaxSize;
  int maxThreadsPerMultiProcessor;
  int streamPrioritiesSupported;
  int globalL1CacheSupported;
  int localL1CacheSupported;
  std::size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor;
  int managedMemory;
  int isMultiGpuBoard;
  int multiGpuBoardGroupID;
  int hostNativeAtomicSupported;
  int singleToDoublePrecisionPerfRatio;
  int pageableMemoryAccess;
  int concurrentManagedAccess;
  int computePreemptionSupported;
  int canUseHostPointerForRegisteredMem;
  int cooperativeLaunch;
  int cooperativeMultiDeviceLaunch;
  std::size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables;
  int directManagedMemAccessFromHost;
  int maxBlocksPerMultiProcessor;
  int accessPolicyMaxWindowSize;
  std::size_t reservedSharedMemPerBlock;
  int hostRegisterSupported;
  int sparseHipArraySupported;
  int hostRegisterReadOnlySupported;
  int timelineSemaphoreInteropSupported;
  int memoryPoolsSupported;
  int gpuDirectRDMASupported;
  unsigned gpuDirectRDMAFlushWritesOptions;
  int gpuDirectRDMAWritesOrdering;
  unsigned memoryPoolSupportedHandleTypes;
  int deferredMappingHipArraySupported;
  int ipcEventSupported;
  int clusterLaunch;
  int unifiedFunctionPointers;
#ifdef SIMT_HIP  // properties that only HIP has
  char gcnArchName[256];
  std::size_t maxSharedMemoryPerMultiProcessor;
  int clockInstructionRate;
  hipDeviceArch_t arch;
  unsigned* hdpMemFlushCntl;
  unsigned* hdpRegFlushCntl;
  int cooperativeMultiDeviceUnmatchedFunc;
  int cooperativeMultiDeviceUnmatchedGridDim;
  int cooperativeMultiDeviceUnmatchedBlockDim;
  int cooperativeMultiDeviceUnmatchedSharedMem;
  int isLargeBar;
  int asicRevision;
#endif
};

namespace simt {
namespace host {

inline hipDeviceProp_t make_properties() {
  // Verification shows another device to the original, to find output that depends on the device.
  const bool hip = dialect == Dialect::hip || std::getenv("SIMT_OTHER_DEVICE") != nullptr;
  constexpr std::size_t KiB = 1024;
  hipDeviceProp_t p;
  std::memset(static_cast<void*>(&p), 0, sizeof(p));
  std::strcpy(p.name, "hipport CPU executor");
  std::memcpy(p.uuid.bytes, "hipport executor", sizeof(p.uuid.bytes));
  p.totalGlobalMem = device_memory();
  p.sharedMemPerBlock = (hip ? 64 : 48) * KiB;
  p.regsPerBlock = 65536;
  p.warpSize = wave_size();
  p.memPitch = 2147483647;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
  p.maxThreadsDim[2] = hip ? 1024 : 64;
  p.maxGridSize[0] = 2147483647;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.clockRate = 1000000;
  p.totalConstMem = 64 * KiB;
  p.textureAlignment = hip ? 256 : 512;
  p.texturePitchAlignment = hip ? 256 : 32;
  p.deviceOverlap = 1;
  p.multiProcessorCount = 8;
  p.canMapHostMemory = 1;
  p.computeMode = hipComputeModeDefault;
  constexpr int line = 16384, volume = 2048;
  p.maxTexture1D = p.maxTexture1DMipmap = p.maxSurface1D = line;
  p.maxTexture1DLinear = 1 << 27;
  for (int* two : {p.maxTexture2D, p.maxTexture2DMipmap, p.maxTexture2DGather, p.maxSurface2D}) two[0] = two[1] = line;
  for (int* three : {p.maxTexture3D, p.maxTexture3DAlt, p.maxSurface3D}) three[0] = three[1] = three[2] = volume;
  p.maxTexture2DLinear[0] = p.maxTexture2DLinear[1] = line;
  p.maxTexture2DLinear[2] = 1 << 21;
  p.maxTextureCubemap = p.maxSurfaceCubemap = line;
  for (int* layers : {p.maxTexture1DLayered, p.maxTextureCubemapLayered, p.maxSurface1DLayered,
                      p.maxSurfaceCubemapLayered}) {
    layers[0] = line;
    layers[1] = volume;
  }
  for (int* layers : {p.maxTexture2DLayered, p.maxSurface2DLayered}) {
    layers[0] = layers[1] = line;
    layers[2] = volume;
  }
  p.surfaceAlignment = 512;
  p.concurrentKernels = 1;
  p.asyncEngineCount = 2;
  p.unifiedAddressing = 1;
  p.memoryClockRate = 1000000;
  p.memoryBusWidth = 256;
  p.l2CacheSize = 4096 * KiB;
  p.maxThreadsPerMultiProcessor = 2048;
  p.streamPrioritiesSupported = 1;
  p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.sharedMemPerMultiprocessor = (hip ? 64 : 164) * KiB;
  p.regsPerMultiprocessor = 65536;
  p.managedMemory = 1;
  p.hostNativeAtomicSupported = 1;
  p.singleToDoublePrecisionPerfRatio = 2;
  p.concurrentManagedAccess = 1;
  p.canUseHostPointerForRegisteredMem = 1;
  p.cooperativeLaunch = 1;
  p.sharedMemPerBlockOptin = (hip ? 64 : 163) * KiB;
  p.directManagedMemAccessFromHost = 1;
  p.maxBlocksPerMultiProcessor = 32;
  p.reservedSharedMemPerBlock = hip ? 0 : KiB;
  p.hostRegisterSupported = 1;
  p.memoryPoolsSupported = 1;
  p.unifiedFunctionPointers = 1;
#ifdef SIMT_HIP
  const bool wide = wave_size() == 64;
  p.major = wide ? 9 : 11;
  p.minor = wide ? 4 : 0;
  std::strcpy(p.gcnArchName, wide ? "gfx942" : "gfx1100");
  p.maxSharedMemoryPerMultiProcessor = 64 * KiB;
  p.clockInstructionRate = 100000;
  hipDeviceArch_t& has = p.arch;
  has.hasGlobalInt32Atomics = has.hasGlobalFloatAtomicExch = has.hasSharedInt32Atomics = 1;
  has.hasSharedFloatAtomicExch = has.hasFloatAtomicAdd = has.hasGlobalInt64Atomics = has.hasSharedInt64Atomics = 1;
  has.hasDoubles = has.hasWarpVote = has.hasWarpBallot = has.hasWarpShuffle = 1;
  has.hasThreadFenceSystem = has.has3dGrid = 1;
#else
  p.major = hip ? 9 : 8;
  p.minor = hip ? 4 : 0;
  p.persistingL2CacheMaxSize = 3072 * 1024;
  p.accessPolicyMaxWindowSize = 1 << 27;
#endif
  return p;
}

inline const hipDeviceProp_t& properties() {
  static const hipDeviceProp_t all = make_properties();
  return all;
}

}  // namespace host
}  // namespace simt

/// Attributes: HIP's number (of ROCm 7.0), HIP's name, and its value as an expression of the properties `p`.
#define SIMT_ATTRIBUTES(A)                                                                               \
  A(0, EccEnabled, p.ECCEnabled)                                                                         \
  A(1, AccessPolicyMaxWindowSize, p.accessPolicyMaxWindowSize)                                           \
  A(2, AsyncEngineCount, p.asyncEngineCount)                                                             \
  A(3, CanMapHostMemory, p.canMapHostMemory)                                                             \
  A(4, CanUseHostPointerForRegisteredMem, p.canUseHostPointerForRegisteredMem)                           \
  A(5, ClockRate, p.clockRate)                                                                           \
  A(6, ComputeMode, p.computeMode)                                                                       \
  A(7, ComputePreemptionSupported, p.computePreemptionSupported)                                         \
  A(8, ConcurrentKernels, p.concurrentKernels)                                                           \
  A(9, ConcurrentManagedAccess, p.concurrentManagedAccess)                                               \
  A(10, CooperativeLaunch, p.cooperativeLaunch)                                                          \
  A(11, CooperativeMultiDeviceLaunch, p.cooperativeMultiDeviceLaunch)                                    \
  A(12, DeviceOverlap, p.deviceOverlap)                                                                  \
  A(13, DirectManagedMemAccessFromHost, p.directManagedMemAccessFromHost)                                \
  A(14, GlobalL1CacheSupported, p.globalL1CacheSupported)                                                \
  A(15, HostNativeAtomicSupported, p.hostNativeAtomicSupported)                                          \
  A(16, Integrated, p.integrated)                                                                        \
  A(17, IsMultiGpuBoard, p.isMultiGpuBoard)                                                              \
  A(18, KernelExecTimeout, p.kernelExecTimeoutEnabled)                                                   \
  A(19, L2CacheSize, p.l2CacheSize)                                                                      \
  A(20, LocalL1CacheSupported, p.localL1CacheSupported)                                                  \
  A(23, ComputeCapabilityMajor, p.major)                                                                 \
  A(24, ManagedMemory, p.managedMemory)                                                                  \
  A(25, MaxBlocksPerMultiProcessor, p.maxBlocksPerMultiProcessor)                                        \
  A(26, MaxBlockDimX, p.maxThreadsDim[0])                                                                \
  A(27, MaxBlockDimY, p.maxThreadsDim[1])                                                                \
  A(28, MaxBlockDimZ, p.maxThreadsDim[2])                                                                \
  A(29, MaxGridDimX, p.maxGridSize[0])                                                                   \
  A(30, MaxGridDimY, p.maxGridSize[1])                                                                   \
  A(31, MaxGridDimZ, p.maxGridSize[2])                                                                   \
  A(32, MaxSurface1D, p.maxSurface1D)                                                                    \
  A(33, MaxSurface1DLayered, p.maxSurface1DLayered[0])                                                   \
  A(34, MaxSurface2D, p.maxSurface2D[0])                                                                 \
  A(35, MaxSurface2DLayered, p.maxSurface2DLayered[0])                                                   \
  A(36, MaxSurface3D, p.maxSurface3D[0])                                                                 \
  A(37, MaxSurfaceCubemap, p.maxSurfaceCubemap)                                                          \
  A(38, MaxSurfaceCubemapLayered, p.maxSurfaceCubemapLayered[0])                                         \
  A(39, MaxTexture1DWidth, p.maxTexture1D)                                                               \
  A(40, MaxTexture1DLayered, p.maxTexture1DLayered[0])                                                   \
  A(41, MaxTexture1DLinear, p.maxTexture1DLinear)                                                        \
  A(42, MaxTexture1DMipmap, p.maxTexture1DMipmap)                                                        \
  A(43, MaxTexture2DWidth, p.maxTexture2D[0])                                                            \
  A(44, MaxTexture2DHeight, p.maxTexture2D[1])                                                           \
  A(45, MaxTexture2DGather, p.maxTexture2DGather[0])                                                     \
  A(46, MaxTexture2DLayered, p.maxTexture2DLayered[0])                                                   \
  A(47, MaxTexture2DLinear, p.maxTexture2DLinear[0])                                                     \
  A(48, MaxTexture2DMipmap, p.maxTexture2DMipmap[0])                                                     \
  A(49, MaxTexture3DWidth, p.maxTexture3D[0])                                                            \
  A(50, MaxTexture3DHeight, p.maxTexture3D[1])                                                           \
  A(51, MaxTexture3DDepth, p.maxTexture3D[2])                                                            \
  A(52, MaxTexture3DAlt, p.maxTexture3DAlt[0])                                                           \
  A(53, MaxTextureCubemap, p.maxTextureCubemap)                                                          \
  A(54, MaxTextureCubemapLayered, p.maxTextureCubemapLayered[0])                                         \
  A(56, MaxThreadsPerBlock, p.maxThreadsPerBlock)                                                        \
  A(57, MaxThreadsPerMultiProcessor, p.maxThreadsPerMultiProcessor)                                      \
  A(58, MaxPitch, p.memPitch)                                                                            \
  A(59, MemoryBusWidth, p.memoryBusWidth)                                                                \
  A(60, MemoryClockRate, p.memoryClockRate)                                                              \
  A(61, ComputeCapabilityMinor, p.minor)                                                                 \
  A(62, MultiGpuBoardGroupID, p.multiGpuBoardGroupID)                                                    \
  A(63, MultiprocessorCount, p.multiProcessorCount)                                                      \
  A(65, PageableMemoryAccess, p.pageableMemoryAccess)                                                    \
  A(66, PageableMemoryAccessUsesHostPageTables, p.pageableMemoryAccessUsesHostPageTables)                \
  A(67, PciBusId, p.pciBusID)                                                                            \
  A(68, PciDeviceId, p.pciDeviceID)                                                                      \
  A(69, PciDomainID, p.pciDomainID)                                                                      \
  A(70, PersistingL2CacheMaxSize, p.persistingL2CacheMaxSize)                                            \
  A(71, MaxRegistersPerBlock, p.regsPerBlock)                                                            \
  A(72, MaxRegistersPerMultiprocessor, p.regsPerMultiprocessor)                                          \
  A(73, ReservedSharedMemPerBlock, p.reservedSharedMemPerBlock)                                          \
  A(74, MaxSharedMemoryPerBlock, p.sharedMemPerBlock)                                                    \
  A(75, SharedMemPerBlockOptin, p.sharedMemPerBlockOptin)                                                \
  A(76, SharedMemPerMultiprocessor, p.sharedMemPerMultiprocessor)                                        \
  A(77, SingleToDoublePrecisionPerfRatio, p.singleToDoublePrecisionPerfRatio)                            \
  A(78, StreamPrioritiesSupported, p.streamPrioritiesSupported)                                          \
  A(79, SurfaceAlignment, p.surfaceAlignment)                                                            \
  A(80, TccDriver, p.tccDriver)                                                                          \
  A(81, TextureAlignment, p.textureAlignment)                                                            \
  A(82, TexturePitchAlignment, p.texturePitchAlignment)                                                  \
  A(83, TotalConstantMemory, p.totalConstMem)                                                            \
  A(84, TotalGlobalMem, p.totalGlobalMem > 2147483647 ? 2147483647 : p.totalGlobalMem)                   \
  A(85, UnifiedAddressing, p.unifiedAddressing)                                                          \
  A(87, WarpSize, p.warpSize)                                                                            \
  A(88, MemoryPoolsSupported, p.memoryPoolsSupported)                                                    \
  A(89, VirtualMemoryManagementSupported, 0)                                                             \
  A(90, HostRegisterSupported, p.hostRegisterSupported)                                                  \
  A(91, MemoryPoolSupportedHandleTypes, p.memoryPoolSupportedHandleTypes)                                \
  A(10000, ClockInstructionRate, p.clockRate / 10)                                                       \
  A(10002, MaxSharedMemoryPerMultiprocessor, p.sharedMemPerMultiprocessor)                               \
  A(10007, CooperativeMultiDeviceUnmatchedFunc, 0)                                                       \
  A(10008, CooperativeMultiDeviceUnmatchedGridDim, 0)                                                    \
  A(10009, CooperativeMultiDeviceUnmatchedBlockDim, 0)                                                   \
  A(10010, CooperativeMultiDeviceUnmatchedSharedMem, 0)                                                  \
  A(10011, IsLargeBar, 0)                                                                                \
  A(10012, AsicRevision, 0)                                                                              \
  A(10013, CanUseStreamWaitValue, 0)                                                                     \
  A(10014, ImageSupport, 1)                                                                              \
  A(10015, PhysicalMultiProcessorCount, p.multiProcessorCount)                                           \
  A(10016, FineGrainSupport, 0)                                                                          \
  A(10017, WallClockRate, p.clockRate / 10)                                                              \
  A(20001, ClusterLaunch, p.clusterLaunch)

// Only CUDA queries every extent separately.
#ifdef SIMT_HIP
#define SIMT_ATTRIBUTES_OF_CUDA(A)
#else
#define SIMT_ATTRIBUTES_OF_CUDA(A) \
  A(20002, MaxTexture1DLayeredLayers, p.maxTexture1DLayered[1]) \
  A(20003, MaxTexture2DLayeredHeight, p.maxTexture2DLayered[1]) \
  A(20004, MaxTexture2DLayeredLayers, p.maxTexture2DLayered[2]) \
  A(20005, MaxTexture2DLinearHeight, p.maxTexture2DLinear[1]) \
  A(20006, MaxTexture2DLinearPitch, p.maxTexture2DLinear[2]) \
  A(20007, MaxTexture2DGatherHeight, p.maxTexture2DGather[1]) \
  A(20008, MaxTexture2DMipmappedHeight, p.maxTexture2DMipmap[1]) \
  A(20009, MaxTexture3DHeightAlt, p.maxTexture3DAlt[1]) \
  A(20010, MaxTexture3DDepthAlt, p.maxTexture3DAlt[2]) \
  A(20011, MaxTextureCubemapLayeredLayers, p.maxTextureCubemapLayered[1]) \
  A(20012, MaxSurface2DHeight, p.maxSurface2D[1]) \
  A(20013, MaxSurface3DHeight, p.maxSurface3D[1]) \
  A(20014, MaxSurface3DDepth, p.maxSurface3D[2]) \
  A(20015, MaxSurface1DLayeredLayers, p.maxSurface1DLayered[1]) \
  A(20016, MaxSurface2DLayeredHeight, p.maxSurface2DLayered[1]) \
  A(20017, MaxSurface2DLayeredLayers, p.maxSurface2DLayered[2]) \
  A(20018, MaxSurfaceCubemapLayeredLayers, p.maxSurfaceCubemapLayered[1])
#endif

enum hipDeviceAttribute_t {
#define SIMT_ATTRIBUTE(number, name, value) hipDeviceAttribute##name = number,
  SIMT_ATTRIBUTES(SIMT_ATTRIBUTE)
  SIMT_ATTRIBUTES_OF_CUDA(SIMT_ATTRIBUTE)
#undef SIMT_ATTRIBUTE
};

inline hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  const hipDeviceProp_t& p = simt::host::properties();
  if (value == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (device != 0) return simt::host::result(hipErrorInvalidDevice);
  switch (attribute) {
#define SIMT_ATTRIBUTE(number, name, value_of)                           \
  case hipDeviceAttribute##name: *value = static_cast<int>(value_of); return hipSuccess;
    SIMT_ATTRIBUTES(SIMT_ATTRIBUTE)
  SIMT_ATTRIBUTES_OF_CUDA(SIMT_ATTRIBUTE)
#undef SIMT_ATTRIBUTE
  }
  return simt::host::result(hipErrorInvalidValue);
}

// --------------------------------------------------------------------------------------------------------- devices

namespace simt {
namespace host {

inline hipError_t check_device(int device) { return result(device == 0 ? hipSuccess : hipErrorInvalidDevice); }

}  // namespace host
}  // namespace simt

inline hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  if (properties == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (const hipError_t error = simt::host::check_device(device)) return error;
  *properties = simt::host::properties();
  return hipSuccess;
}
inline hipError_t hipGetDeviceCount(int* count) {
  if (count == nullptr) return simt::host::result(hipErrorInvalidValue);
  *count = 1;
  return hipSuccess;
}
inline hipError_t hipGetDevice(int* device) {
  if (device == nullptr) return simt::host::result(hipErrorInvalidValue);
  *device = 0;
  return hipSuccess;
}
inline hipError_t hipSetDevice(int device) { return simt::host::check_device(device); }
inline hipError_t simtInitDevice(int device, unsigned, unsigned) { return simt::host::check_device(device); }
inline hipError_t hipSetValidDevices(int* devices, int count) {
  for (int i = 0; i < count; ++i) {
    if (const hipError_t error = simt::host::check_device(devices[i])) return error;
  }
  return hipSuccess;
}
inline hipError_t hipChooseDevice(int* device, const hipDeviceProp_t*) { return hipGetDevice(device); }
inline hipError_t hipDeviceSynchronize() { return simt::host::may(simt::Unrecorded::wait); }
inline hipError_t hipDeviceReset() { return hipSuccess; }
inline hipError_t hipSetDeviceFlags(unsigned flags) {
  simt::host::settings.flags = flags;
  return hipSuccess;
}
inline hipError_t hipGetDeviceFlags(unsigned* flags) {
  if (flags == nullptr) return simt::host::result(hipErrorInvalidValue);
  *flags = simt::host::settings.flags;
  return hipSuccess;
}
inline hipError_t hipDeviceGetPCIBusId(char* text, int length, int device) {
  if (text == nullptr || length < 1) return simt::host::result(hipErrorInvalidValue);
  if (const hipError_t error = simt::host::check_device(device)) return error;
  std::snprintf(text, static_cast<std::size_t>(length), "0000:00:00.0");
  return hipSuccess;
}
inline hipError_t hipDeviceGetByPCIBusId(int* device, const char* text) {
  if (text == nullptr || std::strcmp(text, "0000:00:00.0") != 0) return simt::host::result(hipErrorInvalidDevice);
  return hipGetDevice(device);
}
inline hipError_t hipDriverGetVersion(int* version) {
  if (version == nullptr) return simt::host::result(hipErrorInvalidValue);
#ifdef SIMT_HIP
  *version = HIP_VERSION;
#else
  *version = CUDART_VERSION;
#endif
  return hipSuccess;
}
inline hipError_t hipRuntimeGetVersion(int* version) { return hipDriverGetVersion(version); }

inline hipError_t hipDeviceSetLimit(hipLimit_t limit, std::size_t value) {
  if (static_cast<unsigned>(limit) > 6) return simt::host::result(hipErrorUnsupportedLimit);
  simt::host::settings.limits[limit] = value;
  return hipSuccess;
}
inline hipError_t hipDeviceGetLimit(std::size_t* value, hipLimit_t limit) {
  if (value == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (static_cast<unsigned>(limit) > 6) return simt::host::result(hipErrorUnsupportedLimit);
  *value = simt::host::settings.limits[limit];
  return hipSuccess;
}
inline hipError_t hipDeviceSetCacheConfig(hipFuncCache_t config) {
  simt::host::settings.cache = config;
  return hipSuccess;
}
inline hipError_t hipDeviceGetCacheConfig(hipFuncCache_t* config) {
  if (config == nullptr) return simt::host::result(hipErrorInvalidValue);
  *config = simt::host::settings.cache;
  return hipSuccess;
}
inline hipError_t hipDeviceSetSharedMemConfig(hipSharedMemConfig config) {
  simt::host::settings.banks = config;
  return hipSuccess;
}
inline hipError_t hipDeviceGetSharedMemConfig(hipSharedMemConfig* config) {
  if (config == nullptr) return simt::host::result(hipErrorInvalidValue);
  *config = simt::host::settings.banks;
  return hipSuccess;
}

// ----------------------------------------------------------------------------------------------------------- peers

// There is one device, which is not a peer of itself.
inline hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  if (can == nullptr) return simt::host::result(hipErrorInvalidValue);
  *can = 0;
  if (const hipError_t error = simt::host::check_device(device)) return error;
  return simt::host::check_device(peer);
}
inline hipError_t hipDeviceEnablePeerAccess(int, unsigned) { return simt::host::result(hipErrorInvalidDevice); }
inline hipError_t hipDeviceDisablePeerAccess(int) { return simt::host::result(hipErrorInvalidDevice); }
inline hipError_t hipDeviceGetP2PAttribute(int*, hipDeviceP2PAttr, int, int) {
  return simt::host::result(hipErrorInvalidDevice);
}

// -------------------------------------------------------------------------------------------------------- profiler

inline hipError_t hipProfilerStart() { return hipSuccess; }
inline hipError_t hipProfilerStop() { return hipSuccess; }

#endif
