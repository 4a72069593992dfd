# SPDX-License-Identifier: Apache-2.0
"""Patterns for names of CUDA C++ that several modules search for; the names are in cuda_names.toml."""

from __future__ import annotations

from pathlib import Path

from hipport.core.tables import load, one_of

_WORDS: dict[str, str] = load(Path(__file__).with_suffix(".toml"))["words"]


def _pattern(*lists: str) -> bytes:
    """Return a pattern for one of the names in the lists of the table."""
    return one_of(" ".join(_WORDS[each] for each in lists), r"\w+").encode()


#: `threadIdx`, `blockIdx`, `blockDim` and `gridDim`.
VARIABLE = _pattern("variables")
#: `__host__`, `__device__` and `__global__`; and those of functions for a GPU.
SPACE = _pattern("spaces")
ON_DEVICE = _pattern("on_device")
#: Functions of a warp, without the underscores before them and `_sync` after them.
SHUFFLE = _pattern("shuffles")
VOTE = _pattern("votes")
MATCH = _pattern("matches")
COLLECTIVE = _pattern("shuffles", "votes", "matches", "reductions")
#: Functions that only a GPU has, without the underscores before them and `_sync` after them.
ON_GPU = _pattern("shuffles", "votes", "matches", "reductions", "other_warp_functions", "barriers")
#: The functions with a mask of lanes.
MASKED = rb"__" + COLLECTIVE + rb"_sync|__syncwarp"
#: Functions that make groups of lanes that are active together.
PARTITION = _pattern("partitions")
#: Functions that return a group which exists before the kernel starts, and the types of these groups.
WHOLE_GROUP = _pattern("whole_groups")
WHOLE_GROUP_TYPE = _pattern("whole_group_types")
#: Methods of groups, and functions of a group, that its threads call together.
GROUP_FUNCTION = _pattern("group_functions")
#: Functions that only let time pass, without the underscores before them.
SLEEP = _pattern("sleeps")
#: Macros that CUDA's compilers define.
CUDA_COMPILER = _pattern("cuda_compilers")
#: `blas`, `fft` and so on: what follows `cu` or `hip` in the name of a mathematical library.
LIBRARY = _pattern("libraries")
#: Folders of headers that only HIP has, and folders that have one for HIP.
HIP_FOLDER = _pattern("hip_folders")
WITH_HIP_FOLDER = _pattern("with_hip_folders")
#: The start of names that only HIP and AMD's compiler have, beside `hip` itself.
HIP_START = _pattern("hip_starts")
#: What stands beside `warp` in names for the number of its threads, and names for the row of a thread.
WARP_SIZE = _pattern("warp_sizes")
ROW = _pattern("rows")
#: A word in the name of a macro that turns its meaning around, as in `WITHOUT_HIP`.
NEGATION = _pattern("negations")
