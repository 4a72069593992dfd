# SPDX-License-Identifier: Apache-2.0
"""PyTorch's warp size: `C10_WARP_SIZE`, `at::cuda::warp_size()`. On ROCm it is the wavefront's size."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.analysis.functions import Function, functions
from hipport.analysis.library_names import LibraryNames
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.program.own_headers import include
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, word_before
from hipport.syntax.declarations import namespaces
from hipport_passes.device.waves.branches import Logical
from hipport_passes.device.waves.sizes import HELPERS, MASKED

_MASKED_NAMES = LibraryNames(MASKED)
#: PyTorch's names for the wavefront's size.
_C10_WARP_SIZE, _CALLED, _SPACE = b"C10_WARP_SIZE", b"warp_size", b"at::cuda"
PYTORCH_SIZES = (_C10_WARP_SIZE, _CALLED)
_NAMES = {b"n": _C10_WARP_SIZE, b"c": _CALLED, b"s": _SPACE}
_PYTORCH_SIZE = re.compile(
    rb"(?<![\w:])(?:::)?(?:(?:%(s)b::)?(?P<name>%(n)b)\b|"
    rb"(?:(?P<space>(?:\w+::)*\w+)::)?(?P<call>%(c)b)\s*\(\s*\))" % _NAMES
)
_C10 = re.compile(rb"\b(?:%(s)b::)?%(n)b\b" % _NAMES)
_OPENED = re.compile(
    rb"\busing\s+(?:namespace\s+(?:::)?%(s)b|(?:::)?%(s)b::%(c)b)\s*;|"
    rb"\bnamespace\s+(\w+)\s*=\s*(?:::)?%(s)b\s*;" % _NAMES
)
#: A program's own function of that name, and words that may stand in front of a call.
_OWN = re.compile(rb"\b(?!return\b|else\b)\w+\s+%(c)b\s*\(\s*(?:void)?\s*\)" % _NAMES)
_BEFORE_CALLS = (b"", b"return", b"else", b"case")
# CUB's functions of such names are for 32 lanes.
_WAVEFRONTS = re.compile(rb"W(?<![\w:]W)ARP_(?:SHFL\w*|BALLOT|ANY|ALL)|cuda_utils")
_OF_WAVEFRONT = re.compile(rb"\b(?:" + _WAVEFRONTS.pattern + rb")\b")


def of_pytorch(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each warp size of PyTorch's that reaches intrinsics of 32 lanes."""
    if source.words.isdisjoint(PYTORCH_SIZES):
        return
    if not project.union_over(source, _of_wavefronts) and any(
        HELPERS.search(other.code) or (other.matched(MASKED) and next(_MASKED_NAMES.uses(other, project), None))
        for other in project.component(source)
        if isinstance(other, Cpp)
    ):
        # A function without intrinsics may pass the size to one that has them, or to a launch.
        for match in _PYTORCH_SIZE.finditer(source.code):
            group = "name" if match["name"] else "call"
            start = match.start(group)
            if source.ported(start) or _defines(source, start) or not (match["name"] or _of_pytorch(source, match)):
                continue
            yield _logical(source, project, match, Span(*match.span(group)))
        return
    yield from _asked_for_both(source, project)
    for function in functions(source):
        body = source.code[function.node.start_byte : function.node.end_byte]
        # Intrinsics of an earlier run are for 32 lanes, too.
        masked = HELPERS.search(body) or any(True for _ in _unported(function, project))
        if b"C10_WARP_SIZE" not in body or not masked:
            continue
        for match in _C10.finditer(source.code, function.node.start_byte, function.node.end_byte):
            span = Span(*match.span())
            if source.ported(span.start):
                continue
            if _WAVEFRONTS.search(body):
                message = (
                    "C10_WARP_SIZE and PyTorch's warp functions act on the wavefront, this function's __…_sync on "
                    "32 lanes: use one of them throughout"
                )
                yield Finding(span, "mixed", message, certainty=Certainty.MANUAL)
                break
            yield _logical(source, project, match, span)


def _logical(source: Cpp, project: Project, match: re.Match[bytes], span: Span) -> Finding:
    need, header = include(source, project, "warp.h")
    message = (
        f"{source[span].decode()} → hipport::warp_size: assumes that this means the program's warps, "
        "which have 32 lanes"
    )
    edits = (Edit(Span(*match.span()), b"hipport::warp_size"), *((need,) if need else ()))
    return Finding(span, "size", message, edits, Certainty.REVIEW, (header,))


def _asked_for_both(source: Cpp, project: Project) -> Iterator[Finding]:
    """Find host calls that return the wavefront's size, if the size reaches code of 32 lanes, alone or with other."""
    component = project.component(source)
    logical = component.fact(Logical)
    both: list[Span] = []
    for match in _PYTORCH_SIZE.finditer(source.code) if b"warp_size" in source.words and logical.having else ():
        start = match.start("call")
        if not match["call"] or source.ported(start) or not _of_pytorch(source, match):
            continue
        around = [each for each in logical.mentions.definitions if each.around(source, start)]
        reached = {
            each
            for one in around
            for user in (one, *logical.mentions.transitive_users(one))
            for each in logical.mentions.reached(user)
        }
        if reached.isdisjoint(logical.having):
            continue
        span = Span(*match.span("call"))
        if any(next(each.matches(_OF_WAVEFRONT), None) for each in reached) or any(map(logical.native, around)):
            both.append(span)
        else:
            yield _logical(source, project, match, span)
    if both:
        more = f" (and {len(both) - 1} more in this file)" if len(both) > 1 else ""
        message = (
            f"at::cuda::warp_size(){more} is the wavefront's size, and it reaches kernels of the whole wavefront and "
            "kernels of 32 lanes: give each kind the size that it needs (hipport::warp_size is 32)"
        )
        yield Finding(both[0], "mixed", message, certainty=Certainty.MANUAL)


def _of_pytorch(source: Cpp, match: re.Match[bytes]) -> bool:
    """Say whether a call of `warp_size` is one of PyTorch's function, by its namespace or the one around it."""
    space = match["space"] or b""
    if space == _SPACE:
        return True
    if word_before(source.code, match.start()) not in _BEFORE_CALLS:
        return False  # It is declared there.
    opened = [each[1] or b"" for each in _OPENED.finditer(source.code)]
    around = list(namespaces(source, match.start()))
    if b"at" in around and (space == b"cuda" or (not space and b"cuda" in around)):
        return True
    return space in opened and (bool(space) or not _OWN.search(source.code))


def _defines(source: Cpp, offset: int) -> bool:
    """Say whether a directive defines or tests the name at `offset`, and does not use its value."""
    directive = source.directive(offset)
    return directive is not None and not re.match(
        rb"#[ \t]*define[ \t]+\w+(?:\([^()]*\))?\s", source.code[directive.start : offset]
    )


def _of_wavefronts(source: Cpp) -> frozenset[bytes]:
    """Return the file's uses of whole wavefronts as warps: PyTorch's functions, and kernels on native wavefronts."""
    native = frozenset((b"native",) if b"hipport::native" in source.code else ())
    if not source.matched(_WAVEFRONTS):
        return native
    return native | frozenset(match.group() for match in _OF_WAVEFRONT.finditer(source.code))


def _unported(function: Function, project: Project) -> Iterator[Span]:
    """Yield CUDA's intrinsics in a function that both compilers see."""
    for span, _ in _MASKED_NAMES.uses(function.source, project):
        if function.body.start_byte <= span.start < function.body.end_byte:
            yield span
