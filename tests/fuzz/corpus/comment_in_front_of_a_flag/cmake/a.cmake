find_package(Torch)
enable_language(CUDA)
add_definitions(D#
-D_GLIBCXX_USE_CXX11_ABI=0)
t("")