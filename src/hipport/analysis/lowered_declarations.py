# SPDX-License-Identifier: Apache-2.0
"""Lower declarations of variables in device code: references, arrays, objects, structured bindings, braced lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hipport.analysis.device_ir import Cell
from hipport.analysis.lowered_expressions import LoweredExpressions
from hipport.analysis.lowering_state import Piece, called, class_in

#: The maximum number of uninitialized elements of an array that are distinguished.
_MOST_ELEMENTS = 16

if TYPE_CHECKING:
    from tree_sitter import Node


class LoweredDeclarations(LoweredExpressions):
    """The lowering of declarations."""

    def _lower_declaration(self, node: Node) -> None:
        type_node = node.child_by_field_name("type")
        type_name = self._type_of(node)
        for declared in node.children_by_field_name("declarator"):
            value = declared.child_by_field_name("value")
            if declared.type == "init_declarator":
                inner = declared.child_by_field_name("declarator")
            else:
                inner, value = declared, node.child_by_field_name("value")
            if inner is None or (inner.type == "function_declarator" and not _is_pointer_to_function(inner)):
                if inner is not None:
                    self._maybe_object(inner, type_name)
                continue
            self._declare(self._piece(inner), type_name, value, node if value is None else declared)
            self._end_unnamed()
        if type_node is not None and type_node.type in ("struct_specifier", "class_specifier"):
            return

    def _declares_misread(self, node: Node) -> bool:
        """Lower `A<4> x = f<4>(y);` if it was parsed as `A < 4 > (x = f<4>(y))`; say whether it was."""
        whole = node.named_children[0] if len(node.named_children) == 1 else None
        if whole is None or whole.type != "binary_expression" or self._sign(whole) != ">":
            return False
        left, right = whole.child_by_field_name("left"), whole.child_by_field_name("right")
        if left is None or right is None or left.type != "binary_expression" or self._sign(left) != "<":
            return False
        of = left.child_by_field_name("left")
        name: Node | None = right
        value: Node | None = None
        if right.type == "assignment_expression" and self._sign(right) == "=":
            name, value = right.child_by_field_name("left"), right.child_by_field_name("right")
        if of is None or name is None or name.type != "identifier":
            return False
        if of.type not in ("identifier", "qualified_identifier") or self._cell_named(self.text(of)) is not None:
            return False
        start = whole.start_byte - node.start_byte
        type_name = self.text(node)[start : start + right.start_byte - whole.start_byte].strip()
        self._declare(Piece(self.text(name), False, 0, False, ()), type_name, value, node)
        self._end_unnamed()
        return True

    def _declares_in_parentheses(self, node: Node) -> bool:
        """Lower `T (*x)[4] = y;` or `T (&x) = y;`, parsed as an assignment to a call; say whether it is one."""
        whole = node.named_children[0] if len(node.named_children) == 1 else None
        value: Node | None = None
        if whole is not None and whole.type == "assignment_expression" and self._sign(whole) == "=":
            value, whole = whole.child_by_field_name("right"), whole.child_by_field_name("left")
        inner, dimensions = whole, 0
        while inner is not None and inner.type == "subscript_expression":
            inner, dimensions = inner.child_by_field_name("argument"), dimensions + 1
        if inner is None or inner.type != "call_expression":
            return False
        kind, given = inner.child_by_field_name("function"), inner.child_by_field_name("arguments")
        name: Node | None = None
        if given is not None and len(given.named_children) == 1:
            name = given.named_children[0]
        signs = ""
        while name is not None and name.type == "pointer_expression":
            signs, name = signs + self._sign(name), name.child_by_field_name("argument")
        if kind is None or name is None or name.type != "identifier":
            return False
        if not self._is_type_here(kind, self.text(name), plain=whole is inner and value is None):
            return False
        piece = Piece(self.text(name), "&" in signs, 0 if "*" in signs else dimensions, "*" in signs, ())
        self._declare(piece, self.text(kind), value, node)
        self._end_unnamed()
        return True

    def _is_type_here(self, kind: Node, name: str, *, plain: bool) -> bool:
        """Whether the function of an apparent call is a type, and its argument `name` a variable that is declared."""
        if kind.type in ("primitive_type", "sized_type_specifier"):
            return not plain or self._cell_named(name) is None
        word = called(self.text(kind))
        if kind.type not in ("identifier", "qualified_identifier", "template_function"):
            return False
        if self._cell_named(word) is not None or self._captured(word) is not None:
            return False
        known = self._cell_named(name) is not None or self._captured(name) is not None
        if self.context.is_class(word) or self.context.is_type(word):
            return not plain or not known
        # A function may return a place: then its argument is known.
        return not plain and not known and not self.context.is_function(word)

    def _maybe_object(self, node: Node, type_name: str) -> None:
        """`T x(y);` is parsed as a function declaration if `y` may be a type."""
        name, given = node.child_by_field_name("declarator"), node.child_by_field_name("parameters")
        if name is None or name.type != "identifier" or given is None:
            return
        words = [self.text(each) for each in given.named_children]
        if not words or not all(self._cell_named(word) is not None for word in words):
            return
        cell = self.new_cell(Cell(self.text(name), "local", type_name))
        registers = [self._address_of(self._cell(word)) for word in words]
        address = self._address_of(cell)
        self._emit("construct", (address, *registers), node, name=class_in(type_name), type="a" * len(words))
        if not self._is_object(type_name) and not self.context.is_plain(type_name):
            # Its constructor may read the number of a thread.
            self._emit("store", (address, self._unknown(node, f"hipport does not see {type_name}")), node)

    def _declare_parts(self, piece: Piece, type_name: str, value: Node | None, node: Node) -> None:
        """`auto [a, b] = value;`"""
        whole = self._address(value) if value is not None and piece.reference else None
        if whole is None:
            copy = self._temporary()
            if value is not None:
                self._emit("store", (self._address_of(copy), self.value(value)), node)
            whole = self._address_of(copy)
        for position, name in enumerate(piece.names):
            part = self._emit("nth", (whole,), node, number=position)
            cell = self.new_cell(Cell(name, "reference" if piece.reference else "local", type_name))
            if piece.reference:
                self._emit("bind", (self._address_of(cell), part), node)
            else:
                self._emit("store", (self._address_of(cell), self._emit("load", (part,), node)), node)

    def _declare(self, piece: Piece, type_name: str, value: Node | None, node: Node) -> None:
        words = set(re.findall(r"\w+", type_name))
        kind = "shared" if words & self.context.shared_words else "reference" if piece.reference else "local"
        if type_name.replace(" ", "") == "decltype(auto)" and value is not None and value.type != "identifier":
            kind = "reference"
        if piece.names:
            self._declare_parts(piece, type_name, value, node)
            return
        made = Cell(piece.name, kind, type_name, piece.array, "volatile" in words, piece.pointer)
        if kind == "reference" and value is not None:
            self._declare_reference(made, value, node)
            return
        is_list = value is not None and value.type in ("initializer_list", "argument_list")
        # The name is not in scope in its own initializer.
        copied = (
            value is not None
            and not is_list
            and not piece.pointer
            and not piece.array
            and self._is_copied(type_name, value)
        )
        initial = self.value(value) if value is not None and not is_list and not copied else None
        if initial is not None and "constexpr" in words:
            initial = self._emit("cast", (initial,), node, name="constant")
        cell = self.new_cell(made)
        if kind == "shared":
            return
        self._emit("declare", (), node, number=cell)
        address = self._address_of(cell)
        if copied and value is not None:
            self._construct(address, type_name, [value], node)
        elif initial is not None:
            self._emit("store", (address, self._converted(initial, type_name, piece, node)), node)
        elif value is not None:
            listed = [each for each in value.named_children if each.type != "comment"]
            self._declare_listed(piece, type_name, address, listed, node)
        elif not piece.pointer:
            self._declare_bare(piece, type_name, address, node)

    def _is_copied(self, type_name: str, value: Node) -> bool:
        """Whether a variable is initialized as a copy of a named value, which may be an object."""
        return self._is_place(value) and (self._is_object(type_name) or "auto" in type_name.split())

    def _declare_reference(self, made: Cell, value: Node, node: Node) -> None:
        given = value.named_children[0] if value.type in ("initializer_list", "argument_list") else value
        address = self._address(given)
        if address is None:
            hidden = self._temporary()
            self._emit("store", (self._address_of(hidden), self.value(given)), node)
            address = self._address_of(hidden)
        self._emit("bind", (self._address_of(self.new_cell(made)), address), node)

    def _declare_listed(self, piece: Piece, type_name: str, address: int, listed: Sequence[Node], node: Node) -> None:
        """Initialize a variable from values in braces or parentheses."""
        if piece.array:
            every = piece.array > 1 and self._is_object(type_name)
            for number in self._further_elements(node, len(listed), every):
                rest = self._emit("element", (address, self._emit("constant", (), node, number=number)), node)
                if self._is_object(type_name):
                    self._construct(rest, type_name, (), node)
                else:
                    self._emit("store", (rest, self._emit("constant", (), node, number=0)), node)
            self._fill(address, listed, node, type_name, piece.array)
        elif not piece.pointer and not self._is_object(type_name) and not self.context.is_plain(type_name):
            registers, kinds = self._given(listed)
            made = self._emit("unknown", registers, node, name=f"hipport does not see {type_name}", type=kinds)
            self._emit("store", (address, made), node)
        elif len(listed) == 1 and (piece.pointer or not self._is_object(type_name)):
            self._emit("store", (address, self._converted(self.value(listed[0]), type_name, piece, node)), node)
        else:
            if self._is_object(type_name):
                # Members without an initializer are 0.
                self._emit("store", (address, self._emit("constant", (), node, number=0)), node)
            self._construct(address, type_name, listed, node)

    def _declare_bare(self, piece: Piece, type_name: str, address: int, node: Node) -> None:
        """Initialize a variable that has no initializer."""
        if self._is_object(type_name):
            if piece.array:
                address = self._emit("element", (address, self._emit("constant", (), node)), node)
            self._construct(address, type_name, (), node)
        elif not piece.array and not self.context.is_plain(type_name):
            # It may have a constructor.
            self._emit("store", (address, self._unknown(node, f"{type_name} is not seen")), node)

    def _converted(self, register: int, type_name: str, piece: Piece, node: Node) -> int:
        if piece.pointer:
            return self._emit("cast", (register,), node, name="declared", type=type_name + " *")
        return self._emit("cast", (register,), node, type=type_name)

    def _fill(self, address: int, values: Sequence[Node], node: Node, type_name: str, dimensions: int = 1) -> None:
        inner = dimensions > 1 or self._is_object(type_name)
        anywhere = False
        for position, each in enumerate(values):
            # Inner braces may be omitted, and a pack is several values: then it is unknown which element a value is
            # for.
            anywhere = anywhere or each.type == "parameter_pack_expansion"
            anywhere = anywhere or (inner and not self._is_element(each))
            index = self._emit("constant", (), node, number=None if anywhere else position)
            element = self._emit("element", (address, index), node)
            if each.type == "initializer_list" and self._is_object(type_name):
                self._construct(element, type_name, each.named_children, each)
            elif each.type == "initializer_list":
                self._fill(element, each.named_children, each, type_name, dimensions - 1)
            else:
                self._emit("store", (element, self.value(each)), each)

    def _further_elements(self, node: Node, count: int, every: bool) -> Sequence[int | None]:
        """Return the elements that `count` initializers leave out; None stands for any of them.

        `every`: each initializer may leave out elements itself.
        """
        waiting = [each for each in node.children_by_field_name("declarator") if each.type == "array_declarator"]
        size = waiting[0].child_by_field_name("size") if waiting else None
        if every:
            return (None,)
        if size is None:
            return ()  # As many as there are initializers.
        text = self.text(size)
        if not text.isdecimal() or int(text) - count > _MOST_ELEMENTS:
            return (None,)
        return range(count, int(text))

    def _is_element(self, node: Node) -> bool:
        """Whether an initializer certainly initializes one whole element that is an object or an array."""
        if node.type == "identifier":
            cell = self._cell_named(self.text(node))
            return cell is not None and self._is_object(self.ir.cells[cell].type)
        if node.type == "call_expression":
            function = node.child_by_field_name("function")
            return function is not None and self._is_object(self.text(function))
        return node.type in ("initializer_list", "compound_literal_expression")


def _is_pointer_to_function(node: Node) -> bool:
    inner = node.child_by_field_name("declarator")
    return inner is not None and inner.type == "parenthesized_declarator"
