# SPDX-License-Identifier: Apache-2.0
"""Expressions of a Python file that are made from a compute capability, and the tests of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import libcst as cst

from hipport.core.tables import load, one_of
from hipport_passes.python.runtime import elsewhere
from hipport_passes.python.runtime.capability_results import EVERY, Results, Working, same
from hipport_passes.python.runtime.capability_values import (
    AMD,
    GENERATIONS,
    KINDS,
    TEXT,
    Capability,
    as_kind,
    constant,
    kind_of_pieces,
    matches,
    value_of,
)
from hipport_passes.python.runtime.comparisons import SIGNS, Compared, Sign, compared
from hipport_passes.python.runtime.elsewhere import Known
from hipport_passes.python.runtime.origins import EACH, origins
from hipport_passes.python.runtime.program import PythonProgram

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

#: Usual names of a capability, or of a number or text made from one.
_CAPABILITY = re.compile(
    r"(?i)_*(?:get_)?(?:\w+_)?(?:(?:compute_?|device_?|cuda_?|gpu_?)?capabilit(?:y|ies)|compute_cap|cuda_?cc"
    r"|sm_?(?:version|arch)?|(?:cuda|gpu|sm|device)_?arch|(?:device|sm|cc|capability)_major)"
    r"(?:_(?:int|num|number|str|name))?"
)
_OF_HOPPER = re.compile(r"\((?:9|1[0-2]), \d\)|(?:9|1[0-2])\d0?|(?:9|1[0-2])(?:\.\d)?")
#: Names that mean something where a capability is given, or asked for.
WORDS = load(Path(__file__).with_suffix(".toml"))["words"]
_NAMED_SM = re.compile(rf"{one_of(WORDS['archs'])}_?(?:9|1[0-2])\d[af]?")
# Where a number comes from that is no GPU's.
_OF_PROGRAM = re.compile(rf"\b{one_of(WORDS['of_program'])}\b")
#: Functions that decide nothing by what they are given.
HARMLESS = re.compile(rf"(?i)_*{one_of(WORDS['harmless'])}")
# What makes of "9.0" what compares by its parts.
_RELEASE = re.compile(r"(?:\w+\.)*(?:(?:Loose|Strict)?Version|version\.parse|parse_version|parse)")
_HOPPER: Capability = (9, 0)
_NAMING = (cst.Equal, cst.Is, cst.In)
_NOT_NAMING = (cst.NotEqual, cst.IsNot, cst.NotIn)


class Elsewhere(NamedTuple):
    """Constants in other modules of the tree, by the module or the class and by the name.

    `kinds` are capabilities and functions that return them, `constants` are values that they may be compared with.
    """

    kinds: Mapping[tuple[str, str], str]
    constants: Known


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


def _release(text: object) -> Capability | None:
    match = re.fullmatch(r"(\d+)(?:\.(\d+))?(?:\.0)*", text) if isinstance(text, str) else None
    return (int(match[1]), int(match[2] or 0)) if match is not None else None


def _is_pair(values: tuple[object, ...]) -> bool:
    return len(values) == 2 and all(isinstance(each, int) and each < 20 for each in values)


class Reader:
    """The expressions of a file that are made from a compute capability."""

    def __init__(self, program: PythonProgram, known: Elsewhere) -> None:
        self.program = program
        self.known = known.kinds
        self.constants = known.constants
        self.origins = program.source.fact(origins)
        self._known: dict[cst.CSTNode, str | None] = {}
        self._compared: dict[cst.CSTNode, Compared | None] = {}
        self._working = Working(program, self.origins, self._known_results)

    def kind(self, node: cst.CSTNode, depth: int = 0) -> str | None:
        """Return how `node` is made from a capability: a key of `KINDS`, or `properties`, `minor`, `times 10` …"""
        if depth > 12:
            return None
        if node not in self._known:
            self._known[node] = None  # A cycle has no kind.
            self._known[node] = self._kind(node, depth + 1)
        return self._known[node]

    def _kind(self, node: cst.CSTNode, depth: int) -> str | None:
        match node:
            case cst.Call(func=cst.Name("getattr"), args=[cst.Arg(of), cst.Arg(cst.SimpleString() as name), *_]) if (
                part := self.program.text(name)
            ) in ("major", "minor") and self.kind(of, depth) == "properties":
                return part
            case cst.Call(
                func=cst.Attribute(attr=cst.Name("getitem")), args=[cst.Arg(of), cst.Arg(cst.Integer(index))]
            ):
                return self._part(self.kind(of, depth), int(index, 0))
            case cst.Call():
                return self._kind_of_call(node, depth)
            case cst.Attribute(value=value, attr=cst.Name("major" | "minor" as part)):
                # A pair with named parts is a `namedtuple`.
                if self.kind(value, depth) in ("properties", "pair"):
                    return part
                return self._kind_elsewhere(node) or self._kind_of_origins(node, depth)
            case cst.Subscript(value=value, slice=[cst.SubscriptElement(cst.Slice() as cut)]):
                return self._cut(self.kind(value, depth), cut)
            case cst.Subscript():
                return self._kind_of_element(node, depth)
            case cst.Tuple(elements=[*elements]) if len(elements) > 1:
                first = [self.kind(each.value, depth) for each in elements[:2]]
                return "pair" if first == ["major", "minor"] and len(elements) == 2 else None
            case cst.BinaryOperation():
                return self._kind_of_sum(node, depth)
            case cst.FormattedString():
                return self._kind_of_text(node, depth)
            case cst.IfExp():
                kinds = {self.kind(node.body, depth), self.kind(node.orelse, depth)} - {None}
                return kinds.pop() if len(kinds) == 1 else None
            case cst.NamedExpr(value=value):
                return self.kind(value, depth)
            case cst.Name("self") if owner := self._is_tuple(node):
                kinds = {self.kind(call, depth) for call in self.program.calls(owner)} - {None}
                return kinds.pop() if len(kinds) == 1 else None
            case cst.Name() | cst.Attribute():
                return self._kind_elsewhere(node) or self._kind_of_origins(node, depth)
        return None

    def _kind_of_element(self, node: cst.Subscript, depth: int) -> str | None:
        match node:
            case cst.Subscript(
                value=cst.Name("self") as of, slice=[cst.SubscriptElement(cst.Index(cst.Integer(index)))]
            ) if self._is_tuple(of):
                return self._part(self.kind(of, depth), int(index, 0))
        return self._kind_of_origins(node, depth)

    def _is_tuple(self, node: cst.Name) -> str:
        """Return the name of the class around a method's `self`, if its objects are tuples; else nothing."""
        owner = next((above for above, _ in self.program.ancestors(node) if isinstance(above, cst.ClassDef)), None)
        bases = self.origins.bases(owner.name.value) if owner is not None else ()
        tuples = ("tuple", "NamedTuple")
        return owner.name.value if owner and any(each.rpartition(".")[2] in tuples for each in bases) else ""

    def _kind_of_sum(self, node: cst.BinaryOperation, depth: int) -> str | None:
        """Return the kind of `major * 10 + minor`, and of its parts."""
        match node:
            case cst.BinaryOperation(operator=cst.Multiply()):
                for one, other in ((node.left, node.right), (node.right, node.left)):
                    if isinstance(other, cst.Integer) and (kind := self.kind(one, depth)) in ("major", "minor"):
                        return f"{kind} times {other.value}"
            case cst.BinaryOperation(operator=cst.Divide(), right=cst.Integer("10") | cst.Float("10.0")):
                return "minor tenth" if self.kind(node.left, depth) == "minor" else None
            case cst.BinaryOperation(operator=cst.Add()):
                sum_of = {self.kind(node.left, depth), self.kind(node.right, depth)}
                number = {
                    frozenset({"major times 10", "minor"}): "tens",
                    frozenset({"major times 100", "minor times 10"}): "hundreds",
                    frozenset({"major", "minor tenth"}): "decimal",
                }.get(frozenset(each or "" for each in sum_of))
                return number or self._kind_of_text(node, depth)
            case cst.BinaryOperation(operator=cst.Modulo()):
                return self._kind_of_text(node, depth)
        return None

    def _kind_of_origins(self, node: cst.BaseExpression, depth: int) -> str | None:
        kinds = set()
        for value, part in self.origins.of(node):
            kind = self.kind(value, depth)
            kinds.add(kind if part is None else self._part(kind, part))
        kinds -= {None}
        return kinds.pop() if len(kinds) == 1 else None

    @staticmethod
    def _cut(kind: str | None, cut: cst.Slice) -> str | None:
        """Return the kind of a text without its beginning: `arch[3:]`."""
        match cut:
            case cst.Slice(lower=cst.Integer(start), upper=None, step=None) if (kind or "").startswith(TEXT):
                return as_kind((kind or "")[len(TEXT) :][int(start, 0) :])
        return None

    def _kind_of_call(self, call: cst.Call, depth: int) -> str | None:
        program = self.program
        if program.is_of_torch(call, "get_device_capability"):
            return "pair"
        if program.is_of_torch(call, "get_device_properties"):
            return "properties"
        name = program.code(call.func)
        if (text := self._kind_of_text(call, depth)) is not None:
            return text
        if len(call.args) == 1:
            kind = self.kind(call.args[0].value, depth)
            if name == "int":
                return {"digits": "tens", "major": "major", "minor": "minor", "major text": "major"}.get(kind or "")
            if name == "float":
                return "decimal" if kind == "dotted" else kind if kind in ("major", "minor") else None
            if name in ("tuple", "torch.device") or self._is_named_tuple(call.func):
                return kind if kind == "pair" else None
            if _RELEASE.fullmatch(name) and kind == "dotted":
                return "release"
        if len(call.args) == 2 and self._is_named_tuple(call.func):
            return "pair" if [self.kind(each.value, depth) for each in call.args] == ["major", "minor"] else None
        if isinstance(call.func, cst.Attribute) and (of := self.kind(call.func.value, depth) or "").startswith(TEXT):
            return self._changed(
                of[len(TEXT) :], call.func.attr.value, [program.text(each.value) for each in call.args]
            )
        kind = self._kind_of_origins(call, depth)
        return kind if kind is not None or program.returned(call) else self._kind_elsewhere(call.func)

    def _is_named_tuple(self, name: cst.BaseExpression) -> bool:
        """Return whether it is `namedtuple("Capability", "major minor")` or `class Capability(NamedTuple):`."""
        if not isinstance(name, cst.Name):
            return False
        made = [self.program.code(value.func) for value in self.program.values(name) if isinstance(value, cst.Call)]
        made += self.origins.bases(name.value)
        return any(each.rpartition(".")[2] in ("namedtuple", "NamedTuple", "tuple") for each in made)

    @staticmethod
    def _changed(text: str, method: str, given: list[str]) -> str | None:
        """Return the kind of a method's result on a text: `arch.replace("sm_", "")`, `arch.removeprefix("sm")`."""
        if method in ("lower", "upper"):
            return as_kind(text.lower() if method == "lower" else re.sub(r"[a-z]", lambda c: c[0].upper(), text))
        if method == "replace" and len(given) == 2 and given[0].isidentifier():
            return as_kind(text.replace(given[0], given[1]))
        if method in ("removeprefix", "lstrip") and len(given) == 1:
            return as_kind(text.removeprefix(given[0]) if method == "removeprefix" else text.lstrip(given[0]))
        return None

    def _kind_elsewhere(self, of: cst.BaseExpression) -> str | None:
        """Return the kind of a name of another module: `from utils import compute_capability`, `Device.capability`."""
        program = self.program
        match of:
            case cst.Name():
                return elsewhere.read(program, of, self.known)
            case cst.Attribute(value=owner, attr=cst.Name(name)) if self.known:
                made = [value for value, part in self.origins.of(owner) if part is None]
                for each in (owner, *made):
                    called = each.func if isinstance(each, cst.Call) else each
                    if isinstance(called, cst.Name | cst.Attribute) and elsewhere.is_imported(program, called):
                        kind = self.known.get((elsewhere.owner_of(program, called), name))
                        if kind is not None:
                            return kind
        return None

    @staticmethod
    def _part(kind: str | None, index: int | str) -> str | None:
        if index == EACH:
            return None
        return ("major", "minor")[int(index)] if kind == "pair" and index in (0, 1) else None

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
        """Say whether a comparison is one with a capability of which the answer is known for each GPU."""
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
            # What is the same on each GPU compares GPUs with each other.
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
        """Return the function with unknown code that receives a capability and a constant from Hopper on; empty if none
        does.
        """
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
        """Return whether the known values are no literal numbers or texts, and none is from the environment."""
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

    def constant_at(self, node: cst.BaseExpression, depth: int = 0) -> object:
        """Return the value of a constant: a literal, or the value of a name, an attribute or a function."""
        value = constant(node)
        if isinstance(node, cst.Call) and len(node.args) == 1 and _RELEASE.fullmatch(self.program.code(node.func)):
            return _release(self.constant_at(node.args[0].value, depth + 1))
        if value is None and depth < 4 and isinstance(node, cst.Name | cst.Attribute | cst.Call | cst.Subscript):
            values = self.origins.of(node)
            if values and all(part is None for _, part in values):
                constants = {self.constant_at(each, depth + 1) for each, _ in values}
                return constants.pop() if len(constants) == 1 else None
            return None if values else elsewhere.read(self.program, node, self.constants)
        return value

    def kind_of_value(self, node: cst.BaseExpression) -> str | None:
        """Return the kind of a value that is known for each capability: a key of `KINDS`, or a text."""
        # `(major, minor) >= (9, 0)`
        if isinstance(node, cst.Tuple) and [self.kind(each.value) for each in node.elements] == ["major", "minor"]:
            return "pair"
        kind = self.kind(node)
        return kind if kind in KINDS or (kind or "").startswith(TEXT) else None

    def _kind_of_text(self, node: cst.BaseExpression, depth: int) -> str | None:
        return kind_of_pieces(self._pieces(node, depth))

    def _pieces(self, node: cst.BaseExpression, depth: int) -> list[str] | None:
        """Return the pieces of a string: words, and `major`, `minor` … for parts of a capability.

        Other pieces are `?`. None if it is not a string that is put together.
        """
        if depth > 12:
            return None
        match node:
            case cst.FormattedString():
                return [
                    part.value if isinstance(part, cst.FormattedStringText) else self._piece(part.expression, depth)
                    for part in node.parts
                    if isinstance(part, (cst.FormattedStringText, cst.FormattedStringExpression))
                ]
            case cst.BinaryOperation(operator=cst.Modulo(), left=cst.SimpleString() as text, right=values):
                return self._put_into(self.program.text(text), r"%[ds]", self._given([values], depth))
            case cst.Call(
                func=cst.Attribute(value=cst.SimpleString() as text, attr=cst.Name("format")), args=[*arguments]
            ) if all(each.keyword is None and each.star in ("", "*") for each in arguments):
                return self._put_into(
                    self.program.text(text), r"\{\d?\}", self._given([each.value for each in arguments], depth)
                )
            case cst.Call(func=cst.Attribute(value=text, attr=cst.Name("join")), args=[cst.Arg(values)]) if (
                self._as_texts(values, depth)
            ):
                # An unknown separator counts as a point, which is the most frequent one.
                between = self.program.text(text) if isinstance(text, cst.SimpleString) else "."
                return ["major", between, "minor"] if between else ["major", "minor"]
            case cst.BinaryOperation(operator=cst.Add(), left=left, right=right):
                pieces = [(self._pieces(each, depth + 1), each) for each in (left, right)]
                if not any(known for known, _ in pieces):
                    return None
                return [piece for known, each in pieces for piece in known or [self._piece(each, depth)]]
            case cst.Call(func=cst.Name("str"), args=[cst.Arg(value)]):
                piece = self._piece(value, depth)
                return [piece] if piece != "?" else None
            case cst.SimpleString():
                return [self.program.text(node)]
        return None

    def _piece(self, node: cst.BaseExpression, depth: int) -> str:
        return self.kind(node, depth) or "?"

    def _given(self, values: Sequence[cst.BaseExpression], depth: int) -> list[str]:
        """Return the pieces for values that are inserted into a string; a pair gives two."""
        found = []
        for value in values:
            if isinstance(value, cst.Tuple):
                found += [self._piece(each.value, depth) for each in value.elements]
            else:
                piece = self._piece(value, depth)
                found += ["major", "minor"] if piece == "pair" else [piece]
        return found

    @staticmethod
    def _put_into(text: str, field: str, values: list[str]) -> list[str]:
        first, *words = re.split(field, text)
        parts = [*values, *["?"] * len(words)]
        found = [first, *(piece for pair in zip(parts, words, strict=False) for piece in pair)]
        return [piece for piece in found if piece]

    def _as_texts(self, node: cst.BaseExpression, depth: int) -> bool:
        """Return whether it is `map(str, capability)` or `str(part) for part in capability`."""
        match node:
            case cst.Call(func=cst.Name("map"), args=[cst.Arg(cst.Name("str")), cst.Arg(values)]):
                return self.kind(values, depth) == "pair"
            case (
                cst.GeneratorExp(elt=cst.Call(func=cst.Name("str")), for_in=loop)
                | cst.ListComp(elt=cst.Call(func=cst.Name("str")), for_in=loop)
            ):
                return self.kind(loop.iter, depth) == "pair"
        return False

    def names_arch(self, node: cst.BaseExpression) -> bool:
        """Return whether the string is `sm_90` or `compute_90`, made from a capability."""
        above = self.program.parent[node]
        if isinstance(node, cst.BinaryOperation) and isinstance(above, cst.BinaryOperation):
            return False  # A part of a longer expression.
        pieces = self._pieces(node, 0) or []
        before = ""
        for piece in pieces:
            if piece in ("minor", *KINDS):
                if re.search(r"(?:sm|compute)_?$", before):
                    return True
                piece = "?"
            before += piece
        return False
