# SPDX-License-Identifier: Apache-2.0
"""Report code for AMD that assumes a number of lanes which the port's GPUs do not have.

A program's own code for HIP may use the number 64 for its lanes. That is right on CDNA, but on no GPU of the families
gfx10, gfx11 and gfx12, whose wavefronts have 32: with such a GPU among the targets it is reported.
`__AMDGCN_WAVEFRONT_SIZE` is reported as well, with trailing underscores or without: the compiler's macro was deprecated
with ROCm 6.4 and removed in later releases, and host compilations never had it (ROCm's release notes and issue 4121,
read in 2025). Nothing is changed: it is the program's own code for AMD.

PyTorch's `C10_WARP_SIZE` is not a constant for the host either: with current headers it asks the device, with older
ones it is 64, while device code has 32 or 64. `kernel<C10_WARP_SIZE>` then names no kernel, or one that differs from
the device's (torch/headeronly/macros/Macros.h of PyTorch 2.13, read on 2026-11-27). It is reported where it is used as
a constant and no pass has made it 32.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.analysis.constant_values import value_in
from hipport.analysis.functions import function_at, functions
from hipport.analysis.wave_sizes import WaveSizes
from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import ON_DEVICE, SHUFFLE
from hipport_passes.device.waves.marks import COUNTED, TILES, WAVE_FUNCTION, any_gpu, counted, own_names
from hipport_passes.device.waves.sizes import named_as_warp, sized

_REMOVED = re.compile(rb"\b__AMDGCN_WAVEFRONT_SIZE(?:__)?\b")
#: Shuffle loops that begin at half of 64, where the distance is a constant.
_LOOP = re.compile(
    rb"\bfor\s*\([^;(){}=]*=\s*(?P<start>[^;{}=]+);[^{};]*;[^{};]*(?:>>=|/=|/\s*2|>>\s*1)",
)
_SHUFFLE = re.compile(rb"\b__(?:" + SHUFFLE + rb"|builtin_amdgcn_readlane)\s*(?=\()")
#: `if (warpSize == 64)`, in front of the code that it decides about.
_IF_64 = re.compile(rb"\bif\s*(?:constexpr\s*)?\([^;{}]*?(?:\bwarpSize\b|[=>]\s*(?:64|32)\b)[^;{}]*\)\s*\{?[^;{}]*\Z")
#: A ballot's mask of all 64 lanes in a comparison, and the index of the last lane.
_ALL = re.compile(
    rb"(?:==|!=)\s*\(?\s*(?:~\s*\(?\s*0[uU]?[lL]{1,2}[uU]?|0[xX][fF]{16}|U(?:LLONG|INT64)_MAX|"
    rb"\(\s*(?:unsigned\s+long\s+long|uint64_t)\s*\)\s*-\s*1|~\s*(?:unsigned long long|uint64_t)\s*[({]\s*0)"
)
_LAST = re.compile(rb"\b(?i:\w*lane\w*)(?:\(\))?\s*[=!]=\s*(?P<last>[\w:]+(?:\s*-\s*1)?)")
#: PyTorch's size of a warp, and macros that expand to it.
_OF_PYTORCH = re.compile(rb"\bC10_WARP_SIZE\b")
_STANDS_FOR_IT = re.compile(rb"#[ \t]*define[ \t]+(\w+)[ \t]+\(?[^\r\n]*\bC10_WARP_SIZE\b")
#: The text from the start of the statement to an expression that must be constant.
_CONSTANT = re.compile(
    rb"\b(?:constexpr|consteval|enum|static_assert|case|template)\b|\bstatic\s+const\b|\[[^\[\]]*\Z|"
    rb"\b__launch_bounds__\s*\([^()]*\Z"
)
# The text around a template argument.
_OPENS, _CLOSES = re.compile(rb"\w\s*<(?![<=])[^;(){}<>=]*\Z"), re.compile(rb"[^;(){}<>=?:|]*>(?!=)")
_DEVICE = re.compile(rb"\b(?:C10_DEVICE|C10_HOST_DEVICE|" + ON_DEVICE + rb")\b")
_DEVICE_ALONE = re.compile(rb"\b(?:__device__|C10_DEVICE)\b")
_OTHERS = "GPUs of gfx10, gfx11 or gfx12, which have 32 lanes"


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each function and size that relies on 64 lanes, and one for the removed macro."""
    yield from _removed(source)
    yield from _no_constant(source, project)
    if 32 not in project.target.wavefronts or not (source.hip_only or source.begun_as_hip):
        return
    for match in source.fact(sized):
        place = match.start("value")
        wide = match["value"][:2] in (b"64", b"0x") and named_as_warp(match["name"])
        if wide and _for_amd(source, place) and any_gpu(source, place):
            yield Finding(
                Span(match.start("name"), match.end("value")),
                "fixed",
                f"{match['name'].decode()} is 64 for AMD, but the targets include {_OTHERS}: use warpSize in device "
                "code, and ask the device on the host",
                certainty=Certainty.MANUAL,
            )
    component = project.component(source)
    for span in _tiles(source, component):
        said = b" ".join(source.code[span.start : span.end].split()).decode("utf-8", "replace")
        message = f"`{said}` has 64 lanes, but the targets include {_OTHERS}: use tiles of 32 lanes, or of warpSize"
        yield Finding(span, "fixed", message, certainty=Certainty.MANUAL)
        break
    for function in functions(source) if WAVE_FUNCTION.search(source.code) else ():
        start, end = function.body.start_byte, function.body.end_byte
        if not any(_for_amd(source, each.start()) for each in WAVE_FUNCTION.finditer(source.code, start, end)):
            continue
        for span in sorted(_by_64(source, component, start, end)):
            if _for_amd(source, span.start) and any_gpu(source, span.start):
                said = b" ".join(source.code[span.start : span.end].split()).decode("utf-8", "replace")
                yield Finding(
                    span,
                    "fixed",
                    f"{function.name.decode()} needs 64 lanes because of `{said}`, but the targets include {_OTHERS}: "
                    "count by warpSize",
                    certainty=Certainty.MANUAL,
                )
                break


def _by_64(source: Cpp, component: Component, start: int, end: int) -> Iterator[Span]:
    """Yield the signs of 64 lanes in a function: counts of lanes, distances of shuffles, all bits of a ballot."""
    code = source.code
    for match in COUNTED.finditer(code, start, end):
        if counted(component, match) == 64:
            yield Span(*match.span())
    for match in _LOOP.finditer(code, start, end):
        if value_in(component, match["start"]) == 32:
            yield Span(*match.span())
    for match in _SHUFFLE.finditer(code, start, end):
        given = source.arguments(match.end())
        far = given is not None and len(given) > 1 and 32 <= (value_in(component, source[given[1]]) or 0) < 64
        if given and far and not _IF_64.search(code, max(start, match.start() - 200), match.start()):
            yield Span(match.start(), given[1].end)
    for match in _ALL.finditer(code, start, end):
        yield Span(*match.span())
    for match in _LAST.finditer(code, start, end):
        if value_in(component, match["last"]) == 63:
            yield Span(*match.span())


def _tiles(source: Cpp, component: Component) -> Iterator[Span]:
    """Yield the tiles of 64 lanes; hipport's groups have none, and `cooperative_groups` reports them."""
    if source.words.isdisjoint((b"tiled_partition", b"thread_block_tile")):
        return
    if any(isinstance(each, Cpp) and b"hipport::cooperative_groups" in each.code for each in component):
        return
    for match in TILES.finditer(source.code):
        said = match["size"] or match["given"]
        if named_as_warp(said):
            continue  # The constant itself is reported.
        sizes = component.fact(WaveSizes).of(source, said, match.start())
        if any(size.wave32 == 64 for size in sizes) and any_gpu(source, match.start()):
            yield Span(*match.span())


def _removed(source: Cpp) -> Iterator[Finding]:
    """Find the macro; one finding for a file."""
    places = [match for match in _REMOVED.finditer(source.code) if not within(match.start(), source.cuda_only)]
    # A program that defines the macro itself still has it.
    if not places or re.search(rb"#[ \t]*define[ \t]+" + places[0].group() + rb"\b", source.code):
        return
    more = f" (and {len(places) - 1} more in this file)" if len(places) > 1 else ""
    yield Finding(
        Span(*places[0].span()),
        "removed",
        f"{places[0].group().decode()}{more}: current releases of ROCm no longer define this macro, which then "
        "counts as 0 in conditions; use warpSize in device code, ask the device on the host, or test for families "
        "of GPUs (__GFX9__ has 64 lanes)",
        certainty=Certainty.MANUAL,
    )


def _no_constant(source: Cpp, project: Project) -> Iterator[Finding]:
    """Find host constants with PyTorch's size of a warp; one finding for a file."""
    names = project.union_over(source, _standing_for_it)
    files = [each for each in project.component(source) if isinstance(each, Cpp)]
    if names.isdisjoint(source.words) or b"C10_WARP_SIZE" in own_names(files):
        return
    places = []
    for span, name in source.names(names):
        function = function_at(source, span.start)
        if source.directive(span.start) is not None or source.ported(span.start):
            continue
        if function is not None and _DEVICE.search(function.head):
            continue
        begin = max(source.code.rfind(each, 0, span.start) for each in (b";", b"{", b"}"))
        before = source.code[max(begin, span.start - 400) + 1 : span.start]
        behind = re.split(rb"[;{]", source.code[span.end : span.end + 400])[0]
        if function is None and _DEVICE_ALONE.search(behind):
            continue  # A template of device code, or one of its parameters.
        if begin >= 0 and re.search(rb"\benum\b[^;{}()]*\Z", source.code[max(0, begin - 200) : begin]):
            before = b"enum"
        given = _OPENS.search(before) and _CLOSES.match(behind)
        if given or _CONSTANT.search(before):
            places.append((span, name))
    if not places:
        return
    span, name = places[0]
    more = f" (and {len(places) - 1} more in this file)" if len(places) > 1 else ""
    yield Finding(
        span,
        "no_constant",
        f"{name.decode()}{more}: PyTorch's C10_WARP_SIZE is not a constant for the host on ROCm: it asks the "
        "device, and older releases return 64 for every device; choose between both by at::cuda::warp_size(), as "
        "in `warp_size() == 64 ? f<64>() : f<32>()`, or use hipport::warp_size where 32 lanes are meant",
        certainty=Certainty.MANUAL,
    )


def _standing_for_it(source: Cpp) -> frozenset[bytes]:
    if b"C10_WARP_SIZE" not in source.words:
        return frozenset()
    found = (match[1] for match in _STANDS_FOR_IT.finditer(source.code) if not source.ported(match.start()))
    return frozenset((b"C10_WARP_SIZE", *found))


def _for_amd(source: Cpp, offset: int) -> bool:
    """Return whether HIP compiles the place, and CUDA does not."""
    return not within(offset, source.cuda_only) and (source.begun_as_hip or within(offset, source.hip_only))


PASS = Pass(Cpp, find, at_backends=True)
