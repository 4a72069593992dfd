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

from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.source import Source
from hipport.engine.pipeline import Pass
from hipport.program.project import Component, Project
from hipport.syntax.cmake_script import CMake
from hipport.syntax.cpp import Cpp
from hipport.syntax.make import Makefile
from hipport.syntax.python import Python
from hipport.syntax.shell import Dockerfile, Shell
from hipport.syntax.toml import Toml
from hipport_passes.device.waves.split_sizes import counted_by

_SCRIPTS = (CMake, Makefile, Python, Shell, Dockerfile, Toml)
#: What a number is for CUDA where it is this for 64 lanes.
_OF_CUDA = {64: 32, 63: 31, 6: 5, 32: 16}
_NUMBER = rb"(?P<value>\d{1,2})\b(?!\.)"
_DEFINED = re.compile(
    # `-DLANES=64`, `LANES=64`; `("LANES", "64")`, `{"LANES": 64}`; `set(LANES 64)`
    rb"(?:(?<!\w)-D[ \t]*|(?<![\w$]))(?P<name>[A-Za-z_]\w{2,})"
    rb"(?:[ \t]*[:?]?=[ \t]*[\"']?|[\"'][ \t]*[,:][ \t]*\(?[\"']?|[ \t]+[\"']?)" + _NUMBER
)
_COMMENT = re.compile(rb"^[^\"'\n]*?#")


def find(source: Source, project: Project) -> Iterator[Finding]:
    """Yield a finding for each such number in a script."""
    if not isinstance(source, _SCRIPTS):
        return
    given = [match for match in _DEFINED.finditer(source.text) if int(match["value"]) in _OF_CUDA]
    words = project.fact(_words) if given else frozenset[bytes]()
    for match in given:
        name, value = match["name"], int(match["value"])
        if name not in words or _COMMENT.match(_line(source, match.start())):
            continue
        cuda = _OF_CUDA[value]
        if cuda not in project.fact(_defined).get(name, ()):
            continue
        for component in _components(project, name):
            where = counted_by(component, name, cuda, value)
            if where:
                message = (
                    f"{name.decode()} = {value}, and {cuda} for CUDA: {where}: define it as {cuda} for AMD too, or "
                    "give code for the wavefront a name of its own"
                )
                yield Finding(Span(*match.span()), "size", message, certainty=Certainty.MANUAL)
                break


def _line(source: Source, offset: int) -> bytes:
    return source.text[source.text.rfind(b"\n", 0, offset) + 1 : offset]


def _words(project: Project) -> frozenset[bytes]:
    """The words of the program's C++."""
    return frozenset().union(*(each.words for each in project.sources if isinstance(each, Cpp)))


def _defined(project: Project) -> dict[bytes, set[int]]:
    """Return the numbers that builds define names as, and the defaults that C++ has for them."""
    found: dict[bytes, set[int]] = {}
    words = project.fact(_words)
    for source in project.sources:
        if isinstance(source, (*_SCRIPTS, Cpp)):
            pattern = _DEFAULT if isinstance(source, Cpp) else _DEFINED
            for match in pattern.finditer(source.text):
                if match["name"] in words:
                    found.setdefault(match["name"], set()).add(int(match["value"]))
                    found[match["name"]].update(map(int, _OTHER.findall(source.text, match.end(), match.end() + 120)))
    return found


#: `#define LANES 32`
_DEFAULT = re.compile(rb"#[ \t]*define[ \t]+(?P<name>\w+)[ \t]+\(?" + _NUMBER)
#: `64 if hip else 32`
_OTHER = re.compile(rb"\belse[ \t]+(?:[\"'](?:-D[ \t]*\w+=)?)?(\d{1,2})\b")


def _components(project: Project, name: bytes) -> Iterator[Component]:
    seen: set[PurePath] = set()
    for each in project.sources:
        if isinstance(each, Cpp) and name in each.words:
            component = project.component(each)
            if component[0].path not in seen:
                seen.add(component[0].path)
                yield component


PASS = Pass(Source, find)
