#ifdef USE_ROCM 4
__shfl_xor_sync
#endif