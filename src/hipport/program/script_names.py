# SPDX-License-Identifier: Apache-2.0
"""The tree of a Python script, and the values of its names as far as static reading can tell; nothing is run."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from hipport.syntax.holes import HOLE
from hipport.syntax.python_script import Python, children, literal

_CONVERSION = re.compile(r"%(\(\w+\))?([-+ #0-9.]*)([a-z])")
_FIELD = re.compile(r"\{(\w*)([^{}\w][^{}]*)?\}")

# Compared by exact class: libcst's classes are abstract, and `isinstance` with those takes several times as long.
_LAYOUT = frozenset((cst.SimpleWhitespace, cst.ParenthesizedWhitespace, cst.Comma))
#: Nodes with names of their own.
Scope = cst.FunctionDef | cst.ClassDef | cst.ListComp | cst.SetComp | cst.GeneratorExp | cst.DictComp
#: Nodes that use a name, or bind one.
_NAMES = frozenset(
    (cst.Name, cst.FunctionDef, cst.Return, cst.Call, cst.Assign, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For)
) | {cst.ImportFrom, cst.Import}
#: Methods of lists that change them, and how.
_MUTATES = {"append": "appends", "extend": "adds", "insert": "inserts"}


@dataclass(frozen=True)
class Binding:
    """How a name gets a value: the binding `is` it, `adds`, `appends` or `inserts` it, or is a `parameter`."""

    how: str
    value: cst.BaseExpression | None
    node: cst.CSTNode


class ScriptNames:
    """A script's tree, and its names."""

    def __init__(self, source: Python) -> None:
        assert source.module is not None
        self.source = source
        self.module = source.module
        self.parent: dict[cst.CSTNode, cst.CSTNode] = {}
        self.nodes: list[cst.CSTNode] = []
        self._texts: dict[cst.CSTNode, str] = {}
        self._scopes: dict[cst.CSTNode, tuple[Scope, ...]] = {self.module: ()}
        stack: list[cst.CSTNode] = [self.module]
        while stack:
            node = stack.pop()
            self.nodes.append(node)
            inside = [child for child in children(node) if type(child) not in _LAYOUT]
            around = self._scopes[node]
            scopes = (node, *around) if isinstance(node, Scope) else around
            for child in inside:
                self.parent[child] = node
                self._scopes[child] = scopes
            stack += reversed(inside)
        self.bindings: dict[tuple[cst.CSTNode | None, str], list[Binding]] = {}
        self._calls: dict[str, list[cst.Call]] = {}
        self._named: dict[str, list[cst.Name]] = {}
        self._returns: dict[cst.FunctionDef, list[cst.Return]] = {}
        self.functions: dict[str, cst.FunctionDef] = {}
        self.classes = frozenset(node.name.value for node in self.nodes if isinstance(node, cst.ClassDef))
        self._collect()

    # The tree

    def ancestors(self, node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
        """Yield (ancestor, the child of it that leads to `node`), innermost first."""
        while node in self.parent:
            yield self.parent[node], node
            node = self.parent[node]

    def is_inside(self, node: cst.CSTNode, outer: cst.CSTNode) -> bool:
        """Say whether `node` is `outer`, or a descendant of it."""
        return self.order[outer] <= self.order[node] < self._ends[outer]

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """Return the innermost function that contains `node`."""
        return next((each for each in self.scopes(node) if isinstance(each, cst.FunctionDef)), None)

    def scopes(self, node: cst.CSTNode) -> tuple[Scope, ...]:
        """Return the functions, classes and comprehensions that contain `node`, the innermost first."""
        return self._scopes.get(node, ())

    def class_around(self, node: cst.CSTNode) -> cst.ClassDef | None:
        """Return the innermost class that contains `node`, also inside of its methods."""
        return next((each for each in self.scopes(node) if isinstance(each, cst.ClassDef)), None)

    def statement(self, node: cst.CSTNode) -> cst.SimpleStatementLine | None:
        """Return the line of simple statements that contains `node`."""
        for above, _ in self.ancestors(node):
            if isinstance(above, cst.SimpleStatementLine):
                return above
        return None

    def named(self, name: str) -> list[cst.Name]:
        """Return the places of the name, by itself or after a dot."""
        return self._named.get(name, [])

    def quote(self, node: cst.CSTNode) -> str:
        """Return the quotes for a string that replaces `node`; "" if none is possible.

        Before Python 3.12 an expression in an f-string cannot use the quotes of the f-string.
        """
        around = {above.end[:1] for above, _ in self.ancestors(node) if isinstance(above, cst.FormattedString)}
        return next((quote for quote in ('"', "'") if quote not in around), "")

    def by_notebook(self, call: cst.Call) -> bool:
        """Say whether the call stands for a shell command of a notebook, which is read as a command."""
        return self.source.path.suffix == ".ipynb" and self.code(call.func) in (
            "get_ipython().system",
            "get_ipython().getoutput",
        )

    def calls(self, name: str) -> list[cst.Call]:
        """Return the calls of functions or methods of that name."""
        return self._calls.get(name, [])

    def code(self, node: cst.CSTNode) -> str:
        """Return the node's text."""
        text = self._texts.get(node)
        if text is None:
            text = self._texts[node] = self.module.code_for_node(node).strip()
        return text

    def text(self, node: cst.CSTNode | None, depth: int = 0) -> str:
        """Return the string value of an expression, with HOLE for parts that are known only when it runs."""
        if depth > 8:
            return HOLE
        match node:
            case cst.SimpleString():
                # Escapes are kept as written: no flag that matters has one.
                return HOLE if "b" in node.prefix else node.raw_value.replace("\r\n", "\n")
            case cst.ConcatenatedString():
                return self.text(node.left, depth + 1) + self.text(node.right, depth + 1)
            case cst.FormattedString():
                return "".join(
                    part.value.replace("{{", "{").replace("}}", "}")
                    if isinstance(part, cst.FormattedStringText)
                    else self._put(part, depth)
                    for part in node.parts
                )
            case cst.BinaryOperation(operator=cst.Add()):
                return self.text(node.left, depth + 1) + self.text(node.right, depth + 1)
            case cst.BinaryOperation(operator=cst.Modulo(), right=right):
                given = [each.value for each in right.elements] if isinstance(right, cst.Tuple) else [right]
                values = iter([self.constant(each, depth + 1) for each in given])
                return _CONVERSION.sub(lambda match: _converted(match, values), self.text(node.left, depth + 1))
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name("format")), args=arguments):
                return self._formatted(self.text(receiver, depth + 1), arguments, depth)
            case cst.Call(func=cst.Name("str"), args=[cst.Arg(value=value, star="")]):
                return self.constant(value, depth + 1)
            case cst.Name():
                found = self.bound(node)
                if len(found) == 1 and found[0].how == "is":
                    return self.text(found[0].value, depth + 1)
        return HOLE

    def constant(self, node: cst.CSTNode | None, depth: int = 0) -> str:
        """Return `str()` of an expression, with HOLE for parts that are known only when the script runs."""
        match node:
            case cst.Integer():
                return str(literal(node))
            case cst.Name("True" | "False"):
                return node.value
            case cst.Call(func=cst.Name("int"), args=[cst.Arg(value=value, star="")]):
                number = self.constant(value, depth + 1)
                number = {"True": "1", "False": "0"}.get(number, number)
                return number if number.isdecimal() else HOLE
            case cst.Name() if depth <= 8:
                found = self.bound(node)
                if len(found) == 1 and found[0].how == "is":
                    return self.constant(found[0].value, depth + 1)
        return self.text(node, depth + 1)

    def _put(self, part: cst.BaseFormattedStringContent, depth: int) -> str:
        """Return the text that an f-string inserts for a part in braces."""
        if not isinstance(part, cst.FormattedStringExpression) or part.conversion or part.equal:
            return HOLE
        match part.format_spec:
            case None | [] | [cst.FormattedStringText("d" | "s")]:
                pass
            case _:
                return HOLE
        return self.constant(part.expression, depth + 1)

    def _formatted(self, text: str, arguments: Sequence[cst.Arg], depth: int) -> str:
        """Return the result of `text.format(…)`."""
        given = {str(i): argument.value for i, argument in enumerate(arguments) if argument.keyword is None}
        given |= {argument.keyword.value: argument.value for argument in arguments if argument.keyword is not None}
        count = itertools.count()
        if any(argument.star for argument in arguments):
            given = {}

        def put(match: re.Match[str]) -> str:
            value = given.get(match[1] or str(next(count)))
            return self.constant(value, depth + 1) if match[2] in (None, ":d", ":s") else HOLE

        return _FIELD.sub(put, text)

    # Names

    def _collect(self) -> None:
        mutations: list[tuple[cst.CSTNode, str, Binding]] = []
        for node in self.nodes:
            if type(node) not in _NAMES:
                continue
            match node:
                case cst.Name():
                    self._named.setdefault(node.value, []).append(node)
                case cst.FunctionDef():
                    self.functions.setdefault(node.name.value, node)
                    for parameter in self.parameters(node):
                        binding = Binding("parameter", parameter.default, parameter)
                        self.bindings.setdefault((node, parameter.name.value), []).append(binding)
                case cst.Return() if node.value is not None and (function := self.function(node)) is not None:
                    self._returns.setdefault(function, []).append(node)
                case cst.AugAssign(operator=cst.AddAssign()):
                    mutations.append((node, key_of(node.target), Binding("adds", node.value, node)))
                case cst.Call():
                    self._calls.setdefault(called(node), []).append(node)
                    if isinstance(node.func, cst.Attribute) and node.func.attr.value in _MUTATES:
                        value = node.args[-1].value if node.args else None
                        binding = Binding(_MUTATES[node.func.attr.value], value, node)
                        mutations.append((node, key_of(node.func.value), binding))
                case _:
                    for target, value in _assigns(node):
                        self._assigned(target, value, node)
        for node, key, binding in mutations:
            if key:
                self.bindings.setdefault((self.scope(node, key), key), []).append(binding)

    def _assigned(self, target: cst.BaseExpression, value: cst.BaseExpression | None, node: cst.CSTNode) -> None:
        if isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self._assigned(element.value, None, node)
        elif key := key_of(target):
            scope = None if key.startswith(".") else self.function(node)
            self.bindings.setdefault((scope, key), []).append(Binding("is", value, node))

    @staticmethod
    def parameters(function: cst.FunctionDef) -> tuple[cst.Param, ...]:
        """Return the named parameters of a function."""
        parameters = function.params
        return (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params)

    def scope(self, node: cst.CSTNode, key: str) -> cst.CSTNode | None:
        """Return the function whose scope a name at `node` belongs to, or None for the module."""
        if key.startswith("."):
            return None
        for above in self.scopes(node):
            if isinstance(above, cst.FunctionDef) and any(
                binding.how in ("is", "parameter") for binding in self.bindings.get((above, key), ())
            ):
                return above
        return None

    def bound(self, node: cst.Name | cst.Attribute) -> list[Binding]:
        """Return all bindings of a name, or of an attribute of that name."""
        key = key_of(node)
        return self.bindings.get((self.scope(node, key), key), [])

    def bound_anywhere(self, name: str) -> list[Binding]:
        """Return all bindings of a variable of that name in any function: one may be `global`."""
        return [each for (_, key), found in self.bindings.items() if key == name for each in found]

    def values(self, name: cst.Name | cst.Attribute) -> list[cst.BaseExpression | None]:
        """Return the values that the variable gets in the file; None for unknown ones, such as those of parameters."""
        return [each.value if each.how == "is" else None for each in self.bound(name)]

    def imported(self, name: cst.Name) -> cst.ImportFrom | None:
        """Return the `from … import` that alone binds `name`."""
        found = self.bound(name)
        return found[0].node if len(found) == 1 and isinstance(found[0].node, cst.ImportFrom) else None

    def mentions(self, node: cst.CSTNode, names: re.Pattern[str]) -> bool:
        """Say whether an expression depends on something with such a name: attributes, calls, imports.

        Variables are followed to their values and to the conditions of their assignments, and functions of the file
        into their bodies.
        """
        seen: set[cst.CSTNode] = set()
        stack = [node]
        while stack:
            each = stack.pop()
            if each in seen:
                continue
            seen.add(each)
            for part in self.nodes_below(each):
                match part:
                    case cst.Attribute(attr=cst.Name(name)) | cst.Call(func=cst.Name(name)) if names.fullmatch(name):
                        return True
                    case cst.Call(func=cst.Name("getattr"), args=[_, cst.Arg(value=attribute), *_]):
                        if names.fullmatch(self.text(attribute)):
                            return True
                    case cst.Name(name):
                        for binding in self.bound(part):
                            stack.append(binding.node)
                            above = [each for each, _ in self.ancestors(binding.node)]
                            stack += [each.test for each in above if isinstance(each, cst.If)]
                        if name in self.functions:
                            stack.append(self.functions[name])
                    case cst.ImportAlias(name=cst.Name(name)) if names.fullmatch(name):
                        return True
        return False

    @cached_property
    def bound_elsewhere(self) -> frozenset[str] | None:
        """Names that get or lose a value in ways that are not followed; None if any name may."""
        found: set[str] = set()
        for node in self.nodes:
            match node:
                case cst.ImportFrom(names=cst.ImportStar()):
                    return None
                case cst.AsName(name=target):
                    found.update(each.value for each in self.nodes_below(target) if isinstance(each, cst.Name))
                case cst.FunctionDef(name=cst.Name(name)) | cst.ClassDef(name=cst.Name(name)):
                    found.add(name)
                case cst.Global(names=names) | cst.Nonlocal(names=names):
                    found.update(each.name.value for each in names)
                case cst.Del(target=target):
                    found.update(each.value for each in self.nodes_below(target) if isinstance(each, cst.Name))
                case cst.Call(func=cst.Name("globals" | "locals" | "vars" | "exec")):
                    return None
        return frozenset(found)

    @staticmethod
    def nodes_below(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield a node and all its descendants."""
        stack = [node]
        while stack:
            each = stack.pop()
            yield each
            stack += children(each)

    @cached_property
    def order(self) -> dict[cst.CSTNode, int]:
        return {node: i for i, node in enumerate(self.nodes)}

    @cached_property
    def _ends(self) -> dict[cst.CSTNode, int]:
        """The places in the order behind the nodes' last descendants."""
        ends: dict[cst.CSTNode, int] = {}
        for i in range(len(self.nodes) - 1, -1, -1):
            node = self.nodes[i]
            end = ends.setdefault(node, i + 1)
            above = self.parent.get(node)
            if above is not None:
                ends.setdefault(above, end)
        return ends

    @cached_property
    def imports(self) -> list[cst.Import | cst.ImportFrom]:
        return [node for node in self.nodes if isinstance(node, (cst.Import, cst.ImportFrom))]

    @cached_property
    def modules_imported(self) -> dict[str, str]:
        """Imported modules and objects by their bound names: `np` is `numpy`, `join` is `os.path.join`."""
        found: dict[str, str] = {}
        for line in self.imports:
            if isinstance(line.names, cst.ImportStar):
                continue
            package = f"{self.code(line.module) if line.module else ''}." if isinstance(line, cst.ImportFrom) else ""
            for alias in line.names:
                name = self.code(alias.name)
                if alias.asname is not None:
                    found[self.code(alias.asname.name)] = package + name
                else:
                    # `import os.path` binds `os`.
                    found |= {name: package + name, name.partition(".")[0]: package + name.partition(".")[0]}
        return found

    def import_reaches(self, binding: cst.CSTNode, node: cst.CSTNode) -> bool:
        """Say whether an import has run at `node`: it precedes it, in an enclosing function or at module level.

        An import in an `except` branch has not run outside that branch.
        """
        handlers = {above for above, _ in self.ancestors(binding) if isinstance(above, cst.ExceptHandler)}
        if handlers and not handlers <= {above for above, _ in self.ancestors(node)}:
            return False
        own = self.function(binding)
        if own is None:
            inside = self.function(node) is not None
            return inside or self.order[binding] < self.order[node]
        return self.order[binding] < self.order[node] and own in self.scopes(node)

    def only_imported(self, name: str, node: cst.CSTNode) -> bool:
        """Say whether a name is bound only by imports: there is no `torch = None`."""
        scope = self.scope(node, name)
        return all(isinstance(each.node, cst.Import) for each in self.bindings.get((scope, name), ()))

    def returns(self, function: cst.FunctionDef) -> list[cst.Return]:
        """Return the `return` statements of a function that return a value."""
        return self._returns.get(function, [])


def _assigns(node: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression | None]]:
    """Yield the targets that a statement or expression binds, with their values; None for an unwritten value."""
    match node:
        case cst.Assign():
            for target in node.targets:
                yield target.target, node.value
        case cst.AnnAssign() if node.value is not None:
            yield node.target, node.value
        case cst.NamedExpr():
            yield node.target, node.value
        case cst.AugAssign() | cst.For():
            yield node.target, None
        case cst.ImportFrom() | cst.Import() if not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                yield (alias.asname.name if alias.asname else alias.name), None


def key_of(target: cst.BaseExpression) -> str:
    """Return the key of a variable: its name, or `.attribute` for an attribute of any object."""
    if isinstance(target, cst.Name):
        return target.value
    return f".{target.attr.value}" if isinstance(target, cst.Attribute) else ""


def _converted(match: re.Match[str], values: Iterator[str]) -> str:
    """Return the text that `%` inserts for one conversion."""
    value = HOLE if match[1] else next(values, HOLE)
    if match[2] or match[3] not in "dis":
        return HOLE
    return {"True": "1", "False": "0"}.get(value, value) if match[3] != "s" else value


def called(call: cst.Call) -> str:
    """Return the name of the called function, without the part before a dot."""
    if isinstance(call.func, cst.Attribute):
        return call.func.attr.value
    return call.func.value if isinstance(call.func, cst.Name) else ""


def lone_call(line: cst.CSTNode) -> cst.Call | None:
    """Return the call that a line consists of, if it is nothing else."""
    match line:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.Call() as call)]):
            return call
    return None
