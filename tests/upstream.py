# SPDX-License-Identifier: Apache-2.0
"""Upstream's possible changes of a file that was ported: code added everywhere, and changed lines.

    upstream(source, ours)  # upstream's new text of `source`; `ours` is its port

All changes are made together, in lines that the port has left alone, near those that it has changed. Some are in
changed lines, and conflict; a person takes upstream's.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

from hipport.core.source import Source
from hipport.syntax.cmake_script import CMake
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport.syntax.make import Makefile
from hipport.syntax.packaging import Requirements
from hipport.syntax.python_script import Python
from hipport.syntax.shell import Dockerfile

# Code that is added to files, in turn; `@` becomes a number. Between declarations of CUDA:
_DEVICE = (
    b"__global__ void upstream_@(int *out, const int *in) {\n"
    b"    int v = in[threadIdx.x];\n"
    b"    v += __shfl_xor_sync(0xffffffffu, v, 1);\n"
    b"    if (threadIdx.x % warpSize == 0) atomicAdd(out, v);\n"
    b"}\n"
    b"void upstream_call_@(int *p) {\n"
    b"    cudaMemset(p, 0, 4);\n"
    b"    upstream_@<<<1, 32>>>(p, p);\n"
    b"    cudaDeviceSynchronize();\n"
    b"}\n",
    b"#ifdef __CUDACC__\n"
    b"__device__ inline int upstream_@(int v) { return __shfl_down_sync(0xffffffffu, v, 1); }\n"
    b"#else\n"
    b"inline int upstream_@(int v) { return v; }\n"
    b"#endif\n",
    b"__device__ inline unsigned upstream_@() {\n    unsigned lane;\n"
    b'    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));\n'
    b"    return lane;\n}\n",
    b"#include <cuda_fp16.h>\n",
    b"__device__ inline float upstream_@(float x) {\n#if __CUDA_ARCH__ >= 700\n    return __ldg(&x);\n#else\n"
    b"    return x;\n"
    b"#endif\n}\n",
    b"inline void upstream_@(void *p) { (void)cudaFree(p); }\n",
    b"__device__ inline int upstream_@(bool x) {\n"
    b"    return __popc(__ballot_sync(0xffffffffu, x) << (threadIdx.x % 32));\n}\n",
    b"#include <cub/cub.cuh>\n",
)
_HOST = (
    b"static inline int upstream_@(void *p) { return cudaMemset(p, 0, 4) != cudaSuccess; }\n",
    b"#include <cuda_runtime.h>\n",
    b"#ifdef __CUDACC__\nstatic inline int upstream_@(void *p) { return cudaFree(p) != cudaSuccess; }\n#endif\n",
)
# Between statements.
_IN_BODY = (
    b"(void)__shfl_sync(0xffffffffu, 1, 0);\n",
    b"(void)cudaGetLastError();\n",
    b'asm volatile("membar.gl;" ::: "memory");\n',
    b"(void)__activemask();\n",
)
_IN_HOST_BODY = (b"(void)cudaGetLastError();\n",)
_PYTHON = (
    b'upstream_@ = ["-O3", "--use_fast_math", "-gencode=arch=compute_80,code=sm_80"]\n',
    b'import subprocess\nsubprocess.check_output(["nvidia-smi"])\n',
)
# After the import of the module of that name.
_OF_TORCH = (
    b"assert torch.version.cuda is not None\n",
    b"upstream_@ = torch.cuda.get_device_capability()[0] >= 9\n",
    b'if torch.version.cuda >= "11.8":\n    upstream_@ = 1\n',
    b'upstream_@ = torch.zeros(1, device="cuda").cuda()\n',
)
_CMAKE = (
    b"find_package(CUDAToolkit REQUIRED)\n",
    b"enable_language(CUDA)\n",
    b'set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} --use_fast_math -lineinfo")\n',
    b"add_executable(upstream_@ upstream_@.cu)\ntarget_link_libraries(upstream_@ CUDA::cublas)\n",
    b"if(CMAKE_CUDA_COMPILER)\n"
    b"  target_compile_options(upstream PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-v>)\nendif()\n",
)
_MAKE = (
    b"upstream_@: upstream_@.cu\n\tnvcc -O3 -arch=sm_80 -o $@ $<\n",
    b"UPSTREAM_@ = $(NVCC) --use_fast_math -Xcompiler -fPIC\n",
    b"UPSTREAM_LIBS_@ = -lcudart -lcublas\n",
)
_REQUIREMENTS = (b"torch==2.1.0+cu118\n", b"cupy-cuda12x\n", b"xformers==0.0.27\n", b"numpy\n")
_DOCKER = (
    b"RUN pip install torch==2.1.0+cu118 --index-url https://download.pytorch.org/whl/cu118\n",
    b"ENV TORCH_CUDA_ARCH_LIST=8.0\n",
    b"RUN pip install cupy-cuda12x\n",
)
_ITEMS = (b"cupy-cuda12x", b"nvidia-cublas-cu12", b"xformers")
_ITEM = re.compile(rb"([ \t]*- )[\w.-]+(?:[=<>~]+[\w.+-]+)?\s*$")
_QUOTED_ITEM = re.compile(rb"([ \t]+)\"[\w.-]+(?:[=<>~]+[\w.+-]+)?\",\s*$")


class Place(NamedTuple):
    """A place for an addition: before a line, with its indentation; and the kind of code."""

    line: int
    indent: bytes
    pieces: tuple[bytes, ...]


def upstream(source: Source, ours: bytes, most: int = 8) -> bytes:
    """Return the text of `source` with upstream's additions and changes."""
    lines = source.text.splitlines(keepends=True)
    if lines and not lines[-1].endswith((b"\n", b"\r")):
        lines[-1] += b"\n"
    changed = hunks(source.text, ours)
    places = {place.line: place for place in _places(source, len(lines))}
    apart = sorted(line for line in places if not any(start <= line <= end for start, end in changed))
    chosen: list[int] = []
    for number, (start, end) in enumerate(changed):
        if number % 3 == 2 and isinstance(source, Cpp):
            chosen += [line for line in sorted(places) if start <= line <= end][:1]
        chosen += [line for line in apart if line < start][-1:] + [line for line in apart if line > end][:1]
    chosen = list(dict.fromkeys(chosen + apart[:1] + apart[-1:]))[:most]
    added: dict[int, bytes] = {}
    for number, line in enumerate(chosen):
        place = places[line]
        # A file with one place has not always the same addition as the next file.
        piece = place.pieces[(number + len(lines) + line) % len(place.pieces)].replace(b"@", b"%d" % number)
        added[line] = b"".join(place.indent + each for each in piece.splitlines(keepends=True))
    # Upstream also changes a line that the port has changed: if that is the only one, nothing would be merged.
    said = [each for each in changed if isinstance(source, Cpp) or each[1] - each[0] == 1] if len(changed) > 1 else []
    for start, end in said[::3]:
        for line in range(start, end):
            if _REMARKS.get(type(source)) and _takes_remark(source, lines[line]):
                lines[line] = re.sub(rb"(\r?\n?)$", _REMARKS[type(source)] + rb"\1", lines[line], count=1)
                break
    text = b"".join(added.get(number, b"") + line for number, line in enumerate([*lines, b""]))
    newline = b"\r\n" if b"\r\n" in source.text else b"\n"
    return re.sub(rb"\r?\n", newline, text) if newline != b"\n" else text


_REMARKS: dict[type[Source], bytes] = {Cuda: b" // upstream", CMake: b"  # upstream"}


def _takes_remark(source: Source, line: bytes) -> bool:
    return not re.search(rb"[\\\"']\s*$|/\*|\*/|[\"'\[]", line) and bool(line.strip())


def hunks(base: bytes, ours: bytes) -> list[tuple[int, int]]:
    """Return the changed lines of `base`: from the first one to the one after the last."""
    matcher = SequenceMatcher(None, base.splitlines(), ours.splitlines(), autojunk=False)
    return [(start, end) for kind, start, end, _, _ in matcher.get_opcodes() if kind != "equal"]


def merged(folder: Path, source: Source, ours: bytes, theirs: bytes) -> bytes:
    """Return Git's merge of two changes of `source`; in conflicts, a person takes theirs.

    In C++ that is the whole declaration, because half of the port of one would not compile.
    """
    base = source.text
    if isinstance(source, Cpp):
        ours = _without(source, ours, theirs)
    for name, text in (("ours", ours), ("base", base), ("theirs", theirs)):
        (folder / name).write_bytes(text)
    command = ["git", "merge-file", "--theirs", "-p", "ours", "base", "theirs"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return done.stdout


def _without(source: Cpp, ours: bytes, theirs: bytes) -> bytes:
    """Return `ours` without its changes of declarations that conflict with `theirs`."""
    other = hunks(source.text, theirs)
    conflicts = [
        (start, end)
        for start, end in hunks(source.text, ours)
        if any(start <= last and first <= end for first, last in other)
    ]
    taken = []
    for start, end in conflicts:
        nodes = [
            (node.start_point[0], node.end_point[0] + 1)
            for node in _declarations(source)
            if node.start_point[0] <= end and start <= node.end_point[0] + 1
        ]
        taken += [(start, end), *nodes]
    lines, new = source.text.splitlines(keepends=True), ours.splitlines(keepends=True)
    matcher = SequenceMatcher(None, source.text.splitlines(), ours.splitlines(), autojunk=False)
    kept = [
        lines[i:j] if kind != "equal" and any(i <= last and first <= j for first, last in taken) else new[k:n]
        for kind, i, j, k, n in matcher.get_opcodes()
    ]
    return b"".join(line for part in kept for line in part)


def _declarations(source: Cpp) -> Iterator[Any]:
    waiting = [source.tree.root_node]
    while waiting:
        for child in waiting.pop().named_children:
            if child.type.startswith("preproc_if") or child.type in (
                "namespace_definition",
                "declaration_list",
                "preproc_else",
                "preproc_elif",
            ):
                waiting.append(child)
            elif not child.type.startswith("preproc_") and child.type != "comment":
                yield child


def _places(source: Source, end: int) -> Iterator[Place]:
    if isinstance(source, Cpp):
        yield from _in_cpp(source, end)
    elif isinstance(source, Python):
        yield from _in_python(source, end)
    elif isinstance(source, CMake):
        yield Place(end, b"", _CMAKE)
        for command in source.commands:
            line, _ = source.position(command.span.start)
            start = source.text.rfind(b"\n", 0, command.span.start) + 1
            indent = source.text[start : command.span.start]
            if not indent.strip():
                yield Place(line - 1, indent, _CMAKE)
    elif isinstance(source, Makefile):
        yield Place(end, b"", _MAKE)
        yield Place(0, b"", _MAKE[1:])
    elif isinstance(source, Requirements):
        for number, text in enumerate(source.text.splitlines()):
            if re.match(rb"[A-Za-z]", text):
                yield Place(number, b"", _REQUIREMENTS)
        yield Place(end, b"", _REQUIREMENTS)
    elif isinstance(source, Dockerfile):
        for instruction in source.instructions:
            line, _ = source.position(instruction.span.start)
            if line > 1 and not source.text[: instruction.span.start].rstrip().endswith(b"\\"):
                yield Place(line - 1, b"", _DOCKER)
        yield Place(end, b"", _DOCKER)
    else:
        for number, text in enumerate(source.text.splitlines()):
            if item := _ITEM.match(text):
                yield Place(number, item[1], tuple(each + b"\n" for each in _ITEMS))
            elif item := _QUOTED_ITEM.match(text):
                yield Place(number, item[1], tuple(b'"' + each + b'",\n' for each in _ITEMS))


def _in_cpp(source: Cpp, end: int) -> Iterator[Place]:
    pieces = _DEVICE if isinstance(source, Cuda) else _HOST
    in_body = _IN_BODY if isinstance(source, Cuda) else _IN_HOST_BODY
    yield Place(end, b"", pieces)
    waiting = [source.tree.root_node]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        if node.type == "translation_unit" or node.type.startswith("preproc_") or node.type == "declaration_list":
            of: tuple[bytes, ...] = pieces
            if node.parent is not None and node.parent.type in ("compound_statement", "function_definition"):
                continue
        elif node.type == "compound_statement":
            of = in_body
        else:
            continue
        for child in node.named_children:
            start = child.start_byte
            indent = source.text[source.line_start(start) : start]
            if indent.strip() or child.type in ("comment", "ERROR", "case_statement", "identifier", "preproc_defined"):
                continue
            if child.type in ("preproc_else", "preproc_elif", "preproc_arg", "binary_expression"):
                continue
            inside = source.directive(start)
            if inside is not None and inside.start != start:
                continue
            yield Place(child.start_point[0], indent, of)


def _in_python(source: Python, end: int) -> Iterator[Place]:
    try:
        module = ast.parse(source.text)
    except (SyntaxError, ValueError):
        return
    lines = source.text.splitlines()
    imported = [number for number, line in enumerate(lines) if re.match(rb"import torch\b", line)]
    yield Place(end, b"", _PYTHON + (_OF_TORCH if imported else ()))
    for node in ast.walk(module):
        for body in (getattr(node, name, None) for name in ("body", "orelse")):
            for statement in body if isinstance(body, list) else ():
                if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
                    continue
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    continue
                number = (
                    min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))]) - 1
                )
                line = lines[number]
                indent = line[: len(line) - len(line.lstrip())]
                if len(indent) == statement.col_offset and not line.lstrip().startswith(b"elif") and number:
                    after = any(number > each for each in imported)
                    yield Place(number, indent, _PYTHON + (_OF_TORCH if after else ()))
