// SPDX-License-Identifier: Apache-2.0
// simt/refused.h: functions that programs use and the executor lacks. The compiler warns about a call, and executing it
// ends the run: parts of a program that are not run may contain such calls.
#ifndef SIMT_REFUSED_H
#define SIMT_REFUSED_H

#include "driver_api.h"

struct hipIpcMemHandle_t {
  char reserved[64];
};
struct hipIpcEventHandle_t {
  char reserved[64];
};
#define hipIpcMemLazyEnablePeerAccess 0x01
struct hipMipmappedArray;
using hipMipmappedArray_t = hipMipmappedArray*;

namespace simt {
namespace host {
/// The compiler's warning has named the place: a variadic function cannot take it as a default argument.
[[noreturn]] inline void refuse(const char* name, const char* what) {
  fault("unsupported", Place{name, 0}, "%s: the executor has no %s", name, what);
}
}  // namespace host
}  // namespace simt

#ifdef SIMT_HIP
#define SIMT_REFUSED_NAME(hip, cuda) #hip
#else
#define SIMT_REFUSED_NAME(hip, cuda) #cuda
#endif

/// Declare a function that ends the run; `what` completes "the executor has no".
#define SIMT_REFUSE(hip, cuda, what)                                                  \
  template <typename... Arguments>                                                    \
  [[deprecated("the executor has no " what ": calling this ends the run")]]           \
  hipError_t hip(Arguments&&...) {                                                    \
    simt::host::refuse(SIMT_REFUSED_NAME(hip, cuda), what);                           \
  }

SIMT_REFUSE(hipStreamBeginCaptureToGraph, cudaStreamBeginCaptureToGraph, "capture into an existing graph")
SIMT_REFUSE(hipStreamGetCaptureInfo_v2, cudaStreamGetCaptureInfo_v2, "query of the dependencies of a capturing stream")
SIMT_REFUSE(hipStreamUpdateCaptureDependencies, cudaStreamUpdateCaptureDependencies,
            "changes of the dependencies of a capturing stream")
SIMT_REFUSE(hipGraphChildGraphNodeGetGraph, cudaGraphChildGraphNodeGetGraph, "access to the graph in a node, which keeps a copy")
SIMT_REFUSE(hipGraphExecChildGraphNodeSetParams, cudaGraphExecChildGraphNodeSetParams,
            "other graph for an existing node")
SIMT_REFUSE(hipGraphExecEventRecordNodeSetEvent, cudaGraphExecEventRecordNodeSetEvent,
            "other event for an existing node")
SIMT_REFUSE(hipGraphNodeFindInClone, cudaGraphNodeFindInClone, "mapping from a graph's node to a copy's")
SIMT_REFUSE(hipGraphAddNode, cudaGraphAddNode, "generic nodes of a graph")
SIMT_REFUSE(hipGraphDebugDotPrint, cudaGraphDebugDotPrint, "drawings of graphs")
SIMT_REFUSE(hipMemRangeGetAttribute, cudaMemRangeGetAttribute, "query of memory advice")
SIMT_REFUSE(hipMemRangeGetAttributes, cudaMemRangeGetAttributes, "query of memory advice")
SIMT_REFUSE(hipMemPoolExportToShareableHandle, cudaMemPoolExportToShareableHandle, "memory shared by processes")
SIMT_REFUSE(hipMemPoolImportFromShareableHandle, cudaMemPoolImportFromShareableHandle, "memory shared by processes")
SIMT_REFUSE(hipIpcGetMemHandle, cudaIpcGetMemHandle, "memory shared by processes")
SIMT_REFUSE(hipIpcOpenMemHandle, cudaIpcOpenMemHandle, "memory shared by processes")
SIMT_REFUSE(hipIpcCloseMemHandle, cudaIpcCloseMemHandle, "memory shared by processes")
SIMT_REFUSE(hipIpcGetEventHandle, cudaIpcGetEventHandle, "events shared by processes")
SIMT_REFUSE(hipIpcOpenEventHandle, cudaIpcOpenEventHandle, "events shared by processes")
SIMT_REFUSE(hipLaunchCooperativeKernelMultiDevice, cudaLaunchCooperativeKernelMultiDevice, "second device")
SIMT_REFUSE(hipMallocMipmappedArray, cudaMallocMipmappedArray, "mipmaps")
SIMT_REFUSE(hipFreeMipmappedArray, cudaFreeMipmappedArray, "mipmaps")
SIMT_REFUSE(hipGetMipmappedArrayLevel, cudaGetMipmappedArrayLevel, "mipmaps")

// The driver's, whose errors have their own type in CUDA.
#ifdef SIMT_HIP
#define SIMT_REFUSE_DRIVER(hip, cuda, what) SIMT_REFUSE(hip, cuda, what)
#else
#define SIMT_REFUSE_DRIVER(hip, cuda, what)                                 \
  template <typename... Arguments>                                          \
  [[deprecated("the executor has no " what ": calling this ends the run")]] \
  CUresult cuda(Arguments&&...) {                                           \
    simt::host::refuse(#cuda, what);                                        \
  }
#endif

SIMT_REFUSE_DRIVER(hipModuleGetTexRef, cuModuleGetTexRef, "textures of modules")
#define SIMT_WORDS "stream memory operations"
SIMT_REFUSE_DRIVER(hipStreamWriteValue32, cuStreamWriteValue32, SIMT_WORDS)
SIMT_REFUSE_DRIVER(hipStreamWriteValue64, cuStreamWriteValue64, SIMT_WORDS)
SIMT_REFUSE_DRIVER(hipStreamWaitValue32, cuStreamWaitValue32, SIMT_WORDS)
SIMT_REFUSE_DRIVER(hipStreamWaitValue64, cuStreamWaitValue64, SIMT_WORDS)
SIMT_REFUSE_DRIVER(hipStreamBatchMemOp, cuStreamBatchMemOp, SIMT_WORDS)
#undef SIMT_WORDS
SIMT_REFUSE_DRIVER(hipMemcpyParam2D, cuMemcpy2D, "copies by a descriptor in the driver API")
SIMT_REFUSE_DRIVER(hipMemcpyParam2DAsync, cuMemcpy2DAsync, "copies by a descriptor in the driver API")
SIMT_REFUSE_DRIVER(hipDrvMemcpy2DUnaligned, cuMemcpy2DUnaligned, "copies by a descriptor in the driver API")
SIMT_REFUSE_DRIVER(hipDrvMemcpy3D, cuMemcpy3D, "copies by a descriptor in the driver API")
SIMT_REFUSE_DRIVER(hipArrayCreate, cuArrayCreate, "arrays of the driver API")
SIMT_REFUSE_DRIVER(hipMemAddressReserve, cuMemAddressReserve, "virtual memory management")
SIMT_REFUSE_DRIVER(hipMemCreate, cuMemCreate, "virtual memory management")
SIMT_REFUSE_DRIVER(hipMemMap, cuMemMap, "virtual memory management")
SIMT_REFUSE_DRIVER(hipMemSetAccess, cuMemSetAccess, "virtual memory management")

#endif
