# SPDX-License-Identifier: Apache-2.0
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="ptx_integers",
    version="0.5",
    packages=["ptx_integers"],
    ext_modules=[
        CUDAExtension(
            "ptx_integers._C",
            ["csrc/bindings.cpp", "csrc/bits.cu", "csrc/wide.cu", "csrc/lanes.cu", "csrc/memory.cu"],
            extra_compile_args={"cxx": ["-O2"], "nvcc": ["-O2", "-Xptxas=-O3"]},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
