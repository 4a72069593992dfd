# SPDX-License-Identifier: Apache-2.0
"""The expressions of a Python file that are made from a compute capability: its parts, numbers and texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import libcst as cst

from hipport.core.tables import Words
from hipport_passes.python.runtime import elsewhere
from hipport_passes.python.runtime.capability_values import (
    KINDS,
    TEXT,
    Capability,
    as_kind,
    constant,
    kind_of_pieces,
)
from hipport_passes.python.runtime.elsewhere import Known
from hipport_passes.python.runtime.origins import EACH, origins
from hipport_passes.python.runtime.python_program import PythonProgram

# Makes a version of "9.0", which is compared part by part.
_WORDS = Words.read(Path(__file__).with_name("capability_reader.toml"))
_ARCHITECTURE = _WORDS.compile(r"(?&archs)_?$")
_RELEASE = _WORDS.compile(r"(?:\w+\.)*(?&releases)")


class Elsewhere(NamedTuple):
    """Constants in other modules of the tree, by the module or the class and by the name.

    `kinds` are capabilities and functions that return them, `constants` are values that they may be compared with.
    """

    kinds: Mapping[tuple[str, str], str]
    constants: Known


def _release(text: object) -> Capability | None:
    match = re.fullmatch(r"(\d+)(?:\.(\d+))?(?:\.0)*", text) if isinstance(text, str) else None
    return (int(match[1]), int(match[2] or 0)) if match is not None else None


class CapabilityKinds:
    """How the expressions of a file are made from a compute capability."""

    def __init__(self, program: PythonProgram, known: Elsewhere) -> None:
        self.program = program
        self.known = known.kinds
        self.constants = known.constants
        self.origins = program.source.fact(origins)
        self._known: dict[cst.CSTNode, str | None] = {}

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
        owner = self.program.class_around(node)
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
                if _ARCHITECTURE.search(before):
                    return True
                piece = "?"
            before += piece
        return False
