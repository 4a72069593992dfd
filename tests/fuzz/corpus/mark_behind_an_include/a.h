#include<cuda.h>
CUDART_INF