# SPDX-License-Identifier: Apache-2.0
import glob
import os

import torch
from setuptools import find_packages, setup
from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CppExtension, CUDAExtension


def get_extensions():
    this_dir = os.path.dirname(os.path.abspath(__file__))
    sources = glob.glob(os.path.join(this_dir, "csrc", "*.cpp"))
    extension = CppExtension
    define_macros = []
    nvcc_flags = []
    if (torch.cuda.is_available() and CUDA_HOME is not None) or os.getenv("FORCE_CUDA", "0") == "1":
        extension = CUDAExtension
        sources += glob.glob(os.path.join(this_dir, "csrc", "*.cu"))
        define_macros += [("WITH_CUDA", None)]
        nvcc_flags = ["-DCUDA_HAS_FP16=1", "-D__CUDA_NO_HALF_OPERATORS__", "-lineinfo"]
    return [
        extension(
            "reductions._C",
            sources,
            include_dirs=[os.path.join(this_dir, "csrc")],
            define_macros=define_macros,
            extra_compile_args={"cxx": [], "nvcc": nvcc_flags},
        )
    ]


setup(
    name="reductions",
    version="0.9",
    packages=find_packages(),
    ext_modules=get_extensions(),
    cmdclass={"build_ext": BuildExtension},
)
