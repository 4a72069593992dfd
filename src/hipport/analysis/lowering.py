# SPDX-License-Identifier: Apache-2.0
"""Lower a function of device code from its syntax tree to hipport.analysis.device_ir.

    ir = lower(node, code, LoweringContext(...))

Whatever is not read becomes an instruction `unknown` with the reason, never nothing: its value is varying. A function
with syntax errors is not read at all (`DeviceIR.unread`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis.built_ins import BUILT_IN_VARIABLES
from hipport.analysis.device_ir import Block, Cell, DeviceIR, Expression, Instruction, Lambda, Span

if TYPE_CHECKING:
    from tree_sitter import Node

_CASTS = frozenset(("static_cast", "reinterpret_cast", "const_cast", "dynamic_cast", "bit_cast"))
_PREPROCESSOR = frozenset(("preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef", "preproc_else"))
_IGNORED = frozenset(
    """comment preproc_call preproc_def preproc_function_def preproc_include type_definition alias_declaration
    static_assert_declaration using_declaration struct_specifier class_specifier union_specifier enum_specifier
    empty_statement namespace_alias_definition friend_declaration template_declaration ;""".split()
)
_NUMBER = re.compile(r"0[xX][0-9a-fA-F']+|0[bB][01']+|\d[\d']*")
_WRAPPERS = frozenset(("parenthesized_expression", "condition_clause"))
# Numbers are followed through types that hold all of a thread's numbers.
_WIDE = re.compile(
    r"(?:(?:const|constexpr|static|volatile|register|inline|signed|unsigned|long|int|std|auto|size_t|uint|ulong|"
    r"ptrdiff_t|u?int(?:32|64)_t|u?int_fast\d+_t|index_t|dim_t)\b|[\s:&])+"
)
# PTX that computes with its operands alone (PTX ISA 8.8, arithmetic, logic, conversion and video instructions).
_PURE_ASSEMBLY = re.compile(
    r"(?:add|addc|sub|subc|mul|mul24|mad|mad24|madc|fma|div|rem|sad|abs|neg|min|max|popc|clz|bfind|fns|brev|bfe|bfi|szext|"
    r"bmsk|dp4a|dp2a|testp|copysign|rcp|sqrt|rsqrt|sin|cos|lg2|ex2|tanh|set|setp|selp|slct|and|or|xor|not|cnot|lop3|shf|"
    r"shl|shr|prmt|mov|cvt|cvta|v(?:add|sub|absdiff|min|max|shl|shr|mad|set)[24]?)(?:\.\w+)*"
)
_STATEMENT = re.compile(r"(?:@!?\w+\s+)?([a-z]\w*(?:\.\w+)*)\s+([^;]*)")


def is_wide(type_name: str) -> bool:
    """Whether a thread's number keeps its value in the type, as far as its name tells."""
    return _WIDE.fullmatch(type_name) is not None


class Piece(NamedTuple):
    """A declarator: the name, and what stands around it."""

    name: str
    reference: bool
    array: bool
    pointer: bool
    names: tuple[str, ...]


@dataclass
class LoweringContext:
    """What has to be known beside the function: where its text comes from, and what names are."""

    code: bytes
    #: The same with comments and what stands in strings, which `code` has blanks for.
    text: bytes
    #: The span in the file of a span of `code`.
    origin: Callable[[int, int], Span] = lambda start, end: (start, end)
    #: The names of the members of a class, and of its bases; None if not all are seen.
    #: Whether a span is all that something in the file stands for: of what a macro makes, only the whole is.
    is_whole: Callable[[int, int], bool] = lambda start, end: True
    fields_of: Callable[[str], frozenset[str] | None] = lambda name: frozenset()
    is_class: Callable[[str], bool] = lambda name: False
    #: Whether a name is a type's that is no class that is seen: an alias, or a parameter of a template.
    is_type: Callable[[str], bool] = lambda name: False
    #: Whether classes have an operator of that sign.
    has_operator: Callable[[str], bool] = lambda sign: False
    shared_words: frozenset[str] = frozenset(("__shared__",))


@dataclass
class _Jumps:
    """Where `break` and `continue` go."""

    to_break: int | None = None
    to_continue: int | None = None


@dataclass
class _Scope:
    """Names and their cells, in a block of statements."""

    names: dict[str, int] = field(default_factory=dict)


def lower(node: Node, context: LoweringContext, class_name: str = "") -> DeviceIR:
    """Lower a `function_definition`."""
    declarator = _function_declarator(node)
    body = node.child_by_field_name("body")
    lowering = Lowering(context, class_name)
    if declarator is None or body is None:
        lowering.ir.unread = ("it is no function", context.origin(node.start_byte, node.end_byte))
        return lowering.ir
    inner = declarator.child_by_field_name("declarator")
    name = lowering.text(inner) if inner is not None else ""
    lowering.ir.name = name
    lowering.ir.returns_reference = _returns_reference(node)
    if node.has_error:
        lowering.ir.unread = ("its text is not understood", context.origin(node.start_byte, node.end_byte))
    if class_name:
        lowering.ir.this = lowering.new_cell(Cell("this", "parameter", class_name, pointer=True))
    lowering.parameters(declarator.child_by_field_name("parameters"))
    if lowering.ir.unread is None:
        initializers = next((each for each in node.named_children if each.type == "field_initializer_list"), None)
        lowering.finish(body, initializers)
    return lowering.ir


def lower_members(node: Node, context: LoweringContext, class_name: str) -> DeviceIR | None:
    """Lower what gives members of a class their default values; None if nothing does."""
    lowering = Lowering(context, class_name)
    ir = lowering.ir
    ir.name = f"members of {class_name}"
    body = node.child_by_field_name("body")
    ir.this = lowering.new_cell(Cell("this", "parameter", class_name, pointer=True))
    lowering.begin()
    found = False
    for member in body.named_children if body is not None else ():
        if member.type == "field_declaration":
            found = lowering.default(member) or found
    lowering.end()
    return ir if found else None


def _function_declarator(node: Node) -> Node | None:
    found = node.child_by_field_name("declarator")
    while found is not None and found.type not in ("function_declarator", "operator_cast"):
        inner = found.child_by_field_name("declarator")
        if inner is None:
            inner = next((each for each in found.named_children if each.type.endswith("declarator")), None)
        found = inner
    return found


def _returns_reference(node: Node) -> bool:
    declarator = node.child_by_field_name("declarator")
    return declarator is not None and declarator.type == "reference_declarator"


class Lowering:
    """The lowering of one function or lambda."""

    def __init__(self, context: LoweringContext, class_name: str = "", outer: Lowering | None = None) -> None:
        self.context = context
        self.outer = outer
        self.ir = DeviceIR("", class_name=class_name)
        self._scopes: list[_Scope] = [_Scope()]
        self._labels: dict[str, int] = {}
        self._jumps = [_Jumps()]
        self._registers = 0
        self._at = self._new_block()
        #: Cells of parameters with what they are if nothing is given for them.
        self._defaults: list[tuple[int, Node]] = []

    # ---- small parts

    def text(self, node: Node) -> str:
        """The code of a node."""
        return self.context.code[node.start_byte : node.end_byte].decode("latin1")

    def span(self, node: Node) -> Span:
        """Where a node stands in the file."""
        return self.context.origin(node.start_byte, node.end_byte)

    def new_cell(self, cell: Cell) -> int:
        """Add a variable; a name is found in the innermost scope from now on."""
        self.ir.cells.append(cell)
        if cell.name:
            self._scopes[-1].names[cell.name] = len(self.ir.cells) - 1
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

    def _temporary(self, kind: str = "temporary") -> int:
        self.ir.cells.append(Cell("", kind))
        return len(self.ir.cells) - 1

    def _address_of(self, cell: int, node: Node | None = None) -> int:
        return self._emit("cell", (), node, number=cell)

    # ---- the function

    def parameters(self, node: Node | None) -> None:
        """Add the parameters."""
        for each in node.named_children if node is not None else ():
            if each.type not in (
                "parameter_declaration", "optional_parameter_declaration", "variadic_parameter_declaration"
            ):
                continue
            declarator = each.child_by_field_name("declarator")
            piece = self._piece(declarator) if declarator is not None else Piece("", False, False, False, ())
            kind = "reference" if piece.reference else "parameter"
            type_name = self._type_of(each)
            if each.type == "variadic_parameter_declaration":
                kind = "pack"
            pointer = piece.pointer or (piece.array and not piece.reference)
            default = each.child_by_field_name("default_value")
            if default is not None:
                self._defaults.append((len(self.ir.cells), default))
            self.new_cell(Cell(piece.name, kind, type_name, False, "volatile" in type_name, pointer))
            self.ir.parameters += 1

    def finish(self, body: Node, initializers: Node | None = None) -> None:
        """Lower the body, with what a constructor initializes in front of it."""
        self.begin()
        for cell, default in self._defaults:
            self._emit("default", (self._address_of(cell), self.value(default)), default, number=cell)
        for each in initializers.named_children if initializers is not None else ():
            self._initialize_member(each)
        self.statement(body)
        self.end()

    def begin(self) -> None:
        """Make the place for the result, and the block that control leaves by."""
        self.ir.result = self._temporary()
        self.ir.exit = self._new_block()

    def end(self) -> None:
        """Leave the function where its text ends."""
        self._jump(self.ir.exit)

    def default(self, member: Node) -> bool:
        """Lower the default values that a declaration of members gives; return whether it does."""
        found = False
        names = [self._piece(each).name for each in member.children_by_field_name("declarator")]
        values = member.children_by_field_name("default_value")
        for name, value in zip(names[-len(values) :] if values else [], values, strict=False):
            this = self._emit("load", (self._address_of(self.ir.this),), member)
            target = self._emit("field", (this,), member, name=name)
            if value.type == "initializer_list" and len(value.named_children) != 1:
                self._construct(target, "", value.named_children, member)
            else:
                given = value.named_children[0] if value.type == "initializer_list" else value
                self._emit("store", (target, self.value(given)), member)
            found = True
        return found

    def _initialize_member(self, node: Node) -> None:
        name = next(iter(node.named_children), None)
        given = next((each for each in node.named_children if each.type in ("argument_list", "initializer_list")), None)
        if name is None or self.ir.this < 0:
            return
        this = self._emit("load", (self._address_of(self.ir.this),), node)
        values = given.named_children if given is not None else []
        own = self.context.fields_of(self.ir.class_name)
        if own is None or self.text(name) in own:
            target = self._emit("field", (this,), node, name=self.text(name))
            if len(values) == 1:
                self._emit("store", (target, self.value(values[0])), node)
            else:
                self._construct(target, "", values, node)
        else:
            # A base, or another constructor of the class.
            registers, kinds = self._given(values)
            self._emit("construct", (this, *registers), node, name=_class_in(self.text(name)), type=kinds)

    def _type_of(self, node: Node) -> str:
        words = [
            self.text(each)
            for each in node.children
            if each.type in ("type_qualifier", "storage_class_specifier", "attribute_specifier", "ms_declspec_modifier")
            or (each.type not in ("comment",) and node.child_by_field_name("type") == each)
        ]
        return " ".join(words)

    def _piece(self, node: Node) -> Piece:
        reference = array = pointer = False
        inner: Node | None = node
        while inner is not None:
            kind = inner.type
            reference = reference or kind in ("reference_declarator", "abstract_reference_declarator")
            array = array or kind == "array_declarator"
            pointer = pointer or kind == "pointer_declarator"
            if kind == "structured_binding_declarator":
                names = tuple(self.text(each) for each in inner.named_children if each.type == "identifier")
                return Piece("", reference, array, pointer, names)
            if kind in ("identifier", "field_identifier", "type_identifier"):
                return Piece(self.text(inner), reference, array, pointer, ())
            following = inner.child_by_field_name("declarator")
            if following is None:
                following = next(
                    (each for each in inner.named_children if each.type not in ("type_qualifier", "ms_pointer_modifier")),
                    None,
                )
            inner = following
        return Piece("", reference, array, pointer, ())

    # ---- statements

    def statement(self, node: Node) -> None:
        """Lower a statement, from where control is now."""
        handler = getattr(self, f"_lower_{node.type}", None)
        if handler is not None:
            handler(node)
        elif node.type in _PREPROCESSOR:
            self._lower_conditional(node)
        elif node.type in _IGNORED or not node.is_named:
            return
        elif node.type.endswith(("expression", "literal", "identifier")):
            self.value(node)
        else:
            self._havoc(node, f"`{node.type.replace('_', ' ')}` is not followed")

    def _havoc(self, node: Node, why: str) -> None:
        """Say of all variables that a statement names that nothing is known of them any more."""
        for each in _identifiers(node):
            cell = self._cell_named(self.text(each))
            if cell is not None:
                self._emit("store", (self._address_of(cell), self._unknown(each, why)), each)

    def _statements(self, nodes: Iterable[Node]) -> None:
        for each in nodes:
            self.statement(each)

    def _lower_compound_statement(self, node: Node) -> None:
        self._scopes.append(_Scope())
        self._statements(node.named_children)
        self._scopes.pop()

    def _lower_expression_statement(self, node: Node) -> None:
        for each in node.named_children:
            if each.type != "comment":
                self.value(each)

    def _lower_attributed_statement(self, node: Node) -> None:
        self._statements(each for each in node.named_children if each.type != "attribute_declaration")

    def _lower_linkage_specification(self, node: Node) -> None:
        self._statements(node.named_children)

    def _lower_conditional(self, node: Node) -> None:
        """Either branch of an `#if`, whichever a build takes: the same for all threads."""
        alternative = node.child_by_field_name("alternative")
        skipped = {
            each.id
            for each in (
                alternative,
                node.child_by_field_name("condition"),
                node.child_by_field_name("name"),
            )
            if each is not None
        }
        yes, no, after = self._new_block(), self._new_block(), self._new_block()
        self._branch(self._emit("constant", (), node), yes, no, node)
        self._at = yes
        self._statements(each for each in node.named_children if each.id not in skipped)
        self._jump(after)
        self._at = no
        if alternative is not None:
            self.statement(alternative)
        self._jump(after)
        self._at = after

    def _lower_preproc_else(self, node: Node) -> None:
        self._statements(node.named_children)

    def _lower_if_statement(self, node: Node) -> None:
        self._scopes.append(_Scope())
        condition = node.child_by_field_name("condition")
        yes, no, after = self._new_block(), self._new_block(), self._new_block()
        if condition is None:
            self._branch(self._unknown(node, "its condition is not understood"), yes, no, node)
        else:
            self._condition(condition, yes, no)
        consequence, alternative = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        self._at = yes
        if consequence is not None:
            self._scoped(consequence)
        self._jump(after)
        self._at = no
        if alternative is not None:
            self._scoped(alternative)
        self._jump(after)
        self._at = after
        self._scopes.pop()

    def _lower_else_clause(self, node: Node) -> None:
        self._statements(node.named_children)

    def _scoped(self, node: Node) -> None:
        self._scopes.append(_Scope())
        self.statement(node)
        self._scopes.pop()

    def _condition(self, node: Node, yes: int, no: int) -> None:
        """Lower a condition of `if` or a loop: `init; declaration or expression`."""
        if node.type == "condition_clause":
            initializer, value = node.child_by_field_name("initializer"), node.child_by_field_name("value")
            if initializer is not None:
                self.statement(initializer)
            if value is None:
                self._branch(self._unknown(node, "its condition is not understood"), yes, no, node)
                return
            node = value
        if node.type == "declaration":
            self.statement(node)
            declarator = node.child_by_field_name("declarator")
            name = self._piece(declarator).name if declarator is not None else ""
            cell = self._cell_named(name)
            read = self._read_cell(cell, node) if cell is not None else self._unknown(node, "it is not understood")
            self._branch(read, yes, no, node)
            return
        self._decide(node, yes, no)

    def _decide(self, node: Node, yes: int, no: int) -> int:
        """Branch by an expression; `&&` and `||` with calls on their right are branches of their own."""
        inner = node
        while inner.type == "parenthesized_expression" and len(inner.named_children) == 1:
            inner = inner.named_children[0]
        sign = self._sign(inner) if inner.type == "binary_expression" else ""
        left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
        if sign in ("&&", "||", "and", "or") and left is not None and right is not None and _has_effects(right):
            between = self._new_block()
            both = sign in ("&&", "and")
            one = self._decide(left, *((between, no) if both else (yes, between)))
            self._at = between
            two = self._decide(right, yes, no)
            whole = self._emit("binary", (one, two), inner, name="&&" if both else "||")
            self._tell(whole, inner)
            return whole
        condition = self.value(node)
        self._branch(condition, yes, no, node)
        return condition

    def _loop(self, node: Node, condition: Node | None, update: Node | None, *, first: bool) -> None:
        """Lower a loop; `first`: the body runs before the condition is asked."""
        test, body, step, after = (self._new_block() for _ in range(4))
        self._jump(body if first else test)
        self._at = test
        if condition is None:
            self._jump(body)
        else:
            self._condition(condition, body, after)
        self._jumps.append(_Jumps(after, step))
        self._at = body
        statement = node.child_by_field_name("body")
        if statement is not None:
            self._scoped(statement)
        self._jump(step)
        self._at = step
        if update is not None:
            self.value(update)
        self._jump(test)
        self._jumps.pop()
        self._at = after

    def _lower_while_statement(self, node: Node) -> None:
        self._scopes.append(_Scope())
        self._loop(node, node.child_by_field_name("condition"), None, first=False)
        self._scopes.pop()

    def _lower_do_statement(self, node: Node) -> None:
        self._loop(node, node.child_by_field_name("condition"), None, first=True)

    def _lower_for_statement(self, node: Node) -> None:
        self._scopes.append(_Scope())
        initializer = node.child_by_field_name("initializer")
        if initializer is not None:
            self.statement(initializer)
        self._loop(node, node.child_by_field_name("condition"), node.child_by_field_name("update"), first=False)
        self._scopes.pop()

    def _lower_for_range_loop(self, node: Node) -> None:
        self._scopes.append(_Scope())
        over, declarator = node.child_by_field_name("right"), node.child_by_field_name("declarator")
        if over is None or declarator is None:
            self._havoc(node, "its range is not understood")
            return
        piece = self._piece(declarator)
        address = self._address(over)
        if address is None:
            cell = self._temporary()
            self._emit("store", (self._address_of(cell), self.value(over)), over)
            address = self._address_of(cell)
        self._tell(self._emit("load", (address,), over), over)
        test, body, after = self._new_block(), self._new_block(), self._new_block()
        self._jump(test)
        self._at = test
        # How many elements there are is uniform if the object is: its own cell says.
        self._branch(self._emit("length", (address,), over), body, after, over)
        self._at = body
        element = self._emit("element", (address, self._emit("constant", (), node)), over)
        for name in piece.names or (piece.name,):
            kind = "reference" if piece.reference else "local"
            made = self.new_cell(Cell(name, kind, self._type_of(node)))
            part = element if not piece.names else self._unknown(node, "a structured binding is not followed")
            stored = part if piece.reference and not piece.names else self._emit("load", (part,), node)
            if piece.names:
                stored = part
            self._emit("bind" if piece.reference and not piece.names else "store", (self._address_of(made), stored), node)
        self._jumps.append(_Jumps(after, test))
        statement = node.child_by_field_name("body")
        if statement is not None:
            self._scoped(statement)
        self._jumps.pop()
        self._jump(test)
        self._at = after
        self._scopes.pop()

    def _lower_switch_statement(self, node: Node) -> None:
        self._scopes.append(_Scope())
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        if condition is None or body is None:
            self._havoc(node, "it is not understood")
            return
        value = condition.child_by_field_name("value") if condition.type == "condition_clause" else condition
        asked = self.value(value) if value is not None else self._unknown(condition, "it is not understood")
        start, after = self._at, self._new_block()
        self._jumps.append(_Jumps(after, self._jumps[-1].to_continue))
        targets: list[int] = []
        has_default = False
        self._at = self._new_block()
        for each in body.named_children:
            if each.type != "case_statement":
                self.statement(each)
                continue
            label = each.child_by_field_name("value")
            has_default = has_default or label is None
            following = self._new_block()
            targets.append(following)
            self._jump(following)
            self._at = following
            self._statements(part for part in each.named_children if label is None or part.id != label.id)
        self._jump(after)
        self._jumps.pop()
        block = self.ir.blocks[start]
        block.condition, block.successors, block.span = asked, targets, self.span(condition)
        if not has_default:
            block.successors.append(after)
        self._at = after
        self._scopes.pop()

    def _lower_case_statement(self, node: Node) -> None:
        # Within nested blocks of a switch: the device of a loop that is unrolled by hand. It is not followed.
        self.ir.unread = ("a `case` within another statement is not followed", self.span(node))

    def _leave(self, to: int | None, node: Node) -> None:
        if to is None:
            self.ir.unread = ("it leaves a statement that is not seen", self.span(node))
            return
        self._jump(to)
        self._at = self._new_block()

    def _lower_break_statement(self, node: Node) -> None:
        self._leave(self._jumps[-1].to_break, node)

    def _lower_continue_statement(self, node: Node) -> None:
        self._leave(self._jumps[-1].to_continue, node)

    def _lower_return_statement(self, node: Node) -> None:
        values = [each for each in node.named_children if each.type != "comment"]
        if values:
            address = self._address_of(self.ir.result)
            stored = self._address(values[0]) if values[0].type != "initializer_list" else None
            read = self._emit("load", (stored,), values[0]) if stored is not None else self.value(values[0])
            if stored is not None:
                # What is returned by reference is found by it.
                self._emit("return address", (stored,), node)
            self._emit("store", (address, read), node)
        self._jump(self.ir.exit)
        self._at = self._new_block()

    def _lower_goto_statement(self, node: Node) -> None:
        label = node.child_by_field_name("label")
        self._leave(self._label(self.text(label)) if label is not None else None, node)

    def _lower_labeled_statement(self, node: Node) -> None:
        label = node.child_by_field_name("label")
        if label is not None:
            to = self._label(self.text(label))
            self._jump(to)
            self._at = to
        self._statements(each for each in node.named_children if label is None or each.id != label.id)

    def _label(self, name: str) -> int:
        if name not in self._labels:
            self._labels[name] = self._new_block()
        return self._labels[name]

    def _lower_function_definition(self, node: Node) -> None:
        """`LOOP(i, n) { … }`, a macro that is not seen, looks like a function: its names may be anything, its body loops."""
        declarator, body = _function_declarator(node), node.child_by_field_name("body")
        if declarator is None or body is None:
            self._havoc(node, "it is not understood")
            return
        name = declarator.child_by_field_name("declarator")
        macro = self.text(name) if name is not None else "a macro"
        self._scopes.append(_Scope())
        for each in _identifiers(declarator.child_by_field_name("parameters")):
            word = self.text(each)
            if self._cell_named(word) is None:
                cell = self.new_cell(Cell(word, "local"))
                reason = self._unknown(each, f"{macro}, which is not seen, declares {word}")
                self._emit("store", (self._address_of(cell), reason), each)
        test, inner, after = self._new_block(), self._new_block(), self._new_block()
        self._jump(test)
        self._at = test
        self._branch(self._unknown(node, f"{macro} is not seen"), inner, after, declarator)
        self._at = inner
        self._jumps.append(_Jumps(after, test))
        self._scoped(body)
        self._jumps.pop()
        self._jump(test)
        self._at = after
        self._scopes.pop()

    # ---- declarations

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
        if type_node is not None and type_node.type in ("struct_specifier", "class_specifier"):
            return

    def _maybe_object(self, node: Node, type_name: str) -> None:
        """`T x(y);` is parsed as a function's declaration if `y` may be a type."""
        name, given = node.child_by_field_name("declarator"), node.child_by_field_name("parameters")
        if name is None or name.type != "identifier" or given is None:
            return
        words = [self.text(each) for each in given.named_children]
        if not words or not all(self._cell_named(word) is not None for word in words):
            return
        cell = self.new_cell(Cell(self.text(name), "local", type_name))
        registers = [self._address_of(self._cell(word)) for word in words]
        self._emit("construct", (self._address_of(cell), *registers), node, name=type_name, type="a" * len(words))

    def _cell(self, name: str) -> int:
        found = self._cell_named(name)
        assert found is not None
        return found

    def _declare(self, piece: Piece, type_name: str, value: Node | None, node: Node) -> None:
        words = set(re.findall(r"\w+", type_name))
        kind = "shared" if words & self.context.shared_words else "reference" if piece.reference else "local"
        volatile = "volatile" in words
        if piece.names:
            whole = self._temporary()
            if value is not None:
                self._emit("store", (self._address_of(whole), self.value(value)), node)
            for position, name in enumerate(piece.names):
                part = self._emit("part", (self._address_of(whole),), node, number=position)
                cell = self.new_cell(Cell(name, "local", type_name))
                self._emit("store", (self._address_of(cell), part), node)
            return
        if kind == "reference" and value is not None:
            given = value.named_children[0] if value.type in ("initializer_list", "argument_list") else value
            address = self._address(given)
            if address is None:
                hidden = self._temporary()
                self._emit("store", (self._address_of(hidden), self.value(given)), node)
                address = self._address_of(hidden)
            cell = self.new_cell(Cell(piece.name, kind, type_name, piece.array, volatile, piece.pointer))
            self._emit("bind", (self._address_of(cell), address), node)
            return
        initial: int | None = None
        listed: list[Node] = []
        is_list = value is not None and value.type in ("initializer_list", "argument_list")
        if value is not None and not is_list:
            initial = self.value(value)
        elif value is not None:
            listed = [each for each in value.named_children if each.type != "comment"]
        cell = self.new_cell(Cell(piece.name, kind, type_name, piece.array, volatile, piece.pointer))
        if kind == "shared":
            return
        self._emit("declare", (), node, number=cell)
        address = self._address_of(cell)
        if initial is not None:
            self._emit("store", (address, self._converted(initial, type_name, piece, node)), node)
        elif piece.array and is_list:
            self._fill(address, listed, node)
        elif is_list and len(listed) == 1 and (piece.pointer or not self._is_object(type_name)):
            self._emit("store", (address, self._converted(self.value(listed[0]), type_name, piece, node)), node)
        elif is_list or (self._is_object(type_name) and not piece.pointer and not piece.array):
            self._construct(address, type_name, listed, node)

    def _converted(self, register: int, type_name: str, piece: Piece, node: Node) -> int:
        if piece.pointer:
            return self._emit("cast", (register,), node, type=type_name + " *")
        return self._emit("cast", (register,), node, type=type_name)

    def _is_object(self, type_name: str) -> bool:
        return self.context.is_class(_class_in(type_name))

    def _fill(self, address: int, values: Sequence[Node], node: Node) -> None:
        for position, each in enumerate(values):
            index = self._emit("constant", (), node, number=position)
            element = self._emit("element", (address, index), node)
            if each.type == "initializer_list":
                self._fill(element, each.named_children, each)
            else:
                self._emit("store", (element, self.value(each)), each)

    def _construct(self, address: int, type_name: str, values: Sequence[Node], node: Node) -> None:
        registers, kinds = self._given(values)
        self._emit("construct", (address, *registers), node, name=_class_in(type_name), type=kinds)

    # ---- names

    def _cell_named(self, name: str) -> int | None:
        for scope in reversed(self._scopes):
            if name in scope.names:
                return scope.names[name]
        return None

    def _captured(self, name: str) -> tuple[int, int] | None:
        """The cell of a function around a lambda, and how many functions out it is."""
        steps, outer = 1, self.outer
        while outer is not None:
            cell = outer._cell_named(name)
            if cell is not None:
                return steps, cell
            steps, outer = steps + 1, outer.outer
        return None

    def _class_around(self) -> str:
        each: Lowering | None = self
        while each is not None:
            if each.ir.class_name:
                return each.ir.class_name
            each = each.outer
        return ""

    def _this(self, node: Node) -> int:
        steps, each = 0, self
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

    # ---- expressions

    def value(self, node: Node) -> int:
        """Lower an expression; return the register of its value."""
        register = self._value(node)
        self._tell(register, node)
        return register

    def _tell(self, register: int, node: Node) -> None:
        """Note that an expression has the value of a register."""
        whole = self.context.is_whole(node.start_byte, node.end_byte)
        # A part of what a macro makes is known by its text.
        text = "" if whole else squeezed(self.text(node))
        self.ir.expressions.append(Expression(register, self._at, self.span(node), text))

    def _value(self, node: Node) -> int:
        kind = node.type
        if kind in _WRAPPERS and len(node.named_children) == 1:
            return self.value(node.named_children[0])
        handler = getattr(self, f"_value_of_{kind}", None)
        if handler is not None:
            found: int = handler(node)
            return found
        address = self._address(node)
        if address is not None:
            return self._emit("load", (address,), node)
        return self._unknown(node, f"`{self.text(node)[:40]}` is not followed")

    def _value_of_number_literal(self, node: Node) -> int:
        text = self.text(node).replace("'", "").rstrip("uUlLzZ")
        number = None
        if _NUMBER.fullmatch(text):
            number = int(text, 8) if re.fullmatch("0[0-7]+", text) else int(text, 0)
        return self._emit("constant", (), node, number=number)

    def _value_of_true(self, node: Node) -> int:
        return self._emit("constant", (), node, number=1)

    def _value_of_false(self, node: Node) -> int:
        return self._emit("constant", (), node, number=0)

    def _constant(self, node: Node) -> int:
        return self._emit("constant", (), node)

    _value_of_char_literal = _value_of_string_literal = _value_of_null = _value_of_nullptr = _constant
    _value_of_sizeof_expression = _value_of_alignof_expression = _value_of_user_defined_literal = _constant
    _value_of_concatenated_string = _value_of_raw_string_literal = _value_of_requires_expression = _constant
    _value_of_type_descriptor = _constant

    def _value_of_this(self, node: Node) -> int:
        return self._this(node)

    def _value_of_identifier(self, node: Node) -> int:
        name = self.text(node)
        address = self._address_of_name(name, node)
        if address is not None:
            return self._emit("load", (address,), node)
        return self._emit("name", (), node, name=name)

    def _value_of_qualified_identifier(self, node: Node) -> int:
        return self._emit("name", (), node, name=self.text(node))

    _value_of_template_function = _value_of_qualified_identifier

    def _value_of_field_expression(self, node: Node) -> int:
        text = re.sub(r"\s+", "", self.text(node))
        if BUILT_IN_VARIABLES.fullmatch(text.encode()):
            return self._emit("built-in", (), node, name=text)
        address = self._address(node)
        assert address is not None
        return self._emit("load", (address,), node)

    def _value_of_unary_expression(self, node: Node) -> int:
        argument = node.child_by_field_name("argument")
        if argument is None:
            return self._unknown(node, "it is not understood")
        return self._emit("unary", (self.value(argument),), node, name=self._sign(node))

    def _value_of_pointer_expression(self, node: Node) -> int:
        argument = node.child_by_field_name("argument")
        if argument is None:
            return self._unknown(node, "it is not understood")
        if self._sign(node) == "&":
            address = self._address(argument)
            return address if address is not None else self.value(argument)
        return self._emit("load", (self._emit("target", (self.value(argument),), node),), node)

    def _value_of_update_expression(self, node: Node) -> int:
        argument = node.child_by_field_name("argument")
        address = self._address(argument) if argument is not None else None
        if address is None or argument is None:
            return self._unknown(node, "it is not understood")
        before = self._emit("load", (address,), argument)
        one = self._emit("constant", (), node, number=1)
        after = self._emit("binary", (before, one), node, name="+" if "++" in self._sign(node) else "-")
        self._emit("store", (address, after), node)
        self._tell(after, argument)
        operator = node.child_by_field_name("operator")
        prefix = operator is not None and operator.start_byte < argument.start_byte
        return after if prefix else before

    def _sign(self, node: Node) -> str:
        operator = node.child_by_field_name("operator")
        return self.text(operator) if operator is not None else ""

    def _value_of_binary_expression(self, node: Node) -> int:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = {"and": "&&", "or": "||", "not_eq": "!=", "bitand": "&", "bitor": "|", "xor": "^"}.get(
            self._sign(node), self._sign(node)
        )
        if left is None or right is None:
            return self._unknown(node, "it is not understood")
        if sign in ("&&", "||") and _has_effects(right):
            return self._chosen(node, lambda yes, no: self._decide(node, yes, no), None, None)
        one, two = self.value(left), self.value(right)
        if not self.context.has_operator(sign):
            return self._emit("binary", (one, two), node, name=sign)
        # An operator of a class may change the objects.
        places = [self._address(each) for each in (left, right)]
        operands = [one, two, *(value if place is None else place for value, place in zip((one, two), places, strict=True))]
        kinds = "".join("v" if place is None else "a" for place in places)
        return self._emit("binary", operands, node, name=sign, type=kinds)

    def _value_of_conditional_expression(self, node: Node) -> int:
        condition = node.child_by_field_name("condition")
        yes, no = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        if condition is None or no is None:
            return self._unknown(node, "it is not understood")
        return self._chosen(node, lambda to, other: self._decide(condition, to, other), yes, no)

    def _chosen(
        self, node: Node, decide: Callable[[int, int], int], yes: Node | None, no: Node | None
    ) -> int:
        cell = self._temporary("choice")
        one, two, after = self._new_block(), self._new_block(), self._new_block()
        decide(one, two)
        for block, given, number in ((one, yes, 1), (two, no, 0)):
            self._at = block
            made = self.value(given) if given is not None else self._emit("constant", (), node, number=number)
            self._emit("store", (self._address_of(cell), made), node)
            self._jump(after)
        self._at = after
        return self._emit("load", (self._address_of(cell),), node)

    def _value_of_comma_expression(self, node: Node) -> int:
        registers = [self.value(each) for each in node.named_children if each.type != "comment"]
        return registers[-1] if registers else self._unknown(node, "it is not understood")

    def _value_of_assignment_expression(self, node: Node) -> int:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return self._unknown(node, "it is not understood")
        sign = self._sign(node)
        if sign == "=" and right.type == "initializer_list":
            address = self._address(left)
            if address is not None:
                self._construct(address, "", right.named_children, node)
                return self._emit("load", (address,), node)
        made = self.value(right)
        address = self._address(left)
        if address is None:
            self._havoc(left, "it is given a value in a way that is not followed")
            return made
        if sign != "=":
            made = self._emit("binary", (self._emit("load", (address,), left), made), node, name=sign[:-1])
        self._emit("assign", (address, made), node)
        self._tell(self._emit("load", (address,), left), left)
        return made

    def _value_of_cast_expression(self, node: Node) -> int:
        value, type_node = node.child_by_field_name("value"), node.child_by_field_name("type")
        if value is None:
            return self._unknown(node, "it is not understood")
        return self._emit("cast", (self.value(value),), node, type=self.text(type_node) if type_node is not None else "")

    def _value_of_compound_literal_expression(self, node: Node) -> int:
        type_node, values = node.child_by_field_name("type"), node.child_by_field_name("value")
        return self._object(self.text(type_node) if type_node is not None else "", values, node)

    def _value_of_initializer_list(self, node: Node) -> int:
        return self._object("", node, node)

    def _object(self, type_name: str, values: Node | None, node: Node) -> int:
        """A temporary object of a class, or a number of a type."""
        given = [each for each in values.named_children if each.type != "comment"] if values is not None else []
        if len(given) == 1 and not self._is_object(type_name) and type_name:
            return self._emit("cast", (self.value(given[0]),), node, type=type_name)
        cell = self._temporary()
        address = self._address_of(cell)
        self._emit("declare", (), node, number=cell)
        self._construct(address, type_name, given, node)
        return self._emit("load", (address,), node)

    def _value_of_lambda_expression(self, node: Node) -> int:
        made = Lowering(self.context, "", self)
        declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        if declarator is not None:
            made.parameters(declarator.child_by_field_name("parameters"))
        by_value, by_reference, default = set(), set(), ""
        captures = node.child_by_field_name("captures")
        for each in captures.named_children if captures is not None else ():
            text = self.text(each).replace(" ", "")
            if each.type == "lambda_default_capture":
                default = text
            elif "=" in text:
                # `[i = threadIdx.x]`: a variable of the lambda's own.
                name, value = text.split("=", 1)[0].strip("&"), each.child_by_field_name("right")
                inner = value if value is not None else (each.named_children[-1] if each.named_children else None)
                cell = self._temporary()
                if inner is not None:
                    self._emit("store", (self._address_of(cell), self.value(inner)), each)
                self._scopes[-1].names.setdefault(name, cell)
            elif text.startswith("&"):
                by_reference.add(text[1:])
            else:
                by_value.add(text)
        if body is not None:
            made.finish(body)
        self.ir.lambdas.append(Lambda(made.ir, frozenset(by_value), frozenset(by_reference), default))
        return self._emit("closure", (), node, number=len(self.ir.lambdas) - 1)

    def _value_of_gnu_asm_expression(self, node: Node) -> int:
        assembly = node.child_by_field_name("assembly_code")
        text = ""
        if assembly is not None:
            text = self.context.text[assembly.start_byte : assembly.end_byte].decode("latin1")
        inputs = []
        operands = node.child_by_field_name("input_operands")
        for each in operands.named_children if operands is not None else ():
            value = each.child_by_field_name("value")
            if value is not None:
                inputs.append(self.value(value))
        own = not _computes(text)
        outputs = node.child_by_field_name("output_operands")
        for each in outputs.named_children if outputs is not None else ():
            value, constraint = each.child_by_field_name("value"), each.child_by_field_name("constraint")
            address = self._address(value) if value is not None else None
            if address is None:
                continue
            read = [*inputs]
            if constraint is not None and "+" in self.text(constraint):
                read.append(self._emit("load", (address,), each))
            made = self._unknown(node, "assembly code reads what each thread has") if own else self._emit("least", read, node)
            self._emit("store", (address, made), each)
        return self._constant(node)

    def _value_of_call_expression(self, node: Node) -> int:
        function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is None or any(each.type == "kernel_call_syntax" for each in node.named_children):
            return self._constant(node)
        values = [each for each in given.named_children if each.type != "comment"] if given is not None else []
        while function.type == "parenthesized_expression" and len(function.named_children) == 1:
            function = function.named_children[0]
        if function.type == "template_function":
            name = function.child_by_field_name("name")
            text = self.text(name) if name is not None else ""
            if text in _CASTS and len(values) == 1:
                types = function.child_by_field_name("arguments")
                return self._emit("cast", (self.value(values[0]),), node, type=self.text(types)[1:-1] if types else "")
        if function.type == "primitive_type" or function.type == "sized_type_specifier":
            return self._object(self.text(function), given, node)
        if function.type in ("field_expression",):
            return self._method(function, values, node)
        if function.type == "dependent_name":
            return self._call(self.text(function), values, node)
        if function.type in ("identifier", "qualified_identifier", "template_function", "type_identifier", "template_type"):
            name = _called(self.text(function))
            address = self._address_of_name(name, function) if function.type == "identifier" else None
            if address is not None:
                callee = self._emit("load", (address,), function)
                self._tell(callee, function)
                registers, kinds = self._given(values)
                return self._emit("indirect", (callee, address, *registers), node, type=kinds, name=name)
            if self.context.is_class(name):
                return self._object(name, given, node)
            if self.context.is_type(name) and len(values) <= 1:
                return self._object(name, given, node)
            return self._call(self.text(function), values, node)
        callee = self.value(function)
        registers, kinds = self._given(values)
        return self._emit("indirect", (callee, callee, *registers), node, type=kinds)

    def _call(self, name: str, values: Sequence[Node], node: Node) -> int:
        registers, kinds = self._given(values)
        operands = registers
        if self._class_around():
            # A method of the same class may be meant.
            return self._emit("call", (self._this(node), *operands), node, name=name, type="t" + kinds)
        return self._emit("call", operands, node, name=name, type=kinds)

    def _method(self, function: Node, values: Sequence[Node], node: Node) -> int:
        base, name = function.child_by_field_name("argument"), function.child_by_field_name("field")
        if base is None or name is None:
            return self._unknown(node, "it is not understood")
        operator = function.child_by_field_name("operator")
        arrow = operator is not None and self.text(operator) == "->"
        if arrow:
            address: int | None = self.value(base)
        else:
            address = self._address(base)
            if address is None:
                cell = self._temporary()
                self._emit("store", (self._address_of(cell), self.value(base)), base)
                address = self._address_of(cell)
        assert address is not None
        registers, kinds = self._given(values)
        text = _called(self.text(name).removeprefix("template").strip())
        return self._emit("method", (address, *registers), node, name=text, type=kinds)

    def _given(self, values: Sequence[Node]) -> tuple[list[int], str]:
        """The registers of arguments, and of each whether it is an address ("a") or a value ("v")."""
        registers, kinds = [], ""
        for each in values:
            address = self._address(each) if each.type not in ("field_expression",) or not self._is_built_in(each) else None
            if address is not None:
                self._tell(self._emit("load", (address,), each), each)
                registers.append(address)
                kinds += "a"
            else:
                registers.append(self.value(each))
                kinds += "v"
        return registers, kinds

    def _is_built_in(self, node: Node) -> bool:
        return BUILT_IN_VARIABLES.fullmatch(re.sub(r"\s+", "", self.text(node)).encode()) is not None

    # ---- addresses

    def _address(self, node: Node) -> int | None:
        """Lower an expression that names a place in memory; return the register of the address, None if it does not."""
        kind = node.type
        if kind == "parenthesized_expression" and len(node.named_children) == 1:
            return self._address(node.named_children[0])
        if kind == "identifier":
            return self._address_of_name(self.text(node), node)
        if kind == "field_expression":
            if self._is_built_in(node):
                return None
            base, name = node.child_by_field_name("argument"), node.child_by_field_name("field")
            operator = node.child_by_field_name("operator")
            if base is None or name is None:
                return self._unknown(node, "it is not understood")
            if operator is not None and self.text(operator) == "->":
                address: int | None = self._emit("target", (self.value(base),), base)
            else:
                address = self._address(base)
                if address is None:
                    cell = self._temporary()
                    self._emit("store", (self._address_of(cell), self.value(base)), base)
                    address = self._address_of(cell)
            assert address is not None
            return self._emit("field", (address,), node, name=self.text(name))
        if kind == "subscript_expression":
            base, indices = node.child_by_field_name("argument"), node.child_by_field_name("indices")
            values = [each for each in indices.named_children if each.type != "comment"] if indices is not None else []
            if base is None or len(values) != 1:
                return self._unknown(node, "it is not understood")
            return self._emit("element", (self._array(base), self.value(values[0])), node)
        if kind == "pointer_expression" and self._sign(node) == "*":
            argument = node.child_by_field_name("argument")
            return self._emit("target", (self.value(argument),), node) if argument is not None else None
        if kind == "assignment_expression":
            left = node.child_by_field_name("left")
            self.value(node)
            return self._address(left) if left is not None else None
        if kind == "call_expression":
            return self._emit("result address", (self.value(node),), node)
        return None

    def _array(self, node: Node) -> int:
        """The address that a subscript counts from: an array's own, what a pointer holds, an object with an operator."""
        address = self._address(node)
        if address is None:
            return self.value(node)
        decayed = self._emit("decay", (address,), node)
        self._tell(decayed, node)
        return decayed


def squeezed(text: str) -> str:
    """A text without blanks, and without parentheses around it."""
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


def _called(text: str) -> str:
    """The last name of what is called, without namespaces and the template's arguments."""
    text = text.partition("<")[0] if not text.startswith("operator") else text
    return text.rpartition("::")[2].strip()


def _class_in(type_name: str) -> str:
    """The name of the class in a type, without qualifiers, namespaces and template arguments."""
    text = re.sub(r"<.*>", "", type_name, flags=re.DOTALL)
    words = [
        word
        for word in re.findall(r"[A-Za-z_]\w*", text.rpartition("::")[2] if "::" in text else text)
        if word not in ("const", "constexpr", "static", "volatile", "struct", "class", "typename", "inline", "register")
    ]
    return words[-1] if words else ""


def _computes(text: str) -> bool:
    """Whether assembly computes with its operands alone."""
    if not text.strip("\" ") and len(text) > 2:
        return False  # What a macro makes is not kept as it is written.
    for piece in re.sub(r"\\\\[nt]|\\[nt]|[\"{}]|\.reg[^;]*;", " ", text).split(";"):
        if not piece.strip():
            continue
        match = _STATEMENT.fullmatch(piece.strip())
        if match is None or _PURE_ASSEMBLY.fullmatch(match[1]) is None or re.search(r"%%?[a-z]", match[2]):
            return False
    return True


def _is_pointer_to_function(node: Node) -> bool:
    inner = node.child_by_field_name("declarator")
    return inner is not None and inner.type == "parenthesized_declarator"


def _identifiers(node: Node | None) -> Iterator[Node]:
    waiting = [node] if node is not None else []
    while waiting:
        each = waiting.pop()
        if each.type in ("identifier", "type_identifier"):
            yield each
        waiting += each.named_children


def _has_effects(node: Node) -> bool:
    """Whether an expression calls or assigns something, so that it matters whether it runs."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.type in ("call_expression", "assignment_expression", "update_expression", "gnu_asm_expression"):
            return True
        waiting += each.named_children
    return False
