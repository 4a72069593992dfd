// SPDX-License-Identifier: Apache-2.0
// Tensors on the CPU in memory of the executor's: with a guard page behind them, and poison where nothing was written.
#define SIMT_RUNTIME  // serves programs of either dialect
#include <c10/core/CPUAllocator.h>

#include "simt/core.h"

namespace {

void drop(void* address) {
  if (address != nullptr) simt::release(address);
}

struct Guarded final : c10::Allocator {
  c10::DataPtr allocate(std::size_t size) override {
    // Code tells an empty tensor by its null pointer.
    void* address = size == 0 ? nullptr : simt::allocate(size, simt::Memory::device, {"a tensor", 0});
    return {address, address, &drop, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &drop; }
  void copy_data(void* to, const void* from, std::size_t size) const override { default_copy_data(to, from, size); }
};

Guarded guarded;

}  // namespace

/// Have all tensors from now on in such memory.
extern "C" SIMT_EXPORT void simt_guard_tensors() { c10::SetCPUAllocator(&guarded, 255); }
