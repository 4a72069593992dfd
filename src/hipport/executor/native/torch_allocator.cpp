// SPDX-License-Identifier: Apache-2.0
// CPU tensors in the executor's memory: followed by a guard page, and filled with poison.
#define SIMT_RUNTIME  // for programs of either dialect
#include <c10/core/CPUAllocator.h>

#include "simt/core.h"

namespace {

void drop(void* address) {
  if (address != nullptr) simt::release(address);
}

struct Guarded final : c10::Allocator {
  c10::DataPtr allocate(std::size_t size) override {
    // Code recognizes an empty tensor by its null pointer.
    void* address = size == 0 ? nullptr : simt::allocate(size, simt::Memory::device, {"a tensor", 0});
    return {address, address, &drop, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &drop; }
  void copy_data(void* to, const void* from, std::size_t size) const override { default_copy_data(to, from, size); }
};

Guarded guarded;

}  // namespace

/// Allocate all tensors in such memory from now on.
extern "C" SIMT_EXPORT void simt_guard_tensors() { c10::SetCPUAllocator(&guarded, 255); }
