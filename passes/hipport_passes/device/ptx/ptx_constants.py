# SPDX-License-Identifier: Apache-2.0
"""Evaluate PTX's constant expressions of integers.

Source: PTX ISA 9.0, "Integer Constants", "Constant Expressions", "Integer Constant Expression Evaluation": numbers have
64 bits, and are signed unless they end in U or have the highest bit set; the operators are those of C.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import add, and_, eq, ge, gt, le, lt, mul, ne, or_, sub, xor

_LEVELS: tuple[dict[bytes, Callable[[int, int], int]], ...] = (
    {b"||": lambda a, b: a != 0 or b != 0},
    {b"&&": lambda a, b: a != 0 and b != 0},
    {b"|": or_},
    {b"^": xor},
    {b"&": and_},
    {b"==": eq, b"!=": ne},
    {b"<": lt, b"<=": le, b">": gt, b">=": ge},
    {b"<<": lambda a, b: a << _amount(b), b">>": lambda a, b: a >> _amount(b)},
    {b"+": add, b"-": sub},
    {b"*": mul, b"/": lambda a, b: _quotient(a, b)},
)
_DOUBLE = re.compile(rb"\|\||&&|==|!=|<=|>=|<<|>>")
_INTEGER = re.compile(rb"0[xX][0-9a-fA-F]+|0[bB][01]+|\d+")


def evaluate(tokens: Sequence[bytes]) -> int:
    """Return the value of an expression, from -2^63 to 2^63 - 1.

    Raises ValueError for other text, for expressions with an unsigned number, and for undefined results.
    """
    joined: list[bytes] = []
    for token in tokens:
        if joined and _DOUBLE.fullmatch(joined[-1] + token):
            joined[-1] += token
        else:
            joined.append(token)
    expression = _Expression(joined[::-1])
    try:
        value = expression.conditional()
    except (IndexError, ZeroDivisionError, RecursionError) as error:
        raise ValueError("not a constant expression") from error
    if expression.left:
        raise ValueError(expression.left[-1].decode())
    return value


class _Expression:
    """The tokens that are left to read, the next one last."""

    def __init__(self, left: list[bytes]) -> None:
        self.left = left

    def conditional(self) -> int:
        value = self.binary(0)
        if self.left[-1:] != [b"?"]:
            return value
        self.left.pop()
        yes = self.conditional()
        self.expect(b":")
        no = self.conditional()
        return yes if value else no

    def binary(self, level: int) -> int:
        if level == len(_LEVELS):
            return self.unary()
        value = self.binary(level + 1)
        while self.left and self.left[-1] in _LEVELS[level]:
            operation = _LEVELS[level][self.left.pop()]
            value = _wrapped(operation(value, self.binary(level + 1)))
        return value

    def unary(self) -> int:
        token = self.left.pop()
        if token == b"(":
            value = self.conditional()
            self.expect(b")")
            return value
        if token in (b"+", b"-", b"!", b"~"):
            value = self.unary()
            return _wrapped({b"+": value, b"-": -value, b"!": int(value == 0), b"~": ~value}[token])
        if not _INTEGER.fullmatch(token):
            raise ValueError(token.decode())
        octal = token.isdigit() and token.startswith(b"0")
        value = int(token, 8 if octal else 0)
        if value >> 63:
            raise ValueError(f"{token.decode()} is unsigned")
        return value

    def expect(self, token: bytes) -> None:
        if self.left.pop() != token:
            raise ValueError(f"no {token.decode()}")


def _wrapped(value: int) -> int:
    return (int(value) + (1 << 63)) % (1 << 64) - (1 << 63)


def _amount(bits: int) -> int:
    if not 0 <= bits < 64:
        raise ValueError(f"a shift by {bits}")
    return bits


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
