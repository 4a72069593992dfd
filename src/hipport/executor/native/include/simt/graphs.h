// SPDX-License-Identifier: Apache-2.0
// simt/graphs.h: graphs, recorded from streams or built node by node. Work is done in an order that the dependencies
// allow; recorded work in the order of the calls.
//
// Memory that is allocated while a stream records is allocated at once, and stays.
#ifndef SIMT_GRAPHS_H
#define SIMT_GRAPHS_H

#include <vector>

#include "launch_api.h"
#include "memory_api.h"

struct ihipGraph;
struct hipGraphNode;
struct hipGraphExec;
using hipGraph_t = ihipGraph*;
using hipGraphNode_t = hipGraphNode*;
using hipGraphExec_t = hipGraphExec*;

enum hipGraphNodeType {
  hipGraphNodeTypeKernel = 0,
  hipGraphNodeTypeMemcpy = 1,
  hipGraphNodeTypeMemset = 2,
  hipGraphNodeTypeHost = 3,
  hipGraphNodeTypeGraph = 4,
  hipGraphNodeTypeEmpty = 5,
  hipGraphNodeTypeWaitEvent = 6,
  hipGraphNodeTypeEventRecord = 7,
  hipGraphNodeTypeMemAlloc = 10,
  hipGraphNodeTypeMemFree = 11,
};
enum hipGraphInstantiateFlags {
  hipGraphInstantiateFlagAutoFreeOnLaunch = 1,
  hipGraphInstantiateFlagUpload = 2,
  hipGraphInstantiateFlagDeviceLaunch = 4,
  hipGraphInstantiateFlagUseNodePriority = 8,
};
enum hipGraphExecUpdateResult {
  hipGraphExecUpdateSuccess = 0,
  hipGraphExecUpdateError = 1,
  hipGraphExecUpdateErrorTopologyChanged = 2,
  hipGraphExecUpdateErrorNodeTypeChanged = 3,
};
#ifdef SIMT_HIP
struct hipKernelNodeParams {
  dim3 blockDim;
  void** extra;
  void* func;
  dim3 gridDim;
  void** kernelParams;
  unsigned sharedMemBytes;
};
struct hipMemsetParams {
  void* dst;
  unsigned elementSize;
  std::size_t height, pitch;
  unsigned value;
  std::size_t width;
};
#else
struct hipKernelNodeParams {
  void* func;
  dim3 gridDim, blockDim;
  unsigned sharedMemBytes;
  void** kernelParams;
  void** extra;
};
struct hipMemsetParams {
  void* dst;
  std::size_t pitch;
  unsigned value, elementSize;
  std::size_t width, height;
};
struct simtGraphExecUpdateResultInfo {
  hipGraphExecUpdateResult result;
  hipGraphNode_t errorNode, errorFromNode;
};
#endif
struct hipMemAllocNodeParams {
  hipMemPoolProps poolProps;
  const hipMemAccessDesc* accessDescs;
  std::size_t accessDescCount;
  std::size_t bytesize;
  void* dptr;
};
enum hipGraphMemAttributeType {
  hipGraphMemAttrUsedMemCurrent = 0,
  hipGraphMemAttrUsedMemHigh = 1,
  hipGraphMemAttrReservedMemCurrent = 2,
  hipGraphMemAttrReservedMemHigh = 3,
};
using hipKernelNodeAttrID = hipLaunchAttributeID;
using hipKernelNodeAttrValue = hipLaunchAttributeValue;
constexpr hipLaunchAttributeID hipKernelNodeAttributeAccessPolicyWindow = hipLaunchAttributeAccessPolicyWindow,
                               hipKernelNodeAttributeCooperative = hipLaunchAttributeCooperative,
                               hipKernelNodeAttributePriority = hipLaunchAttributePriority;
enum hipUserObjectFlags { hipUserObjectNoDestructorSync = 1 };
enum hipUserObjectRetainFlags { hipGraphUserObjectMove = 1 };
struct hipUserObject;
using hipUserObject_t = hipUserObject*;

namespace simt {
namespace graphs {

// Stored in the runtime (runtime/graphs.cpp), which owns all work.
SIMT_EXPORT ihipGraph* make();
SIMT_EXPORT void destroy(ihipGraph*);
SIMT_EXPORT ihipGraph* copy(const ihipGraph*);
SIMT_EXPORT hipGraphNode* add(ihipGraph*, NodeKind, Work*, hipGraphNode* const* after, std::size_t count);
/// Give a node the work of the only node of `from`, which is destroyed.
SIMT_EXPORT hipGraphNode* adopt(ihipGraph*, ihipGraph* from, hipGraphNode* const* after, std::size_t count);
/// False if that would create a cycle.
SIMT_EXPORT bool depend(ihipGraph*, hipGraphNode* node, hipGraphNode* on);
SIMT_EXPORT bool depend_no_more(ihipGraph*, hipGraphNode* node, const hipGraphNode* on);
/// The nodes on which a node depends (`before`), or those that depend on it; as `nodes`.
SIMT_EXPORT std::size_t neighbours(const ihipGraph*, const hipGraphNode*, hipGraphNode** to, std::size_t most, bool before);
SIMT_EXPORT ihipGraph* of(const hipGraphNode*);
SIMT_EXPORT void remove(hipGraphNode*);
SIMT_EXPORT bool has(const ihipGraph*, const hipGraphNode*);
SIMT_EXPORT NodeKind kind(const hipGraphNode*);
/// Write as many nodes as fit; returns how many there are.
SIMT_EXPORT std::size_t nodes(const ihipGraph*, hipGraphNode** to, std::size_t most, bool roots);

/// The object of a node: its event, or its memory.
SIMT_EXPORT void* about(const hipGraphNode*);
SIMT_EXPORT void set_about(hipGraphNode*, void*);
/// Make a node that allocates existing memory, which then belongs to the graph and to those instantiated from it.
SIMT_EXPORT hipGraphNode* add_allocation(ihipGraph*, void* memory, hipGraphNode* const* after, std::size_t count);
/// Null if no node allocates it.
SIMT_EXPORT hipGraphNode* add_release(ihipGraph*, void* memory, hipGraphNode* const* after, std::size_t count);
SIMT_EXPORT std::size_t size_of_memory(const hipGraphNode*);
/// Bytes that graphs have allocated and not freed, and bytes reserved for them; the maxima of both.
struct MemoryOfGraphs {
  unsigned long long used, most_used, reserved, most_reserved;
};
SIMT_EXPORT MemoryOfGraphs& memory_of_graphs();
/// The parameters of a node's work for the API (Work::description).
SIMT_EXPORT const void* description(const hipGraphNode*);
/// A kernel node's attribute, zero if it was not set.
SIMT_EXPORT hipLaunchAttributeValue& attribute(hipGraphNode*, int which);
SIMT_EXPORT void copy_attributes(const hipGraphNode* from, hipGraphNode* to);

/// An object of the program, destroyed with its last reference: the program's, or a graph's.
SIMT_EXPORT hipUserObject* make_object(void* data, hipHostFn_t destroy, unsigned references);
SIMT_EXPORT void retain(hipUserObject*, unsigned count);
/// False if there are not that many.
SIMT_EXPORT bool release(hipUserObject*, unsigned count);
SIMT_EXPORT void retain(ihipGraph*, hipUserObject*, unsigned count);
SIMT_EXPORT bool release(ihipGraph*, hipUserObject*, unsigned count);

SIMT_EXPORT hipGraphExec* instantiate(ihipGraph*, bool frees = false);
/// Whether memory that the graph allocates, and does not free, is still allocated before it is launched again.
SIMT_EXPORT bool has_memory(hipGraphExec*);
SIMT_EXPORT void destroy(hipGraphExec*);
SIMT_EXPORT void run(hipGraphExec*);
/// False if the graph's topology differs from that of the instantiated one.
SIMT_EXPORT bool update(hipGraphExec*, ihipGraph*);
/// Make the node do the work of the only node of `from`, in the graph or only in an instance.
SIMT_EXPORT void replace(hipGraphNode*, ihipGraph* from);
SIMT_EXPORT bool replace(hipGraphExec*, hipGraphNode*, ihipGraph* from);
/// Whether the node runs when the graph is launched; null if the graph has no such node.
SIMT_EXPORT bool* enabled(hipGraphExec*, const hipGraphNode*);

/// False if the stream records already.
SIMT_EXPORT bool begin(const void* stream, hipStreamCaptureMode);
/// Whether something was rejected, so that the recording would be incomplete.
SIMT_EXPORT bool is_broken(const void* stream);
/// Null if the stream did not begin it.
SIMT_EXPORT ihipGraph* end(const void* stream);

/// The work of a call with `stream`, as a graph of one node.
template <typename Ask>
ihipGraph* recorded(Ask ask) {
  static thread_local char stream_of_its_own;
  begin(&stream_of_its_own, hipStreamCaptureModeRelaxed);
  const hipError_t error = ask(reinterpret_cast<hipStream_t>(&stream_of_its_own));
  ihipGraph* const made = end(&stream_of_its_own);
  if (error == hipSuccess) return made;
  destroy(made);
  return nullptr;
}
inline ihipGraph* recorded(const hipKernelNodeParams* p, Place place) {
  if (p == nullptr || p->func == nullptr || (p->kernelParams == nullptr && p->extra != nullptr)) return nullptr;
  const host::Untyped untyped = host::known_kernel(p->func);
  if (untyped == nullptr) {
    fault("unknown-kernel", place,
          "the kernel was cast to a pointer without its type, so the executor cannot know its parameters");
  }
  return recorded([&](hipStream_t stream) {
    const Launch how =
        host::launch_of(p->gridDim, p->blockDim, p->sharedMemBytes, stream, "the kernel of a graph's node", place);
    return host::launched(untyped(how, p->func, p->kernelParams));
  });
}
inline ihipGraph* recorded(const hipMemsetParams* p, Place place) {
  if (p == nullptr) return nullptr;
  return recorded([&](hipStream_t stream) {
    return host::asked(stream, NodeKind::set, [how = *p, place] {
      const host::Box box{how.dst, how.pitch, 0};
      const char* const name = SIMT_CALLED("GraphAddMemsetNode");
      switch (how.elementSize) {
        case 1: return host::fill(name, box, static_cast<unsigned char>(how.value), how.width, how.height, 1, place);
        case 2: return host::fill(name, box, static_cast<unsigned short>(how.value), how.width, how.height, 1, place);
        case 4: return host::fill(name, box, how.value, how.width, how.height, 1, place);
        default: return host::result(hipErrorInvalidValue);
      }
    }, *p);
  });
}
inline ihipGraph* recorded(const hipHostNodeParams* p, Place) {
  if (p == nullptr || p->fn == nullptr) return nullptr;
  return recorded([&](hipStream_t stream) {
    return host::asked(stream, NodeKind::host, [how = *p] {
      how.fn(how.userData);
      return hipSuccess;
    }, *p);
  });
}
inline ihipGraph* recorded(const hipMemcpy3DParms* p, Place place) {
  return recorded([&](hipStream_t stream) { return hipMemcpy3DAsync(p, stream, place.file, place.line); });
}

inline bool exists(ihipGraph* graph) { return host::has_handle(graph, host::HandleKind::graph); }
inline bool exists(hipGraphExec* graph) { return host::has_handle(graph, host::HandleKind::executable); }
inline hipError_t known(hipGraph_t graph) { return host::result(exists(graph) ? hipSuccess : hipErrorInvalidValue); }

inline hipError_t add_recorded(hipGraphNode_t* node, hipGraph_t graph, ihipGraph* one, const hipGraphNode_t* after,
                               std::size_t count) {
  if (node == nullptr || one == nullptr || !exists(graph)) return host::result(hipErrorInvalidValue);
  *node = adopt(graph, one, after, count);
  return hipSuccess;
}

}  // namespace graphs
}  // namespace simt

// ------------------------------------------------------------------------------------------------------- recording

inline hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  if (const hipError_t error = simt::host::check(stream)) return error;
  if (stream == nullptr || stream == hipStreamLegacy) return simt::host::result(hipErrorStreamCaptureUnsupported);
  return simt::host::result(simt::graphs::begin(stream, mode) ? hipSuccess : hipErrorIllegalState);
}
inline hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  if (const hipError_t error = simt::host::check(stream)) return error;
  const bool broken = simt::graphs::is_broken(stream);
  *graph = simt::graphs::end(stream);
  if (*graph == nullptr) return simt::host::result(hipErrorIllegalState);
  if (broken) {
    simt::graphs::destroy(*graph);
    *graph = nullptr;
    return simt::host::result(hipErrorStreamCaptureInvalidated);
  }
  simt::host::add_handle(*graph, simt::host::HandleKind::graph);
  return hipSuccess;
}

// ---------------------------------------------------------------------------------------------------------- graphs

inline hipError_t hipGraphCreate(hipGraph_t* graph, unsigned) {
  if (graph == nullptr) return simt::host::result(hipErrorInvalidValue);
  *graph = simt::graphs::make();
  simt::host::add_handle(*graph, simt::host::HandleKind::graph);
  return hipSuccess;
}
inline hipError_t hipGraphDestroy(hipGraph_t graph) {
  if (!simt::host::remove_handle(graph, simt::host::HandleKind::graph)) return simt::host::result(hipErrorInvalidValue);
  simt::graphs::destroy(graph);
  return hipSuccess;
}
inline hipError_t hipGraphClone(hipGraph_t* copy, hipGraph_t graph) {
  if (const hipError_t error = simt::graphs::known(graph)) return error;
  *copy = simt::graphs::copy(graph);
  simt::host::add_handle(*copy, simt::host::HandleKind::graph);
  return hipSuccess;
}
inline hipError_t hipGraphAddKernelNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                        std::size_t count, const hipKernelNodeParams* how, SIMT_HERE) {
  return simt::graphs::add_recorded(node, graph, simt::graphs::recorded(how, SIMT_THERE), after, count);
}
inline hipError_t hipGraphAddMemsetNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                        std::size_t count, const hipMemsetParams* how, SIMT_HERE) {
  return simt::graphs::add_recorded(node, graph, simt::graphs::recorded(how, SIMT_THERE), after, count);
}
inline hipError_t hipGraphAddHostNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                      std::size_t count, const hipHostNodeParams* how, SIMT_HERE) {
  return simt::graphs::add_recorded(node, graph, simt::graphs::recorded(how, SIMT_THERE), after, count);
}
inline hipError_t hipGraphAddMemcpyNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                        std::size_t count, const hipMemcpy3DParms* how, SIMT_HERE) {
  return simt::graphs::add_recorded(node, graph, simt::graphs::recorded(how, SIMT_THERE), after, count);
}
inline hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                          std::size_t count, void* to, const void* from, std::size_t size,
                                          hipMemcpyKind kind, SIMT_HERE) {
  ihipGraph* const one = simt::graphs::recorded([&](hipStream_t stream) {
    return hipMemcpyAsync(to, from, size, kind, stream, simt_file, simt_line);
  });
  return simt::graphs::add_recorded(node, graph, one, after, count);
}
template <typename T>
hipError_t hipGraphAddMemcpyNodeToSymbol(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                         std::size_t count, T&& symbol, const void* from, std::size_t size,
                                         std::size_t offset, hipMemcpyKind kind, SIMT_HERE) {
  ihipGraph* const one = simt::graphs::recorded([&](hipStream_t stream) {
    return hipMemcpyToSymbolAsync(std::forward<T>(symbol), from, size, offset, kind, stream, simt_file, simt_line);
  });
  return simt::graphs::add_recorded(node, graph, one, after, count);
}
template <typename T>
hipError_t hipGraphAddMemcpyNodeFromSymbol(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                           std::size_t count, void* to, T&& symbol, std::size_t size,
                                           std::size_t offset, hipMemcpyKind kind, SIMT_HERE) {
  ihipGraph* const one = simt::graphs::recorded([&](hipStream_t stream) {
    return hipMemcpyFromSymbolAsync(to, std::forward<T>(symbol), size, offset, kind, stream, simt_file, simt_line);
  });
  return simt::graphs::add_recorded(node, graph, one, after, count);
}

namespace simt {
namespace graphs {
inline ihipGraph* recorded(hipEvent_t event, NodeKind kind) {
  if (!host::has_handle(event, host::HandleKind::event)) return nullptr;
  return recorded([&](hipStream_t stream) {
    return host::asked(stream, kind, [=] { return kind == NodeKind::event ? hipEventRecord(event) : hipSuccess; });
  });
}
inline hipError_t add_event(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after, std::size_t count,
                            hipEvent_t event, NodeKind kind) {
  const hipError_t error = add_recorded(node, graph, recorded(event, kind), after, count);
  if (error == hipSuccess) set_about(*node, event);
  return error;
}
inline hipError_t event_of(hipGraphNode_t node, hipEvent_t* event, NodeKind of) {
  if (node == nullptr || event == nullptr || kind(node) != of) return host::result(hipErrorInvalidValue);
  *event = static_cast<hipEvent_t>(about(node));
  return hipSuccess;
}
inline hipError_t set_event(hipGraphNode_t node, hipEvent_t event, NodeKind of) {
  ihipGraph* const one = node == nullptr || kind(node) != of ? nullptr : recorded(event, of);
  if (one == nullptr) return host::result(hipErrorInvalidValue);
  replace(node, one);
  set_about(node, event);
  return hipSuccess;
}
}  // namespace graphs
}  // namespace simt

inline hipError_t hipGraphAddEventRecordNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                             std::size_t count, hipEvent_t event) {
  return simt::graphs::add_event(node, graph, after, count, event, simt::NodeKind::event);
}
inline hipError_t hipGraphAddEventWaitNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                           std::size_t count, hipEvent_t event) {
  return simt::graphs::add_event(node, graph, after, count, event, simt::NodeKind::wait);
}
inline hipError_t hipGraphEventRecordNodeGetEvent(hipGraphNode_t node, hipEvent_t* event) {
  return simt::graphs::event_of(node, event, simt::NodeKind::event);
}
inline hipError_t hipGraphEventWaitNodeGetEvent(hipGraphNode_t node, hipEvent_t* event) {
  return simt::graphs::event_of(node, event, simt::NodeKind::wait);
}
inline hipError_t hipGraphEventRecordNodeSetEvent(hipGraphNode_t node, hipEvent_t event) {
  return simt::graphs::set_event(node, event, simt::NodeKind::event);
}
inline hipError_t hipGraphEventWaitNodeSetEvent(hipGraphNode_t node, hipEvent_t event) {
  return simt::graphs::set_event(node, event, simt::NodeKind::wait);
}

// Memory that a graph allocates has its address from the beginning, and is valid from its node to the one that frees
// it, or until the program frees it.
inline hipError_t hipGraphAddMemAllocNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                          std::size_t count, hipMemAllocNodeParams* how, SIMT_HERE) {
  if (node == nullptr || how == nullptr || how->bytesize == 0) return simt::host::result(hipErrorInvalidValue);
  if (const hipError_t error = simt::graphs::known(graph)) return error;
  if (const hipError_t error = simt::host::allocate_into(&how->dptr, how->bytesize, simt::Memory::device, SIMT_THERE)) {
    return error;
  }
  *node = simt::graphs::add_allocation(graph, how->dptr, after, count);
  return hipSuccess;
}
inline hipError_t hipGraphAddMemFreeNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                         std::size_t count, void* memory) {
  if (node == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (const hipError_t error = simt::graphs::known(graph)) return error;
  hipGraphNode_t const added = simt::graphs::add_release(graph, memory, after, count);
  if (added == nullptr) return simt::host::result(hipErrorInvalidValue);
  *node = added;
  return hipSuccess;
}
inline hipError_t hipGraphMemAllocNodeGetParams(hipGraphNode_t node, hipMemAllocNodeParams* how) {
  if (node == nullptr || how == nullptr || simt::graphs::kind(node) != simt::NodeKind::allocation) {
    return simt::host::result(hipErrorInvalidValue);
  }
  *how = {};
  how->poolProps.allocType = hipMemAllocationTypePinned;
  how->poolProps.location.type = hipMemLocationTypeDevice;
  how->bytesize = simt::graphs::size_of_memory(node);
  how->dptr = simt::graphs::about(node);
  return hipSuccess;
}
inline hipError_t hipGraphMemFreeNodeGetParams(hipGraphNode_t node, void* memory) {
  if (node == nullptr || memory == nullptr || simt::graphs::kind(node) != simt::NodeKind::release) {
    return simt::host::result(hipErrorInvalidValue);
  }
  *static_cast<void**>(memory) = simt::graphs::about(node);
  return hipSuccess;
}
/// Memory that is not allocated now is released.
inline hipError_t hipDeviceGraphMemTrim(int device) {
  if (const hipError_t error = simt::host::check_device(device)) return error;
  auto& memory = simt::graphs::memory_of_graphs();
  memory.reserved = memory.used;
  return hipSuccess;
}
// In requested bytes; a device reserves whole pages.
inline hipError_t hipDeviceGetGraphMemAttribute(int device, hipGraphMemAttributeType which, void* value) {
  if (value == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (const hipError_t error = simt::host::check_device(device)) return error;
  const auto& memory = simt::graphs::memory_of_graphs();
  auto& given = *static_cast<unsigned long long*>(value);
  switch (which) {
    case hipGraphMemAttrUsedMemCurrent: given = memory.used; return hipSuccess;
    case hipGraphMemAttrUsedMemHigh: given = memory.most_used; return hipSuccess;
    case hipGraphMemAttrReservedMemCurrent: given = memory.reserved; return hipSuccess;
    case hipGraphMemAttrReservedMemHigh: given = memory.most_reserved; return hipSuccess;
  }
  return simt::host::result(hipErrorInvalidValue);
}
/// The maxima can be reset to zero.
inline hipError_t hipDeviceSetGraphMemAttribute(int device, hipGraphMemAttributeType which, void* value) {
  const bool is_most = which == hipGraphMemAttrUsedMemHigh || which == hipGraphMemAttrReservedMemHigh;
  if (value == nullptr || !is_most || *static_cast<unsigned long long*>(value) != 0) {
    return simt::host::result(hipErrorInvalidValue);
  }
  if (const hipError_t error = simt::host::check_device(device)) return error;
  auto& memory = simt::graphs::memory_of_graphs();
  if (which == hipGraphMemAttrUsedMemHigh) memory.most_used = memory.used;
  if (which == hipGraphMemAttrReservedMemHigh) memory.most_reserved = memory.reserved;
  return hipSuccess;
}

inline hipError_t hipUserObjectCreate(hipUserObject_t* object, void* data, hipHostFn_t destroy, unsigned references,
                                      unsigned flags) {
  if (object == nullptr || destroy == nullptr || references == 0 || flags != hipUserObjectNoDestructorSync) {
    return simt::host::result(hipErrorInvalidValue);
  }
  *object = simt::graphs::make_object(data, destroy, references);
  return hipSuccess;
}
inline hipError_t hipUserObjectRetain(hipUserObject_t object, unsigned count = 1) {
  if (!simt::host::has_handle(object, simt::host::HandleKind::object) || count == 0) {
    return simt::host::result(hipErrorInvalidValue);
  }
  simt::graphs::retain(object, count);
  return hipSuccess;
}
inline hipError_t hipUserObjectRelease(hipUserObject_t object, unsigned count = 1) {
  const bool there = simt::host::has_handle(object, simt::host::HandleKind::object) && count != 0;
  return simt::host::result(there && simt::graphs::release(object, count) ? hipSuccess : hipErrorInvalidValue);
}
inline hipError_t hipGraphRetainUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count = 1,
                                           unsigned flags = 0) {
  if (const hipError_t error = simt::graphs::known(graph)) return error;
  if (!simt::host::has_handle(object, simt::host::HandleKind::object) || count == 0) {
    return simt::host::result(hipErrorInvalidValue);
  }
  simt::graphs::retain(graph, object, count);
  return flags == hipGraphUserObjectMove ? hipUserObjectRelease(object, count) : hipSuccess;
}
inline hipError_t hipGraphReleaseUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count = 1) {
  if (const hipError_t error = simt::graphs::known(graph)) return error;
  const bool there = simt::host::has_handle(object, simt::host::HandleKind::object) && count != 0;
  return simt::host::result(there && simt::graphs::release(graph, object, count) ? hipSuccess : hipErrorInvalidValue);
}

inline hipError_t hipGraphAddEmptyNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                       std::size_t count) {
  if (const hipError_t error = simt::graphs::known(graph)) return error;
  *node = simt::graphs::add(graph, simt::NodeKind::empty, nullptr, after, count);
  return hipSuccess;
}
inline hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to,
                                          std::size_t count) {
  if (const hipError_t error = simt::graphs::known(graph)) return error;
  for (std::size_t i = 0; i < count; ++i) {
    if (!simt::graphs::depend(graph, to[i], from[i])) return simt::host::result(hipErrorInvalidValue);
  }
  return hipSuccess;
}
inline hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, std::size_t* count) {
  if (const hipError_t error = simt::graphs::known(graph)) return error;
  *count = simt::graphs::nodes(graph, nodes, nodes == nullptr ? 0 : *count, false);
  return hipSuccess;
}
inline hipError_t hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t* nodes, std::size_t* count) {
  if (const hipError_t error = simt::graphs::known(graph)) return error;
  *count = simt::graphs::nodes(graph, nodes, nodes == nullptr ? 0 : *count, true);
  return hipSuccess;
}
inline hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType* type) {
  if (node == nullptr || type == nullptr) return simt::host::result(hipErrorInvalidValue);
  *type = static_cast<hipGraphNodeType>(simt::graphs::kind(node));
  return hipSuccess;
}
inline hipError_t hipGraphRemoveDependencies(hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to,
                                             std::size_t count) {
  if (const hipError_t error = simt::graphs::known(graph)) return error;
  for (std::size_t i = 0; i < count; ++i) {
    if (!simt::graphs::depend_no_more(graph, to[i], from[i])) return simt::host::result(hipErrorInvalidValue);
  }
  return hipSuccess;
}
inline hipError_t hipGraphNodeGetDependencies(hipGraphNode_t node, hipGraphNode_t* to, std::size_t* count) {
  if (node == nullptr || count == nullptr) return simt::host::result(hipErrorInvalidValue);
  *count = simt::graphs::neighbours(simt::graphs::of(node), node, to, to == nullptr ? 0 : *count, true);
  return hipSuccess;
}
inline hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t node, hipGraphNode_t* to, std::size_t* count) {
  if (node == nullptr || count == nullptr) return simt::host::result(hipErrorInvalidValue);
  *count = simt::graphs::neighbours(simt::graphs::of(node), node, to, to == nullptr ? 0 : *count, false);
  return hipSuccess;
}
inline hipError_t hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t* from, hipGraphNode_t* to, std::size_t* count) {
  if (const hipError_t error = simt::graphs::known(graph)) return error;
  if (count == nullptr || (from == nullptr) != (to == nullptr)) return simt::host::result(hipErrorInvalidValue);
  std::vector<hipGraphNode_t> all(simt::graphs::nodes(graph, nullptr, 0, false));
  simt::graphs::nodes(graph, all.data(), all.size(), false);
  const std::size_t most = from == nullptr ? 0 : *count;
  *count = 0;
  for (const hipGraphNode_t node : all) {
    std::vector<hipGraphNode_t> before(all.size());
    before.resize(simt::graphs::neighbours(graph, node, before.data(), before.size(), true));
    for (const hipGraphNode_t each : before) {
      if (*count < most) from[*count] = each, to[*count] = node;
      ++*count;
    }
  }
  return hipSuccess;
}
inline hipError_t hipGraphDestroyNode(hipGraphNode_t node) {
  if (node == nullptr) return simt::host::result(hipErrorInvalidValue);
  simt::graphs::remove(node);
  return hipSuccess;
}
namespace simt {
namespace graphs {
inline hipError_t replaced(hipGraphNode_t node, ihipGraph* one) {
  if (node == nullptr || one == nullptr) return host::result(hipErrorInvalidValue);
  replace(node, one);
  return hipSuccess;
}
}  // namespace graphs
}  // namespace simt
namespace simt {
namespace graphs {
/// The parameters of a node; ends the run for a node without such parameters.
template <typename Parameters>
hipError_t told(hipGraphNode_t node, NodeKind of, Parameters* how, Place place) {
  if (node == nullptr || how == nullptr || kind(node) != of) return host::result(hipErrorInvalidValue);
  const void* const kept = description(node);
  if (kept == nullptr) {
    fault("unsupported", place,
          "the parameters of a node that a stream recorded from another call");
  }
  *how = *static_cast<const Parameters*>(kept);
  return hipSuccess;
}
}  // namespace graphs
}  // namespace simt
inline hipError_t hipGraphMemsetNodeGetParams(hipGraphNode_t node, hipMemsetParams* how, SIMT_HERE) {
  return simt::graphs::told(node, simt::NodeKind::set, how, SIMT_THERE);
}
inline hipError_t hipGraphHostNodeGetParams(hipGraphNode_t node, hipHostNodeParams* how, SIMT_HERE) {
  return simt::graphs::told(node, simt::NodeKind::host, how, SIMT_THERE);
}
inline hipError_t hipGraphMemcpyNodeGetParams(hipGraphNode_t node, hipMemcpy3DParms* how, SIMT_HERE) {
  return simt::graphs::told(node, simt::NodeKind::copy, how, SIMT_THERE);
}
/// The arguments belong to the node: they are valid as long as it exists and is not changed.
inline hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t node, hipKernelNodeParams* how, SIMT_HERE) {
  simt::KernelCall call;
  if (how == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (const hipError_t error = simt::graphs::told(node, simt::NodeKind::kernel, &call, SIMT_THERE)) return error;
  simt::host::remember_kernel(call.kernel, call.again);
  how->func = const_cast<void*>(call.kernel);
  how->gridDim = call.how.grid;
  how->blockDim = call.how.block;
  how->sharedMemBytes = static_cast<unsigned>(call.how.shared);
  how->kernelParams = call.arguments;
  how->extra = nullptr;
  return hipSuccess;
}
namespace simt {
namespace graphs {
inline bool is_kernel(hipGraphNode_t node) { return node != nullptr && kind(node) == NodeKind::kernel; }
/// Whether an attribute only affects when and where a kernel runs, which makes no difference here.
inline bool is_hint(hipLaunchAttributeID which) {
  return which == hipLaunchAttributeAccessPolicyWindow || which == hipLaunchAttributePriority;
}
}  // namespace graphs
}  // namespace simt
inline hipError_t hipGraphKernelNodeSetAttribute(hipGraphNode_t node, hipLaunchAttributeID which,
                                                 const hipLaunchAttributeValue* value, SIMT_HERE) {
  if (!simt::graphs::is_kernel(node) || value == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (which == hipLaunchAttributeCooperative) {
    simt::KernelCall call;
    if (const hipError_t error = simt::graphs::told(node, simt::NodeKind::kernel, &call, SIMT_THERE)) return error;
    if (call.how.cooperative == (value->cooperative != 0)) return hipSuccess;
    simt::fault("unsupported", SIMT_THERE, "a change of whether a graph's kernel is cooperative");
  }
  if (!simt::graphs::is_hint(which)) return simt::host::result(hipErrorInvalidValue);
  simt::graphs::attribute(node, which) = *value;
  return hipSuccess;
}
inline hipError_t hipGraphKernelNodeGetAttribute(hipGraphNode_t node, hipLaunchAttributeID which,
                                                 hipLaunchAttributeValue* value, SIMT_HERE) {
  if (!simt::graphs::is_kernel(node) || value == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (which == hipLaunchAttributeCooperative) {
    simt::KernelCall call;
    if (const hipError_t error = simt::graphs::told(node, simt::NodeKind::kernel, &call, SIMT_THERE)) return error;
    value->cooperative = call.how.cooperative;
    return hipSuccess;
  }
  if (!simt::graphs::is_hint(which)) return simt::host::result(hipErrorInvalidValue);
  *value = simt::graphs::attribute(node, which);
  return hipSuccess;
}
inline hipError_t hipGraphKernelNodeCopyAttributes(hipGraphNode_t from, hipGraphNode_t to) {
  if (!simt::graphs::is_kernel(from) || !simt::graphs::is_kernel(to)) return simt::host::result(hipErrorInvalidValue);
  simt::graphs::copy_attributes(from, to);
  return hipSuccess;
}
inline hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t node, const hipKernelNodeParams* how, SIMT_HERE) {
  return simt::graphs::replaced(node, simt::graphs::recorded(how, SIMT_THERE));
}
inline hipError_t hipGraphMemsetNodeSetParams(hipGraphNode_t node, const hipMemsetParams* how, SIMT_HERE) {
  return simt::graphs::replaced(node, simt::graphs::recorded(how, SIMT_THERE));
}
inline hipError_t hipGraphHostNodeSetParams(hipGraphNode_t node, const hipHostNodeParams* how, SIMT_HERE) {
  return simt::graphs::replaced(node, simt::graphs::recorded(how, SIMT_THERE));
}
inline hipError_t hipGraphMemcpyNodeSetParams(hipGraphNode_t node, const hipMemcpy3DParms* how, SIMT_HERE) {
  return simt::graphs::replaced(node, simt::graphs::recorded(how, SIMT_THERE));
}
inline hipError_t hipGraphMemcpyNodeSetParams1D(hipGraphNode_t node, void* to, const void* from, std::size_t size,
                                                hipMemcpyKind kind, SIMT_HERE) {
  return simt::graphs::replaced(node, simt::graphs::recorded([&](hipStream_t stream) {
    return hipMemcpyAsync(to, from, size, kind, stream, simt_file, simt_line);
  }));
}

// ------------------------------------------------------------------------------------------------ instantiated graphs

inline hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* made, hipGraph_t graph, unsigned long long flags = 0) {
  if (const hipError_t error = simt::graphs::known(graph)) return error;
  *made = simt::graphs::instantiate(graph, (flags & hipGraphInstantiateFlagAutoFreeOnLaunch) != 0);
  simt::host::add_handle(*made, simt::host::HandleKind::executable);
  return hipSuccess;
}
inline hipError_t hipGraphInstantiate(hipGraphExec_t* made, hipGraph_t graph, unsigned long long flags = 0) {
  return hipGraphInstantiateWithFlags(made, graph, flags);
}
// As in CUDA 11 and HIP.
inline hipError_t hipGraphInstantiate(hipGraphExec_t* made, hipGraph_t graph, hipGraphNode_t* bad, char*, std::size_t) {
  if (bad != nullptr) *bad = nullptr;
  return hipGraphInstantiateWithFlags(made, graph);
}
inline hipError_t hipGraphExecDestroy(hipGraphExec_t graph) {
  if (!simt::host::remove_handle(graph, simt::host::HandleKind::executable)) {
    return simt::host::result(hipErrorInvalidValue);
  }
  simt::graphs::destroy(graph);
  return hipSuccess;
}
inline hipError_t hipGraphUpload(hipGraphExec_t graph, hipStream_t stream) {
  if (const hipError_t error = simt::host::check(stream)) return error;
  return simt::host::result(simt::graphs::exists(graph) ? hipSuccess : hipErrorInvalidValue);
}
inline hipError_t hipGraphLaunch(hipGraphExec_t graph, hipStream_t stream) {
  if (const hipError_t error = hipGraphUpload(graph, stream)) return error;
  return simt::host::asked(stream, simt::NodeKind::graph, [=] {
    if (simt::graphs::has_memory(graph)) return simt::host::result(hipErrorInvalidValue);
    simt::graphs::run(graph);
    return hipSuccess;
  });
}
inline hipError_t hipGraphAddChildGraphNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                            std::size_t count, hipGraph_t child) {
  if (const hipError_t error = simt::graphs::known(child)) return error;
  // The child is copied, and lives as long as the process.
  hipGraphExec_t const copy = simt::graphs::instantiate(child);
  ihipGraph* const one = simt::graphs::recorded([&](hipStream_t stream) {
    return simt::host::asked(stream, simt::NodeKind::graph, [=] {
      simt::graphs::run(copy);
      return hipSuccess;
    });
  });
  return simt::graphs::add_recorded(node, graph, one, after, count);
}
inline hipError_t hipGraphExecUpdate(hipGraphExec_t made, hipGraph_t graph, hipGraphNode_t* bad,
                                     hipGraphExecUpdateResult* result) {
  if (const hipError_t error = simt::graphs::known(graph)) return error;
  const bool good = simt::graphs::update(made, graph);
  if (bad != nullptr) *bad = nullptr;
  if (result != nullptr) *result = good ? hipGraphExecUpdateSuccess : hipGraphExecUpdateErrorTopologyChanged;
  return simt::host::result(good ? hipSuccess : hipErrorGraphExecUpdateFailure);
}
#ifndef SIMT_HIP
// As in CUDA 12.
inline hipError_t hipGraphExecUpdate(hipGraphExec_t made, hipGraph_t graph, simtGraphExecUpdateResultInfo* info) {
  if (info != nullptr) info->errorNode = info->errorFromNode = nullptr;
  return hipGraphExecUpdate(made, graph, nullptr, info == nullptr ? nullptr : &info->result);
}
#endif
namespace simt {
namespace graphs {
inline hipError_t replaced(hipGraphExec_t made, hipGraphNode_t node, ihipGraph* one) {
  if (!exists(made) || one == nullptr) return host::result(hipErrorInvalidValue);
  return host::result(replace(made, node, one) ? hipSuccess : hipErrorInvalidValue);
}
}  // namespace graphs
}  // namespace simt
inline hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t made, hipGraphNode_t node,
                                                  const hipKernelNodeParams* how, SIMT_HERE) {
  return simt::graphs::replaced(made, node, simt::graphs::recorded(how, SIMT_THERE));
}
inline hipError_t hipGraphExecMemsetNodeSetParams(hipGraphExec_t made, hipGraphNode_t node, const hipMemsetParams* how,
                                                  SIMT_HERE) {
  return simt::graphs::replaced(made, node, simt::graphs::recorded(how, SIMT_THERE));
}
inline hipError_t hipGraphExecHostNodeSetParams(hipGraphExec_t made, hipGraphNode_t node, const hipHostNodeParams* how,
                                                SIMT_HERE) {
  return simt::graphs::replaced(made, node, simt::graphs::recorded(how, SIMT_THERE));
}
inline hipError_t hipGraphExecMemcpyNodeSetParams(hipGraphExec_t made, hipGraphNode_t node, const hipMemcpy3DParms* how,
                                                  SIMT_HERE) {
  return simt::graphs::replaced(made, node, simt::graphs::recorded(how, SIMT_THERE));
}
inline hipError_t hipGraphNodeSetEnabled(hipGraphExec_t made, hipGraphNode_t node, unsigned is_enabled) {
  bool* const enabled = simt::graphs::exists(made) ? simt::graphs::enabled(made, node) : nullptr;
  if (enabled == nullptr) return simt::host::result(hipErrorInvalidValue);
  *enabled = is_enabled != 0;
  return hipSuccess;
}
inline hipError_t hipGraphNodeGetEnabled(hipGraphExec_t made, hipGraphNode_t node, unsigned* is_enabled) {
  const bool* const enabled = simt::graphs::exists(made) ? simt::graphs::enabled(made, node) : nullptr;
  if (enabled == nullptr || is_enabled == nullptr) return simt::host::result(hipErrorInvalidValue);
  *is_enabled = *enabled;
  return hipSuccess;
}
inline hipError_t hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t made, hipGraphNode_t node, void* to,
                                                    const void* from, std::size_t size, hipMemcpyKind kind, SIMT_HERE) {
  return simt::graphs::replaced(made, node, simt::graphs::recorded([&](hipStream_t stream) {
    return hipMemcpyAsync(to, from, size, kind, stream, simt_file, simt_line);
  }));
}

#endif
