# SPDX-License-Identifier: Apache-2.0
"""Declarations of a program with types that are numbers in CUDA and pointers in HIP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis.functions import nodes
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.declarators import Declarator, begins, declarators

if TYPE_CHECKING:
    from tree_sitter import Node

_OTHERWISE = re.compile(rb"\b(\w+)(?:\s+|\s*[*&]+\s*)(\w+)\s*[;=,){\[]")
_NO_TYPES = frozenset(b"return case else goto delete new throw typename using namespace".split())
# A container of them.
_HELD = re.compile(rb"\s*>\s*(?:const\s*)?&?\s*(\w+)\s*[;=,){(\[]")
# A container with them as keys, or a pair that begins with one.
_KEYED = re.compile(rb"\s*,[^;{}()=]*?>\s*(?:const\s*)?&?\s*(\w+)\s*[;=,){(\[:]")
_BEHIND_OTHERS = re.compile(rb",\s*(?:const\s+)?\Z")
_KEYED_BEFORE = NAMES.compile(rb"\b(?:(?P<pair>(?&pairs))|(?&maps))\s*<\s*(?:const\s+)?\Z")
_NUMBERS = frozenset(b"size_t uint64_t int64_t uintptr_t intptr_t long int unsigned uint32_t int32_t ptrdiff_t".split())
_CLASSES = frozenset(("struct_specifier", "class_specifier"))


class PointerKind(NamedTuple):
    """A type that is a number in CUDA and a pointer in HIP."""

    #: In a half-ported file, as a merge leaves it, HIP's name counts too. A file with HIP's name alone is a person's
    #: port.
    words: frozenset[bytes]
    in_hip: bytes
    #: The type's description in messages.
    called: str
    #: The type in HIP.
    pointer: str = "pointer"

    @property
    def added_to(self) -> bool:
        """Return whether numbers of bytes are added to the type."""
        return self.pointer == "void*"

    def named(self, source: Cpp) -> re.Pattern[bytes]:
        """Return a pattern for the type's names in a file."""
        words = self.words if self.words.isdisjoint(source.words) else (*self.words, self.in_hip)
        return re.compile(rb"\b(?:" + b"|".join(sorted(words)) + rb")\b")

    @property
    def cast(self) -> bytes:
        """Return the cast of a number to the type."""
        return b"(" + next(word for word in sorted(self.words, reverse=True) if not word.endswith(b"_v2")) + b")"

    def declared(self, source: Cpp) -> frozenset[bytes]:
        """Return the declarations with the type outside of functions: see `_declared`."""
        return _declared(source, self)


def local(source: Cpp, start: int, end: int, kind: PointerKind) -> dict[bytes, bytes]:
    """Return the types of a function's parameters and variables; b"" for several types, or another one."""
    found: dict[bytes, set[bytes]] = {}
    code = source.code
    opening = code.find(b"(", start, end)
    start = opening if opening >= 0 else start
    for name, number in _others(code, start, end, kind.named(source), kind):
        found.setdefault(name, set()).add(b"number" if number else b"")
    for name, what in _addresses(kind.named(source), code, start, end):
        if what != b"(":  # A function body declares no functions: `CUdeviceptr p(base);`.
            found.setdefault(name, set()).add(what)
    return {name: min(kinds) if len(kinds) == 1 else b"" for name, kinds in found.items()}


def _others(
    code: bytes, start: int, end: int, named: re.Pattern[bytes], kind: PointerKind
) -> Iterator[tuple[bytes, bool]]:
    """Yield the names that are declared with other types, and whether the type is a number."""
    for match in _OTHERWISE.finditer(code, start, end):
        if match[1] in _NO_TYPES or match[1] in kind.words or named.fullmatch(match[1]):
            continue
        number = match[1] in _NUMBERS
        yield match[2], number and b"*" not in match.group()
        if begins(code, match.start()):
            for each in list(declarators(code, match.end(1), end))[1:]:
                yield each.name, number and b"*" not in each.made and not each.array


def _addresses(named: re.Pattern[bytes], code: bytes, start: int, end: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield the names that are declared with the type, and b"address", b"addresses" or b"(" for a function.

    b"keyed" and b"mapped" are containers with such keys and with such values, b"pair" pairs that begin with one.
    """
    for match in named.finditer(code, start, end):
        held = _HELD.match(code, match.end(), end)
        if held is not None:
            # `std::map<int, CUdeviceptr> m`: the type of `m[1]`, but not of the key.
            mapped = _BEHIND_OTHERS.search(code, max(0, match.start() - 20), match.start())
            yield held[1], b"mapped" if mapped is not None else b"addresses"
            continue
        keyed = _KEYED.match(code, match.end(), end)
        of = _KEYED_BEFORE.search(code, max(0, match.start() - 40), match.start()) if keyed is not None else None
        if keyed is not None and of is not None:
            yield keyed[1], b"pair" if of["pair"] else b"keyed"
            continue
        for each in declarators(code, match.end(), end):
            if each.opening == b"(" and not each.made.strip(b"&"):
                # A function, or a variable with a value in parentheses.
                yield each.name, b"("
            if what := _what(each):
                yield each.name, what


def _what(each: Declarator) -> bytes:
    pointers = each.made.count(b"*") + each.array
    return (b"address", b"addresses", b"")[min(pointers, 2)]


def _declared(source: Cpp, type_: PointerKind) -> frozenset[bytes]:
    """Return the declarations outside of functions.

    A prefix marks the kind: `(` functions, `[` arrays of addresses, `#` numbers, `<` containers with such keys, `>`
    containers with such values and other keys, `=` pairs that begin with one. `f(1`: the second parameter of a function
    is one. For classes, `C{1` is the second member, `C{1[` an array of them, `C{1:D` one of another class, `C{.p` and
    `C{.p:D` those by their names.
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
        # The parenthesis stays: it shows that the name is a function's.
        outside[start + 1 : end] = b" " * (end - start - 1)
    code = bytes(outside)
    for name, kind in _addresses(named, code, 0, len(code)):
        found.setdefault(name, set()).add(kind)
    others: dict[bytes, set[bool]] = {}
    for name, number in _others(code, 0, len(code), named, type_):
        others.setdefault(name, set()).add(number)
    prefixes = {b"(": b"(", b"addresses": b"[", b"address": b"", b"keyed": b"<", b"pair": b"=", b"mapped": b">"}
    names = (prefixes[kind] + name for name, kinds in found.items() for kind in kinds if name not in others)
    numbers = (b"#" + name for name, kinds in others.items() if kinds == {True} and name not in found)
    return frozenset((*names, *numbers, *_taken(source, type_), *_members(source, type_)))


def _members(source: Cpp, type_: PointerKind) -> Iterator[bytes]:
    """Yield the entries of `_declared` for classes."""
    found: dict[bytes, set[frozenset[bytes]]] = {}
    for node in nodes(source.tree.root_node, _CLASSES):
        body = node.child_by_field_name("body")
        if body is None:
            continue
        parts = [each for each in body.named_children if each.type != "comment"]
        name = _class_name(source, node)
        # A class with a base, or with conditional members, has other values in its braces.
        if not name or any(each.type.startswith(("preproc", "base_class")) for each in (*parts, *node.named_children)):
            continue
        said: set[bytes] = set()
        place = 0
        for part in parts:
            kind = part.child_by_field_name("type")
            if part.type != "field_declaration" or kind is None or source.code.startswith(b"static", part.start_byte):
                continue
            for each in declarators(source.code, kind.end_byte, part.end_byte):
                if each.opening == b"(":
                    continue
                text = source.code[kind.start_byte : kind.end_byte]
                what = _what(each)
                if text in type_.words and what:
                    said |= {b"%d" % place + b"[" * (what == b"addresses"), b"." + each.name} if what else set()
                elif what == b"address" and kind.type == "type_identifier":
                    said |= {b"%d:%b" % (place, text), b".%b:%b" % (each.name, text)}
                place += 1
        found.setdefault(name, set()).add(frozenset(said))
    for name, kinds in found.items():
        if len(kinds) == 1:
            yield from (b"%b{%b" % (name, each) for each in next(iter(kinds)))


def _class_name(source: Cpp, node: Node) -> bytes:
    """Return the name of a class, or that of its `typedef` if it has no other."""
    named = node.child_by_field_name("name")
    if named is None and node.parent is not None and node.parent.type == "type_definition":
        named = node.parent.child_by_field_name("declarator")
    return source.code[named.start_byte : named.end_byte] if named is not None else b""


def _taken(source: Cpp, type_: PointerKind) -> Iterator[bytes]:
    """Yield `f(1` for each function whose second parameter is such an address; not if overloads differ in it."""
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
