# SPDX-License-Identifier: Apache-2.0
"""Triton: what its compiler for AMD's GPUs does not take."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from hipport.finding import Finding
from hipport.source import Edit
from hipport_passes.runtime.program import Program, finding

_PORTABLE = "functions of NVIDIA's libdevice; triton.language.extra.libdevice has those of the GPU that is there"
_OPTIONS = {
    "maxnreg": "limits registers for NVIDIA's assembler; refused for AMD's GPUs, where waves_per_eu is nearest",
    "num_consumer_groups": "is for Hopper and later; Triton refuses the option for AMD's GPUs",
    "num_buffers_warp_spec": "is for Hopper and later; Triton refuses the option for AMD's GPUs",
    "reg_dec_producer": "is for Hopper and later; Triton refuses the option for AMD's GPUs",
    "reg_inc_consumer": "is for Hopper and later; Triton refuses the option for AMD's GPUs",
}


def kernels(program: Program) -> Iterator[Finding]:
    """Yield the options, functions and paths in Triton code that are for NVIDIA's GPUs."""
    for node in program.nodes:
        match node:
            case cst.Call() if re.search(r"(?:^|\.)inline_asm_elementwise$", program.code(node.func)):
                if program.runs(node).both:
                    yield finding(
                        program,
                        node.func,
                        "inline_asm",
                        "PTX in Triton; write it in Triton's language, or for AMD's GPUs beside it",
                    )
            case cst.Arg(keyword=cst.Name(option), value=value) if option in _OPTIONS or option in (
                "num_warps",
                "num_ctas",
            ):
                yield from _option(program, node, option, value)
            case cst.ImportFrom(module=cst.Attribute() as module) if not isinstance(node.names, cst.ImportStar):
                yield from _path(program, node, module)
            case cst.Attribute(attr=cst.Name("libdevice"), value=cst.Attribute(attr=cst.Name("cuda"))):
                if re.search(r"extra\.cuda$", program.code(node.value)) and _reached(program, node):
                    yield from _libdevice(program, node)
            case cst.Attribute(attr=cst.Name(name), value=cst.Attribute(attr=cst.Name("cuda"))) if (
                name != "libdevice" and not name.startswith("gdc_")
            ):
                if re.search(r"extra\.cuda$", program.code(node.value)) and _reached(program, node):
                    message = "triton.language.extra.cuda is for NVIDIA's GPUs; triton.language.extra.hip is AMD's"
                    yield finding(program, node, "libdevice", message)
            case cst.Attribute(attr=cst.Name("gdc_wait" | "gdc_launch_dependents")):
                if _reached(program, node):
                    yield finding(program, node, "inline_asm", "dependent launches are Hopper's; AMD's GPUs have none")


def _reached(program: Program, node: cst.CSTNode) -> bool:
    if not program.runs(node).both or program.copes(node, "ImportError|ModuleNotFoundError|AttributeError"):
        return False
    # What is imported where another path was tried in vain is right where it is.
    return not any(isinstance(above, cst.ExceptHandler) for above, _ in program.ancestors(node))


def _option(program: Program, node: cst.Arg, option: str, value: cst.BaseExpression) -> Iterator[Finding]:
    call = program.parent[node]
    if not isinstance(call, cst.Call) or not program.runs(node).both:
        return
    is_kernel = isinstance(call.func, cst.Subscript) or re.search(r"(?:^|\.)Config$", program.code(call.func))
    if not is_kernel or program.code(value) == "None":
        return
    if option in _OPTIONS:
        yield finding(program, value, "triton_option", f"{option} {_OPTIONS[option]}")
    elif isinstance(value, cst.Integer):
        count = int(value.value.replace("_", ""), 0)
        if option == "num_warps" and count > 16:
            message = (
                f"{count} warps are {count * 64} threads on a GPU with wavefronts of 64, where a block has 1024 at most"
            )
            yield finding(program, value, "triton_option", message)
        elif option == "num_ctas" and count > 1:
            yield finding(
                program, value, "triton_option", "clusters of blocks are Hopper's; on AMD's GPUs num_ctas is 1"
            )


def _libdevice(program: Program, node: cst.Attribute) -> Iterator[Finding]:
    """`tl.extra.cuda.libdevice.round`, `import triton.language.extra.cuda.libdevice as libdevice`."""
    above = program.parent[node]
    if isinstance(above, cst.ImportFrom):
        return  # `_path` looks at those
    if isinstance(above, cst.ImportAlias) and above.asname is not None:
        edit = Edit(program.source.span(node), b"triton.language.extra.libdevice")
        yield finding(program, node, "libdevice", f"{_PORTABLE}; assumes Triton 3.0 or later", (edit,))
    else:
        yield finding(program, node, "libdevice", f"{_PORTABLE}, by `from triton.language.extra import libdevice`")


def _path(program: Program, node: cst.ImportFrom, module: cst.Attribute) -> Iterator[Finding]:
    """`from triton.language.extra.cuda import libdevice`, `from triton.language.extra.cuda.libdevice import rsqrt`."""
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
