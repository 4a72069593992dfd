// SPDX-License-Identifier: Apache-2.0
// simt/torch.h: the parts of PyTorch's CUDA side that extensions call, for tensors in the CPU's memory.
//
// There is one device, number 0, and every stream is synchronous. Signatures follow PyTorch 2.13's c10/cuda and
// ATen/cuda headers. One implementation serves both vendors: a port keeps PyTorch's CUDA names, and `c10::hip` has the
// names that PyTorch's hipify generates.
#ifndef SIMT_TORCH_H
#define SIMT_TORCH_H

#include "simt/core.h"
#include "simt/torch_headers.h"
#include "simt/torch_macros.h"

#ifdef SIMT_HIP
#include <hip/hip_runtime.h>
#define SIMT_API(name) hip##name
#else
#include <cuda_runtime.h>
#define SIMT_API(name) cuda##name
#endif

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace simt::torch_glue {

using Stream = SIMT_API(Stream_t);
using Error = SIMT_API(Error_t);
using Event = SIMT_API(Event_t);
using Properties =
#ifdef SIMT_HIP
    hipDeviceProp_t;
#else
    cudaDeviceProp;
#endif

inline void check(Error error, const char* file, int line, const char* what) {
  if (error == SIMT_API(Success)) return;
  const std::string message = std::string("CUDA error: ") + SIMT_API(GetErrorString)(error);
  throw c10::Error({what, file, static_cast<std::uint32_t>(line)}, message);
}

/// The stream of this thread; all are equivalent, but some code compares them.
inline Stream& current_stream() {
  static thread_local Stream stream = nullptr;
  return stream;
}

inline Properties& properties() {
  static Properties known = [] {
    Properties p;
    check(SIMT_API(GetDeviceProperties)(&p, 0), __FILE__, __LINE__, "properties");
    return p;
  }();
  return known;
}

/// The device that every tensor reports.
inline c10::Device device() { return {c10::DeviceType::CPU, -1}; }

}  // namespace simt::torch_glue

#define C10_CUDA_CHECK(...) ::simt::torch_glue::check((__VA_ARGS__), __FILE__, __LINE__, __func__)
#define C10_CUDA_CHECK_WARN(...) ((void)(__VA_ARGS__))
#define C10_CUDA_ERROR_HANDLED(...) (__VA_ARGS__)
#define C10_CUDA_IGNORE_ERROR(...) ((void)(__VA_ARGS__))
#define C10_CUDA_CLEAR_ERROR() ((void)SIMT_API(GetLastError)())
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(SIMT_API(GetLastError)())
#define TORCH_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_KERNEL_LAUNCH_CHECK()
#define AT_CUDA_CHECK(...) C10_CUDA_CHECK(__VA_ARGS__)
#define CUDA_CHECK_LAUNCH() C10_CUDA_KERNEL_LAUNCH_CHECK()
#define C10_HIP_CHECK(...) C10_CUDA_CHECK(__VA_ARGS__)
#define C10_HIP_CHECK_WARN(...) C10_CUDA_CHECK_WARN(__VA_ARGS__)
#define C10_HIP_ERROR_HANDLED(...) C10_CUDA_ERROR_HANDLED(__VA_ARGS__)
#define C10_HIP_IGNORE_ERROR(...) C10_CUDA_IGNORE_ERROR(__VA_ARGS__)
#define C10_HIP_CLEAR_ERROR() C10_CUDA_CLEAR_ERROR()
#define C10_HIP_KERNEL_LAUNCH_CHECK() C10_CUDA_KERNEL_LAUNCH_CHECK()
#define C10_CUDA_API
#define C10_CUDA_EXPORT
#define C10_CUDA_IMPORT

namespace c10::cuda {

class CUDAStream {
 public:
  enum Unchecked { UNCHECKED };
  explicit CUDAStream(c10::Stream stream) : stream_(stream) {}
  explicit CUDAStream(Unchecked, c10::Stream stream) : stream_(stream) {}
  CUDAStream(simt::torch_glue::Stream raw, int)
      : stream_(c10::Stream::DEFAULT, simt::torch_glue::device()), raw_(raw) {}

  bool operator==(const CUDAStream& other) const noexcept { return raw_ == other.raw_; }
  bool operator!=(const CUDAStream& other) const noexcept { return raw_ != other.raw_; }
  operator simt::torch_glue::Stream() const { return raw_; }
  operator c10::Stream() const { return stream_; }
  simt::torch_glue::Stream stream() const { return raw_; }
  c10::Stream unwrap() const { return stream_; }
  c10::DeviceType device_type() const { return stream_.device_type(); }
  c10::DeviceIndex device_index() const { return 0; }
  c10::Device device() const { return stream_.device(); }
  c10::StreamId id() const { return stream_.id(); }
  bool query() const { return true; }
  bool is_capturing() const { return false; }
  void synchronize() const { C10_CUDA_CHECK(SIMT_API(StreamSynchronize)(raw_)); }
  int priority() const { return 0; }

 private:
  c10::Stream stream_;
  simt::torch_glue::Stream raw_ = nullptr;
};

inline CUDAStream getDefaultCUDAStream(c10::DeviceIndex = -1) { return CUDAStream(nullptr, 0); }
inline CUDAStream getCurrentCUDAStream(c10::DeviceIndex = -1) {
  return CUDAStream(simt::torch_glue::current_stream(), 0);
}
inline CUDAStream getStreamFromExternal(simt::torch_glue::Stream stream, c10::DeviceIndex) {
  return CUDAStream(stream, 0);
}
inline void setCurrentCUDAStream(CUDAStream stream) { simt::torch_glue::current_stream() = stream.stream(); }
inline CUDAStream getStreamFromPool(bool = false, c10::DeviceIndex = -1) {
  // Kept as long as the program runs, as PyTorch keeps its own.
  static thread_local simt::torch_glue::Stream stream = [] {
    simt::torch_glue::Stream made = nullptr;
    C10_CUDA_CHECK(SIMT_API(StreamCreate)(&made));
    return made;
  }();
  return CUDAStream(stream, 0);
}
inline CUDAStream getStreamFromPool(int, c10::DeviceIndex device = -1) { return getStreamFromPool(false, device); }

inline c10::DeviceIndex device_count() noexcept { return 1; }
inline c10::DeviceIndex device_count_ensure_non_zero() { return 1; }
inline c10::DeviceIndex current_device() { return 0; }
inline void set_device(c10::DeviceIndex, bool = false) {}
inline simt::torch_glue::Error SetDevice(c10::DeviceIndex, bool = false) { return SIMT_API(Success); }
inline simt::torch_glue::Error MaybeSetDevice(c10::DeviceIndex) { return SIMT_API(Success); }
inline simt::torch_glue::Error GetDevice(c10::DeviceIndex* device) {
  *device = 0;
  return SIMT_API(Success);
}
inline c10::DeviceIndex ExchangeDevice(c10::DeviceIndex) { return 0; }
inline c10::DeviceIndex MaybeExchangeDevice(c10::DeviceIndex) { return 0; }
inline void device_synchronize() { C10_CUDA_CHECK(SIMT_API(DeviceSynchronize)()); }
inline void stream_synchronize(simt::torch_glue::Stream stream) { C10_CUDA_CHECK(SIMT_API(StreamSynchronize)(stream)); }

/// A guard of the only device. The argument may be a device, an index or an optional of either.
struct CUDAGuard {
  CUDAGuard() = delete;
  explicit CUDAGuard(c10::DeviceIndex) {}
  explicit CUDAGuard(c10::Device) {}
  CUDAGuard(const CUDAGuard&) = delete;
  CUDAGuard& operator=(const CUDAGuard&) = delete;
  void set_device(c10::Device) {}
  void reset_device(c10::Device) {}
  void set_index(c10::DeviceIndex) {}
  c10::Device original_device() const { return simt::torch_glue::device(); }
  c10::Device current_device() const { return simt::torch_glue::device(); }
  ~CUDAGuard() {}  // avoids a warning about an unused variable
};

struct OptionalCUDAGuard {
  OptionalCUDAGuard() {}
  explicit OptionalCUDAGuard(std::optional<c10::Device>) {}
  explicit OptionalCUDAGuard(std::optional<c10::DeviceIndex>) {}
  OptionalCUDAGuard(const OptionalCUDAGuard&) = delete;
  OptionalCUDAGuard& operator=(const OptionalCUDAGuard&) = delete;
  void set_device(c10::Device) {}
  void reset_device(c10::Device) {}
  void set_index(c10::DeviceIndex) {}
  std::optional<c10::Device> original_device() const { return simt::torch_glue::device(); }
  std::optional<c10::Device> current_device() const { return simt::torch_glue::device(); }
  void reset() {}
  ~OptionalCUDAGuard() {}
};

class CUDAStreamGuard {
 public:
  explicit CUDAStreamGuard(CUDAStream stream) : before_(simt::torch_glue::current_stream()) { reset_stream(stream); }
  explicit CUDAStreamGuard(c10::Stream stream) : CUDAStreamGuard(CUDAStream(stream)) {}
  CUDAStreamGuard(const CUDAStreamGuard&) = delete;
  CUDAStreamGuard& operator=(const CUDAStreamGuard&) = delete;
  ~CUDAStreamGuard() { simt::torch_glue::current_stream() = before_; }
  void reset_stream(CUDAStream stream) { setCurrentCUDAStream(stream); }
  CUDAStream original_stream() const { return CUDAStream(before_, 0); }
  CUDAStream current_stream() const { return getCurrentCUDAStream(); }
  c10::Device current_device() const { return simt::torch_glue::device(); }
  c10::Device original_device() const { return simt::torch_glue::device(); }

 private:
  simt::torch_glue::Stream before_;
};

class OptionalCUDAStreamGuard {
 public:
  OptionalCUDAStreamGuard() {}
  explicit OptionalCUDAStreamGuard(CUDAStream stream) { guard_.emplace(stream); }
  explicit OptionalCUDAStreamGuard(std::optional<CUDAStream> stream) {
    if (stream) guard_.emplace(*stream);
  }
  void reset_stream(CUDAStream stream) { guard_ ? guard_->reset_stream(stream) : (void)guard_.emplace(stream); }
  void reset() { guard_.reset(); }

 private:
  std::optional<CUDAStreamGuard> guard_;
};

struct CUDAMultiStreamGuard {
  explicit CUDAMultiStreamGuard(c10::ArrayRef<CUDAStream>) {}
  ~CUDAMultiStreamGuard() {}
};

/// Blocks of memory like those of tensors, or plain ones.
namespace CUDACachingAllocator {
inline c10::Allocator* get() { return c10::GetCPUAllocator(); }
inline void* raw_alloc(std::size_t size, SIMT_HERE) {
  return size == 0 ? nullptr : simt::allocate(size, simt::Memory::device, SIMT_THERE);
}
inline void* raw_alloc_with_stream(std::size_t size, simt::torch_glue::Stream, SIMT_HERE) {
  return size == 0 ? nullptr : simt::allocate(size, simt::Memory::device, SIMT_THERE);
}
inline void raw_delete(void* address) {
  if (address != nullptr) TORCH_CHECK(simt::release(address), "raw_delete of what raw_alloc did not give");
}
inline void emptyCache() {}
inline void recordStream(const c10::DataPtr&, CUDAStream) {}
}  // namespace CUDACachingAllocator

}  // namespace c10::cuda

namespace at::cuda {
using namespace c10::cuda;
namespace CUDACachingAllocator = c10::cuda::CUDACachingAllocator;

inline int64_t getNumGPUs() { return 1; }
inline bool is_available() { return true; }
inline int warp_size() { return simt::wave_size(); }
inline simt::torch_glue::Properties* getCurrentDeviceProperties() { return &simt::torch_glue::properties(); }
inline simt::torch_glue::Properties* getDeviceProperties(c10::DeviceIndex) { return &simt::torch_glue::properties(); }
inline bool canDeviceAccessPeer(c10::DeviceIndex, c10::DeviceIndex) { return false; }
inline c10::Allocator* getCUDADeviceAllocator() { return c10::GetCPUAllocator(); }
inline c10::Allocator* getPinnedMemoryAllocator() { return c10::GetCPUAllocator(); }

class CUDAEvent {
 public:
  CUDAEvent() : CUDAEvent(0) {}
  explicit CUDAEvent(unsigned flags) { C10_CUDA_CHECK(SIMT_API(EventCreateWithFlags)(&event_, flags)); }
  CUDAEvent(const CUDAEvent&) = delete;
  CUDAEvent& operator=(const CUDAEvent&) = delete;
  CUDAEvent(CUDAEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)), recorded_(other.recorded_) {}
  CUDAEvent& operator=(CUDAEvent&& other) noexcept {
    std::swap(event_, other.event_);
    std::swap(recorded_, other.recorded_);
    return *this;
  }
  ~CUDAEvent() {
    if (event_ != nullptr) (void)SIMT_API(EventDestroy)(event_);
  }
  operator simt::torch_glue::Event() const { return event_; }
  simt::torch_glue::Event event() const { return event_; }
  bool isCreated() const { return true; }
  c10::DeviceIndex device_index() const { return 0; }
  bool query() const { return true; }
  void record() { record(getCurrentCUDAStream()); }
  void record(const CUDAStream& stream) {
    C10_CUDA_CHECK(SIMT_API(EventRecord)(event_, stream));
    recorded_ = true;
  }
  void recordOnce(const CUDAStream& stream) {
    if (!recorded_) record(stream);
  }
  void block(const CUDAStream&) {}
  void synchronize() const {}
  float elapsed_time(const CUDAEvent& other) const {
    float time = 0;
    C10_CUDA_CHECK(SIMT_API(EventElapsedTime)(&time, event_, other.event_));
    return time;
  }

 private:
  simt::torch_glue::Event event_ = nullptr;
  bool recorded_ = false;
};

/// The allocator for Thrust.
class ThrustAllocator {
 public:
  using value_type = char;
  char* allocate(std::ptrdiff_t size) {
    return static_cast<char*>(CUDACachingAllocator::raw_alloc(static_cast<std::size_t>(size)));
  }
  void deallocate(char* address, std::size_t) { CUDACachingAllocator::raw_delete(address); }
};

}  // namespace at::cuda

// The names that PyTorch's hipify generates for the same entities.
namespace c10::hip {
using namespace c10::cuda;
using HIPStream = c10::cuda::CUDAStream;
using HIPStreamMasqueradingAsCUDA = c10::cuda::CUDAStream;
using HIPGuard = c10::cuda::CUDAGuard;
using HIPGuardMasqueradingAsCUDA = c10::cuda::CUDAGuard;
using OptionalHIPGuard = c10::cuda::OptionalCUDAGuard;
using OptionalHIPGuardMasqueradingAsCUDA = c10::cuda::OptionalCUDAGuard;
using HIPStreamGuard = c10::cuda::CUDAStreamGuard;
using HIPStreamGuardMasqueradingAsCUDA = c10::cuda::CUDAStreamGuard;
using OptionalHIPStreamGuard = c10::cuda::OptionalCUDAStreamGuard;
using OptionalHIPStreamGuardMasqueradingAsCUDA = c10::cuda::OptionalCUDAStreamGuard;
namespace HIPCachingAllocator = c10::cuda::CUDACachingAllocator;
namespace HIPCachingAllocatorMasqueradingAsCUDA = c10::cuda::CUDACachingAllocator;
inline HIPStream getDefaultHIPStream(c10::DeviceIndex device = -1) { return getDefaultCUDAStream(device); }
inline HIPStream getCurrentHIPStream(c10::DeviceIndex device = -1) { return getCurrentCUDAStream(device); }
inline HIPStream getDefaultHIPStreamMasqueradingAsCUDA(c10::DeviceIndex device = -1) {
  return getDefaultCUDAStream(device);
}
inline HIPStream getCurrentHIPStreamMasqueradingAsCUDA(c10::DeviceIndex device = -1) {
  return getCurrentCUDAStream(device);
}
inline HIPStream getStreamFromPoolMasqueradingAsCUDA(bool high = false, c10::DeviceIndex device = -1) {
  return getStreamFromPool(high, device);
}
inline void setCurrentHIPStream(HIPStream stream) { setCurrentCUDAStream(stream); }
inline void setCurrentHIPStreamMasqueradingAsCUDA(HIPStream stream) { setCurrentCUDAStream(stream); }
}  // namespace c10::hip
namespace at::hip {
using namespace at::cuda;
using namespace c10::hip;
using HIPEvent = at::cuda::CUDAEvent;
}  // namespace at::hip

// `torch::cuda` of PyTorch's C++ front end asks for a device that its CPU build lacks: these replace it.
namespace simt::torch_cuda {
inline bool is_available() { return true; }
inline bool cudnn_is_available() { return false; }
inline std::size_t device_count() { return 1; }
inline void manual_seed(std::uint64_t seed) { torch::manual_seed(seed); }
inline void manual_seed_all(std::uint64_t seed) { torch::manual_seed(seed); }
inline void synchronize(std::int64_t = -1) {}
}  // namespace simt::torch_cuda

#endif
