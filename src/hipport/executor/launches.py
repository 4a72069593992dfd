# SPDX-License-Identifier: Apache-2.0
"""Turn launches by brackets into C++: `k<<<g, b>>>(x)` → `SIMT_LAUNCH("k", (g, b), k)(x)`.

The configuration precedes the kernel, so that the kernel, which may have commas outside parentheses, is the macro's
last argument. The text after the brackets is not changed. Lines stay where they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, template_arguments
from hipport.syntax.cuda import launch_closing, launch_openings

_GAP = rb"(?:[ \t\r\n]|\\\r?\n)*"
_BLANK_END = re.compile(_GAP + rb"\Z")
_WORD_END = re.compile(rb"[\w#]+\Z")
_PASTE_END = re.compile(rb"##" + _GAP + rb"\Z")
_QUALIFIER_END = re.compile(rb"(?:::|->\*?|\.\*?)" + _GAP + rb"(?:template\b" + _GAP + rb")?\Z")
_NO_NAME = frozenset(b"else do return case goto throw co_return co_yield co_await and or not".split())
_NO_CALL = _NO_NAME | frozenset(b"if while for switch".split())
_PARAMETERS = re.compile(rb"#[ \t]*define[ \t]+\w+\(([^()]*)\)")
_LINE_ENDS = re.compile(rb"\\?\r?\n")
_GLOBAL = re.compile(rb"\b__global__\b(?:[^;{}()]|\((?:[^()]|\([^()]*\))*\)(?=\s*\w))*?\b(?!__)(\w+)\s*\(")
_VOID = rb"\s*(?:const\s+)?void\s*(?:const\s*)?\*\s*"
# Not the first argument of a launch after `(void*)`, whose macro handles the cast.
_UNTYPED = re.compile(
    rb"(?:(?P<launch>Launch\w*\s*\(\s*)?\("
    + _VOID
    + rb"\)\s*(?:\(\s*)?|(?:reinterpret|static)_cast\s*<"
    + _VOID
    + rb">\s*\(\s*)"
    rb"(?P<kernel>&?\s*(?:::\s*)?(?:\w+\s*::\s*)*\b(?P<name>\w+))\b"
)
_OPENING = re.compile(rb"\s*<(?!<)")
_NO_KERNEL = re.compile(rb"\s*(?:[(<.\[]|::|->)")
#: How many bytes before its brackets a kernel's name may begin.
_FAR = 2000


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each launch; MANUAL if kernel or configuration are not found."""
    code = source.code
    yield from _untyped(source, project)
    if b"<" not in code:
        return
    for opening in launch_openings(source):
        closing = launch_closing(source, opening.end, anywhere_in_macros=True)
        if closing is None:
            # Without closing brackets it is a comment, or a diagram in a macro.
            continue
        start = kernel_start(code, opening.start)
        if start is None:
            yield Finding(
                Span(opening.start, closing.end),
                "kernel",
                "the kernel of this launch was not found: write its name in front of the brackets",
                certainty=Certainty.MANUAL,
            )
            continue
        yield _launch(source, start, opening, closing)


def _untyped(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each kernel that is cast to `void*`: its type is recorded for launches by that address."""
    casts = list(_UNTYPED.finditer(source.code))
    if not casts:
        return
    files = [each for each in project.sources if isinstance(each, Cpp) and b"__global__" in each.words]
    kernels = {name for each in files for name in _GLOBAL.findall(each.code)}
    for match in casts:
        end = _behind_arguments(source.code, match.end())
        if match["launch"] is None and match["name"] in kernels and not _NO_KERNEL.match(source.code, end):
            span = Span(match.start("kernel"), end)
            edit = Edit(span, b"::simt::host::known(" + source[span] + b")")
            yield Finding(span, "address", f"(void*){match['name'].decode()}", (edit,))


def _behind_arguments(code: bytes, start: int) -> int:
    """Return where the following template arguments end, or `start` if there are none."""
    opening = _OPENING.match(code, start)
    arguments = template_arguments(code, opening.end() - 1) if opening else None
    return code.index(b">", arguments[-1].end) + 1 if arguments else start


def _launch(source: Cpp, start: int, opening: Span, closing: Span) -> Finding:
    macro = source.directive(opening.start)
    kernel = _one_line(source[source.trimmed(Span(start, opening.start))])
    name = b'"' + kernel.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
    if macro is not None:
        parameters = _PARAMETERS.match(source.code, macro.start, macro.end)
        if parameters and kernel in [each.strip() for each in parameters[1].split(b",")]:
            name = b"#" + kernel
    before = b"SIMT_LAUNCH(" + name + b", ("
    gap = source[Span(start, opening.end)]
    edits = (
        Edit(Span(start, opening.end), before + b"".join(_LINE_ENDS.findall(gap))),
        Edit(closing, b"), " + kernel + b")" + b"".join(_LINE_ENDS.findall(source[closing]))),
    )
    return Finding(Span(start, closing.end), "launch", f"{kernel.decode(errors='replace')}<<<…>>>", edits)


def _one_line(text: bytes) -> bytes:
    """Return the text of an expression on one line; line comments in it are removed."""
    text = re.sub(rb"//[^\n]*|/\*.*?\*/", b" ", text, flags=re.DOTALL)
    return b" ".join(re.sub(rb"\\\r?(?:\n|\Z)", b" ", text).split())


def kernel_start(code: bytes, end: int) -> int | None:
    """Return where the expression that ends at `end` starts: a name, a member, a call, an element."""
    at = _skip_back(code, end)
    floor = max(0, end - _FAR)
    seen = False
    while at > floor:
        byte = code[at - 1 : at]
        if byte == b">" and code[at - 2 : at] != b"->":
            opening = angle(code, at, floor)
            if opening is None:
                return None
            at = _skip_back(code, opening)
            if not code[at - 1 : at].isalnum() and code[at - 1 : at] != b"_":
                return None
            continue
        if byte in (b")", b"]"):
            opening = _bracket(code, at, floor)
            if opening is None:
                return None
            at = opening
            seen = True
            before = _skip_back(code, at)
            # `name(…)` and `name[…]`: the text before belongs to it.
            word = _WORD_END.search(code, floor, before)
            if (word and word.group() not in _NO_CALL) or code[before - 1 : before] == b"]":
                at = before
                continue
        else:
            word = _WORD_END.search(code, floor, at)
            if word is None:
                return None
            at = word.start()
            seen = True
        paste = _PASTE_END.search(code, floor, at)
        if paste:
            at = _skip_back(code, paste.start())
            continue
        qualifier = _QUALIFIER_END.search(code, floor, at)
        if qualifier is None:
            return at if seen else None
        at = _skip_back(code, qualifier.start())
        previous = code[at - 1 : at]
        if not (previous.isalnum() or previous in (b"_", b">", b")", b"]")) or _keyword_before(code, at):
            # `::kernel`, at global scope.
            return qualifier.start()
    return None


def _keyword_before(code: bytes, end: int) -> bool:
    word = _WORD_END.search(code, max(0, end - 40), end)
    return word is not None and word.group() in _NO_NAME


def _skip_back(code: bytes, end: int) -> int:
    match = _BLANK_END.search(code, max(0, end - _FAR), end)
    return match.start() if match else end


_MATES = {b")": b"(", b"]": b"[", b"}": b"{"}


def _bracket(code: bytes, end: int, floor: int) -> int | None:
    """Return where the bracket that closes just before `end` opens."""
    stack: list[bytes] = []
    for at in range(end - 1, floor - 1, -1):
        byte = code[at : at + 1]
        if byte in _MATES:
            stack.append(_MATES[byte])
        elif byte in (b"(", b"[", b"{"):
            if not stack or stack.pop() != byte:
                return None
            if not stack:
                return at
    return None


def angle(code: bytes, end: int, floor: int) -> int | None:
    """Return where the template argument list that closes just before `end` opens."""
    depth = 0
    at = end - 1
    while at >= floor:
        byte = code[at : at + 1]
        if byte in _MATES:
            opening = _bracket(code, at + 1, floor)
            if opening is None:
                return None
            at = opening
        elif byte == b">":
            if code[at - 1 : at] != b"-":
                depth += 1
        elif byte == b"<":
            depth -= 1
            if not depth:
                return at
        elif byte in b"(;{[":
            return None
        at -= 1
    return None


PASS = Pass(Cpp, find)
