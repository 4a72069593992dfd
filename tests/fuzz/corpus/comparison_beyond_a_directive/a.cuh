#define W __CUDA_ARCH__</*
*/3