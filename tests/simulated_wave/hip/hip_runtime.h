// SPDX-License-Identifier: Apache-2.0
// What hipport's warp headers use of HIP, on a CPU: a wavefront of 32 or 64 lanes in lockstep, for tests.
//
// Every lane is a fiber that runs to its next collective operation. Of the lanes that wait, those at the least place in
// the program go first and together: a place is the list of return addresses from the outermost function to the
// operation, and unoptimized code lies in the order of its source. So lanes meet again where the branches that parted
// them meet, as AMD's compilers have it. A shuffle from a lane that is not there gives `poison`.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#define __device__
#define __host__
#define __forceinline__ inline
#define __global__
#define __shared__ static

namespace simulated {

constexpr int poison = 0x0badbad0;

struct Lane {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  void* base = nullptr;
  std::vector<void*> place;
  int word = 0;  // what the lane gives to the operation
  std::vector<int> given;  // what all lanes gave, `poison` for those that do not take part
  bool done = false;
};

inline std::vector<Lane> lanes;
inline unsigned current = 0;
inline ucontext_t scheduler;
inline std::function<void(unsigned)> program;

inline void enter() {
  Lane& lane = lanes[current];
  lane.base = __builtin_frame_address(0);
  program(current);
  lane.done = true;
  swapcontext(&lane.context, &scheduler);
}

/// Give `word` to the other lanes, and return when all lanes that come here together have done so.
inline void meet(int word) {
  Lane& lane = lanes[current];
  lane.word = word;
  lane.place.clear();
  for (void** frame = static_cast<void**>(__builtin_frame_address(0)); frame != lane.base;
       frame = static_cast<void**>(frame[0])) {
    lane.place.insert(lane.place.begin(), frame[1]);
  }
  swapcontext(&lane.context, &scheduler);
}

/// Run `kernel` for the lanes below `count` of a wavefront of `size` lanes.
inline void run(unsigned size, unsigned count, std::function<void(unsigned)> kernel) {
  constexpr std::size_t bytes = 1 << 18;
  lanes = std::vector<Lane>(size);
  program = std::move(kernel);
  for (unsigned i = 0; i < size; ++i) {
    Lane& lane = lanes[i];
    lane.done = i >= count;
    if (lane.done) continue;
    lane.stack.reset(new char[bytes]);
    getcontext(&lane.context);
    lane.context.uc_stack.ss_sp = lane.stack.get();
    lane.context.uc_stack.ss_size = bytes;
    makecontext(&lane.context, enter, 0);
  }
  std::uint64_t next = ~std::uint64_t(0);
  while (next != 0) {
    for (current = 0; current < size; ++current) {
      if (next >> current & 1 && !lanes[current].done) swapcontext(&scheduler, &lanes[current].context);
    }
    const Lane* first = nullptr;
    for (const Lane& lane : lanes) {
      if (!lane.done && (first == nullptr || lane.place < first->place)) first = &lane;
    }
    next = 0;
    for (unsigned i = 0; i < size; ++i) next |= std::uint64_t(!lanes[i].done && lanes[i].place == first->place) << i;
    std::vector<int> given(size, poison);
    for (unsigned i = 0; i < size; ++i) {
      if (next >> i & 1) given[i] = lanes[i].word;
    }
    for (unsigned i = 0; i < size; ++i) {
      if (next >> i & 1) lanes[i].given = given;
    }
  }
}

}  // namespace simulated

inline unsigned __lane_id() { return simulated::current; }
inline unsigned long long __ballot(int predicate) {
  simulated::meet(predicate != 0);
  unsigned long long votes = 0;
  const std::vector<int>& given = simulated::lanes[simulated::current].given;
  for (unsigned i = 0; i < given.size(); ++i) votes |= (unsigned long long)(given[i] == 1) << i;
  return votes;
}
inline int simulated_shuffle(int word, unsigned lane) {
  simulated::meet(word);
  const std::vector<int>& given = simulated::lanes[simulated::current].given;
  return lane < given.size() ? given[lane] : simulated::poison;
}
inline int __shfl(int word, int lane, int width) {
  const int self = int(__lane_id());
  return simulated_shuffle(word, unsigned((self & ~(width - 1)) + (lane & (width - 1))));
}
inline int __shfl_up(int word, unsigned delta, int width) {
  const int self = int(__lane_id()), source = self - int(delta);
  return simulated_shuffle(word, unsigned(source < (self & ~(width - 1)) ? self : source));
}
inline int __shfl_down(int word, unsigned delta, int width) {
  const int self = int(__lane_id());
  return simulated_shuffle(word, unsigned((self & (width - 1)) + int(delta) >= width ? self : self + int(delta)));
}
inline int __shfl_xor(int word, int lanes, int width) {
  const int self = int(__lane_id()), source = self ^ lanes;
  return simulated_shuffle(word, unsigned(source >= ((self + width) & ~(width - 1)) ? self : source));
}
struct simulated_index {
  unsigned x;
};
#define threadIdx simulated_index{__lane_id()}
inline void simulated_barrier() { simulated::meet(0); }
inline unsigned simulated_size() { return unsigned(simulated::lanes.size()); }
#define __builtin_amdgcn_fence(order, scope) ((void)0)
#define __builtin_amdgcn_wave_barrier() simulated_barrier()
#define __AMDGCN_WAVEFRONT_SIZE int(simulated_size())

inline int __ffs(unsigned word) { return __builtin_ffs(int(word)); }

using hipError_t = int;
enum { hipDeviceAttributeWarpSize };
inline hipError_t hipDeviceGetAttribute(int* value, int, int) {
  *value = int(simulated_size());
  return 0;
}
