#define __device__\
