# SPDX-License-Identifier: Apache-2.0
import os
import sys

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

cxx_compiler_flags = []
if sys.platform == "win32":
    cxx_compiler_flags.append("/wd4624")

setup(
    name="scan_sort",
    version="0.1",
    packages=["scan_sort"],
    ext_modules=[
        CUDAExtension(
            name="scan_sort._C",
            sources=["csrc/binning.cu", "csrc/row_scan.cu", "ext.cpp"],
            extra_compile_args={
                "nvcc": ["-I" + os.path.join(os.path.dirname(os.path.abspath(__file__)), "csrc/"), "--expt-extended-lambda"],
                "cxx": cxx_compiler_flags,
            },
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
