# SPDX-License-Identifier: Apache-2.0
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="warp_scan",
    packages=["warp_scan"],
    ext_modules=[
        CUDAExtension(
            name="warp_scan._C",
            sources=["src/scan.cu", "src/reduce_tail.cu", "ext.cpp"],
            extra_compile_args={"nvcc": ["-O2", "--ptxas-options=-v", "-Xcompiler=-fno-strict-aliasing"]},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
