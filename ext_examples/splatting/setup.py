# SPDX-License-Identifier: Apache-2.0
import os

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

here = os.path.dirname(os.path.abspath(__file__))

setup(
    name="splatting",
    version="0.2",
    packages=["splatting"],
    ext_modules=[
        CUDAExtension(
            name="splatting._C",
            sources=[
                "csrc/rasterizer.cu",
                "csrc/forward.cu",
                "csrc/backward.cu",
                "rasterize_points.cpp",
            ],
            extra_compile_args={"nvcc": ["-I" + os.path.join(here, "csrc"), "-lineinfo"], "cxx": ["-O2"]},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
