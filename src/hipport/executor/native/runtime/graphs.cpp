// SPDX-License-Identifier: Apache-2.0
// Recording streams, and graphs of recorded work. A node shares its work with its copies.
#include "../include/simt/graphs.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {
/// Memory of a graph, which exists from the node that allocates it until it is freed.
struct GraphMemory : std::enable_shared_from_this<GraphMemory> {
  void* start;
  std::size_t size;
  bool allocated = false;
  GraphMemory(void* memory, std::size_t bytes);
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;
  ~GraphMemory();
  void allocate() {
    simt::resume(start);
    allocated = true;
    auto& all = simt::graphs::memory_of_graphs();
    all.used += size;
    all.reserved = std::max(all.reserved, all.used);
    all.most_used = std::max(all.most_used, all.used);
    all.most_reserved = std::max(all.most_reserved, all.reserved);
  }
  void release() {
    simt::suspend(start);
    allocated = false;
    simt::graphs::memory_of_graphs().used -= size;
  }
};
std::map<const void*, GraphMemory*>& memories() {
  static auto* const all = new std::map<const void*, GraphMemory*>;
  return *all;
}
GraphMemory::GraphMemory(void* memory, std::size_t bytes) : start(memory), size(bytes) {
  memories()[start] = this;
  simt::suspend(start);
}
GraphMemory::~GraphMemory() {
  memories().erase(start);
  // The program has to free memory that is still allocated.
  if (!allocated && simt::release(start)) simt::host::give_memory_back(size);
}
}  // namespace

struct hipUserObject {
  void* data;
  hipHostFn_t destroy;
  unsigned references;
};

namespace {
/// References to a program's objects.
class Objects {
 public:
  Objects() = default;
  Objects(const Objects& other) : counts_(other.counts_) {
    for (const auto& [object, count] : counts_) simt::graphs::retain(object, count);
  }
  Objects& operator=(Objects other) {
    counts_.swap(other.counts_);
    return *this;
  }
  ~Objects() {
    for (const auto& [object, count] : counts_) simt::graphs::release(object, count);
  }
  void add(hipUserObject* object, unsigned count) {
    simt::graphs::retain(object, count);
    counts_[object] += count;
  }
  bool remove(hipUserObject* object, unsigned count) {
    const auto found = counts_.find(object);
    if (found == counts_.end() || found->second < count) return false;
    found->second -= count;
    if (found->second == 0) counts_.erase(found);
    return simt::graphs::release(object, count);
  }

 private:
  std::map<hipUserObject*, unsigned> counts_;
};
}  // namespace

struct hipGraphNode {
  simt::NodeKind kind;
  std::shared_ptr<simt::Work> work;
  std::vector<hipGraphNode*> after;
  ihipGraph* graph;
  void* about = nullptr;
  std::shared_ptr<GraphMemory> memory;
  std::map<int, hipLaunchAttributeValue> attributes;
};
struct ihipGraph {
  std::vector<std::unique_ptr<hipGraphNode>> nodes;
  Objects objects;
};
struct hipGraphExec {
  struct Step {
    const hipGraphNode* of;
    simt::NodeKind kind;
    std::shared_ptr<simt::Work> work;
    bool enabled = true;
    std::shared_ptr<GraphMemory> memory;
  };
  std::vector<Step> steps;
  Objects objects;
  bool frees = false;
};

namespace simt {

int recordings = 0;

namespace {

std::mutex graphs_mutex;
using Guard = std::lock_guard<std::mutex>;

struct Recording {
  ihipGraph* graph;
  const void* origin;
  hipStreamCaptureMode mode;
  std::thread::id thread;
  bool broken;
};
std::map<const void*, Recording>& streams() {
  static auto* const all = new std::map<const void*, Recording>;
  return *all;
}

/// The nodes in topological order, otherwise in the order of creation.
std::vector<hipGraphNode*> in_order(const ihipGraph& graph) {
  std::vector<hipGraphNode*> sorted;
  std::map<const hipGraphNode*, bool> done;
  while (sorted.size() < graph.nodes.size()) {
    const std::size_t before = sorted.size();
    for (const auto& node : graph.nodes) {
      if (done[node.get()]) continue;
      const auto& after = node->after;
      if (!std::all_of(after.begin(), after.end(), [&](const hipGraphNode* each) { return done[each]; })) continue;
      done[node.get()] = true;
      sorted.push_back(node.get());
    }
    if (sorted.size() == before) break;
  }
  return sorted;
}

std::shared_ptr<Work> only_work(ihipGraph* from) {
  std::shared_ptr<Work> work = from->nodes.empty() ? nullptr : from->nodes.front()->work;
  delete from;
  return work;
}

}  // namespace

bool is_recording(const void* stream) {
  const Guard guard(graphs_mutex);
  return streams().count(stream) != 0;
}

void record(const void* stream, NodeKind kind, Work* work) {
  const Guard guard(graphs_mutex);
  auto node = std::make_unique<hipGraphNode>();
  node->kind = kind;
  node->work.reset(work);
  node->graph = streams().at(stream).graph;
  auto& nodes = node->graph->nodes;
  // In sequence, because all work is done so here.
  if (!nodes.empty()) node->after.push_back(nodes.back().get());
  nodes.push_back(std::move(node));
}

void join_recording(const void* stream, const void* other) {
  const Guard guard(graphs_mutex);
  const auto found = streams().find(other);
  if (found == streams().end() || streams().count(stream) != 0) return;
  streams()[stream] = found->second;
  ++recordings;
}

int& recording_mode() {
  static thread_local int mode = hipStreamCaptureModeGlobal;
  return mode;
}

int refused_by_recordings(Unrecorded what) {
  const Guard guard(graphs_mutex);
  hipError_t refused = hipSuccess;
  for (auto& [stream, recording] : streams()) {
    // The default stream waits for all streams that were not created as non-blocking.
    const auto* const handle = static_cast<const ihipStream_t*>(stream);
    const bool waits = stream == hipStreamPerThread || (handle->flags & hipStreamNonBlocking) == 0;
    const bool own = recording.thread == std::this_thread::get_id(),
               global = recording.mode == hipStreamCaptureModeGlobal;
    const bool unsafe = recording_mode() != hipStreamCaptureModeRelaxed &&
                        recording.mode != hipStreamCaptureModeRelaxed &&
                        (own || (global && recording_mode() == hipStreamCaptureModeGlobal));
    hipError_t error = hipSuccess;
    if (what == Unrecorded::wait || (what != Unrecorded::launch && unsafe)) error = hipErrorStreamCaptureUnsupported;
    if (waits && (what == Unrecorded::launch || what == Unrecorded::copy)) error = hipErrorStreamCaptureImplicit;
    if (error == hipSuccess) continue;
    recording.broken = true;
    if (refused != hipErrorStreamCaptureImplicit) refused = error;
  }
  return refused;
}

namespace graphs {

ihipGraph* make() { return new ihipGraph; }
void destroy(ihipGraph* graph) { delete graph; }
ihipGraph* copy(const ihipGraph* graph) {
  auto* const made = new ihipGraph;
  made->objects = graph->objects;
  std::map<const hipGraphNode*, hipGraphNode*> now;
  for (const auto& node : graph->nodes) {
    made->nodes.push_back(std::make_unique<hipGraphNode>(*node));
    now[node.get()] = made->nodes.back().get();
    made->nodes.back()->graph = made;
  }
  for (const auto& node : made->nodes) {
    for (hipGraphNode*& each : node->after) each = now[each];
  }
  return made;
}

hipGraphNode* add(ihipGraph* graph, NodeKind kind, Work* work, hipGraphNode* const* after, std::size_t count) {
  auto node = std::make_unique<hipGraphNode>();
  node->kind = kind;
  node->work.reset(work);
  node->graph = graph;
  if (after != nullptr) node->after.assign(after, after + count);
  graph->nodes.push_back(std::move(node));
  return graph->nodes.back().get();
}
hipGraphNode* adopt(ihipGraph* graph, ihipGraph* from, hipGraphNode* const* after, std::size_t count) {
  const NodeKind kind = from->nodes.empty() ? NodeKind::empty : from->nodes.front()->kind;
  hipGraphNode* const node = add(graph, kind, nullptr, after, count);
  node->work = only_work(from);
  return node;
}
bool depend(ihipGraph* graph, hipGraphNode* node, hipGraphNode* on) {
  if (!has(graph, node) || !has(graph, on)) return false;
  node->after.push_back(on);
  if (in_order(*graph).size() == graph->nodes.size()) return true;
  node->after.pop_back();
  return false;
}
bool depend_no_more(ihipGraph* graph, hipGraphNode* node, const hipGraphNode* on) {
  if (!has(graph, node)) return false;
  const auto found = std::find(node->after.begin(), node->after.end(), on);
  if (found == node->after.end()) return false;
  node->after.erase(found);
  return true;
}
std::size_t neighbours(const ihipGraph* graph, const hipGraphNode* node, hipGraphNode** to, std::size_t most,
                       bool before) {
  std::vector<hipGraphNode*> found;
  for (const auto& each : graph->nodes) {
    const auto& after = before ? node->after : each->after;
    if (std::find(after.begin(), after.end(), before ? each.get() : node) != after.end()) found.push_back(each.get());
  }
  std::copy_n(found.begin(), std::min(most, found.size()), to);
  return found.size();
}
ihipGraph* of(const hipGraphNode* node) { return node->graph; }
void remove(hipGraphNode* node) {
  auto& nodes = node->graph->nodes;
  for (const auto& each : nodes) {
    each->after.erase(std::remove(each->after.begin(), each->after.end(), node), each->after.end());
  }
  nodes.erase(std::find_if(nodes.begin(), nodes.end(), [&](const auto& each) { return each.get() == node; }));
}
bool has(const ihipGraph* graph, const hipGraphNode* node) {
  return std::any_of(graph->nodes.begin(), graph->nodes.end(), [&](const auto& each) { return each.get() == node; });
}
NodeKind kind(const hipGraphNode* node) { return node->kind; }
std::size_t nodes(const ihipGraph* graph, hipGraphNode** to, std::size_t most, bool roots) {
  std::size_t count = 0;
  for (const auto& node : graph->nodes) {
    if (roots && !node->after.empty()) continue;
    if (count < most) to[count] = node.get();
    ++count;
  }
  return count;
}

void* about(const hipGraphNode* node) { return node->about; }
void set_about(hipGraphNode* node, void* about) { node->about = about; }

namespace {
hipGraphNode* add_memory(ihipGraph* graph, std::shared_ptr<GraphMemory> memory, NodeKind kind, Work* work,
                         hipGraphNode* const* after, std::size_t count) {
  hipGraphNode* const node = add(graph, kind, work, after, count);
  node->about = memory->start;
  node->memory = std::move(memory);
  return node;
}
template <typename F>
Work* work_of(F work) {
  return new WorkOf<F>(std::move(work));
}
}  // namespace
hipGraphNode* add_allocation(ihipGraph* graph, void* start, hipGraphNode* const* after, std::size_t count) {
  const auto memory = std::make_shared<GraphMemory>(start, find(start).size);
  return add_memory(graph, memory, NodeKind::allocation, work_of([memory] { memory->allocate(); }), after, count);
}
hipGraphNode* add_release(ihipGraph* graph, void* start, hipGraphNode* const* after, std::size_t count) {
  const auto found = memories().find(start);
  if (found == memories().end()) return nullptr;
  const auto memory = found->second->shared_from_this();
  return add_memory(graph, memory, NodeKind::release, work_of([memory] { memory->release(); }), after, count);
}
std::size_t size_of_memory(const hipGraphNode* node) { return node->memory->size; }
MemoryOfGraphs& memory_of_graphs() {
  static MemoryOfGraphs all{};
  return all;
}
const void* description(const hipGraphNode* node) {
  return node->work != nullptr ? node->work->description() : nullptr;
}
hipLaunchAttributeValue& attribute(hipGraphNode* node, int which) { return node->attributes[which]; }
void copy_attributes(const hipGraphNode* from, hipGraphNode* to) { to->attributes = from->attributes; }

hipUserObject* make_object(void* data, hipHostFn_t destroy, unsigned references) {
  auto* const made = new hipUserObject{data, destroy, references};
  host::add_handle(made, host::HandleKind::object);
  return made;
}
void retain(hipUserObject* object, unsigned count) { object->references += count; }
bool release(hipUserObject* object, unsigned count) {
  if (object->references < count) return false;
  object->references -= count;
  if (object->references != 0) return true;
  host::remove_handle(object, host::HandleKind::object);
  object->destroy(object->data);
  delete object;
  return true;
}
void retain(ihipGraph* graph, hipUserObject* object, unsigned count) { graph->objects.add(object, count); }
bool release(ihipGraph* graph, hipUserObject* object, unsigned count) { return graph->objects.remove(object, count); }

hipGraphExec* instantiate(ihipGraph* graph, bool frees) {
  auto* const made = new hipGraphExec;
  made->objects = graph->objects;
  made->frees = frees;
  for (const hipGraphNode* node : in_order(*graph)) {
    made->steps.push_back({node, node->kind, node->work, true, node->memory});
  }
  return made;
}
bool has_memory(hipGraphExec* made) {
  return !made->frees && std::any_of(made->steps.begin(), made->steps.end(), [](const hipGraphExec::Step& step) {
    return step.kind == NodeKind::allocation && step.memory->allocated;
  });
}
void destroy(hipGraphExec* made) { delete made; }
void run(hipGraphExec* made) {
  for (const hipGraphExec::Step& step : made->steps) {
    if (step.work != nullptr && step.enabled) step.work->run();
  }
}
bool update(hipGraphExec* made, ihipGraph* graph) {
  const auto sorted = in_order(*graph);
  if (sorted.size() != made->steps.size()) return false;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i]->kind != made->steps[i].kind) return false;
  }
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    made->steps[i].work = sorted[i]->work;
    made->steps[i].memory = sorted[i]->memory;
  }
  made->objects = graph->objects;
  return true;
}
void replace(hipGraphNode* node, ihipGraph* from) { node->work = only_work(from); }
bool replace(hipGraphExec* made, hipGraphNode* node, ihipGraph* from) {
  const std::shared_ptr<Work> work = only_work(from);
  for (hipGraphExec::Step& step : made->steps) {
    if (step.of != node) continue;
    step.work = work;
    return true;
  }
  return false;
}

bool* enabled(hipGraphExec* made, const hipGraphNode* node) {
  for (hipGraphExec::Step& step : made->steps) {
    if (step.of == node) return &step.enabled;
  }
  return nullptr;
}

bool begin(const void* stream, hipStreamCaptureMode mode) {
  const Guard guard(graphs_mutex);
  if (streams().count(stream) != 0) return false;
  streams()[stream] = {new ihipGraph, stream, mode, std::this_thread::get_id(), false};
  ++recordings;
  return true;
}
bool is_broken(const void* stream) {
  const Guard guard(graphs_mutex);
  const auto found = streams().find(stream);
  if (found == streams().end()) return false;
  return std::any_of(streams().begin(), streams().end(),
                     [&](const auto& each) { return each.second.graph == found->second.graph && each.second.broken; });
}
ihipGraph* end(const void* stream) {
  const Guard guard(graphs_mutex);
  const auto found = streams().find(stream);
  if (found == streams().end() || found->second.origin != stream) return nullptr;
  ihipGraph* const graph = found->second.graph;
  for (auto each = streams().begin(); each != streams().end();) {
    if (each->second.graph != graph) {
      ++each;
      continue;
    }
    each = streams().erase(each);
    --recordings;
  }
  return graph;
}

}  // namespace graphs

namespace host {
bool release_of_graph(void* start, bool& released) {
  const auto found = memories().find(start);
  if (found == memories().end()) return false;
  released = found->second->allocated;
  if (released) found->second->release();
  return true;
}
}  // namespace host
}  // namespace simt
