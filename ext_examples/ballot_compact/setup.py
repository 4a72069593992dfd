# SPDX-License-Identifier: Apache-2.0
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="ballot_compact",
    version="1.0",
    packages=["ballot_compact"],
    ext_modules=[
        CUDAExtension(
            name="ballot_compact._C",
            sources=["csrc/ballot_compact.cpp", "csrc/compact_kernels.cu"],
            extra_compile_args={"cxx": ["-O3"], "nvcc": ["-O3", "-Xptxas", "-v"]},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
