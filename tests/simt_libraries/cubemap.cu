// SPDX-License-Identifier: Apache-2.0
// Cube maps as the C++ Programming Guide has them: which face a direction meets, and where.
#include "check.h"

#ifdef __HIP__
#define extent_of make_hipExtent
#define pitched_of make_hipPitchedPtr
#else
#define extent_of make_cudaExtent
#define pitched_of make_cudaPitchedPtr
#endif

constexpr int n = 4, layers = 2;

// From the guide's table, the other way round: the direction through (s, t), both from -1 to 1, of a face.
__host__ __device__ float3 through(int face, float s, float t) {
  switch (face) {
    case 0: return make_float3(1, -t, -s);
    case 1: return make_float3(-1, -t, s);
    case 2: return make_float3(s, 1, t);
    case 3: return make_float3(s, -1, -t);
    case 4: return make_float3(s, -t, 1);
    default: return make_float3(-s, -t, -1);
  }
}

__global__ void at_middles(GPU(TextureObject_t) cube, float* out, float length) {
  const int i = threadIdx.x, face = i / (n * n), y = i / n % n, x = i % n;
  const float3 d = through(face, (2 * x + 1.f) / n - 1, (2 * y + 1.f) / n - 1);
  out[i] = texCubemap<float>(cube, d.x * length, d.y * length, d.z * length);
}
__global__ void in_layers(GPU(TextureObject_t) cube, float* out) {
  const int i = threadIdx.x, layer = i / (6 * n * n), face = i / (n * n) % 6, y = i / n % n, x = i % n;
  const float3 d = through(face, (2 * x + 1.f) / n - 1, (2 * y + 1.f) / n - 1);
  out[i] = texCubemapLayered<float>(cube, d.x, d.y, d.z, layer);
}
__global__ void between(GPU(TextureObject_t) cube, float* out, float3 d) {
  out[0] = texCubemap<float>(cube, d.x, d.y, d.z);
}
__global__ void doubled(GPU(SurfaceObject_t) cube) {
  const int i = threadIdx.x, face = i / (n * n), y = i / n % n, x = i % n;
  float value;
  surfCubemapread(&value, cube, x * int(sizeof(float)), y, face);
  surfCubemapwrite(value * 2, cube, x * int(sizeof(float)), y, face);
}
__global__ void doubled_in_layers(GPU(SurfaceObject_t) cubes) {
  const int i = threadIdx.x, layer_face = i / (n * n), y = i / n % n, x = i % n;
  // HIP lacks these overloads; ports are refused calls of them but where a test says otherwise.
  const float value = surfCubemapLayeredread<float>(cubes, x * int(sizeof(float)), y, layer_face);
  surfCubemapLayeredwrite<float>(value * 2, cubes, x * int(sizeof(float)), y, layer_face);
}

GPU(Array_t) filled(const std::vector<float>& values, unsigned flags) {
  GPU(Array_t) array;
  const std::size_t depth = values.size() / (n * n);
  const GPU(ChannelFormatDesc) format = GPU(CreateChannelDesc)<float>();
  check(GPU(Malloc3DArray)(&array, &format, extent_of(n, n, depth), flags) == GPU(Success), "Malloc3DArray");
  GPU(Memcpy3DParms) copy = {};
  copy.srcPtr = pitched_of(const_cast<float*>(values.data()), n * sizeof(float), n, n);
  copy.dstArray = array;
  copy.extent = extent_of(n, n, depth);
  copy.kind = GPU(MemcpyHostToDevice);
  check(GPU(Memcpy3D)(&copy) == GPU(Success), "Memcpy3D");
  return array;
}
GPU(TextureObject_t) texture_of(GPU(Array_t) array, GPU(TextureFilterMode) filter) {
  GPU(ResourceDesc) resource = {};
  resource.resType = GPU(ResourceTypeArray);
  resource.res.array.array = array;
  GPU(TextureDesc) how = {};
  how.filterMode = filter;
  how.readMode = GPU(ReadModeElementType);
  how.normalizedCoords = 1;
  GPU(TextureObject_t) texture;
  check(GPU(CreateTextureObject)(&texture, &resource, &how, nullptr) == GPU(Success), "CreateTextureObject");
  return texture;
}

int main() {
  std::vector<float> values(6 * n * n * layers);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(number(i) % 1000);
  const std::vector<float> first(values.begin(), values.begin() + 6 * n * n);
  const auto texel = [&](int face, int x, int y) { return first[(face * n + y) * n + x]; };
  GPU(Array_t) cube = filled(first, GPU(ArrayCubemap) | GPU(ArraySurfaceLoadStore));
  const auto nearest = texture_of(cube, GPU(FilterModePoint)), linear = texture_of(cube, GPU(FilterModeLinear));
  Device<float> out(values.size());
  for (const float length : {1.0f, 0.25f, 7.0f}) {
    for (const auto texture : {nearest, linear}) {
      at_middles<<<1, 6 * n * n>>>(texture, out, length);
      const std::vector<float> got = out.get();
      for (int i = 0; i < 6 * n * n; ++i) check(got[i] == first[i], "in the middle of an element", i);
    }
  }
  const auto fetched = [&](GPU(TextureObject_t) texture, float3 d) {
    between<<<1, 1>>>(texture, out, d);
    return out.get()[0];
  };
  for (int face = 0; face < 6; ++face) {
    const float want = (texel(face, 1, 1) + texel(face, 2, 1) + texel(face, 1, 2) + texel(face, 2, 2)) / 4;
    check(fetched(linear, through(face, 0, 0)) == want, "between four elements", face);
  }
  // Over edges: +x meets -z at s = 1, +z at s = -1, +y at t = -1; rows and columns as the table has them.
  for (int y = 0; y < n; ++y) {
    const float t = (2 * y + 1.f) / n - 1;
    check(fetched(linear, through(0, 1, t)) == (texel(0, n - 1, y) + texel(5, 0, y)) / 2, "+x and -z", y);
    check(fetched(linear, through(0, -1, t)) == (texel(0, 0, y) + texel(4, n - 1, y)) / 2, "+x and +z", y);
    check(fetched(linear, through(0, t, -1)) == (texel(0, y, 0) + texel(2, n - 1, n - 1 - y)) / 2, "+x and +y", y);
    check(fetched(linear, through(4, t, 1)) == (texel(4, y, n - 1) + texel(3, y, 0)) / 2, "+z and -y", y);
  }
  const float corner = (texel(0, n - 1, 0) + texel(2, n - 1, 0) + texel(5, 0, 0)) / 3;
  check(std::fabs(fetched(linear, through(0, 1, -1)) - corner) < 1e-3f, "where three faces meet");

  GPU(ResourceDesc) resource = {};
  resource.resType = GPU(ResourceTypeArray);
  resource.res.array.array = cube;
  GPU(SurfaceObject_t) surface;
  check(GPU(CreateSurfaceObject)(&surface, &resource) == GPU(Success), "CreateSurfaceObject");
  doubled<<<1, 6 * n * n>>>(surface);
  at_middles<<<1, 6 * n * n>>>(nearest, out, 1);
  const std::vector<float> twice = out.get();
  for (int i = 0; i < 6 * n * n; ++i) check(twice[i] == 2 * first[i], "written as a surface", i);

  GPU(Array_t) cubes = filled(values, GPU(ArrayCubemap) | GPU(ArrayLayered) | GPU(ArraySurfaceLoadStore));
  const auto in_point = texture_of(cubes, GPU(FilterModePoint));
  in_layers<<<1, 6 * n * n * layers>>>(in_point, out);
  same(out.get(), values, "cube maps in layers");
  resource.res.array.array = cubes;
  check(GPU(CreateSurfaceObject)(&surface, &resource) == GPU(Success), "CreateSurfaceObject of layers");
  doubled_in_layers<<<1, 6 * n * n * layers>>>(surface);
  in_layers<<<1, 6 * n * n * layers>>>(in_point, out);
  const std::vector<float> both = out.get();
  for (std::size_t i = 0; i < values.size(); ++i) check(both[i] == 2 * values[i], "layers as a surface", int(i));

  GPU(Array_t) none;
  const GPU(ChannelFormatDesc) format = GPU(CreateChannelDesc)<float>();
  check(GPU(Malloc3DArray)(&none, &format, extent_of(4, 5, 6), GPU(ArrayCubemap)) != GPU(Success), "no square");
  check(GPU(Malloc3DArray)(&none, &format, extent_of(4, 4, 5), GPU(ArrayCubemap)) != GPU(Success), "five faces");
  GPU(GetLastError)();
  return finish();
}
