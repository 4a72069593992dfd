// SPDX-License-Identifier: Apache-2.0
// One line of JSON for each launch: the contents of all device memory after it. If the lines of two runs first differ
// at a launch, they differ because of that kernel.
#include <array>
#include <cstdio>
#include <mutex>

#include "internal.h"

namespace simt {
namespace {

/// CRC-32 as in zlib, whose polynomial this is.
std::uint32_t crc32(const void* data, std::size_t size) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> t{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
      t[i] = c;
    }
    return t;
  }();
  std::uint32_t c = 0xffffffffu;
  const auto* p = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) c = table[(c ^ p[i]) & 0xff] ^ c >> 8;
  return c ^ 0xffffffffu;
}

}  // namespace

void trace(const Launch& how, Started started, std::uint64_t number) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  FILE* file = std::fopen(settings().trace, "a");
  if (file == nullptr) return;
  std::fprintf(
      file,
      "{\"launch\": %llu, \"kernel\": \"%s\", \"file\": \"%s\", \"line\": %d, \"started\": %s, \"grid\": [%u, %u, %u], "
      "\"block\": [%u, %u, %u], \"shared\": %zu, \"memory\": [",
      static_cast<unsigned long long>(number), how.name, how.place.file, how.place.line,
      started == Started::yes ? "true" : "false", how.grid.x, how.grid.y, how.grid.z, how.block.x, how.block.y,
      how.block.z, how.shared);
  const char* comma = "";
  for (const Known& k : live()) {
    std::fprintf(file, "%s[%llu, %zu, %u]", comma, static_cast<unsigned long long>(k.number), k.allocation.size,
                 crc32(k.allocation.start, k.allocation.size));
    comma = ", ";
  }
  std::fputs("]}\n", file);
  std::fclose(file);
}

}  // namespace simt
