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
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, Span
from hipport.tables import load

if TYPE_CHECKING:
    import tree_sitter

_BEFORE = re.compile(rb"(?:\.|->|::)\s*$")
_DEFINED = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(__\w+)"
    # A function: its name after a type, which no operand of an expression is.
    rb"|\b(?!(?:return|else|do|case|throw|co_return|co_yield|goto|and|or|not)\b)[A-Za-z_]\w*[ \t\r\n]+(__\w+)\s*\(",
    re.MULTILINE,
)


@cache
def _helpers() -> tuple[re.Pattern[bytes], dict[bytes, bytes]]:
    rows = load(Path(__file__).with_suffix(".toml"))["helper"]
    names = {name.encode(): b"hipport::" + helper.encode() for name, helper in rows.items()}
    return re.compile(rb"__(?:" + b"|".join(sorted((name[2:] for name in names), reverse=True)) + rb")\b"), names


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per use of an intrinsic that the program does not define itself."""
    pattern, names = _helpers()
    uses = []
    for span, name in source.names(pattern):
        if within(span.start, source.hip_only) or within(span.start, source.cuda_only):
            continue
        if _BEFORE.search(source.code, max(0, span.start - 8), span.start):
            continue
        uses.append((span, name))
    if not uses:
        return
    own = {name for other in project.component(source) if isinstance(other, Cpp) for name in other.fact(_defined)}
    already_hip = _includes_hip(source)
    need, header = include(source, project, "warp.h")
    for span, name in uses:
        if name in own or (already_hip and not name.endswith((b"_sync", b"warp", b"mask"))):
            continue
        edits = [Edit(span, names[name])]
        if need is not None:
            edits.append(need)
        message = f"{name.decode()} → {names[name].decode()}"
        certainty = Certainty.SAFE
        if _has_twin(source, span, name):
            certainty = Certainty.REVIEW
            message += "; assumes that the lanes of its mask do not meet in the call in the other branch"
        yield Finding(span, "helper", message, tuple(edits), certainty, (header,))


def _defined(source: Cpp) -> frozenset[bytes]:
    """The reserved names that a file defines: a shim of its own, which is not to be doubled."""
    return frozenset(
        match[1] or match[2] for match in _DEFINED.finditer(source.code) if not within(match.start(), source.cuda_only)
    )


def _includes_hip(source: Cpp) -> bool:
    """Whether the file was HIP before hipport: then its names without a mask mean the whole wavefront."""
    first = source.first
    return isinstance(first, Cpp) and any(include.path.startswith("hip/") for include in first.includes)


def _has_twin(source: Cpp, span: Span, name: bytes) -> bool:
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
