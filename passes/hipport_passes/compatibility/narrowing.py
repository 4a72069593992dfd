# SPDX-License-Identifier: Apache-2.0
"""Let clang convert a value in braces to a narrower type, as nvcc does with a warning.

`dim3 grid{n}` of an `int`, `float f{n}` and `Size s = {v.size(), 1}` into a structure of `int` are narrowing, which
clang refuses. A `#pragma clang diagnostic` turns that off for the file; the value is converted as in CUDA. Only
certain cases count: both types are known from the program's declarations, and the value is not a constant, which both
compilers check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hipport.analysis.constant_values import value
from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.declarators import behind

_PRAGMA = b'#pragma clang diagnostic ignored "-Wc++11-narrowing"'


class _Number(NamedTuple):
    """A type of numbers: its bits, and whether it is signed or a floating-point type."""

    bits: int
    signed: bool = True
    real: bool = False


_INT = _Number(32)
_UNSIGNED = _Number(32, False)
_SIZE = _Number(64, False)
_TYPES = {
    b"bool": _Number(1, False),
    b"char": _Number(8),
    b"short": _Number(16),
    b"int": _INT,
    b"long": _Number(64),
    b"unsigned": _UNSIGNED,
    b"uint": _UNSIGNED,
    b"uchar": _Number(8, False),
    b"ushort": _Number(16, False),
    b"size_t": _SIZE,
    b"ssize_t": _Number(64),
    b"ptrdiff_t": _Number(64),
    b"float": _Number(32, real=True),
    b"double": _Number(64, real=True),
    **{b"int%d_t" % bits: _Number(bits) for bits in (8, 16, 32, 64)},
    **{b"uint%d_t" % bits: _Number(bits, False) for bits in (8, 16, 32, 64)},
}
_WORD = NAMES.composed(
    rb"(?:unsigned|signed|bool|char|short|int|long|float|double|(?&unsigned_words)|(?:(?&std)::)?(?&sizes)|(?:(?&std)::)?(?&ptrdiff)"
    rb"|(?:(?&std)::)?u?int(?:8|16|32|64)_t)"
)
_TYPE = rb"(?P<type>" + _WORD + rb"(?:\s+" + _WORD + rb")*)"
# `dim3 g{`, `dim3{`, `float f = {`, `int a[] = {`, `std::vector<float> v{`, `Params p = {`
_LIST = NAMES.compile(
    rb"(?<![\w:.>])(?:const\s+|static\s+)*(?:(?:(?&std)\s*::\s*)?(?&lists)\s*<\s*"
    rb"(?P<element>" + _WORD + rb"(?:\s+" + _WORD + rb")*)\s*(?:,[^<>;{}]*)?>|" + _TYPE + rb"|(?P<class>[A-Za-z_]\w*))"
    rb"(?:\s+(?P<name>[A-Za-z_]\w*)(?P<array>\s*\[[^\]{};]*\])?\s*=?)?\s*\Z"
)  # fmt: skip
_BEHIND = re.compile(rb",\s*(?P<name>[A-Za-z_]\w*)(?P<array>\s*\[[^\]{};]*\])?\s*=?\s*\Z")
_END = re.compile(rb"[;}]")
# The longest text in front of the brace.
_HEAD = 200
_NOT_CLASSES = frozenset(
    b"struct class union enum namespace else do try return new const static auto extern typename const_cast".split()
)
_VECTOR = NAMES.compile(rb"\b(?&vector)\s*<\s*([\w\s:]+?)\s*>\s*$")
_STRUCT = NAMES.compile(
    rb"struct(?<!\wstruct)\s+(?:(?&align)\s*\(\s*\d+\s*\)\s*|alignas\s*\(\s*\d+\s*\)\s*)?(\w+)\s*\{([^{}()]*)\}"
)
_FIELD = re.compile(rb"\s*(?:const\s+)?" + _TYPE + rb"\s+(?P<names>\w+(?:\s*,\s*\w+)*)\s*")
_NAME = re.compile(rb"[A-Za-z_.]")  # Otherwise it is an integer.
_PART = re.compile(rb"[()\[\]{},;]")
_TEMPLATE = re.compile(rb"\btemplate\s*<[^;{}()]*$")
# The text before the declared name: `const float* __restrict__`, `std::vector<int>`, `unsigned long&`.
_BEFORE = NAMES.compile(
    rb"(?<![\w:.>])(?P<words>[A-Za-z_][\w:]*(?:\s*<[^;{}()<>]*>)?(?:\s+[A-Za-z_][\w:]*(?:\s*<[^;{}()<>]*>)?)*)"
    rb"(?P<sign>[\s*&]+)(?:(?&restrict)\s+)?$"
)
_QUALIFIERS = frozenset(b"const constexpr static inline volatile register __restrict__ __shared__ extern".split())
_NO_TYPES = frozenset(b"return else case goto throw delete new using namespace typename and or not operator".split())
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


def _braces(code: bytes) -> Iterator[int]:
    """Yield the braces that open no body, because a body would contain a statement."""
    start, end = code.find(b"{"), -1
    while start >= 0:
        # One search for each end, not for each brace: a file may have many braces and no end.
        if end < start:
            found = _END.search(code, start)
            if found is None:
                return
            end = found.start()
        if code[end : end + 1] == b"}":
            yield start
        start = code.find(b"{", start + 1)


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for the first narrowed value of the file."""
    code = source.code
    if source.is_hipport_header or source.for_host or b"-Wc++11-narrowing" in source.text or b"{" not in code:
        return
    structures: Mapping[bytes, tuple[_Number | None, ...]] | None = None
    for start in _braces(code):
        if code[max(0, start - 20) : start].rstrip().endswith(b")"):
            continue  # The name of a function.
        head = max(0, start - _HEAD)
        match = _LIST.search(code, max(head, code.rfind(b";", head, start)), start)
        another = _BEHIND.search(code, head, start)
        kind = behind(code, another.start("name")) if another is not None else None
        array = match["array"] if match is not None else None
        if kind is not None and another is not None:
            # `int a, b[] = {…}`
            match, array = _LIST.search(code, max(0, kind.start - 1), kind.end), another["array"]
        if match is None or source.ported(match.start()):
            continue
        name = match["class"]
        if name in _NOT_CLASSES or source.directive(match.start()) is not None:
            continue
        targets: tuple[_Number | None, ...]
        if name == b"dim3":
            targets = (_UNSIGNED,) * 3
        elif name is not None:
            if structures is None:
                structures = _structures(project.union_over(source, _structs))
            if name not in structures:
                continue
            targets = structures[name]
        else:
            targets = (_number(match["element"] or match["type"]),) * (64 if match["element"] or array else 1)
        values = _values(source, start)
        for target, span in zip(targets, values, strict=False):
            text = code[span.start : span.end]
            if target is None or not _NAME.search(text) or value(source, project, text) is not None:
                continue
            found = _Expression(source, span).value()
            # To clang a conversion from floating point to an integer is always narrowing.
            if found is None or (found.constant and (target.real or not found.number.real)):
                continue
            if _narrows(found.number, target):
                point = source.include_point
                message = (
                    f"{text.decode(errors='replace')} is narrowed in braces, which clang rejects and nvcc only warns "
                    "about: clang is told to accept it"
                )
                yield Finding(span, "braces", message, (Edit(Span(point, point), _PRAGMA + source.newline),))
                return


def _narrows(found: _Number, target: _Number) -> bool:
    """Return whether a type has values that the other has not, by C++'s rules ([dcl.init.list])."""
    if found.real:
        return not target.real or found.bits > target.bits
    if target.real:
        return found.bits > 1
    if found.signed and not target.signed:
        return True
    return found.bits - found.signed > target.bits - target.signed


def _number(text: bytes) -> _Number | None:
    words = [word.removeprefix(b"std::") for word in text.split()]
    if not words:
        return None
    signs = [word for word in words if word in (b"signed", b"unsigned")]
    rest = [word for word in words if word not in (b"signed", b"unsigned")]
    if len(rest) > 1:
        rest = [word for word in rest if word != b"int"][:1]
    number = _TYPES.get(rest[0]) if rest else _INT
    return number._replace(signed=False) if number and b"unsigned" in signs else number


def _structs(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    return frozenset(_STRUCT.findall(source.code)) if b"struct" in source.words else frozenset()


def _structures(found: frozenset[tuple[bytes, bytes]]) -> Mapping[bytes, tuple[_Number | None, ...]]:
    """Return the types of the members of each structure that has only numbers, without default values."""
    structures: dict[bytes, tuple[_Number | None, ...]] = {}
    twice = set()
    for name, body in found:
        members: list[_Number | None] = []
        for field in body.split(b";")[:-1]:
            match = _FIELD.fullmatch(field)
            if match is None:
                members.append(None)
                if b"," in field:
                    break  # The index of later members is unknown.
            else:
                members += [_number(match["type"])] * len(match["names"].split(b","))
        if name in structures:
            twice.add(name)
        structures[name] = tuple(members)
    return {name: members for name, members in structures.items() if name not in twice}


def _values(source: Cpp, brace: int) -> Iterator[Span]:
    """Yield the elements of the list that opens at `brace`, without nested lists and designators."""
    code = source.code
    closing = source.closing(brace)
    if closing is None:
        return
    depth, start = 0, brace + 1
    for match in _PART.finditer(code, start, closing + 1):
        at, token = match.start(), match.group()
        if token == b";":
            return
        if at == closing or (token == b"," and not depth):
            yield source.trimmed(Span(start, at))
            start = at + 1
        elif token != b",":
            depth += 1 if token in b"([{" else -1


class _Value(NamedTuple):
    """The type of an expression; `constant`: the compiler knows its value."""

    number: _Number
    constant: bool = False


class _Expression:
    """An expression of numbers. An unknown expression has no type."""

    def __init__(self, source: Cpp, span: Span, depth: int = 0) -> None:
        self.source = source
        self.start = span.start
        self.depth = depth
        self.tokens = [match.group() for match in _TOKEN.finditer(source.code, span.start, span.end)][::-1]

    def value(self) -> _Value | None:
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

    def _choice(self) -> _Value:
        left = self._compared()
        if self._peek() != b"?":
            return left
        self._next()
        one = self._choice()
        self._next(b":")
        other = self._choice()
        return _together(one, other)._replace(constant=left.constant and one.constant and other.constant)

    def _compared(self) -> _Value:
        left = self._binary(1)
        while self._peek() in _COMPARISONS:
            self._next()
            right = self._binary(1)
            left = _Value(_TYPES[b"bool"], left.constant and right.constant)
        return left

    def _binary(self, weakest: int) -> _Value:
        left = self._unary()
        while (strength := _STRENGTH.get(self._peek(), 0)) >= weakest:
            sign = self._next()
            right = self._binary(strength + 1)
            if sign in (b"<<", b">>"):
                left = _promoted(left)._replace(constant=left.constant and right.constant)
            else:
                left = _together(left, right)
        return left

    def _unary(self) -> _Value:
        token = self._next()
        if token in (b"-", b"+", b"~"):
            return _promoted(self._unary())
        if token == b"!":
            return _Value(_TYPES[b"bool"], self._unary().constant)
        if token == b"(":
            words = self._type_words()
            if words and self._peek() == b")":
                self._next()
                return _Value(_known(_number(words)), self._unary().constant)
            self.tokens += words.split()[::-1]
            found = self._choice()
            self._next(b")")
            return found
        if token[:1].isdigit() or token[:1] == b".":
            return _Value(_literal(token), constant=True)
        return self._named(b"".join(token.split()))

    def _type_words(self) -> bytes:
        words = []
        while re.fullmatch(_WORD, self._peek()):
            words.append(self._next())
        return b" ".join(words)

    def _named(self, name: bytes) -> _Value:
        if name == b"sizeof":
            self._arguments()
            return _Value(_SIZE, constant=True)
        if name == b"static_cast":
            self._next(b"<")
            number = _known(_number(self._type_words()))
            self._next(b">")
            return _Value(number, self._one().constant)
        if re.fullmatch(_WORD, name):
            number = _known(_number(b" ".join((name, self._type_words())).strip()))
            return _Value(number, self._one().constant)
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
            return _Value(_UNSIGNED)
        if b"::" in name:
            raise ValueError(name)
        if self._peek() in (b".", b"->"):
            self._next()
            if self._next() not in (b"size", b"length"):
                raise ValueError(name)
            self._next(b"(")
            self._next(b")")
            return _Value(_SIZE)
        if self._peek() == b"[":
            self._arguments()
            if self._peek() in (b"[", b".", b"->", b"("):
                raise ValueError(name)
            return _Value(_known(self._declared(name, element=True)[0]))
        if self._peek() in (b"(", b"::", b"<"):
            raise ValueError(name)
        declared, constant = self._declared(name, element=False)
        return _Value(_known(declared), constant)

    def _one(self) -> _Value:
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

    def _declared(self, name: bytes, element: bool) -> tuple[_Number | None, bool]:
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
                return _number(vector[1]), False
            if sign not in (b"*", b"*__restrict__") and last["behind"] != b"[":
                raise ValueError(name)
        elif sign not in (b"", b"&") or last["behind"] == b"[":
            raise ValueError(name)
        if b"constexpr" in words or _TEMPLATE.search(code[max(0, last.start() - 300) : last.start()]):
            constant = True
        elif b"const" in words and last["behind"] in b"={(" and not element:
            ends = [end for end in (code.find(mark, last.end()) for mark in (b";", b",")) if end >= 0]
            initial = _Expression(self.source, Span(last.end(), min(ends, default=last.end())), self.depth + 1).value()
            constant = initial is None or initial.constant
        kept = b" ".join(word for word in words if word not in _QUALIFIERS)
        return (_number(kept) if all(re.fullmatch(_WORD, word) for word in kept.split()) else None), constant


def _known(number: _Number | None) -> _Number:
    if number is None:
        raise ValueError("an unknown type")
    return number


def _literal(token: bytes) -> _Number:
    hexadecimal = token[:2].lower() == b"0x"
    if not hexadecimal and (b"." in token or b"e" in token.lower() or token[-1:] in b"fF"):
        return _TYPES[b"float"] if token[-1:] in b"fF" else _TYPES[b"double"]
    suffix = re.sub(rb".*[0-9a-f]", b"", token.lower()) if not hexadecimal else b""
    return _Number(64 if b"l" in suffix else 32, b"u" not in suffix)


def _promoted(value: _Value) -> _Value:
    return value if value.number.real or value.number.bits >= 32 else value._replace(number=_INT)


def _together(left: _Value, right: _Value) -> _Value:
    """Return the result type of an operator on two numbers ([expr.arith.conv])."""
    one, other = _promoted(left).number, _promoted(right).number
    if one.real or other.real:
        number = max(each for each in (one, other) if each.real)
    elif one.bits != other.bits:
        number = max(one, other)
    else:
        number = one if not one.signed else other
    return _Value(number, left.constant and right.constant)


PASS = Pass(Cpp, find)
