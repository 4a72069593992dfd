from torch.utils.cpp_extension import \
    CUDA_HOME
ROCM_HOME, IS_HIP_EXTENSION
if CUDA_HOME is None: raise E
