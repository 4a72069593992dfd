import sys, torch
from setuptools import setup
from torch.utils.cpp_extension import CUDAExtension
if sys.platform == 'x':
    pass
elif not torch.cuda.is_available():
    raise RuntimeError('x')
setup(ext_modules=[CUDAExtension('a', ['a.cu'])])
