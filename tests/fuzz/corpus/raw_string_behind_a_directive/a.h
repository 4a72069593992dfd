#define __CUDACC__ R"(
#include<cuda_fp16.h>)"