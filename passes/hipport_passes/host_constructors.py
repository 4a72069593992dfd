# SPDX-License-Identifier: Apache-2.0
"""Let the host construct what hipCUB adds up.

`cub::DeviceSegmentedReduce::Sum` begins with a value of the items' type without arguments. CUB makes it in a kernel,
hipCUB on the host (device_segmented_reduce.hpp of ROCm 7.0: `input_type()`), and there clang refuses a constructor that
is for the device alone. With `__host__` in front it is for both; device code stays what it was.

Types are found by the pointers that the call is given, `T* name`, as the file declares them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.finding import Finding
from hipport.languages.cpp import Cpp, within
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, Span

_SUMS = re.compile(rb"\bDeviceSegmentedReduce\s*::\s*Sum\s*\((?P<arguments>[^;{}]*)\)\s*[;,)]")
_NAME = re.compile(rb"[A-Za-z_]\w*")
_CONSTRUCTOR = re.compile(
    rb"(?P<attributes>(?:\b(?:inline|constexpr|explicit|__\w+__)\s+)+)(?:\w+\s*::\s*)*?(?:(?P<outer>\w+)\s*::\s*)?"
    rb"(?P<name>[A-Za-z_]\w*)\s*\(\s*(?:void\s*)?\)\s*(?=[;{:]|noexcept\b|=\s*default\b)"
)
_DEVICE = re.compile(rb"\b__device__\b")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per constructor without arguments that is for the device alone and that hipCUB calls."""
    if b"__device__" not in source.words:
        return
    summed = project.together(source, _summed)
    if summed.isdisjoint(source.words):
        return
    for match in _CONSTRUCTOR.finditer(source.code):
        start = match.start("attributes")
        device = _DEVICE.search(source.code, start, match.end("attributes"))
        if match["name"] not in summed or device is None or b"__host__" in match["attributes"]:
            continue
        if match["outer"] not in (None, match["name"]):
            continue
        if within(start, source.hip_only) or within(start, source.cuda_only):
            continue
        name = match["name"].decode(errors="replace")
        message = f"hipCUB makes a {name} on the host, to begin a sum with: its constructor is for both"
        place = Span(device.start(), device.start())
        yield Finding(Span(*match.span("name")), "constructor", message, (Edit(place, b"__host__ "),))


def _summed(source: Cpp) -> frozenset[bytes]:
    """The types of what the file has hipCUB add up by segments."""
    if b"DeviceSegmentedReduce" not in source.words:
        return frozenset()
    found: set[bytes] = set()
    for match in _SUMS.finditer(source.code):
        for name in set(_NAME.findall(match["arguments"])):
            declared = re.compile(rb"\b([A-Za-z_]\w*)\s*(?:const\s*)?\*+\s*(?:const\s+)?" + re.escape(name) + rb"\b")
            found.update(declared.findall(source.code))
    return frozenset(found)


PASS = Pass(Cpp, find)
