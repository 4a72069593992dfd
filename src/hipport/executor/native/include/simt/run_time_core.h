// SPDX-License-Identifier: Apache-2.0
// simt/run_time_core.h: what runtime/run_time.cpp does for run_time.h and modules.h.
#ifndef SIMT_RUN_TIME_CORE_H
#define SIMT_RUN_TIME_CORE_H

#include <string>

#include "core.h"

struct ihipModule_t;

namespace simt {
namespace run_time {

struct Program;

// What returns an int returns one of NVRTC's and hipRTC's results.
SIMT_EXPORT int make(Program** made, const char* source, const char* name, int headers, const char* const* texts,
                     const char* const* names);
SIMT_EXPORT int destroy(Program** program);
SIMT_EXPORT int name(Program*, const char* expression);
/// `sanitize` is what the asking unit was compiled with.
SIMT_EXPORT int compile(Program*, int count, const char* const* options, Dialect, const char* sanitize, Place);
SIMT_EXPORT int log(Program*, const std::string**);
SIMT_EXPORT int code(Program*, const std::string**);
SIMT_EXPORT int lowered(Program*, const char* expression, const char** name);

}  // namespace run_time
namespace modules {

/// What a kernel in code that is compiled at run time says of itself while that is loaded.
SIMT_EXPORT void known(const char* expression, const void* address);
/// Null where the image is none that this program can load.
SIMT_EXPORT ihipModule_t* load(const void* image, std::size_t most, Dialect, Place);
SIMT_EXPORT bool unload(ihipModule_t*);
SIMT_EXPORT bool exists(ihipModule_t*);
/// Null if the module has none of that name.
SIMT_EXPORT const void* function(ihipModule_t*, const char* name, Place);
SIMT_EXPORT void* variable(ihipModule_t*, const char* name, std::size_t* size);
/// What a kernel of a module was asked for as; null for others.
SIMT_EXPORT const char* name_of(const void* kernel);
/// The whole of a file; false if there is none.
SIMT_EXPORT bool read_file(const char* path, std::string& text);

}  // namespace modules
}  // namespace simt

#endif
