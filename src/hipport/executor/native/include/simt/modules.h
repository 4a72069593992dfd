// SPDX-License-Identifier: Apache-2.0
// simt/modules.h: modules of the driver API, loaded from code that NVRTC or hipRTC compiled here (run_time.h), from
// memory or from a file. Code for a GPU ends the run.
#ifndef SIMT_MODULES_H
#define SIMT_MODULES_H

#include "driver_api.h"
#include "run_time_core.h"

using hipModule_t = ihipModule_t*;

enum hipJitOption {
  hipJitOptionMaxRegisters = 0,
  hipJitOptionThreadsPerBlock = 1,
  hipJitOptionWallTime = 2,
  hipJitOptionInfoLogBuffer = 3,
  hipJitOptionInfoLogBufferSizeBytes = 4,
  hipJitOptionErrorLogBuffer = 5,
  hipJitOptionErrorLogBufferSizeBytes = 6,
  hipJitOptionOptimizationLevel = 7,
  hipJitOptionTargetFromContext = 8,
  hipJitOptionTarget = 9,
  hipJitOptionFallbackStrategy = 10,
  hipJitOptionGenerateDebugInfo = 11,
  hipJitOptionLogVerbose = 12,
  hipJitOptionGenerateLineInfo = 13,
  hipJitOptionCacheMode = 14,
};

namespace simt {
namespace modules {

struct Of {
  const char* expression;
  /// Whether a name means exactly one function that can be launched; else it is overloaded, or a template.
  template <typename... P>
  bool operator()(void (*kernel)(P...)) const {
    host::remember(kernel);
    known(expression, reinterpret_cast<const void*>(kernel));
    return true;
  }
  bool operator()(const volatile void* variable) const {
    known(expression, const_cast<const void*>(variable));
    return true;
  }
};
template <typename Name>
bool known_if_one(Name name) {
  if constexpr (std::is_invocable_v<Name, Of>) return name(Of{nullptr});
  return false;
}

}  // namespace modules
}  // namespace simt

/// Follows a kernel in a source that is compiled at run time, with a number of its own.
#define SIMT_KNOWN_KERNEL(number, ...)                                                                         \
  [[maybe_unused]] static const bool simt_known_kernel_##number = ::simt::modules::known_if_one(               \
      [](auto simt_of) -> decltype(simt_of(__VA_ARGS__)) { return simt_of(__VA_ARGS__); });

inline hipError_t hipModuleLoadData(hipModule_t* module, const void* image, SIMT_HERE) {
  if (module == nullptr || image == nullptr) return simt::host::result(hipErrorInvalidValue);
  *module = simt::modules::load(image, ~std::size_t{0}, simt::dialect, SIMT_THERE);
  return simt::host::result(*module != nullptr ? hipSuccess : hipErrorInvalidImage);
}
/// The log of loading is empty.
inline hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned count, hipJitOption* options,
                                      void** values, SIMT_HERE) {
  if (count != 0 && (options == nullptr || values == nullptr)) return simt::host::result(hipErrorInvalidValue);
  for (unsigned i = 0; i < count; ++i) {
    const bool is_log = options[i] == hipJitOptionInfoLogBuffer || options[i] == hipJitOptionErrorLogBuffer;
    const bool is_size =
        options[i] == hipJitOptionInfoLogBufferSizeBytes || options[i] == hipJitOptionErrorLogBufferSizeBytes;
    if (is_log && values[i] != nullptr) *static_cast<char*>(values[i]) = '\0';
    if (is_size || options[i] == hipJitOptionWallTime) values[i] = nullptr;
  }
  return hipModuleLoadData(module, image, simt_file, simt_line);
}
inline hipError_t hipModuleLoad(hipModule_t* module, const char* path, SIMT_HERE) {
  if (module == nullptr || path == nullptr) return simt::host::result(hipErrorInvalidValue);
  bool read = false;
  const hipModule_t loaded = simt::modules::load_file(path, simt::dialect, SIMT_THERE, &read);
  if (!read) return simt::host::result(hipErrorFileNotFound);
  *module = loaded;
  return simt::host::result(*module != nullptr ? hipSuccess : hipErrorInvalidImage);
}
inline hipError_t hipModuleUnload(hipModule_t module) {
  return simt::host::result(simt::modules::unload(module) ? hipSuccess : hipErrorInvalidHandle);
}
inline hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name, SIMT_HERE) {
  if (function == nullptr || name == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (!simt::modules::exists(module)) return simt::host::result(hipErrorInvalidHandle);
  *function = (hipFunction_t)simt::modules::function(module, name, SIMT_THERE);
  return simt::host::result(*function != nullptr ? hipSuccess : hipErrorNotFound);
}
inline hipError_t hipModuleGetGlobal(hipDeviceptr_t* address, std::size_t* size, hipModule_t module,
                                     const char* name) {
  if (name == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (!simt::modules::exists(module)) return simt::host::result(hipErrorInvalidHandle);
  std::size_t bytes = 0;
  void* const found = simt::modules::variable(module, name, &bytes);
  if (found == nullptr) return simt::host::result(hipErrorNotFound);
  if (address != nullptr) *address = simt::host::address_of(found);
  if (size != nullptr) *size = bytes;
  return hipSuccess;
}

#ifndef SIMT_HIP
using CUmodule = hipModule_t;
using CUjit_option = hipJitOption;
constexpr CUjit_option CU_JIT_MAX_REGISTERS = hipJitOptionMaxRegisters,
                       CU_JIT_THREADS_PER_BLOCK = hipJitOptionThreadsPerBlock,
                       CU_JIT_WALL_TIME = hipJitOptionWallTime,
                       CU_JIT_INFO_LOG_BUFFER = hipJitOptionInfoLogBuffer,
                       CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = hipJitOptionInfoLogBufferSizeBytes,
                       CU_JIT_ERROR_LOG_BUFFER = hipJitOptionErrorLogBuffer,
                       CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = hipJitOptionErrorLogBufferSizeBytes,
                       CU_JIT_OPTIMIZATION_LEVEL = hipJitOptionOptimizationLevel,
                       CU_JIT_TARGET_FROM_CUCONTEXT = hipJitOptionTargetFromContext,
                       CU_JIT_TARGET = hipJitOptionTarget,
                       CU_JIT_FALLBACK_STRATEGY = hipJitOptionFallbackStrategy,
                       CU_JIT_GENERATE_DEBUG_INFO = hipJitOptionGenerateDebugInfo,
                       CU_JIT_LOG_VERBOSE = hipJitOptionLogVerbose,
                       CU_JIT_GENERATE_LINE_INFO = hipJitOptionGenerateLineInfo,
                       CU_JIT_CACHE_MODE = hipJitOptionCacheMode;

SIMT_DRIVER(cuModuleLoad, (CUmodule * module, const char* path, SIMT_HERE),
            hipModuleLoad(module, path, simt_file, simt_line))
SIMT_DRIVER(cuModuleLoadData, (CUmodule * module, const void* image, SIMT_HERE),
            hipModuleLoadData(module, image, simt_file, simt_line))
SIMT_DRIVER(cuModuleLoadDataEx,
            (CUmodule * module, const void* image, unsigned count, CUjit_option* options, void** values, SIMT_HERE),
            hipModuleLoadDataEx(module, image, count, options, values, simt_file, simt_line))
SIMT_DRIVER(cuModuleUnload, (CUmodule module), hipModuleUnload(module))
SIMT_DRIVER(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char* name, SIMT_HERE),
            hipModuleGetFunction(function, module, name, simt_file, simt_line))
SIMT_DRIVER(cuModuleGetGlobal, (CUdeviceptr * address, std::size_t* size, CUmodule module, const char* name),
            hipModuleGetGlobal(address, size, module, name))
#endif

#endif
