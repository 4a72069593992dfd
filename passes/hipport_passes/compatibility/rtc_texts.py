# SPDX-License-Identifier: Apache-2.0
"""Cast lists of strings to hipRTC's parameter type: `const char**`, where NVRTC has `const char* const*`.

A `char**` and a `const char* const*` convert to NVRTC's type implicitly, but not to hipRTC's, although hipRTC changes
neither strings nor lists. The type is read from the declaration in the same file. Lists that are declared elsewhere
stay.

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
# `options`, `options.data()`, `&options[0]`
_LIST = NAMES.compile(
    rb"(?P<first>&\s*)?(?P<name>[A-Za-z_]\w*)(?(first)\s*\[\s*0\s*\]|(?P<data>\s*\.\s*(?&data)\s*\(\s*\))?)"
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
            if _is_other(source, place):
                cast = b"(const char**)(" if source.path.suffix == ".c" else b"const_cast<const char**>("
                edits = (Edit(Span(place.start, place.start), cast), Edit(Span(place.end, place.end), b")"))
                yield Finding(place, "list", "a list of texts → const char**: the type that hipRTC takes", edits)


def _is_other(source: Cpp, place: Span) -> bool:
    """Return whether the list at `place` is declared in the file, and never as hipRTC's type."""
    match = _LIST.fullmatch(source.code, place.start, place.end)
    if match is None:
        return False
    name = re.escape(match["name"])
    if match["data"] or match["first"]:
        pattern = (
            rb"(?P<all>\bconst\s+)?\b(?:std\s*::\s*)?(?:vector|array)\s*<\s*(?P<text>"
            + _TEXT
            + rb")[^<>;]*>\s*&?\s*"
            + name
        )
    else:
        pattern = rb"\b(?P<text>" + _TEXT + rb")(?:\*\s*(?:const\s*)?" + name + rb"\b|" + name + rb"\s*\[)"
    found = [(each["text"], each.groupdict().get("all")) for each in re.finditer(pattern, source.code)]
    for kind, made in types_behind(source.code, match["name"]) if not (match["data"] or match["first"]) else ():
        # `char *first, *list[2], **another;`
        if re.fullmatch(rb"(?:const\s+)?char(?:\s+const)?", kind) and made.startswith(b"*"):
            found.append((kind + b"*", None))
    return bool(found) and all(_differs(text, all_of) for text, all_of in found)


def _differs(text: bytes, all_of: bytes | None) -> bool:
    """Return whether a list is not a `const char**`: its characters are not const, or its strings are."""
    letters, _, behind = text.partition(b"*")
    return b"const" not in letters or b"const" in behind or bool(all_of)


PASS = Pass(Cpp, find)
