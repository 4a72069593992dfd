target_compile_options(rays PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-G>")
cmake_minimum_required(VERSION 3.21)
include(hipport/hipport.cmake# kept0
)
project(ops LANGUAGES CXX ${HIP_OR_CUDA})
