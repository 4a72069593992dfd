find_package(CUDAToolkit)
if(CUDAToolkit_VERSION)
endif()
set_target_properties(()(PROPERTIES O D)s(a S Y CUDA_SEPARABLE_COMPILATION))