project(${HIP_OR_CUDA})
list(APPEND S -std#
"-diag-suppress")