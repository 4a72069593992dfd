# SPDX-License-Identifier: Apache-2.0
"""Find the expressions of a file whose values are derived from a compute capability, in whatever way.

`capability_reader` knows how a value is made from a capability. This module only says that it is: values are followed
through loops, comprehensions, lambdas, lists and tables that are filled, and functions that pass on their arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from hipport.core.tables import one_of
from hipport.program.script_names import called
from hipport_passes.python.runtime.capability_reader import WORDS, Reader
from hipport_passes.python.runtime.python_program import PythonProgram

# Functions and methods whose result contains their arguments.
_PASSES_ON = re.compile(one_of(WORDS["passes_on"]))
_ASKS = "cuda.get_device_capability"
_ARCH_LIST = "TORCH_CUDA_ARCH_LIST"
_FILLS = ("add", "update", "setdefault", "appendleft", "put")
_PARTS = re.compile(rf"\b{one_of(WORDS['parts'])}\b")
# What stands for the names of an object or a module, with their values: `self.__dict__`, `vars(self)`, `globals()`.
_NAMESPACES = WORDS["namespaces"].split()
_SETS = ("setattr", "__setattr__")
# The depth of values in values; handwritten programs stay below it.
_DEEPEST = 24


class Traces:
    """The expressions derived from a compute capability or, with `of_build`, from a build's list of architectures."""

    def __init__(self, program: PythonProgram, reader: Reader, *, of_build: bool = False) -> None:
        self.program, self.reader, self.of_build = program, reader, of_build
        self._found: dict[cst.CSTNode, bool] = {}
        self._names: dict[tuple[cst.CSTNode | None, str], bool] = {}
        #: The values put into tables and lists, `caps[i] = …`, `caps.add(…)`, by table, each with its key if it is
        #: literal.
        self._put: dict[str, list[tuple[str, cst.BaseExpression]]] = {}
        #: The values that a loop iterates over, or that are unpacked, by the names that receive their items.
        self._unpacked: dict[tuple[cst.CSTNode | None, str], list[cst.BaseExpression]] = {}
        #: What is given to attributes and names by their text: the expression that has the name, and the value.
        self._by_text: list[tuple[cst.BaseExpression, cst.BaseExpression]] = []
        self._texts: dict[cst.BaseExpression, frozenset[str]] = {}
        for node in program.nodes:
            self._by_text += self._set_by_text(node)
            match node:
                case cst.Assign(targets=[cst.AssignTarget(cst.Subscript(value=table) as target)], value=value):
                    self._put.setdefault(program.code(table), []).append((program.key(target), value))
                    self._put[program.code(table)] += [("", each) for each in _keys(target)]
                case cst.Call(func=cst.Attribute(value=cst.Name(name), attr=cst.Name(method)), args=args) if (
                    method in _FILLS
                ):
                    self._put.setdefault(name, []).extend(("", each.value) for each in args)
                case cst.For(target=target, iter=value):
                    self._taken_apart(node, target, value)
                case cst.With(items=items):
                    for item in items:
                        if item.asname is not None:
                            self._taken_apart(node, item.asname.name, item.item)
                case cst.Assign(targets=targets, value=value):
                    for each in targets:
                        if isinstance(each.target, cst.Tuple | cst.List):
                            self._taken_apart(node, each.target, value)
                case cst.MatchCase(pattern=pattern):
                    subject = program.parent[node]
                    assert isinstance(subject, cst.Match)
                    for captured in _captured(pattern):
                        key = (program.function(node), captured)
                        self._unpacked.setdefault(key, []).append(subject.subject)

    def _set_by_text(self, node: cst.CSTNode) -> list[tuple[cst.BaseExpression, cst.BaseExpression]]:
        """Return the names that something is given to by their text, each with what it is given."""
        match node:
            case cst.Call(func=cst.Name(function) | cst.Attribute(attr=cst.Name(function)), args=args) if (
                function in _SETS and len(args) > 1
            ):
                return [(args[-2].value, args[-1].value)]
            case cst.Call(func=cst.Attribute(value=of, attr=cst.Name("update")), args=args) if not isinstance(
                of, cst.Name
            ) and _is_namespace(self.program.code(of)):
                return [(each.keyword or each.value, each.value) for each in args]
            case cst.Assign(targets=[cst.AssignTarget(cst.Subscript(value=table) as target)], value=value) if (
                not isinstance(table, cst.Name) and _is_namespace(self.program.code(table))
            ):
                return [(each, value) for each in _keys(target)]
        return []

    def _taken_apart(self, node: cst.CSTNode, target: cst.CSTNode, value: cst.BaseExpression) -> None:
        for each in self.program.nodes_below(target):
            if isinstance(each, cst.Name):
                self._unpacked.setdefault((self.program.function(node), each.value), []).append(value)

    def touches(self, node: cst.BaseExpression, depth: int = 0) -> bool:
        """Say whether the value of an expression is derived from a capability."""
        if depth > _DEEPEST:
            return False
        if node not in self._found:
            self._found[node] = False  # the answer for a cycle
            self._found[node] = self._is_source(node) or self._touches(node, depth + 1)
        return self._found[node]

    def gone_through(self, name: cst.Name) -> list[cst.BaseExpression]:
        """Return the values from which a loop, or an assignment to several names, takes `name`."""
        return self._unpacked.get((self.program.function(name), name.value), [])

    def _is_source(self, node: cst.BaseExpression) -> bool:
        program = self.program
        if self.of_build:
            match node:
                case cst.Subscript(value=value):
                    return program.key(node) == _ARCH_LIST and program.code(value).endswith("environ")
                case cst.Call(func=cst.Attribute(attr=cst.Name("get" | "getenv" | "pop")) | cst.Name("getenv")):
                    return bool(node.args) and program.text(node.args[0].value) == _ARCH_LIST
            return False
        match node:
            case cst.Attribute(attr=cst.Name("compute_capability")) if not self.reader.origins.of(node):
                return True
            case cst.Subscript() if program.key(node) == "compute_capability" and not self.reader.origins.of(node):
                return True
            case cst.Name() | cst.Attribute() if self._asks(node):
                return True
        return self.reader.kind(node) not in (None, "properties")

    def _any(self, nodes: Iterator[cst.BaseExpression] | list[cst.BaseExpression], depth: int) -> bool:
        return any(self.touches(each, depth) for each in nodes)

    def _touches(self, node: cst.BaseExpression, depth: int) -> bool:
        match node:
            case cst.Name():
                return self._touches_name(node, depth)
            case cst.Attribute(value=value, attr=cst.Name(name)):
                values = [each for each, _ in self.reader.origins.of(node)]
                return (
                    self._any(values, depth) or self._is_field(value, name, depth) or self._is_set_by_text(name, depth)
                )
            case cst.Subscript(value=value):
                key = self.program.key(node)
                put = [each for of, each in self._put.get(self.program.code(value), ()) if key and of == key]
                return self.touches(value, depth) or self._any(put, depth)
            case cst.Call():
                return self._touches_call(node, depth)
            case cst.Lambda(body=body):
                return self.touches(body, depth)
            case cst.Dict(elements=elements):
                return self._any([each.value for each in elements], depth)
        return self._any(_made_of(node), depth)

    def _is_field(self, of: cst.BaseExpression, name: str, depth: int) -> bool:
        """`SimpleNamespace(sm=major * 10).sm`, `Device(*capability).major`, `SimpleNamespace(**values).major`"""
        made = [each for each, part in self.reader.origins.of(of) if part is None and isinstance(each, cst.Call)]
        if isinstance(of, cst.Call):
            made.append(of)
        given = [
            argument
            for call in made
            if isinstance(call, cst.Call) and not isinstance(call.func, cst.Attribute)
            for argument in call.args
        ]
        return self._any(
            [
                each.value
                for each in given
                if (each.keyword is not None and each.keyword.value == name)
                or (each.star and self._has_text(each.value, name))
            ],
            depth,
        )

    def _is_set_by_text(self, name: str, depth: int) -> bool:
        """`setattr(self, name, value)`, `self.__dict__.update(zip(names, values))`"""
        return self._any([value for text, value in self._by_text if self._has_text(text, name)], depth)

    def _has_text(self, node: cst.BaseExpression, name: str) -> bool:
        """Say whether an expression may be the text `name`, or a table with that key; without a known text it may."""
        if isinstance(node, cst.Name) and isinstance(self.program.parent[node], cst.Arg):
            argument = self.program.parent[node]
            if isinstance(argument, cst.Arg) and argument.keyword is node:
                return node.value == name
        if node not in self._texts:
            self._texts[node] = frozenset(self._written(node, 0))
        return not self._texts[node] or name in self._texts[node]

    def _written(self, node: cst.BaseExpression, depth: int) -> Iterator[str]:
        """Yield the texts in an expression, and in what its names are or go through."""
        for each in self.program.nodes_below(node):
            if isinstance(each, cst.SimpleString):
                yield self.program.text(each)
            elif isinstance(each, cst.Name) and depth < 4:
                loop = self.program.comprehended(each)
                origins = [value for value, _ in self.reader.origins.of(each)]
                for value in origins or ([loop.iter] if loop is not None else self.gone_through(each)):
                    yield from self._written(value, depth + 1)

    def _touches_name(self, name: cst.Name, depth: int) -> bool:
        program = self.program
        if (loop := program.comprehended(name)) is not None:
            return self.touches(loop.iter, depth)
        for above, child in program.ancestors(name):
            if isinstance(above, cst.Lambda) and child is not above.params:
                if any(each.name.value == name.value for each in above.params.params):
                    return self._any(self._given(above), depth)
            elif isinstance(above, cst.FunctionDef | cst.ClassDef):
                break
        key = (program.scope(name, name.value), name.value)
        if key not in self._names:
            self._names[key] = False
            self._names[key] = self._touches_key(name, key, depth)
        return self._names[key]

    def _touches_key(self, name: cst.Name, key: tuple[cst.CSTNode | None, str], depth: int) -> bool:
        origins = self.reader.origins.of(name)
        known = bool(origins) and all(part is None for _, part in origins)
        if self._any([value for value, _ in origins], depth):
            return True
        places = dict.fromkeys((key, (self.program.function(name), name.value)))
        # A fact about one element does not hold for all.
        taken_apart = [value for place in places for value in self._unpacked.get(place, ()) if not known]
        added = [each.value for each in self.program.bindings.get(key, ()) if each.how != "parameter" and each.value]
        put = [each for _, each in self._put.get(name.value, ())]
        if self._any([*taken_apart, *added, *put], depth):
            return True
        return not self.program.bound(name) and self._is_set_by_text(name.value, depth)

    def _given(self, function: cst.Lambda) -> Iterator[cst.BaseExpression]:
        """Yield the possible arguments of a lambda: those of the call that receives it, or that calls it."""
        above = self.program.parent[function]
        call = self.program.parent[above] if isinstance(above, cst.Arg) else above
        for each in call.args if isinstance(call, cst.Call) else ():
            if each.value is not function:
                yield each.value

    def _touches_call(self, call: cst.Call, depth: int) -> bool:
        program = self.program
        function = call.func
        given = [each.value for each in call.args]
        name = function.attr.value if isinstance(function, cst.Attribute) else ""
        name = function.value if isinstance(function, cst.Name) else name
        if isinstance(function, cst.Call):
            name = called(function)  # `itemgetter(0)(capability)`
        if self._any([each for each, _ in self.reader.origins.of(call)], depth):
            return True
        if isinstance(function, cst.Call | cst.Name) and self.touches(function, depth):
            return True
        match call:
            case cst.Call(func=cst.Name("getattr"), args=[_, cst.Arg(cst.SimpleString() as text), *_]):
                if self._is_set_by_text(program.text(text), depth):
                    return True
        if self._any(self._yielded(name), depth):
            return True
        if isinstance(function, cst.Attribute) and self.touches(function.value, depth):
            return True
        of_properties = not self.of_build and any(self.reader.kind(each) == "properties" for each in given)
        if of_properties and (_PARTS.search(program.code(call)) or name in ("vars", "asdict")):
            return True
        is_parameter = isinstance(function, cst.Name) and any(
            each.how == "parameter" for each in program.bound(function)
        )
        passes_on = name in program.classes or _PASSES_ON.fullmatch(name) is not None
        return passes_on and not is_parameter and self._any(given, depth)

    def _yielded(self, name: str) -> list[cst.BaseExpression]:
        """Return the values that a generator of the file yields."""
        function = self.program.functions.get(name)
        if function is None or b"yield" not in self.program.source.text:
            return []
        below = (each.value for each in self.program.nodes_below(function.body) if isinstance(each, cst.Yield))
        return [each for each in below if isinstance(each, cst.BaseExpression)]

    def _asks(self, node: cst.Name | cst.Attribute) -> bool:
        """`map(torch.cuda.get_device_capability, range(n))`: the function itself."""
        program = self.program
        if isinstance(node, cst.Attribute):
            return f".{program.code(node)}".endswith(f".{_ASKS}")
        line = program.imported(node)
        if line is None or isinstance(line.names, cst.ImportStar) or line.module is None:
            return False
        spelled = {
            program.code(each.asname.name if each.asname is not None else each.name): program.code(each.name)
            for each in line.names
        }
        return program.code(line.module) == "torch.cuda" and spelled.get(node.value) == "get_device_capability"


def _made_of(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the parts of an expression from which its value is made, unless it is a name, a call or a table."""
    match node:
        case cst.Tuple(elements=elements) | cst.List(elements=elements) | cst.Set(elements=elements):
            return [each.value for each in elements]
        case cst.ListComp(elt=made) | cst.SetComp(elt=made) | cst.GeneratorExp(elt=made) | cst.DictComp(value=made):
            return [made]
        case cst.IfExp(body=first, orelse=second):
            return [first, second]
        case cst.BooleanOperation(left=first, right=second) | cst.BinaryOperation(left=first, right=second):
            return [first, second]
        case cst.UnaryOperation(expression=only) | cst.NamedExpr(value=only) | cst.Await(expression=only):
            return [only]
        case cst.FormattedString(parts=parts):
            return [each.expression for each in parts if isinstance(each, cst.FormattedStringExpression)]
    return []


def _is_namespace(code: str) -> bool:
    return code.endswith("__dict__") or code.partition("(")[0] in _NAMESPACES


def _keys(target: cst.Subscript) -> Iterator[cst.BaseExpression]:
    for each in target.slice:
        if isinstance(each.slice, cst.Index):
            yield each.slice.value


def _captured(pattern: cst.MatchPattern) -> Iterator[str]:
    for each in PythonProgram.nodes_below(pattern):
        if isinstance(each, cst.MatchAs | cst.MatchStar) and each.name is not None:
            yield each.name.value
