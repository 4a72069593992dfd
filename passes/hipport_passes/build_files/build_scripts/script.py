# SPDX-License-Identifier: Apache-2.0
"""A Python script's tree with its names, branches, loops and the arguments of its functions.

Nothing is run. Values are followed by name within a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from hipport.program.script_names import called
from hipport.syntax.build_names import NAMES
from hipport.syntax.python_script import Python
from hipport_passes.build_files.build_scripts.script_conditions import Conditions

#: nvcc as a command, or at the beginning of one.
NVCC = NAMES.compile(r"(?:.*[/\\\s])?(?&nvcc)(?:\.exe)?(?:\s.*)?", re.DOTALL)
_NVCC_PATH = NAMES.compile(r"(?:.*/)?(?&nvcc)")
#: Functions that run a command.
RUNS = ("check_output", "check_call", "run", "call", "Popen", "getoutput", "getstatusoutput", "popen", "system")
#: Functions that pass on their argument, item by item.
THROUGH = {"list", "tuple", "set", "sorted", "reversed", "deepcopy", "copy", "chain", "filter", "map", "fromkeys"}
_WRITTEN = (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString, cst.BinaryOperation, cst.Call)


class Script(Conditions):
    """A build script's tree with its names, branches and strings."""

    def __init__(self, source: Python) -> None:
        super().__init__(source)
        #: The names of the modules in the tree.
        self.modules: frozenset[str] = frozenset()
        #: By variable: whether its value decides that kernels are built, and whether that needs a GPU.
        self.from_variables: dict[tuple[cst.CSTNode | None, str], tuple[bool, bool]] = {}

    def key(self, node: cst.Subscript) -> str:
        """Return the string in a subscript, or ""."""
        match node.slice:
            case [cst.SubscriptElement(slice=cst.Index(value=key))]:
                return self.text(key)
        return ""

    def written(self, name: cst.Name) -> cst.BaseExpression | None:
        """Return the one expression that a variable is set to, if it makes a string."""
        found = self.bound(name)
        value = found[0].value if len(found) == 1 and found[0].how == "is" else None
        return value if isinstance(value, _WRITTEN) else None

    # Runs of nvcc

    def runs_nvcc(self, call: cst.Call) -> bool:
        """Return whether a call of one of RUNS runs nvcc."""
        if not call.args or self.by_notebook(call):
            return False
        command = call.args[0].value
        if isinstance(command, (cst.List, cst.Tuple)):
            return bool(command.elements) and self._is_nvcc(command.elements[0].value)
        return self._is_nvcc(command)

    def _is_nvcc(self, command: cst.BaseExpression, depth: int = 0) -> bool:
        """Return whether a command is nvcc, as a literal or in a variable."""
        if NVCC.fullmatch(self.text(command)):
            return True
        match command:
            case cst.IfExp(body=first, orelse=second):
                return depth < 3 and self._is_nvcc(first, depth + 1) and self._is_nvcc(second, depth + 1)
            case cst.Call(args=[*_, cst.Arg(last)]) if self.code(command.func).endswith("path.join"):
                return _NVCC_PATH.fullmatch(self.text(last)) is not None
            case cst.Name(name):
                values = [
                    each.value
                    for each in self.nodes
                    if isinstance(each, cst.Assign) and any(self.code(target.target) == name for target in each.targets)
                ]
                return depth < 3 and bool(values) and all(self._is_nvcc(value, depth + 1) for value in values)
        return False

    def is_compared(self, node: cst.CSTNode) -> bool:
        """Return whether the value is an operand of a comparison."""
        for above, _ in self.ancestors(node):
            if isinstance(above, (cst.Comparison, cst.ComparisonTarget)):
                return True
            if isinstance(above, (cst.Arg, cst.BaseSmallStatement)):
                return False
        return False

    # Loops and tables

    def comprehended(self, name: cst.Name) -> cst.CompFor | None:
        """Return the loop of a comprehension around `name` that binds it."""
        for above in self.scopes(name):
            if not isinstance(above, (cst.FunctionDef, cst.ClassDef)):
                loop: cst.CompFor | None = above.for_in
                while loop is not None:
                    if places(loop.target, name.value) is not None:
                        return loop
                    loop = loop.inner_for_in
        return None

    def made_in_loop(self, node: cst.CSTNode) -> Iterator[str]:
        """Yield the strings that a comprehension makes from its words, as far as they are known."""
        if not isinstance(node, (cst.ListComp, cst.GeneratorExp, cst.SetComp)):
            return
        loop, elt = node.for_in, node.elt
        pieces: list[cst.CSTNode] = []
        match elt:
            case cst.FormattedString(parts=parts):
                pieces = list(parts)
            case cst.BinaryOperation(left=cst.SimpleString() as left, operator=cst.Add(), right=cst.Name() as right):
                pieces = [left, right]
        if not isinstance(loop.target, cst.Name) or loop.inner_for_in is not None or not pieces:
            return
        for value in self.gone_through(loop.iter, ()):
            words = []
            for piece in pieces:
                of = piece.expression if isinstance(piece, cst.FormattedStringExpression) else piece
                if isinstance(of, cst.FormattedStringText):
                    words.append(of.value)
                else:
                    own = isinstance(of, cst.Name) and of.value == loop.target.value
                    words.append(self.text(value if own else of))
            yield "".join(words)

    def gone_through(
        self, iterated: cst.CSTNode | None, path: tuple[int, ...] | None, depth: int = 0
    ) -> Iterator[cst.BaseExpression]:
        """Yield the value at `path` in each row that a loop iterates over, as far as the rows are literal."""
        if path is None or depth > 4:
            return
        match iterated:
            case cst.List() | cst.Tuple() | cst.Set():
                for element in iterated.elements:
                    if isinstance(element, cst.StarredElement):
                        yield from self.gone_through(element.value, path, depth + 1)
                    elif (value := in_row(element.value, path)) is not None:
                        yield value
            case cst.Name():
                yield from self._gone_through_name(iterated, path, depth)
            case cst.Call(func=cst.Attribute(value=table, attr=cst.Name("items")), args=[]) if path[:1] == (1,):
                yield from self._in_tables(table, path[1:])
            case cst.Call(func=cst.Attribute(value=table, attr=cst.Name("values")), args=[]):
                yield from self._in_tables(table, path)
            case cst.Call(func=cst.Name("enumerate"), args=[cst.Arg(value), *_]) if path[:1] == (1,):
                yield from self.gone_through(value, path[1:], depth + 1)
            case cst.Call(func=cst.Name("zip"), args=arguments) if path and path[0] < len(arguments):
                yield from self.gone_through(arguments[path[0]].value, path[1:], depth + 1)
            case cst.Call(func=cst.Name(name), args=[cst.Arg(value), *_]) if name in THROUGH:
                yield from self.gone_through(value, path, depth + 1)

    def _gone_through_name(self, name: cst.Name, path: tuple[int, ...], depth: int) -> Iterator[cst.BaseExpression]:
        """Yield the value at `path` in the rows of a named list, and in those that are appended to it."""
        for binding in self.bound(name):
            if binding.how == "is":
                yield from self.gone_through(binding.value, path, depth + 1)
            elif (
                binding.how == "appends"
                and binding.value is not None
                and (value := in_row(binding.value, path)) is not None
            ):
                yield value

    def _in_tables(self, table: cst.BaseExpression, path: tuple[int, ...]) -> Iterator[cst.BaseExpression]:
        """Yield the value at `path` in the entries of a table, or of each table that a name may mean."""
        tables = [table]
        if isinstance(table, cst.Name):
            tables = [each.value for each in self.bound(table) if each.how == "is" and each.value is not None]
        for each in tables:
            for entry in each.elements if isinstance(each, cst.Dict) else ():
                if (value := in_row(entry.value, path)) is not None:
                    yield value

    def only_adds(self, loop: cst.For) -> bool:
        """Return whether a loop only adds its variable to lists."""
        return isinstance(loop.target, cst.Name) and all(map(self._adds, self.in_body(loop, loop.target.value)))

    def in_body(self, loop: cst.For, name: str) -> list[cst.Name]:
        return [use for use in self.named(name) if any(each is loop.body for each, _ in self.ancestors(use))]

    def _adds(self, name: cst.Name) -> bool:
        """Return whether a use of a name is in `x.append(name)`, `x += [name]` and the like."""
        above = self.parent[name]
        in_list = isinstance(above, cst.Element)
        if in_list:
            holder = self.parent[above]
            above = self.parent[holder]
            if isinstance(above, cst.AugAssign):
                return above.value is holder
        adding = ("extend",) if in_list else ("append", "insert")
        call = self.parent[above] if isinstance(above, cst.Arg) else None
        return isinstance(call, cst.Call) and called(call) in adding

    def tables(self, node: cst.CSTNode | None, depth: int = 0) -> Iterator[tuple[cst.Dict, bool]]:
        """Yield the tables that an expression may be, and whether each is an entry of another table."""
        match node:
            case cst.Dict():
                yield node, depth > 0
            case cst.Name() if depth < 4:
                for binding in self.bound(node):
                    if isinstance(binding.node, cst.For):
                        # `for name, table in tables.items()`
                        for each in self.gone_through(binding.node.iter, places(binding.node.target, node.value)):
                            yield from self.tables(each, depth + 1)
                    elif binding.how == "is" and binding.value is not None:
                        yield from ((each, depth > 0) for each, _ in self.tables(binding.value, depth))
            case cst.Subscript(value=outer) if depth < 4:
                for table, _ in self.tables(outer, depth):
                    for element in table.elements:
                        yield from self.tables(element.value, depth + 1)

    # Arguments of functions

    def argument(self, call: cst.Call, function: cst.FunctionDef, parameter: cst.Param) -> cst.BaseExpression | None:
        """Return the argument that a call passes for a parameter of a function, if it is visible."""
        for argument in call.args:
            if argument.keyword is not None and argument.keyword.value == parameter.name.value:
                return argument.value
        positions = [p.name.value for p in (*function.params.posonly_params, *function.params.params)]
        bound = isinstance(call.func, cst.Attribute) or function.name.value == "__init__"
        if bound and positions[:1] in (["self"], ["cls"]):
            positions = positions[1:]
        given = [argument for argument in call.args if argument.keyword is None and not argument.star]
        if parameter.name.value in positions:
            index = positions.index(parameter.name.value)
            if index < len(given):
                return given[index].value
        return None

    def given(self, call: cst.Call, value: cst.CSTNode) -> list[cst.Name]:
        """Return the reads of the parameter for which `value` is passed, in a function of the file."""
        function = self.functions.get(called(call))
        return self.given_to(function, call, value) if function is not None else []

    def given_to(self, function: cst.FunctionDef, call: cst.Call, value: cst.CSTNode) -> list[cst.Name]:
        """Return the reads of the parameter for which a call of a function passes `value`."""
        for parameter in self.parameters(function):
            if self.argument(call, function, parameter) is value:
                name = parameter.name.value
                uses = [use for use in self.named(name) if use is not parameter.name]
                return [use for use in uses if self.scope(use, name) is function]
        return []

    def is_of_tree(self, call: cst.Call) -> bool:
        """Return whether the function that is called belongs to the file, or to another module of the tree."""
        function = call.func
        if isinstance(function, cst.Name):
            if function.value in self.functions or function.value in self.classes:
                return True
            line = self.imported(function)
            if line is None:
                return False
            module = self.code(line.module).rpartition(".")[2] if line.module is not None else ""
            return bool(line.relative) or module in self.modules
        if isinstance(function, cst.Attribute) and isinstance(function.value, cst.Name):
            if function.value.value in ("self", "cls"):
                return function.attr.value in self.functions
            return any(
                isinstance(each.node, (cst.Import, cst.ImportFrom)) and self._imports_module(each.node, function.value)
                for each in self.bound(function.value)
            )
        return False

    def _imports_module(self, line: cst.Import | cst.ImportFrom, name: cst.Name) -> bool:
        """Return whether a line imports a module of the tree as `name`."""
        if isinstance(line.names, cst.ImportStar):
            return False
        for alias in line.names:
            bound = self.code(alias.asname.name if alias.asname else alias.name)
            if bound == name.value:
                return self.code(alias.name).rpartition(".")[2] in self.modules
        return False


def places(target: cst.BaseExpression, name: str) -> tuple[int, ...] | None:
    """Return the path of a name in the target of a loop: () if it is the whole target; None if it is not there."""
    if isinstance(target, cst.Name):
        return () if target.value == name else None
    if isinstance(target, (cst.Tuple, cst.List)):
        for i, element in enumerate(target.elements):
            if isinstance(element, cst.StarredElement):
                break
            if (inside := places(element.value, name)) is not None:
                return (i, *inside)
    return None


def in_row(row: cst.BaseExpression, path: tuple[int, ...]) -> cst.BaseExpression | None:
    """Return the value at `path` in a row of a table, or None."""
    for place in path:
        if not isinstance(row, (cst.Tuple, cst.List)) or place >= len(row.elements):
            return None
        row = row.elements[place].value
    return row


def full_name(script: Script, node: cst.BaseExpression) -> str:
    """Return a dotted name as it is without the script's imports: `is_available` may be `torch.cuda.is_available`."""
    if isinstance(node, cst.Attribute):
        return f"{full_name(script, node.value)}.{node.attr.value}"
    if not isinstance(node, cst.Name):
        return ""
    found = script.bound(node)
    if len(found) == 1 and isinstance(found[0].node, (cst.ImportFrom, cst.Import)):
        statement = found[0].node
        for alias in () if isinstance(statement.names, cst.ImportStar) else statement.names:
            known = alias.asname.name if alias.asname else alias.name
            if script.code(known) == node.value:
                module = (
                    f"{script.code(statement.module)}."
                    if isinstance(statement, cst.ImportFrom) and statement.module
                    else ""
                )
                return module + script.code(alias.name)
    return node.value


def reads(script: Script, key: tuple[cst.CSTNode | None, str]) -> list[cst.Name]:
    """Return where a variable is read, by the function that it belongs to and its name."""
    scope, name = key
    return [
        each
        for each in script.named(name)
        if script.scope(each, name) is scope
        and not (isinstance(above := script.parent[each], cst.Attribute) and above.attr is each)
        and not (isinstance(above, cst.Arg) and above.keyword is each)
    ]
