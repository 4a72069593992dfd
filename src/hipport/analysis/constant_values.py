# SPDX-License-Identifier: Apache-2.0
"""The values of constant expressions, as far as the text determines them.

Macros without arguments, `const` and `constexpr` variables, enumerators with a value and functions without parameters
that only return a value are known by name, in all connected files; members also by their class. Names with two
different values, template parameters, and everything else are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from hipport.core.edits import Span
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp, word_before
from hipport.syntax.declarations import heads, namespaces
from hipport.syntax.preprocessor_values import IntegerExpression

if TYPE_CHECKING:
    from hipport.analysis.functions import Function

_MACRO = re.compile(rb"#[ \t]*define[ \t]+([A-Za-z_]\w*)[ \t]+([^\r\n\\]+)(?=[\r\n]|\Z)")
_CONSTANT = re.compile(
    rb"const(?:expr)?\b\s+(?:(?:static|const|constexpr|inline|unsigned|signed|long|short|std::)\s*)*"
    rb"(?:int|long|short|size_t|u?int\d+_t|unsigned|bool|auto)\s+(?:const\s+)?([A-Za-z_]\w*)\s*(?:=\s*([^;]+)|\{([^;{}]+)\}\s*);"
)
# The body of a function whose name determines its result: `constexpr int lanes() { return 32; }`
_RETURN = re.compile(rb"\breturn\b\s*([^;{}]+);")
_IF = re.compile(rb"\s*if\s*(?:constexpr\s*)?\([^{};]*\)(?:\s*(?:else\b)?\s*\{?\s*return\b[^{};]+;\s*\}?){2}\s*")
_ARRAY = re.compile(
    rb"c(?<!\wc)onst(?:expr)?\b[\w\s:]*?\b(?P<name>\w+)\s*\[[^\[\]]*\]\s*=?\s*\{(?P<value>[^{};]*)\}\s*;"
)
_DIRECTIVE = re.compile(rb"(?:\A|(?<=[\r\n]))[ \t]*#[^\r\n]*")
_LONGEST = 400
_DEFINED = re.compile(rb"\(\s*(?:void\s*)?\)\s*(?:(?:const|noexcept|override|final)\s*)*\{")
_CONSTEXPR, _NUMBERS = re.compile(rb"\bconst(?:expr|eval)\b"), re.compile(rb"[\d\s+*/%()<>xXuUlL-]+")
# `struct Lanes`, `enum class Size : int`: qualifiers of names.
_CLASS = re.compile(rb"\b(?:struct|class|union|enum)\s+(?:(?:class|struct)\s+)?([A-Za-z_]\w*(?:\s*<[\w\s:,]*>)?)")
_NAMING = frozenset(b"struct class union enum namespace".split())
_TEMPLATE = re.compile(rb"\s*template\s*<.*?>\s*(?=struct\b|class\b|union\b)", re.DOTALL)
_ENUM = re.compile(rb"enum\b[^;{}()]*\{([^{}]*)\}")
_ENTRY = re.compile(rb"([A-Za-z_]\w*)\s*=\s*([^,;(){}]+)(?=,|$)")
_TOKEN = re.compile(rb"[0-9](?:'?\w)*|(?:[A-Za-z_]\w*(?:\s*::\s*)?)+|<<|>>|[<>=!]=|&&|\|\||\S")
#: Constants of hipport's own headers, which appear in files that were ported before.
OWN = {b"hipport::warp_size": 32, b"hipport::native::max_lanes": 64, b"hipport::native::max_waves": 32}
_NAME = re.compile(rb"(?<![\w:])[A-Za-z_]\w*(?!\s*::)")
# Precedes a variable that does not change.
_STAYS = re.compile(rb"\bconst(?:expr)?\b[^;{}]*\Z")
#: Sizes in bytes of types of C++, CUDA and HIP, on 64-bit Linux.
_SIZES = {
    b"bool": 1,
    b"char": 1,
    b"int8_t": 1,
    b"uint8_t": 1,
    b"uchar": 1,
    b"short": 2,
    b"int16_t": 2,
    b"uint16_t": 2,
    b"ushort": 2,
    b"half": 2,
    b"__half": 2,
    b"int": 4,
    b"unsigned": 4,
    b"uint": 4,
    b"int32_t": 4,
    b"uint32_t": 4,
    b"float": 4,
    b"half2": 4,
    b"__half2": 4,
    b"long": 8,
    b"size_t": 8,
    b"int64_t": 8,
    b"uint64_t": 8,
    b"double": 8,
}
_VECTOR = re.compile(rb"(u?(?:char|short|int|long|longlong)|float|double)([1-4])")


def size(text: bytes) -> int | None:
    """Return the size in bytes of the type that `text` names; None if it is not a type of the language or of CUDA."""
    if text.rstrip().endswith(b"*"):
        return 8
    words = [word for word in re.findall(rb"\w+", text) if word not in (b"const", b"volatile", b"signed", b"std")]
    if len(words) > 1:
        words = [word for word in words if word != b"unsigned"] or words
        words = words[-1:] if set(words) > {b"int"} and words[-1] != b"int" else [w for w in words if w != b"int"][:1]
    if not words:
        return 4 if b"signed" in text else None
    vector = _VECTOR.fullmatch(words[0])
    if vector is not None:
        return _SIZES[vector[1].removeprefix(b"u").replace(b"longlong", b"long")] * int(vector[2])
    return _SIZES.get(words[0])


def value(source: Cpp, project: Project, text: bytes) -> int | None:
    """Return the value of the integral expression `text` in `source`; None if unknown."""
    return value_in(project.component(source), text)


def value_in(component: Component, text: bytes) -> int | None:
    """Return the value of the integral expression `text` in connected files; None if unknown."""
    try:
        return ConstantExpression(text, component.fact(_table), 0).value()
    except (IndexError, ValueError, ZeroDivisionError, RecursionError):
        return None


def hidden(function: Function | None, text: bytes, at: int) -> bool:
    """Say whether a name in `text`, at a place in a function, is a variable or parameter of it rather than a constant.

    Local `const` variables are constants themselves.
    """
    if function is None:
        return False
    for name in _NAME.findall(text):
        variable = function.locals.named(name, at)
        if variable is None:
            continue
        line = function.source.code[max(function.body.start_byte, variable.start - 80) : variable.start]
        if not _STAYS.search(line) or variable.start < function.body.start_byte:
            return True
    return False


def members(component: Component, name: bytes) -> frozenset[int]:
    """Return the values that members of a name have in the classes of the files, as far as they are known."""
    found = (key for key in component.fact(_table) if key.endswith(b"::" + name))
    return frozenset(known for key in found if (known := value_in(component, key)) is not None)


def definition(source: Cpp, project: Project, name: bytes) -> bytes | None:
    """Return the expression that the constant `name` stands for in `source`; None if there is not exactly one."""
    return project.component(source).fact(_table).get(name)


def _table(component: Component) -> dict[bytes, bytes | None]:
    """Return the value of each name; None for a name with several values."""
    defined: dict[bytes, bytes | None] = {}
    for source in component:
        for name, body in source.fact(_definitions) if isinstance(source, Cpp) else ():
            defined[name] = None if defined.get(name, body) != body else body
    return defined


class Placed(NamedTuple):
    """A definition of a constant: its name, the names with the enclosing classes, and the expression."""

    name: bytes
    qualified: tuple[bytes, ...]
    value: Span


def _definitions(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    found = source.fact(placed)
    named = {(each.name, source.code[each.value.start : each.value.end]) for each in found}
    return frozenset(named | {(name, source[each.value]) for each in found for name in each.qualified})


def placed(source: Cpp) -> tuple[Placed, ...]:
    """Return the definitions of constants in a file. A fact of the file."""
    code = source.code
    found: list[tuple[int, bytes, Span]] = []
    for match in _MACRO.finditer(code):
        found.append((-1, match[1], Span(*match.span(2))))
    for match in _CONSTANT.finditer(code):
        group = 2 if match[2] else 3
        found += (
            (match.start(), name, Span(match.start(group) + start, match.start(group) + end))
            for name, start, end in _one_by_one(match[1], match[group])
        )
    found += ((at, name + b"()", span) for at, name, span in _functions(source) if b"return" in source.words)
    for match in _ARRAY.finditer(code):
        found.append((match.start(), match["name"] + b"[]", Span(*match.span("value"))))
    for match in _ENUM.finditer(code):
        # Enumerators of a plain enumeration are also members of the class around it.
        for entry in _ENTRY.finditer(match[1]):
            start, end = entry.span(2)
            found.append((match.start(1) + entry.start(), entry[1], Span(match.start(1) + start, match.start(1) + end)))
    # Other files qualify them with the names of classes.
    classes = not source.words.isdisjoint(_NAMING)
    return tuple(
        Placed(
            name,
            tuple(each + b"::" + name for each in _scopes_around(source, at)) if classes else (),
            source.trimmed(span),
        )
        for at, name, span in found
    )


def _functions(source: Cpp) -> Iterator[tuple[int, bytes, Span]]:
    """Yield the results of functions without parameters, as `name()`; for all other functions, an unknown value.

    If the function is not `constexpr`, its result must be a number: names in it may be members or variables. Branches
    of the preprocessor may return one each.
    """
    code = source.code
    for match in _DEFINED.finditer(code):
        name = word_before(code, match.start())
        if not name:
            continue
        opening = match.end() - 1
        head = re.split(rb"[;{}]", code[max(0, match.start() - 200) : match.start()])[-1]
        spans = list(_returned(source, opening)) if b"virtual" not in head else []
        constant = _CONSTEXPR.search(head) is not None
        if not spans or not all(constant or _NUMBERS.fullmatch(code, each.start, each.end) for each in spans):
            spans = [Span(opening, opening + 1)]  # A bracket is not an expression.
        yield from ((match.start(), name, each) for each in spans)


def _returned(source: Cpp, opening: int) -> Iterator[Span]:
    """Yield the values that a function returns if it has only `return`s, perhaps two in an `if`."""
    closing = source.closing(opening, _LONGEST)
    if closing is None:
        return
    body = source.code[opening + 1 : closing]
    rest = _DIRECTIVE.sub(b"", body) if b"#" in body else body
    if not _RETURN.sub(b"", rest).strip():
        yield from (Span(*each.span(1)) for each in _RETURN.finditer(source.code, opening + 1, closing))
    elif _IF.fullmatch(body):
        yield source.trimmed(Span(opening + 1, closing))


def _scopes_around(source: Cpp, offset: int) -> Iterator[bytes]:
    """Yield the names of the classes, enumerations and namespaces around a place."""
    for head in heads(source, offset) if offset >= 0 else ():
        text = source.code[head.start : head.end]
        template = _TEMPLATE.match(text)
        named = _CLASS.search(text, template.end() if template is not None else 0)
        if named is not None:
            yield b"".join(named[1].split())
    yield from namespaces(source, offset) if offset >= 0 else ()


def _one_by_one(name: bytes, body: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield the constants of one declaration with the places of their values: `4, b = 5` after `a =` are two."""
    depth, start = 0, 0
    for at, byte in enumerate(body + b","):
        depth += (byte in b"([{") - (byte in b")]}")
        if byte == ord(",") and not depth:
            yield name, start, at
            following = _ENTRY.match(body, at + 1 + len(body[at + 1 :]) - len(body[at + 1 :].lstrip()))
            if following is None:
                return
            name, start = following[1], following.start(2)


class ConstantExpression(IntegerExpression):
    """Evaluates an expression. Raises ValueError and IndexError for unknown syntax, and for unknown values."""

    def __init__(self, text: bytes, defined: Mapping[bytes, bytes | None], depth: int) -> None:
        if depth > 8:
            raise ValueError(text)
        super().__init__(_TOKEN.findall(text))
        self.defined = defined
        self.depth = depth

    def value(self) -> int:
        """Return its value, also that of `if (a) return b; else return c;`, the whole body of some functions."""
        result = self._branches() if self.tokens[-1:] == [b"if"] else self.ternary()
        if self.tokens or result is None:
            raise ValueError(self.tokens[-1:])
        return result

    def named(self, name: bytes) -> int:
        """Return the value of a name."""
        body = self.defined.get(name)
        if body is None and b"::" in name:
            body = self.defined.get(b"::".join(name.split(b"::")[-2:]).removeprefix(b"::"))
        if body is None:
            raise ValueError(name)
        return ConstantExpression(body, self.defined, self.depth + 1).value()

    def element(self, name: bytes, index: int) -> int:
        """Return an element of an array."""
        raise ValueError(name)

    def size_of(self, text: bytes) -> int | None:
        """Return the size of a type in bytes."""
        return size(text)

    def _branches(self) -> int | None:
        self._skip(b"if")
        self._skip(b"constexpr")
        condition = self.unary()  # With its parentheses.
        found = []
        for _ in range(2):
            self._skip(b"else")
            self._skip(b"{")
            self.next(b"return")
            found.append(self.ternary())
            self.next(b";")
            self._skip(b"}")
        return None if condition is None else found[0] if condition else found[1]

    def _skip(self, token: bytes) -> bool:
        found = self.tokens[-1:] == [token]
        if found:
            self.tokens.pop()
        return found

    def operand(self, token: bytes) -> int | None:
        """Return the value of a name, an array's element, a call without arguments, or `sizeof`."""
        if token == b":" and self._skip(b":"):
            token = self.next()  # `::kLanes`
        if token == b"sizeof":
            return self._sizeof()
        name = b"".join(token.split())
        own = OWN.get(name)
        if own is not None:
            return own
        if self.tokens[-2:] == [b")", b"("]:
            del self.tokens[-2:]
            name += b"()"
        if self._skip(b"["):
            index = self.ternary()
            self.next(b"]")
            return None if index is None else self.element(name, index)
        return self.named(name)

    def _sizeof(self) -> int | None:
        self.next(b"(")
        words = []
        while (token := self.next()) != b")":
            words.append(token)
        return self.size_of(b" ".join(words))
