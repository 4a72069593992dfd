// SPDX-License-Identifier: Apache-2.0
// State of the runtime API: the last error, existing handles, ranges of host memory, kernels by address. It is here and
// not in the headers so that all libraries of a process share it, and so that programs get no more headers than nvcc
// gives them: many say `using namespace std`, and have names of their own.
#include "../include/simt/host.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>

namespace simt {
namespace host {

__thread hipError_t last_error = hipSuccess;
Settings settings;

namespace {

std::mutex host_mutex;
using Guard = std::lock_guard<std::mutex>;

/// Never destroyed: programs free memory in destructors of static objects.
struct State {
  std::map<const void*, HandleKind> handles;
  std::map<std::uintptr_t, std::pair<std::size_t, unsigned>> registered;  // by start: size and flags
  std::unordered_map<const void*, unsigned> pinned_flags;
  std::unordered_map<const void*, Untyped> kernels;
  std::unordered_map<const void*, int> shared_limits;
  std::set<std::string> names;
};
State& state() {
  static State* const all = new State;
  return *all;
}

/// The registered range that contains `address`, or the end.
auto range_of(const void* address) {
  auto& registered = state().registered;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  auto next = registered.upper_bound(at);
  if (next == registered.begin()) return registered.end();
  --next;
  return at - next->first < next->second.first ? next : registered.end();
}

std::atomic<std::size_t> used{0};

}  // namespace

// --------------------------------------------------------------------------------------------------------- handles

void add_handle(const void* handle, HandleKind kind) {
  const Guard guard(host_mutex);
  state().handles[handle] = kind;
}
bool has_handle(const void* handle, HandleKind kind) {
  const Guard guard(host_mutex);
  const auto found = state().handles.find(handle);
  return found != state().handles.end() && found->second == kind;
}
bool remove_handle(const void* handle, HandleKind kind) {
  const Guard guard(host_mutex);
  const auto found = state().handles.find(handle);
  if (found == state().handles.end() || found->second != kind) return false;
  state().handles.erase(found);
  return true;
}

// ---------------------------------------------------------------------------------------------------------- memory

namespace {
std::atomic<bool> claimed{false};
}

bool host_memory_is_device() {
  // Queried until it is found: a process may load PyTorch late.
  if (!claimed && dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD) != nullptr) claimed = true;
  return claimed;
}
void claim_host_memory() { claimed = true; }

bool is_variable(const void* address) {
  Dl_info object;
  return dladdr(address, &object) != 0;
}

bool is_registered(const void* address, unsigned* flags) {
  const Guard guard(host_mutex);
  const auto found = range_of(address);
  if (found == state().registered.end()) return false;
  if (flags != nullptr) *flags = found->second.second;
  return true;
}
bool is_any_registered() {
  const Guard guard(host_mutex);
  return !state().registered.empty();
}
bool add_registered(const void* address, std::size_t size, unsigned flags) {
  const Guard guard(host_mutex);
  auto& registered = state().registered;
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const auto next = registered.lower_bound(start);
  if (range_of(address) != registered.end() || (next != registered.end() && next->first - start < size)) return false;
  registered[start] = {size, flags};
  return true;
}
bool remove_registered(const void* address) {
  const Guard guard(host_mutex);
  return state().registered.erase(reinterpret_cast<std::uintptr_t>(address)) != 0;
}

void set_pinned_flags(const void* start, unsigned flags) {
  const Guard guard(host_mutex);
  state().pinned_flags[start] = flags;
}
unsigned pinned_flags(const void* start) {
  const Guard guard(host_mutex);
  const auto found = state().pinned_flags.find(start);
  return found == state().pinned_flags.end() ? 0 : found->second;
}

std::size_t device_memory() {
  static const std::size_t size = [] {
    constexpr std::size_t least = std::size_t{1} << 30, most = std::size_t{16} << 30;
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
    const std::size_t half =
        pages > 0 && page > 0 ? static_cast<std::size_t>(pages) / 2 * static_cast<std::size_t>(page) : 0;
    return std::min(most, std::max(least, half / least * least));
  }();
  return size;
}
std::size_t used_memory() { return used; }
bool take_memory(std::size_t size) {
  std::size_t before = used;
  do {
    if (size > device_memory() || before > device_memory() - size) return false;
  } while (!used.compare_exchange_weak(before, before + size));
  return true;
}
void give_memory_back(std::size_t size) { used -= size; }

// --------------------------------------------------------------------------------------------------------- kernels

void remember_kernel(const void* kernel, Untyped untyped) {
  const Guard guard(host_mutex);
  state().kernels.emplace(kernel, untyped);
}
Untyped known_kernel(const void* kernel) {
  const Guard guard(host_mutex);
  const auto found = state().kernels.find(kernel);
  return found == state().kernels.end() ? nullptr : found->second;
}
void set_shared_limit(const void* kernel, int size) {
  const Guard guard(host_mutex);
  state().shared_limits[kernel] = size;
}
int shared_limit(const void* kernel, int otherwise) {
  const Guard guard(host_mutex);
  const auto found = state().shared_limits.find(kernel);
  return found == state().shared_limits.end() ? otherwise : found->second;
}

const char* kernel_name(const char* text) {
  const std::string arguments = text;
  std::size_t start = 0;
  if (arguments.compare(0, 1, "(") == 0 && arguments.find("*)") < arguments.find(',')) {
    start = arguments.find("*)") + 2;
  }
  while (start < arguments.size() && (arguments[start] == ' ' || arguments[start] == '&')) ++start;
  std::size_t end = start;
  for (int depth = 0; end < arguments.size() && (depth > 0 || arguments[end] != ','); ++end) {
    depth += arguments[end] == '(' || arguments[end] == '<';
    depth -= arguments[end] == ')' || arguments[end] == '>';
  }
  const Guard guard(host_mutex);
  return state().names.insert(arguments.substr(start, end - start)).first->c_str();
}

std::int64_t nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace host
bool is_of_host(const void* address) {
  struct Range {
    std::uintptr_t low = 0, high = 0;
  };
  static const auto ranges = [] {
    std::pair<Range, Range> found;  // the heap, whose end moves, and the stack, whose beginning does
    if (FILE* maps = std::fopen("/proc/self/maps", "r")) {
      char line[512];
      while (std::fgets(line, sizeof line, maps) != nullptr) {
        char* end;
        const unsigned long low = std::strtoul(line, &end, 16);  // "LOW-HIGH ..."
        if (*end != '-') continue;
        const unsigned long high = std::strtoul(end + 1, &end, 16);
        if (*end != ' ') continue;
        if (std::strstr(line, "[heap]") != nullptr) found.first = {low, high};
        if (std::strstr(line, "[stack]") != nullptr) found.second = {low, high};
      }
      std::fclose(maps);
    }
    return found;
  }();
  const auto a = reinterpret_cast<std::uintptr_t>(address);
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const bool in_heap = ranges.first.low != 0 && a >= ranges.first.low && a < reinterpret_cast<std::uintptr_t>(sbrk(0));
  const bool on_stack = here >= ranges.second.low && a > here && a < ranges.second.high;
  if (!in_heap && !on_stack) return false;
  return find(address).kind == Memory::none && !host::is_registered(address) && !host::host_memory_is_device();
}

}  // namespace simt
