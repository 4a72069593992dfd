# SPDX-License-Identifier: Apache-2.0
"""Flags that a Python build script passes to compilers and linkers, read from its text: nothing is run.

Strings are followed by name within a file: from `extra_compile_args={"nvcc": flags}` back to every list that `flags`
was put together from, through `+`, `+=`, `append`, `extend`, `split`, conditional expressions, parameters and the
functions of the file. Code for one vendor alone is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from hipport.program.script_names import Binding, called, lone_call
from hipport.syntax.python_script import children
from hipport_passes.build_files.build_scripts.flag_sinks import Sink, sinks, variables
from hipport_passes.build_files.build_scripts.script import THROUGH, Script, places
from hipport_passes.build_files.build_scripts.script_conditions import ROCM
from hipport_passes.build_files.build_scripts.stray_flags import stray

_SAME = {"copy", "strip", "lstrip", "rstrip"}


@dataclass(eq=False)
class FlagGroup:
    """Strings that a compiler gets one after the other.

    `node` holds them: a list, tuple or set; a comprehension; a string that is split later or stands alone; the first of
    several statements that append. `items` are the expressions in it. `uses` names the receivers: `nvcc` (PyTorch's
    `extra_compile_args`), `jit` (nvcc, through `load`), `host`, `link`, `library`, `folder`, `macro`.
    """

    node: cst.CSTNode
    shape: str
    items: tuple[cst.BaseExpression, ...]
    statements: tuple[cst.SimpleStatementLine, ...] = ()
    uses: set[str] = field(default_factory=set)

    @property
    def places(self) -> Sequence[int]:
        """Return the index of each item among all elements of the node: `*more` is not an item."""
        if not isinstance(self.node, (cst.List, cst.Tuple, cst.Set)) or self.shape != "elements":
            return range(len(self.items))
        place = {id(element.value): i for i, element in enumerate(self.node.elements)}
        return [place[id(item)] for item in self.items]


def groups(script: Script) -> list[FlagGroup]:
    """Return the strings that compilers and linkers get, and strings that only nvcc can understand.

    The latter get the use `maybe`. Code for one vendor alone is left out.
    """
    following = _Following(script)
    handed_on = list(sinks(script))
    following.take(each for each in handed_on if each.appended)
    expressions = [each for each in handed_on if not each.appended]
    # First the strings that somebody has already decided about, so that they count as explained below.
    following.take(each._replace(use="decided") for each in expressions if not script.runs(each.node).both)
    following.take(each for each in (*expressions, *variables(script)) if script.runs(each.node).both)
    reached = following.reached()
    test = re.search(r"(?:^|/)tests?/|(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$", script.source.path.as_posix())
    # Who handled ROCm has considered these strings; and a condition may test for them.
    for node in script.nodes if not script.decided and not test else ():
        if isinstance(node, (cst.SimpleString, cst.FormattedString)) and node not in reached:
            following.take(stray(script, node))
    found = [group for group in following.groups if group.uses - {"decided"} and script.runs(group.node).both]
    for group in found:
        group.uses.discard("decided")
    return sorted(found, key=lambda group: script.order[group.node])


class _Following:
    """The way back from a receiver to the strings that its argument is built from."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._groups: dict[cst.CSTNode, FlagGroup] = {}
        self._runs: dict[cst.SimpleStatementLine, tuple[cst.SimpleStatementLine, ...]] = {}
        self._done: set[tuple[cst.CSTNode, str, bool]] = set()

    @property
    def groups(self) -> Iterable[FlagGroup]:
        return self._groups.values()

    def take(self, given: Iterable[Sink]) -> None:
        """Group the strings that reach the receiver."""
        for each in given:
            if each.appended:
                assert isinstance(each.node, cst.Call)
                self._appended(each.node, each.use)
            else:
                self._follow(each.node, each.use, each.split)

    def reached(self) -> set[cst.CSTNode]:
        """Return the expressions that give the items so far their text: their parts, and the values of their names."""
        found: set[cst.CSTNode] = set()
        stack: list[cst.CSTNode] = [item for group in self.groups for item in group.items]
        while stack:
            node = stack.pop()
            # The value of a name may contain the name.
            if node in found:
                continue
            found.add(node)
            stack += children(node)
            if isinstance(node, cst.Name) and (value := self.script.written(node)) is not None:
                stack.append(value)
        return found

    def _follow(self, node: cst.CSTNode | None, use: str, split: bool) -> None:
        if node is None or (node, use, split) in self._done:
            return
        self._done.add((node, use, split))
        match node:
            case cst.List() | cst.Tuple() | cst.Set():
                self._follow_elements(node, use, split)
            case cst.SimpleString() | cst.ConcatenatedString() | cst.BinaryOperation(operator=cst.Modulo()):
                self._group(node, "split" if split else "alone", (node,), use)
            case cst.FormattedString():
                self._group(node, "split" if split else "alone", (node,), use)
                for part in self._words_put(node) if split else ():
                    self._follow(part, use, split)
            case cst.IfExp():
                for branch in (node.body, node.orelse):
                    # A name in a branch for one vendor is replaced by its values where both vendors' paths meet.
                    self._follow(branch, use if self.script.runs(branch).both else "decided", split)
            case cst.ListComp() | cst.GeneratorExp() | cst.SetComp():
                self._follow_comprehension(node, use, split)
            case cst.Call():
                self._follow_call(node, use, split)
            case cst.Subscript(value=value):
                self._follow_entries(value, use, split, self.script.key(node))
            case cst.Name() if (loop := self.script.comprehended(node)) is not None:
                for value in self.script.gone_through(loop.iter, places(loop.target, node.value)):
                    self._follow(value, use, split)
            case cst.Name() | cst.Attribute():
                self._follow_name(node, use, split)
            case _:
                for part in _operands(node):
                    self._follow(part, use, split)

    def _follow_elements(self, node: cst.List | cst.Tuple | cst.Set, use: str, split: bool) -> None:
        items = tuple(element.value for element in node.elements if isinstance(element, cst.Element))
        self._group(node, "elements", items, use)
        for element in node.elements:
            if isinstance(element, cst.StarredElement) or (
                use != "macro" and isinstance(element.value, (cst.List, cst.Tuple))
            ):
                self._follow(element.value, use, split)

    def _follow_comprehension(self, node: cst.ListComp | cst.GeneratorExp | cst.SetComp, use: str, split: bool) -> None:
        # `f"{name}"` is the name.
        elt = node.elt
        match elt:
            case cst.FormattedString(parts=[cst.FormattedStringExpression(expression=cst.Name() as elt)]):
                pass
        if isinstance(elt, cst.Name):
            loop = self.script.comprehended(elt)
            self._follow(loop.iter if loop is not None else node.for_in.iter, use, split)
        else:
            self._group(node, "comprehension", (node.elt,), use)

    def _follow_name(self, node: cst.Name | cst.Attribute, use: str, split: bool) -> None:
        around = {above for above, _ in self.script.ancestors(node)}
        for binding in self.script.bound(node):
            self._follow_binding(binding, use, split)
            if isinstance(binding.node, cst.For) and isinstance(node, cst.Name) and binding.node in around:
                self._follow_loop(binding.node, node, use, split)
        if isinstance(node, cst.Name):
            self._follow_into_functions(node, use, split)

    @staticmethod
    def _words_put(text: cst.FormattedString) -> Iterator[cst.BaseExpression]:
        """Yield the expressions that an f-string inserts between blanks, each of which may be several words."""
        # An inserted part that touches no blank is judged by itself.
        beside = [part.value if isinstance(part, cst.FormattedStringText) else "{}" for part in text.parts]
        for part, before, after in zip(text.parts, [" ", *beside], [*beside[1:], " "], strict=False):
            if isinstance(part, cst.FormattedStringExpression) and before[-1:].isspace() and after[:1].isspace():
                yield part.expression

    def _follow_loop(self, loop: cst.For, name: cst.Name, use: str, split: bool) -> None:
        """Follow a loop variable to the values of the loop."""
        path = places(loop.target, name.value)
        if not path and self.script.only_adds(loop):
            # The loop may also run over more or fewer of them.
            self._follow(loop.iter, use, split)
        else:
            for value in self.script.gone_through(loop.iter, path):
                self._follow(value, use, split)

    def _follow_entries(self, table: cst.CSTNode | None, use: str, split: bool, key: str = "") -> None:
        """Follow the entries of a table in the script; the entry that is used is mostly known only when it runs."""
        if isinstance(table, cst.Name):
            # `table["debug"] = …`
            for name in self.script.named(table.value):
                entry = self.script.parent[name]
                if (
                    not isinstance(entry, cst.Subscript)
                    or entry.value is not name
                    or ROCM.fullmatch(self.script.key(entry))
                ):
                    continue
                if isinstance(target := self.script.parent[entry], cst.AssignTarget):
                    assigned = self.script.parent[target]
                    assert isinstance(assigned, cst.Assign)
                    self._follow(assigned.value, use, split)
        for each, is_row in self.script.tables(table):
            elements = [element for element in each.elements if isinstance(element, cst.DictElement)]
            # A table with an entry for ROCm has decided about the other entries.
            if any(ROCM.fullmatch(self.script.text(element.key)) for element in elements):
                continue
            named = [element for element in elements if self.script.text(element.key) == key]
            # A row has flags, libraries and more, each under its own key.
            for element in named if is_row and named else elements:
                self._follow(element.value, use, split)

    def _follow_call(self, call: cst.Call, use: str, split: bool) -> None:
        name, arguments = called(call), [argument.value for argument in call.args]
        receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
        if name == "split":
            # "…".split() and shlex.split("…")
            of = arguments[0] if arguments and self.script.code(call.func) == "shlex.split" else receiver
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
        elif name in THROUGH:
            for argument in arguments:
                self._follow(argument, use, split)
        elif name in self.script.functions and isinstance(call.func, cst.Name):
            for returned in self.script.returns(self.script.functions[name]):
                self._follow(returned.value, use, split)
            for node in self.script.nodes_below(self.script.functions[name]):
                if isinstance(node, cst.Yield) and self.script.function(node) is self.script.functions[name]:
                    self._follow(node.value.item if isinstance(node.value, cst.From) else node.value, use, split)

    def _follow_binding(self, binding: Binding, use: str, split: bool) -> None:
        if binding.how in ("appends", "inserts"):
            assert isinstance(binding.node, cst.Call)
            self._appended(binding.node, use)
        elif binding.how == "parameter":
            function = self.script.function(binding.node)
            assert isinstance(binding.node, cst.Param) and function is not None
            self._follow(binding.value, use, split)
            for call in self.script.calls(function.name.value):
                self._follow(self.script.argument(call, function, binding.node), use, split)
        else:
            self._follow(binding.value, use, split)

    def _follow_into_functions(self, name: cst.Name, use: str, split: bool) -> None:
        """Follow the elements that functions of the file add to a list that they receive."""
        scope = self.script.scope(name, name.value)
        for other in self.script.named(name.value):
            argument = self.script.parent[other]
            if not isinstance(argument, cst.Arg) or self.script.scope(other, other.value) is not scope:
                continue
            call = self.script.parent[argument]
            function = self.script.functions.get(called(call)) if isinstance(call, cst.Call) else None
            if function is None or not isinstance(call, cst.Call):
                continue
            for parameter in self.script.parameters(function):
                if self.script.argument(call, function, parameter) is other:
                    for binding in self.script.bindings.get((function, parameter.name.value), ()):
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
        group = self._groups.setdefault(node, FlagGroup(node, shape, items, statements))
        group.uses.add(use)
        for item in items:
            if isinstance(item, cst.IfExp):
                self._follow(item, use, False)
            elif isinstance(item, cst.Name) and self.script.written(item) is None:
                # One of several strings, each of which is a flag by itself.
                self._follow(item, use, False)

    def _appended(self, call: cst.Call, use: str) -> None:
        """Group an `x.append(…)` with adjacent ones: a flag and its value are often two calls."""
        assert isinstance(call.func, cst.Attribute)
        if not call.args:
            return
        line = self.script.statement(call)
        receiver = self.script.code(call.func)
        if line is None or lone_call(line) is not call or call.func.attr.value != "append":
            self._group(call, "alone", (call.args[-1].value,), use)
            return
        lines = self._run(line, receiver)
        calls = [lone_call(each) for each in lines]
        items = tuple(each.args[0].value for each in calls if each is not None)
        self._group(lines[0], "appended", items, use, lines)

    def _run(self, line: cst.SimpleStatementLine, receiver: str) -> tuple[cst.SimpleStatementLine, ...]:
        """Return the adjacent lines that append to the same list, with the given one; computed once for all of them."""
        if line not in self._runs:
            body = list(getattr(self.script.parent[line], "body", ()))
            first = last = body.index(line)
            while first and self._appends(body[first - 1], receiver):
                first -= 1
            while last + 1 < len(body) and self._appends(body[last + 1], receiver):
                last += 1
            run = tuple(body[first : last + 1])
            self._runs.update(dict.fromkeys(run, run))
        return self._runs[line]

    def _appends(self, line: cst.CSTNode, receiver: str) -> bool:
        call = lone_call(line)
        return call is not None and len(call.args) == 1 and self.script.code(call.func) == receiver


def _operands(node: cst.CSTNode) -> tuple[cst.BaseExpression, ...]:
    """Return the operands that an expression takes its strings from."""
    match node:
        case cst.BinaryOperation(operator=cst.Add()) | cst.BooleanOperation():
            return node.left, node.right
        case cst.BinaryOperation(operator=cst.Multiply()):
            return (node.left,)
        case cst.NamedExpr():
            return (node.value,)
    return ()
