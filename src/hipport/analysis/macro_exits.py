# SPDX-License-Identifier: Apache-2.0
"""Exits by macros: `RETURN_IF(x)`, `CHECK_BOUNDS(i, n)`, by which threads leave a loop, a lambda or a function.

A macro that is seen has the exits of its text. One that is not seen, in capitals and used like a call or as a
statement, may have any exit, unless a table knows it: what follows it is not proven.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, takewhile
from pathlib import PurePath, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis.exclusive_conditions import MORE, squeezed
from hipport.analysis.functions import Condition, Function, functions
from hipport.analysis.kernels import Kernels
from hipport.analysis.macros import defined, expanded
from hipport.analysis.unseen_macros import WRITTEN_AS_MACRO
from hipport.analysis.word_index import leading_to
from hipport.core.edits import Span
from hipport.program.project import Component
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda

if TYPE_CHECKING:
    from tree_sitter import Node

_WORD = re.compile(rb"[A-Za-z_]\w*")
_EXIT = re.compile(rb"\b(?:return|break|continue|goto)\b")
# Before a statement, and behind one: a macro may have no semicolon.
_BEGINS = re.compile(rb"(?:[;{})]|(?<!:):|\b(?:else|do))\s*\Z")
_USES = frozenset(("call_expression", "identifier", "type_identifier"))
_LONGEST_BLANK = 400
_OPENING = re.compile(rb"\s*\(")
_ENDS = re.compile(rb"\s*[;}]|[ \t]*\r?\n\s*\w")
_ENDS_NAME = re.compile(rb"\s*[;}]")
#: In a loop, and in a function.
_KINDS = ("continue_statement", "break_statement", "return_statement")


class MacroExit(NamedTuple):
    """A use of a macro that is an exit of some kind: a node's type.

    `asked`: the conditions in the macro, and whether they hold for those that leave; None if they are not seen.
    """

    name: bytes
    node: Node
    kind: str
    asked: tuple[tuple[bytes, bool], ...] | None

    @property
    def text(self) -> bytes:
        """The condition that holds for lanes that do not leave, as far as it is seen."""
        if self.asked is None:
            return MORE
        text, taken = self.asked[0] if self.asked else (b"", True)
        return b"!" + text if taken and text else text

    def differs(self, kernels: Kernels, function: Function, size: int, *, shown: bool = False) -> bool:
        """Whether only some of `size` neighbouring threads that use the macro may leave."""
        return self.asked is None or any(
            kernels.uniformity_of_text(function, text, self.node, shown=shown) < size for text, _ in self.asked
        )


def exits_by_macros(kernels: Kernels, function: Function, node: Node) -> Iterator[MacroExit]:
    """Yield the uses of macros in a function by which a thread may miss a place; see `Function.exits_before`."""
    known = kernels.of_component(function.source, _Known).exits
    if function not in known:
        known[function] = tuple(_in_function(kernels, function))
    yield from (each for each in known[function] if function.may_miss(node, each.node, each.kind))


def unseen_at(kernels: Kernels, function: Function, node: Node) -> bytes:
    """Return the macro that is used at a node, if no file defines it; empty for another node."""
    return next((name for name, use in unseen_statements(kernels, function) if use == node), b"")


def conditions_around(function: Function, exit_: MacroExit, node: Node) -> Iterator[Condition]:
    """Yield the conditions around a use of a macro, up to the statement that contains `node`, too."""
    for condition in function.conditions(exit_.node):
        if condition.statement.start_byte <= node.start_byte < condition.statement.end_byte:
            return
        yield condition


class _Known:
    """The exits by macros in the functions of connected files."""

    def __init__(self, component: Component) -> None:
        self.exits: dict[Function, tuple[MacroExit, ...]] = {}
        self.leaving = leaving(component)
        self.macros = component.fact(defined)
        #: The names in each file that may be such macros, in order: those that are seen, and others.
        self._places: dict[PurePath, list[tuple[Span, bytes]]] = {}

    def places(self, function: Function) -> Iterator[tuple[Span, bytes]]:
        """Yield the names in a function that may be macros by which threads leave."""
        source, body = function.source, function.body
        if source.path not in self._places:
            names = {each for each in source.words if each not in self.macros and WRITTEN_AS_MACRO.fullmatch(each)}
            names |= self.leaving & source.words
            found = source.names(frozenset(names)) if names else ()
            self._places[source.path] = [each for each in found if source.directive(each[0].start) is None]
        places = self._places[source.path]
        first = bisect_left(places, body.start_byte, key=lambda each: each[0].start)
        yield from takewhile(lambda each: each[0].start < body.end_byte, islice(places, first, None))


def leaving(component: Component) -> frozenset[bytes]:
    """Return the macros of connected files that contain an exit, or use a macro that does."""
    macros = component.fact(defined)
    found = {name for name, of in macros.items() if any(_EXIT.search(macro.text) for macro in of)}
    words = ((name, {word for macro in of for word in _WORD.findall(macro.text)}) for name, of in macros.items())
    return leading_to(found, words) | found if found else frozenset()


def _in_function(kernels: Kernels, function: Function) -> Iterator[MacroExit]:
    source = function.source
    known = kernels.of_component(source, _Known)
    macros = known.macros
    for span, name in known.places(function):
        if name not in known.leaving:
            continue
        node = function.body.descendant_for_byte_range(span.start, span.end)
        if node is None or function.locals.named(name, span.start) is not None:
            continue
        outer = node.parent
        if outer is not None and outer.type == "call_expression":
            node = outer
        spans = source.given(span.end)
        given = None if spans is None else [source.code[each.start : each.end] for each in spans]
        takes = any(macro.parameters is not None for macro in macros[name])
        for text in expanded(name, given if takes else None, macros):
            yield from (MacroExit(name, node, kind, asked) for kind, asked in _exits_of(text))
    for name, node in unseen_statements(kernels, function):
        yield from (MacroExit(name, node, kind, None) for kind in _KINDS)


def unseen_statements(kernels: Kernels, function: Function) -> Iterator[tuple[bytes, Node]]:
    """Yield the statements of a function that are uses of macros which are not seen, and their names."""
    source, body = function.source, function.body
    known = kernels.of_component(source, _Known)
    for span, name in known.places(function):
        if name in known.macros:
            continue
        node = body.descendant_for_byte_range(span.start, span.end)
        own = name in function.template_parameters or function.locals.named(name, span.start) is not None
        if node is None or own or not _is_statement(source, span) or not kernels.may_be_macro(source, name):
            continue
        outer = node.parent
        use = outer if outer is not None and outer.type == "call_expression" else node
        around = use.parent
        # Where the parser does not understand the text, the characters around it decide.
        if around is None or around.type == "expression_statement" or around.has_error or use.type not in _USES:
            yield name, use


def _is_statement(source: Cpp, name: Span) -> bool:
    """Whether a name, perhaps with arguments, is a whole statement."""
    code = source.code
    if not _BEGINS.search(code, max(0, name.start - _LONGEST_BLANK), name.start):
        return False
    opening = _OPENING.match(code, name.end)
    closing = source.closing(opening.end() - 1) if opening is not None else None
    if opening is not None and closing is None:
        return False
    ends = _ENDS if closing is not None else _ENDS_NAME
    return ends.match(code, name.end if closing is None else closing + 1) is not None


@lru_cache(maxsize=1 << 10)
def _exits_of(text: bytes) -> tuple[tuple[str, tuple[tuple[bytes, bool], ...] | None], ...]:
    """Return the exits in the expansion of a macro, with the conditions there, as in MacroExit."""
    if not _EXIT.search(text):
        return ()
    source = Cuda(PurePosixPath("macro.cu"), b"void f() { for (;;) { " + text + b"; } }")
    made = functions(source)
    if len(made) != 1 or source.tree.root_node.has_error:
        return tuple((kind, None) for kind in _KINDS)
    (function,) = made
    outermost = function.body.named_children[0]
    found: list[tuple[str, tuple[tuple[bytes, bool], ...] | None]] = []
    for exit_ in function.exits():
        left = function.left_by(exit_, exit_.type)
        if left not in (function.body, outermost) or (left == function.body and exit_.type != "return_statement"):
            continue
        if exit_.type == "goto_statement":
            found += [(kind, None) for kind in _KINDS]
            continue
        conditions = [each for each in function.conditions(exit_) if each.statement != outermost]
        asked = tuple((squeezed(function.text(each.expression)), each.taken is not False) for each in conditions)
        found.append((exit_.type, asked))
    return tuple(found)
