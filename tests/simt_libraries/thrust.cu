// SPDX-License-Identifier: Apache-2.0
// Thrust, whose C++ system runs where the GPU's would: vectors in device memory, kernels beside it, policies, streams.
// An iterator first: its header brings algorithms that need it.
#include <thrust/iterator/zip_iterator.h>

#include <thrust/complex.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/transform.h>
// The policies come with the algorithms, and some algorithms with the others.
#ifdef __HIP__
#define PAR thrust::hip::par
#else
#define PAR thrust::cuda::par
#endif
#include "check.h"

__global__ void add(int* p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += i;
}
struct Square {
  __host__ __device__ int operator()(int x) const { return x * x; }
};

int main() {
  const int n = 1000;
  thrust::device_vector<int> d(n);
  thrust::sequence(d.begin(), d.end());
  add<<<4, 256>>>(thrust::raw_pointer_cast(d.data()), n);
  thrust::transform(d.begin(), d.end(), d.begin(), Square());
  thrust::transform(thrust::device, d.begin(), d.end(), d.begin(), [] __device__(int x) { return x + 1; });
  GPU(Stream_t) stream;
  GPU(StreamCreate)(&stream);
  thrust::sort(PAR.on(stream), d.begin(), d.end(), thrust::greater<int>());
  std::vector<int> want(n), got(n);
  for (int i = 0; i < n; ++i) want[n - 1 - i] = 4 * i * i + 1;
  GPU(Memcpy)(got.data(), thrust::raw_pointer_cast(d.data()), n * sizeof(int), GPU(MemcpyDeviceToHost));
  same(got, want, "transformed and sorted");
  check(thrust::max_element(d.begin(), d.end()) == d.begin(), "largest", 0);
  thrust::exclusive_scan(PAR, d.begin(), d.end(), d.begin());
  const thrust::host_vector<int> h = d;
  for (int i = 1; i < n; ++i) check(h[i] == h[i - 1] + want[i - 1], "scan", i);
  int* raw;
  GPU(Malloc)(reinterpret_cast<void**>(&raw), n * sizeof(int));
  thrust::device_ptr<int> p(raw);
  thrust::fill(p, p + n, 7);
  check(thrust::reduce(thrust::device, raw, raw + n) == 7 * n, "reduce");
  GPU(Free)(raw);
#ifdef __HIP__
  hipPointerAttribute_t attributes;
#else
  cudaPointerAttributes attributes;
#endif
  check(GPU(PointerGetAttributes)(&attributes, thrust::raw_pointer_cast(d.data())) == GPU(Success), "attributes");
  check(attributes.type == GPU(MemoryTypeDevice), "a vector lies in device memory");
  check(abs(thrust::complex<float>(3, 4)) == 5, "complex");
  return finish();
}
