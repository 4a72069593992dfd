#define _//
std::int16_t