# SPDX-License-Identifier: Apache-2.0
import os

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

ROOT = os.path.dirname(os.path.abspath(__file__))

setup(
    name="hash_table",
    version="0.1.0",
    packages=["hash_table"],
    ext_modules=[
        CUDAExtension(
            name="hash_table.backend",
            sources=["csrc/hash_table.cpp", "csrc/insert.cu"],
            include_dirs=[os.path.join(ROOT, "csrc")],
            extra_compile_args={
                "cxx": ["-O3", "-std=c++17"],
                "nvcc": ["-O3", "-std=c++17", "-allow-unsupported-compiler", "-U__CUDA_NO_HALF_OPERATORS__"],
            },
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
