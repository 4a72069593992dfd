# SPDX-License-Identifier: Apache-2.0
"""The function that chooses a device: its name, its text, and the place of its definition."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hipport.core.edits import Edit, Span
from hipport.syntax.build_names import NAMES
from hipport.syntax.python_script import Misplaced, children

if TYPE_CHECKING:
    import libcst as cst

    from hipport_passes.build_files.build_scripts.script import Script

_NAMES = ("pick_device", "choose_device", "gpu_or_cpu", "hipport_device")
_LAST = "_hipport_pick_device"
#: A possible call of it, with the name that an earlier run has chosen.
_TORCH = NAMES.compile(r"(?&torch)\b")
CALLED = re.compile(rb"\b(?:%b)\(" % "|".join((*_NAMES, _LAST)).encode())
_HELPER = re.compile(rb"^def (\w+)\(index=None\):\r?\n[ \t]+\"\"\"Return \"cuda\",", re.MULTILINE)
_HELPER_END = re.compile(
    rb"^[ \t]+return \"cuda\" if index is None else f\"cuda:\{index\}\"[ \t]*(?:\r?\n|\Z)", re.MULTILINE
)


class Chooser:
    """The function in a file that returns "cuda" or "cpu", which an earlier run may have written."""

    def __init__(self, script: Script) -> None:
        self.script = script
        known = _HELPER.search(script.source.text)
        #: Whether it already exists.
        self.there = known is not None
        lost = next((name for name in (*_NAMES, _LAST) if self._calls_alone(name)), None) if known is None else None
        self.name = (
            known[1].decode()
            if known is not None
            else lost or next((name for name in _NAMES if not script.named(name)), _LAST)
        )
        #: Whether an earlier run has written it, and a merge has removed it.
        self.lost = lost is not None

    def _calls(self, name: str) -> list[cst.Call]:
        import libcst as cst

        above = ((each, self.script.parent.get(each)) for each in self.script.named(name))
        return [call for each, call in above if isinstance(call, cst.Call) and call.func is each and len(call.args) < 2]

    def _calls_alone(self, name: str) -> bool:
        """Return whether the file calls a name that nothing in it defines."""
        calls = self._calls(name)
        return bool(calls) and len(calls) == len(self.script.named(name)) and self.script.bound_elsewhere is not None

    def stranded(self, calling: Sequence[cst.CSTNode]) -> list[cst.CSTNode]:
        """Return the calls, including those to be written, that a merge has left without the function or before it."""
        calls = [*self._calls(self.name), *calling]
        if self.lost:
            return calls
        own = self._own()
        if own is None:
            return []
        lines = list(self.script.module.body)
        number = {id(line): i for i, line in enumerate(lines)}
        where = number[id(own)]
        early = any(number.get(id(child), where) < where for each in calls for _, child in self.script.ancestors(each))
        return calls if early else []

    def _own(self) -> cst.FunctionDef | None:
        """Return the function among the statements of the module."""
        import libcst as cst

        found = [
            each
            for each in self.script.module.body
            if isinstance(each, cst.FunctionDef) and each.name.value == self.name
        ]
        return found[0] if self.there and len(found) == 1 else None

    def again(self, calls: Sequence[cst.CSTNode]) -> tuple[Edit, ...]:
        """Return the edits that restore the function, or move it up to its first call."""
        own = self._own()
        inside = {id(each) for each in self.script.nodes_below(own)} if own is not None else set()
        return (*self.definition([each for each in calls if id(each) not in inside]), *self._away())

    def _away(self) -> tuple[Edit, ...]:
        """Return the edit that removes the function."""
        text, own = self.script.source.text, _HELPER.search(self.script.source.text)
        end = _HELPER_END.search(text, own.start()) if own is not None else None
        if own is None or end is None:
            return ()
        begun, rest = len(text[: own.start()].rstrip()), len(text) - len(text[end.end() :].lstrip(b"\r\n"))
        apart = 0 if rest == len(text) else 2 if re.compile(rb"(?:def|class|async|@)\b|@").match(text, rest) else 1
        return (Edit(Span(begun, rest), self.script.source.newline * (1 + apart)),)

    def has_torch(self, node: cst.CSTNode) -> bool:
        """Return whether `torch` is imported for the whole file before the place."""
        before = self.script.source.span(node).start
        return any(each < before for each in self._torch_imports())

    def _torch_imports(self) -> Sequence[int]:
        """Return the places that import `torch` for the whole file."""
        import libcst as cst

        return [
            self.script.source.span(alias.name).end
            for line in self.script.module.body
            if isinstance(line, cst.SimpleStatementLine)
            for each in line.body
            if isinstance(each, cst.Import)
            for alias in each.names
            if _TORCH.match(self.script.code(alias.name)) and alias.asname is None
        ]

    def _end(self, statement: cst.BaseSmallStatement) -> int:
        """Return the end of an import, or a place on its last line."""
        import libcst as cst

        try:
            return self.script.source.span(statement).end
        except Misplaced:  # A semicolon follows it.
            if not isinstance(statement, cst.Import):
                raise
            return self.script.source.span(statement.names[-1].name).end

    def definition(self, calls: Sequence[cst.CSTNode]) -> tuple[Edit, ...]:
        """Return the edit that defines the function, after the imports and before its first call."""
        import libcst as cst

        lines = list(self.script.module.body)
        number = {id(line): i for i, line in enumerate(lines)}
        stop = min(
            number[id(child)] for each in calls for _, child in self.script.ancestors(each) if id(child) in number
        )
        definitions = [i for i, each in enumerate(lines) if isinstance(each, (cst.FunctionDef, cst.ClassDef))]
        stop = min([stop, *definitions])
        imports = [each for each in lines[:stop] if _imports(each)]
        if imports:
            last = imports[-1]
            assert isinstance(last, cst.SimpleStatementLine)
            at = self.script.source.line_end_behind(self._end(last.body[-1]))
            torch_there = any(each <= at for each in self._torch_imports())
            return (Edit(Span(at, at), self._lines(torch_there, at)),)
        # No import precedes the first call: the function goes to the top, below the docstring.
        top = 1 if stop > 0 and _is_docstring(lines[0]) else 0
        at = self.script.source.line_start(self._start(lines[top]))
        return (Edit(Span(at, at), self._body(False) + self.script.source.newline * 3),)

    def _start(self, line: cst.CSTNode) -> int:
        """Return a place on the first line of a statement of the module."""
        import libcst as cst

        if isinstance(line, cst.Try):
            return self.script.source.text.rindex(b"try", 0, self._start(line.body))
        stack: list[cst.CSTNode] = [line]
        while stack:
            node = stack.pop()
            if isinstance(node, (cst.BaseSmallStatement, cst.BaseExpression)):
                return self.script.source.span(node).start
            stack += reversed(children(node))
        raise Misplaced(f"{self.script.source.path}: the place of a {type(line).__name__} is not known")

    def _lines(self, torch_there: bool, at: int) -> bytes:
        newline = self.script.source.newline
        text = newline * 3 + self._body(torch_there)
        following = re.compile(rb"(?:[ \t]*\r?\n){1,3}").match(self.script.source.text, at)
        blank = following.group().count(b"\n") - 1 if following else 2
        return text + newline * max(0, 2 - blank)

    def _body(self, torch_there: bool) -> bytes:
        indent = self.script.module.default_indent
        lines = [
            f"def {self.name}(index=None):",
            f'{indent}"""Return "cuda", or "cuda:index", where PyTorch sees a GPU, also one of AMD\'s, else "cpu"."""',
            *(() if torch_there else (f"{indent}import torch", "")),
            f"{indent}if not torch.cuda.is_available():",
            f'{indent}{indent}return "cpu"',
            f'{indent}return "cuda" if index is None else f"cuda:{{index}}"',
        ]
        return self.script.source.newline.join(line.encode() for line in lines)


def _imports(line: cst.CSTNode) -> bool:
    import libcst as cst

    return isinstance(line, cst.SimpleStatementLine) and all(
        isinstance(each, (cst.Import, cst.ImportFrom)) for each in line.body
    )


def _is_docstring(line: cst.CSTNode) -> bool:
    import libcst as cst

    match line:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString() | cst.ConcatenatedString())]):
            return True
    return False
