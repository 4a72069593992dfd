from torch import cuda
setup(ext_modules=[CUDAExtension("a", ["a.cu"], extra_compile_args=["-lineinfo"])] if cuda.is_available() else [])
if os.getenv("FORCE_CUDA", "0") == "1" or (torch.cuda.is_available() and CUDA_HOME is not None):
    device = "cuda"
