// SPDX-License-Identifier: Apache-2.0
// simt/textures.h: texture and surface objects, and CUDA's texture references.
//
// Fetching is as in CUDA (C++ Programming Guide, "Texture Fetching"): with linear filtering, weights have 8 fractional
// bits, rounded to nearest, as in the hardware. Wrap and mirror require normalized coordinates, without which they mean
// clamp. Fetches outside linear memory return 0.
//
// Missing, and refused: mipmaps, resource views, sRGB, sparse textures.
#ifndef SIMT_TEXTURES_H
#define SIMT_TEXTURES_H

#include <cmath>
#include <limits>

#include "core.h"
#include "errors.h"
#include "memory_api.h"
#include "runtime_types.h"
#include "vector_types.h"

enum hipTextureAddressMode {
  hipAddressModeWrap = 0,
  hipAddressModeClamp = 1,
  hipAddressModeMirror = 2,
  hipAddressModeBorder = 3,
};
enum hipTextureFilterMode { hipFilterModePoint = 0, hipFilterModeLinear = 1 };
enum hipTextureReadMode { hipReadModeElementType = 0, hipReadModeNormalizedFloat = 1 };
enum hipResourceType {
  hipResourceTypeArray = 0,
  hipResourceTypeMipmappedArray = 1,
  hipResourceTypeLinear = 2,
  hipResourceTypePitch2D = 3,
};
enum hipSurfaceBoundaryMode { hipBoundaryModeZero = 0, hipBoundaryModeClamp = 1, hipBoundaryModeTrap = 2 };
#define hipTextureType1D 0x01
#define hipTextureType2D 0x02
#define hipTextureType3D 0x03
#define hipTextureType1DLayered 0xF1
#define hipTextureType2DLayered 0xF2
#define hipTextureTypeCubemap 0x0C
#define hipTextureTypeCubemapLayered 0xFC

struct hipTextureDesc {
  hipTextureAddressMode addressMode[3];
  hipTextureFilterMode filterMode;
  hipTextureReadMode readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned int maxAnisotropy;
  hipTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
};
struct hipResourceDesc {
  hipResourceType resType;
  union {
    struct {
      hipArray_t array;
    } array;
    struct {
      void* mipmap;
    } mipmap;
    struct {
      void* devPtr;
      hipChannelFormatDesc desc;
      std::size_t sizeInBytes;
    } linear;
    struct {
      void* devPtr;
      hipChannelFormatDesc desc;
      std::size_t width, height, pitchInBytes;
    } pitch2D;
  } res;
};
/// Only declared.
struct hipResourceViewDesc;

#ifdef SIMT_HIP
typedef struct __hip_texture* hipTextureObject_t;
typedef struct __hip_surface* hipSurfaceObject_t;
#else
typedef unsigned long long hipTextureObject_t;
typedef unsigned long long hipSurfaceObject_t;
#define cudaTextureAddressMode hipTextureAddressMode
#define cudaAddressModeWrap hipAddressModeWrap
#define cudaAddressModeClamp hipAddressModeClamp
#define cudaAddressModeMirror hipAddressModeMirror
#define cudaAddressModeBorder hipAddressModeBorder
#define cudaTextureFilterMode hipTextureFilterMode
#define cudaFilterModePoint hipFilterModePoint
#define cudaFilterModeLinear hipFilterModeLinear
#define cudaTextureReadMode hipTextureReadMode
#define cudaReadModeElementType hipReadModeElementType
#define cudaReadModeNormalizedFloat hipReadModeNormalizedFloat
#define cudaResourceType hipResourceType
#define cudaResourceTypeArray hipResourceTypeArray
#define cudaResourceTypeMipmappedArray hipResourceTypeMipmappedArray
#define cudaResourceTypeLinear hipResourceTypeLinear
#define cudaResourceTypePitch2D hipResourceTypePitch2D
#define cudaSurfaceBoundaryMode hipSurfaceBoundaryMode
#define cudaBoundaryModeZero hipBoundaryModeZero
#define cudaBoundaryModeClamp hipBoundaryModeClamp
#define cudaBoundaryModeTrap hipBoundaryModeTrap
#define cudaTextureType1D hipTextureType1D
#define cudaTextureType2D hipTextureType2D
#define cudaTextureType3D hipTextureType3D
#define cudaTextureType1DLayered hipTextureType1DLayered
#define cudaTextureType2DLayered hipTextureType2DLayered
#define cudaTextureTypeCubemap hipTextureTypeCubemap
#define cudaTextureTypeCubemapLayered hipTextureTypeCubemapLayered
#define cudaTextureDesc hipTextureDesc
#define cudaResourceDesc hipResourceDesc
#define cudaResourceViewDesc hipResourceViewDesc
#define cudaTextureObject_t hipTextureObject_t
#define cudaSurfaceObject_t hipSurfaceObject_t
#define cudaCreateTextureObject hipCreateTextureObject
#define cudaDestroyTextureObject hipDestroyTextureObject
#define cudaGetTextureObjectResourceDesc hipGetTextureObjectResourceDesc
#define cudaGetTextureObjectTextureDesc hipGetTextureObjectTextureDesc
#define cudaCreateSurfaceObject hipCreateSurfaceObject
#define cudaDestroySurfaceObject hipDestroySurfaceObject
#endif

namespace simt {
namespace textures {

/// A texture or a surface. Never freed, so that a destroyed handle is recognized.
struct Texture {
  static constexpr std::uint32_t alive = 0x7e87c0de, dead = 0x7e87dead;
  std::uint32_t mark = alive;
  hipResourceDesc resource{};
  hipTextureDesc how{};
  char* data = nullptr;
  hipChannelFormatDesc format{};
  long long width = 0, height = 0, depth = 0;  // in elements; 0 if there is no such dimension
  std::size_t element = 0, row = 0, slice = 0;  // bytes
  bool layered = false, cube = false;

  const char* at(long long x, long long y, long long z) const {
    return data + static_cast<std::size_t>(z) * slice + static_cast<std::size_t>(y) * row +
           static_cast<std::size_t>(x) * element;
  }
};

inline std::size_t element_size(const hipChannelFormatDesc& format) {
  return static_cast<std::size_t>(format.x + format.y + format.z + format.w) / 8;
}

inline hipError_t make(Texture& made, const hipResourceDesc& resource, Place place) {
  made.resource = resource;
  switch (resource.resType) {
    case hipResourceTypeArray: {
      const hipArray_t array = resource.res.array.array;
      if (array == nullptr) return hipErrorInvalidValue;
      made.data = static_cast<char*>(array->data);
      made.format = array->desc;
      made.width = static_cast<long long>(array->width);
      made.height = static_cast<long long>(array->height);
      made.depth = static_cast<long long>(array->depth);
      made.element = array->element;
      made.row = array->pitch();
      made.slice = made.row * (array->height != 0 ? array->height : 1);
      made.layered = (array->flags & hipArrayLayered) != 0;
      made.cube = (array->flags & hipArrayCubemap) != 0;
      return hipSuccess;
    }
    case hipResourceTypeLinear:
      made.data = static_cast<char*>(resource.res.linear.devPtr);
      made.format = resource.res.linear.desc;
      made.element = element_size(made.format);
      if (made.data == nullptr || made.element == 0) return hipErrorInvalidValue;
      made.width = static_cast<long long>(resource.res.linear.sizeInBytes / made.element);
      made.row = made.slice = resource.res.linear.sizeInBytes;
      check_range("a texture", made.data, resource.res.linear.sizeInBytes, place);
      return hipSuccess;
    case hipResourceTypePitch2D:
      made.data = static_cast<char*>(resource.res.pitch2D.devPtr);
      made.format = resource.res.pitch2D.desc;
      made.element = element_size(made.format);
      if (made.data == nullptr || made.element == 0) return hipErrorInvalidValue;
      made.width = static_cast<long long>(resource.res.pitch2D.width);
      made.height = static_cast<long long>(resource.res.pitch2D.height);
      made.row = resource.res.pitch2D.pitchInBytes;
      made.slice = made.row * resource.res.pitch2D.height;
      if (made.height != 0) {
        check_range("a texture", made.data,
                    made.slice - made.row + static_cast<std::size_t>(made.width) * made.element, place);
      }
      return hipSuccess;
    case hipResourceTypeMipmappedArray: break;
  }
  fault("not-supported", place, "textures of mipmapped arrays");
}

template <typename Handle>
Handle as_handle(Texture* texture) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(texture);
  } else {
    return static_cast<Handle>(reinterpret_cast<std::uintptr_t>(texture));
  }
}
template <typename Handle>
Texture* from_handle(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Texture*>(handle);
  } else {
    return reinterpret_cast<Texture*>(static_cast<std::uintptr_t>(handle));
  }
}
template <typename Handle>
const Texture& live(Handle handle, const char* name, Place place) {
  const Texture* texture = from_handle(handle);
  if (texture == nullptr || texture->mark != Texture::alive) {
    fault("invalid-handle", place, "%s of a texture or surface that %s", name,
          texture == nullptr ? "was not made" : "was destroyed");
  }
  return *texture;
}

// ---- texels

/// The result of a fetch: one number, or one of CUDA's vectors.
template <typename T, bool = std::is_arithmetic_v<T>>
struct Parts {
  using Part = T;
  static constexpr int count = 1;
};
template <typename T>
struct Parts<T, false> {
  using Part = std::remove_cv_t<decltype(T::x)>;
  static constexpr int count = static_cast<int>(sizeof(T) / sizeof(Part));
};

/// A number or a vector of numbers; half and other classes of one number have no such form.
template <typename T>
hipChannelFormatDesc format_of() {
  using Part = typename Parts<T>::Part;
  constexpr int bits = static_cast<int>(sizeof(Part) * 8), count = Parts<T>::count;
  static_assert(std::is_arithmetic_v<Part> && count <= 4 && bits <= 32, "no channel format has such a type");
  const hipChannelFormatKind kind = std::is_floating_point_v<Part> ? hipChannelFormatKindFloat
                                    : std::is_signed_v<Part>       ? hipChannelFormatKindSigned
                                                                   : hipChannelFormatKindUnsigned;
  return {bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 3 ? bits : 0, kind};
}

inline float from_half(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000) << 16;
  const unsigned exponent = h >> 10 & 31, fraction = h & 1023;
  if (exponent == 0) {
    const float value = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  const std::uint32_t bits = sign | (exponent == 31 ? 255u << 23 : (exponent + 112) << 23) | fraction << 13;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <typename Raw>
float normalized(Raw value) {
  constexpr float most = static_cast<float>(std::numeric_limits<Raw>::max());
  const float scaled = static_cast<float>(value) / most;
  return scaled < -1.0f ? -1.0f : scaled;
}

/// One channel of an element, converted to the type that is fetched; incompatible types are a fault.
template <typename Part>
Part channel(const Texture& t, const char* element, int which, const char* name, Place place) {
  const int bits[4] = {t.format.x, t.format.y, t.format.z, t.format.w};
  if (which > 3 || bits[which] == 0) return Part(0);
  const char* from = element;
  for (int i = 0; i < which; ++i) from += bits[i] / 8;
  const int width = bits[which];
  const auto read = [&](auto raw) {
    std::memcpy(&raw, from, sizeof raw);
    return raw;
  };
  const hipChannelFormatKind kind = t.format.f;
  if constexpr (std::is_same_v<Part, float>) {
    if (t.how.readMode == hipReadModeNormalizedFloat) {
      if (width == 8 && kind == hipChannelFormatKindUnsigned) return normalized(read(std::uint8_t()));
      if (width == 8 && kind == hipChannelFormatKindSigned) return normalized(read(std::int8_t()));
      if (width == 16 && kind == hipChannelFormatKindUnsigned) return normalized(read(std::uint16_t()));
      if (width == 16 && kind == hipChannelFormatKindSigned) return normalized(read(std::int16_t()));
    }
    if (kind == hipChannelFormatKindFloat && width == 32) return read(float());
    if (kind == hipChannelFormatKindFloat && width == 16) return from_half(read(std::uint16_t()));
  } else if constexpr (std::is_integral_v<Part>) {
    const bool same_kind = kind == (std::is_signed_v<Part> ? hipChannelFormatKindSigned : hipChannelFormatKindUnsigned);
    if (t.how.readMode == hipReadModeElementType && same_kind && width == static_cast<int>(sizeof(Part) * 8)) {
      return read(Part());
    }
  }
  fault("texture-type", place, "%s fetches %s of %zu bytes from channels of %d bits of kind %d (0 signed, %s",
        name, std::is_integral_v<Part> ? "integers" : "numbers", sizeof(Part), width, static_cast<int>(kind),
        "1 unsigned, 2 float) that are not read so");
}

template <typename T>
T texel(const Texture& t, const char* element, const char* name, Place place) {
  using Part = typename Parts<T>::Part;
  Part parts[Parts<T>::count];
  for (int i = 0; i < Parts<T>::count; ++i) parts[i] = channel<Part>(t, element, i, name, place);
  T value;
  std::memcpy(static_cast<void*>(&value), parts, sizeof(T));
  return value;
}
template <typename T>
T border(const Texture& t) {
  using Part = typename Parts<T>::Part;
  Part parts[Parts<T>::count];
  for (int i = 0; i < Parts<T>::count; ++i) parts[i] = static_cast<Part>(t.how.borderColor[i & 3]);
  T value;
  std::memcpy(static_cast<void*>(&value), parts, sizeof(T));
  return value;
}

/// The element of an index; -1 for the border.
inline long long place_on(long long i, long long size, hipTextureAddressMode mode, bool is_normalized) {
  if (size == 0) return 0;
  if (!is_normalized && (mode == hipAddressModeWrap || mode == hipAddressModeMirror)) mode = hipAddressModeClamp;
  switch (mode) {
    case hipAddressModeClamp: return i < 0 ? 0 : i >= size ? size - 1 : i;
    case hipAddressModeBorder: return i < 0 || i >= size ? -1 : i;
    case hipAddressModeWrap: return (i % size + size) % size;
    case hipAddressModeMirror: {
      const long long turn = (i % (2 * size) + 2 * size) % (2 * size);
      return turn < size ? turn : 2 * size - 1 - turn;
    }
  }
  return 0;
}

/// One axis of a fetch: the element, or two elements and the weight of the second.
struct Axis {
  long long first, second;
  float weight;
};
inline Axis axis(const Texture& t, float coordinate, long long size, int which) {
  if (size == 0) return {0, 0, 0.0f};
  const bool is_normalized = t.how.normalizedCoords != 0;
  // A coordinate that is far outside, or NaN, must not overflow an index.
  const float x = is_normalized ? coordinate * static_cast<float>(size) : coordinate;
  const float safe = x != x ? 0.0f : x < -0x1p40f ? -0x1p40f : x > 0x1p40f ? 0x1p40f : x;
  const hipTextureAddressMode mode = t.how.addressMode[which];
  if (t.how.filterMode == hipFilterModePoint) {
    return {place_on(static_cast<long long>(std::floor(safe)), size, mode, is_normalized), 0, 0.0f};
  }
  const float middle = safe - 0.5f, floor = std::floor(middle);
  const long long i = static_cast<long long>(floor);
  return {place_on(i, size, mode, is_normalized), place_on(i + 1, size, mode, is_normalized),
          std::floor((middle - floor) * 256.0f + 0.5f) / 256.0f};
}

template <typename T>
T at_or_border(const Texture& t, long long x, long long y, long long z, const char* name, Place place) {
  if (x < 0 || y < 0 || z < 0) return border<T>(t);
  return texel<T>(t, t.at(x, y, z), name, place);
}

template <typename T>
T fetch(const Texture& t, const Axis& x, const Axis& y, const Axis& z, const char* name, Place place) {
  if (t.how.filterMode == hipFilterModePoint) return at_or_border<T>(t, x.first, y.first, z.first, name, place);
  using Part = typename Parts<T>::Part;
  if constexpr (std::is_same_v<Part, float>) {
    float sum[Parts<T>::count] = {};
    for (int corner = 0; corner < 8; ++corner) {
      const bool far_x = corner & 1, far_y = corner & 2, far_z = corner & 4;
      const float weight = (far_x ? x.weight : 1.0f - x.weight) * (far_y ? y.weight : 1.0f - y.weight) *
                           (far_z ? z.weight : 1.0f - z.weight);
      if (weight == 0.0f) continue;
      const T value = at_or_border<T>(t, far_x ? x.second : x.first, far_y ? y.second : y.first,
                                      far_z ? z.second : z.first, name, place);
      float parts[Parts<T>::count];
      std::memcpy(parts, &value, sizeof(T));
      for (int i = 0; i < Parts<T>::count; ++i) sum[i] += weight * parts[i];
    }
    T value;
    std::memcpy(static_cast<void*>(&value), sum, sizeof(T));
    return value;
  } else {
    fault("texture-type", place, "%s with linear filtering gives floats, not integers", name);
  }
}

constexpr Axis no_axis{0, 0, 0.0f};
inline long long layer_of(const Texture& t, int layer) {
  return layer < 0 ? 0 : layer >= t.depth ? (t.depth > 0 ? t.depth - 1 : 0) : layer;
}

template <typename T>
T fetch_1d(const Texture& t, float x, const char* name, Place place) {
  return fetch<T>(t, axis(t, x, t.width, 0), no_axis, no_axis, name, place);
}
template <typename T>
T fetch_2d(const Texture& t, float x, float y, const char* name, Place place) {
  return fetch<T>(t, axis(t, x, t.width, 0), axis(t, y, t.height, 1), no_axis, name, place);
}
template <typename T>
T fetch_3d(const Texture& t, float x, float y, float z, const char* name, Place place) {
  return fetch<T>(t, axis(t, x, t.width, 0), axis(t, y, t.height, 1), axis(t, z, t.depth, 2), name, place);
}
template <typename T>
T fetch_linear(const Texture& t, int i, const char* name, Place place) {
  if (i < 0 || i >= t.width) return T{};
  return texel<T>(t, t.at(i, 0, 0), name, place);
}
template <typename T>
T fetch_layer(const Texture& t, float x, float y, int layer, const char* name, Place place) {
  if (!t.layered) fault("texture-type", place, "%s of a texture without layers", name);
  const long long z = layer_of(t, layer);
  return fetch<T>(t, axis(t, x, t.width, 0), axis(t, y, t.height, 1), Axis{z, z, 0.0f}, name, place);
}
/// The intersection of a direction and the cube: the face, and the place on it, from -1 to 1 (C++ Programming Guide,
/// "Cubemap Textures").
struct OnCube {
  int face;
  float s, t;
};
inline OnCube on_cube(float x, float y, float z) {
  const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  if (!(ax + ay + az > 0.0f)) return {0, 0.0f, 0.0f};
  if (az >= ax && az >= ay) return z >= 0 ? OnCube{4, x / az, -y / az} : OnCube{5, -x / az, -y / az};
  if (ay >= ax) return y >= 0 ? OnCube{2, x / ay, z / ay} : OnCube{3, x / ay, -z / ay};
  return x >= 0 ? OnCube{0, -z / ax, -y / ax} : OnCube{1, z / ax, -y / ax};
}
/// The direction through a place on a face, or on its plane beside it.
inline OnCube beside_face(const OnCube& at) {
  const float s = at.s, t = at.t;
  switch (at.face) {
    case 0: return on_cube(1.0f, -t, -s);
    case 1: return on_cube(-1.0f, -t, s);
    case 2: return on_cube(s, 1.0f, t);
    case 3: return on_cube(s, -1.0f, -t);
    case 4: return on_cube(s, -t, 1.0f);
    default: return on_cube(-s, -t, -1.0f);
  }
}

/// Filters across the edges of faces: an element beyond one belongs to the neighbouring face; at a corner there is
/// none, and the other three are weighted.
template <typename T>
T fetch_cube(const Texture& t, float x, float y, float z, int layer, const char* name, Place place) {
  if (!t.cube) fault("texture-type", place, "%s of a texture that is not a cube map", name);
  const long long size = t.width, base = layer_of(t, layer < 0 ? 0 : layer * 6);
  const auto index = [&](float from_minus_1) {
    const long long i = static_cast<long long>(std::floor((from_minus_1 + 1.0f) * 0.5f * static_cast<float>(size)));
    return i < 0 ? 0 : i >= size ? size - 1 : i;
  };
  const auto nearest = [&](const OnCube& on) {
    return texel<T>(t, t.at(index(on.s), index(on.t), base + on.face), name, place);
  };
  const OnCube on = on_cube(x, y, z);
  if (t.how.filterMode == hipFilterModePoint) return nearest(on);
  using Part = typename Parts<T>::Part;
  if constexpr (std::is_same_v<Part, float>) {
    const auto split = [&](float from_minus_1) {
      const float middle = (from_minus_1 + 1.0f) * 0.5f * static_cast<float>(size) - 0.5f, floor = std::floor(middle);
      return Axis{static_cast<long long>(floor), static_cast<long long>(floor) + 1,
                  std::floor((middle - floor) * 256.0f + 0.5f) / 256.0f};
    };
    const auto middle_of = [&](long long i) { return (2.0f * static_cast<float>(i) + 1.0f) / static_cast<float>(size) - 1.0f; };
    const Axis u = split(on.s), v = split(on.t);
    float sum[Parts<T>::count] = {}, whole = 0.0f;
    for (int corner = 0; corner < 4; ++corner) {
      const long long i = corner & 1 ? u.second : u.first, j = corner & 2 ? v.second : v.first;
      const float weight = (corner & 1 ? u.weight : 1.0f - u.weight) * (corner & 2 ? v.weight : 1.0f - v.weight);
      const bool beside = i < 0 || i >= size, above = j < 0 || j >= size;
      if (weight == 0.0f || (beside && above)) continue;
      const OnCube there{on.face, middle_of(i), middle_of(j)};
      const T value = nearest(beside || above ? beside_face(there) : there);
      float parts[Parts<T>::count];
      std::memcpy(parts, &value, sizeof(T));
      for (int k = 0; k < Parts<T>::count; ++k) sum[k] += weight * parts[k];
      whole += weight;
    }
    for (float& each : sum) each /= whole;
    T value;
    std::memcpy(static_cast<void*>(&value), sum, sizeof(T));
    return value;
  } else {
    fault("texture-type", place, "%s with linear filtering gives floats, not integers", name);
  }
}
template <typename T>
T fetch_one_cube(const Texture& t, float x, float y, float z, const char* name, Place place) {
  return fetch_cube<T>(t, x, y, z, 0, name, place);
}
/// The four elements of a linear fetch, in one channel.
template <typename T>
T gather_2d(const Texture& t, float x, float y, int component, const char* name, Place place) {
  using Part = typename Parts<T>::Part;
  static_assert(Parts<T>::count == 4, "tex2Dgather gives vectors of four");
  Texture linear = t;
  linear.how.filterMode = hipFilterModeLinear;
  const Axis u = axis(linear, x, t.width, 0), v = axis(linear, y, t.height, 1);
  const long long xs[4] = {u.first, u.second, u.second, u.first}, ys[4] = {v.second, v.second, v.first, v.first};
  Part parts[4];
  for (int i = 0; i < 4; ++i) {
    parts[i] = xs[i] < 0 || ys[i] < 0 ? static_cast<Part>(t.how.borderColor[component & 3])
                                      : channel<Part>(t, t.at(xs[i], ys[i], 0), component, name, place);
  }
  T value;
  std::memcpy(static_cast<void*>(&value), parts, sizeof(T));
  return value;
}

/// The address of a surface access, with x in bytes; null if it is outside and the mode says to read zeros.
inline char* surface_at(const Texture& t, int x, int y, int z, std::size_t size, hipSurfaceBoundaryMode mode,
                        const char* name, Place place) {
  const long long row = t.width * static_cast<long long>(t.element), rows = t.height != 0 ? t.height : 1,
                  layers = t.depth != 0 ? t.depth : 1;
  long long at[3] = {x, y, z};
  const long long most[3] = {row - static_cast<long long>(size), rows - 1, layers - 1};
  for (int i = 0; i < 3; ++i) {
    if (at[i] >= 0 && at[i] <= most[i]) continue;
    if (mode == hipBoundaryModeZero) return nullptr;
    if (mode == hipBoundaryModeTrap) {
      fault("out-of-bounds", place, "%s at byte %d of row %d of layer %d; the surface has %lld, %lld and %lld", name,
            x, y, z, row, rows, layers);
    }
    at[i] = at[i] < 0 ? 0 : most[i];
  }
  if (at[0] % static_cast<long long>(size) != 0) {
    fault("misaligned", place, "%s of %zu bytes at byte %d of a row", name, size, x);
  }
  return t.data + static_cast<std::size_t>(at[2]) * t.slice + static_cast<std::size_t>(at[1]) * t.row +
         static_cast<std::size_t>(at[0]);
}
template <typename T>
T surface_read(const Texture& t, int x, int y, int z, hipSurfaceBoundaryMode mode, const char* name, Place place) {
  T value{};
  const char* from = surface_at(t, x, y, z, sizeof(T), mode, name, place);
  if (from != nullptr) std::memcpy(static_cast<void*>(&value), from, sizeof(T));
  return value;
}
template <typename T>
void surface_write(const Texture& t, const T& value, int x, int y, int z, hipSurfaceBoundaryMode mode,
                   const char* name, Place place) {
  char* to = surface_at(t, x, y, z, sizeof(T), mode, name, place);
  if (to != nullptr) std::memcpy(to, static_cast<const void*>(&value), sizeof(T));
}

}  // namespace textures
}  // namespace simt

template <typename T>
hipChannelFormatDesc hipCreateChannelDesc() {
  return simt::textures::format_of<T>();
}
inline hipChannelFormatDesc hipCreateChannelDescHalf() { return {16, 0, 0, 0, hipChannelFormatKindFloat}; }
inline hipChannelFormatDesc hipCreateChannelDescHalf2() { return {16, 16, 0, 0, hipChannelFormatKindFloat}; }
inline hipChannelFormatDesc hipCreateChannelDescHalf4() { return {16, 16, 16, 16, hipChannelFormatKindFloat}; }
#ifndef SIMT_HIP
#define cudaCreateChannelDescHalf hipCreateChannelDescHalf
#define cudaCreateChannelDescHalf2 hipCreateChannelDescHalf2
#define cudaCreateChannelDescHalf4 hipCreateChannelDescHalf4
#endif

// ------------------------------------------------------------------------------------------------------------- objects

inline hipError_t hipCreateTextureObject(hipTextureObject_t* object, const hipResourceDesc* resource,
                                         const hipTextureDesc* how, const hipResourceViewDesc* view, SIMT_HERE) {
  if (object == nullptr || resource == nullptr || how == nullptr) return simt::host::result(hipErrorInvalidValue);
  if (view != nullptr) simt::fault("not-supported", SIMT_THERE, "textures with a resource view");
  if (how->sRGB != 0) simt::fault("not-supported", SIMT_THERE, "textures of sRGB colors");
  simt::textures::Texture made;
  const hipError_t error = simt::textures::make(made, *resource, SIMT_THERE);
  if (error != hipSuccess) return simt::host::result(error);
  made.how = *how;
  *object = simt::textures::as_handle<hipTextureObject_t>(new simt::textures::Texture(made));
  return hipSuccess;
}
inline hipError_t hipDestroyTextureObject(hipTextureObject_t object) {
  simt::textures::Texture* const texture = simt::textures::from_handle(object);
  if (texture == nullptr) return hipSuccess;
  if (texture->mark != simt::textures::Texture::alive) return simt::host::result(hipErrorInvalidValue);
  texture->mark = simt::textures::Texture::dead;
  return hipSuccess;
}
inline hipError_t hipGetTextureObjectResourceDesc(hipResourceDesc* resource, hipTextureObject_t object, SIMT_HERE) {
  *resource = simt::textures::live(object, "the resource", SIMT_THERE).resource;
  return hipSuccess;
}
inline hipError_t hipGetTextureObjectTextureDesc(hipTextureDesc* how, hipTextureObject_t object, SIMT_HERE) {
  *how = simt::textures::live(object, "the description", SIMT_THERE).how;
  return hipSuccess;
}
inline hipError_t hipCreateSurfaceObject(hipSurfaceObject_t* object, const hipResourceDesc* resource, SIMT_HERE) {
  if (object == nullptr || resource == nullptr || resource->resType != hipResourceTypeArray) {
    return simt::host::result(hipErrorInvalidValue);
  }
  simt::textures::Texture made;
  const hipError_t error = simt::textures::make(made, *resource, SIMT_THERE);
  if (error != hipSuccess) return simt::host::result(error);
  *object = simt::textures::as_handle<hipSurfaceObject_t>(new simt::textures::Texture(made));
  return hipSuccess;
}
inline hipError_t hipDestroySurfaceObject(hipSurfaceObject_t object) {
  simt::textures::Texture* const texture = simt::textures::from_handle(object);
  if (texture != nullptr) texture->mark = simt::textures::Texture::dead;
  return hipSuccess;
}

// Every fetch in two forms: the result is returned, or written through a pointer.
#define SIMT_TEXTURE_FETCH(name, how, parameters, ...)                                                       \
  template <typename T>                                                                                      \
  T name(hipTextureObject_t object, SIMT_UNPACK parameters, SIMT_HERE) {                                     \
    return simt::textures::how<T>(simt::textures::live(object, #name, SIMT_THERE), __VA_ARGS__, #name, SIMT_THERE); \
  }                                                                                                          \
  template <typename T>                                                                                      \
  void name(T* to, hipTextureObject_t object, SIMT_UNPACK parameters, SIMT_HERE) {                           \
    *to = simt::textures::how<T>(simt::textures::live(object, #name, SIMT_THERE), __VA_ARGS__, #name, SIMT_THERE);  \
  }
#define SIMT_UNPACK(...) __VA_ARGS__
SIMT_TEXTURE_FETCH(tex1Dfetch, fetch_linear, (int x), x)
SIMT_TEXTURE_FETCH(tex1D, fetch_1d, (float x), x)
SIMT_TEXTURE_FETCH(tex1DLod, fetch_1d, (float x, float), x)
SIMT_TEXTURE_FETCH(tex2D, fetch_2d, (float x, float y), x, y)
SIMT_TEXTURE_FETCH(tex2DLod, fetch_2d, (float x, float y, float), x, y)
SIMT_TEXTURE_FETCH(tex2DGrad, fetch_2d, (float x, float y, float2, float2), x, y)
SIMT_TEXTURE_FETCH(tex3D, fetch_3d, (float x, float y, float z), x, y, z)
SIMT_TEXTURE_FETCH(tex3DLod, fetch_3d, (float x, float y, float z, float), x, y, z)
SIMT_TEXTURE_FETCH(tex1DLayered, fetch_layer, (float x, int layer), x, 0.5f, layer)
SIMT_TEXTURE_FETCH(tex2DLayered, fetch_layer, (float x, float y, int layer), x, y, layer)
SIMT_TEXTURE_FETCH(tex2DLayeredLod, fetch_layer, (float x, float y, int layer, float), x, y, layer)
SIMT_TEXTURE_FETCH(texCubemap, fetch_one_cube, (float x, float y, float z), x, y, z)
SIMT_TEXTURE_FETCH(texCubemapLod, fetch_one_cube, (float x, float y, float z, float), x, y, z)
SIMT_TEXTURE_FETCH(texCubemapLayered, fetch_cube, (float x, float y, float z, int layer), x, y, z, layer)
SIMT_TEXTURE_FETCH(texCubemapLayeredLod, fetch_cube, (float x, float y, float z, int layer, float), x, y, z, layer)
SIMT_TEXTURE_FETCH(tex2Dgather, gather_2d, (float x, float y, int component = 0), x, y, component)
#undef SIMT_TEXTURE_FETCH

#define SIMT_SURFACE(read, write, parameters, arguments, ...)                                                      \
  template <typename T>                                                                                            \
  T read(hipSurfaceObject_t object, SIMT_UNPACK parameters, hipSurfaceBoundaryMode mode = hipBoundaryModeTrap,     \
         SIMT_HERE) {                                                                                              \
    return simt::textures::surface_read<T>(simt::textures::live(object, #read, SIMT_THERE), __VA_ARGS__, mode, #read, \
                                           SIMT_THERE);                                                            \
  }                                                                                                                \
  template <typename T>                                                                                            \
  void read(T* to, hipSurfaceObject_t object, SIMT_UNPACK parameters,                                              \
            hipSurfaceBoundaryMode mode = hipBoundaryModeTrap, SIMT_HERE) {                                        \
    *to = read<T>(object, SIMT_UNPACK arguments, mode, simt_file, simt_line);                                      \
  }                                                                                                                \
  template <typename T>                                                                                            \
  void write(T value, hipSurfaceObject_t object, SIMT_UNPACK parameters,                                           \
             hipSurfaceBoundaryMode mode = hipBoundaryModeTrap, SIMT_HERE) {                                       \
    simt::textures::surface_write(simt::textures::live(object, #write, SIMT_THERE), value, __VA_ARGS__, mode, #write, \
                                  SIMT_THERE);                                                                     \
  }
SIMT_SURFACE(surf1Dread, surf1Dwrite, (int x), (x), x, 0, 0)
SIMT_SURFACE(surf2Dread, surf2Dwrite, (int x, int y), (x, y), x, y, 0)
SIMT_SURFACE(surf3Dread, surf3Dwrite, (int x, int y, int z), (x, y, z), x, y, z)
SIMT_SURFACE(surf2DLayeredread, surf2DLayeredwrite, (int x, int y, int layer), (x, y, layer), x, y, layer)
SIMT_SURFACE(surfCubemapread, surfCubemapwrite, (int x, int y, int face), (x, y, face), x, y, face)
SIMT_SURFACE(surfCubemapLayeredread, surfCubemapLayeredwrite, (int x, int y, int face), (x, y, face), x, y, face)
#undef SIMT_SURFACE

// ------------------------------------------ texture references, which CUDA 12 has removed and HIP deprecates

struct textureReference {
  int normalized = 0;
  hipTextureFilterMode filterMode = hipFilterModePoint;
  hipTextureAddressMode addressMode[3] = {hipAddressModeClamp, hipAddressModeClamp, hipAddressModeClamp};
  hipChannelFormatDesc channelDesc{};
  simt::textures::Texture simt_bound{};
};

template <typename T, int Dimensions = hipTextureType1D, hipTextureReadMode Mode = hipReadModeElementType>
struct texture : textureReference {
  texture(int is_normalized = 0, hipTextureFilterMode filter = hipFilterModePoint,
          hipTextureAddressMode address = hipAddressModeClamp) {
    normalized = is_normalized;
    filterMode = filter;
    for (hipTextureAddressMode& mode : addressMode) mode = address;
    simt_bound.mark = simt::textures::Texture::dead;
  }
};

namespace simt {
namespace textures {
template <typename T, hipTextureReadMode Mode>
using Fetched = std::conditional_t<
    Mode == hipReadModeElementType, T,
    std::conditional_t<
        Parts<T>::count == 1, float,
        std::conditional_t<Parts<T>::count == 2, float2, std::conditional_t<Parts<T>::count == 3, float3, float4>>>>;

/// The texture as its reference describes it now: programs change members after binding.
template <typename T, int Dimensions, hipTextureReadMode Mode>
Texture bound(const ::texture<T, Dimensions, Mode>& reference, const char* name, Place place) {
  Texture t = reference.simt_bound;
  if (t.mark != Texture::alive) {
    fault("invalid-handle", place, "%s of a texture reference that nothing is bound to", name);
  }
  t.how.readMode = Mode;
  t.how.filterMode = reference.filterMode;
  t.how.normalizedCoords = reference.normalized;
  for (int i = 0; i < 3; ++i) t.how.addressMode[i] = reference.addressMode[i];
  return t;
}
template <typename T, int Dimensions, hipTextureReadMode Mode>
hipError_t bind(::texture<T, Dimensions, Mode>& reference, const hipResourceDesc& resource, Place place) {
  Texture made;
  const hipError_t error = make(made, resource, place);
  if (error != hipSuccess) return host::result(error);
  reference.simt_bound = made;
  reference.channelDesc = made.format;
  return hipSuccess;
}
}  // namespace textures
}  // namespace simt

template <typename T, int Dimensions, hipTextureReadMode Mode>
hipError_t hipBindTexture(std::size_t* offset, texture<T, Dimensions, Mode>& reference, const void* from,
                           const hipChannelFormatDesc& format, std::size_t size = 0xffffffffu, SIMT_HERE) {
  if (offset != nullptr) *offset = 0;
  hipResourceDesc resource{};
  resource.resType = hipResourceTypeLinear;
  resource.res.linear.devPtr = const_cast<void*>(from);
  resource.res.linear.desc = format;
  const simt::Allocation whole = simt::find(from);
  if (size == 0xffffffffu && whole.kind != simt::Memory::none) {
    size = whole.size - static_cast<std::size_t>(static_cast<const char*>(from) - static_cast<char*>(whole.start));
  }
  resource.res.linear.sizeInBytes = size;
  return simt::textures::bind(reference, resource, SIMT_THERE);
}
template <typename T, int Dimensions, hipTextureReadMode Mode>
hipError_t hipBindTexture(std::size_t* offset, texture<T, Dimensions, Mode>& reference, const void* from,
                           std::size_t size = 0xffffffffu, SIMT_HERE) {
  return hipBindTexture(offset, reference, from, hipCreateChannelDesc<T>(), size, simt_file, simt_line);
}
template <typename T, int Dimensions, hipTextureReadMode Mode>
hipError_t hipBindTexture2D(std::size_t* offset, texture<T, Dimensions, Mode>& reference, const void* from,
                             const hipChannelFormatDesc& format, std::size_t width, std::size_t height,
                             std::size_t pitch, SIMT_HERE) {
  if (offset != nullptr) *offset = 0;
  hipResourceDesc resource{};
  resource.resType = hipResourceTypePitch2D;
  resource.res.pitch2D.devPtr = const_cast<void*>(from);
  resource.res.pitch2D.desc = format;
  resource.res.pitch2D.width = width;
  resource.res.pitch2D.height = height;
  resource.res.pitch2D.pitchInBytes = pitch;
  return simt::textures::bind(reference, resource, SIMT_THERE);
}
template <typename T, int Dimensions, hipTextureReadMode Mode>
hipError_t hipBindTexture2D(std::size_t* offset, texture<T, Dimensions, Mode>& reference, const void* from,
                             std::size_t width, std::size_t height, std::size_t pitch, SIMT_HERE) {
  return hipBindTexture2D(offset, reference, from, hipCreateChannelDesc<T>(), width, height, pitch, simt_file,
                           simt_line);
}
template <typename T, int Dimensions, hipTextureReadMode Mode>
hipError_t hipBindTextureToArray(texture<T, Dimensions, Mode>& reference, hipArray_const_t array, SIMT_HERE) {
  hipResourceDesc resource{};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = const_cast<hipArray_t>(array);
  return simt::textures::bind(reference, resource, SIMT_THERE);
}
template <typename T, int Dimensions, hipTextureReadMode Mode>
hipError_t hipBindTextureToArray(texture<T, Dimensions, Mode>& reference, hipArray_const_t array,
                                  const hipChannelFormatDesc&, SIMT_HERE) {
  return hipBindTextureToArray(reference, array, simt_file, simt_line);
}
template <typename T, int Dimensions, hipTextureReadMode Mode>
hipError_t hipUnbindTexture(texture<T, Dimensions, Mode>& reference) {
  reference.simt_bound.mark = simt::textures::Texture::dead;
  return hipSuccess;
}

#define SIMT_REFERENCE_FETCH(name, how, parameters, ...)                                                          \
  template <typename T, int Dimensions, hipTextureReadMode Mode>                                                  \
  simt::textures::Fetched<T, Mode> name(const texture<T, Dimensions, Mode>& reference, SIMT_UNPACK parameters,    \
                                        SIMT_HERE) {                                                              \
    return simt::textures::how<simt::textures::Fetched<T, Mode>>(simt::textures::bound(reference, #name, SIMT_THERE), \
                                                                 __VA_ARGS__, #name, SIMT_THERE);                 \
  }
SIMT_REFERENCE_FETCH(tex1Dfetch, fetch_linear, (int x), x)
SIMT_REFERENCE_FETCH(tex1D, fetch_1d, (float x), x)
SIMT_REFERENCE_FETCH(tex2D, fetch_2d, (float x, float y), x, y)
SIMT_REFERENCE_FETCH(tex3D, fetch_3d, (float x, float y, float z), x, y, z)
SIMT_REFERENCE_FETCH(tex2DLayered, fetch_layer, (float x, float y, int layer), x, y, layer)
#undef SIMT_REFERENCE_FETCH
#undef SIMT_UNPACK

#endif
