# SPDX-License-Identifier: Apache-2.0
"""Follow the carry flag from one asm statement to the next, and find where a variable can replace it.

PTX hides the flag: `add.cc` sets it, `addc` reads it, and programs write one asm statement for each word of a long
number. In C++ it is a variable of the function that contains the statements. That is right if the flag is never passed
through a call: if each function sets it before it reads it, and calls nothing that sets it in between. Otherwise no
statement of the component is rewritten.

Source: PTX ISA 9.0, "Extended-Precision Integer Arithmetic Instructions".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.declarations import member_or_qualified
from hipport_passes.device.ptx.ptx_assembly import opcodes
from hipport_passes.device.ptx.statements import statements

if TYPE_CHECKING:
    from tree_sitter import Node

VARIABLE = b"hipport_carry"
_READS = (b"addc.", b"subc.", b"madc.")
_WRITES = re.compile(rb"\w+\.(?:\w+\.)*cc\.")
_DEFINE = re.compile(rb"#[ \t]*define[ \t]+(\w+)")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_CALL = re.compile(rb"\s*\(")


@dataclass(frozen=True, order=True)
class _Event:
    """An access to the flag at `offset`: r, w or rw, or the name of a macro or function with such accesses.

    `called`: a function of that name. `passed`: the statement passes the flag on, or receives it.
    """

    offset: int
    what: bytes
    called: bool = False
    passed: bool = False


@dataclass
class _Unit:
    """A function, by the place of its opening brace, or a macro, with its events in text order."""

    name: bytes
    path: PurePath
    events: list[_Event]


def _known(project: Project) -> dict[PurePath, frozenset[tuple[PurePath, int]] | None]:
    """Return the cache of flags, by the first file of their program."""
    return {}


def flags(source: Cpp, project: Project) -> frozenset[tuple[PurePath, int]] | None:
    """Return the files and opening braces of the functions that need the variable; None if a variable cannot replace
    it.
    """
    known = project.fact(_known)
    key = project.component(source)[0].path
    if key not in known:
        known[key] = _flags(project, [other for other in project.component(source) if isinstance(other, Cpp)])
    return known[key]


def undeclared(source: Cpp, project: Project) -> list[int]:
    """Return the opening braces of functions that use the variable from an earlier run and do not declare it.

    Upstream has since changed or added them, and macros of the program now contain the variable.
    """
    names = {VARIABLE, *project.component(source).fact(_macros_with_variable)}
    if source.words.isdisjoint(names):
        return []
    found = set()
    for span, _ in source.names(frozenset(names)):
        inside = _function(source, span.start) if source.directive(span.start) is None else None
        if inside is not None and not source.ported(span.start):
            found.add(inside[1])
    return sorted(brace for brace in found if not _declares(source, brace))


def _declares(source: Cpp, brace: int) -> bool:
    """Return whether a function, or one around it, declares the variable."""
    node: Node | None = source.tree.root_node.descendant_for_byte_range(brace, brace + 1)
    while node is not None:
        inside = node.type in ("function_definition", "lambda_expression")
        if inside and re.search(rb"\bunsigned\s*&?\s*" + VARIABLE, source.code[node.start_byte : node.end_byte]):
            return True
        node = node.parent
    return False


def _macros_with_variable(component: Component) -> frozenset[bytes]:
    """Return the macros whose expansion needs the variable, directly or through others."""
    texts: dict[bytes, set[bytes]] = {}
    for source in component if any(VARIABLE in each.text for each in component) else ():
        if not isinstance(source, Cpp):
            continue
        for directive in source.directives:
            head = _DEFINE.match(source.code, directive.start)
            if head is not None:
                texts.setdefault(head[1], set()).update(_WORD.findall(source.code, head.end(), directive.end))
    users: dict[bytes, set[bytes]] = {}
    for name, words in texts.items():
        for word in words if b"unsigned" not in words or VARIABLE not in words else ():
            users.setdefault(word, set()).add(name)
    found: set[bytes] = set()
    waiting = [VARIABLE]
    while waiting:
        more = users.get(waiting.pop(), set()) - found
        found |= more
        waiting += more
    return frozenset(found)


def passes_on(text: bytes) -> bool:
    """Return whether an asm statement reads a flag that it did not set, or sets one that it does not read."""
    steps = _steps(text)
    return bool(steps) and (b"r" in steps[0] or b"w" in steps[-1])


def reads_first(source: Cpp) -> frozenset[bytes]:
    """Return a non-empty set if an asm statement of the file reads the flag of another one."""
    # The dot may be in another string of the statement.
    if not any(word[:-1] in source.text for word in _READS):
        return frozenset()
    for statement in statements(source, Project((source,))):
        if not statement.matters:
            continue
        steps = _steps(statement.template.text)
        if steps and b"r" in steps[0]:
            return frozenset({b"reads"})
    return frozenset()


def _steps(text: bytes) -> list[bytes]:
    found = []
    for opcode in opcodes(text):
        step = (b"r" if opcode.startswith(_READS) else b"") + (b"w" if _WRITES.match(opcode) else b"")
        if step:
            found.append(step)
    return found


def _flags(project: Project, files: list[Cpp]) -> frozenset[tuple[PurePath, int]] | None:
    way = _Way(files, project)
    if not way.place_steps():
        return None
    way.place_macros()
    way.place_calls()
    return way.needed()


class _Way:
    """The flow of the flag through functions and macros of a component."""

    def __init__(self, files: list[Cpp], project: Project) -> None:
        self.files, self.project = files, project
        self._macros: dict[bytes, _Unit] = {}
        self._functions: dict[tuple[PurePath, int], _Unit] = {}
        #: The macros that call functions with accesses to the flag.
        self._wrapped: set[bytes] = set()
        self._by_path = {source.path: source for source in files}
        self._includes: dict[PurePath, set[PurePath]] = {}

    def place_steps(self) -> bool:
        """Record the accesses of asm statements in their functions or macros; False if one has no known place."""
        for source in self.files:
            for statement in statements(source, self.project):
                if not statement.matters:
                    continue
                text = statement.template.text
                for i, step in enumerate(_steps(text)):
                    if not self._place(source, _Event(statement.span.start + i, step, passed=passes_on(text))):
                        return False
        return True

    def place_macros(self) -> None:
        """Record the uses of macros with accesses to the flag, and of macros that use these."""
        done: set[bytes] = set()
        while names := self._macros.keys() - done:
            done |= names
            for source, offset, name in _mentions(self.files, names):
                define = source.directive(offset)
                head = _DEFINE.match(source.code, define.start) if define else None
                defined = head is not None and head.start(1) == offset
                if defined or member_or_qualified(source.code, offset):
                    continue
                if self._sees(source, self._macros[name].path):
                    # Outside of functions the name is something else.
                    self._place(source, _Event(offset, name))

    def place_calls(self) -> None:
        """Record the calls of such functions, directly or through macros, in functions with accesses to the flag."""
        called: set[bytes] = set()
        while names := {each.name for each in self._functions.values() if each.name} - called or self._wrapped - called:
            called |= names
            for source, offset, name in _mentions(self.files, names):
                directive = source.directive(offset)
                if directive is not None:
                    head = _DEFINE.match(source.code, directive.start)
                    self._wrapped |= {head[1]} if head is not None and head.start(1) != offset else set()
                    continue
                inside = _function(source, offset)
                if inside is not None and (source.path, inside[1]) in self._functions:
                    self._functions[source.path, inside[1]].events.append(_Event(offset, name, called=True))

    def needed(self) -> frozenset[tuple[PurePath, int]] | None:
        """Return the functions that need the variable; None if one reads a flag that it has not set."""
        needed = set()
        for key, unit in self._functions.items():
            fresh = False
            for event in _expanded(unit, self._macros, 0):
                if event.called:
                    fresh = False
                elif b"r" in event.what and not fresh:
                    return None
                else:
                    fresh = True
                if event.passed:
                    needed.add(key)
        return frozenset(needed)

    def _place(self, source: Cpp, event: _Event) -> bool:
        """Record an event in its function or macro; False if that is unknown."""
        directive = source.directive(event.offset)
        if directive is not None:
            name = _DEFINE.match(source.code, directive.start)
            if name is None:
                return False
            self._macros.setdefault(name[1], _Unit(name[1], source.path, [])).events.append(event)
            return True
        function = _function(source, event.offset)
        if function is None:
            return False
        name_of, body = function
        self._functions.setdefault((source.path, body), _Unit(name_of, source.path, [])).events.append(event)
        return True

    def _sees(self, source: Cpp, path: PurePath) -> bool:
        """Return whether definitions in `path` are visible in `source`: one of them includes the other."""
        return source.path == path or self._reaches(source.path, path) or self._reaches(path, source.path)

    def _reaches(self, one: PurePath, other: PurePath) -> bool:
        if one not in self._includes:
            self._includes[one] = _included(self._by_path[one], self.project)
        return other in self._includes[one]


def _expanded(unit: _Unit, macros: dict[bytes, _Unit], depth: int) -> Iterator[_Event]:
    for event in sorted(unit.events):
        inner = macros.get(event.what) if not event.called else None
        if inner is None or depth > 20:
            yield event
        else:
            yield from _expanded(inner, macros, depth + 1)


def _mentions(files: list[Cpp], names: set[bytes]) -> Iterator[tuple[Cpp, int, bytes]]:
    for source in files:
        for span, name in source.names(names, _CALL):
            yield source, span.start, name


def _included(source: Cpp, project: Project) -> set[PurePath]:
    """Return the files that `source` includes, directly or through others, and itself."""
    found = {source.path}
    stack: list[Cpp] = [source]
    while stack:
        file = stack.pop()
        for include in file.includes:
            for other in project.included(file, include):
                if isinstance(other, Cpp) and other.path not in found:
                    found.add(other.path)
                    stack.append(other)
    return found


def _function(source: Cpp, offset: int) -> tuple[bytes, int] | None:
    """Return the name of the function whose body contains `offset`, and the place of its opening brace."""
    node: Node | None = source.tree.root_node.descendant_for_byte_range(offset, offset + 1)
    while node is not None:
        body = node.child_by_field_name("body")
        if node.type in ("function_definition", "lambda_expression") and body is not None:
            if (
                not body.start_byte <= offset < body.end_byte
                or source.code[body.start_byte : body.start_byte + 1] != b"{"
            ):
                return None
            declarator = node.child_by_field_name("declarator")
            words = (
                _WORD.findall(source.code[declarator.start_byte : body.start_byte].split(b"(")[0]) if declarator else []
            )
            return (words[-1] if words else b""), body.start_byte
        node = node.parent
    return None
