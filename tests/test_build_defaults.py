# SPDX-License-Identifier: Apache-2.0
"""A macro's default is no known number where a build may give another."""

import pytest

import hipport
from hipport.core.finding import Certainty

KERNEL = """{define}
__global__ void k(int *x) {{
    int v = x[threadIdx.x];
    if ((threadIdx.x / {group}) & 1) v += __shfl_xor_sync(0xffffffffu, v, 1);
    else v -= __shfl_xor_sync(0xffffffffu, v, 1);
    x[threadIdx.x] = v;
}}
void go(int *x) {{ k<<<1, {block}>>>(x); }}
"""
DEFAULT = "#ifndef GROUP\n#define GROUP 32\n#endif"
ROWS = """{0}
__global__ void k(int *x) {{
    int v = x[threadIdx.x];
    if (threadIdx.y & 1) v += __shfl_xor_sync(0xffffffffu, v, 1);
    else v -= __shfl_xor_sync(0xffffffffu, v, 1);
    x[threadIdx.x] = v;
}}
void go(int *x) {{ k<<<1, dim3(GROUP, 8)>>>(x); }}
"""
UNKNOWN = {
    "no script": {"k.cu": KERNEL.format(define=DEFAULT, group="GROUP", block=256)},
    "not defined": {
        "k.cu": KERNEL.format(define=DEFAULT.replace("ifndef GROUP", "if !defined(GROUP)"), group="GROUP", block=256)
    },
    "through another macro": {
        "k.cu": KERNEL.format(define=DEFAULT + "\n#define LANES (GROUP)", group="LANES", block=256)
    },
    "in a header": {
        "sizes.h": DEFAULT + "\n",
        "k.cu": KERNEL.format(define='#include "sizes.h"', group="GROUP", block=256),
    },
    "rows of blocks": {"k.cu": ROWS.format(DEFAULT)},
    "a flag": {
        "k.cu": KERNEL.format(define=DEFAULT, group="GROUP", block=256),
        "Makefile": "k: k.cu\n\tnvcc -DGROUP=$(GROUP) -o k k.cu\n",
    },
    "a setting": {
        "k.cu": KERNEL.format(define=DEFAULT, group="GROUP", block=256),
        "CMakeLists.txt": "project(k)\nadd_library(k k.cu)\nset(GROUP 32 CACHE STRING g)\n"
        "target_compile_definitions(k PRIVATE GROUP=${GROUP})\n",
    },
}
KNOWN = {
    "no default": {"k.cu": KERNEL.format(define="#define GROUP 32", group="GROUP", block=256)},
    "a build without the name": {
        "k.cu": KERNEL.format(define=DEFAULT, group="GROUP", block=256),
        "Makefile": "k: k.cu\n\tnvcc -O3 -o k k.cu\n",
    },
    "the size of a warp": {
        "k.cu": KERNEL.format(define=DEFAULT.replace("GROUP", "WARP_SIZE"), group="WARP_SIZE", block=256)
    },
    "each value gives the same": {
        "k.cu": KERNEL.format(define=DEFAULT, group="32", block="GROUP * 32").replace("/ 32", "/ 32 / GROUP")
    },
}


def certainties(files: dict[str, str]) -> set[Certainty]:
    ported = hipport.rewrite({name: text.encode() for name, text in files.items()}, jobs=1)
    return {each.certainty for each in ported.reported if each.rule == "warp_intrinsics/helper"}


@pytest.mark.parametrize("case", UNKNOWN)
def test_a_default_that_a_build_may_replace_proves_nothing(case: str) -> None:
    assert certainties(UNKNOWN[case]) == {Certainty.REVIEW}


@pytest.mark.parametrize("case", KNOWN)
def test_a_default_that_is_not_replaced_or_does_not_matter_is_safe(case: str) -> None:
    assert certainties(KNOWN[case]) == {Certainty.SAFE}
