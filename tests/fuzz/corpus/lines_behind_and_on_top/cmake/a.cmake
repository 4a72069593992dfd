set_source_files_properties(COMPILE_FLAGS "-lineinfo")
project(CUDA)