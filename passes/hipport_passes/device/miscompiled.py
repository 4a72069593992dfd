# SPDX-License-Identifier: Apache-2.0
"""Rewrite device code that clang 21, of ROCm 7, compiles to wrong machine code.

Two forms are known, both seen in the output of hipcc 7.0 (clang 21.1.8) at -O2 and -O3 (2026-11), both right with
clang 15 (ROCm 5.2) and at -O1:

* `n < 32u ? min(length, 32u - n) : 0u`, of unsigned numbers. The optimizer hoists the difference above its condition,
  marked as not wrapping, concludes that n is at most 32 everywhere, and drops another `min(n, 32u)` of the same kernel
  (gfx942, in LLVM's IR; llvm-project issue 137604 is related). For unsigned numbers `min(length, 32u - min(n, 32u))`
  is the same, and is 0 where the condition fails. The condition must be removed: under it the optimizer turns
  `min(n, 32u)` into n again. An `if` or an early `return 0` is left to a person.
* `x & 0x80 ? x | ~0xff : x`, `if (x & 0x80) x |= 0xffffff00;`: the sign bits are set by OR. If a kernel has two sums
  of products of the same bytes, one of them signed, both become `v_dot4_u32_u8`, which is unsigned (gfx1100 for plain
  code, gfx90a to gfx1201 for inlined functions). `(x ^ 0x80) - 0x80` is the same number if x has no bit above its
  sign. The same happened with `x + (x & 0x80 ? ~0xff : 0)`, `x -= 256` under the condition, an `else`, and other tests
  of the bit, which are reported; comparisons (`x > 127`), shifts and casts were compiled correctly.

Other conditions under which a difference does not wrap have the same effect (`n <= 31u`, `n < 32u && more`, the
difference in a variable, another result than 0); they are left to a person where the kernel has another clamp of the
number. The program's own functions that return the smaller of two numbers count like `min`: inlined, they are the same
to the optimizer. Clamps written out in the kernel (`a < b ? a : b`), with `std::min` and with `max` were compiled
correctly.

Whether a kernel is miscompiled depends on the code that is inlined into it, so each place is at least REVIEW. Macros'
texts are not read, nor an early `return` in front of the difference in a function without a result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hipport.analysis.functions import Function, arguments, bare, nodes, operator_of
from hipport.analysis.kernels import Kernels
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES, VARIABLE

if TYPE_CHECKING:
    from tree_sitter import Node

_COMPILER = "clang 21 (ROCm 7) at -O2"
_MINIMUM = frozenset((b"min", b"umin", b"ullmin"))
# A function of two parameters of the same kind, with one or two statements; what it returns.
_OF_TWO = re.compile(
    rb"\b(?P<name>[A-Za-z_]\w*)\s*\(\s*[\w:\s]+?[\s&]+(?P<a>\w+)\s*,\s*[\w:\s]+?[\s&]+(?P<b>\w+)\s*\)"
    rb"[\s\w]{0,80}\{\s*(?P<body>(?:return|if)\b[^{}]{1,200}?)\s*\}"
)
_BY_CHOICE = re.compile(
    rb"(?:return|if)\s*\(?\s*(?P<left>\w+)\s*(?P<sign><=?|>=?)\s*(?P<right>\w+)\s*\)?\s*"
    rb"(?:\?\s*(?P<then>\w+)\s*:\s*(?P<otherwise>\w+)\s*\)?\s*;"
    rb"|return\s+\(?(?P<first>\w+)\)?\s*;\s*(?:else\s+)?return\s+\(?(?P<second>\w+)\)?\s*;)"
)
_BY_ANOTHER = re.compile(rb"return\s+(?:::\s*)?(?P<name>\w+)\s*\(\s*(?P<one>\w+)\s*,\s*(?P<two>\w+)\s*\)\s*;")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_SIGN_BIT = re.compile(rb"(?i)0x80(?:00)?u?|128u?|32768u?")
_WORDS = Words.read(Path(__file__).with_name("device_words.toml"), general=NAMES)
_MAY_BE = _WORDS.compile(rb"\b(?&minima)|(?i:0x80|\b128|\b32768)|>>\s*(?:7|15)\b")
_ZERO = re.compile(rb"0[uUlL]*|0x0+[uUlL]*|\w+\(0[uUlL]*\)|static_cast<[\w:]+>\(0[uUlL]*\)|\([\w]+\)0[uUlL]*")
# The spellings of all bits above the sign, for a sign of 8 and of 16 bits.
_ABOVE = {
    0x80: re.compile(rb"(?i)~0xffu?|~255u?|0xffffff00u?|-256|~\(?0xffu?\)?|\(?~0u?<<8\)?|\(?-1<<8\)?"),
    0x8000: re.compile(rb"(?i)~0xffffu?|~65535u?|0xffff0000u?|-65536|\(?~0u?<<16\)?|\(?-1<<16\)?"),
}
#: Conditions that test the sign: by its bit, or after shifting it to the lowest bit.
_ASKS_SIGN = re.compile(
    rb"(?i)(?:(?P<x>[A-Za-z_][\w.\[\]]*)\)*&\(*|\(*(?P<shifted>[A-Za-z_][\w.\[\]]*)>>)(?P<bit>0x80(?:00)?|128|32768|7|15)u?\b"
)
#: Code that sets the bits above the sign, or subtracts their value.
_PUTS_SIGN = {
    0x80: re.compile(rb"(?i)~\(?0xff\b|~\(?0xffu\b|~255\b|0xffffff00|-=?256\b|-=?0x100\b|(?:~0u?|-1)\)?<<8\b"),
    0x8000: re.compile(rb"(?i)~\(?0xffffu?\b|~65535\b|0xffff0000|-=?65536\b|-=?0x10000\b|(?:~0u?|-1)\)?<<16\b"),
}
_BELOW = frozenset(("<", "<="))
_ABOVE_OR_AT = frozenset((">", ">="))
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_UNSIGNED_NUMBER = re.compile(rb"(?:0[xX][0-9a-fA-F]+|\d+)[lL]*[uU][lL]*")
_NUMBER = re.compile(rb"(0[xX][0-9a-fA-F]+|[1-9]\d*)[uUlL]*")
_UNSIGNED = _WORDS.composed(
    rb"(?:\bunsigned\b(?:\s+(?:char|short|int|long))*|\b(?:(?&std)\s*::\s*)?(?:(?&unsigned_types)"
    rb"(?:\d+_t)?|(?&size_type)|u(?:8|16|32|64))\b)\s*(?:const\s+)?(?:[\w\s=+*/,.\[\]-]*,\s*)?&?"
)
_SIGNED_BYTES = _WORDS.composed(rb"(?<!unsigned )\b(?:char|short|(?&small_integers))\b")
_GIVEN = frozenset(("init_declarator", "assignment_expression", "return_statement"))


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per difference under its own condition, and per sign that is set by OR."""
    own = _own_minima(source, project)
    if not _MAY_BE.search(source.code) and source.words.isdisjoint(own):
        return
    for function in Kernels.of(project).functions(source):
        text = function.text(function.body)
        if source.ported(function.body.start_byte) or not (_MAY_BE.search(text) or own & set(_WORD.findall(text))):
            continue
        for call in function.calls(_MINIMUM | own):
            found = [*_clamp(function, call.node)]
            yield from found or _guarded(function, call.node, own)
        for node in nodes(function.body, frozenset(("conditional_expression", "if_statement"))):
            found = [*_sign(function, node)]
            yield from found or _sign_otherwise(function, node)


def _plain(function: Function, node: Node) -> bytes:
    """Return the text of an expression without blanks and outer parentheses."""
    return b"".join(function.text(bare(node)).split())


def _clamp(function: Function, call: Node) -> Iterator[Finding]:
    """Rewrite `min(length, bound - n)` where n is tested to be below the bound, and the result is 0 otherwise."""
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
            f"`{said}` under its own condition: {_COMPILER} assumes that the condition is true everywhere and drops "
            "other clamps "
            "of the same number in the kernel"
        )
        span = Span(difference.start_byte, difference.end_byte)
        if guard.type != "conditional_expression" or _has_comment(function, guard):
            advice = f"{why}; remove the condition and subtract {shown}, which is 0 where the condition does not hold"
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
    """Return whether the node contains a comment, which an edit would remove."""
    source = function.source
    return source.text[node.start_byte : node.end_byte] != source.code[node.start_byte : node.end_byte]


def _guard(function: Function, call: Node, n: bytes, bound: bytes) -> Node | None:
    """Return the statement or expression that makes the call only if n is below the bound, and is 0 or nothing
    otherwise.
    """
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


def _guarded(function: Function, call: Node, own: frozenset[bytes]) -> Iterator[Finding]:
    """Report other forms if the kernel has another clamp of the same number; they have no simple rewrite."""
    given = arguments(call)
    for each in given if len(given) == 2 else ():
        for bound, n in _subtracted(function, each):
            if not (_unsigned_text(function, bound) or _unsigned_text(function, n)):
                continue
            asked = [each for each in function.conditions(call) if each.taken is not None and not each.loop]
            if not any(_implies(function, each.expression, bool(each.taken), n, bound) for each in asked):
                continue
            if not _clamped_elsewhere(function, call, n, own):
                continue
            said = f"{bound.decode('utf-8', 'replace')} - {n.decode('utf-8', 'replace')}"
            message = (
                f"`{said}` under a condition by which it does not wrap: {_COMPILER} assumes that this is true "
                "everywhere and drops other clamps of the same number in the kernel; compile the file with -mllvm "
                "-spec-exec-max-speculation-cost=0, or check the code that it generates for them"
            )
            yield Finding(Span(call.start_byte, call.end_byte), "guarded", message, certainty=Certainty.MANUAL)
            return


def _subtracted(function: Function, expression: Node) -> Iterator[tuple[bytes, bytes]]:
    """Yield the operands of each subtraction in an expression, or in the initial value of a variable in it."""
    for node in nodes(expression, frozenset(("binary_expression",))):
        left, right = (node.child_by_field_name(side) for side in ("left", "right"))
        if left is not None and right is not None and operator_of(node, function.source.code) == "-":
            yield _plain(function, left), _plain(function, right)
    name = _plain(function, expression)
    if re.fullmatch(rb"[A-Za-z_]\w*", name):
        made = re.compile(rb"\b" + name + rb"\s*=\s*(\w+)\s*-\s*(\w+)\s*;")
        before = function.source.code[function.body.start_byte : expression.start_byte]
        yield from ((match[1], match[2]) for match in made.finditer(before))


def _implies(function: Function, expression: Node, taken: bool, n: bytes, bound: bytes) -> bool:
    """Return whether a condition that is true, or false if not `taken`, implies that n is at most the bound."""
    expression = bare(expression)
    if expression.type != "binary_expression":
        return False
    sign = operator_of(expression, function.source.code)
    left, right = (expression.child_by_field_name(side) for side in ("left", "right"))
    if left is None or right is None:
        return False
    if sign == ("&&" if taken else "||"):
        return any(_implies(function, side, taken, n, bound) for side in (left, right))
    sides = (_plain(function, left), _plain(function, right))
    if sides[1] == n:
        sides, sign = sides[::-1], _MIRRORED.get(sign, sign)
    if sides[0] != n or sign not in (_BELOW if taken else _ABOVE_OR_AT):
        return False
    least, most = (_NUMBER.fullmatch(text) for text in (sides[1], bound))
    return sides[1] == bound or (least is not None and most is not None and int(least[1], 0) <= int(most[1], 0))


def _clamped_elsewhere(function: Function, call: Node, n: bytes, own: frozenset[bytes]) -> bool:
    return any(
        each.node != call and n in (_plain(function, given) for given in arguments(each.node))
        for each in function.calls(_MINIMUM | own)
    )


def _own_minima(source: Cpp, project: Project) -> frozenset[bytes]:
    """Return the program's functions that return the smaller of their two parameters."""
    found: frozenset[bytes] = frozenset()
    made = project.union_over(source, _returned)
    while more := {name for name, by in made if not by or by in _MINIMUM | found} - found:
        found |= more
    return found


def _returned(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    """Return functions that return the smaller of two parameters: their names, and the function that they ask."""
    found = set()
    for match in _OF_TWO.finditer(source.code):
        given, body = {match["a"], match["b"]}, match["body"]
        asked = _BY_ANOTHER.fullmatch(body)
        if asked is not None and {asked["one"], asked["two"]} == given:
            found.add((match["name"], asked["name"]))
        chosen = _BY_CHOICE.fullmatch(body)
        if chosen is not None and {chosen["left"], chosen["right"]} == given:
            sides = (chosen["left"], chosen["right"])
            results = (chosen["then"] or chosen["first"], chosen["otherwise"] or chosen["second"])
            if results == (sides if chosen["sign"].startswith(b"<") else sides[::-1]):
                found.add((match["name"], b""))
    return frozenset(found)


def _below(function: Function, expression: Node, n: bytes, bound: bytes) -> bool | None:
    """Return whether `expression` states that n is below the bound; None if it is about something else."""
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
    return _unsigned_text(function, _plain(function, node))


def _unsigned_text(function: Function, text: bytes) -> bool:
    if _UNSIGNED_NUMBER.fullmatch(text) or re.fullmatch(VARIABLE + rb"\.[xyz]", text):
        return True
    if not re.fullmatch(rb"[A-Za-z_]\w*", text):
        return False
    known = function.fact(_unsigned_names)
    if text not in known:
        known[text] = re.search(_UNSIGNED + rb"\s*\b" + text + rb"\b", function.text(function.node)) is not None
    return known[text]


def _unsigned_names(function: Function) -> dict[bytes, bool]:
    """Return a cache of the names that a function declares as unsigned."""
    return {}


def _sign(function: Function, node: Node) -> Iterator[Finding]:
    """Rewrite `x & 0x80 ? x | ~0xff : x`, or the same as an `if` without `else`."""
    condition = node.child_by_field_name("condition")
    if condition is None:
        return
    asked = bare(condition)
    if asked.type == "condition_clause":
        asked = bare(asked.child_by_field_name("value") or asked)
    x, bit = _bit(function, asked)
    value = _original_value(function, node, x)
    if not x or value is None or not _is_or(function, value, x, bit) or _has_sign(function, x):
        return
    span = Span(node.start_byte, node.end_byte)
    number = b"0x%x" % bit
    new = b"(" + x + b" ^ " + number + b") - " + number
    if node.type == "if_statement":
        new = x + b" = " + new + b";"
    shown, said = x.decode("utf-8", "replace"), number.decode()
    message = (
        f"OR extends the sign of `{shown}`, and {_COMPILER} compiles that to unsigned dot products: assumes that "
        f"`{shown}` has no bit above {said} → ({shown} ^ {said}) - {said}"
    )
    if _has_comment(function, node):
        yield Finding(span, "sign", message.replace(" → ", "; write "), certainty=Certainty.MANUAL)
        return
    yield Finding(span, "sign", message, (Edit(span, new),), Certainty.REVIEW)


def _sign_otherwise(function: Function, node: Node) -> Iterator[Finding]:
    """Report other forms of it: with `else`, `x + (x & 0x80 ? ~0xff : 0)`, `x -= 256`; the rewrite depends on them."""
    condition = node.child_by_field_name("condition")
    if condition is None:
        return
    asked = b"".join(function.text(condition).split())
    match = _ASKS_SIGN.search(asked)
    if match is None:
        return
    bit = 0x8000 if match["bit"].lower() in (b"0x8000", b"32768", b"15") else 0x80
    x = match["x"] or match["shifted"]
    rest = b"".join(function.source.code[condition.end_byte : node.end_byte].split())
    if not _PUTS_SIGN[bit].search(rest) or _has_sign(function, x):
        return
    sides = [node.child_by_field_name(side) for side in ("consequence", "alternative")]
    # In the other branch x is unchanged, or nothing is added.
    left = re.compile(rb"(?:else)?\{?(?:[\w.\[\]]+=)?\(?(?:" + re.escape(x) + rb"|0[uU]?)\)?;?\}?")
    if sides[1] is not None and not any(
        left.fullmatch(b"".join(function.text(side).split())) for side in sides if side is not None
    ):
        return
    shown, number = x.decode("utf-8", "replace"), f"{bit:#x}"
    message = (
        f"a condition extends the sign of `{shown}`, and {_COMPILER} compiles that to unsigned dot products: write "
        f"({shown} ^ {number}) - {number}, if it has no bit above that, or convert it to a signed type of its size"
    )
    yield Finding(Span(node.start_byte, node.end_byte), "sign", message, certainty=Certainty.MANUAL)


def _original_value(function: Function, node: Node, x: bytes) -> Node | None:
    """Return the value of x under the condition, the `|` or the `|=`, if x does not change otherwise."""
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
    """Return whether it is `x | above` or `x |= above`, where `above` is all bits above the sign."""
    if operator_of(value, function.source.code) not in ("|", "|="):
        return False
    operands = (value.child_by_field_name(side) for side in ("left", "right"))
    sides = [_plain(function, operand) for operand in operands if operand is not None]
    return len(sides) == 2 and x in sides and _ABOVE[bit].fullmatch(sides[sides[0] == x]) is not None


def _has_sign(function: Function, x: bytes) -> bool:
    """Return whether x is declared as a signed type of that size: then the OR changes nothing."""
    return (
        re.search(_SIGNED_BYTES + rb"[\w\s,=*&]*\b" + re.escape(x) + rb"\b", function.text(function.node)) is not None
    )


def _bit(function: Function, asked: Node) -> tuple[bytes, int]:
    """Return the operands of `x & 0x80`: x as text, and the number of the bit; empty for other expressions."""
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
