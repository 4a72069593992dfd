# SPDX-License-Identifier: Apache-2.0
"""Calculate with addresses of the driver API in bytes: CUdeviceptr is a number in CUDA, and a `void*` in HIP.

`base + offset` of a CUdeviceptr does not compile in HIP, because nothing can be added to a `void*`; with a `char*` the
result is the same address. Differences, remainders, bits and comparisons with numbers are numbers in CUDA, and the
same in HIP if the addresses are converted to numbers. A number that is converted to such an address, `CUdeviceptr p =
(size_t)base + n`, is cast to the type, and an address that is converted to a number is cast as well. The types of
variables are read from the function that uses them, those of members and functions from their declarations. Texture
and surface objects are also numbers in CUDA and pointers in HIP: their bits, which some programs pack into a `uint2`,
are those of a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from hipport.analysis.functions import nodes
from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES
from hipport_passes.compatibility.device_pointers.braced_numbers import constructed, listed, taking
from hipport_passes.compatibility.device_pointers.declared import PointerKind
from hipport_passes.compatibility.device_pointers.pointer_names import (
    BYTES,
    INTEGER,
    NUMBER,
    OF_NUMBERS,
    Names,
    around,
    before,
    enclosing,
    sides,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS = (
    PointerKind(
        frozenset((b"CUdeviceptr", b"CUdeviceptr_v2")), b"hipDeviceptr_t", "an address of the driver API", "void*"
    ),
    PointerKind(frozenset((b"cudaTextureObject_t", b"CUtexObject")), b"hipTextureObject_t", "a texture object"),
    PointerKind(frozenset((b"cudaSurfaceObject_t", b"CUsurfObject")), b"hipSurfaceObject_t", "a surface object"),
)
_STATIC = re.compile(rb"static_cast\s*<(?P<type>[^<>]*)>\s*\(")
# Types of numbers that a pointer does not fit into, and cannot be cast to.
_NARROW = NAMES.compile(
    rb"\s*(?:(?&std)\s*::\s*)?(?:u?int(?:8|16|32)_t|(?&uint)|(?:unsigned|signed)(?:\s+(?:int|short|char))?|int|short|char)\s*"
)
#: Comparisons, and those of them that order.
_COMPARED = (b"<", b">", b"<=", b">=", b"==", b"!=")
_ORDERED = (b"<", b">", b"<=", b">=")
# Functions that put an element into a container, or look for one.
_HOLDING = frozenset(b"push_back emplace_back push emplace insert find count erase contains".split())


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per calculation with an address, and per conversion between an address and a number."""
    for kind in _KINDS:
        yield from _of_kind(source, project, kind)


def _of_kind(source: Cpp, project: Project, kind: PointerKind) -> Iterator[Finding]:
    everywhere = project.union_over(source, kind.declared)
    if not everywhere and kind.words.isdisjoint(source.words):
        return
    seen = Names(source, everywhere, kind)
    found: list[tuple[Node, tuple[Edit, ...]]] = []
    begun: dict[int, int] = {}
    for node in sorted(nodes(source.tree.root_node, frozenset(_LOOKED_AT)), key=_outermost):
        edits = () if source.ported(node.start_byte) else _LOOKED_AT[node.type](seen, node)
        if not edits:
            continue
        outer = begun.get(edits[0].span.start) if not len(edits[0].span) else None
        if outer is not None:
            # The inner expression begins at the same place: both casts are one edit.
            outside, (first, *others) = found[outer]
            both = Edit(first.span, first.new + edits[0].new)
            found[outer] = (outside, (both, *others, *edits[1:]))
            continue
        begun |= {edit.span.start: len(found) for edit in edits[:1] if not len(edit.span)}
        found.append((node, edits))
    for node, edits in found:
        if edits[0].new.startswith(kind.cast):
            message = f"a number is converted to {kind.called}, which is a {kind.pointer} in HIP: cast it"
            yield Finding(Span(edits[0].span.start, node.end_byte), "number", message, edits)
        else:
            message = f"{kind.called} is a number in CUDA and a {kind.pointer} in HIP"
            yield Finding(Span(node.start_byte, node.end_byte), "address", message, edits)


def _outermost(node: Node) -> tuple[int, int]:
    return node.start_byte, -node.end_byte


def _calculated(seen: Names, node: Node) -> tuple[Edit, ...]:
    """Return the edits that make a calculation one in bytes, or in numbers if its result is a number."""
    left, right, sign = sides(seen.source, node)
    addresses = [each for each in (left, right) if seen.is_address(each)]
    if not addresses:
        return ()
    if seen.kind.added_to and sign in (b"+", b"-") and len(addresses) == 1:
        return before(addresses[0], BYTES) if sign == b"+" or addresses[0] is left else ()
    if sign in OF_NUMBERS or (sign == b"-" and (len(addresses) == 2 or not seen.kind.added_to)):
        return tuple(edit for each in addresses for edit in _as_number(each))
    if sign in _COMPARED and len(addresses) == 1:
        other = right if addresses[0] is left else left
        # `p > 0` is not a valid comparison of a pointer, `p != 0` is.
        literal = sign in _ORDERED and other is not None and other.type == "number_literal"
        return _as_number(addresses[0]) if literal or seen.is_number(other) else ()
    return ()


def _as_number(node: Node | None) -> tuple[Edit, ...]:
    """Return the edits that convert an address, or a sum with one, to a number."""
    return around(node, NUMBER) if node is not None and node.type == "binary_expression" else before(node, NUMBER)


def _chosen(seen: Names, node: Node) -> tuple[Edit, ...]:
    """Return the edits that cast the number in `c ? address : number`."""
    values = (node.child_by_field_name("consequence"), node.child_by_field_name("alternative"))
    numbers = [each for each in values if seen.is_number(each)]
    return around(numbers[0], seen.kind.cast) if len(numbers) == 1 and any(map(seen.is_address, values)) else ()


def _looked_up(seen: Names, node: Node) -> tuple[Edit, ...]:
    """Return the edits that cast a number that is a container's key: `m[base + n]`."""
    of, given = node.child_by_field_name("argument"), node.child_by_field_name("indices")
    if of is None or given is None or given.named_child_count != 1 or not seen.named(of, b"keyed"):
        return ()
    return around(given.named_children[0], seen.kind.cast) if seen.is_number(given.named_children[0]) else ()


def _first_of(seen: Names, value: Node, pair: bool) -> tuple[Edit, ...]:
    """Return the edits that cast the keys in a list: `{n, 1}` of a pair, `{{n, 1}, {m, 2}}` of a container."""
    inner = [each for each in value.named_children if each.type != "comment"]
    if pair:
        return around(inner[0], seen.kind.cast) if len(inner) == 2 and seen.is_number(inner[0]) else ()
    entries = (each for each in inner if each.type == "initializer_list")
    return tuple(edit for each in entries for edit in _first_of(seen, each, True))


def _assigned(seen: Names, node: Node) -> tuple[Edit, ...]:
    """Return the edits that make `p += n` a sum in bytes, and that cast a number assigned to an address."""
    left, right, sign = sides(seen.source, node)
    if left is None or right is None or not seen.is_address(left):
        return ()
    if sign in (b"+=", b"-=") and seen.kind.added_to:
        name = seen.source.text[left.start_byte : left.end_byte]
        place = node.child_by_field_name("operator")
        assert place is not None
        edits = [Edit(Span(place.start_byte, place.end_byte), b"= " + BYTES + name + b" " + sign[:1])]
        if right.type not in ("identifier", "number_literal", "call_expression", "field_expression"):
            edits += [
                Edit(Span(right.start_byte, right.start_byte), b"("),
                Edit(Span(right.end_byte, right.end_byte), b")"),
            ]
        return tuple(edits)
    return around(right, seen.kind.cast) if sign == b"=" and seen.is_number(right) else ()


def _given(seen: Names, node: Node) -> tuple[Edit, ...]:
    """Return the edits that cast the initial value of a variable."""
    name, value = node.child_by_field_name("declarator"), node.child_by_field_name("value")
    if name is None or value is None or node.parent is None:
        return ()
    if value.type in ("initializer_list", "argument_list"):
        of = name.child_by_field_name("declarator") if name.type == "array_declarator" else None
        # `std::vector<CUdeviceptr> v{n};`: a value of another type would be the size.
        of = name if of is None and name.type == "identifier" and value.type == "initializer_list" else of
        container = seen.of(name) if name.type == "identifier" else b""
        if container in (b"pair", b"keyed"):
            return _first_of(seen, value, container == b"pair")
        if of is not None and seen.of(of) == b"addresses":
            numbers = (each for each in value.named_children if seen.is_number(each))
            return tuple(edit for each in numbers for edit in around(each, seen.kind.cast))
        if value.named_child_count != 1:
            return ()
        value = value.named_children[0]
    if seen.is_address(name):
        return around(value, seen.kind.cast) if seen.is_number(value) else ()
    kind = node.parent.child_by_field_name("type")
    if name.type != "identifier" or kind is None or not seen.is_address(value):
        return ()
    number = INTEGER.fullmatch(seen.source.code, kind.start_byte, kind.end_byte)
    return around(value, NUMBER) if number else ()


def _initialized(seen: Names, node: Node) -> tuple[Edit, ...]:
    """Return the edits that cast the number with which a constructor initializes a member: `C(size_t n) : address(n)
    {}`.
    """
    name, given = node.named_children[0], node.named_children[-1]
    if given is name or given.named_child_count != 1 or not seen.is_address(name):
        return ()
    return around(given.named_children[0], seen.kind.cast) if seen.is_number(given.named_children[0]) else ()


def _in_brackets(seen: Names, node: Node) -> tuple[Edit, ...]:
    """Return the edits that cast the number in `CUdeviceptr p(base);`, which is parsed as a function."""
    name, taken = node.child_by_field_name("declarator"), node.child_by_field_name("parameters")
    given = taken.named_children[0] if taken is not None and taken.named_child_count == 1 else None
    if (
        name is None
        or given is None
        or given.child_by_field_name("declarator") is not None
        or not seen.is_address(name)
    ):
        return ()
    value = given.child_by_field_name("type")
    if value is None or enclosing(node) is None or seen.of(value) != b"number":
        return ()
    return before(value, seen.kind.cast)


def _returned(seen: Names, node: Node) -> tuple[Edit, ...]:
    """Return the edits that cast a value to the return type of its function."""
    function = enclosing(node)
    value = node.named_children[0] if node.named_child_count == 1 else None
    if function is None or value is None or _in_lambda(node, function):
        return ()
    kind = function.child_by_field_name("type")
    text = seen.source.code[kind.start_byte : kind.end_byte] if kind is not None else b""
    declarator = function.child_by_field_name("declarator")
    if declarator is not None and declarator.type == "operator_cast":
        # `operator size_t() const { return p; }`
        kind = declarator.child_by_field_name("type")
        text = seen.source.code[kind.start_byte : kind.end_byte] if kind is not None else b""
    elif declarator is None or declarator.type != "function_declarator":
        return ()  # It returns a pointer or a reference.
    if text in seen.kind.words:
        return around(value, seen.kind.cast) if seen.is_number(value) else ()
    return around(value, NUMBER) if INTEGER.fullmatch(text) and seen.is_address(value) else ()


def _switched(seen: Names, node: Node) -> tuple[Edit, ...]:
    """Return the edits that cast the address in `switch (p)`."""
    condition = node.child_by_field_name("condition")
    value = condition.child_by_field_name("value") if condition is not None else None
    return around(value, NUMBER) if value is not None and seen.is_address(value) else ()


def _in_lambda(node: Node, function: Node) -> bool:
    above = node.parent
    while above is not None and above != function:
        if above.type == "lambda_expression":
            return True
        above = above.parent
    return False


def _stepped(seen: Names, node: Node) -> tuple[Edit, ...]:
    """Return the edits that make `p++`, whose value is unused, a sum in bytes."""
    of = node.child_by_field_name("argument")
    if (
        not seen.kind.added_to
        or of is None
        or of.type == "call_expression"  # A cast: its value cannot be assigned to.
        or not seen.is_address(of)
        or node.parent is None
        or node.parent.type != "expression_statement"
    ):
        return ()
    name = seen.source.text[of.start_byte : of.end_byte]
    sign = b"+" if b"++" in seen.source.code[node.start_byte : node.end_byte] else b"-"
    return (Edit(Span(node.start_byte, node.end_byte), name + b" = " + BYTES + name + b" " + sign + b" 1"),)


def _inverted(seen: Names, node: Node) -> tuple[Edit, ...]:
    """Return the edits that invert the bits of an address as those of a number."""
    sign, of = node.child_by_field_name("operator"), node.child_by_field_name("argument")
    inverts = sign is not None and seen.source.code[sign.start_byte : sign.end_byte] in (b"~", b"-")
    return before(of, NUMBER) if inverts and of is not None and seen.is_address(of) else ()


def _cast(seen: Names, node: Node) -> tuple[Edit, ...]:
    """Return the edits that replace a static_cast between a number and an address."""
    match = _STATIC.match(seen.source.code, node.start_byte, node.end_byte)
    values = node.child_by_field_name("arguments")
    if match is None and values is not None:
        return _handed_on(seen, node, values)
    if match is None or values is None or values.named_child_count != 1:
        return ()
    address = seen.is_address(values.named_children[0])
    if address and _NARROW.fullmatch(match["type"]):
        return around(values.named_children[0], NUMBER)
    to_address = match["type"].strip() in seen.kind.words
    if address == to_address or not (to_address or INTEGER.fullmatch(match["type"])):
        return ()
    return (Edit(Span(node.start_byte, node.start_byte + len(b"static_cast")), b"reinterpret_cast"),)


def _handed_on(seen: Names, call: Node, values: Node) -> tuple[Edit, ...]:
    """Return the edits that cast numbers passed for address parameters, and addresses that the program prints."""
    given = [each for each in values.named_children if each.type != "comment"]
    called = call.child_by_field_name("function")
    name = seen.source.code[called.start_byte : called.end_byte] if called is not None else b""
    if name in (b"std::to_string", b"to_string") and len(given) == 1 and seen.is_address(given[0]):
        return around(given[0], NUMBER)
    if called is not None and called.type == "field_expression" and len(given) == 1 and seen.is_number(given[0]):
        of, field = called.child_by_field_name("argument"), called.child_by_field_name("field")
        held = of is not None and seen.named(of, b"addresses") and field is not None
        if held and field is not None and seen.source.code[field.start_byte : field.end_byte] in _HOLDING:
            return around(given[0], seen.kind.cast)
    return _keys_of(seen, called, given) or taking(seen, b"%b(" % name, given)


def _keys_of(seen: Names, called: Node | None, given: list[Node]) -> tuple[Edit, ...]:
    """Return the edits that cast the number given as a container's key: `m.emplace(n, 1)`, `m.insert({n, 1})`."""
    of = called.child_by_field_name("argument") if called is not None else None
    if of is None or not given or not seen.named(of, b"keyed"):
        return ()
    if given[0].type == "initializer_list":
        return _first_of(seen, given[0], True)
    return around(given[0], seen.kind.cast) if seen.is_number(given[0]) else ()


def _narrowed(seen: Names, node: Node) -> tuple[Edit, ...]:
    """Return the edits that first cast an address to a number where it is cast to a narrower type."""
    kind, value = node.child_by_field_name("type"), node.child_by_field_name("value")
    if kind is None or not seen.is_address(value):
        return ()
    narrow = _NARROW.fullmatch(seen.source.code, kind.start_byte, kind.end_byte)
    return before(value, NUMBER) if narrow else ()


_LOOKED_AT: dict[str, Callable[[Names, Node], tuple[Edit, ...]]] = {
    "binary_expression": _calculated,
    "assignment_expression": _assigned,
    "conditional_expression": _chosen,
    "subscript_expression": _looked_up,
    "init_declarator": _given,
    "function_declarator": _in_brackets,
    "return_statement": _returned,
    "switch_statement": _switched,
    "update_expression": _stepped,
    "unary_expression": _inverted,
    "call_expression": _cast,
    "cast_expression": _narrowed,
    "initializer_list": listed,
    "argument_list": constructed,
    "field_initializer": _initialized,
}

PASS = Pass(Cpp, find)
