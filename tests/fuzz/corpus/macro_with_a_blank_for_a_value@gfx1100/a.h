#define P 
<__shfl_down()