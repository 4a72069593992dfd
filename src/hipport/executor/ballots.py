# SPDX-License-Identifier: Apache-2.0
"""Find where HIP's ballots are stored in fewer bits than there are lanes.

`unsigned mask = __ballot(p);` compiles, and on wavefronts of 64 lanes loses the votes of half of them. If a value is
stored in a variable, returned, or counted, and consists only of a ballot, or bits of one (`&`, `|`, `^`, `~`), it gets
`SIMT_KEPT` around it, which returns it unchanged and faults if votes of lanes are lost (core.h). Its type does not
change, so code that compiled still compiles. A cast or a shift is explicit: halves that are taken on purpose are left
alone.

A 64-bit variable that is assigned a ballot once and never changed, nor shifted by 32, is a ballot in every use. A value
that a function of the program takes as 32 bits is stored in them.

Not seen: values that reach 32 bits through a variable that is changed, a member, or the 64-bit result of a function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hipport.analysis.functions import functions
from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.lexing import PARENTHESES

_LISTS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
_BUILT_IN = _LISTS.composed(rb"(?&masks)")
_DIRECT = re.compile(rb"[\s(]*(?:" + _BUILT_IN + rb")\s*\([^;{}]*\)[\s)]*")
_MACRO = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)\([^()\n]*\)(?P<body>[^\n]*)", re.MULTILINE)
#: Device functions that count or search 32 bits.
_COUNTS = _LISTS.compile(rb"\b__(?&counts)\s*\Z")
_OF_32_BITS = frozenset((b"unsigned", b"int", b"unsigned int", b"uint32_t", b"std::uint32_t", b"uint"))
# A variable that holds a whole ballot; and code that changes it, or takes half of it.
_WIDE = _LISTS.composed(
    rb"\b(?:auto|(?:(?&std)::)?(?&uint64)|unsigned\s+long(?:\s+long)?(?:\s+int)?)\s+(?:const\s+)?"
    rb"(?P<name>[A-Za-z_]\w*)\s*=(?!=)"
)
_CHANGED = (
    rb"(?<![\w.])%(name)s\s*(?:(?:[-+*/%%&|^]|<<|>>)?=(?!=)|>>\s*32\b|\+\+|--)|(?:\+\+|--|[(,=]\s*&)\s*%(name)s\b|"
    rb"&\s*\w+\s*=\s*%(name)s\b"
)
_HALVES = re.compile(rb">>=?\s*32\b")
_KEYWORD = re.compile(rb"\s*(?:else|do)\b|\s*(?:case\b[^:;{}]*|default|[A-Za-z_]\w*)\s*:(?!:)")
_CONDITION = re.compile(rb"\s*(?:if|while|for|switch)\s*(?:constexpr\s*)?\(")
# The words of a declaration before the name; a pointer or reference does not store the value.
_DECLARATION = re.compile(
    rb"\s*(?:[\w:]+(?:\s*<(?:[^;{}<>]|<(?:[^;{}<>]|<[^;{}<>]*>)*>)*>)?[\s]+)+(?P<name>[A-Za-z_]\w*)\s*"
)
#: An assignable expression: no two words side by side, no comparison, no macro that declares something.
_PLACE = re.compile(rb"(?!.*[\w)\]]\s+\w)(?!.*(?:<|(?<!-)>))[\s*(]*[A-Za-z_][^;{}=?#]*(?<=[\w\]])\s*", re.DOTALL)
_FUNCTION = _LISTS.compile(
    rb"(?P<name>[A-Za-z_][\w:]*)\s*" + PARENTHESES + rb"\s*(?:const\s*|noexcept\s*|(?&restrict)\s*)*\Z"
)
_WORDS = _LISTS.compile(
    rb"\b(?:static|inline|constexpr|virtual|friend|extern|explicit|typename|__(?&specifiers)__|(?&inline))\b|\"[^\"]*\"|\[\[[^\]]*\]\]|(?&attribute)\s*\(\(.*?\)\)",
    re.DOTALL,
)
_TYPE = re.compile(
    rb"\s*(?:const\s+)?(?!(?:auto|void|decltype|operator|return|else|new)\b)[A-Za-z_][\w:]*"
    rb"(?:\s+(?:int|long|short|char|const))*\s*"
)
_LAMBDA = re.compile(rb"\]\s*(?:\([^{};]*\))?[^{};()]*\Z")
_ARRAY = re.compile(rb"\w\s*\[[^\]]*\]\s*\Z")
_NOT_FUNCTIONS = frozenset((b"if", b"for", b"while", b"switch", b"catch"))
# Precedes a bracket that only groups.
_OPERATORS = b"=&|^~("
#: Precedes `=` where a result that is not only a ballot is stored, or no bits are lost.
_OTHER_ASSIGNMENTS = frozenset(bytes([each]) for each in b"=!<>+-*/%&")
_INSIDE = re.compile(rb"\([^()]*\)|\[[^][]*\]")


def _aliases(component: Component) -> frozenset[bytes]:
    """Return the macros of the program that expand to a ballot."""
    return frozenset(
        match["name"]
        for source in component
        if isinstance(source, Cpp) and not source.is_hipport_header and b"__" in source.code
        for match in _MACRO.finditer(source.code)
        if _DIRECT.fullmatch(match["body"].strip())
    )


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each ballot that may be stored in 32 bits."""
    if source.is_hipport_header:
        return
    names = b"|".join([_BUILT_IN, *map(re.escape, sorted(project.component(source).fact(_aliases)))])
    code = source.code
    done: set[int] = set()
    calls = [
        (match.start(), source.closing(match.end() - 1), b"")
        for match in re.finditer(rb"\b(?:" + names + rb")\s*\(", code)
    ]
    for at, closing, variable in (*calls, *_in_variables(source, names)):
        slot = _slot(code, at, closing) if closing is not None else None
        if closing is None or slot is None or slot[0] in done or _in_macro(code, at):
            continue
        start, end = slot
        kept = _kept_in(source, start, end) or _given_to(source, project, start, end)
        if (
            kept is None
            or not _is_ballot(code[start:end], names, variable)
            or _HALVES.search(code, *_statement(code, start, end))
        ):
            continue
        done.add(start)
        edits = (Edit(Span(start, start), b"SIMT_KEPT(" + kept + b")("), Edit(Span(end, end), b")"))
        yield Finding(Span(start, end), "kept", "", edits)


def _in_variables(source: Cpp, names: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield the uses of 64-bit variables that are a ballot: the first and last byte, and the name."""
    code = source.code
    for match in re.finditer(_WIDE + rb"(?=[\s(~]*(?:" + names + rb")\s*\()", code):
        end = _right(code, match.end())
        opening = _left(code, match.start(), b"{")
        closing = source.closing(opening) if opening >= 0 else None
        if closing is None or not _is_ballot(code[match.end() : end], names) or _in_macro(code, match.start()):
            continue
        name = match["name"]
        if re.compile(_CHANGED % {b"name": name}).search(code, end, closing):
            continue
        for use in re.compile(rb"(?<![\w.>])" + name + rb"\b").finditer(code, end, closing):
            yield use.start(), use.end() - 1, name


def _given_to(source: Cpp, project: Project, start: int, end: int) -> bytes | None:
    """Return the 32-bit type as which a function of the program takes the expression, if it is an argument."""
    opening = _left(source.code, start, b"(;{}")
    if source.code[opening : opening + 1] != b"(":
        return None
    called = re.search(rb"(\w+)\s*(?:<[^;{}()]*>\s*)?\Z", source.code[max(0, opening - 200) : opening])
    given = source.arguments(opening) or ()
    position = next((i for i, each in enumerate(given) if each.start <= start and end <= each.end), None)
    if called is None or position is None:
        return None
    found: set[bytes] = set()
    for other in project.component(source):
        for function in functions(other) if isinstance(other, Cpp) and called[1] in other.words else ():
            if function.name == called[1] and position < len(function.parameters):
                head = function.source.code[function.node.start_byte + len(function.head) : function.body.start_byte]
                declared = re.search(rb"[(,]([^(),]*?)\b" + re.escape(function.parameters[position]) + rb"\b", head)
                found.add(b" ".join(declared[1].replace(b"const", b" ").split()) if declared else b"")
    return found.pop() if len(found) == 1 and found <= _OF_32_BITS else None


def _in_macro(code: bytes, at: int) -> bool:
    """Whether a place is in a preprocessor directive."""
    line = code.rfind(b"\n", 0, at) + 1
    while line > 1 and code[:line].rstrip(b"\r\n").endswith(b"\\"):
        line = code.rfind(b"\n", 0, line - 1) + 1
    return code[line:at].lstrip().startswith(b"#")


def _left(code: bytes, at: int, stops: bytes) -> int:
    """Return the offset of the last of `stops` before `at`, ignoring brackets that close before it; else -1."""
    depth = 0
    for i in range(at - 1, -1, -1):
        each = code[i]
        if each in b")]}":
            if each == ord("}") and not depth and ord("}") in stops:
                return i
            depth += 1
        elif each in b"([{" and depth:
            depth -= 1
        elif not depth and each in stops:
            return i
    return -1


def _slot(code: bytes, start: int, closing: int) -> tuple[int, int] | None:
    """Return the span of the whole expression that contains a call: from `=`, `return` or a bracket on."""
    left = _left(code, start, b";{}(,[=?:")
    while code[left - 1 : left + 1] == b"::":
        left = _left(code, left - 1, b";{}(,[=?:")
    if left < 0 or (code[left : left + 1] == b"=" and code[left - 1 : left] in _OTHER_ASSIGNMENTS):
        return None
    right = _right(code, closing + 1)
    returned = [match.end() for match in re.finditer(rb"\breturn\b", code[left + 1 : start])]
    begin = left + 1 + (returned[-1] if returned else 0)
    if not returned and code[left : left + 1] == b"(" and code[right : right + 1] == b")":
        before = code[:left].rstrip()
        if before[-1:] in _OPERATORS or re.search(rb"\breturn\Z", before):
            return _slot(code, left, right)
    if right >= len(code) or code[right] not in b";,)":
        return None
    return begin + len(code[begin:start]) - len(code[begin:start].lstrip()), right


def _right(code: bytes, at: int) -> int:
    """Return where the expression that contains `at` ends."""
    depth = 0
    for i in range(at, len(code)):
        each = code[i]
        if each in b"([{":
            depth += 1
        elif each in b")]}" and depth:
            depth -= 1
        elif not depth and each in b";,)]}?:=":
            return i
    return len(code)


def _statement(code: bytes, start: int, end: int) -> tuple[int, int]:
    """Return the approximate span of the statement."""
    first = max(code.rfind(each, 0, start) for each in (b";", b"{", b"}"))
    last = code.find(b";", end)
    return first + 1, last if last >= 0 else len(code)


def _is_ballot(text: bytes, names: bytes, variable: bytes = b"") -> bool:
    """Whether an expression is only a ballot, or bits of one, or the given variable that holds one."""
    text = text.strip()
    while text.startswith(b"(") and _closes(text) == len(text) - 1:
        text = text[1:-1].strip()
    parts, depth, begin = [], 0, 0
    for i, each in enumerate(text):
        if each in b"([{":
            depth += 1
        elif each in b")]}":
            depth -= 1
        elif not depth:
            if each in b"<>+-*/%?!=" or text[i : i + 2] in (b"&&", b"||"):
                return False
            if each in b"&|^":
                parts.append(text[begin:i])
                begin = i + 1
    parts.append(text[begin:])
    if len(parts) > 1:
        return any(_is_ballot(part, names, variable) for part in parts)
    text = text.lstrip(b"~ \t\r\n")
    if text.startswith(b"("):
        return _closes(text) == len(text) - 1 and _is_ballot(text, names, variable)
    if variable and text == variable:
        return True
    call = re.match(rb"(?:" + names + rb")\s*(?=\()", text)
    return call is not None and call.end() + _closes(text[call.end() :]) == len(text) - 1


def _closes(text: bytes) -> int:
    """Return where the bracket at the start of a text closes; the text's length if it does not."""
    depth = 0
    for i, each in enumerate(text):
        depth += (each in b"([{") - (each in b")]}")
        if not depth:
            return i
    return len(text)


def _kept_in(source: Cpp, start: int, end: int) -> bytes | None:
    """Return the type in which the expression from `start` on is stored, if the program may write it there."""
    code = source.code
    before = code[:start].rstrip()
    if re.search(rb"\breturn\Z", before):
        return _returned(source, start)
    if before.endswith(b"("):
        counts = _COUNTS.search(before[:-1], max(0, len(before) - 20))
        return b"unsigned" if counts and code[end : end + 1] == b")" else None
    if not before.endswith(b"="):
        return None
    equal = len(before) - (2 if before[-2:-1] in (b"|", b"^") else 1)
    first = _left(code, equal, b";{}(),[")
    if first < 0 or code[first : first + 1] == b"[":
        return None
    place = code[first + 1 : equal]
    while (word := _KEYWORD.match(place) or _CONDITION.match(place)) is not None:
        if place[word.end() - 1 : word.end()] == b"(":
            place = place[word.end() - 1 :]
            place = place[_closes(place) + 1 :]
        else:
            place = place[word.end() :]
    declared = _DECLARATION.fullmatch(place)
    if declared is not None:
        return None if re.search(rb"\bauto\b", place) else b"decltype(" + declared["name"] + b")"
    bare = place.strip()
    while (less := _INSIDE.sub(b"", bare)) != bare:
        bare = less  # text in brackets may be anything
    bare = bare or b"("
    if re.search(rb"\w\s*[&*]", bare) or (_PLACE.fullmatch(bare) is None and bare != b"*"):
        return None
    return b"decltype(" + b" ".join(place.split()) + b")"


def _returned(source: Cpp, at: int) -> bytes | None:
    """Return the type that the function around `at` returns; None if it is not written plainly."""
    code = source.code
    while True:
        opening = _left(code, at, b"{")
        if opening < 0:
            return None
        before = code[:opening].rstrip()
        if _LAMBDA.search(before[-400:]) and not _ARRAY.search(before):
            return None
        head = _FUNCTION.search(before, max(0, len(before) - 2000))
        if head is not None and head["name"] not in _NOT_FUNCTIONS:
            words = re.split(rb"[;{}#]|(?<!:):(?!:)", before[: head.start()])[-1]
            words = re.sub(rb"\btemplate\s*<[^(){};]*>", b" ", words)
            words = b" ".join(_WORDS.sub(b" ", words).split())
            return words if _TYPE.fullmatch(words) else None
        at = opening


HIP = Pass(Cpp, find)
