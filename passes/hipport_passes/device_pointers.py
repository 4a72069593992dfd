# SPDX-License-Identifier: Apache-2.0
"""Calculate with addresses of the driver's API as with bytes: CUdeviceptr is a number in CUDA, and a `void*` in HIP.

`base + offset` of a CUdeviceptr does not compile in HIP, as nothing can be added to a `void*`; of a `char*` it is the
same address. A difference of two, and what is left of a division, are numbers in CUDA, and of the same addresses as
numbers in HIP as well. Which variables, members and functions are of that type is read from their declarations; one
that is declared with another type, too, stays as it is, and so does what else is done with such a number. A number
that becomes such an address, `CUdeviceptr p = (size_t)base + n`, is cast to the type, as no `void*` comes of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hipport.finding import Finding
from hipport.languages.cpp import Cpp
from hipport.languages.functions import nodes
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, Span

if TYPE_CHECKING:
    from tree_sitter import Node

_WORDS = frozenset((b"CUdeviceptr", b"CUdeviceptr_v2"))
_TYPE = re.compile(rb"\bCUdeviceptr(?:_v2)?\b")
#: What may stand behind the type: names, each perhaps with a value. A `*` makes it something else.
_DECLARED = re.compile(
    rb"\s*&?\s*((?:\w+\s*(?:=[^,;(){}]*(?:\([^,;(){}]*\)[^,;(){}]*)*|\{[^,;(){}]*\})?,\s*)*\w+)\s*(?P<end>[;=,{)(\[])"
)
_OTHERWISE = re.compile(rb"\b(\w+)(?:\s+|\s*[*&]+\s*)(\w+)\s*[;=,){\[]")
_NO_TYPES = _WORDS | frozenset(b"return case else goto delete new throw typename using namespace".split())
_INTEGER = re.compile(
    rb"\s*(?:std\s*::\s*)?(?:size_t|u?int(?:64|ptr)_t|(?:unsigned\s+)?(?:long\s+long|long)(?:\s+(?:unsigned\s+)?int)?)\s*"
)
_TO_INTEGER = re.compile(rb"(?:reinterpret|static)_cast\s*<" + _INTEGER.pattern + rb">\s*\(")
_BYTES, _NUMBER = b"(char*)", b"(unsigned long long)"


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per sum, difference or remainder of an address."""
    names = {name for name in project.together(source, _declared) if name.lstrip(b"([") in source.words}
    if not names:
        return
    other = {match[2] for match in _OTHERWISE.finditer(source.code) if match[1] not in _NO_TYPES}
    names = {name for name in names if name.lstrip(b"([") not in other}
    for node in nodes(source.tree.root_node, frozenset(("binary_expression", "assignment_expression"))):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None or source.ported(node.start_byte):
            continue
        edits = _edits(source, left, right, sign, names)
        if not edits and node.type == "assignment_expression" and sign.type == "=" and _is_address(source, left, names):
            yield from _from_number(source, right, names)
        if edits:
            message = "an address of the driver's API is a number in CUDA and a void* in HIP"
            yield Finding(Span(node.start_byte, node.end_byte), "address", message, edits)

    for node in nodes(source.tree.root_node, frozenset(("init_declarator",))):
        name, value = node.child_by_field_name("declarator"), node.child_by_field_name("value")
        if name is not None and value is not None and _is_address(source, name, names):
            yield from _from_number(source, value, names) if not source.ported(node.start_byte) else ()


def _from_number(source: Cpp, value: Node, names: set[bytes]) -> Iterator[Finding]:
    """Yield the cast of a number that becomes an address."""
    if not _is_number(source, value, names):
        return
    place = Span(value.start_byte, value.end_byte)
    edits = (Edit(Span(place.start, place.start), b"(CUdeviceptr)("), Edit(Span(place.end, place.end), b")"))
    message = "a number becomes an address of the driver's API, which is a void* in HIP: cast to it"
    yield Finding(place, "number", message, edits)


def _is_number(source: Cpp, node: Node, names: set[bytes]) -> bool:
    """Say whether an expression is a number for certain: cast to an integer, or calculated with one that is."""
    if node.type == "parenthesized_expression":
        return node.named_child_count == 1 and _is_number(source, node.named_children[0], names)
    if node.type == "cast_expression":
        kind = node.child_by_field_name("type")
        return kind is not None and _INTEGER.fullmatch(source.code, kind.start_byte, kind.end_byte) is not None
    if node.type == "call_expression":
        return _TO_INTEGER.match(source.code, node.start_byte, node.end_byte) is not None
    if node.type == "binary_expression":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sides = [each for each in (left, right) if each is not None]
        return any(_is_number(source, each, names) for each in sides) and not any(
            _is_address(source, each, names) for each in sides
        )
    return False


def _edits(source: Cpp, left: Node, right: Node, sign: Node, names: set[bytes]) -> tuple[Edit, ...]:
    """Return what makes a calculation one with bytes, or with numbers where a number comes of it."""
    addresses = [node for node in (left, right) if _is_address(source, node, names)]
    operator = source.code[sign.start_byte : sign.end_byte]
    if operator in (b"+=", b"-=") and addresses == [left]:
        name = source.text[left.start_byte : left.end_byte]
        edits = [Edit(Span(sign.start_byte, sign.end_byte), b"= " + _BYTES + name + b" " + operator[:1])]
        if right.type not in ("identifier", "number_literal", "call_expression", "field_expression"):
            edits += [
                Edit(Span(right.start_byte, right.start_byte), b"("),
                Edit(Span(right.end_byte, right.end_byte), b")"),
            ]
        return tuple(edits)
    if operator == b"+" and len(addresses) == 1:
        cast = _BYTES
    elif operator == b"-" and addresses and addresses[0] is left:
        cast = _BYTES if len(addresses) == 1 else _NUMBER
    elif operator == b"%" and addresses == [left]:
        cast = _NUMBER
    else:
        return ()
    return tuple(Edit(Span(each.start_byte, each.start_byte), cast) for each in addresses)


def _is_address(source: Cpp, node: Node, names: set[bytes]) -> bool:
    """Say whether an expression is a variable, a member or a call of that type, or an element of an array of them."""
    if node.type == "call_expression":
        called = node.child_by_field_name("function")
        return called is not None and _named(source, called, names, b"(")
    if node.type == "subscript_expression":
        of = node.child_by_field_name("argument")
        return of is not None and _named(source, of, names, b"[")
    return _named(source, node, names, b"")


def _named(source: Cpp, node: Node, names: set[bytes], what: bytes) -> bool:
    if node.type == "field_expression":
        field = node.child_by_field_name("field")
        return field is not None and _named(source, field, names, what)
    if node.type not in ("identifier", "field_identifier"):
        return False
    return what + source.code[node.start_byte : node.end_byte] in names


def _declared(source: Cpp) -> frozenset[bytes]:
    """Return the names that are declared as addresses; with `(` in front those of functions, with `[` of arrays."""
    found: set[bytes] = set()
    if _WORDS.isdisjoint(source.words):
        return frozenset()
    for match in _TYPE.finditer(source.code):
        declared = _DECLARED.match(source.code, match.end())
        if declared is None:
            continue
        names = [re.match(rb"\s*(\w+)", each)[1] for each in declared[1].split(b",")]  # type: ignore[index]
        found.update(names[:-1])
        last = names[-1]
        if declared["end"] == b"(":
            # A function, or a variable with a value in brackets.
            found |= {last, b"(" + last}
        else:
            found.add(b"[" + last if declared["end"] == b"[" else last)
    return frozenset(found)


PASS = Pass(Cpp, find)
