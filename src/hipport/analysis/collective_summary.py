# SPDX-License-Identifier: Apache-2.0
"""For each function and macro, a summary of the collectives that a call may reach, with the lanes that each names.

Calls are followed by name through functions, macros, lambdas, operators, pointers and virtual functions
(`transitive_callers`, `indirect_calls`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain, islice, permutations, product
from pathlib import PurePath
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from hipport.analysis import build_defaults
from hipport.analysis.divergence import Side, sides_of
from hipport.analysis.exclusive_conditions import MORE, WORD, conditions_of, squeezed, with_arguments
from hipport.analysis.functions import Function, arguments, called_name, nodes
from hipport.analysis.implicit_calls import makes_object, operator_uses
from hipport.analysis.indirect_calls import CALLED, Indirect, indirect_calls, pointed, targets, virtual, virtual_calls
from hipport.analysis.kernels import Kernels
from hipport.analysis.macros import calls
from hipport.analysis.transitive_callers import Text, extent, transitive_callers
from hipport.analysis.uniform_values import WARP
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp

if TYPE_CHECKING:
    from tree_sitter import Node

_LOOP = re.compile(rb"\b(?:for|while|do)\b")
CHOICE = re.compile(rb"\belse\b|\?")
_SKIPS = re.compile(rb"\b(?:if|for|while|switch)\s*\(|&&|\|\||\?")
_LEAVES = re.compile(rb"\b(?:return|continue|break|goto)\b")
_ALL_LANES = 0xFFFFFFFF
_CALL = re.compile(rb"\s*(?:<[^;{}]*>\s*)?\(")
_LAMBDA = re.compile(rb"\b([A-Za-z_]\w*)\s*=\s*\[")
# In a macro: the object of a method call, or the end of a namespace.
_MEMBER = re.compile(rb"(?:\b(\w+)\s*\)?\s*(?:\.|->)|::)\s*\Z")
_LAMBDAS = frozenset(("lambda_expression",))
# The limit of conditions for a chain of calls; those of the functions called last take precedence.
_MOST_CONDITIONS = 16
# A collective is followed through this many functions up to their callers; each function would pass on everything that
# the functions below it reach. In programs that people write, calls are ten or twenty deep.
_FARTHEST = 32


class CallPlace(NamedTuple):
    """A call of a collective: its file, and the place of its name there."""

    path: PurePath
    offset: int


class Cause(NamedTuple):
    """Where lanes diverge: at a statement or expression of a function, from `start` to `end`."""

    function: Function
    start: int
    end: int


class Meeting(NamedTuple):
    """Why lanes may make a call separately, and for "branch" or "apart" the call of the other lanes.

    "far" means that this is not known: the call is too far from where lanes may diverge, or there are too many calls.
    So does "unclear": the parser does not understand the conditions of the function around it.
    `unless` is a condition on blocks under which lanes converge; empty if there is none. `cause` is where they diverge,
    if that is one place in a function.
    """

    kind: str
    other: CallPlace
    unless: str = ""
    cause: Cause | None = None


T = TypeVar("T")
Key = TypeVar("Key")
Found = TypeVar("Found")


class _Rounds(Generic[Key, Found]):
    """Results that may depend on themselves: inside of its own computation, a result is that of the round before."""

    def __init__(self, compute: Callable[[Key], Found], nothing: Found) -> None:
        self._compute, self._nothing = compute, nothing
        self.known: dict[Key, Found] = {}
        self._before: dict[Key, Found] = {}
        self.open: set[Key] = set()
        #: Whether a result depends on itself.
        self.recursive = False

    def __call__(self, key: Key) -> Found:
        if key in self.open:
            self.recursive = True
            return self._before.get(key, self._nothing)
        if key not in self.known:
            self.open.add(key)
            self.known[key] = self._compute(key)
            self.open.remove(key)
        return self.known[key]

    def begin(self) -> None:
        """Begin another round."""
        self._before, self.known = self.known, {}


@dataclass(frozen=True)
class Collectives:
    """The collectives of an analysis. Each pattern matches whole names.

    `names`: the collectives; `position` returns which of their arguments is the mask, by default the first; `lanes`:
    functions that return the active lanes or an equivalent; `barriers`: functions at which all lanes wait for each
    other. `group`: for a name in a function, the expression that selects the lanes, and their maximum number, which are
    neighbours from a multiple of that on; 0 if the name is not a collective.
    """

    names: re.Pattern[bytes]
    lanes: re.Pattern[bytes]
    barriers: re.Pattern[bytes]
    group: Callable[[Function, Node], tuple[Node | None, int]] | None = None
    position: Callable[[bytes], int] | None = None

    def naming(self, name: bytes, given: Sequence[T]) -> T | None:
        """Return the argument that selects the lanes; None if it is missing."""
        position = self.position(name) if self.position is not None else 0
        return given[position] if position < len(given) else None


class LaneNaming(NamedTuple):
    """How the lanes of a call are named: by a query of the active lanes at `found`, in the same function (`inside`).

    If neither is set, no such query is known. `parameter`: the index of the parameter, of the function or macro around
    the call, that names them. `by`: the conditions that the query voted on.
    """

    inside: bool = False
    parameter: int = -1
    found: tuple[int, ...] = ()
    by: frozenset[bytes] = frozenset()


class ReachedCollective(NamedTuple):
    """A collective that a function or macro reaches. `skipped`: some calls of the function may not reach it.

    `under`: conditions under which it is reached, in terms of the caller. `mask`: the lanes that it names, as a number;
    all lanes if unknown. `through`: the number of functions between.
    """

    place: CallPlace
    name: bytes
    lanes: LaneNaming
    skipped: bool
    size: int
    under: frozenset[bytes] = frozenset()
    mask: int = _ALL_LANES
    through: int = 0


@dataclass
class _Common:
    """What the functions, macros and classes of a name reach, by place: for any call, and for a particular one.

    `all`: results that do not depend on the call, shared between all calls. `of_call`: results that depend on the
    arguments of the call, each with its function, macro or class.
    """

    all: dict[CallPlace, ReachedCollective]
    of_call: dict[CallPlace, tuple[Function | Text, ReachedCollective]]
    whole: tuple[ReachedCollective, ...]


class Mention(NamedTuple):
    """A place in a function from which collectives are reached, and the sides of branches that lead to it."""

    node: Node
    sides: tuple[Side, ...]
    reached: tuple[ReachedCollective, ...]


class CollectiveSummaries:
    """The summaries of the functions and macros in the files that `source` is connected to.

    If the path to two calls depends on a value, such as a pointer, `found` has their meeting.
    """

    def __init__(self, project: Project, source: Cpp, collectives: Collectives, shown: bool) -> None:
        self.shown = shown
        self._project = project
        self.kernels = Kernels.of(project)
        self.files = [other for other in project.component(source) if isinstance(other, Cpp)]
        self.collectives = collectives
        self.found: dict[CallPlace, Meeting] = {}
        #: The transitive callers of collectives, and those of them that may be called elsewhere, by name.
        found = transitive_callers(self.files, self.kernels.functions, _matched(self.files, collectives.names))
        self.units = found.units
        self.transitive_callers = found.named
        self.classes = found.classes
        self.operators = found.operators
        #: The places in a function from which collectives are reached.
        self.mentions: _Rounds[Function, tuple[Mention, ...]] = _Rounds(self._mentions, ())
        #: The calls that a macro or class reaches.
        self.of_text: _Rounds[Text, tuple[ReachedCollective, ...]] = _Rounds(self._of_text, ())
        #: The summaries by name. They are computed for all calls of a name together, because there may be as many calls
        #: as there are functions of the name.
        self._called: _Rounds[bytes, _Common] = _Rounds(self._find_called, _Common({}, {}, ()))
        #: What a name in a macro or class reaches. Its arguments there are ignored.
        self._named_in_macro: _Rounds[bytes, tuple[ReachedCollective, ...]] = _Rounds(self._find_named_in_macro, ())
        self._summaries: dict[Function, tuple[ReachedCollective, ...]] = {}
        self._by_pointers: dict[Function, dict[CallPlace, ReachedCollective]] = {}
        #: Derived results that many calls share, by the object and the operation.
        self._derived: dict[object, tuple[tuple[ReachedCollective, ...], tuple[ReachedCollective, ...]]] = {}
        self._places: dict[PurePath, list[tuple[int, bytes]]] = {}
        self._named_by: dict[tuple[Function, int, int, int], LaneNaming] = {}
        self._indirect: dict[Function, list[tuple[Indirect, list[Function]]]] = {}
        self._operator_uses: dict[Function, list[tuple[Node, list[Function]]]] = {}
        self._taken: dict[tuple[Function, int, int], tuple[Side, ...]] = {}
        functions = [unit for unit in self.units if isinstance(unit, Function)]
        #: The functions that may be called by pointers and objects, and the names of virtual functions.
        self.pointed = pointed(self.files, functions)
        #: Collectives in lambdas that are passed to functions, by the number of the lambda's parameters.
        self.handed: dict[int, list[ReachedCollective]] = {}
        for function in functions:
            for count, start, name, skipped in self._find_handed(function):
                node = function.body.descendant_for_byte_range(start, start + len(name))
                given = _arguments_of(node) if node is not None else ()
                lanes = self._by_pointer(
                    ReachedCollective(CallPlace(function.source.path, start), name, LaneNaming(), skipped, WARP)
                )
                mask = collectives.naming(name, given)
                named = self._named(function, mask) if mask is not None else LaneNaming()
                if not named.inside and not named.found and collectives.group is None:
                    self.handed.setdefault(count, []).append(lanes)
        self.virtual = frozenset(unit.name for unit in functions if virtual(unit))
        self._follow_recursion()
        if self.pointed or self.handed:
            # A caller by pointer need not contain the name of any of them.
            known = frozenset(functions)
            self.units += [
                function
                for file in self.files
                for function in self.kernels.functions(file)
                if function not in known
                and (
                    not function.called.isdisjoint(self.kernels.macros(file))
                    or next(indirect_calls(function), None) is not None
                )
            ]

    def _follow_recursion(self) -> None:
        """Compute the summaries of recursive functions, until a round finds no more than the one before."""
        functions = [unit for unit in self.units if isinstance(unit, Function)]
        found = -1
        while True:
            count = sum(len(mention.reached) for function in functions for mention in self.mentions(function))
            count += sum(map(len, self.of_text.known.values()))
            rounds = self.mentions, self.of_text, self._called, self._named_in_macro
            if not any(each.recursive for each in rounds) or count == found:
                return
            found = count
            for each in rounds:
                each.begin()
            self._summaries, self._derived, self._by_pointers = {}, {}, {}

    def _words_of(self, unit: Function | Text, more: AbstractSet[bytes] = frozenset()) -> Iterator[tuple[int, bytes]]:
        """Yield the places in a function or macro of collectives' names, their transitive callers', and `more`."""
        source = unit.source
        if source.path not in self._places:
            found = [*source.names(source.matched(self.collectives.names) | self.transitive_callers.keys())]
            self._places[source.path] = [(span.start, name) for span, name in found]
        places = self._places[source.path]
        start, end = extent(unit)
        if more - self.transitive_callers.keys():
            places = [(span.start, name) for span, name in source.names(more | {name for _, name in places})]
        return islice(places, bisect_left(places, (start,)), bisect_left(places, (end,)))

    def _mentions(self, function: Function) -> tuple[Mention, ...]:
        found = (
            *self._find_mentions(function),
            *self._find_indirect(function),
            *self._find_in_macros(function),
            *self._find_operators(function),
        )
        if function.tangled:
            self.too_far(each for mention in found for each in mention.reached)
        elif found and (
            function.enters_inside or (self.kernels.unclear(function) and (len(found) > 1 or function.mentions(_LOOP)))
        ):
            self.too_far((each for mention in found for each in mention.reached), "unclear")
        return found

    def too_far(self, calls: Iterable[ReachedCollective], kind: str = "far") -> None:
        """Record calls for which the other calls that lanes may make meanwhile are not followed."""
        for each in calls:
            if not each.lanes.inside:
                self.found.setdefault(each.place, Meeting(kind, each.place))

    def summary(self, unit: Function | Text) -> Iterable[ReachedCollective]:
        """Return the calls that a function, macro or class reaches, from the view of its callers."""
        if isinstance(unit, Text):
            return self.of_text(unit)
        mentions = self.mentions(unit)
        if unit in self.mentions.open:
            return self._summarize(unit, mentions)
        if unit not in self._summaries:
            self._summaries[unit] = tuple(self._summarize(unit, mentions))
        return self._summaries[unit]

    def _summarize(self, unit: Function, mentions: tuple[Mention, ...]) -> Iterator[ReachedCollective]:
        given = frozenset(unit.parameters)
        seen: dict[int, tuple[ReachedCollective, ...]] = {}
        for mention in mentions:
            skipped = any(not side.ends(unit) for side in mention.sides)
            # Conditions on the function's own variables mean nothing to a caller.
            conditions = frozenset(
                side.condition
                for side in mention.sides
                if not side.often and given.issuperset(WORD.findall(side.condition))
            )
            found = self._derive(mention.reached, skipped, conditions, given)
            if id(found) not in seen:
                seen[id(found)] = found
                yield from found

    def _derive(
        self,
        reached: tuple[ReachedCollective, ...],
        skipped: bool,
        conditions: frozenset[bytes],
        given: frozenset[bytes],
    ) -> tuple[ReachedCollective, ...]:
        """Return the reached calls as seen by a caller of a function with these parameters, under such conditions."""
        key = (id(reached), skipped, conditions)
        if key in self._derived:
            return self._derived[key][0]
        self.too_far(each for each in reached if each.through >= _FARTHEST)
        found = tuple(
            each._replace(
                skipped=each.skipped or skipped,
                under=_most(conditions, (text for text in each.under if given.issuperset(WORD.findall(text)))),
                through=each.through + 1,
            )
            for each in reached
            if each.through < _FARTHEST
        )
        if not any(each.under for each in reached):
            # The key object is stored, too: if it were freed, another object could get its id.
            self._derived[key] = (found, reached)
        return found

    def _find_called(self, name: bytes) -> _Common:
        """The results for the functions, macros and classes of a name, for all callers."""
        common = _Common({}, {}, ())
        # Many macros, classes and functions share results, which stay alive because these hold them.
        seen: set[int] = set()
        for unit in self.transitive_callers.get(name, ()):
            reached = self.summary(unit)
            if id(reached) in seen:
                continue
            of_any = isinstance(reached, tuple)
            for one in reached:
                # For one place the last result counts, at the position of the first, with the shortest chain of calls.
                before = common.all.get(one.place, one)
                each = one if before.through >= one.through else one._replace(through=before.through)
                common.of_call.pop(each.place, None)
                if each.lanes.parameter >= 0 or each.under:
                    common.of_call[each.place] = (unit, each)
                    of_any = False
                lanes = LaneNaming(inside=True) if each.lanes.found and each.lanes.parameter < 0 else each.lanes
                common.all[each.place] = each if lanes is each.lanes else each._replace(lanes=lanes)
            if of_any:
                seen.add(id(reached))
        common.whole = tuple(common.all.values())
        return common

    def _find_mentions(self, unit: Function) -> Iterator[Mention]:
        lambdas = _lambdas(unit)
        inside: dict[bytes, dict[CallPlace, ReachedCollective]] = {}
        for start, name in self._words_of(unit, lambdas.keys()):
            end = start + len(name)
            collective = self.collectives.names.fullmatch(name)
            if name in inside and _CALL.match(unit.source.code, end):
                called = unit.body.descendant_for_byte_range(start, end)
                if called is not None and start >= lambdas[name][1]:
                    most = max(each.size for each in inside[name].values())
                    yield Mention(
                        called,
                        self._sides(unit, called, most),
                        tuple(inside[name].values()),
                    )
                continue
            if not collective and name not in self.transitive_callers:
                continue
            node = unit.node.descendant_for_byte_range(start, end)
            if node is None or unit.source.directive(start):
                continue
            if name in self.classes and not makes_object(unit.source, end):
                continue
            if node.type == "field_identifier" and not _CALL.match(unit.source.code, end):
                continue  # a member that has the name of a function
            if not collective and node.type == "identifier" and unit.locals.named(name, start) is not None:
                continue  # a variable that has the name of a function
            given = _arguments_of(node)
            reached: tuple[ReachedCollective, ...]
            group, size = (self.collectives.naming(name, given), WARP) if collective else (None, 0)
            if collective and self.collectives.group is not None:
                group, size = self.collectives.group(unit, node)
            if size:
                place = CallPlace(unit.source.path, start)
                lanes, mask = self._named(unit, group), self._mask(unit, group)
                reached = (ReachedCollective(place, name, lanes, False, size, mask=mask),)
            else:
                reached = self._by_call(unit, name, node, given)
            if reached:
                sides = self._sides(unit, node, max(each.size for each in reached))
                for variable, (opening, closing) in lambdas.items():
                    if opening <= start < closing:
                        skipped = any(opening <= side.statement[0] < closing for side in sides)
                        inside.setdefault(variable, {}).update(
                            (
                                each.place,
                                each._replace(
                                    lanes=_from_outside(each.lanes, opening, closing), skipped=each.skipped or skipped
                                ),
                            )
                            for each in reached
                        )
                yield Mention(node, sides, reached)

    def _by_call(
        self, unit: Function, name: bytes, node: Node, given: tuple[Node, ...]
    ) -> tuple[ReachedCollective, ...]:
        """Return what a function reaches at a call, or mention, of a transitive caller of a collective."""
        common = self._called(name)
        if not common.of_call:
            return common.whole
        texts = tuple(squeezed(unit.text(argument)) for argument in given)
        reached = dict(common.all)
        for place, (each, inner) in common.of_call.items():
            lanes, mask = inner.lanes, inner.mask
            if lanes.parameter >= 0:
                at = lanes.parameter
                lanes = self._named(unit, given[at] if at < len(given) else None)
                mask = self._mask(unit, given[at] if at < len(given) else None)
            elif lanes.found:
                lanes = LaneNaming(inside=True)
            under = frozenset(with_arguments(text, each.parameters, texts) for text in inner.under) - {b""}
            skipped = inner.skipped
            if isinstance(each, Text) and under:
                uniformities = {text: self._uniformity(unit, text, node) for text in under}
                under = frozenset(text for text in under if uniformities[text] < inner.size)
                skipped = skipped or bool(under)
            reached[place] = inner._replace(lanes=lanes, under=under, skipped=skipped, mask=mask)
        return tuple(reached.values())

    def _uniformity(self, unit: Function, text: bytes, node: Node) -> int:
        """The uniformity of a condition in the expansion of a macro at `node`; unseen macros may have any condition."""
        return self.kernels.uniformity_of_text(unit, text.lstrip(b"!"), node, shown=self.shown)

    def _find_in_macros(self, unit: Function) -> Iterator[Mention]:
        """Yield the uses of macros that call their arguments, and record those that do so in branches."""
        lambdas = {name: self._in_lambda(unit, start, end) for name, (start, end) in _lambdas(unit).items()}
        names = unit.called & self.kernels.macros(unit.source).keys() if lambdas or self.pointed else frozenset()
        for _, name, node, given in unit.calls(names) if names else ():
            if unit.source.directive(node.start_byte):
                continue
            for text in self.kernels.expanded(unit.source, name, [unit.text(argument) for argument in given]):
                reached: dict[CallPlace, ReachedCollective] = {}
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
                            each
                            for of in targets(called, unit, self.pointed, self.kernels)
                            for each in self._from_pointer(of).values()
                        ]
                    elif not inner:
                        inner = [each for of in self.transitive_callers.get(word, ()) for each in self.summary(of)]
                    reached |= {each.place: each for each in inner}
                if not reached:
                    continue
                size = max(each.size for each in reached.values())
                skips = _SKIPS.search(text) is not None
                found = tuple(each._replace(skipped=each.skipped or skips) for each in reached.values())
                yield Mention(node, self._sides(unit, node, size), found)
                if count > 1 and CHOICE.search(text):
                    for each in found:
                        if not each.lanes.inside and not each.lanes.found:
                            cause = Cause(unit, node.start_byte, node.end_byte)
                            self.found.setdefault(each.place, Meeting("branch", each.place, cause=cause))

    def _find_operators(self, unit: Function) -> Iterator[Mention]:
        """Yield the uses of operators that reach a collective."""
        if unit not in self._operator_uses:
            self._operator_uses[unit] = [*operator_uses(unit, self.operators)] if self.operators else []
        for node, of in self._operator_uses[unit]:
            reached: dict[CallPlace, ReachedCollective] = {}
            for operator in of:
                reached |= self._from_pointer(operator)
            if reached:
                size = max(each.size for each in reached.values())
                yield Mention(node, self._sides(unit, node, size), tuple(reached.values()))

    def _in_lambda(self, unit: Function, start: int, end: int) -> list[ReachedCollective]:
        """The collectives that stand in a lambda of the function."""
        found = []
        for at, name in self._words_of(unit):
            node = unit.body.descendant_for_byte_range(at, at + len(name)) if start <= at < end else None
            if node is None:
                continue
            if self.collectives.names.fullmatch(name) and self.collectives.group is None:
                given = _arguments_of(node)
                lanes = _from_outside(self._named(unit, self.collectives.naming(name, given)), start, end)
                skipped = any(start <= side.statement[0] < end for side in self._sides(unit, node, WARP))
                found.append(ReachedCollective(CallPlace(unit.source.path, at), name, lanes, skipped, WARP))
            else:
                found += [
                    self._by_pointer(each) for of in self.transitive_callers.get(name, ()) for each in self.summary(of)
                ]
        return found

    def _find_indirect(self, unit: Function) -> Iterator[Mention]:
        """Yield calls by pointers and objects, and record those at which lanes differ on the callee."""
        for each, functions in self._targets(unit):
            sets = [self._from_pointer(of).values() for of in functions]
            handed = self.handed.get(each.given, ()) if each.callee.type == "identifier" else ()
            reached = {inner.place: inner for inner in chain(*sets, handed)}
            if not reached:
                continue
            size = max(inner.size for inner in reached.values())
            if each.callee.type != "field_expression":
                yield Mention(each.call, self._sides(unit, each.call, size), tuple(reached.values()))
            if self.kernels.uniformity(unit, each.callee, shown=self.shown) >= size:
                continue
            # The class of an object does not depend on its value.
            by_pointer = [given for given, of in zip(sets, functions, strict=True) if of.name != CALLED]
            for one, two in permutations(by_pointer, 2):
                cause = Cause(unit, each.callee.start_byte, each.callee.end_byte)
                for a, b in product(one, two):
                    if not a.lanes.inside and not b.lanes.inside:
                        self.found.setdefault(a.place, Meeting("branch", b.place, cause=cause))

    def _targets(self, unit: Function) -> list[tuple[Indirect, list[Function]]]:
        """The calls by pointers and objects in a function, with their possible targets; the same in every round."""
        if unit not in self._indirect:
            calls = indirect_calls(unit) if self.pointed or self.handed else ()
            called = [(each, targets(each, unit, self.pointed, self.kernels)) for each in calls]
            for each in virtual_calls(unit, self.virtual):
                name = called_name(each.call, unit.source.code)
                called.append((each, [of for of in self.transitive_callers.get(name, []) if isinstance(of, Function)]))
            self._indirect[unit] = [(each, [of for of in functions if of is not unit]) for each, functions in called]
        return self._indirect[unit]

    def _sides(self, unit: Function, node: Node, size: int) -> tuple[Side, ...]:
        """The sides of branches that lead to `node`; the same in every round."""
        key = (unit, node.id, size)
        if key not in self._taken:
            self._taken[key] = () if unit.tangled else tuple(sides_of(self.kernels, unit, node, size, self.shown))
        return self._taken[key]

    def _find_handed(self, unit: Function) -> Iterator[tuple[int, int, bytes, bool]]:
        """Yield the collectives in lambdas that `unit` passes to a function.

        The parameters of the lambda, the place, the name, and whether some lanes that call the lambda may not reach it.
        """
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
            for start, collective in inside:
                at = unit.body.descendant_for_byte_range(start, start + len(collective))
                sides = self._sides(unit, at, WARP) if at is not None else ()
                skipped = any(node.start_byte <= side.statement[0] < node.end_byte for side in sides)
                yield count, start, collective, skipped

    def _from_pointer(self, function: Function) -> dict[CallPlace, ReachedCollective]:
        """What functions reach that are called by pointer, as an object or as an operator, by place."""
        if function not in self._by_pointers:
            found = {each.place: self._by_pointer(each) for each in self.summary(function)}
            if function in self.mentions.open:
                return found
            self._by_pointers[function] = found
        return self._by_pointers[function]

    @staticmethod
    def _by_pointer(reached: ReachedCollective) -> ReachedCollective:
        """The result for a call by pointer, whose arguments are not followed."""
        lanes = LaneNaming(inside=bool(reached.lanes.inside or reached.lanes.found))
        return reached._replace(lanes=lanes, under=frozenset())

    def _of_text(self, text: Text) -> tuple[ReachedCollective, ...]:
        parts = [*self._of_macro(text)]
        # Several paths may lead to the same call.
        return parts[0] if len(parts) == 1 else tuple(dict.fromkeys(chain(*parts)))

    def _of_macro(self, macro: Text) -> Iterator[tuple[ReachedCollective, ...]]:
        code = macro.source.code
        for start, name in self._words_of(macro):
            if self.collectives.names.fullmatch(name):
                end = start + len(name)
                given = macro.source.given(end)
                naming = self.collectives.naming(name, given or ())
                mask = macro.source[naming] if naming is not None else b""
                if self.collectives.group is not None:
                    before = _MEMBER.search(code, macro.start, start)
                    if before is None or not given:
                        continue
                    mask = before[1] or mask
                words = WORD.findall(mask)
                parameter = macro.parameters.index(words[0]) if words and words[0] in macro.parameters else -1
                inside = any(self.collectives.lanes.fullmatch(word) for word in words)
                under = frozenset(conditions_of(macro, start))
                # Lanes may leave a loop that is around the macro's use.
                skipped = _LEAVES.search(code, macro.start, start) is not None
                yield (
                    ReachedCollective(
                        CallPlace(macro.source.path, start), name, LaneNaming(inside, parameter), skipped, WARP, under
                    ),
                )
            else:
                yield self._named_in_macro(name)

    def _find_named_in_macro(self, name: bytes) -> tuple[ReachedCollective, ...]:
        reached = chain.from_iterable(self.summary(unit) for unit in self.transitive_callers.get(name, ()))
        return tuple(dict.fromkeys(each._replace(under=frozenset()) for each in reached))

    def _named(self, function: Function, mask: Node | None, depth: int = 3) -> LaneNaming:
        """Return how the expression `mask` names lanes."""
        if mask is None:
            return LaneNaming()
        key = (function, mask.start_byte, mask.end_byte, depth)
        if key not in self._named_by:
            self._named_by[key] = self._find_named(function, mask, depth)
        return self._named_by[key]

    def _mask(self, function: Function, mask: Node | None) -> int:
        """Return the lanes that the expression `mask` names, as a number; all lanes if unknown."""
        if mask is None or self.collectives.group is not None:
            return _ALL_LANES
        for word in WORD.findall(function.text(mask)):
            if word in function.template_parameters:
                return _ALL_LANES
            variable = function.locals.named(word, mask.start_byte)
            if variable is None:
                continue
            definitions = function.locals.definitions.get(variable, ())
            once = [each for each in definitions if each.declares and b"const" in function.text(each.node)]
            # A variable with a constant's name is not the constant, and a variable may be assigned again.
            if mask.type != "identifier" or len(once) != 1 or len(once[0].values) != 1:
                return _ALL_LANES
            return self._mask(function, once[0].values[0])
        number = build_defaults.value(function.source, self._project, function.text(mask))
        return _ALL_LANES if number is None else number & _ALL_LANES

    def _find_named(self, function: Function, mask: Node, depth: int) -> LaneNaming:
        lanes = function.source.matched(self.collectives.lanes)
        words = WORD.findall(function.text(mask))
        if not lanes.isdisjoint(words):
            return LaneNaming(inside=True)
        found: set[int] = set()
        asked: set[bytes] = set()
        for word in words:
            variable = function.locals.named(word, mask.start_byte)
            if variable is None:
                continue
            definitions = function.locals.definitions.get(variable, ())
            if not definitions and word in function.parameters:
                return LaneNaming(parameter=function.parameters.index(word))
            for each in definitions:
                for value in each.values:
                    if not lanes.isdisjoint(WORD.findall(function.text(value))):
                        found.add(each.node.start_byte)
                        asked |= {squeezed(function.text(argument)) for argument in _last_arguments(value)}
                    elif depth:
                        inner = self._named(function, value, depth - 1)
                        if inner.found or inner.parameter >= 0:
                            return inner
        return LaneNaming(found=tuple(sorted(found)), by=frozenset(asked))


def _arguments_of(name: Node) -> tuple[Node, ...]:
    node: Node | None = name
    while node is not None and node.type not in ("call_expression", "expression_statement", "compound_statement"):
        if node.type == "argument_list":
            return ()
        node = node.parent
    return arguments(node) if node is not None and node.type == "call_expression" else ()


def _last_arguments(value: Node) -> Iterator[Node]:
    """The last arguments of the calls in an expression: for a ballot, its predicate."""
    stack = [value]
    while stack:
        node = stack.pop()
        stack.extend(node.named_children)
        if node.type == "call_expression":
            given = arguments(node)
            if given:
                yield given[-1]


def _matched(files: Iterable[Cpp], names: re.Pattern[bytes]) -> frozenset[bytes]:
    return frozenset().union(*(file.matched(names) for file in files))


def _lambdas(function: Function) -> dict[bytes, tuple[int, int]]:
    """The variables of a function that are lambdas, and the spans of these."""
    found = {}
    for match in _LAMBDA.finditer(function.source.code, *extent(function)):
        node = function.body.descendant_for_byte_range(match.end() - 1, match.end())
        while node is not None and node.type not in ("lambda_expression", "compound_statement"):
            node = node.parent
        if node is not None and node.type == "lambda_expression":
            found[match[1]] = node.start_byte, node.end_byte
    return found


def _from_outside(lanes: LaneNaming, start: int, end: int) -> LaneNaming:
    """Return how the lanes of a call in a lambda are named, from the view of the lambda's caller."""
    return LaneNaming(inside=True) if any(start <= each < end for each in lanes.found) else lanes


def _most(conditions: frozenset[bytes], inner: Iterable[bytes]) -> frozenset[bytes]:
    """Return conditions and, up to the limit, those of the callee, in an order that is the same in each run."""
    room = _MOST_CONDITIONS - len(conditions)
    found = {*inner} - conditions
    if len(found) <= room:
        return conditions | found
    return conditions | {MORE, *sorted(found - {MORE})[: max(0, room)]}
