#include<cuda_device_runtime_api.h>
#ifdef _
#include<cub/>
#endif#std::int16_t