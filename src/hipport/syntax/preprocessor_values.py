# SPDX-License-Identifier: Apache-2.0
"""The values of preprocessor conditions, as far as their macros are known.

    value(tokens(b"defined(A) && B > 2"), asked)  # 1, 0, or None if it depends on an unknown value

The caller decides what is known about macros, so that it can ask on behalf of one compiler or another.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Protocol

from hipport.syntax.lexing import SPLICE
from hipport.syntax.vocabulary import IDENTIFIER

_SPLICED = re.compile(SPLICE)
_TOKEN = re.compile(rb"[0-9](?:'?\w)*|\w+|&&|\|\||[<>=!]=|<<|>>|[^\s\w]")
# C++ has alternative spellings for some operators.
_WORDS = {b"and": b"&&", b"or": b"||", b"not": b"!", b"not_eq": b"!="}
_STRENGTH = {
    sign: strength
    for strength, signs in enumerate(
        (b"||", b"&&", b"|", b"^", b"&", b"== !=", b"< > <= >=", b"<< >>", b"+ -", b"* / %"), 1
    )
    for sign in signs.split()
}


def _quotient(a: int, b: int) -> int:
    """Divide as C++ does: towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


#: Operators of two numbers: those of comparisons return truth values.
OPERATIONS: dict[bytes, Callable[[int, int], int]] = {
    b"|": operator.or_,
    b"^": operator.xor,
    b"&": operator.and_,
    b"==": operator.eq,
    b"!=": operator.ne,
    b"<": operator.lt,
    b">": operator.gt,
    b"<=": operator.le,
    b">=": operator.ge,
    b"<<": lambda a, b: a << b % 64,
    b">>": lambda a, b: a >> b % 64,
    b"+": operator.add,
    b"-": operator.sub,
    b"*": operator.mul,
    b"/": _quotient,
    b"%": lambda a, b: a - b * _quotient(a, b),
}


class MacroValues(Protocol):
    """The values of the macros in a condition; None where one is not known."""

    def defined(self, name: bytes) -> bool | None:
        """Whether the macro is defined."""

    def number(self, name: bytes) -> int | None:
        """Return the macro's value: 0 if it is not defined."""


def tokens(text: bytes) -> list[bytes]:
    """Return the tokens of a condition without comments, with signs for the operators that are words."""
    return [_WORDS.get(token, token) for token in _TOKEN.findall(_SPLICED.sub(b"", text))]


def value(of: list[bytes], macros: MacroValues) -> int | None:
    """Return the value of a condition's tokens; None if it depends on an unknown value or is not a valid condition.

    The value of a macro with arguments, or of `__has_include(…)`, is unknown.
    """
    try:
        return _Condition(of, macros).value()
    except (IndexError, ValueError, RecursionError):
        return None


class IntegerExpression:
    """A parser that evaluates integral expressions of C. Raises IndexError and ValueError for an invalid one.

    A subclass evaluates the operands. The value of an expression is None if it depends on an unknown operand.
    """

    def __init__(self, of: list[bytes]) -> None:
        self.tokens = of[::-1]

    def operand(self, token: bytes) -> int | None:
        """Return the value of an operand that begins with a name or sign."""
        raise ValueError(token)

    def value(self) -> int | None:
        """Return the value of all tokens."""
        value = self.ternary()
        if self.tokens:
            raise ValueError(self.tokens[-1])
        return value

    def next(self, expected: bytes = b"") -> bytes:
        """Take a token, which must be the expected one."""
        token = self.tokens.pop()
        if expected and token != expected:
            raise ValueError(token)
        return token

    def ternary(self) -> int | None:
        """Return the value of `a ? b : c`, or of an expression without a choice."""
        value = self.binary(1)
        if self.tokens[-1:] != [b"?"]:
            return value
        self.next()
        yes = self.ternary()
        self.next(b":")
        no = self.ternary()
        if value is None:
            return yes if yes == no else None
        return yes if value else no

    def binary(self, weakest: int) -> int | None:
        """Return the value of operators that bind at least as strongly."""
        left = self.unary()
        while self.tokens and (strength := _STRENGTH.get(self.tokens[-1], 0)) >= weakest:
            left = _combined(self.next(), left, self.binary(strength + 1))
        return left

    def unary(self) -> int | None:
        """Return the value of an operand, with the signs in front of it."""
        token = self.next()
        if token == b"!":
            value = self.unary()
            return None if value is None else int(not value)
        if token == b"-":
            value = self.unary()
            return None if value is None else -value
        if token == b"(":
            value = self.ternary()
            self.next(b")")
            return value
        if token[:1].isdigit():
            digits = token.replace(b"'", b"").lower().rstrip(b"ul")
            return int(digits, 8 if digits.isdigit() and digits.startswith(b"0") else 0)
        if token in (b"true", b"false"):
            return int(token == b"true")
        return self.operand(token)


class _Condition(IntegerExpression):
    def __init__(self, of: list[bytes], macros: MacroValues) -> None:
        super().__init__(of)
        self.macros = macros

    def operand(self, token: bytes) -> int | None:
        if token == b"defined":
            name = self.next()
            if name == b"(":
                name = self.next()
                self.next(b")")
            known = self.macros.defined(name)
            return None if known is None else int(known)
        if not IDENTIFIER.fullmatch(token):
            raise ValueError(token)
        if self.tokens[-1:] == [b"("]:  # a macro with arguments, or __has_include
            depth = 0
            while True:
                depth += {b"(": 1, b")": -1}.get(self.next(), 0)
                if not depth:
                    return None
        return self.macros.number(token)


def _combined(sign: bytes, left: int | None, right: int | None) -> int | None:
    if sign == b"&&":
        return 0 if 0 in (left, right) else None if None in (left, right) else 1
    if sign == b"||":
        return 1 if left or right else None if None in (left, right) else 0
    if left is None or right is None or (sign in (b"/", b"%") and not right):
        return None
    return int(OPERATIONS[sign](left, right))
