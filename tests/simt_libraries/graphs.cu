// SPDX-License-Identifier: Apache-2.0
// Graphs: recorded from streams, put together node by node, launched again, changed.
#include <functional>
#include <string>
#include "check.h"

__global__ void add(int* numbers, int by) { numbers[threadIdx.x] += by; }
template <typename T>
__global__ void scale(T* numbers, T by) { numbers[threadIdx.x] *= by; }
__constant__ int constant;
__global__ void set(int* numbers) { numbers[threadIdx.x] = constant; }
void count(void* data) { ++*static_cast<int*>(data); }

constexpr int n = 32;
constexpr auto good = GPU(Success);
int* numbers;
int host[n];
GPU(Stream_t) stream, other;

int first() {
  int got[n];
  GPU(Memcpy)(got, numbers, sizeof(got), GPU(MemcpyDeviceToHost));
  for (int i = 1; i < n; ++i) check(got[i] == got[0], "all numbers alike", i);
  return got[0];
}
void start_with(int value) {
  for (int& each : host) each = value;
  GPU(Memcpy)(numbers, host, sizeof(host), GPU(MemcpyHostToDevice));
}
GPU(GraphExec_t) made(GPU(Graph_t) graph) {
  GPU(GraphExec_t) executable;
  check(GPU(GraphInstantiate)(&executable, graph, nullptr, nullptr, 0) == good, "GraphInstantiate");
  return executable;
}

void recorded() {
  GPU(Event_t) event;
  GPU(EventCreate)(&event);
  start_with(5);
  int called = 0, seven = 7;
  GPU(StreamCaptureStatus) status;
  check(GPU(StreamBeginCapture)(stream, GPU(StreamCaptureModeGlobal)) == good, "StreamBeginCapture");
  check(GPU(StreamIsCapturing)(stream, &status) == good && status == GPU(StreamCaptureStatusActive), "IsCapturing");
  add<<<1, n, 0, stream>>>(numbers, 1);
  for (int i = 1; i < 3; ++i) scale<<<1, n, 0, stream>>>(numbers, i);  // each with the i of its time
  GPU(EventRecord)(event, stream);
  GPU(StreamWaitEvent)(other, event, 0);
  add<<<1, n, 0, other>>>(numbers, 100);
  check(GPU(LaunchHostFunc)(other, count, &called) == good, "LaunchHostFunc");
  GPU(EventRecord)(event, other);
  GPU(StreamWaitEvent)(stream, event, 0);
  check(GPU(MemcpyAsync)(host, numbers, sizeof(host), GPU(MemcpyDeviceToHost), stream) == good, "MemcpyAsync");
  check(GPU(StreamSynchronize)(stream) != good, "a stream that records is not waited for");
  GPU(GetLastError)();
  GPU(Graph_t) graph;
  check(GPU(StreamEndCapture)(stream, &graph) == good, "StreamEndCapture");
  check(first() == 5 && called == 0, "nothing is done while streams record");
  std::size_t nodes = 0;
  check(GPU(GraphGetNodes)(graph, nullptr, &nodes) == good && nodes == 6, "GraphGetNodes");
  // A program that changes what a stream recorded: the first kernel adds 1, from now on 2, and is set back.
  GPU(GraphNode_t) all[6];
  GPU(KernelNodeParams) how = {};
  GPU(GraphGetNodes)(graph, all, &nodes);
  check(GPU(GraphKernelNodeGetParams)(all[0], &how) == good && how.func == (void*)add, "of a recorded kernel");
  check(*static_cast<int*>(how.kernelParams[1]) == 1 && how.blockDim.x == n, "its arguments");
  int two = 2, two_was = 1;
  void* changed[] = {how.kernelParams[0], &two};
  int* const kept = *static_cast<int**>(how.kernelParams[0]);
  how.kernelParams = changed;
  check(GPU(GraphKernelNodeSetParams)(all[0], &how) == good, "GraphKernelNodeSetParams");
  check(GPU(GraphKernelNodeGetParams)(all[0], &how) == good && *static_cast<int*>(how.kernelParams[1]) == 2, "changed");
  check(*static_cast<int**>(how.kernelParams[0]) == kept, "the other stayed");
  int* target = kept;
  void* before[] = {&target, &two_was};
  how.kernelParams = before;
  check(GPU(GraphKernelNodeSetParams)(all[0], &how) == good, "set back");
  GPU(HostNodeParams) calling = {};
  check(GPU(GraphHostNodeGetParams)(all[4], &calling) == good && calling.userData == &called, "of a recorded call");
  GPU(GraphExec_t) executable = made(graph);
  check(GPU(GraphLaunch)(executable, stream) == good, "GraphLaunch");
  check(first() == 112 && host[3] == 112 && called == 1, "launched", first());
  check(GPU(GraphDestroy)(graph) == good, "GraphDestroy");
  check(GPU(GraphLaunch)(executable, stream) == good, "GraphLaunch");
  check(first() == 326 && called == 2, "launched again", first());
  check(GPU(GraphExecDestroy)(executable) == good && GPU(GraphLaunch)(executable, stream) != good, "GraphExecDestroy");
  GPU(GetLastError)();
  // Streams do what they are asked for again.
  add<<<1, n, 0, other>>>(numbers, 1);
  check(first() == 327, "after recording");
  GPU(StreamBeginCapture)(stream, GPU(StreamCaptureModeThreadLocal));
  GPU(MemsetAsync)(numbers, 0, sizeof(host), stream);
  GPU(MemcpyToSymbolAsync)(constant, &seven, sizeof(int), 0, GPU(MemcpyHostToDevice), stream);
  set<<<1, n, 0, stream>>>(numbers);
  GPU(StreamEndCapture)(stream, &graph);
  check(first() == 327, "MemsetAsync is recorded");
  executable = made(graph);
  GPU(GraphLaunch)(executable, stream);
  check(first() == 7, "copies to symbols are recorded");
  GPU(GraphDestroy)(graph);
  GPU(EventDestroy)(event);
}

void put_together() {
  start_with(0);
  GPU(Graph_t) graph, clone, child;
  check(GPU(GraphCreate)(&graph, 0) == good, "GraphCreate");
  int by = 3, twice = 2;
  void* arguments[] = {&numbers, &by};
  GPU(KernelNodeParams) how = {};
  how.func = (void*)add;
  how.gridDim = dim3(1);
  how.blockDim = dim3(n);
  how.kernelParams = arguments;
  GPU(GraphNode_t) adds, scales, sets, calls, copies;
  check(GPU(GraphAddKernelNode)(&adds, graph, nullptr, 0, &how) == good, "GraphAddKernelNode");
  by = 1000;  // too late
  void* others[] = {&numbers, &twice};
  how.func = (void*)scale<int>;
  how.kernelParams = others;
  GPU(FuncAttributes) attributes;
  GPU(FuncGetAttributes)(&attributes, scale<int>);
  check(GPU(GraphAddKernelNode)(&scales, graph, &adds, 1, &how) == good, "GraphAddKernelNode");
  GPU(MemsetParams) zero = {};
  zero.dst = numbers;
  zero.elementSize = sizeof(int);
  zero.value = 10;
  zero.width = n;
  zero.height = 1;
  check(GPU(GraphAddMemsetNode)(&sets, graph, nullptr, 0, &zero) == good, "GraphAddMemsetNode");
  // Made last, it has to be done first.
  check(GPU(GraphAddDependencies)(graph, &sets, &adds, 1) == good, "GraphAddDependencies");
  check(GPU(GraphAddDependencies)(graph, &scales, &sets, 1) != good, "no circles");
  GPU(GetLastError)();
  int called = 0;
  GPU(HostNodeParams) calling = {};
  calling.fn = count;
  calling.userData = &called;
  check(GPU(GraphAddHostNode)(&calls, graph, &scales, 1, &calling) == good, "GraphAddHostNode");
  check(GPU(GraphAddMemcpyNode1D)(&copies, graph, &calls, 1, host, numbers, sizeof(host), GPU(MemcpyDeviceToHost)) == good,
        "GraphAddMemcpyNode1D");
  // What nodes tell of themselves.
  GPU(KernelNodeParams) told = {};
  check(GPU(GraphKernelNodeGetParams)(adds, &told) == good && told.func == (void*)add, "GraphKernelNodeGetParams");
  check(told.gridDim.x == 1 && told.blockDim.x == n && told.sharedMemBytes == 0, "how it is launched");
  check(*static_cast<int**>(told.kernelParams[0]) == numbers && *static_cast<int*>(told.kernelParams[1]) == 3, "with what");
  GPU(MemsetParams) told_set = {};
  check(GPU(GraphMemsetNodeGetParams)(sets, &told_set) == good && told_set.value == 10, "GraphMemsetNodeGetParams");
  check(told_set.dst == numbers && told_set.width == n && told_set.elementSize == 4, "what is set");
  GPU(HostNodeParams) told_call = {};
  check(GPU(GraphHostNodeGetParams)(calls, &told_call) == good && told_call.fn == count, "GraphHostNodeGetParams");
  check(told_call.userData == &called, "what is called with");
  check(GPU(GraphKernelNodeGetParams)(sets, &told) != good, "no kernel");
  check(GPU(GraphMemsetNodeGetParams)(adds, &told_set) != good, "no memset");
  GPU(KernelNodeAttrValue) priority = {}, asked = {};
  priority.priority = 3;
  check(GPU(GraphKernelNodeSetAttribute)(adds, GPU(KernelNodeAttributePriority), &priority) == good, "SetAttribute");
  check(GPU(GraphKernelNodeCopyAttributes)(adds, scales) == good, "GraphKernelNodeCopyAttributes");
  check(GPU(GraphKernelNodeGetAttribute)(scales, GPU(KernelNodeAttributePriority), &asked) == good, "GetAttribute");
  check(asked.priority == 3, "an attribute");
  check(GPU(GraphKernelNodeGetAttribute)(adds, GPU(KernelNodeAttributeCooperative), &asked) == good, "another");
  check(asked.cooperative == 0, "not cooperative");
  check(GPU(GraphKernelNodeSetAttribute)(sets, GPU(KernelNodeAttributePriority), &priority) != good, "of no kernel");
  GPU(GetLastError)();
  std::size_t roots = 0;
  check(GPU(GraphGetRootNodes)(graph, nullptr, &roots) == good && roots == 1, "GraphGetRootNodes");
  GPU(GraphNodeType) type;
  check(GPU(GraphNodeGetType)(sets, &type) == good && type == GPU(GraphNodeTypeMemset), "GraphNodeGetType");
  check(GPU(GraphClone)(&clone, graph) == good, "GraphClone");
  GPU(GraphExec_t) executable = made(graph), copy = made(clone);
  GPU(GraphLaunch)(executable, stream);
  check(first() == 26 && host[5] == 26 && called == 1, "launched", first());
  start_with(0);
  GPU(GraphLaunch)(copy, stream);
  check(first() == 26 && called == 2, "launched the clone");
  // What depends on what.
  GPU(GraphNode_t) from[8], to[8];
  std::size_t edges = 8, before = 8;
  check(GPU(GraphGetEdges)(graph, from, to, &edges) == good && edges == 4, "GraphGetEdges", edges);
  check(GPU(GraphNodeGetDependencies)(adds, from, &before) == good && before == 1 && from[0] == sets, "dependencies");
  check(GPU(GraphNodeGetDependentNodes)(sets, to, &before) == good && before == 1 && to[0] == adds, "dependent nodes");
  check(GPU(GraphRemoveDependencies)(graph, &calls, &copies, 1) == good, "GraphRemoveDependencies");
  check(GPU(GraphRemoveDependencies)(graph, &calls, &copies, 1) != good, "there is none any more");
  GPU(GetLastError)();
  check(GPU(GraphDestroyNode)(calls) == good, "GraphDestroyNode");
  check(GPU(GraphAddDependencies)(graph, &scales, &copies, 1) == good, "GraphAddDependencies");
  zero.value = 100;
  check(GPU(GraphMemsetNodeSetParams)(sets, &zero) == good, "GraphMemsetNodeSetParams");
  GPU(GraphExec_t) without = made(graph);
  unsigned enabled = 7;
  check(GPU(GraphNodeSetEnabled)(without, scales, 0) == good, "GraphNodeSetEnabled");
  check(GPU(GraphNodeGetEnabled)(without, scales, &enabled) == good && enabled == 0, "GraphNodeGetEnabled");
  GPU(GraphLaunch)(without, stream);
  check(first() == 103 && host[4] == 103 && called == 2, "changed, and without two nodes", first());
  zero.value = 10;
  GPU(GraphMemsetNodeSetParams)(sets, &zero);
  by = 5;
  how.func = (void*)add;
  how.kernelParams = arguments;
  check(GPU(GraphExecKernelNodeSetParams)(executable, adds, &how) == good, "GraphExecKernelNodeSetParams");
  GPU(GraphLaunch)(executable, stream);
  check(first() == 30, "a node was changed", first());
  GPU(GraphLaunch)(copy, stream);
  check(first() == 26, "another's was not");
  // A graph in a graph, which stays as it was.
  GPU(GraphNode_t) inside, after;
  GPU(GraphCreate)(&child, 0);
  check(GPU(GraphAddChildGraphNode)(&inside, child, nullptr, 0, graph) == good, "GraphAddChildGraphNode");
  GPU(GraphAddKernelNode)(&after, child, &inside, 1, &how);
  GPU(GraphDestroy)(graph);
  GPU(GraphExec_t) nested = made(child);
  GPU(GraphLaunch)(nested, stream);
  check(first() == 31, "nested", first());
}

// What would break a recording is refused, and breaks it.
void refused() {
  const auto name = [](GPU(Error_t) error) { return std::string(GPU(GetErrorName)(error)).substr(is_hip ? 3 : 4); };
  GPU(Stream_t) apart;
  GPU(StreamCreateWithFlags)(&apart, GPU(StreamNonBlocking));
  GPU(Event_t) event;
  GPU(EventCreate)(&event);
  int* made = nullptr;
  struct Case {
    const char* what;
    std::function<GPU(Error_t)()> call;
    const char* in_a_waiting_one;
    const char* in_one_apart;
    const char* relaxed;  // apart, in a thread that may do what is not safe
  };
  const Case cases[] = {
      {"Malloc", [&] { return GPU(Malloc)(&made, 4); }, "ErrorStreamCaptureUnsupported", "ErrorStreamCaptureUnsupported", "Success"},
      {"Free", [&] { return GPU(Free)(made); }, "ErrorStreamCaptureUnsupported", "ErrorStreamCaptureUnsupported", "Success"},
      {"Memcpy", [&] { return GPU(Memcpy)(host, numbers, 4, GPU(MemcpyDeviceToHost)); }, "ErrorStreamCaptureImplicit", "ErrorStreamCaptureUnsupported", "Success"},
      {"Memcpy2D", [&] { return GPU(Memcpy2D)(host, 4, numbers, 4, 4, 1, GPU(MemcpyDeviceToHost)); }, "ErrorStreamCaptureImplicit", "ErrorStreamCaptureUnsupported", "Success"},
      {"Memset", [&] { return GPU(Memset)(numbers, 0, 4); }, "ErrorStreamCaptureImplicit", "ErrorStreamCaptureUnsupported", "Success"},
      {"MemsetAsync", [&] { return GPU(MemsetAsync)(numbers, 0, 4, 0); }, "ErrorStreamCaptureImplicit", "Success", "Success"},
      {"launch", [&] { add<<<1, n>>>(numbers, 1); return GPU(GetLastError)(); }, "ErrorStreamCaptureImplicit", "Success", "Success"},
      {"DeviceSynchronize", [&] { return GPU(DeviceSynchronize)(); }, "ErrorStreamCaptureUnsupported", "ErrorStreamCaptureUnsupported", "ErrorStreamCaptureUnsupported"},
      {"another stream", [&] { return GPU(Memcpy2DAsync)(host, 4, numbers, 4, 4, 1, GPU(MemcpyDeviceToHost), other); }, "Success", "Success", "Success"},
      {"MallocAsync", [&] { return GPU(MallocAsync)(reinterpret_cast<void**>(&made), 4, other); }, "Success", "Success", "Success"},
  };
  for (const Case& each : cases) {
    for (int how = 0; how < 3; ++how) {
      GPU(Stream_t) of = how == 0 ? stream : apart;
      const std::string want = how == 0 ? each.in_a_waiting_one : how == 1 ? each.in_one_apart : each.relaxed;
      GPU(StreamCaptureMode) mode = GPU(StreamCaptureModeRelaxed);
      GPU(StreamBeginCapture)(of, how == 2 ? GPU(StreamCaptureModeThreadLocal) : GPU(StreamCaptureModeGlobal));
      if (how == 2) GPU(ThreadExchangeStreamCaptureMode)(&mode);
      const std::string got = name(each.call());
      if (how == 2) GPU(ThreadExchangeStreamCaptureMode)(&mode);
      check(got == want, each.what, how);
      GPU(Graph_t) graph = nullptr;
      const std::string ended = name(GPU(StreamEndCapture)(of, &graph));
      check(ended == (want == "Success" ? "Success" : "ErrorStreamCaptureInvalidated"), ended.c_str(), how);
      check((graph == nullptr) == (want != "Success"), "a broken recording gives no graph", how);
      GPU(GetLastError)();
    }
  }
  GPU(StreamBeginCapture)(apart, GPU(StreamCaptureModeGlobal));
  GPU(EventRecord)(event, apart);
  check(name(GPU(EventSynchronize)(event)) == "ErrorCapturedEvent", "an event of a recording");
  GPU(Graph_t) graph = nullptr;
  GPU(StreamEndCapture)(apart, &graph);
  check(GPU(Malloc)(&made, 4) == good && GPU(DeviceSynchronize)() == good, "afterwards");
  GPU(GetLastError)();
}

/// What the device tells of memory that graphs allocated.
unsigned long long of_graphs(GPU(GraphMemAttributeType) which) {
  unsigned long long bytes = ~0ull;
  check(GPU(DeviceGetGraphMemAttribute)(0, which, &bytes) == good, "DeviceGetGraphMemAttribute");
  return bytes;
}

/// Memory of a graph is there from the node that allocates it to what frees it.
void allocates(bool uses_freed) {
  GPU(Graph_t) graph;
  GPU(GraphCreate)(&graph, 0);
  GPU(MemAllocNodeParams) how = {}, told = {};
  how.bytesize = sizeof(host);
  how.poolProps.allocType = GPU(MemAllocationTypePinned);
  how.poolProps.location.type = GPU(MemLocationTypeDevice);
  GPU(GraphNode_t) allocation, first_copy, second_copy, release;
  check(GPU(GraphAddMemAllocNode)(&allocation, graph, nullptr, 0, &how) == good && how.dptr != nullptr, "MemAllocNode");
  GPU(GraphAddMemcpyNode1D)(&first_copy, graph, &allocation, 1, how.dptr, numbers, sizeof(host), GPU(MemcpyDeviceToDevice));
  GPU(GraphAddMemcpyNode1D)(&second_copy, graph, &first_copy, 1, host, how.dptr, sizeof(host), GPU(MemcpyDeviceToHost));
  check(GPU(GraphMemAllocNodeGetParams)(allocation, &told) == good && told.dptr == how.dptr, "MemAllocNodeGetParams");
  check(told.bytesize == sizeof(host), "the size of what is allocated");
  GPU(GraphNodeType) type;
  GPU(GraphNodeGetType)(allocation, &type);
  check(type == GPU(GraphNodeTypeMemAlloc), "the type of a node that allocates");
  GPU(GraphExec_t) keeps = made(graph);
  start_with(21);
  host[0] = 0;
  check(of_graphs(GPU(GraphMemAttrUsedMemCurrent)) == 0 && of_graphs(GPU(GraphMemAttrUsedMemHigh)) == 0, "none used");
  check(GPU(GraphLaunch)(keeps, stream) == good && host[0] == 21, "a graph that allocates");
  check(of_graphs(GPU(GraphMemAttrUsedMemCurrent)) >= sizeof(host), "what a graph allocated is used");
  check(of_graphs(GPU(GraphMemAttrReservedMemCurrent)) >= sizeof(host), "and reserved");
  check(GPU(GraphLaunch)(keeps, stream) == GPU(ErrorInvalidValue), "what it allocated is still there");
  GPU(GetLastError)();
  check(GPU(FreeAsync)(how.dptr, stream) == good && GPU(FreeAsync)(how.dptr, stream) != good, "freed once");
  GPU(GetLastError)();
  check(GPU(GraphLaunch)(keeps, stream) == good && host[0] == 21, "it allocates again");
  check(GPU(Free)(how.dptr) == good, "freed by the program");
  unsigned long long nothing = 0, one = 1;
  check(of_graphs(GPU(GraphMemAttrUsedMemCurrent)) == 0, "what the program frees is used no more");
  check(of_graphs(GPU(GraphMemAttrUsedMemHigh)) >= sizeof(host), "the most that was used");
  check(of_graphs(GPU(GraphMemAttrReservedMemCurrent)) >= sizeof(host), "and is still reserved");
  check(GPU(DeviceGraphMemTrim)(0) == good, "DeviceGraphMemTrim");
  check(of_graphs(GPU(GraphMemAttrReservedMemCurrent)) == 0, "until it is trimmed");
  check(of_graphs(GPU(GraphMemAttrReservedMemHigh)) >= sizeof(host), "the most that was reserved");
  check(GPU(DeviceSetGraphMemAttribute)(0, GPU(GraphMemAttrUsedMemHigh), &nothing) == good, "SetGraphMemAttribute");
  check(GPU(DeviceSetGraphMemAttribute)(0, GPU(GraphMemAttrReservedMemHigh), &nothing) == good, "of the other");
  check(of_graphs(GPU(GraphMemAttrUsedMemHigh)) == 0, "the most begins anew");
  check(of_graphs(GPU(GraphMemAttrReservedMemHigh)) == 0, "for both");
  check(GPU(DeviceSetGraphMemAttribute)(0, GPU(GraphMemAttrUsedMemHigh), &one) != good, "only zero can be set");
  check(GPU(DeviceSetGraphMemAttribute)(0, GPU(GraphMemAttrUsedMemCurrent), &nothing) != good, "and only the most");
  check(GPU(DeviceGetGraphMemAttribute)(1, GPU(GraphMemAttrUsedMemHigh), &one) != good, "there is one device");
  GPU(GetLastError)();
  check(GPU(GraphAddMemFreeNode)(&release, graph, &second_copy, 1, numbers) != good, "no memory of a graph");
  GPU(GetLastError)();
  check(GPU(GraphAddMemFreeNode)(&release, graph, &second_copy, 1, how.dptr) == good, "MemFreeNode");
  GPU(GraphExec_t) frees = made(graph);
  for (int i = 0; i < 3; ++i) check(GPU(GraphLaunch)(frees, stream) == good, "a graph that frees", i);
  if (uses_freed) add<<<1, n>>>(static_cast<int*>(how.dptr), 1);  // here: uses-freed
  GPU(GraphExec_t) again;
  GPU(GraphDestroyNode)(release);
  GPU(GraphInstantiateWithFlags)(&again, graph, GPU(GraphInstantiateFlagAutoFreeOnLaunch));
  for (int i = 0; i < 3; ++i) check(GPU(GraphLaunch)(again, stream) == good, "a graph that frees before", i);
  check(GPU(DeviceGraphMemTrim)(0) == good, "DeviceGraphMemTrim");
  // What is allocated when the last graph goes is the program's.
  GPU(GraphExecDestroy)(keeps);
  GPU(GraphExecDestroy)(frees);
  GPU(GraphExecDestroy)(again);
  GPU(GraphDestroy)(graph);
  check(GPU(Memcpy)(host, how.dptr, sizeof(host), GPU(MemcpyDeviceToHost)) == good, "still there");
  check(GPU(Free)(how.dptr) == good && GPU(Free)(how.dptr) != good, "and freed");
  GPU(GetLastError)();
}

void objects_and_events() {
  GPU(Graph_t) graph;
  GPU(GraphCreate)(&graph, 0);
  int ended = 0;
  GPU(UserObject_t) object;
  check(GPU(UserObjectCreate)(&object, &ended, count, 1, 0) != good, "a flag that has to be given");
  GPU(GetLastError)();
  check(GPU(UserObjectCreate)(&object, &ended, count, 1, GPU(UserObjectNoDestructorSync)) == good, "UserObjectCreate");
  check(GPU(UserObjectRetain)(object, 2) == good && GPU(UserObjectRelease)(object, 2) == good && ended == 0, "retained");
  check(GPU(GraphRetainUserObject)(graph, object, 1, GPU(GraphUserObjectMove)) == good && ended == 0, "moved");
  GPU(Event_t) start, stop, got;
  GPU(EventCreate)(&start);
  GPU(EventCreate)(&stop);
  GPU(GraphNode_t) before, waits, sets, after;
  const int nine = 9;
  check(GPU(GraphAddEventRecordNode)(&before, graph, nullptr, 0, start) == good, "EventRecordNode");
  check(GPU(GraphAddMemcpyNodeToSymbol)(&sets, graph, &before, 1, constant, &nine, sizeof nine, 0, GPU(MemcpyHostToDevice)) == good, "ToSymbol");
  check(GPU(GraphAddEventWaitNode)(&waits, graph, &sets, 1, start) == good, "EventWaitNode");
  check(GPU(GraphAddEventRecordNode)(&after, graph, &waits, 1, start) == good, "EventRecordNode");
  check(GPU(GraphEventRecordNodeSetEvent)(after, stop) == good, "EventRecordNodeSetEvent");
  check(GPU(GraphEventRecordNodeGetEvent)(after, &got) == good && got == stop, "EventRecordNodeGetEvent");
  check(GPU(GraphEventRecordNodeGetEvent)(waits, &got) != good, "no node that records");
  GPU(GetLastError)();
  GPU(GraphExec_t) executable = made(graph);
  GPU(GraphDestroy)(graph);
  check(ended == 0, "held by what was made of the graph");
  float milliseconds = -1;
  check(GPU(EventElapsedTime)(&milliseconds, start, stop) != good, "not recorded yet");
  GPU(GetLastError)();
  check(GPU(GraphLaunch)(executable, stream) == good, "events in a graph");
  check(GPU(EventElapsedTime)(&milliseconds, start, stop) == good && milliseconds > 0, "recorded by the graph");
  set<<<1, n>>>(numbers);
  check(first() == 9, "a symbol that a graph sets");
  GPU(GraphExecDestroy)(executable);
  check(ended == 1, "destroyed with the last that held it");
}

int main(int argc, char**) {
  GPU(StreamCreate)(&stream);
  GPU(StreamCreate)(&other);
  GPU(Malloc)(&numbers, sizeof(host));
  recorded();
  put_together();
  refused();
  allocates(argc > 1);
  objects_and_events();
  std::printf("%d checks, %d failures\n", checks, failures);
  return failures != 0;
}
