# SPDX-License-Identifier: Apache-2.0
"""Lower a function of device code from its syntax tree to hipport.analysis.device_ir.

    ir = lower(node, code, LoweringContext(...))

Code that cannot be lowered becomes an instruction `unknown` with a reason, never nothing: its value is varying. A
function with syntax errors is not lowered at all (`DeviceIR.unread`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hipport.analysis.device_ir import Cell, DeviceIR
from hipport.analysis.functions import declared_parameters
from hipport.analysis.lowered_declarations import LoweredDeclarations
from hipport.analysis.lowered_expressions import returns_place
from hipport.analysis.lowering_state import (
    Jumps,
    LoweringContext,
    NameScope,
    Piece,
    class_in,
    declared_names,
    identifiers,
)

if TYPE_CHECKING:
    from tree_sitter import Node

#: The parser's nodes for an `#endif` in front of a function's type.
_END_OF_CONDITION = frozenset(("#endif", "comment"))
_PREPROCESSOR = frozenset(("preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef", "preproc_else"))
_IGNORED = frozenset(
    """comment preproc_call preproc_def preproc_function_def preproc_include type_definition alias_declaration
    static_assert_declaration using_declaration struct_specifier class_specifier union_specifier enum_specifier
    empty_statement namespace_alias_definition friend_declaration template_declaration ;""".split()
)


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
    kind, outer = node.child_by_field_name("type"), node.child_by_field_name("declarator")
    if kind is not None and outer is not None and outer.type == "function_declarator":
        lowering.ir.returned = lowering.text(kind)
    if _has_error(node, body):
        lowering.ir.unread = ("hipport does not understand its text", context.origin(node.start_byte, node.end_byte))
    if class_name:
        lowering.ir.this = lowering.new_cell(Cell("this", "parameter", class_name, pointer=True))
    lowering.declared = frozenset(map(lowering.text, declared_names(body)))
    lowering.parameters(declarator.child_by_field_name("parameters"))
    if lowering.ir.unread is None:
        initializers = next((each for each in node.named_children if each.type == "field_initializer_list"), None)
        lowering.finish(body, initializers)
    return lowering.ir


def lower_members(
    node: Node, context: LoweringContext, class_name: str, others: frozenset[str] = frozenset()
) -> DeviceIR | None:
    """Lower the default initializers of a class's members, except `others`; None if there are none."""
    lowering = Lowering(context, class_name)
    ir = lowering.ir
    ir.name = f"members of {class_name}"
    body = node.child_by_field_name("body")
    ir.this = lowering.new_cell(Cell("this", "parameter", class_name, pointer=True))
    lowering.begin()
    found = False
    for member in body.named_children if body is not None else ():
        if member.type == "field_declaration":
            found = lowering.default(member, others) or found
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


def _has_error(node: Node, body: Node) -> bool:
    """Whether the text of a function is not understood; an `#endif` in front of its type is."""
    if not node.has_error:
        return False
    return any(
        each.has_error and not (each.type == "ERROR" and each.end_byte <= body.start_byte and _is_directive(each))
        for each in node.children
    )


def _is_directive(node: Node) -> bool:
    return bool(node.children) and all(each.type in _END_OF_CONDITION for each in node.children)


def _returns_reference(node: Node) -> bool:
    """Whether the result of a call is a place: `T &f()`, `auto f() -> T &`, `operator T &()`, `decltype(auto) f()`."""
    declarator, kind = node.child_by_field_name("declarator"), node.child_by_field_name("type")
    if declarator is None:
        return False
    if declarator.type == "operator_cast":
        return any(each.type == "abstract_reference_declarator" for each in declarator.named_children)
    if (
        kind is not None
        and kind.type == "placeholder_type_specifier"
        and any(each.type == "decltype" for each in kind.named_children)
    ):
        return True
    return declarator.type == "reference_declarator" or returns_place(declarator)


class Lowering(LoweredDeclarations):
    """The lowering of one function or lambda."""

    def parameters(self, node: Node | None) -> None:
        """Add the parameters."""
        for each in declared_parameters(node, self.context.code):
            if each.type not in (
                "parameter_declaration",
                "optional_parameter_declaration",
                "variadic_parameter_declaration",
            ):
                continue
            declarator = each.child_by_field_name("declarator")
            piece = self._piece(declarator) if declarator is not None else Piece("", False, 0, False, ())
            kind = "reference" if piece.reference else "parameter"
            type_name = self._type_of(each)
            if each.type == "variadic_parameter_declaration":
                kind = "pack"
            pointer = piece.pointer or (piece.array > 0 and not piece.reference)
            default = each.child_by_field_name("default_value")
            if default is not None:
                self._defaults.append((len(self.ir.cells), default))
            pack = kind == "pack" and piece.reference
            kind = "reference" if pack else kind
            self.new_cell(Cell(piece.name, kind, type_name, 0, "volatile" in type_name, pointer, pack))
            self.ir.parameters += 1

    def finish(self, body: Node, initializers: Node | None = None) -> None:
        """Lower the body, preceded by the initializers of a constructor."""
        self.begin()
        for cell, default in self._defaults:
            self._emit("default", (self._address_of(cell), self.value(default)), default, number=cell)
        listed = initializers.named_children if initializers is not None else []
        for each in listed:
            self._initialize_member(each)
        if listed and self.ir.this >= 0 and self.context.has_defaults(self.ir.class_name):
            # Default initializers of members may use members that the list initializes, and vice versa.
            this = self._emit("load", (self._address_of(self.ir.this),), body)
            names = " ".join(self.text(each.named_children[0]) for each in listed if each.named_children)
            self._emit("defaults", (this,), body, name=self.ir.class_name, type=names)
            for each in listed:
                self._initialize_member(each)
        self.statement(body)
        self.end()

    def begin(self) -> None:
        """Create the cell of the result, and the exit block."""
        self.ir.result = self._temporary()
        self.ir.exit = self._new_block()

    def end(self) -> None:
        """Leave the function at the end of its text."""
        self._jump(self.ir.exit)

    def default(self, member: Node, others: frozenset[str]) -> bool:
        """Lower the default initializers in a declaration of members, except `others`; return whether there are any."""
        found = False
        names = [self._piece(each).name for each in member.children_by_field_name("declarator")]
        values = member.children_by_field_name("default_value")
        for name, value in zip(names[-len(values) :] if values else [], values, strict=False):
            if name in others:
                continue
            this = self._emit("load", (self._address_of(self.ir.this),), member)
            target = self._emit("member", (this,), member, name=name)
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
            target = self._emit("member", (this,), node, name=self.text(name))
            if len(values) == 1:
                address = self._address(values[0])
                value = self.value(values[0])
                self._emit("initialize", (target, value, *(() if address is None else (address,))), node)
            else:
                self._construct(target, "", values, node)
        else:
            # A base, or a delegated constructor.
            registers, kinds = self._given(values)
            self._emit("construct", (this, *registers), node, name=class_in(self.text(name)), type=kinds)

    def statement(self, node: Node) -> None:
        """Lower a statement in the current block."""
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
            self._havoc(node, f"hipport does not follow a `{node.type.replace('_', ' ')}`")

    def _statements(self, nodes: Iterable[Node]) -> None:
        for each in nodes:
            self.statement(each)

    def _lower_compound_statement(self, node: Node) -> None:
        self._scopes.append(NameScope())
        self._statements(node.named_children)
        self._end_scope()

    def _lower_expression_statement(self, node: Node) -> None:
        if self._declares_misread(node) or self._declares_in_parentheses(node):
            return
        for each in node.named_children:
            if each.type != "comment" and not self._may_leave(each):
                self.value(each)
        self._end_unnamed()

    def _may_leave(self, node: Node) -> bool:
        """Lower a macro that is not seen: it may change the variables that it names, and leave the loop or function."""
        called = node.child_by_field_name("function") if node.type == "call_expression" else node
        if called is None or called.type != "identifier":
            return False
        name = self.text(called)
        if self._address_of_name(name, called) is not None or not self.context.may_leave(name):
            return False
        why = f"hipport does not see the macro {name}"
        given = node.child_by_field_name("arguments") if node.type == "call_expression" else None
        for each in given.named_children if given is not None else ():
            self.value(each)
            if self._is_place(each):
                address = self._address(each)
                if address is not None:
                    self._emit("store", (address, self._unknown(each, why)), each)
        jumps = self._jumps[-1]
        for target in (jumps.to_break, jumps.to_continue, self.ir.exit):
            if target is None:
                continue
            leaves, stays = self._new_block(), self._new_block()
            self._branch(self._unknown(node, why), leaves, stays, node)
            self._at = leaves
            if target == self.ir.exit:
                made = self._unknown(node, why)
                if self.ir.returns_reference:
                    self._emit("return address", (made,), node)
                self._emit("store", (self._address_of(self.ir.result), made), node)
            self._jump(target)
            self._at = stays
        return True

    def _lower_init_statement(self, node: Node) -> None:
        self._statements(node.named_children)

    def _lower_attributed_statement(self, node: Node) -> None:
        self._statements(each for each in node.named_children if each.type != "attribute_declaration")

    def _lower_linkage_specification(self, node: Node) -> None:
        self._statements(node.named_children)

    def _lower_conditional(self, node: Node) -> None:
        """Branch to either side of an `#if`, whichever the build selects: the same for all threads."""
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
        self._scopes.append(NameScope())
        condition = node.child_by_field_name("condition")
        yes, no, after = self._new_block(), self._new_block(), self._new_block()
        if condition is None:
            self._branch(self._unknown(node, "hipport does not understand its condition"), yes, no, node)
        elif any(each.type == "constexpr" for each in node.children):
            self._constant_condition(condition, yes, no)
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
        self._end_scope()

    def _lower_else_clause(self, node: Node) -> None:
        self._statements(node.named_children)

    def _scoped(self, node: Node) -> None:
        self._scopes.append(NameScope())
        self.statement(node)
        self._end_scope()

    def _condition(self, node: Node, yes: int, no: int) -> None:
        """Lower a condition of `if` or a loop: `init; declaration or expression`."""
        asked = self._initialized(node)
        if asked is None:
            self._branch(self._unknown(node, "hipport does not understand its condition"), yes, no, node)
        elif asked.type == "declaration":
            self._branch(self._declared_value(asked), yes, no, asked)
        else:
            self._decide(asked, yes, no)

    def _constant_condition(self, node: Node, yes: int, no: int) -> None:
        """Lower a condition of `if constexpr`: whatever it is made of, it is the same for all threads."""
        asked, said = self._initialized(node), len(self.ir.expressions)
        if asked is None or asked.type == "declaration":
            self._condition(node, yes, no)
            return
        made = self._emit("cast", (self.value(asked),), asked, name="constant")
        self.ir.expressions[said:] = [each for each in self.ir.expressions[said:] if each.span != self.span(asked)]
        self._tell(made, asked)
        self._branch(made, yes, no, asked)

    def _asked(self, node: Node) -> int:
        """Lower the condition of a `switch`; return its value."""
        asked = self._initialized(node)
        if asked is None:
            return self._unknown(node, "it is not understood")
        return self._declared_value(asked) if asked.type == "declaration" else self.value(asked)

    def _initialized(self, node: Node) -> Node | None:
        """Lower the first part of a condition, if it has two; return the second one."""
        if node.type != "condition_clause":
            return node
        initializer = node.child_by_field_name("initializer")
        if initializer is not None:
            self.statement(initializer)
        return node.child_by_field_name("value")

    def _declared_value(self, node: Node) -> int:
        """Lower the declaration of a condition; return the value of its variable."""
        self.statement(node)
        declarator = node.child_by_field_name("declarator")
        name = self._piece(declarator).name if declarator is not None else ""
        cell = self._cell_named(name)
        return self._read_cell(cell, node) if cell is not None else self._unknown(node, "it is not understood")

    def _value_of_compound_statement(self, node: Node) -> int:
        """`({ int x = f(); x + 1; })`: the value of the last statement."""
        self._scopes.append(NameScope())
        statements = [each for each in node.named_children if each.type != "comment"]
        last = statements[-1] if statements else None
        asked = last.named_children if last is not None and last.type == "expression_statement" else []
        self._statements(statements[:-1] if asked else statements)
        made = self.value(asked[0]) if asked else self._constant(node)
        self._end_scope()
        return made

    def _loop(self, node: Node, condition: Node | None, update: Node | None, *, first: bool) -> None:
        """Lower a loop; `first`: the body runs before the condition is tested."""
        test, body, step, after = (self._new_block() for _ in range(4))
        self._jump(body if first else test)
        self._at = test
        if condition is None:
            self._jump(body)
        else:
            self._condition(condition, body, after)
        self._at = body
        self._repeated(node, step, after)
        if update is not None:
            self.value(update)
        self._jump(test)
        self._at = after

    def _repeated(self, node: Node, step: int, after: int) -> None:
        """Lower the body of a loop, up to the block `step`, which `continue` leads to; `break` leads to `after`."""
        self._jumps.append(Jumps(after, step, len(self._scopes)))
        statement = node.child_by_field_name("body")
        if statement is not None:
            self._scoped(statement)
        self._jumps.pop()
        self._jump(step)
        self._at = step

    def _lower_while_statement(self, node: Node) -> None:
        self._scopes.append(NameScope())
        self._loop(node, node.child_by_field_name("condition"), None, first=False)
        self._end_scope()

    def _lower_do_statement(self, node: Node) -> None:
        self._loop(node, node.child_by_field_name("condition"), None, first=True)

    def _lower_for_statement(self, node: Node) -> None:
        self._scopes.append(NameScope())
        initializer = node.child_by_field_name("initializer")
        if initializer is not None:
            self.statement(initializer)
        self._loop(node, node.child_by_field_name("condition"), node.child_by_field_name("update"), first=False)
        self._end_scope()

    def _lower_for_range_loop(self, node: Node) -> None:
        over, declarator = node.child_by_field_name("right"), node.child_by_field_name("declarator")
        if over is None or declarator is None:
            self._havoc(node, "hipport does not understand its range")
            return
        self._scopes.append(NameScope())
        piece = self._piece(declarator)
        if self._is_own_range(over):
            self._lower_own_range(node, over, piece)
            self._end_scope()
            return
        address = self._address(over)
        if address is None:
            cell = self._temporary()
            self._emit("store", (self._address_of(cell), self.value(over)), over)
            address = self._address_of(cell)
        self._tell(self._emit("load", (address,), over), over)
        test, body, after = self._new_block(), self._new_block(), self._new_block()
        self._jump(test)
        self._at = test
        # The number of elements is uniform if the object is, which its own cell says.
        self._branch(self._emit("length", (address,), over), body, after, over)
        self._at = body
        element = self._emit("element", (address, self._emit("constant", (), node)), over)
        for position, name in enumerate(piece.names or (piece.name,)):
            kind = "reference" if piece.reference else "local"
            made = self.new_cell(Cell(name, kind, self._type_of(node)))
            part = self._emit("nth", (element,), node, number=position) if piece.names else element
            stored = part if piece.reference else self._emit("load", (part,), node)
            self._emit("bind" if piece.reference else "store", (self._address_of(made), stored), node)
        self._repeated(node, test, after)
        self._at = after
        self._end_scope()

    def _is_own_range(self, node: Node) -> bool:
        """Whether a variable is an object with its own iterators."""
        cell = self._cell_named(self.text(node)) if node.type == "identifier" else None
        if cell is None:
            return False
        of = self.ir.cells[cell]
        return self._is_object(of.type) and not of.array and not of.pointer

    def _lower_own_range(self, node: Node, over: Node, piece: Piece) -> None:
        """`for (T x : object)`: from the result of `begin` to that of `end`."""
        address = self._address(over)
        assert address is not None
        ends = []
        for name in ("begin", "end"):
            cell = self._temporary()
            self._emit("store", (self._address_of(cell), self._emit("method", (address,), over, name=name)), over)
            ends.append(cell)
        test, body, step, after = (self._new_block() for _ in range(4))
        self._jump(test)
        self._at = test
        places = [self._address_of(cell) for cell in ends]
        values = [self._emit("load", (place,), over) for place in places]
        asked = self._emit("binary", (*values, *places), over, name="!=", type="aa")
        self._branch(self._emit("cast", (asked,), over, type="bool"), body, after, over)
        self._at = body
        place = self._address_of(ends[0])
        element = self._emit("target", (self._emit("load", (place,), over), place), over, name="*")
        made = self.new_cell(Cell(piece.name, "reference" if piece.reference else "local", self._type_of(node)))
        if piece.names:
            self._emit("store", (self._address_of(made), self._emit("load", (element,), over)), node)
            for position, name in enumerate(piece.names):
                part = self._emit("nth", (self._address_of(made),), node, number=position)
                bound = self.new_cell(Cell(name, "local"))
                self._emit("store", (self._address_of(bound), self._emit("load", (part,), node)), node)
        elif piece.reference:
            self._emit("bind", (self._address_of(made), element), node)
        else:
            self._emit("store", (self._address_of(made), self._emit("load", (element,), over)), node)
        self._repeated(node, step, after)
        one = self._emit("constant", (), node, number=1)
        self._emit("compound", (self._address_of(ends[0]), one), node, name="++")
        self._jump(test)
        self._at = after

    def _lower_switch_statement(self, node: Node) -> None:
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        if condition is None or body is None:
            self._havoc(node, "it is not understood")
            return
        self._scopes.append(NameScope())
        asked = self._asked(condition)
        # An object is converted to a number by its own conversion.
        asked = self._emit("cast", (asked,), condition, type="int")
        self._end_unnamed()
        start, after = self._at, self._new_block()
        outer = self._jumps[-1]
        self._jumps.append(Jumps(after, outer.to_continue, len(self._scopes), outer.continued))
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
        self._end_scope()

    def _lower_case_statement(self, node: Node) -> None:
        # In nested blocks of a switch, as in Duff's device: not followed.
        self.ir.unread = ("hipport does not follow a `case` within another statement", self.span(node))

    def _leave(self, to: int | None, node: Node) -> None:
        if to is None:
            self.ir.unread = ("it leaves a statement that is not seen", self.span(node))
            return
        self._jump(to)
        self._at = self._new_block()

    def _lower_break_statement(self, node: Node) -> None:
        self._end_cells(self._cells_from(self._jumps[-1].scopes))
        self._leave(self._jumps[-1].to_break, node)

    def _lower_continue_statement(self, node: Node) -> None:
        jumps = self._jumps[-1]
        self._end_cells(self._cells_from(jumps.scopes if jumps.continued is None else jumps.continued))
        self._leave(jumps.to_continue, node)

    def _lower_return_statement(self, node: Node) -> None:
        values = [each for each in node.named_children if each.type != "comment"]
        if values:
            address = self._address_of(self.ir.result)
            stored = self._address(values[0]) if values[0].type != "initializer_list" else None
            read = self._emit("load", (stored,), values[0]) if stored is not None else self.value(values[0])
            if stored is not None:
                # The result of a function that returns a reference is an address.
                self._emit("return address", (stored,), node)
            self._emit("store", (address, read), node)
        self._end_unnamed()
        self._end_cells(self._cells_from(0))
        self._jump(self.ir.exit)
        self._at = self._new_block()

    def _lower_goto_statement(self, node: Node) -> None:
        label = node.child_by_field_name("label")
        name = self.text(label) if label is not None else ""
        cells = self._cells_from(0)
        if name in self._at_labels:
            self._end_cells([cell for cell in cells if cell not in self._at_labels[name]])
        else:
            self._left.setdefault(name, []).append((self._at, cells))
        self._leave(self._label(name) if label is not None else None, node)

    def _lower_labeled_statement(self, node: Node) -> None:
        label = node.child_by_field_name("label")
        if label is not None:
            name = self.text(label)
            to = self._label(name)
            self._jump(to)
            alive = self._at_labels[name] = self._cells_from(0)
            for block, cells in self._left.pop(name, ()):
                self._at = block
                self._end_cells([cell for cell in cells if cell not in alive])
            self._at = to
        self._statements(each for each in node.named_children if label is None or each.id != label.id)

    def _label(self, name: str) -> int:
        if name not in self._labels:
            self._labels[name] = self._new_block()
        return self._labels[name]

    def _lower_function_definition(self, node: Node) -> None:
        """`LOOP(i, n) { … }` with an unseen macro is parsed as a function: its names are unknown."""
        declarator, body = _function_declarator(node), node.child_by_field_name("body")
        if declarator is None or body is None:
            self._havoc(node, "it is not understood")
            return
        name = declarator.child_by_field_name("declarator")
        macro = self.text(name) if name is not None else "a macro"
        self._scopes.append(NameScope())
        for each in identifiers(declarator.child_by_field_name("parameters")):
            word = self.text(each)
            if self._cell_named(word) is None:
                cell = self.new_cell(Cell(word, "local"))
                reason = self._unknown(each, f"hipport does not see {macro}, which declares {word}")
                self._emit("store", (self._address_of(cell), reason), each)
        test, inner, after = self._new_block(), self._new_block(), self._new_block()
        self._jump(test)
        self._at = test
        self._branch(self._unknown(node, f"{macro} is not seen"), inner, after, declarator)
        self._at = inner
        self._repeated(node, test, after)
        self._at = after
        self._end_scope()
