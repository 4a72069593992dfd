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

from hipport.syntax.python import Python
from hipport_passes.build_files.build_scripts.script_conditions import ROCM, Conditions
from hipport_passes.build_files.build_scripts.script_names import Binding, called, lone_call
from hipport_passes.build_files.nvcc_flags import HOLE, telling

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
    "runtime_library_dirs": "folder",
    "extra_include_paths": "folder",
    "define_macros": "macro",
}
_NAMED_FLAGS = re.compile(
    r"_*(?:\w+_)?nvcc_?(?:\w+_)?(?:c?flags|args|opts|options)|(?:extra_)?cuda_c(?:xx)?flags", re.IGNORECASE
)
# What a string of flags and nothing else is made of.
_FLAG_OR_VALUE = re.compile(r"-\S+|[\w.,+]+=\S+|\d+")
_WRITTEN = (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString, cst.BinaryOperation, cst.Call)
_ABI = re.compile(r"-D_GLIBCXX_USE_CXX11_ABI=(?:[01]|" + HOLE + ")")
#: What says it of the PyTorch that is there: an attribute, a function, what scripts call such a variable.
OF_TORCH = re.compile(r"(?i:\w*torch\w*abi\w*)|_GLIBCXX_USE_CXX11_ABI|compiled_with_cxx11_abi")
#: Variables of the environment that compilers and linkers of extensions get, and who reads them.
_VARIABLES = {"CFLAGS": "host", "CXXFLAGS": "host", "CPPFLAGS": "host", "LDFLAGS": "link"}
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
        #: The names of the modules in the tree.
        self.modules: frozenset[str] = frozenset()

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
        for expression, use in self._variables():
            if self.runs(expression).both:
                self._follow(expression, use, True)
        reached = {node for group in self._groups.values() for item in group.items for node in self._read(item)}
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
                case cst.DictElement() if _NAMED_FLAGS.fullmatch(key):
                    yield node.value, "nvcc"
                case cst.DictElement() if key in _OF_KEYWORD and self._is_given_by_name(self.parent[node]):
                    yield node.value, _OF_KEYWORD[key]
                case cst.Param(name=cst.Name(name), default=cst.BaseExpression() as default) if _NAMED_FLAGS.fullmatch(
                    name
                ):
                    yield default, "nvcc"
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
                    elif _NAMED_FLAGS.fullmatch(keyword):
                        yield node.value, "nvcc"
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

    def _is_given_by_name(self, table: cst.CSTNode, depth: int = 0) -> bool:
        """Say whether a table has the keywords of calls: `CUDAExtension(**table)`."""
        match self.parent.get(table):
            case cst.Arg(star="**"):
                return True
            case cst.DictElement() if self.of_build_ext(table):
                return True
            case cst.StarredDictElement() as inside if depth < 4:
                return self._is_given_by_name(self.parent[inside], depth + 1)
            case cst.Assign(targets=[cst.AssignTarget(cst.Name(name) as target)]) if depth < 4:
                uses = [use for use in self.named(name) if use is not target]
                return any(self._is_given_by_name(use, depth + 1) for use in uses)
        return False

    def of_build_ext(self, table: cst.CSTNode) -> bool:
        """Say whether a table has the options of building extensions: `setup(options={"build_ext": …})`."""
        above = self.parent.get(table)
        return isinstance(above, cst.DictElement) and above.value is table and self.text(above.key) == "build_ext"

    def _read(self, item: cst.BaseExpression) -> Iterator[cst.CSTNode]:
        """Yield what the text of an item is read from: what it is made of, and what its names stand for."""
        stack: list[cst.CSTNode] = [item]
        while stack:
            for node in self.nodes_below(stack.pop()):
                yield node
                if isinstance(node, cst.Name) and (value := self._written(node)) is not None:
                    stack.append(value)

    def _written(self, name: cst.Name) -> cst.BaseExpression | None:
        """Return the one expression that a variable is set to, if it is one that makes a string."""
        found = self.bound(name)
        value = found[0].value if len(found) == 1 and found[0].how == "is" else None
        return value if isinstance(value, _WRITTEN) else None

    def _variables(self) -> Iterator[tuple[cst.BaseExpression, str]]:
        """Yield what is put into variables of the environment that compilers get their flags from."""
        for node in self.nodes:
            match node:
                case (
                    cst.Assign(targets=[cst.AssignTarget(cst.Subscript() as target)], value=value)
                    | cst.AugAssign(target=cst.Subscript() as target, value=value)
                ) if self.code(target.value).endswith("environ") and (use := self._use_of(self.key(target))):
                    yield value, use
                case cst.Call(
                    func=cst.Attribute(value=receiver, attr=cst.Name("setdefault")),
                    args=[cst.Arg(key_node), cst.Arg(value)],
                ) if self.code(receiver).endswith("environ") and (use := self._use_of(self.text(key_node))):
                    yield value, use

    def _use_of(self, variable: str) -> str:
        """Return who gets what is in a variable of the environment, as far as its name says, or ""."""
        if _NAMED_FLAGS.fullmatch(variable):
            # One that the script itself reads, as nvcc does not.
            name = rf"[\"']{re.escape(variable)}[\"']"
            read = rf"(?:environ\.get|getenv)\(\s*{name}|environ\[{name}\](?!\s*\+?=)"
            return "nvcc" if re.search(read, self.module.code) else ""
        return _VARIABLES.get(variable, "")

    def runs_nvcc(self, call: cst.Call) -> bool:
        """Say whether a call of one of RUNS runs nvcc."""
        if not call.args or self.by_notebook(call):
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
            case cst.SimpleString() | cst.ConcatenatedString():
                self._group(node, "split" if split else "alone", (node,), use)
            case cst.FormattedString():
                self._group(node, "split" if split else "alone", (node,), use)
                for part in self._words_put(node) if split else ():
                    self._follow(part, use, split)
            case cst.BinaryOperation(operator=cst.Modulo()):
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
                # `f"{name}"` is the name.
                elt = node.elt
                match elt:
                    case cst.FormattedString(parts=[cst.FormattedStringExpression(expression=cst.Name() as elt)]):
                        pass
                if isinstance(elt, cst.Name):
                    loop = self.comprehended(elt)
                    self._follow(loop.iter if loop is not None else node.for_in.iter, use, split)
                else:
                    self._group(node, "comprehension", (node.elt,), use)
            case cst.Call():
                self._follow_call(node, use, split)
            case cst.Subscript(value=value):
                self._follow_entries(value, use, split, self.key(node))
            case cst.Name() if (loop := self.comprehended(node)) is not None:
                for value in self._gone_through(loop.iter, places(loop.target, node.value)):
                    self._follow(value, use, split)
            case cst.Name() | cst.Attribute():
                around = {above for above, _ in self.ancestors(node)}
                for binding in self.bound(node):
                    self._follow_binding(binding, use, split)
                    if isinstance(binding.node, cst.For) and isinstance(node, cst.Name) and binding.node in around:
                        self._follow_loop(binding.node, node, use, split)
                if isinstance(node, cst.Name):
                    self._follow_into_functions(node, use, split)

    @staticmethod
    def _words_put(text: cst.FormattedString) -> Iterator[cst.BaseExpression]:
        """Yield what an f-string puts between blanks, which may be several words."""
        # A part that is put there stands for itself, as what is beside it is no blank.
        beside = [part.value if isinstance(part, cst.FormattedStringText) else "{}" for part in text.parts]
        for part, before, after in zip(text.parts, [" ", *beside], [*beside[1:], " "], strict=False):
            if isinstance(part, cst.FormattedStringExpression) and before[-1:].isspace() and after[:1].isspace():
                yield part.expression

    def _follow_loop(self, loop: cst.For, name: cst.Name, use: str, split: bool) -> None:
        """Follow a variable of a loop into what the loop goes through."""
        path = places(loop.target, name.value)
        if not path and self._only_adds(loop):
            # It may as well go through more of them, or fewer.
            self._follow(loop.iter, use, split)
        else:
            for value in self._gone_through(loop.iter, path):
                self._follow(value, use, split)

    def _only_adds(self, loop: cst.For) -> bool:
        """Say whether a loop does nothing with its variable but to add it to lists."""
        return isinstance(loop.target, cst.Name) and all(map(self._adds, self._in_body(loop, loop.target.value)))

    def _in_body(self, loop: cst.For, name: str) -> list[cst.Name]:
        return [use for use in self.named(name) if any(each is loop.body for each, _ in self.ancestors(use))]

    def _adds(self, name: cst.Name) -> bool:
        """Say whether a name stands in `x.append(name)`, `x += [name]` and the like, and nowhere else."""
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

    def comprehended(self, name: cst.Name) -> cst.CompFor | None:
        """Return the loop of a comprehension around `name` that binds it."""
        for above, _ in self.ancestors(name):
            if isinstance(above, (cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp)):
                loop: cst.CompFor | None = above.for_in
                while loop is not None:
                    if places(loop.target, name.value) is not None:
                        return loop
                    loop = loop.inner_for_in
        return None

    def made_in_loop(self, node: cst.CSTNode) -> Iterator[str]:
        """Yield the strings that a comprehension makes of the words that it goes through, as far as they are known."""
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
        for value in self._gone_through(loop.iter, ()):
            words = []
            for piece in pieces:
                of = piece.expression if isinstance(piece, cst.FormattedStringExpression) else piece
                if isinstance(of, cst.FormattedStringText):
                    words.append(of.value)
                else:
                    own = isinstance(of, cst.Name) and of.value == loop.target.value
                    words.append(self.text(value if own else of))
            yield "".join(words)

    def _gone_through(
        self, iterated: cst.CSTNode | None, path: tuple[int, ...] | None, depth: int = 0
    ) -> Iterator[cst.BaseExpression]:
        """Yield what stands at `path` in each of the rows that a loop goes through, as far as they are written out."""
        if path is None or depth > 4:
            return
        match iterated:
            case cst.List() | cst.Tuple() | cst.Set():
                for element in iterated.elements:
                    if isinstance(element, cst.StarredElement):
                        yield from self._gone_through(element.value, path, depth + 1)
                    elif (value := in_row(element.value, path)) is not None:
                        yield value
            case cst.Name():
                for binding in self.bound(iterated):
                    if binding.how == "is":
                        yield from self._gone_through(binding.value, path, depth + 1)
                    elif (
                        binding.how == "appends"
                        and binding.value is not None
                        and (value := in_row(binding.value, path)) is not None
                    ):
                        yield value
            case cst.Call(func=cst.Attribute(value=table, attr=cst.Name("items" | "values" as method)), args=[]):
                if method == "items":
                    if path[:1] != (1,):
                        return
                    path = path[1:]
                tables = [table]
                if isinstance(table, cst.Name):
                    tables = [each.value for each in self.bound(table) if each.how == "is" and each.value is not None]
                for each in tables:
                    for entry in each.elements if isinstance(each, cst.Dict) else ():
                        if (value := in_row(entry.value, path)) is not None:
                            yield value
            case cst.Call(func=cst.Name("enumerate"), args=[cst.Arg(value), *_]) if path[:1] == (1,):
                yield from self._gone_through(value, path[1:], depth + 1)
            case cst.Call(func=cst.Name("zip"), args=arguments) if path and path[0] < len(arguments):
                yield from self._gone_through(arguments[path[0]].value, path[1:], depth + 1)
            case cst.Call(func=cst.Name(name), args=[cst.Arg(value), *_]) if name in _THROUGH:
                yield from self._gone_through(value, path, depth + 1)

    def _follow_entries(self, table: cst.CSTNode | None, use: str, split: bool, key: str = "") -> None:
        """Follow what a table written in the script has: which entry is taken is mostly known when it runs."""
        if isinstance(table, cst.Name):
            # `table["debug"] = …`
            for name in self.named(table.value):
                entry = self.parent[name]
                if not isinstance(entry, cst.Subscript) or entry.value is not name or ROCM.fullmatch(self.key(entry)):
                    continue
                if isinstance(target := self.parent[entry], cst.AssignTarget):
                    assigned = self.parent[target]
                    assert isinstance(assigned, cst.Assign)
                    self._follow(assigned.value, use, split)
        for each, is_row in self._tables(table):
            elements = [element for element in each.elements if isinstance(element, cst.DictElement)]
            # One that has an entry for ROCm has decided about the others.
            if any(ROCM.fullmatch(self.text(element.key)) for element in elements):
                continue
            named = [element for element in elements if self.text(element.key) == key]
            # A row has flags, libraries and more, each by a key of its own.
            for element in named if is_row and named else elements:
                self._follow(element.value, use, split)

    def _tables(self, node: cst.CSTNode | None, depth: int = 0) -> Iterator[tuple[cst.Dict, bool]]:
        """Yield the tables that an expression may be, and whether each is one of a table's entries."""
        match node:
            case cst.Dict():
                yield node, depth > 0
            case cst.Name() if depth < 4:
                for binding in self.bound(node):
                    if isinstance(binding.node, cst.For):
                        # `for name, table in tables.items()`
                        for each in self._gone_through(binding.node.iter, places(binding.node.target, node.value)):
                            yield from self._tables(each, depth + 1)
                    elif binding.how == "is" and binding.value is not None:
                        yield from ((each, depth > 0) for each, _ in self._tables(binding.value, depth))
            case cst.Subscript(value=outer) if depth < 4:
                for table, _ in self._tables(outer, depth):
                    for element in table.elements:
                        yield from self._tables(element.value, depth + 1)

    def _follow_call(self, call: cst.Call, use: str, split: bool) -> None:
        name, arguments = called(call), [argument.value for argument in call.args]
        receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
        if name == "split":
            # "…".split() and shlex.split("…")
            of = arguments[0] if arguments and self.code(call.func) == "shlex.split" else receiver
            self._follow(of, use, True)
        elif name in _SAME and receiver is not None and not arguments:
            self._follow(receiver, use, split)
        elif name == "format" and isinstance(receiver, (cst.SimpleString, cst.ConcatenatedString, cst.Name)):
            self._group(call, "split" if split else "alone", (call,), use)
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
            for node in self.nodes_below(self.functions[name]):
                if isinstance(node, cst.Yield) and self.function(node) is self.functions[name]:
                    self._follow(node.value.item if isinstance(node.value, cst.From) else node.value, use, split)

    def _follow_binding(self, binding: Binding, use: str, split: bool) -> None:
        if binding.how in ("appends", "inserts"):
            assert isinstance(binding.node, cst.Call)
            self._appended(binding.node, use)
        elif binding.how == "parameter":
            function = self.function(binding.node)
            assert isinstance(binding.node, cst.Param) and function is not None
            self._follow(binding.value, use, split)
            for call in self.calls(function.name.value):
                self._follow(self.argument(call, function, binding.node), use, split)
        else:
            self._follow(binding.value, use, split)

    def argument(self, call: cst.Call, function: cst.FunctionDef, parameter: cst.Param) -> cst.BaseExpression | None:
        """Return what a call gives a function for a parameter, as far as that is seen."""
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
        """Return where a function of the file reads the parameter that `value` is given for."""
        function = self.functions.get(called(call))
        return self.given_to(function, call, value) if function is not None else []

    def given_to(self, function: cst.FunctionDef, call: cst.Call, value: cst.CSTNode) -> list[cst.Name]:
        """Return where a function reads the parameter that a call gives `value` for."""
        for parameter in self.parameters(function):
            if self.argument(call, function, parameter) is value:
                name = parameter.name.value
                uses = [use for use in self.named(name) if use is not parameter.name]
                return [use for use in uses if self.scope(use, name) is function]
        return []

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
                if self.argument(call, function, parameter) is other:
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
            elif isinstance(item, cst.Name) and self._written(item) is None:
                # One of several, of which each is a flag by itself.
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
        if not any(map(_tells, words)) or not all(map(_FLAG_OR_VALUE.fullmatch, words)):
            return
        if any(HOLE in word and _ABI.fullmatch(word) for word in words) and self.mentions(node, OF_TORCH):
            return
        whole, above = self._whole(node)
        split = len(words) > 1
        match above:
            case cst.Element():
                self._stray_in(above, whole, split)
            case cst.DictElement(value=value) if value is whole:
                # Where one of a table's strings has several words, all are split when they are used.
                table = self.parent[above]
                beside = table.elements if isinstance(table, cst.Dict) else ()
                self._follow(whole, "maybe", any(len(self.text(each.value).split()) > 1 for each in beside))
            case cst.Assign(targets=[cst.AssignTarget(cst.Subscript() as target)]):
                if not self.code(target.value).endswith("environ"):
                    self._follow(whole, "maybe", False)
            case cst.Assign() | cst.AnnAssign() | cst.AugAssign() | cst.Return() | cst.Param():
                self._follow(whole, "maybe", split)
            case cst.Arg():
                call = self.parent[above]
                if not isinstance(call, cst.Call):
                    return
                if called(call) in ("append", "insert") and isinstance(call.func, cst.Attribute):
                    self._appended(call, "maybe")
                elif called(call) == "dict":
                    self._follow(whole, "maybe", any(len(self.text(each.value).split()) > 1 for each in call.args))
                elif called(call) in ("extend", *_THROUGH) or self._of_tree(call):
                    self._follow(whole, "maybe", split)

    def _whole(self, node: cst.BaseExpression) -> tuple[cst.BaseExpression, cst.CSTNode]:
        """Return what a string is a part of, and where that stands: all of `"-G " + more`, of `"-O3 -G".split()`."""
        whole, above = node, self.parent[node]
        while True:
            if isinstance(above, (cst.BinaryOperation, cst.ConcatenatedString)) or (
                isinstance(above, cst.IfExp) and above.test is not whole
            ):
                whole, above = above, self.parent[above]
            elif (
                isinstance(above, cst.Attribute)
                and above.attr.value in ("split", "strip", "format")
                and isinstance(call := self.parent[above], cst.Call)
                and call.func is above
            ):
                whole, above = call, self.parent[call]
            else:
                return whole, above

    def _stray_in(self, element: cst.Element, whole: cst.BaseExpression, split: bool) -> None:
        """Take what is in a list, or in a row of a table."""
        holder = self.parent[element]
        if not isinstance(holder, (cst.List, cst.Tuple, cst.Set)):
            return
        rows: list[cst.CSTNode] = [element]
        while isinstance(self.parent.get(holder), cst.Element):
            rows.append(self.parent[holder])
            holder = self.parent[rows[-1]]
        # `for flag in ["-lineinfo"]: …` and `"-lineinfo" in […]` look, they pass nothing on.
        statement = self.parent.get(holder)
        if isinstance(statement, (cst.CompFor, cst.ComparisonTarget)):
            return
        if isinstance(statement, cst.For) and not self._passed_on(statement, rows):
            return
        own = self.parent[element]
        assert isinstance(own, (cst.List, cst.Tuple, cst.Set))
        # A command of its own, which is looked at as such.
        command = any(NVCC.fullmatch(self.text(each.value)) for each in own.elements)
        if (not command and self._is_row(own)) or not all(map(self._only_adds, self._loops_over(own))):
            # As many values as before: a name, and what goes with it.
            self._follow(whole, "maybe", split)
        else:
            self._follow(own, "maybe", False)

    def _loops_over(self, holder: cst.CSTNode) -> Iterator[cst.For]:
        """Yield the loops that go through what is written there, or through a variable that is set to it."""
        above = self.parent[holder]
        if isinstance(above, cst.For):
            yield above
        elif isinstance(above, cst.Assign) and isinstance(above.targets[0].target, cst.Name):
            for use in self.named(above.targets[0].target.value):
                if isinstance(loop := self.parent[use], cst.For) and loop.iter is use:
                    yield loop

    def _is_row(self, holder: cst.List | cst.Tuple | cst.Set) -> bool:
        """Say whether what stands side by side are no flags that a compiler gets one after the other."""
        inside = isinstance(self.parent.get(holder), (cst.Element, cst.DictElement))
        for element in holder.elements:
            if isinstance(element, cst.StarredElement):
                continue
            words = self.text(element.value).split()
            if not words or HOLE in words:
                if not isinstance(element.value, (cst.Name, cst.IfExp, cst.Call)) or (
                    inside and isinstance(holder, cst.Tuple)
                ):
                    return True
            elif not all(_FLAG_OR_VALUE.fullmatch(word) or word.startswith("/") for word in words):
                return True
        return False

    def _of_tree(self, call: cst.Call) -> bool:
        """Say whether a function of the file is called, or one of another module of the tree."""
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
        """Say whether a line makes `name` a module of the tree."""
        if isinstance(line.names, cst.ImportStar):
            return False
        for alias in line.names:
            bound = self.code(alias.asname.name if alias.asname else alias.name)
            if bound == name.value:
                return self.code(alias.name).rpartition(".")[2] in self.modules
        return False

    def _passed_on(self, loop: cst.For, rows: Sequence[cst.CSTNode]) -> bool:
        """Say whether what a loop goes through is put into lists there, or handed on, and compared with nothing.

        `rows` are the elements that lead to it, innermost first.
        """
        target: cst.BaseExpression = loop.target
        for row in reversed(rows[:-1]):
            holder = self.parent[row]
            if not isinstance(target, cst.Tuple) or not isinstance(holder, (cst.List, cst.Tuple)):
                break
            place = [each is row for each in holder.elements].index(True)
            if place >= len(target.elements):
                return False
            target = target.elements[place].value
        if not isinstance(target, cst.Name):
            return False
        above = [self.parent[use] for use in self._in_body(loop, target.value)]
        if any(isinstance(each, (cst.Comparison, cst.ComparisonTarget)) for each in above):
            return False
        calls = [self.parent[each] for each in above if isinstance(each, cst.Arg)]
        held = (cst.Element, cst.StarredElement, cst.DictElement, cst.BinaryOperation, cst.AugAssign)
        return any(isinstance(each, held) for each in above) or any(
            isinstance(call, cst.Call) and (called(call) in ("append", "extend", "insert") or self._of_tree(call))
            for call in calls
        )


def places(target: cst.BaseExpression, name: str) -> tuple[int, ...] | None:
    """Return where a name stands in what a loop unpacks: () if it is all of it; None if it is not there."""
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
    """Return what stands at `path` in a row of a table, or None."""
    for place in path:
        if not isinstance(row, (cst.Tuple, cst.List)) or place >= len(row.elements):
            return None
        row = row.elements[place].value
    return row


def _tells(word: str) -> bool:
    """Say whether a flag is nvcc's, or sets the ABI that PyTorch is built with."""
    return bool(telling().fullmatch(word) or _ABI.fullmatch(word))
