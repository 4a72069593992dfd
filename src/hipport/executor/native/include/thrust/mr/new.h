// SPDX-License-Identifier: Apache-2.0
// Device vectors use the executor's memory, between guard pages, which the runtime API knows as device memory.
#pragma once
#include <simt/thrust.h>
#include <thrust/mr/memory_resource.h>

#define new_delete_resource simt_not_this_resource
#include_next <thrust/mr/new.h>
#undef new_delete_resource

namespace thrust {
namespace mr {
class new_delete_resource final : public memory_resource<> {
 public:
  void* do_allocate(std::size_t bytes, std::size_t = alignof(std::max_align_t)) override {
    return ::simt::allocate(bytes != 0 ? bytes : 1, ::simt::Memory::device, ::simt::Place{"thrust", 0});
  }
  void do_deallocate(void* pointer, std::size_t, std::size_t = alignof(std::max_align_t)) override {
    ::simt::release(pointer);
  }
};
}  // namespace mr
}  // namespace thrust
