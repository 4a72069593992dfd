# SPDX-License-Identifier: Apache-2.0
"""The tests of a Python file that depend on a compute capability."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import libcst as cst

from hipport.core.tables import Words, one_of
from hipport.syntax.build_names import NAMES
from hipport_passes.python.runtime.capability_kinds import CapabilityKinds, Elsewhere
from hipport_passes.python.runtime.capability_results import EVERY, Results, Working, same
from hipport_passes.python.runtime.capability_values import (
    AMD,
    GENERATIONS,
    Capability,
    constant,
    matches,
    value_of,
)
from hipport_passes.python.runtime.comparisons import SIGNS, Compared, Sign, compared
from hipport_passes.python.runtime.python_program import PythonProgram

#: The NVIDIA GPU that an AMD GPU resembles most in what programs test.
_LIKE: Capability = (8, 0)
_NVIDIA: tuple[tuple[Capability, str], ...] = (
    ((8, 6), "Ampere"),
    ((8, 9), "Ada"),
    ((9, 0), "Hopper"),
    ((10, 0), "Blackwell"),
    ((10, 3), "Blackwell"),
    ((11, 0), "Blackwell"),
    ((12, 0), "Blackwell"),
)

#: Names with a meaning where a capability is passed on or tested.
WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
#: Usual names of a capability, or of a number or text made from one.
_CAPABILITY = WORDS.compile(r"(?i)_*(?&returns)?(?:\w+_)?(?&capabilities)(?:_(?&forms))?")
_OF_HOPPER = re.compile(r"\((?:9|1[0-2]), \d\)|(?:9|1[0-2])\d0?|(?:9|1[0-2])(?:\.\d)?")
_NAMED_SM = re.compile(rf"{one_of(WORDS['archs'])}_?(?:9|1[0-2])\d[af]?")
# Sources of a number that is not a GPU's.
_OF_PROGRAM = re.compile(rf"\b{one_of(WORDS['of_program'])}\b")
#: Functions that do not decide by their arguments.
HARMLESS = re.compile(rf"(?i)_*{one_of(WORDS['harmless'])}")
_HOPPER: Capability = (9, 0)
_NAMING = (cst.Equal, cst.Is, cst.In)
_NOT_NAMING = (cst.NotEqual, cst.IsNot, cst.NotIn)


def _is_of_hopper(kind: str, value: object) -> bool:
    """Say whether a constant is a capability of that kind on Hopper or later, or contains one."""
    if isinstance(value, tuple) and not (kind in ("pair", "release") and _is_pair(value)):
        return any(_is_of_hopper(kind, each) for each in value)
    first, last = value_of(kind, _HOPPER), value_of(kind, GENERATIONS[-1])
    if isinstance(first, str):
        return value in {value_of(kind, each) for each in GENERATIONS if each >= _HOPPER}
    try:
        return bool(first <= value <= last)  # type: ignore[operator]
    except TypeError:
        return False


def _is_pair(values: tuple[object, ...]) -> bool:
    return len(values) == 2 and all(isinstance(each, int) and each < 20 for each in values)


class Reader(CapabilityKinds):
    """The tests of a file that depend on a compute capability."""

    def __init__(self, program: PythonProgram, known: Elsewhere) -> None:
        super().__init__(program, known)
        self._compared: dict[cst.CSTNode, Compared | None] = {}
        self._working = Working(program, self.origins, self._known_results)

    def passing(self, node: cst.Comparison | cst.Call) -> bool | None:
        """Return the value that lets the program continue, for a comparison that stops it on all of AMD's GPUs.

        None for other comparisons, and for those that stop it on all of NVIDIA's as well.
        """
        holds = self._holds(node)
        wanted = self.stopping(node)
        if holds is None or wanted is None:
            return None
        try:
            everywhere = {holds(each) for each in ((7, 5), (8, 0), *(each for each, _ in _NVIDIA))}
            # An AMD GPU with the number of a named one passes by accident.
            named = self._signs(node)[0] in (*_NAMING, *_NOT_NAMING)
            stopped = [holds(each) is wanted for each in AMD]
            refused = (any(stopped) if named else all(stopped)) and everywhere == {True, False}
        except TypeError:
            return None
        return not wanted if refused else None

    def stopping(self, node: cst.Comparison | cst.Call) -> bool | None:
        """Return the value with which the comparison stops the program; None if it does not."""
        test: cst.CSTNode = node
        above = self.program.parent[test]
        stops = True
        while isinstance(above, (cst.UnaryOperation, cst.BooleanOperation)):
            if isinstance(above, cst.UnaryOperation):
                stops = not stops
            test, above = above, self.program.parent[above]
        if isinstance(above, cst.Assert) and above.test is test:
            return not stops
        if isinstance(above, cst.If) and above.test is test and self.program.stops(above.body):
            return stops
        return None

    def _holds(self, node: cst.Comparison | cst.Call) -> Callable[[Capability], bool] | None:
        """Return the comparison as a function of a capability; None if it is not about one."""
        of = self.compared(node)
        if of is None:
            return self._begins(node) if isinstance(node, cst.Call) else None
        operands, signs = of
        kinds = [self.kind_of_value(each) for each in operands]
        constants = [self.constant_at(each) for each in operands]
        known = [i for i, kind in enumerate(kinds) if kind is not None]
        if len(known) != 1 or any(constants[i] is None for i in range(len(operands)) if i not in known):
            return self._holds_for_results(operands, signs)
        (place,) = known
        kind = kinds[place]
        assert kind is not None

        def holds(capability: Capability) -> bool:
            values = [value_of(kind, capability) if i == place else constants[i] for i in range(len(operands))]
            return all(SIGNS[each](values[i], values[i + 1]) for i, each in enumerate(signs))

        return holds

    def is_understood(self, node: cst.Comparison | cst.Call) -> bool:
        """Say whether a comparison is with a capability and its result is known for each GPU."""
        return self._holds(node) is not None

    def _holds_for_results(
        self, operands: Sequence[cst.BaseExpression], signs: Sequence[Sign]
    ) -> Callable[[Capability], bool] | None:
        # The minor number means nothing without the major one.
        found = [self.results(each) if self.kind(each) != "minor" else None for each in operands]
        values = [each for each in found if each is not None]
        if len(values) != len(found) or all(len(set(each.values())) == 1 for each in values):
            return None

        def holds(capability: Capability) -> bool:
            return all(SIGNS[each](values[i][capability], values[i + 1][capability]) for i, each in enumerate(signs))

        try:
            # A result that is the same for each GPU comes from comparing GPUs with each other.
            return holds if len({holds(each) for each in EVERY}) > 1 else None
        except TypeError:
            return None

    def results(self, node: cst.BaseExpression) -> Results | None:
        """Return the value of an expression for each capability; None if it cannot be computed."""
        return self._working.results(node)

    def _known_results(self, node: cst.BaseExpression) -> Results | None:
        if (kind := self.kind_of_value(node)) is not None:
            return {each: value_of(kind, each) for each in EVERY}
        if isinstance(node, cst.Comparison) and (holds := self._holds(node)) is not None:
            try:
                return {each: holds(each) for each in EVERY}
            except TypeError:
                return None
        value = self.constant_at(node)
        return same(value) if value is not None else None

    def compared(self, node: cst.CSTNode) -> Compared | None:
        """Return the operands that are compared at `node`, by operators or by a function."""
        if node not in self._compared:
            self._compared[node] = compared(self.program, self.origins, node)
        return self._compared[node]

    def _signs(self, node: cst.CSTNode) -> tuple[Sign, ...]:
        of = self.compared(node)
        return of.signs if of is not None else (cst.Equal,)

    def handed_on(self, call: cst.Call) -> str:
        """Return the unseen function that receives a capability and a constant from Hopper on; empty if none does."""
        given = [each.value for each in call.args]
        if len(given) < 2 or self.compared(call) is not None:
            return ""
        name = self.program.code(call.func)
        if HARMLESS.fullmatch(name.rpartition(".")[2]) or self.is_followed(call.func) or self.results(call) is not None:
            return ""
        kinds = {kind for each in given if (kind := self.kind_of_value(each)) is not None}
        constants = [self.constant_at(each) for each in given]
        return name if any(_is_of_hopper(kind, each) for kind in kinds for each in constants) else ""

    def is_followed(self, function: cst.BaseExpression) -> bool:
        """Say whether a function is one of the file's, into which values are followed."""
        name = function.attr if isinstance(function, cst.Attribute) else function
        return isinstance(name, cst.Name) and name.value in self.program.functions

    def is_lost(self, node: cst.Comparison | cst.Call) -> bool:
        """Return whether a comparison looks like one with a capability from Hopper on, of unknown origin."""
        of = self.compared(node)
        if of is None or len(of.operands) != 2:
            return False
        for one, other in (of.operands, of.operands[::-1]):
            name = one.func if isinstance(one, cst.Call) else one.value if isinstance(one, cst.Subscript) else one
            word = (
                name.attr.value if isinstance(name, cst.Attribute) else name.value if isinstance(name, cst.Name) else ""
            )
            values = self.constant_at(other)
            each = values if isinstance(values, tuple) and not _is_pair(values) else (values,)
            if isinstance(one, cst.Subscript):
                word = next(
                    (
                        self.program.text(k)
                        for k in self.program.nodes_below(one.slice[0])
                        if isinstance(k, cst.SimpleString)
                    ),
                    word,
                )
            named = _CAPABILITY.fullmatch(str(word)) is not None
            if any(_NAMED_SM.fullmatch(str(value)) or (named and _OF_HOPPER.fullmatch(str(value))) for value in each):
                return not self.kind(one) and self.constant_at(one) is None and self._has_no_number(one)
        return False

    def _has_no_number(self, node: cst.BaseExpression) -> bool:
        """Return whether no known value is a literal number or text, or comes from the environment."""
        found = [value for value, _ in self.origins.of(node)]
        if isinstance(node, cst.Attribute):
            found += self.origins.attributes(node.attr.value)
        return not any(constant(value) is not None or _OF_PROGRAM.search(self.program.code(value)) for value in found)

    def _begins(self, call: cst.Call) -> Callable[[Capability], bool] | None:
        """Return the test `arch.startswith("sm9")` as a function of a capability."""
        match call:
            case cst.Call(
                func=cst.Attribute(value=of, attr=cst.Name("startswith" | "endswith" as method)), args=[cst.Arg(given)]
            ) if (kind := self.kind_of_value(of)) is not None and isinstance(value_of(kind, _LIKE), str):
                wanted = self.constant_at(given)
                if isinstance(wanted, str | tuple):
                    return lambda capability: bool(getattr(value_of(kind, capability), method)(wanted))
        return None

    def asked(self, node: cst.Comparison | cst.Call) -> tuple[bool, str] | None:
        """Return the comparison's right value on ROCm and the GPUs that it means; None if it has that value."""
        holds = self._holds(node)
        signs = self._signs(node)
        if holds is None:
            return None
        try:
            if signs[0] in _NOT_NAMING:
                neutral = True
            elif len(signs) > 1 or signs[0] in _NAMING:
                neutral = False
            else:
                neutral = holds(_LIKE)
            if all(holds(each) is neutral for each in AMD):
                return None
        except TypeError:
            return None
        names = dict.fromkeys(name for each, name in _NVIDIA if holds(each) is not neutral)
        return (
            (neutral, " and ".join((", ".join([*names][:-1]), [*names][-1]) if len(names) > 1 else names))
            if names
            else None
        )

    def least(self, node: cst.CSTNode) -> tuple[Capability, bool] | None:
        """Return the least capability that a condition distinguishes from older ones, and its value for those.

        None if AMD's GPUs do not count as newer ones.
        """
        holds = self._holds(node) if isinstance(node, cst.Comparison | cst.Call) else None
        if holds is None:
            return None
        try:
            answers = [holds(each) for each in GENERATIONS]
            of_amd = {holds(each) for each in AMD}
        except TypeError:
            return None
        older, newest = answers[0], answers[-1]
        if older is newest or of_amd != {newest} or answers != sorted(answers, reverse=older):
            return None
        return GENERATIONS[answers.index(newest)], older

    def taken(self, node: cst.Match) -> cst.MatchCase | None:
        """Return the first case that names a capability, or a part of one, which some AMD GPU has by accident."""
        kind = self.kind_of_value(node.subject)
        if kind is None:
            return None
        anything = (object(), object()) if kind == "pair" else object()
        for case in node.cases:
            named = case.guard is None and not matches(case.pattern, anything)
            if named and any(matches(case.pattern, value_of(kind, each)) for each in AMD):
                return case
        return None
