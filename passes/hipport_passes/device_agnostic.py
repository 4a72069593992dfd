# SPDX-License-Identifier: Apache-2.0
"""Let Python that insists on a GPU run on a CPU, too, when asked to: `--device-agnostic`, or a comment in a file.

Each file that needs it gets a function that answers "cuda", or "cuda:1", where PyTorch sees a GPU, and "cpu" elsewhere.
Where there is a GPU, that is the very string that stood in its place, so comparisons, keys, defaults and messages are
what they were. `x.cuda()` becomes `x.to(…)`, which is the same for tensors and modules; statements about the GPU are
made only where there is one. What already depends on a condition about the device stays as it is, and so does what
does nothing without a GPU: empty_cache(), memory statistics, torch.cuda.amp's gradient scaler.

It is a function, not a variable: whoever asks PyTorch for GPUs before CUDA_VISIBLE_DEVICES is set, or before a process
is forked, has settled which there are. So the question is asked where the answer is needed; where that comes to be
earlier than the first use of the GPU, in a program that does either, the finding is REVIEW.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hipport.finding import Certainty, Finding
from hipport.languages.python import Misplaced, Python, children
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, Source, Span
from hipport.tables import load

_TABLE = Path(__file__).with_suffix(".toml")

if TYPE_CHECKING:
    import libcst as cst

    from hipport_passes.build_scripts.script import Script

_ASKED = re.compile(rb"#[ \t]*hipport:[ \t]*device-agnostic\b")
_MENTIONS = re.compile(rb"[\"']cuda\b|\.cuda\b|pin_memory")
_TORCH = re.compile(
    rb"(?m)^[ \t]*(?:import|from)[ \t][^\r\n]*"
    rb"\b(?:torch\w*|transformers|diffusers|accelerate|open_clip|kornia|lightning)\b"
)
_BUILDS = re.compile(rb"\bcpp_extension\b|\bsetuptools\b")
_OWN_CUDA = re.compile(rb"\bdef[ \t]+cuda[ \t]*\(")
# After PyTorch was asked for GPUs it is too late for either.
_VISIBLE = re.compile(
    rb"^([ \t]*)(?:\w+\.)?(?:environ(?:\[|\.(?:update|setdefault)\()|putenv\()"
    rb"[^\r\n]*(?:CUDA|HIP|ROCR)_VISIBLE_DEVICES",
    re.MULTILINE,
)
_IMPORTS_TORCH = re.compile(rb"^[ \t]*(?:import|from)[ \t]+torch\b", re.MULTILINE)
_FORKS = re.compile(
    rb"\bos\.fork\b|[\"']fork[\"']|\bProcessPoolExecutor\b|\b(?:multiprocessing|mp)\.(?:Process|Pool)\b"
    rb"|\bfrom (?:torch\.)?multiprocessing import [^\r\n]*\b(?:Process|Pool)\b"
)
_SPAWNS = re.compile(rb"[\"'](?:spawn|forkserver)[\"']")
_DEVICE = re.compile(r"cuda(?::(\d+))?")
_NAMED = re.compile(r"(?:\w*_)?dev(?:ice)?(?:_(?:type|name|str|string|id|map))?", re.IGNORECASE)
# A condition that is about which device there is.
_DECIDES = re.compile(r"cuda|gpu|\bcpu|_cpu|\bmps\b|\bxpu\b|accelerator|\bhip\b|rocm", re.IGNORECASE)
# A decorator of tests that need a GPU.
_FOR_GPUS = re.compile(r"(?=.*(?:cuda|gpu))(?=.*(?:skip|requir|mark\.|only|available))", re.IGNORECASE | re.DOTALL)
# Calls whose first argument is a device.
_FIRST = re.compile(
    r"(?:torch\.)?device|torch\.(?:Generator|autocast|amp\.autocast|amp\.GradScaler|set_default_device|amp\.autocast_mode\.autocast)"
)
_LOADS = re.compile(r"torch\.(?:jit\.)?load")
# A device there is one of two fixed words, not where something is to run.
_NO_PLACE = frozenset(("custom_fwd", "custom_bwd", "partial", "fork_rng", "init_device_mesh", "DeviceMesh"))
_LOOKS_UP = frozenset(("get", "pop", "getattr", "setdefault", "getenv"))
_OPTIONS = frozenset(("add_argument", "option", "Option", "Argument", "Field", "field"))
_INDEX = re.compile(r"(?:.*\.)?(?:\w*_)?(?:rank|gpu|gpus|gpu_id|gpu_ids\[0\]|idx|index|dev_id|device_id|devid)")
_SETTLED = "; assumes that CUDA_VISIBLE_DEVICES is not set, and no process that uses the GPU forked, after this"
_NAMES = ("pick_device", "choose_device", "gpu_or_cpu", "hipport_device")
_HELPER = re.compile(rb"^def (\w+)\(index=None\):\r?\n[ \t]+\"\"\"Return \"cuda\",", re.MULTILINE)


@dataclass(eq=False)
class _Change:
    """A finding, before the function that its edits call has its place."""

    span: Span
    kind: str
    message: str
    edits: tuple[Edit, ...] = ()
    certainty: Certainty = Certainty.SAFE
    #: Whether the edits call the function that chooses; then, a node at the place.
    calls: cst.CSTNode | None = None


def find(source: Python, project: Project) -> Iterator[Finding]:
    """Yield a finding per place that needs a GPU."""
    if not (project.target.device_agnostic or _ASKED.search(source.text)):
        return
    if not _MENTIONS.search(source.text) or _BUILDS.search(source.text):
        return
    # What "cuda" is to a file without PyTorch is not known; cuda() may be called on what other files make.
    uses_torch = _TORCH.search(source.text) is not None
    if not uses_torch and not (b".cuda()" in source.text and any(_has_torch(each.first) for each in project.sources)):
        return
    if source.module is None:
        match = _MENTIONS.search(source.text)
        assert match is not None
        message = "this is not Python that can be read reliably; make it independent of the device by hand"
        yield Finding(Span(*match.span()), "unread", message, (), Certainty.MANUAL)
        return
    # Only now: the parser takes longer to load than most trees take to port.
    from hipport_passes.build_scripts.script import Script

    try:
        yield from _File(source.fact(Script), project, uses_torch).findings()
    except Misplaced:
        match = _MENTIONS.search(source.text)
        assert match is not None
        message = "it is not certain where what stands in this file; make it independent of the device by hand"
        yield Finding(Span(*match.span()), "unread", message, (), Certainty.MANUAL)


def _has_torch(source: Source) -> bool:
    return isinstance(source, Python) and source.fact(_imports_torch)


def _imports_torch(source: Python) -> bool:
    return _IMPORTS_TORCH.search(source.text) is not None


def _hides(source: Python, place: int | None = None) -> bool:
    """Say whether the file says which GPUs there are, other than before all else, or before a place in it."""
    if place is None:
        torch = _IMPORTS_TORCH.search(source.text)
        place = torch.start() if torch is not None else len(source.text)
    return any(match[1] or match.start() > place for match in _VISIBLE.finditer(source.text))


def _forks(source: Python) -> bool:
    """Say whether the file makes processes that are copies of the one that makes them, as Linux does by default."""
    return _FORKS.search(source.text) is not None and _SPAWNS.search(source.text) is None


def _has_own_cuda(source: Python) -> bool:
    """Say whether the file defines a `cuda` that has no `to` beside it: then the one is not the other."""
    if not _OWN_CUDA.search(source.text):
        return False
    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    for node in ast.walk(tree):
        names = {each.name for each in ast.iter_child_nodes(node) if isinstance(each, ast.FunctionDef)}
        if "cuda" in names and "to" not in names:
            return True
    return False


def _signatures(source: Python) -> Mapping[str, Sequence[Sequence[str]]]:
    """Return the names of the parameters of each function, and of what makes a class, by their names."""
    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, list[Sequence[str]]] = {}
    for node in ast.walk(tree):
        for each in ast.iter_child_nodes(node):
            if isinstance(each, ast.FunctionDef):
                names = [parameter.arg for parameter in (*each.args.posonlyargs, *each.args.args)]
                name = node.name if isinstance(node, ast.ClassDef) and each.name == "__init__" else each.name
                found.setdefault(name, []).append(names[1:] if names[:1] in (["self"], ["cls"]) else names)
    return found


class _File:
    """One file on its way to run on any device."""

    def __init__(self, script: Script, project: Project, uses_torch: bool) -> None:
        self.script = script
        self.source = script.source
        self.uses_torch = uses_torch
        # As they were read: what other passes have made of them by now depends on who is asked.
        firsts = (each.first for each in project.sources)
        files = [each for each in firsts if isinstance(each, Python) and each.path != self.source.path]
        # Itself, which is in no project where it is part of a notebook.
        self.others = others = [self.source, *files]
        #: Files that say which GPUs there are while the program runs, or fork: before that PyTorch may not be asked.
        self.settling = [each.path for each in files if each.fact(_hides) or each.fact(_forks)]
        #: Whether classes of the program have a `cuda` of their own, and no `to`.
        self.own_cuda = any(each.fact(_has_own_cuda) for each in others)
        known = _HELPER.search(self.source.text)
        self.there = known is not None
        self.helper = (
            known[1].decode()
            if known is not None
            else next((name for name in _NAMES if not script.named(name)), "_hipport_pick_device")
        )
        self.said: dict[str, int] = {}

    def findings(self) -> Iterator[Finding]:
        """Yield what is to change, each with the function that it calls."""
        changes = [each for node in self.script.nodes if (each := self._change(node)) is not None]
        changes.sort(key=lambda each: each.span)
        calling = [each.calls for each in changes if each.calls is not None]
        helper = self._helper(calling) if calling and not self.there else ()
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
            case cst.Arg(keyword=cst.Name("pin_memory"), value=cst.Name("True") as value):
                return self._pinned(value)
            case cst.Attribute(value=cst.Name("torch"), attr=cst.Name("cuda")):
                return self._torch_cuda(node)
        return None

    # What somebody has decided

    def _decided(self, node: cst.CSTNode) -> bool:
        """Say whether the place depends on which device there is already, or is not for the CPU at all."""
        import libcst as cst

        for test, wanted in self.script.conditions(node):
            without = self._without_gpu(test)
            # `if x.device != "cuda": x = x.to("cuda")` is for the CPU, whatever it says.
            if without is not None and without is not wanted:
                return True
            if without is None and _DECIDES.search(self.script.code(test)):
                return True
        for above, child in self.script.ancestors(node):
            if isinstance(above, (cst.FunctionDef, cst.ClassDef)):
                if child not in above.decorators and any(
                    _FOR_GPUS.search(self.script.code(each)) for each in above.decorators
                ):
                    return True
                if isinstance(above, cst.FunctionDef) and above.name.value == self.helper:
                    return True
            elif isinstance(above, cst.While) and _DECIDES.search(self.script.code(above.test)):
                return True
        return False

    def _without_gpu(self, test: cst.CSTNode) -> bool | None:
        """Say what a condition is where there is no GPU; None where that is not known."""
        import libcst as cst

        match test:
            case cst.UnaryOperation(operator=cst.Not()):
                value = self._without_gpu(test.expression)
                return None if value is None else not value
            case cst.BooleanOperation():
                values = {self._without_gpu(test.left), self._without_gpu(test.right)}
                decisive = isinstance(test.operator, cst.Or)
                if decisive in values:
                    return decisive
                return None if None in values else not decisive
            case cst.Attribute(attr=cst.Name("is_cuda")):
                return False
            case cst.Call(
                func=cst.Attribute(value=cst.Attribute(attr=cst.Name("cuda")), attr=cst.Name("is_available"))
            ):
                return False
            case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator, right)]) if isinstance(
                operator, (cst.Equal, cst.NotEqual)
            ) and "device" in self.script.code(left):
                code = self.script.code(right)
                if re.fullmatch(r"(?:torch\.device\()?[\"']cuda(?::\d+)?[\"']\)?", code):
                    return isinstance(operator, cst.NotEqual)
        return None

    def _scripted(self, node: cst.CSTNode) -> bool:
        """Say whether TorchScript may compile the place: it knows no function that is not typed."""
        import libcst as cst

        return b"jit.script" in self.source.text and any(
            isinstance(above, cst.FunctionDef) and child is above.body for above, child in self.script.ancestors(node)
        )

    # Strings

    def _string(self, node: cst.SimpleString | cst.FormattedString) -> _Change | None:
        import libcst as cst

        word = self.script.text(node)
        if not word.startswith("cuda"):
            return None
        match = _DEVICE.fullmatch(word) if isinstance(node, cst.SimpleString) else None
        whole, index = (node, match[1] or "") if match is not None else self._index(node, word)
        if whole is None:
            return None
        place, now = self._place(whole)
        if not place or self._compared(node) or self._decided(node) or self._overridden(whole):
            return None
        span = self.source.span(whole)
        call = self.script.parent[self.script.parent[node]] if isinstance(self.script.parent[node], cst.Arg) else None
        if isinstance(call, cst.Call) and not index and self.script.code(call.func) in ("torch.device", "device"):
            # torch.device("cuda", 1)
            given = [each for each in call.args if each.keyword is None or each.keyword.value == "index"]
            if len(call.args) == 2 and len(given) == 2:
                second = self.script.code(call.args[1].value)
                if not re.fullmatch(r"[\w.\[\]]+", second):
                    return self._manual(node, "index", "a GPU by its number: choose one only where there are any")
                index, span = second, Span(span.start, self.source.span(call.args[1].value).end)
        if self._scripted(node):
            return self._manual(node, "scripted", "TorchScript compiles this: hand the device in as an argument")
        return self._chosen(node, span, index, not now)

    def _compared(self, node: cst.CSTNode) -> bool:
        """Say whether the value is compared, in a call perhaps: what is asked for then is a GPU."""
        import libcst as cst

        for above, _ in self.script.ancestors(node):
            if isinstance(above, cst.Comparison):
                return True
            if not isinstance(above, (cst.Arg, cst.Call, cst.ComparisonTarget)):
                return False
            if isinstance(above, cst.Call) and self.script.code(above.func) not in ("torch.device", "device", "str"):
                return False
        return False

    def _index(self, node: cst.CSTNode, word: str) -> tuple[cst.CSTNode | None, str]:
        """Return the whole of f"cuda:{index}", "cuda:{}".format(index) and the like, and the index."""
        import libcst as cst

        above = self.script.parent[node]
        match node:
            case cst.FormattedString(
                parts=[cst.FormattedStringText("cuda:"), cst.FormattedStringExpression() as part]
            ) if part.conversion is None and part.format_spec is None and part.equal is None:
                return node, self.script.code(part.expression)
        match above:
            case cst.Attribute(attr=cst.Name("format")) if word == "cuda:{}":
                call = self.script.parent[above]
                if isinstance(call, cst.Call) and len(call.args) == 1 and call.args[0].keyword is None:
                    return call, self.script.code(call.args[0].value)
            case cst.BinaryOperation(operator=cst.Modulo(), right=right) if word in ("cuda:%d", "cuda:%s"):
                if not isinstance(right, cst.Tuple):
                    return above, self.script.code(right)
            case cst.BinaryOperation(operator=cst.Add(), right=cst.Call(func=cst.Name("str"), args=[argument])) if (
                word == "cuda:"
            ):
                return above, self.script.code(argument.value)
        return None, ""

    def _place(self, node: cst.CSTNode) -> tuple[bool, bool]:
        """Say whether the value is a device, and whether the GPU is used as soon as it is there."""
        import libcst as cst

        script = self.script
        value, above = node, script.parent[node]
        while isinstance(above, cst.BooleanOperation) or (isinstance(above, cst.IfExp) and value is not above.test):
            value, above = above, script.parent[above]
        match above:
            case cst.Arg():
                call = script.parent[above]
                return self._argument(above, call) if isinstance(call, cst.Call) else (False, False)
            case cst.Assign(targets=targets):
                return any(self._named(each.target) for each in targets), False
            case cst.AnnAssign(target=target):
                return self._named(target), False
            case cst.Param(name=cst.Name(name)):
                return _NAMED.fullmatch(name) is not None and value is above.default, False
            case cst.DictElement(key=key):
                return value is above.value and _NAMED.fullmatch(script.text(key)) is not None, False
            case cst.Return():
                function = script.function(above)
                return function is not None and re.search(r"device$", function.name.value) is not None, False
        return False, False

    def _named(self, target: cst.BaseExpression) -> bool:
        import libcst as cst

        match target:
            case cst.Name(name) | cst.Attribute(attr=cst.Name(name)):
                return _NAMED.fullmatch(name) is not None
            case cst.Subscript():
                return _NAMED.fullmatch(self.script.key(target)) is not None
        return False

    def _argument(self, argument: cst.Arg, call: cst.Call) -> tuple[bool, bool]:
        import libcst as cst

        script = self.script
        code = script.code(call.func)
        method = call.func.attr.value if isinstance(call.func, cst.Attribute) else code
        place = next(i for i, each in enumerate(call.args) if each is argument)
        # torch.device("cuda") and a generator's like do nothing yet; tensors are made at once.
        now = (code.startswith("torch.") and method not in ("device", "Generator", "autocast")) or method == "to"
        if argument.star or method in _NO_PLACE:
            return False, False
        if argument.keyword is None:
            if method in _LOOKS_UP and place == len(call.args) - 1 and place > 0:
                return _NAMED.fullmatch(script.text(call.args[place - 1].value)) is not None, False
            first = method == "to" or _FIRST.fullmatch(code) is not None
            known = (place == 0 and first) or (place == 1 and _LOADS.fullmatch(code) is not None)
            return known or self._parameter(method, place), now
        keyword = argument.keyword.value
        if keyword == "default" and method in _OPTIONS:
            names = [script.text(each.value) for each in call.args if each.keyword is None]
            option = any(_NAMED.fullmatch(name.lstrip("-").replace("-", "_")) for name in names)
            above = script.parent[call]
            named = isinstance(above, cst.AnnAssign) and self._named(above.target)
            return option or named, False
        if keyword == "device_type":
            return method == "autocast", False
        if keyword == "map_location":
            return True, now
        return keyword != "use_device" and _NAMED.fullmatch(keyword) is not None, now

    def _parameter(self, name: str, place: int) -> bool:
        """Say whether a function or class of the program, of that name, takes a device there."""
        found = [known for each in self.others for known in each.fact(_signatures).get(name, ())]
        return bool(found) and all(place < len(names) and _NAMED.fullmatch(names[place]) for names in found)

    def _overridden(self, node: cst.CSTNode) -> bool:
        """Say whether the variable that the string is put in gets another device elsewhere: somebody chooses."""
        import libcst as cst

        match self.script.parent[node]:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() | cst.Attribute() as target)]) as assignment:
                values = [each for each in self.script.values(target) if each is not assignment.value]
                return any(
                    each is not None and re.search(r"[\"'](?:cpu|mps|xpu)", self.script.code(each)) for each in values
                )
        return False

    def _chosen(self, node: cst.CSTNode, span: Span, index: str, later: bool) -> _Change:
        call = f"{self.helper}({index})"
        settled = self._settled(node) if later else ""
        if settled and self._imported(node):
            message = (
                f"PyTorch would be asked for GPUs when this is imported, before {settled} sets "
                "CUDA_VISIBLE_DEVICES or forks, which comes too late then: hand the device in"
            )
            return _Change(span, "too_early", message, (), Certainty.MANUAL)
        message = f'{call} is what stands here where there is a GPU, else "cpu"'
        certainty = Certainty.REVIEW if settled else Certainty.SAFE
        edit = Edit(span, call.encode())
        return _Change(span, "device", message + (_SETTLED if certainty else ""), (edit,), certainty, node)

    def _settled(self, node: cst.CSTNode) -> str:
        """Return a file that comes too late with its say on GPUs if PyTorch is asked for them here, or ""."""
        start = self.source.span(node).start
        own = _hides(self.source, start) or self.source.fact(_forks)
        return str(self.source.path if own else next(iter(self.settling), ""))

    def _imported(self, node: cst.CSTNode) -> bool:
        """Say whether the place is run when the file is imported: no function's body, nor a program's."""
        import libcst as cst

        for above, child in self.script.ancestors(node):
            if isinstance(above, (cst.FunctionDef, cst.Lambda)) and child is above.body:
                return False
            if isinstance(above, cst.If) and "__name__" in self.script.code(above.test):
                return False
        return True

    def _manual(self, node: cst.CSTNode, kind: str, message: str) -> _Change | None:
        if self._decided(node):
            return None
        return _Change(self.source.span(node), kind, message, (), Certainty.MANUAL)

    # x.cuda()

    def _cuda_call(self, call: cst.Call) -> _Change | None:
        import libcst as cst

        assert isinstance(call.func, cst.Attribute)
        receiver = self.script.code(call.func.value)
        if receiver in ("torch", "super()") or self._decided(call) or any(each.star for each in call.args):
            return None
        if self._scripted(call):
            return self._manual(call, "scripted", "TorchScript compiles this: hand the device in as an argument")
        known = self._is_torch(call.func.value)
        given = [each for each in call.args if each.keyword is None or each.keyword.value == "device"]
        others = [each for each in call.args if each not in given]
        index = self.script.code(given[0].value) if given else ""
        numbered = index.isdecimal() or index in ("", "None")
        simple = re.fullmatch(r"[\w.]+", receiver) is not None
        if simple and not known and (guard := self._guarded(call)) is not None:
            return guard  # Whatever it is.
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

    def _only_with_gpu(self, call: cst.Call, receiver: str) -> _Change | None:
        """Leave a call of cuda() as it is where there is a GPU, and take what it is called on elsewhere."""
        import libcst as cst

        span = self.source.span(call)
        if not re.fullmatch(r"[\w.]+", receiver) or not self._has_torch(call):
            message = "what this is called on is moved in its own way: choose it only where there is a GPU"
            return self._manual(call, "cuda_call", message)
        own = self.source[span]
        text = own + b" if torch.cuda.is_available() else " + receiver.encode()
        if not isinstance(self.script.parent[call], (cst.Assign, cst.Return, cst.Arg)) and not call.lpar:
            text = b"(" + text + b")"
        if b"\n" in own:
            return self._manual(call, "cuda_call", "move this only where there is a GPU")
        return _Change(span, "cuda_call", "moved to a GPU only where there is one", (Edit(span, text),))

    def _is_torch(self, node: cst.CSTNode) -> bool:
        from hipport_passes.device_strings import is_tensor

        return is_tensor(self.script, node)

    # The rest of torch.cuda

    def _torch_cuda(self, module: cst.Attribute) -> _Change | None:
        import libcst as cst

        # torch.cuda.nvtx.range_push
        node, names = module, list[str]()
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
        if why is None or self._annotation(node):
            return None
        change = self._manual(node, "needs_gpu", f"torch.cuda.{name} needs a GPU; {why}")
        if change is None:
            return None
        self.said[name] = self.said.get(name, 0) + 1
        # Once is enough: what is said of one is true of all.
        return change if self.said[name] == 1 else None

    def _annotation(self, node: cst.CSTNode) -> bool:
        """Say whether the place is only a type, or only asked for its type."""
        import libcst as cst

        for above, _ in self.script.ancestors(node):
            if isinstance(above, cst.Annotation):
                return True
            if isinstance(above, cst.Call) and self.script.code(above.func) in ("isinstance", "issubclass"):
                return True
            if isinstance(above, cst.BaseSmallStatement):
                return False
        return False

    def _guard(self, call: cst.Call) -> _Change | None:
        """Make a call only where there is a GPU."""
        if self._decided(call):
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
        indent = text[text.rfind(b"\n", 0, span.start) + 1 : span.start]
        if (
            not isinstance(statement, cst.Expr)
            or not isinstance(line, cst.SimpleStatementLine)
            or len(line.body) > 1
            or indent.strip()
            or not self._has_torch(call)
        ):
            return None
        deeper = indent + self.script.module.default_indent.encode()
        lead = b"if torch.cuda.is_available():" + self.source.newline + deeper
        message = "called only where there is a GPU; it raises elsewhere"
        return _Change(span, "guard", message, (Edit(Span(span.start, span.start), lead),))

    def _pinned(self, value: cst.CSTNode) -> _Change | None:
        if self._decided(value) or not self._has_torch(value) or self._scripted(value):
            return None
        span = self.source.span(value)
        message = "memory is pinned for a GPU: only where there is one"
        certainty = Certainty.REVIEW if self._settled(value) else Certainty.SAFE
        edit = Edit(span, b"torch.cuda.is_available()")
        return _Change(span, "pin_memory", message + (_SETTLED if certainty else ""), (edit,), certainty)

    # The function that chooses

    def _has_torch(self, node: cst.CSTNode) -> bool:
        """Say whether `torch` is imported, for the whole file, before the place."""
        before = self.source.span(node).start
        return any(each < before for each in self._torch_imports())

    def _torch_imports(self) -> Sequence[int]:
        """Return where `torch` is imported for the whole file."""
        import libcst as cst

        return [
            self.source.span(alias.name).end
            for line in self.script.module.body
            if isinstance(line, cst.SimpleStatementLine)
            for each in line.body
            if isinstance(each, cst.Import)
            for alias in each.names
            if re.match(r"torch\b", self.script.code(alias.name)) and alias.asname is None
        ]

    def _end(self, statement: cst.BaseSmallStatement) -> int:
        """Return where an import ends, or a place on its last line."""
        import libcst as cst

        try:
            return self.source.span(statement).end
        except Misplaced:  # a semicolon behind it
            if not isinstance(statement, cst.Import):
                raise
            return self.source.span(statement.names[-1].name).end

    def _helper(self, calls: Sequence[cst.CSTNode]) -> tuple[Edit, ...]:
        """Return the edit that defines the function, behind the imports and before it is called first."""
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
            end = re.compile(rb"\r?\n|\Z").search(self.source.text, self._end(last.body[-1]))
            assert end is not None
            at = end.start()
            torch_there = any(each <= at for each in self._torch_imports())
            return (Edit(Span(at, at), self._lines(torch_there, at)),)
        # Nothing is imported before it is needed: it goes to the top, below what the file says of itself.
        top = 1 if stop > 0 and _is_docstring(lines[0]) else 0
        at = self.source.text.rfind(b"\n", 0, self._start(lines[top])) + 1
        return (Edit(Span(at, at), self._body(False) + self.source.newline * 3),)

    def _start(self, line: cst.CSTNode) -> int:
        """Return a place on the first line of a statement of the module."""
        import libcst as cst

        if isinstance(line, cst.Try):
            return self.source.text.rindex(b"try", 0, self._start(line.body))
        stack: list[cst.CSTNode] = [line]
        while stack:
            node = stack.pop()
            if isinstance(node, (cst.BaseSmallStatement, cst.BaseExpression)):
                return self.source.span(node).start
            stack += reversed(children(node))
        raise Misplaced(f"{self.source.path}: it is not known where a {type(line).__name__} is")

    def _lines(self, torch_there: bool, at: int) -> bytes:
        newline = self.source.newline
        text = newline * 3 + self._body(torch_there)
        following = re.compile(rb"(?:[ \t]*\r?\n){1,3}").match(self.source.text, at)
        blank = following.group().count(b"\n") - 1 if following else 2
        return text + newline * max(0, 2 - blank)

    def _body(self, torch_there: bool) -> bytes:
        indent = self.script.module.default_indent
        lines = [
            f"def {self.helper}(index=None):",
            f'{indent}"""Return "cuda", or "cuda:index", where PyTorch sees a GPU, also one of AMD\'s, else "cpu"."""',
            *(() if torch_there else (f"{indent}import torch", "")),
            f"{indent}if not torch.cuda.is_available():",
            f'{indent}{indent}return "cpu"',
            f'{indent}return "cuda" if index is None else f"cuda:{{index}}"',
        ]
        return self.source.newline.join(line.encode() for line in lines)


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


def _short(code: str) -> str:
    line = code.partition("\n")[0]
    return line if line == code and len(line) <= 40 else f"{line[:40]}…"


PASS = Pass(Python, find)
