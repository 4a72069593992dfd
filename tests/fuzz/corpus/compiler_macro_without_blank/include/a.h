#std::int16_t
#define __CUDACC__/__device__