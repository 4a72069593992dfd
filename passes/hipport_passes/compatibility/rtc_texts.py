# SPDX-License-Identifier: Apache-2.0
"""Cast lists of strings to hipRTC's parameter type: `const char**`, where NVRTC has `const char* const*`.

A `char**` and a `const char* const*` convert to NVRTC's type implicitly, but not to hipRTC's, although hipRTC changes
neither strings nor lists. The type is read from the declarations in the program. A list whose type is not seen is cast,
too: for one that has hipRTC's type, the cast does nothing.

Checked against hip/hiprtc.h of HIP 5.2 and 6.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.analysis.library_names import LibraryNames
from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.declarators import types_behind

#: The indices of arguments that are lists of strings.
_LISTS = {b"nvrtcCompileProgram": (2,), b"nvrtcCreateProgram": (4, 5)}
_NAMES = LibraryNames(frozenset(_LISTS))
_CALL = re.compile(rb"\s*\(")
# `options`, `options.data()`, `&options[0]`, `options + 1`, each also of an object
_LIST = NAMES.compile(
    rb"(?P<first>&\s*)?(?:(?:::\s*)?\w+\s*(?:\.|->|::)\s*)*(?P<name>[A-Za-z_]\w*)"
    rb"(?(first)\s*\[[^\[\]]*\]|(?P<data>\s*\.\s*(?&data)\s*\(\s*\))?)(?:\s*\+\s*\w+)?"
)
# Nothing, and a list that has been cast.
_AS_IT_IS = NAMES.compile(
    rb"(?:\(\s*\w[\w\s*]*\))?\s*\(*(?:nullptr|(?&null)|0[xX]?0*[uUlL]*)\)*"
    rb"|\(\s*(?:const\s+char|char\s+const)\s*\*\s*\*\s*\).*"
    rb"|\w+\s*<\s*(?:const\s+char|char\s+const)\s*\*\s*\*\s*>.*",
    re.DOTALL,
)
_TEXT = rb"(?:char\s+const|const\s+char|char)\s*\*\s*(?:const\b\s*)?"


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per argument that is a list of another type."""
    for span, name in _NAMES.uses(source, project):
        opening = _CALL.match(source.code, span.end)
        arguments = source.arguments(opening.end() - 1) if opening else None
        if arguments is None or source.ported(span.start):
            continue
        for place in (arguments[i] for i in _LISTS[name] if i < len(arguments)):
            if _is_other(source, project, place):
                cast = b"(const char**)(" if source.path.suffix == ".c" else b"const_cast<const char**>("
                edits = (Edit(Span(place.start, place.start), cast), Edit(Span(place.end, place.end), b")"))
                yield Finding(place, "list", "a list of texts → const char**: the type that hipRTC takes", edits)


def _is_other(source: Cpp, project: Project, place: Span) -> bool:
    """Return whether the list at `place` is not known to have hipRTC's type; a cast of one that has it does nothing."""
    text = source.code[place.start : place.end].strip()
    if _AS_IT_IS.fullmatch(text):
        return False
    match = _LIST.fullmatch(text)
    if match is None:
        return True
    of_list, by_address = match["data"] is not None, match["first"] is not None
    found = [*_declared(source, match["name"], of_list, by_address)]
    if not found:
        others = (each for each in project.component(source) if isinstance(each, Cpp) and each is not source)
        found = [each for other in others for each in _declared(other, match["name"], of_list, by_address)]
    return not found or any(_differs(kind, all_of) for kind, all_of in found)


def _declared(source: Cpp, called: bytes, of_list: bool, by_address: bool) -> Iterator[tuple[bytes, bool]]:
    """Yield the types of a list's texts in its declarations, and whether the list is constant."""
    if called not in source.words:
        return
    name = re.escape(called)
    if of_list or by_address:
        pattern = (
            rb"(?P<all>\bconst\s+)?\b(?:std\s*::\s*)?(?:vector|array)\s*<\s*(?P<text>" + _TEXT + rb")[^<>;]*>\s*&?\s*"
        )
        for each in re.finditer(pattern + name + rb"\b", source.code):
            yield each["text"], each["all"] is not None
    if not of_list:
        pattern = rb"\b(?P<text>" + _TEXT + rb")(?:\*\s*(?:const\s*)?" + name + rb"\b|" + name + rb"\s*\[)"
        for each in re.finditer(pattern, source.code):
            yield each["text"], False
        for kind, made in types_behind(source.code, called):
            # `char *first, *list[2], **another;`
            if re.fullmatch(rb"(?:const\s+)?char(?:\s+const)?", kind) and made.startswith(b"*"):
                yield kind + b"*", False


def _differs(text: bytes, all_of: bool) -> bool:
    """Return whether a list is not a `const char**`: its characters are not const, or its strings are."""
    letters, _, behind = text.partition(b"*")
    return b"const" not in letters or b"const" in behind or all_of


PASS = Pass(Cpp, find)
