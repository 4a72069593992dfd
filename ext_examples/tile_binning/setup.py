# SPDX-License-Identifier: Apache-2.0
import setuptools
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setuptools.setup(
    name="tile_binning",
    version="0.3.1",
    packages=setuptools.find_packages(),
    package_data={"tile_binning": ["csrc/*"]},
    ext_modules=[
        CUDAExtension(
            name="tile_binning._plugin",
            sources=["tile_binning/csrc/binding.cpp", "tile_binning/csrc/bin_raster.cu"],
            extra_compile_args={
                "cxx": ["-DBIN_CHECKS=0"],
                "nvcc": ["-DBIN_CHECKS=0", "-lineinfo", "-maxrregcount=128"],
            },
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
