# SPDX-License-Identifier: Apache-2.0
"""Lower expressions of device code: values and addresses, calls, lambdas, assembly."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hipport.analysis.built_ins import BUILT_IN_VARIABLES
from hipport.analysis.device_ir import Lambda
from hipport.analysis.lowering_state import LoweringState, NameScope, called, class_in, identifiers, without_arguments
from hipport.core.tables import load, one_of

if TYPE_CHECKING:
    from tree_sitter import Node

_CASTS = frozenset(("static_cast", "reinterpret_cast", "const_cast", "dynamic_cast", "bit_cast"))
_NUMBER = re.compile(r"0[xX][0-9a-fA-F']+|0[bB][01']+|\d[\d']*")
_EFFECTS = frozenset(
    ("call_expression", "assignment_expression", "update_expression", "gnu_asm_expression", "compound_statement")
)
_WRAPPERS = frozenset(("parenthesized_expression", "condition_clause"))
#: Variables outside functions, which have no cells.
_OUTSIDE = frozenset(("identifier", "qualified_identifier"))
_PURE_ASSEMBLY = re.compile(
    one_of(load(Path(__file__).with_name("pure_functions.toml"))["instructions"]["pure"]) + r"(?:\.\w+)*"
)
_STATEMENT = re.compile(r"(?:@!?\w+\s+)?([a-z]\w*(?:\.\w+)*)\s+([^;]*)")


class LoweredExpressions(LoweringState):
    """The lowering of expressions."""

    def parameters(self, node: Node | None) -> None:
        """Add the parameters of a function."""
        raise NotImplementedError

    def finish(self, body: Node, initializers: Node | None = None) -> None:
        """Lower the body of a function."""
        raise NotImplementedError

    def _havoc(self, node: Node, why: str) -> None:
        """Record that nothing is known any more of the variables that a statement names."""
        for each in identifiers(node):
            cell = self._cell_named(self.text(each))
            if cell is not None:
                self._emit("store", (self._address_of(cell), self._unknown(each, why)), each)

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
        # An object is converted to bool by its own conversion.
        decided = self._emit("cast", (condition,), node, type="bool")
        self._end_unnamed()
        self._branch(decided, yes, no, node)
        return condition

    def _construct(self, address: int, type_name: str, values: Sequence[Node], node: Node) -> None:
        registers, kinds = self._given(values)
        self._emit("construct", (address, *registers), node, name=class_in(type_name), type=kinds)

    def value(self, node: Node) -> int:
        """Lower an expression; return the register of its value."""
        register = self._value(node)
        self._tell(register, node)
        return register

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
        why = f"hipport does not follow `{self.text(node)[:40]}`"
        self._havoc(node, why)
        return self._unknown(node, why)

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
    _value_of_sizeof_expression = _value_of_alignof_expression = _constant
    _value_of_concatenated_string = _value_of_raw_string_literal = _value_of_requires_expression = _constant
    _value_of_type_descriptor = _constant

    def _value_of_user_defined_literal(self, node: Node) -> int:
        suffix = node.named_children[-1] if node.named_children else None
        name = f'""{self.text(suffix)}' if suffix is not None else ""
        if suffix is None or not self.context.has_operator(name):
            return self._constant(node)
        return self._emit("call", (self.value(node.named_children[0]),), node, name=f"operator{name}", type="v")

    def _value_of_parameter_pack_expansion(self, node: Node) -> int:
        pattern = node.child_by_field_name("pattern")
        if pattern is None:
            return self._unknown(node, "it is not understood")
        return self._emit("least", (self.value(pattern),), node)

    def _value_of_this(self, node: Node) -> int:
        return self._this(node)

    def _value_of_identifier(self, node: Node) -> int:
        name = self.text(node)
        address = self._address_of_name(name, node)
        if address is not None:
            return self._emit("load", (address,), node)
        if name in self.declared:
            return self._unknown(node, f"hipport does not follow the declaration of {name}")
        return self._emit("name", (), node, name=name)

    def _value_of_qualified_identifier(self, node: Node) -> int:
        address = self._address_of_member(node)
        if address is not None:
            return self._emit("load", (address,), node)
        return self._emit("name", (), node, name=self.text(node))

    def _value_of_template_function(self, node: Node) -> int:
        return self._emit("name", (), node, name=self.text(node))

    def _address_of_member(self, node: Node) -> int | None:
        """The place of `Base::x`, if that is a member of the object; None for one of a namespace, or a static one."""
        scope, _, name = without_arguments(self.text(node)).rpartition("::")
        name, around, of = name.strip(), self._class_around(), called(scope)
        if not of:
            return None
        if self.context.fields_of(of) is not None:
            if not self.context.is_member(of, name):
                return None
        elif not around or not self.context.is_member(around, name):
            return None
        if not around or not self.context.is_base(around, of):
            return self._unknown(node, f"{name} is a member of an object that hipport does not follow")
        return self._emit("field", (self._this(node),), node, name=name)

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
        return self._emit("unary", self._with_address(argument), node, name=self._sign(node))

    def _value_of_pointer_expression(self, node: Node) -> int:
        argument = node.child_by_field_name("argument")
        if argument is None:
            return self._unknown(node, "it is not understood")
        if self._sign(node) == "&":
            if argument.type == "qualified_identifier":
                return self._emit("name", (), node, name=self.text(argument))  # Perhaps a pointer to a member.
            address = self._address(argument)
            if address is not None and self.context.has_operator("&"):
                value = self._emit("load", (address,), argument)
                return self._emit("unary", (value, address), node, name="&")
            return address if address is not None else self.value(argument)
        address = self._address(node)
        assert address is not None
        return self._emit("load", (address,), node)

    def _value_of_update_expression(self, node: Node) -> int:
        argument = node.child_by_field_name("argument")
        address = self._address(argument) if argument is not None else None
        if address is None and argument is not None and argument.type in _OUTSIDE:
            value = self.value(argument)
            self._emit("outside", (value,), node, name=self.text(argument))
            return value
        if address is None or argument is None:
            return self._unknown(node, "it is not understood")
        before = self._emit("load", (address,), argument)
        one = self._emit("constant", (), node, number=1)
        after = self._emit("compound", (address, one), node, name="++" if "++" in self._sign(node) else "--")
        self._tell(after, argument)
        operator = node.child_by_field_name("operator")
        prefix = operator is not None and operator.start_byte < argument.start_byte
        return after if prefix else before

    def _value_of_binary_expression(self, node: Node) -> int:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = {"and": "&&", "or": "||", "not_eq": "!=", "bitand": "&", "bitor": "|", "xor": "^"}.get(
            self._sign(node), self._sign(node)
        )
        if left is None or right is None:
            return self._unknown(node, "it is not understood")
        if sign in ("&&", "||") and _has_effects(right):
            return self._chosen(node, lambda yes, no: self._decide(node, yes, no), None, None)
        return self._binary_of(node, sign, left, right)

    def _binary_of(self, node: Node, sign: str, left: Node, right: Node) -> int:
        one, two = self.value(left), self.value(right)
        if not self.context.has_operator(sign):
            return self._emit("binary", (one, two), node, name=sign)
        # An operator of a class may change its operands.
        places = [self._place_beside(each, value) for each, value in ((left, one), (right, two))]
        operands = [
            one,
            two,
            *(value if place is None else place for value, place in zip((one, two), places, strict=True)),
        ]
        kinds = "".join("v" if place is None else "a" for place in places)
        return self._emit("binary", operands, node, name=sign, type=kinds)

    def _place_beside(self, node: Node, register: int) -> int | None:
        """The place that an expression names, if it has one; `register` is its lowered value."""
        while node.type == "parenthesized_expression" and len(node.named_children) == 1:
            node = node.named_children[0]
        if node.type in ("call_expression", "binary_expression"):
            return self._emit("result address", (register,), node)
        return self._address_beside(node)

    def _address_beside(self, node: Node) -> int | None:
        """The address of an expression whose value was lowered right before.

        What was loaded from an address is not lowered twice: chains of `->` would take exponential time.
        """
        loaded = node.type in ("field_expression", "subscript_expression") or (
            node.type == "pointer_expression" and self._sign(node) == "*"
        )
        return self._addresses[node] if loaded and node in self._addresses else self._address(node)

    def _value_of_fold_expression(self, node: Node) -> int:
        parts = [self.value(each) for each in node.named_children if each.type != "comment"]
        return self._emit("least", parts, node)

    def _value_of_conditional_expression(self, node: Node) -> int:
        condition = node.child_by_field_name("condition")
        yes, no = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        if condition is None or no is None:
            return self._unknown(node, "it is not understood")
        return self._chosen(node, lambda to, other: self._decide(condition, to, other), yes, no)

    def _chosen(
        self,
        node: Node,
        decide: Callable[[int, int], int],
        yes: Node | None,
        no: Node | None,
        lower: Callable[[Node], int] | None = None,
    ) -> int:
        """Lower a conditional value: the sides by `lower`, or else 1 and 0."""
        cell = self._temporary("choice")
        one, two, after = self._new_block(), self._new_block(), self._new_block()
        decide(one, two)
        for block, given, number in ((one, yes, 1), (two, no, 0)):
            self._at = block
            lowered = (lower or self.value)(given) if given is not None else None
            made = lowered if lowered is not None else self._emit("constant", (), node, number=number)
            self._emit("store", (self._address_of(cell), made), node)
            self._jump(after)
        self._at = after
        return self._emit("load", (self._address_of(cell),), node)

    def _value_of_comma_expression(self, node: Node) -> int:
        if self.context.has_operator(",") and len(node.named_children) == 2:
            return self._binary_of(node, ",", *node.named_children)
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
            self._havoc(left, "hipport does not follow how it gets its value")
            if left.type in _OUTSIDE:
                self._emit("outside", (made,), node, name=self.text(left))
            return made
        if sign != "=":
            made = self._emit("compound", (address, made), node, name=sign)
        else:
            self._emit("assign", (address, made), node)
        self._tell(self._emit("load", (address,), left), left)
        return made

    def _value_of_cast_expression(self, node: Node) -> int:
        value, type_node = node.child_by_field_name("value"), node.child_by_field_name("type")
        named = type_node.child_by_field_name("type") if type_node is not None else None
        word = self.text(named) if named is not None else ""
        if value is None or self._cell_named(word) is not None or self._captured(word) is not None:
            return self._unknown(node, "it is not understood")
        if type_node is not None and _names_function(type_node):
            return self._unknown(node, "it is no cast: nothing is converted to a function")
        return self._emit(
            "cast", (self.value(value),), node, type=self.text(type_node) if type_node is not None else ""
        )

    def _value_of_compound_literal_expression(self, node: Node) -> int:
        type_node, values = node.child_by_field_name("type"), node.child_by_field_name("value")
        return self._object(self.text(type_node) if type_node is not None else "", values, node)

    def _value_of_initializer_list(self, node: Node) -> int:
        return self._object("", node, node)

    def _object(self, type_name: str, values: Node | None, node: Node) -> int:
        """A temporary object of a class, or a number converted to a type."""
        given = [each for each in values.named_children if each.type != "comment"] if values is not None else []
        if len(given) == 1 and not self._is_object(type_name) and type_name:
            return self._emit("cast", (self.value(given[0]),), node, type=type_name)
        cell = self._temporary(type_name=type_name if self._is_object(type_name) else "")
        address = self._address_of(cell)
        self._emit("declare", (), node, number=cell)
        if self._is_object(type_name):
            self._emit("store", (address, self._emit("constant", (), node, number=0)), node)
        self._construct(address, type_name, given, node)
        if self._is_object(type_name) and self.context.destroys():
            self._unnamed.append(cell)
        return self._emit("load", (address,), node)

    def _value_of_lambda_expression(self, node: Node) -> int:
        made = type(self)(self.context, "", self)
        declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        if declarator is not None:
            made.parameters(declarator.child_by_field_name("parameters"))
        by_value, by_reference, default = set(), set(), ""
        captures = node.child_by_field_name("captures")
        own: dict[str, int] = {}
        is_reference = False
        for each in captures.children if captures is not None else ():
            text = self.text(each).replace(" ", "")
            if each.type in ("&", ",", "["):
                is_reference = each.type == "&"
            elif each.type == "lambda_default_capture":
                default = text
            elif each.type == "lambda_capture_initializer":
                # `[i = threadIdx.x]`: a variable of the lambda.
                name = each.child_by_field_name("left") or each.named_children[0]
                value = each.child_by_field_name("right") or each.named_children[-1]
                own[self.text(name).strip("& ")] = self._captured_as(value, is_reference or text.startswith("&"))
            elif text.startswith("&") or is_reference:
                by_reference.add(text.removeprefix("&"))
            elif each.is_named:
                by_value.add(text)
        self._scopes.append(NameScope(own))
        made.ir.returns_reference = declarator is not None and returns_place(declarator)
        if body is not None:
            made.finish(body)
        self._scopes.pop()
        self.ir.lambdas.append(Lambda(made.ir, frozenset(by_value), frozenset(by_reference), default))
        return self._emit("closure", (), node, number=len(self.ir.lambdas) - 1)

    def _captured_as(self, value: Node, is_reference: bool) -> int:
        """A variable for a capture with initializer."""
        address = self._address(value) if is_reference else None
        if address is None:
            cell = self._temporary()
            self._emit("store", (self._address_of(cell), self.value(value)), value)
            return cell
        cell = self._temporary("reference")
        self._emit("bind", (self._address_of(cell), address), value)
        return cell

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
        own, written = not _computes(text), False
        outputs = node.child_by_field_name("output_operands")
        for each in outputs.named_children if outputs is not None else ():
            value, constraint = each.child_by_field_name("value"), each.child_by_field_name("constraint")
            address = self._address(value) if value is not None else None
            if address is None:
                continue
            read = [*inputs]
            if constraint is not None and "+" in self.text(constraint):
                read.append(self._emit("load", (address,), each))
            made = self._emit("assembly" if own else "least", read, node, name=text if own else "")
            self._emit("store", (address, made), each)
            written = True
        if own and not written:
            self._emit("assembly", inputs, node, name=text)
        return self._constant(node)

    def _value_of_call_expression(self, node: Node) -> int:
        function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is None or any(each.type == "kernel_call_syntax" for each in node.named_children):
            return self._constant(node)
        values = [each for each in given.named_children if each.type != "comment"] if given is not None else []
        while function.type == "parenthesized_expression" and len(function.named_children) == 1:
            function = function.named_children[0]
        if function.type == "template_function":
            named = function.child_by_field_name("name")
            text = self.text(named) if named is not None else ""
            if text in _CASTS and len(values) == 1:
                types = function.child_by_field_name("arguments")
                return self._emit("cast", (self.value(values[0]),), node, type=self.text(types)[1:-1] if types else "")
        if function.type == "primitive_type" or function.type == "sized_type_specifier":
            return self._object(self.text(function), given, node)
        if function.type in ("field_expression",):
            return self._method(function, values, node)
        if function.type == "dependent_name":
            return self._call(self.text(function), values, node)
        if function.type in (
            "identifier",
            "qualified_identifier",
            "template_function",
            "type_identifier",
            "template_type",
        ):
            name = called(self.text(function))
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
            # It may be a method of the same class.
            return self._emit("call", (self._this(node), *operands), node, name=name, type="t" + kinds)
        return self._emit("call", operands, node, name=name, type=kinds)

    def _method(self, function: Node, values: Sequence[Node], node: Node) -> int:
        base, name = function.child_by_field_name("argument"), function.child_by_field_name("field")
        if base is None or name is None:
            return self._unknown(node, "it is not understood")
        address = self._address_of_base(function, base)
        registers, kinds = self._given(values)
        text = called(self.text(name).removeprefix("template").strip())
        return self._emit("method", (address, *registers), node, name=text, type=kinds)

    def _address_of_base(self, member: Node, base: Node) -> int:
        """The address of the object of a member access; a value without an address gets one."""
        operator = member.child_by_field_name("operator")
        if operator is not None and self.text(operator) == "->":
            return self._emit("target", self._with_address(base), base, name="->")
        address = self._address(base)
        if address is None:
            address = self._address_of(self._temporary())
            self._emit("store", (address, self.value(base)), base)
        return address

    def _given(self, values: Sequence[Node]) -> tuple[list[int], str]:
        """The registers of arguments, and for each whether it is an address ("a") or a value ("v")."""
        registers, kinds = [], ""
        for each in values:
            address = (
                self._address(each) if each.type not in ("field_expression",) or not self._is_built_in(each) else None
            )
            if address is not None:
                self._tell(self._emit("load", (address,), each), each)
                registers.append(address)
                kinds += "a"
            else:
                registers.append(self.value(each))
                kinds += "v"
        return registers, kinds

    def _with_address(self, node: Node) -> tuple[int, ...]:
        """The value of an operand, and its address if it has one, because an operator of its class may change it."""
        value = self.value(node)
        has = node.type in ("identifier", "field_expression", "subscript_expression")
        address = self._address_beside(node) if has else None
        return (value,) if address is None else (value, address)

    def _is_built_in(self, node: Node) -> bool:
        return BUILT_IN_VARIABLES.fullmatch(re.sub(r"\s+", "", self.text(node)).encode()) is not None

    def _address(self, node: Node) -> int | None:
        """Lower an expression that names a place in memory; return the register of its address, or None."""
        address = self._addresses[node] = self._lower_address(node)
        return address

    def _lower_address(self, node: Node) -> int | None:
        kind = node.type
        if kind == "parenthesized_expression" and len(node.named_children) == 1:
            return self._address(node.named_children[0])
        if kind == "identifier":
            return self._address_of_name(self.text(node), node)
        if kind == "field_expression":
            if self._is_built_in(node):
                return None
            base, name = node.child_by_field_name("argument"), node.child_by_field_name("field")
            if base is None or name is None:
                return self._unknown(node, "it is not understood")
            address = self._address_of_base(node, base)
            if b"*" in self.context.code[base.end_byte : name.start_byte]:
                # `s.*p`: the value of `p` selects the member.
                member = self._address_of_name(self.text(name), node)
                chosen = (
                    self._emit("load", (member,), node) if member is not None else self._unknown(node, "it is not seen")
                )
                return self._emit("element", (address, self._emit("least", (chosen,), node)), node)
            if base.type == "identifier":
                self._tell(self._emit("load", (address,), base), base)
            return self._emit("field", (address,), node, name=called(self.text(name)))
        if kind == "qualified_identifier":
            return self._address_of_member(node)
        if kind == "subscript_expression":
            base, indices = node.child_by_field_name("argument"), node.child_by_field_name("indices")
            values = [each for each in indices.named_children if each.type != "comment"] if indices is not None else []
            if base is None or len(values) != 1:
                return self._unknown(node, "it is not understood")
            if base.type == "number_literal":
                base, values = values[0], [base]  # `2[a]`
            return self._emit("element", (self._array(base), self.value(values[0])), node)
        if kind == "pointer_expression" and self._sign(node) == "*":
            argument = node.child_by_field_name("argument")
            return self._emit("target", self._with_address(argument), node, name="*") if argument is not None else None
        return self._address_of_result(node)

    def _address_of_result(self, node: Node) -> int | None:
        """The place named by an assignment, a comma expression, a conditional or a call."""
        kind = node.type
        if kind == "conditional_expression":
            return self._address_of_choice(node)
        if kind == "assignment_expression":
            left = node.child_by_field_name("left")
            self.value(node)
            return self._addresses.get(left) if left is not None else None
        if kind == "update_expression" and self.text(node)[:1] in "+-":
            argument = node.child_by_field_name("argument")
            self.value(node)
            return self._addresses.get(argument) if argument is not None else None
        if kind == "binary_expression" and self.context.has_operator(self._sign(node)):
            return self._emit("result address", (self.value(node),), node)
        if kind == "comma_expression" and not self.context.has_operator(","):
            parts = [each for each in node.named_children if each.type != "comment"]
            for each in parts[:-1]:
                self.value(each)
            return self._address(parts[-1]) if parts else None
        if kind == "call_expression":
            function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
            if function is not None and given is not None and len(given.named_children) == 1:
                text = self.text(function)
                if called(text) in _CASTS and text.rstrip().endswith("&>"):
                    return self._address(given.named_children[0])
            return self._emit("result address", (self.value(node),), node)
        return None

    def _address_of_choice(self, node: Node) -> int | None:
        """The place that `?:` names, if both sides name one."""
        condition = node.child_by_field_name("condition")
        yes, no = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        if condition is None or yes is None or no is None or not (self._is_place(yes) and self._is_place(no)):
            return None
        return self._chosen(node, lambda to, other: self._decide(condition, to, other), yes, no, self._place_of)

    def _place_of(self, node: Node) -> int:
        address = self._address(node)
        return address if address is not None else self._unknown(node, "it is not understood")

    def _is_place(self, node: Node) -> bool:
        """Whether an expression certainly names a place in memory."""
        kind = node.type
        if kind == "parenthesized_expression" and len(node.named_children) == 1:
            return self._is_place(node.named_children[0])
        if kind == "identifier":
            name = self.text(node)
            if self._cell_named(name) is not None or self._captured(name) is not None:
                return True
            return name in (self.context.fields_of(self._class_around()) or ()) if self._class_around() else False
        if kind == "field_expression":
            return not self._is_built_in(node)
        if kind == "conditional_expression":
            sides = [node.child_by_field_name(name) for name in ("consequence", "alternative")]
            return all(each is not None and self._is_place(each) for each in sides)
        return kind in ("subscript_expression", "assignment_expression") or (
            kind == "pointer_expression" and self._sign(node) == "*"
        )

    def _array(self, node: Node) -> int:
        """The base address of a subscript: an array's own, the value of a pointer, or an object's."""
        address = self._address(node)
        if address is None:
            return self.value(node)
        decayed = self._emit("decay", (address,), node)
        self._tell(decayed, node)
        return decayed


def returns_place(declarator: Node) -> bool:
    """Whether a trailing return type is a reference."""
    waiting = [declarator]
    while waiting:
        each = waiting.pop()
        if each.type == "trailing_return_type":
            inner = [*each.named_children, *(part for child in each.named_children for part in child.named_children)]
            return any(part.type in ("abstract_reference_declarator", "decltype") for part in inner)
        waiting += [child for child in each.named_children if child.type.endswith(("declarator", "return_type"))]
    return False


def _computes(text: str) -> bool:
    """Whether assembly computes only with its operands."""
    if not text.strip('" ') and len(text) > 2:
        return False  # the expansion of a macro differs from the written text
    for piece in re.sub(r"\\\\[nt]|\\[nt]|[\"{}]|\.reg[^;]*;", " ", text).split(";"):
        if not piece.strip():
            continue
        match = _STATEMENT.fullmatch(piece.strip())
        if match is None or _PURE_ASSEMBLY.fullmatch(match[1]) is None or re.search(r"%%?[a-z]", match[2]):
            return False
    return True


def _names_function(type_node: Node) -> bool:
    """Whether a type is a function's, as the grammar reads `(n * (m)) - 1`; that of a pointer to one is not."""
    waiting = list(type_node.named_children)
    while waiting:
        each = waiting.pop()
        if each.type == "abstract_function_declarator":
            of = each.child_by_field_name("declarator")
            return of is None or of.type != "abstract_parenthesized_declarator"
        if each.type.startswith("abstract_"):
            waiting += each.named_children
    return False


def _has_effects(node: Node) -> bool:
    """Whether an expression has a call, an assignment or statements, so that its execution matters."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.type in _EFFECTS:
            return True
        waiting += each.named_children
    return False
