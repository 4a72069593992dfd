// SPDX-License-Identifier: Apache-2.0
// simt/run_time.h: NVRTC and hipRTC, under both names. Source that a program compiles is rewritten and compiled for the
// executor by hipport, in a separate process (run_time_compiler.py). The code that the program gets names the resulting
// library, and is loaded as a module (modules.h).
//
// The results have the same values in both (nvrtc.h of CUDA 12.4, hip/hiprtc.h of ROCm 6.4).
#ifndef SIMT_RUN_TIME_H
#define SIMT_RUN_TIME_H

#include <string>

#include "prelude.h"
#include "run_time_core.h"

#ifdef SIMT_HIP
#define SIMT_RTC(name) hiprtc##name
#define SIMT_RTC_IS(name) HIPRTC_##name
#else
#define SIMT_RTC(name) nvrtc##name
#define SIMT_RTC_IS(name) NVRTC_##name
#endif

enum SIMT_RTC(Result) {
  SIMT_RTC_IS(SUCCESS) = 0,
  SIMT_RTC_IS(ERROR_OUT_OF_MEMORY) = 1,
  SIMT_RTC_IS(ERROR_PROGRAM_CREATION_FAILURE) = 2,
  SIMT_RTC_IS(ERROR_INVALID_INPUT) = 3,
  SIMT_RTC_IS(ERROR_INVALID_PROGRAM) = 4,
  SIMT_RTC_IS(ERROR_INVALID_OPTION) = 5,
  SIMT_RTC_IS(ERROR_COMPILATION) = 6,
  SIMT_RTC_IS(ERROR_BUILTIN_OPERATION_FAILURE) = 7,
  SIMT_RTC_IS(ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION) = 8,
  SIMT_RTC_IS(ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION) = 9,
  SIMT_RTC_IS(ERROR_NAME_EXPRESSION_NOT_VALID) = 10,
  SIMT_RTC_IS(ERROR_INTERNAL_ERROR) = 11,
};

namespace simt {
namespace run_time {

/// The unit's sanitizer flags, which code that is loaded into it has to be compiled with, too.
constexpr const char* sanitizers =
#if defined(__SANITIZE_ADDRESS__)
    "address";
#elif defined(__SANITIZE_THREAD__) && !defined(SIMT_LOCKSTEP)
    "thread";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
    "address";
#elif __has_feature(thread_sanitizer) && !defined(SIMT_LOCKSTEP)
    "thread";
#else
    "";
#endif
#else
    "";
#endif

inline SIMT_RTC(Result) size_of(int result, const std::string* text, std::size_t* size, std::size_t more) {
  if (result == 0 && size == nullptr) return SIMT_RTC_IS(ERROR_INVALID_INPUT);
  if (result == 0) *size = text->size() + more;
  return static_cast<SIMT_RTC(Result)>(result);
}
inline SIMT_RTC(Result) copy_of(int result, const std::string* text, char* to, std::size_t more) {
  if (result == 0 && to == nullptr) return SIMT_RTC_IS(ERROR_INVALID_INPUT);
  if (result == 0) std::memcpy(to, text->c_str(), text->size() + more);
  return static_cast<SIMT_RTC(Result)>(result);
}

}  // namespace run_time
}  // namespace simt

using SIMT_RTC(Program) = simt::run_time::Program*;

inline const char* SIMT_RTC(GetErrorString)(SIMT_RTC(Result) result) {
#define SIMT_RESULT(name) \
  case SIMT_RTC_IS(name): return SIMT_TEXT(SIMT_RTC_IS(name))
#define SIMT_TEXT(name) SIMT_TEXT_(name)
#define SIMT_TEXT_(name) #name
  switch (result) {
    SIMT_RESULT(SUCCESS);
    SIMT_RESULT(ERROR_OUT_OF_MEMORY);
    SIMT_RESULT(ERROR_PROGRAM_CREATION_FAILURE);
    SIMT_RESULT(ERROR_INVALID_INPUT);
    SIMT_RESULT(ERROR_INVALID_PROGRAM);
    SIMT_RESULT(ERROR_INVALID_OPTION);
    SIMT_RESULT(ERROR_COMPILATION);
    SIMT_RESULT(ERROR_BUILTIN_OPERATION_FAILURE);
    SIMT_RESULT(ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION);
    SIMT_RESULT(ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION);
    SIMT_RESULT(ERROR_NAME_EXPRESSION_NOT_VALID);
    SIMT_RESULT(ERROR_INTERNAL_ERROR);
  }
#undef SIMT_TEXT_
#undef SIMT_TEXT
#undef SIMT_RESULT
  return "an unknown result";
}
inline SIMT_RTC(Result) SIMT_RTC(Version)(int* major, int* minor) {
  if (major == nullptr || minor == nullptr) return SIMT_RTC_IS(ERROR_INVALID_INPUT);
#ifdef SIMT_HIP
  // hipRTC has its own release numbers.
  *major = 9;
  *minor = 0;
#else
  *major = CUDART_VERSION / 1000;
  *minor = CUDART_VERSION % 1000 / 10;
#endif
  return SIMT_RTC_IS(SUCCESS);
}
inline SIMT_RTC(Result) SIMT_RTC(CreateProgram)(SIMT_RTC(Program) * program, const char* source, const char* name,
                                                int headers, const char* const* texts, const char* const* names) {
  return static_cast<SIMT_RTC(Result)>(simt::run_time::make(program, source, name, headers, texts, names));
}
inline SIMT_RTC(Result) SIMT_RTC(DestroyProgram)(SIMT_RTC(Program) * program) {
  return static_cast<SIMT_RTC(Result)>(simt::run_time::destroy(program));
}
inline SIMT_RTC(Result) SIMT_RTC(AddNameExpression)(SIMT_RTC(Program) program, const char* expression) {
  return static_cast<SIMT_RTC(Result)>(simt::run_time::name(program, expression));
}
// HIP's takes `const char**`.
template <typename Options>
SIMT_RTC(Result) SIMT_RTC(CompileProgram)(SIMT_RTC(Program) program, int count, Options options, SIMT_HERE) {
  const char* const* given = nullptr;
  if constexpr (std::is_convertible_v<Options, const char* const*>) {
    given = options;
  } else {
    static_assert(std::is_same_v<Options, std::nullptr_t> || std::is_integral_v<Options>, "options are an array");
  }
  return static_cast<SIMT_RTC(Result)>(
      simt::run_time::compile(program, count, given, simt::dialect, simt::run_time::sanitizers, SIMT_THERE));
}
inline SIMT_RTC(Result) SIMT_RTC(GetLoweredName)(SIMT_RTC(Program) program, const char* expression,
                                                 const char** name) {
  return static_cast<SIMT_RTC(Result)>(simt::run_time::lowered(program, expression, name));
}

/// Two functions: the size of a text, and the text; `more` is 1 if the size includes the terminator.
#define SIMT_RTC_TEXT(name, of, more)                                                              \
  inline SIMT_RTC(Result) SIMT_RTC(Get##name##Size)(SIMT_RTC(Program) program, std::size_t* size) { \
    const std::string* text = nullptr;                                                             \
    const int result = simt::run_time::of(program, &text);                                         \
    return simt::run_time::size_of(result, text, size, more);                                      \
  }                                                                                                \
  inline SIMT_RTC(Result) SIMT_RTC(Get##name)(SIMT_RTC(Program) program, char* to) {                \
    const std::string* text = nullptr;                                                             \
    const int result = simt::run_time::of(program, &text);                                         \
    return simt::run_time::copy_of(result, text, to, more);                                        \
  }

SIMT_RTC_TEXT(ProgramLog, log, 1)
#ifdef SIMT_HIP
SIMT_RTC_TEXT(Code, code, 1)
#else
SIMT_RTC_TEXT(PTX, code, 1)
SIMT_RTC_TEXT(CUBIN, code, 1)
#endif
#undef SIMT_RTC_TEXT

#endif
