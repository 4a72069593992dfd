// SPDX-License-Identifier: Apache-2.0
// simt/fft.h: cuFFT and hipFFT: transforms of one to three dimensions, batches, layouts. Values are those of CUDA 12
// and of hipFFT 1.0 (ROCm 7.0). A missing function is a compile error.
#ifndef SIMT_FFT_H
#define SIMT_FFT_H

#include "fft_core.h"
#include "prelude.h"

#ifdef SIMT_HIP
#define SIMT_FFT(name) hipfft##name
#define SIMT_FFT_CONSTANT(name) HIPFFT_##name
#define SIMT_FFT_CALLED(name) "hipfft" name
#define HIPFFT_H_
#define HIPFFT_FORWARD -1
#define HIPFFT_BACKWARD 1
typedef struct hipfftHandle_t* hipfftHandle;
#else
#define SIMT_FFT(name) cufft##name
#define SIMT_FFT_CONSTANT(name) CUFFT_##name
#define SIMT_FFT_CALLED(name) "cufft" name
#define _CUFFT_H_
#define CUFFT_VERSION 11203
#define CUFFT_FORWARD -1
#define CUFFT_INVERSE 1
#define CUFFTAPI
typedef int cufftHandle;
#endif

enum SIMT_FFT(Result_t) {
  SIMT_FFT_CONSTANT(SUCCESS) = 0,
  SIMT_FFT_CONSTANT(INVALID_PLAN) = 1,
  SIMT_FFT_CONSTANT(ALLOC_FAILED) = 2,
  SIMT_FFT_CONSTANT(INVALID_TYPE) = 3,
  SIMT_FFT_CONSTANT(INVALID_VALUE) = 4,
  SIMT_FFT_CONSTANT(INTERNAL_ERROR) = 5,
  SIMT_FFT_CONSTANT(EXEC_FAILED) = 6,
  SIMT_FFT_CONSTANT(SETUP_FAILED) = 7,
  SIMT_FFT_CONSTANT(INVALID_SIZE) = 8,
  SIMT_FFT_CONSTANT(UNALIGNED_DATA) = 9,
  SIMT_FFT_CONSTANT(INCOMPLETE_PARAMETER_LIST) = 10,
  SIMT_FFT_CONSTANT(INVALID_DEVICE) = 11,
  SIMT_FFT_CONSTANT(PARSE_ERROR) = 12,
  SIMT_FFT_CONSTANT(NO_WORKSPACE) = 13,
  SIMT_FFT_CONSTANT(NOT_IMPLEMENTED) = 14,
#ifndef SIMT_HIP
  CUFFT_LICENSE_ERROR = 15,
#endif
  SIMT_FFT_CONSTANT(NOT_SUPPORTED) = 16,
#ifndef SIMT_HIP
  CUFFT_MISSING_DEPENDENCY = 17,
  CUFFT_NVRTC_FAILURE = 18,
  CUFFT_NVJITLINK_FAILURE = 19,
  CUFFT_NVSHMEM_FAILURE = 20,
#endif
};
typedef SIMT_FFT(Result_t) SIMT_FFT(Result);
enum SIMT_FFT(Type_t) {
  SIMT_FFT_CONSTANT(R2C) = 0x2a,
  SIMT_FFT_CONSTANT(C2R) = 0x2c,
  SIMT_FFT_CONSTANT(C2C) = 0x29,
  SIMT_FFT_CONSTANT(D2Z) = 0x6a,
  SIMT_FFT_CONSTANT(Z2D) = 0x6c,
  SIMT_FFT_CONSTANT(Z2Z) = 0x69,
};
typedef SIMT_FFT(Type_t) SIMT_FFT(Type);
typedef float SIMT_FFT(Real);
typedef double SIMT_FFT(DoubleReal);
typedef float2 SIMT_FFT(Complex);
typedef double2 SIMT_FFT(DoubleComplex);

namespace simt {
namespace fft {

using Handle = SIMT_FFT(Handle);
using Result = SIMT_FFT(Result);
constexpr Result success = SIMT_FFT_CONSTANT(SUCCESS);

inline Plan* plan_of(Handle handle) { return find((long)handle); }

inline Result make(Handle handle, int rank, const long long* points, const long long* in_embedded, long long in_step,
                   long long in_distance, const long long* out_embedded, long long out_step, long long out_distance,
                   SIMT_FFT(Type) type, long long batch, std::size_t* size) {
  Plan* const plan = plan_of(handle);
  if (plan == nullptr) return SIMT_FFT_CONSTANT(INVALID_PLAN);
  if (rank < 1 || rank > 3 || batch < 1) return SIMT_FFT_CONSTANT(INVALID_SIZE);
  switch (type) {
    case SIMT_FFT_CONSTANT(C2C):
    case SIMT_FFT_CONSTANT(Z2Z): plan->kind = Kind::complex; break;
    case SIMT_FFT_CONSTANT(R2C):
    case SIMT_FFT_CONSTANT(D2Z): plan->kind = Kind::to_complex; break;
    case SIMT_FFT_CONSTANT(C2R):
    case SIMT_FFT_CONSTANT(Z2D): plan->kind = Kind::to_real; break;
    default: return SIMT_FFT_CONSTANT(INVALID_TYPE);
  }
  plan->wide = (type & 0x40) != 0;
  plan->rank = rank;
  plan->batch = batch;
  plan->basic = in_embedded == nullptr || out_embedded == nullptr;
  for (int i = 0; i < 3; ++i) {
    // Only the last dimensions exist.
    const int given = i - (3 - rank);
    plan->points[i] = given < 0 ? 1 : points[given];
    if (plan->points[i] < 1) return SIMT_FFT_CONSTANT(INVALID_SIZE);
    plan->in.embedded[i] = given < 0 || plan->basic ? 1 : in_embedded[given];
    plan->out.embedded[i] = given < 0 || plan->basic ? 1 : out_embedded[given];
  }
  plan->in.step = in_step;
  plan->in.distance = in_distance;
  plan->out.step = out_step;
  plan->out.distance = out_distance;
  if (size != nullptr) *size = 0;
  return success;
}

inline Result create(Handle* handle) {
  if (handle == nullptr) return SIMT_FFT_CONSTANT(INVALID_VALUE);
  *handle = (Handle)add(Plan());
  return success;
}

template <typename In, typename Out>
Result execute(const char* name, Handle handle, const In* in, Out* out, Kind kind, bool wide, int direction,
               Place place) {
  const Plan* const made = plan_of(handle);
  if (made == nullptr || made->rank == 0) return SIMT_FFT_CONSTANT(INVALID_PLAN);
  if (made->kind != kind || made->wide != wide) return SIMT_FFT_CONSTANT(INVALID_TYPE);
  if (direction != -1 && direction != 1) return SIMT_FFT_CONSTANT(INVALID_VALUE);
  Plan plan = *made;
  lay_out(plan, static_cast<const void*>(in) == static_cast<const void*>(out));
  host::enqueue(static_cast<hipStream_t>(plan.stream), [=] {
    const void* const pointers[] = {in, out};
    const Index sizes[] = {reach(plan, false) * Index(sizeof(In)), reach(plan, true) * Index(sizeof(Out))};
    for (int i = 0; i < 2; ++i) {
      if (host::side(pointers[i]) == host::Side::host) {
        fault("host-memory", place, "%s: the %s is host memory, which the device cannot reach", name,
              i == 0 ? "input" : "output");
      }
      check_range(name, pointers[i], static_cast<std::size_t>(sizes[i]), place);
    }
    run(plan, in, out, direction);
  });
  return success;
}

}  // namespace fft
}  // namespace simt

#define SIMT_FFT_RESULT inline ::simt::fft::Result
#define SIMT_FFT_HANDLE ::simt::fft::Handle

SIMT_FFT_RESULT SIMT_FFT(Create)(SIMT_FFT_HANDLE* plan) { return simt::fft::create(plan); }
SIMT_FFT_RESULT SIMT_FFT(Destroy)(SIMT_FFT_HANDLE plan) {
  return simt::fft::remove((long)plan) ? simt::fft::success : SIMT_FFT_CONSTANT(INVALID_PLAN);
}
SIMT_FFT_RESULT SIMT_FFT(SetStream)(SIMT_FFT_HANDLE plan, hipStream_t stream) {
  if (simt::fft::plan_of(plan) == nullptr) return SIMT_FFT_CONSTANT(INVALID_PLAN);
  simt::fft::plan_of(plan)->stream = stream;
  return simt::fft::success;
}
// No workspace is needed.
SIMT_FFT_RESULT SIMT_FFT(SetWorkArea)(SIMT_FFT_HANDLE plan, void*) {
  return simt::fft::plan_of(plan) != nullptr ? simt::fft::success : SIMT_FFT_CONSTANT(INVALID_PLAN);
}
SIMT_FFT_RESULT SIMT_FFT(SetAutoAllocation)(SIMT_FFT_HANDLE plan, int) { return SIMT_FFT(SetWorkArea)(plan, nullptr); }
SIMT_FFT_RESULT SIMT_FFT(GetSize)(SIMT_FFT_HANDLE plan, std::size_t* size) {
  *size = 0;
  return SIMT_FFT(SetWorkArea)(plan, nullptr);
}
SIMT_FFT_RESULT SIMT_FFT(GetVersion)(int* version) {
#ifdef SIMT_HIP
  *version = 10020;
#else
  *version = CUFFT_VERSION;
#endif
  return simt::fft::success;
}

SIMT_FFT_RESULT SIMT_FFT(MakePlan1d)(SIMT_FFT_HANDLE plan, int x, SIMT_FFT(Type) type, int batch, std::size_t* size) {
  const long long points[] = {x};
  return simt::fft::make(plan, 1, points, nullptr, 1, 0, nullptr, 1, 0, type, batch, size);
}
SIMT_FFT_RESULT SIMT_FFT(MakePlan2d)(SIMT_FFT_HANDLE plan, int x, int y, SIMT_FFT(Type) type, std::size_t* size) {
  const long long points[] = {x, y};
  return simt::fft::make(plan, 2, points, nullptr, 1, 0, nullptr, 1, 0, type, 1, size);
}
SIMT_FFT_RESULT SIMT_FFT(MakePlan3d)(SIMT_FFT_HANDLE plan, int x, int y, int z, SIMT_FFT(Type) type,
                                     std::size_t* size) {
  const long long points[] = {x, y, z};
  return simt::fft::make(plan, 3, points, nullptr, 1, 0, nullptr, 1, 0, type, 1, size);
}
template <typename N>
::simt::fft::Result simtFftMany(SIMT_FFT_HANDLE plan, int rank, N* points, N* in_embedded, N in_step, N in_distance,
                                N* out_embedded, N out_step, N out_distance, SIMT_FFT(Type) type, N batch,
                                std::size_t* size) {
  if (rank < 1 || rank > 3 || points == nullptr) return SIMT_FFT_CONSTANT(INVALID_SIZE);
  long long all[3][3] = {};
  for (int i = 0; i < rank; ++i) {
    all[0][i] = points[i];
    if (in_embedded != nullptr) all[1][i] = in_embedded[i];
    if (out_embedded != nullptr) all[2][i] = out_embedded[i];
  }
  return simt::fft::make(plan, rank, all[0], in_embedded == nullptr ? nullptr : all[1], in_step, in_distance,
                         out_embedded == nullptr ? nullptr : all[2], out_step, out_distance, type, batch, size);
}
SIMT_FFT_RESULT SIMT_FFT(MakePlanMany)(SIMT_FFT_HANDLE plan, int rank, int* points, int* in_embedded, int in_step,
                                       int in_distance, int* out_embedded, int out_step, int out_distance,
                                       SIMT_FFT(Type) type, int batch, std::size_t* size) {
  return simtFftMany(plan, rank, points, in_embedded, in_step, in_distance, out_embedded, out_step, out_distance, type,
                     batch, size);
}
SIMT_FFT_RESULT SIMT_FFT(MakePlanMany64)(SIMT_FFT_HANDLE plan, int rank, long long* points, long long* in_embedded,
                                         long long in_step, long long in_distance, long long* out_embedded,
                                         long long out_step, long long out_distance, SIMT_FFT(Type) type,
                                         long long batch, std::size_t* size) {
  return simtFftMany(plan, rank, points, in_embedded, in_step, in_distance, out_embedded, out_step, out_distance, type,
                     batch, size);
}
SIMT_FFT_RESULT SIMT_FFT(Plan1d)(SIMT_FFT_HANDLE* plan, int x, SIMT_FFT(Type) type, int batch) {
  if (const auto error = simt::fft::create(plan)) return error;
  return SIMT_FFT(MakePlan1d)(*plan, x, type, batch, nullptr);
}
SIMT_FFT_RESULT SIMT_FFT(Plan2d)(SIMT_FFT_HANDLE* plan, int x, int y, SIMT_FFT(Type) type) {
  if (const auto error = simt::fft::create(plan)) return error;
  return SIMT_FFT(MakePlan2d)(*plan, x, y, type, nullptr);
}
SIMT_FFT_RESULT SIMT_FFT(Plan3d)(SIMT_FFT_HANDLE* plan, int x, int y, int z, SIMT_FFT(Type) type) {
  if (const auto error = simt::fft::create(plan)) return error;
  return SIMT_FFT(MakePlan3d)(*plan, x, y, z, type, nullptr);
}
SIMT_FFT_RESULT SIMT_FFT(PlanMany)(SIMT_FFT_HANDLE* plan, int rank, int* points, int* in_embedded, int in_step,
                                   int in_distance, int* out_embedded, int out_step, int out_distance,
                                   SIMT_FFT(Type) type, int batch) {
  if (const auto error = simt::fft::create(plan)) return error;
  return SIMT_FFT(MakePlanMany)(*plan, rank, points, in_embedded, in_step, in_distance, out_embedded, out_step,
                                out_distance, type, batch, nullptr);
}

#define SIMT_FFT_EXECUTE(Name, In, Out, kind, wide)                                                                  \
  SIMT_FFT_RESULT SIMT_FFT(Exec##Name)(SIMT_FFT_HANDLE plan, In* in, Out* out, int direction, SIMT_HERE) {           \
    return simt::fft::execute(SIMT_FFT_CALLED("Exec" #Name), plan, in, out, simt::fft::Kind::kind, wide, direction,  \
                              SIMT_THERE);                                                                           \
  }
#define SIMT_FFT_EXECUTE_REAL(Name, In, Out, kind, wide, direction)                                                  \
  SIMT_FFT_RESULT SIMT_FFT(Exec##Name)(SIMT_FFT_HANDLE plan, In* in, Out* out, SIMT_HERE) {                          \
    return simt::fft::execute(SIMT_FFT_CALLED("Exec" #Name), plan, in, out, simt::fft::Kind::kind, wide, direction,  \
                              SIMT_THERE);                                                                           \
  }
SIMT_FFT_EXECUTE(C2C, float2, float2, complex, false)
SIMT_FFT_EXECUTE(Z2Z, double2, double2, complex, true)
SIMT_FFT_EXECUTE_REAL(R2C, float, float2, to_complex, false, -1)
SIMT_FFT_EXECUTE_REAL(D2Z, double, double2, to_complex, true, -1)
SIMT_FFT_EXECUTE_REAL(C2R, float2, float, to_real, false, 1)
SIMT_FFT_EXECUTE_REAL(Z2D, double2, double, to_real, true, 1)
#undef SIMT_FFT_EXECUTE
#undef SIMT_FFT_EXECUTE_REAL
#undef SIMT_FFT_RESULT
#undef SIMT_FFT_HANDLE

#endif
