max(
#defined(USE_ROCM)