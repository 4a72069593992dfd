# SPDX-License-Identifier: Apache-2.0
"""Shift all bits out where a 32-bit number may be shifted by 32.

`x << 32` and `x >> 32` are 0 on NVIDIA GPUs, where `x` has 32 bits. AMD GPUs shift by the last five bits of the
amount, so `x` stays, and C++ leaves the result undefined. `0xffffffffu >> (32 - lane)`, the lanes below, is wrong for
lane 0; `mask >> __ffs(mask)`, the lanes after the first one, is wrong if that is the last. `hipport::shl` and
`hipport::shr` behave like NVIDIA GPUs, and like the plain shift for smaller amounts. The change is REVIEW, because the
program may not rely on it.

Lanes, `__popc`, `__ffs`, `__clz`, `&`, `%`, `min` and constants show that an amount may be 32. It is not reported if a
condition on the same variables precedes it, nor in rotations, which are right either way. `__clz(x)` is not 32 if the
program has tested that x is not 0 and has not changed it since. A macro's text is treated as a function's; its
parameters are known by their names only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis.functions import LOOPS, Function, Variable, arguments, called_name, functions
from hipport.analysis.kernels import Kernels
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words, one_of
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES

if TYPE_CHECKING:
    from tree_sitter import Node

# Not the brackets of a launch.
_SHIFT = re.compile(rb"<<(?<!<<<)(?!<)|>>(?<!>>>)(?!>)")
# A macro whose text has neither `#` nor `##`.
_MACRO = re.compile(rb"#[ \t]*define[ \t]+\w+(?P<parameters>\([^()]*\))?(?P<text>[ \t(][^#]*)", re.DOTALL)
_SPLICE = re.compile(rb"\\(?=[ \t]*[\r\n])")
_WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
_RANGES, _SIZES = one_of(_WORDS["ranged"]).encode(), one_of(_WORDS["sizes"]).encode()
# Operations that may show the amount of a shift.
_TELLS = _WORDS.compile(rb"(?i)" + _RANGES + rb"|\b(?&minimum)\b|\b31\b|\b0x1f\b|\b32\b|\b63\b|\b64\b|" + _SIZES)
_RANGED = _WORDS.compile(rb"(?i)" + _RANGES + rb"|\b(?&minimum)\b")
_TELLING = _WORDS.compile(rb"(?i)\w*(?:" + _RANGES + rb"|" + _SIZES + rb")\w*|(?&minimum)|31|0x1f|32|63|64")
_LANE = re.compile(rf"(?i)(?:\w*_)?{one_of(_WORDS['lanes'])}_?|{one_of(_WORDS['lanes_alone'])}".encode())
_MASKS = re.compile(rf"(?i){one_of(_WORDS['masks'])}".encode())
_WIDE = re.compile(rf"long\s+long|\b{one_of(_WORDS['wide'])}\b".encode())
_NARROW = _WORDS.compile(rb"(?:\s|\b(?:(?&std)\s*::|(?&narrow))\b)+")
# `#define ALL 0xffffffffu`, `constexpr uint64_t all = ~0`
_MACRO_NUMBER = re.compile(
    rb"#[ \t]*define[ \t]+(?P<macro>\w+)[ \t]+(?P<number>\(*~?(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*\)*)[ \t]*[\r\n]"
)
_CONSTANT = re.compile(rb"const(?<!\wconst)(?:expr)?\b(?P<type>[\w\s:]*?)\b(?P<constant>\w+)\s*(?:=|\{)")
_MOST = {b"UINT_MAX": 32, b"UINT32_MAX": 32, b"INT_MAX": 32, b"INT32_MAX": 32, b"UINT64_MAX": 64, b"ULLONG_MAX": 64}
_OF_32 = re.compile(one_of(_WORDS["of_32_bits"], r"\w+").encode())
_COUNTS = {b"popc": 0, b"ffs": 0, b"clz": 1}
_STORAGE = _WORDS.compile(rb"\b(?:(?&shared)|extern)\b")
_COUNT = _WORDS.compile(rb"__((?&counts))(ll)?")
_NAME = re.compile(rb"[A-Za-z_]\w*")
_NUMBER = re.compile(rb"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)")


class _Range(NamedTuple):
    """The least and the greatest possible value."""

    least: int
    most: int


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per shift that may be by 32."""
    if not source.matched(_TELLING) or not _SHIFT.search(source.code):
        return
    kernels = Kernels.of(project)
    for function in kernels.functions(source):
        if not source.ported(function.body.start_byte):
            yield from _in(function, source, kernels, project)
    for directive in source.directives:
        macro = _MACRO.match(source.code, directive.start, directive.end)
        if macro is None or not _SHIFT.search(macro["text"]) or not _RANGED.search(macro["text"]):
            continue
        if source.ported(directive.start):
            continue
        parameters = tuple(_NAME.findall(macro["parameters"] or b""))
        for function in functions(_as_function(source, directive, macro)):
            yield from _in(replace(function, parameters=parameters), source, kernels, project)


def _as_function(source: Cpp, directive: Span, macro: re.Match[bytes]) -> Cpp:
    """Return a file in which the text of a macro is the body of a function, at its original place."""
    head = b"void f(){".ljust(macro.start("text") - directive.start)
    text = head + _SPLICE.sub(lambda splice: b" " + splice.group()[1:], macro["text"]) + b";}"
    return type(source)(source.path, b" " * directive.start + text)


def _in(function: Function, source: Cpp, kernels: Kernels, project: Project) -> Iterator[Finding]:
    """Yield a finding per shift in a function of the file, or in a macro that is treated as one."""
    text = function.text(function.node)
    if not _SHIFT.search(text) or not _TELLS.search(text):
        return
    found: list[_Shift] = []
    for match in _SHIFT.finditer(function.source.code, function.body.start_byte, function.body.end_byte):
        sign = function.body.descendant_for_byte_range(match.start(), match.end())
        node = sign.parent if sign is not None else None
        if sign is None or node is None or function.source.directive(match.start()):
            continue
        if node.type in ("binary_expression", "assignment_expression"):
            found += _of_shift(function, node, sign, source, kernels, project)
    need, header = include(source, project, "shift.h")
    for each in found:
        # Nested shifts are rewritten together, and each finding has the whole edit.
        whole = max((other for other in found if _within(each.span, other.span)), key=lambda other: len(other.span))
        edits = (Edit(whole.span, _written(source, whole, found)), *((need,) if need else ()))
        yield Finding(each.span, "shift", each.message, edits, Certainty.REVIEW, (header,))


class _Shift(NamedTuple):
    """A shift to rewrite: its operands, and the function that replaces it."""

    span: Span
    of: Span
    by: Span
    name: bytes
    assigned: bool
    message: str


def _within(span: Span, other: Span) -> bool:
    return other.start <= span.start and span.end <= other.end


def _written(source: Cpp, shift: _Shift, shifts: Sequence[_Shift]) -> bytes:
    """Return the replacement of a shift, including the shifts inside it."""

    def text(span: Span) -> bytes:
        inner = [each for each in shifts if each is not shift and _within(each.span, span)]
        pieces, done = [], span.start
        for each in sorted(inner, key=lambda each: (each.span.start, -each.span.end)):
            if each.span.start >= done:
                pieces += [source.text[done : each.span.start], _written(source, each, inner)]
                done = each.span.end
        return b"".join([*pieces, source.text[done : span.end]])

    of = text(shift.of)
    new = shift.name + b"(" + of + b", " + text(shift.by) + b")"
    return of + b" = " + new if shift.assigned else new


def _of_shift(
    function: Function, node: Node, sign: Node, source: Cpp, kernels: Kernels, project: Project
) -> Iterator[_Shift]:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or sign.type not in ("<<", ">>", "<<=", ">>="):
        return
    values = _Values(function, kernels, project.union_over(source, _constants))
    amount = values.range(right)
    if amount is None or not 32 <= amount.most <= 64:
        return
    width = values.width(left)
    if width is None or amount.most < width or amount.least == amount.most > 64:
        return
    if _rotates(function, node, sign) or _zero_then(function, left, right) or _is_guarded(function, node, right):
        return
    name = b"hipport::shl" if sign.type.startswith("<<") else b"hipport::shr"
    assigned = node.type == "assignment_expression"
    if assigned and left.type != "identifier":
        return
    said = b" ".join(function.text(_bare(right)).split()).decode("utf-8", "replace")
    message = (
        f"`{said}` may be {width}: assumes that a shift by {width} has to give 0, as on NVIDIA GPUs, where AMD's "
        f"leave the value unchanged → {name.decode()}"
    )
    span, of, by = (Span(each.start_byte, each.end_byte) for each in (node, left, _bare(right)))
    yield _Shift(span, of, by, name, assigned, message)


class _Values:
    """Known values in a function."""

    def __init__(self, function: Function, kernels: Kernels, constants: frozenset[tuple[bytes, int]]) -> None:
        self.function = function
        self.kernels = kernels
        self.constants = constants

    def range(self, node: Node, depth: int = 4) -> _Range | None:
        """Return the range of an expression's values; None if it is unknown."""
        node = _bare(node)
        constant = self.kernels.constant(self.function, node)
        if constant is not None:
            return _Range(constant, constant)
        if node.type == "cast_expression":
            value = node.child_by_field_name("value")
            return self.range(value, depth) if value is not None else None
        if node.type == "identifier":
            return self._variable(node, depth)
        if node.type == "conditional_expression":
            both = [self.range(each, depth) for each in node.named_children[1:]]
            return _Range(min(r.least for r in both if r), max(r.most for r in both if r)) if all(both) else None
        if node.type == "call_expression":
            return self._call(node, depth)
        if node.type == "binary_expression":
            return self._binary(node, depth)
        return None

    def _variable(self, node: Node, depth: int) -> _Range | None:
        name = self.function.text(node)
        variable = self.function.locals.named(name, node.start_byte)
        definitions = self.function.locals.definitions.get(variable, []) if variable is not None else []
        if len(definitions) == 1 and definitions[0].declares and len(definitions[0].values) == 1 and depth:
            found = self.range(definitions[0].values[0], depth - 1)
            if found is not None:
                return found
        if _LANE.fullmatch(name) and len(definitions) <= 1:
            return _Range(0, 31)
        return None

    def _call(self, node: Node, depth: int) -> _Range | None:
        name = called_name(node, self.function.source.code)
        given = arguments(node)
        counted = _COUNT.fullmatch(name)
        if counted and len(given) == 1:
            # The result for a bit mask may be any; a plain number has no bit set at its upper end.
            least = _COUNTS[counted[1]] if not _MASKS.search(self.function.text(given[0])) else 0
            most = 64 if counted[2] else 32
            return _Range(least, most - (counted[1] == b"clz" and _never_zero(self.function, _bare(given[0]))))
        if name == b"min" and len(given) == 2:
            known = [each for each in (self.range(argument, depth) for argument in given) if each is not None]
            return _Range(min(0, *(r.least for r in known)), min(r.most for r in known)) if known else None
        if _LANE.fullmatch(name.strip(b"_")):
            return _Range(0, 31)
        return None

    def _binary(self, node: Node, depth: int) -> _Range | None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None:
            return None
        a, b = self.range(left, depth), self.range(right, depth)
        constant = b.most if b is not None and b.least == b.most else None
        if sign.type == "&":
            bounds = [each.most for each in (a, b) if each is not None and each.least >= 0]
            return _Range(0, min(bounds)) if bounds else None
        if sign.type == "%" and constant:
            return _Range(0, constant - 1)
        if a is None or b is None:
            return None
        if sign.type == "+":
            return _Range(a.least + b.least, a.most + b.most)
        if sign.type == "-":
            return _Range(a.least - b.most, a.most - b.least)
        if sign.type == "*" and min(a.least, b.least) >= 0:
            return _Range(a.least * b.least, a.most * b.most)
        if sign.type == "/" and constant and a.least >= 0:
            return _Range(a.least // constant, a.most // constant)
        if sign.type == ">>" and constant is not None and a.least >= 0:
            return _Range(a.least >> constant, a.most >> constant)
        return None

    def width(self, node: Node) -> int | None:
        """Return the number of bits of an expression, 32 or 64; None if its type is unknown."""
        node = _bare(node)
        text = self.function.text(node).strip()
        number = _NUMBER.fullmatch(text)
        if number:
            return 64 if b"l" in number[2].lower() else 32
        if node.type in ("unary_expression", "pointer_expression") and text[:1] in (b"~", b"-"):
            inner = node.child_by_field_name("argument") or node.named_children[-1]
            return self.width(inner)
        if node.type == "cast_expression":
            made = node.child_by_field_name("type")
            return _bits(self.function.text(made)) if made is not None else None
        if node.type == "call_expression":
            name = called_name(node, self.function.source.code)
            called = node.child_by_field_name("function")
            if _OF_32.fullmatch(name):
                return 32
            cast = re.match(rb"(?:static_cast\s*<([^<>]*)>|(\w+))\s*\Z", self.function.text(called) if called else b"")
            return _bits(cast[1] or cast[2]) if cast else None
        if node.type == "binary_expression":
            sign = node.child_by_field_name("operator")
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if sign is None or left is None or right is None:
                return None
            if sign.type in ("<<", ">>"):
                return self.width(left)
            if sign.type not in ("&", "|", "^", "+", "-", "*", "/", "%"):
                return None
            one, other = self.width(left), self.width(right)
            return max(one, other) if one and other else None
        if node.type == "identifier":
            variable = self.function.locals.named(text, node.start_byte)
            if variable is not None:
                return _bits(self._declared(variable))
            # A constant, by its definition.
            widths = {bits for name, bits in self.constants if name == text}
            return widths.pop() if len(widths) == 1 else _MOST.get(text) if not widths else None
        if node.type == "subscript_expression":
            base = node.child_by_field_name("argument")
            return self._element(self.function.text(base)) if base is not None and base.type == "identifier" else None
        return None

    def _element(self, name: bytes) -> int | None:
        """Return the bits of an element of an array, or of a pointer's target; None for another declaration."""
        declared = re.findall(
            rb"(?:^|[(,;{}])([\w\s:]*?)\s*(?:\*\s*(?:(?:const|__restrict__|__restrict|volatile)\s+)*|(?<=\s))"
            + re.escape(name)
            + rb"\s*([\[,)=;])",
            self.function.text(self.function.node),
        )
        widths = {_bits(_STORAGE.sub(b"", made)) for made, _ in declared if made.strip()}
        return widths.pop() if len(widths) == 1 else None

    def _declared(self, variable: Variable) -> bytes:
        """Return the declared type of a variable; empty if it is not visible."""
        root = self.function.node
        node = root.descendant_for_byte_range(variable.start, variable.start + 1)
        while node is not None and node != root and node.type not in ("declaration", "parameter_declaration"):
            node = node.parent
        if node is None or node == root:
            text = self.function.text(root)[: self.function.body.start_byte - root.start_byte]
            match = re.search(rb"[(,]\s*([\w\s:]*?)\s*\b" + re.escape(variable.name) + rb"\s*[,)=]", text)
            return match[1] if match else b""
        made = node.child_by_field_name("type")
        declarator = self.function.text(node)
        if made is None or re.search(rb"[*&\[]\s*" + re.escape(variable.name) + rb"\b", declarator):
            return b""
        return self.function.text(made)


def _constants(source: Cpp) -> frozenset[tuple[bytes, int]]:
    """Return the macros that are numbers, and constants, with their numbers of bits."""
    found = set()
    for match in _MACRO_NUMBER.finditer(source.code):
        wide = b"l" in match["number"].lower() or len(match["number"].strip(b"()~uUlL")) > 10
        found.add((match["macro"], 64 if wide else 32))
    for match in _CONSTANT.finditer(source.code):
        bits = _bits(match["type"])
        if bits is not None:
            found.add((match["constant"], bits))
    return frozenset(found)


@lru_cache(maxsize=1024)
def _bits(type_: bytes) -> int | None:
    if _WIDE.search(type_):
        return 64
    return 32 if type_.strip() and _NARROW.fullmatch(type_) else None


def _bare(node: Node) -> Node:
    while node.type == "parenthesized_expression" and len(node.named_children) == 1:
        node = node.named_children[0]
    return node


def _rotates(function: Function, node: Node, sign: Node) -> bool:
    """Return whether it is `x << n | x >> (32 - n)`, where both sides are x if AMD does not shift."""
    outer = node.parent
    while outer is not None and outer.type == "parenthesized_expression":
        outer = outer.parent
    if outer is None or outer.type != "binary_expression":
        return False
    operator, one, other = (outer.child_by_field_name(field) for field in ("operator", "left", "right"))
    if operator is None or one is None or other is None or operator.type != "|":
        return False
    one, other = _bare(one), _bare(other)
    sides = [(each.child_by_field_name("left"), each.child_by_field_name("operator")) for each in (one, other)]
    texts = {b"".join(function.text(_bare(left)).split()) for left, _ in sides if left is not None}
    signs = {each.type for _, each in sides if each is not None}
    return len(texts) == 1 and signs == {"<<", ">>"}


def _zero_then(function: Function, left: Node, right: Node) -> bool:
    """Return whether it is `x << __clz(x)`: the shifted number is 0 if the amount is 32."""
    x = b"".join(function.text(_bare(left)).split())
    return b"".join(function.text(_bare(right)).split()) in (b"__clz(%s)" % x, b"__clzll(%s)" % x)


def _is_guarded(function: Function, node: Node, right: Node) -> bool:
    """Return whether a condition on the variables of the amount precedes the shift."""
    names = _made_of(function, right)
    conditions = [each.expression for each in function.conditions(node)]
    for leaving in function.exits_before(node):
        conditions += [each.expression for each in function.conditions(leaving)]
    outer: Node | None = node
    while outer is not None and outer != function.body:
        if outer.type == "binary_expression" and outer.child_by_field_name("operator") is not None:
            sign, first = outer.child_by_field_name("operator"), outer.child_by_field_name("left")
            if sign is not None and first is not None and sign.type in ("&&", "||") and first.end_byte < node.end_byte:
                conditions.append(first)
        outer = outer.parent
    return any(names & set(_NAME.findall(function.text(each))) for each in conditions)


def _never_zero(function: Function, node: Node) -> bool:
    """Return whether a variable is tested against 0 before its use `node`, and unchanged until there."""
    name = function.text(node)
    variable = function.locals.named(name, node.start_byte) if node.type == "identifier" else None
    if variable is None:
        return False
    definitions = [each.node for each in function.locals.definitions.get(variable, ())]
    for condition in function.conditions(node):
        if condition.taken is None or condition.statement.type == "do_statement":
            continue
        if _says_not_zero(function, condition.expression, name, condition.taken):
            body = condition.statement.child_by_field_name("body")
            start = condition.expression.end_byte
            if condition.statement.type == "for_statement" and (body is None or not _inside(node, body)):
                changes = [
                    each for each in definitions if body is None or _inside(each, body)
                ]  # The update follows it.
            else:
                changes = [
                    each for each in definitions if start <= each.start_byte and each.end_byte <= node.start_byte
                ]
            if not changes and not _changed_in_loop(definitions, node, condition.statement):
                return True
    for leaving in function.exits_before(node):
        if leaving.end_byte > node.start_byte:
            continue
        asked = next(iter(function.conditions(leaving)), None)
        if asked is None or asked.taken is None or asked.statement.type != "if_statement":
            continue
        if _says_not_zero(function, asked.expression, name, not asked.taken):
            start = asked.statement.end_byte
            changes = [each for each in definitions if start <= each.start_byte and each.end_byte <= node.start_byte]
            if not changes and not _changed_in_loop(definitions, node, asked.statement):
                return True
    return False


def _says_not_zero(function: Function, expression: Node, name: bytes, holds: bool) -> bool:
    """Return whether `expression` being true, or false if not `holds`, implies that the variable `name` is not 0."""
    expression = _bare(expression)
    text = b"".join(function.text(expression).split())
    if expression.type == "binary_expression":
        operator = expression.child_by_field_name("operator")
        sides = [expression.child_by_field_name(side) for side in ("left", "right")]
        if operator is not None and operator.type in (("&&", "and") if holds else ("||", "or")):
            return any(_says_not_zero(function, side, name, holds) for side in sides if side is not None)
    if holds:
        return text in (name, name + b"!=0", name + b"!=0u", b"0!=" + name, name + b">0", name + b">0u")
    return text in (b"!" + name, name + b"==0", name + b"==0u", b"0==" + name)


def _changed_in_loop(given: Sequence[Node], node: Node, asked: Node) -> bool:
    """Return whether an assignment precedes `node` in a later iteration of a loop that does not repeat the test."""
    outer = node.parent
    while outer is not None and outer != asked:
        if outer.type in LOOPS and not _inside(asked, outer) and any(_inside(each, outer) for each in given):
            return True
        outer = outer.parent
    return False


def _inside(node: Node, outer: Node) -> bool:
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte


def _made_of(function: Function, node: Node, depth: int = 3) -> set[bytes]:
    """Return the variables of an amount; without those whose bits are counted, because a test of these rarely helps."""
    names: set[bytes] = set()
    stack = [(node, depth)]
    while stack:
        current, left = stack.pop()
        if current.type == "call_expression" and _COUNT.fullmatch(called_name(current, function.source.code)):
            continue
        if current.type == "identifier":
            name = function.text(current)
            variable = function.locals.named(name, current.start_byte)
            if (variable is not None or name in function.parameters) and name not in names:
                names.add(name)
                definitions = function.locals.definitions.get(variable, []) if left and variable is not None else []
                stack += [(value, left - 1) for each in definitions for value in each.values]
        stack += [(child, left) for child in current.named_children]
    return names


PASS = Pass(Cpp, find)
