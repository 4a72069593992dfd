// SPDX-License-Identifier: Apache-2.0
// Reports of errors, each once: for people on stderr, for programs as JSON lines in the file that SIMT_REPORT names. A
// fault ends the process with status 97.
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "internal.h"
#include "loaded_objects.h"

namespace simt {
namespace {

constexpr std::size_t kept_size = 4 << 20;
std::atomic<void*> kept_room{[] {
  void* const room = mmap(nullptr, kept_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return room == MAP_FAILED ? nullptr : room;
}()};

constexpr int fault_status = 97;

struct Frame {
  std::string file;
  int line = 0;
};

/// The places of calls that return to `address`, innermost first: several if functions were inlined.
const std::vector<Frame>& frames_of(void* address) {
  static std::map<void*, std::vector<Frame>> cache;
  const auto at = cache.find(address);
  if (at != cache.end()) return at->second;
  std::vector<Frame>& frames = cache[address];
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return frames;
  const auto offset = reinterpret_cast<std::uintptr_t>(address) - 1 - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  // The program's own name is as it was started, perhaps relative to an earlier working directory.
  std::string file = info.dli_fname;
  if (access(file.c_str(), R_OK) != 0) file = "/proc/self/exe";
  if (file == "/proc/self/exe" || info.dli_fname[0] != '/') {
    char name[4096];
    const ssize_t size = readlink("/proc/self/exe", name, sizeof name - 1);
    if (size > 0 && access(info.dli_fname, R_OK) != 0) file.assign(name, static_cast<std::size_t>(size));
  }
  std::string quoted = "'";
  for (char c : file) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  quoted += '\'';
  char command[6000];
  // A program whose address space is exhausted could start no other: this much of it was reserved for that.
  if (void* const kept = kept_room.exchange(nullptr)) munmap(kept, kept_size);
  std::snprintf(command, sizeof command, "addr2line -i -e %s 0x%zx 2>/dev/null", quoted.c_str(),
                static_cast<std::size_t>(offset));
  FILE* pipe = popen(command, "r");
  if (pipe == nullptr) return frames;
  char line[4096];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    char* colon = std::strrchr(line, ':');
    if (colon == nullptr) continue;
    const long number = std::strtol(colon + 1, nullptr, 10);  // 0 for "?"
    *colon = '\0';
    if (number > 0 && line[0] != '?') frames.push_back({line, static_cast<int>(number)});
  }
  pclose(pipe);
  return frames;
}

/// Whether a file belongs to the executor, or to the helper headers beside ported code.
bool is_own(const std::string& file) {
  // The helper headers lie in a folder of this name, wherever that is.
  const std::size_t slash = file.rfind('/');
  const bool helper = slash != std::string::npos && slash >= 8 && file.compare(slash - 8, 9, "/hipport/") == 0 &&
                      file.compare(file.size() - 2, 2, ".h") == 0;
  return helper || file.find("/native/include/") != std::string::npos ||
         file.find("/native/runtime/") != std::string::npos || file.find("/include/c++/") != std::string::npos;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (unsigned char c : text) {
    char code[8];
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20) {
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out;
}

std::mutex report_mutex;

void report(const char* level, const char* kind, const std::string& place, const std::string& message) {
  std::string kernel, where;
  std::string json = std::string("{\"level\": \"") + level + "\", \"kind\": \"" + kind + "\", \"message\": \"" +
                     escaped(message) + "\"";
  const std::size_t colon = place.rfind(':');
  if (colon != std::string::npos && colon != 0) {
    json += ", \"file\": \"" + escaped(place.substr(0, colon)) + "\", \"line\": " + place.substr(colon + 1);
  }
  if (in_kernel()) {
    const Launch& launch = *worker->launch;
    char text[256];
    std::snprintf(text, sizeof text, "block (%u, %u, %u)", blockIdx.x, blockIdx.y, blockIdx.z);
    where = text;
    json += ", \"kernel\": \"" + escaped(launch.name) + "\", \"launched\": \"" + escaped(launch.place.file) + ":" +
            std::to_string(launch.place.line) + "\"";
    std::snprintf(text, sizeof text, ", \"block\": [%u, %u, %u]", blockIdx.x, blockIdx.y, blockIdx.z);
    json += text;
    // At the end of a row of threads, the index is invalid.
    if (worker->block != nullptr && (!worker->block->loud || worker->thread != nullptr) && threadIdx.x < blockDim.x) {
      std::snprintf(text, sizeof text, ", thread (%u, %u, %u)", threadIdx.x, threadIdx.y, threadIdx.z);
      where += text;
      std::snprintf(text, sizeof text, ", \"thread\": [%u, %u, %u]", threadIdx.x, threadIdx.y, threadIdx.z);
      json += text;
    }
    kernel = std::string("\n    in kernel ") + launch.name + ", " + where + ", launched at " + launch.place.file + ":" +
             std::to_string(launch.place.line);
  }
  json += ", \"wave\": " + std::to_string(wave_size()) + "}\n";
  const std::lock_guard<std::mutex> lock(report_mutex);
  std::fflush(stdout);
  std::fprintf(stderr, "simt: %s: %s: %s%s%s%s\n", level, kind, message.c_str(), place.empty() ? "" : "\n    at ",
               place.c_str(), kernel.c_str());
  if (settings().report != nullptr) {
    if (FILE* file = std::fopen(settings().report, "a")) {
      std::fputs(json.c_str(), file);
      std::fclose(file);
    }
  }
}

std::string text_of(Place place) {
  if (place.file == nullptr || *place.file == '\0') return "";
  return std::string(place.file) + ":" + std::to_string(place.line);
}

std::string formatted(const char* message, va_list arguments) {
  char text[2048];
  std::vsnprintf(text, sizeof text, message, arguments);
  return text;
}

/// The user's line: that of the call itself, or of the innermost user frame if the call is in a header of ours.
std::string best_place(Place place) {
  if (!text_of(place).empty() && !is_own(place.file)) return text_of(place);
  if (in_kernel() && &worker->stack() != &worker->root) {
    Path path;
    capture(path, worker->stack().base);
    const std::string user = user_place(path);
    if (!user.empty()) return user;
  }
  return text_of(place);
}

[[noreturn]] void end() {
  std::fflush(nullptr);
  std::_Exit(fault_status);
}

// --------------------------------------------------------------------------------------------------------- signals

void* pc_of(const ucontext_t& context) {
#if defined(__x86_64__)
  return reinterpret_cast<void*>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<void*>(context.uc_mcontext.pc);
#else
  return nullptr;
#endif
}

/// The return address of a function that has not set up its frame; arbitrary for one that has.
void* returns_to(const ucontext_t& context, void* base) {
#if defined(__x86_64__)
  auto** top = reinterpret_cast<void**>(context.uc_mcontext.gregs[REG_RSP]);
  const auto room = static_cast<void**>(base) - top;
  if (room < 2 || room > (1 << 17)) return nullptr;
  // It may have saved the frame pointer already.
  return top[0] == reinterpret_cast<void*>(context.uc_mcontext.gregs[REG_RBP]) ? top[1] : top[0];
#elif defined(__aarch64__)
  (void)base;
  return reinterpret_cast<void*>(context.uc_mcontext.regs[30]);
#else
  (void)context, (void)base;
  return nullptr;
#endif
}

void* frame_of(const ucontext_t& context) {
#if defined(__x86_64__)
  return reinterpret_cast<void*>(context.uc_mcontext.gregs[REG_RBP]);
#elif defined(__aarch64__)
  return reinterpret_cast<void*>(context.uc_mcontext.regs[29]);
#else
  return nullptr;
#endif
}

struct Unwinding {
  Path& path;
  void* pc;
  void* base;
};

_Unwind_Reason_Code keep_frame(_Unwind_Context* context, void* raw) {
  auto& unwinding = *static_cast<Unwinding*>(raw);
  Path& path = unwinding.path;
  int exact = 0;  // whether the address is that of an instruction, not the one after a call
  char* address = reinterpret_cast<char*>(_Unwind_GetIPInfo(context, &exact));
  if (path.depth == 0 && address != unwinding.pc) return _URC_NO_REASON;  // a frame of the handler
  if (unwinding.base != nullptr && reinterpret_cast<void*>(_Unwind_GetCFA(context)) >= unwinding.base) {
    return _URC_NORMAL_STOP;
  }
  path.frames[path.depth++] = address + (exact != 0 ? 1 : 0);
  return path.depth == Path::most ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

/// Like `path_of`, by the unwind tables: slow, but functions of libraries, and stubs that lead to them, have no frame
/// pointer.
void unwind(Path& path, const ucontext_t& context, void* base) {
  path.depth = 0;
  Unwinding unwinding{path, pc_of(context), base};
  _Unwind_Backtrace(keep_frame, &unwinding);
  if (path.depth < 2) path_of(path, context, base);
}

const char* signal_kind(int number, const siginfo_t* info, char* text, std::size_t size) {
  const void* address = info->si_addr;
  if (number == SIGFPE) {
    std::snprintf(text, size,
                  "an integer division by zero, or one that overflows (undefined on a GPU, which continues)");
    return "division";
  }
  if (number == SIGILL || number == SIGTRAP) {
    std::snprintf(text, size, "the program ran into a trap");
    return "trap";
  }
#if defined(__x86_64__)
  if (number == SIGSEGV && info->si_code == SI_KERNEL) {
    // Faults that concern no page: accesses that require aligned addresses, and non-canonical addresses.
    std::snprintf(text, size, "an access to a misaligned address, or to one that cannot exist");
    return in_kernel() ? "misaligned" : "segmentation-fault";
  }
#endif
  char where[256];
  if (explain(address, where, sizeof where)) {
    std::snprintf(text, size, "an access at %s", where);
    return "out-of-bounds";
  }
  const char* a = static_cast<const char*>(address);
  const char* low = in_kernel() ? worker->stack().low : nullptr;
  // An address just below a stack may also be just above shared memory.
  const auto below = [&](long most) { return low != nullptr && a < low && low - a <= most; };
  if (!below(sysconf(_SC_PAGESIZE)) && in_kernel() && worker->block != nullptr && worker->block->arena != nullptr) {
    const char* end = worker->block->dynamic + worker->block->dynamic_size;
    if (a >= end && a < end + 8192) {
      std::snprintf(text, size, "an access at %zu bytes past the end of the dynamic shared memory of %zu bytes",
                    static_cast<std::size_t>(a - end), worker->block->dynamic_size);
      return "out-of-bounds";
    }
  }
  if (below(65536)) {
    std::snprintf(text, size, "a thread's stack is full: its local variables are too large, or it recurses too deep");
    return "stack-overflow";
  }
  std::snprintf(text, size, "an access to %p, which is not memory%s", address, in_kernel() ? " of the device" : "");
  return in_kernel() ? "out-of-bounds" : "segmentation-fault";
}

void on_fault(int number, siginfo_t* info, void* raw) {
  static volatile sig_atomic_t busy = 0;
  if (busy) std::_Exit(fault_status);
  busy = 1;
  alarm(20);  // the following code takes locks that the program may hold
  signal(SIGALRM, SIG_DFL);
  const auto& context = *static_cast<ucontext_t*>(raw);
  char text[512];
  const char* kind = signal_kind(number, info, text, sizeof text);
  Path path;
  unwind(path, context, in_kernel() ? worker->stack().base : nullptr);
  report("fault", kind, user_place(path), text);
  end();
}

/// The caller's timeout has expired.
void on_end(int number, siginfo_t*, void* raw) {
  if (!in_kernel() || worker->block == nullptr || &worker->stack() == &worker->root) std::_Exit(128 + number);
  alarm(20);
  signal(SIGALRM, SIG_DFL);
  unwind(worker->current, *static_cast<ucontext_t*>(raw), worker->stack().base);
  stop_here("time-limit", "the program was ended while this kernel ran");
}

}  // namespace

void path_of(Path& path, const ucontext_t& context, void* base) {
  path.depth = 0;
  path.frames[path.depth++] = static_cast<char*>(pc_of(context)) + 1;
  if (base == nullptr) return;
  // A leaf function of ours has no frame: its caller is known by the return address.
  const LoadedObject* const object = object_at(pc_of(context));
  if (object != nullptr && object->is_own) {
    if (void* back = returns_to(context, base)) path.frames[path.depth++] = back;
  }
  walk(path, frame_of(context), base);
}

std::string user_place(const Path& path) {
  std::string own, absent;
  for (unsigned i = 0; i < path.depth; ++i) {
    for (const Frame& frame : frames_of(path.frames[i])) {
      const std::string text = frame.file + ":" + std::to_string(frame.line);
      if (is_own(frame.file)) {
        own = text;
      } else if (access(frame.file.c_str(), R_OK) == 0) {
        return text;
      } else if (absent.empty()) {
        absent = text;  // of a library, whose sources are elsewhere, or the user's, if they were moved
      }
    }
  }
  return absent.empty() ? own : absent;
}

void walk(Path& path, void* frame, void* base) {
  void** at = static_cast<void**>(frame);
  auto* const end = static_cast<void**>(base);
  while (at != nullptr && path.depth < Path::most) {
    if (end != nullptr && (at >= end || reinterpret_cast<char*>(end) - reinterpret_cast<char*>(at) > (1 << 20))) break;
    path.frames[path.depth++] = at[1];
    void** up = static_cast<void**>(at[0]);
    if (up <= at) break;
    at = up;
  }
}

__attribute__((noinline)) void capture(Path& path, void* base) { walk(path, __builtin_frame_address(0), base); }

void warning_at(const char* kind, const std::string& place, const std::string& message) {
  report("warning", kind, place, message);
}

void fault_at(const char* kind, const std::string& place, const std::string& message) {
  report("fault", kind, place, message);
  end();
}

void fault_with(const char* kind, Place place, const std::string& message) {
  fault_at(kind, best_place(place), message);
}

void fault(const char* kind, Place place, const char* message, ...) {
  va_list arguments;
  va_start(arguments, message);
  const std::string text = formatted(message, arguments);
  va_end(arguments);
  fault_with(kind, place, text);
}

void warning(const char* kind, Place place, const char* message, ...) {
  // Once for each kind and line, whatever numbers the message has.
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::string key = std::string(kind) + text_of(place);
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (said.size() >= 100 || !said.insert(key).second) return;
  }
  va_list arguments;
  va_start(arguments, message);
  const std::string text = formatted(message, arguments);
  va_end(arguments);
  report("warning", kind, best_place(place), text);
}

void install_handlers() {
  static bool done = false;
  if (done) return;
  done = true;
  // AddressSanitizer has its own handler, which reports more.
  if (has_address_sanitizer) return;
  // Handlers need their own stack, because a thread's may be full.
  constexpr std::size_t size = 256 << 10;
  stack_t stack{};
  stack.ss_sp = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack.ss_size = size;
  if (stack.ss_sp != MAP_FAILED) sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  struct sigaction ending{};
  ending.sa_sigaction = on_end;
  ending.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ending.sa_mask);
  sigaction(SIGTERM, &ending, nullptr);
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigaction(number, &action, nullptr);
}

}  // namespace simt

// Called by the compiler's code if an index is outside an array's type, with a description of the place; see
// compilers.py.
struct ArrayType {
  std::uint16_t kind, about;  // for integers: whether signed, and the logarithm of the number of bits
  char name[1];
};
struct IndexPlace {
  const char* file;
  std::uint32_t line, column;
  const ArrayType *array, *index;
};
extern "C" __attribute__((visibility("default"))) void __ubsan_handle_out_of_bounds(const IndexPlace* at,
                                                                                    std::uintptr_t index) {
  if (!simt::in_kernel() || at->file == nullptr || simt::is_own(at->file)) return;
  long long shown = static_cast<long long>(index);
  const unsigned bits = 1u << (at->index->about >> 1);
  if ((at->index->about & 1) != 0 && bits < 64) shown = shown << (64 - bits) >> (64 - bits);
  simt::warning("index", {at->file, static_cast<int>(at->line)}, "an index of %lld, outside of the type %s", shown,
                at->array->name);
}

#if defined(__aarch64__)
// Called by the compiler's code if an integer would be divided by 0: see compilers.py.
struct DivisionPlace {
  const char* file;
  std::uint32_t line, column;
};
extern "C" __attribute__((visibility("default"))) void __ubsan_handle_divrem_overflow_abort(const DivisionPlace* at,
                                                                                            std::uintptr_t,
                                                                                            std::uintptr_t) {
  simt::fault("division", {at->file, static_cast<int>(at->line)},
              "an integer division by zero, or one that overflows (undefined on a GPU, which continues)");
}
#endif
