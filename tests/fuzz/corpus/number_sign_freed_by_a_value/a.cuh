__CUDA_ARCH__</*
*/3#if