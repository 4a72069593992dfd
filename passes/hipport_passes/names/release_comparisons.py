# SPDX-License-Identifier: Apache-2.0
"""Comparisons of CUDA's release and of its architectures that have one answer, in code and in macros."""

from __future__ import annotations

import re

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES
from hipport_passes.device.lost_code import chosen_by_capability

DEFINE = re.compile(rb"#[ \t]*define[ \t]+(\w+)")
ON_DEVICE = b"__HIP_DEVICE_COMPILE__"
_COMPARED = NAMES.compile(rb"(?&arch)\s*(>=|<=|>|<)\s*(\d+)\b(?!\s*[-+*/%<>]|[\w.])")

#: The oldest that current programs are built for: CUDA 11.0 and the GPUs that CUDA 12 supports.
OLDEST = {b"CUDA_VERSION": 11000, b"CUDART_VERSION": 11000, b"__CUDACC_VER_MAJOR__": 11, b"__CUDA_ARCH__": 500}
_COMPARISON = re.compile(
    rb"(?<![\w.])(?:(?:%(names)s)\s*(?P<sign>>=?|<=?)\s*(?P<number>\d+)|(?P<first>\d+)\s*(?P<turned>>=?|<=?)\s*(?:%(names)s)"
    rb"|(?:%(names)s)\s*[=!]=\s*\d+)\b(?!\s*(?:[-+*/%%]|<<|>>)|[\w.])" % {b"names": b"|".join(OLDEST)}
)
# Comparisons with releases.
_ASKED = NAMES.compile(
    rb"\s*(?:(?:(?&releases)|\d+)(?![\w.])|[<>]=?|[=!]=|&&|(\|\|)|(\()|(\))"
    rb"|([,;]))"
)

_TURNED = {b">": b"<", b"<": b">", b">=": b"<=", b"<=": b">="}
_OF_EXPRESSION = re.compile(rb"(?:[-+*/%]|<<|>>)\s*\Z")

_ASSERTION = re.compile(rb"\bstatic_assert\s*\(")
_BOUND = NAMES.compile(rb"(?&arch)\s*>=?[\s\w*+()]+")


def settled(code: bytes, span: Span) -> tuple[Span, bytes] | None:
    """Return the comparison of `__CUDA_ARCH__` at `span` if it has one result on every current GPU, and that result.

    CUDA 12 supports GPUs since compute capability 5.0.
    """
    match = _COMPARED.match(code, span.start)
    if match is None or int(match[2]) > 500 or (match[1] in (b">", b"<=") and int(match[2]) == 500):
        return None
    return Span(*match.span()), b"true" if match[1] in (b">", b">=") else b"false"


def compared_release(source: Cpp, project: Project, span: Span, name: bytes) -> Finding | None:
    """Return the finding on a comparison of CUDA's release or architecture outside of a condition, or None.

    The comparison is in a macro, which conditions then use, or in code.
    """
    if name not in OLDEST:
        return None
    directive = source.directive(span.start)
    define = DEFINE.match(source.code, directive.start, directive.end) if directive else None
    if name == b"__CUDA_ARCH__" and (define is None or _in_code(source, project, define[1])):
        return None
    line = source.code.rfind(b"\n", 0, span.start) + 1
    # Not beyond a directive, which ends with its line, even in a comment.
    end = directive.end if directive else len(source.code)
    matches = _COMPARISON.finditer(source.code, directive.start if directive else line, end)
    match = next((each for each in matches if each.end() >= span.end), None)
    if match is None or match.start() > span.start or _OF_EXPRESSION.search(source.code, line, match.start()):
        return None
    sign, number = match["sign"] or _TURNED.get(match["turned"] or b""), int(match["number"] or match["first"] or 0)
    written = match.group().decode()
    where = "hipcc's device code" if name == b"__CUDA_ARCH__" else "hipcc"
    if sign is None or number + (sign in (b">", b"<=")) > OLDEST[name]:
        message = f"{written}: {name.decode()} is not defined on AMD; decide which code AMD needs there"
        if directive is not None:
            message += chosen_by_capability(source, project, directive)
        return Finding(span, "compared", message, certainty=Certainty.MANUAL)
    oldest = "NVIDIA GPU since compute capability 5.0" if name == b"__CUDA_ARCH__" else "CUDA since 11.0"
    holds = b">" in sign
    if name == b"__CUDA_ARCH__":  # In a host compilation CUDA defines none either.
        # If a comment continues on the next line, `code` still has the end of this line.
        one_line = match.group() if b"\\" in match.group() else b" ".join(match.group().split())
        new = one_line + (b" || " if holds else b" && !") + ON_DEVICE
        if source.code[match.start() - 1 : match.start()] + source.code[match.end() : match.end() + 1] != b"()":
            new = b"(" + new + b")"
    else:
        new = b"1" if holds else b"0"
    whole = Span(*match.span())
    message, certainty = f"{written} → {new.decode()}, for {where}, as for every {oldest}", Certainty.SAFE
    if name == b"__CUDA_ARCH__":
        message, certainty = (
            f"{message}; assumes that code for all of these GPUs is right for AMD",
            Certainty.REVIEW,
        )
    else:
        whole = Span(whole.start, _moot(source.code, whole, holds=holds))
    return Finding(span, "compared", message, (Edit(whole, new),), certainty)


def _moot(code: bytes, span: Span, *, holds: bool) -> int:
    """Return the end of the code that the comparison makes irrelevant: `MAJOR > 10 || (MAJOR == 10 && MINOR >= 2)`."""
    sign = b"||" if holds else b"&&"
    before = code[max(0, span.start - 40) : span.start].rstrip()
    end, depth, first = span.end, 0, True
    if not before.endswith((b"(", b",", b"=", b"return", sign)):
        return end
    while token := _ASKED.match(code, end):
        word = token.group().strip()
        if first and word != sign:
            break
        if depth == 0 and (token[3] or token[4] or (token[1] and not holds)):
            return end
        depth += 1 if token[2] else -1 if token[3] else 0
        end, first = token.end(), False
    return span.end


def _in_code(source: Cpp, project: Project, macro: bytes) -> bool:
    """Return whether a program uses a macro outside of directives."""
    word = re.compile(rb"\b%b\b" % macro)
    return any(
        other.directive(match.start()) is None
        for other in project.component(source)
        if isinstance(other, Cpp) and macro in other.text
        for match in word.finditer(other.code)
    )


def asserted(source: Cpp, span: Span) -> Span | None:
    """Return the condition of the static_assert around the `__CUDA_ARCH__` at `span`, if it is a lower bound.

    Else None. The architecture in its message belongs to it, also once the bound has become `true`.
    """
    for match in _ASSERTION.finditer(source.code, 0, span.start):
        arguments = source.arguments(match.end() - 1)
        if arguments and match.end() <= span.start < arguments[-1].end:
            condition = source.trimmed(arguments[0])
            known = _BOUND.fullmatch(source.code, condition.start, condition.end) or source[condition] == b"true"
            return condition if known else None
    return None
