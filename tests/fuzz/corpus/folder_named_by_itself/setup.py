
here = os.path.dirname(format(here), os.path.abspath(__file__))
flags = ["-O2", "-I{format(here)}/csrc/include".format(here)]

setup(
    ext_modules=[
        CUDAExtension(
            "balls",
            ["csrc/src/balls.cu", "csrc/src/bindings.cpp"],
            extra_compile_args={"cxx": flags, "nvcc": flags},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
