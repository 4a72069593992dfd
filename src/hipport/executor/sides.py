# SPDX-License-Identifier: Apache-2.0
"""Select the side of `#ifdef __CUDA_ARCH__` in functions of host and device by where they are called.

A compiler for GPUs compiles a file once for each side; the executor's compiles it once, as the device's. So a call on
the host would execute the device's side. A body with such conditions gets both: `{ … }` becomes
`{ if (SIMT_ON_DEVICE) { … } else { the same without __CUDA_ARCH__ } }`, the latter on the line of the last brace.

Functions of the device alone are not changed. Outside bodies (macros, whole functions) the device's side stays for all,
which is reported if the host has a side of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import NamedTuple

from tree_sitter import Node

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax import preprocessor_values
from hipport.syntax.cpp import Cpp
from hipport.syntax.preprocessor import Conditional

_SIDE = rb"\b(?:__CUDA_ARCH__|__HIP_DEVICE_COMPILE__)\b"
_ASKS = re.compile(_SIDE)
_DEFINED = re.compile(rb"\bdefined\s*(?:\(\s*" + _SIDE + rb"\s*\)|" + _SIDE + rb")")
_BODIES = frozenset(("function_definition", "lambda_expression"))
_JUMPS = re.compile(rb"\bgoto\b")
_DIRECTIVE = re.compile(rb"^[ \t]*#", re.MULTILINE)
_PRAGMA = re.compile(rb"^[ \t]*#[ \t]*pragma\b(?:[^\n\\]|\\.|\\\r?\n)*", re.MULTILINE)
_LITERAL_OR_COMMENT = re.compile(
    rb'(?P<raw>R"(?P<mark>[^\s()\\"]{0,16})\(.*?\)(?P=mark)")|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\''
    rb"|(?P<comment>//(?:[^\\\n]|\\\r?\n|\\.)*|/\*.*?\*/)",
    re.DOTALL,
)
_LINE_END = re.compile(rb"\\?\r?\n")
_DECLARES = re.compile(rb"[;{]|^[ \t]*#[ \t]*define\b", re.MULTILINE)


class _Side(NamedTuple):
    """The macros of one compilation: for the device, with the architecture `arch`, or for the host."""

    arch: Mapping[bytes, int]

    def defined(self, name: bytes) -> bool | None:
        if _ASKS.fullmatch(name):
            return name in self.arch
        return True if name in self.arch else None

    def number(self, name: bytes) -> int | None:
        return self.arch.get(name, 0) if _ASKS.fullmatch(name) else self.arch.get(name)


_NVCC = dict.fromkeys((b"__CUDACC__", b"__NVCC__"), 1)
_HIPCC = dict.fromkeys((b"__HIPCC__", b"__HIP__", b"__HIP_PLATFORM_AMD__"), 1)
#: For each dialect the host, the device as in the executor (compile.py), and the oldest possible device.
_CUDA = tuple(_Side({**_NVCC, **arch}) for arch in ({}, {b"__CUDA_ARCH__": 800}, {b"__CUDA_ARCH__": 1}))
_HIP = tuple(_Side({**_HIPCC, **arch}) for arch in ({}, *2 * ({b"__HIP_DEVICE_COMPILE__": 1},)))


def find_cuda(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each body, or place outside bodies, with a different side for the host, in a CUDA program."""
    yield from _find(source, _CUDA)


def find_hip(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield the same for a HIP program."""
    yield from _find(source, _HIP)


def _find(source: Cpp, sides: Sequence[_Side]) -> Iterator[Finding]:
    if not _ASKS.search(source.code) or source.is_hipport_header:
        return
    host, device, oldest = sides
    bodies: dict[tuple[int, int], list[tuple[Conditional, ...]]] = {}
    for group in source.conditionals:
        whole = Span(group[0].span.start, group[-1].span.end)
        if not any(_ASKS.search(part.condition) for part in group) or not _differ(group, host, device):
            continue
        found = _body(source, whole)
        if found is None:
            if _host_has_code(source, group, host) and _differ(group, host, oldest):
                yield _left(whole, source, group)
        elif not _is_of_device(source, *found):
            bodies.setdefault((found[1].start_byte, found[1].end_byte), []).append(group)
    for key, groups in bodies.items():
        inside = Span(key[0] + 1, key[1] - 1)
        copy = _seen_by(source, inside, groups, host)
        inner = any(other != key and key[0] < other[0] and other[1] < key[1] for other in bodies)
        balanced = all(_is_balanced(each) for each in (copy, _seen_by(source, inside, groups, device)))
        if inner or not balanced or _JUMPS.search(source.code, *key):
            for group in groups:
                yield _left(Span(group[0].span.start, group[-1].span.end), source, group)
            continue
        edits = (
            Edit(Span(inside.start, inside.start), b" if (SIMT_ON_DEVICE) {"),
            Edit(Span(inside.end, inside.end), b"} else {" + _on_one_line(copy) + b"}"),
        )
        yield Finding(Span(*key), "both", "", edits)


def _left(whole: Span, source: Cpp, group: tuple[Conditional, ...]) -> Finding:
    shown = b" ".join(source[group[0].span].split()).decode(errors="replace")
    return Finding(whole, "left", f"{shown}: the host also uses the device's side", certainty=Certainty.MANUAL)


def _taken(group: tuple[Conditional, ...], side: _Side) -> int | None:
    """Return the index of the group's part that a side sees, the number of parts if none; None if unknown."""
    for i, part in enumerate(group[:-1]):
        value = (
            1 if part.word == b"else" else preprocessor_values.value(preprocessor_values.tokens(part.condition), side)
        )
        if value is None:
            return None
        if value:
            return i
    return len(group)


def _differ(group: tuple[Conditional, ...], one: _Side, other: _Side) -> bool:
    first, second = _taken(group, one), _taken(group, other)
    return first is None or second is None or first != second


def _host_has_code(source: Cpp, group: tuple[Conditional, ...], host: _Side) -> bool:
    """Whether the host's side of the group declares or defines anything."""
    taken = _taken(group, host)
    if taken is None or taken == len(group):
        return False
    return _DECLARES.search(source.code, group[taken].span.end, group[taken + 1].span.start) is not None


def _body(source: Cpp, span: Span) -> tuple[Node, Node] | None:
    """Return the innermost function or lambda whose body contains `span`, and the body."""
    node = source.tree.root_node.descendant_for_byte_range(span.start, span.end - 1)
    while node is not None:
        body = node.child_by_field_name("body") if node.type in _BODIES else None
        if body is not None and body.type == "compound_statement" and _holds(body, span):
            return node, body
        node = node.parent
    return None


def _holds(body: Node, span: Span) -> bool:
    return bool(body.start_byte < span.start and span.end < body.end_byte)


def _is_of_device(source: Cpp, function: Node, body: Node) -> bool:
    head = source.code[function.start_byte : body.start_byte]
    return b"__global__" in head or (b"__device__" in head and b"__host__" not in head)


def _seen_by(source: Cpp, span: Span, groups: Sequence[tuple[Conditional, ...]], side: _Side) -> bytes:
    """Return the text of `span` as a side sees it, as far as `groups` decide; unknown conditions stay."""
    pieces: list[bytes] = []
    at = span.start
    for group in sorted(groups, key=lambda group: group[0].span.start):
        start, end = group[0].span.start, group[-1].span.end
        if start < at or end > span.end:
            continue  # inside one that is decided, or outside the span
        pieces.append(source.text[at:start])
        taken = _taken(group, side)
        for i, (part, following) in enumerate(pairwise(group)):
            if taken is None:
                pieces.append(_asked_of_host(part))
            if taken is None or i == taken:
                pieces.append(_seen_by(source, Span(part.span.end, following.span.start), groups, side))
        if taken is None:
            pieces.append(b"#endif")
        at = end
    pieces.append(source.text[at : span.end])
    return b"".join(pieces)


def _asked_of_host(part: Conditional) -> bytes:
    """Return a directive that asks the same without the macros that tell the sides apart."""
    if part.word == b"else":
        return b"#else"
    word = b"#elif" if part.word.startswith(b"el") else b"#if"
    return word + b" " + _ASKS.sub(b"0", _DEFINED.sub(b"0", part.condition)).strip()


def _is_balanced(text: bytes) -> bool:
    code = Cpp(PurePath("part.cu"), text).code
    return code.count(b"{") == code.count(b"}")


def _on_one_line(text: bytes) -> bytes:
    """Return the text of statements without line ends; unchanged if it has directives or strings that need them."""
    text = _PRAGMA.sub(b"", text)
    if _DIRECTIVE.search(Cpp(PurePath("part.cu"), text).code):
        return b"\n" + text + b"\n"
    pieces: list[bytes] = []
    at = 0
    for match in _LITERAL_OR_COMMENT.finditer(text):
        if match["raw"] and b"\n" in match["raw"]:
            return b"\n" + text + b"\n"
        pieces += (_LINE_END.sub(b" ", text[at : match.start()]), b" " if match["comment"] else match[0])
        at = match.end()
    pieces.append(_LINE_END.sub(b" ", text[at:]))
    return b"".join(pieces)


CUDA = Pass(Cpp, find_cuda)
HIP = Pass(Cpp, find_hip)
