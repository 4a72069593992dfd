# SPDX-License-Identifier: Apache-2.0
"""Replace CUDA 13's memory locations by device numbers, which HIP takes.

Since CUDA 13 `cudaMemPrefetchAsync` and `cudaMemAdvise` take a `cudaMemLocation`. HIP's functions take a device
number, and `hipCpuDeviceId` for the host, as CUDA's did before. Calls with five arguments, and calls whose location is
written as a list or declared as a `cudaMemLocation`, become calls of hipport's functions, which pass the number on.
Calls in CUDA 12's form are only renamed. A location that is a NUMA node of the host is left to a person, and so is the
host's memory in programs that also use locations for memory pools and mappings (`api_names`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hipport.analysis.library_names import LibraryNames
from hipport.core.edits import Edit
from hipport.core.finding import Finding
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include, with_included_headers
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES

_NAMES = LibraryNames(frozenset((b"cudaMemPrefetchAsync", b"cudaMemAdvise", b"cudaMemLocationTypeHost")))
# The index of the location among the arguments, and the function that passes it on.
_CALLS = {b"cudaMemPrefetchAsync": (2, b"hipport::prefetch"), b"cudaMemAdvise": (3, b"hipport::advise")}
_CALL = re.compile(rb"\s*\(")
_WORDS = Words.read(Path(__file__).with_name("compatibility_words.toml"), general=NAMES)
_PLACE = _WORDS.compile(rb"\s*(?:(?:struct\s+)?(?&location)\b\s*[({]|\{)")
# Also HIP's names: other files may have been ported before.
_OTHERWISE = _WORDS.compile(
    rb"(?&platforms)(?&pools)\w+|(?&platforms)(?&access)|(?&sets_access)|(?&creates)|(?&properties)\w*"
)
_NAME = re.compile(rb"\s*([A-Za-z_]\w*)\s*(?:\[[^\[\]]*\])?\s*")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per call that passes a location, and per name of the host memory."""
    for span, name in _NAMES.uses(source, project):
        if name in _CALLS:
            opening = _CALL.match(source.code, span.end)
            arguments = source.arguments(opening.end() - 1) if opening else None
            number, new = _CALLS[name]
            if not arguments or len(arguments) <= number:
                continue
            place = source.code[arguments[number].start : arguments[number].end]
            if not (len(arguments) == 5 or _PLACE.match(place) or _declared(source, place)):
                continue
        elif project.union_over(source, _otherwise):
            continue
        else:
            new = b"hipport::memory_of_host"
        need, header = include(source, project, "location.h")
        edits = (Edit(span, new), *((need,) if need else ()))
        yield Finding(span, "place", f"{name.decode()} → {new.decode()}", edits, creates=with_included_headers(header))


def _otherwise(source: Cpp) -> frozenset[bytes]:
    """Return the other names in the file that need locations."""
    return frozenset(source.matched(_OTHERWISE))


def _declared(source: Cpp, place: bytes) -> bool:
    """Return whether `place` is a variable, or an element of one, that is declared as a `cudaMemLocation`."""
    name = _NAME.fullmatch(place)
    if name is None:
        return False
    declared = rb"\bcudaMemLocation\b(?:\s*&)?[^;(){}]*?\b" + name[1] + rb"\b\s*[;={,)\[]"
    return re.search(declared, source.code) is not None


PASS = Pass(Cpp, find)
