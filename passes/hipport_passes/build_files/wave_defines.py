# SPDX-License-Identifier: Apache-2.0
"""Report builds that define a number of lanes as 64 for AMD where kernels count by it beside intrinsics of 32 lanes.

    if(USE_ROCM)
      target_compile_definitions(x PRIVATE WARP_SIZE=64)
    else()
      target_compile_definitions(x PRIVATE WARP_SIZE=32)
    endif()

In CMake, Makefiles, shell scripts, Python and TOML: `-DWARP_SIZE=64`, pairs of a name and a value, and variables of
such a name. The intrinsics of CUDA become hipport's, which act on 32 lanes of every GPU, so the number has to be
CUDA's. It is found by what kernels do with the name, whatever that is: 64 for 32, 63 for 31, 6 for 5, 32 for 16.
Nothing is changed, because other code may want the wavefront's size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import NamedTuple

from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.source import Source
from hipport.engine.pipeline import Pass
from hipport.program.dividing import near
from hipport.program.project import Component, Project
from hipport.syntax.cmake_script import CMake
from hipport.syntax.cpp import Cpp
from hipport.syntax.make import Makefile
from hipport.syntax.python_script import Python
from hipport.syntax.shell import Dockerfile, Shell
from hipport.syntax.toml import Toml
from hipport_passes.device.waves.split_sizes import counted_by

_SCRIPTS = (CMake, Makefile, Python, Shell, Dockerfile, Toml)
#: CUDA's number for each number for 64 lanes.
_OF_CUDA = {64: 32, 63: 31, 6: 5, 32: 16}
_LANES = re.compile(rb"(?<![\w.-])(?:%s)\b" % b"|".join(b"%d" % lanes for lanes in _OF_CUDA))
# `-DLANES=64`, `LANES=64`; `("LANES", "64")`, `{"LANES": 64}`; `set(LANES 64)`; `f"-DLANES={64 if hip else 32}"`
_DEFINED = re.compile(
    rb"(?:(?<!\w)-D[ \t]*|(?<![\w$]))(?P<name>(?!int\b)[A-Za-z_]\w{2,})"
    rb"(?:[ \t]*[:?]?=|[\"'][ \t]*[,:]|[ \t]+(?=[\"']?\d))(?P<value>[^;\n]{0,120})"
)
_NUMBER = re.compile(rb"(?<![\w.-])\d{1,2}\b(?!\.)")
# `${LANES}`, `$(LANES)`, `{lanes}`
_VARIABLE = re.compile(rb"\$?[{(](\w+)[)}]")
# The beginning of the next definition, where a value ends: `LANES=64 BITS=6`.
_NEXT = re.compile(rb"(?<=[\s\"',])-?[A-Za-z_]\w*[ \t]*=(?!=)|[\"'][A-Za-z_]\w*[\"'][ \t]*[,:]")
_COMMENT = re.compile(rb"^[^\"'\n]*?#")


def find(source: Source, project: Project) -> Iterator[Finding]:
    """Yield a finding for each such number in a script."""
    if not isinstance(source, _SCRIPTS) or not _LANES.search(source.text):
        return
    project = near(project, source)
    words = project.fact(_words)
    told: set[Span] = set()
    for each in source.fact(_definitions) if words else ():
        if _OF_CUDA.keys().isdisjoint(each.numbers):
            continue
        for name in (each.name, *sorted(project.fact(_made_of).get(each.name, ()))):
            if name not in words or each.span in told:
                continue
            for wave in sorted(each.numbers & _OF_CUDA.keys()):
                cuda = _OF_CUDA[wave]
                if cuda not in each.numbers and cuda not in project.fact(_defined).get(each.name, ()):
                    continue
                where = next(filter(None, (counted_by(c, name, cuda, wave) for c in _components(project, name))), "")
                if where and each.span not in told:
                    told.add(each.span)
                    message = (
                        f"{each.name.decode()} = {wave}, and {cuda} for CUDA: {where}: define it as {cuda} for AMD "
                        "too, or give code for the wavefront a name of its own"
                    )
                    yield Finding(each.span, "size", message, certainty=Certainty.MANUAL)


class _Definition(NamedTuple):
    """A definition of a name in a script, and the numbers and variables in its value."""

    name: bytes
    span: Span
    numbers: frozenset[int]
    variables: frozenset[bytes]


def _definitions(source: Source) -> tuple[_Definition, ...]:
    """Return the definitions in a script."""
    found = []
    at = 0
    while (match := _DEFINED.search(source.text, at)) is not None:
        following = _NEXT.search(source.text, match.start("value") + 1, match.end())
        end = following.start() if following is not None else match.end()
        at = max(match.start("value"), match.start() + 1)
        value = source.text[match.start("value") : end]
        numbers = frozenset(map(int, _NUMBER.findall(value)))
        variables = frozenset(_VARIABLE.findall(value))
        if (numbers or variables) and not _COMMENT.match(_line(source, match.start())):
            last = match.start("value") + len(value.rstrip(b" \t,"))
            found.append(_Definition(match["name"], Span(match.start(), last), numbers, variables))
    return tuple(found)


def _made_of(project: Project) -> dict[bytes, set[bytes]]:
    """Return the names that scripts define by a variable, by the variable."""
    found: dict[bytes, set[bytes]] = {}
    for source in project.sources:
        for each in source.fact(_definitions) if isinstance(source, _SCRIPTS) else ():
            for variable in each.variables:
                found.setdefault(variable, set()).add(each.name)
    return found


def _line(source: Source, offset: int) -> bytes:
    return source.text[source.text.rfind(b"\n", 0, offset) + 1 : offset]


def _words(project: Project) -> frozenset[bytes]:
    """The words of the program's C++."""
    return frozenset().union(*(each.words for each in project.sources if isinstance(each, Cpp)))


def _defined(project: Project) -> dict[bytes, set[int]]:
    """Return the numbers that builds give to names, and the defaults of these in C++."""
    found: dict[bytes, set[int]] = {}
    for source in project.sources:
        if isinstance(source, _SCRIPTS):
            for each in source.fact(_definitions):
                found.setdefault(each.name, set()).update(each.numbers)
        elif isinstance(source, Cpp):
            for match in _DEFAULT.finditer(source.text):
                found.setdefault(match["name"], set()).add(int(match["value"]))
    return found


#: `#define LANES 32`
_DEFAULT = re.compile(rb"#[ \t]*define[ \t]+(?P<name>\w+)[ \t]+\(?(?P<value>\d{1,2})\b(?!\.)")


def _components(project: Project, name: bytes) -> Iterator[Component]:
    seen: set[PurePath] = set()
    for each in project.sources:
        if isinstance(each, Cpp) and name in each.words:
            component = project.component(each)
            if component[0].path not in seen:
                seen.add(component[0].path)
                yield component


PASS = Pass(Source, find)
