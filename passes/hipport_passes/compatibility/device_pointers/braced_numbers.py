# SPDX-License-Identifier: Apache-2.0
"""Numbers in braces or parentheses that initialize objects: `Buffer b{(size_t)base + n, 1}`, `return {base};`, `.p =
n`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from hipport.core.edits import Edit
from hipport_passes.compatibility.device_pointers.pointer_names import Names, around, enclosing

if TYPE_CHECKING:
    from tree_sitter import Node

_ADDRESS, _ADDRESSES = b"(", b"["
# The depth of nested lists.
_DEEPEST = 8
_DESIGNATED = "initializer_pair"


def listed(seen: Names, node: Node) -> tuple[Edit, ...]:
    """Return the edits that cast the numbers in braces that become such addresses."""
    target = _target(seen, node)
    if not target:
        return ()
    if target in (_ADDRESS, _ADDRESSES):
        given = _elements(node)
        many = target == _ADDRESSES or len(given) == 1
        return tuple(edit for each in given if many and seen.is_number(each) for edit in around(each, seen.kind.cast))
    return (*taking(seen, target + b"{", _elements(node)), *taking(seen, target + b"(", _elements(node)))


def constructed(seen: Names, node: Node) -> tuple[Edit, ...]:
    """Return the edits that cast numbers passed to address parameters of a constructor: `Buffer b(n);`, `new
    Buffer(n)`.
    """
    if node.parent is None or node.parent.type not in ("init_declarator", "new_expression"):
        return ()
    target = _target(seen, node)
    return taking(seen, target + b"(", _elements(node)) if target.strip(b"([") else ()


def taking(seen: Names, prefix: bytes, given: Iterable[Node]) -> tuple[Edit, ...]:
    """Return the edits that cast numbers among the arguments where `prefix` and their index name an address."""
    edits: list[Edit] = []
    for place, each in enumerate(given):
        value: Node | None = each
        key = b"%b%d" % (prefix, place)
        if each.type == _DESIGNATED:
            value = each.child_by_field_name("value")
            name = each.child_by_field_name("designator")
            key = (
                prefix + b"." + (seen.source.code[name.start_byte : name.end_byte].strip(b". \t\r\n") if name else b"")
            )
        if value is not None and key in seen.everywhere:
            # `f({n})`
            inner = _elements(value) if value.type == "initializer_list" and prefix.endswith(b"(") else [value]
            if len(inner) == 1 and seen.is_number(inner[0]):
                edits += around(inner[0], seen.kind.cast)
    return tuple(edits)


def _elements(node: Node) -> list[Node]:
    return [each for each in node.named_children if each.type != "comment"]


def _target(seen: Names, node: Node, depth: int = 0) -> bytes:
    """Return the type that a list initializes: the name of a class, `(` for an address, `[` for several; else b""."""
    above = node.parent
    if above is None or depth > _DEEPEST:
        return b""
    if above.type == "init_declarator":
        name, outer = above.child_by_field_name("declarator"), above.parent
        kind = _class(seen, outer.child_by_field_name("type") if outer is not None else None)
        if kind == _ADDRESS or name is None or seen.named(name, b"addresses"):
            return b""  # These are handled at their declarations.
        return kind + b"[" if name.type == "array_declarator" and kind else kind
    if above.type in ("compound_literal_expression", "new_expression"):
        return _class(seen, above.child_by_field_name("type"))
    if above.type == "return_statement":
        function = enclosing(node)
        return _class(seen, function.child_by_field_name("type")) if function is not None else b""
    if above.type == "assignment_expression":
        left = above.child_by_field_name("left")
        if left is not None and seen.is_address(left):
            return _ADDRESS
        return _variable(seen, left) if left is not None else b""
    if above.type == "initializer_list":
        return _within(seen, _target(seen, above, depth + 1), _elements(above).index(node))
    return b""


def _class(seen: Names, kind: Node | None) -> bytes:
    """Return the name of a class, or `(` for the type of addresses."""
    if kind is not None and kind.type == "struct_specifier":
        kind = kind.child_by_field_name("name")
    if kind is None:
        return b""
    if kind.type == "type_descriptor" and kind.named_child_count == 1:
        return _class(seen, kind.named_children[0])
    text = seen.source.code[kind.start_byte : kind.end_byte].rpartition(b"::")[2]
    return _ADDRESS if text in seen.kind.words else text if re.fullmatch(rb"\w+", text) else b""


def _within(seen: Names, outer: bytes, place: int) -> bytes:
    """Return the type that a list initializes at an index of another list."""
    if outer.endswith(b"[") and outer != _ADDRESSES:
        return outer[:-1]
    if not outer or outer in (_ADDRESS, _ADDRESSES):
        return b""
    if b"%b{%d[" % (outer, place) in seen.everywhere:
        return _ADDRESSES
    if b"%b{%d" % (outer, place) in seen.everywhere:
        return _ADDRESS
    begun = b"%b{%d:" % (outer, place)
    return next((each[len(begun) :] for each in sorted(seen.everywhere) if each.startswith(begun)), b"")


def _variable(seen: Names, name: Node) -> bytes:
    """Return the class that declares a variable in its function, or all members of that name."""
    if name.type == "field_expression" and (field := name.child_by_field_name("field")) is not None:
        of = b"{." + seen.source.code[field.start_byte : field.end_byte] + b":"
        kinds = {each.partition(of)[2] for each in seen.everywhere if of in each}
        return kinds.pop() if len(kinds) == 1 else b""
    function = enclosing(name)
    if function is None or name.type != "identifier":
        return b""
    text = seen.source.code[name.start_byte : name.end_byte]
    declared = re.compile(rb"\b(\w+)\s*&?\s*\b" + text + rb"\s*[;=,){(]")
    match = declared.search(seen.source.code, function.start_byte, name.start_byte)
    return match[1] if match is not None and match[1] not in (b"return", b"auto") else b""
