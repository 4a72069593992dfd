min(
#include<THC/THC.h>