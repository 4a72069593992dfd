# SPDX-License-Identifier: Apache-2.0
"""Macros with a default value, for which a build may give another.

    #ifndef GROUP
    #define GROUP 32
    #endif

If no build script of the tree is seen, or one mentions the name, the number is not known. It is the default where the
scripts are seen and none of them mentions it. A name for the size of a warp has one value in programs for CUDA: 32.
"""

from __future__ import annotations

import re

from hipport.analysis import constant_values
from hipport.program.project import Project
from hipport.program.search_paths import begins_project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES, WARP_SIZE
from hipport.syntax.vocabulary import words_of

_UNDEFINED = re.compile(rb"#[ \t]*ifndef[\s\\]+(\w+)|![\s\\]*defined[\s\\]*\(?[\s\\]*(\w+)")
_OF_NUMBERS = re.compile(
    rb"#[ \t]*define[ \t]+(\w+)[ \t]+[-(]*[ \t]*(?:0[xX][\da-fA-F]+|\d+)[uUlL]*[ \t)]*(?=[\r\n]|\Z)"
)
_OF_A_WARP = NAMES.compile(
    rb"(?i)\w*(?&warp)_?" + WARP_SIZE + rb"\w*|\w*" + WARP_SIZE + rb"_?(?:\w{1,5}_?)?(?&warp)\w*"
)


def with_defaults(source: Cpp) -> frozenset[bytes]:
    """Return the names that the file tests for no definition: a build may give another than the one behind it."""
    return frozenset(match[1] or match[2] for match in _UNDEFINED.finditer(source.code))


def open_defaults(project: Project) -> frozenset[bytes]:
    """Return the macros with a number as default that a build may give another number. A fact of the project."""
    found = {
        name
        for source in project.sources
        if isinstance(source, Cpp) and b"define" in source.words and not source.is_hipport_header
        for name in source.fact(_numbers)
        if not _OF_A_WARP.fullmatch(name)
    }
    scripts = [source for source in project.sources if not isinstance(source, Cpp)] if found else []
    if any(begins_project(script) for script in scripts):
        found &= {word for script in scripts for word in _words(script.text)}
    return frozenset(found)


def value(source: Cpp, project: Project, text: bytes) -> int | None:
    """Return the value of an integral expression that every build of the tree gives; None if it is not known."""
    given = project.fact(open_defaults)
    waiting, seen = set(words_of(text)) if given else set(), set[bytes]()
    while waiting:
        name = waiting.pop()
        if name in given:
            return None
        seen.add(name)
        waiting |= set(words_of(constant_values.definition(source, project, name) or b"")) - seen
    return constant_values.value(source, project, text)


def _numbers(source: Cpp) -> frozenset[bytes]:
    names = source.fact(with_defaults)
    return names & frozenset(_OF_NUMBERS.findall(source.code)) if names else names


def _words(text: bytes) -> set[bytes]:
    """Return the words of a script; after `-D` without a blank, also the word alone."""
    found = set(words_of(text))
    return found | {word[1:] for word in found if word.startswith(b"D")}
