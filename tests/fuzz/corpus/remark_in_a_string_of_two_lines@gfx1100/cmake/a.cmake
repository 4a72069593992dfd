s(CUDA)
include("
#kept0/hipport/hipport.cmake")
project(${HIP_OR_CUDA})