# SPDX-License-Identifier: Apache-2.0
"""The place of an include, the owner of its header, and the place for lines beside it."""

from __future__ import annotations

import re

from hipport.core.edits import Edit, Span
from hipport.program.own_headers import line_of
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cpp_text import Include
from hipport_passes.names.headers.header_tables import table

# The rest of an include's line: comments that end on it.
_SAID = re.compile(rb"(?:[ \t]*/\*(?:[^*\r\n]|\*(?!/))*\*/)*[ \t]*(?://[^\r\n\\]*)?(?:\r\n|\n|\r|\Z)")


def on_top(source: Cpp, path: str, line: bytes) -> Edit:
    at = line_of(source, path)
    return Edit(Span(at, at), line + source.newline)


def behind(source: Cpp, include: Include, lines: bytes) -> Edit:
    """Return the edit that puts lines after an include, and after the comments on its line."""
    said = _SAID.match(source.text, include.directive.end)
    whole = said is not None and not source.code[include.directive.end : said.end()].strip()
    at = said.end() if said and whole else line_of_include(source, include).end
    ended = source.text[at - 1 : at] in (b"\n", b"\r")
    return Edit(Span(at, at), lines + source.newline if ended else source.newline + lines)


def line_of_include(source: Cpp, include: Include) -> Span:
    """Return the whole line of `include`, or the directive alone if there is a comment.

    With words after the header, which compilers warn about: they would be code without the directive.
    """
    text = source.text
    whole = source.directive(include.directive.start)
    if whole is not None and (words := source.code[include.directive.end : whole.end].rstrip()):
        return Span(include.directive.start, include.directive.end + len(words))
    start = max(text.rfind(b"\n", 0, include.directive.start), text.rfind(b"\r", 0, include.directive.start)) + 1
    match = re.compile(rb"[ \t]*(?:\r\n|\n|\r|$)").match(text, include.directive.end)
    if match is None or text[start : include.directive.start].strip():
        return include.directive
    return Span(start, match.end())


def is_own(source: Cpp, include: Include, project: Project) -> bool:
    """Return whether `include` is of a file of the program.

    For headers of NVIDIA's samples, which no toolkit has in an include folder, any matching file counts.
    """
    if include.path.rpartition("/")[2].startswith(table().samples.begins):
        return bool(project.included(source, include))
    return project.finds_in_project(source, include)
