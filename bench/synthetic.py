# SPDX-License-Identifier: Apache-2.0
"""A tree of CUDA sources from a seeded generator: of any size, and the same every time.

Forty files to an extension: kernels, headers, host code and a setup.py, in the proportions of real repositories. One
line in eight names something of CUDA's, twice as many as in real programs; the rest is code that a port must skip:
arithmetic, comments and strings that name CUDA, template code, plain C++.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from string import Template

PER_EXTENSION = 40

_VERBS = "accumulate blend cull expand gather integrate merge project quantize refine resample scatter trace warp"
_NOUNS = "cell cluster edge face feature gaussian grid leaf node pixel point ray sample tile token vertex voxel"
_TYPES = ("float", "double", "int", "unsigned int", "float2", "float4", "uint2", "__half")

_SENTENCES = (
    "Called once for each $noun; the caller owns the memory and frees it with cudaFree.",
    "The order of the $noun list does not matter, only that no two of them share a slot.",
    "An earlier version used cudaMallocManaged here and was twice as slow on large inputs.",
    "See the note in the header about alignment: rows start at multiples of 128 bytes.",
    "Values outside the range are clamped, as the reference implementation does.",
    "TODO: measure whether <<<grid, block>>> with fewer, larger blocks is better for small $noun counts.",
    "This must stay in step with the Python side, which checks the same sizes.",
)

_HEADER = Template("""\
#pragma once

#include <cuda_runtime.h>
#include <cstdint>
#include "$other"

#ifndef ${upper}_BLOCK
#define ${upper}_BLOCK $block
#endif

#define ${upper}_CHECK(call)                                                                  \\
  do {                                                                                        \\
    cudaError_t error = (call);                                                               \\
    if (error != cudaSuccess) {                                                               \\
      fprintf(stderr, "%s:%d: %s failed: %s\\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \\
      exit(EXIT_FAILURE);                                                                     \\
    }                                                                                         \\
  } while (0)

struct ${camel}Params {
  const $type* __restrict__ input;
  $type* __restrict__ output;
  int64_t count;
  int3 size;
  float scale, bias;
  cudaStream_t stream;
  cudaEvent_t done;
};

cudaError_t ${snake}_forward(const ${camel}Params& params);
cudaError_t ${snake}_backward(const ${camel}Params& params, const $type* grad_output, $type* grad_input);

__host__ __device__ inline int ${snake}_index(int x, int y, int z, const int3& size) {
  return (z * size.y + y) * size.x + x;
}
""")

_ELEMENTWISE = Template("""\
// $sentence
template <typename scalar_t, int UNROLL>
__global__ void ${snake}_kernel(
    const scalar_t* __restrict__ input, scalar_t* __restrict__ output, int64_t count, float scale) {
  const int64_t stride = (int64_t)blockDim.x * gridDim.x;
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride * UNROLL) {
#pragma unroll
    for (int j = 0; j < UNROLL; ++j) {
      const int64_t at = i + j * stride;
      if (at < count) {
        const float x = static_cast<float>(input[at]);
        const float y = x > 0.0f ? x * scale : __expf(x) - 1.0f;
        output[at] = static_cast<scalar_t>(fminf(fmaxf(y, -$block.0f), $block.0f));  // keep it finite
      }
    }
  }
}
""")

_STENCIL = Template("""\
/* $sentence
 * $other_sentence
 */
__global__ void __launch_bounds__($block)
    ${snake}_stencil_kernel(const float* input, float* output, int width, int height) {
  __shared__ float tile[$tile + 2][$tile + 2];
  const int x = blockIdx.x * $tile + threadIdx.x % $tile, y = blockIdx.y * $tile + threadIdx.x / $tile;
  const int tx = threadIdx.x % $tile + 1, ty = threadIdx.x / $tile + 1;
  if (x < width && y < height) tile[ty][tx] = __ldg(&input[y * width + x]);
  if (tx == 1 && x > 0) tile[ty][0] = input[y * width + x - 1];
  if (ty == 1 && y > 0) tile[0][tx] = input[(y - 1) * width + x];
  __syncthreads();
  float sum = 0.0f;
  for (int dy = -1; dy <= 0; ++dy) {
    for (int dx = -1; dx <= 0; ++dx) {
      sum += tile[ty + dy][tx + dx] * (dx == 0 && dy == 0 ? 0.5f : 1.0f / 6.0f);
    }
  }
  if (x < width && y < height) output[y * width + x] = sum;
}
""")

_REDUCTION = Template("""\
// $sentence
__global__ void ${snake}_sum_kernel(const $type* input, $type* output, int count) {
  __shared__ $type partial[$block / 32];
  const int lane = threadIdx.x & 31, group = threadIdx.x >> 5;
  $type value = {};
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x) {
    value = ${snake}_add(value, input[i]);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    value = ${snake}_add(value, __shfl_down_sync(0xffffffff, value, offset));
  }
  if (lane == 0) partial[group] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < (blockDim.x + 31) / 32; ++i) value = ${snake}_add(value, partial[i]);
    atomicAdd(reinterpret_cast<float*>(output), *reinterpret_cast<float*>(&value));
  }
}
""")

_HOST = Template("""\
cudaError_t ${snake}_forward(const ${camel}Params& params) {
  cudaDeviceProp properties;
  int device = 0;
  ${upper}_CHECK(cudaGetDevice(&device));
  ${upper}_CHECK(cudaGetDeviceProperties(&properties, device));
  if (params.count << 1 > (int64_t)properties.totalGlobalMem) {
    throw std::runtime_error("${snake}: cudaMalloc would fail for so many ${noun}s; split the batch");
  }
  float* scratch = nullptr;
  const size_t bytes = params.count * sizeof(float);
  ${upper}_CHECK(cudaMallocAsync((void**)&scratch, bytes, params.stream));
  ${upper}_CHECK(cudaMemsetAsync(scratch, 0, bytes, params.stream));
  const dim3 block(${upper}_BLOCK), grid((unsigned)((params.count + ${upper}_BLOCK - 1) / ${upper}_BLOCK));
  $launch
  ${upper}_CHECK(cudaGetLastError());
  ${upper}_CHECK(cudaMemcpyAsync((void*)params.output, scratch, bytes, cudaMemcpyDeviceToDevice, params.stream));
  ${upper}_CHECK(cudaEventRecord(params.done, params.stream));
  ${upper}_CHECK(cudaFreeAsync(scratch, params.stream));
  return cudaStreamSynchronize(params.stream);
}
""")

_LAUNCHES = (
    "${snake}_kernel<float, $unroll><<<grid, block, 0, params.stream>>>(scratch, scratch, params.count, params.scale);",
    "${snake}_kernel<float, $unroll> << <grid, block, 0, params.stream >> > (scratch, scratch, params.count, 1.0f);",
    "${snake}_stencil_kernel << < dim3(params.size.x, params.size.y), $block >> >(scratch, scratch, width, height);",
    """AT_DISPATCH_FLOATING_TYPES(type, "${snake}", [&] {
    ${snake}_kernel<scalar_t, $unroll><<<grid, block, 0, at::cuda::getCurrentCUDAStream()>>>(in, out, n, params.scale);
  });""",
)

_LIBRARY = Template("""\
// $sentence
void ${snake}_solve(cublasHandle_t blas, curandGenerator_t random, float* a, float* b, float* c, int n) {
  const float one = 1.0f, none = 0.0f;
  if (curandGenerateUniform(random, a, (size_t)n * n) != CURAND_STATUS_SUCCESS) throw std::runtime_error("curand");
  cublasStatus_t status = cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, a, n, b, n, &none, c, n);
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error("cublasSgemm failed, see cublasStatus_t " + std::to_string(status));
  }
  size_t bytes = 0;
  cub::DeviceScan::InclusiveSum(nullptr, bytes, a, b, n);
  thrust::device_vector<unsigned char> storage(bytes);
  cub::DeviceScan::InclusiveSum(thrust::raw_pointer_cast(storage.data()), bytes, a, b, n);
}
""")

_PLAIN = Template("""\
// $sentence
// $other_sentence
static std::vector<float> ${snake}_reference(
    const std::vector<float>& input, int width, int height, float scale) {
  std::vector<float> output(input.size());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      float sum = 0.0f, weight = 0.0f;
      for (int dy = -$unroll; dy <= $unroll; ++dy) {
        for (int dx = -$unroll; dx <= $unroll; ++dx) {
          const int px = std::min(std::max(x + dx, 0), width - 1), py = std::min(std::max(y + dy, 0), height - 1);
          const float w = std::exp(-scale * float(dx * dx + dy * dy));
          sum += w * input[size_t(py) * width + px];
          weight += w;
        }
      }
      output[size_t(y) * width + x] = weight > 0.0f ? sum / weight : 0.0f;
    }
  }
  return output;
}
""")

_CPP_TOP = Template("""\
#include "$other"
#include <vector>
#include <algorithm>
#include <stdexcept>
""")

_CUDA_TOP = Template("""\
#include "$other"
#include <vector>
#include <algorithm>
#include <stdexcept>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cub/cub.cuh>
#include <cublas_v2.h>
#include <curand.h>
#include "device_launch_parameters.h"
#include <cooperative_groups.h>
""")

_SETUP = Template("""\
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="$snake",
    ext_modules=[
        CUDAExtension(
            "$snake._C",
            [$sources],
            extra_compile_args={
                "cxx": ["-O3"],
                "nvcc": ["-O3", "--use_fast_math", "--expt-relaxed-constexpr", "-U__CUDA_NO_HALF_OPERATORS__"],
            },
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
""")

_PARTS = {
    "h": [_PLAIN],
    "cuh": [_PLAIN, _ELEMENTWISE, _PLAIN],
    "cpp": [_PLAIN, _PLAIN, _PLAIN, _HOST],
    "cu": [_ELEMENTWISE, _ELEMENTWISE, _STENCIL, _STENCIL, _REDUCTION, _HOST, _LIBRARY, _PLAIN, _PLAIN, _PLAIN],
}

# The suffixes of the names of an extension's files, after its setup.py, repeated.
_SUFFIXES = (".cu", ".h", ".cu", ".cpp", ".cuh", ".cu", ".cu", ".h", ".cpp", ".cu")


def write(root: Path, files: int = 2000, size: int = 10_000, seed: int = 1) -> int:
    """Write `files` files of about `size` bytes each under `root`; return how many bytes they have together."""
    random = Random(seed)
    written = 0
    for extension in range((files + PER_EXTENSION - 1) // PER_EXTENSION):
        folder = root / f"extension_{extension:03}"
        (folder / "csrc").mkdir(parents=True)
        names = [
            f"{random.choice(_VERBS.split())}_{random.choice(_NOUNS.split())}_{i:02}{_SUFFIXES[i % len(_SUFFIXES)]}"
            for i in range(min(PER_EXTENSION, files - extension * PER_EXTENSION) - 1)
        ]
        headers = [name for name in names if name.endswith((".h", ".cuh"))] or ["common.h"]
        sources = ", ".join(f'"csrc/{name}"' for name in names if name.endswith((".cu", ".cpp")))
        texts = {folder / "setup.py": _SETUP.substitute(snake=f"extension_{extension:03}", sources=sources)}
        texts |= {folder / "csrc" / name: _file(random, name, headers, size) for name in names}
        for path, text in texts.items():
            written += path.write_bytes(text.encode())
    return written


def _file(random: Random, name: str, headers: list[str], size: int) -> str:
    stem, _, suffix = name.rpartition(".")
    noun = stem.split("_")[1]

    def fill(template: Template, number: int) -> str:
        values = {
            "snake": f"{stem}_{number}",
            "camel": stem.title().replace("_", ""),
            "upper": stem.upper(),
            "noun": noun,
            "type": random.choice(_TYPES),
            "block": str(random.choice((64, 128, 256, 512))),
            "tile": str(random.choice((8, 16, 32))),
            "unroll": str(random.choice((1, 2, 4))),
            "other": random.choice(headers),
        }
        for key in ("sentence", "other_sentence"):
            values[key] = Template(random.choice(_SENTENCES)).substitute(noun=noun)
        values["launch"] = Template(random.choice(_LAUNCHES)).substitute(values)
        return template.substitute(values)

    parts = [fill(_HEADER if suffix in ("h", "cuh") else _CUDA_TOP if suffix == "cu" else _CPP_TOP, 0)]
    length = len(parts[0])
    while length < size:
        parts.append(fill(random.choice(_PARTS[suffix]), len(parts)))
        length += len(parts[-1]) + 1
    return "\n".join(parts)
