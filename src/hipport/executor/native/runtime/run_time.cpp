// SPDX-License-Identifier: Apache-2.0
// Code that is compiled at run time, and modules that are loaded from it. `SIMT_RTC` has the command line of the
// compiler, one argument on each line: it reads the request from its input, and writes the result to its output.
#include "../include/simt/run_time_core.h"

#include "../include/simt/host.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

namespace simt {
namespace {

/// With the values of nvrtcResult and hiprtcResult.
enum Result {
  success = 0,
  invalid_input = 3,
  invalid_program = 4,
  invalid_option = 5,
  not_compiled = 6,
  too_late_for_names = 8,
  too_early_for_names = 9,
  unknown_name = 10,
  internal_error = 11,
};
/// The beginning of code that was compiled here; the library's path follows, then the dialect, each on its own line.
constexpr char magic[] = "// hipport: a library for the CPU executor, and no code of a GPU\n";
/// The time limit of a compilation, in seconds.
constexpr int patience = 600;

std::mutex run_time_mutex;
using Guard = std::lock_guard<std::mutex>;

std::set<run_time::Program*>& programs() {
  static auto* const all = new std::set<run_time::Program*>;
  return *all;
}
std::set<ihipModule_t*>& all_modules() {
  static auto* const all = new std::set<ihipModule_t*>;
  return *all;
}

/// Kernels of modules, by the names under which they were requested.
std::map<const void*, std::string>& kernel_names() {
  static auto* const all = new std::map<const void*, std::string>;
  return *all;
}

/// A kernel that a library registers while it is loaded.
struct KnownKernel {
  std::string expression;
  const void* address;
};
thread_local std::vector<KnownKernel>* loading = nullptr;

/// The symbol of a function or variable in its library; empty if it has no visible one.
std::string symbol(const void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_sname == nullptr || info.dli_saddr != address) return {};
  return info.dli_sname;
}

/// A text that another process reads: an anonymous file.
class Page {
 public:
  explicit Page(const std::string& text = {}) : file_(memfd_create("hipport", MFD_CLOEXEC)) {
    for (std::size_t done = 0; file_ >= 0 && done < text.size();) {
      const ssize_t wrote = write(file_, text.data() + done, text.size() - done);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) break;
      done += static_cast<std::size_t>(wrote);
    }
    if (file_ >= 0) lseek(file_, 0, SEEK_SET);
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  ~Page() {
    if (file_ >= 0) close(file_);
  }
  int file() const { return file_; }
  std::string text() const {
    std::string all;
    char some[4096];
    lseek(file_, 0, SEEK_SET);
    for (;;) {
      const ssize_t got = read(file_, some, sizeof some);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return all;
      all.append(some, static_cast<std::size_t>(got));
    }
  }

 private:
  int file_;
};

/// Run a command with `input`; its output goes to `output` and `errors`. False if it failed.
bool run(const std::vector<std::string>& command, const std::string& input, std::string& output, std::string& errors) {
  const Page in(input), out, err;
  if (in.file() < 0 || out.file() < 0 || err.file() < 0) return false;
  std::vector<char*> words, variables;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  for (char** each = environ; *each != nullptr; ++each) {
    // Libraries preloaded into this program are not for a compiler.
    if (std::strncmp(*each, "LD_PRELOAD=", 11) != 0) variables.push_back(*each);
  }
  variables.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&how);
  posix_spawn_file_actions_adddup2(&files, in.file(), 0);
  posix_spawn_file_actions_adddup2(&files, out.file(), 1);
  posix_spawn_file_actions_adddup2(&files, err.file(), 2);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&how, 0);
  pid_t child = 0;
  const int failed = posix_spawn(&child, words[0], &files, &how, words.data(), variables.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&how);
  if (failed != 0) {
    errors = std::string(words[0]) + ": " + std::strerror(failed);
    return false;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(patience);
  int status = -1;
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) {
      status = 0;  // if the program ignores its children there is no status: the output tells
      break;
    }
    if (std::chrono::steady_clock::now() > end) {
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      errors = "the compiler did not end within " + std::to_string(patience) + " s";
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  output = out.text();
  errors = err.text();
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void add(std::string& request, const std::string& field) { request += std::to_string(field.size()) + "\n" + field; }

std::string own_path() {
  Dl_info info;
  return dladdr(reinterpret_cast<const void*>(&own_path), &info) != 0 && info.dli_fname != nullptr ? info.dli_fname
                                                                                                   : "";
}

}  // namespace

namespace run_time {

struct Program {
  std::string source, name;
  std::vector<std::string> headers, header_names, expressions;
  std::map<std::string, std::string> lowered;
  std::string log, code;
  bool compiled = false;
};

namespace {
bool exists(Program* program) {
  const Guard guard(run_time_mutex);
  return programs().count(program) != 0;
}

/// Load the compiled library, to get the symbols of its name expressions.
bool learn_names(Program& program, const std::string& path) {
  std::vector<KnownKernel> known;
  loading = &known;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  loading = nullptr;
  if (library == nullptr) {
    program.log += dlerror();
    return false;
  }
  for (const KnownKernel& each : known) {
    if (each.expression.empty()) continue;
    const std::string name = symbol(each.address);
    program.lowered[each.expression] = name.empty() ? each.expression : name;
  }
  return true;
}
}  // namespace

int make(Program** made, const char* source, const char* name, int headers, const char* const* texts,
         const char* const* names) {
  if (made == nullptr || source == nullptr || headers < 0) return invalid_input;
  if (headers > 0 && (texts == nullptr || names == nullptr)) return invalid_input;
  auto program = std::make_unique<Program>();
  program->source = source;
  program->name = name != nullptr && *name != '\0' ? name : "default_program";
  for (int i = 0; i < headers; ++i) {
    if (texts[i] == nullptr || names[i] == nullptr) return invalid_input;
    program->headers.push_back(texts[i]);
    program->header_names.push_back(names[i]);
  }
  const Guard guard(run_time_mutex);
  *made = program.release();
  programs().insert(*made);
  return success;
}

int destroy(Program** program) {
  if (program == nullptr) return invalid_program;
  const Guard guard(run_time_mutex);
  if (programs().erase(*program) == 0) return invalid_program;
  delete *program;
  *program = nullptr;
  return success;
}

int name(Program* program, const char* expression) {
  if (!exists(program)) return invalid_program;
  if (expression == nullptr) return invalid_input;
  if (program->compiled) return too_late_for_names;
  program->expressions.push_back(expression);
  return success;
}

int compile(Program* program, int count, const char* const* options, Dialect dialect, const char* sanitize,
            Place place) {
  if (!exists(program)) return invalid_program;
  if (count < 0 || (count > 0 && options == nullptr)) return invalid_input;
  const char* const given = std::getenv("SIMT_RTC");
  if (given == nullptr) {
    fault("unsupported", place, "a compilation at run time, which needs hipport: run the program by `hipport verify`");
  }
  std::vector<std::string> command(1);
  for (const char* c = given; *c != '\0'; ++c) {
    if (*c == '\n') {
      command.emplace_back();
    } else {
      command.back() += *c;
    }
  }
  std::string request;
  add(request, dialect == Dialect::hip ? "hip" : "cuda");
  add(request, sanitize);
  add(request, own_path());
  add(request, program->name);
  add(request, program->source);
  add(request, std::to_string(count));
  for (int i = 0; i < count; ++i) add(request, options[i] != nullptr ? options[i] : "");
  add(request, std::to_string(program->headers.size()));
  for (std::size_t i = 0; i < program->headers.size(); ++i) {
    add(request, program->header_names[i]);
    add(request, program->headers[i]);
  }
  add(request, std::to_string(program->expressions.size()));
  for (const std::string& each : program->expressions) add(request, each);

  program->compiled = true;
  std::string answer, errors;
  const bool ran = run(command, request, answer, errors);
  // The kind of the answer, the library's path, the log.
  const std::size_t first = answer.find('\n');
  const std::size_t second = first == std::string::npos ? first : answer.find('\n', first + 1);
  if (!ran || second == std::string::npos) {
    program->log = "hipport's compiler failed: " + errors;
    return internal_error;
  }
  const std::string kind = answer.substr(0, first), path = answer.substr(first + 1, second - first - 1);
  program->log = answer.substr(second + 1);
  if (kind != "compiled") {
    // Programs that ignore the log only report a failure.
    const std::string shown = program->log.substr(0, program->log.find('\n'));
    warning("not-compiled", place, "%s was not compiled at run time: %s", program->name.c_str(), shown.c_str());
  }
  if (kind == "option") return invalid_option;
  if (kind == "input") return invalid_input;
  if (kind != "compiled") return not_compiled;
  if (!program->expressions.empty() && !learn_names(*program, path)) return internal_error;
  program->code = magic + path + (dialect == Dialect::hip ? "\nhip\n" : "\ncuda\n");
  return success;
}

int log(Program* program, const std::string** text) {
  if (!exists(program)) return invalid_program;
  *text = &program->log;
  return success;
}
int code(Program* program, const std::string** text) {
  if (!exists(program) || program->code.empty()) return invalid_program;
  *text = &program->code;
  return success;
}
int lowered(Program* program, const char* expression, const char** name) {
  if (!exists(program)) return invalid_program;
  if (expression == nullptr || name == nullptr) return invalid_input;
  if (!program->compiled) return too_early_for_names;
  const auto found = program->lowered.find(expression);
  if (found == program->lowered.end()) return unknown_name;
  *name = found->second.c_str();
  return success;
}

}  // namespace run_time
}  // namespace simt

struct ihipModule_t {
  void* library = nullptr;
  int file = -1;
  std::map<std::string, const void*> kernels;
};

namespace simt {
namespace modules {

void known(const char* expression, const void* address) {
  if (loading != nullptr) loading->push_back({expression != nullptr ? expression : "", address});
}

static bool read_file(const char* path, std::string& text) {
  FILE* const file = std::fopen(path, "rb");
  if (file == nullptr) return false;
  char some[4096];
  std::size_t got;
  while ((got = std::fread(some, 1, sizeof some, file)) > 0) text.append(some, got);
  std::fclose(file);
  return true;
}

ihipModule_t* load(const void* image, std::size_t most, Dialect dialect, Place place) {
  const char* const text = static_cast<const char*>(image);
  constexpr std::size_t head = sizeof magic - 1;
  if (most < head || std::strncmp(text, magic, head) != 0) {
    fault("unsupported", place,
          "a module that the program did not compile at run time: code for a GPU (PTX, cubins, code objects) "
          "cannot run on the CPU");
  }
  const std::string rest(text + head, strnlen(text + head, most - head));
  const std::size_t end = rest.find('\n');
  if (end == std::string::npos) return nullptr;
  if (rest.compare(end, std::string::npos, dialect == Dialect::hip ? "\nhip\n" : "\ncuda\n") != 0) return nullptr;
  // Each module has its own variables: a library loaded twice would share them, so each module gets a copy.
  std::string bytes;
  if (!read_file(rest.substr(0, end).c_str(), bytes)) return nullptr;
  auto module = std::make_unique<ihipModule_t>();
  {
    const Page copy(bytes);
    module->file = fcntl(copy.file(), F_DUPFD_CLOEXEC, 0);
  }
  if (module->file < 0) return nullptr;
  // By a path that is valid in other processes, too, which look up lines in the file.
  const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(module->file);
  std::vector<KnownKernel> kernels;
  loading = &kernels;
  module->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  loading = nullptr;
  if (module->library == nullptr) {
    warning("unsupported", place, "a module could not be loaded: %s", dlerror());
    close(module->file);
    return nullptr;
  }
  for (const KnownKernel& each : kernels) {
    const std::string name = symbol(each.address);
    if (!name.empty()) module->kernels[name] = each.address;
    if (!each.expression.empty()) module->kernels.emplace(each.expression, each.address);
  }
  const Guard guard(run_time_mutex);
  all_modules().insert(module.get());
  return module.release();
}

ihipModule_t* load_file(const char* path, Dialect dialect, Place place, bool* read) {
  std::string text;
  *read = read_file(path, text);
  return *read ? load(text.c_str(), text.size(), dialect, place) : nullptr;
}

bool exists(ihipModule_t* module) {
  const Guard guard(run_time_mutex);
  return all_modules().count(module) != 0;
}

bool unload(ihipModule_t* module) {
  {
    const Guard guard(run_time_mutex);
    if (all_modules().erase(module) == 0) return false;
  }
  // The library stays loaded: addresses in it, above all those of kernels, must not be reused.
  close(module->file);
  delete module;
  return true;
}

const char* name_of(const void* kernel) {
  const Guard guard(run_time_mutex);
  const auto found = kernel_names().find(kernel);
  return found == kernel_names().end() ? nullptr : found->second.c_str();
}

const void* function(ihipModule_t* module, const char* name, Place place) {
  const auto found = module->kernels.find(name);
  const void* const address = found != module->kernels.end() ? found->second : dlsym(module->library, name);
  if (address == nullptr) return nullptr;
  if (host::known_kernel(address) != nullptr) {
    const Guard guard(run_time_mutex);
    kernel_names().emplace(address, name);
    return address;
  }
  Dl_info info;
  void* raw = nullptr;
  const bool is_function = dladdr1(address, &info, &raw, RTLD_DL_SYMENT) != 0 && raw != nullptr &&
                           ELF64_ST_TYPE(static_cast<const ElfW(Sym)*>(raw)->st_info) == STT_FUNC;
  if (is_function && info.dli_saddr == address) {
    fault(
        "unknown-kernel", place,
        "%s: the executor does not know this function of a module as a kernel, and needs its parameters: one that a macro "
        "defines needs a name expression (AddNameExpression)",
        name);
  }
  return nullptr;
}

void* variable(ihipModule_t* module, const char* name, std::size_t* size) {
  void* address = dlsym(module->library, name);
  if (address == nullptr) {
    const auto found = module->kernels.find(name);
    if (found == module->kernels.end()) return nullptr;
    address = const_cast<void*>(found->second);
  }
  Dl_info info;
  void* raw = nullptr;
  if (dladdr1(address, &info, &raw, RTLD_DL_SYMENT) == 0 || raw == nullptr) return nullptr;
  const auto* const entry = static_cast<const ElfW(Sym)*>(raw);
  if (ELF64_ST_TYPE(entry->st_info) != STT_OBJECT) return nullptr;
  *size = entry->st_size;
  return address;
}

}  // namespace modules
}  // namespace simt
