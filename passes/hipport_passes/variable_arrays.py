# SPDX-License-Identifier: Apache-2.0
"""Clear arrays of variable length by a statement of its own, as clang takes no initializer for them.

nvcc and g++ take `T a[n] = {0}` where `n` is no constant (nvcc 13.0 with g++ 12); clang 21 says that a variable-sized
object may not be initialized. For numbers and pointers that are all set to zero, a call of memset behind the
declaration does the same. What is initialized otherwise stays with a person. Only sizes that are certainly variable
count: by a parameter, or a variable that is not const. In host code alone: device code has no such arrays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.finding import Certainty, Finding
from hipport.languages.constants import value
from hipport.languages.cpp import Cpp
from hipport.languages.declarations import declarations, opened_before
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, Span

_ARRAY = re.compile(
    rb"(?:(?<=[;{}:])\s*|^[ \t]*)(?P<const>const\s+)?"
    rb"(?P<type>(?:(?:unsigned|signed|long|short|struct)\s+)*(?:[A-Za-z_]\w*\s*::\s*)*"
    rb"[A-Za-z_]\w*(?:\s*<[^<>;{}()]*>)?[\s*]*?[\s*])(?P<name>[A-Za-z_]\w*)\s*(?P<sizes>(?:\[[^\[\];{}]+\]\s*)+)"
    rb"(?P<equals>=\s*)?(?P<opening>[{\"])",
    re.MULTILINE,
)
# What every such declaration has, which is looked for first.
_INITIALIZED = re.compile(rb"\]\s*(?:=\s*)?[{\"]")
#: Bytes of a declaration in front of its initializer.
_LONGEST = 1000
_NUMBER = re.compile(
    rb"(?:unsigned|signed|bool|char|short|int|long|float|double|(?:std\s*::\s*)?(?:s?size_t|ptrdiff_t|u?int(?:8|16|32|64)_t)"
    rb"|\s)+|[^*]*\*[\s*]*"
)
_ZERO = re.compile(rb"[\s{}]*(?:0|0x0|0?\.0*f?|0\.0*f?|NULL|nullptr|false)?[\s{},]*")
_NO_TYPE = re.compile(rb"\b(?:return|else|case|goto|new|delete|using|typedef|static|constexpr|extern|auto)\b")
_NAME = re.compile(rb"(?<![\w.:>])[A-Za-z_]\w*(?!\s*(?:[(<\w]|::))")
_CONSTANT = re.compile(rb"\b(?:const|constexpr|enum|static|define)\b")
_TEMPLATE = re.compile(rb"\btemplate\s*<[^;{}()]*\Z")
_DEVICE = re.compile(rb"__(?:global|device)__")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per array that is initialized, and whose size is certainly a variable's."""
    code = source.code
    if source.for_host or source.path.suffix == ".c":
        return
    for match in _arrays(code):
        if _NO_TYPE.search(match["type"]) or source.ported(match.start("name")):
            continue
        if source.directive(match.start("name")) is not None:
            continue
        at = match.start("name")
        if not any(_is_variable(source, project, word, at) for word in _NAME.finditer(match["sizes"])):
            continue
        start = match.start("const") if match["const"] else match.start("type")
        name = match["name"].decode()
        said = f"{name}: clang takes no initializer for an array of variable length"
        end = source.closing(match.start("opening")) if match["opening"] == b"{" else None
        zero = end is not None and _ZERO.fullmatch(code, match.end("opening"), end) is not None
        plain = _NUMBER.fullmatch(match["type"].strip()) is not None
        if end is None or not zero or not plain or match["const"] or code[end + 1 :].lstrip()[:1] != b";":
            said += "; declare it without one, and set its elements, or make it a std::vector"
            yield Finding(Span(start, match.end("opening")), "initialized", said, certainty=Certainty.MANUAL)
            continue
        from_ = match.end("sizes") - (len(match["sizes"]) - len(match["sizes"].rstrip()))
        new = b"; __builtin_memset(%b, 0, sizeof(%b))" % (match["name"], match["name"])
        yield Finding(
            Span(start, end + 1),
            "cleared",
            f"{said}: a statement behind it clears it",
            (Edit(Span(from_, end + 1), new),),
        )


def _arrays(code: bytes) -> Iterator[re.Match[bytes]]:
    """Yield the declarations of arrays that are initialized, each from the end of what stands before it."""
    for braces in _INITIALIZED.finditer(code):
        begin = max(
            braces.start() - _LONGEST, 0, *(code.rfind(each, 0, braces.start()) + 1 for each in (b";", b"{", b"}"))
        )
        if match := _ARRAY.search(code, begin, braces.end()):
            yield match


def _is_variable(source: Cpp, project: Project, word: re.Match[bytes], offset: int) -> bool:
    """Say whether a name in the size of an array at `offset` is certainly a variable's that is no constant."""
    name = word.group()
    places = [(span, name) for span, _ in source.names({name}) if span.start < offset]
    for span, _ in reversed(places):
        found = next(iter(declarations(source, [(span, name)])), None)
        if found is None:
            continue
        if found.scope is None or not found.scope.start <= offset < found.scope.end:
            if found.scope is None:
                return False  # a global, or a macro: it may be a constant
            continue
        code = source.code
        begin = max(code.rfind(each, 0, span.start) for each in (b";", b"{", b"}"))
        before = code[begin + 1 : span.start]
        opening = opened_before(code, begin + 1, span.start)
        if opening is None and (_TEMPLATE.search(before) or _CONSTANT.search(before)):
            return False
        if opening is not None and _DEVICE.search(before):
            return False
        return opening is not None or value(source, project, name) is None
    return False


PASS = Pass(Cpp, find)
