// SPDX-License-Identifier: Apache-2.0
// The static shared memory of a kernel cannot be found from its source: its callees have variables, too, templates have
// others for each type, and code that the compiler removes does not count. So the program's own file is read. It was
// linked with `--emit-relocs`, so it records which functions and variables each function refers to. Variables that are
// reachable from the kernel belong to it.
#include "../include/simt/host.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace simt {
namespace {

std::mutex modules_mutex;

/// A `__shared__` variable.
struct Variable {
  std::size_t size, alignment;
};
/// Those outside functions, by their offset from the thread pointer, which is the same for all threads.
std::map<std::ptrdiff_t, Variable>& outside() {
  static auto* const all = new std::map<std::ptrdiff_t, Variable>;
  return *all;
}
const char* thread_pointer() {
#if defined(__x86_64__)
  const char* pointer;
  asm("mov %%fs:0, %0" : "=r"(pointer));
  return pointer;
#else
  return static_cast<const char*>(__builtin_thread_pointer());
#endif
}

/// A file mapped from disk.
class Mapped {
 public:
  explicit Mapped(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (file < 0) return;
    if (fstat(file, &about) == 0 && about.st_size > 0) {
      void* const all = mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file, 0);
      if (all != MAP_FAILED) {
        start_ = static_cast<const char*>(all);
        size_ = static_cast<std::size_t>(about.st_size);
      }
    }
    close(file);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() {
    if (start_ != nullptr) munmap(const_cast<char*>(start_), size_);
  }
  /// Null if the file is too short.
  template <typename T>
  const T* at(std::size_t offset, std::size_t count = 1) const {
    if (start_ == nullptr || offset > size_ || count > (size_ - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(start_ + offset);
  }

 private:
  const char* start_ = nullptr;
  std::size_t size_ = 0;
};

constexpr char slot_name[] = "16simt_shared_slot";
/// The function that starts the threads of a launch: code that refers to it belongs to the host.
constexpr char starts_launches[] = "_ZN4simt6detail3run";

/// The functions and variables in the file of a program or library, by their addresses in the file.
struct Module {
  struct Symbol {
    std::uint64_t start, end;
    bool slot, launches;
    bool operator<(const Symbol& other) const { return start < other.start; }
  };
  struct Use {
    std::size_t by;  // the index of a symbol
    std::uint64_t address;
    bool thread_local_;
    bool operator<(const Use& other) const { return by < other.by; }
  };
  std::vector<Symbol> symbols;
  std::vector<Use> uses;
  bool complete = false;  // whether it records its references

  std::size_t of(std::uint64_t address) const {
    auto next = std::upper_bound(symbols.begin(), symbols.end(), Symbol{address, 0, false, false});
    if (next == symbols.begin()) return symbols.size();
    --next;
    return address < next->end ? static_cast<std::size_t>(next - symbols.begin()) : symbols.size();
  }
};

/// Whether a relocation's addend counts from the end of its four bytes, as in most instructions of x86-64.
bool from_the_end(unsigned type) {
#if defined(__x86_64__)
  return type == R_X86_64_PC32 || type == R_X86_64_PLT32 || type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX ||
         type == R_X86_64_REX_GOTPCRELX;
#else
  static_cast<void>(type);
  return false;
#endif
}

Module read_module(const char* path) {
  Module module;
  const Mapped file(path);
  const auto* const head = file.at<Elf64_Ehdr>(0);
  if (head == nullptr || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return module;
  if (head->e_ident[EI_CLASS] != ELFCLASS64) return module;
  const auto* const sections = file.at<Elf64_Shdr>(head->e_shoff, head->e_shnum);
  if (sections == nullptr) return module;
  const auto section = [&](std::size_t number) { return number < head->e_shnum ? &sections[number] : nullptr; };
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
  std::size_t count = 0, names_size = 0, table = 0;
  for (std::size_t i = 0; i < head->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    table = i;
    count = sections[i].sh_size / sizeof(Elf64_Sym);
    symbols = file.at<Elf64_Sym>(sections[i].sh_offset, count);
    if (const Elf64_Shdr* text = section(sections[i].sh_link)) {
      names_size = text->sh_size;
      names = file.at<char>(text->sh_offset, names_size);
    }
  }
  if (symbols == nullptr || names == nullptr || names_size == 0 || names[names_size - 1] != '\0') return module;
  const auto name = [&](const Elf64_Sym& symbol) { return symbol.st_name < names_size ? names + symbol.st_name : ""; };
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned type = ELF64_ST_TYPE(symbols[i].st_info);
    if ((type != STT_FUNC && type != STT_OBJECT) || symbols[i].st_size == 0) continue;
    if (symbols[i].st_shndx == SHN_UNDEF) continue;
    const bool slot = type == STT_OBJECT && std::strstr(name(symbols[i]), slot_name) != nullptr;
    module.symbols.push_back({symbols[i].st_value, symbols[i].st_value + symbols[i].st_size, slot, false});
  }
  std::stable_sort(module.symbols.begin(), module.symbols.end());
  // Identical functions may have several names.
  const auto same = [](const Module::Symbol& a, const Module::Symbol& b) { return a.start == b.start; };
  module.symbols.erase(std::unique(module.symbols.begin(), module.symbols.end(), same), module.symbols.end());
  for (std::size_t i = 0; i < head->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_RELA || sections[i].sh_link != table) continue;
    const Elf64_Shdr* const about = section(sections[i].sh_info);
    if (about == nullptr || (about->sh_flags & SHF_ALLOC) == 0) continue;  // of debug information
    module.complete = true;
    const std::size_t many = sections[i].sh_size / sizeof(Elf64_Rela);
    const auto* const relocations = file.at<Elf64_Rela>(sections[i].sh_offset, many);
    if (relocations == nullptr) return Module{};
    for (std::size_t j = 0; j < many; ++j) {
      const Elf64_Rela& each = relocations[j];
      const std::size_t number = ELF64_R_SYM(each.r_info), by = module.of(each.r_offset);
      if (number >= count || by == module.symbols.size()) continue;
      const Elf64_Sym& symbol = symbols[number];
      const unsigned type = ELF64_ST_TYPE(symbol.st_info);
      if (symbol.st_shndx == SHN_UNDEF) {
        module.symbols[by].launches |= std::strncmp(name(symbol), starts_launches, sizeof starts_launches - 1) == 0;
        continue;
      }
      std::uint64_t address = symbol.st_value;
      // A local symbol may be named by its section, and its place there by the addend.
      if (type == STT_SECTION) {
        address += static_cast<std::uint64_t>(each.r_addend) + (from_the_end(ELF64_R_TYPE(each.r_info)) ? 4 : 0);
      }
      module.uses.push_back({by, address, type == STT_TLS});
    }
  }
  std::stable_sort(module.uses.begin(), module.uses.end());
  return module;
}

/// The load address of a file, and the place of its variables of the calling thread.
struct Loaded {
  std::uintptr_t base;
  const char* variables;
};
Loaded loaded(std::uintptr_t base) {
  Loaded found{base, nullptr};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* raw) {
        auto& wanted = *static_cast<Loaded*>(raw);
        if (info->dlpi_addr != wanted.base) return 0;
        wanted.variables = static_cast<const char*>(info->dlpi_tls_data);
        return 1;
      },
      &found);
  return found;
}

}  // namespace

namespace detail {
void shared_outside(const volatile void* variable, std::size_t size, std::size_t alignment) {
  const auto* at = const_cast<const char*>(static_cast<const volatile char*>(variable));
  const std::lock_guard<std::mutex> lock(modules_mutex);
  outside()[at - thread_pointer()] = {size, alignment};
}
}  // namespace detail

namespace host {

bool static_shared(const void* kernel, std::size_t& size) {
  const std::lock_guard<std::mutex> lock(modules_mutex);
  static auto* const sizes = new std::map<const void*, std::size_t>;
  static auto* const modules = new std::map<std::uintptr_t, Module>;
  if (const auto found = sizes->find(kernel); found != sizes->end()) {
    size = found->second;
    return true;
  }
  Dl_info object;
  void* raw = nullptr;
  if (dladdr1(kernel, &object, &raw, RTLD_DL_LINKMAP) == 0 || raw == nullptr) return false;
  const auto* const map = static_cast<const link_map*>(raw);
  const Loaded where = loaded(map->l_addr);
  // The program itself has an empty name there.
  const char* const path = map->l_name != nullptr && map->l_name[0] != '\0' ? map->l_name : "/proc/self/exe";
  const auto [known, is_new] = modules->try_emplace(where.base);
  if (is_new) known->second = read_module(path);
  const Module& module = known->second;
  const std::size_t first = module.of(reinterpret_cast<std::uintptr_t>(kernel) - where.base);
  if (!module.complete || first == module.symbols.size()) return false;

  std::vector<bool> seen(module.symbols.size());
  std::vector<std::size_t> next{first};
  std::set<std::ptrdiff_t> counted;
  std::vector<Variable> variables;
  seen[first] = true;
  while (!next.empty()) {
    const std::size_t number = next.back();
    next.pop_back();
    const Module::Symbol& symbol = module.symbols[number];
    if (symbol.launches) continue;
    if (symbol.slot) {
      const auto& slot = *reinterpret_cast<const SharedSlot*>(where.base + symbol.start);
      if (!slot.own) variables.push_back({slot.size, slot.alignment});
      continue;
    }
    const auto [begin, end] = std::equal_range(module.uses.begin(), module.uses.end(), Module::Use{number, 0, false});
    for (auto use = begin; use != end; ++use) {
      if (use->thread_local_) {
        const std::ptrdiff_t behind = where.variables + use->address - thread_pointer();
        const auto found = outside().find(behind);
        if (found != outside().end() && counted.insert(behind).second) variables.push_back(found->second);
        continue;
      }
      const std::size_t used = module.of(use->address);
      if (used == module.symbols.size() || seen[used]) continue;
      seen[used] = true;
      next.push_back(used);
    }
  }
  // In the smallest possible space: the largest alignment comes first.
  const auto by_alignment = [](const Variable& a, const Variable& b) { return a.alignment > b.alignment; };
  std::sort(variables.begin(), variables.end(), by_alignment);
  size = 0;
  for (const auto& [bytes, alignment] : variables) size = (size + alignment - 1) / alignment * alignment + bytes;
  (*sizes)[kernel] = size;
  return true;
}

}  // namespace host
}  // namespace simt
