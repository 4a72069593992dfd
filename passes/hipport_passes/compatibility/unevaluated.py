# SPDX-License-Identifier: Apache-2.0
"""Give device code a `std::declval` of its own, and the concepts of the standard library that use it.

nvcc lets device code name host functions in unevaluated operands, for example in `decltype`. clang does not (up to 21),
and `std::declval` is a host function: a `__device__` function that uses it in its types does not compile.
`std::convertible_to` and the concepts based on it are false if device code evaluates them first, so another overload is
chosen, or the other branch of an `if constexpr`. `hipport::declval` is for host and device, and is never called;
hipport's concepts equal the standard's. `std::declval` in classes and functions for host and device compiles, and
stays.

Other host functions in unevaluated operands of device code are reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hipport.analysis.functions import DEVICE, HOST
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include, with_included_headers
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, word_before
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.declarations import heads

_WORDS = Words.read(Path(__file__).with_name("compatibility_words.toml"), general=NAMES)
# The concepts of <concepts> that clang 21 with libstdc++ evaluates to false in device code although the types satisfy
# them, tried one by one; and the concepts based on them.
_CONCEPTS = _WORDS["concepts"].encode().split()
_NAMES = _WORDS.compile(rb"(?&declares)|(?&concepts)")
_STD = _WORDS.compile(rb"(?:::\s*)?\b(?&std)\s*::\s*$")
_USING_STD = _WORDS.compile(rb"\busing\s+namespace\s+(?&std)\s*;")
_MACRO = re.compile(rb"#[ \t]*define[ \t]+(\w+)(?:\([^()]*\))?[ \t]+([^\r\n]*)")
# Code that clang checks where it is used: a concept, a requirement, the alias template of `using A = …`.
_ASKED = _WORDS.compile(rb"\b(?&asked)\b")
_ALIAS = re.compile(rb"\btemplate\b.*\busing\s+\w+\s*=", re.DOTALL)
# Unevaluated operands, and calls in them that are not calls of members.
_OPERAND = re.compile(rb"\b(?:decltype|sizeof|alignof|noexcept)\s*\(")
_CALL = re.compile(rb"(?<![\w.>:])(?:::\s*)?(?:[A-Za-z_]\w*\s*::\s*)*(?P<name>[A-Za-z_]\w*)\s*(?:<[^;{}()]*>\s*)?\(")
# The text before a function's name in its declaration; words in it that exclude a function, or a host function.
_DECLARES = re.compile(
    rb"\s*(?:template\s*<[^;{}]*>\s*)?(?:[A-Za-z_]\w*(?!\w)|::|<(?:[^;{}()<>]|<(?:[^;{}()<>]|<[^;{}()<>]*>)*>)*>|[\s*&])+"
)
_DIRECTIVE = re.compile(rb"(?:^|(?<=[\r\n]))[ \t]*#(?:[^\\\r\n]|\\(?:\r\n?|\n|.)?)*")
_NO_FUNCTION = frozenset((b"struct", b"class", b"union", b"enum", b"using", b"typedef", b"constexpr", b"consteval"))


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per use that device code may see, and per host function that is named there."""
    if source.is_hipport_header or source.for_host or not project.union_over(source, _device_code):
        return
    macros = dict(project.union_over(source, _macros))
    yield from _of_host(source, project, macros)
    if not source.matched(_NAMES):
        return
    for span, name in source.names(_NAMES):
        if source.ported(span.start):
            continue
        qualified = _STD.search(source.code, max(0, span.start - 40), span.start)
        if name == b"declval":
            if qualified is None and not _bare(source, span.start):
                continue
            if not _for_device(source, span, macros):
                continue
        elif qualified is None:
            continue
        start = qualified.start() if qualified else span.start
        need, header = include(source, project, "unevaluated.h")
        edits = (Edit(Span(start, span.end), b"hipport::" + name), *((need,) if need else ()))
        kind = "declval" if name == b"declval" else "concept"
        what = "is" if name == b"declval" else "uses"
        message = (
            f"std::{name.decode()} {what} a host function, which clang does not let device code name: hipport's is for "
            "host and device"
        )
        yield Finding(Span(start, span.end), kind, message, edits, creates=with_included_headers(header))


def _of_host(source: Cpp, project: Project, macros: dict[bytes, bytes]) -> Iterator[Finding]:
    """Yield a finding per unevaluated operand in device code that calls a host function."""
    known: dict[bytes, bool] = {}
    for match in _OPERAND.finditer(source.code):
        start, closing = match.start(), source.closing(match.end() - 1)
        if closing is None or source.ported(start):
            continue
        for call in _CALL.finditer(source.code, match.end(), closing):
            name = call["name"]
            if source.directive(start) is not None or not _for_device(source, Span(*call.span("name")), macros):
                break
            if name not in known:
                known[name] = _is_of_host(name, source, project, macros)
            if known[name]:
                message = (
                    f"{name.decode()} is a host function, which clang does not let device code name, not even in an "
                    "unevaluated operand: declare it __host__ __device__, or write the type"
                )
                yield Finding(Span(*call.span("name")), "host", message, certainty=Certainty.MANUAL)
                break


def _is_of_host(name: bytes, source: Cpp, project: Project, macros: dict[bytes, bytes]) -> bool:
    """Return whether all declarations of a name are functions for the host only."""
    found = False
    for other in project.component(source):
        if not isinstance(other, Cpp) or name not in other.words:
            continue
        for span, _ in other.names(frozenset((name,))):
            if next(heads(other, span.start), None) is not None:
                continue  # In a function, or a member.
            start = max(other.code.rfind(end, 0, span.start) + 1 for end in (b";", b"{", b"}"))
            before = _DIRECTIVE.sub(b"", other.code[start : span.start])
            words = set(re.findall(rb"\w+", before))
            if other.directive(span.start) is not None or words & _NO_FUNCTION:
                return False
            if other.given(span.end) is None or not _DECLARES.fullmatch(before):
                continue
            if DEVICE.search(before) or any(DEVICE.search(macros[word]) for word in words & macros.keys()):
                return False
            found = True
    return found


def _bare(source: Cpp, start: int) -> bool:
    """Return whether an unqualified `declval` at `start` is that of std."""
    code = source.code
    if code[:start].rstrip()[-2:] in (b"::", b"->") or code[:start].rstrip()[-1:] == b".":
        return False
    return _USING_STD.search(code) is not None


def _device_code(source: Cpp) -> frozenset[bool]:
    return frozenset({True}) if DEVICE.search(source.code) else frozenset()


def _macros(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    """Return the macros that expand to `__device__` or `__host__`, with their expansions."""
    found = set()
    for directive in source.directives:
        macro = _MACRO.match(source.code, directive.start)
        if macro is not None and (DEVICE.search(macro[2]) or HOST.search(macro[2])):
            found.add((macro[1], macro[2]))
    return frozenset(found)


def _for_device(source: Cpp, span: Span, macros: dict[bytes, bytes]) -> bool:
    """Return whether clang checks the types in `span` as device code, or may do so."""
    if source.directive(span.start) is not None:
        return True
    code = source.code
    start = max(code.rfind(end, 0, span.start) + 1 for end in (b";", b"{", b"}"))
    if word_before(code, _start_of_name(code, span.start)) == b"using":
        return True
    ends = [end for end in (code.find(b"{", span.end), code.find(b";", span.end)) if end >= 0]
    statement = code[start : min(ends, default=len(code))]
    if _ALIAS.search(statement):
        return True
    for text in (statement, *(code[head.start : head.end] for head in heads(source, span.start))):
        if _ASKED.search(text):
            return True
        text = b" ".join((text, *(macros.get(word, b"") for word in re.findall(rb"\w+", text))))
        if DEVICE.search(text):
            return HOST.search(text) is None
    return False


def _start_of_name(code: bytes, start: int) -> int:
    qualified = _STD.search(code, max(0, start - 40), start)
    return qualified.start() if qualified else start


PASS = Pass(Cpp, find)
