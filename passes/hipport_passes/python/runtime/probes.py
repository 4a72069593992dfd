# SPDX-License-Identifier: Apache-2.0
"""Queries of NVIDIA's tools, and tests for names of NVIDIA's products."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import libcst as cst

from hipport.core.edits import Edit
from hipport.core.finding import Finding
from hipport.core.tables import Words, one_of
from hipport.syntax.build_names import NAMES
from hipport.syntax.holes import HOLE
from hipport_passes.build_files import nvidia_tools
from hipport_passes.python.python_gates import PRODUCT
from hipport_passes.python.runtime.origins import origins as origins_of
from hipport_passes.python.runtime.python_program import PythonProgram, finding

_WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
_NVIDIA_SMI = _WORDS.compile(r"(?:.*[/\\\s;&|(])?(?&nvidia_smi)(?:\.exe)?(?:\s.*|\s*[;&|)].*)?", re.DOTALL)
#: Functions that run a command.
RUNS = re.compile(rf"(?i)(?:^|[._]){one_of(_WORDS['runs'])}$")
_LOOKS = _WORDS.compile(r"(?:^|[._])(?&looks)$")
# The nodes between an expression and its statement.
_WITHIN = (cst.BaseExpression, cst.Arg, cst.Index, cst.SubscriptElement, cst.Element)
# An architecture of NVIDIA's by its number, in a string of its own: a piece of `sm_80`.
_NUMBERED = re.compile(r"[\"'](?:[5-9]\d|1[0-2]\d)[af]?[\"']")
_ERRORS = r"\w*OSError|FileNotFoundError|CalledProcessError|SubprocessError|IOError"
_ATTENTION = _WORDS.compile(r"\b([A-Z]+(?&attentions)|(?&attentions_alone))\b")
_ARCHITECTURE = _WORDS.compile(r"(?&architectures)")
_AMD = _WORDS.compile(rb"(?i)(?&gpus_of_amd)|\bmi[123]\d\d|\b(?&amd)\b")
_PATHS = tuple(_WORDS["paths"].split())


def nvidia_smi(program: PythonProgram) -> Iterator[Finding]:
    """Yield the runs of nvidia-smi without a fallback."""
    if re.search(one_of(_WORDS["of_amd"]).encode(), program.source.text):
        return
    for node in program.nodes:
        if not isinstance(node, (cst.SimpleString, cst.FormattedString)):
            continue
        text = program.text(node)
        if "nvidia-smi" not in text or not _NVIDIA_SMI.fullmatch(text) or not program.runs(node).both:
            continue
        call = _given_to(program, node)
        if call is None or program.copes(call, _ERRORS) or _prepared(program, call):
            continue
        if _only_status_counts(program, call) and not program.insists_on(call):
            continue
        if program.by_notebook(call):
            continue
        name = program.code(call.func)
        if _LOOKS.search(name):
            if not _decides_more(program, call):
                continue
            message = "ROCm has no nvidia-smi; torch.cuda.is_available() reports any GPU"
        elif RUNS.search(name):
            message = (
                "ROCm has amd-smi instead of nvidia-smi; torch.cuda reports name, memory and utilization of any GPU"
            )
        else:
            continue
        yield finding(program, call, "nvidia_smi", message)


def tools(program: PythonProgram) -> Iterator[Finding]:
    """Yield the runs of NVIDIA's profilers, debuggers and checkers."""
    said: set[str] = set()
    for node in program.nodes:
        if not isinstance(node, (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)):
            continue
        found = nvidia_tools.run_by(program.text(node).split())
        if found is None or found[1] in said or not program.runs(node).both:
            continue
        call = _given_to(program, node)
        if call is None or program.by_notebook(call) or not RUNS.search(program.code(call.func)):
            continue
        if not program.copes(call, _ERRORS) and not _prepared(program, call) and not _only_status_counts(program, call):
            said.add(found[1])
            yield finding(program, call, "tool", nvidia_tools.told(found[1]))


def _given_to(program: PythonProgram, node: cst.CSTNode, depth: int = 0) -> cst.Call | None:
    """Return the call that receives a command which is, or begins with, a string."""
    for above, child in program.ancestors(node):
        if isinstance(above, cst.Call):
            return above if child is not above.func else None
        if isinstance(above, (cst.List, cst.Tuple)):
            first = above.elements[0]
            if child is not first and program.text(first.value) not in ("sudo", "which", "bash", "sh", HOLE):
                return None
        elif isinstance(above, cst.Assign) and len(above.targets) == 1 and depth < 2:
            target = above.targets[0].target
            if isinstance(target, cst.Name):
                for other in program.named(target.value):
                    if other is not target and (call := _given_to(program, other, depth + 1)) is not None:
                        return call
            return None
        elif not isinstance(
            above, (cst.Element, cst.Arg, cst.BinaryOperation, cst.ConcatenatedString, cst.StarredElement)
        ):
            return None
    return None


def _prepared(program: PythonProgram, node: cst.CSTNode) -> bool:
    """Return whether the code is only reached where the tool was found."""
    for test, _ in program.conditions(node):
        code = program.code(test)
        if re.search(one_of(_WORDS["asks_before"]), code, re.IGNORECASE):
            return True
        if isinstance(test, cst.Name) and any(
            "which" in program.code(value) for value, _ in program.assigned(test) or ()
        ):
            return True
    return False


def _decides_more(program: PythonProgram, call: cst.Call) -> bool:
    """Return whether a condition tests for the tool, and more depends on it than its run."""
    node: cst.CSTNode = call
    while isinstance(program.parent[node], (cst.Comparison, cst.BooleanOperation, cst.UnaryOperation)):
        node = program.parent[node]
    above = program.parent[node]
    if isinstance(above, (cst.If, cst.IfExp)):
        return "smi" not in program.code(above.body)
    return node is not call or isinstance(above, cst.Return)


def _only_status_counts(program: PythonProgram, call: cst.Call) -> bool:
    """Return whether only the exit status matters: `os.system("nvidia-smi") == 0` handles the absence."""
    above = program.parent[call]
    return isinstance(above, cst.Comparison) and not _LOOKS.search(program.code(call.func))


def device_names(program: PythonProgram) -> Iterator[Finding]:
    """Yield the decisions by names of NVIDIA's products."""
    if _AMD.search(program.source.text):
        return
    said: set[cst.CSTNode] = set()
    for node in program.nodes:
        product = ""
        if isinstance(node, cst.Comparison):
            operands = [node.left, *(each.comparator for each in node.comparisons)]
            if any(_is_name(program, each) for each in operands):
                product = next((text for each in operands if (text := _product(program, each))), "")
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.args:
            name = node.func.attr.value
            about = [node.func.value] if name in ("startswith", "find", "index", "count") else []
            if name in ("search", "match", "fullmatch", "findall") and len(node.args) > 1:
                about = [node.args[1].value]
            if any(_is_name(program, each) for each in about):
                product = _product(program, node.args[0].value)
            # `TFLOPS.get(torch.cuda.get_device_name())`; a call with a default is fine.
            elif name == "get" and len(node.args) == 1 and _is_name(program, node.args[0].value):
                product = _product(program, node.func.value)
        elif isinstance(node, cst.Subscript):
            match node.slice:
                case [cst.SubscriptElement(cst.Index(key))] if _is_name(program, key):
                    product = _product(program, node.value)
        elif isinstance(node, cst.Match) and _is_name(program, node.subject):
            named = [each for case in node.cases for each in program.nodes_below(case.pattern)]
            words = [each for each in named if isinstance(each, cst.SimpleString)]
            product = next((text for each in words if (text := _product(program, each))), "")
        chain = _chain(program, node) if product else node
        if product and chain not in said and program.runs(node).both:
            said.add(chain)
            message = f"no AMD GPU is called {product}: add the case of one, such as `AMD Instinct MI300X`"
            yield finding(program, node, "device_name", message)


def _chain(program: PythonProgram, node: cst.CSTNode) -> cst.CSTNode:
    """Return the first `if` of the chain that contains the condition `node`, or else the statement."""
    for above, child in program.ancestors(node):
        if isinstance(above, cst.If) and child is above.test:
            while isinstance(outer := program.parent[above], cst.If) and outer.orelse is above:
                above = outer
            return above
        if isinstance(above, cst.BaseSmallStatement):
            return above
    return node


def _is_name(program: PythonProgram, node: cst.CSTNode, depth: int = 0) -> bool:
    if depth > 6:
        return False
    match node:
        case cst.Call(
            func=cst.Attribute(value=value, attr=cst.Name("lower" | "upper" | "strip" | "replace" | "split"))
        ):
            return _is_name(program, value, depth + 1)
        case cst.Subscript(value=value) if _is_name(program, value, depth + 1):
            return True
        case cst.Call():
            if program.is_of_torch(node, "get_device_name"):
                return True
            origins = program.source.fact(origins_of)
            return any(part is None and _is_name(program, value, depth + 1) for value, part in origins.of(node))
        case cst.Attribute(value=of, attr=cst.Name("name")) if are_properties(program, of):
            return True
        case cst.Name() | cst.Attribute() | cst.IfExp() | cst.Subscript():
            origins = program.source.fact(origins_of)
            return any(part is None and _is_name(program, value, depth + 1) for value, part in origins.of(node))
    return False


def are_properties(program: PythonProgram, node: cst.BaseExpression, depth: int = 0) -> bool:
    if isinstance(node, cst.Call) and program.is_of_torch(node, "get_device_properties"):
        return True
    found = program.source.fact(origins_of).of(node) if depth < 6 else []
    return any(part is None and are_properties(program, value, depth + 1) for value, part in found)


def _product(program: PythonProgram, node: cst.BaseExpression, depth: int = 0) -> str:
    """Return a product of NVIDIA's among the strings that an expression may be or contain."""
    if depth > 4:
        return ""
    match node:
        case cst.SimpleString() | cst.ConcatenatedString():
            text = program.text(node)
            return text.strip() if HOLE not in text and PRODUCT.search(text.encode()) else ""
        case cst.List(elements) | cst.Tuple(elements) | cst.Set(elements):
            return next((text for each in elements if (text := _product(program, each.value, depth + 1))), "")
        case cst.Dict(elements):
            keys = [each.key for each in elements if isinstance(each, cst.DictElement)]
            return next((text for each in keys if (text := _product(program, each, depth + 1))), "")
        case cst.Call(func=cst.Attribute(value=table, attr=cst.Name("items" | "keys")), args=[]):
            return _product(program, table, depth + 1)
        case cst.Name():
            loop = program.comprehended(node)
            iterated = [loop.iter] if loop is not None else []
            for binding in program.bound(node) if loop is None else ():
                if isinstance(binding.node, cst.For):
                    iterated.append(binding.node.iter)
                elif binding.how == "is" and binding.value is not None:
                    iterated.append(binding.value)
            return next((text for each in iterated if (text := _product(program, each, depth + 1))), "")
    return ""


def arch_lists(program: PythonProgram) -> Iterator[Finding]:
    """Yield the code that parses PyTorch's list of architectures: on ROCm these are gfx names."""
    for call in program.of_torch("get_arch_list"):
        if not program.runs(call).both:
            continue
        code = program.function_code(call)
        # All of a condition, which is not a statement.
        whole = [above for above, _ in program.ancestors(call) if isinstance(above, cst.BaseExpression)]
        code += program.code(whole[-1]) if whole else ""
        above = next((above for above, _ in program.ancestors(call) if not isinstance(above, _WITHIN)), None)
        match above:
            case cst.Assign(targets=[cst.AssignTarget(cst.Name(name))]):
                code += " ".join(program.code(program.parent[program.parent[use]]) for use in program.named(name))
        if re.search(r"[\"'](?:sm|compute)?_", code) or _ARCHITECTURE.search(code):
            message = "on ROCm these are gfx names such as gfx942, and none begins with sm_"
            yield finding(program, call, "arch_list", message)
        elif _NUMBERED.search(code):
            message = "on ROCm these are gfx names such as gfx942, and none has the number of an NVIDIA architecture"
            yield finding(program, call, "arch_list", message)
        elif re.search(r"\b(?:int|float)\(", code):
            message = (
                "on ROCm these are gfx names such as gfx90a, and a number made of one fails or means another GPU; "
                "compare the names"
            )
            yield finding(program, call, "arch_list", message)


_NO_MATH = (
    "leaves no kernel where AOTriton has none for the GPU or the arguments; the math kernel is allowed on ROCm, "
    "assuming that it is fast enough there"
)


def switches(program: PythonProgram) -> Iterator[Finding]:
    """Yield PyTorch's switches with another meaning on ROCm."""
    for call in program.calls("version"):
        if not program.code(call.func).endswith("cudnn.version") or not program.runs(call).both:
            continue
        above = program.parent[call]
        if isinstance(above, (cst.Comparison, cst.ComparisonTarget)) and "None" not in program.code(above):
            message = "on ROCm this is MIOpen's release, whose numbers differ from cuDNN's"
            yield finding(program, call, "cudnn_version", message)
    for call in program.calls("enable_math_sdp"):
        given = call.args[0].value if call.args else None
        if given is not None and program.code(given) == "False" and program.runs(call).both:
            torch = program.torch(call)
            edits = (Edit(program.source.span(given), f"{torch}.version.hip is not None".encode()),) if torch else ()
            yield finding(program, call, "sdp_kernel", _NO_MATH, edits)
    for name in ("sdp_kernel", "sdpa_kernel"):
        for call in program.calls(name):
            if not program.runs(call).both or program.copes(call, "RuntimeError"):
                continue
            off = [
                argument.value
                for argument in call.args
                if argument.keyword is not None
                and argument.keyword.value == "enable_math"
                and program.code(argument.value) == "False"
            ]
            chosen = set(_ATTENTION.findall(program.code(call)))
            if chosen == {"CUDNN_ATTENTION"}:
                yield finding(program, call, "sdp_kernel", "ROCm has no cuDNN; choose another back end too")
            elif off:
                # Nothing changes with CUDA, where this is False.
                torch = program.torch(call)
                text = f"{torch}.version.hip is not None".encode()
                edits = (Edit(program.source.span(off[0]), text),) if torch else ()
                yield finding(program, call, "sdp_kernel", _NO_MATH, edits)


def _stops_without(program: PythonProgram, name: cst.Name | cst.Attribute) -> bool:
    """Return whether the program stops if the variable is None."""
    above = program.parent[name]
    match above:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=operator)]) if left is name:
            absent = isinstance(operator, (cst.Is, cst.Equal)) and program.code(above).endswith("None")
            test: cst.CSTNode = above
        case cst.UnaryOperation(operator=cst.Not()):
            absent, test = True, above
        case _:
            absent, test = False, name
    outer = program.parent[test]
    if isinstance(outer, cst.If) and outer.test is test:
        return absent and program.stops(outer.body)
    return isinstance(outer, cst.Assert) and outer.test is test and not absent


def _insists_on(program: PythonProgram, home: cst.Attribute) -> bool:
    """Return whether the program stops if an attribute is None."""
    return program.runs(home).both and not program.decided and _stops_without(program, home)


def homes(program: PythonProgram) -> Iterator[Finding]:
    """Yield the paths below CUDA's folder that are needed at run time."""
    for node in program.nodes:
        if isinstance(node, cst.Subscript) and program.code(node.value) in ("environ", "os.environ"):
            name = program.key(node)
            if name not in ("CUDA_HOME", "CUDA_PATH") or isinstance(program.parent[node], (cst.AssignTarget, cst.Del)):
                continue
            if program.runs(node).both and not program.copes(node, "KeyError") and not _asks_home(program, node, name):
                message = f"{name} is not set on ROCm, whose counterpart is ROCM_PATH, by default /opt/rocm"
                yield finding(program, node, "cuda_home", message)
    if re.search(rf"\b{one_of(_WORDS['builds'])}".encode(), program.source.text):
        return  # A build script: `cpp_extension` handles PyTorch's CUDA_HOME.
    for name_node in program.named("CUDA_HOME"):
        attribute = program.parent[name_node]
        if isinstance(attribute, cst.Attribute) and attribute.attr is name_node:
            if program.code(attribute.value).endswith("cpp_extension") and _insists_on(program, attribute):
                message = "CUDA_HOME is None on ROCm, so this stops the program; use ROCM_HOME, from the same module"
                yield finding(program, attribute, "cuda_home", message)
            continue
        statement = program.imported(name_node)
        if (
            statement is None
            or statement.module is None
            or not program.code(statement.module).endswith("cpp_extension")
        ):
            continue
        above = program.parent[name_node]
        if program.runs(name_node).both and not program.decided and _stops_without(program, name_node):
            message = "CUDA_HOME is None on ROCm, so this stops the program; use ROCM_HOME, from the same module"
            yield finding(program, name_node, "cuda_home", message)
            continue
        fails = isinstance(above, cst.BinaryOperation) or (
            isinstance(above, cst.Arg) and program.code(program.parent[above]).split("(")[0].endswith(_PATHS)
        )
        if fails and program.runs(name_node).both and not _asks_home(program, name_node, "CUDA_HOME"):
            if program.copes(name_node, "TypeError"):
                continue
            message = "CUDA_HOME is None on ROCm; its counterpart is torch.utils.cpp_extension.ROCM_HOME"
            yield finding(program, name_node, "cuda_home", message)


def _asks_home(program: PythonProgram, node: cst.CSTNode, name: str) -> bool:
    return any(name in program.code(test) for test, _ in program.conditions(node))
