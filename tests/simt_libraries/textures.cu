// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces: what a GPU's texture units do, against the formulas of CUDA's programming guide.
#include "check.h"

#ifdef __HIP__
#define GPU_EXTENT make_hipExtent
#else
#define GPU_EXTENT make_cudaExtent
#endif

using Object = GPU(TextureObject_t);

__global__ void fetch_2d(Object t, const float* xs, const float* ys, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex2D<float>(t, xs[i], ys[i]);
}
__global__ void fetch_many(Object linear, Object bytes, Object volume, Object layers, float4* out) {
  out[0] = tex1Dfetch<float4>(linear, 3);
  out[1] = tex1Dfetch<float4>(linear, 1000);
  const uchar4 b = tex2D<uchar4>(bytes, 2.5f, 1.5f);
  out[2] = make_float4(b.x, b.y, b.z, b.w);
  const float v = tex3D<float>(volume, 1.0f, 1.0f, 1.0f), l = tex2DLayered<float>(layers, 1.5f, 0.5f, 1);
  out[3] = make_float4(v, l, tex3D<float>(volume, 0.5f, 1.5f, 1.5f), tex2DLod<float>(layers, 0.5f, 0.5f, 0.0f));
}
__global__ void gather(Object t, float4* out) { *out = tex2Dgather<float4>(t, 2.0f, 1.0f, 0); }
// HIP lacks these overloads; ports are refused calls of them but where a test says otherwise.
__global__ void on_surface(GPU(SurfaceObject_t) s, float* out) {
  const int x = threadIdx.x, y = threadIdx.y;
  const float v = surf2Dread<float>(s, x * 4, y);
  surf2Dwrite(v + 100, s, x * 4, y);
  if (x == 0 && y == 0) out[0] = surf2Dread<float>(s, -4, 0, GPU(BoundaryModeZero));
}

GPU(TextureDesc) description(GPU(TextureFilterMode) filter, GPU(TextureAddressMode) address, bool normalized) {
  GPU(TextureDesc) d{};
  d.filterMode = filter;
  for (int i = 0; i < 3; ++i) d.addressMode[i] = address;
  d.normalizedCoords = normalized;
  d.readMode = GPU(ReadModeElementType);
  d.borderColor[0] = 9.0f;
  return d;
}

constexpr int width = 5, height = 3;

/// An element of the image under an address mode, with its index as it is.
float element(const std::vector<float>& image, int x, int y, GPU(TextureAddressMode) mode, bool normalized) {
  const int sizes[2] = {width, height};
  int at[2] = {x, y};
  for (int i = 0; i < 2; ++i) {
    const int n = sizes[i];
    if (mode == GPU(AddressModeBorder)) {
      if (at[i] < 0 || at[i] >= n) return 9.0f;
    } else if (mode == GPU(AddressModeWrap) && normalized) {
      while (at[i] < 0) at[i] += n;
      at[i] %= n;
    } else if (mode == GPU(AddressModeMirror) && normalized) {
      while (at[i] < 0 || at[i] >= n) at[i] = at[i] < 0 ? -1 - at[i] : 2 * n - 1 - at[i];
    } else {
      at[i] = at[i] < 0 ? 0 : at[i] >= n ? n - 1 : at[i];
    }
  }
  return image[at[1] * width + at[0]];
}

texture<float, 2> reference;
texture<unsigned char, 2, GPU(ReadModeNormalizedFloat)> bytes_reference;
__global__ void from_reference(float* out) {
  out[0] = tex2D(reference, 1.5f, 2.5f);
  out[1] = tex2D(reference, 1.0f, 1.0f);
  out[2] = tex2D(bytes_reference, 1.5f, 0.5f);
}

int main() {
  std::vector<float> image(width * height);
  for (int i = 0; i < width * height; ++i) image[i] = static_cast<float>(number(i) % 1000);
  const auto format = GPU(CreateChannelDesc)<float>();
  GPU(Array_t) array;
  check(GPU(MallocArray)(&array, &format, width, height, GPU(ArraySurfaceLoadStore)) == GPU(Success), "array");
  GPU(Memcpy2DToArray)(array, 0, 0, image.data(), width * 4, width * 4, height, GPU(MemcpyHostToDevice));
  float* pitched;
  std::size_t pitch;
  GPU(MallocPitch)(reinterpret_cast<void**>(&pitched), &pitch, width * 4, height);
  GPU(Memcpy2D)(pitched, pitch, image.data(), width * 4, width * 4, height, GPU(MemcpyHostToDevice));
  GPU(ResourceDesc) from_array{}, from_pitch{};
  from_array.resType = GPU(ResourceTypeArray);
  from_array.res.array.array = array;
  from_pitch.resType = GPU(ResourceTypePitch2D);
  from_pitch.res.pitch2D.devPtr = pitched;
  from_pitch.res.pitch2D.desc = format;
  from_pitch.res.pitch2D.width = width;
  from_pitch.res.pitch2D.height = height;
  from_pitch.res.pitch2D.pitchInBytes = pitch;

  std::vector<float> xs, ys;
  for (int i = 0; i < 400; ++i) {
    xs.push_back(static_cast<float>(static_cast<int>(number(i) % 4000) - 1500) / 127.3f);
    ys.push_back(static_cast<float>(static_cast<int>(number(i + 1000) % 3000) - 1000) / 129.7f);
  }
  const int n = static_cast<int>(xs.size());
  Device<float> d_xs(xs), d_ys(ys), d_out(n);
  for (const auto& resource : {from_array, from_pitch}) {
    for (const auto mode :
         {GPU(AddressModeWrap), GPU(AddressModeClamp), GPU(AddressModeMirror), GPU(AddressModeBorder)}) {
      for (int kind = 0; kind < 4; ++kind) {
        const bool linear = kind & 1, normalized = kind & 2;
        const auto d = description(linear ? GPU(FilterModeLinear) : GPU(FilterModePoint), mode, normalized);
        Object t;
        check(GPU(CreateTextureObject)(&t, &resource, &d, nullptr) == GPU(Success), "texture");
        fetch_2d<<<2, 256>>>(t, d_xs, d_ys, d_out, n);
        const std::vector<float> out = d_out.get();
        for (int i = 0; i < n; ++i) {
          float x = xs[i], y = ys[i];
          if (normalized) x *= width, y *= height;
          double want;
          if (linear) {
            const double fx = std::floor(x - 0.5f), fy = std::floor(y - 0.5f);
            const double a = std::floor((x - 0.5f - fx) * 256 + 0.5) / 256;
            const double b = std::floor((y - 0.5f - fy) * 256 + 0.5) / 256;
            const auto e = [&](int dx, int dy) {
              return element(image, static_cast<int>(fx) + dx, static_cast<int>(fy) + dy, mode, normalized);
            };
            want = (1 - a) * (1 - b) * e(0, 0) + a * (1 - b) * e(1, 0) + (1 - a) * b * e(0, 1) + a * b * e(1, 1);
          } else {
            want = element(image, static_cast<int>(std::floor(x)), static_cast<int>(std::floor(y)), mode, normalized);
          }
          check(std::fabs(out[i] - want) <= 1e-3, linear ? "linear" : "point", i, static_cast<int>(mode) * 10 + kind);
        }
        GPU(DestroyTextureObject)(t);
      }
    }
  }

  std::vector<float4> many(8);
  for (int i = 0; i < 8; ++i) many[i] = make_float4(i, i + 0.25f, i + 0.5f, i + 0.75f);
  Device<float4> d_many(many), d_result(4);
  GPU(ResourceDesc) from_linear{};
  from_linear.resType = GPU(ResourceTypeLinear);
  from_linear.res.linear.devPtr = d_many.data;
  from_linear.res.linear.desc = GPU(CreateChannelDesc)<float4>();
  from_linear.res.linear.sizeInBytes = 8 * sizeof(float4);
  std::vector<uchar4> pixels(4 * 2);
  for (int i = 0; i < 8; ++i) pixels[i] = make_uchar4(i, 10 + i, 20 + i, 255);
  GPU(Array_t) byte_array, volume_array, layer_array;
  const auto byte_format = GPU(CreateChannelDesc)<uchar4>();
  GPU(MallocArray)(&byte_array, &byte_format, 4, 2);
  GPU(Memcpy2DToArray)(byte_array, 0, 0, pixels.data(), 16, 16, 2, GPU(MemcpyHostToDevice));
  std::vector<float> cube(2 * 2 * 2);
  for (int i = 0; i < 8; ++i) cube[i] = static_cast<float>(i * i);
  GPU(Malloc3DArray)(&volume_array, &format, GPU_EXTENT(2, 2, 2), 0);
  GPU(Malloc3DArray)(&layer_array, &format, GPU_EXTENT(2, 2, 2), GPU(ArrayLayered));
  for (GPU(Array_t) to : {volume_array, layer_array}) {
    GPU(Memcpy3DParms) copy{};
    copy.srcPtr.ptr = cube.data();
    copy.srcPtr.pitch = 8;
    copy.srcPtr.xsize = 2;
    copy.srcPtr.ysize = 2;
    copy.dstArray = to;
    copy.extent = GPU_EXTENT(2, 2, 2);
    copy.kind = GPU(MemcpyHostToDevice);
    check(GPU(Memcpy3D)(&copy) == GPU(Success), "copy to a volume");
  }
  Object linear, bytes, volume, layers;
  const auto point = description(GPU(FilterModePoint), GPU(AddressModeClamp), false);
  const auto smooth = description(GPU(FilterModeLinear), GPU(AddressModeClamp), false);
  GPU(CreateTextureObject)(&linear, &from_linear, &point, nullptr);
  from_array.res.array.array = byte_array;
  GPU(CreateTextureObject)(&bytes, &from_array, &point, nullptr);
  from_array.res.array.array = volume_array;
  GPU(CreateTextureObject)(&volume, &from_array, &smooth, nullptr);
  from_array.res.array.array = layer_array;
  GPU(CreateTextureObject)(&layers, &from_array, &point, nullptr);
  fetch_many<<<1, 1>>>(linear, bytes, volume, layers, d_result);
  const std::vector<float4> result = d_result.get();
  check(result[0].x == 3 && result[0].w == 3.75f, "tex1Dfetch");
  check(result[1].x == 0 && result[1].w == 0, "tex1Dfetch outside");
  check(result[2].x == 6 && result[2].y == 16 && result[2].z == 26 && result[2].w == 255, "bytes");
  check(result[3].x == (0 + 1 + 4 + 9 + 16 + 25 + 36 + 49) / 8.0f, "tex3D");
  check(result[3].y == 25, "tex2DLayered");
  check(result[3].z == 36, "tex3D at an element");

  from_array.res.array.array = array;
  Object gathered;
  GPU(CreateTextureObject)(&gathered, &from_array, &point, nullptr);
  gather<<<1, 1>>>(gathered, d_result);
  const float4 four = d_result.get()[0];
  check(four.x == image[width + 1] && four.y == image[width + 2] && four.z == image[2] && four.w == image[1], "gather");

  GPU(SurfaceObject_t) surface;
  check(GPU(CreateSurfaceObject)(&surface, &from_array) == GPU(Success), "surface");
  Device<float> d_zero(1);
  on_surface<<<1, dim3(width, height)>>>(surface, d_zero);
  std::vector<float> changed(width * height);
  GPU(Memcpy2DFromArray)(changed.data(), width * 4, array, 0, 0, width * 4, height, GPU(MemcpyDeviceToHost));
  for (int i = 0; i < width * height; ++i) check(changed[i] == image[i] + 100, "surface", i);
  check(d_zero.get()[0] == 0, "outside of a surface");

  GPU(BindTextureToArray)(reference, array);
  std::vector<unsigned char> gray(512 * 2);
  for (int i = 0; i < 1024; ++i) gray[i] = static_cast<unsigned char>(i);
  Device<unsigned char> d_gray(gray);
  GPU(BindTexture2D)(nullptr, bytes_reference, d_gray.data, GPU(CreateChannelDesc)<unsigned char>(), 512, 2, 512);
  reference.filterMode = GPU(FilterModeLinear);
  from_reference<<<1, 1>>>(d_out);
  const std::vector<float> r = d_out.get();
  check(r[0] == changed[2 * width + 1], "texture reference");
  const float mean = (changed[0] + changed[1] + changed[width] + changed[width + 1]) / 4;
  check(std::fabs(r[1] - mean) < 1e-3, "linear reference");
  check(r[2] == 1 / 255.0f, "normalized bytes");
  return finish();
}
