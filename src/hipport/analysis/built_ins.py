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
from hipport.syntax.cuda_names import VARIABLE

_WORDS: dict[str, str] = load(Path(__file__).with_suffix(".toml"))["words"]


def _words(key: str, rest: str = r"\w*") -> bytes:
    return one_of(_WORDS[key], rest).encode()


#: The number of lanes of a warp.
LANES = 32
#: Each thread has its own value.
BY_THREAD = re.compile(_words("by_thread") + rb"|(?:__)?" + _words("lanes_by_thread") + rb"|hipThreadIdx_[xyz]")
#: The lanes of a warp, or of the smaller group that takes part, have one value.
BY_WARP = re.compile(rb"(?:__)?" + _words("by_warp", r"\w+") + rb"(?:_sync)?|meta_group_rank")
#: All threads of a block have one value.
BY_BLOCK = re.compile(rb"(?:__)?" + _words("votes_of_blocks") + rb"|" + _words("by_block"))
#: The type of a block's shape, or a grid's.
SHAPE = rb"dim3"
#: Functions that launch the kernel in their first argument, with blocks from their third.
LAUNCHES = re.compile(rb"\b" + _words("launches") + rb"\s*\(")
#: Functions that query or configure a kernel, at the end of the text before its name.
LOOKS_AT_KERNELS = re.compile(rb"\b" + _words("about_kernels") + rb"\s*(?:<[^;<>]*>\s*)?\((?:[^;()]|\([^;()]*\))*\Z")
#: A lane gets the value of another lane, which it selects.
SHUFFLES = frozenset((b"shfl", b"__shfl", b"shfl_sync", b"__shfl_sync"))
#: Threads are counted in more than one dimension.
OTHER_DIMENSIONS = re.compile(rb"threadIdx\s*\.\s*[yz]")
LAYERS = re.compile(rb"threadIdx\s*\.\s*z")
#: The rank of a thread in a group; captures the name of the group.
RANK = re.compile(rb"\b(\w+)\s*(?:\.|->)\s*thread_rank\b")
#: Constants that are 32 by their names, including PyTorch's C10_WARP_SIZE (c10/macros/Macros.h).
WARP_SIZES = re.compile(_words("warp_sizes"), re.IGNORECASE)
#: Variables that CUDA and HIP define, without white space.
BUILT_IN_VARIABLES = re.compile(VARIABLE + rb"\.[xyz]")
_FUNCTIONS = load(Path(__file__).with_name("pure_functions.toml"))["functions"]
#: Functions whose result depends only on their arguments; among them those that write it through a pointer argument.
PURE = re.compile(f"(?:__)?{one_of(_FUNCTIONS['mathematics'])}[fl]?|{one_of(_FUNCTIONS['others'])}".encode())
BY_POINTER = frozenset(_FUNCTIONS["by_pointer"].split())
#: Types of vectors, whose members are numbers.
VECTOR = re.compile(rb"(?:u?(?:char|short|int|long|longlong)|float|double)([1-4])|dim3")


def varies(name: bytes) -> bool:
    """Whether a name of CUDA or HIP has a value for each thread."""
    return BY_THREAD.fullmatch(name) is not None
