// SPDX-License-Identifier: Apache-2.0
// simt/launch_api.h: launches without brackets, occupancy, attributes of kernels.
#ifndef SIMT_LAUNCH_API_H
#define SIMT_LAUNCH_API_H

#include "properties.h"
#include "streams.h"

// ------------------------------------------------------------------------------------------- by name, HIP's macros

#define HIP_KERNEL_NAME(...) __VA_ARGS__

/// `extern __shared__ type name[];` in old HIP, in a function.
#define HIP_DYNAMIC_SHARED(type, name) type* name = SIMT_DYNAMIC(type);
#define HIP_DYNAMIC_SHARED_ATTRIBUTE

/// A macro, like HIP's, so that literals among the arguments stay literals.
#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...) \
  SIMT_LAUNCH(#kernel, (dim3(grid), dim3(block), (shared), (stream)), kernel)(__VA_ARGS__)

#define hipExtLaunchKernelGGL(kernel, grid, block, shared, stream, start, stop, flags, ...)                 \
  (::simt::host::record_if((start), (stream)), static_cast<void>(flags),                                    \
   static_cast<void>(                                                                                       \
       SIMT_LAUNCH(#kernel, (dim3(grid), dim3(block), (shared), (stream)), kernel)(__VA_ARGS__)),           \
   ::simt::host::record_if((stop), (stream)))

// ------------------------------------------------------------------------------- by address, with void** arguments

namespace simt {
namespace host {

inline void record_if(hipEvent_t event, hipStream_t stream) {
  if (event != nullptr) static_cast<void>(hipEventRecord(event, stream));
}

template <typename... P, std::size_t... I>
Started launch_with(const Launch& how, void (*kernel)(P...), void** arguments, std::index_sequence<I...>) {
  static_assert((!std::is_reference_v<P> && ...), "a kernel cannot have reference parameters");
  // A kernel's parameters are copied when it is launched.
  std::tuple<std::remove_cv_t<P>...> kept(*static_cast<std::remove_cv_t<P>*>(arguments[I])...);
  if (records(how.stream)) return keep(how, kernel, std::move(kept));
  return launch(how, [&] { std::apply(kernel, kept); });
}

/// HIP_LAUNCH_PARAM_BUFFER_POINTER and related values: arguments packed in a buffer.
constexpr std::uintptr_t packed_buffer = 1, packed_size = 2, packed_end = 3;

/// Find the arguments in a buffer; false if it is too small for them.
template <typename... P>
bool unpack(void** extra, void** arguments) {
  char* buffer = nullptr;
  std::size_t size = 0, at = 0, number = 0;
  for (; *extra != nullptr && reinterpret_cast<std::uintptr_t>(*extra) != packed_end; extra += 2) {
    const auto what = reinterpret_cast<std::uintptr_t>(*extra);
    if (what == packed_buffer) buffer = static_cast<char*>(extra[1]);
    if (what == packed_size) size = *static_cast<std::size_t*>(extra[1]);
  }
  const auto place = [&](std::size_t bytes, std::size_t alignment) {
    at = (at + alignment - 1) / alignment * alignment;
    arguments[number++] = buffer + at;
    at += bytes;
  };
  (place(sizeof(P), alignof(P)), ...);
  return at <= size && (buffer != nullptr || at == 0);
}

template <typename... P>
Started launch_untyped(const Launch& how, const void* kernel, void** arguments) {
  void* unpacked[sizeof...(P) + 1];
  if (arguments != nullptr && reinterpret_cast<std::uintptr_t>(arguments[0]) == packed_buffer) {
    if (!unpack<P...>(arguments, unpacked)) return Started::invalid_configuration;
    arguments = unpacked;
  }
  return launch_with(how, reinterpret_cast<void (*)(P...)>(const_cast<void*>(kernel)), arguments,
                     std::index_sequence_for<P...>{});
}
template <typename... P>
bool remember(void (*kernel)(P...)) {
  remember_kernel(reinterpret_cast<const void*>(kernel), &launch_untyped<P...>);
  return true;
}

/// Casts a kernel to `void*` such that the address can be launched. Any other value is returned unchanged.
template <typename... P>
auto known(void (*kernel)(P...)) {
  remember(kernel);
  return kernel;
}
template <typename T>
T known(T value) {
  return value;
}

inline Launch launch_of(dim3 grid, dim3 block, std::size_t shared, hipStream_t stream, const char* name, Place place) {
  Launch how;
  how.grid = grid;
  how.block = block;
  how.shared = shared;
  how.stream = stream;
  how.name = name;
  how.place = place;
  return how;
}
/// A launch by a function returns its own error, which also becomes the last error.
inline hipError_t launched(Started started) { return as_error(started); }

/// The implementation of the macros: records the place of the launch, and whether its blocks may wait for each other.
struct Launcher {
  const char* name;
  Place place;
  bool cooperative;

  template <typename... P>
  hipError_t operator()(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments, std::size_t shared = 0,
                        hipStream_t stream = nullptr) const {
    Launch how = launch_of(grid, block, shared, stream, name, place);
    how.cooperative = cooperative;
    if (!exists(stream)) return result(hipErrorInvalidHandle);
    return launched(launch_with(how, kernel, arguments, std::index_sequence_for<P...>{}));
  }
  hipError_t operator()(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared = 0,
                        hipStream_t stream = nullptr) const {
    Launch how = launch_of(grid, block, shared, stream, name, place);
    how.cooperative = cooperative;
    if (kernel == nullptr) return result(hipErrorInvalidDeviceFunction);
    if (!exists(stream)) return result(hipErrorInvalidHandle);
    const Untyped untyped = known_kernel(kernel);
    if (untyped == nullptr) {
      fault("unknown-kernel", place,
            "the kernel was cast to a pointer without its type, so the executor cannot know its parameters: "
            "give the launch the kernel itself");
    }
    return launched(untyped(how, kernel, arguments));
  }
  /// hipExtLaunchKernel
  template <typename Kernel>
  hipError_t operator()(Kernel kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                        hipStream_t stream, hipEvent_t start, hipEvent_t stop, int) const {
    record_if(start, stream);
    const hipError_t error = (*this)(kernel, grid, block, arguments, shared, stream);
    record_if(stop, stream);
    return error;
  }
};

}  // namespace host
}  // namespace simt

/// Allows a kernel to be launched by an untyped address: `SIMT_KERNEL(k)` at file scope.
#define SIMT_KERNEL(kernel) \
  [[maybe_unused]] static const bool simt_known_##kernel = ::simt::host::remember(&kernel)

// `(void*)kernel, grid, …` loses the parameters' types. The cast at the beginning of the arguments is dropped: the
// parentheses after SIMT_DROP are removed, if something is left of the first argument then.
#define SIMT_CAT(a, b) SIMT_CAT_(a, b)
#define SIMT_CAT_(a, b) a##b
#define SIMT_DROP(...)
#define SIMT_COMMA(...) ,
#define SIMT_THIRD(a, b, c, ...) c
#define SIMT_EXPAND(...) __VA_ARGS__
#define SIMT_HEAD(...) SIMT_HEAD_(__VA_ARGS__, ~)
#define SIMT_HEAD_(a, ...) a
// 1 if there is a comma among at most two arguments, else 0.
#define SIMT_HAS_COMMA(...) SIMT_EXPAND(SIMT_THIRD(__VA_ARGS__, 1, 0, ~))
#define SIMT_STARTS_WITH_PARENTHESES(...) SIMT_STARTS_(SIMT_HEAD(__VA_ARGS__))
#define SIMT_STARTS_(head) SIMT_HAS_COMMA(SIMT_COMMA head)
// Whether one argument is empty: SIMT_COMMA () has a comma, which did not come from the argument itself.
#define SIMT_NOTHING(head) \
  SIMT_CAT(SIMT_NOTHING_, SIMT_CAT(SIMT_HAS_COMMA(SIMT_COMMA head), SIMT_HAS_COMMA(SIMT_COMMA head())))
#define SIMT_NOTHING_00 0
#define SIMT_NOTHING_01 1
#define SIMT_NOTHING_10 0
#define SIMT_NOTHING_11 0
#define SIMT_UNCAST(...) SIMT_CAT(SIMT_UNCAST_, SIMT_STARTS_WITH_PARENTHESES(__VA_ARGS__))(__VA_ARGS__)
#define SIMT_UNCAST_0(...) __VA_ARGS__
#define SIMT_UNCAST_1(...) \
  SIMT_CAT(SIMT_UNCAST_1, SIMT_NOTHING_OF(SIMT_DROP __VA_ARGS__))(__VA_ARGS__)
#define SIMT_NOTHING_OF(...) SIMT_NOTHING_OF_(SIMT_HEAD(__VA_ARGS__))
#define SIMT_NOTHING_OF_(head) SIMT_NOTHING(head)
#define SIMT_UNCAST_10(...) SIMT_DROP __VA_ARGS__
#define SIMT_UNCAST_11(...) __VA_ARGS__

#define SIMT_LAUNCHER(cooperative, ...)                                                       \
  (::simt::host::Launcher{::simt::host::kernel_name(#__VA_ARGS__), {__FILE__, __LINE__}, cooperative}( \
      SIMT_UNCAST(__VA_ARGS__)))

/// Uses that the macros leave alone: `cudaLaunchKernel<T>(…)`, and addresses of the functions.
template <typename T>
hipError_t hipLaunchKernel(const T* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared = 0,
                           hipStream_t stream = nullptr, SIMT_HERE) {
  const simt::host::Launcher launcher{SIMT_CALLED("LaunchKernel"), SIMT_THERE, false};
  return launcher(kernel, grid, block, arguments, shared, stream);
}
template <typename T>
hipError_t hipLaunchCooperativeKernel(const T* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared = 0,
                                      hipStream_t stream = nullptr, SIMT_HERE) {
  const simt::host::Launcher launcher{SIMT_CALLED("LaunchCooperativeKernel"), SIMT_THERE, true};
  return launcher(kernel, grid, block, arguments, shared, stream);
}

#define hipLaunchKernel(...) SIMT_LAUNCHER(false, __VA_ARGS__)
#define hipExtLaunchKernel(...) SIMT_LAUNCHER(false, __VA_ARGS__)
#define hipLaunchCooperativeKernel(...) SIMT_LAUNCHER(true, __VA_ARGS__)

// ------------------------------------------------------------------------------------ by configuration (CUDA 11.8)

namespace simt {
namespace host {

inline hipError_t configure(Launch& how, const hipLaunchConfig_t* config) {
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) return hipErrorInvalidValue;
  if (!exists(config->stream)) return hipErrorInvalidHandle;
  how = launch_of(config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream, how.name, how.place);
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const hipLaunchAttribute& attribute = config->attrs[i];
    switch (attribute.id) {
      case hipLaunchAttributeCooperative: how.cooperative = attribute.val.cooperative != 0; break;
      case simtLaunchAttributeClusterDimension: {
        const auto& size = attribute.val.clusterDim;
        if (size.x * size.y * size.z > 1) {
          fault("unsupported", how.place, "%s: clusters of blocks", how.name);
        }
        break;
      }
      default: break;  // scheduling hints
    }
  }
  return hipSuccess;
}

}  // namespace host
}  // namespace simt

template <typename... P, typename... A>
hipError_t hipLaunchKernelEx(const hipLaunchConfig_t* config, void (*kernel)(P...), A&&... arguments) {
  simt::Launch how;
  how.name = SIMT_CALLED("LaunchKernelEx");
  if (const hipError_t error = simt::host::configure(how, config)) return simt::host::result(error);
  std::tuple<std::remove_cv_t<P>...> kept(std::forward<A>(arguments)...);
  if (simt::records(how.stream)) return simt::host::launched(simt::keep(how, kernel, std::move(kept)));
  return simt::host::launched(simt::launch(how, [&] { std::apply(kernel, kept); }));
}
template <typename Kernel>
hipError_t hipLaunchKernelExC(const hipLaunchConfig_t* config, Kernel kernel, void** arguments, SIMT_HERE) {
  simt::Launch how;
  how.name = SIMT_CALLED("LaunchKernelExC");
  if (const hipError_t error = simt::host::configure(how, config)) return simt::host::result(error);
  const simt::host::Launcher launcher{how.name, SIMT_THERE, how.cooperative};
  return launcher(kernel, how.grid, how.block, arguments, how.shared, config->stream);
}

// ----------------------------------------------------------------------------------------------- kernels' attributes

namespace simt {
namespace host {

template <typename T>
void remember_if_kernel([[maybe_unused]] T* kernel) {
  if constexpr (std::is_function_v<T>) remember(kernel);
}

/// Bytes of the variables in shared memory of a kernel and its callees.
inline std::size_t static_shared(const void* kernel, Place place) {
  std::size_t size = 0;
  if (!static_shared(kernel, size)) {
    fault("unsupported", place, "the size of a kernel's static shared memory, which the program's file does not contain: it was "
          "stripped of its symbols, or linked without --emit-relocs");
  }
  return size;
}

inline hipError_t set_attribute(const void* kernel, hipFuncAttribute attribute, int value, Place place) {
  if (kernel == nullptr) return hipErrorInvalidDeviceFunction;
  switch (attribute) {
    case hipFuncAttributeMaxDynamicSharedMemorySize: {
      const std::size_t most = properties().sharedMemPerBlockOptin;
      if (value < 0 || static_cast<std::size_t>(value) > most - smaller(most, static_shared(kernel, place))) {
        return hipErrorInvalidValue;
      }
      set_shared_limit(kernel, value);
      return hipSuccess;
    }
    case hipFuncAttributePreferredSharedMemoryCarveout: return value >= -1 && value <= 100 ? hipSuccess
                                                                                          : hipErrorInvalidValue;
    case simtFuncAttributeNonPortableClusterSizeAllowed: return hipSuccess;
    default: return hipErrorInvalidValue;
  }
}

inline hipFuncAttributes attributes_of(const void* kernel, Place place) {
  const hipDeviceProp_t& p = properties();
  hipFuncAttributes a{};
  a.binaryVersion = a.ptxVersion = p.major * 10 + p.minor;
  a.maxThreadsPerBlock = p.maxThreadsPerBlock;
  a.numRegs = 32;
  a.sharedSizeBytes = static_shared(kernel, place);
  const std::size_t left = p.sharedMemPerBlock - smaller(p.sharedMemPerBlock, a.sharedSizeBytes);
  a.maxDynamicSharedSizeBytes = shared_limit(kernel, static_cast<int>(left));
  a.preferredShmemCarveout = -1;
  return a;
}

/// The number of blocks on a multiprocessor, by threads and shared memory. Registers are no limit here.
inline int blocks_per_multiprocessor(int threads, std::size_t shared) {
  const hipDeviceProp_t& p = properties();
  if (threads <= 0 || threads > p.maxThreadsPerBlock || shared > p.sharedMemPerBlockOptin) return 0;
  const int whole_waves = (threads + p.warpSize - 1) / p.warpSize * p.warpSize;
  const int by_threads = smaller(p.maxThreadsPerMultiProcessor / whole_waves, p.maxBlocksPerMultiProcessor);
  const std::size_t each = shared + p.reservedSharedMemPerBlock;
  return each == 0 ? by_threads
                   : smaller(by_threads, static_cast<int>(p.sharedMemPerMultiprocessor / each));
}

}  // namespace host
}  // namespace simt

template <typename T>
hipError_t hipFuncSetAttribute(T* kernel, hipFuncAttribute attribute, int value, SIMT_HERE) {
  simt::host::remember_if_kernel(kernel);
  return simt::host::result(simt::host::set_attribute((const void*)kernel, attribute, value, SIMT_THERE));
}
template <typename T>
hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, T* kernel, SIMT_HERE) {
  if (attributes == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (kernel == nullptr) return simt::host::result(hipErrorInvalidDeviceFunction);
  simt::host::remember_if_kernel(kernel);
  *attributes = simt::host::attributes_of((const void*)kernel, SIMT_THERE);
  return hipSuccess;
}
template <typename T>
hipError_t hipFuncSetCacheConfig(T* kernel, hipFuncCache_t) {
  return simt::host::result(kernel != nullptr ? hipSuccess : hipErrorInvalidDeviceFunction);
}
template <typename T>
hipError_t hipFuncSetSharedMemConfig(T* kernel, hipSharedMemConfig) {
  return simt::host::result(kernel != nullptr ? hipSuccess : hipErrorInvalidDeviceFunction);
}

// ------------------------------------------------------------------------------------------------------- occupancy

template <typename T>
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, T kernel, int threads,
                                                                 std::size_t shared, unsigned, SIMT_HERE) {
  if (blocks == nullptr || threads <= 0) return simt::host::result(hipErrorInvalidValue);
  if (kernel == nullptr) return simt::host::result(hipErrorInvalidDeviceFunction);
  const std::size_t own = simt::host::static_shared((const void*)kernel, SIMT_THERE);
  *blocks = simt::host::blocks_per_multiprocessor(threads, own + shared);
  return hipSuccess;
}
template <typename T>
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, T kernel, int threads, std::size_t shared,
                                                        SIMT_HERE) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared, 0, simt_file,
                                                               simt_line);
}

/// The block size with the highest occupancy, the largest of equals; `shared_for` returns the memory that a block
/// needs.
template <typename T, typename SharedFor>
hipError_t hipOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(int* grid, int* block, T kernel,
                                                                  SharedFor shared_for, int limit = 0, unsigned = 0,
                                                                  SIMT_HERE) {
  if (grid == nullptr || block == nullptr || limit < 0) return simt::host::result(hipErrorInvalidValue);
  if (kernel == nullptr) return simt::host::result(hipErrorInvalidDeviceFunction);
  const hipDeviceProp_t& p = simt::host::properties();
  const std::size_t own = simt::host::static_shared((const void*)kernel, SIMT_THERE);
  const int largest = limit == 0 ? p.maxThreadsPerBlock : simt::host::smaller(limit, p.maxThreadsPerBlock);
  int best = 0;
  *grid = *block = 0;
  for (int threads = largest; threads > 0; threads = (threads - 1) / p.warpSize * p.warpSize) {
    const int blocks =
        simt::host::blocks_per_multiprocessor(threads, own + static_cast<std::size_t>(shared_for(threads)));
    if (blocks * threads <= best) continue;
    best = blocks * threads;
    *block = threads;
    *grid = blocks * p.multiProcessorCount;
  }
  return hipSuccess;
}
template <typename T, typename SharedFor>
hipError_t hipOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, T kernel, SharedFor shared_for,
                                                         int limit = 0, SIMT_HERE) {
  return hipOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(grid, block, kernel, shared_for, limit, 0, simt_file,
                                                                simt_line);
}
template <typename T>
hipError_t hipOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, T kernel, std::size_t shared = 0,
                                                      int limit = 0, unsigned = 0, SIMT_HERE) {
  return hipOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
      grid, block, kernel, [shared](int) { return shared; }, limit, 0, simt_file, simt_line);
}
template <typename T>
hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* block, T kernel, std::size_t shared = 0, int limit = 0,
                                             SIMT_HERE) {
  return hipOccupancyMaxPotentialBlockSizeWithFlags(grid, block, kernel, shared, limit, 0, simt_file, simt_line);
}
template <typename T>
hipError_t hipOccupancyAvailableDynamicSMemPerBlock(std::size_t* shared, T kernel, int blocks, int threads,
                                                    SIMT_HERE) {
  if (shared == nullptr || blocks <= 0 || threads <= 0) return simt::host::result(hipErrorInvalidValue);
  if (kernel == nullptr) return simt::host::result(hipErrorInvalidDeviceFunction);
  const hipDeviceProp_t& p = simt::host::properties();
  const std::size_t own = simt::host::static_shared((const void*)kernel, SIMT_THERE);
  if (simt::host::blocks_per_multiprocessor(threads, own) < blocks) return simt::host::result(hipErrorInvalidValue);
  const std::size_t each = p.sharedMemPerMultiprocessor / static_cast<std::size_t>(blocks);
  using simt::host::smaller;
  const std::size_t most = smaller(p.sharedMemPerBlockOptin, each - smaller(each, p.reservedSharedMemPerBlock));
  *shared = most - smaller(most, own);
  return hipSuccess;
}

#endif
