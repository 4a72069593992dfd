# SPDX-License-Identifier: Apache-2.0
from setuptools import setup
from torch.utils import cpp_extension

setup(
    name="matched",
    version="0.0.4",
    packages=["matched"],
    ext_modules=[
        cpp_extension.CUDAExtension(
            "matched._C",
            sources=["csrc/matched.cpp", "csrc/matched_cuda.cu"],
            extra_compile_args={"cxx": ["-O2"], "nvcc": ["-O2", "--expt-relaxed-constexpr"]},
        )
    ],
    cmdclass={"build_ext": cpp_extension.BuildExtension},
)
