// SPDX-License-Identifier: Apache-2.0
// hipport's headers for ported code that no other test of the executor runs, for tests/test_simt_device.py.
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <hipport/atomics.h>
#include <hipport/barrier.h>
#include <hipport/device.h>
#include <hipport/lock.h>
#include <hipport/memory.h>
#include <hipport/ptx.h>

#include <cstdio>
#include <cstring>

using u64 = unsigned long long;
using s64 = long long;
using namespace hipport;

struct Totals {
  __half2 h2;
  __half h[2];
  __hip_bfloat162 b2;
  __hip_bfloat16 b[2];
  float2 f2;
  float4 f4;
  s64 least, greatest;
  int block[6];
  unsigned inc, dec;
  unsigned short lock[2];
  float f;
};

template <typename T>
__device__ u64 bits(T value) {
  u64 result = 0;
  memcpy(&result, &value, sizeof(value));
  return result;
}

__global__ void kernel(u64* out, Totals* totals, unsigned* global) {
  __shared__ unsigned words[64];
  extern __shared__ unsigned dynamic[];
  const unsigned t = threadIdx.x;
  int own = 3, n = 0;
  u64* got = out + t * 16;

  const u64 address = ptx::cvta_to_shared_u64(&words[t]);
  ptx::st<unsigned>(ptx::shared(address), t * 3);
  ptx::bar_sync();
  got[n++] = ptx::ld<unsigned>(ptx::shared(unsigned(address) ^ 4u));
  got[n++] = ptx::isspacep_shared(&words[0]) * 4 + ptx::isspacep_shared(out) * 2 + ptx::isspacep_local(&own);
  got[n++] = ptx::isspacep_global(global) * 2 + ptx::isspacep_global(&words[0]);
  got[n++] = *static_cast<unsigned*>(cvta_shared_to_generic(cvta_generic_to_shared(&words[t])));
  ptx::atom_add<unsigned>(ptx::generic(global), 2);
  got[n++] = ptx::bar_red_popc_u32(t % 3 == 0);
  got[n++] = ldcg(global);
  dynamic[t] = t;
  __syncthreads();
  got[n++] = ptx::ld<unsigned>(ptx::shared(cvta_generic_to_shared(dynamic + (t ^ 1))));
  got[n++] = u64(syncthreads_count(t % 5 == 0));
  bool p;
  got[n++] = ptx::shfl_sync_down_b32(t, 1, 31, ~0u, p);
  got[n++] = p;
  got[n++] = ptx::elect_sync(~0u, p);
  stcg(&words[t], 7u);
  stwt(&words[t], ldcv(&words[t]) + ldca(&words[t]) + ldcs(&words[t]) + ldlu(&words[t]));
  got[n++] = words[t];
  got[n++] = u64(hipport::ffsll(s64(t) << 40));
  got[n++] = bits(frsqrt_rn(4.0f));
  unsigned turns = 0;
  for (one_by_one turn; turn; turn.next()) turns += turn.mine();
  got[n++] = turns;
  got[n++] = ptx::laneid() + ptx::warpid() * 100 + ptx::ntid_x() * 1000;

  atomicAdd(&totals->h2, __halves2half2(__float2half(1), __float2half(0.5f)));
  atomicAdd(&totals->h[1], __float2half(2));
  atomicAdd(&totals->b2, __halves2bfloat162(__float2bfloat16(1), __float2bfloat16(2)));
  atomicAdd(&totals->b[1], __float2bfloat16(1));
  atomicAdd(&totals->f2, make_float2(1, 2));
  atomicAdd(&totals->f4, make_float4(1, 2, 3, 4));
  atomicMin(&totals->least, -s64(t) << 40);
  atomicMax(&totals->greatest, s64(t) << 40);
  atomicAdd_block(&totals->block[0], 2);
  atomicSub_block(&totals->block[1], 1);
  atomicMax_block(&totals->block[2], int(t));
  atomicMin_block(&totals->block[3], -int(t));
  atomicOr_block(&totals->block[4], 1 << t % 8);
  atomicExch_block(&totals->block[5], 9);
  atomicInc_system(&totals->inc, 6);
  atomicDec_block(&totals->dec, 4);
  for (bool done = false; !opaque(done);) {
    if (atomicCAS(&totals->lock[1], 0, static_cast<unsigned short>(t + 1)) == 0) {
      totals->f += 1;
      __threadfence();
      atomicCAS_block(&totals->lock[1], static_cast<unsigned short>(t + 1), 0);
      done = true;
    }
  }
}

int main() {
  u64* out;
  Totals* totals;
  unsigned* global;
  (void)hipMallocManaged(&out, 64 * 16 * sizeof(u64));
  (void)hipMallocManaged(&totals, sizeof(Totals));
  (void)hipMallocManaged(&global, 4);
  memset(out, 0, 64 * 16 * sizeof(u64));
  memset(static_cast<void*>(totals), 0, sizeof(Totals));
  *global = 0;
  kernel<<<1, 64, 256>>>(out, totals, global);
  (void)hipDeviceSynchronize();
  for (int i = 0; i < 64 * 16; ++i) printf("%llx ", out[i]);
  printf("\n%g %g %g %g %g %g ", __low2float(totals->h2), __high2float(totals->h2), __half2float(totals->h[0]),
         __half2float(totals->h[1]), __low2float(totals->b2), __high2float(totals->b2));
  printf("%g %g %g %g %g ", __bfloat162float(totals->b[1]), totals->f2.x, totals->f2.y, totals->f4.x, totals->f4.w);
  printf("%lld %lld %d %d %d %d %d %d ", totals->least >> 40, totals->greatest >> 40, totals->block[0],
         totals->block[1], totals->block[2], totals->block[3], totals->block[4], totals->block[5]);
  printf("%u %u %u %u %g\n", totals->inc, totals->dec, totals->lock[0], totals->lock[1], totals->f);
}
