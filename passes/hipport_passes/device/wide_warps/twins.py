# SPDX-License-Identifier: Apache-2.0
"""Second versions of functions that kernels on whole wavefronts share with kernels on warps of 32 lanes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from hipport.analysis.functions import Function, functions, is_method
from hipport.core.edits import Span
from hipport.syntax.cpp import Cpp
from hipport_passes.device.wide_warps.widening_notes import Work

_SUFFIX = b"_of_wave"
#: The name of a second version, with the name of the first one.
OF_WAVE = re.compile(rb"(?<!\w)(?P<name>\w+?)" + _SUFFIX + rb"_*(?!\w)")


def whole(function: Function) -> Span:
    """Return the span of a function, with the head of its template."""
    node = function.node
    if node.parent is not None and node.parent.type == "template_declaration":
        node = node.parent
    return Span(node.start_byte, node.end_byte)


def can_have_twin(function: Function, work: Work, files: Iterable[Cpp]) -> bool:
    """Return whether there can be a second version under another name.

    All mentions of the function must be calls after its only definition, and all its edits must be inside of it.
    """
    where = whole(function)
    if function.kernel or is_method(function) or function.source.directive(function.node.start_byte):
        return False
    if any(
        source is not function.source or not (where.start <= span.start and span.end <= where.end)
        for source, edits in work.edits.items()
        for span in edits
    ):
        return False
    word = re.compile(rb"(?<!\w)" + function.name + rb"(?!\w)")
    named = called = 0
    for file in files:
        if function.name not in file.words:
            continue
        named += len(word.findall(file.code))
        called += sum(len(_called(each, {function.name})) for each in functions(file))
        if any(each.name == function.name and each.node != function.node for each in functions(file)):
            return False
    return named == called + 1


def name_of(function: Function, files: Iterable[Cpp]) -> bytes:
    """Return the name of the second version."""
    words: set[bytes] = set().union(*(file.words for file in files))
    name = function.name + _SUFFIX
    while name in words:
        name += b"_"
    return name


def renamed(function: Function, twins: Mapping[bytes, bytes]) -> dict[Span, bytes]:
    """Return the edits with which a function calls second versions."""
    return {span: twins[name] for span, name in _called(function, twins.keys())}


def twin(function: Function, work: Work, twins: Mapping[bytes, bytes]) -> Work:
    """Return the work that puts the second version after the first."""
    where, source = whole(function), function.source
    start = function.node.start_byte + len(function.head)
    edits = {
        **work.edits.get(source, {}),
        **renamed(function, twins),
        Span(start, start + len(function.name)): twins[function.name],
    }
    text, at = b"", where.start
    for span, new in sorted(edits.items()):
        text += source.text[at : span.start] + new
        at = span.end
    text += source.text[at : where.end]
    done = Work()
    done.edit(source, Span(where.end, where.end), source.newline + text)
    return done


def _called(function: Function, names: Iterable[bytes]) -> list[tuple[Span, bytes]]:
    found = []
    for call in function.calls(frozenset(names)):
        callee = call.node.child_by_field_name("function")
        if callee is None:
            continue
        # `name`, `space::name<T>`
        ahead = function.text(callee).split(b"<", 1)[0].rstrip()
        if ahead.endswith(call.name):
            end = callee.start_byte + len(ahead)
            found.append((Span(end - len(call.name), end), call.name))
    return found
