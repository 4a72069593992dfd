project(${HIP_OR_CUDA})
set(CMAKE_CUDA_FLAGS "-Xcompiler -Xcompiler l")