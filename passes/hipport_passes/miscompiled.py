# SPDX-License-Identifier: Apache-2.0
"""Write device code otherwise that clang 21, of ROCm 7, makes wrong machine code of.

Two forms are known, both seen in what hipcc 7.0 (clang 21.1.8) writes at -O2 and -O3 (2026-11), both right with
clang 15 (ROCm 5.2) and at -O1:

* `n < 32u ? min(length, 32u - n) : 0u`, of unsigned numbers. The optimizer moves the difference in front of its
  condition with the promise that it does not wrap, concludes that n is at most 32 everywhere, and drops another
  `min(n, 32u)` of the same kernel (gfx942, in LLVM's IR; llvm-project issue 137604 is related). Of unsigned numbers
  `min(length, 32u - min(n, 32u))` is the same, and 0 by itself. The condition has to go: below it the optimizer makes
  n of `min(n, 32u)` again. Where it is an `if` or an early `return 0`, that is left to a person.
* `x & 0x80 ? x | ~0xff : x`, `if (x & 0x80) x |= 0xffffff00;`: a sign put in by OR. Where a kernel has two sums of
  products of the same bytes, one of them signed, both become `v_dot4_u32_u8`, which knows no sign (gfx1100 for plain
  code, gfx90a to gfx1201 for inlined functions). `(x ^ 0x80) - 0x80` is the same number if x has no bit above its sign.

Whether a kernel comes out wrong depends on what else is inlined into it. So each place is at least REVIEW. Text of
macros is not looked at, nor an early `return` in front of the difference in a function without a result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hipport.finding import Certainty, Finding
from hipport.languages.cpp import Cpp
from hipport.languages.functions import Function, arguments, bare, nodes, operator_of
from hipport.languages.kernels import Kernels
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, Span

if TYPE_CHECKING:
    from tree_sitter import Node

_COMPILER = "clang 21 (ROCm 7) at -O2"
_MINIMUM = frozenset((b"min", b"umin", b"ullmin"))
_SIGN_BIT = re.compile(rb"(?i)0x80(?:00)?u?|128u?|32768u?")
_MAY_BE = re.compile(rb"\bmin|\bumin|\bullmin|(?i:0x80|\b128|\b32768)")
_ZERO = re.compile(rb"0[uUlL]*|0x0+[uUlL]*|\w+\(0[uUlL]*\)|static_cast<[\w:]+>\(0[uUlL]*\)|\([\w]+\)0[uUlL]*")
# All bits above the sign, for a sign of 8 and of 16 bits, as they are written.
_ABOVE = {
    0x80: re.compile(rb"(?i)~0xffu?|~255u?|0xffffff00u?|-256|~\(?0xffu?\)?|\(?~0u?<<8\)?|\(?-1<<8\)?"),
    0x8000: re.compile(rb"(?i)~0xffffu?|~65535u?|0xffff0000u?|-65536|\(?~0u?<<16\)?|\(?-1<<16\)?"),
}
_BELOW = frozenset(("<", "<="))
_ABOVE_OR_AT = frozenset((">", ">="))
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_UNSIGNED_NUMBER = re.compile(rb"(?:0[xX][0-9a-fA-F]+|\d+)[lL]*[uU][lL]*")
_UNSIGNED = (
    rb"(?:\bunsigned\b(?:\s+(?:char|short|int|long))*|\b(?:std\s*::\s*)?(?:u(?:int|char|short|long|longlong)"
    rb"(?:\d+_t)?|size_t|u(?:8|16|32|64))\b)\s*(?:const\s+)?(?:[\w\s=+*/,.\[\]-]*,\s*)?&?"
)
_SIGNED_BYTES = rb"(?<!unsigned )\b(?:char|short|int8_t|int16_t)\b"
_GIVEN = frozenset(("init_declarator", "assignment_expression", "return_statement"))


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per difference under its own condition, and per sign that is put in by OR."""
    if not _MAY_BE.search(source.code):
        return
    for function in Kernels.of(project).functions(source):
        if source.ported(function.body.start_byte) or not _MAY_BE.search(function.text(function.body)):
            continue
        for call in function.calls(_MINIMUM):
            yield from _clamp(function, call.node)
        for node in nodes(function.body, frozenset(("conditional_expression", "if_statement"))):
            yield from _sign(function, node)


def _plain(function: Function, node: Node) -> bytes:
    """The text of an expression without blanks and the parentheses around it."""
    return b"".join(function.text(bare(node)).split())


def _clamp(function: Function, call: Node) -> Iterator[Finding]:
    """`min(length, bound - n)` where n was asked to be below the bound, and the result is 0 elsewhere."""
    given = arguments(call)
    if len(given) != 2:
        return
    for each in given:
        difference = bare(each)
        if difference.type != "binary_expression" or operator_of(difference, function.source.code) != "-":
            continue
        bound, n = (difference.child_by_field_name(side) for side in ("left", "right"))
        if bound is None or n is None or not (_unsigned(function, bound) or _unsigned(function, n)):
            continue
        guard = _guard(function, call, _plain(function, n), _plain(function, bound))
        if guard is None:
            continue
        written, least = function.text(n).strip(), function.text(bound).strip()
        clamped = function.text(bare(_callee(call))).strip() + b"(" + written + b", " + least + b")"
        shown, said = (
            b" ".join(text.split()).decode("utf-8", "replace") for text in (clamped, function.text(difference))
        )
        why = (
            f"`{said}` under its own condition: {_COMPILER} takes it for true everywhere and drops other clamps of the "
            "same number in the kernel"
        )
        span = Span(difference.start_byte, difference.end_byte)
        if guard.type != "conditional_expression" or _has_comment(function, guard):
            advice = f"{why}; leave the condition out and subtract {shown}: then it is 0 where that does not hold"
            yield Finding(span, "clamp", advice, certainty=Certainty.MANUAL)
            return
        start, end = n.start_byte - call.start_byte, n.end_byte - call.start_byte
        text = function.text(call)
        new = text[:start] + clamped + text[end:]
        message = f"{why}: assumes that both are unsigned and of one type → without the condition, - {shown}"
        edit = Edit(Span(guard.start_byte, guard.end_byte), new)
        yield Finding(span, "clamp", message, (edit,), Certainty.REVIEW)


def _callee(call: Node) -> Node:
    return call.child_by_field_name("function") or call


def _has_comment(function: Function, node: Node) -> bool:
    """Whether a comment stands in it, which an edit would take away."""
    source = function.source
    return source.text[node.start_byte : node.end_byte] != source.code[node.start_byte : node.end_byte]


def _guard(function: Function, call: Node, n: bytes, bound: bytes) -> Node | None:
    """The statement or expression that makes the call only if n is below the bound, and is 0 or nothing otherwise."""
    for condition in function.conditions(call):
        if condition.taken is None or condition.loop:
            continue
        if _below(function, condition.expression, n, bound) is not condition.taken:
            continue
        if condition.statement.type == "conditional_expression":
            then, other = "consequence", "alternative"
            if not condition.taken:
                then, other = other, then
            least, none = (condition.statement.child_by_field_name(side) for side in (then, other))
            if least is None or none is None or bare(least) != call or not _ZERO.fullmatch(_plain(function, none)):
                return None
            return condition.statement
        outer: Node | None = call
        while outer is not None and outer.type not in _GIVEN and outer != condition.statement:
            outer = outer.parent
        if outer is None or outer.type != "assignment_expression":
            return None
        left = outer.child_by_field_name("left")
        return condition.statement if left is not None and left.type == "identifier" else None
    for leaving in function.exits_before(call):
        if leaving.type != "return_statement" or not leaving.named_children:
            continue
        asked = next(iter(function.conditions(leaving)), None)
        if asked is None or asked.taken is None or not _ZERO.fullmatch(_plain(function, leaving.named_children[0])):
            continue
        if _below(function, asked.expression, n, bound) is (not asked.taken):
            return asked.statement
    return None


def _below(function: Function, expression: Node, n: bytes, bound: bytes) -> bool | None:
    """Whether `expression` says that n is below the bound; None if it speaks of something else."""
    expression = bare(expression)
    if expression.type != "binary_expression":
        return None
    sign = operator_of(expression, function.source.code)
    left, right = (expression.child_by_field_name(side) for side in ("left", "right"))
    if left is None or right is None or sign not in _MIRRORED:
        return None
    sides = (_plain(function, left), _plain(function, right))
    if sides == (bound, n):
        sign = _MIRRORED[sign]
    elif sides != (n, bound):
        return None
    return sign in _BELOW


def _unsigned(function: Function, node: Node) -> bool:
    text = _plain(function, node)
    if _UNSIGNED_NUMBER.fullmatch(text) or re.fullmatch(rb"(?:threadIdx|blockIdx|blockDim|gridDim)\.[xyz]", text):
        return True
    if not re.fullmatch(rb"[A-Za-z_]\w*", text):
        return False
    return re.search(_UNSIGNED + rb"\s*\b" + text + rb"\b", function.text(function.node)) is not None


def _sign(function: Function, node: Node) -> Iterator[Finding]:
    """`x & 0x80 ? x | ~0xff : x`, or the same as an `if` without `else`."""
    condition = node.child_by_field_name("condition")
    if condition is None:
        return
    asked = bare(condition)
    if asked.type == "condition_clause":
        asked = bare(asked.child_by_field_name("value") or asked)
    x, bit = _bit(function, asked)
    value = _value(function, node, x)
    if not x or value is None or not _is_or(function, value, x, bit) or _has_sign(function, x):
        return
    span = Span(node.start_byte, node.end_byte)
    number = b"0x%x" % bit
    new = b"(" + x + b" ^ " + number + b") - " + number
    if node.type == "if_statement":
        new = x + b" = " + new + b";"
    shown, said = x.decode("utf-8", "replace"), number.decode()
    message = (
        f"the sign of `{shown}` is put in by OR, of which {_COMPILER} makes unsigned dot products: assumes that "
        f"`{shown}` has no bit above {said} → ({shown} ^ {said}) - {said}"
    )
    if _has_comment(function, node):
        yield Finding(span, "sign", message.replace(" → ", "; write "), certainty=Certainty.MANUAL)
        return
    yield Finding(span, "sign", message, (Edit(span, new),), Certainty.REVIEW)


def _value(function: Function, node: Node, x: bytes) -> Node | None:
    """What x becomes where the condition holds, if it stays what it is otherwise: the `|` or the `|=` of it."""
    then, other = (node.child_by_field_name(side) for side in ("consequence", "alternative"))
    if then is None:
        return None
    if node.type == "conditional_expression":
        return bare(then) if other is not None and _plain(function, other) == x else None
    if other is not None:
        return None
    inner = then.named_children if then.type == "compound_statement" else [then]
    if len(inner) != 1 or inner[0].type != "expression_statement" or not inner[0].named_children:
        return None
    given = inner[0].named_children[0]
    if given.type != "assignment_expression":
        return None
    left, right = (given.child_by_field_name(side) for side in ("left", "right"))
    if left is None or right is None or _plain(function, left) != x:
        return None
    return given if operator_of(given, function.source.code) == "|=" else bare(right)


def _is_or(function: Function, value: Node, x: bytes, bit: int) -> bool:
    """Whether it is `x | above` or `x |= above`, where `above` is all bits above the sign."""
    if operator_of(value, function.source.code) not in ("|", "|="):
        return False
    operands = (value.child_by_field_name(side) for side in ("left", "right"))
    sides = [_plain(function, operand) for operand in operands if operand is not None]
    return len(sides) == 2 and x in sides and _ABOVE[bit].fullmatch(sides[sides[0] == x]) is not None


def _has_sign(function: Function, x: bytes) -> bool:
    """Whether x is declared with as few bits as it has, and signed: then the OR changes nothing."""
    return (
        re.search(_SIGNED_BYTES + rb"[\w\s,=*&]*\b" + re.escape(x) + rb"\b", function.text(function.node)) is not None
    )


def _bit(function: Function, asked: Node) -> tuple[bytes, int]:
    """What `x & 0x80` asks: x, as text, and the number of the bit; empty for other expressions."""
    if asked.type == "binary_expression" and operator_of(asked, function.source.code) == "!=":
        right = asked.child_by_field_name("right")
        left = asked.child_by_field_name("left")
        if right is None or left is None or not _ZERO.fullmatch(_plain(function, right)):
            return b"", 0
        asked = bare(left)
    if asked.type != "binary_expression" or operator_of(asked, function.source.code) != "&":
        return b"", 0
    sides = [asked.child_by_field_name(side) for side in ("left", "right")]
    texts = [_plain(function, side) for side in sides if side is not None]
    for number, x in (texts[::-1], texts) if len(texts) == 2 else ():
        if _SIGN_BIT.fullmatch(number) and re.fullmatch(rb"[A-Za-z_]\w*(?:\[\w+\]|\.\w+)*", x):
            return x, int(number.rstrip(b"uU"), 0)
    return b"", 0


PASS = Pass(Cpp, find)
