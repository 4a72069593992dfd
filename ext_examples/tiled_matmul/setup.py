# SPDX-License-Identifier: Apache-2.0
import glob
import os

import torch
from setuptools import setup
from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CppExtension, CUDAExtension

ROOT = os.path.dirname(os.path.abspath(__file__))


def get_extensions():
    sources = [os.path.join("csrc", "bindings.cpp"), *glob.glob(os.path.join("csrc", "cpu", "*.cpp"))]
    extension = CppExtension
    define_macros = []
    extra_compile_args = {"cxx": ["-O3", "-std=c++14"]}

    if CUDA_HOME is not None and (torch.cuda.is_available() or os.getenv("FORCE_CUDA", "0") == "1"):
        extension = CUDAExtension
        sources += glob.glob(os.path.join("csrc", "cuda", "*.cu"))
        define_macros += [("WITH_CUDA", None)]
        extra_compile_args["nvcc"] = [
            "-O3",
            "-std=c++14",
            "-U__CUDA_NO_HALF_OPERATORS__",
            "-U__CUDA_NO_HALF_CONVERSIONS__",
            "-U__CUDA_NO_HALF2_OPERATORS__",
            "-gencode", "arch=compute_70,code=sm_70",
            "-gencode", "arch=compute_80,code=sm_80",
            "-gencode=arch=compute_86,code=sm_86",
            "-gencode=arch=compute_86,code=compute_86",
            "-Xcompiler", "-Wall,-fno-strict-aliasing",
            "--ptxas-options=-v",
        ]

    return [
        extension(
            "tiled_matmul._C",
            sources,
            include_dirs=[os.path.join(ROOT, "csrc")],
            define_macros=define_macros,
            extra_compile_args=extra_compile_args,
        )
    ]


setup(
    name="tiled_matmul",
    version="1.1.0",
    author="hipport examples",
    packages=["tiled_matmul"],
    ext_modules=get_extensions(),
    cmdclass={"build_ext": BuildExtension.with_options(use_ninja=False)},
    install_requires=["torch"],
)
