# SPDX-License-Identifier: Apache-2.0
"""Write out all members where a list in braces initializes a vector with fewer.

CUDA's `float4` is a structure: in `float4{x}` and `float4 v = {x, y}` the other members become 0, and in
`float2 a[2] = {x, y, z, w}` the numbers fill one vector after the other. HIP's has constructors. `float4{x}` sets all
four members to `x` there, without a message; the other forms do not compile. With a number for each member, and braces
around each vector, both mean the same. One value in braces may also be a vector, which is copied: if hipport does not
know that it is a number, a form that HIP accepts is left to a person. (Tried with clang 21 and the headers of HIP 6.4.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hipport.analysis.functions import function_at
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import load
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport.syntax.cuda_names import NAMES
from hipport_passes.compatibility.number_types import NumberExpression

_NUMBER = NAMES.composed(rb"(?:u?(?:char|short|int|long|(?&long_long))|float|double)")
_NAME_OF_TYPE = NAMES.compile(_NUMBER + rb"(?P<size>[2-4])")
_TYPE = NAMES.compile(rb"(?<![\w.>])" + _NUMBER + rb"[2-4]\b")
_WORDS = load(Path(__file__).with_name("compatibility_words.toml"))["words"]
_COMPLEX = dict.fromkeys(_WORDS["complex"].encode().split(), 2)
_VECTOR = NAMES.compile(rb"(?:(?&make))?" + _NUMBER + rb"[2-4]")
_ALIAS = NAMES.compile(
    rb"\b(?:using\s+(?P<new>\w+)\s*=\s*(?P<old>" + _NUMBER + rb"[2-4])|"
    rb"typedef\s+(?P<kept>" + _NUMBER + rb"[2-4])\s+(?P<name>\w+))\s*;"
)
_TYPE_DECLARED = re.compile(
    rb"\b(?:(?:struct|class|union|enum|typename)\s+(?P<type>\w+)|using\s+(?P<alias>\w+)\s*="
    rb"|typedef\b[^;{}]*?(?P<last>\w+)\s*;)"
)
_BOUNDS = rb"(?P<bounds>(?:\[[^\[\]{};]*\]\s*)*)"
# Between a type and a brace: a name with its bounds, and the sign. Then the next name of the declaration.
_DECLARED = re.compile(rb"\s*(?:const\s+)?(?:(?P<name>[A-Za-z_]\w*)\s*)?%b(?P<sign>=\s*)?\{" % _BOUNDS)
_ANOTHER = re.compile(rb"\s*,\s*(?P<name>[A-Za-z_]\w*)\s*%b(?P<sign>=\s*)?\{" % _BOUNDS)
_BOUND = re.compile(rb"\[\s*([^\[\]]*?)\s*\]")
# Before a type that is followed by a body.
_NOT_BEFORE = re.compile(
    rb"(?:\b(?:struct|class|union|enum|namespace|public|private|protected|operator)|->|[~:]:)\s*\Z"
)
_RETURNED = re.compile(rb"\breturn\s*\{")
_LAMBDA = re.compile(rb"\]\s*(?:\([^()]*\)\s*)?(?:mutable\s*)?(?:->[^{};]*)?\{")
# The type of a function's result, before its name or behind its parameters.
_RESULT = re.compile(rb"(?<![\w:])(?P<type>\w+)\s+(?:\w+\s*::\s*)*\w+\s*\((?![^{}]*->)|->\s*(?P<behind>\w+)\s*\Z")
# A member in the head of a constructor, and the declaration of one.
_GIVEN = re.compile(rb"[:,]\s*(?P<name>[A-Za-z_]\w*)\s*\{(?=[^{};]*\}\s*[,{])")
_MEMBERS = re.compile(
    rb"(?<![\w.>:])(?!(?:return|delete|goto|else|throw)\b)(?P<type>[A-Za-z_]\w*)\s+(?P<names>\w+(?:\s*,\s*\w+)*)\s*;"
)
_ZERO = re.compile(rb"0+(?:\.0*)?[fFuUlL]*|\.0+[fF]?")
# What makes a vector, and a variable that may be one.
_MADE = re.compile(rb"(?:\w+_)?(?P<type>\w+)\s*[({]")
_VARIABLE = re.compile(rb"\*?\s*(?P<name>[A-Za-z_]\w*)(?:\[[^\[\]]*\])?")
_DECLARES = NAMES.composed(rb"\b(\w+)(?:[\s*&]|\bconst\b|(?&restrict)\b)*[\s*&]%b\b")


class _List(NamedTuple):
    """A list in braces for a vector with `size` members, or an array of such.

    `start` is where its text begins, `bounds` are those of an array. If it is `direct`, without a sign before it, HIP
    takes one number for all members.
    """

    start: int
    brace: int
    size: int
    direct: bool
    bounds: tuple[bytes, ...] = ()


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each list with fewer numbers than members, or with the numbers of several vectors."""
    if not isinstance(source, Cuda) or source.is_hipport_header or source.begun_as_hip or b"{" not in source.code:
        return
    own = project.union_over(source, _own_types)
    aliases = {name: size for name, size in _sizes(project.union_over(source, _aliases)).items() if name not in own}
    if source.words.isdisjoint(aliases) and not source.matched(_VECTOR):
        return
    if any(map(_NAME_OF_TYPE.fullmatch, own)):
        return  # A program's `float3` may be another type.
    for each in sorted(_lists(source, aliases)):
        if source.ported(each.start):
            continue
        items = _items(source, each.brace)
        if not items or any(source.code[item.start : item.start + 1] == b"." for item in items):
            continue  # `vector_members` knows designators.
        yield from _judged(source, each, items, aliases)


def _judged(source: Cpp, each: _List, items: Sequence[Span], aliases: Mapping[bytes, int]) -> Iterator[Finding]:
    span = Span(each.start, each.brace)
    said = source[span].decode(errors="replace").rstrip("= \t\r\n")
    if each.bounds:
        edits = tuple(_of_array(source, items, each.bounds, each.size))
        if edits:
            message = f"{said}: HIP's vectors have constructors, so each vector of an array gets braces of its own"
            yield Finding(span, "array", message, edits)
        return
    edits = tuple(_filled(source, items, each.size))
    if edits:
        message = f"{said}: the list leaves out members, which CUDA sets to 0 and HIP does not; they are written out"
        yield Finding(span, "members", message, edits)
    elif each.direct and len(items) == 1 and not _is_vector(source, items[0], aliases):
        text = source[items[0]].decode(errors="replace")
        whole = ", ".join([text, *["0"] * (each.size - 1)])
        message = (
            f"{said}: if {text} is a number, HIP sets all members to it, CUDA only the first: write {{{whole}}} then"
        )
        yield Finding(span, "unknown", message, certainty=Certainty.MANUAL)


def _lists(source: Cpp, aliases: Mapping[bytes, int]) -> Iterator[_List]:
    code = source.code
    types = [Span(*match.span()) for match in _TYPE.finditer(code)]
    types += [span for span, _ in source.names(frozenset(aliases))]
    for each in types:
        size = _size(code[each.start : each.end], aliases)
        found = _DECLARED.match(code, each.end)
        start = each.start
        if _NOT_BEFORE.search(code, max(0, start - 40), start):
            continue
        while found is not None:
            brace = found.end() - 1
            yield _List(start, brace, size, found["sign"] is None, tuple(_BOUND.findall(found["bounds"])))
            closing = source.closing(brace) if found["name"] else None
            found = _ANOTHER.match(code, closing + 1) if closing is not None else None
            start = found.start("name") if found is not None else start
    yield from _returned(source, aliases)
    yield from _of_members(source, aliases)


def _returned(source: Cpp, aliases: Mapping[bytes, int]) -> Iterator[_List]:
    """Yield the lists that functions return as a vector."""
    for match in _RETURNED.finditer(source.code):
        function = function_at(source, match.start())
        if function is None or _LAMBDA.search(source.code, function.body.start_byte, match.start()):
            continue
        head = _RESULT.search(source.code, function.node.start_byte, function.body.start_byte)
        size = _size(head["type"] or head["behind"], aliases) if head is not None else 0
        if size:
            yield _List(match.start(), match.end() - 1, size, direct=False)


def _of_members(source: Cpp, aliases: Mapping[bytes, int]) -> Iterator[_List]:
    """Yield the lists in the heads of constructors for members that are vectors."""
    given = list(_GIVEN.finditer(source.code))
    sizes: dict[bytes, set[int]] = {}
    for match in _MEMBERS.finditer(source.code) if given else ():
        for name in match["names"].split(b","):
            sizes.setdefault(name.strip(), set()).add(_size(match["type"], aliases))
    for match in given:
        known = sizes.get(match["name"], set())
        if len(known) == 1 and 0 not in known:
            yield _List(match.start("name"), match.end() - 1, next(iter(known)), direct=True)


def _items(source: Cpp, brace: int) -> Sequence[Span]:
    """Return the elements of a list; none if it is not understood, or is the body of something."""
    directive = source.directive(brace)
    closing = source.closing(brace)
    if closing is None or (directive is not None and closing >= directive.end):
        return ()
    if re.search(rb"[;#]", source.code[brace:closing]):
        return ()
    return [each for each in source.arguments(brace) or () if len(each)]


def _filled(source: Cpp, items: Sequence[Span], size: int) -> Iterator[Edit]:
    """Yield the edit that gives a vector all of its members."""
    if not 0 < len(items) < size or any(_is_list(source, each) for each in items):
        return
    # Only one value may be a vector.
    if len(items) > 1 or _is_number(source, items[0]):
        yield Edit(Span(items[-1].end, items[-1].end), b", 0" * (size - len(items)))


def _of_array(source: Cpp, items: Sequence[Span], bounds: Sequence[bytes], size: int) -> Iterator[Edit]:
    """Yield the edits that give each vector of an array its own braces, and all of its members."""
    if any(_is_list(source, each) for each in items):
        for each in items:
            inner = _items(source, each.start) if _is_list(source, each) else ()
            yield from _of_array(source, inner, bounds[1:], size) if len(bounds) > 1 else _filled(source, inner, size)
    elif items and bounds[0] and all(_ZERO.fullmatch(source.code, each.start, each.end) for each in items):
        yield Edit(Span(items[0].start, items[-1].end), b"")
    elif len(bounds) == 1 and all(_is_number(source, each) for each in items):
        for i in range(0, len(items), size):
            group = items[i : i + size]
            yield Edit(Span(group[0].start, group[0].start), b"{")
            yield Edit(Span(group[-1].end, group[-1].end), b", 0" * (size - len(group)) + b"}")


def _is_list(source: Cpp, item: Span) -> bool:
    return source.code[item.start : item.start + 1] == b"{"


def _is_number(source: Cpp, item: Span) -> bool:
    return NumberExpression(source, item, members=True).value() is not None


def _is_vector(source: Cpp, item: Span, aliases: Mapping[bytes, int]) -> bool:
    """Whether a value is seen to be a vector: what makes one, or a variable of such a type."""
    text = source.code[item.start : item.end]
    made, variable = _MADE.match(text), _VARIABLE.fullmatch(text)
    if made is not None:
        return _size(made["type"], aliases) > 0
    declared = re.compile(_DECLARES % re.escape(variable["name"])) if variable is not None else None
    return declared is not None and any(_size(name, aliases) for name in declared.findall(source.code))


def _size(name: bytes, aliases: Mapping[bytes, int]) -> int:
    """Return the number of members of a type; 0 if it is no vector."""
    found = _NAME_OF_TYPE.fullmatch(name)
    return int(found["size"]) if found else aliases.get(name, 0)


def _aliases(source: Cpp) -> frozenset[tuple[bytes, int]]:
    """Return the other names that a file gives to types of vectors, and the numbers of members."""
    found = _ALIAS.finditer(source.code) if not source.words.isdisjoint((b"using", b"typedef")) else ()
    return frozenset((each["new"] or each["name"], int((each["old"] or each["kept"])[-1:])) for each in found)


def _own_types(source: Cpp) -> frozenset[bytes]:
    """Return the types that a file declares, and the parameters of its templates, but for the aliases of vectors."""
    aliases = {each.start() for each in _ALIAS.finditer(source.code)}
    found = (each for each in _TYPE_DECLARED.finditer(source.code) if each.start() not in aliases)
    return frozenset(each["type"] or each["alias"] or each["last"] for each in found)


def _sizes(found: frozenset[tuple[bytes, int]]) -> Mapping[bytes, int]:
    names = [name for name, _ in found]
    return {**_COMPLEX, **{name: size for name, size in found if names.count(name) == 1}}


PASS = Pass(Cpp, find)
