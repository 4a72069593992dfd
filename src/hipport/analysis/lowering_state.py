# SPDX-License-Identifier: Apache-2.0
"""The state of lowering a function: blocks, registers, cells, and the names in scope."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis.device_ir import Block, Cell, DeviceIR, Expression, Instruction, Span

if TYPE_CHECKING:
    from tree_sitter import Node

# Types that hold every number of a thread, so that numbers are followed through them.
_WIDE = re.compile(
    r"(?:(?:const|constexpr|static|volatile|register|inline|signed|unsigned|long|int|std|auto|size_t|uint|ulong|"
    r"ptrdiff_t|u?int(?:32|64)_t|u?int_fast\d+_t|index_t|dim_t)\b|[\s:&])+"
)


@lru_cache(maxsize=4096)
def is_wide(type_name: str) -> bool:
    """Whether a number of a thread keeps its value in the type, as far as its name tells."""
    return _WIDE.fullmatch(type_name) is not None


class Piece(NamedTuple):
    """A declarator: its name, and the tokens around it."""

    name: str
    reference: bool
    array: int
    pointer: bool
    names: tuple[str, ...]


@dataclass
class LoweringContext:
    """Facts from outside the function: the origin of its text, and the meaning of names."""

    code: bytes
    #: The same text with comments and the contents of strings, which are blank in `code`.
    text: bytes
    #: The span in the file of a span of `code`.
    origin: Callable[[int, int], Span] = lambda start, end: (start, end)
    #: Whether a span is a complete construct of the file: of a macro's expansion, only the whole is.
    is_whole: Callable[[int, int], bool] = lambda start, end: True
    #: The names of the members of a class, and of its bases; None if not all are seen.
    fields_of: Callable[[str], frozenset[str] | None] = lambda name: frozenset()
    is_class: Callable[[str], bool] = lambda name: False
    #: Whether a name is a type other than a seen class: an alias, or a template parameter.
    is_type: Callable[[str], bool] = lambda name: False
    #: Whether a name is a function's.
    is_function: Callable[[str], bool] = lambda name: False
    #: Whether a name is that of a member of a class's objects.
    is_member: Callable[[str, str], bool] = lambda class_name, name: False
    #: Whether the second class is the first, or one that it is derived from.
    is_base: Callable[[str, str], bool] = lambda class_name, base: class_name == base
    #: Whether classes have an operator of that sign.
    has_operator: Callable[[str], bool] = lambda sign: False
    #: Whether members of a class have default values.
    has_defaults: Callable[[str], bool] = lambda name: False
    #: Whether any class has a destructor.
    destroys: Callable[[], bool] = lambda: False
    #: Whether a type is certainly not a class with an unseen constructor.
    is_plain: Callable[[str], bool] = lambda name: True
    shared_words: frozenset[str] = frozenset(("__shared__",))
    #: Whether a name may be that of a macro which no file defines, and which may leave the function or the loop.
    may_leave: Callable[[str], bool] = lambda name: False


@dataclass
class Jumps:
    """The targets of `break` and `continue`."""

    to_break: int | None = None
    to_continue: int | None = None
    #: The number of scopes around the statement that they leave.
    scopes: int = 0
    #: The same for `continue`, if it leaves another statement.
    continued: int | None = None


@dataclass
class NameScope:
    """Names and their cells, in a block of statements."""

    names: dict[str, int] = field(default_factory=dict)
    #: All cells, also those of names that were declared again.
    cells: list[int] = field(default_factory=list)


class LoweringState:
    """The blocks of one function or lambda, and the current block."""

    def __init__(self, context: LoweringContext, class_name: str = "", outer: LoweringState | None = None) -> None:
        self.context = context
        self.outer = outer
        self.ir = DeviceIR("", class_name=class_name)
        self._scopes: list[NameScope] = [NameScope()]
        self._labels: dict[str, int] = {}
        self._jumps = [Jumps()]
        #: For labels that are not lowered yet, the `goto`s to them: the block, and the cells in scope there.
        self._left: dict[str, list[tuple[int, list[int]]]] = {}
        #: The cells in scope at labels that were lowered.
        self._at_labels: dict[str, list[int]] = {}
        #: Unnamed objects, whose lives end with the expression that creates them.
        self._unnamed: list[int] = []
        self._registers = 0
        #: Names that are declared in the text, also those that are not followed.
        self.declared: frozenset[str] = outer.declared if outer is not None else frozenset()
        self._at = self._new_block()
        #: Cells of parameters, with their default arguments.
        self._defaults: list[tuple[int, Node]] = []
        #: The addresses that expressions got when they were lowered last.
        self._addresses: dict[Node, int | None] = {}

    # ---- small parts

    def text(self, node: Node) -> str:
        """The code of a node."""
        return self.context.code[node.start_byte : node.end_byte].decode("latin1")

    def span(self, node: Node) -> Span:
        """The place of a node in the file."""
        return self.context.origin(node.start_byte, node.end_byte)

    def _end_scope(self) -> None:
        """Leave a block of statements: its variables end."""
        self._end_cells(self._scopes.pop().cells)

    def _end_cells(self, cells: Sequence[int]) -> None:
        """End the lives of variables, in reverse order of creation."""
        for cell in reversed(cells):
            if self.ir.cells[cell].kind in ("local", "reference", "temporary"):
                self._emit("end", number=cell)

    def _end_unnamed(self) -> None:
        """End the lives of unnamed objects."""
        self._end_cells(self._unnamed)
        self._unnamed.clear()

    def _cells_from(self, scope: int) -> list[int]:
        """The variables of the scopes from an index on."""
        return [cell for each in self._scopes[scope:] for cell in each.cells]

    def new_cell(self, cell: Cell) -> int:
        """Add a variable; from now on, its name is looked up in the innermost scope."""
        self.ir.cells.append(cell)
        if cell.name:
            self._scopes[-1].names[cell.name] = len(self.ir.cells) - 1
            self._scopes[-1].cells.append(len(self.ir.cells) - 1)
        return len(self.ir.cells) - 1

    def _new_block(self) -> int:
        self.ir.blocks.append(Block())
        return len(self.ir.blocks) - 1

    def _emit(self, operation: str, operands: Sequence[int] = (), node: Node | None = None, **more: object) -> int:
        span = self.span(node) if node is not None else (-1, -1)
        self._registers += 1
        made = Instruction(operation, self._registers, tuple(operands), span=span, **more)  # type: ignore[arg-type]
        self.ir.blocks[self._at].instructions.append(made)
        return self._registers

    def _jump(self, to: int) -> None:
        block = self.ir.blocks[self._at]
        if not block.successors:
            block.successors = [to]

    def _branch(self, condition: int, yes: int, no: int, node: Node) -> None:
        block = self.ir.blocks[self._at]
        block.condition, block.successors, block.span = condition, [yes, no], self.span(node)

    def _unknown(self, node: Node, why: str) -> int:
        return self._emit("unknown", (), node, name=why)

    def _temporary(self, kind: str = "temporary", type_name: str = "") -> int:
        self.ir.cells.append(Cell("", kind, type_name))
        return len(self.ir.cells) - 1

    def _address_of(self, cell: int, node: Node | None = None) -> int:
        return self._emit("cell", (), node, number=cell)

    def _type_of(self, node: Node) -> str:
        words = [
            self.text(each)
            for each in node.children
            if each.type in ("type_qualifier", "storage_class_specifier", "attribute_specifier", "ms_declspec_modifier")
            or (each.type not in ("comment",) and node.child_by_field_name("type") == each)
        ]
        return " ".join(words)

    def _piece(self, node: Node) -> Piece:
        reference = pointer = False
        array = 0
        inner: Node | None = node
        while inner is not None:
            kind = inner.type
            reference = reference or kind in ("reference_declarator", "abstract_reference_declarator")
            array += kind == "array_declarator"
            if kind in ("pointer_declarator", "pointer_type_declarator"):
                pointer, array = True, 0  # `int (*p)[4]` is not an array.
            if kind == "structured_binding_declarator":
                names = tuple(self.text(each) for each in inner.named_children if each.type == "identifier")
                return Piece("", reference, array, pointer, names)
            if kind in ("identifier", "field_identifier", "type_identifier"):
                return Piece(self.text(inner), reference, array, pointer, ())
            following = inner.child_by_field_name("declarator")
            if following is None and kind == "qualified_identifier":
                following = inner.child_by_field_name("name")  # a pointer to a member
            if following is None:
                following = next(
                    (
                        each
                        for each in inner.named_children
                        if each.type not in ("type_qualifier", "ms_pointer_modifier")
                    ),
                    None,
                )
            inner = following
        return Piece("", reference, array, pointer, ())

    def _cell(self, name: str) -> int:
        found = self._cell_named(name)
        assert found is not None
        return found

    def _is_object(self, type_name: str) -> bool:
        return self.context.is_class(class_in(type_name))

    def _cell_named(self, name: str) -> int | None:
        for scope in reversed(self._scopes):
            if name in scope.names:
                return scope.names[name]
        return None

    def _captured(self, name: str) -> tuple[int, int] | None:
        """The cell of an enclosing function's variable in a lambda, and how many functions out it is."""
        steps, outer = 1, self.outer
        while outer is not None:
            cell = outer._cell_named(name)
            if cell is not None:
                return steps, cell
            steps, outer = steps + 1, outer.outer
        return None

    def _class_around(self) -> str:
        each: LoweringState | None = self
        while each is not None:
            if each.ir.class_name:
                return each.ir.class_name
            each = each.outer
        return ""

    def _this(self, node: Node) -> int:
        steps = 0
        each: LoweringState = self
        while each.ir.this < 0 and each.outer is not None:
            steps, each = steps + 1, each.outer
        if each.ir.this < 0:
            return self._unknown(node, "`this` of a class that is not seen")
        if not steps:
            return self._emit("load", (self._address_of(self.ir.this),), node)
        address = self._emit("captured", (), node, name="this", number=each.ir.this, type=str(steps))
        return self._emit("load", (address,), node)

    def _read_cell(self, cell: int, node: Node) -> int:
        return self._emit("load", (self._cell_address(cell, node),), node)

    def _cell_address(self, cell: int, node: Node) -> int:
        address = self._address_of(cell, node)
        if self.ir.cells[cell].kind == "reference":
            return self._emit("bound", (address,), node)
        return address

    def _address_of_name(self, name: str, node: Node) -> int | None:
        cell = self._cell_named(name)
        if cell is not None:
            return self._cell_address(cell, node)
        captured = self._captured(name)
        if captured is not None:
            return self._emit("captured", (), node, name=name, number=captured[1], type=str(captured[0]))
        around = self._class_around()
        if around:
            fields = self.context.fields_of(around)
            if fields is not None and name in fields:
                return self._emit("field", (self._this(node),), node, name=name)
        return None

    def _tell(self, register: int, node: Node) -> None:
        """Record that an expression has the value of a register."""
        whole = self.context.is_whole(node.start_byte, node.end_byte)
        # A part of a macro's expansion is recorded by its text.
        text = "" if whole else squeezed(self.text(node))
        self.ir.expressions.append(Expression(register, self._at, self.span(node), text))

    def _sign(self, node: Node) -> str:
        operator = node.child_by_field_name("operator")
        return self.text(operator) if operator is not None else ""


def squeezed(text: str) -> str:
    """A text without blanks and enclosing parentheses."""
    text = "".join(text.split())
    while text.startswith("(") and text.endswith(")") and _is_around(text):
        text = text[1:-1]
    return text


def _is_around(text: str) -> bool:
    depth = 0
    for i, each in enumerate(text):
        depth += (each == "(") - (each == ")")
        if not depth:
            return i == len(text) - 1
    return False


def called(text: str) -> str:
    """The last name of a callee, without namespaces and template arguments."""
    return without_arguments(text).rpartition("::")[2].strip()


def without_arguments(text: str) -> str:
    """A name without its template arguments: `W<int>::f<3>` becomes `W::f`."""
    while "<" in text and not text.startswith("operator"):
        shorter = re.sub(r"<[^<>]*>", "", text)
        if shorter == text:
            break
        text = shorter
    return text


def defined_there(type_name: str) -> str:
    """A type without the members of a class that it defines; empty for an unnamed class."""
    if "{" not in type_name:
        return type_name
    named = re.search(r"\b(?:struct|class|union)\s+([A-Za-z_]\w*)\s*(?:final\s*)?[:{]", type_name)
    return named[1] if named is not None and named.start() < type_name.index("{") else ""


def class_in(type_name: str) -> str:
    """The name of the class in a type, without qualifiers, namespaces and template arguments."""
    text = re.sub(r"<.*>", "", defined_there(type_name), flags=re.DOTALL)
    words = [
        word
        for word in re.findall(r"[A-Za-z_]\w*", text.rpartition("::")[2] if "::" in text else text)
        if word not in ("const", "constexpr", "static", "volatile", "struct", "class", "typename", "inline", "register")
    ]
    return words[-1] if words else ""


def declared_names(node: Node) -> Iterator[Node]:
    """Yield the names that declarations in a body introduce, as far as the parser recognizes declarations."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        waiting += each.named_children
        if each.type == "structured_binding_declarator":
            yield from (child for child in each.named_children if child.type == "identifier")
        elif each.type.endswith(("declarator", "declaration")):
            inner = each.children_by_field_name("declarator")
            if each.type in ("reference_declarator", "parenthesized_declarator"):
                inner = each.named_children
            yield from (child for child in inner if child.type == "identifier")


def identifiers(node: Node | None) -> Iterator[Node]:
    waiting = [node] if node is not None else []
    while waiting:
        each = waiting.pop()
        if each.type in ("identifier", "type_identifier"):
            yield each
        waiting += each.named_children
