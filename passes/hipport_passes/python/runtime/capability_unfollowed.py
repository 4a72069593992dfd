# SPDX-License-Identifier: Apache-2.0
"""Report decisions by a compute capability whose result on ROCm is unknown, so that none goes unnoticed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from hipport.core.finding import Finding
from hipport.core.tables import one_of
from hipport.syntax.python_script import children
from hipport_passes.python.runtime.capability_reader import HARMLESS, WORDS, Reader
from hipport_passes.python.runtime.capability_traces import Traces
from hipport_passes.python.runtime.capability_values import constant
from hipport_passes.python.runtime.python_program import PythonProgram, finding

_HOPPER = WORDS.compile(r"(?i)(?:(?&archs)_?)?(?:9|1[0-2])\.?\d?0?[af]?(?&with_ptx)?|(?&generations)")
#: Functions of packages, whose code is not read, that say by a number whether a GPU has a capability.
_HAS = re.compile(one_of(WORDS["tells"]))
# Code that compares with Hopper or later: `>= 9`, `== (9, 0)`, `in (90, 100)`.
_EVALUATED = re.compile(r"(?:[<>=!]=|[<>]|\bin\b)\s*[(\[]?\s*['\"]?(?:sm_?)?(?:9|1[0-2])(?:\d0?|\.\d)?\b")
_ORDERS = (cst.GreaterThanEqual, cst.GreaterThan, cst.LessThan, cst.LessThanEqual)
_NOTHING = frozenset(("None", "True", "False"))
_MESSAGE = (
    "this asks for a compute capability in a way that could not be followed; on ROCm it is a gfx number such as (9, 4) "
    "or (11, 0): check the answer there, and ask for torch.version.hip"
)
_BUILT_FOR = (
    "this asks for the architectures of NVIDIA's GPUs that a build is told; on ROCm PYTORCH_ROCM_ARCH names gfx "
    "architectures: ask for torch.version.hip before it"
)


def unfollowed(program: PythonProgram, reader: Reader, said: set[cst.CSTNode]) -> Iterator[Finding]:
    """Yield the decisions by a capability whose result is unknown, except those with a finding already (`said`)."""
    for of_build, message in ((False, _MESSAGE), (True, _BUILT_FOR)):
        if of_build and b"TORCH_CUDA_ARCH_LIST" not in program.source.text:
            continue
        sinks = _Sinks(program, reader, Traces(program, reader, of_build=of_build))
        # Inner expressions first: a decision is reported once, at its place.
        for node in reversed(program.nodes):
            if node in said or not sinks.asks(node) or not program.runs(node).both:
                continue
            if not any(each in said for each in program.nodes_below(node)):
                said.add(node)
                yield finding(program, node.subject if isinstance(node, cst.Match) else node, "not_followed", message)


class _Sinks:
    """The places of a file that decide by a value."""

    def __init__(self, program: PythonProgram, reader: Reader, traces: Traces) -> None:
        self.program, self.reader, self.traces = program, reader, traces

    def asks(self, node: cst.CSTNode) -> bool:
        """Say whether `node` decides by a capability, and tests for Hopper or later, or for something unknown."""
        if isinstance(node, cst.Comparison | cst.Call) and (of := self.reader.compared(node)) is not None:
            return not self.reader.is_understood(node) and self._compares(of.operands, of.signs)
        match node:
            case cst.Call(func=cst.Name("eval"), args=[cst.Arg(text), *_]):
                return self._is_evaluated(text)
            case cst.Call():
                return self._is_given(node)
            case cst.Subscript(value=table, slice=[cst.SubscriptElement(cst.Index(key))]):
                return (
                    not self.reader.kind_of_value(key)
                    and self.traces.touches(key)
                    and self.names_hopper(table, only_keys=True)
                )
            case cst.Match(subject=subject, cases=cases):
                return (
                    not self.reader.kind_of_value(subject)
                    and self.reader.kind(subject) != "minor"
                    and self.traces.touches(subject)
                    and any(self.names_hopper(case.pattern) for case in cases)
                )
            case cst.BinaryOperation(operator=cst.FloorDivide(), left=left, right=cst.Integer(number)):
                return self.reader.kind(left) == "major" and 9 <= int(number, 0) <= 12
            case cst.BinaryOperation(operator=cst.BitAnd(), left=left, right=right):
                for one, other in ((left, right), (right, left)):
                    if self.traces.touches(one) and self.names_hopper(other):
                        return True
        return False

    def _is_evaluated(self, text: cst.BaseExpression) -> bool:
        """Say whether code in a string compares a capability: `eval("major >= 9")`, `eval(f"{major} >= 9")`."""
        pieces = [text, *(value for value, _ in self.reader.origins.of(text))]
        for each in pieces:
            code = self.program.text(each) if isinstance(each, cst.SimpleString) else self.program.code(each)
            if _EVALUATED.search(code) and (self.traces.touches(each) or self._names_capability(code, text)):
                return True
        return False

    def _names_capability(self, code: str, at: cst.CSTNode) -> bool:
        """Say whether code contains a name whose value in the same file is derived from a capability."""
        words = set(re.findall(r"[A-Za-z_]\w*", code))
        function = self.program.function(at)
        return any(
            isinstance(each, cst.Name)
            and each.value in words
            and self.program.function(each) in (None, function)
            and self.traces.touches(each)
            for each in self.program.nodes
        )

    def _compares(self, operands: Sequence[cst.BaseExpression], signs: Sequence[type[cst.BaseCompOp]]) -> bool:
        touched = [self.traces.touches(each) for each in operands]
        if not any(touched) or all(touched):
            return False
        # The minor number means nothing without the major one.
        if any(self.reader.kind(each) == "minor" for each in operands):
            return False
        others = [each for each, is_touched in zip(operands, touched, strict=True) if not is_touched]
        after = any(sign in (cst.GreaterThan, cst.LessThanEqual) for sign in signs)
        if any(self.names_hopper(each) or (after and self._is_last_before(each)) for each in others):
            return True
        return any(sign in _ORDERS for sign in signs) and any(self._is_unknown(each) for each in others)

    def _is_given(self, call: cst.Call) -> bool:
        """Say whether a function receives a capability and a value from Hopper on that it may compare with it."""
        function = call.func
        name = function.attr.value if isinstance(function, cst.Attribute) else ""
        name = function.value if isinstance(function, cst.Name) else name
        if HARMLESS.fullmatch(name):
            return False
        given = [each.value for each in call.args]
        if _HAS.fullmatch(name) and not self.reader.is_followed(function):
            return any(self.names_hopper(each) for each in given)
        owner = [function.value] if isinstance(function, cst.Attribute) else []
        touched = [each for each in (*given, *owner) if self.traces.touches(each)]
        if not touched or self.reader.is_followed(function) or self.reader.kind(call):
            return False
        if self.reader.results(call) is not None:
            return False
        others = [each for each in (*given, *owner) if each not in touched]
        if isinstance(function, cst.Name):
            others += self._values(function)
        return any(not isinstance(each, cst.Integer) and self.names_hopper(each) for each in others)

    @staticmethod
    def _is_last_before(node: cst.BaseExpression) -> bool:
        """`major > 8`, `capability > (8, 9)`"""
        value = constant(node)
        if isinstance(value, tuple):
            return bool(value) and value[0] == 8
        return (
            value == 8 or (isinstance(value, float) and 8 < value < 9) or (isinstance(value, int) and 80 <= value < 90)
        )

    def names_hopper(self, node: cst.CSTNode, depth: int = 0, *, only_keys: bool = False) -> bool:
        """Say whether an expression, or a value of its names, contains a literal capability from Hopper on."""
        if depth > 2:
            return False
        if only_keys and isinstance(node, cst.Dict):
            return any(self.names_hopper(each.key) for each in node.elements if isinstance(each, cst.DictElement))
        match node:
            # In (8, 9), the 9 is not a number by itself.
            case cst.Tuple(elements=[cst.Element(cst.Integer(major)), cst.Element(cst.Integer(minor))]) if (
                int(minor.replace("_", ""), 0) < 10
            ):
                return 9 <= int(major.replace("_", ""), 0) <= 12
            case cst.Integer(value):
                number = int(value.replace("_", ""), 0)
                return 9 <= number <= 12 or 90 <= number <= 121 or (number % 10 == 0 and 900 <= number <= 1210)
            case cst.Float(value):
                return 9.0 <= float(value) <= 12.1
            case cst.SimpleString() | cst.ConcatenatedString():
                # Also in a regular expression: `sm_9\d`.
                text = self.program.text(node).replace("\\d", "0").replace("\\", "").strip("^$")
                return any(_HOPPER.fullmatch(word) for word in re.split(r"[\s;,|]+", text))
            case cst.Name():
                return any(self.names_hopper(value, depth + 1, only_keys=only_keys) for value in self._values(node))
            case cst.Attribute() if origins := self.reader.origins.of(node):
                return any(self.names_hopper(value, depth + 1, only_keys=only_keys) for value, _ in origins)
            case cst.Dict() if only_keys:
                return False
        return any(self.names_hopper(each, depth) for each in children(node))

    def _values(self, name: cst.Name) -> list[cst.BaseExpression]:
        if (loop := self.program.comprehended(name)) is not None:
            return [loop.iter]
        found = [value for value, _ in self.reader.origins.of(name)]
        return found or self.traces.gone_through(name)

    def _is_unknown(self, node: cst.BaseExpression, depth: int = 0) -> bool:
        """Say whether the file does not show the value of an operand."""
        match node:
            case cst.Name(value) if value in _NOTHING:
                return False
            case cst.Name():
                values = self._values(node)
                return not values or (depth < 2 and any(self._is_unknown(each, depth + 1) for each in values))
            case cst.Attribute():
                return not self.reader.origins.of(node)
            case cst.Call() | cst.Subscript():
                return self.reader.constant_at(node) is None
            case cst.Tuple(elements=elements):
                return any(self._is_unknown(each.value, depth) for each in elements)
            case cst.BinaryOperation(left=left, right=right):
                return self._is_unknown(left, depth) or self._is_unknown(right, depth)
        return False
