// SPDX-License-Identifier: Apache-2.0
// The collective instructions of PTX against their definitions in its manual, for masks of parts of a warp.
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kForms = 40;

__global__ void run(unsigned *all, const unsigned *in) {
  unsigned out[kForms] = {};
  const unsigned tid = blockIdx.x * blockDim.x + threadIdx.x, word = in[tid];
  // The lanes whose words end alike are a group, which comes here together.
  const unsigned mask = __match_any_sync(0xffffffffu, word & 3);
  for (unsigned turn = 0; turn < 4; ++turn) {
    if ((word & 3) != turn) continue;
    asm volatile("{ .reg .pred q; shfl.sync.up.b32 %0|q, %2, %3, %4, %5; selp.u32 %1, 1, 0, q; }"
                 : "=r"(out[0]), "=r"(out[1])
                 : "r"(word), "r"(1), "r"(0), "r"(mask));
    asm volatile("{ .reg .pred q; shfl.sync.down.b32 %0|q, %2, %3, %4, %5; selp.u32 %1, 1, 0, q; }"
                 : "=r"(out[2]), "=r"(out[3])
                 : "r"(word), "r"(2), "r"(31), "r"(mask));
    asm volatile("{ .reg .pred q; shfl.sync.bfly.b32 %0|q, %2, %3, %4, %5; selp.u32 %1, 1, 0, q; }"
                 : "=r"(out[4]), "=r"(out[5])
                 : "r"(word), "r"(4), "r"(31), "r"(mask));
    asm volatile("{ .reg .pred q; shfl.sync.idx.b32 %0|q, %2, %3, %4, %5; selp.u32 %1, 1, 0, q; }"
                 : "=r"(out[6]), "=r"(out[7])
                 : "r"(word), "r"(word >> 5), "r"(31), "r"(mask));
    asm volatile("{ .reg .pred q; shfl.sync.up.b32 %0|q, %2, %3, %4, %5; selp.u32 %1, 1, 0, q; }"
                 : "=r"(out[8]), "=r"(out[9])
                 : "r"(word), "r"(3), "r"((32 - 8) << 8), "r"(mask));
    asm volatile("{ .reg .pred q; shfl.sync.down.b32 %0|q, %2, %3, %4, %5; selp.u32 %1, 1, 0, q; }"
                 : "=r"(out[10]), "=r"(out[11])
                 : "r"(word), "r"(33), "r"((32 - 16) << 8 | 15), "r"(mask));
    asm volatile("{ .reg .pred q; shfl.sync.bfly.b32 %0|q, %2, %3, %4, %5; selp.u32 %1, 1, 0, q; }"
                 : "=r"(out[12]), "=r"(out[13])
                 : "r"(word), "r"(7), "r"((32 - 4) << 8 | 31), "r"(mask));
    asm volatile("{ .reg .pred q; shfl.sync.idx.b32 %0|q, %2, %3, %4, %5; selp.u32 %1, 1, 0, q; }"
                 : "=r"(out[14]), "=r"(out[15])
                 : "r"(word), "r"(word >> 7), "r"((32 - 8) << 8 | 6), "r"(mask));
    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.all.pred q, p, %2; selp.u32 %0, 1, 0, q; }"
                 : "=r"(out[16])
                 : "r"(word & 16), "r"(mask));
    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.any.pred q, p, %2; selp.u32 %0, 1, 0, q; }"
                 : "=r"(out[17])
                 : "r"(word & 16), "r"(mask));
    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.uni.pred q, p, %2; selp.u32 %0, 1, 0, q; }"
                 : "=r"(out[18])
                 : "r"(word & 16), "r"(mask));
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
                 : "=r"(out[19])
                 : "r"(word & 16), "r"(mask));
    asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(out[20]) : "r"(word >> 8 & 3), "r"(mask));
    asm volatile("match.any.sync.b64 %0, %1, %2;"
                 : "=r"(out[21])
                 : "l"((unsigned long long)(word >> 8 & 3) << 40), "r"(mask));
    asm volatile("{ .reg .pred p; match.all.sync.b32 %0|p, %2, %3; selp.u32 %1, 1, 0, p; }"
                 : "=r"(out[22]), "=r"(out[23])
                 : "r"(word & 3), "r"(mask));
    asm volatile("{ .reg .pred p; match.all.sync.b64 %0|p, %2, %3; selp.u32 %1, 1, 0, p; }"
                 : "=r"(out[24]), "=r"(out[25])
                 : "l"((unsigned long long)(word >> 12 & 1) << 33), "r"(mask));
    asm volatile("redux.sync.add.u32 %0, %1, %2;" : "=r"(out[26]) : "r"(word), "r"(mask));
    asm volatile("redux.sync.add.s32 %0, %1, %2;" : "=r"(out[27]) : "r"(word), "r"(mask));
    asm volatile("redux.sync.min.u32 %0, %1, %2;" : "=r"(out[28]) : "r"(word), "r"(mask));
    asm volatile("redux.sync.min.s32 %0, %1, %2;" : "=r"(out[29]) : "r"(word), "r"(mask));
    asm volatile("redux.sync.max.u32 %0, %1, %2;" : "=r"(out[30]) : "r"(word), "r"(mask));
    asm volatile("redux.sync.max.s32 %0, %1, %2;" : "=r"(out[31]) : "r"(word), "r"(mask));
    asm volatile("redux.sync.and.b32 %0, %1, %2;" : "=r"(out[32]) : "r"(word), "r"(mask));
    asm volatile("redux.sync.or.b32 %0, %1, %2;" : "=r"(out[33]) : "r"(word), "r"(mask));
    asm volatile("redux.sync.xor.b32 %0, %1, %2;" : "=r"(out[34]) : "r"(word), "r"(mask));
    asm volatile("activemask.b32 %0;" : "=r"(out[35]));
    asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory");
    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; not.pred p, p; vote.sync.all.pred q, !p, %2; selp.u32 %0, 1, 0, q; }"
                 : "=r"(out[36])
                 : "r"(word & 16), "r"(mask));
  }
  for (int i = 0; i < kForms; ++i) all[tid * kForms + i] = out[i];
}

static int failed = 0;
static void expect(unsigned found, unsigned wanted, const char *what, unsigned tid) {
  if (found == wanted) return;
  if (failed++ < 10) std::printf("%s of thread %u: %u, not %u\n", what, tid, found, wanted);
}

int main() {
  const unsigned threads = 3 * 96;
  std::vector<unsigned> in(threads), out(threads * kForms);
  unsigned state = 12345;
  for (unsigned &word : in) word = state = state * 1664525u + 1013904223u;
  for (unsigned &word : in) word ^= word >> 15;
  unsigned *device_in, *device_out;
  cudaMalloc(&device_in, threads * 4);
  cudaMalloc(&device_out, out.size() * 4);
  cudaMemcpy(device_in, in.data(), threads * 4, cudaMemcpyHostToDevice);
  run<<<3, 96>>>(device_out, device_in);
  cudaMemcpy(out.data(), device_out, out.size() * 4, cudaMemcpyDeviceToHost);
  for (unsigned tid = 0; tid < threads; ++tid) {
    const unsigned *found = &out[tid * kForms], *warp = &in[tid / 32 * 32];
    const unsigned lane = tid % 32, word = in[tid];
    unsigned mask = 0, votes = 0, same = 0, bit = 0;
    for (unsigned i = 0; i < 32; ++i) {
      if ((warp[i] & 3) != (word & 3)) continue;
      mask |= 1u << i;
      if (warp[i] & 16) votes |= 1u << i;
      if ((warp[i] >> 8 & 3) == (word >> 8 & 3)) same |= 1u << i;
      if ((warp[i] >> 12 & 1) == (word >> 12 & 1)) bit |= 1u << i;
    }
    struct Move {
      const char *mode;
      unsigned b, c;
    };
    const Move moves[8] = {{"up", 1, 0},         {"down", 2, 31},
                           {"bfly", 4, 31},      {"idx", word >> 5, 31},
                           {"up", 3, 24 << 8},   {"down", 33, 16 << 8 | 15},
                           {"bfly", 7, 28 << 8 | 31}, {"idx", word >> 7, 24 << 8 | 6}};
    for (int i = 0; i < 8; ++i) {
      const unsigned b = moves[i].b & 31, c = moves[i].c & 31, segment = moves[i].c >> 8 & 31;
      const int most = int((lane & segment) | (c & ~segment)), least = int(lane & segment);
      const char mode = moves[i].mode[0];
      int from = mode == 'u'   ? int(lane) - int(b)
                 : mode == 'd' ? int(lane + b)
                 : mode == 'b' ? int(lane ^ b)
                               : int(least | (b & ~segment));
      const bool inside = mode == 'u' ? from >= most : from <= most;
      if (!inside) from = int(lane);
      // What a lane that is not there has is not said.
      if (mask >> from & 1) expect(found[2 * i], warp[from], moves[i].mode, tid);
      expect(found[2 * i + 1], inside, "predicate", tid);
    }
    expect(found[16], votes == mask, "vote.all", tid);
    expect(found[17], votes != 0, "vote.any", tid);
    expect(found[18], votes == mask || votes == 0, "vote.uni", tid);
    expect(found[19], votes, "vote.ballot", tid);
    expect(found[20], same, "match.any.b32", tid);
    expect(found[21], same, "match.any.b64", tid);
    expect(found[22], mask, "match.all.b32", tid);
    expect(found[23], 1, "predicate of match.all.b32", tid);
    expect(found[24], bit == mask ? mask : 0, "match.all.b64", tid);
    expect(found[25], bit == mask, "predicate of match.all.b64", tid);
    unsigned sum = 0, least = ~0u, most = 0, all = ~0u, any = 0, odd = 0;
    int low = 0x7fffffff, high = -low - 1;
    for (unsigned i = 0; i < 32; ++i) {
      if (!(mask >> i & 1)) continue;
      sum += warp[i], all &= warp[i], any |= warp[i], odd ^= warp[i];
      least = warp[i] < least ? warp[i] : least, most = warp[i] > most ? warp[i] : most;
      low = int(warp[i]) < low ? int(warp[i]) : low;
      high = int(warp[i]) > high ? int(warp[i]) : high;
    }
    const unsigned reduced[9] = {sum, sum, least, unsigned(low), most, unsigned(high), all, any, odd};
    for (int i = 0; i < 9; ++i) expect(found[26 + i], reduced[i], "redux", tid);
    expect(found[35], mask, "activemask", tid);
    expect(found[36], votes == mask, "vote.all of a negated predicate", tid);
  }
  std::printf(failed ? "%d differ\n" : "all agree\n", failed);
  return failed != 0;
}
