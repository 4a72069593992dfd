// Each thread waits for the one before it, by nothing but loads: whoever looks in vain lets others look.
#include <cstdio>

__global__ void chain(volatile int* done, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  while (i < n) {
    if (i > 0 && done[i - 1] == 0) continue;
    done[i] = i + 1;
    break;
  }
}

int main() {
  const int n = 512;
  int* done;
  cudaMallocManaged(&done, n * sizeof(int));
  cudaMemset(done, 0, n * sizeof(int));
  chain<<<n / 128, 128>>>(done, n);
  cudaDeviceSynchronize();
  std::printf("%d\n", done[n - 1]);
  return 0;
}
