# SPDX-License-Identifier: Apache-2.0
"""Values of the conditions in a Python script, in a build for ROCm and in one for CUDA.

A branch that runs only on NVIDIA or only on AMD is somebody's own port already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import libcst as cst

from hipport.core.edits import Edit, Span
from hipport.core.tables import load, one_of
from hipport.program.script_names import ScriptNames, called
from hipport.syntax.build_names import NAMES
from hipport.syntax.holes import HOLE
from hipport.syntax.python_script import Python

_TABLE = load(Path(__file__).with_suffix(".toml"))
_WORDS = _TABLE["words"]
#: The variable that names the GPUs to build for.
ARCHITECTURES: str = _TABLE["words"]["architectures"]
#: Names that say "this is ROCm": IS_HIP, is_rocm_pytorch, HIP_BUILD, USE_ROCM, IS_HIP_EXTENSION, rocm …
ROCM = re.compile(
    rf"_*{one_of(_WORDS['before'])}?_*{one_of(_WORDS['rocm'])}(?:_*{one_of(_WORDS['behind'])})*_*", re.IGNORECASE
)
#: A version before 2: "1.12.1", [1, 7]
_OLD = re.compile(r"^\D*[01][.,]\s*\d")
_WINDOWS = NAMES.compile(rf"_*(?:is|on)?_*{one_of(_WORDS['windows'])}_*", re.IGNORECASE)
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
# Expressions that hipport puts into conditions, flags and paths; they are not the script's own decision for ROCm.
_ROCM_WORD = NAMES.compile(r"\+?(?&rocm_or_hip)", re.IGNORECASE)
_IMPORTS_TORCH = NAMES.compile(r"(?:from|import) (?&torch)\b")
_ENDS = NAMES.compile(r"(?:\w+\.)?_?(?&exit)\(")
_HIP = NAMES.composed(rb"(?:[\w.]+\.)?(?&hip_releases)")
_OURS = NAMES.compile(
    rb"[\w.]+\b(?&hip_release) is (?:not )?None (?:and|or) |(?:and|or) [\w.]+\.(?&hip) is (?:not )?None"
    rb"|\b(?&cuda_release) or [\w.]+\.(?&hip)\b|\bif " + _HIP + rb" else\b"
    rb"|\b(?:or|and) \(?(?:not )?(?:[\w.]+\.)?(?&hip_extension)\b"
    rb"|\b(?:or|and) [\"']" + ARCHITECTURES.encode() + rb"[\"'] (?:not )?in [\w.]+\)"
    rb"|\benable_\w+[=(][\w.]+\.(?&hip_release) is not None(?=[,)])|\b(?&rocm_home) = None\b"
    rb"|\bif [\w.]+\.(?&hip_release) is None:\s+raise\b|\b(?:or|and) (?:[\w.]+\.)?(?&rocm_home)\b"
    rb"|\bif not " + _HIP + rb":\s+[^\s(]+\." + one_of(_WORDS["adding"]).encode() + rb"\("
)
_STRINGS = (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)


class Runs(NamedTuple):
    """Whether a place in the script is reached in a build for ROCm on Linux, and in one for CUDA there."""

    rocm: bool
    cuda: bool

    @property
    def both(self) -> bool:
        """Return whether no decision about ROCm leads here."""
        return self.rocm and self.cuda


class Conditions(ScriptNames):
    """A script's tree with its names and its branches."""

    def __init__(self, source: Python) -> None:
        super().__init__(source)
        self._runs: dict[cst.FunctionDef, Runs] = {}
        #: Conditions for CUDA only that are opened to ROCm, and the value they then have for both.
        self._opened: dict[cst.CSTNode, bool] = {}
        self._truths: dict[tuple[cst.CSTNode, bool], bool | None] = {}
        #: The number of conditions that are being decided: results found meanwhile may rest on an answer that is not
        #: final.
        self._asking = 0
        self._turning: dict[cst.CSTNode, bool] = {}
        self._leaving: dict[cst.CSTNode, list[tuple[int, cst.BaseExpression]]] = {}
        #: For each node: whether ROCm and CUDA reach it within its function, and whether a later branch is for ROCm.
        self._reached: dict[cst.CSTNode, tuple[bool, bool, bool]] = {}

    def open_to_rocm(self, tests: Mapping[cst.CSTNode, bool]) -> None:
        """Give conditions that are for CUDA only this value, on ROCm and with CUDA."""
        self._opened.update(tests)
        self._truths.clear()
        self._reached.clear()
        self._turning.clear()

    def truth(self, test: cst.CSTNode | None, rocm: bool, depth: int = 0) -> bool | None:
        """Return the value of a condition on Linux with a PyTorch for ROCm, or else for CUDA."""
        if depth > 16 or test is None:
            return None
        if test in self._opened:
            return self._opened[test]
        key = test, rocm
        if key not in self._truths:
            self._truths[key] = None  # The answer for a cycle of functions and names.
            self._asking += 1
            self._truths[key] = self._truth(test, rocm, depth)
            self._asking -= 1
        return self._truths[key]

    def _truth(self, test: cst.CSTNode, rocm: bool, depth: int) -> bool | None:
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
            found = self.bound(name)
            if len(found) == 1 and found[0].how == "is" and found[0].value is not None:
                value = self.truth(found[0].value, rocm, depth + 1)
                if value is not None:
                    return value
        if ROCM.fullmatch(word):
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
            if _ROCM_WORD.fullmatch(word):
                value = rocm
            elif "environ" in self.code(right) and (word == ARCHITECTURES or ROCM.fullmatch(word)):
                value = rocm  # as `os.environ.get("PYTORCH_ROCM_ARCH")`
            elif isinstance(left, _STRINGS):
                value = self._system(right, word)
        elif self._of_old_torch(left, right):
            value = isinstance(operator, (cst.GreaterThan, cst.GreaterThanEqual))
        return None if value is None else value is not negated

    def _of_old_torch(self, left: cst.BaseExpression, right: cst.BaseExpression) -> bool:
        """Return whether a version of PyTorch is compared with one before 2, which today's ROCm does not have."""
        asked = re.search(r"torch\w*ver|torch\.__version__", self.code(left), re.IGNORECASE)
        return asked is not None and _OLD.search(self.code(right)) is not None

    def _system(self, expression: cst.BaseExpression, word: str) -> bool | None:
        code = self.code(expression)
        asked = re.search(r"\bos\.name\b|platform", code)
        return _SYSTEMS.get(word) if asked and "machine" not in code else None

    def _truth_of_call(self, call: cst.Call, rocm: bool, depth: int) -> bool | None:
        name = called(call)
        arguments = [argument.value for argument in call.args]
        if name == "bool" and len(arguments) == 1:
            return self.truth(arguments[0], rocm, depth + 1)
        if name in ("getenv", "get", "getattr") and arguments:
            # An environment variable about ROCm, or getattr(torch.version, "hip", None).
            word = self.text(arguments[1] if name == "getattr" and len(arguments) > 1 else arguments[0], depth + 1)
            return rocm if HOLE not in word and ROCM.fullmatch(word) else None
        if name == "startswith" and arguments and isinstance(call.func, cst.Attribute):
            word = self.text(arguments[0], depth + 1)
            systems = {value for system, value in _SYSTEMS.items() if system.startswith(word)}
            asked = "platform" in self.code(call.func.value)
            return systems.pop() if asked and len(systems) == 1 else None
        function = self.functions.get(name)
        if function is not None and isinstance(call.func, cst.Name):
            values = [node.value for node in self.returns(function)]
            if len(values) == 1:
                value = self.truth(values[0], rocm, depth + 1)
                if value is not None:
                    return value
        return rocm if ROCM.fullmatch(name) else None

    def hip(self, node: cst.CSTNode) -> tuple[str, list[Edit]] | None:
        """Return an expression that tells `node` whether PyTorch is for ROCm, and the edits that import it; or None.

        `torch` itself where it is imported, else a name that is imported beside another one from its build module.
        """
        found: tuple[str, list[Edit]] | None = None
        for binding in self.imports:
            if not self.import_reaches(binding, node):
                continue
            match binding:
                case cst.Import():
                    for alias in binding.names:
                        module, name = self.code(alias.name), alias.asname and self.code(alias.asname.name)
                        if module == "torch" or (module.startswith("torch.") and not name):
                            if self.only_imported(name or "torch", node):
                                return f"{name or 'torch'}.version.hip", []
                        elif module == "torch.utils.cpp_extension" and name:
                            found = found or (f"{name}.IS_HIP_EXTENSION", [])
                case cst.ImportFrom(module=cst.CSTNode() as package, names=[*aliases]):
                    module = self.code(package)
                    for alias in aliases:
                        name = self.code(alias.asname.name) if alias.asname else self.code(alias.name)
                        real = self.code(alias.name)
                        if (module, real) == ("torch", "version"):
                            found = found or (f"{name}.hip", [])
                        elif (module, real) == ("torch.utils", "cpp_extension"):
                            found = found or (f"{name}.IS_HIP_EXTENSION", [])
                        elif (module, real) == ("torch.utils.cpp_extension", "IS_HIP_EXTENSION"):
                            found = (name, [])
                    if module == "torch.utils.cpp_extension":
                        found = found or ("IS_HIP_EXTENSION", [self._beside(aliases[0])])
        return found

    def _beside(self, alias: cst.ImportAlias) -> Edit:
        """Return the edit that imports IS_HIP_EXTENSION before another name, in the same layout."""
        text, start = self.source.text, self.source.span(alias.name).start
        indent = text[self.source.line_start(start) : start]
        gap = b" " if indent.strip() else self.source.newline + indent
        return Edit(Span(start, start), b"IS_HIP_EXTENSION," + gap)

    def conditions(self, node: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, bool]]:
        """Yield (condition, the value that reaches `node`), innermost first, within its function."""
        for above, child in self.ancestors(node):
            if isinstance(above, cst.FunctionDef):
                return
            yield from self.decisions(above, child)

    def decisions(self, above: cst.CSTNode, child: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, bool]]:
        """Yield (condition, the value that reaches `child`) of the conditions that the node above it decides."""
        if isinstance(above, (cst.If, cst.IfExp)) and child is not above.test:
            yield above.test, child is above.body
        elif isinstance(above, cst.BooleanOperation) and child is above.right:
            yield above.left, isinstance(above.operator, cst.And)
        elif isinstance(above, (cst.Module, cst.IndentedBlock)):
            place = self.order.get(child)
            for at, test in self._left_before(above):
                if place is not None and at >= place:
                    break
                yield test, False

    def _left_before(self, block: cst.Module | cst.IndentedBlock) -> list[tuple[int, cst.BaseExpression]]:
        """Return where statements of a block leave it, and their conditions.

        Code after `if IS_HIP: … return` runs only where that did not return.
        """
        if block not in self._leaving:
            self._leaving[block] = [
                (self.order[each], each.test)
                for each in block.body
                if isinstance(each, cst.If) and each.orelse is None and _leaves(each.body)
            ]
        return self._leaving[block]

    def runs(self, node: cst.CSTNode) -> Runs:
        """Return in which builds `node` is reached, as far as conditions about ROCm and the system decide it."""
        function = self.function(node)
        allowed = self._allowed(node)
        return allowed if function is None else _both(allowed, self._called(function))

    def _allowed(self, node: cst.CSTNode) -> Runs:
        """Return in which builds the conditions around `node` let it be reached, within its function."""
        # Nodes share the conditions around them; in a chain of `elif`, nearly all of these.
        way = []
        while node not in self._reached and node in self.parent:
            way.append(node)
            node = self.parent[node]
        rocm, cuda, turned = self._reached.get(node, (True, True, False))
        for child in reversed(way):
            above = self.parent[child]
            if isinstance(above, cst.FunctionDef):
                rocm = cuda = True
            for test, wanted in self.decisions(above, child):
                rocm = rocm and self.truth(test, True) is not (not wanted)
                cuda = cuda and self.truth(test, False) is not (not wanted)
            # In `if FORCE_CUDA: … elif torch.version.hip: …` the first branch is not for ROCm, even if it is forced.
            turned = turned or (isinstance(above, cst.If) and child is above.body and self.turns_to_rocm(above))
            if not self._asking:
                self._reached[child] = rocm, cuda, turned
        return Runs(rocm and not turned, cuda)

    def _called(self, function: cst.FunctionDef) -> Runs:
        """Return in which builds a function is called: in all, if nothing calls it except itself."""
        if function in self._runs:
            return self._runs[function]
        uses: dict[cst.FunctionDef, list[tuple[Runs, cst.FunctionDef | None]]] = {}
        stack = [function]
        while stack:
            each = stack.pop()
            if each not in uses and each not in self._runs:
                uses[each] = [(self._allowed(name), self.function(name)) for name in self._uses(each)]
                stack += [caller for _, caller in uses[each] if caller is not None]
        # First find functions that are called from outside a cycle, then propagate the builds to a fixed point.
        rooted = {each for each, places in uses.items() if not places}
        known = dict.fromkeys(rooted, Runs(True, True))
        nowhere = Runs(False, False)
        called_by: dict[cst.FunctionDef, list[cst.FunctionDef]] = {}
        for each, places in uses.items():
            for user in dict.fromkeys(caller for _, caller in places if caller is not None):
                called_by.setdefault(user, []).append(each)
        # Callers were found after their callees.
        waiting = dict.fromkeys(uses)
        while waiting:
            each, _ = waiting.popitem()
            reached = known.get(each, nowhere)
            for allowed, caller in uses[each]:
                if caller is not None and caller not in rooted and caller not in self._runs:
                    continue
                rooted.add(each)
                outer = Runs(True, True) if caller is None else self._runs.get(caller) or known.get(caller, nowhere)
                there = _both(allowed, outer)
                reached = Runs(reached.rocm or there.rocm, reached.cuda or there.cuda)
            if each in rooted and known.get(each) != reached:
                known[each] = reached
                waiting.update(dict.fromkeys(called_by.get(each, ())))
        self._runs.update({each: known.get(each, Runs(True, True)) for each in uses})
        return self._runs[function]

    def _uses(self, function: cst.FunctionDef) -> list[cst.Name]:
        """Return the uses of a function of the script: of a method behind a dot, of others without one."""
        method = isinstance(self.parent.get(self.parent[function]), cst.ClassDef)
        return [
            name
            for name in self.named(function.name.value)
            if name is not function.name
            and (isinstance(above := self.parent[name], cst.Attribute) and above.attr is name) is method
        ]

    def asked(self, node: cst.CSTNode) -> tuple[str, list[Edit], str] | None:
        """Return an expression for whether PyTorch is for ROCm, the edits that import it, and the assumption.

        All findings use this: in a second run, an import by one of them would be there for the others.
        """
        hip = self.hip(node)
        if hip is not None:
            return *hip, ""
        brought = self.brought(node)
        if brought is None:
            return None
        return "torch.version.hip", [brought[0]], "" if brought[1] else "PyTorch is installed wherever this runs"

    def brought(self, node: cst.CSTNode) -> tuple[Edit, bool] | None:
        """Return the edit that imports torch for `node`, and whether torch is imported by then in any case.

        For a script that imports PyTorch only in functions; None where it does not, or continues without PyTorch.
        """
        lines = [line for line in self.imports if _IMPORTS_TORCH.match(self.code(line))]
        function = self.function(node)
        for scope in (function, None):
            if any(not isinstance(each.node, cst.Import) for each in self.bindings.get((scope, "torch"), ())):
                return None
        if not lines or (function is not None and function.name.value == "torch"):
            return None
        if function is None:
            tried = any(isinstance(above, cst.Try) for line in lines for above, _ in self.ancestors(line))
            place = None if tried else self._first(self.module.body, self.order[node])
        else:
            uses = self._uses(function)
            known = bool(uses) and all(any(self.import_reaches(line, use) for line in lines) for use in uses)
            if isinstance(function.body, cst.SimpleStatementSuite):
                place = function.body.body[0]
            else:
                place = self._first(function.body.body, self.order[node])
        if place is None:
            return None
        start = self.source.span(place).start
        indent = self.source.text[self.source.line_start(start) : start]
        # For `def f(): return …` on one line.
        gap = b"; " if indent.strip() else self.source.newline + indent
        edit = Edit(Span(start, start), b"import torch" + gap, on_top=True)
        return edit, function is not None and known

    def environment(self, node: cst.CSTNode) -> tuple[str, list[Edit]] | None:
        """Return an expression for the environment's variables at `node`, and the edits that import it; or None."""
        for line in self.imports:
            for alias in () if isinstance(line.names, cst.ImportStar) else line.names:
                known = self.code(alias.asname.name if alias.asname else alias.name)
                asked = f"{known}.environ"
                match line:
                    case cst.Import() if self.code(alias.name) == "os":
                        pass
                    case cst.ImportFrom(module=cst.Name("os"), relative=()) if self.code(alias.name) == "environ":
                        asked = known
                    case _:
                        continue
                bindings = self.bindings.get((self.scope(node, known), known), ())
                if self.import_reaches(line, node) and all(each.node is line for each in bindings):
                    return asked, []
        # Nothing but the standard library is needed for `import os`, wherever it stands.
        place = self._first(self.module.body, self.order[node])
        if place is None or any(name == "os" for _, name in self.bindings):
            return None
        start, end = self.source.span(place).start, self.source.span(place).end
        indent = self.source.text[self.source.line_start(start) : start]
        gap = b"; " if indent.strip() else self.source.newline + indent
        # Below hipport's `import torch`, whichever of the two comes first.
        if self.code(place) == "import torch" and self.source.text.startswith(gap, end):
            start = end + len(gap)
        return "os.environ", [Edit(Span(start, start), b"import os" + gap)]

    def _first(self, body: Sequence[cst.CSTNode], before: int) -> cst.CSTNode | None:
        """Return the statement before which an import belongs: the first import, or the first statement."""
        lines = [each for each in body if self.order[each] <= before]
        small = [(each.body[0], each) for each in lines if isinstance(each, cst.SimpleStatementLine)]
        for first, _ in small:
            match first:
                case cst.Import():
                    return first
                case cst.ImportFrom(module=module) if module is None or self.code(module) != "__future__":
                    return first
        # Not in front of docstrings and imports from __future__, which must come first.
        for each in lines:
            if not isinstance(each, cst.SimpleStatementLine):
                decorated = isinstance(each, (cst.FunctionDef, cst.ClassDef)) and each.decorators
                return None if decorated else each
            first = each.body[0]
            if not isinstance(first, cst.ImportFrom) and not (
                isinstance(first, cst.Expr) and isinstance(first.value, (cst.SimpleString, cst.ConcatenatedString))
            ):
                return first
        return None

    def turns_to_rocm(self, branch: cst.If) -> bool:
        """Return whether a later branch of `if … elif …` is for ROCm alone."""
        if branch in self._turning:
            return self._turning[branch]
        way = []
        following: cst.CSTNode | None = branch
        while isinstance(following, cst.If) and following not in self._turning:
            way.append(following)
            following = following.orelse
        turns = isinstance(following, cst.If) and (self._turning[following] or self._is_for_rocm(following))
        for each in reversed(way):
            if not self._asking:
                self._turning[each] = turns
            if each is not branch:
                turns = turns or self._is_for_rocm(each)
        return turns

    def _is_for_rocm(self, branch: cst.If) -> bool:
        return self.truth(branch.test, True) is not False and self.truth(branch.test, False) is False

    @cached_property
    def aware(self) -> bool:
        """Return whether the script asks about ROCm anywhere."""
        return any(map(self.asks, self.nodes))

    @cached_property
    def decided(self) -> bool:
        """Return whether the script asks about ROCm outside the text that hipport wrote."""
        if not self.aware:
            return False
        ours = [match.span() for match in _OURS.finditer(self.source.text)]
        asked = (
            self.source.span(node)
            for node in self.nodes
            if self.asks(node) and not isinstance(self.parent[node], cst.ImportAlias)
        )
        return any(not any(start <= span.start and span.end <= end for start, end in ours) for span in asked)

    def stops(self, block: cst.BaseSuite) -> bool:
        """Return whether a block ends by raising an error or ending the program."""
        body = list(block.body)
        last = body[-1] if body else None
        if isinstance(last, cst.SimpleStatementLine):
            last = last.body[-1]
        if isinstance(last, cst.Expr):
            return _ENDS.match(self.code(last)) is not None
        return isinstance(last, cst.Raise)

    def insists_on(self, call: cst.Call) -> bool:
        """Return whether the program stops if the exit status that `call` returns is a failure."""
        node: cst.CSTNode = call
        above = self.parent[node]
        failed = True
        if isinstance(above, cst.Comparison) and above.left is call and len(above.comparisons) == 1:
            target = above.comparisons[0]
            if self.code(target.comparator) != "0":
                return False
            failed = not isinstance(target.operator, (cst.Equal, cst.Is))
            node, above = above, self.parent[above]
        if isinstance(above, cst.UnaryOperation) and isinstance(above.operator, cst.Not):
            failed = not failed
            node, above = above, self.parent[above]
        if isinstance(above, cst.Assert):
            return above.test is node and not failed
        if not isinstance(above, cst.If) or above.test is not node:
            return False
        if failed:
            return self.stops(above.body)
        return isinstance(above.orelse, cst.Else) and self.stops(above.orelse.body)

    def asks(self, node: cst.CSTNode) -> bool:
        """Return whether the name `node` is true on ROCm and false on CUDA."""
        named = isinstance(node, (cst.Name, cst.Attribute))
        return named and bool(self.truth(node, True)) and self.truth(node, False) is False


def _both(one: Runs, other: Runs) -> Runs:
    return Runs(one.rocm and other.rocm, one.cuda and other.cuda)


def _leaves(block: cst.BaseSuite) -> bool:
    """Return whether control never leaves the block at its end."""
    body: Iterable[cst.CSTNode] = block.body
    last = list(body)[-1:]
    match last:
        case [cst.SimpleStatementLine(body=[*_, end])] | [end]:
            return isinstance(end, (cst.Return, cst.Raise, cst.Continue, cst.Break)) or (
                isinstance(end, cst.Expr) and isinstance(end.value, cst.Call) and called(end.value) in ("exit", "_exit")
            )
    return False
