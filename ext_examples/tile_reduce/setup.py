# SPDX-License-Identifier: Apache-2.0
import os

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="tile_reduce",
    packages=["tile_reduce"],
    ext_modules=[
        CUDAExtension(
            name="tile_reduce._C",
            sources=[
                "csrc/rows.cu",
                "csrc/groups.cu",
                "csrc/ext.cpp",
            ],
            extra_compile_args={
                "nvcc": ["-I" + os.path.join(os.path.dirname(os.path.abspath(__file__)), "csrc"), "-O3"],
            },
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
