# SPDX-License-Identifier: Apache-2.0
"""Calculate with addresses of the driver's API as with bytes: CUdeviceptr is a number in CUDA, and a `void*` in HIP.

`base + offset` of a CUdeviceptr does not compile in HIP, as nothing can be added to a `void*`; of a `char*` it is the
same address. A difference of two, what is left of a division, bits and comparisons with numbers are numbers in CUDA,
and of the same addresses as numbers in HIP as well. A number that becomes such an address,
`CUdeviceptr p = (size_t)base + n`, is cast to the type, as no `void*` comes of it, and one that an address becomes is
cast as well. Which variables are of that type is read from the function that uses them, members and functions from
their declarations. Objects of textures and surfaces are numbers in CUDA and pointers in HIP, too: their bits, as some
programs pack them into a `uint2`, are those of a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis.functions import nodes
from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp

if TYPE_CHECKING:
    from tree_sitter import Node


class _Kind(NamedTuple):
    """A type that is a number in CUDA and a pointer in HIP."""

    #: In a file that is ported by half, as a merge leaves it, HIP's name counts. One with it alone is a person's.
    words: frozenset[bytes]
    in_hip: bytes
    #: What is said of it.
    called: str
    #: What it is in HIP.
    pointer: str = "pointer"

    @property
    def added_to(self) -> bool:
        """Whether numbers of bytes are added to it."""
        return self.pointer == "void*"

    def named(self, source: Cpp) -> re.Pattern[bytes]:
        """Return what its names look like in a file."""
        words = self.words if self.words.isdisjoint(source.words) else (*self.words, self.in_hip)
        return re.compile(rb"\b(?:" + b"|".join(sorted(words)) + rb")\b")

    @property
    def cast(self) -> bytes:
        """What casts a number to it."""
        return b"(" + next(word for word in sorted(self.words, reverse=True) if not word.endswith(b"_v2")) + b")"

    def declared(self, source: Cpp) -> frozenset[bytes]:
        """Return what is declared with it outside of functions: see `_declared`."""
        return _declared(source, self)


_KINDS = (
    _Kind(frozenset((b"CUdeviceptr", b"CUdeviceptr_v2")), b"hipDeviceptr_t", "an address of the driver's API", "void*"),
    _Kind(frozenset((b"cudaTextureObject_t", b"CUtexObject")), b"hipTextureObject_t", "an object of a texture"),
    _Kind(frozenset((b"cudaSurfaceObject_t", b"CUsurfObject")), b"hipSurfaceObject_t", "an object of a surface"),
)
#: What may stand behind the type: names, each perhaps with a value. A `*` makes it something else.
_DECLARED = re.compile(
    rb"\s*&?\s*((?:\w+\s*(?:=[^,;(){}]*(?:\([^,;(){}]*\)[^,;(){}]*)*|\{[^,;(){}]*\})?,\s*)*\w+)\s*(?P<end>[;=,{)(\[])"
)
_OTHERWISE = re.compile(rb"\b(\w+)(?:\s+|\s*[*&]+\s*)(\w+)\s*[;=,){\[]")
_NO_TYPES = frozenset(b"return case else goto delete new throw typename using namespace".split())
_INTEGER = re.compile(
    rb"\s*(?:std\s*::\s*)?(?:size_t|u?int(?:64|ptr)_t|(?:unsigned\s+)?(?:long\s+long|long)(?:\s+(?:unsigned\s+)?int)?)\s*"
)
_TO_INTEGER = re.compile(rb"(?:reinterpret|static)_cast\s*<" + _INTEGER.pattern + rb">\s*\(")
_BYTES, _NUMBER = b"(char*)", b"(unsigned long long)"
_STATIC = re.compile(rb"static_cast\s*<(?P<type>[^<>]*)>\s*\(")
# Of a pointer to addresses, and of a container of them.
_MANY = re.compile(rb"\s*(?:const\s*)?(?:\*\s*(?:const\s*|__restrict__\s*)?|>\s*(?:const\s*)?&?\s*)(\w+)\s*[;=,){(\[]")
_TO_MANY = re.compile(rb"(?:(?:reinterpret|static)_cast\s*<\s*(\w+)\s*\*\s*>|\(\s*(\w+)\s*\*\s*\))\s*")
_TO_ONE = re.compile(rb"(?:reinterpret|static)_cast\s*<\s*(\w+)\s*>\s*\(")
# Numbers that a pointer does not fit into, to which it cannot be cast.
_NARROW = re.compile(
    rb"\s*(?:std\s*::\s*)?(?:u?int(?:8|16|32)_t|uint|(?:unsigned|signed)(?:\s+(?:int|short|char))?|int|short|char)\s*"
)
_NUMBERS = frozenset(b"size_t uint64_t int64_t uintptr_t intptr_t long int unsigned uint32_t int32_t ptrdiff_t".split())
#: What is done with numbers alone, and what compares.
_OF_NUMBERS = (b"%", b"/", b"*", b"&", b"|", b"^", b"<<", b">>")
_COMPARED = (b"<", b">", b"<=", b">=", b"==", b"!=")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per calculation with an address, and per place where one becomes a number, or a number one."""
    for kind in _KINDS:
        yield from _of_kind(source, project, kind)


def _of_kind(source: Cpp, project: Project, kind: _Kind) -> Iterator[Finding]:
    everywhere = project.together(source, kind.declared)
    if not everywhere and kind.words.isdisjoint(source.words):
        return
    seen = _Names(source, everywhere, kind)
    found: list[tuple[Node, tuple[Edit, ...]]] = []
    begun: dict[int, int] = {}
    for node in sorted(nodes(source.tree.root_node, frozenset(_LOOKED_AT)), key=_outermost):
        edits = () if source.ported(node.start_byte) else _LOOKED_AT[node.type](seen, node)
        if not edits:
            continue
        outer = begun.get(edits[0].span.start) if not len(edits[0].span) else None
        if outer is not None:
            # What is inside begins at the same place: both casts are one edit.
            around, (first, *others) = found[outer]
            both = Edit(first.span, first.new + edits[0].new)
            found[outer] = (around, (both, *others, *edits[1:]))
            continue
        begun |= {edit.span.start: len(found) for edit in edits[:1] if not len(edit.span)}
        found.append((node, edits))
    for node, edits in found:
        if edits[0].new.startswith(kind.cast):
            message = f"a number becomes {kind.called}, which is a {kind.pointer} in HIP: cast to it"
            yield Finding(Span(edits[0].span.start, node.end_byte), "number", message, edits)
        else:
            message = f"{kind.called} is a number in CUDA and a {kind.pointer} in HIP"
            yield Finding(Span(node.start_byte, node.end_byte), "address", message, edits)


def _outermost(node: Node) -> tuple[int, int]:
    return node.start_byte, -node.end_byte


class _Names:
    """What names mean at a place: what their function declares, else what is declared outside of functions."""

    def __init__(self, source: Cpp, everywhere: frozenset[bytes], kind: _Kind) -> None:
        self.source = source
        self.kind = kind
        #: What is declared outside of functions: see `_declared`.
        self.everywhere = everywhere
        self._known: dict[tuple[int, int], dict[bytes, bytes]] = {}

    def of(self, node: Node) -> bytes:
        """Return b"address", b"addresses" (of an array or a pointer), b"number" or b"" for what is named."""
        name = self.source.code[node.start_byte : node.end_byte]
        if node.type in ("identifier", "type_identifier"):
            function = _enclosing(node)
            if function is not None:
                here = (function.start_byte, function.end_byte)
                if here not in self._known:
                    self._known[here] = _local(self.source, *here, self.kind)
                if name in self._known[here]:
                    return self._known[here][name]
        return b"address" if name in self.everywhere else b"addresses" if b"[" + name in self.everywhere else b""

    def calls(self, node: Node) -> bool:
        """Say whether what is called gives an address."""
        if node.type == "field_expression":
            field = node.child_by_field_name("field")
            return field is not None and self.calls(field)
        return b"(" + self.source.code[node.start_byte : node.end_byte] in self.everywhere

    def is_address(self, node: Node | None) -> bool:
        """Say whether an expression is such an address, or a sum with one."""
        if node is None:
            return False
        if node.type == "parenthesized_expression":
            return node.named_child_count == 1 and self.is_address(node.named_children[0])
        if node.type == "call_expression":
            called = node.child_by_field_name("function")
            cast = _TO_ONE.match(self.source.code, node.start_byte, node.end_byte)
            return (cast is not None and cast[1] in self.kind.words) or (called is not None and self.calls(called))
        if node.type == "cast_expression":
            to = node.child_by_field_name("type")
            return to is not None and self.source.code[to.start_byte : to.end_byte] in self.kind.words
        if node.type in ("subscript_expression", "pointer_expression"):
            of = node.child_by_field_name("argument")
            dereferenced = node.type == "subscript_expression" or self.source.code.startswith(b"*", node.start_byte)
            return of is not None and dereferenced and (self._named(of, b"addresses") or self._cast(of))
        if node.type == "binary_expression":
            left, right, sign = _sides(self.source, node)
            added = self.kind.added_to and sign in (b"+", b"-")
            return added and self.is_address(left) and not self.is_address(right)
        return self._named(node, b"address")

    def _cast(self, node: Node) -> bool:
        """Say whether an expression is cast to a pointer to such addresses."""
        if node.type == "parenthesized_expression":
            return node.named_child_count == 1 and self._cast(node.named_children[0])
        match = _TO_MANY.match(self.source.code, node.start_byte, node.end_byte)
        return match is not None and bool({match[1], match[2]} & self.kind.words)

    def _named(self, node: Node, what: bytes) -> bool:
        if node.type == "field_expression":
            field = node.child_by_field_name("field")
            return field is not None and self._named(field, what)
        return node.type in ("identifier", "field_identifier") and self.of(node) == what

    def is_number(self, node: Node | None) -> bool:
        """Say whether an expression is a number for certain: declared or cast so, or calculated with one that is."""
        if node is None:
            return False
        if node.type == "parenthesized_expression":
            return node.named_child_count == 1 and self.is_number(node.named_children[0])
        if node.type == "identifier":
            return self.of(node) == b"number"
        if node.type == "number_literal":
            return re.fullmatch(rb"0[uUlL]*", self.source.code[node.start_byte : node.end_byte]) is None
        if node.type == "cast_expression":
            kind = node.child_by_field_name("type")
            return kind is not None and bool(_INTEGER.fullmatch(self.source.code, kind.start_byte, kind.end_byte))
        if node.type == "call_expression":
            return _TO_INTEGER.match(self.source.code, node.start_byte, node.end_byte) is not None
        if node.type == "binary_expression":
            left, right, sign = _sides(self.source, node)
            if self.source.code.startswith(_BYTES, node.start_byte):
                return False  # as this pass writes it
            if sign in _OF_NUMBERS and (self.is_address(left) or self.is_address(right)):
                return True
            if self.is_address(left) or self.is_address(right):
                return sign == b"-" and self.is_address(left) and self.is_address(right)
            return sign in (b"+", b"-", *_OF_NUMBERS) and (self.is_number(left) or self.is_number(right))
        return False


def _enclosing(node: Node) -> Node | None:
    """Return the definition of the function that a node is in."""
    above = node.parent
    while above is not None and above.type != "function_definition":
        above = above.parent
    return above


def _sides(source: Cpp, node: Node) -> tuple[Node | None, Node | None, bytes]:
    sign = node.child_by_field_name("operator")
    operator = source.code[sign.start_byte : sign.end_byte] if sign is not None else b""
    return node.child_by_field_name("left"), node.child_by_field_name("right"), operator


def _before(node: Node | None, cast: bytes) -> tuple[Edit, ...]:
    """Return what casts an operand; () for one that is a sum without brackets, which is looked at by itself."""
    if node is None or node.type == "binary_expression":
        return ()
    return (Edit(Span(node.start_byte, node.start_byte), cast),)


def _around(node: Node | None, cast: bytes) -> tuple[Edit, ...]:
    if node is None:
        return ()
    if node.type in ("identifier", "parenthesized_expression"):
        return _before(node, cast)
    end = Edit(Span(node.end_byte, node.end_byte), b")")
    return Edit(Span(node.start_byte, node.start_byte), cast + b"("), end


def _calculated(seen: _Names, node: Node) -> tuple[Edit, ...]:
    """Return what makes a calculation one with bytes, or with numbers where a number comes of it."""
    left, right, sign = _sides(seen.source, node)
    addresses = [each for each in (left, right) if seen.is_address(each)]
    if not addresses:
        return ()
    if seen.kind.added_to and sign in (b"+", b"-") and len(addresses) == 1:
        return _before(addresses[0], _BYTES) if sign == b"+" or addresses[0] is left else ()
    if sign in _OF_NUMBERS or (sign == b"-" and (len(addresses) == 2 or not seen.kind.added_to)):
        return tuple(edit for each in addresses for edit in _before(each, _NUMBER))
    if sign in _COMPARED and len(addresses) == 1:
        return _before(addresses[0], _NUMBER) if seen.is_number(right if addresses[0] is left else left) else ()
    return ()


def _assigned(seen: _Names, node: Node) -> tuple[Edit, ...]:
    """Return what makes `p += n` a sum of bytes, and what casts a number that an address is given."""
    left, right, sign = _sides(seen.source, node)
    if left is None or right is None or not seen.is_address(left):
        return ()
    if sign in (b"+=", b"-=") and seen.kind.added_to:
        name = seen.source.text[left.start_byte : left.end_byte]
        place = node.child_by_field_name("operator")
        assert place is not None
        edits = [Edit(Span(place.start_byte, place.end_byte), b"= " + _BYTES + name + b" " + sign[:1])]
        if right.type not in ("identifier", "number_literal", "call_expression", "field_expression"):
            edits += [
                Edit(Span(right.start_byte, right.start_byte), b"("),
                Edit(Span(right.end_byte, right.end_byte), b")"),
            ]
        return tuple(edits)
    return _around(right, seen.kind.cast) if sign == b"=" and seen.is_number(right) else ()


def _given(seen: _Names, node: Node) -> tuple[Edit, ...]:
    """Return what casts the value that a variable begins with."""
    name, value = node.child_by_field_name("declarator"), node.child_by_field_name("value")
    if name is None or value is None or node.parent is None:
        return ()
    if value.type in ("initializer_list", "argument_list"):
        of = name.child_by_field_name("declarator") if name.type == "array_declarator" else None
        if of is not None and seen.of(of) == b"addresses":
            numbers = (each for each in value.named_children if seen.is_number(each))
            return tuple(edit for each in numbers for edit in _around(each, seen.kind.cast))
        if value.named_child_count != 1:
            return ()
        value = value.named_children[0]
    if seen.is_address(name):
        return _around(value, seen.kind.cast) if seen.is_number(value) else ()
    kind = node.parent.child_by_field_name("type")
    if name.type != "identifier" or kind is None or not seen.is_address(value):
        return ()
    number = _INTEGER.fullmatch(seen.source.code, kind.start_byte, kind.end_byte)
    return _around(value, _NUMBER) if number else ()


def _in_brackets(seen: _Names, node: Node) -> tuple[Edit, ...]:
    """Return what casts the number of `CUdeviceptr p(base);`, which is parsed as a function that takes one."""
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
    if value is None or _enclosing(node) is None or seen.of(value) != b"number":
        return ()
    return _before(value, seen.kind.cast)


def _returned(seen: _Names, node: Node) -> tuple[Edit, ...]:
    """Return what casts a value to what its function returns."""
    function = _enclosing(node)
    value = node.named_children[0] if node.named_child_count == 1 else None
    if function is None or value is None or _in_lambda(node, function):
        return ()
    kind = function.child_by_field_name("type")
    text = seen.source.code[kind.start_byte : kind.end_byte] if kind is not None else b""
    declarator = function.child_by_field_name("declarator")
    if declarator is None or declarator.type != "function_declarator":
        return ()  # It returns a pointer or a reference.
    if text in seen.kind.words:
        return _around(value, seen.kind.cast) if seen.is_number(value) else ()
    return _around(value, _NUMBER) if _INTEGER.fullmatch(text) and seen.is_address(value) else ()


def _in_lambda(node: Node, function: Node) -> bool:
    above = node.parent
    while above is not None and above != function:
        if above.type == "lambda_expression":
            return True
        above = above.parent
    return False


def _stepped(seen: _Names, node: Node) -> tuple[Edit, ...]:
    """Return what makes a step, whose value nobody uses, a sum of bytes."""
    of = node.child_by_field_name("argument")
    if (
        not seen.kind.added_to
        or of is None
        or of.type == "call_expression"  # a cast: nothing is assigned to its value
        or not seen.is_address(of)
        or node.parent is None
        or node.parent.type != "expression_statement"
    ):
        return ()
    name = seen.source.text[of.start_byte : of.end_byte]
    sign = b"+" if b"++" in seen.source.code[node.start_byte : node.end_byte] else b"-"
    return (Edit(Span(node.start_byte, node.end_byte), name + b" = " + _BYTES + name + b" " + sign + b" 1"),)


def _cast(seen: _Names, node: Node) -> tuple[Edit, ...]:
    """Return what makes a static_cast between a number and an address one that reinterprets, or goes by way of one."""
    match = _STATIC.match(seen.source.code, node.start_byte, node.end_byte)
    values = node.child_by_field_name("arguments")
    if match is None and values is not None:
        return _handed_on(seen, node, values)
    if match is None or values is None or values.named_child_count != 1:
        return ()
    address = seen.is_address(values.named_children[0])
    if address and _NARROW.fullmatch(match["type"]):
        return _around(values.named_children[0], _NUMBER)
    to_address = match["type"].strip() in seen.kind.words
    if address == to_address or not (to_address or _INTEGER.fullmatch(match["type"])):
        return ()
    return (Edit(Span(node.start_byte, node.start_byte + len(b"static_cast")), b"reinterpret_cast"),)


def _handed_on(seen: _Names, call: Node, values: Node) -> tuple[Edit, ...]:
    """Return what casts the numbers that a function of the program's takes as addresses, and addresses it shows."""
    given = [each for each in values.named_children if each.type != "comment"]
    called = call.child_by_field_name("function")
    name = seen.source.code[called.start_byte : called.end_byte] if called is not None else b""
    if name in (b"std::to_string", b"to_string") and len(given) == 1 and seen.is_address(given[0]):
        return _around(given[0], _NUMBER)
    return tuple(
        edit
        for place, each in enumerate(given)
        if b"%b(%d" % (name, place) in seen.everywhere and seen.is_number(each)
        for edit in _around(each, seen.kind.cast)
    )


def _taken(source: Cpp, type_: _Kind) -> Iterator[bytes]:
    """Yield `f(1` for each function whose second parameter is such an address; not of names that differ in it."""
    found: dict[bytes, set[frozenset[int]]] = {}
    for node in nodes(source.tree.root_node, frozenset(("function_declarator",))):
        name, taken = node.child_by_field_name("declarator"), node.child_by_field_name("parameters")
        if name is None or taken is None:
            continue
        parameters = [each for each in taken.named_children if each.type != "comment"]
        types = [each.child_by_field_name("type") for each in parameters]
        places = frozenset(
            place
            for place, (each, kind) in enumerate(zip(parameters, types, strict=True))
            if kind is not None and source.code[kind.start_byte : kind.end_byte] in type_.words
            if (declarator := each.child_by_field_name("declarator")) is None or declarator.type == "identifier"
        )
        found.setdefault(source.code[name.start_byte : name.end_byte], set()).add(places)
    for function, (places, *others) in ((name, tuple(each)) for name, each in found.items()):
        yield from (b"%b(%d" % (function, place) for place in places if not others)


def _narrowed(seen: _Names, node: Node) -> tuple[Edit, ...]:
    """Return what casts an address to a number first where it is cast to one that it does not fit into."""
    kind, value = node.child_by_field_name("type"), node.child_by_field_name("value")
    if kind is None or not seen.is_address(value):
        return ()
    narrow = _NARROW.fullmatch(seen.source.code, kind.start_byte, kind.end_byte)
    return _before(value, _NUMBER) if narrow else ()


def _local(source: Cpp, start: int, end: int, kind: _Kind) -> dict[bytes, bytes]:
    """What a function's parameters and variables are; b"" for those that are more than one thing, or another."""
    found: dict[bytes, set[bytes]] = {}
    code = source.code
    opening = code.find(b"(", start, end)
    start = opening if opening >= 0 else start
    named = kind.named(source)
    for match in _OTHERWISE.finditer(code, start, end):
        if match[1] not in _NO_TYPES and match[1] not in kind.words and not named.fullmatch(match[1]):
            number = b"number" if match[1] in _NUMBERS and b"*" not in match.group() else b""
            found.setdefault(match[2], set()).add(number)
    for name, what in _addresses(named, code, start, end):
        if what != b"(":  # No function is declared in one: `CUdeviceptr p(base);`
            found.setdefault(name, set()).add(what)
    return {name: min(kinds) if len(kinds) == 1 else b"" for name, kinds in found.items()}


def _addresses(named: re.Pattern[bytes], code: bytes, start: int, end: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield the names that are declared with the type, and b"address", b"addresses" or b"(" for a function."""
    for match in named.finditer(code, start, end):
        many = _MANY.match(code, match.end(), end)
        if many is not None:
            yield many[1], b"addresses"
            continue
        declared = _DECLARED.match(code, match.end(), end)
        if declared is None:
            continue
        names = [re.match(rb"\s*(\w+)", each)[1] for each in declared[1].split(b",")]  # type: ignore[index]
        yield from ((name, b"address") for name in names[:-1])
        if declared["end"] == b"(":
            # A function, or a variable with a value in brackets.
            yield names[-1], b"("
        yield names[-1], b"addresses" if declared["end"] == b"[" else b"address"


def _declared(source: Cpp, type_: _Kind) -> frozenset[bytes]:
    """Return what is declared outside of functions; with `(` in front functions, with `[` arrays of addresses.

    `f(1` says that the second parameter of a function is one.
    """
    if type_.words.isdisjoint(source.words):
        return frozenset()
    found: dict[bytes, set[bytes]] = {}
    named = type_.named(source)
    bodies = [
        (opening, node.end_byte)
        for node in nodes(source.tree.root_node, frozenset(("function_definition",)))
        if (opening := source.code.find(b"(", node.start_byte, node.end_byte)) >= 0
    ]
    outside = bytearray(source.code)
    for start, end in bodies:
        # The bracket stays: it says that the name is a function's.
        outside[start + 1 : end] = b" " * (end - start - 1)
    code = bytes(outside)
    for name, kind in _addresses(named, code, 0, len(code)):
        found.setdefault(name, set()).add(kind)
    others = {
        match[2]
        for match in _OTHERWISE.finditer(code)
        if match[1] not in _NO_TYPES and match[1] not in type_.words and not named.fullmatch(match[1])
    }
    prefixes = {b"(": b"(", b"addresses": b"[", b"address": b""}
    names = (prefixes[kind] + name for name, kinds in found.items() for kind in kinds if name not in others)
    return frozenset((*names, *_taken(source, type_)))


_LOOKED_AT: dict[str, Callable[[_Names, Node], tuple[Edit, ...]]] = {
    "binary_expression": _calculated,
    "assignment_expression": _assigned,
    "init_declarator": _given,
    "function_declarator": _in_brackets,
    "return_statement": _returned,
    "update_expression": _stepped,
    "call_expression": _cast,
    "cast_expression": _narrowed,
}

PASS = Pass(Cpp, find)
