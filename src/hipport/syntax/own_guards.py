# SPDX-License-Identifier: Apache-2.0
"""The question of a condition before hipport made AMD answer it too.

A condition that hipport has changed is no decision of a person's: new code of the original's, in a branch of it, is to
be ported like any other. So hipport's forms are told from others by what is written, and read as what they were:

    #if defined(__CUDACC__) || defined(__HIPCC__)                   #ifdef __CUDACC__
    #if CUDA_VERSION >= 9000 || defined(__HIPCC__) /* hipport */    #if CUDA_VERSION >= 9000

    #ifndef __HIPCC__ /* hipport */                                 (nothing)

The first says by itself that it tells no compiler from the other, whoever wrote it. The others could be a person's, and
have a mark.
"""

from __future__ import annotations

import re

from hipport.syntax.preprocessor_values import tokens

#: What nvcc says of itself, and hipcc of itself; it takes extended lambdas and constexpr functions without a flag.
COMPILERS = {
    b"__CUDACC__": b"__HIPCC__",
    b"__CUDACC_RTC__": b"__HIPCC_RTC__",
    b"__CUDACC_EXTENDED_LAMBDA__": b"__HIPCC__",
    b"__CUDACC_RELAXED_CONSTEXPR__": b"__HIPCC__",
    b"__NVCC__": b"__HIPCC__",
}
#: Those, and what asks for device code.
EQUALS = {**COMPILERS, b"__CUDA_ARCH__": b"__HIP_DEVICE_COMPILE__"}
#: Behind what is said of AMD in a condition on a version or an architecture.
MARK = b" /* hipport */"

_HIP = rb"(?:__HIPCC__|__HIPCC_RTC__|__HIP_PLATFORM_AMD__|__HIP_DEVICE_COMPILE__)"
# Whoever formats the text may break lines, and have other blanks.
_GAP = rb"(?:[ \t]|\\\r?\n)*"
_SAID = rb"/\*[ \t]*hipport[ \t]*\*/"
_MARKED = re.compile(
    rb"(?:%(gap)b(?:\|\||&&)%(gap)b!?defined\(%(hip)b\))+%(gap)b%(said)b" % {b"gap": _GAP, b"hip": _HIP, b"said": _SAID}
)
_ENDS_MARKED = re.compile(_SAID + rb"\s*\Z")
# What HIP has itself, left out for it: nothing was asked.
_LEFT_OUT = re.compile(
    rb"!defined\(%(hip)b\)(?:%(gap)b&&%(gap)b!defined\(%(hip)b\))*%(gap)b%(said)b"
    % {b"gap": _GAP, b"hip": _HIP, b"said": _SAID}
)
_PAIRED = re.compile(
    rb"%(gap)b\)?%(gap)b(?:\|\||&&%(gap)b!)%(gap)b(?:defined[ \t]*\([ \t]*)?%(hip)b\b" % {b"gap": _GAP, b"hip": _HIP}
)
_NVIDIA = rb"(" + b"|".join(EQUALS) + rb")"
# In a row of `||`, or of `&&`: nothing beside them binds closer. The tokens are parted by blanks.
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


def is_paired(rest: bytes) -> bool:
    """Say whether a condition continues, behind a name of nvcc's, with what hipcc says of itself."""
    return _PAIRED.match(rest) is not None


def asked(code: bytes, text: bytes) -> bytes:
    """Return what a condition asked of CUDA: of its code, and of its text, which has its comments, too."""
    if b"HIP" not in code:
        return code
    if _LEFT_OUT.fullmatch(text.strip()):
        return b"1"
    for marked in reversed(list(_MARKED.finditer(text))):
        if b"defined" in code[marked.start() : marked.end()]:  # no comment itself
            code = code[: marked.start()] + code[marked.end() :]
    if not any(name in code for name in EQUALS):
        return code
    words = b" ".join(tokens(code))
    for pattern in (_EITHER, _NEITHER, _VALUE):
        words = pattern.sub(_first, words)
    return words


def _first(match: re.Match[bytes]) -> bytes:
    asked, nvidia, amd = match.groups()
    return asked if EQUALS[nvidia] == amd else match[0]
