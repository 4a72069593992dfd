# SPDX-License-Identifier: Apache-2.0
"""Names that device code has without declaring them, by the uniformity of their values in a block.

These belong to the language, not to a library: CUDA C++ Programming Guide, sections on built-in variables, warp
functions and cooperative groups. HIP has the same under the same names; hipport's helpers have the names without
underscores. Names of libraries belong in the tables of the passes.
"""

from __future__ import annotations

import re
from pathlib import Path

from hipport.core.tables import load, one_of

#: The number of lanes of a warp.
LANES = 32
#: Each thread has its own value.
BY_THREAD = re.compile(
    rb"threadIdx|hipThreadIdx_[xyz]|atomic\w*|(?:__)?lane_?id|(?:__)?lanemask_\w+|thread_(?:rank|index)|"
    rb"(?:__)?shfl\w*|(?:__)?match_any(?:_sync)?|clock(?:64)?|wall_clock64|get_thread_id\w*|fetch_\w+|exchange|"
    rb"compare_exchange\w*"
)
#: The lanes of a warp, or of the smaller group that takes part, have one value.
BY_WARP = re.compile(
    rb"(?:__)?(?:any|all|ballot|uni|match_all|activemask|reduce_\w+)(?:_sync)?|meta_group_rank|__activemask"
)
#: All threads of a block have one value.
BY_BLOCK = re.compile(rb"(?:__)?syncthreads_(?:count|and|or)|blockIdx|blockDim|gridDim")
#: The type of a block's shape, or a grid's.
SHAPE = rb"dim3"
#: Functions that launch the kernel in their first argument, with blocks from their third.
LAUNCHES = re.compile(rb"\b(?:(?:cuda|hip)Launch(?:Cooperative)?Kernel|hipLaunchKernelGGL)\s*\(")
#: Functions that query or configure a kernel, at the end of the text before its name.
LOOKS_AT_KERNELS = re.compile(rb"\b(?:cuda|hip)(?:Func|Occupancy)\w*\s*(?:<[^;<>]*>\s*)?\((?:[^;()]|\([^;()]*\))*\Z")
#: A lane gets the value of another lane, which it selects.
SHUFFLES = frozenset((b"shfl", b"__shfl", b"shfl_sync", b"__shfl_sync"))
#: Threads are counted in more than one dimension.
OTHER_DIMENSIONS = re.compile(rb"threadIdx\s*\.\s*[yz]")
LAYERS = re.compile(rb"threadIdx\s*\.\s*z")
#: The rank of a thread in a group; captures the name of the group.
RANK = re.compile(rb"\b(\w+)\s*(?:\.|->)\s*thread_rank\b")
#: Constants that are 32 by their names, including PyTorch's C10_WARP_SIZE (c10/macros/Macros.h).
WARP_SIZES = re.compile(rb"(?:k?warp_?size|c10_warp_size|num_threads_per_warp|threads_per_warp)", re.IGNORECASE)
#: Names that look like constants or macros, and words that are the same for every thread.
GIVEN = re.compile(
    rb"[A-Z][A-Z0-9_]*|k[A-Z]\w*|(?:thread|block)Idx|(?:block|grid)Dim|warpSize|true|false|"
    rb"this_(?:thread_block|grid|multi_grid|cluster)"
)
#: Variables that CUDA and HIP define, without white space.
BUILT_IN_VARIABLES = re.compile(rb"(?:threadIdx|blockIdx|blockDim|gridDim)\.[xyz]")
_FUNCTIONS = load(Path(__file__).with_name("pure_functions.toml"))["functions"]
#: Functions whose result depends only on their arguments; among them those that write it through a pointer argument.
PURE = re.compile(f"(?:__)?{one_of(_FUNCTIONS['mathematics'])}[fl]?|{one_of(_FUNCTIONS['others'])}".encode())
BY_POINTER = frozenset(_FUNCTIONS["by_pointer"].split())
#: Types of vectors, whose members are numbers.
VECTOR = re.compile(rb"(?:u?(?:char|short|int|long|longlong)|float|double)([1-4])|dim3")


def varies(name: bytes) -> bool:
    """Whether a name of CUDA or HIP has a value for each thread."""
    return BY_THREAD.fullmatch(name) is not None
