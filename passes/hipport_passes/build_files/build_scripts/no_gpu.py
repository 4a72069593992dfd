# SPDX-License-Identifier: Apache-2.0
"""Code that a build script skips where it sees no GPU, or no CUDA: on most machines that build for ROCm.

A question (`torch.cuda.is_available()`, `shutil.which("nvcc")`) is followed through conditions, variables, loops,
parameters and functions of the script to see whether it decides that kernels are built. If it only decides a flag or a
message, it is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import libcst as cst

from hipport.core.edits import Edit
from hipport.core.finding import Certainty
from hipport.program.script_names import called
from hipport.syntax.build_names import NAMES
from hipport.syntax.python_script import children
from hipport_passes.build_files.build_scripts.script import NVCC, RUNS, Script, full_name, reads
from hipport_passes.build_files.build_scripts.script_conditions import ARCHITECTURES
from hipport_passes.build_files.build_scripts.script_edits import Said

_FOR_CMAKE = NAMES.composed(r"-D(?!(?&of_cmake))\w*(?&cuda_in_macros)\w*=")
#: Signs of a build with kernels: a GPU extension, a CUDA source, the macro that sources test, CMake's option.
_BUILDS = NAMES.compile(rf"\b(?&cuda_extension)\b|\.cu[\"']|[\"'](?:-D)?(?&with_cuda)\b|{_FOR_CMAKE}")
#: Functions that raise where there is no GPU.
_NEEDING = ("get_device_capability", "get_device_properties", "get_device_name", "current_device", "mem_get_info")
_NEEDS_GPU = re.compile(rf"\b(?:{'|'.join(_NEEDING)})\(")
_STOPS = NAMES.compile(r"\braise\b|\b(?&exit)\(")
#: Calls that return their argument, as far as it matters here.
_THROUGH = {
    "bool",
    "int",
    "list",
    "tuple",
    "set",
    "sorted",
    "product",
    "zip",
    "enumerate",
    "any",
    "all",
    "len",
    "str",
    "range",
}
# The text that hipport writes behind a question for a GPU.
_OWN_ANSWER = NAMES.compile(
    r"\(?(?:(?:(?&torch)\.)?(?&hip_release) is (?:not )?None|(?:not )?(?:[\w.]+\.)?(?&hip_extension))"
    rf"(?: (?:and|or) [\"']{ARCHITECTURES}[\"'] (?:not )?in [\w.]+)?\)?"
)
_COUNTS = ("is_available", "device_count", "getDeviceCount")
_LOOKS = ("exists", "isdir", "isfile", "is_dir", "is_file", "lexists")
_CUDA_PATH = NAMES.compile(r"(?:^|/)(?:(?&cuda)(?:-[\d.]+)?|(?&nvcc))(?:/|$)|NVIDIA GPU Computing Toolkit")
# A script that is told to build for CUDA where no GPU is: `FORCE_CUDA`.
_FORCED = NAMES.compile(rb"(?&forces_cuda)", re.IGNORECASE)
_CUDA_OR_CMAKE = NAMES.compile(rf"\b(?&cuda_extension)\b|{_FOR_CMAKE}".encode())
_FOR_CUDA = NAMES.compile(r"(?&extensions)\(|\.cu\b|(?&with_cuda)")
_READS = NAMES.compile(r"\b(?&environment)$")
_CUDA_VARIABLES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDADIR")
#: Comparisons of the number of GPUs, and their results where there are some.
_COUNTED = {">0": True, ">=1": True, "!=0": True, "==0": False, "<1": False, "<=0": False}


def unseen(script: Script, answered: Callable[[cst.BaseExpression], bool]) -> Iterator[Said]:
    """Yield the questions for a GPU or for CUDA's files that decide whether kernels are built.

    `answered` tells whether the script has an answer for ROCm beside a question.
    """
    # CppExtension takes sources of CUDA, too.
    cpp = script.calls("CppExtension") and re.search(rb"\.cu[\"']", script.source.text)
    if not cpp and not _CUDA_OR_CMAKE.search(script.source.text):
        return
    settled: set[cst.CSTNode] = set()
    forced = _FORCED.search(script.source.text)
    # The functions in which PyTorch itself counts GPUs have the same names on ROCm.
    for question_of in ("torch.cuda.is_available", "torch.cuda.device_count", "torch._C._cuda_getDeviceCount"):
        for called_name in script.named(question_of.rpartition(".")[2]):
            call = _call_of(script, called_name, question_of)
            if call is None or not script.runs(call).both:
                continue
            if answered(call):
                yield from _opened_before(script, call)
                continue
            trail = _Trail(script)
            if not trail.decides(call):
                continue
            said = _asked_gpu(script, call, trail.needs_gpu, forced is not None)
            if said.edits:
                settled.add(_whole(script, call))
            yield said
    for question, what in _of_cuda(script):
        if _whole(script, question) in settled:
            continue  # `… or torch.version.hip is not None`, in the same condition
        trail = _Trail(script)
        if script.runs(question).both and not answered(question) and trail.decides(question):
            asking = _asking(script, question)
            by_variable = _by_variable(script, question, trail) if what.startswith("the variable") else None
            if by_variable is not None:
                yield from by_variable
                continue
            yield from (_by_nvcc(script, call) for call in asking if not answered(call))
            if not asking:
                message = (
                    f"{what}, which ROCm does not have, decides whether kernels are built: ask torch.version.hip too"
                )
                yield Said(script.source.span(question), "cuda_only", message, Certainty.MANUAL)


def openings(script: Script) -> Iterator[Said]:
    """Let ROCm build kernels where the script asks for `torch.version.cuda` and does not consider ROCm.

    The code behind such a condition is then for both, and is ported.
    """
    if script.aware:
        return
    for name in script.named("cuda"):
        release = script.parent[name]
        if not isinstance(release, cst.Attribute) or full_name(script, release) != "torch.version.cuda":
            continue
        question: cst.BaseExpression = release
        there = True
        match script.parent[release]:
            case (
                cst.Comparison(
                    left=left,
                    comparisons=[cst.ComparisonTarget(operator=operator, comparator=cst.Name("None"))],
                ) as question
            ) if left is release:
                there = isinstance(operator, (cst.IsNot, cst.NotEqual))
            case cst.If() | cst.IfExp() | cst.BooleanOperation() | cst.UnaryOperation():
                pass
            case _:
                continue
        trail = _Trail(script)
        message = (
            "the CUDA release that PyTorch is for decides whether kernels are built: a PyTorch for ROCm is enough as "
            "well (without PYTORCH_ROCM_ARCH it builds for all GPUs that it was built for itself)"
        )
        said = Said(script.source.span(question), "cuda_only", message, Certainty.SAFE)
        if not trail.decides(question) or trail.needs_gpu or not _or_rocm(script, said, question, there):
            continue
        script.open_to_rocm({question: there})
        yield said


# Operators that bind at least as tightly as `or`.
_BINDING = (
    cst.BooleanOperation,
    cst.UnaryOperation,
    cst.BinaryOperation,
    cst.Comparison,
    cst.ComparisonTarget,
    cst.Call,
    cst.Attribute,
    cst.Subscript,
    cst.Await,
    cst.StarredElement,
)


def _whole(script: Script, question: cst.BaseExpression) -> cst.CSTNode:
    """Return the whole `a or b or c` that a question is part of."""
    node: cst.CSTNode = question
    while isinstance(above := script.parent[node], cst.BooleanOperation) and isinstance(above.operator, cst.Or):
        node = above
    return node


def _is_guard(script: Script, node: cst.CSTNode) -> bool:
    """Return whether the body of a statement runs only with a GPU, or handles its absence."""
    match node:
        case cst.If(test=test) | cst.IfExp(test=test) | cst.While(test=test) | cst.For(iter=test):
            return any(name in script.code(test) for name in _COUNTS) is not None
    return isinstance(node, cst.Try)


def _asks_unguarded(script: Script, function: cst.FunctionDef) -> bool:
    """Return whether a function asks the GPU without a check that there is one."""
    for call in (call for name in _NEEDING for call in script.calls(name)):
        for above, _ in script.ancestors(call):
            if above is function:
                return True
            if _is_guard(script, above):
                break
    return False


def _asked_gpu(script: Script, call: cst.Call, needs_gpu: bool, forced: bool) -> Said:
    whole, there = _question(script, call)
    message = (
        "there may be no GPU where the extension is built: a PyTorch for ROCm is enough where PYTORCH_ROCM_ARCH names "
        "the GPUs to build for"
    )
    if forced:
        message += ", as FORCE_CUDA=1 is"
    said = Said(script.source.span(whole), "is_available", message, Certainty.SAFE)
    if needs_gpu or there is None or not _or_rocm(script, said, whole, there, for_named=True):
        said.message = (
            "builds no kernels where there is no GPU, and later code asks the GPU: let torch.version.hip be enough "
            "to build, and take the architectures from PYTORCH_ROCM_ARCH"
            if needs_gpu
            else "builds no kernels where there is no GPU: let torch.version.hip be enough to build"
        )
        said.certainty = Certainty.MANUAL
    return said


def _opened_before(script: Script, call: cst.Call) -> Iterator[Said]:
    """Yield the findings where an earlier run let ROCm through, and upstream has since added code that asks the GPU."""
    whole, _ = _question(script, call)
    above = script.parent[whole]
    if not isinstance(above, cst.BooleanOperation) or above.left is not whole:
        return
    if not _OWN_ANSWER.fullmatch(script.code(above.right)):
        return
    trail = _Trail(script)
    if trail.decides(call) and trail.needs_gpu:
        message = (
            "builds kernels for ROCm without a GPU too, and the code behind it asks the GPU: ask only where there "
            "is one, and take the architectures from PYTORCH_ROCM_ARCH"
        )
        yield Said(script.source.span(whole), "is_available", message, Certainty.MANUAL)


def _or_rocm(script: Script, said: Said, whole: cst.BaseExpression, there: bool, *, for_named: bool = False) -> bool:
    """Add a test for ROCm beside a question, whose answer is `there` on a GPU; return False if that is impossible.

    `for_named`: a PyTorch for ROCm counts as a GPU only where the user has named the GPUs to build for.
    """
    asked = script.asked(whole)
    environment = script.environment(whole) if for_named else None
    if asked is None or (for_named and environment is None):
        return False
    name, imported, assumed = asked
    said.assume(assumed)
    code = script.source[said.span].decode("utf-8", "replace")
    if there:
        answer = f"{name}{' is not None' if name.endswith('.hip') else ''}"
    else:
        answer = name + " is None" if name.endswith(".hip") else f"not {name}"
    if environment is not None:
        variables, brought = environment
        imported = [*imported, *brought]
        answer += f' {"and" if there else "or"} "{ARCHITECTURES}" {"" if there else "not "}in {variables}'
        answer = f"({answer})"
    text = f"{code} {'or' if there else 'and'} {answer}"
    above = script.parent[whole]
    plain = not isinstance(above, _BINDING) or (
        isinstance(above, cst.BooleanOperation) and isinstance(above.operator, cst.Or if there else cst.And)
    )
    said.edits = [*imported, Edit(said.span, (text if plain or whole.lpar else f"({text})").encode())]
    return True


def _asking(script: Script, question: cst.BaseExpression) -> list[cst.Call]:
    """Return the calls of a function that tries to run nvcc, and only returns whether that succeeded."""
    function = script.function(question)
    if function is None or not (isinstance(question, cst.Call) and called(question) in RUNS):
        return []
    if {script.code(each.value) for each in script.returns(function) if each.value is not None} != {"True", "False"}:
        return []
    calls = [call for call in script.calls(function.name.value) if script.runs(call).both]
    trails = {call: _Trail(script) for call in calls}
    deciding = [call for call, trail in trails.items() if trail.decides(call)]
    fit = all(not trails[call].needs_gpu and script.asked(call) is not None for call in deciding)
    return deciding if fit else []


def _by_variable(script: Script, question: cst.BaseExpression, trail: _Trail) -> list[Said] | None:
    """Let ROCm pass where a variable of CUDA's is asked for; None where a person must decide."""
    there: bool | None = None
    if isinstance(question, cst.Comparison):
        there = isinstance(question.comparisons[0].operator, cst.In)
        name = script.text(question.left)
    else:
        assert isinstance(question, cst.Call)
        name = script.text(question.args[0].value)
        asked = (cst.If, cst.IfExp, cst.BooleanOperation, cst.UnaryOperation)
        there = True if len(question.args) == 1 and isinstance(script.parent[question], asked) else None
    behind = [
        above.body
        for above, child in script.ancestors(question)
        if isinstance(above, (cst.If, cst.IfExp)) and child is above.test
    ]
    uses = any(re.search(rf"\b{name}\b|\bnvcc[\"']*,", script.code(each)) for each in behind)
    if uses and not any(_FOR_CUDA.search(script.code(each)) for each in behind):
        return []  # The location of CUDA is only passed on.
    said = Said(script.source.span(question), "cuda_only", "", Certainty.REVIEW)
    if uses or trail.needs_gpu or there is None or not _or_rocm(script, said, question, there):
        return None
    said.message = (
        f"the variable {name}, which ROCm does not have, decides whether kernels are built: a PyTorch for ROCm is "
        "enough as well; assumes that kernels are wanted wherever PyTorch is for ROCm"
    )
    return [said]


def _by_nvcc(script: Script, call: cst.Call) -> Said:
    message = (
        "a run of nvcc decides whether kernels are built: a PyTorch for ROCm, which has no nvcc, is enough as well"
    )
    said = Said(script.source.span(call), "cuda_only", message, Certainty.REVIEW)
    _or_rocm(script, said, call, True)
    return said


def _question(script: Script, call: cst.Call) -> tuple[cst.BaseExpression, bool | None]:
    """Return the whole question, and its answer where there is a GPU: None if that is unclear."""
    above = script.parent[call]
    if isinstance(above, cst.Comparison):
        if above.left is not call or len(above.comparisons) != 1:
            return call, None
        compared = re.sub(r"\s", "", script.code(above.comparisons[0]))
        if called(call) == "is_available":
            there = {"==True": True, "isTrue": True, "==False": False, "isFalse": False}.get(compared)
        else:
            there = _COUNTED.get(compared)
        return above, there
    # A number is passed on as a number, unless only its truth is tested.
    asked = isinstance(above, (cst.If, cst.IfExp, cst.BooleanOperation, cst.UnaryOperation, cst.Assert))
    if isinstance(above, cst.Arg):
        asked = called(outer) == "bool" if isinstance(outer := script.parent[above], cst.Call) else False
    return call, True if asked or called(call) == "is_available" else None


def _of_cuda(script: Script) -> Iterator[tuple[cst.BaseExpression, str]]:
    """Yield questions for CUDA's files, compiler, driver or variables, with a word for each."""
    for node in script.nodes:
        match node:
            case cst.Call():
                if word := _called_of_cuda(script, node):
                    yield node, word
            case cst.Attribute(attr=cst.Name("cuda")) if full_name(script, node) == "torch.version.cuda":
                # Others are opened for ROCm; here it is None, and the script handles that.
                if _tried(script, node):
                    yield node, "PyTorch's CUDA release"
            case cst.Comparison(
                left=word, comparisons=[cst.ComparisonTarget(operator=cst.In() | cst.NotIn(), comparator=release)]
            ) if full_name(script, release) == "torch.__version__":
                if re.fullmatch(r"\+?cu(?:da)?\d*", script.text(word)):
                    yield node, "the name of PyTorch's CUDA release"
            case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.In() | cst.NotIn())]):
                if script.text(node.left) in _CUDA_VARIABLES and "environ" in script.code(node):
                    yield node, f"the variable {script.text(node.left)}"


def _called_of_cuda(script: Script, call: cst.Call) -> str:
    """Return a word for the part of CUDA that a call asks for; "" if it asks for none."""
    function = called(call)
    first = script.text(call.args[0].value) if call.args else ""
    if function in ("which", "find_executable") and call.args:
        return first if NVCC.fullmatch(first) or first == "nvidia-smi" else ""
    if function == "_find_cuda_home":
        return "a search for CUDA's toolkit"
    match call:
        case cst.Call(func=cst.Name("getattr"), args=[_, cst.Arg(name), *_]) if script.text(name) == "CUDA_HOME":
            return "CUDA_HOME"
    if function in RUNS and _tried(script, call) and script.runs_nvcc(call):
        return "running nvcc"
    if function in _LOOKS:
        code = _path(script, call.args[0].value) if call.args else _receiver(script, call)
        return f"a CUDA folder or file ({code})" if _CUDA_PATH.search(code) else ""
    if _READS.search(script.code(call.func)) and first in _CUDA_VARIABLES:
        return f"the variable {first}"
    return ""


def _tried(script: Script, call: cst.BaseExpression) -> cst.Try | None:
    """Return the `try` around a call whose handlers continue without the command."""
    for above, child in script.ancestors(call):
        if isinstance(above, cst.Try):
            goes_on = child is above.body and not any(script.stops(each.body) for each in above.handlers)
            return above if goes_on else None
        if isinstance(above, cst.FunctionDef):
            return None
    return None


def _receiver(script: Script, call: cst.Call) -> str:
    """Return the path in `Path("…").exists()`."""
    match call.func:
        case cst.Attribute(value=cst.Call(args=[argument]) as path) if called(path) == "Path":
            return _path(script, argument.value)
        case cst.Attribute(value=path):
            return _path(script, path)
    return ""


def _path(script: Script, node: cst.BaseExpression, depth: int = 0) -> str:
    """Return a path that is put together, as far as it is known; for an environment variable, its default."""
    match node:
        case cst.Call(args=[*arguments]) if called(node) in ("join", "joinpath", "Path") and arguments and depth < 6:
            return "/".join(_path(script, each.value, depth + 1) for each in arguments)
        case cst.Call(args=[_, cst.Arg(otherwise)]) if called(node) in ("get", "getenv") and depth < 6:
            return _path(script, otherwise, depth + 1)
        case cst.BinaryOperation(left=left, operator=cst.Add() | cst.Divide() as operator, right=right) if depth < 6:
            between = "/" if isinstance(operator, cst.Divide) else ""
            return _path(script, left, depth + 1) + between + _path(script, right, depth + 1)
        case cst.Name() if depth < 6:
            values = script.values(node)
            if len(values) == 1 and values[0] is not None:
                return _path(script, values[0], depth + 1)
    return script.text(node)


def _call_of(script: Script, name: cst.Name, function: str) -> cst.Call | None:
    """Return the call of a function of PyTorch with this name, whatever import it uses."""
    above = script.parent[name]
    func: cst.BaseExpression = above if isinstance(above, cst.Attribute) and above.attr is name else name
    call = script.parent[func]
    return call if isinstance(call, cst.Call) and call.func is func and full_name(script, func) == function else None


class _Trail:
    """The paths along which the answer to a question spreads in a script."""

    def __init__(self, script: Script) -> None:
        self.script = script
        #: The results for variables, shared by all questions: whether the value decides, and needs a GPU.
        self._known = script.from_variables
        self._passed: set[tuple[cst.CSTNode | None, str]] = set()
        self._is_of_variable = False
        #: Whether a branch that builds also asks the GPU.
        self.needs_gpu = False
        self._left: list[cst.CSTNode] = []
        self._seen: set[cst.CSTNode] = set()
        self._found = False

    def decides(self, question: cst.BaseExpression) -> bool:
        """Return whether it decides that kernels are built, or that the build continues."""
        self._left.append(question)
        runs = isinstance(question, cst.Call) and called(question) in RUNS
        if (runs or isinstance(question, cst.Attribute)) and (tried := _tried(self.script, question)):
            # The answer shows in which block the program continues.
            after = [tried.orelse] if tried.orelse is not None else []
            self._branches([tried.body, *(handler.body for handler in tried.handlers), *after])
        self._go_on()
        return self._found

    def _go_on(self) -> None:
        while self._left:
            node = self._left.pop()
            if node not in self._seen:
                self._seen.add(node)
                self._go(node)

    def _from(self, key: tuple[cst.CSTNode | None, str]) -> tuple[bool, bool]:
        """Return whether any read of a variable decides, and whether one needs a GPU."""
        if key not in self._known:
            trail = _Trail(self.script)
            trail._is_of_variable = True
            trail._passed.add(key)
            trail._left += reads(self.script, key)
            trail._go_on()
            self._known[key] = trail._found, trail.needs_gpu
        return self._known[key]

    def _go(self, node: cst.CSTNode) -> None:
        """Follow an expression that depends on the answer to the code that depends on it."""
        for above, child in self.script.ancestors(node):
            self._leads_on(above, child)
            if self._ends(above):
                return

    def _leads_on(self, above: cst.CSTNode, child: cst.CSTNode) -> None:
        """Record the code that depends on an answer of which `child` is a part."""
        script = self.script
        match above:
            case cst.If() | cst.While() if child is above.test:
                if above.orelse is None and script.stops(above.body):
                    self._goes_on(above)
                self._branches([above.body, *([above.orelse] if above.orelse is not None else [])])
            case cst.IfExp():
                self._found |= child is above.test and _BUILDS.search(script.code(above)) is not None
            case cst.FormattedString() | cst.BinaryOperation():
                # `f"-DUSE_CUDA={there}"`
                self._found |= re.search(_FOR_CMAKE, script.code(above)) is not None
            case cst.Assert():
                self._found |= bool(script.calls("setup"))
                self._goes_on(script.parent[above])
            case cst.Return():
                self._function(above)
            case cst.Assign():
                for target in above.targets:
                    self._variables(target.target)
            case cst.AnnAssign() | cst.AugAssign() | cst.NamedExpr():
                self._variables(above.target)
            case cst.For() | cst.CompFor() if child is above.iter:
                self._variables(above.target)
            case cst.Arg() if isinstance(call := script.parent[above], cst.Call):
                self._argument(call, above)

    def _ends(self, above: cst.CSTNode) -> bool:
        """Return whether the code around `above` no longer has the answer."""
        if not isinstance(above, cst.Arg):
            return isinstance(above, (cst.BaseCompoundStatement, cst.Lambda, cst.BaseSmallStatement))
        call = self.script.parent[above]
        if not isinstance(call, cst.Call):
            return True
        # The default of an environment variable.
        otherwise = called(call) in ("getenv", "get") and call.args[0] is not above
        return called(call) not in _THROUGH and not otherwise

    def _goes_on(self, guard: cst.CSTNode) -> None:
        """Look at the code after a statement that stops the build where there is no GPU: it may rely on one."""
        script = self.script
        while isinstance(above := script.parent[guard], cst.If) and above.orelse is guard:
            guard = above  # The code after an `elif` follows all of its branches.
        block = script.parent[guard]
        beside: list[cst.CSTNode] = list(block.body) if isinstance(block, (cst.Module, cst.IndentedBlock)) else []
        after = set(beside[beside.index(guard) + 1 :]) if guard in beside else set()
        if not after:
            return
        called_there = {
            word
            for name, function in script.functions.items()
            for word in script.calls(name)
            if _asks_unguarded(script, function) and after & {above for above, _ in script.ancestors(word)}
        }
        asked = [call for name in _NEEDING for call in script.calls(name)]
        for call in (*asked, *called_there):
            for above, child in script.ancestors(call):
                if child in after:
                    self.needs_gpu = True
                if _is_guard(script, above) or isinstance(above, cst.FunctionDef):
                    break

    def _branches(self, branches: list[cst.BaseSuite | cst.If | cst.Else]) -> None:
        script = self.script
        asks = False
        for branch in branches:
            code = script.code(branch)
            for word in set(re.findall(r"\b(\w+)\(", code)) & script.functions.keys():
                code += script.code(script.functions[word])
            needs = _NEEDS_GPU.search(code) is not None
            # Too old a GPU stops the build as well, but that does not depend on whether there is one.
            if _BUILDS.search(code) or (_STOPS.search(code) and script.calls("setup") and not needs):
                self._found = True
            asks = asks or needs
        self.needs_gpu = self.needs_gpu or asks
        for branch in branches:
            inside: list[cst.CSTNode] = [branch]
            while inside:
                node = inside.pop()
                inside += children(node)
                match node:
                    # A value computed from the GPU's properties tells which GPU it is, not whether to build.
                    case cst.Assign() if not asks or isinstance(node.value, cst.Name):
                        for target in node.targets:
                            self._variables(target.target)
                    case cst.AnnAssign() | cst.AugAssign() if not asks:
                        self._variables(node.target)
                    case cst.Return():
                        self._function(node)
                    case cst.Call(
                        func=cst.Attribute(value=receiver, attr=cst.Name("append" | "extend" | "insert"))
                    ) if not asks:
                        self._variables(receiver)

    def _variables(self, target: cst.BaseExpression) -> None:
        """Follow an assigned variable to all places that read it."""
        script = self.script
        match target:
            case cst.Tuple() | cst.List():
                for element in target.elements:
                    self._variables(element.value)
            case cst.Subscript():
                self._variables(target.value)
            case cst.Name():
                key = (script.scope(target, target.value), target.value)
                if key in self._passed:
                    return
                self._passed.add(key)
                # A variable may lead back to itself through others: a trail that starts at a variable follows the
                # others itself, instead of asking for their results.
                if self._is_of_variable and key not in self._known:
                    self._left += reads(script, key)
                    return
                found, needs_gpu = self._from(key)
                self._found |= found
                self.needs_gpu |= needs_gpu
            case cst.Attribute():
                self._left += [
                    above
                    for each in script.named(target.attr.value)
                    if isinstance(above := script.parent[each], cst.Attribute) and above.attr is each
                ]

    def _function(self, node: cst.CSTNode) -> None:
        function = self.script.function(node)
        if function is not None:
            self._left += self.script.calls(function.name.value)

    def _argument(self, call: cst.Call, argument: cst.Arg) -> None:
        """Follow the answer into a function of the script that receives it."""
        script = self.script
        keyword = argument.keyword.value if argument.keyword is not None else ""
        plain = [each for each in call.args if each.keyword is None and not each.star]
        sources = keyword == "sources" or plain[1:2] == [argument]
        if keyword == "ext_modules" or (sources and called(call).endswith("Extension")):
            self._found = True
        function = script.functions.get(called(call))
        if function is None:
            return
        names = [parameter.name for parameter in script.parameters(function)]
        if keyword:
            names = [name for name in names if name.value == keyword]
        else:
            names = names[plain.index(argument) :][:1] if argument in plain else []
        for name in names:
            self._left += [each for each in script.named(name.value) if script.function(each) is function]
