<<<h>
#include<vector_types.h>
#include<crt/>