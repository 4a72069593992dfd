# SPDX-License-Identifier: Apache-2.0
"""The original condition of an `#if` that hipport extended for AMD.

A condition that hipport has changed is not somebody's port: new upstream code in a branch of it has to be ported like
any other. So hipport's forms are recognized by their text, and read as the condition before:

    #if defined(__CUDACC__) || defined(__HIPCC__)                   #ifdef __CUDACC__
    #if CUDA_VERSION >= 9000 || defined(__HIPCC__) /* hipport */    #if CUDA_VERSION >= 9000

    #ifndef __HIPCC__ /* hipport */                                 (nothing)

The first form treats both compilers alike, whoever wrote it. A person could have written the other forms, so they have
a mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core.edits import Span
from hipport.syntax.preprocessor_values import tokens

#: The predefined macros of nvcc, and those of hipcc, which needs no flag for extended lambdas and constexpr functions.
COMPILERS = {
    b"__CUDACC__": b"__HIPCC__",
    b"__CUDACC_RTC__": b"__HIPCC_RTC__",
    b"__CUDACC_EXTENDED_LAMBDA__": b"__HIPCC__",
    b"__CUDACC_RELAXED_CONSTEXPR__": b"__HIPCC__",
    b"__NVCC__": b"__HIPCC__",
}
#: The same, and the macro for device code.
EQUALS = {**COMPILERS, b"__CUDA_ARCH__": b"__HIP_DEVICE_COMPILE__"}
#: Follows the part about AMD in a condition on a version or an architecture.
MARK = b" /* hipport */"

_HIP = rb"(?:__HIPCC__|__HIPCC_RTC__|__HIP_PLATFORM_AMD__|__HIP_DEVICE_COMPILE__)"
# A formatter may break lines, and use other blanks; a comment may go over several lines.
_GAP = rb"(?:\s|\\(?=\s))*"
_SAID = rb"/\*[ \t]*hipport[ \t]*\*/"
_MARKED = re.compile(
    rb"(?:%(gap)b(?:\|\||&&)%(gap)b!?defined\(%(hip)b\))+%(gap)b%(said)b" % {b"gap": _GAP, b"hip": _HIP, b"said": _SAID}
)
_ENDS_MARKED = re.compile(_SAID + rb"\s*\Z")
# Code that is hidden from HIP because HIP has it: the original had no condition.
_LEFT_OUT = re.compile(
    rb"!defined\(%(hip)b\)(?:%(gap)b&&%(gap)b!defined\(%(hip)b\))*%(gap)b%(said)b"
    % {b"gap": _GAP, b"hip": _HIP, b"said": _SAID}
)
_PAIRED = re.compile(
    rb"%(gap)b\)?%(gap)b(?:\|\||&&%(gap)b!)%(gap)b(?:defined[ \t]*\([ \t]*)?%(hip)b\b" % {b"gap": _GAP, b"hip": _HIP}
)
_NVIDIA = rb"(" + b"|".join(EQUALS) + rb")"
# One operand in a row of `||`, or of `&&`, among which nothing binds closer. Blanks separate the tokens.
_EITHER = re.compile(
    rb"(?:(?<=^)|(?<=\( )|(?<=\|\| ))(defined(?: \()? %b(?: \))?) \|\| defined \( (\w+) \)(?= \)| \|\||$)" % _NVIDIA
)
_NEITHER = re.compile(
    rb"(?:(?<=^)|(?<=\( )|(?<=\|\| )|(?<=&& ))(! defined(?: \()? %b(?: \))?) && ! defined \( (\w+) \)"
    rb"(?= \)| \|\|| &&|$)" % _NVIDIA
)
_VALUE = re.compile(rb"\( (%b) \|\| (\w+) \)" % _NVIDIA)


def ends_marked(text: bytes) -> bool:
    """Say whether hipport's mark stands at the end of a line."""
    return _ENDS_MARKED.search(text) is not None


def is_marked(text: bytes) -> bool:
    """Say whether hipport has decided in the condition which branch AMD takes."""
    return _MARKED.search(text) is not None


def additions(code: bytes, text: bytes) -> Iterator[Span]:
    """Yield the marked additions to a condition, from its code and its text, which includes comments."""
    if _LEFT_OUT.fullmatch(text.strip()):
        return
    for marked in _MARKED.finditer(text):
        if b"defined" in code[marked.start() : marked.end()]:  # not a comment itself
            yield Span(*marked.span())


def is_paired(rest: bytes) -> bool:
    """Say whether a condition continues, after a macro of nvcc, with the corresponding macro of hipcc."""
    return _PAIRED.match(rest) is not None


def asked(code: bytes, text: bytes) -> bytes:
    """Return what a condition asked of CUDA, from its code and its text, which includes comments."""
    if b"HIP" not in code:
        return code
    if _LEFT_OUT.fullmatch(text.strip()):
        return b"1"
    for marked in reversed([*additions(code, text)]):
        code = code[: marked.start] + code[marked.end :]
    if not any(name in code for name in EQUALS):
        return code
    words = b" ".join(tokens(code))
    for pattern in (_EITHER, _NEITHER, _VALUE):
        words = pattern.sub(_first, words)
    return words


def _first(match: re.Match[bytes]) -> bytes:
    asked, nvidia, amd = match.groups()
    return asked if EQUALS[nvidia] == amd else match[0]
