if(asm";
#include<cuda_runtime.h>
_ v-HIP_INF_F