// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies into shared memory: whole, shorter than the place, ignored, and under a condition.
#include <cstdio>
#include <cuda_runtime.h>
__global__ void copies(const int *in, int *out, int there, int given) {
  __shared__ __align__(16) int tile[5][4 * 32];
  for (int i = 0; i < 5; i++) for (int j = 0; j < 4; j++) tile[i][threadIdx.x * 4 + j] = -1;
  const int at = threadIdx.x * 4;
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&tile[0][at]));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + at));
  asm volatile("cp.async.ca.shared.global [%0+512], [%1+8], 8;" ::"r"(to), "l"(in + at));
  asm volatile("cp.async.cg.shared.global.L2::128B [%0+1024], [%1], 16, %2;" ::"r"(to), "l"(in + at), "r"(given));
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0; cp.async.cg.shared.global [%0+1536], [%1], 16, p; }" ::"r"(to),
               "l"(in + at), "r"(threadIdx.x < 3 ? 1 : 0));
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0; @p cp.async.cg.shared.global [%0+2048], [%1], 16; }" ::"r"(to),
               "l"(in + at), "r"(threadIdx.x < there ? 1 : 0));
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  for (int i = 0; i < 5; i++) for (int j = 0; j < 4; j++) out[i * 128 + at + j] = tile[i][at + j];
}
int main() {
  int host[128], out[5 * 128], *in, *device;
  for (int i = 0; i < 128; i++) host[i] = 0x01020304 * (i + 1);
  cudaMalloc(&in, sizeof(host));
  cudaMalloc(&device, sizeof(out));
  cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
  copies<<<1, 32>>>(in, device, 5, 6);
  cudaMemcpy(out, device, sizeof(out), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < 128; i++) {
    const int j = i % 4, thread = i / 4;
    const int expected[5] = {j == 0 ? host[i] : -1, j < 2 ? host[i + 2] : -1,
                             j == 0 ? host[i] : j == 1 ? host[i] & 0xffff : 0, thread < 3 ? 0 : host[i],
                             thread < 5 ? host[i] : -1};
    for (int k = 0; k < 5; k++) wrong += out[k * 128 + i] != expected[k];
  }
  printf("%s\n", wrong ? "FAIL" : "PASS");
  return wrong != 0;
}
