#define __CUDACC__
std::int16_t