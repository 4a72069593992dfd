# SPDX-License-Identifier: Apache-2.0
"""Write the `template` that C++ requires in `A<T>::template f<4>()`, and that nvcc does not need.

Without it clang reads the `<` after a member of a dependent type as a comparison. It is written where the type depends
on a parameter of the enclosing template, and the program declares a member template of that name. After `typename`, as
in `typename Traits<A>::rebind_alloc<T>`, only a template can stand in front of `<`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp

_CALL = re.compile(
    rb"\b\w+\s*<([^;{}()<>]*(?:<[^;{}()<>]*>[^;{}()<>]*)*)>\s*::\s*(?P<name>[A-Za-z_]\w*)\s*<[^;{}()]*?>\s*\("
)
_OF_TYPE = re.compile(rb">\s*::\s*\w+\s*<")
_MEMBER = re.compile(rb"template(?<!\wtemplate)\s*<[^;{}()]*>[^;{}()]*?\b([A-Za-z_]\w*)\s*\(")
_HEAD = re.compile(rb"\btemplate\s*<([^;{}()]*)>")
_PARAMETER = re.compile(
    rb"(?:\btypename|\bclass|\bint|\bunsigned|\bsize_t|\bbool|\w)\s*(?:\.\.\.)?\s*\b(\w+)\s*(?:[,=]|$)"
)

_TYPENAME = re.compile(rb"typename(?<!\wtypename)\b")
_SEGMENT = re.compile(rb"\s*(?:::\s*)?(?P<template>template\b\s*)?(?P<name>[A-Za-z_]\w*)\s*(?P<angle><)?")
_ANGLE = re.compile(rb"[<>(){};]")
_BEHIND = re.compile(rb"\s*::")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per call of a member template that lacks the keyword."""
    code = source.code
    if b"template" not in code:
        return
    yield from _types(source)
    if not _OF_TYPE.search(code):
        return
    members: frozenset[bytes] | None = None
    for match in _CALL.finditer(code):
        start = match.start("name")
        if source.ported(start) or source.directive(start):
            continue
        words = set(re.findall(rb"[A-Za-z_]\w*", match[1]))
        if members is None:
            members = project.union_over(source, _members)
        if match["name"] in members and words & _parameters(source, start):
            name = match["name"].decode()
            message = f"{name} is a template in a type that depends on a parameter: C++ requires the word template"
            yield Finding(Span(*match.span("name")), "dependent", message, (Edit(Span(start, start), b"template "),))


def _types(source: Cpp) -> Iterator[Finding]:
    """Find the templates in the names of types after `typename`."""
    code = source.code
    for word in _TYPENAME.finditer(code):
        end, dependent = word.end(), False
        parameters: set[bytes] | None = None
        while (part := _SEGMENT.match(code, end)) is not None:
            end, start = part.end(), part.start("name")
            if part["angle"] is not None:
                if dependent and part["template"] is None and not source.ported(start):
                    name = part["name"].decode()
                    message = (
                        f"{name} is a template in a type that depends on a parameter: C++ requires the word template"
                    )
                    yield Finding(Span(*part.span("name")), "type", message, (Edit(Span(start, start), b"template "),))
                closing = _closing_angle(code, end - 1)
                if closing is None:
                    break
                end, dependent = closing, True
            elif not dependent and _BEHIND.match(code, end) is not None:
                parameters = _parameters(source, word.start()) if parameters is None else parameters
                dependent = part["name"] in parameters
            if _BEHIND.match(code, end) is None:
                break


def _closing_angle(code: bytes, opening: int) -> int | None:
    """Return the end of the template arguments that open at `opening`, None if it is unclear."""
    depth, inner = 0, 0
    for match in _ANGLE.finditer(code, opening):
        token = match.group()
        if token in b"(){};":
            if token in b"{};":
                return None
            inner += 1 if token == b"(" else -1
        elif not inner:
            depth += 1 if token == b"<" else -1
            if not depth:
                return match.end()
    return None


def _members(source: Cpp) -> frozenset[bytes]:
    return frozenset(_MEMBER.findall(source.code))


def _parameters(source: Cpp, offset: int) -> set[bytes]:
    """Return the parameters of the templates around `offset`."""
    found: set[bytes] = set()
    node = source.tree.root_node.descendant_for_byte_range(offset, offset)
    while node is not None:
        if node.type == "template_declaration":
            head = _HEAD.match(source.code, node.start_byte)
            if head is not None:
                found |= {name for part in head[1].split(b",") for name in _PARAMETER.findall(part.strip())}
        node = node.parent
    return found


PASS = Pass(Cpp, find)
