#include<math_functions.h>
#include<rccl/rccl.h>std::int32_t