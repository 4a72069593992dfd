#include<cuda_fp16.h>
DE h t;#CUDAAPI