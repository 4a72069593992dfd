# SPDX-License-Identifier: Apache-2.0
"""Find parts that a CMake script lacks for HIP, compared with a new port of its commands for CUDA.

The text of the earlier port is removed, and the script is ported again. The new code for HIP must then be in the
script: branches for `USE_HIP`, commands that set HIP's variables, flags in expressions for the language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hipport.core.edits import Edit, Span
from hipport.program.dividing import near
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport.syntax.cmake_script import CMake, CMakeCommand, GeneratorExpression
from hipport.syntax.enclosing import EnclosingBlock, answered
from hipport_passes.build_files import cmake
from hipport_passes.build_files.build_scripts.cmake_trees import HELPER, PUT_HERE, is_helper

_SAYS = re.compile(rb"\w")
_USE_HIP = NAMES.compile(rb"\$\{?(?&use_hip)\}?|(?&use_hip)")
_OF_HIP = NAMES.compile(rb"\$<(?&language_conditions):HIP>")
_CHOSEN = NAMES.compile(rb"IF:\$<(?&bool):\$\{(?&use_hip)\}>")
_NOT_CHOSEN = NAMES.compile(rb"\$<NOT:\$<(?&bool):\$\{(?&use_hip)\}>>")
_EITHER = NAMES.compile(rb"\(((?&target) [\w:]+) OR (?&target) (?&rocm_namespaces)::\w+\)")
_VARIABLE = b"CMAKE_HIP_"
_LANGUAGE = b"${HIP_OR_CUDA}"
_SETS = frozenset(("set", "string", "list"))
_LOOKS = frozenset(("find_package", "find_dependency"))


class _Key(NamedTuple):
    """A place of code for HIP: the conditions around it, the command, and its subject."""

    around: tuple[bytes, ...]
    name: str
    about: bytes


def behind(source: CMake, project: Project) -> Iterator[tuple[Span, Sequence[bytes]]]:
    """Yield the places of code for HIP, or of code for CUDA without it, and the parts that are lacking there."""
    if b"HIP" not in source.text or source.errors or source.text.startswith(PUT_HERE):
        return
    scripts = (each for each in near(project, source).sources if isinstance(each, CMake))
    if not any(
        is_helper(each, command) for each in scripts if HELPER.encode() in each.text for command in each.commands
    ):
        return
    plain = CMake(source.path, source.text)
    edits = list(_outermost(_taken_back(plain)))
    if not edits:
        return
    before = plain.apply(edits)
    found = [*cmake.find(before, project)]
    if not any(each.edits for each in found):
        return  # A person has ported it further, or it needs no port any more.
    again = before.apply(edit for each in found for edit in each.edits)
    there, wanted = _said(plain), _said(again)
    # Commands that are for both after a port, and stand for CUDA only.
    kept = {(again.origin(each.span).start, each.name) for each in again.commands if not _within(again, each)}
    for hip, cuda in _branches(plain):
        known = {word for each in hip for word in _words(plain, each)}
        both = (word for each in cuda if (each.span.start, each.name) in kept for word in _words(plain, each))
        if lacking := [word for word in dict.fromkeys(both) if word not in known and _SAYS.search(word)]:
            yield hip[0].span, lacking
    for key, (words, place) in wanted.items():
        has, where = there.get(key, ({}, again.origin(place)))
        missing = [word for word in words if word not in has and _SAYS.search(word)]
        if missing:
            yield Span(where.start, max(where.start, where.end)), missing


def _taken_back(source: CMake) -> Iterator[Edit]:
    """Yield the edits that reduce a script to its code for CUDA."""
    taken: list[Span] = []
    for command in source.commands:
        asked = source[command.inner].split()
        mine = command.name == "if" and asked[:1] == [b"USE_HIP"]
        if command.name == "if" and (mine or asked == [b"NOT", b"USE_HIP"]):
            taken += _of_branches(source, command, mine)
        elif is_helper(source, command) or (command.name in _SETS and _sets_hip(source, command)):
            taken.append(_line(source, command.span))
    yield from (Edit(span, b"") for span in taken)
    for command in source.commands:
        for expression in source.expressions(command.inner):
            yield from _for_cuda(source, expression)
        for match in re.finditer(re.escape(_LANGUAGE), source.code[command.inner.start : command.inner.end]):
            start = command.inner.start + match.start()
            yield Edit(Span(start, start + len(_LANGUAGE)), b"CUDA")
        for match in _EITHER.finditer(source.code, command.inner.start, command.inner.end):
            yield Edit(Span(*match.span()), match[1])


def _outermost(edits: Iterable[Edit]) -> Iterator[Edit]:
    """Leave out edits inside the span of another one."""
    done = 0
    for edit in sorted(edits, key=lambda edit: (edit.span.start, -edit.span.end)):
        if edit.span.end > done:
            yield edit
            done = edit.span.end


def _of_branches(source: CMake, opening: CMakeCommand, mine: bool) -> Iterator[Span]:
    """Yield the parts to remove of `if(USE_HIP) … else() … endif()`, or of `if(NOT USE_HIP) … endif()`."""
    depth, divided = 0, None
    for command in source.commands[source.commands.index(opening) :]:
        if command.name == "if":
            depth += 1
        elif command.name == "endif":
            depth -= 1
            if not depth:
                if mine:
                    start = _line(source, opening.span).start
                    yield Span(start, _line(source, (divided or command).span).end)
                else:
                    yield _line(source, opening.span)
                if divided or not mine:
                    yield _line(source, command.span)
                return
        elif command.name in ("else", "elseif") and depth == 1:
            if command.name == "elseif" or divided or not mine:
                return  # Not in the form that hipport writes.
            divided = command


def _sets_hip(source: CMake, command: CMakeCommand) -> bool:
    return any(source[each.span].startswith(_VARIABLE) for each in command.arguments[:2])


def _line(source: CMake, span: Span) -> Span:
    """Return the span of a command with its line, if it stands alone there."""
    start = source.line_start(span.start)
    end = source.text.find(b"\n", span.end)
    end = len(source.text) if end < 0 else end + 1
    alone = not source.text[start : span.start].strip() and not source.text[span.end : end].strip()
    return Span(start, end) if alone else span


def _for_cuda(source: CMake, expression: GeneratorExpression) -> Iterator[Edit]:
    """Yield the edits that reduce a generator expression to its value for CUDA."""
    head, content = source[expression.head], expression.content
    if content is not None and _OF_HIP.fullmatch(head):
        start = expression.span.start
        yield Edit(Span(start - source.text[start - 1 : start].isspace(), expression.span.end), b"")
    elif _CHOSEN.match(source[expression.span][2:]) and b"," in source[expression.span]:
        yield Edit(expression.span, source[expression.span][:-1].rpartition(b",")[2])
    elif content is not None and _NOT_CHOSEN.fullmatch(head):
        yield Edit(expression.span, source[content])
    else:
        for inner in expression.inside:
            yield from _for_cuda(source, inner)


def _said(source: CMake) -> dict[_Key, tuple[dict[bytes, None], Span]]:
    """Return the words of a script's code for HIP, and the first place of each group."""
    found: dict[_Key, tuple[dict[bytes, None], Span]] = {}
    for command in source.commands:
        words = list(_words_for_hip(source, command))
        if not words:
            continue
        conditions = [source[part.inner].strip() for block in source.around(command) for part in block]
        around = tuple(each for each in conditions if each and not _USE_HIP.search(each))
        about = source[command.arguments[0].span] if command.arguments and command.name not in _LOOKS else b""
        # `string(APPEND variable …)` and `list(APPEND variable …)` are about the variable.
        about = source[command.arguments[1].span] if about == b"APPEND" and len(command.arguments) > 1 else about
        key = _Key(around, command.name, about)
        known, _ = found.setdefault(key, ({}, command.span))
        known.update(dict.fromkeys(words))
    return found


def _branches(source: CMake) -> Iterator[tuple[list[CMakeCommand], list[CMakeCommand]]]:
    """Yield the commands of `if(USE_HIP)` and of its `else()`, without nested blocks."""
    found: dict[CMakeCommand, tuple[list[CMakeCommand], list[CMakeCommand]]] = {}
    for command in source.commands:
        block = source.block(command)
        if block is None or block.first.name != "if" or source[block.first.inner].split() != [b"USE_HIP"]:
            continue
        if block.before is None or block.before.before is None:
            found.setdefault(block.first, ([], []))[block.before is not None].append(command)
    return (both for both in found.values() if all(both))


def _chosen(source: CMake) -> dict[EnclosingBlock[CMakeCommand], bool | None]:
    """Return a cache of the blocks that depend on the option."""
    return {}


def _of_hip(source: CMake) -> dict[EnclosingBlock[CMakeCommand], bool | None]:
    """Return a cache of the blocks for HIP."""
    return {}


def _within(source: CMake, command: CMakeCommand) -> bool:
    """Return whether a command is in a block that depends on the option."""

    def chosen(block: EnclosingBlock[CMakeCommand]) -> bool | None:
        return True if _USE_HIP.search(source[block.first.inner]) else None

    return bool(answered(source.block(command), source.fact(_chosen), chosen))


def _words(source: CMake, command: CMakeCommand) -> list[bytes]:
    return [word for each in command.arguments for word in source[each.span].strip(b'"').split()]


def _words_for_hip(source: CMake, command: CMakeCommand) -> Iterator[bytes]:

    def of_hip(block: EnclosingBlock[CMakeCommand]) -> bool | None:
        return True if block.before is None and source[block.first.inner].split()[:1] == [b"USE_HIP"] else None

    within = answered(source.block(command), source.fact(_of_hip), of_hip)
    if within or (command.name in _SETS and _sets_hip(source, command)):
        yield from _words(source, command)
        return
    waiting = list(source.expressions(command.inner))
    while waiting:
        expression = waiting.pop()
        if expression.content is not None and _OF_HIP.fullmatch(source[expression.head]):
            yield from re.split(rb"[\s;]+", source[expression.content])
        waiting += expression.inside
