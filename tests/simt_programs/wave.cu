// SPDX-License-Identifier: Apache-2.0
// HIP's and AMD's own operations of a wavefront, for tests/test_simt_device.py: prints what each lane gets of each.
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>

using u64 = unsigned long long;
constexpr int most = 64, lanes = 64;

__device__ inline unsigned mixed(unsigned i) {
  unsigned x = i * 0x9e3779b9u + 0x1234567u;
  x = (x ^ x >> 16) * 0x7feb352du;
  return x ^ x >> 15;
}
template <typename T>
__device__ inline u64 bits(T value) {
  u64 result = 0;
  memcpy(&result, &value, sizeof(value));
  return result;
}

#define GET(...) own[n++] = bits(__VA_ARGS__)

/// All lanes of the wavefront, or those that `in` says.
__device__ void without_masks(u64* own) {
  int n = 0;
  const unsigned lane = __lane_id(), value = mixed(lane);
  GET(lane);
  GET(__ballot(value & 16));
  GET(__any(value & 16));
  GET(__all(value & 16));
  GET(__activemask());
  GET(__lanemask_lt());
  GET(__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)));
  GET(__builtin_amdgcn_mbcnt_hi(0xf0f0f0f0u, __builtin_amdgcn_mbcnt_lo(0xff00ff00u, 7)));
  GET(__builtin_amdgcn_readfirstlane(int(value)));
  GET(__builtin_amdgcn_ds_permute(int(lane ^ 4) * 4, int(value)));
  GET(__builtin_amdgcn_ds_swizzle(int(value), 0x101f));
  GET(__builtin_amdgcn_ds_swizzle(int(value), 0x801b));
  GET(__builtin_amdgcn_update_dpp(-1, int(value), 0x1b, 0xf, 0xf, false));
  GET(__builtin_amdgcn_update_dpp(-1, int(value), 0x111, 0xf, 0xf, false));
  GET(__builtin_amdgcn_update_dpp(-1, int(value), 0x102, 0xf, 0xf, true));
  GET(__builtin_amdgcn_update_dpp(-1, int(value), 0x124, 0xf, 0xf, false));
  GET(__builtin_amdgcn_update_dpp(-1, int(value), 0x140, 0xf, 0xf, false));
  GET(__builtin_amdgcn_update_dpp(-1, int(value), 0x141, 0xf, 0xf, false));
  GET(__builtin_amdgcn_update_dpp(-1, int(value), 0x142, 0xa, 0xf, false));
  GET(__builtin_amdgcn_update_dpp(-1, int(value), 0x143, 0xf, 0x3, false));
  GET(__builtin_amdgcn_wavefrontsize());
  GET(__match_any(value % 3));
  GET(__reduce_add_sync(__activemask(), value));
  GET(__match_any_sync(__activemask(), double(value % 3)));
  int all;
  GET(__match_all_sync(__activemask(), 5, &all));
  GET(all);
  GET(__ballot_sync(__activemask(), value & 16));
  GET(__all_sync(__activemask(), value & 16));
  GET(__any_sync(__activemask(), 0));
}
/// Every way of a shuffle, among all lanes.
__device__ void shuffled(u64* own, int delta, int width) {
  int n = 0;
  const unsigned value = mixed(__lane_id());
  GET(__shfl(value, delta, width));
  GET(__shfl_up(value, unsigned(delta), width));
  GET(__shfl_down(value, unsigned(delta), width));
  GET(__shfl_xor(value, delta, width));
  GET(__shfl_xor_sync(~0ull, double(int(value)), delta, width));
  GET(__shfl_down(__ushort_as_half((unsigned short)value), unsigned(delta), width));
  GET(__shfl_up_sync(~0ull, u64(value) << 20, unsigned(delta), width));
  GET(__hip_ds_bpermute(int(value), value));
}

__global__ void kernel(int what, int delta, int width, u64* out) {
  u64* own = out + threadIdx.x * most;
  if (what == 0) without_masks(own);
  if (what == 1) {
    if (__lane_id() % 3 == 1) {
      without_masks(own);
    } else {
      __builtin_amdgcn_wave_barrier();
    }
  }
  if (what == 2) shuffled(own, delta, width);
}

int main(int, char** arguments) {
  u64* out;
  const int wave = atoi(arguments[1]);
  (void)hipMallocManaged(&out, lanes * most * sizeof(u64));
  const auto show = [&](const char* name, int what, int delta, int width) {
    memset(out, 0, lanes * most * sizeof(u64));
    kernel<<<1, lanes>>>(what, delta, width, out);
    (void)hipDeviceSynchronize();
    printf("%s %d %d:", name, delta, width);
    for (int i = 0; i < lanes * most; ++i) printf(" %llx", out[i]);
    printf("\n");
  };
  show("all", 0, 0, 0);
  show("some", 1, 0, 0);
  for (int width = wave; width != 0; width /= 4) {
    for (int delta : {0, 1, 3, 16, 33, 63}) show("shuffle", 2, delta, width);
  }
}
