# SPDX-License-Identifier: Apache-2.0
"""What a Python build script hands to compilers and linkers, read off its text: nothing is run.

Strings are followed by name within a file: from `extra_compile_args={"nvcc": flags}` back to every list that `flags`
was put together from, through `+`, `+=`, `append`, `extend`, `split`, conditional expressions, parameters and the
functions of the file. What a condition says about ROCm is taken into account: a branch that only NVIDIA or only AMD
gets is somebody's own port already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import libcst as cst

from hipport.languages.python import Python
from hipport_passes.nvcc_flags import HOLE, telling

#: Names that say "this is ROCm": IS_HIP, is_rocm_pytorch, HIP_BUILD, USE_ROCM, IS_HIP_EXTENSION, rocm …
_ROCM = re.compile(
    r"_*(?:is|use|with|has|build|for|target|on|torch|enable)?_*(?:rocm|hip|amd)"
    r"(?:_*(?:is|extension|build|pytorch|torch|platform|backend|available|enabled|home|version|gpu|ext|mode))*_*",
    re.IGNORECASE,
)
#: The name of nvcc in a command, or the beginning of one.
NVCC = re.compile(r"(?:.*[/\\\s])?nvcc(?:\.exe)?(?:\s.*)?", re.DOTALL)
#: A version before 2: "1.12.1", [1, 7]
_OLD = re.compile(r"^\D*[01][.,]\s*\d")
_WINDOWS = re.compile(r"_*(?:is|on)?_*(?:windows|win32|win)_*", re.IGNORECASE)
_SYSTEMS = {
    "nt": False,
    "win32": False,
    "win_amd64": False,
    "Windows": False,
    "darwin": False,
    "Darwin": False,
    "cygwin": False,
}
_SYSTEMS |= {"posix": True, "linux": True, "Linux": True}
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
_STRINGS = (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)
_SAME = {"copy", "strip", "lstrip", "rstrip"}
_THROUGH = {"list", "tuple", "set", "sorted", "reversed", "deepcopy", "copy", "chain", "filter", "map", "fromkeys"}


class Runs(NamedTuple):
    """Whether a place in the script is reached in a build for ROCm on Linux, and in one for CUDA there."""

    rocm: bool
    cuda: bool

    @property
    def both(self) -> bool:
        """Whether nobody has taken a decision about ROCm that leads here."""
        return self.rocm and self.cuda


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


@dataclass(frozen=True)
class _Binding:
    how: str
    value: cst.BaseExpression | None
    node: cst.CSTNode


class Script:
    """A build script's tree, with what is known of its names, its branches and the strings in it."""

    def __init__(self, source: Python) -> None:
        assert source.module is not None
        self.source = source
        self.module = source.module
        self.parent: dict[cst.CSTNode, cst.CSTNode] = {}
        self.nodes: list[cst.CSTNode] = []
        stack: list[cst.CSTNode] = [self.module]
        while stack:
            node = stack.pop()
            self.nodes.append(node)
            children = [c for c in node.children if not isinstance(c, (cst.BaseParenthesizableWhitespace, cst.Comma))]
            for child in children:
                self.parent[child] = node
            stack += reversed(children)
        self._bindings: dict[tuple[cst.CSTNode | None, str], list[_Binding]] = {}
        self._calls: dict[str, list[cst.Call]] = {}
        self._named: dict[str, list[cst.Name]] = {}
        self._returns: dict[cst.FunctionDef, list[cst.Return]] = {}
        self.functions: dict[str, cst.FunctionDef] = {}
        self._collect()
        self._runs: dict[cst.CSTNode, Runs] = {}
        self._asking: set[cst.FunctionDef] = set()
        self._groups: dict[cst.CSTNode, Group] = {}
        self._done: set[tuple[cst.CSTNode, str, bool]] = set()

    # The tree

    def ancestors(self, node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
        """Yield (ancestor, the child of it that leads to `node`), innermost first."""
        while node in self.parent:
            yield self.parent[node], node
            node = self.parent[node]

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """Return the function that `node` stands in."""
        for above, _ in self.ancestors(node):
            if isinstance(above, cst.FunctionDef):
                return above
        return None

    def statement(self, node: cst.CSTNode) -> cst.SimpleStatementLine | None:
        """Return the line of simple statements that `node` stands in."""
        for above, _ in self.ancestors(node):
            if isinstance(above, cst.SimpleStatementLine):
                return above
        return None

    def named(self, name: str) -> list[cst.Name]:
        """Return the places where the name stands, as a name of its own or behind a dot."""
        return self._named.get(name, [])

    def calls(self, name: str) -> list[cst.Call]:
        """Return the calls of a function of that name, or of a method."""
        return self._calls.get(name, [])

    def code(self, node: cst.CSTNode) -> str:
        """Return the node's text."""
        return self.module.code_for_node(node).strip()

    def text(self, node: cst.CSTNode | None, depth: int = 0) -> str:
        """Return the string that an expression makes, with HOLE for what is known only when it runs."""
        if depth > 8:
            return HOLE
        match node:
            case cst.SimpleString():
                # With its escapes, if any: no flag that matters has one.
                return HOLE if "b" in node.prefix else node.raw_value.replace("\r\n", "\n")
            case cst.ConcatenatedString():
                return self.text(node.left, depth + 1) + self.text(node.right, depth + 1)
            case cst.FormattedString():
                return "".join(
                    part.value.replace("{{", "{").replace("}}", "}")
                    if isinstance(part, cst.FormattedStringText)
                    else HOLE
                    for part in node.parts
                )
            case cst.BinaryOperation(operator=cst.Add()):
                return self.text(node.left, depth + 1) + self.text(node.right, depth + 1)
            case cst.BinaryOperation(operator=cst.Modulo()):
                return re.sub(r"%(?:\(\w+\))?[-+ #0-9.]*[a-z]", HOLE, self.text(node.left, depth + 1))
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name("format"))):
                return re.sub(r"\{[^{}]*\}", HOLE, self.text(receiver, depth + 1))
            case cst.Name():
                found = self._bound(node)
                if len(found) == 1 and found[0].how == "is":
                    return self.text(found[0].value, depth + 1)
        return HOLE

    # Names

    def _collect(self) -> None:
        mutations: list[tuple[cst.CSTNode, str, _Binding]] = []
        for node in self.nodes:
            match node:
                case cst.Name():
                    self._named.setdefault(node.value, []).append(node)
                case cst.FunctionDef():
                    self.functions.setdefault(node.name.value, node)
                    for parameter in self._parameters(node):
                        binding = _Binding("parameter", parameter.default, parameter)
                        self._bindings.setdefault((node, parameter.name.value), []).append(binding)
                case cst.Assign():
                    for target in node.targets:
                        self._assigned(target.target, node.value, node)
                case cst.AnnAssign() if node.value is not None:
                    self._assigned(node.target, node.value, node)
                case cst.NamedExpr():
                    self._assigned(node.target, node.value, node)
                case cst.AugAssign(operator=cst.AddAssign()):
                    mutations.append((node, _key(node.target), _Binding("adds", node.value, node)))
                case cst.For():
                    self._assigned(node.target, None, node)
                case cst.Return() if node.value is not None and (function := self.function(node)) is not None:
                    self._returns.setdefault(function, []).append(node)
                case cst.ImportFrom() | cst.Import() if not isinstance(node.names, cst.ImportStar):
                    for alias in node.names:
                        name = alias.asname.name if alias.asname else alias.name
                        self._assigned(name, None, node)
                case cst.Call():
                    self._calls.setdefault(_called(node), []).append(node)
                    if isinstance(node.func, cst.Attribute) and node.func.attr.value in ("append", "extend", "insert"):
                        how = {"append": "appends", "extend": "adds", "insert": "inserts"}[node.func.attr.value]
                        value = node.args[-1].value if node.args else None
                        mutations.append((node, _key(node.func.value), _Binding(how, value, node)))
        for node, key, binding in mutations:
            if key:
                self._bindings.setdefault((self._scope(node, key), key), []).append(binding)

    def _assigned(self, target: cst.BaseExpression, value: cst.BaseExpression | None, node: cst.CSTNode) -> None:
        if isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self._assigned(element.value, None, node)
        elif key := _key(target):
            scope = None if key.startswith(".") else self.function(node)
            self._bindings.setdefault((scope, key), []).append(_Binding("is", value, node))

    @staticmethod
    def _parameters(function: cst.FunctionDef) -> tuple[cst.Param, ...]:
        parameters = function.params
        return (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params)

    def _scope(self, node: cst.CSTNode, key: str) -> cst.CSTNode | None:
        if key.startswith("."):
            return None
        for above, _ in self.ancestors(node):
            if isinstance(above, cst.FunctionDef) and any(
                binding.how in ("is", "parameter") for binding in self._bindings.get((above, key), ())
            ):
                return above
        return None

    def _bound(self, node: cst.Name | cst.Attribute) -> list[_Binding]:
        key = _key(node)
        return self._bindings.get((self._scope(node, key), key), [])

    def values(self, name: cst.Name | cst.Attribute) -> list[cst.BaseExpression | None]:
        """Return what the variable is set to in the file; None for what is not known, a parameter or a loop's, say."""
        return [each.value if each.how == "is" else None for each in self._bound(name)]

    def imported(self, name: cst.Name) -> cst.ImportFrom | None:
        """Return the `from … import` that alone binds `name`."""
        found = self._bound(name)
        return found[0].node if len(found) == 1 and isinstance(found[0].node, cst.ImportFrom) else None

    # Conditions

    def truth(self, test: cst.CSTNode | None, rocm: bool, depth: int = 0) -> bool | None:
        """Say what a condition is when the script runs on Linux with a PyTorch for ROCm, or else for CUDA."""
        if depth > 16:
            return None
        match test:
            case cst.Name("True"):
                return True
            case cst.Name("False" | "None"):
                return False
            case cst.Name() | cst.Attribute():
                return self._truth_of_name(test, rocm, depth)
            case cst.UnaryOperation(operator=cst.Not()):
                value = self.truth(test.expression, rocm, depth + 1)
                return None if value is None else not value
            case cst.BooleanOperation():
                values = {self.truth(test.left, rocm, depth + 1), self.truth(test.right, rocm, depth + 1)}
                decisive = isinstance(test.operator, cst.Or)
                if decisive in values:
                    return decisive
                return None if None in values else not decisive
            case cst.IfExp():
                chosen = self.truth(test.test, rocm, depth + 1)
                values = {self.truth(test.body, rocm, depth + 1), self.truth(test.orelse, rocm, depth + 1)}
                if chosen is not None:
                    return self.truth(test.body if chosen else test.orelse, rocm, depth + 1)
                return values.pop() if len(values) == 1 else None
            case cst.Comparison(comparisons=[comparison]):
                return self._truth_of_comparison(test.left, comparison, rocm, depth)
            case cst.Call():
                return self._truth_of_call(test, rocm, depth)
            case cst.NamedExpr():
                return self.truth(test.value, rocm, depth + 1)
        return None

    def _truth_of_name(self, name: cst.Name | cst.Attribute, rocm: bool, depth: int) -> bool | None:
        word = name.value if isinstance(name, cst.Name) else name.attr.value
        if isinstance(name, cst.Attribute) and "version" in self.code(name.value):
            # torch.version.hip and .cuda are strings where PyTorch is built for it, else None.
            return {"hip": rocm, "rocm": rocm, "cuda": not rocm}.get(word)
        if isinstance(name, cst.Name):
            found = self._bound(name)
            if len(found) == 1 and found[0].how == "is" and found[0].value is not None:
                value = self.truth(found[0].value, rocm, depth + 1)
                if value is not None:
                    return value
        if _ROCM.fullmatch(word):
            return rocm
        return False if _WINDOWS.fullmatch(word) else None

    def _truth_of_comparison(
        self, left: cst.BaseExpression, target: cst.ComparisonTarget, rocm: bool, depth: int
    ) -> bool | None:
        operator, right = target.operator, target.comparator
        negated = isinstance(operator, (cst.NotEqual, cst.IsNot, cst.NotIn))
        value: bool | None = None
        if isinstance(operator, (cst.Is, cst.IsNot, cst.Equal, cst.NotEqual)):
            word = self.text(right, depth + 1) if isinstance(right, _STRINGS) else self.code(right)
            if word in ("None", "False"):
                known = self.truth(left, rocm, depth + 1)
                value = None if known is None else not known
            elif word in ("True", "1", "ON", "YES", "TRUE", "true", "on", "yes"):
                value = self.truth(left, rocm, depth + 1)
            elif word.lower() in ("rocm", "hip", "amd"):
                value = rocm
            elif isinstance(right, _STRINGS):
                value = self._system(left, word)
        elif isinstance(operator, (cst.In, cst.NotIn)):
            word = self.text(left, depth + 1)
            if re.fullmatch(r"\+?(?:rocm|hip)", word, re.IGNORECASE):
                value = rocm
            elif isinstance(left, _STRINGS):
                value = self._system(right, word)
        elif self._of_old_torch(left, right):
            value = isinstance(operator, (cst.GreaterThan, cst.GreaterThanEqual))
        return None if value is None else value is not negated

    def _of_old_torch(self, left: cst.BaseExpression, right: cst.BaseExpression) -> bool:
        """Say whether a version of PyTorch is compared with one before 2, of which there is none for today's ROCm."""
        asked = re.search(r"torch\w*ver|torch\.__version__", self.code(left), re.IGNORECASE)
        return asked is not None and _OLD.search(self.code(right)) is not None

    def _system(self, expression: cst.BaseExpression, word: str) -> bool | None:
        code = self.code(expression)
        asked = re.search(r"\bos\.name\b|platform", code)
        return _SYSTEMS.get(word) if asked and "machine" not in code else None

    def _truth_of_call(self, call: cst.Call, rocm: bool, depth: int) -> bool | None:
        name = _called(call)
        arguments = [argument.value for argument in call.args]
        if name == "bool" and len(arguments) == 1:
            return self.truth(arguments[0], rocm, depth + 1)
        if name in ("getenv", "get", "getattr") and arguments:
            # What the environment says about ROCm, or getattr(torch.version, "hip", None).
            word = self.text(arguments[1] if name == "getattr" and len(arguments) > 1 else arguments[0], depth + 1)
            return rocm if HOLE not in word and _ROCM.fullmatch(word) else None
        if name == "startswith" and arguments and isinstance(call.func, cst.Attribute):
            word = self.text(arguments[0], depth + 1)
            systems = {value for system, value in _SYSTEMS.items() if system.startswith(word)}
            asked = "platform" in self.code(call.func.value)
            return systems.pop() if asked and len(systems) == 1 else None
        function = self.functions.get(name)
        if function is not None and isinstance(call.func, cst.Name):
            values = [node.value for node in self._returned(function)]
            if len(values) == 1:
                value = self.truth(values[0], rocm, depth + 1)
                if value is not None:
                    return value
        return rocm if _ROCM.fullmatch(name) else None

    def _returned(self, function: cst.FunctionDef) -> list[cst.Return]:
        return self._returns.get(function, [])

    def conditions(self, node: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, bool]]:
        """Yield (condition, the value it must have for `node` to be reached), innermost first, within its function."""
        for above, child in self.ancestors(node):
            if isinstance(above, (cst.If, cst.IfExp)) and child is not above.test:
                yield above.test, child is above.body
            elif isinstance(above, cst.BooleanOperation) and child is above.right:
                yield above.left, isinstance(above.operator, cst.And)
            elif isinstance(above, (cst.Module, cst.IndentedBlock)):
                for before in above.body:
                    if before is child:
                        break
                    # What follows `if IS_HIP: … return` is for those who did not return.
                    if isinstance(before, cst.If) and before.orelse is None and _leaves(before.body):
                        yield before.test, False
            elif isinstance(above, cst.FunctionDef):
                return

    def runs(self, node: cst.CSTNode) -> Runs:
        """Say in which builds `node` is reached, as far as conditions about ROCm and the system decide it."""
        return self._reached(node) or Runs(True, True)

    def _reached(self, node: cst.CSTNode) -> Runs | None:
        """As `runs`; None where a function is reached from itself alone, which says nothing."""
        if node in self._runs:
            return self._runs[node]
        rocm = cuda = True
        for test, wanted in self.conditions(node):
            rocm = rocm and self.truth(test, True) is not (not wanted)
            cuda = cuda and self.truth(test, False) is not (not wanted)
        for above, child in self.ancestors(node):
            # In `if FORCE_CUDA: … elif torch.version.hip: …` the first branch is not for ROCm, whatever is forced.
            if isinstance(above, cst.If) and child is above.body and self.turns_to_rocm(above):
                rocm = False
        function = self.function(node)
        if function is not None:
            if function in self._asking:
                return None
            self._asking.add(function)
            places = [self._reached(name) for name in self._uses(function)]
            self._asking.discard(function)
            known = [place for place in places if place is not None]
            if places and not known and self._asking:
                return None
            if known:
                rocm = rocm and any(place.rocm for place in known)
                cuda = cuda and any(place.cuda for place in known)
        found = Runs(rocm, cuda)
        if not self._asking:
            self._runs[node] = found
        return found

    def _uses(self, function: cst.FunctionDef) -> list[cst.Name]:
        """Return where a function of the script is named: a method behind a dot, any other not."""
        method = isinstance(self.parent.get(self.parent[function]), cst.ClassDef)
        return [
            name
            for name in self.named(function.name.value)
            if name is not function.name
            and (isinstance(above := self.parent[name], cst.Attribute) and above.attr is name) is method
        ]

    def turns_to_rocm(self, branch: cst.If) -> bool:
        """Say whether a later branch of `if … elif …` is one for ROCm alone."""
        following = branch.orelse
        while isinstance(following, cst.If):
            if self.truth(following.test, True) is not False and self.truth(following.test, False) is False:
                return True
            following = following.orelse
        return False

    @cached_property
    def aware(self) -> bool:
        """Whether the script asks about ROCm anywhere."""
        return any(
            isinstance(node, (cst.Name, cst.Attribute)) and self.truth(node, True) and self.truth(node, False) is False
            for node in self.nodes
        )

    # Strings

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
        for node in self.nodes if not self.aware and not test else ():
            if isinstance(node, (cst.SimpleString, cst.FormattedString)) and node not in reached:
                self._stray(node)
        found = [group for group in self._groups.values() if group.uses - {"decided"}]
        found = [group for group in found if self.runs(group.node).both]
        for group in found:
            group.uses.discard("decided")
        place = {node: i for i, node in enumerate(self.nodes)}
        return sorted(found, key=lambda group: place[group.node])

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
                case cst.Call(func=cst.Attribute(value=cst.Subscript() as target, attr=cst.Name("append"))) if (
                    key := self.key(target)
                ) in _OF_KEY:
                    if self.runs(node).both:
                        self._appended(node, _OF_KEY[key])
                case cst.Arg(keyword=cst.Name(keyword)):
                    call = self.parent[node]
                    assert isinstance(call, (cst.Call, cst.ClassDef))
                    if isinstance(call, cst.Call) and _called(call) == "dict" and keyword in _OF_KEY:
                        yield node.value, _OF_KEY[keyword]
                    elif keyword in _OF_KEYWORD:
                        yield node.value, _OF_KEYWORD[keyword]
                    elif keyword == "extra_compile_args" and isinstance(call, cst.Call):
                        yield node.value, "host"
                        if _called(call) not in ("CppExtension", "Pybind11Extension"):
                            yield node.value, "nvcc"
                case cst.Assign(targets=[cst.AssignTarget(cst.Name(name))]) if _NAMED_FLAGS.fullmatch(name):
                    yield node.targets[0].target, "nvcc"
                case cst.FunctionDef(name=cst.Name(name)) if _NAMED_FLAGS.fullmatch(name):
                    for returned in self._returned(node):
                        assert returned.value is not None
                        yield returned.value, "nvcc"

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
                self._follow(node.body, use, split)
                self._follow(node.orelse, use, split)
            case cst.NamedExpr():
                self._follow(node.value, use, split)
            case cst.ListComp() | cst.GeneratorExp() | cst.SetComp():
                if isinstance(node.elt, cst.Name):
                    self._follow(node.for_in.iter, use, split)
                else:
                    self._group(node, "comprehension", (node.elt,), use)
            case cst.Call():
                self._follow_call(node, use, split)
            case cst.Name() | cst.Attribute():
                for binding in self._bound(node):
                    self._follow_binding(binding, use, split)
                if isinstance(node, cst.Name):
                    self._follow_into_functions(node, use, split)

    def _follow_call(self, call: cst.Call, use: str, split: bool) -> None:
        name, arguments = _called(call), [argument.value for argument in call.args]
        receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
        if name == "split":
            # "…".split() and shlex.split("…")
            of = arguments[0] if arguments and self.code(call.func) == "shlex.split" else receiver
            self._follow(of, use, True)
        elif name in _SAME and receiver is not None and not arguments:
            self._follow(receiver, use, split)
        elif name == "join" and arguments:
            self._follow(arguments[0], use, split)
        elif name in ("getenv", "get", "pop", "setdefault") and len(arguments) > 1:
            self._follow(arguments[1], use, split)
        elif name in _THROUGH:
            for argument in arguments:
                self._follow(argument, use, split)
        elif name in self.functions and isinstance(call.func, cst.Name):
            for returned in self._returned(self.functions[name]):
                self._follow(returned.value, use, split)

    def _follow_binding(self, binding: _Binding, use: str, split: bool) -> None:
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
        scope = self._scope(name, name.value)
        for other in self.named(name.value):
            argument = self.parent[other]
            if not isinstance(argument, cst.Arg) or self._scope(other, other.value) is not scope:
                continue
            call = self.parent[argument]
            function = self.functions.get(_called(call)) if isinstance(call, cst.Call) else None
            if function is None or not isinstance(call, cst.Call):
                continue
            for parameter in self._parameters(function):
                if self._argument(call, function, parameter) is other:
                    for binding in self._bindings.get((function, parameter.name.value), ()):
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
        if line is None or _lone_call(line) is not call or call.func.attr.value != "append":
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
        calls = [_lone_call(each) for each in lines]
        items = tuple(each.args[0].value for each in calls if each is not None)
        self._group(lines[0], "appended", items, use, lines)

    def _appends(self, line: cst.CSTNode, receiver: str) -> bool:
        call = _lone_call(line)
        return call is not None and len(call.args) == 1 and self.code(call.func) == receiver

    def _stray(self, node: cst.SimpleString | cst.FormattedString) -> None:
        """Take a string that only nvcc can be meant by, in a list of which it is not known where it goes."""
        words = self.text(node).split()
        if not words or not telling().fullmatch(words[0]):
            return
        above = self.parent[node]
        if isinstance(above, cst.Element):
            holder = self.parent[above]
            statement = self.parent.get(holder)
            # `for flag in ["-lineinfo"]: …` and `"-lineinfo" in […]` look, they pass nothing on.
            if isinstance(holder, (cst.List, cst.Tuple)) and not isinstance(
                statement, (cst.For, cst.CompFor, cst.ComparisonTarget, cst.Element, cst.DictElement)
            ):
                self._follow(holder, "maybe", False)
        elif isinstance(above, cst.Arg):
            call = self.parent[above]
            if isinstance(call, cst.Call) and _called(call) == "append" and isinstance(call.func, cst.Attribute):
                self._appended(call, "maybe")


def _key(target: cst.BaseExpression) -> str:
    """Return what a variable is known by: its name, or `.attribute` whatever it is an attribute of."""
    if isinstance(target, cst.Name):
        return target.value
    return f".{target.attr.value}" if isinstance(target, cst.Attribute) else ""


def _called(call: cst.Call) -> str:
    if isinstance(call.func, cst.Attribute):
        return call.func.attr.value
    return call.func.value if isinstance(call.func, cst.Name) else ""


def _lone_call(line: cst.CSTNode) -> cst.Call | None:
    match line:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.Call() as call)]):
            return call
    return None


def _leaves(block: cst.BaseSuite) -> bool:
    """Say whether what follows the block is not reached from it."""
    body: Iterable[cst.CSTNode] = block.body
    last = list(body)[-1:]
    match last:
        case [cst.SimpleStatementLine(body=[*_, end])] | [end]:
            return isinstance(end, (cst.Return, cst.Raise, cst.Continue, cst.Break)) or (
                isinstance(end, cst.Expr)
                and isinstance(end.value, cst.Call)
                and _called(end.value) in ("exit", "_exit")
            )
    return False
