# SPDX-License-Identifier: Apache-2.0
from setuptools import find_packages, setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="bitonic_sort",
    version="1.2",
    packages=find_packages(exclude=("tests",)),
    ext_modules=[
        CUDAExtension(
            "bitonic_sort._C",
            ["csrc/bitonic.cpp", "csrc/bitonic_rows.cu", "csrc/bitonic_vector.cu"],
            extra_compile_args={
                "cxx": ["-O3"],
                "nvcc": ["-O3", "--expt-relaxed-constexpr", "-gencode", "arch=compute_80,code=sm_80"],
            },
        )
    ],
    cmdclass={"build_ext": BuildExtension.with_options(use_ninja=True)},
)
