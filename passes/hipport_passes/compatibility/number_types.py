# SPDX-License-Identifier: Apache-2.0
"""The types of expressions of numbers, as far as a program's declarations tell them."""

from __future__ import annotations

import re
from typing import NamedTuple

from hipport.core.edits import Span
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES


class NumberType(NamedTuple):
    """A type of numbers: its bits, and whether it is signed or a floating-point type."""

    bits: int
    signed: bool = True
    real: bool = False


_INT = NumberType(32)
UNSIGNED = NumberType(32, False)
_SIZE = NumberType(64, False)
NUMBERS = {
    b"bool": NumberType(1, False),
    b"char": NumberType(8),
    b"short": NumberType(16),
    b"int": _INT,
    b"long": NumberType(64),
    b"unsigned": UNSIGNED,
    b"uint": UNSIGNED,
    b"uchar": NumberType(8, False),
    b"ushort": NumberType(16, False),
    b"size_t": _SIZE,
    b"ssize_t": NumberType(64),
    b"ptrdiff_t": NumberType(64),
    b"float": NumberType(32, real=True),
    b"double": NumberType(64, real=True),
    **{b"int%d_t" % bits: NumberType(bits) for bits in (8, 16, 32, 64)},
    **{b"uint%d_t" % bits: NumberType(bits, False) for bits in (8, 16, 32, 64)},
}
WORD = NAMES.composed(
    rb"(?:unsigned|signed|bool|char|short|int|long|float|double|(?&unsigned_words)|(?:(?&std)::)?(?&sizes)|(?:(?&std)::)?(?&ptrdiff)"
    rb"|(?:(?&std)::)?u?int(?:8|16|32|64)_t)"
)
TYPE = rb"(?P<type>" + WORD + rb"(?:\s+" + WORD + rb")*)"
_VECTOR = NAMES.compile(rb"\b(?&vector)\s*<\s*([\w\s:]+?)\s*>\s*$")
_TEMPLATE = re.compile(rb"\btemplate\s*<[^;{}()]*$")
# The text before the declared name: `const float* __restrict__`, `std::vector<int>`, `unsigned long&`.
_BEFORE = NAMES.compile(
    rb"(?<![\w:.>])(?P<words>[A-Za-z_][\w:]*(?:\s*<[^;{}()<>]*>)?(?:\s+[A-Za-z_][\w:]*(?:\s*<[^;{}()<>]*>)?)*)"
    rb"(?P<sign>[\s*&]+)(?:(?&restrict)\s+)?$"
)
_QUALIFIERS = frozenset(b"const constexpr static inline volatile register __restrict__ __shared__ extern".split())
_NO_TYPES = frozenset(b"return else case goto throw delete new using namespace typename and or not operator".split())
_MEMBERS = frozenset((b"x", b"y", b"z", b"w"))
_COMPARISONS = frozenset((b"<", b">", b"<=", b">=", b"==", b"!=", b"&&", b"||"))
_LARGEST = frozenset((b"min", b"max", b"std::min", b"std::max"))
_TOKEN = re.compile(
    rb"(?:(?:0[xX][0-9a-fA-F']+|\d[\d']*\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)[uUlLfF]*)"
    rb"|(?:[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)*)|->|<<|>>|<=|>=|==|!=|&&|\|\||\S"
)
_STRENGTH = {
    **dict.fromkeys((b"*", b"/", b"%"), 6),
    **dict.fromkeys((b"+", b"-"), 5),
    **dict.fromkeys((b"<<", b">>"), 4),
    b"&": 3,
    b"^": 2,
    b"|": 1,
}
_BUILT_IN = frozenset((b"threadIdx", b"blockIdx", b"blockDim", b"gridDim"))


def number_named(text: bytes) -> NumberType | None:
    words = [word.removeprefix(b"std::") for word in text.split()]
    if not words:
        return None
    signs = [word for word in words if word in (b"signed", b"unsigned")]
    rest = [word for word in words if word not in (b"signed", b"unsigned")]
    if len(rest) > 1:
        rest = [word for word in rest if word != b"int"][:1]
    number = NUMBERS.get(rest[0]) if rest else _INT
    return number._replace(signed=False) if number and b"unsigned" in signs else number


class NumberValue(NamedTuple):
    """The type of an expression; `constant`: the compiler knows its value."""

    number: NumberType
    constant: bool = False


class NumberExpression:
    """An expression of numbers. An unknown expression has no type.

    With `members`, the members of vectors are taken for numbers, of a type that is not looked up.
    """

    def __init__(self, source: Cpp, span: Span, depth: int = 0, *, members: bool = False) -> None:
        self.source = source
        self.members = members
        self.start = span.start
        self.depth = depth
        self.tokens = [match.group() for match in _TOKEN.finditer(source.code, span.start, span.end)][::-1]

    def value(self) -> NumberValue | None:
        """Return the value of the expression, or None if it is unknown."""
        try:
            found = self._choice()
            return found if not self.tokens else None
        except (IndexError, KeyError, ValueError, RecursionError):
            return None

    def _next(self, expected: bytes = b"") -> bytes:
        token = self.tokens.pop()
        if expected and token != expected:
            raise ValueError(token)
        return token

    def _peek(self) -> bytes:
        return self.tokens[-1] if self.tokens else b""

    def _choice(self) -> NumberValue:
        left = self._compared()
        if self._peek() != b"?":
            return left
        self._next()
        one = self._choice()
        self._next(b":")
        other = self._choice()
        return _together(one, other)._replace(constant=left.constant and one.constant and other.constant)

    def _compared(self) -> NumberValue:
        left = self._binary(1)
        while self._peek() in _COMPARISONS:
            self._next()
            right = self._binary(1)
            left = NumberValue(NUMBERS[b"bool"], left.constant and right.constant)
        return left

    def _binary(self, weakest: int) -> NumberValue:
        left = self._unary()
        while (strength := _STRENGTH.get(self._peek(), 0)) >= weakest:
            sign = self._next()
            right = self._binary(strength + 1)
            if sign in (b"<<", b">>"):
                left = _promoted(left)._replace(constant=left.constant and right.constant)
            else:
                left = _together(left, right)
        return left

    def _unary(self) -> NumberValue:
        token = self._next()
        if token in (b"-", b"+", b"~"):
            return _promoted(self._unary())
        if token == b"!":
            return NumberValue(NUMBERS[b"bool"], self._unary().constant)
        if token == b"(":
            words = self._type_words()
            if words and self._peek() == b")":
                self._next()
                return NumberValue(_known(number_named(words)), self._unary().constant)
            self.tokens += words.split()[::-1]
            found = self._choice()
            self._next(b")")
            return found
        if token[:1].isdigit() or token[:1] == b".":
            return NumberValue(_literal(token), constant=True)
        return self._named(b"".join(token.split()))

    def _type_words(self) -> bytes:
        words = []
        while re.fullmatch(WORD, self._peek()):
            words.append(self._next())
        return b" ".join(words)

    def _named(self, name: bytes) -> NumberValue:
        if name == b"sizeof":
            self._arguments()
            return NumberValue(_SIZE, constant=True)
        if name == b"static_cast":
            self._next(b"<")
            number = _known(number_named(self._type_words()))
            self._next(b">")
            return NumberValue(number, self._one().constant)
        if re.fullmatch(WORD, name):
            number = _known(number_named(b" ".join((name, self._type_words())).strip()))
            return NumberValue(number, self._one().constant)
        if name in _LARGEST and self._peek() == b"(":
            self._next()
            one = self._choice()
            self._next(b",")
            other = self._choice()
            self._next(b")")
            return _together(one, other) if name in (b"min", b"max") else one
        if name in _BUILT_IN:
            self._next(b".")
            self._next()
            return NumberValue(UNSIGNED)
        if b"::" in name:
            raise ValueError(name)
        if self.members and self._is_member():
            return NumberValue(NUMBERS[b"float"])
        if self._peek() in (b".", b"->"):
            self._next()
            if self._next() not in (b"size", b"length"):
                raise ValueError(name)
            self._next(b"(")
            self._next(b")")
            return NumberValue(_SIZE)
        if self._peek() == b"[":
            self._arguments()
            if self._peek() in (b"[", b".", b"->", b"("):
                raise ValueError(name)
            return NumberValue(_known(self._declared(name, element=True)[0]))
        if self._peek() in (b"(", b"::", b"<"):
            raise ValueError(name)
        declared, constant = self._declared(name, element=False)
        return NumberValue(_known(declared), constant)

    def _is_member(self) -> bool:
        """Skip the text behind a name if it leads to a member of a vector: `.x`, `[i].pos->w`."""
        before = list(self.tokens)
        last = b""
        while self._peek() in (b".", b"->", b"["):
            if self._peek() == b"[":
                self._arguments()
                last = b""
            else:
                self._next()
                last = self._next()
        if last in _MEMBERS:
            return True
        self.tokens = before
        return False

    def _one(self) -> NumberValue:
        self._next(b"(")
        found = self._choice()
        self._next(b")")
        return found

    def _arguments(self) -> None:
        """Skip the text in parentheses or brackets here."""
        depth = 0
        while True:
            token = self._next()
            depth += (token in (b"(", b"[")) - (token in (b")", b"]"))
            if not depth:
                return

    def _declared(self, name: bytes, element: bool) -> tuple[NumberType | None, bool]:
        """Return the type in the last declaration of `name` before the expression, or the type of its elements."""
        if self.depth > 4:
            raise ValueError(name)
        code = self.source.code
        last = None
        used = re.compile(rb"\b" + re.escape(name) + rb"\b\s*(?P<behind>[;=,)({:]|\[|$)")
        for match in reversed([*used.finditer(code, 0, self.start)]):
            declared = _BEFORE.search(code[max(0, match.start() - 200) : match.start()])
            if declared is not None and declared["words"].split()[-1] not in _NO_TYPES:
                last = match
                break
        if last is None or declared is None:
            raise ValueError(name)
        words = declared["words"].split()
        sign = b"".join(declared["sign"].split())
        constant = False
        if element:
            vector = _VECTOR.search(declared["words"])
            if vector:
                return number_named(vector[1]), False
            if sign not in (b"*", b"*__restrict__") and last["behind"] != b"[":
                raise ValueError(name)
        elif sign not in (b"", b"&") or last["behind"] == b"[":
            raise ValueError(name)
        if b"constexpr" in words or _TEMPLATE.search(code[max(0, last.start() - 300) : last.start()]):
            constant = True
        elif b"const" in words and last["behind"] in b"={(" and not element:
            ends = [end for end in (code.find(mark, last.end()) for mark in (b";", b",")) if end >= 0]
            initial = NumberExpression(
                self.source, Span(last.end(), min(ends, default=last.end())), self.depth + 1
            ).value()
            constant = initial is None or initial.constant
        kept = b" ".join(word for word in words if word not in _QUALIFIERS)
        return (number_named(kept) if all(re.fullmatch(WORD, word) for word in kept.split()) else None), constant


def _known(number: NumberType | None) -> NumberType:
    if number is None:
        raise ValueError("an unknown type")
    return number


def _literal(token: bytes) -> NumberType:
    hexadecimal = token[:2].lower() == b"0x"
    if not hexadecimal and (b"." in token or b"e" in token.lower() or token[-1:] in b"fF"):
        return NUMBERS[b"float"] if token[-1:] in b"fF" else NUMBERS[b"double"]
    suffix = re.sub(rb".*[0-9a-f]", b"", token.lower()) if not hexadecimal else b""
    return NumberType(64 if b"l" in suffix else 32, b"u" not in suffix)


def _promoted(value: NumberValue) -> NumberValue:
    return value if value.number.real or value.number.bits >= 32 else value._replace(number=_INT)


def _together(left: NumberValue, right: NumberValue) -> NumberValue:
    """Return the result type of an operator on two numbers ([expr.arith.conv])."""
    one, other = _promoted(left).number, _promoted(right).number
    if one.real or other.real:
        number = max(each for each in (one, other) if each.real)
    elif one.bits != other.bits:
        number = max(one, other)
    else:
        number = one if not one.signed else other
    return NumberValue(number, left.constant and right.constant)
