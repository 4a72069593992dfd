# SPDX-License-Identifier: Apache-2.0
"""Let the host construct the values that hipCUB sums.

`cub::DeviceSegmentedReduce::Sum` starts from a default-constructed value of the items' type. CUB makes it in a kernel,
hipCUB on the host (device_segmented_reduce.hpp of ROCm 7.0: `input_type()`), where clang refuses a constructor that is
for the device only. With `__host__` in front it is for both, and device code does not change. The change is REVIEW
where the constructor calls a function, or reads the thread's index: both must have the same meaning on the host.

Types are found through the pointers that are passed to the call, `T* name`, as the file declares them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES, VARIABLE

_WORDS = Words.read(Path(__file__).with_name("compatibility_words.toml"), general=NAMES)
_SUMS = _WORDS.compile(rb"\b(?&segmented)\s*::\s*(?&sum)\s*\((?P<arguments>[^;{}]*)\)\s*[;,)]")
_NAME = re.compile(rb"[A-Za-z_]\w*")
_CONSTRUCTOR = re.compile(
    rb"(?P<attributes>(?:\b(?:inline|constexpr|explicit|__\w+__)\s+)+)(?:\w+\s*::\s*)*?(?:(?P<outer>\w+)\s*::\s*)?"
    rb"(?P<name>[A-Za-z_]\w*)\s*\(\s*(?:void\s*)?\)\s*(?=[;{:]|noexcept\b|=\s*default\b)"
)
_DEVICE = _WORDS.compile(rb"\b(?&device)\b")
# Initializers of members, `x(0), y{1}`; in a call, another name precedes the parenthesis.
_GIVEN = re.compile(rb"[:,]\s*\w+\s*[({]")
_CALL_OR_THREAD = _WORDS.compile(rb"\w\s*\(|\b(?:asm|__\w+|(?&warp_size)|" + VARIABLE + rb")\b")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per constructor without arguments that is for the device only and that hipCUB calls."""
    if b"__device__" not in source.words:
        return
    summed = project.union_over(source, _summed)
    if summed.isdisjoint(source.words):
        return
    worked_out = project.union_over(source, _worked_out)
    for name, match, device in _constructors(source):
        if name not in summed or source.ported(device):
            continue
        what = name.decode(errors="replace")
        message = f"hipCUB makes a {what} on the host to start a sum: its constructor becomes __host__ __device__"
        certainty = Certainty.SAFE
        if name in worked_out:
            message += "; assumes that the constructor has the same meaning there"
            certainty = Certainty.REVIEW
        edit = Edit(Span(device, device), b"__host__ ")
        yield Finding(Span(*match.span("name")), "constructor", message, (edit,), certainty)


def _constructors(source: Cpp) -> Iterator[tuple[bytes, re.Match[bytes], int]]:
    """Yield the device-only constructors without arguments, with the place of their attribute."""
    for match in _CONSTRUCTOR.finditer(source.code):
        device = _DEVICE.search(source.code, match.start("attributes"), match.end("attributes"))
        if device and b"__host__" not in match["attributes"] and match["outer"] in (None, match["name"]):
            yield match["name"], match, device.start()


def _worked_out(source: Cpp) -> frozenset[bytes]:
    """Return the classes of which such a constructor calls a function or reads the thread's index."""
    if b"__device__" not in source.words:
        return frozenset()
    return frozenset(
        name for name, match, _ in _constructors(source) if _CALL_OR_THREAD.search(_definition(source, match.end()))
    )


def _definition(source: Cpp, offset: int) -> bytes:
    """Return the code of a constructor after its parameters, without the names of initialized members."""
    opening = re.compile(rb"[;{]").search(source.code, offset)
    if opening is None or opening.group() == b";":
        return b""
    # A brace may initialize a member: the body is the one after which the class continues.
    end = offset
    while (brace := source.code.find(b"{", end)) >= 0 and (closing := source.closing(brace)) is not None:
        end = closing + 1
        if source.code[end:].lstrip()[:1] not in (b",", b"{"):
            break
    return _GIVEN.sub(b" ", source.code[offset:end])


def _summed(source: Cpp) -> frozenset[bytes]:
    """Return the element types that the file passes to hipCUB's segmented sum."""
    if b"DeviceSegmentedReduce" not in source.words:
        return frozenset()
    found: set[bytes] = set()
    for match in _SUMS.finditer(source.code):
        for name in set(_NAME.findall(match["arguments"])):
            declared = re.compile(rb"\b([A-Za-z_]\w*)\s*(?:const\s*)?\*+\s*(?:const\s+)?" + re.escape(name) + rb"\b")
            found.update(declared.findall(source.code))
    return frozenset(found)


PASS = Pass(Cpp, find)
