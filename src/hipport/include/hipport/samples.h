// SPDX-License-Identifier: Apache-2.0
// hipport/samples.h: the parts of NVIDIA's helper_cuda.h, helper_string.h and helper_timer.h that programs use.
// Put here by hipport.
//
// Those headers lie in a folder of the CUDA samples; programs that began as a sample need it to build, and they are
// only for CUDA. This header has their error checks, choice of a device, arguments and timers, under the same names,
// for the host. Messages differ. Images, files and comparisons are missing.
#ifndef HIPPORT_SAMPLES_H
#define HIPPORT_SAMPLES_H

#include <hip/hip_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chrono>
#include <fstream>
#include <string>

#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif

namespace hipport {
namespace samples {

inline const char* name_of(hipError_t error) { return hipGetErrorName(error); }

/// The error names of libraries have nothing in common.
template <typename Status>
const char* name_of(Status) {
  return "status of a library";
}

template <typename Status>
void check(Status status, const char* call, const char* file, int line) {
  if (!static_cast<unsigned>(status)) return;
  fprintf(stderr, "%s:%d: error %u (%s) of %s\n", file, line, static_cast<unsigned>(status), name_of(status), call);
  exit(EXIT_FAILURE);
}

inline void check_last(const char* message, const char* file, int line, bool leave) {
  const hipError_t error = hipGetLastError();
  if (error == hipSuccess) return;
  fprintf(stderr, "%s:%d: %s: error %d (%s)\n", file, line, message, static_cast<int>(error), hipGetErrorName(error));
  if (leave) exit(EXIT_FAILURE);
}

/// The text after `-name=` or `--name=`, empty after `-name`; a null pointer if the argument is missing.
inline const char* argument(int argc, const char** argv, const char* name) {
  const size_t length = strlen(name);
  for (int i = 1; i < argc; ++i) {
    const char* word = argv[i];
    while (*word == '-') ++word;
    if (strncmp(word, name, length)) continue;
    if (word[length] == '=') return word + length + 1;
    if (!word[length]) return word + length;
  }
  return nullptr;
}

}  // namespace samples
}  // namespace hipport

// A program's own definition takes precedence.
#ifndef checkCudaErrors
#define checkCudaErrors(call) hipport::samples::check((call), #call, __FILE__, __LINE__)
#endif
#ifndef getLastCudaError
#define getLastCudaError(message) hipport::samples::check_last(message, __FILE__, __LINE__, true)
#endif
#ifndef printLastCudaError
#define printLastCudaError(message) hipport::samples::check_last(message, __FILE__, __LINE__, false)
#endif

inline const char* _cudaGetErrorEnum(hipError_t error) { return hipGetErrorName(error); }

inline int ftoi(float value) { return static_cast<int>(value >= 0 ? value + 0.5f : value - 0.5f); }

inline bool checkCmdLineFlag(int argc, const char** argv, const char* name) {
  return hipport::samples::argument(argc, argv, name) != nullptr;
}

inline int getCmdLineArgumentInt(int argc, const char** argv, const char* name) {
  const char* value = hipport::samples::argument(argc, argv, name);
  return value ? atoi(value) : 0;
}

inline float getCmdLineArgumentFloat(int argc, const char** argv, const char* name) {
  const char* value = hipport::samples::argument(argc, argv, name);
  return value ? static_cast<float>(atof(value)) : 0.0f;
}

inline bool getCmdLineArgumentString(int argc, const char** argv, const char* name, char** found) {
  const char* value = hipport::samples::argument(argc, argv, name);
  *found = const_cast<char*>(value);
  return value != nullptr;
}

/// Choose the device with that number, or the first one if it is negative.
inline int gpuDeviceInit(int device) {
  int count = 0;
  checkCudaErrors(hipGetDeviceCount(&count));
  if (device < 0) device = 0;
  if (device >= count) {
    fprintf(stderr, "there is no GPU %d\n", device);
    exit(EXIT_FAILURE);
  }
  checkCudaErrors(hipSetDevice(device));
  return device;
}

/// The device with the highest product of multiprocessors and clock.
inline int gpuGetMaxGflopsDeviceId() {
  int count = 0, best = 0;
  double most = -1;
  checkCudaErrors(hipGetDeviceCount(&count));
  for (int device = 0; device < count; ++device) {
    int processors = 0, clock = 0;
    checkCudaErrors(hipDeviceGetAttribute(&processors, hipDeviceAttributeMultiprocessorCount, device));
    checkCudaErrors(hipDeviceGetAttribute(&clock, hipDeviceAttributeClockRate, device));
    const double speed = static_cast<double>(processors) * clock;
    if (speed > most) {
      most = speed;
      best = device;
    }
  }
  if (count == 0) {
    fprintf(stderr, "there is no GPU\n");
    exit(EXIT_FAILURE);
  }
  return best;
}

/// Choose the device that `-device=` names, or the fastest.
inline int findCudaDevice(int argc, const char** argv) {
  const bool named = checkCmdLineFlag(argc, argv, "device");
  return gpuDeviceInit(named ? getCmdLineArgumentInt(argc, argv, "device") : gpuGetMaxGflopsDeviceId());
}

/// A clock of the host, in milliseconds.
class StopWatchInterface {
 public:
  void start() {
    started_ = std::chrono::steady_clock::now();
    runs_ = true;
  }
  void stop() {
    total_ += since();
    runs_ = false;
    ++turns_;
  }
  void reset() {
    total_ = 0;
    turns_ = 0;
    if (runs_) started_ = std::chrono::steady_clock::now();
  }
  float getTime() { return runs_ ? total_ + since() : total_; }
  float getAverageTime() { return turns_ ? total_ / static_cast<float>(turns_) : 0; }

 private:
  float since() const {
    return std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - started_).count();
  }
  std::chrono::steady_clock::time_point started_;
  float total_ = 0;
  int turns_ = 0;
  bool runs_ = false;
};

inline bool sdkCreateTimer(StopWatchInterface** timer) {
  *timer = new StopWatchInterface;
  return true;
}

inline bool sdkDeleteTimer(StopWatchInterface** timer) {
  delete *timer;
  *timer = nullptr;
  return true;
}

inline bool sdkStartTimer(StopWatchInterface** timer) {
  if (*timer) (*timer)->start();
  return true;
}

inline bool sdkStopTimer(StopWatchInterface** timer) {
  if (*timer) (*timer)->stop();
  return true;
}

inline bool sdkResetTimer(StopWatchInterface** timer) {
  if (*timer) (*timer)->reset();
  return true;
}

inline float sdkGetTimerValue(StopWatchInterface** timer) { return *timer ? (*timer)->getTime() : 0; }

inline float sdkGetAverageTimerValue(StopWatchInterface** timer) { return *timer ? (*timer)->getAverageTime() : 0; }

#endif  // HIPPORT_SAMPLES_H
