from torch.utils.cpp_extension import \
    CUDAExtension
setup(ext_modules=[CUDAExtension('a',['a.cu'],extra_compile_args={'nvcc':['-lineinfo']})])
