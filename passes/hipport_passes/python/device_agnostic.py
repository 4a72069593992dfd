# SPDX-License-Identifier: Apache-2.0
"""Make Python that requires a GPU run on a CPU, too, on request: `--device-agnostic`, or a comment in a file.

Each file that needs it gets a function that returns "cuda", or "cuda:1", where PyTorch sees a GPU, and "cpu" elsewhere.
Where there is a GPU, that is the original string, so comparisons, keys, defaults and messages do not change. `x.cuda()`
becomes `x.to(…)`, which is the same for tensors and modules; statements about the GPU run only where there is one. Code
that already depends on a condition about the device stays, and so do calls without effect on a CPU: empty_cache(),
memory statistics, torch.cuda.amp's gradient scaler.

It is a function, not a variable, because asking PyTorch for GPUs fixes their set: a later CUDA_VISIBLE_DEVICES or fork
has no effect. So the function is called where its result is needed. If a program sets the variable or forks, and that
call is earlier than the first use of the GPU, the finding is REVIEW.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.source import Source
from hipport.core.tables import Words, load, one_of
from hipport.engine.pipeline import Pass
from hipport.program.dividing import near
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport.syntax.python_script import Misplaced, Python
from hipport_passes.python.devices.chooser import CALLED, Chooser
from hipport_passes.python.devices.decisions import Decisions
from hipport_passes.python.devices.files import forks, has_own_cuda, hides, imports_torch
from hipport_passes.python.devices.places import DevicePlaces

if TYPE_CHECKING:
    import libcst as cst

    from hipport_passes.build_files.build_scripts.script import Script

_TABLE = Path(__file__).with_suffix(".toml")
_WORDS = Words.read(_TABLE, general=NAMES)
_ASKED = _WORDS.compile(rb"#[ \t]*(?&tool):[ \t]*(?&asked)\b")
_MENTIONS = _WORDS.compile(rb"[\"'](?&cuda)\b|\.(?&cuda)\b|(?&pins)|\b(?&device)=\d|\.to\(\d")
_TORCH = re.compile(
    rb"(?m)^[ \t]*(?:import|from)[ \t][^\r\n]*"
    rb"\b" + one_of(_WORDS["packages"]).encode() + rb"\b"
)
_BUILDS = re.compile(rf"\b{one_of(_WORDS['builds'])}\b".encode())
_DEVICE = _WORDS.compile(r"(?&cuda)(?::(\d+))?")
_EXITS = _WORDS.compile(r"(?&exit)\((?:0|(?&status)=0)?\)$")
_INDEX = re.compile(rf"(?:.*\.)?(?:\w*_)?{one_of(_WORDS['indices'])}")
_SETTLED = "; assumes that later code neither sets CUDA_VISIBLE_DEVICES nor forks a process that uses the GPU"


@dataclass(eq=False)
class _Change:
    """A finding, before the place of the function that its edits call is known."""

    span: Span
    kind: str
    message: str
    edits: tuple[Edit, ...] = ()
    certainty: Certainty = Certainty.SAFE
    #: A node at the place if the edits call the function that chooses.
    calls: cst.CSTNode | None = None


def find(source: Python, project: Project) -> Iterator[Finding]:
    """Yield a finding per place that needs a GPU."""
    project = near(project, source)
    if not (project.target.device_agnostic or _ASKED.search(source.text)):
        return
    match = _MENTIONS.search(source.text) or CALLED.search(source.text)
    if match is None or _BUILDS.search(source.text):
        return
    # In a file without PyTorch the meaning of "cuda" is unknown; cuda() may be called on objects from other files.
    uses_torch = _TORCH.search(source.text) is not None
    if not uses_torch and not (b".cuda()" in source.text and any(_has_torch(each.first) for each in project.sources)):
        return
    if source.module is None:
        message = "hipport cannot read this Python reliably; make it independent of the device by hand"
        yield Finding(Span(*match.span()), "unread", message, (), Certainty.MANUAL)
        return
    # Imported late: loading the parser takes longer than porting most trees.
    from hipport_passes.build_files.build_scripts.script import Script

    try:
        yield from _File(source.fact(Script), project, uses_torch).findings()
    except Misplaced:
        message = "hipport cannot place the statements of this file reliably; make it independent of the device by hand"
        yield Finding(Span(*match.span()), "unread", message, (), Certainty.MANUAL)


def _has_torch(source: Source) -> bool:
    return isinstance(source, Python) and source.fact(imports_torch)


class _File:
    """One file that is made independent of the device."""

    def __init__(self, script: Script, project: Project, uses_torch: bool) -> None:
        self.script = script
        self.source = script.source
        self.uses_torch = uses_torch
        # The original files: what other passes have made of them depends on the order of the questions.
        firsts = (each.first for each in project.sources)
        files = [each for each in firsts if isinstance(each, Python) and each.path != self.source.path]
        # With the file itself, which is in no project if it is part of a notebook.
        others = [self.source, *files]
        #: Files that select GPUs at run time, or fork: before that, PyTorch must not be asked.
        self.settling = [each.path for each in files if each.fact(hides) or each.fact(forks)]
        #: Whether classes of the program define a `cuda` and no `to`.
        self.own_cuda = any(each.fact(has_own_cuda) for each in others)
        self.chooser = Chooser(script)
        self.helper = self.chooser.name
        self.decisions = Decisions(script, self.helper)
        self.places = DevicePlaces(script, others)
        self.said: dict[str, int] = {}

    def findings(self) -> Iterator[Finding]:
        """Yield the findings, each with the function that its edits call."""
        changes = [each for node in self.script.nodes if (each := self._change(node)) is not None]
        changes.sort(key=lambda each: each.span)
        calling = [each.calls for each in changes if each.calls is not None]
        helper: tuple[Edit, ...] = ()
        if stranded := self.chooser.stranded(calling):
            helper = self.chooser.again(stranded)
            message = f"{self.helper}() is called before its definition, or not at all: the definition moves to the top"
            yield Finding(min(self.source.span(each) for each in stranded), "lost", message, helper)
        elif calling and not self.chooser.there:
            helper = self.chooser.definition(calling)
        for each in changes:
            edits = (*helper, *each.edits) if each.calls is not None else each.edits
            yield Finding(each.span, each.kind, each.message, edits, each.certainty)

    def _change(self, node: cst.CSTNode) -> _Change | None:
        import libcst as cst

        match node:
            case cst.SimpleString() | cst.FormattedString() if self.uses_torch:
                return self._string(node)
            case cst.Call(func=cst.Attribute(attr=cst.Name("cuda"))):
                return self._cuda_call(node)
            case cst.Call(func=cst.Attribute(attr=cst.Name("pin_memory")), args=[]):
                message = "raises without a GPU: pin memory only where there is one"
                return self._manual(node, "pin_memory", message)
            case cst.Call(func=cst.Attribute(attr=cst.Name("set_default_tensor_type"))):
                if "cuda" in self.script.code(node):
                    return self._guard(node)
            case cst.Arg(keyword=cst.Name("device"), value=cst.Integer() as value) if self._of_torch(node):
                return self._numbered(value)
            case cst.Call(
                func=cst.Attribute(attr=cst.Name("to")), args=[cst.Arg(keyword=None, value=cst.Integer() as value), *_]
            ):
                return self._numbered(value) if self.uses_torch else None
            case cst.Assert() | cst.If():
                return self._insists(node)
            case cst.Arg(keyword=cst.Name("pin_memory"), value=cst.Name("True") as value):
                return self._pinned(value)
            case cst.Attribute(value=cst.Name("torch"), attr=cst.Name("cuda")):
                return self._torch_cuda(node)
            case cst.Name() if isinstance(above := self.script.parent.get(node), cst.Attribute) and above.value is node:
                return self._torch_cuda(node) if self._from(node) == "torch.cuda" else None
            case cst.Call(func=cst.Name() as name) if (found := self._from(name)).startswith("torch.cuda."):
                what = found.removeprefix("torch.cuda.")
                if what in load(_TABLE)["guard"]:
                    return self._guard(node)
                why = load(_TABLE)["report"].get(what)
                return self._manual(node, "needs_gpu", f"{found} needs a GPU; {why}") if why is not None else None
        return None

    # Numbers, and conditions

    def _of_torch(self, argument: cst.Arg) -> bool:
        """Return whether an argument is one of a PyTorch function, or of a Transformers pipeline."""
        import libcst as cst

        call = self.script.parent[argument]
        if not isinstance(call, cst.Call) or not self.uses_torch:
            return False
        name = self.script.code(call.func)
        if isinstance(call.func, cst.Name) and self._from(call.func).startswith("transformers."):
            return name == "pipeline"
        return name.startswith("torch.") or name == "transformers.pipeline"

    def _numbered(self, value: cst.Integer) -> _Change | None:
        """Return the change of a GPU's number: `device=0`, `x.to(0)`."""
        if self.decisions.decided(value) or self.decisions.scripted(value):
            return None
        return self._chosen(value, self.source.span(value), value.value, False)

    def _insists(self, node: cst.Assert | cst.If) -> _Change | None:
        """Return the change of a statement that stops the program without a GPU, and has no effect with one."""
        import libcst as cst

        if isinstance(node, cst.If):
            function = self.script.function(node)
            stops = node.orelse is None and self._fails(node.body) and self.decisions.without_gpu(node.test) is True
            # Another function than main is one for GPUs.
            if not stops or (function is not None and function.name.value != "main"):
                return None
            message = "stops the program where there is no GPU, and later code needs one: leave it out"
            return self._manual(node, "insists", message)
        if self.decisions.without_gpu(node.test) is not False or self.decisions.decided(node):
            return None
        span, text = self.source.span(node), self.source.text
        indent = text[self.source.line_start(span.start) : span.start]
        line = self.script.parent[node]
        if indent.strip() or not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
            return self._manual(node, "insists", "stops the program where there is no GPU: leave it out")
        block = self.script.parent[line]
        alone = isinstance(block, cst.IndentedBlock) and len(block.body) == 1
        lead = b"pass" + self.source.newline + indent if alone else b""
        begun = [0, *(match.end() for match in re.finditer(rb"(?:\r\n?|\n)[ \t]*", text[span.start : span.end]))]
        edits = tuple(Edit(Span(span.start + at, span.start + at), (b"# " if at else lead + b"# ")) for at in begun)
        message = "stops the program where there is no GPU; assumes that later code runs on a CPU"
        return _Change(span, "insists", message, edits, Certainty.REVIEW)

    def _fails(self, block: cst.BaseSuite) -> bool:
        """Return whether a block ends in an error."""
        import libcst as cst

        last = list(block.body)[-1]
        if isinstance(last, cst.SimpleStatementLine):
            last = last.body[-1]
        return isinstance(last, cst.Raise) or (self.script.stops(block) and not _EXITS.search(self.script.code(last)))

    # Strings

    def _string(self, node: cst.SimpleString | cst.FormattedString) -> _Change | None:
        import libcst as cst

        word = self.script.text(node)
        if not word.startswith("cuda"):
            return None
        match = _DEVICE.fullmatch(word) if isinstance(node, cst.SimpleString) else None
        whole, index = (node, match[1] or "") if match is not None else self.places.index_of(node, word)
        if whole is None:
            return None
        place, now = self.places.place(whole)
        if not place or self.places.compared(node) or self.decisions.decided(node) or self.places.overridden(whole):
            return None
        span = self.source.span(whole)
        call = self.script.parent[self.script.parent[node]] if isinstance(self.script.parent[node], cst.Arg) else None
        if isinstance(call, cst.Call) and not index and self.script.code(call.func) in ("torch.device", "device"):
            # torch.device("cuda", 1)
            given = [each for each in call.args if each.keyword is None or each.keyword.value == "index"]
            if len(call.args) == 2 and len(given) == 2:
                second = self.script.code(call.args[1].value)
                if not re.fullmatch(r"[\w.\[\]]+", second):
                    return self._manual(
                        node, "index", "selects a GPU by its number: select one only where there is a GPU"
                    )
                index, span = second, Span(span.start, self.source.span(call.args[1].value).end)
        if self.decisions.scripted(node):
            return self._manual(node, "scripted", "TorchScript compiles this: pass the device as an argument")
        chosen = self._chosen(node, span, index, not now)
        if chosen.edits and isinstance(call, cst.Call) and self._rounds(call):
            chosen.message += (
                "; without a dtype autocast calculates in bfloat16 on a CPU, and NumPy has no bfloat16; assumes "
                "that later code accepts it"
            )
            chosen.certainty = Certainty.REVIEW
        return chosen

    def _rounds(self, call: cst.Call) -> bool:
        """Return whether a call is autocast with the device's own type, which is float16 on a GPU."""
        if self.script.code(call.func).rpartition(".")[2] != "autocast":
            return False
        keywords = {each.keyword.value: self.script.code(each.value) for each in call.args if each.keyword is not None}
        positional = [each for each in call.args if each.keyword is None]
        given = "dtype" in keywords or len(positional) + ("device_type" in keywords) > 1
        return not given and keywords.get("enabled") != "False"

    def _chosen(self, node: cst.CSTNode, span: Span, index: str, later: bool) -> _Change:
        call = f"{self.helper}({index})"
        settled = self._settled(node) if later else ""
        if settled and self.decisions.imported(node):
            message = (
                f"an import of this file would ask PyTorch for GPUs before {settled} sets CUDA_VISIBLE_DEVICES or "
                "forks, which is then too late: pass the device as an argument"
            )
            return _Change(span, "too_early", message, (), Certainty.MANUAL)
        message = f'{call} is the same device where there is a GPU, else "cpu"'
        certainty = Certainty.REVIEW if settled else Certainty.SAFE
        edit = Edit(span, call.encode())
        return _Change(span, "device", message + (_SETTLED if certainty else ""), (edit,), certainty, node)

    def _settled(self, node: cst.CSTNode) -> str:
        """Return a file whose selection of GPUs comes too late if PyTorch is asked for them here, or ""."""
        start = self.source.span(node).start
        own = hides(self.source, start) or self.source.fact(forks)
        return str(self.source.path if own else next(iter(self.settling), ""))

    def _manual(self, node: cst.CSTNode, kind: str, message: str) -> _Change | None:
        if self.decisions.decided(node):
            return None
        return _Change(self.source.span(node), kind, message, (), Certainty.MANUAL)

    # x.cuda()

    def _cuda_call(self, call: cst.Call) -> _Change | None:
        import libcst as cst

        assert isinstance(call.func, cst.Attribute)
        receiver = self.script.code(call.func.value)
        if receiver in ("torch", "super()") or self.decisions.decided(call) or any(each.star for each in call.args):
            return None
        if self.decisions.scripted(call):
            return self._manual(call, "scripted", "TorchScript compiles this: pass the device as an argument")
        if isinstance(self.script.parent[call], cst.Lambda) and receiver in self._parameters(self.script.parent[call]):
            # `map_location=lambda storage, place: storage.cuda()`: a storage's `to` differs.
            return self._only_with_gpu(call, receiver)
        known = self._is_torch(call.func.value)
        given = [each for each in call.args if each.keyword is None or each.keyword.value == "device"]
        others = [each for each in call.args if each not in given]
        index = self.script.code(given[0].value) if given else ""
        numbered = index.isdecimal() or index in ("", "None")
        simple = re.fullmatch(r"[\w.]+", receiver) is not None
        if simple and not known and (guard := self._guarded(call)) is not None:
            return guard  # In any form.
        plain = all(each.keyword is not None and each.keyword.value == "non_blocking" for each in others)
        if not (plain and len(given) <= 1 and (known or not self.own_cuda) and (numbered or _INDEX.fullmatch(index))):
            return self._only_with_gpu(call, receiver)
        span = self.source.span(call.func.attr)
        edits = [Edit(span, b"to")]
        if given:
            edits.append(Edit(self.source.span(given[0].value), f"{self.helper}({index})".encode()))
        else:
            opening = self.source.text.index(b"(", span.end) + 1
            edits.append(Edit(Span(opening, opening), f"{self.helper}(){', ' if others else ''}".encode()))
        assumes = [] if numbered else [f"{index} is a number"]
        if not known:
            what = receiver if simple else "this"
            assumes.append(f"{what} is a tensor or a module, or moves like one")
        message = f"to({self.helper}({index})) is cuda({index}) where there is a GPU"
        if assumes:
            message += f"; assumes that {' and that '.join(assumes)}"
        certainty = Certainty.REVIEW if assumes else Certainty.SAFE
        return _Change(span, "cuda_call", message, tuple(edits), certainty, call)

    def _parameters(self, function: cst.CSTNode) -> set[str]:
        """Return the names of the parameters of a two-parameter function, which is passed as `map_location`."""
        import libcst as cst

        parameters = function.params.params if isinstance(function, cst.Lambda) else ()
        return {each.name.value for each in parameters} if len(parameters) == 2 else set()

    def _only_with_gpu(self, call: cst.Call, receiver: str) -> _Change | None:
        """Keep a call of cuda() where there is a GPU, and use its object elsewhere."""
        import libcst as cst

        span = self.source.span(call)
        if not re.fullmatch(r"[\w.]+", receiver) or not self.chooser.has_torch(call):
            message = "the object may have a cuda() of its own: call it only where there is a GPU"
            return self._manual(call, "cuda_call", message)
        own = self.source[span]
        text = own + b" if torch.cuda.is_available() else " + receiver.encode()
        if not isinstance(self.script.parent[call], (cst.Assign, cst.Return, cst.Arg)) and not call.lpar:
            text = b"(" + text + b")"
        if b"\n" in own:
            return self._manual(call, "cuda_call", "move this only where there is a GPU")
        return _Change(span, "cuda_call", "moves to a GPU only where there is one", (Edit(span, text),))

    def _is_torch(self, node: cst.CSTNode) -> bool:
        from hipport_passes.python.device_strings import is_tensor

        return is_tensor(self.script, node)

    # The rest of torch.cuda

    def _from(self, name: cst.Name) -> str:
        """Return the full path of an imported name, "torch.cuda" or "torch.cuda.synchronize", or ""."""
        import libcst as cst

        bound = self.script.bound(name)
        statement = bound[0].node if len(bound) == 1 else None
        if isinstance(statement, cst.Import):
            for alias in statement.names:
                if alias.asname is not None and self.script.code(alias.asname.name) == name.value:
                    return self.script.code(alias.name)
        if isinstance(statement, cst.ImportFrom) and not isinstance(statement.names, cst.ImportStar):
            module = self.script.code(statement.module) if statement.module is not None else ""
            for alias in statement.names:
                if self.script.code(alias.asname.name if alias.asname is not None else alias.name) == name.value:
                    return f"{module}.{self.script.code(alias.name)}"
        return ""

    def _torch_cuda(self, module: cst.Attribute | cst.Name) -> _Change | None:
        import libcst as cst

        # torch.cuda.nvtx.range_push
        node: cst.BaseExpression = module
        names: list[str] = []
        above = self.script.parent[node]
        while isinstance(above, cst.Attribute):
            node = above
            names.append(node.attr.value)
            above = self.script.parent[node]
        name = ".".join(names)
        if name in load(_TABLE)["guard"]:
            return self._guard(above) if isinstance(above, cst.Call) and above.func is node else None
        name = names[0] if names else ""
        why = load(_TABLE)["report"].get(name)
        if why is None or self.decisions.only_a_type(node):
            return None
        change = self._manual(node, "needs_gpu", f"torch.cuda.{name} needs a GPU; {why}")
        if change is None:
            return None
        self.said[name] = self.said.get(name, 0) + 1
        # The finding on the first use covers all uses.
        return change if self.said[name] == 1 else None

    def _guard(self, call: cst.Call) -> _Change | None:
        """Make a call only where there is a GPU."""
        if self.decisions.decided(call):
            return None
        name = self.script.code(call.func)
        message = f"{name} raises without a GPU: call it only where there is one"
        return self._guarded(call) or self._manual(call, "needs_gpu", message)

    def _guarded(self, call: cst.Call) -> _Change | None:
        """Put a statement under a condition, if the call is one, on lines of its own."""
        import libcst as cst

        span, text = self.source.span(call), self.source.text
        statement = self.script.parent[call]
        line = self.script.parent.get(statement)
        indent = text[self.source.line_start(span.start) : span.start]
        if (
            not isinstance(statement, cst.Expr)
            or not isinstance(line, cst.SimpleStatementLine)
            or len(line.body) > 1
            or indent.strip()
            or not self.chooser.has_torch(call)
        ):
            return None
        deeper = indent + self.script.module.default_indent.encode()
        lead = b"if torch.cuda.is_available():" + self.source.newline + deeper
        message = "called only where there is a GPU; it raises elsewhere"
        return _Change(span, "guard", message, (Edit(Span(span.start, span.start), lead),))

    def _pinned(self, value: cst.CSTNode) -> _Change | None:
        if self.decisions.decided(value) or not self.chooser.has_torch(value) or self.decisions.scripted(value):
            return None
        span = self.source.span(value)
        message = "memory is pinned for a GPU: only where there is one"
        certainty = Certainty.REVIEW if self._settled(value) else Certainty.SAFE
        edit = Edit(span, b"torch.cuda.is_available()")
        return _Change(span, "pin_memory", message + (_SETTLED if certainty else ""), (edit,), certainty)


def _short(code: str) -> str:
    line = code.partition("\n")[0]
    return line if line == code and len(line) <= 40 else f"{line[:40]}…"


PASS = Pass(Python, find)
