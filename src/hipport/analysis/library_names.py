# SPDX-License-Identifier: Apache-2.0
"""Find uses of names that mean a library's entity, not the program's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hipport.core.edits import Span
from hipport.core.tables import load
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.declarations import Declaration, declarations, member_or_qualified

_CONDITION = re.compile(rb"#[ \t]*(?:el)?if")


@dataclass(frozen=True, eq=False)
class LibraryNames:
    """The names that are in `wanted`, or that it matches as a whole; with `behind`, only where that matches after them.

    `overloaded`: a function of the program with that name, unless it is a template, is an overload for other types.
    `macros`: they may be in conditions of the preprocessor; there, a function's name is 0, or is only asked about.
    """

    wanted: re.Pattern[bytes] | frozenset[bytes]
    behind: re.Pattern[bytes] | None = None
    overloaded: bool = False
    macros: bool = False

    def uses(self, source: Cpp, project: Project) -> Iterator[tuple[Span, bytes]]:
        """Yield the uses in `source`: not members, not in a namespace, and not entities that the program declares.

        A declaration under a condition replaces the library's where that is missing, and a declaration that uses the
        name itself is an overload that calls the library's: neither is a use, nor do they hide one. The same holds for
        declarations in a file that is included only without CUDA. Code that only CUDA or only HIP sees is somebody's
        port already.
        """
        found = source.fact(self._found)
        if not found:
            return
        own = project.declared(source, self._own)
        _, inside, declared = source.fact(self._declared)
        if any(name in own for _, name in found) and (apart := project.without_cuda(source) - {source.path}):
            own = project.declared(source, self._own, but=apart)
        for span, name in found:
            if name in own or span in declared or any(scope.start <= span.start < scope.end for scope in inside):
                continue
            if not source.ported(span.start) and (self.macros or not _in_condition(source, span.start)):
                yield span, name

    def _found(self, source: Cpp) -> tuple[tuple[Span, bytes], ...]:
        return tuple(
            (span, name)
            for span, name in source.names(self.wanted, self.behind)
            if not member_or_qualified(source.code, span.start)
        )

    def _own(self, source: Cpp) -> frozenset[bytes]:
        return source.fact(self._declared)[0]

    def _declared(self, source: Cpp) -> tuple[frozenset[bytes], tuple[Span, ...], frozenset[Span]]:
        """Return the file's unconditional declarations, the spans in which others hold, and conditional ones."""
        everywhere, inside, places = set(), [], set()
        for span, name in source.fact(self._found):
            for declaration in declarations(source, [(span, name)]):
                if within(span.start, source.cuda_only):
                    continue
                if declaration.scope is not None:
                    inside.append(declaration.scope)
                elif declaration.conditional or _uses_itself(declaration) or self._overload(source, span, declaration):
                    places.add(span)
                else:
                    everywhere.add(name)
        return frozenset(everywhere), tuple(inside), frozenset(places)

    def _overload(self, source: Cpp, span: Span, declaration: Declaration) -> bool:
        """Say whether the declaration is a function for the program's types, not a macro or a template."""
        if not self.overloaded or not declaration.text or source.directive(span.start) is not None:
            return False
        return re.match(rb"\s*template\b", declaration.text) is None


@cache
def helper_rows(table: Path) -> tuple[LibraryNames, Mapping[bytes, bytes]]:
    """Return the names in the section `helper` of the table at a path, with hipport's function for each of them."""
    rows = load(table)["helper"]
    names = {name.encode(): b"hipport::" + helper.encode() for name, helper in rows.items()}
    return LibraryNames(frozenset(names)), names


def _uses_itself(declaration: Declaration) -> bool:
    """Say whether a function or macro calls the library's function that it is named after.

    The name of the declaration itself does not count. After a first run, the overload of an intrinsic calls hipport's
    function of that name.
    """
    named, helper = re.escape(declaration.name), re.escape(declaration.name.lstrip(b"_"))
    return re.search(rb"\b%b\b|\bhipport::(?:\w+::)*%b\b" % (named, helper), declaration.text) is not None


def _in_condition(source: Cpp, offset: int) -> bool:
    """Whether a place is in a condition of the preprocessor."""
    directive = source.directive(offset)
    return directive is not None and _CONDITION.match(source.code, directive.start) is not None
