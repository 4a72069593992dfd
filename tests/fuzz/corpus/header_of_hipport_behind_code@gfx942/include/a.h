d(){}
#include<cuda/pipeline>
{cuda::barrier<r;}