# SPDX-License-Identifier: Apache-2.0
import setuptools
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setuptools.setup(
    name="triangles",
    version="0.4.0",
    packages=setuptools.find_packages(),
    package_data={"triangles": ["csrc/*"]},
    ext_modules=[
        CUDAExtension(
            name="triangles._plugin",
            sources=[
                "triangles/csrc/torch_bindings.cpp",
                "triangles/csrc/raster.cu",
                "triangles/csrc/interpolate.cu",
            ],
            extra_compile_args={
                "cxx": ["-DTRI_DEBUG=0"],
                "nvcc": ["-DTRI_DEBUG=0", "-lineinfo", "-maxrregcount=128"],
            },
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
