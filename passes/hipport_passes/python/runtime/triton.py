# SPDX-License-Identifier: Apache-2.0
"""Triton code that its compiler for AMD's GPUs does not accept."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from hipport.core.edits import Edit
from hipport.core.finding import Finding
from hipport_passes.python.runtime import elsewhere
from hipport_passes.python.runtime.arithmetic import calculated, folded
from hipport_passes.python.runtime.elsewhere import Known
from hipport_passes.python.runtime.origins import EACH, origins
from hipport_passes.python.runtime.python_program import PythonProgram, finding

_PORTABLE = (
    "functions of NVIDIA's libdevice; triton.language.extra.libdevice has those of the GPU that runs the program"
)
_OPTIONS = {
    "maxnreg": (
        "limits registers for NVIDIA's assembler; Triton refuses it for AMD's GPUs, where waves_per_eu comes closest"
    ),
    "num_consumer_groups": "is for Hopper and later; Triton refuses the option for AMD's GPUs",
    "num_buffers_warp_spec": "is for Hopper and later; Triton refuses the option for AMD's GPUs",
    "reg_dec_producer": "is for Hopper and later; Triton refuses the option for AMD's GPUs",
    "reg_inc_consumer": "is for Hopper and later; Triton refuses the option for AMD's GPUs",
}


def kernels(program: PythonProgram, known: Known) -> Iterator[Finding]:
    """Yield the options, functions and paths in Triton code that are for NVIDIA's GPUs.

    `known` are the constants of other modules and classes.
    """
    for node in program.nodes:
        match node:
            case cst.Call():
                yield from _call(program, node)
            case cst.Arg(keyword=cst.Name(option), value=value) if option in _OPTIONS or option in _COUNTED:
                yield from _option(program, node, option, value, known)
            # `kernel[grid](x, **{"num_warps": 32})`, and tables of tuning options.
            case cst.DictElement(key=cst.SimpleString() as key, value=value) if program.text(key) in (
                *_OPTIONS,
                *_COUNTED,
            ):
                if program.runs(node).both:
                    yield from _told(program, program.text(key), value, known)
            case cst.SimpleString() if _BITCODE.search(program.text(node)) and program.runs(node).both:
                message = (
                    "NVIDIA's libdevice as a file, which ROCm does not have; Triton has AMD's own files (ocml.bc, "
                    "ockl.bc), and triton.language.extra.libdevice has the functions of the GPU that runs the "
                    "program"
                )
                yield finding(program, node, "libdevice", message)
            case cst.Arg(keyword=cst.Name("target"), value=cst.Tuple(elements=[cst.Element(first), *_])) if (
                isinstance(call := program.parent[node], cst.Call)
                and program.code(call.func).rpartition(".")[2] == "compile"
            ):
                yield from _target(program, node.value, first)
            case cst.Comparison(left=cst.Attribute(value=target, attr=cst.Name("arch" | "backend" as part))) if (
                _is_target(program, target) and program.runs(node).both
            ):
                yield from _asked_target(program, node, part)
            case cst.ImportFrom(module=cst.Attribute() as module) if not isinstance(node.names, cst.ImportStar):
                yield from _path(program, node, module)
            case cst.Attribute(attr=cst.Name(name)):
                yield from _attribute(program, node, name)


def _call(program: PythonProgram, call: cst.Call) -> Iterator[Finding]:
    """Report PTX, and compilation targets."""
    function = program.code(call.func).rpartition(".")[2]
    if function == "inline_asm_elementwise":
        if program.runs(call).both:
            message = "PTX in Triton; write it in Triton's language, or add a version for AMD's GPUs"
            yield finding(program, call.func, "inline_asm", message)
    elif function == "GPUTarget" and call.args:
        yield from _target(program, call, call.args[0].value)


def _attribute(program: PythonProgram, node: cst.Attribute, name: str) -> Iterator[Finding]:
    """Yield uses of `triton.language.extra.cuda`, and dependent launches, through any name."""
    dependent = name in ("gdc_wait", "gdc_launch_dependents")
    of_cuda = isinstance(node.value, cst.Attribute) and node.value.attr.value == "cuda"
    if of_cuda and not name.startswith("gdc_"):
        if program.code(node.value).endswith("extra.cuda") and _reached(program, node):
            if name == "libdevice":
                yield from _libdevice(program, node)
            else:
                message = "triton.language.extra.cuda is for NVIDIA's GPUs; AMD's is triton.language.extra.hip"
                yield finding(program, node, "libdevice", message)
    elif dependent and _reached(program, node):
        yield finding(
            program, node, "inline_asm", "only Hopper and later have dependent launches; AMD's GPUs have none"
        )


_COUNTED = ("num_warps", "num_ctas")
#: The results of an operator that are computed; tables of tuning options have fewer.
_MOST = 1024
_BITCODE = re.compile(r"libdevice[\w.]*\.bc$")


def _target(program: PythonProgram, node: cst.CSTNode, backend: cst.CSTNode) -> Iterator[Finding]:
    """Report `GPUTarget("cuda", 80, 32)`."""
    if program.text(backend) == "cuda" and program.runs(node).both:
        message = (
            'a target of NVIDIA\'s: GPUTarget("hip", "gfx942", 64) is one of AMD\'s, '
            "triton.runtime.driver.active.get_current_target() is the GPU that runs the program"
        )
        yield finding(program, node, "target", message)


def _is_target(program: PythonProgram, node: cst.BaseExpression) -> bool:
    """Return whether it is Triton's compilation target."""
    values = [node]
    if isinstance(node, cst.Name | cst.Attribute):
        values += [value for value, index in program.assigned(node) or [] if index is None]
    return any(isinstance(each, cst.Call) and program.code(each.func).endswith("get_current_target") for each in values)


def _asked_target(program: PythonProgram, node: cst.Comparison, part: str) -> Iterator[Finding]:
    operator, other = node.comparisons[0].operator, node.comparisons[0].comparator
    if part == "arch" and isinstance(other, cst.Integer):
        if not program.copes(node, "TypeError") and not _is_for_cuda(program, node):
            message = (
                "this is a number on NVIDIA's GPUs only: on AMD's it is a name such as gfx942; compare the names there"
            )
            yield finding(program, node, "target", message)
    elif part == "backend" and program.text(other) == "cuda":
        above = program.parent[node]
        if isinstance(operator, cst.NotEqual):
            stops = isinstance(above, cst.If) and program.stops(above.body)
        else:
            stops = isinstance(above, cst.Assert)
        if stops:
            message = 'this stops the program on ROCm, where Triton\'s back end is "hip"'
            yield finding(program, node, "target", message)


def _is_for_cuda(program: PythonProgram, node: cst.CSTNode) -> bool:
    """Return whether a condition before it asks for CUDA's back end: `backend == "cuda" and target.arch >= 90`."""
    for test, wanted in program.conditions(node):
        match test:
            case cst.Comparison(
                left=cst.Attribute(attr=cst.Name("backend")), comparisons=[cst.ComparisonTarget(operator, other)]
            ) if program.text(other) == "cuda":
                if isinstance(operator, cst.Equal) is wanted:
                    return True
    return False


def _numbers(
    program: PythonProgram, node: cst.BaseExpression, known: Known, depth: int = 0, *, bound: bool = False
) -> list[int]:
    """Return the possible values of a numeric expression, as far as they are literal.

    For a `bound` of another value, names are not calculated with: they may have more values than those that are seen.
    """
    if depth > 6:
        return []

    def numbers(of: cst.BaseExpression) -> list[int]:
        return _numbers(program, of, known, depth + 1, bound=bound)

    match node:
        case cst.Integer():
            return [int(node.value.replace("_", ""), 0)]
        case cst.IfExp():
            return [*numbers(node.body), *numbers(node.orelse)]
        case cst.BooleanOperation(operator=cst.Or()):
            return [*numbers(node.left), *numbers(node.right)]
        case cst.BinaryOperation():
            value = folded(node)
            if bound or isinstance(value, int):
                return [value] if isinstance(value, int) else []
            left, right = numbers(node.left), numbers(node.right)
            if len(left) * len(right) > _MOST:
                return []
            found = (calculated(node.operator, one, other) for one in left for other in right)
            return [each for each in found if isinstance(each, int)]
        case cst.List() | cst.Tuple() | cst.Set():
            return [number for each in node.elements for number in numbers(each.value)]
        # The greatest possible value: an unknown operand may be any number.
        case cst.Call(func=cst.Name("min" | "max" as name), args=[_, _, *_]):
            given = [_numbers(program, each.value, known, depth + 1, bound=True) for each in node.args]
            bounds = [max(each) for each in given if each]
            if name == "min":
                return [min(bounds)] if bounds else []
            return [max(bounds)] if len(bounds) == len(given) else []
    if isinstance(number := elsewhere.read(program, node, known), int):
        return [number]
    return [
        number
        for value, part in program.source.fact(origins).of(node)
        for number in (numbers(value) if part in (None, EACH) else [])
    ]


def _reached(program: PythonProgram, node: cst.CSTNode) -> bool:
    if not program.runs(node).both or program.copes(node, "ImportError|ModuleNotFoundError|AttributeError"):
        return False
    # An import after a failed attempt with another path is right.
    return not any(isinstance(above, cst.ExceptHandler) for above, _ in program.ancestors(node))


def _option(
    program: PythonProgram, node: cst.Arg, option: str, value: cst.BaseExpression, known: Known
) -> Iterator[Finding]:
    call = program.parent[node]
    if not isinstance(call, cst.Call) or not program.runs(node).both:
        return
    is_kernel = isinstance(call.func, cst.Subscript) or re.search(r"(?:^|\.)Config$|^dict$", program.code(call.func))
    if is_kernel and program.code(value) != "None":
        yield from _told(program, option, value, known)


def _told(program: PythonProgram, option: str, value: cst.BaseExpression, known: Known) -> Iterator[Finding]:
    if option in _OPTIONS:
        yield finding(program, value, "triton_option", f"{option} {_OPTIONS[option]}")
    elif numbers := _numbers(program, value, known):
        count = max(numbers)
        if option == "num_warps" and count > 16:
            message = (
                f"{count} warps are {count * 64} threads on a GPU with wavefronts of 64, where a block has at most 1024"
            )
            yield finding(program, value, "triton_option", message)
        elif option == "num_ctas" and count > 1:
            yield finding(
                program, value, "triton_option", "clusters of blocks need Hopper; on AMD's GPUs num_ctas is 1"
            )


def _libdevice(program: PythonProgram, node: cst.Attribute) -> Iterator[Finding]:
    """Port `tl.extra.cuda.libdevice.round`, `import triton.language.extra.cuda.libdevice as libdevice`."""
    above = program.parent[node]
    if isinstance(above, cst.ImportFrom):
        return  # `_path` handles these.
    if isinstance(above, cst.ImportAlias) and above.asname is not None:
        edit = Edit(program.source.span(node), b"triton.language.extra.libdevice")
        yield finding(program, node, "libdevice", f"{_PORTABLE}; assumes Triton 3.0 or later", (edit,))
    else:
        yield finding(program, node, "libdevice", f"{_PORTABLE}, by `from triton.language.extra import libdevice`")


def _path(program: PythonProgram, node: cst.ImportFrom, module: cst.Attribute) -> Iterator[Finding]:
    """Port `from triton.language.extra.cuda import libdevice`, `from triton.language.extra.cuda.libdevice import
    rsqrt`.
    """
    assert not isinstance(node.names, cst.ImportStar)
    code = program.code(module)
    names = [program.code(alias.name) for alias in node.names]
    if code == "triton.language.extra.cuda" and names == ["libdevice"]:
        new = b"triton.language.extra"
    elif code == "triton.language.extra.cuda.libdevice":
        new = b"triton.language.extra.libdevice"
    else:
        return
    if not _reached(program, node):
        return
    edit = Edit(program.source.span(module), new)
    yield finding(program, module, "libdevice", f"{_PORTABLE}; assumes Triton 3.0 or later", (edit,))
