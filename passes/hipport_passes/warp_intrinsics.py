# SPDX-License-Identifier: Apache-2.0
"""Replace warp intrinsics by hipport's helpers, which act on 32 lanes of wavefronts of 32 and of 64.

`__shfl_down_sync(mask, v, 16)` becomes `hipport::shfl_down_sync(mask, v, 16)`: names change, arguments, masks and the
types of results do not, so that what the code does with 32-bit masks stays right. The name alone decides, and so
macros, wrappers and templates are reached.

CUDA asks that all lanes that a mask names and that have not exited execute the intrinsic with that mask. AMD's
compiler brings lanes together again where the branches that parted them meet, so a call finds together all lanes that
reach it, and the helper means the same. One thing that CUDA allows is left: lanes of one mask that meet in different
calls, one in each branch of an `if`. Calls with a twin in the other branch are REVIEW.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hipport.finding import Certainty, Finding
from hipport.headers import include
from hipport.languages.cpp import Cpp, within
from hipport.names import Names
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, Span
from hipport.tables import load

if TYPE_CHECKING:
    import tree_sitter


_FOR_CUDA = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\([^()]*\))?[ \t]+(__(?:shfl\w*|ballot|any|all)_sync)\b", re.M
)
_FOR_HIP = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(\w+)\([^()]*\)[ \t]+(__(?:shfl|shfl_up|shfl_down|shfl_xor|any|all))[ \t]*\(", re.M
)


@cache
def _helpers() -> tuple[Names, dict[bytes, bytes]]:
    rows = load(Path(__file__).with_suffix(".toml"))["helper"]
    names = {name.encode(): b"hipport::" + helper.encode() for name, helper in rows.items()}
    return Names(re.compile(rb"__(?:" + b"|".join(sorted((name[2:] for name in names), reverse=True)) + rb")\b")), names


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per use of an intrinsic that the program does not define itself."""
    names, helpers = _helpers()
    already_hip = _includes_hip(source)
    need, header = None, None
    for span, name in names.uses(source, project):
        if already_hip and not name.endswith((b"_sync", b"warp", b"mask")):
            continue
        if header is None:
            need, header = include(source, project, "warp.h")
        edits = (Edit(span, helpers[name]), *((need,) if need else ()))
        message = f"{name.decode()} → {helpers[name].decode()}"
        certainty = Certainty.SAFE
        if _has_twin(source, span, name):
            certainty = Certainty.REVIEW
            message += "; assumes that the lanes of its mask do not meet in the call in the other branch"
        yield Finding(span, "helper", message, edits, certainty, (header,))
    yield from _macros(source, project, helpers)


def _macros(source: Cpp, project: Project, helpers: dict[bytes, bytes]) -> Iterator[Finding]:
    """Find macros that are an intrinsic with a mask for CUDA, and for AMD the form without one, for a whole wave."""
    code = source.code
    if b"_sync" not in code or not source.hip_only:
        return
    for_cuda = {match[1]: match[2] for match in _FOR_CUDA.finditer(code) if within(match.start(), source.cuda_only)}
    for match in _FOR_HIP.finditer(code):
        if for_cuda.get(match[1]) != match[2] + b"_sync" or not within(match.start(), source.hip_only):
            continue
        span = Span(*match.span(2))
        need, header = include(source, project, "warp.h")
        name, helper = match[2].decode(), helpers[match[2]].decode()
        message = (
            f"{name} → {helper}: assumes that {match[1].decode()} is to mean on AMD what it means on CUDA, on 32 lanes "
            "and for half too"
        )
        edits = (Edit(span, helpers[match[2]]), *((need,) if need else ()))
        yield Finding(span, "macro", message, edits, Certainty.REVIEW, (header,))


def _includes_hip(source: Cpp) -> bool:
    """Whether the file was HIP before hipport: then its names without a mask mean the whole wavefront."""
    first = source.first
    return isinstance(first, Cpp) and any(include.path.startswith("hip/") for include in first.includes)


def _has_twin(source: Cpp, span: Span, name: bytes) -> bool:
    if b"else" not in source.code or source.code.count(name) < 2:
        return False
    node: tree_sitter.Node | None = source.tree.root_node.descendant_for_byte_range(span.start, span.end)
    while node is not None and node.parent is not None:
        parent = node.parent
        if parent.type == "if_statement":
            for field in ("consequence", "alternative"):
                other = parent.child_by_field_name(field)
                if other is not None and not (other.start_byte <= span.start < other.end_byte):
                    here = parent.child_by_field_name("condition")
                    if here is not None and here.start_byte <= span.start < here.end_byte:
                        continue
                    text = source.code[other.start_byte : other.end_byte]
                    if re.search(rb"\b" + name + rb"\b", text):
                        return True
        node = parent
    return False


PASS = Pass(Cpp, find)
