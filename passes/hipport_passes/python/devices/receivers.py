# SPDX-License-Identifier: Apache-2.0
"""Follow a string in a Python file, and find whether PyTorch receives it as a device.

The analysis follows variables, attributes, attributes of classes, parameters with their arguments and defaults, items
of lists and entries of tables, results of functions, and options of argparse and click. Any other use ends there, and
counts as one by other code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from hipport.core.finding import Certainty
from hipport.core.tables import one_of
from hipport.program.script_names import called
from hipport.syntax.python_script import literal
from hipport_passes.build_files.build_scripts.script import Script, full_name
from hipport_passes.python.device_strings import LIBRARIES, SHOWS, WORDS

#: PyTorch's functions whose first argument is a device.
_FIRST = WORDS.compile(r"(?&torch)\.(?&first)")
_LOADS = frozenset(WORDS["loads"].split())
_KEYWORDS = frozenset(("device", "map_location", "device_type"))
#: Keywords of libraries for a device that they pass to PyTorch.
_HANDED_ON = frozenset(("device", "device_map"))
_PARALLEL = WORDS.compile(r"(?:.*\.)?(?&parallel)|(?&parallel_alone)")
_PLACING = WORDS.compile(rb"\b(?&placing_packages)\b")
#: Names of objects with a program's options.
_OPTIONS = re.compile(rf"_*{one_of(WORDS['options'])}", re.IGNORECASE)
_BEGINS = re.compile(r"%s|\{0?\}")
_DEPTH = 8


@dataclass
class Received:
    """A receiver of a string."""

    #: Whether PyTorch receives it.
    passed: bool = False
    #: Whether other code may receive it, and whether it is followed beyond the reads of a variable.
    others: bool = False
    far: bool = False
    #: The places that read it.
    reads: list[cst.CSTNode] = field(default_factory=list)

    @property
    def certainty(self) -> Certainty | None:
        """Return how certainly the string is only for PyTorch; None if it may be for other code."""
        if not self.passed:
            return None
        return Certainty.REVIEW if self.others or self.far else Certainty.SAFE


def received(script: Script, node: cst.CSTNode) -> Received:
    """Follow a string to its receivers."""
    found = Received()
    _Trace(script, found).value(node, 0)
    return found


def imported(script: Script, name: str, module: str) -> Received:
    """Follow a name that another file takes from a module by `from module import name`, or reads as `module.name`."""
    found = Received(far=True)
    trace = _Trace(script, found)
    for each in script.named(name):
        above = script.parent[each]
        if isinstance(above, cst.Attribute):
            if above.attr is each and script.code(above.value).rpartition(".")[2] == module:
                trace.value(above, 1)
        elif (statement := script.imported(each)) is not None and statement.module is not None:
            inside = isinstance(above, (cst.ImportAlias, cst.AsName))
            if not inside and script.code(statement.module).rpartition(".")[2] == module:
                trace.value(each, 1)
    return found


def read_as(script: Script, uses: Sequence[cst.CSTNode]) -> Received:
    """Follow the parameter of a function from its reads."""
    found = Received(far=True)
    trace = _Trace(script, found)
    for each in uses:
        trace.value(each, 1)
    return found


class _Trace:
    def __init__(self, script: Script, found: Received) -> None:
        self.script = script
        self.found = found
        self.seen: set[cst.CSTNode] = set()

    def value(self, node: cst.CSTNode, depth: int) -> None:
        """Follow an expression with the string's value."""
        if depth > _DEPTH or node in self.seen:
            return
        self.seen.add(node)
        value, above = self._whole(node)
        if depth:
            self.found.reads.append(node)
        match above:
            case cst.Arg():
                self._argument(value, above, depth)
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() | cst.Attribute() as target)]):
                self._uses(target, depth)
            case cst.AnnAssign(target=cst.Name() | cst.Attribute() as target):
                self._uses(target, depth)
            case cst.NamedExpr(target=cst.Name() as target):
                self._uses(target, depth)
            case cst.Param(name=target) if above.default is value:
                self._uses(target, depth)
            case cst.Return():
                function = self.script.function(above)
                self.found.far = True
                for call in self.script.calls(function.name.value) if function is not None else ():
                    self.value(call, depth + 1)
            case cst.Element():
                self._items(self.script.parent[above], depth + 1)
            case cst.DictElement():
                holder = self.script.parent[above]
                if _is_location(self.script.parent.get(holder)):
                    # Checkpoints have no such location either.
                    self.found.passed = True
                    self.found.others |= value is not above.value
                elif value is above.value and isinstance(above.key, cst.SimpleString):
                    self._entry(holder, self.script.text(above.key), depth + 1)
                else:
                    self.found.others = True
            case cst.FormattedStringExpression():
                pass  # It is only printed.
            case _:
                self.found.others = True

    def _whole(self, node: cst.CSTNode) -> tuple[cst.CSTNode, cst.CSTNode]:
        """Return the expression whose value is the string, or begins with it, and its parent."""
        script = self.script
        value, above = node, script.parent[node]
        while True:
            match above:
                case cst.BooleanOperation():
                    pass
                case cst.IfExp() if value is not above.test:
                    pass
                case cst.FormattedStringExpression() if _first(script, above):
                    pass
                case cst.FormattedString():
                    pass
                case cst.BinaryOperation(operator=cst.Add(), left=left) if left is value:
                    pass
                case cst.BinaryOperation(operator=cst.Modulo(), left=left, right=right) if left is value or (
                    right is value and _BEGINS.match(script.text(left).replace("\0", ""))
                ):
                    pass
                case cst.Element() if isinstance(of := script.parent[above], cst.Tuple) and of.elements[0] is above:
                    # `"%s:%d" % ("hip", i)`
                    outer = script.parent[of]
                    if not isinstance(outer, cst.BinaryOperation) or not _begins(script, outer.left):
                        return value, above
                    above = of
                case cst.Attribute(attr=cst.Name("format" | "lower" | "strip"), value=of) if of is value and isinstance(
                    script.parent[above], cst.Call
                ):
                    above = script.parent[above]
                case cst.Arg() if isinstance(call := script.parent[above], cst.Call) and (
                    script.code(call.func) == "str"
                    or (
                        called(call) == "format"
                        and call.args[0] is above
                        and _begins(script, getattr(call.func, "value", None))
                    )
                    or (
                        called(call) in ("get", "getenv", "getattr", "pop", "setdefault")
                        and call.args[-1] is above
                        and len(call.args) > 1
                    )
                    or (
                        called(call) in ("field", "Field")
                        and (above.keyword is None or above.keyword.value == "default")
                    )
                ):
                    above = call
                case _:
                    return value, above
            value, above = above, script.parent[above]

    def _argument(self, value: cst.CSTNode, argument: cst.Arg, depth: int) -> None:
        script, found = self.script, self.found
        call = script.parent[argument]
        if is_device(script, argument):
            if _code(script, call) != "torch.device":
                found.passed = True
                return
            # Follow the device that is created here.
            before, found.passed = found.passed, False
            self.value(call, depth + 1)
            found.far |= not found.passed and not before
            found.passed = True
            return
        if not isinstance(call, cst.Call):
            found.others = True
        elif _handed_on(script, argument):
            found.passed = found.far = True
        elif called(call) == "add_argument" and _keyword(argument) == "default":
            found.far = True
            for option in _options(script, _destination(script, call)):
                self.value(option, depth + 1)
        elif called(call) == "option" and _keyword(argument) == "default":
            found.far = True
            self._parameter(call, depth)
        elif called(call) == "dict" and (key := _keyword(argument)):
            self._entry(call, key, depth + 1)
        elif parameters := list(self._given(call, argument, value)):
            found.far = True
            for use in parameters:
                self.value(use, depth + 1)
        elif not SHOWS.fullmatch(script.code(call.func)):
            found.others = True

    def _given(self, call: cst.Call, argument: cst.Arg, value: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the reads of the parameter that a call passes to a function, or a class, of the file."""
        script = self.script
        uses = script.given(call, value)
        yield from uses
        name = called(call)
        for each in script.nodes if not uses and name in script.classes else ():
            if isinstance(each, cst.ClassDef) and each.name.value == name:
                for line in each.body.body:
                    if isinstance(line, cst.FunctionDef) and line.name.value == "__init__":
                        yield from script.given_to(line, call, value)
                    elif _keyword(argument) and isinstance(line, cst.SimpleStatementLine):
                        # A field of a dataclass.
                        for small in line.body:
                            if isinstance(small, cst.AnnAssign) and script.code(small.target) == _keyword(argument):
                                yield from _members(script, each, _keyword(argument))

    def _parameter(self, option: cst.Call, depth: int) -> None:
        """Follow a click option to the parameter of the decorated function."""
        decorator = self.script.parent.get(option)
        function = self.script.parent.get(decorator) if isinstance(decorator, cst.Decorator) else None
        wanted = _destination(self.script, option)
        if isinstance(function, cst.FunctionDef):
            for parameter in self.script.parameters(function):
                if parameter.name.value == wanted:
                    self._uses(parameter.name, depth)

    def _uses(self, target: cst.Name | cst.Attribute, depth: int) -> None:
        for read in self._reads(target):
            self.value(read, depth + 1)

    def _reads(self, target: cst.Name | cst.Attribute) -> list[cst.CSTNode]:
        """Return the reads of a variable, or of a class attribute, which other code may set."""
        above = (each for each in self.script.scopes(target) if isinstance(each, (cst.ClassDef, cst.FunctionDef)))
        around = next(above, None)
        if isinstance(around, cst.ClassDef) and isinstance(target, cst.Name):
            self.found.far = True
            return list(_members(self.script, around, target.value))
        return [each for each in uses(self.script, target) if each is not target]

    def _items(self, holder: cst.CSTNode, depth: int) -> None:
        """Follow the loops over a list that contains the string."""
        script = self.script
        self.found.far = True
        above = script.parent[holder]
        # `["cpu"] + (["cuda"] if torch.cuda.is_available() else [])`
        while isinstance(above, cst.BinaryOperation) or (isinstance(above, cst.IfExp) and holder is not above.test):
            holder, above = above, script.parent[above]
        match above:
            case cst.For(target=cst.Name() as target) if above.iter is holder:
                self._uses(target, depth)
            case cst.CompFor(target=cst.Name(name)) if above.iter is holder:
                for each in script.named(name):
                    if script.comprehended(each) is above and each is not above.target:
                        self.value(each, depth + 1)
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() | cst.Attribute() as target)]):
                for use in self._reads(target):
                    self._read_items(use, depth + 1)
            case cst.Arg() if _keyword(above) == "choices":
                call = script.parent[above]
                if isinstance(call, cst.Call) and called(call) == "add_argument":
                    for option in _options(script, _destination(script, call)):
                        self.value(option, depth + 1)
            case cst.Arg() if _keyword(above) == "device_ids" and _is_parallel(script, above):
                self.found.passed = True
            case _:
                self.found.others = True

    def _read_items(self, use: cst.CSTNode, depth: int) -> None:
        above = self.script.parent[use]
        if isinstance(above, cst.Subscript) and above.value is use:
            self.value(above, depth)
        elif isinstance(above, (cst.For, cst.CompFor, cst.Arg)):
            self._items(use, depth)
        else:
            self.found.others = True

    def _entry(self, holder: cst.CSTNode, key: str, depth: int) -> None:
        """Follow the reads of an entry of a table."""
        script = self.script
        self.found.far = True
        above = script.parent[holder]
        match above:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() | cst.Attribute() as target)]):
                for use in self._reads(target):
                    outer = script.parent[use]
                    if isinstance(outer, cst.Subscript) and outer.value is use and script.key(outer) == key:
                        self.value(outer, depth + 1)
                    elif isinstance(outer, cst.Attribute) and outer.value is use and outer.attr.value == "get":
                        call = script.parent[outer]
                        if isinstance(call, cst.Call) and call.args and script.text(call.args[0].value) == key:
                            self.value(call, depth + 1)
                    elif isinstance(outer, cst.Arg) and outer.star == "**" and key in _KEYWORDS:
                        call = script.parent[outer]
                        if isinstance(call, cst.Call) and script.code(call.func).startswith("torch."):
                            self.found.passed = True
            case cst.StarredDictElement(value=inner) if inner is holder:
                self._entry(script.parent[above], key, depth + 1)
            case cst.Arg(star="**") if key in _KEYWORDS:
                # `torch.zeros(2, **{"device": …})`
                call = script.parent[above]
                if isinstance(call, cst.Call) and script.code(call.func).startswith("torch."):
                    self.found.passed = True
                else:
                    self.found.others = True
            case _:
                self.found.others = True


def _first(script: Script, part: cst.FormattedStringExpression) -> bool:
    """Return whether an f-string begins with an inserted value."""
    whole = script.parent[part]
    return isinstance(whole, cst.FormattedString) and whole.parts[0] is part


def _begins(script: Script, text: cst.CSTNode | None) -> bool:
    """Return whether a text begins with an inserted value."""
    return isinstance(text, cst.SimpleString) and _BEGINS.match(str(literal(text))) is not None


def _keyword(argument: cst.Arg) -> str:
    return argument.keyword.value if argument.keyword is not None else ""


def _destination(script: Script, call: cst.Call) -> str:
    """Return the name under which an option is read."""
    for argument in call.args:
        if _keyword(argument) == "dest":
            return script.text(argument.value)
    names = [script.text(argument.value) for argument in call.args if argument.keyword is None]
    long = [name for name in names if name.startswith("--")] or names
    plain = [name for name in names if not name.startswith("-")]
    chosen = plain[-1:] if called(call) == "option" and plain else long[:1]
    return chosen[0].lstrip("-").partition("/")[0].replace("-", "_") if chosen else ""


def _options(script: Script, name: str) -> Iterator[cst.Attribute]:
    """Yield the reads of an option from an object with the program's options: `args.device`."""
    for each in script.named(name):
        above = script.parent[each]
        if not isinstance(above, cst.Attribute) or above.attr is not each:
            continue
        holder = above.value
        parsed = isinstance(holder, cst.Name) and any(
            isinstance(value, cst.Call) and called(value) in ("parse_args", "parse_known_args")
            for value in script.values(holder)
        )
        last = holder.attr.value if isinstance(holder, cst.Attribute) else script.code(holder)
        if parsed or _OPTIONS.fullmatch(last):
            yield above


def _members(script: Script, around: cst.ClassDef, name: str) -> Iterator[cst.CSTNode]:
    """Yield the reads of an attribute of a class, or of its objects."""
    instances = {
        script.code(node.targets[0].target)
        for node in script.nodes
        if isinstance(node, cst.Assign) and isinstance(node.value, cst.Call) and called(node.value) == around.name.value
    }
    for each in script.named(name):
        above = script.parent[each]
        if isinstance(above, cst.Attribute) and above.attr is each:
            holder = script.code(above.value)
            inside = any(outer is around for outer, _ in script.ancestors(above))
            assigned = isinstance(script.parent[above], cst.AssignTarget)
            if not assigned and ((inside and holder in ("self", "cls")) or holder in {around.name.value, *instances}):
                yield above


def uses(script: Script, target: cst.Name | cst.Attribute) -> list[cst.CSTNode]:
    """Return the reads of the variable: a name in its function, an attribute of `self` in the file."""
    name = target.value if isinstance(target, cst.Name) else target.attr.value
    found: list[cst.CSTNode] = []
    for each in script.named(str(name)):
        above = script.parent[each]
        behind = isinstance(above, cst.Attribute) and above.attr is each
        if isinstance(target, cst.Attribute):
            if behind and script.code(above) == script.code(target):
                found.append(above)
        elif not behind and not isinstance(above, (cst.Param, cst.AssignTarget)):
            function = script.function(target)
            # A name of the module is read in its functions too.
            if function is None or script.function(each) is function:
                keyword = isinstance(above, cst.Arg) and above.keyword is each
                if not keyword:
                    found.append(each)
    return found


def _is_location(node: cst.CSTNode | None) -> bool:
    """Return whether a table is the argument `map_location`."""
    return isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value == "map_location"


def _is_parallel(script: Script, argument: cst.Arg) -> bool:
    call = script.parent[argument]
    return isinstance(call, cst.Call) and _PARALLEL.fullmatch(script.code(call.func)) is not None


def _handed_on(script: Script, argument: cst.Arg) -> bool:
    """Return whether a library that is built on PyTorch receives the argument as a device."""
    call = script.parent[argument]
    if not isinstance(call, cst.Call) or argument.keyword is None or argument.keyword.value not in _HANDED_ON:
        return False
    if argument.keyword.value == "device_map":
        return _PLACING.search(script.source.text) is not None
    root: cst.BaseExpression = call.func
    while isinstance(root, cst.Attribute):
        root = root.value
    if not isinstance(root, cst.Name):
        return False
    pattern = rf"(?m)^[ \t]*(?:import|from)[ \t]+(?:{LIBRARIES})\b[^\r\n]*\b{re.escape(root.value)}\b"
    return re.search(pattern, script.module.code) is not None or re.fullmatch(LIBRARIES, root.value) is not None


def _code(script: Script, call: cst.CSTNode) -> str:
    """Return the function that is called now or later: `partial(torch.autocast, device_type=…)`."""
    if not isinstance(call, cst.Call):
        return ""
    if called(call) == "partial" and call.args:
        return full_name(script, call.args[0].value)
    return full_name(script, call.func)


def is_device(script: Script, argument: cst.Arg) -> bool:
    """Return whether PyTorch receives the argument as a device."""
    call = script.parent[argument]
    if not isinstance(call, cst.Call):
        return False
    code = _code(script, call)
    keyword = argument.keyword.value if argument.keyword is not None else None
    place = next(i for i, each in enumerate(call.args) if each is argument)
    method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    if keyword is not None:
        if keyword == "type":
            return code == "torch.device"
        if keyword == "output_device":
            return _PARALLEL.fullmatch(code) is not None
        if keyword not in _KEYWORDS:
            return False
        return code.startswith("torch.") or keyword == "map_location" or method == "to" or method.startswith("new_")
    if method == "to":
        return place == 0
    return (place == 0 and _FIRST.fullmatch(code) is not None) or (place == 1 and code in _LOADS)
