project(CUDA)
s($<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=# k
2>)