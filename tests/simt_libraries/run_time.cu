// SPDX-License-Identifier: Apache-2.0
// Kernels that are compiled while the program runs.
#include "check.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include <unistd.h>

#ifdef __HIP__
#include <hip/hiprtc.h>
#define RTC(name) hiprtc##name
#define RTC_IS(name) HIPRTC_##name
#define DRIVER(name) hip##name
#define DRIVER_OK hipSuccess
#define GET_CODE_SIZE hiprtcGetCodeSize
#define GET_CODE hiprtcGetCode
using Function = hipFunction_t;
using Module = hipModule_t;
using Pointer = hipDeviceptr_t;
#define LAUNCH hipModuleLaunchKernel
#define PARAM(name) HIP_LAUNCH_PARAM_##name
#define NOT_FOUND hipErrorNotFound
#else
#include <cuda.h>
#include <nvrtc.h>
#define RTC(name) nvrtc##name
#define RTC_IS(name) NVRTC_##name
#define DRIVER(name) cu##name
#define DRIVER_OK CUDA_SUCCESS
#define GET_CODE_SIZE nvrtcGetPTXSize
#define GET_CODE nvrtcGetPTX
using Function = CUfunction;
using Module = CUmodule;
using Pointer = CUdeviceptr;
#define LAUNCH cuLaunchKernel
#define PARAM(name) CU_LAUNCH_PARAM_##name
#define NOT_FOUND CUDA_ERROR_NOT_FOUND
#endif

static std::string log_of(RTC(Program) program) {
  std::size_t size = 0;
  check(RTC(GetProgramLogSize)(program, &size) == RTC_IS(SUCCESS), "size of the log");
  std::string log(size, '\0');
  check(RTC(GetProgramLog)(program, &log[0]) == RTC_IS(SUCCESS), "log");
  return log;
}

static std::string compiled(RTC(Program) program, std::vector<const char*> options = {}) {
  const RTC(Result) result = RTC(CompileProgram)(program, static_cast<int>(options.size()), options.data());
  if (result != RTC_IS(SUCCESS)) std::printf("%s: %s\n", RTC(GetErrorString)(result), log_of(program).c_str());
  check(result == RTC_IS(SUCCESS), "compiled");
  std::size_t size = 0;
  check(GET_CODE_SIZE(program, &size) == RTC_IS(SUCCESS), "size of the code");
  std::string code(size, '\0');
  check(GET_CODE(program, &code[0]) == RTC_IS(SUCCESS), "code");
  return code;
}

// Sums of a warp, as many as its lanes; sums of a block in shared memory of both kinds.
static const char* const sums = R"(
typedef unsigned long long uint64_t;
__constant__ float factors[4];
__device__ int launches;
__device__ uint64_t wide;

extern "C" __global__ void scaled(float* to, const float* from, int n, float by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) { atomicAdd(&launches, 1); wide = ~uint64_t(0); }
  if (i < n) to[i] = from[i] * by * factors[i % 4];
}

extern "C" __global__ void summed(int* to, const int* from) {
  __shared__ int all[64];
  extern __shared__ int more[];
  all[threadIdx.x] = from[threadIdx.x];
  more[threadIdx.x] = all[threadIdx.x] + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int i = 0; i < 64; ++i) sum += all[i] + more[63 - i];
    to[0] = sum;
    to[1] = warpSize;
  }
}
#if 0
extern "C" __global__ void never(int* to) { what }
#endif
)";

static void test_launches() {
  RTC(Program) program = nullptr;
  check(RTC(CreateProgram)(&program, sums, "sums.cu", 0, nullptr, nullptr) == RTC_IS(SUCCESS), "created");
  const std::string code = compiled(program);
  check(RTC(DestroyProgram)(&program) == RTC_IS(SUCCESS) && program == nullptr, "destroyed");

  Module module, twin;
  check(DRIVER(ModuleLoadData)(&module, code.c_str()) == DRIVER_OK, "loaded");
  check(DRIVER(ModuleLoadDataEx)(&twin, code.c_str(), 0, nullptr, nullptr) == DRIVER_OK, "loaded again");
  Function function = nullptr;
  check(DRIVER(ModuleGetFunction)(&function, module, "never") == NOT_FOUND, "no such kernel");
  check(DRIVER(ModuleGetFunction)(&function, module, "scaled") == DRIVER_OK, "a kernel");
  Pointer factors, launches, others;
  std::size_t size = 0;
  check(DRIVER(ModuleGetGlobal)(&factors, &size, module, "factors") == DRIVER_OK && size == 16, "a variable");
  check(DRIVER(ModuleGetGlobal)(&launches, &size, module, "launches") == DRIVER_OK && size == 4, "another");
  check(DRIVER(ModuleGetGlobal)(&others, &size, twin, "launches") == DRIVER_OK, "the other module's");
  check(DRIVER(ModuleGetGlobal)(&others, &size, twin, "wide") == DRIVER_OK && size == 8, "of a type of its own");
  check(DRIVER(ModuleGetGlobal)(&others, &size, twin, "launches") == DRIVER_OK && others != launches, "not the same");
  check(DRIVER(ModuleGetGlobal)(&factors, &size, module, "nothing") == NOT_FOUND, "no such variable");
  const float four[] = {1, 2, 3, 4};
  check(DRIVER(MemcpyHtoD)(factors, four, sizeof four) == DRIVER_OK, "a copy to a variable");

  std::vector<float> numbers(100), want(100);
  for (int i = 0; i < 100; ++i) numbers[i] = i, want[i] = i * 0.5f * four[i % 4];
  Device<float> from(numbers), to(100);
  float *target = to, *source = from, by = 0.5f;
  int n = 100;
  void* arguments[] = {&target, &source, &n, &by};
  check(LAUNCH(function, 2, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr) == DRIVER_OK, "a launch");
  same(to.get(), want, "scaled");

  // The same in a buffer.
  Device<float> again(100);
  struct {
    float *to, *from;
    int n;
    float by;
  } packed = {again, from, 100, 0.5f};
  std::size_t bytes = sizeof packed;
  void* extra[] = {PARAM(BUFFER_POINTER), &packed, PARAM(BUFFER_SIZE), &bytes, PARAM(END)};
  check(LAUNCH(function, 2, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra) == DRIVER_OK, "a launch of a buffer");
  same(again.get(), want, "scaled from a buffer");
  bytes = sizeof packed - 4;
  check(LAUNCH(function, 2, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra) != DRIVER_OK, "too small a buffer");
  int counted[2];
  check(DRIVER(MemcpyDtoH)(&counted[0], launches, 4) == DRIVER_OK, "a copy");
  check(DRIVER(MemcpyDtoH)(&counted[1], others, 4) == DRIVER_OK, "a copy");
  check(counted[0] == 2 && counted[1] == 0, "modules have variables of their own");

  check(DRIVER(ModuleGetFunction)(&function, module, "summed") == DRIVER_OK, "another kernel");
  int bytes_of_shared = 0;
#ifdef __HIP__
  check(hipFuncGetAttribute(&bytes_of_shared, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function) == hipSuccess, "asked");
#else
  check(cuFuncGetAttribute(&bytes_of_shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function) == CUDA_SUCCESS, "asked");
#endif
  check(bytes_of_shared == 256, "static shared memory", bytes_of_shared);
  std::vector<int> integers(64);
  int sum = 0;
  for (int i = 0; i < 64; ++i) sum += 2 * (integers[i] = i * i) + 1;
  Device<int> ints(integers), result(2);
  int *to_int = result, *from_int = ints;
  void* others_of[] = {&to_int, &from_int};
  check(LAUNCH(function, 1, 1, 1, 64, 1, 1, 64 * 4, nullptr, others_of, nullptr) == DRIVER_OK, "a launch");
  const std::vector<int> got = result.get();
  check(got[0] == sum, "summed", got[0], sum);
  const char* const wave = std::getenv("SIMT_WAVE");
  check(got[1] == (is_hip && wave != nullptr ? std::atoi(wave) : 32), "lanes", got[1]);

  check(DRIVER(ModuleUnload)(module) == DRIVER_OK, "unloaded");
  check(DRIVER(ModuleUnload)(module) != DRIVER_OK, "unloaded twice");
  check(DRIVER(ModuleGetFunction)(&function, module, "summed") != DRIVER_OK, "of a module that is gone");
  check(DRIVER(ModuleGetFunction)(&function, twin, "summed") == DRIVER_OK, "of one that is there");

  // Code may be kept in a file.
  char path[] = "/tmp/hipport-code-XXXXXX";
  if (std::FILE* file = fdopen(mkstemp(path), "wb")) {
    std::fwrite(code.c_str(), 1, code.size(), file);
    std::fclose(file);
  }
  check(DRIVER(ModuleLoad)(&module, path) == DRIVER_OK, "loaded from a file");
  std::remove(path);
  check(DRIVER(ModuleLoad)(&twin, path) != DRIVER_OK, "no such file");
}

static void test_names() {
  const char* const source = R"(
#include "add.h"
#include <more/times.h>
namespace own {
template <typename T, int N> __global__ void filled(T* to) {
  int i = threadIdx.x;
  to[i] = added<T>(i, N) * times;
}
__device__ int counter = 7;
}
__global__ void plain(int* to) { *to = COUNT; }
#define KERNEL(name, value) __global__ void name(int* to) { *to = value; }
KERNEL(of_macro, 5)
)";
  const char* const texts[] = {"template <typename T> __device__ T added(T a, T b) { return a + b; }\n",
                               "constexpr int times = 3;\n"};
  const char* const names[] = {"add.h", "more/times.h"};
  RTC(Program) program = nullptr;
  check(RTC(CreateProgram)(&program, source, nullptr, 2, texts, names) == RTC_IS(SUCCESS), "created");
  const char* const wanted[] = {"own::filled<float, 4>", "own::filled<int, 2>", "plain", "of_macro", "&own::counter"};
  const char* name = nullptr;
  for (const char* each : wanted) {
    check(RTC(AddNameExpression)(program, each) == RTC_IS(SUCCESS), "a name expression");
  }
  check(RTC(GetLoweredName)(program, wanted[0], &name) == RTC_IS(ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION), "early");
  const std::string code = compiled(program, {"-DCOUNT=41", "-std=c++17"});
  check(RTC(AddNameExpression)(program, "x") == RTC_IS(ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION), "late");
  check(RTC(GetLoweredName)(program, "x", &name) == RTC_IS(ERROR_NAME_EXPRESSION_NOT_VALID), "not asked for");
  check(RTC(GetLoweredName)(program, wanted[0], &name) == RTC_IS(SUCCESS), "a lowered name");
  check(std::string(name) == "_ZN3own6filledIfLi4EEEvPT_", name);
  Module module;
  check(DRIVER(ModuleLoadData)(&module, code.c_str()) == DRIVER_OK, "loaded");
  Function function;
  check(DRIVER(ModuleGetFunction)(&function, module, name) == DRIVER_OK, "a template");
  Device<float> floats(8);
  float* to = floats;
  void* arguments[] = {&to};
  check(LAUNCH(function, 1, 1, 1, 8, 1, 1, 0, nullptr, arguments, nullptr) == DRIVER_OK, "a launch");
  same(floats.get(), std::vector<float>{12, 15, 18, 21, 24, 27, 30, 33}, "filled");
  Device<int> one(1);
  int* single = one;
  arguments[0] = &single;
  for (const auto& [expression, value] : {std::pair{wanted[2], 41}, std::pair{wanted[3], 5}}) {
    check(RTC(GetLoweredName)(program, expression, &name) == RTC_IS(SUCCESS), "a lowered name");
    check(DRIVER(ModuleGetFunction)(&function, module, name) == DRIVER_OK, expression);
    check(LAUNCH(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr) == DRIVER_OK, "a launch");
    same(one.get(), std::vector<int>{value}, expression);
  }
  check(RTC(GetLoweredName)(program, wanted[4], &name) == RTC_IS(SUCCESS), "a variable's lowered name");
  Pointer variable;
  std::size_t size = 0;
  int counter = 0;
  check(DRIVER(ModuleGetGlobal)(&variable, &size, module, name) == DRIVER_OK && size == 4, "a variable by it");
  check(DRIVER(MemcpyDtoH)(&counter, variable, 4) == DRIVER_OK && counter == 7, "its value");
  // Names that a program knows by heart.
  check(DRIVER(ModuleGetFunction)(&function, module, "_Z5plainPi") == DRIVER_OK, "a mangled name");
  RTC(DestroyProgram)(&program);
}

static void fails(const char* source, std::vector<const char*> options, RTC(Result) want, const char* says) {
  RTC(Program) program = nullptr;
  check(RTC(CreateProgram)(&program, source, "wrong.cu", 0, nullptr, nullptr) == RTC_IS(SUCCESS), "created");
  const RTC(Result) result = RTC(CompileProgram)(program, static_cast<int>(options.size()), options.data());
  const std::string log = log_of(program);
  check(result == want, RTC(GetErrorString)(result), result, want);
  check(log.find(says) != std::string::npos, says);
  if (log.find(says) == std::string::npos) std::printf("%s\n", log.c_str());
  std::size_t size = 0;
  check(GET_CODE_SIZE(program, &size) == RTC_IS(ERROR_INVALID_PROGRAM), "no code");
  RTC(DestroyProgram)(&program);
}

static void test_errors() {
  fails("__global__ void k(int* p) {\n  *p = missing;\n}\n", {}, RTC_IS(ERROR_COMPILATION), "wrong.cu(2): error: ");
  fails("__global__ void k(int* p) {}\n", {"--no-such-option"}, RTC_IS(ERROR_INVALID_OPTION), "--no-such-option");
  // What CUDA's programs give is not clang's, and what 32 lanes are is not a wavefront's mask.
  const char* const votes =
      "extern \"C\" __global__ void k(int* p) { p[threadIdx.x] = __shfl_sync(0xffffffff, p[threadIdx.x], 0); }\n";
  if (is_hip) {
    fails("__global__ void k(int* p) {}\n", {"--use_fast_math"}, RTC_IS(ERROR_INVALID_OPTION), "--use_fast_math");
    fails("__global__ void k() {}\n", {"--gpu-architecture=compute_80"}, RTC_IS(ERROR_COMPILATION), "compute_80");
    fails(votes, {}, RTC_IS(ERROR_COMPILATION), "mask");
    fails("#include <cuda_fp16.h>\n__global__ void k() {}\n", {}, RTC_IS(ERROR_COMPILATION), "cuda_fp16.h");
  } else {
    RTC(Program) program = nullptr;
    RTC(CreateProgram)(&program, votes, "votes.cu", 0, nullptr, nullptr);
    compiled(program, {"--use_fast_math", "--gpu-architecture=compute_80", "-default-device"});
    RTC(DestroyProgram)(&program);
    check(RTC(DestroyProgram)(&program) == RTC_IS(ERROR_INVALID_PROGRAM), "destroyed twice");
  }
  RTC(Program) program = nullptr;
  const char* const text = "";
  const char* const outside = "../outside.h";
  check(RTC(CreateProgram)(&program, "", "x", 1, &text, &outside) == RTC_IS(SUCCESS), "created");
  check(RTC(CompileProgram)(program, 0, nullptr) == RTC_IS(ERROR_INVALID_INPUT), "a header outside");
  RTC(DestroyProgram)(&program);
  check(RTC(CreateProgram)(&program, nullptr, "x", 0, nullptr, nullptr) == RTC_IS(ERROR_INVALID_INPUT), "no source");
}

int main(int count, char** arguments) {
#ifndef __HIP__
  cuInit(0);
  CUdevice device;
  CUcontext context;
  cuDeviceGet(&device, 0);
  cuCtxCreate(&context, 0, device);
#endif
  if (count > 1 && std::strcmp(arguments[1], "code") == 0) {
    Module module;
    return DRIVER(ModuleLoadData)(&module, ".version 8.0\n.target sm_80\n") == DRIVER_OK;
  }
  if (count > 1 && std::strcmp(arguments[1], "race") == 0) {
    RTC(Program) program = nullptr;
    RTC(CreateProgram)(&program,
                       "extern \"C\" __global__ void reversed(int* p) {\n  __shared__ int all[64];\n"
                       "  all[threadIdx.x] = p[threadIdx.x];\n  p[threadIdx.x] = all[63 - threadIdx.x];\n}\n",
                       "reversed.cu", 0, nullptr, nullptr);
    const std::string code = compiled(program);
    Module module;
    Function function;
    DRIVER(ModuleLoadData)(&module, code.c_str());
    DRIVER(ModuleGetFunction)(&function, module, "reversed");
    Device<int> ints(64);
    int* to = ints;
    void* all[] = {&to};
    LAUNCH(function, 1, 1, 1, 64, 1, 1, 0, nullptr, all, nullptr);
    return failures;
  }
  if (count > 1 && std::strcmp(arguments[1], "fault") == 0) {
    RTC(Program) program = nullptr;
    RTC(CreateProgram)(&program, "extern \"C\" __global__ void beyond(int* p) {\n  p[threadIdx.x + 4000000] = 1;\n}\n",
                       "beyond.cu", 0, nullptr, nullptr);
    const std::string code = compiled(program);
    Module module;
    Function function;
    DRIVER(ModuleLoadData)(&module, code.c_str());
    DRIVER(ModuleGetFunction)(&function, module, "beyond");
    Device<int> ints(16);
    int* to = ints;
    void* all[] = {&to};
    LAUNCH(function, 1, 1, 1, 16, 1, 1, 0, nullptr, all, nullptr);
    return 0;
  }
  test_launches();
  test_names();
  test_errors();
  return finish();
}
