# SPDX-License-Identifier: Apache-2.0
"""Express attention of xformers and flash-attn by PyTorch's own where those packages are not installed.

The import stays, and so do all calls: only where the import fails on ROCm, functions of the same names replace it. In a
function, torch is not imported for that, because the name would become local to the function. The replacements cover
calls that `scaled_dot_product_attention` can express exactly, except for rounding; a file that uses other parts of
these packages is left to a person.

Read in flash-attn 2.8 and xformers 0.0.33: tensors are [batch, sequence, heads, features], where PyTorch's are [batch,
heads, sequence, features]; flash-attn's causal mask is aligned to the last key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import libcst as cst

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport_passes.python.runtime.python_program import PythonProgram


class _Function(NamedTuple):
    """A function that can be expressed: its parameters in order, and the helpers that its text needs."""

    parameters: tuple[str, ...]
    text: str
    needs: tuple[str, ...] = ()


_COMMON = ("dropout_p", "softmax_scale", "causal")
_DENSE = """\
def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, deterministic=False):
    groups = q.shape[2] // k.shape[2]
    k, v = k.repeat_interleave(groups, 2), v.repeat_interleave(groups, 2)
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    mask = None
    if causal and q.shape[2] != k.shape[2]:
        mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device)
        mask = mask.tril(k.shape[2] - q.shape[2])
    causal = causal and mask is None
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, dropout_p, causal, scale=softmax_scale)
    return out.transpose(1, 2).contiguous()
"""
_PARTS = """\
def flash_attn_varlen_func(
    q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
    dropout_p=0.0, softmax_scale=None, causal=False, deterministic=False,
):
    queries, keys = cu_seqlens_q.diff().tolist(), cu_seqlens_k.diff().tolist()
    parts = zip(q.split(queries), k.split(keys), v.split(keys))
    return torch.cat(
        [flash_attn_func(a[None], b[None], c[None], dropout_p, softmax_scale, causal)[0] for a, b, c in parts]
    )
"""
_MEMORY_EFFICIENT = """\
def memory_efficient_attention(query, key, value, attn_bias=None, p=0.0, scale=None, *, op=None):
    if query.dim() == 3:
        return torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_bias, p, scale=scale)
    if query.dim() != 4:
        raise NotImplementedError("attention with groups of heads")
    query, key, value = query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
    out = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_bias, p, scale=scale)
    return out.transpose(1, 2).contiguous()
"""
_FLASH: Mapping[str, _Function] = {
    "flash_attn_func": _Function(("q", "k", "v", *_COMMON, "deterministic"), _DENSE),
    "flash_attn_kvpacked_func": _Function(
        ("q", "kv", *_COMMON, "deterministic"),
        "def flash_attn_kvpacked_func(q, kv, *arguments, **options):\n"
        "    return flash_attn_func(q, *kv.unbind(2), *arguments, **options)\n",
        ("flash_attn_func",),
    ),
    "flash_attn_qkvpacked_func": _Function(
        ("qkv", *_COMMON, "deterministic"),
        "def flash_attn_qkvpacked_func(qkv, *arguments, **options):\n"
        "    return flash_attn_func(*qkv.unbind(2), *arguments, **options)\n",
        ("flash_attn_func",),
    ),
    "flash_attn_varlen_func": _Function(
        ("q", "k", "v", "cu_seqlens_q", "cu_seqlens_k", "max_seqlen_q", "max_seqlen_k", *_COMMON, "deterministic"),
        _PARTS,
        ("flash_attn_func",),
    ),
    "flash_attn_varlen_kvpacked_func": _Function(
        ("q", "kv", "cu_seqlens_q", "cu_seqlens_k", "max_seqlen_q", "max_seqlen_k", *_COMMON, "deterministic"),
        "def flash_attn_varlen_kvpacked_func(q, kv, *arguments, **options):\n"
        "    return flash_attn_varlen_func(q, *kv.unbind(1), *arguments, **options)\n",
        ("flash_attn_func", "flash_attn_varlen_func"),
    ),
    "flash_attn_varlen_qkvpacked_func": _Function(
        ("qkv", "cu_seqlens", "max_seqlen", *_COMMON, "deterministic"),
        "def flash_attn_varlen_qkvpacked_func(qkv, cu_seqlens, max_seqlen, *arguments, **options):\n"
        "    seqlens = cu_seqlens, cu_seqlens, max_seqlen, max_seqlen\n"
        "    return flash_attn_varlen_func(*qkv.unbind(1), *seqlens, *arguments, **options)\n",
        ("flash_attn_func", "flash_attn_varlen_func"),
    ),
}
_XFORMERS: Mapping[str, _Function] = {
    "memory_efficient_attention": _Function(
        ("query", "key", "value", "attn_bias", "p", "scale", "op"), _MEMORY_EFFICIENT
    )
}
_FUNCTIONS = {"flash_attn": _FLASH, "xformers": _XFORMERS}
#: Masks of xformers that are not tensors.
_WORDS = Words.read(Path(__file__).parents[1] / "python_gates.toml")
_BIASES = _WORDS.compile(rb"(?&biases)|\b(?&bias_module)\b")
#: The replacements of the functions, by the path of the import.
_PATHS = ("flash_attn", "flash_attn.flash_attn_interface", "xformers.ops")


class _Use(NamedTuple):
    """A name that the import binds, its path, and the functions that are called through it."""

    name: str
    path: str
    functions: tuple[str, ...]


def expressed(program: PythonProgram, node: cst.CSTNode, module: str) -> Finding | None:
    """Return the finding that gives an import of `module` a fallback, if all its uses can be expressed."""
    functions = _FUNCTIONS.get(module)
    line = program.statement(node)
    if functions is None or line is None or (module == "xformers" and _BIASES.search(program.source.text)):
        return None
    lines = _imports(program, line, module)
    uses = _uses(program, lines, functions, module) if lines else None
    function = program.function(line)
    if not uses or not _free(program, uses, functions, function):
        return None
    taken = function is not None and _takes_names(program, function, uses)
    torch = function is None or not _is_global(program, "torch")
    if taken or (torch and function is not None and _within(program, function, "torch")):
        return None
    unit, newline = program.module.default_indent, program.source.newline
    starts = [program.source.span(each.body[0]).start for each in lines]
    end = program.source.line_end_behind(program.source.span(lines[-1].body[-1]).end)
    # A blank line, if there is none between a block and other imports.
    gap = "\n" if re.search(rb"\S[ \t]*\r?\n\Z", program.source.text[: starts[0]]) else ""
    indent = program.source.text[program.source.line_start(starts[0]) : starts[0]].decode(errors="replace")
    before = f"{gap}try:\n{indent}{unit}"
    fallback = _fallback(uses, functions, unit, torch)
    after = "".join(f"\n{each and indent + each}" for each in ("except ImportError:", *fallback))
    edits = (
        Edit(Span(starts[0], starts[0]), before.encode().replace(b"\n", newline)),
        *(Edit(Span(start, start), unit.encode()) for start in starts[1:]),
        Edit(Span(end, end), after.encode().replace(b"\n", newline)),
    )
    slow = " (a sequence at a time)" if any("varlen" in name for use in uses for name in use.functions) else ""
    message = (
        f"{module} needs a build for ROCm; where there is none, PyTorch's scaled_dot_product_attention{slow}: assumes "
        "PyTorch 2.1, and no query without a key"
    )
    return Finding(program.source.span(node), "attention", message, edits, Certainty.REVIEW)


def _imports(program: PythonProgram, line: cst.SimpleStatementLine, module: str) -> list[cst.SimpleStatementLine]:
    """Return the lines of the function, or of the module, that import the package, if they are all adjacent."""
    found = [
        statement
        for node in program.nodes
        if isinstance(node, (cst.Import, cst.ImportFrom))
        and re.match(rb"(?:import|from)[\s\\]+" + module.encode() + rb"\b", program.source[program.source.span(node)])
        and (statement := program.statement(node)) is not None
        and program.function(statement) is program.function(line)
    ]
    block = program.parent[line]
    if any(len(each.body) != 1 or program.parent[each] is not block for each in found):
        return []
    if not isinstance(block, cst.Module if program.function(line) is None else cst.IndentedBlock):
        return []
    assert isinstance(block, (cst.Module, cst.IndentedBlock))
    body: list[cst.CSTNode] = list(block.body)
    first = body.index(found[0])
    if body[first : first + len(found)] != found or any(each.leading_lines for each in found[1:]):
        return []
    return found


def _is_global(program: PythonProgram, name: str) -> bool:
    """Return whether the file imports the module of that name at its top, and binds the name nowhere else."""
    places = [
        alias
        for node in program.nodes
        if isinstance(node, cst.Import)
        for alias in node.names
        if alias.asname is None and program.code(alias.name).partition(".")[0] == name
    ]
    return bool(places) and all(program.function(alias) is None for alias in places)


def _within(program: PythonProgram, function: cst.FunctionDef, name: str) -> bool:
    """Return whether a name is used anywhere in a function."""
    return any(any(outer is function for outer, _ in program.ancestors(place)) for place in program.named(name))


def _takes_names(program: PythonProgram, function: cst.FunctionDef, uses: list[_Use]) -> bool:
    """Return whether the inserted code binds a name that has another meaning in the function."""
    spaces = any(use.path in _PATHS or use.path == "xformers" for use in uses)
    return spaces and _within(program, function, "SimpleNamespace")


def _uses(
    program: PythonProgram, lines: list[cst.SimpleStatementLine], functions: Mapping[str, _Function], module: str
) -> list[_Use] | None:
    """Return the names that the imports bind, with their calls; None if these cannot be expressed."""
    bound = _bound(program, lines)
    if bound is None:
        return None
    scope = program.function(lines[0])
    # Functions with an import of their own.
    apart = {
        inner
        for node in program.nodes
        if isinstance(node, (cst.Import, cst.ImportFrom))
        and re.match(rb"(?:import|from)[\s\\]+" + module.encode() + rb"\b", program.source[program.source.span(node)])
        and (inner := program.function(node)) is not None
        and inner is not scope
    }
    uses = []
    for name, path in bound.items():
        called: set[str] = set()
        for place in _places(program, name, scope, apart):
            function = _called(program, place, path, functions)
            if function is None:
                return None
            called.add(function)
        if called:
            uses.append(_Use(name, path, tuple(sorted(called))))
        elif path not in _PATHS and path != module:
            return None  # Another part of the package, perhaps only imported for others.
    return uses or None


def _bound(program: PythonProgram, lines: list[cst.SimpleStatementLine]) -> dict[str, str] | None:
    """Return the names that imports bind, with their paths; None if that is unknown."""
    bound: dict[str, str] = {}
    for line in lines:
        match line.body[0]:
            case cst.Import(names=names):
                for alias in names:
                    path = program.code(alias.name)
                    if alias.asname is not None:
                        bound[program.code(alias.asname.name)] = path
                    else:
                        bound[path.partition(".")[0]] = path.partition(".")[0]
            case cst.ImportFrom(module=cst.BaseExpression() as of, names=names) if not isinstance(
                names, cst.ImportStar
            ):
                for alias in names:
                    known = alias.asname.name if alias.asname is not None else alias.name
                    bound[program.code(known)] = f"{program.code(of)}.{program.code(alias.name)}"
            case _:
                return None
    return bound


def _places(
    program: PythonProgram, name: str, scope: cst.FunctionDef | None, apart: set[cst.FunctionDef]
) -> Iterator[cst.Name]:
    """Yield the uses of a name in `scope`, without functions that bind it themselves."""
    for place in program.named(name):
        outside = [outer for outer, _ in program.ancestors(place)]
        if any(isinstance(outer, (cst.Import, cst.ImportFrom)) or outer in apart for outer in outside):
            continue
        if scope is not None and scope not in outside:
            continue  # Another function's.
        above = program.parent[place]
        if isinstance(above, cst.Attribute) and above.attr is place:
            continue  # A name of something else.
        if isinstance(above, cst.Arg) and above.keyword is place:
            continue
        yield place


def _called(program: PythonProgram, place: cst.Name, path: str, functions: Mapping[str, _Function]) -> str | None:
    """Return the function of the package that a name for `path` calls; None if it is no such call."""
    whole: cst.CSTNode = place
    while isinstance(parent := program.parent[whole], cst.Attribute) and parent.value is whole:
        whole, path = parent, f"{path}.{parent.attr.value}"
    owner, _, function = path.rpartition(".")
    call = program.parent[whole]
    if owner not in _PATHS or function not in functions or not isinstance(call, cst.Call) or call.func is not whole:
        return None
    return function if _takes(call, functions[function].parameters) else None


def _free(
    program: PythonProgram, uses: list[_Use], functions: Mapping[str, _Function], function: cst.FunctionDef | None
) -> bool:
    """Return whether the names defined instead of the package have no other meaning in the file, or the function."""
    ours = {use.name for use in uses}
    return not any(
        name not in ours and not (isinstance(above := program.parent[place], cst.Attribute) and above.attr is place)
        for name in functions
        for place in program.named(name)
        if not any(isinstance(outer, (cst.Import, cst.ImportFrom)) for outer, _ in program.ancestors(place))
        and (function is None or any(outer is function for outer, _ in program.ancestors(place)))
    )


def _takes(call: cst.Call, parameters: tuple[str, ...]) -> bool:
    """Return whether the replacement has parameters for all arguments."""
    if any(argument.star for argument in call.args):
        return False
    positional = sum(argument.keyword is None for argument in call.args)
    named = {argument.keyword.value for argument in call.args if argument.keyword is not None}
    return positional <= len(parameters) - 1 and named <= set(parameters)


def _fallback(uses: list[_Use], functions: Mapping[str, _Function], unit: str, torch: bool) -> list[str]:
    """Return the lines that replace the package, for a block of their own, which imports `torch`."""
    called = {name for use in uses for name in use.functions}
    wanted = called | {need for name in called for need in functions[name].needs}
    lines = [*(("import torch", "") if torch else ()), "if torch.version.hip is None:", "    raise"]
    spaces = [use for use in uses if use.path in _PATHS or use.path == "xformers"]
    if spaces:
        lines.insert(0, "from types import SimpleNamespace")
        lines.insert(1, "")
    for name, function in functions.items():
        if name in wanted:
            lines += ["", *function.text.splitlines()]
    lines.append("")
    for use in uses:
        if use in spaces:
            members = [f"{name}={name}" for name in use.functions]
            if use.path == "xformers":
                members = [f"ops=SimpleNamespace({', '.join(members)})"]
            if len(members) > 1:
                lines += [f"{use.name} = SimpleNamespace(", *(f"    {member}," for member in members), ")"]
            else:
                lines.append(f"{use.name} = SimpleNamespace({members[0]})")
        elif use.name != use.functions[0]:
            lines.append(f"{use.name} = {use.functions[0]}")
    while not lines[-1]:
        lines.pop()
    return [line and unit + line.replace("    ", unit) for line in lines]
