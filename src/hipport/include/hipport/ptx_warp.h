// SPDX-License-Identifier: Apache-2.0
// hipport/ptx_warp.h: PTX's special registers, warps and barriers. Part of hipport/ptx.h.
// Put here by hipport.
//
// A warp is 32 lanes on all GPUs: see hipport/warp.h.
#ifndef HIPPORT_PTX_WARP_H
#define HIPPORT_PTX_WARP_H

#ifndef HIPPORT_PTX
#error "include hipport/ptx.h"
#endif

#define HIPPORT_ON_GPU static __device__ __forceinline__

namespace hipport {
namespace ptx {

// ---- special registers

#define HIPPORT_PLACE(axis)                                   \
  HIPPORT_ON_GPU u32 tid_##axis() { return threadIdx.axis; }  \
  HIPPORT_ON_GPU u32 ntid_##axis() { return blockDim.axis; }  \
  HIPPORT_ON_GPU u32 ctaid_##axis() { return blockIdx.axis; } \
  HIPPORT_ON_GPU u32 nctaid_##axis() { return gridDim.axis; }
HIPPORT_PLACE(x)
HIPPORT_PLACE(y)
HIPPORT_PLACE(z)
#undef HIPPORT_PLACE

HIPPORT_ON_GPU u32 laneid() { return ::hipport::lane_id(); }
HIPPORT_ON_GPU u32 lanemask_eq() { return ::hipport::lanemask_eq(); }
HIPPORT_ON_GPU u32 lanemask_lt() { return ::hipport::lanemask_lt(); }
HIPPORT_ON_GPU u32 lanemask_le() { return ::hipport::lanemask_le(); }
HIPPORT_ON_GPU u32 lanemask_gt() { return ::hipport::lanemask_gt(); }
HIPPORT_ON_GPU u32 lanemask_ge() { return ::hipport::lanemask_ge(); }
HIPPORT_ON_GPU u32 warpsize() { return ::hipport::warp_size; }

/// The index of the warp in its block, by the thread's number, which PTX does not guarantee.
HIPPORT_ON_GPU u32 warpid() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / ::hipport::warp_size;
}
HIPPORT_ON_GPU u32 nwarpid() { return (blockDim.x * blockDim.y * blockDim.z + 31u) / ::hipport::warp_size; }

#if HIPPORT_NVCC && defined(SIMT_CORE_H)  // hipport's CPU executor: one multiprocessor with one clock
HIPPORT_ON_GPU u32 __smid() { return 0; }
HIPPORT_ON_GPU u64 wall_clock64() { return static_cast<u64>(::clock64()); }
#endif
#if HIPPORT_NVCC && !defined(SIMT_CORE_H)
#define HIPPORT_REGISTER(name, type, constraint, ...)                   \
  HIPPORT_ON_GPU type name() {                                          \
    type value;                                                         \
    asm volatile("mov." #type " %0, %%" #name ";" : constraint(value)); \
    return value;                                                       \
  }
#elif defined(__HIP_DEVICE_COMPILE__) || HIPPORT_NVCC
#define HIPPORT_REGISTER(name, type, constraint, ...) \
  HIPPORT_ON_GPU type name() { return __VA_ARGS__; }
#else
// HIP 5.2 does not declare everything needed in host code, which does not run it.
#define HIPPORT_REGISTER(name, type, constraint, ...) \
  HIPPORT_ON_GPU type name() { return 0; }
#endif
// The numbers of compute units have gaps. They are below nsmid(), which may be far above their count, as in PTX.
HIPPORT_REGISTER(smid, u32, "=r", __smid())
HIPPORT_REGISTER(nsmid, u32, "=r", 2048)
HIPPORT_REGISTER(clock64, u64, "=l", static_cast<u64>(::clock64()))
HIPPORT_REGISTER(clock, u32, "=r", static_cast<u32>(clock64()))
HIPPORT_REGISTER(clock_hi, u32, "=r", static_cast<u32>(clock64() >> 32))
// In nanoseconds: the counter of AMD's GPUs runs at 100 MHz.
HIPPORT_REGISTER(globaltimer, u64, "=l", 10 * static_cast<u64>(wall_clock64()))
HIPPORT_REGISTER(globaltimer_lo, u32, "=r", static_cast<u32>(globaltimer()))
HIPPORT_REGISTER(globaltimer_hi, u32, "=r", static_cast<u32>(globaltimer() >> 32))
#undef HIPPORT_REGISTER

// ---- votes, matches, reductions

HIPPORT_ON_GPU b32 activemask_b32() { return ::hipport::activemask(); }

HIPPORT_ON_GPU bool vote_sync_all_pred(bool p, u32 mask) { return ::hipport::all_sync(mask, p) != 0; }
HIPPORT_ON_GPU bool vote_sync_any_pred(bool p, u32 mask) { return ::hipport::any_sync(mask, p) != 0; }
HIPPORT_ON_GPU bool vote_sync_uni_pred(bool p, u32 mask) { return ::hipport::uni_sync(mask, p) != 0; }
HIPPORT_ON_GPU b32 vote_sync_ballot_b32(bool p, u32 mask) { return ::hipport::ballot_sync(mask, p); }
// Without .sync, all active lanes take part.
HIPPORT_ON_GPU bool vote_all_pred(bool p) { return vote_sync_all_pred(p, activemask_b32()); }
HIPPORT_ON_GPU bool vote_any_pred(bool p) { return vote_sync_any_pred(p, activemask_b32()); }
HIPPORT_ON_GPU bool vote_uni_pred(bool p) { return vote_sync_uni_pred(p, activemask_b32()); }
HIPPORT_ON_GPU b32 vote_ballot_b32(bool p) { return vote_sync_ballot_b32(p, activemask_b32()); }

HIPPORT_ON_GPU b32 match_any_sync_b32(b32 a, u32 mask) { return ::hipport::match_any_sync(mask, a); }
HIPPORT_ON_GPU b32 match_any_sync_b64(b64 a, u32 mask) { return ::hipport::match_any_sync(mask, a); }
HIPPORT_ON_GPU b32 match_all_sync_b32(b32 a, u32 mask, bool& p) {
  int same;
  const b32 result = ::hipport::match_all_sync(mask, a, &same);
  p = same != 0;
  return result;
}
HIPPORT_ON_GPU b32 match_all_sync_b64(b64 a, u32 mask, bool& p) {
  int same;
  const b32 result = ::hipport::match_all_sync(mask, a, &same);
  p = same != 0;
  return result;
}
HIPPORT_ON_GPU b32 match_all_sync_b32(b32 a, u32 mask) {
  bool p;
  return match_all_sync_b32(a, mask, p);
}
HIPPORT_ON_GPU b32 match_all_sync_b64(b64 a, u32 mask) {
  bool p;
  return match_all_sync_b64(a, mask, p);
}

// CUDA has them since sm_80.
#if !HIPPORT_NVCC || !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define HIPPORT_REDUX(operation, T) \
  HIPPORT_ON_GPU T redux_sync_##operation##_##T(T a, u32 mask) { return ::hipport::reduce_##operation##_sync(mask, a); }
HIPPORT_REDUX(add, u32)
HIPPORT_REDUX(add, s32)
HIPPORT_REDUX(min, u32)
HIPPORT_REDUX(min, s32)
HIPPORT_REDUX(max, u32)
HIPPORT_REDUX(max, s32)
HIPPORT_REDUX(and, b32)
HIPPORT_REDUX(or, b32)
HIPPORT_REDUX(xor, b32)
#undef HIPPORT_REDUX
#endif

/// The lowest active lane; `p` is whether that is the caller.
HIPPORT_ON_GPU u32 elect_sync(u32 mask, bool& p) {
  const u32 leader = static_cast<u32>(__ffs(static_cast<int>(mask & activemask_b32()))) - 1;
  p = leader == laneid();
  return leader;
}

// ---- shuffles: `c` has the bound in its lowest five bits, and the mask of the segment's bits in bits 8 to 12

namespace detail {

HIPPORT_ON_GPU b32 shuffled(b32 a, u32 lane, bool inside, u32 mask, bool& p) {
  p = inside;
  return ::hipport::shfl_sync(mask, a, static_cast<int>(inside ? lane : laneid()));
}
HIPPORT_ON_GPU u32 segment(u32 c) { return c >> 8 & 31u; }
HIPPORT_ON_GPU u32 last_lane(u32 c) { return (laneid() & segment(c)) | (c & 31u & ~segment(c)); }

}  // namespace detail

HIPPORT_ON_GPU b32 shfl_sync_up_b32(b32 a, u32 b, u32 c, u32 mask, bool& p) {
  const int lane = static_cast<int>(laneid()) - static_cast<int>(b & 31u);
  return detail::shuffled(a, static_cast<u32>(lane), lane >= static_cast<int>(detail::last_lane(c)), mask, p);
}
HIPPORT_ON_GPU b32 shfl_sync_down_b32(b32 a, u32 b, u32 c, u32 mask, bool& p) {
  const u32 lane = laneid() + (b & 31u);
  return detail::shuffled(a, lane, lane <= detail::last_lane(c), mask, p);
}
HIPPORT_ON_GPU b32 shfl_sync_bfly_b32(b32 a, u32 b, u32 c, u32 mask, bool& p) {
  const u32 lane = laneid() ^ (b & 31u);
  return detail::shuffled(a, lane, lane <= detail::last_lane(c), mask, p);
}
HIPPORT_ON_GPU b32 shfl_sync_idx_b32(b32 a, u32 b, u32 c, u32 mask, bool& p) {
  const u32 lane = (laneid() & detail::segment(c)) | (b & 31u & ~detail::segment(c));
  return detail::shuffled(a, lane, lane <= detail::last_lane(c), mask, p);
}
#define HIPPORT_SHFL(mode)                                                   \
  HIPPORT_ON_GPU b32 shfl_sync_##mode##_b32(b32 a, u32 b, u32 c, u32 mask) { \
    bool p;                                                                  \
    return shfl_sync_##mode##_b32(a, b, c, mask, p);                         \
  }                                                                          \
  HIPPORT_ON_GPU b32 shfl_##mode##_b32(b32 a, u32 b, u32 c, bool& p) {       \
    return shfl_sync_##mode##_b32(a, b, c, activemask_b32(), p);             \
  }                                                                          \
  HIPPORT_ON_GPU b32 shfl_##mode##_b32(b32 a, u32 b, u32 c) {                \
    return shfl_sync_##mode##_b32(a, b, c, activemask_b32());                \
  }
HIPPORT_SHFL(up)
HIPPORT_SHFL(down)
HIPPORT_SHFL(bfly)
HIPPORT_SHFL(idx)
#undef HIPPORT_SHFL

// ---- barriers of all threads of the block, and of the lanes of a warp

#define HIPPORT_BARRIER(name)                                                                       \
  HIPPORT_ON_GPU void name##_sync() { __syncthreads(); }                                            \
  HIPPORT_ON_GPU u32 name##_red_popc_u32(bool p) { return static_cast<u32>(syncthreads_count(p)); } \
  HIPPORT_ON_GPU bool name##_red_and_pred(bool p) { return syncthreads_and(p) != 0; }               \
  HIPPORT_ON_GPU bool name##_red_or_pred(bool p) { return syncthreads_or(p) != 0; }
HIPPORT_BARRIER(bar)
HIPPORT_BARRIER(bar_cta)
HIPPORT_BARRIER(barrier)
HIPPORT_BARRIER(barrier_cta)
#undef HIPPORT_BARRIER
HIPPORT_ON_GPU void bar_warp_sync(u32 mask) { ::hipport::syncwarp(mask); }

// ---- others

#if HIPPORT_NVCC
HIPPORT_ON_GPU void trap() { __trap(); }
HIPPORT_ON_GPU void brkpt() { __brkpt(); }
#else
HIPPORT_ON_GPU void trap() { __builtin_trap(); }
HIPPORT_ON_GPU void brkpt() { __builtin_debugtrap(); }
#endif
/// Sleep for about that many nanoseconds: AMD's GPUs sleep 64 cycles at a time, at about 2 GHz.
HIPPORT_ON_GPU void nanosleep_u32(u32 t) {
#if HIPPORT_NVCC && defined(SIMT_CORE_H)
  __nanosleep(t);
#elif HIPPORT_NVCC
  asm volatile("nanosleep.u32 %0;" : : "r"(t));
#else
  for (u32 slept = 0; slept < t && slept < 1000000u; slept += 32) __builtin_amdgcn_s_sleep(1);
#endif
}

}  // namespace ptx
}  // namespace hipport

#undef HIPPORT_ON_GPU

#endif  // HIPPORT_PTX_WARP_H
