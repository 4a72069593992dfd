# SPDX-License-Identifier: Apache-2.0
"""The shapes of the blocks that a kernel is launched with, as far as its launches are seen.

    for block in shapes(kernel, project) or ():  # None: not all launches are seen
    block.x, block.y, block.z                # None: unknown

A number is a row of threads, whatever its value: CUDA converts it to `dim3(number, 1, 1)`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hipport.analysis import build_defaults, constant_values
from hipport.analysis.built_ins import LAUNCHES, LOOKS_AT_KERNELS, SHAPE
from hipport.analysis.functions import Function, function_at
from hipport.core.edits import Span
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import launches

_NUMBER_TYPE = (
    rb"(?:(?:const|constexpr|static|inline|signed|unsigned|long|short)\s+)*"
    rb"(?:int|unsigned|long|short|(?:std\s*::\s*)?(?:size_t|u?int(?:8|16|32|64)_t)|uint)"
)
_LIST = re.compile(rb"(?:" + SHAPE + rb"\s*)?[({](.*)[)}]", re.DOTALL)
_MAY_CHANGE = re.compile(rb"\s*(?:\.\s*[xyz]\s*)?(?:(?:[-+*/%&|^]|<<|>>)?=|\+\+|--)")
_NAME = re.compile(rb"(?:\w+\s*::\s*)*([A-Za-z_]\w*)")
_CALLED = re.compile(rb"(?:\w+\s*::\s*)*([A-Za-z_]\w*)\s*(?:<[^<>()]*>\s*)?\(.*\)", re.DOTALL)
# Structures such as `dim3` do not have these operators.
_ARITHMETIC = re.compile(rb"[\w)\]]\s*(?:[-+*/%]|<<|>>)\s*[\w(]")
_CAST = re.compile(
    rb"(?:static_cast\s*<\s*%(type)s\s*>|%(type)s|\(\s*%(type)s\s*\))\s*[\w(].*" % {b"type": _NUMBER_TYPE}, re.DOTALL
)
_OTHERS = rb"(?:(?:[^;(){}<>]|\([^;(){}<>]*\))*,\s*)?"
_DECLARED = rb"\b(" + SHAPE + rb"|auto|" + _NUMBER_TYPE + rb")\s+(?:const\s+)?&?\s*" + _OTHERS + rb"%s\s*([;({=,)>])"
_MEMBER = re.compile(rb".*(?:\.|->)\s*(?:[xyz]|(?:size|numel|length)\s*\(\s*\))", re.DOTALL)
_TEMPLATE = re.compile(rb"(?:<[^;{}]*>)?")
_LESSER = frozenset((b"min", b"max"))
_STATEMENT_END = (b";", b"{", b"}")


class BlockShape(NamedTuple):
    """The number of threads of a block in each dimension; None if unknown."""

    x: int | None = 1
    y: int | None = 1
    z: int | None = 1


def shapes(kernel: Function, project: Project) -> tuple[BlockShape, ...] | None:
    """Return the shapes of the kernel's blocks; None if a launch, or the shape of its blocks, is not seen.

    Launches are searched in the files that are connected to the kernel's. If the kernel's name stands elsewhere, for
    example as an argument, unknown code may launch it.
    """
    found: dict[BlockShape, None] = {}
    for source in project.component(kernel.source):
        if not isinstance(source, Cpp) or kernel.name not in source.words:
            continue
        for span, _ in source.names(frozenset((kernel.name,))):
            if _only_named(source, span):
                continue
            block = _launched_with(source, span)
            shape = None if block is None else _shape(source, project, source.code[block.start : block.end], span.start)
            if shape is None:
                return None
            found[shape] = None
    return tuple(found) or None


def _only_named(source: Cpp, span: Span) -> bool:
    """Whether the name at `span` is in a declaration of the kernel, or in a query about it."""
    code = source.code
    floor = max(code.rfind(each, 0, span.start) for each in _STATEMENT_END) + 1
    before = code[floor : span.start]
    return b"__global__" in before or LOOKS_AT_KERNELS.search(before) is not None


def _launched_with(source: Cpp, span: Span) -> Span | None:
    """Return the block argument of the launch that names its kernel at `span`."""
    code = source.code
    for launch in launches(source):
        if launch.brackets.start >= span.end:
            between = code[span.end : launch.brackets.start].strip()
            if launch.kernel == source[span] and _TEMPLATE.fullmatch(between) and len(launch.configuration) > 1:
                return launch.configuration[1]
            break
    floor = max(code.rfind(each, 0, span.start) for each in _STATEMENT_END) + 1
    for match in LAUNCHES.finditer(code, floor, span.start):
        given = source.arguments(match.end() - 1) or ()
        if len(given) > 2 and given[0].start <= span.start < given[0].end:
            return given[2]
    return None


def _shape(source: Cpp, project: Project, text: bytes, at: int, depth: int = 4) -> BlockShape | None:
    """Return the block shape that the expression `text` at `at` evaluates to."""
    text = text.strip()
    if not depth or not text:
        return None
    number = build_defaults.value(source, project, text)
    if number is not None:
        return BlockShape(number)
    whole = _LIST.fullmatch(text)
    if whole is not None and _closes(text):
        parts = _at_commas(whole[1])
        if len(parts) == 1:
            return _shape(source, project, parts[0], at, depth - 1) if parts[0] else BlockShape()
        return BlockShape(*(build_defaults.value(source, project, part) for part in parts[:3]))
    name = _NAME.fullmatch(text)
    if name is not None:
        return _of_name(source, project, name[1], at, depth)
    called = _CALLED.fullmatch(text)
    if called is not None and (called[1] in _LESSER or _returns_number(source, project, called[1])):
        return BlockShape(None)
    if b"?" not in text and SHAPE not in text and (_ARITHMETIC.search(_outermost(text)) or _CAST.fullmatch(text)):
        return BlockShape(None)
    return BlockShape(None) if _MEMBER.fullmatch(text) and b"?" not in text else None


def _of_name(source: Cpp, project: Project, name: bytes, at: int, depth: int) -> BlockShape | None:
    """Return the block shape that a variable, parameter or constant has at `at`."""
    function = function_at(source, at)
    if function is not None:
        code = source.code
        start, end = function.node.start_byte, function.body.end_byte
        # Template parameters precede the function.
        outer = function.node.parent
        start = outer.start_byte if outer is not None and outer.type == "template_declaration" else start
        escaped = re.escape(name)
        match = next(reversed(list(re.compile(_DECLARED % escaped).finditer(code, start, at))), None)
        if match is not None:
            if match.start() < function.body.start_byte:
                # A parameter of the function or of its template, whatever its default is.
                return None if match[1] in (SHAPE, b"auto") else BlockShape(None)
            changed = _changed(code, escaped, function.body.start_byte, end)
            return _declared_shape(source, project, match, changed, depth)
    macro = source.directive(at)
    if macro is not None:
        return None  # a parameter of the macro, or a variable at the macro's use
    text = constant_values.definition(source, project, name)
    if text is not None:
        return _shape(source, project, text, at, depth - 1)
    constant = re.compile(rb"\b" + _NUMBER_TYPE + rb"\s+" + re.escape(name) + rb"\s*[=;{]")
    files = (other for other in project.component(source) if isinstance(other, Cpp) and name in other.words)
    return BlockShape(None) if any(constant.search(other.code) for other in files) else None


def _declared_shape(
    source: Cpp, project: Project, match: re.Match[bytes], changed: set[bytes], depth: int
) -> BlockShape | None:
    """Return the block shape of a local variable, of which the members `changed` are assigned later."""
    kind, sign = match[1], match[2]
    first = match.start(2)
    value = source.code[first : source.code.find(b";", first)]
    if sign == b"=":
        value = _at_commas(value[1:])[0]
    elif sign in (b"(", b"{"):
        closing = source.closing(first)
        value = source.code[first : closing + 1] if closing is not None else b""
    else:
        value = b""
    block = _shape(source, project, value, match.start(), depth - 1) if value else BlockShape()
    if kind not in (SHAPE, b"auto"):
        return BlockShape(block.x if value and block is not None and not changed else None)
    if block is None or b"" in changed or (kind == b"auto" and not value):
        return None
    return BlockShape(
        *(None if each in changed else size for each, size in zip((b"x", b"y", b"z"), block, strict=True))
    )


def _before(code: bytes, start: int, at: int) -> bytes:
    """The last sign before a place, if it is near; else an empty text."""
    return code[max(at - 8, start) : at].rstrip()[-1:]


def _changed(code: bytes, name: bytes, start: int, end: int) -> set[bytes]:
    """Return the members of a variable that are or may be assigned after its declaration, and b"" for all of it."""
    found: set[bytes] = set()
    # A pattern that begins with the name is found many times as fast as one that begins before it.
    if not any(
        _MAY_CHANGE.match(code, each.end()) or _before(code, start, each.start()) in b"&+-"
        for each in re.compile(name).finditer(code, start, end)
    ):
        return found
    for match in re.finditer(
        rb"(?:^|[;{}():]|\b(?:else|do)\b)\s*" + name + rb"\s*(?:\.\s*([xyz])\s*)?(?:[-+*/%&|^]|<<|>>)?=(?!=)"
        rb"|[(,=]\s*&\s*" + name + rb"\b|(?:\+\+|--)\s*" + name + rb"\b|\b" + name + rb"\s*(?:\+\+|--)",
        code[start:end],
    ):
        found.add(match[1] or b"")
    return found


def _returns_number(source: Cpp, project: Project, name: bytes) -> bool:
    declared = re.compile(rb"\b" + _NUMBER_TYPE + rb"\s+" + re.escape(name) + rb"\s*\(")
    files = (other for other in project.component(source) if isinstance(other, Cpp) and name in other.words)
    return any(declared.search(other.code) for other in files)


def _outermost(text: bytes) -> bytes:
    """The text with the contents of its brackets blanked."""
    kept, depth = bytearray(), 0
    for each in text:
        depth -= each in b")]}"
        if not depth:
            kept.append(each)
        depth += each in b"([{"
    return bytes(kept)


def _at_commas(text: bytes) -> list[bytes]:
    """Split at the commas outside brackets."""
    parts, depth, begin = [], 0, 0
    for i, each in enumerate(text):
        depth += (each in b"([{") - (each in b")]}")
        if each == ord(",") and not depth:
            parts.append(text[begin:i].strip())
            begin = i + 1
    return [*parts, text[begin:].strip()]


def _closes(text: bytes) -> bool:
    """Whether the last bracket of a text is the partner of the first."""
    depth = 0
    for i, each in enumerate(text):
        depth += (each in b"([{") - (each in b")]}")
        if not depth and each in b")]}":
            return i == len(text) - 1
    return False
