# SPDX-License-Identifier: Apache-2.0
"""Questions of a build script about nvcc and its targets that have no answer on ROCm."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from hipport.core.finding import Certainty
from hipport.program.script_names import called
from hipport.syntax.build_names import NAMES
from hipport_passes.build_files.build_scripts.script import NVCC, RUNS, Script
from hipport_passes.build_files.build_scripts.script_edits import Said, either
from hipport_passes.python.runtime.versions import ASSUMED, NVCC_SAID

#: Functions that look for a command.
SEARCHES = ("which", "find_executable")
_ASKS = NAMES.compile(r"\b(?&cuda_home)\b|\b(?&nvcc)")
_STOPS = NAMES.compile(r"\braise\b|\b(?&exit)\(")


def probes(script: Script) -> Iterator[Said]:
    """Yield the questions about CUDA's compiler that have no answer on ROCm."""
    yield from _asked_for_flags(script)
    yield from _runs_of_nvcc(script)
    yield from _searches_for_nvcc(script)
    yield from _device_links(script)


def _asked_for_flags(script: Script) -> Iterator[Said]:
    """Yield the questions for PyTorch's nvcc flags for architectures: there are none on ROCm."""
    for call in (*script.calls("get_gencode_flags"), *script.calls("_get_cuda_arch_flags")):
        if not script.runs(call).both or called(call) in script.functions:
            continue
        chain: cst.CSTNode = call
        text = b'""'
        # All of `cuda.get_gencode_flags().replace(…).split()`.
        while isinstance(method := script.parent[chain], cst.Attribute) and isinstance(
            outer := script.parent[method], cst.Call
        ):
            chain = outer
            if method.attr.value == "split":
                text = b"[]"
                break
        if called(call) == "_get_cuda_arch_flags":
            text = b"[]"
            message = "_get_cuda_arch_flags() returns -gencode, or raises; PyTorch passes --offload-arch itself"
        else:
            message = "get_gencode_flags() raises on ROCm; PyTorch passes --offload-arch itself"
        span = script.source.span(chain)
        said = Said(span, "gencode_flags", message, Certainty.SAFE)
        if (asked := script.asked(chain)) is None:
            said.manual()
        else:
            said.assume(asked[2])
            said.edits = [*asked[1], *either(script, chain, asked[0].encode(), text)]
        yield said


def _runs_of_nvcc(script: Script) -> Iterator[Said]:
    """Yield the runs of nvcc that query it and compile nothing."""
    for name in RUNS:
        for call in script.calls(name):
            if script.runs_nvcc(call) and script.runs(call).both and not _expected(script, call):
                if (answer := _answer(script, call)) is not None:
                    yield answer
                    continue
                message = (
                    "runs nvcc, which ROCm does not have: ask torch.version.hip for the release that PyTorch is "
                    "built for, or hipcc --version for the compiler"
                )
                yield Said(script.source.span(call), "nvcc_probe", message, Certainty.MANUAL)


def _searches_for_nvcc(script: Script) -> Iterator[Said]:
    """Yield the places where the script stops if nvcc is not on the path."""
    for name in SEARCHES:
        for call in script.calls(name):
            argument = script.text(call.args[0].value) if call.args else ""
            if NVCC.fullmatch(argument) and script.runs(call).both and insisted(script, call):
                message = "stops without nvcc, which ROCm does not have: hipcc is the compiler there"
                yield Said(script.source.span(call), "nvcc_probe", message, Certainty.MANUAL)


def _answer(script: Script, call: cst.Call) -> Said | None:
    """Answer for nvcc where only its release is asked, as `torch.version.cuda` is elsewhere; else None."""
    name = called(call)
    command = call.args[0].value
    listed = command.elements if isinstance(command, (cst.List, cst.Tuple)) else ()
    words = [script.text(each.value) for each in listed] or script.text(command).split()
    hip = script.asked(call)
    if hip is None or len(words) != 2 or words[1] not in ("-V", "--version"):
        return None
    node: cst.BaseExpression = call
    text = name in ("getoutput", "popen")
    if name in ("run", "popen"):
        # `.stdout` of a run, `.read()` of a pipe; other attributes have no answer here.
        above = script.parent[call]
        if not isinstance(above, cst.Attribute) or above.attr.value != ("stdout" if name == "run" else "read"):
            return None
        node = above
        if name == "popen":
            read = script.parent[above]
            if not isinstance(read, cst.Call) or read.args:
                return None
            node = read
    elif name not in ("check_output", "getoutput"):
        return None
    for argument in call.args[1:]:
        keyword = argument.keyword.value if argument.keyword else ""
        if keyword in ("text", "universal_newlines", "encoding"):
            value = script.code(argument.value)
            if value not in ("True", "False") and keyword != "encoding":
                return None
            text = text or value != "False"
    if any(isinstance(above, cst.FormattedString) for above, _ in script.ancestors(call)):
        return None  # A backslash is not allowed here.
    version = f'{"" if text else "b"}"{NVCC_SAID}\\n"'
    message = (
        f"asks nvcc for its release, which ROCm does not have: HIP counts as CUDA {ASSUMED} here; assumes that the "
        "choice made by it is right for HIP"
    )
    edits = [*hip[1], *either(script, node, hip[0].encode(), version.encode())]
    said = Said(script.source.span(call), "nvcc_probe", message, Certainty.REVIEW, edits)
    said.assume(hip[2])
    return said


def _device_links(script: Script) -> Iterator[Said]:
    """Yield the extensions whose device code nvcc links in a separate step, which exists for CUDA only."""
    for node in script.nodes:
        match node:
            case cst.Arg(keyword=cst.Name("dlink"), value=cst.Name("True")):
                place = node.value
            case cst.DictElement(key=cst.SimpleString() as place) if script.text(place) == "nvcc_dlink":
                pass
            case _:
                continue
        if script.runs(place).both:
            message = (
                "the step that links device code runs nvcc: put kernels that several files share into headers, or "
                "into one file"
            )
            yield Said(script.source.span(place), "device_link", message, Certainty.MANUAL)


def _expected(script: Script, call: cst.Call) -> bool:
    """Return whether the script handles a missing nvcc: by a `try`, a comparison or a shut gate."""
    for above, child in script.ancestors(call):
        if isinstance(above, (cst.Try, cst.TryStar)) and child is above.body:
            return not all(_ends(handler.body) for handler in above.handlers)
        # Its exit status, not its output.
        if isinstance(above, cst.Comparison) and (child is call or script.code(child).endswith(".returncode")):
            return not script.insists_on(call)
        if isinstance(above, cst.FunctionDef):
            places = [name for name in script.named(above.name.value) if name is not above.name]
            return bool(places) and all(_guarded(script, place) for place in places)
    return _guarded(script, call)


def _ends(body: cst.BaseSuite) -> bool:
    """Return whether a handler of errors raises one in the end."""
    last = body.body[-1] if body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return isinstance(last, cst.Raise)


def _guarded(script: Script, node: cst.CSTNode) -> bool:
    if not script.runs(node).both:
        return True
    if any(
        isinstance(above, (cst.Try, cst.TryStar)) and child is above.body for above, child in script.ancestors(node)
    ):
        return True
    return any(wanted and _ASKS.search(script.code(test)) for test, wanted in script.conditions(node))


def insisted(script: Script, call: cst.Call) -> bool:
    """Return whether the script raises or exits because of the result of the call."""
    above = script.parent[call]
    asked = [call] if not isinstance(above, cst.Assign) else script.named(script.code(above.targets[0].target))
    for node in script.nodes:
        if isinstance(node, cst.If) and any(
            script.is_inside(name, node.test) and script.code(node.test) in (f"{code} is None", f"not {code}")
            for name in asked
            for code in (script.code(name),)
        ):
            return _STOPS.search(script.code(node.body)) is not None
    return False
