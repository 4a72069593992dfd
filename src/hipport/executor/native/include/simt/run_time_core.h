// SPDX-License-Identifier: Apache-2.0
// simt/run_time_core.h: the functions of runtime/run_time.cpp for run_time.h and modules.h.
#ifndef SIMT_RUN_TIME_CORE_H
#define SIMT_RUN_TIME_CORE_H

// Declares std::string: its definition takes a tenth of the time of a small unit.
#include <iosfwd>

#include "core.h"

struct ihipModule_t;

namespace simt {
namespace run_time {

struct Program;

// An int is a result code of NVRTC and hipRTC.
SIMT_EXPORT int make(Program** made, const char* source, const char* name, int headers, const char* const* texts,
                     const char* const* names);
SIMT_EXPORT int destroy(Program** program);
SIMT_EXPORT int name(Program*, const char* expression);
/// `sanitize` is the sanitizer option of the calling unit.
SIMT_EXPORT int compile(Program*, int count, const char* const* options, Dialect, const char* sanitize, Place);
SIMT_EXPORT int log(Program*, const std::string**);
SIMT_EXPORT int code(Program*, const std::string**);
SIMT_EXPORT int lowered(Program*, const char* expression, const char** name);

}  // namespace run_time
namespace modules {

/// Registers a kernel of code that is compiled at run time, while that is loaded.
SIMT_EXPORT void known(const char* expression, const void* address);
/// Null if the image cannot be loaded by this program.
SIMT_EXPORT ihipModule_t* load(const void* image, std::size_t most, Dialect, Place);
SIMT_EXPORT bool unload(ihipModule_t*);
SIMT_EXPORT bool exists(ihipModule_t*);
/// Null if the module has none of that name.
SIMT_EXPORT const void* function(ihipModule_t*, const char* name, Place);
SIMT_EXPORT void* variable(ihipModule_t*, const char* name, std::size_t* size);
/// The name by which a kernel of a module was requested; null for other kernels.
SIMT_EXPORT const char* name_of(const void* kernel);
/// As `load`, from a file; `read` is false if that cannot be read.
SIMT_EXPORT ihipModule_t* load_file(const char* path, Dialect, Place, bool* read);

}  // namespace modules
}  // namespace simt

#endif
