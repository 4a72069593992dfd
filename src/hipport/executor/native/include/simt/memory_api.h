// SPDX-License-Identifier: Apache-2.0
// simt/memory_api.h: memory, copies and symbols of the runtime API. A copy is complete when its function returns.
#ifndef SIMT_MEMORY_API_H
#define SIMT_MEMORY_API_H

#include "host.h"

// ------------------------------------------------------------------------------------------------- linear memory

template <typename T>
hipError_t hipMalloc(T** pointer, std::size_t size, SIMT_HERE) {
  if (const hipError_t error = simt::host::may(simt::Unrecorded::allocation)) return error;
  return simt::host::allocate_into((void**)pointer, size, simt::Memory::device, SIMT_THERE);
}
template <typename T>
hipError_t hipExtMallocWithFlags(T** pointer, std::size_t size, unsigned, SIMT_HERE) {
  if (const hipError_t error = simt::host::may(simt::Unrecorded::allocation)) return error;
  return simt::host::allocate_into((void**)pointer, size, simt::Memory::device, SIMT_THERE);
}
template <typename T>
hipError_t hipMallocManaged(T** pointer, std::size_t size, unsigned flags = hipMemAttachGlobal, SIMT_HERE) {
  if (const hipError_t error = simt::host::may(simt::Unrecorded::allocation)) return error;
  if (flags != hipMemAttachGlobal && flags != hipMemAttachHost) return simt::host::result(hipErrorInvalidValue);
  return simt::host::allocate_into((void**)pointer, size, simt::Memory::managed, SIMT_THERE);
}
inline hipError_t hipFree(void* pointer) {
  if (const hipError_t error = simt::host::may(simt::Unrecorded::allocation)) return error;
  return simt::host::release_of(pointer, simt::Memory::device, simt::Memory::managed);
}

/// Rows of a pitched allocation start at multiples of it.
constexpr std::size_t simtPitchAlignment = simt::dialect == simt::Dialect::hip ? 256 : 512;

template <typename T>
hipError_t hipMallocPitch(T** pointer, std::size_t* pitch, std::size_t width, std::size_t height, SIMT_HERE) {
  if (const hipError_t error = simt::host::may(simt::Unrecorded::allocation)) return error;
  if (pitch == nullptr) return simt::host::result(hipErrorInvalidValue);
  *pitch = (width + simtPitchAlignment - 1) / simtPitchAlignment * simtPitchAlignment;
  return simt::host::allocate_into((void**)pointer, *pitch * height, simt::Memory::device, SIMT_THERE);
}
inline hipError_t hipMalloc3D(hipPitchedPtr* pitched, hipExtent extent, SIMT_HERE) {
  if (pitched == nullptr) return simt::host::result(hipErrorInvalidValue);
  pitched->xsize = extent.width;
  pitched->ysize = extent.height;
  return hipMallocPitch(&pitched->ptr, &pitched->pitch, extent.width, extent.height * extent.depth, simt_file,
                        simt_line);
}

inline hipError_t hipMemGetInfo(std::size_t* free, std::size_t* total) {
  const std::size_t all = simt::host::device_memory(), used = simt::host::used_memory();
  if (free != nullptr) *free = all - simt::host::smaller(all, used);
  if (total != nullptr) *total = all;
  return hipSuccess;
}
inline hipError_t hipMemPtrGetInfo(void* pointer, std::size_t* size) {
  const simt::Allocation allocation = simt::find(pointer);
  if (size == nullptr || allocation.kind == simt::Memory::none || allocation.start != pointer) {
    return simt::host::result(hipErrorInvalidValue);
  }
  *size = allocation.size;
  return hipSuccess;
}

// ------------------------------------------------------------------------------------------------- memory of the host

template <typename T>
hipError_t hipHostMalloc(T** pointer, std::size_t size, unsigned flags = hipHostMallocDefault, SIMT_HERE) {
  if (const hipError_t error = simt::host::may(simt::Unrecorded::allocation)) return error;
  const hipError_t error =
      simt::host::allocate_into((void**)pointer, size, simt::Memory::pinned, SIMT_THERE);
  if (error == hipSuccess && size != 0) simt::host::set_pinned_flags((const void*)*pointer, flags);
  return error;
}
template <typename T>
hipError_t hipHostAlloc(T** pointer, std::size_t size, unsigned flags = hipHostAllocDefault, SIMT_HERE) {
  return hipHostMalloc(pointer, size, flags, simt_file, simt_line);
}
template <typename T>
hipError_t hipMallocHost(T** pointer, std::size_t size, unsigned flags = hipHostMallocDefault, SIMT_HERE) {
  return hipHostMalloc(pointer, size, flags, simt_file, simt_line);
}
template <typename T>
hipError_t hipMemAllocHost(T** pointer, std::size_t size, SIMT_HERE) {
  return hipHostMalloc(pointer, size, hipHostMallocDefault, simt_file, simt_line);
}
inline hipError_t hipHostFree(void* pointer) {
  if (const hipError_t error = simt::host::may(simt::Unrecorded::allocation)) return error;
  return simt::host::release_of(pointer, simt::Memory::pinned, simt::Memory::pinned);
}
inline hipError_t hipFreeHost(void* pointer) { return hipHostFree(pointer); }

inline hipError_t hipHostRegister(void* pointer, std::size_t size, unsigned flags) {
  if (pointer == nullptr || size == 0) return simt::host::result(hipErrorInvalidValue);
  const bool added = simt::host::add_registered(pointer, size, flags);
  return added ? hipSuccess : simt::host::result(hipErrorHostMemoryAlreadyRegistered);
}
inline hipError_t hipHostUnregister(void* pointer) {
  if (pointer == nullptr) return simt::host::result(hipErrorInvalidValue);
  const bool was_there = simt::host::remove_registered(pointer);
  return was_there ? hipSuccess : simt::host::result(hipErrorHostMemoryNotRegistered);
}
template <typename T>
hipError_t hipHostGetDevicePointer(T** device, const void* host, unsigned flags) {
  if (device == nullptr || flags != 0 || simt::host::side(host) == simt::host::Side::host) {
    return simt::host::result(hipErrorInvalidValue);
  }
  *device = (T*)const_cast<void*>(host);
  return hipSuccess;
}
inline hipError_t hipHostGetFlags(unsigned* flags, void* pointer) {
  if (flags == nullptr) return simt::host::result(hipErrorInvalidValue);
  const simt::Allocation allocation = simt::find(pointer);
  if (allocation.kind == simt::Memory::pinned) {
    *flags = simt::host::pinned_flags(allocation.start);
    return hipSuccess;
  }
  return simt::host::is_registered(pointer, flags) ? hipSuccess : simt::host::result(hipErrorInvalidValue);
}

inline hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
  if (attributes == nullptr) return simt::host::result(hipErrorInvalidValue);
  const simt::Allocation allocation = simt::find(pointer);
  *attributes = {};
  void* const address = const_cast<void*>(pointer);
  attributes->devicePointer = address;
  switch (allocation.kind) {
    case simt::Memory::device:
    case simt::Memory::array: attributes->type = hipMemoryTypeDevice; break;
    case simt::Memory::managed:
      attributes->type = hipMemoryTypeManaged;
      attributes->hostPointer = address;
      attributes->isManaged = 1;
      break;
    case simt::Memory::pinned:
      attributes->type = hipMemoryTypeHost;
      attributes->hostPointer = address;
      break;
    case simt::Memory::none: {
      const bool registered = simt::host::is_registered(pointer);
      attributes->type = registered ? hipMemoryTypeHost : hipMemoryTypeUnregistered;
      attributes->hostPointer = address;
      if (!registered) {
        attributes->devicePointer = nullptr;
        attributes->device = -2;
      }
      break;
    }
  }
  return hipSuccess;
}

// ---------------------------------------------------------------------------------------------------------- copies

inline hipError_t hipMemcpy(void* to, const void* from, std::size_t size, hipMemcpyKind kind, SIMT_HERE) {
  if (const hipError_t error = simt::host::may(simt::Unrecorded::copy)) return error;
  return simt::host::copy(SIMT_CALLED("Memcpy"), to, from, size, kind, SIMT_THERE);
}
inline hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t size, hipMemcpyKind kind,
                                 hipStream_t stream = nullptr, SIMT_HERE) {
  return simt::host::asked(stream, simt::NodeKind::copy, [=] {
    return simt::host::copy(SIMT_CALLED("MemcpyAsync"), to, from, size, kind, SIMT_THERE);
  });
}
inline hipError_t hipMemcpyWithStream(void* to, const void* from, std::size_t size, hipMemcpyKind kind, hipStream_t,
                                      SIMT_HERE) {
  return simt::host::copy(SIMT_CALLED("MemcpyWithStream"), to, from, size, kind, SIMT_THERE);
}
inline hipError_t hipMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t size,
                                SIMT_HERE) {
  if (to_device != 0 || from_device != 0) return simt::host::result(hipErrorInvalidDevice);
  return simt::host::copy(SIMT_CALLED("MemcpyPeer"), to, from, size, hipMemcpyDeviceToDevice, SIMT_THERE);
}
inline hipError_t hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t size,
                                     hipStream_t = nullptr, SIMT_HERE) {
  return hipMemcpyPeer(to, to_device, from, from_device, size, simt_file, simt_line);
}

inline hipError_t simtMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, hipMemcpyKind kind, SIMT_HERE) {
  if (to_pitch < width || from_pitch < width) return simt::host::result(hipErrorInvalidPitchValue);
  return simt::host::copy(SIMT_CALLED("Memcpy2D"), {to, to_pitch, 0}, {from, from_pitch, 0}, width, height, 1, kind,
                          SIMT_THERE);
}
inline hipError_t hipMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, hipMemcpyKind kind, SIMT_HERE) {
  if (const hipError_t error = simt::host::may(simt::Unrecorded::copy)) return error;
  return simtMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind, simt_file, simt_line);
}
inline hipError_t hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                   std::size_t width, std::size_t height, hipMemcpyKind kind,
                                   hipStream_t stream = nullptr, SIMT_HERE) {
  return simt::host::asked(stream, simt::NodeKind::copy, [=] {
    return simtMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind, simt_file, simt_line);
  });
}

inline hipPitchedPtr make_hipPitchedPtr(void* pointer, std::size_t pitch, std::size_t xsize, std::size_t ysize) {
  return {pointer, pitch, xsize, ysize};
}
inline hipExtent make_hipExtent(std::size_t width, std::size_t height, std::size_t depth) {
  return {width, height, depth};
}
inline hipPos make_hipPos(std::size_t x, std::size_t y, std::size_t z) { return {x, y, z}; }

namespace simt {
namespace host {

/// One side of a 3D copy: an array, whose positions count elements, or a pitched pointer.
inline Box side_of_3d(const hipArray* array, hipPos at, hipPitchedPtr pitched) {
  Box box{};
  if (array != nullptr) {
    box.pitch = array->pitch();
    box.slice = box.pitch * (array->height ? array->height : 1);
    box.start = array->data;
    box.start = box.row(at.y, at.z) + at.x * array->element;
  } else if (pitched.ptr != nullptr) {
    box.pitch = pitched.pitch;
    box.slice = pitched.pitch * pitched.ysize;
    box.start = pitched.ptr;
    box.start = box.row(at.y, at.z) + at.x;
  }
  return box;
}

/// Fault if a copy leaves the array: a row that is too long would write into the next one.
inline hipError_t check_array(const hipArray* array, std::size_t x, std::size_t y, std::size_t z, std::size_t width,
                              std::size_t height, std::size_t depth) {
  const bool inside = x + width <= array->pitch() && y + height <= (array->height ? array->height : 1) &&
                      z + depth <= (array->depth ? array->depth : 1);
  return inside ? hipSuccess : hipErrorInvalidValue;
}

}  // namespace host
}  // namespace simt

inline hipError_t simtMemcpy3D(const hipMemcpy3DParms* p, SIMT_HERE) {
  if (p == nullptr) return simt::host::result(hipErrorInvalidValue);
  const hipArray* const array = p->srcArray != nullptr ? p->srcArray : p->dstArray;
  // The width counts elements if an array takes part, bytes otherwise.
  const std::size_t element = array != nullptr ? array->element : 1, width = p->extent.width * element;
  for (const auto& [each, at] : {std::pair{p->srcArray, p->srcPos}, std::pair{p->dstArray, p->dstPos}}) {
    if (each == nullptr) continue;
    if (const hipError_t error = simt::host::check_array(each, at.x * each->element, at.y, at.z, width,
                                                         p->extent.height, p->extent.depth)) {
      return simt::host::result(error);
    }
  }
  return simt::host::copy(SIMT_CALLED("Memcpy3D"), simt::host::side_of_3d(p->dstArray, p->dstPos, p->dstPtr),
                          simt::host::side_of_3d(p->srcArray, p->srcPos, p->srcPtr), width, p->extent.height,
                          p->extent.depth, p->kind, SIMT_THERE);
}
inline hipError_t hipMemcpy3D(const hipMemcpy3DParms* p, SIMT_HERE) {
  if (const hipError_t error = simt::host::may(simt::Unrecorded::copy)) return error;
  return simtMemcpy3D(p, simt_file, simt_line);
}
inline hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms* p, hipStream_t stream = nullptr, SIMT_HERE) {
  if (p == nullptr) return simt::host::result(hipErrorInvalidValue);
  return simt::host::asked(stream, simt::NodeKind::copy, [simt_file, simt_line, how = *p] {
    return simtMemcpy3D(&how, simt_file, simt_line);
  }, *p);
}

inline hipError_t hipMemcpy3DPeerAsync(const hipMemcpy3DPeerParms* p, hipStream_t stream = nullptr, SIMT_HERE) {
  if (p == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (p->srcDevice != 0 || p->dstDevice != 0) return simt::host::result(hipErrorInvalidDevice);
  const hipMemcpy3DParms one{p->srcArray, p->srcPos, p->srcPtr, p->dstArray,
                             p->dstPos,   p->dstPtr, p->extent, hipMemcpyDeviceToDevice};
  return hipMemcpy3DAsync(&one, stream, simt_file, simt_line);
}
inline hipError_t hipMemcpy3DPeer(const hipMemcpy3DPeerParms* p, SIMT_HERE) {
  return hipMemcpy3DPeerAsync(p, nullptr, simt_file, simt_line);
}

// ---------------------------------------------------------------------------------------------------------- memset

inline hipError_t hipMemset(void* to, int value, std::size_t size, SIMT_HERE) {
  if (const hipError_t error = simt::host::may(simt::Unrecorded::copy)) return error;
  return simt::host::fill(SIMT_CALLED("Memset"), {to, size, 0}, static_cast<unsigned char>(value), size, 1, 1,
                          SIMT_THERE);
}
inline hipError_t hipMemsetAsync(void* to, int value, std::size_t size, hipStream_t stream = nullptr, SIMT_HERE) {
  return simt::host::asked(stream, simt::NodeKind::set, [=] {
    return simt::host::fill(SIMT_CALLED("MemsetAsync"), {to, size, 0}, static_cast<unsigned char>(value), size, 1, 1,
                            SIMT_THERE);
  });
}
inline hipError_t simtMemset2D(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              SIMT_HERE) {
  return simt::host::fill(SIMT_CALLED("Memset2D"), {to, pitch, 0}, static_cast<unsigned char>(value), width, height, 1,
                          SIMT_THERE);
}
inline hipError_t hipMemset2D(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              SIMT_HERE) {
  if (const hipError_t error = simt::host::may(simt::Unrecorded::copy)) return error;
  return simtMemset2D(to, pitch, value, width, height, simt_file, simt_line);
}
inline hipError_t hipMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                                   hipStream_t stream = nullptr, SIMT_HERE) {
  return simt::host::asked(stream, simt::NodeKind::set, [=] {
    return simtMemset2D(to, pitch, value, width, height, simt_file, simt_line);
  });
}
inline hipError_t hipMemset3D(hipPitchedPtr to, int value, hipExtent extent, SIMT_HERE) {
  return simt::host::fill(SIMT_CALLED("Memset3D"), {to.ptr, to.pitch, to.pitch * to.ysize},
                          static_cast<unsigned char>(value), extent.width, extent.height, extent.depth, SIMT_THERE);
}
inline hipError_t hipMemset3DAsync(hipPitchedPtr to, int value, hipExtent extent, hipStream_t = nullptr, SIMT_HERE) {
  return hipMemset3D(to, value, extent, simt_file, simt_line);
}

// ---------------------------------------------------------------------------------------------------------- arrays

template <typename T>
hipChannelFormatDesc hipCreateChannelDesc();

inline hipChannelFormatDesc hipCreateChannelDesc(int x, int y, int z, int w, hipChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

inline hipError_t hipMalloc3DArray(hipArray_t* array, const hipChannelFormatDesc* desc, hipExtent extent,
                                   unsigned flags = 0, SIMT_HERE) {
  if (array == nullptr || desc == nullptr || extent.width == 0) return simt::host::result(hipErrorInvalidValue);
  const bool is_cube = (flags & hipArrayCubemap) != 0, has_layers = (flags & hipArrayLayered) != 0;
  if (is_cube && (extent.width != extent.height || (has_layers ? extent.depth % 6 != 0 || extent.depth == 0 : extent.depth != 6))) {
    return simt::host::result(hipErrorInvalidValue);
  }
  const int bits = desc->x + desc->y + desc->z + desc->w;
  if (bits <= 0 || bits % 8 != 0) return simt::host::result(hipErrorInvalidChannelDescriptor);
  hipArray made{};
  made.desc = *desc;
  made.width = extent.width;
  made.height = extent.height;
  made.depth = extent.depth;
  made.element = static_cast<std::size_t>(bits) / 8;
  made.flags = flags;
  const hipError_t error =
      simt::host::allocate_into(&made.data, made.bytes(), simt::Memory::array, SIMT_THERE);
  if (error != hipSuccess) return error;
  *array = new hipArray(made);
  simt::host::add_handle(*array, simt::host::HandleKind::array);
  return hipSuccess;
}
inline hipError_t hipMallocArray(hipArray_t* array, const hipChannelFormatDesc* desc, std::size_t width,
                                 std::size_t height = 0, unsigned flags = 0, SIMT_HERE) {
  return hipMalloc3DArray(array, desc, {width, height, 0}, flags, simt_file, simt_line);
}
inline hipError_t hipFreeArray(hipArray_t array) {
  if (array == nullptr) return hipSuccess;
  if (!simt::host::remove_handle(array, simt::host::HandleKind::array)) {
    return simt::host::result(hipErrorInvalidHandle);
  }
  const hipError_t error = simt::host::release_of(array->data, simt::Memory::array, simt::Memory::array);
  delete array;
  return error;
}
inline hipError_t hipArrayGetInfo(hipChannelFormatDesc* desc, hipExtent* extent, unsigned* flags, hipArray_t array) {
  if (!simt::host::has_handle(array, simt::host::HandleKind::array)) {
    return simt::host::result(hipErrorInvalidHandle);
  }
  if (desc != nullptr) *desc = array->desc;
  if (extent != nullptr) *extent = {array->width, array->height, array->depth};
  if (flags != nullptr) *flags = array->flags;
  return hipSuccess;
}
inline hipError_t hipGetChannelDesc(hipChannelFormatDesc* desc, hipArray_const_t array) {
  if (desc == nullptr || !simt::host::has_handle(array, simt::host::HandleKind::array)) {
    return simt::host::result(hipErrorInvalidValue);
  }
  *desc = array->desc;
  return hipSuccess;
}

inline hipError_t hipMemcpy2DToArray(hipArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                                     std::size_t width, std::size_t height, hipMemcpyKind kind, SIMT_HERE) {
  if (to == nullptr || simt::host::check_array(to, x, y, 0, width, height, 1)) {
    return simt::host::result(hipErrorInvalidValue);
  }
  char* const start = static_cast<char*>(to->data) + y * to->pitch() + x;
  return simt::host::copy(SIMT_CALLED("Memcpy2DToArray"), {start, to->pitch(), 0}, {from, pitch, 0}, width, height, 1,
                          kind, SIMT_THERE);
}
inline hipError_t hipMemcpy2DToArrayAsync(hipArray_t to, std::size_t x, std::size_t y, const void* from,
                                          std::size_t pitch, std::size_t width, std::size_t height,
                                          hipMemcpyKind kind, hipStream_t = nullptr, SIMT_HERE) {
  return hipMemcpy2DToArray(to, x, y, from, pitch, width, height, kind, simt_file, simt_line);
}
inline hipError_t hipMemcpy2DFromArray(void* to, std::size_t pitch, hipArray_const_t from, std::size_t x,
                                       std::size_t y, std::size_t width, std::size_t height, hipMemcpyKind kind,
                                       SIMT_HERE) {
  if (from == nullptr || simt::host::check_array(from, x, y, 0, width, height, 1)) {
    return simt::host::result(hipErrorInvalidValue);
  }
  const char* const start = static_cast<const char*>(from->data) + y * from->pitch() + x;
  return simt::host::copy(SIMT_CALLED("Memcpy2DFromArray"), {to, pitch, 0}, {start, from->pitch(), 0}, width, height, 1,
                          kind, SIMT_THERE);
}
inline hipError_t hipMemcpy2DFromArrayAsync(void* to, std::size_t pitch, hipArray_const_t from, std::size_t x,
                                            std::size_t y, std::size_t width, std::size_t height, hipMemcpyKind kind,
                                            hipStream_t = nullptr, SIMT_HERE) {
  return hipMemcpy2DFromArray(to, pitch, from, x, y, width, height, kind, simt_file, simt_line);
}
inline hipError_t hipMemcpy2DArrayToArray(hipArray_t to, std::size_t to_x, std::size_t to_y, hipArray_const_t from,
                                          std::size_t x, std::size_t y, std::size_t width, std::size_t height,
                                          hipMemcpyKind kind = hipMemcpyDeviceToDevice, SIMT_HERE) {
  if (from == nullptr || simt::host::check_array(from, x, y, 0, width, height, 1)) {
    return simt::host::result(hipErrorInvalidValue);
  }
  const char* const start = static_cast<const char*>(from->data) + y * from->pitch() + x;
  return hipMemcpy2DToArray(to, to_x, to_y, start, from->pitch(), width, height, kind, simt_file, simt_line);
}
/// `count` bytes from the position on, across the ends of rows.
inline hipError_t hipMemcpyToArray(hipArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t count,
                                   hipMemcpyKind kind, SIMT_HERE) {
  if (to == nullptr) return simt::host::result(hipErrorInvalidValue);
  return simt::host::copy(SIMT_CALLED("MemcpyToArray"), static_cast<char*>(to->data) + y * to->pitch() + x, from, count,
                          kind, SIMT_THERE);
}
inline hipError_t hipMemcpyFromArray(void* to, hipArray_const_t from, std::size_t x, std::size_t y, std::size_t count,
                                     hipMemcpyKind kind, SIMT_HERE) {
  if (from == nullptr) return simt::host::result(hipErrorInvalidValue);
  return simt::host::copy(SIMT_CALLED("MemcpyFromArray"), to, static_cast<char*>(from->data) + y * from->pitch() + x,
                          count, kind, SIMT_THERE);
}

inline hipError_t simtMemcpyToArrayAsync(hipArray_t to, std::size_t x, std::size_t y, const void* from,
                                        std::size_t count, hipMemcpyKind kind, hipStream_t = nullptr, SIMT_HERE) {
  return hipMemcpyToArray(to, x, y, from, count, kind, simt_file, simt_line);
}
inline hipError_t simtMemcpyFromArrayAsync(void* to, hipArray_const_t from, std::size_t x, std::size_t y,
                                          std::size_t count, hipMemcpyKind kind, hipStream_t = nullptr, SIMT_HERE) {
  return hipMemcpyFromArray(to, from, x, y, count, kind, simt_file, simt_line);
}

// --------------------------------------------------------------------------------------------------------- symbols

#define HIP_SYMBOL(symbol) symbol

namespace simt {
namespace host {

/// A symbol of the program: its address and its size, 0 if that cannot be known.
struct Symbol {
  void* address;
  std::size_t size;
};

/// A symbol is a variable, or its address as `const void*`. As in CUDA, no other pointer is: a pointer is the variable
/// itself.
template <typename T>
Symbol symbol_of(T&& symbol) {
  using Variable = std::remove_reference_t<T>;
  if constexpr (std::is_same_v<std::remove_const_t<Variable>, const void*>) {
    return {const_cast<void*>(symbol), 0};
  } else if constexpr (std::is_lvalue_reference_v<T>) {
    return {const_cast<void*>(static_cast<const volatile void*>(__builtin_addressof(symbol))), sizeof(Variable)};
  } else {
    return {nullptr, 0};  // a temporary, or `&variable`
  }
}

template <typename T>
constexpr bool can_be_written = !std::is_const_v<std::remove_all_extents_t<std::remove_reference_t<T>>> ||
                                std::is_same_v<std::remove_const_t<std::remove_reference_t<T>>, const void*>;

inline hipError_t copy_symbol(const char* name, Symbol symbol, bool write, const void* memory, std::size_t count,
                              std::size_t offset, hipMemcpyKind kind, Place place) {
  if (symbol.address == nullptr) return result(hipErrorInvalidSymbol);
  if (symbol.size != 0 && (offset > symbol.size || count > symbol.size - offset)) {
    fault("out-of-bounds", place, "%s: %zu bytes at offset %zu of a symbol of %zu bytes", name, count, offset,
          symbol.size);
  }
  const bool device_side = kind == hipMemcpyDeviceToDevice || kind == hipMemcpyDefault ||
                           kind == (write ? hipMemcpyHostToDevice : hipMemcpyDeviceToHost);
  if (!device_side) return result(hipErrorInvalidMemcpyDirection);
  char* const at = static_cast<char*>(symbol.address) + offset;
  void* const other = const_cast<void*>(memory);
  return write ? copy(name, at, other, count, kind, place) : copy(name, other, at, count, kind, place);
}

}  // namespace host
}  // namespace simt

template <typename T>
hipError_t hipMemcpyToSymbol(T&& symbol, const void* from, std::size_t count, std::size_t offset = 0,
                             hipMemcpyKind kind = hipMemcpyHostToDevice, SIMT_HERE) {
  if (const hipError_t error = simt::host::may(simt::Unrecorded::copy)) return error;
  static_assert(simt::host::can_be_written<T>, "a copy to a symbol that is const: the compiler has used its value");
  return simt::host::copy_symbol(SIMT_CALLED("MemcpyToSymbol"), simt::host::symbol_of(std::forward<T>(symbol)), true,
                                 from, count, offset, kind, SIMT_THERE);
}
template <typename T>
hipError_t hipMemcpyToSymbolAsync(T&& symbol, const void* from, std::size_t count, std::size_t offset,
                                  hipMemcpyKind kind, hipStream_t stream = nullptr, SIMT_HERE) {
  static_assert(simt::host::can_be_written<T>, "a copy to a symbol that is const: the compiler has used its value");
  return simt::host::asked(stream, simt::NodeKind::copy,
                           [=, known = simt::host::symbol_of(std::forward<T>(symbol))] {
    return simt::host::copy_symbol(SIMT_CALLED("MemcpyToSymbolAsync"), known, true, from, count, offset, kind,
                                   SIMT_THERE);
  });
}
template <typename T>
hipError_t hipMemcpyFromSymbol(void* to, T&& symbol, std::size_t count, std::size_t offset = 0,
                               hipMemcpyKind kind = hipMemcpyDeviceToHost, SIMT_HERE) {
  if (const hipError_t error = simt::host::may(simt::Unrecorded::copy)) return error;
  return simt::host::copy_symbol(SIMT_CALLED("MemcpyFromSymbol"), simt::host::symbol_of(std::forward<T>(symbol)), false,
                                 to, count, offset, kind, SIMT_THERE);
}
template <typename T>
hipError_t hipMemcpyFromSymbolAsync(void* to, T&& symbol, std::size_t count, std::size_t offset, hipMemcpyKind kind,
                                    hipStream_t stream = nullptr, SIMT_HERE) {
  return simt::host::asked(stream, simt::NodeKind::copy,
                           [=, known = simt::host::symbol_of(std::forward<T>(symbol))] {
    return simt::host::copy_symbol(SIMT_CALLED("MemcpyFromSymbolAsync"), known, false, to, count, offset, kind,
                                   SIMT_THERE);
  });
}
template <typename P, typename T>
hipError_t hipGetSymbolAddress(P** address, T&& symbol) {
  const simt::host::Symbol found = simt::host::symbol_of(std::forward<T>(symbol));
  if (address == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (found.address == nullptr) return simt::host::result(hipErrorInvalidSymbol);
  *address = (P*)found.address;
  return hipSuccess;
}
template <typename T>
hipError_t hipGetSymbolSize(std::size_t* size, T&& symbol) {
  const simt::host::Symbol found = simt::host::symbol_of(std::forward<T>(symbol));
  if (size == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (found.size == 0) return simt::host::result(hipErrorInvalidSymbol);
  *size = found.size;
  return hipSuccess;
}

// --------------------------------------------------------------------------------- managed memory and memory pools

namespace simt {
namespace host {
/// Managed memory, or a variable, which may be managed.
inline bool is_managed(const void* pointer) {
  const Memory kind = find(pointer).kind;
  return kind == Memory::managed || (kind == Memory::none && is_variable(pointer));
}
}  // namespace host
}  // namespace simt

inline hipError_t hipMemAdvise(const void* pointer, std::size_t, hipMemoryAdvise, int) {
  return simt::host::is_managed(pointer) ? hipSuccess : simt::host::result(hipErrorInvalidValue);
}
inline hipError_t hipMemPrefetchAsync(const void* pointer, std::size_t size, int device, hipStream_t = nullptr,
                                      SIMT_HERE) {
  if (!simt::host::is_managed(pointer)) return simt::host::result(hipErrorInvalidValue);
  if (device != 0 && device != hipCpuDeviceId) return simt::host::result(hipErrorInvalidDevice);
  simt::check_range(SIMT_CALLED("MemPrefetchAsync"), pointer, size, SIMT_THERE);
  return hipSuccess;
}
inline hipError_t hipMemPrefetchAsync(const void* pointer, std::size_t size, hipMemLocation location, unsigned,
                                      hipStream_t = nullptr, SIMT_HERE) {
  const int device = location.type == hipMemLocationTypeDevice ? location.id : hipCpuDeviceId;
  return hipMemPrefetchAsync(pointer, size, device, nullptr, simt_file, simt_line);
}
inline hipError_t hipMemAdvise(const void* pointer, std::size_t size, hipMemoryAdvise advice, hipMemLocation) {
  return hipMemAdvise(pointer, size, advice, 0);
}
inline hipError_t hipStreamAttachMemAsync(hipStream_t, void* pointer, std::size_t = 0, unsigned = hipMemAttachSingle) {
  return simt::host::is_managed(pointer) ? hipSuccess : simt::host::result(hipErrorInvalidValue);
}

/// A memory pool: its settings are kept, but allocations do not come from it.
struct ihipMemPoolHandle_t {
  std::uint64_t values[9] = {0, 1, 1, 1, 0, 0, 0, 0, 0};
};
inline hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t* pool, int device) {
  if (device != 0) return simt::host::result(hipErrorInvalidDevice);
  static ihipMemPoolHandle_t default_pool;
  *pool = &default_pool;
  return hipSuccess;
}
inline hipError_t hipDeviceGetMemPool(hipMemPool_t* pool, int device) {
  return hipDeviceGetDefaultMemPool(pool, device);
}
inline hipError_t hipDeviceSetMemPool(int device, hipMemPool_t pool) {
  return device == 0 && pool != nullptr ? hipSuccess : simt::host::result(hipErrorInvalidValue);
}
inline hipError_t hipMemPoolCreate(hipMemPool_t* pool, const hipMemPoolProps* properties) {
  if (pool == nullptr || properties == nullptr) return simt::host::result(hipErrorInvalidValue);
  *pool = new ihipMemPoolHandle_t;
  simt::host::add_handle(*pool, simt::host::HandleKind::pool);
  return hipSuccess;
}
inline hipError_t hipMemPoolDestroy(hipMemPool_t pool) {
  if (!simt::host::remove_handle(pool, simt::host::HandleKind::pool)) {
    return simt::host::result(hipErrorInvalidValue);
  }
  delete pool;
  return hipSuccess;
}
namespace simt {
namespace host {
/// Reserved and used memory count all memory of the device; the other attributes are set by programs.
inline bool is_memory_in_use(hipMemPoolAttr attribute) { return attribute >= hipMemPoolAttrReservedMemCurrent; }
inline bool is_64_bits(hipMemPoolAttr attribute) { return attribute >= hipMemPoolAttrReleaseThreshold; }
}  // namespace host
}  // namespace simt
inline hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void* value) {
  if (pool == nullptr || value == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (simt::host::is_64_bits(attribute)) {
    pool->values[attribute] = *static_cast<std::uint64_t*>(value);
  } else {
    pool->values[attribute] = static_cast<std::uint64_t>(*static_cast<int*>(value));
  }
  return hipSuccess;
}
inline hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void* value) {
  if (pool == nullptr || value == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (simt::host::is_memory_in_use(attribute)) {
    *static_cast<std::uint64_t*>(value) = simt::host::used_memory();
  } else if (simt::host::is_64_bits(attribute)) {
    *static_cast<std::uint64_t*>(value) = pool->values[attribute];
  } else {
    *static_cast<int*>(value) = static_cast<int>(pool->values[attribute]);
  }
  return hipSuccess;
}
inline hipError_t hipMemPoolTrimTo(hipMemPool_t pool, std::size_t) {
  return pool != nullptr ? hipSuccess : simt::host::result(hipErrorInvalidValue);
}
inline hipError_t hipMemPoolSetAccess(hipMemPool_t pool, const hipMemAccessDesc*, std::size_t) {
  return pool != nullptr ? hipSuccess : simt::host::result(hipErrorInvalidValue);
}
inline hipError_t hipMemPoolGetAccess(hipMemAccessFlags* flags, hipMemPool_t pool, hipMemLocation* location) {
  if (flags == nullptr || pool == nullptr || location == nullptr) return simt::host::result(hipErrorInvalidValue);
  const bool is_device = location->type == hipMemLocationTypeDevice && location->id == 0;
  *flags = is_device ? hipMemAccessFlagsProtReadWrite : hipMemAccessFlagsProtNone;
  return hipSuccess;
}

template <typename T>
hipError_t hipMallocAsync(T** pointer, std::size_t size, hipStream_t, SIMT_HERE) {
  return simt::host::allocate_into((void**)pointer, size, simt::Memory::device, SIMT_THERE);
}
template <typename T>
hipError_t hipMallocAsync(T** pointer, std::size_t size, hipMemPool_t, hipStream_t, SIMT_HERE) {
  return simt::host::allocate_into((void**)pointer, size, simt::Memory::device, SIMT_THERE);
}
template <typename T>
hipError_t hipMallocFromPoolAsync(T** pointer, std::size_t size, hipMemPool_t, hipStream_t, SIMT_HERE) {
  return simt::host::allocate_into((void**)pointer, size, simt::Memory::device, SIMT_THERE);
}
inline hipError_t hipFreeAsync(void* pointer, hipStream_t stream) {
  // A graph allocates its memory once.
  if (simt::records(stream)) return hipSuccess;
  return simt::host::release_of(pointer, simt::Memory::device, simt::Memory::managed);
}

#endif
