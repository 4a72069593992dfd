# SPDX-License-Identifier: Apache-2.0
"""Cooperative groups in device code: which expressions are groups of lanes, and how many lanes they have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hipport.analysis.built_ins import LANES as WARP
from hipport.analysis.functions import Function, arguments
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import GROUP_FUNCTION, MATCH, PARTITION, SHUFFLE, WHOLE_GROUP, WHOLE_GROUP_TYPE

if TYPE_CHECKING:
    from tree_sitter import Node

#: Methods and functions that the lanes of a group call together.
COLLECTIVE = re.compile(GROUP_FUNCTION)
#: Functions that return the group of active lanes, or an equivalent.
FOUND_OUT = re.compile(PARTITION)

# Only groups of lanes have these.
_SHUFFLES = re.compile(SHUFFLE + rb"|" + MATCH + rb"|ballot")
_SPACE = rb"(?:\w+\s*::\s*)*"
_MADE = re.compile(rb"\b(\w+)\s*(?:=|\(|\{)\s*" + _SPACE + rb"tiled_partition\s*<\s*(\w+)\s*>")
_TILE = re.compile(rb"\bthread_block_tile\s*<\s*(\w+)[^;(){}]*?>\s*(?:const\b\s*)?&?\s*(\w+)")
_LANES = re.compile(
    rb"\b(?:coalesced|thread)_group\b\s*(?:const\b\s*)?&?\s*(?P<typed>\w+)|\b(?P<made>\w+)\s*(?:=|\(|\{)\s*" + _SPACE +
    rb"(?:" + PARTITION + rb"|tiled_partition\s*\()"
)  # fmt: skip
_BLOCKS = re.compile(
    rb"\b" + WHOLE_GROUP_TYPE + rb"\b\s*(?:const\b\s*)?&?\s*(?P<typed>\w+)|"
    rb"\b(?P<made>\w+)\s*(?:=|\(|\{)\s*" + _SPACE + WHOLE_GROUP + rb"\b"
)
_PARTITION = re.compile(rb"\btiled_partition<(\w+)>\(")
_CALLED = frozenset(("identifier", "qualified_identifier", "template_function", "field_expression"))
_WORD = re.compile(rb"[A-Za-z_]\w*")


def called(function: Function, name: Node) -> tuple[Node | None, int]:
    """Return the group whose lanes call a collective by `name`, and their maximum number; 0 if it is not one."""
    method = name.parent if name.parent is not None and name.parent.type == "field_expression" else None
    call: Node | None = method or name
    while call is not None and call.type in _CALLED:
        call = call.parent
    given = arguments(call) if call is not None and call.type == "call_expression" else ()
    if method is not None:
        group = method.child_by_field_name("argument")
        # Vectors and tensors have any() and all(), too, without an argument.
        if group is None or (not given and function.text(name) in (b"any", b"all")):
            return None, 0
        return group, _size(function, group, function.text(name), method=True)
    return (given[0], _size(function, given[0], function.text(name), method=False)) if given else (None, 0)


def _size(function: Function, group: Node, name: bytes, method: bool) -> int:
    text = b"".join(function.text(group).split())
    tile = _PARTITION.search(text)
    if tile:
        return _number(function.source, tile[1])
    words = _WORD.findall(text)
    if any(FOUND_OUT.fullmatch(word) or word == b"tiled_partition" for word in words):
        return WARP
    if not words or b"this_" in text:
        return 0
    span = (function.node.start_byte, function.node.end_byte)
    known = function.source.fact(_of_functions)
    if span not in known:
        known[span] = _declared_sizes(function.source.code, *span)
    found = known[span].get(words[-1])
    if found is None:
        found = function.source.fact(sizes).get(words[-1])
    if found is not None:
        return max((_number(function.source, size) for size in found), default=0)
    if not method:
        return 0
    # A parameter whose type is a template parameter, or a name that another file declares.
    return WARP if _SHUFFLES.fullmatch(name) or words[-1] in function.parameters else 0


def _number(source: Cpp, size: bytes) -> int:
    return min(int(size), WARP) if size.isdigit() else WARP


def sizes(source: Cpp) -> dict[bytes, set[bytes]]:
    """Return the sizes of groups as written, by their names; nothing for blocks and grids."""
    return _declared_sizes(source.code, 0, len(source.code))


def _of_functions(source: Cpp) -> dict[tuple[int, int], dict[bytes, set[bytes]]]:
    """Return a cache of `_declared_sizes` by the places of functions, computed once for all their methods."""
    return {}


def _declared_sizes(code: bytes, start: int, end: int) -> dict[bytes, set[bytes]]:
    """The sizes of the groups of lanes by their names there; nothing for blocks and grids."""
    found: dict[bytes, set[bytes]] = {}
    for match in _BLOCKS.finditer(code, start, end):
        found.setdefault(match["typed"] or match["made"], set())
    for match in _MADE.finditer(code, start, end):
        found.setdefault(match[1], set()).add(match[2])
    for match in _TILE.finditer(code, start, end):
        found.setdefault(match[2], set()).add(match[1])
    for match in _LANES.finditer(code, start, end):
        found.setdefault(match["typed"] or match["made"], set()).add(b"32")
    return found
