// SPDX-License-Identifier: Apache-2.0
// simt/streams.h: streams, events, callbacks. All work is done when the requesting call returns, so a stream has
// nothing to wait for. What remains is the validity of handles, and the times of events.
#ifndef SIMT_STREAMS_H
#define SIMT_STREAMS_H

#include "host.h"

struct ihipStream_t {
  unsigned flags;
  int priority;
  unsigned long long id;
};

struct ihipEvent_t {
  unsigned flags;
  bool recorded;
  std::int64_t when;
  const void* recording = nullptr;  // the stream that recorded it for a graph
};

namespace simt {
namespace host {

inline constexpr int least_priority = 0, greatest_priority = -5;

/// The default streams have no object.
inline bool is_default(hipStream_t stream) {
  return stream == nullptr || stream == hipStreamLegacy || stream == hipStreamPerThread;
}
inline bool exists(hipStream_t stream) { return is_default(stream) || has_handle(stream, HandleKind::stream); }
inline hipError_t check(hipStream_t stream) { return result(exists(stream) ? hipSuccess : hipErrorInvalidHandle); }
inline hipError_t check(hipEvent_t event) {
  return result(has_handle(event, HandleKind::event) ? hipSuccess : hipErrorInvalidHandle);
}

/// Do work for a stream; a recording stream records it. Libraries launch kernels through this.
template <typename F>
void enqueue(hipStream_t stream, const F& work) {
  if (records(stream)) return record(stream, NodeKind::kernel, new WorkOf<F>(work));
  work();
}
inline hipError_t check_not_recording(hipStream_t stream) {
  return records(stream) ? result(hipErrorStreamCaptureUnsupported) : check(stream);
}

}  // namespace host
}  // namespace simt

// --------------------------------------------------------------------------------------------------------- streams

inline hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  if (stream == nullptr || flags > hipStreamNonBlocking) return simt::host::result(hipErrorInvalidValue);
  static unsigned long long count = 0;
  const unsigned long long id = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
  using namespace simt::host;
  const int kept = smaller(least_priority, larger(greatest_priority, priority));
  *stream = new ihipStream_t{flags, kept, id};
  simt::host::add_handle(*stream, simt::host::HandleKind::stream);
  return hipSuccess;
}
inline hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return hipStreamCreateWithPriority(stream, flags, 0);
}
inline hipError_t hipStreamCreate(hipStream_t* stream) { return hipStreamCreateWithFlags(stream, hipStreamDefault); }
inline hipError_t hipStreamDestroy(hipStream_t stream) {
  if (!simt::host::remove_handle(stream, simt::host::HandleKind::stream)) {
    return simt::host::result(hipErrorInvalidHandle);
  }
  delete stream;
  return hipSuccess;
}
inline hipError_t hipStreamSynchronize(hipStream_t stream) { return simt::host::check_not_recording(stream); }
inline hipError_t hipStreamQuery(hipStream_t stream) { return simt::host::check_not_recording(stream); }
inline hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned = 0) {
  if (const hipError_t error = simt::host::check(stream)) return error;
  if (const hipError_t error = simt::host::check(event)) return error;
  // A stream that waits for a recording one records into the same graph.
  if (event->recording != nullptr) simt::join_recording(stream, event->recording);
  return hipSuccess;
}
inline hipError_t hipStreamGetFlags(hipStream_t stream, unsigned* flags) {
  if (const hipError_t error = simt::host::check(stream)) return error;
  *flags = simt::host::is_default(stream) ? hipStreamDefault : stream->flags;
  return hipSuccess;
}
inline hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) {
  if (const hipError_t error = simt::host::check(stream)) return error;
  *priority = simt::host::is_default(stream) ? 0 : stream->priority;
  return hipSuccess;
}
inline hipError_t simtStreamGetId(hipStream_t stream, unsigned long long* id) {
  if (const hipError_t error = simt::host::check(stream)) return error;
  *id = simt::host::is_default(stream) ? 0 : stream->id;
  return hipSuccess;
}
inline hipError_t hipStreamGetDevice(hipStream_t stream, int* device) {
  if (const hipError_t error = simt::host::check(stream)) return error;
  *device = 0;
  return hipSuccess;
}
// Only CUDA has these. The attributes concern caches and priorities.
inline hipError_t simtStreamSetAttribute(hipStream_t stream, hipLaunchAttributeID, const hipLaunchAttributeValue*) {
  return simt::host::check(stream);
}
inline hipError_t simtStreamCopyAttributes(hipStream_t to, hipStream_t from) {
  if (const hipError_t error = simt::host::check(to)) return error;
  return simt::host::check(from);
}
inline hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = simt::host::least_priority;
  if (greatest != nullptr) *greatest = simt::host::greatest_priority;
  return hipSuccess;
}
inline hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  if (const hipError_t error = simt::host::check(stream)) return error;
  *status = simt::records(stream) ? hipStreamCaptureStatusActive : hipStreamCaptureStatusNone;
  return hipSuccess;
}
inline hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status,
                                          unsigned long long* id = nullptr) {
  if (id != nullptr) *id = simt::records(stream) ? 1 : 0;
  return hipStreamIsCapturing(stream, status);
}
inline hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  if (mode == nullptr) return simt::host::result(hipErrorInvalidValue);
  const auto before = static_cast<hipStreamCaptureMode>(simt::recording_mode());
  simt::recording_mode() = *mode;
  *mode = before;
  return hipSuccess;
}

// ------------------------------------------------------------------------------------------------------- callbacks

inline hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* data, unsigned flags) {
  if (callback == nullptr || flags != 0) return simt::host::result(hipErrorInvalidValue);
  if (const hipError_t error = simt::host::check(stream)) return error;
  if (const hipError_t error = simt::host::check_not_recording(stream)) return error;
  callback(stream, hipSuccess, data);
  return hipSuccess;
}
/// The parameters of such a call in a graph.
struct hipHostNodeParams {
  hipHostFn_t fn;
  void* userData;
};
inline hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* data) {
  if (function == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (const hipError_t error = simt::host::check(stream)) return error;
  const hipHostNodeParams how{function, data};
  return simt::host::asked(stream, simt::NodeKind::host, [=] {
    function(data);
    return hipSuccess;
  }, how);
}

// ---------------------------------------------------------------------------------------------------------- events

inline hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  if (event == nullptr) return simt::host::result(hipErrorInvalidValue);
  *event = new ihipEvent_t{flags, false, 0, nullptr};
  simt::host::add_handle(*event, simt::host::HandleKind::event);
  return hipSuccess;
}
inline hipError_t hipEventCreate(hipEvent_t* event) { return hipEventCreateWithFlags(event, hipEventDefault); }
inline hipError_t hipEventCreate(hipEvent_t* event, unsigned flags) { return hipEventCreateWithFlags(event, flags); }
inline hipError_t hipEventDestroy(hipEvent_t event) {
  if (!simt::host::remove_handle(event, simt::host::HandleKind::event)) {
    return simt::host::result(hipErrorInvalidHandle);
  }
  delete event;
  return hipSuccess;
}
inline hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream = nullptr) {
  if (const hipError_t error = simt::host::check(stream)) return error;
  if (const hipError_t error = simt::host::check(event)) return error;
  event->recording = nullptr;
  if (simt::records(stream)) {
    event->recording = stream;
    return hipSuccess;
  }
  event->recorded = true;
  event->when = simt::host::nanoseconds();
  return hipSuccess;
}
inline hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream = nullptr, unsigned = 0) {
  return hipEventRecord(event, stream);
}
inline hipError_t hipEventQuery(hipEvent_t event) {
  if (const hipError_t error = simt::host::check(event)) return error;
  return simt::host::result(event->recording != nullptr ? hipErrorCapturedEvent : hipSuccess);
}
inline hipError_t hipEventSynchronize(hipEvent_t event) { return hipEventQuery(event); }
inline hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  if (milliseconds == nullptr) return simt::host::result(hipErrorInvalidValue);
  for (const hipEvent_t event : {start, stop}) {
    if (const hipError_t error = hipEventQuery(event)) return error;
    if (!event->recorded || (event->flags & hipEventDisableTiming) != 0) {
      return simt::host::result(hipErrorInvalidHandle);
    }
  }
  const float elapsed = static_cast<float>(stop->when - start->when) * 1e-6f;
  // Programs divide by it. Half a microsecond is CUDA's resolution.
  *milliseconds = elapsed >= 0 ? simt::host::larger(elapsed, 0.0005f) : elapsed;
  return hipSuccess;
}

#endif
