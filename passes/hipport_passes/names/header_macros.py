# SPDX-License-Identifier: Apache-2.0
"""Keep macros of HIP's headers away from names of the program.

`hip_runtime.h` defines `MASK1` and `MASK2`, among a few others that CUDA's headers do not have, for functions of its
own. A member of that name does not compile. A program's macro of that name gets HIP's value if it is defined before the
header is read, and keeps HIP's value if it is defined under `#ifndef`. No compiler reports this, because redefinitions
in system headers give no warning. `#undef` before the first mention in a file removes HIP's macro, which nothing needs
after the header is read; where the program defines a macro that may come before the header, the header is included
first. Without HIP, `#undef` does nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within

# The macros that `hipcc -dM -E` shows for hip/hip_runtime.h of ROCm 5.2 and 7.0 and that cuda_runtime.h of CUDA 13.0
# lacks, without HIP's prefixes, and only those that just the functions of their own header use.
_NAMES = frozenset((b"MASK1", b"MASK2", b"HW_ID", b"XCC_ID", b"GETREG_IMMED", b"MAYBE_UNDEF", b"GENERIC_GRID_LAUNCH"))
_DEFINE = re.compile(rb"#[ \t]*define[ \t]+(?P<name>\w+)")
_DIRECTIVE = re.compile(rb"#[ \t]*(?P<kind>\w+)")
#: Syntax nodes that contain declarations at namespace scope.
_AROUND = frozenset(
    (
        "namespace_definition",
        "declaration_list",
        "linkage_specification",
        "preproc_if",
        "preproc_ifdef",
        "preproc_else",
        "preproc_elif",
    )
)


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per declaration with the first mention of HIP's macros in a file that uses the names itself."""
    if source.path.suffix == ".c" or _NAMES.isdisjoint(source.words):
        return
    if not project.union_over(source, _hip):
        return
    defined = project.union_over(source, _defined)
    done: set[bytes] = set()
    found: dict[int, list[tuple[Span, bytes]]] = {}
    for span, name in source.names(_NAMES):
        directive = source.directive(span.start)
        words = _DIRECTIVE.match(source.code, directive.start) if directive else None
        if words is not None and words["kind"] == b"undef":
            done.add(name)
        if name in done or source.ported(span.start):
            continue
        done.add(name)
        if name in defined and name not in source.fact(_defined):
            continue  # Another file's macro.
        first = name in defined and not _behind_hip(source, span)
        place = _outside(source, span) if first else _line(source, span, directive)
        found.setdefault(place, []).append((span, name))
    for place, names in found.items():
        lines = [b"#undef " + name for _, name in names]
        if any(name in defined and not _behind_hip(source, span) for span, name in names):
            lines = [b"#if defined(__HIPCC__)", b"#include <hip/hip_runtime.h>", *lines, b"#endif"]
        several = " and ".join(name.decode() for _, name in names)
        message = (
            f"{several}: hip/hip_runtime.h defines macros of these names, so they are undefined before the program's"
        )
        edit = Edit(Span(place, place), source.newline.join([*lines, b""]))
        yield Finding(names[0][0], "name", message, (edit,))


def _hip(source: Cpp) -> frozenset[bool]:
    """Return a non-empty set if the file includes HIP."""
    return frozenset((True,)) if any(each.path.startswith("hip/") for each in source.includes) else frozenset()


def _defined(source: Cpp) -> frozenset[bytes]:
    """Return the names that the file defines as macros."""
    if _NAMES.isdisjoint(source.words):
        return frozenset()
    found = (_DEFINE.match(source.code, each.start) for each in source.directives)
    return frozenset(match["name"] for match in found if match) & _NAMES


def _behind_hip(source: Cpp, first: Span) -> bool:
    """Return whether HIP's header is included before a place, unconditionally."""
    return any(
        each.path.startswith("hip/")
        and each.directive.end < first.start
        and not within(each.directive.start, source.conditional)
        for each in source.includes
    )


def _outside(source: Cpp, span: Span) -> int:
    """Return the start of the line of the directive or declaration outside of namespaces that contains `span`."""
    node = source.tree.root_node
    start = 0
    while inner := [each for each in node.children if each.start_byte <= span.start < each.end_byte]:
        node = inner[0]
        start = node.start_byte
        if not node.type.startswith("preproc_if") and node.type not in ("preproc_else", "preproc_elif"):
            break
    return source.line_start(start)


def _line(source: Cpp, span: Span, directive: Span | None) -> int:
    """Return the start of the line of the directive, or of the declaration at namespace scope, that contains `span`."""
    start = 0
    if directive is not None:
        start = directive.start
    else:
        node = source.tree.root_node
        while inner := [each for each in node.children if each.start_byte <= span.start < each.end_byte]:
            node = inner[0]
            start = node.start_byte
            if node.type not in _AROUND:
                break
    return source.line_start(start)


PASS = Pass(Cpp, find)
