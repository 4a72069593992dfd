# SPDX-License-Identifier: Apache-2.0
"""Which calls the lanes of a warp may make apart, though they count on making them together.

A collective is a function that lanes call together: each names the lanes that it waits for. A compiler for AMD brings
lanes together again where the branches that parted them meet, in every turn of a loop, and does not wait otherwise. So
a call has with it all lanes that come to it in one branch and one turn, and means what it means on a GPU that waits,
but for three kinds of code, which are found here:

* "branch": lanes part, and some come to one call of the collective, some to another one (or to the same one, in a
  function that both branches call). On a GPU that waits they meet there.
* "apart": two calls, one behind the other, under conditions that exclude each other (`x < n`, then `x >= n`).
* "turn": a call under a condition within a loop, so that lanes come to it in turns of their own. For a group of
  lanes, which names them all, also one in a loop that some lanes may leave before others.

A function that is called by a pointer, as an object or as a virtual function is taken to be called wherever something
is called so with as many arguments, and lanes that differ on the pointer or object to part there.

Nothing of this matters where the lanes that are named were found out in the same branch or turn: then there are no
others to wait for. Conditions on which the lanes of a warp agree part nobody. Calls are followed by name through
functions and macros. Lanes may differ on a value of which nothing is known, such as a parameter of a function that
nobody is seen to call.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import accumulate, chain, combinations, islice, permutations, product
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from hipport.languages import constants
from hipport.languages.agreement import WARP
from hipport.languages.carriers import Text, carriers, extent
from hipport.languages.cpp import Cpp
from hipport.languages.functions import Function, Variable, arguments, called_name, comes_by_label, function_at, nodes
from hipport.languages.implicit import makes_object, operator_uses
from hipport.languages.indirect import CALLED, Indirect, indirect_calls, pointed, targets, virtual, virtual_calls
from hipport.languages.kernels import Kernels
from hipport.languages.macros import calls
from hipport.project import Component, Project

if TYPE_CHECKING:
    from tree_sitter import Node

_CHOICE = re.compile(rb"\belse\b|\?")
_SKIPS = re.compile(rb"\b(?:if|for|while|switch)\s*\(|&&|\|\||\?")
_IF = re.compile(rb"\bif(?:\s|\\\r?\n)*\(")
_ELSE = re.compile(rb"(?:\s|\\\r?\n)*else\b")
# Conditions that are longer are not followed into functions, nor more calls of one place under one condition looked at.
_LONGEST, _MOST_CALLS = 200, 4
_ALL_LANES = 0xFFFFFFFF
_WORD = re.compile(rb"[A-Za-z_]\w*")
_CALL = re.compile(rb"\s*(?:<[^;{}]*>\s*)?\(")
_LAMBDA = re.compile(rb"\b([A-Za-z_]\w*)\s*=\s*\[")
_COMPARISON = re.compile(rb"([^<>=!&|]+)(<=|>=|==|!=|<|>)([^<>=!&|]+)")
_OPPOSITE = {b"<": b">=", b">": b"<=", b"==": b"!="}
_OPPOSITE |= {opposite: sign for sign, opposite in _OPPOSITE.items()}
# In a macro, what a method is called on, or the end of a namespace.
_MEMBER = re.compile(rb"(?:\b(\w+)\s*\)?\s*(?:\.|->)|::)\s*\Z")
_LOOPS = frozenset(("for_statement", "while_statement", "do_statement", "for_range_loop"))
_PARTS = frozenset(("if_statement", "conditional_expression", "switch_statement"))
_LAMBDAS = frozenset(("lambda_expression",))


class Place(NamedTuple):
    """A call of a collective: its file and where its name stands there."""

    path: PurePath
    offset: int


class Meeting(NamedTuple):
    """Why lanes may make a call apart, and for a "branch" or "apart" the call that others may make meanwhile.

    `unless`: what must be so of blocks for lanes not to; empty where they may in any blocks.
    """

    kind: str
    other: Place
    unless: str = ""


@dataclass(frozen=True)
class Collectives:
    """What is called together. Each pattern matches a name whole.

    `names`: the collectives, whose first argument says which lanes; `lanes`: functions that find out which lanes are
    there or say the same; `barriers`: what all lanes wait for before any goes on. `group`: what says which lanes, for a
    name in a function, and how many they may be, neighbours from a multiple of that on; 0 if that is no collective.
    """

    names: re.Pattern[bytes]
    lanes: re.Pattern[bytes]
    barriers: re.Pattern[bytes]
    group: Callable[[Function, Node], tuple[Node | None, int]] | None = None


class _Named(NamedTuple):
    """How the lanes of a call were named: found out at `found`, in a function that it is in (`inside`), or nowhere.

    `parameter`: by that argument of the function or macro that the call is in. `by`: the conditions that were asked.
    """

    inside: bool = False
    parameter: int = -1
    found: tuple[int, ...] = ()
    by: frozenset[bytes] = frozenset()


class _Reached(NamedTuple):
    """A call that a function or macro comes to. `skipped`: perhaps not every time that it is called itself.

    `under`: conditions that hold then, in words of where it is called. `mask`: the lanes that it names, as a number;
    all where that is not known.
    """

    place: Place
    name: bytes
    lanes: _Named
    skipped: bool
    size: int
    under: frozenset[bytes] = frozenset()
    mask: int = _ALL_LANES


class _Side(NamedTuple):
    """A side of a statement at which lanes part: from `start` to `end`.

    `way`: which side. `often`: the statement decides how often rather than whether. `left`: lanes that took the other
    side have left the loop or the function.
    """

    statement: tuple[int, int]
    way: object
    condition: bytes
    start: int
    end: int
    often: bool
    left: bool


class _Mention(NamedTuple):
    """A place in a function from which calls are reached, and the sides that a lane takes to come to it."""

    node: Node
    sides: tuple[_Side, ...]
    reached: tuple[_Reached, ...]


def meetings(source: Cpp, project: Project, collectives: Collectives) -> dict[int, Meeting]:
    """Return the calls in `source` that lanes may make apart, by where their names stand."""
    known: dict[object, dict[Place, Meeting]] = project.component(source).fact(_meetings)
    if collectives not in known:
        known[collectives] = _Search(project, source, collectives, False).found
        kernels = Kernels.of(project)
        # Whether what was assumed is of any consequence is seen without it.
        shown = _Search(project, source, collectives, True).found if kernels.assumption(source) else {}
        for place in shown.keys() - known[collectives].keys():
            file = project.by_path[place.path]
            assert isinstance(file, Cpp)
            unless = kernels.assumption(source, function_at(file, place.offset))
            known[collectives][place] = shown[place]._replace(unless=unless)
    return {place.offset: meeting for place, meeting in known[collectives].items() if place.path == source.path}


def _meetings(component: Component) -> dict[object, dict[Place, Meeting]]:
    """What was found for each kind of collectives."""
    return {}


class _Search:
    """All meetings in the files that `source` is connected to."""

    def __init__(self, project: Project, source: Cpp, collectives: Collectives, shown: bool) -> None:
        self._shown = shown
        self._project = project
        self.kernels = Kernels.of(project)
        self.files = [other for other in project.component(source) if isinstance(other, Cpp)]
        self.collectives = collectives
        self.found: dict[Place, Meeting] = {}
        #: What comes to a collective, and what of that may be called by others, by its name.
        found = carriers(self.files, self.kernels, _matched(self.files, collectives.names))
        self.units = found.units
        self.carriers = found.named
        self.classes = found.classes
        self.operators = found.operators
        self._mentions: dict[Function, tuple[_Mention, ...]] = {}
        #: What functions were seen to come to before, for those that call themselves.
        self._again: dict[Function, tuple[_Mention, ...]] = {}
        self._reached: dict[Function, tuple[_Reached, ...]] = {}
        #: What macros and classes come to, and what they were seen to come to before.
        self._texts: dict[Text, tuple[_Reached, ...]] = {}
        self._texts_again: dict[Text, tuple[_Reached, ...]] = {}
        self._places: dict[PurePath, list[tuple[int, bytes]]] = {}
        self._named_by: dict[tuple[Function, int, int, int], _Named] = {}
        self._open: set[Text | Function] = set()
        self._recursive = False
        functions = [unit for unit in self.units if isinstance(unit, Function)]
        #: What may be called by pointers and objects, and the names of what is virtual.
        self.pointed = pointed(self.files, functions)
        #: Collectives in lambdas that are handed to functions, by the count of the lambda's parameters.
        self.handed: dict[int, list[_Reached]] = {}
        for function in functions:
            for count, start, name in self._find_handed(function):
                node = function.body.descendant_for_byte_range(start, start + len(name))
                given = _arguments_of(node) if node is not None else ()
                lanes = self._by_pointer(_Reached(Place(function.source.path, start), name, _Named(), False, WARP))
                named = self._named(function, given[0]) if given else _Named()
                if not named.inside and not named.found and collectives.group is None:
                    self.handed.setdefault(count, []).append(lanes)
        self.virtual = frozenset(unit.name for unit in functions if virtual(unit))
        self._follow_recursion()
        if self.pointed or self.handed:
            # What calls them by pointers need not have a name of theirs in it.
            self.units += [
                function
                for file in self.files
                for function in self.kernels.functions(file)
                if function not in functions
                and (
                    not function.called.isdisjoint(self.kernels.macros(file))
                    or next(indirect_calls(function), None) is not None
                )
            ]
        for unit in self.units:
            if isinstance(unit, Function):
                self._check(unit)
            else:
                self._check_macro(unit)

    def _follow_recursion(self) -> None:
        """See what functions come to that call themselves, or each other, until a round finds no more than the last."""
        functions = [unit for unit in self.units if isinstance(unit, Function)]
        found = -1
        while True:
            count = sum(len(mention.reached) for function in functions for mention in self.mentions(function))
            count += sum(map(len, self._texts.values()))
            if not self._recursive or count == found:
                return
            found = count
            self._again, self._mentions, self._reached = self._mentions, {}, {}
            self._texts_again, self._texts = self._texts, {}

    def _words_of(self, unit: Function | Text, more: AbstractSet[bytes] = frozenset()) -> Iterator[tuple[int, bytes]]:
        """Yield where the names of collectives, of what comes to one, and `more` stand in a function or macro."""
        source = unit.source
        if source.path not in self._places:
            found = [*source.names(source.matched(self.collectives.names) | self.carriers.keys())]
            self._places[source.path] = [(span.start, name) for span, name in found]
        places = self._places[source.path]
        start, end = extent(unit)
        if more - self.carriers.keys():
            places = [(span.start, name) for span, name in source.names(more | {name for _, name in places})]
        return islice(places, bisect_left(places, (start,)), bisect_left(places, (end,)))

    def mentions(self, function: Function) -> tuple[_Mention, ...]:
        if function in self._open:
            self._recursive = True
            return self._again.get(function, ())
        if function not in self._mentions:
            self._open.add(function)
            self._mentions[function] = (
                *self._find_mentions(function),
                *self._find_indirect(function),
                *self._find_in_macros(function),
                *self._find_operators(function),
            )
            self._open.remove(function)
        return self._mentions[function]

    def reached(self, unit: Function | Text) -> Iterable[_Reached]:
        if isinstance(unit, Text):
            return self._of_text(unit)
        mentions = self.mentions(unit)
        if unit in self._open:
            return self._reached_by(unit, mentions)
        if unit not in self._reached:
            self._reached[unit] = tuple(self._reached_by(unit, mentions))
        return self._reached[unit]

    @staticmethod
    def _reached_by(unit: Function, mentions: tuple[_Mention, ...]) -> Iterator[_Reached]:
        given = frozenset(unit.parameters)
        for mention in mentions:
            skipped = any(not side.often and not side.left for side in mention.sides)
            conditions = {side.condition for side in mention.sides if not side.often}
            for each in mention.reached:
                # What is said of the function's own variables says nothing to who calls it.
                under = frozenset(text for text in each.under | conditions if given.issuperset(_WORD.findall(text)))
                yield each._replace(skipped=each.skipped or skipped, under=under)

    def _find_mentions(self, unit: Function) -> Iterator[_Mention]:
        lambdas = _lambdas(unit)
        inside: dict[bytes, dict[Place, _Reached]] = {}
        for start, name in self._words_of(unit, lambdas.keys()):
            end = start + len(name)
            collective = self.collectives.names.fullmatch(name)
            if name in inside and _CALL.match(unit.source.code, end):
                called = unit.body.descendant_for_byte_range(start, end)
                if called is not None and start >= lambdas[name][1]:
                    most = max(each.size for each in inside[name].values())
                    yield _Mention(called, tuple(self._sides(unit, called, most)), tuple(inside[name].values()))
                continue
            if not collective and name not in self.carriers:
                continue
            node = unit.node.descendant_for_byte_range(start, end)
            if node is None or unit.source.directive(start):
                continue
            if name in self.classes and not makes_object(unit.source, end):
                continue
            if node.type == "field_identifier" and not _CALL.match(unit.source.code, end):
                continue  # A member that has a function's name.
            if not collective and node.type == "identifier" and unit.locals.named(name, start) is not None:
                continue  # A variable that does.
            given = _arguments_of(node)
            reached: dict[Place, _Reached] = {}
            group, size = (given[0] if given else None, WARP) if collective else (None, 0)
            if collective and self.collectives.group is not None:
                group, size = self.collectives.group(unit, node)
            if size:
                place = Place(unit.source.path, start)
                reached[place] = _Reached(
                    place, name, self._named(unit, group), False, size, mask=self._mask(unit, group)
                )
            else:
                texts = [squeezed(unit.text(argument)) for argument in given]
                for each in self.carriers.get(name, ()):
                    for inner in self.reached(each):
                        lanes, mask = inner.lanes, inner.mask
                        if lanes.parameter >= 0:
                            at = lanes.parameter
                            lanes = self._named(unit, given[at] if at < len(given) else None)
                            mask = self._mask(unit, given[at] if at < len(given) else None)
                        elif lanes.found:
                            lanes = _Named(inside=True)
                        under = frozenset(_given(text, each.parameters, texts) for text in inner.under) - {b""}
                        skipped = inner.skipped
                        if isinstance(each, Text) and under:
                            agreed = {text: self._agreement(unit, text, node) for text in under}
                            under = frozenset(text for text in under if agreed[text] < inner.size)
                            skipped = skipped or bool(under)
                        reached[inner.place] = inner._replace(lanes=lanes, under=under, skipped=skipped, mask=mask)
            if reached:
                for variable, (opening, closing) in lambdas.items():
                    if opening <= start < closing:
                        inside.setdefault(variable, {}).update(
                            (place, each._replace(lanes=_from_outside(each.lanes, opening, closing)))
                            for place, each in reached.items()
                        )
                most = max(each.size for each in reached.values())
                yield _Mention(node, tuple(self._sides(unit, node, most)), tuple(reached.values()))

    def _agreement(self, unit: Function, text: bytes, node: Node) -> int:
        """On how many lanes a condition agrees that a macro makes at `node`; what is not seen may be any."""
        return self.kernels.agreement_of_text(unit, text.lstrip(b"!"), node, shown=self._shown)

    def _find_in_macros(self, unit: Function) -> Iterator[_Mention]:
        """Yield where macros are used that call what they are given, and note those that do so in branches."""
        lambdas = {name: self._in_lambda(unit, start, end) for name, (start, end) in _lambdas(unit).items()}
        names = unit.called & self.kernels.macros(unit.source).keys() if lambdas or self.pointed else frozenset()
        for _, name, node, given in unit.calls(names) if names else ():
            if unit.source.directive(node.start_byte):
                continue
            for text in self.kernels.expanded(unit.source, name, [unit.text(argument) for argument in given]):
                reached: dict[Place, _Reached] = {}
                count = 0
                for argument in given:
                    word = unit.text(argument)
                    made = calls(text, word) if argument.type == "identifier" and name != word else None
                    if not made:
                        continue
                    count += len(made)
                    inner = lambdas.get(word, ())
                    if not inner and unit.locals.named(word, node.start_byte) is not None:
                        called = Indirect(node, argument, len(made[0]))
                        inner = [
                            self._by_pointer(each)
                            for of in targets(called, unit, self.pointed, self.kernels)
                            for each in self.reached(of)
                        ]
                    elif not inner:
                        inner = [each for of in self.carriers.get(word, ()) for each in self.reached(of)]
                    reached |= {each.place: each for each in inner}
                if not reached:
                    continue
                size = max(each.size for each in reached.values())
                skips = _SKIPS.search(text) is not None
                found = tuple(each._replace(skipped=each.skipped or skips) for each in reached.values())
                yield _Mention(node, tuple(self._sides(unit, node, size)), found)
                if count > 1 and _CHOICE.search(text):
                    for each in found:
                        if not each.lanes.inside and not each.lanes.found:
                            self.found.setdefault(each.place, Meeting("branch", each.place))

    def _find_operators(self, unit: Function) -> Iterator[_Mention]:
        """Yield the uses of operators that come to a collective."""
        for node, of in operator_uses(unit, self.operators) if self.operators else ():
            reached = {each.place: self._by_pointer(each) for operator in of for each in self.reached(operator)}
            if reached:
                size = max(each.size for each in reached.values())
                yield _Mention(node, tuple(self._sides(unit, node, size)), tuple(reached.values()))

    def _in_lambda(self, unit: Function, start: int, end: int) -> list[_Reached]:
        """The collectives that are written in a lambda of the function."""
        found = []
        for at, name in self._words_of(unit):
            node = unit.body.descendant_for_byte_range(at, at + len(name)) if start <= at < end else None
            if node is None:
                continue
            if self.collectives.names.fullmatch(name) and self.collectives.group is None:
                given = _arguments_of(node)
                lanes = _from_outside(self._named(unit, given[0] if given else None), start, end)
                found.append(_Reached(Place(unit.source.path, at), name, lanes, False, WARP))
            else:
                found += [self._by_pointer(each) for of in self.carriers.get(name, ()) for each in self.reached(of)]
        return found

    def _find_indirect(self, unit: Function) -> Iterator[_Mention]:
        """Yield calls by pointers and objects, and note the calls of lanes that differ on what they call."""
        any_pointed = self.pointed or self.handed
        calls = indirect_calls(unit) if any_pointed else ()
        called = [(each, targets(each, unit, self.pointed, self.kernels)) for each in calls]
        for each in virtual_calls(unit, self.virtual):
            name = called_name(each.call, unit.source.code)
            called.append((each, [of for of in self.carriers.get(name, []) if isinstance(of, Function)]))
        for each, functions in called:
            functions = [of for of in functions if of is not unit]
            sets = [[self._by_pointer(inner) for inner in self.reached(of)] for of in functions]
            handed = self.handed.get(each.given, ()) if each.callee.type == "identifier" else ()
            reached = {inner.place: inner for inner in chain(*sets, handed)}
            if not reached:
                continue
            size = max(inner.size for inner in reached.values())
            if each.callee.type != "field_expression":
                yield _Mention(each.call, tuple(self._sides(unit, each.call, size)), tuple(reached.values()))
            if self.kernels.agreement(unit, each.callee, shown=self._shown) >= size:
                continue
            # An object is of one class, whatever its value.
            by_pointer = [given for given, of in zip(sets, functions, strict=True) if of.name != CALLED]
            for one, two in permutations(by_pointer, 2):
                for a, b in product(one, two):
                    if not a.lanes.inside and not b.lanes.inside:
                        self.found.setdefault(a.place, Meeting("branch", b.place))

    def _find_handed(self, unit: Function) -> Iterator[tuple[int, int, bytes]]:
        """Yield the collectives in lambdas that `unit` hands to a function: parameters of the lambda, place, name."""
        words = [(start, name) for start, name in self._words_of(unit) if self.collectives.names.fullmatch(name)]
        if not words or b"[" not in unit.source.code[slice(*extent(unit))]:
            return
        for node in nodes(unit.body, _LAMBDAS):
            outer = node.parent
            if outer is None:
                continue
            inside = [(start, name) for start, name in words if node.start_byte <= start < node.end_byte]
            variable = outer.child_by_field_name("declarator") if outer.type == "init_declarator" else None
            name = re.escape(unit.text(variable)) if variable is not None else b""
            if outer.type != "argument_list" and not (
                name and re.search(rb"[(,]\s*" + name + rb"\s*[,)]", unit.text(unit.body))
            ):
                continue
            declarator = node.child_by_field_name("declarator")
            given = declarator.child_by_field_name("parameters") if declarator is not None else None
            count = len(given.named_children) if given is not None else 0
            yield from ((count, start, collective) for start, collective in inside)

    @staticmethod
    def _by_pointer(reached: _Reached) -> _Reached:
        """What is reached by a pointer, whose arguments are not followed."""
        lanes = _Named(inside=bool(reached.lanes.inside or reached.lanes.found))
        return reached._replace(lanes=lanes, under=frozenset())

    def _of_text(self, text: Text) -> tuple[_Reached, ...]:
        if text in self._open:
            self._recursive = True
            return self._texts_again.get(text, ())
        if text not in self._texts:
            self._open.add(text)
            # By several ways, it may be the same call.
            self._texts[text] = tuple(dict.fromkeys(self._of_macro(text)))
            self._open.remove(text)
        return self._texts[text]

    def _of_macro(self, macro: Text) -> Iterator[_Reached]:
        code = macro.source.code
        for start, name in self._words_of(macro):
            if self.collectives.names.fullmatch(name):
                end = start + len(name)
                given = macro.source.arguments(end) if code[end : end + 1] == b"(" else None
                mask = macro.source[given[0]] if given else b""
                if self.collectives.group is not None:
                    before = _MEMBER.search(code, macro.start, start)
                    if before is None or not given:
                        continue
                    mask = before[1] or mask
                words = _WORD.findall(mask)
                parameter = macro.parameters.index(words[0]) if words and words[0] in macro.parameters else -1
                inside = any(self.collectives.lanes.fullmatch(word) for word in words)
                under = frozenset(_conditions(macro, start))
                yield _Reached(Place(macro.source.path, start), name, _Named(inside, parameter), False, WARP, under)
            else:
                for unit in self.carriers.get(name, ()):
                    # What it is given here is not looked at.
                    yield from (each._replace(under=frozenset()) for each in self.reached(unit))

    def _named(self, function: Function, mask: Node | None, depth: int = 3) -> _Named:
        """How the expression `mask` names lanes."""
        if mask is None:
            return _Named()
        key = (function, mask.start_byte, mask.end_byte, depth)
        if key not in self._named_by:
            self._named_by[key] = self._find_named(function, mask, depth)
        return self._named_by[key]

    def _mask(self, function: Function, mask: Node | None) -> int:
        """The lanes that the expression `mask` names, as a number; all where that is not known."""
        if mask is None or self.collectives.group is not None:
            return _ALL_LANES
        for word in _WORD.findall(function.text(mask)):
            if word in function.template_parameters:
                return _ALL_LANES
            variable = function.locals.named(word, mask.start_byte)
            if variable is None:
                continue
            given = function.locals.given.get(variable, ())
            once = [each for each in given if each.declares and b"const" in function.text(each.node)]
            # A variable of a constant's name is not the constant, and one that is nothing else may be given again.
            if mask.type != "identifier" or len(once) != 1 or len(once[0].values) != 1:
                return _ALL_LANES
            return self._mask(function, once[0].values[0])
        number = constants.value(function.source, self._project, function.text(mask))
        return _ALL_LANES if number is None else number & _ALL_LANES

    def _find_named(self, function: Function, mask: Node, depth: int) -> _Named:
        lanes = function.source.matched(self.collectives.lanes)
        words = _WORD.findall(function.text(mask))
        if not lanes.isdisjoint(words):
            return _Named(inside=True)
        found: set[int] = set()
        asked: set[bytes] = set()
        for word in words:
            variable = function.locals.named(word, mask.start_byte)
            if variable is None:
                continue
            given = function.locals.given.get(variable, ())
            if not given and word in function.parameters:
                return _Named(parameter=function.parameters.index(word))
            for each in given:
                for value in each.values:
                    if not lanes.isdisjoint(_WORD.findall(function.text(value))):
                        found.add(each.node.start_byte)
                        asked |= {squeezed(function.text(argument)) for argument in _last_arguments(value)}
                    elif depth:
                        inner = self._named(function, value, depth - 1)
                        if inner.found or inner.parameter >= 0:
                            return inner
        return _Named(found=tuple(sorted(found)), by=frozenset(asked))

    def _sides(self, function: Function, node: Node, size: int) -> Iterator[_Side]:
        """Yield the sides at which `size` neighbouring lanes part, and which those take that come to `node`."""
        if node.start_byte < function.body.start_byte:
            return  # An initializer of a constructor, or an argument that need not be given.
        for condition in function.conditions(node):
            if not self.kernels.may_differ(function, condition.expression, size, shown=self._shown):
                continue
            statement = condition.statement
            child = _child_with(statement, node)
            way = condition.taken
            if statement.type == "switch_statement":
                case = _child_with(child, node)
                yield _side(statement, case.start_byte, b"", case.start_byte, case.end_byte, False, False)
                continue
            text = squeezed(function.text(condition.expression))
            span = (statement if condition.loop else child).start_byte, child.end_byte
            yield _side(statement, way, text if way else b"!" + text, *span, condition.loop, False)
        for leaving in function.exits_before(node):
            if leaving.start_byte > node.start_byte:
                continue
            for condition in function.conditions(leaving):
                statement = condition.statement
                if statement.type not in _PARTS or statement.start_byte <= node.start_byte < statement.end_byte:
                    break
                comes = comes_by_label(function, leaving, node)
                if comes is None:
                    continue
                if self.kernels.may_differ(function, condition.expression, size, shown=self._shown):
                    block = statement.parent
                    text = squeezed(function.text(condition.expression))
                    left = leaving.type not in ("continue_statement", "goto_statement")
                    end = block.end_byte if block is not None else statement.end_byte
                    way = None if condition.taken is None else condition.taken == comes
                    yield _side(statement, way, text if way else b"!" + text, statement.end_byte, end, False, left)

    def _check(self, function: Function) -> None:
        by_sides: dict[tuple[_Side, ...], list[_Mention]] = {}
        for mention in self.mentions(function):
            by_sides.setdefault(mention.sides, []).append(mention)
            self._check_turns(function, mention)
        self._check_given(function)
        contexts = list(by_sides.items())
        for i, (sides, mentions) in enumerate(contexts):
            for others, other_mentions in contexts[i + 1 :]:
                kind, own, other = _relation(function, sides, others)
                if not kind:
                    continue
                for mention in mentions:
                    for counterpart in other_mentions:
                        if kind == "apart" and self._barrier_between(function, mention.node, counterpart.node):
                            continue
                        self._meet(kind, mention, own, counterpart, other)

    def _check_given(self, function: Function) -> None:
        """Note two calls that are given conditions which exclude each other: `f(v, v > 0); f(v, v <= 0)`."""
        # Only conditions on the same thing can exclude each other: all pairs of calls would be too many.
        asked: dict[tuple[bytes, bytes], dict[bytes, list[tuple[_Mention, _Reached]]]] = {}
        for mention in self.mentions(function):
            sides = {side.condition for side in mention.sides}
            for each in mention.reached:
                if not each.lanes.inside:
                    for text in (each.under | sides) - each.lanes.by:
                        calls = asked.setdefault((each.name, _compared(text)[0]), {}).setdefault(text, [])
                        if sum(other.place == each.place for _, other in calls) < _MOST_CALLS:
                            calls.append((mention, each))
        for texts in asked.values():
            for one, two in combinations(texts, 2):
                if exclude(one, two):
                    for first, second in product(texts[one], texts[two]):
                        self._meet_given(function, first, second)

    def _meet_given(
        self, function: Function, first: tuple[_Mention, _Reached], second: tuple[_Mention, _Reached]
    ) -> None:
        (one, a), (two, b) = first, second
        if not a.mask & b.mask:
            return
        if not (a.under or b.under) or one.node == two.node or (a.place in self.found and b.place in self.found):
            return
        if not self._barrier_between(function, one.node, two.node):
            self.found.setdefault(a.place, Meeting("apart", b.place))
            self.found.setdefault(b.place, Meeting("apart", a.place))

    def _check_macro(self, macro: Text) -> None:
        """A macro has no tree: with a choice in it, its calls are taken to be in different branches."""
        if not _CHOICE.search(macro.source.code, macro.start, macro.end):
            return
        calls: dict[bytes, dict[Place, None]] = {}
        for each in self._of_text(macro):
            if not each.lanes.inside:
                calls.setdefault(each.name, {})[each.place] = None
        for places in calls.values():
            first, *others = places
            for place in places if others else ():
                self.found.setdefault(place, Meeting("branch", others[0] if place == first else first))

    def _meet(self, kind: str, one: _Mention, own: _Side, two: _Mention, other: _Side) -> None:
        for a in one.reached:
            for b in two.reached:
                if not a.mask & b.mask:
                    continue  # They do not name each other.
                if a.name == b.name and not _within(a.lanes, own) and not _within(b.lanes, other):
                    self.found.setdefault(a.place, Meeting(kind, b.place))
                    self.found.setdefault(b.place, Meeting(kind, a.place))

    def _check_turns(self, function: Function, mention: _Mention) -> None:
        for loop in _loops_around(function, mention.node, self.kernels.loop_macros(function.source)):
            inside = _side(loop, True, b"", loop.start_byte, loop.end_byte, True, False)
            skips = [
                side
                for side in mention.sides
                if not side.often
                and not side.left
                and loop.start_byte < side.statement[0] < loop.end_byte
                and _changes(function, side, loop, self.kernels)
            ]
            if self.collectives.group is not None and self._left_early(function, mention, loop):
                skips.append(inside)
            for each in mention.reached:
                if (skips or each.skipped) and not _within(each.lanes, inside):
                    self.found.setdefault(each.place, Meeting("turn", each.place))

    def _left_early(self, function: Function, mention: _Mention, loop: Node) -> bool:
        """Whether some lanes may leave the loop before others, which then call without them."""
        if any(side.often and side.statement == (loop.start_byte, loop.end_byte) for side in mention.sides):
            return True
        size = max(each.size for each in mention.reached)
        return any(
            self.kernels.may_differ(function, condition.expression, size, shown=self._shown)
            for leaving in function.exits_before(mention.node)
            if leaving.type == "break_statement" and loop.start_byte <= leaving.start_byte < loop.end_byte
            for condition in function.conditions(leaving, loop)
            if not condition.loop
        )

    def _barrier_between(self, function: Function, one: Node, two: Node) -> bool:
        first, second = sorted((one.end_byte, two.start_byte))
        barriers = function.source.matched(self.collectives.barriers)
        return bool(barriers) and not barriers.isdisjoint(_WORD.findall(function.source.code, first, second))


def _relation(function: Function, one: tuple[_Side, ...], two: tuple[_Side, ...]) -> tuple[str, _Side, _Side]:
    """How lanes that take the sides `one` are to those that take `two`, and the sides at which they part."""
    nowhere = _Side((0, 0), None, b"", 0, 0, False, False)
    ways = {side.statement: side for side in two}
    for side in one:
        other = ways.get(side.statement)
        if other is not None and other.way != side.way:
            return "branch", side, other
    # Lanes that have left a kernel are nowhere else.
    own = [side for side in one if side not in two and not (side.left and function.kernel)]
    others = [side for side in two if side not in one and not (side.left and function.kernel)]
    for side in own:
        for other in others:
            if exclude(side.condition, other.condition):
                return "apart", side, other
    return "", nowhere, nowhere


def exclude(one: bytes, other: bytes) -> bool:
    """Whether two conditions look as if only one of them can hold."""
    (left, sign, right), (other_left, other_sign, other_right) = _compared(one), _compared(other)
    if left != other_left:
        return False
    if right == other_right:
        return other_sign == _OPPOSITE.get(sign) or {sign, other_sign} in ({b"<", b">"}, {b"==", b"<"}, {b"==", b">"})
    return sign == other_sign == b"==" or sorted((sign[:1], other_sign[:1])) == [b"<", b">"]


def _compared(condition: bytes) -> tuple[bytes, bytes, bytes]:
    """A condition as what is compared, how, and with what; `x` alone is compared with 0."""
    text, holds = condition, True
    while text.startswith(b"!") and not text.startswith(b"!="):
        text, holds = squeezed(text[1:]), not holds
    match = _COMPARISON.fullmatch(text)
    left, sign, right = match.groups() if match else (text, b"!=", b"0")
    left, right = squeezed(left), squeezed(right)
    right = b"0" if right in (b"false", b"NULL", b"nullptr") else right
    return left, sign if holds else _OPPOSITE[sign], right


def _given(condition: bytes, parameters: tuple[bytes, ...], given: list[bytes]) -> bytes:
    """A condition with arguments in place of the parameters; empty where it gets too long, or one is not seen."""
    words = set(parameters).intersection(_WORD.findall(condition))
    values = dict(zip(parameters, given, strict=False))
    if not words <= values.keys():
        return b""
    text = _WORD.sub(lambda match: values.get(match.group(), match.group()), condition)
    return text if len(text) <= _LONGEST else b""


def _conditions(macro: Text, place: int) -> Iterator[bytes]:
    """Yield the conditions of the `if`s in a macro that decide whether `place` in it is come to."""
    code = macro.source.code
    for match in _IF.finditer(code, macro.start, place):
        closing = macro.source.closing(match.end() - 1)
        if closing is None or closing > place:
            continue
        text = squeezed(code[match.end() : closing].replace(b"\\", b" "))
        end = _end(macro, closing + 1)
        other = _ELSE.match(code, end, macro.end)
        if place < end:
            yield text
        elif other is not None and place < _end(macro, other.end()):
            yield b"!" + text


def _end(macro: Text, start: int) -> int:
    """Where the statement ends that begins at `start` in a macro, behind white space."""
    code = macro.source.code
    while start < macro.end and code[start : start + 1] in (b" ", b"\t", b"\\", b"\n", b"\r"):
        start += 1
    if code[start : start + 1] == b"{":
        closing = macro.source.closing(start)
        return macro.end if closing is None else closing + 1
    end = code.find(b";", start, macro.end)
    return macro.end if end < 0 else end + 1


def _within(lanes: _Named, side: _Side) -> bool:
    """Whether the lanes were found out on the side, or are those that take it."""
    if lanes.inside or any(side.start <= offset < side.end for offset in lanes.found):
        return True
    return side.condition in lanes.by


def _changes(function: Function, side: _Side, loop: Node, kernels: Kernels) -> bool:
    """Whether the condition at which lanes part may turn out another way in another turn of the loop."""
    statement = function.body.descendant_for_byte_range(*side.statement)
    expression = statement.child_by_field_name("condition") if statement is not None else None
    if expression is None and statement is not None:
        expression = statement.child_by_field_name("left")
    if expression is None:
        return True
    stack = [expression]
    while stack:
        node = stack.pop()
        stack.extend(node.named_children)
        if node.type in ("subscript_expression", "pointer_expression", "update_expression", "assignment_expression"):
            return True
        if node.type == "call_expression":
            return True
        if node.type == "identifier":
            variable = function.locals.named(function.text(node), node.start_byte)
            if variable is not None and _assigned_in(function, variable, loop):
                return True
            if variable is None and kernels.counted_by_macros(function, function.text(node)):
                return True
    return False


def _assigned_in(function: Function, variable: Variable, loop: Node) -> bool:
    return any(
        each.variable == variable and loop.start_byte <= each.node.start_byte < loop.end_byte
        for each in function.locals.assignments
    )


def _side(statement: Node, way: object, condition: bytes, start: int, end: int, often: bool, left: bool) -> _Side:
    return _Side((statement.start_byte, statement.end_byte), way, condition, start, end, often, left)


def _loops_around(function: Function, node: Node, macros: AbstractSet[bytes]) -> Iterator[Node]:
    outer = node.parent
    while outer is not None and outer != function.body:
        if outer.type == "function_definition":
            # `LOOP(i, n) { … }` looks like a function.
            declarator = outer.child_by_field_name("declarator")
            name = declarator.child_by_field_name("declarator") if declarator is not None else None
            if name is not None and function.text(name) in macros:
                yield outer
        if outer.type in _LOOPS:
            condition = outer.child_by_field_name("condition")
            # `do … while (0)` is no loop.
            if condition is None or function.text(condition).strip(b"() ") not in (b"0", b"false"):
                yield outer
        outer = outer.parent


def _child_with(outer: Node, inner: Node) -> Node:
    """The part of `outer` that `inner` is in."""
    return next(
        (child for child in outer.children if child.start_byte <= inner.start_byte < child.end_byte),
        outer,
    )


def _arguments_of(name: Node) -> tuple[Node, ...]:
    node: Node | None = name
    while node is not None and node.type not in ("call_expression", "expression_statement", "compound_statement"):
        if node.type == "argument_list":
            return ()
        node = node.parent
    return arguments(node) if node is not None and node.type == "call_expression" else ()


def _last_arguments(value: Node) -> Iterator[Node]:
    """The last arguments of the calls in an expression: of a ballot, what is asked."""
    stack = [value]
    while stack:
        node = stack.pop()
        stack.extend(node.named_children)
        if node.type == "call_expression":
            given = arguments(node)
            if given:
                yield given[-1]


def squeezed(text: bytes) -> bytes:
    """Return code without white space, and without parentheses around all of it."""
    squeezed = b"".join(text.split())
    while squeezed.startswith(b"(") and squeezed.endswith(b")"):
        depths = list(accumulate((byte == 0x28) - (byte == 0x29) for byte in squeezed))
        if 0 in depths[:-1]:
            break
        squeezed = squeezed[1:-1]
    return squeezed


def _matched(files: Iterable[Cpp], names: re.Pattern[bytes]) -> frozenset[bytes]:
    return frozenset().union(*(file.matched(names) for file in files))


def _lambdas(function: Function) -> dict[bytes, tuple[int, int]]:
    """The variables of a function that are lambdas, and where those stand."""
    found = {}
    for match in _LAMBDA.finditer(function.source.code, *extent(function)):
        node = function.body.descendant_for_byte_range(match.end() - 1, match.end())
        while node is not None and node.type not in ("lambda_expression", "compound_statement"):
            node = node.parent
        if node is not None and node.type == "lambda_expression":
            found[match[1]] = node.start_byte, node.end_byte
    return found


def _from_outside(lanes: _Named, start: int, end: int) -> _Named:
    """How lanes are named that a lambda names, for whoever calls it."""
    return _Named(inside=True) if any(start <= each < end for each in lanes.found) else lanes
