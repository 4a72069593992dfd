#include <cuda/std/utility>
std::int32_t x;
