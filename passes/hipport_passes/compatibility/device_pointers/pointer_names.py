# SPDX-License-Identifier: Apache-2.0
"""Expressions of a file that are such addresses or numbers, judged by their names and casts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hipport.core.edits import Edit, Span
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES
from hipport_passes.compatibility.device_pointers.declared import PointerKind, local

if TYPE_CHECKING:
    from tree_sitter import Node

INTEGER = NAMES.compile(
    rb"\s*(?:(?&std)\s*::\s*)?(?:(?&size_type)|u?int(?:64|ptr)_t|(?:unsigned\s+)?(?:long\s+long|long)(?:\s+(?:unsigned\s+)?int)?)\s*"
)
_TO_INTEGER = NAMES.compile(rb"(?:reinterpret|static)_cast\s*<" + INTEGER.pattern + rb">\s*\(")
#: Prefixes of declarations outside of functions: see `declared`.
_KINDS = ((b"[", b"addresses"), (b"<", b"keyed"), (b"=", b"pair"), (b">", b"mapped"))
BYTES, NUMBER = b"(char*)", b"(unsigned long long)"
_TO_MANY = NAMES.compile(rb"(?:(?&casts)\s*<\s*(\w+)\s*\*\s*>|\(\s*(\w+)\s*\*\s*\))\s*")
_TO_ONE = NAMES.compile(rb"(?&casts)\s*<\s*(\w+)\s*>\s*\(")
#: Operators for numbers alone.
OF_NUMBERS = (b"%", b"/", b"*", b"&", b"|", b"^", b"<<", b">>")


class Names:
    """The meaning of names at a place: by their function's declaration, else by one outside of functions."""

    def __init__(self, source: Cpp, everywhere: frozenset[bytes], kind: PointerKind) -> None:
        self.source = source
        self.kind = kind
        #: The declarations outside of functions: see `declared`.
        self.everywhere = everywhere
        self._known: dict[tuple[int, int], dict[bytes, bytes]] = {}

    def of(self, node: Node) -> bytes:
        """Return the kind of a name: b"address", b"addresses" (an array, a pointer), b"number", b"keyed", …, or b""."""
        name = self.source.code[node.start_byte : node.end_byte]
        if node.type in ("identifier", "type_identifier"):
            return self.known_as(enclosing(node), name)
        return self.known_as(None, name)

    def known_as(self, function: Node | None, name: bytes) -> bytes:
        """Return the kind of a name in a function, or outside of all."""
        if function is not None:
            here = (function.start_byte, function.end_byte)
            if here not in self._known:
                self._known[here] = local(self.source, *here, self.kind)
            if name in self._known[here]:
                return self._known[here][name]
        if name in self.everywhere:
            return b"address"
        for prefix, what in _KINDS:
            if prefix + name in self.everywhere:
                return what
        return b"number" if b"#" + name in self.everywhere else b""

    def calls(self, node: Node) -> bool:
        """Return whether a call returns an address."""
        if node.type == "field_expression":
            field = node.child_by_field_name("field")
            return field is not None and self.calls(field)
        return b"(" + self.source.code[node.start_byte : node.end_byte] in self.everywhere

    def is_address(self, node: Node | None) -> bool:
        """Return whether an expression is such an address, or a sum with one."""
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
            return of is not None and dereferenced and self._several(of, node.type)
        if node.type == "binary_expression":
            left, right, sign = sides(self.source, node)
            added = self.kind.added_to and sign in (b"+", b"-")
            return added and self.is_address(left) and not self.is_address(right)
        if node.type == "conditional_expression":
            return self.is_address(node.child_by_field_name("consequence")) or self.is_address(
                node.child_by_field_name("alternative")
            )
        return self.named(node, b"address") or self._key(node)

    def _several(self, of: Node, by: str) -> bool:
        """Return whether it is an array of addresses, a pointer to them, or a container of them with other keys."""
        mapped = by == "subscript_expression" and self.named(of, b"mapped")
        return mapped or self.named(of, b"addresses") or self._cast(of)

    def _key(self, node: Node) -> bool:
        """Return whether it is the first part of a pair: `p.first`, `found->first` of `auto found = m.find(…)`."""
        field, of = node.child_by_field_name("field"), node.child_by_field_name("argument")
        if node.type != "field_expression" or field is None or of is None:
            return False
        if self.source.code[field.start_byte : field.end_byte] != b"first":
            return False
        if self.named(of, b"pair"):
            return True
        if of.type == "call_expression" and (called := of.child_by_field_name("function")) is not None:
            # `m.begin()->first`
            held = called.child_by_field_name("argument")
            return held is not None and self.named(held, b"keyed")
        function = enclosing(node)
        if function is None or of.type != "identifier":
            return False
        name = re.escape(self.source.code[of.start_byte : of.end_byte])
        entry = re.compile(rb"\bauto\s*(?:const\s*)?&*\s*\b" + name + rb"\s*[:=]\s*(\w+)")
        match = entry.search(self.source.code, function.start_byte, node.start_byte)
        return match is not None and self.known_as(function, match[1]) == b"keyed"

    def _cast(self, node: Node) -> bool:
        """Return whether an expression is cast to a pointer to such addresses."""
        if node.type == "parenthesized_expression":
            return node.named_child_count == 1 and self._cast(node.named_children[0])
        match = _TO_MANY.match(self.source.code, node.start_byte, node.end_byte)
        return match is not None and bool({match[1], match[2]} & self.kind.words)

    def named(self, node: Node, what: bytes) -> bool:
        """Return whether the kind of a name, or of a member's name, is `what`."""
        if node.type == "field_expression":
            field = node.child_by_field_name("field")
            return field is not None and self.named(field, what)
        return node.type in ("identifier", "field_identifier") and self.of(node) == what

    def is_number(self, node: Node | None) -> bool:
        """Return whether an expression is certainly a number: declared or cast so, or calculated with one."""
        if node is None:
            return False
        if node.type == "parenthesized_expression":
            return node.named_child_count == 1 and self.is_number(node.named_children[0])
        if node.type in ("identifier", "field_expression"):
            return self.named(node, b"number")
        if node.type == "number_literal":
            return re.fullmatch(rb"0[uUlL]*", self.source.code[node.start_byte : node.end_byte]) is None
        if node.type == "conditional_expression":
            values = (node.child_by_field_name("consequence"), node.child_by_field_name("alternative"))
            return all(self.is_number(each) for each in values)
        if node.type == "cast_expression":
            kind = node.child_by_field_name("type")
            return kind is not None and bool(INTEGER.fullmatch(self.source.code, kind.start_byte, kind.end_byte))
        if node.type == "call_expression":
            return _TO_INTEGER.match(self.source.code, node.start_byte, node.end_byte) is not None
        if node.type == "binary_expression":
            left, right, sign = sides(self.source, node)
            if self.source.code.startswith(BYTES, node.start_byte):
                return False  # In the form that this pass writes.
            if sign in OF_NUMBERS and (self.is_address(left) or self.is_address(right)):
                return True
            if self.is_address(left) or self.is_address(right):
                return sign == b"-" and self.is_address(left) and self.is_address(right)
            return sign in (b"+", b"-", *OF_NUMBERS) and (self.is_number(left) or self.is_number(right))
        return False


def enclosing(node: Node) -> Node | None:
    """Return the definition of the function around a node."""
    above = node.parent
    while above is not None and above.type != "function_definition":
        above = above.parent
    return above


def sides(source: Cpp, node: Node) -> tuple[Node | None, Node | None, bytes]:
    sign = node.child_by_field_name("operator")
    operator = source.code[sign.start_byte : sign.end_byte] if sign is not None else b""
    return node.child_by_field_name("left"), node.child_by_field_name("right"), operator


def before(node: Node | None, cast: bytes) -> tuple[Edit, ...]:
    """Return the edits that cast an operand; () for a sum without parentheses, which is handled separately."""
    if node is None or node.type == "binary_expression":
        return ()
    return (Edit(Span(node.start_byte, node.start_byte), cast),)


def around(node: Node | None, cast: bytes) -> tuple[Edit, ...]:
    if node is None:
        return ()
    if node.type in ("identifier", "parenthesized_expression"):
        return before(node, cast)
    end = Edit(Span(node.end_byte, node.end_byte), b")")
    return Edit(Span(node.start_byte, node.start_byte), cast + b"("), end
