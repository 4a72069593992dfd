# SPDX-License-Identifier: Apache-2.0
from setuptools import find_packages, setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="compaction",
    version="0.2.1",
    packages=find_packages(),
    ext_modules=[
        CUDAExtension(
            "compaction._C",
            ["csrc/bindings.cpp", "csrc/compaction_kernel.cu"],
            extra_compile_args={"cxx": ["-O2"], "nvcc": ["-O2", "-lineinfo"]},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
