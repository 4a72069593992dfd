# SPDX-License-Identifier: Apache-2.0
"""Widen the warps of kernels that ask for it to the whole wavefront, 32 or 64 lanes from one source.

A kernel asks by `// hipport: warp=native` in front of it, a file by that comment at its top, a tree by `--warp native`
or by patterns in the configuration; `warp=logical32` takes it back. Masks of lanes then have 64 bits, wherever their
values go, and so do `__popc`, `__ffs`, `31 - __clz` and shifts by a lane. Lanes and warps are counted by the size of
the wavefront, which device code asks for at run time. Shuffle loops start at half of it, and arrays with an entry for
each lane have 64 entries. The functions that the kernel calls are widened with it.

A kernel stays on warps of 32 lanes, and is reported with the places, if one of its operations has no such meaning:
shuffles by 16 and so on written in a row, masks of some lanes as numbers, masks in the program's memory, rows of
threads as warps, PTX, tiles of 32 lanes, an entry of the program's memory for each warp, a warp for each item of the
grid, and any other 32 that is not known to mean something else. A kernel with launches of blocks that are not a
multiple of 64 threads stays as well. A person has to confirm two assumptions: that all other blocks are such a
multiple, and that results do not depend on which threads share a warp. A function that is shared with a kernel on 32
lanes gets a second version; where that is impossible, as for methods and overloads, the kernel stays as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hipport.analysis.functions import Function
from hipport.analysis.kernels import Kernels
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES
from hipport_passes.device.wide_warps.changed_versions import changed, lost
from hipport_passes.device.wide_warps.masks import Masks, helpers, macros_of_warps
from hipport_passes.device.wide_warps.remaining import launches_that_count
from hipport_passes.device.wide_warps.twins import can_have_twin, name_of, renamed, twin
from hipport_passes.device.wide_warps.widening import Widening
from hipport_passes.device.wide_warps.widening_notes import NATIVE, Work

_WORDS = Words.read(Path(__file__).with_name("device_words.toml"), general=NAMES)
_ASKS = _WORDS.compile(rb"(?://|/\*)[^\r\n]*?\b(?&hipport):[ \t]*(?&warp_choice)=((?&warp_choices))\b")
_ASKS_NATIVE = _WORDS.compile(rb"\b(?&hipport):[ \t]*(?&warp_choice)=(?&native)\b")
# Operations on 32 lanes: hipport's, and CUDA's names that become hipport's.
_NARROW = _WORDS.compile(rb"\b(?&hipport)::(?!(?&native)\b)\w+|(?<![\w:.])__\w+")
_ASSUMED = (
    "assumes that blocks have a multiple of 64 threads, that no number of warps is written out, and that results do "
    "not depend on which threads share a warp"
)


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each function that is widened, and for each kernel that cannot be."""
    if source.is_hipport_header or not _is_asked_for(source, project):
        return
    plan = _plan(source, project)
    for comment in _unheard(source, project):
        message = "this comment applies to nothing: put it in front of a kernel, or of all code of the file"
        yield Finding(comment, "unheard", message, certainty=Certainty.MANUAL)
    need, header = include(source, project, "wave.h")
    _, warp = include(source, project, "warp.h")
    for function, work in plan.widened.items():
        edits = tuple(Edit(where, new) for where, new in work.edits.get(source, {}).items())
        if function.source is source and edits:
            name = _name_span(function)
            twin_name = plan.twins.get(function.name)
            second = f", as {twin_name.decode()}, beside the one for 32 lanes" if twin_name else ""
            message = f"{function.name.decode()} on whole wavefronts{second}: {_ASSUMED}"
            more = (need,) if need else ()
            yield Finding(name, "native", message, (*edits, *more), Certainty.REVIEW, (header, warp))
        elif edits:
            message = f"masks of {function.name.decode()} have 64 bits: {_ASSUMED}"
            yield Finding(
                min(edit.span for edit in edits),
                "native",
                message,
                (*edits, *((need,) if need else ())),
                Certainty.REVIEW,
                (header, warp),
            )
    for kernel, places in plan.refused.items():
        if kernel.source is source:
            message = f"{kernel.name.decode()} stays on warps of 32 lanes: {'; '.join(places)}"
            yield Finding(_name_span(kernel), "refused", message, certainty=Certainty.MANUAL)
    for function, places in plan.mixed.items():
        if function.source is source:
            message = (
                f"{function.name.decode()} was ported to whole wavefronts, and now has warps of 32 lanes too: "
                f"{'; '.join(places)}: restore CUDA's version of the function, and port it again"
            )
            yield Finding(_name_span(function), "mixed", message, certainty=Certainty.MANUAL)
    for function, message in plan.versions.items():
        if function.source is source:
            yield Finding(_name_span(function), "versions", message, certainty=Certainty.MANUAL)


# ---- the request


def _is_asked_for(source: Cpp, project: Project) -> bool:
    """Return whether anything in the component asks for native waves."""
    target = project.target
    return (
        target.warp == "native"
        or bool(project.union_over(source, _asking))
        or (target.native != () and any(o.path.match(p) for o in project.component(source) for p in target.native))
    )


def _asking(source: Cpp) -> frozenset[bool]:
    return frozenset({True}) if b"warp=native" in source.text else frozenset()


def _is_native(function: Function, project: Project) -> bool:
    """Return whether a function without callers is widened: by its comment, the file's comment, or the target."""
    source = function.source
    in_front, top = _in_front(function), _top(source)
    asks = _ASKS.findall(source.text, *in_front) or _ASKS.findall(source.text, *top)
    if asks:
        return bool(asks[-1] == b"native")
    return project.target.warp == "native" or any(source.path.match(pattern) for pattern in project.target.native)


def _in_front(function: Function) -> tuple[int, int]:
    """Return the span of the comments about a function."""
    source, start, parent = function.source, function.node.start_byte, function.node.parent
    if parent is not None and parent.type == "template_declaration":
        start = parent.start_byte
    # Comments are blank in the code; one after other code on its line is about that code.
    end = len(source.code[:start].rstrip())
    line = source.text.find(b"\n", end, start) if end else 0
    return (line, start) if line >= 0 else (start, start)


def _top(source: Cpp) -> tuple[int, int]:
    """Return the span of the comments about the whole file: those before any code."""
    first = re.search(rb"\S", source.code)
    return 0, first.start() if first else 0


def _unheard(source: Cpp, project: Project) -> Iterator[Span]:
    """Yield the comments that ask for whole wavefronts at a place without effect."""
    heard = [_top(source), *(_in_front(function) for function in Kernels.of(project).functions(source))]
    for match in _ASKS_NATIVE.finditer(source.text):
        comment = not source.code[match.start() : match.end()].strip() and not source.quoted(match.start())
        if comment and not any(start <= match.start() < end for start, end in heard):
            yield Span(*match.span())


# ---- the plan


@dataclass(frozen=True)
class _Plan:
    widened: dict[Function, Work]
    refused: dict[Function, list[str]]
    #: The names of second versions of functions, which other functions call on warps of 32 lanes.
    twins: dict[bytes, bytes]
    #: Functions that an earlier run widened, and upstream has changed since.
    mixed: dict[Function, list[str]]
    #: Functions with a second version from an earlier run, or calling one, of which upstream has changed only one.
    versions: dict[Function, str]


def _plans(kernels: Kernels) -> dict[object, _Plan]:
    """Return the cache of plans, by the first file of their component."""
    return {}


def _plan(source: Cpp, project: Project) -> _Plan:
    # Kept with the kernels, which drop their facts when they are pickled: plans contain syntax trees.
    known = Kernels.of(project).fact(_plans)
    key = project.component(source)[0].path
    if key not in known:
        known[key] = _planned(source, project)
    return known[key]


def _planned(source: Cpp, project: Project) -> _Plan:
    kernels = Kernels.of(project)
    files = [other for other in project.component(source) if isinstance(other, Cpp) and not other.is_hipport_header]
    device = [function for file in files for function in kernels.functions(file)]
    by_name: dict[bytes, list[Function]] = {}
    for function in device:
        by_name.setdefault(function.name, []).append(function)
    asked = {function: _is_native(function, project) for function in device}
    # A function without callers here may be called from elsewhere, with warps of 32 lanes unless its file asks
    # otherwise.
    roots = {f: native for f, native in asked.items() if f.kernel or (not native and not kernels.callers(f))}
    reached = {root: _reached(root, by_name) for root in roots}
    # Without an intrinsic or a warp size, 32 is only a number.
    macros = project.union_over(source, macros_of_warps)
    roots = {root: native and any(_has_warps(f, macros) for f in reached[root]) for root, native in roots.items()}
    wide = {function for root, native in roots.items() if native for function in reached[root]}
    flow = Masks(project, source, wide)
    works = {function: Widening(function, flow, project).work() for function in device if function in wide}
    # Functions with edits, and their callers: shared with kernels of 32 lanes, they need a second version.
    wider = {f for f in wide if any(works[each].edits for each in _reached(f, by_name))}
    single = {f for f in wider if can_have_twin(f, works[f], files)}
    refused: dict[Function, list[str]] = {}
    again = True
    while again:
        again = False
        for root, native in roots.items():
            if not native or root in refused:
                continue
            places = [place for function in reached[root] for place in works[function].places]
            places += launches_that_count(root, project)
            if not any(works[function].edits for function in reached[root]):
                continue
            for other in roots:
                if not roots[other] or other in refused:
                    shared = [f for f in reached[root] if f in reached[other] and f in wider - single]
                    places += [
                        f"{name.decode()} is shared with {other.name.decode()}"
                        for name in sorted(f.name for f in shared)
                    ]
            if places:
                refused[root] = _listed(places)
                again = True
    accepted = [root for root, native in roots.items() if native and root not in refused]
    keeps = {function for root in roots if not roots[root] or root in refused for function in reached[root]}
    taken = {function for root in accepted for function in reached[root]}
    shared_ones = [f for f in device if f in wider and f in keeps and f in taken]
    names = {function.name: name_of(function, files) for function in shared_ones}
    widened: dict[Function, Work] = {}
    for function in device:
        if function in shared_ones:
            widened[function] = twin(function, works[function], names)
        elif function in taken and function not in keeps:
            for where, new in renamed(function, names).items():
                works[function].edit(function.source, where, new)
            if works[function].edits:
                widened[function] = works[function]
        elif function in wide and function not in keeps and works[function].edits:
            widened[function] = works[function]
    return _Plan(widened, refused, names, dict(_mixed(device, by_name)), dict(_changed_versions(device, by_name)))


def _mixed(device: Iterable[Function], by_name: dict[bytes, list[Function]]) -> Iterator[tuple[Function, list[str]]]:
    """Yield the functions on whole wavefronts that contain or call code for 32 lanes."""
    for function in device:
        if NATIVE in function.text(function.body):
            places = [
                f"{name} in {other.name.decode()}, line {_line(other, match.start())}"
                for other in _reached(function, by_name)
                for match in _NARROW.finditer(other.source.code, other.body.start_byte, other.body.end_byte)
                if (name := match.group().decode()).startswith("hipport") or match.group() in helpers()
            ]
            if places:
                yield function, _listed(places)


def _changed_versions(
    device: Iterable[Function], by_name: dict[bytes, list[Function]]
) -> Iterator[tuple[Function, str]]:
    again = "restore CUDA's version of the functions concerned, and port them again"
    for function, name in lost(device, by_name):
        yield function, f"{name}, which an earlier run made for whole wavefronts, is gone but called here: {again}"
    for function, name in changed(device, by_name):
        was = f"{name} has changed since an earlier run made this version of it for whole wavefronts"
        yield function, f"{was}: copy the change, or {again}"


def _line(function: Function, offset: int) -> int:
    source = function.source
    return source.line_read(offset)


def _has_warps(function: Function, macros: frozenset[bytes]) -> bool:
    words = set(re.findall(rb"\w+", function.text(function.body)))
    return b"warpSize" in words or not words.isdisjoint(helpers()) or not words.isdisjoint(macros)


def _listed(places: Iterable[str]) -> list[str]:
    unique = list(dict.fromkeys(places))
    return unique if len(unique) <= 8 else [*unique[:7], f"and {len(unique) - 7} more"]


def _reached(root: Function, by_name: dict[bytes, list[Function]]) -> tuple[Function, ...]:
    found = [root]
    for function in found:
        names = dict.fromkeys(call.name for call in function.calls(by_name.keys()))
        found += [other for name in names for other in by_name.get(name, ()) if other not in found]
    return tuple(found)


def _name_span(function: Function) -> Span:
    start = function.node.start_byte + len(function.head)
    return Span(start, start + len(function.name))


PASS = Pass(Cpp, find)
