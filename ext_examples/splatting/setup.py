# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

here = Path(__file__).resolve().parent

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
            extra_compile_args={"nvcc": [f"-I{here / 'csrc'}", "-lineinfo"], "cxx": ["-O2"]},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
