# SPDX-License-Identifier: Apache-2.0
"""What a Python build script hands to compilers and linkers, read off its text: nothing is run.

Strings are followed by name within a file: from `extra_compile_args={"nvcc": flags}` back to every list that `flags`
was put together from, through `+`, `+=`, `append`, `extend`, `split`, conditional expressions, parameters and the
functions of the file. What is for one vendor alone is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from hipport.languages.python import Python
from hipport_passes.build_scripts.conditions import ROCM, Conditions
from hipport_passes.build_scripts.names import Binding, called, lone_call
from hipport_passes.nvcc_flags import telling

#: The name of nvcc in a command, or the beginning of one.
NVCC = re.compile(r"(?:.*[/\\\s])?nvcc(?:\.exe)?(?:\s.*)?", re.DOTALL)
#: Functions that run a command.
RUNS = ("check_output", "check_call", "run", "call", "Popen", "getoutput", "getstatusoutput", "popen", "system")
_OF_KEY = {"nvcc": "nvcc", "cxx": "host", "gcc": "host", "g++": "host"}
_OF_KEYWORD = {
    "extra_cuda_cflags": "jit",
    "extra_cflags": "host",
    "extra_ldflags": "link",
    "extra_link_args": "link",
    "libraries": "library",
    "include_dirs": "folder",
    "library_dirs": "folder",
    "extra_include_paths": "folder",
    "define_macros": "macro",
}
_NAMED_FLAGS = re.compile(
    r"_*(?:\w+_)?nvcc_?(?:\w+_)?(?:c?flags|args|opts|options)|(?:extra_)?cuda_c(?:xx)?flags", re.IGNORECASE
)
# What a string of flags and nothing else is made of.
_FLAG_OR_VALUE = re.compile(r"-\S+|[\w.,+]+=\S+|\d+")
_SAME = {"copy", "strip", "lstrip", "rstrip"}
_THROUGH = {"list", "tuple", "set", "sorted", "reversed", "deepcopy", "copy", "chain", "filter", "map", "fromkeys"}


@dataclass(eq=False)
class Group:
    """Strings that a compiler gets one after the other.

    `node` is what holds them: a list, tuple or set; a comprehension; a string that is split later, or stands alone;
    the first of some statements that append. `items` are the expressions in it. `uses` says who gets them: `nvcc`
    (PyTorch's `extra_compile_args`), `jit` (nvcc, through `load`), `host`, `link`, `library`, `folder`, `macro`.
    """

    node: cst.CSTNode
    shape: str
    items: tuple[cst.BaseExpression, ...]
    statements: tuple[cst.SimpleStatementLine, ...] = ()
    uses: set[str] = field(default_factory=set)

    @property
    def places(self) -> Sequence[int]:
        """For each item, the number of it among all that stands there: `*more` is not an item."""
        if not isinstance(self.node, (cst.List, cst.Tuple, cst.Set)) or self.shape != "elements":
            return range(len(self.items))
        place = {id(element.value): i for i, element in enumerate(self.node.elements)}
        return [place[id(item)] for item in self.items]


class Script(Conditions):
    """A build script's tree, with what is known of its names, its branches and the strings in it."""

    def __init__(self, source: Python) -> None:
        super().__init__(source)
        self._groups: dict[cst.CSTNode, Group] = {}
        self._done: set[tuple[cst.CSTNode, str, bool]] = set()

    def groups(self) -> list[Group]:
        """Return the strings that compilers and linkers get, and those that only nvcc can be meant by.

        The latter are used by `maybe`. What is for one vendor alone is left out.
        """
        sinks = list(self._sinks())
        # First what somebody has already decided about, so that it counts as explained below.
        for expression, _ in sinks:
            if not self.runs(expression).both:
                self._follow(expression, "decided", False)
        for expression, use in sinks:
            if self.runs(expression).both:
                self._follow(expression, use, False)
        reached = {item for group in self._groups.values() for item in group.items}
        test = re.search(r"(?:^|/)tests?/|(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$", self.source.path.as_posix())
        # Whoever thought of ROCm has thought of these; and a test may well be about them.
        for node in self.nodes if not self.decided and not test else ():
            if isinstance(node, (cst.SimpleString, cst.FormattedString)) and node not in reached:
                self._stray(node)
        found = [group for group in self._groups.values() if group.uses - {"decided"}]
        found = [group for group in found if self.runs(group.node).both]
        for group in found:
            group.uses.discard("decided")
        return sorted(found, key=lambda group: self.order[group.node])

    def _sinks(self) -> Iterator[tuple[cst.BaseExpression, str]]:
        for node in self.nodes:
            match node:
                case cst.DictElement() if (key := self.text(node.key)) in _OF_KEY:
                    yield node.value, _OF_KEY[key]
                case (
                    cst.Assign(targets=[cst.AssignTarget(cst.Subscript() as target)])
                    | cst.AugAssign(target=cst.Subscript() as target)
                ) if (key := self.key(target)) in _OF_KEY:
                    yield node.value, _OF_KEY[key]
                case cst.Call(func=cst.Attribute(value=cst.Subscript() as target, attr=cst.Name("extend"))) if (
                    key := self.key(target)
                ) in _OF_KEY and node.args:
                    yield node.args[0].value, _OF_KEY[key]
                case cst.Assign(targets=[cst.AssignTarget(cst.Subscript(value=cst.Subscript() as target))]) if (
                    key := self.key(target)
                ) in _OF_KEY:
                    yield node.value, _OF_KEY[key]
                case cst.Call(
                    func=cst.Attribute(value=cst.Subscript() as target, attr=cst.Name("append" | "insert"))
                ) if (key := self.key(target)) in _OF_KEY:
                    if self.runs(node).both:
                        self._appended(node, _OF_KEY[key])
                # `extension.extra_link_args += …`
                case (
                    cst.Assign(targets=[cst.AssignTarget(cst.Attribute(attr=cst.Name(keyword)))], value=value)
                    | cst.AugAssign(target=cst.Attribute(attr=cst.Name(keyword)), value=value)
                    | cst.Call(
                        func=cst.Attribute(value=cst.Attribute(attr=cst.Name(keyword)), attr=cst.Name("extend")),
                        args=[cst.Arg(value)],
                    )
                ) if keyword in _OF_KEYWORD:
                    yield value, _OF_KEYWORD[keyword]
                case cst.Call(
                    func=cst.Attribute(value=cst.Attribute(attr=cst.Name(keyword)), attr=cst.Name("append"))
                ) if keyword in _OF_KEYWORD:
                    if self.runs(node).both:
                        self._appended(node, _OF_KEYWORD[keyword])
                case cst.Arg(keyword=cst.Name(keyword)):
                    call = self.parent[node]
                    assert isinstance(call, (cst.Call, cst.ClassDef))
                    if isinstance(call, cst.Call) and called(call) == "dict" and keyword in _OF_KEY:
                        yield node.value, _OF_KEY[keyword]
                    elif keyword in _OF_KEYWORD:
                        yield node.value, _OF_KEYWORD[keyword]
                    elif keyword == "extra_compile_args" and isinstance(call, cst.Call):
                        yield node.value, "host"
                        if called(call) not in ("CppExtension", "Pybind11Extension"):
                            yield node.value, "nvcc"
                case cst.Assign(targets=[cst.AssignTarget(cst.Name(name))]) if _NAMED_FLAGS.fullmatch(name):
                    yield node.targets[0].target, "nvcc"
                case cst.FunctionDef(name=cst.Name(name)) if _NAMED_FLAGS.fullmatch(name):
                    for returned in self.returns(node):
                        assert returned.value is not None
                        yield returned.value, "nvcc"

    def runs_nvcc(self, call: cst.Call) -> bool:
        """Say whether a call of one of RUNS runs nvcc."""
        # What a notebook gives to the shell is read as such.
        if not call.args or self.code(call.func) == "get_ipython().system":
            return False
        command = call.args[0].value
        if isinstance(command, (cst.List, cst.Tuple)):
            return bool(command.elements) and self._is_nvcc(command.elements[0].value)
        return self._is_nvcc(command)

    def _is_nvcc(self, command: cst.BaseExpression, depth: int = 0) -> bool:
        """Say whether a command is nvcc, written there or in the variable that it names."""
        if NVCC.fullmatch(self.text(command)):
            return True
        match command:
            case cst.IfExp(body=first, orelse=second):
                return depth < 3 and self._is_nvcc(first, depth + 1) and self._is_nvcc(second, depth + 1)
            case cst.Call(args=[*_, cst.Arg(last)]) if self.code(command.func).endswith("path.join"):
                return re.fullmatch(r"(?:.*/)?nvcc", self.text(last)) is not None
            case cst.Name(name):
                values = [
                    each.value
                    for each in self.nodes
                    if isinstance(each, cst.Assign) and any(self.code(target.target) == name for target in each.targets)
                ]
                return depth < 3 and bool(values) and all(self._is_nvcc(value, depth + 1) for value in values)
        return False

    def key(self, node: cst.Subscript) -> str:
        """Return the string that something is subscripted with, or ""."""
        match node.slice:
            case [cst.SubscriptElement(slice=cst.Index(value=key))]:
                return self.text(key)
        return ""

    def _follow(self, node: cst.CSTNode | None, use: str, split: bool) -> None:
        if node is None or (node, use, split) in self._done:
            return
        self._done.add((node, use, split))
        match node:
            case cst.List() | cst.Tuple() | cst.Set():
                items = tuple(element.value for element in node.elements if isinstance(element, cst.Element))
                self._group(node, "elements", items, use)
                for element in node.elements:
                    if isinstance(element, cst.StarredElement) or (
                        use != "macro" and isinstance(element.value, (cst.List, cst.Tuple))
                    ):
                        self._follow(element.value, use, split)
            case cst.SimpleString() | cst.ConcatenatedString() | cst.FormattedString():
                self._group(node, "split" if split else "alone", (node,), use)
            case cst.BinaryOperation(operator=cst.Add()):
                self._follow(node.left, use, split)
                self._follow(node.right, use, split)
            case cst.BinaryOperation(operator=cst.Multiply()):
                self._follow(node.left, use, split)
            case cst.BooleanOperation():
                self._follow(node.left, use, split)
                self._follow(node.right, use, split)
            case cst.IfExp():
                for branch in (node.body, node.orelse):
                    # A name in a branch for one vendor stands for what may be written where both come to it.
                    self._follow(branch, use if self.runs(branch).both else "decided", split)
            case cst.NamedExpr():
                self._follow(node.value, use, split)
            case cst.ListComp() | cst.GeneratorExp() | cst.SetComp():
                if isinstance(node.elt, cst.Name):
                    self._follow(node.for_in.iter, use, split)
                else:
                    self._group(node, "comprehension", (node.elt,), use)
            case cst.Call():
                self._follow_call(node, use, split)
            case cst.Subscript(value=value):
                self._follow_entries(value, use, split)
            case cst.Name() | cst.Attribute():
                for binding in self.bound(node):
                    self._follow_binding(binding, use, split)
                if isinstance(node, cst.Name):
                    self._follow_into_functions(node, use, split)

    def _follow_entries(self, table: cst.CSTNode | None, use: str, split: bool) -> None:
        """Follow what a table written in the script has: which entry is taken is known when it runs."""
        tables = [table]
        if isinstance(table, cst.Name):
            tables = [binding.value for binding in self.bound(table) if binding.how == "is"]
            # `table["debug"] = …`
            for name in self.named(table.value):
                entry = self.parent[name]
                if not isinstance(entry, cst.Subscript) or entry.value is not name or ROCM.fullmatch(self.key(entry)):
                    continue
                if isinstance(target := self.parent[entry], cst.AssignTarget):
                    assigned = self.parent[target]
                    assert isinstance(assigned, cst.Assign)
                    self._follow(assigned.value, use, split)
        for each in tables:
            if isinstance(each, cst.Dict):
                elements = [element for element in each.elements if isinstance(element, cst.DictElement)]
                # One that has an entry for ROCm has decided about the others.
                if not any(ROCM.fullmatch(self.text(element.key)) for element in elements):
                    for element in elements:
                        self._follow(element.value, use, split)

    def _follow_call(self, call: cst.Call, use: str, split: bool) -> None:
        name, arguments = called(call), [argument.value for argument in call.args]
        receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
        if name == "split":
            # "…".split() and shlex.split("…")
            of = arguments[0] if arguments and self.code(call.func) == "shlex.split" else receiver
            self._follow(of, use, True)
        elif name in _SAME and receiver is not None and not arguments:
            self._follow(receiver, use, split)
        elif name == "join" and arguments:
            self._follow(arguments[0], use, split)
        elif name in ("getenv", "get", "pop", "setdefault"):
            self._follow_entries(receiver, use, split)
            if len(arguments) > 1:
                self._follow(arguments[1], use, split)
        elif name in _THROUGH:
            for argument in arguments:
                self._follow(argument, use, split)
        elif name in self.functions and isinstance(call.func, cst.Name):
            for returned in self.returns(self.functions[name]):
                self._follow(returned.value, use, split)

    def _follow_binding(self, binding: Binding, use: str, split: bool) -> None:
        if binding.how in ("appends", "inserts"):
            assert isinstance(binding.node, cst.Call)
            self._appended(binding.node, use)
        elif binding.how == "parameter":
            function = self.function(binding.node)
            assert isinstance(binding.node, cst.Param) and function is not None
            self._follow(binding.value, use, split)
            for call in self.calls(function.name.value):
                self._follow(self._argument(call, function, binding.node), use, split)
        else:
            self._follow(binding.value, use, split)

    def _argument(self, call: cst.Call, function: cst.FunctionDef, parameter: cst.Param) -> cst.BaseExpression | None:
        for argument in call.args:
            if argument.keyword is not None and argument.keyword.value == parameter.name.value:
                return argument.value
        positions = [p.name.value for p in (*function.params.posonly_params, *function.params.params)]
        if isinstance(call.func, cst.Attribute) and positions[:1] in (["self"], ["cls"]):
            positions = positions[1:]
        given = [argument for argument in call.args if argument.keyword is None and not argument.star]
        if parameter.name.value in positions:
            index = positions.index(parameter.name.value)
            if index < len(given):
                return given[index].value
        return None

    def _follow_into_functions(self, name: cst.Name, use: str, split: bool) -> None:
        """Follow what functions of the file put into a list that they are handed."""
        scope = self.scope(name, name.value)
        for other in self.named(name.value):
            argument = self.parent[other]
            if not isinstance(argument, cst.Arg) or self.scope(other, other.value) is not scope:
                continue
            call = self.parent[argument]
            function = self.functions.get(called(call)) if isinstance(call, cst.Call) else None
            if function is None or not isinstance(call, cst.Call):
                continue
            for parameter in self.parameters(function):
                if self._argument(call, function, parameter) is other:
                    for binding in self.bindings.get((function, parameter.name.value), ()):
                        if binding.how in ("adds", "appends", "inserts"):
                            self._follow_binding(binding, use, split)

    def _group(
        self,
        node: cst.CSTNode,
        shape: str,
        items: tuple[cst.BaseExpression, ...],
        use: str,
        statements: tuple[cst.SimpleStatementLine, ...] = (),
    ) -> None:
        group = self._groups.setdefault(node, Group(node, shape, items, statements))
        group.uses.add(use)
        for item in items:
            if isinstance(item, cst.IfExp):
                self._follow(item, use, False)

    def _appended(self, call: cst.Call, use: str) -> None:
        """Group an `x.append(…)` with those right before and after it: a flag and its value are often two calls."""
        assert isinstance(call.func, cst.Attribute)
        if not call.args:
            return
        line = self.statement(call)
        receiver = self.code(call.func)
        if line is None or lone_call(line) is not call or call.func.attr.value != "append":
            self._group(call, "alone", (call.args[-1].value,), use)
            return
        block = self.parent[line]
        body = list(getattr(block, "body", ()))
        first = last = body.index(line)
        while first and self._appends(body[first - 1], receiver):
            first -= 1
        while last + 1 < len(body) and self._appends(body[last + 1], receiver):
            last += 1
        lines = tuple(body[first : last + 1])
        calls = [lone_call(each) for each in lines]
        items = tuple(each.args[0].value for each in calls if each is not None)
        self._group(lines[0], "appended", items, use, lines)

    def _appends(self, line: cst.CSTNode, receiver: str) -> bool:
        call = lone_call(line)
        return call is not None and len(call.args) == 1 and self.code(call.func) == receiver

    def _stray(self, node: cst.SimpleString | cst.FormattedString) -> None:
        """Take a string that only nvcc can be meant by, where it is not known where it goes."""
        words = self.text(node).split()
        if not any(map(telling().fullmatch, words)) or not all(map(_FLAG_OR_VALUE.fullmatch, words)):
            return
        whole: cst.BaseExpression = node
        above = self.parent[whole]
        # A part of `"-O3 --use_fast_math " + more`, a branch of `"-G" if debug else "-O3"`.
        while isinstance(above, (cst.BinaryOperation, cst.ConcatenatedString)) or (
            isinstance(above, cst.IfExp) and above.test is not whole
        ):
            whole, above = above, self.parent[above]
        match above:
            case cst.Element():
                holder = self.parent[above]
                statement = self.parent.get(holder)
                # `for flag in ["-lineinfo"]: …` and `"-lineinfo" in […]` look, they pass nothing on.
                looked_at = (cst.For, cst.CompFor, cst.ComparisonTarget, cst.Element)
                if not isinstance(holder, (cst.List, cst.Tuple)):
                    return
                if not isinstance(statement, looked_at) or (
                    isinstance(statement, cst.For) and self._passed_on(statement)
                ):
                    self._follow(holder, "maybe", False)
            case cst.DictElement(value=value) if value is whole:
                # Where one of a table's strings has several words, all are split when they are used.
                table = self.parent[above]
                beside = table.elements if isinstance(table, cst.Dict) else ()
                self._follow(whole, "maybe", any(len(self.text(each.value).split()) > 1 for each in beside))
            case cst.Assign(targets=[cst.AssignTarget(cst.Subscript() as target)]):
                if not self.code(target.value).endswith("environ"):
                    self._follow(whole, "maybe", False)
            case cst.Arg():
                call = self.parent[above]
                if not isinstance(call, cst.Call):
                    return
                if called(call) in ("append", "insert") and isinstance(call.func, cst.Attribute):
                    self._appended(call, "maybe")
                elif called(call) in self.functions and isinstance(call.func, cst.Name):
                    self._follow(whole, "maybe", False)

    def _passed_on(self, loop: cst.For) -> bool:
        """Say whether what a loop goes through is put into lists there, and compared with nothing."""
        if not isinstance(loop.target, cst.Name):
            return False
        uses = self.named(loop.target.value)
        above = [self.parent[use] for use in uses if any(each is loop.body for each, _ in self.ancestors(use))]
        if any(isinstance(each, (cst.Comparison, cst.ComparisonTarget)) for each in above):
            return False
        calls = [self.parent[each] for each in above if isinstance(each, cst.Arg)]
        return any(isinstance(each, cst.Element) for each in above) or any(
            isinstance(call, cst.Call) and called(call) in ("append", "insert") for call in calls
        )
