# SPDX-License-Identifier: Apache-2.0
"""Trace a value in a Python file: through names, attributes, parameters, functions, tuples and tables.

Nothing is run. Each hop is visible in the file: an assignment, an argument of a call, a function's result, an attribute
that the class or its `__init__` sets, an element of a tuple, a list or a dictionary.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import libcst as cst

from hipport.core.tables import Words
from hipport.program.script_names import Binding
from hipport.syntax.python_script import Python
from hipport_passes.python.runtime.python_program import PythonProgram

#: Any element of a list that a loop iterates over.
EACH = "*"
#: The selected element of a value: a number, a key, any (`EACH`); None for the value itself.
Part = int | str | None
ValueOrigin = tuple[cst.BaseExpression, Part]

# The depth of nested calls and tables; handwritten programs stay below it.
_DEEPEST = 8
# A function with more calls, or a name with more values, may have any argument or value.
_MOST = 64
_WORDS = Words.read(Path(__file__).with_name("capability_reader.toml"))
_ENUM = _WORDS.compile(r"(?:^|\.)\w*(?&enumerations)$")
_DATA = _WORDS.compile(r"\b(?&data)\b")


class _Bound(NamedTuple):
    """The bindings that give a name its values; if all are in one block, its lines, in the order of the text."""

    bindings: list[Binding]
    block: cst.CSTNode | None
    lines: list[int]


class Origins:
    """The possible values of a file's expressions."""

    def __init__(self, program: PythonProgram) -> None:
        self.program = program
        self._known: dict[cst.BaseExpression, tuple[ValueOrigin, ...]] = {}
        self._globals: dict[str, list[cst.FunctionDef]] = {}
        self._classes: dict[str, cst.ClassDef] = {}
        self._functions: dict[tuple[str, bool], list[cst.FunctionDef]] = {}
        self._of_names: dict[tuple[cst.CSTNode | None, str, cst.ClassDef | None], _Bound] = {}
        self._in_classes: dict[str, bool] = {}
        for node in program.nodes:
            match node:
                case cst.Global(names=names):
                    function = program.function(node)
                    for each in names if function is not None else ():
                        assert function is not None
                        self._globals.setdefault(each.name.value, []).append(function)
                case cst.ClassDef(name=cst.Name(name)):
                    self._classes.setdefault(name, node)
                case cst.FunctionDef(name=cst.Name(name)):
                    self._functions.setdefault((name, self._owner(node) is not None), []).append(node)

    def of(self, node: cst.BaseExpression, part: Part = None, depth: int = 0) -> list[ValueOrigin]:
        """Return the origins of `part` of the value at `node`, one hop back; empty if they are unknown."""
        if depth > _DEEPEST:
            return []
        if part is None:
            return [
                origin
                for value, of_value in self.back(node)
                for origin in ([(value, None)] if of_value is None else self._part(value, of_value, depth + 1))
            ]
        return self._part(node, part, depth)

    def _part(self, value: cst.BaseExpression, part: Part, depth: int) -> list[ValueOrigin]:
        """Return the element itself if the value is literal, else the expression that has the part."""
        match value:
            case cst.Tuple() | cst.List() | cst.Set() if not any(
                isinstance(each, cst.StarredElement) for each in value.elements
            ):
                if part == EACH:
                    return [(each.value, None) for each in value.elements]
                if isinstance(part, int) and -len(value.elements) <= part < len(value.elements):
                    return [(value.elements[part].value, None)]
                return []
            case cst.Dict():
                return [
                    (each.value, None)
                    for each in value.elements
                    if isinstance(each, cst.DictElement) and (part == EACH or self._key(each.key) == part)
                ]
            case cst.ListComp() | cst.SetComp() | cst.GeneratorExp():
                return [(value.elt, None)]
            case cst.Call(func=cst.Name("dict")) if not isinstance(part, int):
                return [(each.value, None) for each in value.args if each.keyword and each.keyword.value == part]
        found: list[ValueOrigin] = []
        for origin, inner in self.back(value) if depth <= _DEEPEST else ():
            whole = [(origin, None)] if inner is None else self._part(origin, inner, depth + 1)
            found += [each for deeper, rest in whole if rest is None for each in self._part(deeper, part, depth + 1)]
        return found or [(value, part)]

    def _key(self, node: cst.BaseExpression | None) -> Part:
        match node:
            case cst.Integer(value):
                return int(value, 0) if value.isdigit() else None
            case cst.UnaryOperation(operator=cst.Minus(), expression=cst.Integer(value)):
                return -int(value) if value.isdigit() else None
            case cst.SimpleString():
                return self.program.text(node)
        return None

    def attributes(self, name: str) -> list[cst.BaseExpression]:
        """Return the values that the file's classes give an attribute of that name, whichever class is meant."""
        return [value for each in self._classes.values() for value, _ in self._class_attributes(each, name)]

    def bases(self, name: str) -> list[str]:
        """Return the bases of a class of the file."""
        owner = self._classes.get(name)
        return [self.program.code(base.value) for base in owner.bases] if owner is not None else []

    def reads(self, node: cst.BaseExpression) -> list[cst.Name | cst.Attribute | cst.Subscript]:
        """Return the reads that give the value at `node` and no other."""
        return self._reads.get(node, [])

    @cached_property
    def _reads(self) -> dict[cst.BaseExpression, list[cst.Name | cst.Attribute | cst.Subscript]]:
        found: dict[cst.BaseExpression, list[cst.Name | cst.Attribute | cst.Subscript]] = {}
        for each in self.program.nodes:
            if isinstance(each, cst.Name | cst.Attribute | cst.Subscript):
                above = self.program.parent[each]
                if not (isinstance(above, cst.Attribute) and above.attr is each):
                    match self.of(each):
                        case [(value, None)]:
                            found.setdefault(value, []).append(each)
        return found

    def back(self, node: cst.BaseExpression) -> tuple[ValueOrigin, ...]:
        """Return the origins of the value at `node`, each with its part."""
        if node not in self._known:
            self._known[node] = ()  # A cycle has no origin.
            self._known[node] = self._back(node)
        return self._known[node]

    def _back(self, node: cst.BaseExpression) -> tuple[ValueOrigin, ...]:
        program = self.program
        match node:
            case cst.Name():
                return tuple(self._of_name(node))
            case cst.Attribute():
                return tuple(self._of_attribute(node, node.value, node.attr.value))
            case cst.Call(func=cst.Name("getattr"), args=[cst.Arg(of), cst.Arg(cst.SimpleString() as name), *_]):
                return tuple(self._of_attribute(node, of, program.text(name)))
            case cst.Call(
                func=cst.Name("min" | "max" | "next" | "iter") as function, args=[cst.Arg(values, keyword=None), *_]
            ) if not program.bound(function):
                return ((values, EACH),)
            case cst.Call(func=cst.Attribute(value=table, attr=cst.Name("get")), args=[cst.Arg(key), *rest]):
                part = self._key(key)
                return (((table, part),) if part is not None else ()) + tuple((each.value, None) for each in rest[:1])
            case cst.Call():
                return tuple((each, None) for each in self._returned(node))
            case cst.Subscript(value=value, slice=[cst.SubscriptElement(cst.Index(key))]):
                part = self._key(key)
                return ((value, part),) if part is not None else ()
            case cst.IfExp():
                return ((node.body, None), (node.orelse, None))
            case cst.BooleanOperation():
                return ((node.left, None), (node.right, None))
            case cst.NamedExpr(value=value) | cst.Await(expression=value):
                return ((value, None),)
        return ()

    def _returned(self, call: cst.Call) -> Iterator[cst.BaseExpression]:
        yield from self.program.returned(call)
        if isinstance(call.func, cst.Name):
            for binding in self.program.bound(call.func):
                if isinstance(binding.value, cst.Lambda):
                    yield binding.value.body
        # A method with another name than the file's functions is found above; a constructor, here.
        elif isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Name):
            owner = self._classes.get(call.func.value.value)
            for each in owner.body.body if owner is not None else ():
                if isinstance(each, cst.FunctionDef) and each.name.value == call.func.attr.value:
                    known = self.program.functions.get(each.name.value)
                    yield from (
                        r.value for r in self.program.returns(each) if r.value is not None and known is not each
                    )

    def _of_name(self, name: cst.Name) -> Iterator[ValueOrigin]:
        program = self.program
        if (loop := program.comprehended(name)) is not None:
            if isinstance(loop.target, cst.Name):
                yield loop.iter, EACH
            return
        bound = self._bound(name)
        bindings = self._last(name, bound)
        if len(bindings) > _MOST:
            return
        for binding in bindings:
            match binding.node:
                case cst.Param() if binding.how == "parameter":
                    if binding.value is not None:
                        yield binding.value, None
                    yield from self._arguments(binding.node)
                case cst.For(target=cst.Name(), iter=gone_through):
                    yield gone_through, EACH
                case cst.Assign() | cst.AnnAssign() | cst.NamedExpr():
                    yield from self._assigned(binding.node, program.code(name))

    def _bound(self, name: cst.Name) -> _Bound:
        """Return the bindings that give a name its values, computed once for all its uses."""
        program = self.program
        scope = program.scope(name, name.value)
        key = (scope, name.value)
        own: cst.ClassDef | None = None
        if scope is None:
            if name.value not in self._in_classes:
                bindings = program.bindings.get(key, ())
                self._in_classes[name.value] = any(self._class_body(each.node) is not None for each in bindings)
            # A name that a class body sets is read by its bare name only there.
            own = self._class_body(name) if self._in_classes[name.value] else None
        place = (*key, own)
        if place not in self._of_names:
            bindings = list(program.bindings.get(key, ()))
            if scope is None:
                bindings = [each for each in bindings if self._class_body(each.node) in (None, own)]
                for function in self._globals.get(name.value, ()):
                    bindings += program.bindings.get((function, name.value), [])
            self._of_names[place] = self._in_order(bindings)
        return self._of_names[place]

    def _in_order(self, bindings: list[Binding]) -> _Bound:
        """Return bindings in the order of the text where all are in one block, one after the other."""
        program = self.program
        lines = [program.statement(each.node) for each in bindings if each.node in program.parent]
        blocks = {program.parent[line] for line in lines if line is not None}
        if len(bindings) < 2 or len(blocks) != 1 or None in lines or any(each.how != "is" for each in bindings):
            return _Bound(bindings, None, [])
        (block,) = blocks
        if not isinstance(block, cst.Module | cst.IndentedBlock):
            return _Bound(bindings, None, [])
        bindings = sorted(bindings, key=lambda each: program.order[each.node])
        return _Bound(bindings, block, [program.order[line] for line in map(self._line, bindings)])

    def _line(self, binding: Binding) -> cst.CSTNode:
        line = self.program.statement(binding.node)
        assert line is not None
        return line

    def _last(self, name: cst.Name, bound: _Bound) -> list[Binding]:
        """Leave out overwritten values of a name that is assigned several times in order: `c = f()`, `c = c[0]`."""
        program = self.program
        if bound.block is None:
            return bound.bindings
        below: cst.CSTNode = name
        in_function = False
        for above, child in program.ancestors(name):
            in_function = in_function or isinstance(child, cst.FunctionDef)
            if above is bound.block:
                below = child
                break
        else:
            return bound.bindings[-1:]
        before = bisect_left(bound.lines, program.order[below])
        return [bound.bindings[before - 1]] if before and not in_function else bound.bindings[-1:]

    def _class_body(self, node: cst.CSTNode) -> cst.ClassDef | None:
        """Return the class whose body contains the node outside of functions."""
        around = (each for each in self.program.scopes(node) if isinstance(each, (cst.FunctionDef, cst.ClassDef)))
        innermost = next(around, None)
        return innermost if isinstance(innermost, cst.ClassDef) else None

    def _assigned(self, node: cst.Assign | cst.AnnAssign | cst.NamedExpr, wanted: str) -> Iterator[ValueOrigin]:
        """Yield the values that an assignment gives to the target `wanted`."""
        if node.value is None:
            return
        targets = [each.target for each in node.targets] if isinstance(node, cst.Assign) else [node.target]
        for target in targets:
            if self.program.code(target) == wanted:
                yield node.value, None
            elif isinstance(target, cst.Tuple | cst.List):
                elements = target.elements
                if any(isinstance(each, cst.StarredElement) for each in elements):
                    elements = elements[: [isinstance(each, cst.StarredElement) for each in elements].index(True)]
                yield from (
                    (node.value, i) for i, each in enumerate(elements) if self.program.code(each.value) == wanted
                )

    def _arguments(self, parameter: cst.Param) -> list[ValueOrigin]:
        """Return the arguments in the file's calls for a parameter; nothing where there are many."""
        program = self.program
        function = program.function(parameter) if parameter in program.parent else None
        if function is None:
            return []
        name = function.name.value
        owner = self._owner(function)
        if name == "__init__" and owner is not None:
            calls = program.calls(owner.name.value)
        else:
            # The call may be of another function with that name.
            if len(self._functions.get((name, owner is not None), ())) != 1:
                return []
            calls = [
                call for call in program.calls(name) if isinstance(call.func, cst.Attribute) == (owner is not None)
            ]
        given = [self._argument(call, function, parameter) for call in calls] if len(calls) <= _MOST else []
        return [each for each in given if each is not None]

    def _argument(self, call: cst.Call, function: cst.FunctionDef, parameter: cst.Param) -> ValueOrigin | None:
        """Return the argument that a call passes for a parameter, also from an unpacked value: `f(*capability)`."""
        value = self.program.argument(call, function, parameter)
        if value is not None:
            return value, None
        match call.args:
            case [cst.Arg(star="*", value=row)]:
                positions = [each.name.value for each in (*function.params.posonly_params, *function.params.params)]
                if self._owner(function) is not None and positions[:1] in (["self"], ["cls"]):
                    positions = positions[1:]
                if parameter.name.value in positions:
                    return row, positions.index(parameter.name.value)
        return None

    def _owner(self, function: cst.FunctionDef) -> cst.ClassDef | None:
        above = self.program.parent.get(self.program.parent[function])
        return above if isinstance(above, cst.ClassDef) else None

    def _of_attribute(self, node: cst.BaseExpression, of: cst.BaseExpression, name: str) -> Iterator[ValueOrigin]:
        program = self.program
        if isinstance(node, cst.Attribute):
            yield from ((each, None) for each in program.read_as(node))
        # `self.x = …` anywhere, as in scripts: the object is not considered.
        for binding in program.bindings.get((None, f".{name}"), ()):
            match binding.node:
                case cst.Assign() | cst.AnnAssign() | cst.NamedExpr() as statement:
                    written = [
                        program.code(each)
                        for each in self._targets(statement)
                        if isinstance(each, cst.Attribute) and each.attr.value == name
                    ]
                    for wanted in dict.fromkeys(written):
                        yield from self._assigned(statement, wanted)
        for owner in self._owners(of):
            yield from self._class_attributes(owner, name)
        # `Arch.HOPPER.value`
        if name == "value" and isinstance(of, cst.Attribute):
            for owner in self._owners(of.value):
                if any(_ENUM.search(base) for base in self.bases(owner.name.value)):
                    yield of, None

    def _targets(self, node: cst.Assign | cst.AnnAssign | cst.NamedExpr) -> Iterator[cst.BaseExpression]:
        for target in [each.target for each in node.targets] if isinstance(node, cst.Assign) else [node.target]:
            if isinstance(target, cst.Tuple | cst.List):
                yield from (each.value for each in target.elements)
            else:
                yield target

    def _owners(self, of: cst.BaseExpression, depth: int = 0) -> list[cst.ClassDef]:
        """Return the file's classes that the object of an attribute is, or is an instance of."""
        program = self.program
        if depth > 2:
            return []
        match of:
            case cst.Name("self" | "cls"):
                around = program.class_around(of)
                return [around] if around is not None else []
            case cst.Name(name) if name in self._classes:
                return [self._classes[name]]
            case cst.Call(func=cst.Name(name)) if name in self._classes:
                return [self._classes[name]]
            case cst.Call(func=cst.Name("type"), args=[cst.Arg(value)]):
                return self._owners(value, depth + 1)
        found = [each for value, part in self.back(of) if part is None for each in self._owners(value, depth + 1)]
        if isinstance(of, cst.Name):
            for binding in program.bound(of):
                annotation = getattr(binding.node, "annotation", None)
                if isinstance(annotation, cst.Annotation):
                    name = program.code(annotation.annotation).strip("\"'")
                    found += [self._classes[name]] if name in self._classes else []
        return found

    def _class_attributes(self, owner: cst.ClassDef, name: str) -> list[ValueOrigin]:
        """Return the values of a class attribute: in its body, its bases', and, for a field, in constructor calls."""
        program = self.program
        found: list[ValueOrigin] = []
        waiting, seen = [owner], set()
        while waiting:
            each = waiting.pop()
            if each in seen:
                continue
            seen.add(each)
            fields: list[str] = []
            for line in each.body.body:
                for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
                    if isinstance(small, cst.Assign | cst.AnnAssign):
                        found += self._assigned(small, name)
                    if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
                        fields.append(small.target.value)
            said = [program.code(a.decorator) for a in each.decorators] + [program.code(base) for base in each.bases]
            if name in fields and any(_DATA.search(word) for word in said):
                calls = program.calls(each.name.value)
                for call in calls if len(calls) <= _MOST else ():
                    found += self._field(call, name, fields.index(name))
            names = [base.value.value for base in each.bases if isinstance(base.value, cst.Name)]
            waiting += [self._classes[base] for base in names if base in self._classes]
        return found

    @staticmethod
    def _field(call: cst.Call, name: str, index: int) -> Iterator[ValueOrigin]:
        yield from ((each.value, None) for each in call.args if each.keyword is not None and each.keyword.value == name)
        if len(call.args) == 1 and call.args[0].star == "*":
            yield call.args[0].value, index
        elif index < len(call.args) and call.args[index].keyword is None and not call.args[index].star:
            yield call.args[index].value, None


def origins(source: Python) -> Origins:
    """Return the origins of the values of a file. A fact of the file."""
    return Origins(source.fact(PythonProgram))
