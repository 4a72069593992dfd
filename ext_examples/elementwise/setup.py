# SPDX-License-Identifier: Apache-2.0
import os

from setuptools import find_packages, setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

here = os.path.dirname(os.path.abspath(__file__))

nvcc_flags = [
    "-O3",
    "--expt-relaxed-constexpr",
    "--use_fast_math",
    "-lineinfo",  # keep source lines for Nsight Compute
]
if os.environ.get("FUSED_ACT_DEBUG", "0") == "1":
    nvcc_flags += ["-DFUSED_ACT_DEBUG", "-Xptxas", "-v"]

setup(
    name="fused_act",
    version="0.3.0",
    description="Fused bias + activation + gain (CUDA), forward and backward",
    packages=find_packages(include=["fused_act"]),
    ext_modules=[
        CUDAExtension(
            name="fused_act._C",
            sources=["csrc/bindings.cpp", "csrc/fused_act_kernel.cu"],
            include_dirs=[os.path.join(here, "csrc")],
            extra_compile_args={"cxx": ["-O3"], "nvcc": nvcc_flags},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
