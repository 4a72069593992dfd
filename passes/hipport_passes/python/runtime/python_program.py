# SPDX-License-Identifier: Apache-2.0
"""A Python file's tree, with the means to judge GPU gates: origins of values, and handlers of their absence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import libcst as cst

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport.program.script_names import key_of
from hipport.syntax.python_script import Python
from hipport_passes.build_files.build_scripts.script import Script

_WORDS = Words.read(Path(__file__).with_suffix(".toml"))
_NVIDIA = _WORDS.compile(r"(?i)_*(?&asks)_*(?&on)?(?&nvidia)(?:_*(?&platforms))?")
_PROPERTY = _WORDS.compile(r"(?:^|\.)(?&properties)$")
_ANY_ERROR = _WORDS.compile(r"\b(?&all_errors)\b")
_EXPECTS = _WORDS.compile(r"\b(?&expects)\(")


class PythonProgram(Script):
    """A Python file: names and branches as in a build script, and the values read from PyTorch."""

    def __init__(self, source: Python) -> None:
        super().__init__(source)
        self._lifted: set[cst.CSTNode] = set()
        self._assigned_to: dict[
            tuple[cst.CSTNode | None, str, str], list[tuple[cst.BaseExpression, int | None]] | None
        ] = {}

    def lift(self, tests: Iterable[cst.CSTNode]) -> None:
        """Treat conditions as always passed, because they are about to be changed so that ROCm passes."""
        self._lifted |= set(tests)
        self._runs.clear()
        self._reached.clear()

    def decisions(self, above: cst.CSTNode, child: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, bool]]:
        """Yield (condition, the value that reaches `child`), without lifted conditions."""
        for test, wanted in super().decisions(above, child):
            if not any(each in self._lifted for each in _operands(test)):
                yield test, wanted

    def truth(self, test: cst.CSTNode | None, rocm: bool, depth: int = 0) -> bool | None:
        """Return the value of a condition, as for a build script; a test for NVIDIA is false on ROCm."""
        of = test.func if isinstance(test, cst.Call) else test
        if isinstance(of, cst.Name | cst.Attribute):
            word = of.value if isinstance(of, cst.Name) else of.attr.value
            if _NVIDIA.fullmatch(word):
                return not rocm
        return super().truth(test, rocm, depth)

    def assigned(self, name: cst.Name | cst.Attribute) -> list[tuple[cst.BaseExpression, int | None]] | None:
        """Return what `name` is assigned: expressions, with the index where one is taken apart; None if not known."""
        key = key_of(name)
        place = (self.scope(name, key), key, self.code(name))
        if place not in self._assigned_to:
            self._assigned_to[place] = self._all_assigned(name)
        return self._assigned_to[place]

    def _all_assigned(self, name: cst.Name | cst.Attribute) -> list[tuple[cst.BaseExpression, int | None]] | None:
        found: list[tuple[cst.BaseExpression, int | None]] = []
        for binding in self.bound(name):
            match binding.node:
                case _ if binding.how != "is":
                    return None
                case cst.Assign() | cst.AnnAssign() | cst.NamedExpr() if binding.value is not None:
                    found.append((binding.value, None))
                case cst.Assign(value=value, targets=[cst.AssignTarget(cst.Tuple() | cst.List() as target)]):
                    wanted = self.code(name)
                    places = [i for i, each in enumerate(target.elements) if self.code(each.value) == wanted]
                    if len(places) != 1:
                        return None
                    taken = value.elements if isinstance(value, (cst.Tuple, cst.List)) else ()
                    if len(taken) == len(target.elements):
                        found.append((taken[places[0]].value, None))
                    else:
                        found.append((value, places[0]))
                case _:
                    return None
        return found

    def returned(self, call: cst.Call) -> list[cst.BaseExpression]:
        """Return the possible results of the called function or method, if it is in this file."""
        name = call.func.attr.value if isinstance(call.func, cst.Attribute) else None
        function = self.functions.get(call.func.value) if isinstance(call.func, cst.Name) else None
        if name is not None and (method := self.functions.get(name)) is not None and self._of_class(method):
            function = method
        if function is None:
            return []
        return [each.value for each in self.returns(function) if each.value is not None]

    def read_as(self, attribute: cst.Attribute) -> list[cst.BaseExpression]:
        """Return the possible values of the read property, if its class is in this file."""
        method = self.functions.get(attribute.attr.value)
        if method is None or not any(_PROPERTY.search(self.code(each.decorator)) for each in method.decorators):
            return []
        return [each.value for each in self.returns(method) if each.value is not None]

    def _of_class(self, function: cst.FunctionDef) -> bool:
        above = self.parent.get(function)
        return isinstance(above, cst.IndentedBlock) and isinstance(self.parent.get(above), cst.ClassDef)

    def of_torch(self, function: str) -> Iterator[cst.Call]:
        """Yield the calls of `torch.cuda.<function>`."""
        for call in self.calls(function):
            if self.is_of_torch(call, function):
                yield call

    def is_of_torch(self, call: cst.Call, function: str) -> bool:
        """Return whether the call is of `torch.cuda.<function>`."""
        if isinstance(call.func, cst.Attribute | cst.Call):
            return re.fullmatch(rf"(?:.*\.)?cuda\.{function}", self.code_of(call.func)) is not None
        if isinstance(call.func, cst.Name):
            statement = self.imported(call.func)
            if statement is not None and not isinstance(statement.names, cst.ImportStar):
                spelled = {
                    self.code(each.asname.name if each.asname is not None else each.name): self.code(each.name)
                    for each in statement.names
                }
                return self._module(statement) == "torch.cuda" and spelled.get(call.func.value) == function
            # `capability = torch.cuda.get_device_capability`, and then `capability()`
            values = self.values(call.func)
            return len(values) == 1 and re.fullmatch(rf"(?:.*\.)?cuda\.{function}", self.code_of(values[0])) is not None
        return False

    def code_of(self, node: cst.BaseExpression | None) -> str:
        """Return the text of an attribute, also of `getattr(torch.cuda, "name")`; empty for other expressions."""
        match node:
            case cst.Attribute():
                return self.code(node)
            case cst.Call(func=cst.Name("getattr"), args=[cst.Arg(of), cst.Arg(cst.SimpleString() as name), *_]):
                return f"{self.code(of)}.{self.text(name)}"
        return ""

    def _module(self, statement: cst.ImportFrom) -> str:
        return self.code(statement.module) if statement.module is not None else ""

    def torch(self, node: cst.CSTNode) -> str | None:
        """Return the name of PyTorch at `node`, or None if it is not imported as a whole."""
        around = {id(above) for above, _ in self.ancestors(node)}
        for each in self.imports:
            if isinstance(each, cst.Import):
                function = self.function(each)
                if function is None or id(function) in around:
                    for alias in each.names:
                        module = self.code(alias.name)
                        if alias.asname is None and module.partition(".")[0] == "torch":
                            return "torch"
                        if alias.asname is not None and module == "torch":
                            return self.code(alias.asname.name)
        return None

    def copes(self, node: cst.CSTNode, errors: str, depth: int = 0) -> bool:
        """Return whether one of the `errors` (a regular expression) at `node` is expected and handled.

        In a function, the calls count, if all of them in this file handle it.
        """
        wanted = re.compile(rf"\b(?:{errors})\b")
        for above, child in self.ancestors(node):
            if isinstance(above, (cst.Try, cst.TryStar)) and child is above.body:
                for handler in above.handlers:
                    code = self.code(handler.type) if handler.type is not None else "Exception"
                    if (wanted.search(code) or _ANY_ERROR.search(code)) and not self.stops(handler.body):
                        return True
            elif isinstance(above, cst.With) and child is above.body:
                for item in above.items:
                    code = self.code(item.item)
                    if _EXPECTS.search(code) and (wanted.search(code) or _ANY_ERROR.search(code)):
                        return True
        function = self.function(node)
        places = self._uses(function) if function is not None and depth < 4 else []
        return bool(places) and all(self.copes(place, errors, depth + 1) for place in places)

    def function_code(self, node: cst.CSTNode) -> str:
        """Return the text of the function around `node`, or of its statement if there is none."""
        return self.code(self.function(node) or self.statement(node) or node)

    def and_on_cuda(self, test: cst.BaseExpression, neutral: bool) -> tuple[Edit, ...]:
        """Return the edits that make a condition `neutral` on ROCm and keep it elsewhere; none without torch."""
        torch = self.torch(test)
        if torch is None:
            return ()
        span = self.source.span(test)
        asked = f"{torch}.version.hip is not None" if neutral else f"{torch}.version.hip is None"
        joined = " or " if neutral else " and "
        # A name that a condition binds is bound on ROCm, too: it may be read later.
        names = any(isinstance(each, cst.NamedExpr) for each in self.nodes_below(test))
        before, after = ("", f"{joined}{asked}") if names else (f"{asked}{joined}", "")
        above = self.parent[test]
        if test.lpar:
            plain = True
        elif isinstance(above, cst.BooleanOperation):
            plain = isinstance(above.operator, cst.Or if neutral else cst.And)
        else:
            plain = not isinstance(
                above, (cst.UnaryOperation, cst.Comparison, cst.ComparisonTarget, cst.BinaryOperation, cst.Await)
            ) and not (isinstance(above, cst.IfExp) and test is not above.test)
        if not plain:
            before, after = f"({before}", f"{after})"
        places = ((span.start, before), (span.end, after))
        return tuple(Edit(Span(place, place), text.encode()) for place, text in places if text)


def _operands(test: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield test
    if isinstance(test, cst.BooleanOperation):
        yield from _operands(test.left)
        yield from _operands(test.right)


def finding(
    program: PythonProgram, node: cst.CSTNode, kind: str, message: str, edits: tuple[Edit, ...] = ()
) -> Finding:
    """Return a REVIEW finding, or a MANUAL one if there are no edits."""
    certainty = Certainty.REVIEW if edits else Certainty.MANUAL
    return Finding(program.source.span(node), kind, message, edits, certainty)
