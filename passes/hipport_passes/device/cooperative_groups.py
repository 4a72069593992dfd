# SPDX-License-Identifier: Apache-2.0
"""Replace CUDA's cooperative groups by hipport's where a program uses parts that HIP lacks or does for 64 lanes.

HIP has blocks, grids and tiles with equal shuffles. It has no reductions, scans and labeled partitions before
ROCm 7.13, and in older releases no votes of tiles, `num_threads` or tiles of tiles. Its `coalesced_threads()` are
those of a wavefront, up to 64, with masks of 64 bits. A program that uses any of these gets `hipport/groups.h` and its
namespace, `hipport::cooperative_groups`, in all files of the component. The groups there consist of the 32 lanes
of a warp, like CUDA's. A program that uses none of them stays as it is. Clusters and tiles of several warps are
reported.

The lanes of a group wait for each other in CUDA, wherever they are; on AMD a call has the active lanes of one branch
and one iteration of a loop. If these may not be all lanes of the group, the change is REVIEW, at each such call and at
the include of the groups; in a program that keeps HIP's groups such a call is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePath
from typing import NamedTuple

from hipport.analysis import grounds
from hipport.analysis.built_ins import LANES
from hipport.analysis.collective_summary import Collectives
from hipport.analysis.convergence import meetings
from hipport.analysis.group_types import COLLECTIVE, FOUND_OUT, called
from hipport.analysis.kernels import Kernels
from hipport.analysis.wave_sizes import WaveSizes
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.proof import Ground, Kept, Scope, missing
from hipport.core.tables import load
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import header, with_included_headers
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.declarations import member_or_qualified
from hipport_passes.device.warp_intrinsics import assumption
from hipport_passes.device.waves.marks import TILES

_HEADERS = frozenset(f"cooperative_groups{part}.h" for part in ("", "/reduce", "/scan", "/memcpy_async"))
_RUNTIME = ("cuda_runtime", "cuda.h", "hip/hip_runtime.h", "torch/", "ATen/", "c10/cuda/")
_NAMESPACE = NAMES.compile(rb"\b(?&cooperative_groups)\b")
#: Another name for the namespace, and its opening.
ALIAS = NAMES.compile(rb"\bnamespace\s+(\w+)\s*=\s*(?:::\s*)?(?&cooperative_groups)\s*;")
OPENED = NAMES.compile(rb"\busing\s+namespace\s+(?:::\s*)?(?&cooperative_groups)\s*;")
_OWN = NAMES.compile(rb"\b(?&hipport)\s*::\s*" + _NAMESPACE.pattern)
_TILE = NAMES.compile(rb"\b(\w+)\s*(?:=|\(|\{)\s*(?:\w+\s*::\s*)*(?&tile)\b|\b(?&tile_type)\s*<[^;(){}]*>\s*&?\s*(\w+)")
_PARTITION = NAMES.compile(rb"\b(?&tile)\s*<\s*(\w+)\s*>\s*\(\s*(\w+)\s*\)")
# The text before a name: its namespace, or the object whose member it is.
_SPACE = re.compile(rb"(?:(\w+)\s*::|\.|->|::)\s*$")
_COLLECTIVES = Collectives(COLLECTIVE, FOUND_OUT, NAMES.compile(rb"(?&block_barrier)\w*"), called)
_USED = re.compile(rb"\s*(?:<[^;{}()]*>\s*)?[({>]")
_WIDE = NAMES.compile(rb"\b(?&tile)\s*<\s*(64|128|256|512|1024)\s*>")


class _Beyond(NamedTuple):
    """Parts that a program may use and HIP lacks: names in the namespace, members, and parts that AMD lacks."""

    named: frozenset[bytes]
    members: frozenset[bytes]
    member_calls: re.Pattern[bytes]
    of_types: re.Pattern[bytes]
    absent: frozenset[bytes]


@cache
def _beyond() -> _Beyond:
    table = load(Path(__file__).with_suffix(".toml"))
    named, members = (frozenset(table["beyond"][key].encode().split()) for key in ("names", "members"))
    # A tensor may have the same members, without arguments.
    calls = rb"(?:\.|->)\s*(?:(?:" + b"|".join(sorted(members)) + rb")\s*\(|(?:any|all)\s*\(\s*[^\s)])"
    absent = frozenset(name.encode() for name in table["absent"])
    # Of the type, without a tile: HIP's has no `num_threads`, and its `size` is not a constant.
    of_types = rb"\bdecltype\s*\([^()]*\)\s*::\s*(?:size|num_threads|meta_group_size)\s*\(|\w::\s*num_threads\s*\("
    return _Beyond(named, members | {b"any", b"all"}, re.compile(calls), re.compile(of_types), absent)


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per include, per use of the namespace, and per use of a part that AMD lacks."""
    facts = project.union_over(source, _facts)
    # If a first run has written hipport's groups, a merge may restore CUDA's namespace without the header.
    again = (b"", b"hipport") in facts and (b"", b"hip") not in facts and project.union_over(source, _spelt)
    if not project.union_over(source, _includes) and not again:
        # Already ported, by hipport or a person: parts that AMD lacks still need work.
        if facts & {(b"", b"hip"), (b"", b"hipport")}:
            yield from _absent(source)
        if (b"", b"hipport") in facts:
            yield from _wide_on_amd(source, project)
        if (b"", b"hip") in facts and (b"", b"hipport") not in facts:
            yield from _left_apart(source, project)
        return
    yield from _absent(source)
    # A program with HIP's groups beside CUDA's is ported already.
    if (b"", b"hip") in facts:
        return
    if not _needed(facts) and not again:
        if project.target.rocm < (6, 4):
            yield from _ordered(source)
        yield from _left_apart(source, project)
        return
    yield from _wide_on_amd(source, project)
    namespaces = _namespaces(source)
    includes = [
        include
        for include in source.includes
        if include.path in _HEADERS and not within(include.directive.start, source.cuda_only)
    ]
    if not namespaces and not includes:
        return
    path, own = header(source, project, "groups.h")
    creates = with_included_headers(own)
    included = any(include.path.endswith("hipport/groups.h") for include in source.includes)
    apart = list(_apart(source, project))
    elsewhere = (
        each
        for other in project.component(source)
        if isinstance(other, Cpp) and other is not source
        for each in _apart(other, project, source.path)
    )
    certainty, assumes = Certainty.SAFE, ""
    # The message of the first call is repeated here: all files change or none does, or the groups would be of two
    # kinds. A person makes one assumption.
    first = apart[0] if apart else next(elsewhere, None)
    proof = _together(source) if first is None else (first.ground,)
    if first is not None:
        more = ", and that the assumptions at other calls hold" if len({each.why for each in apart}) > 1 else ""
        certainty, assumes = Certainty.REVIEW, f"; assumes that {first.why}{more}{missing(proof)}"
    shared: tuple[Edit, ...] = ()
    for include in includes:
        span = _line(source, include.directive) if included else include.target
        message = f"<{include.path}> → hipport's groups, of the 32 lanes of a warp{assumes}"
        edits = (Edit(span, b"" if included else path),)
        shared = shared or edits
        yield Finding(include.target, "header", message, edits, certainty, creates, proof=proof)
        included = True
    for span in namespaces:
        message = f"cooperative_groups → hipport::cooperative_groups{assumes}"
        edits = (Edit(Span(span.start, span.start), b"hipport::"),)
        shared = shared or edits
        yield Finding(span, "groups", message, edits, certainty, creates, proof=proof)
    for span, why, ground in apart:
        message = f"{source[span].decode()} of one of hipport's groups; assumes that {why}{missing((ground,))}"
        yield Finding(span, "apart", message, shared, Certainty.REVIEW, creates, proof=(ground,))


def _together(source: Cpp) -> tuple[Ground, ...]:
    """Return the ground for hipport's groups meaning the same; `explain` gives more about each call."""
    claim = "the lanes of each group reach its collectives together"
    reason = "no lanes of one group can reach different calls, in any connected file"
    return (Ground(claim, Scope.GROUP, reason, *grounds.place(source, 0)),)


def _namespaces(source: Cpp) -> list[Span]:
    """Return the uses of CUDA's namespace, without those that only HIP compiles and that use the removed header's
    groups.
    """
    return [
        Span(*match.span())
        for match in _NAMESPACE.finditer(source.code)
        if not within(match.start(), source.cuda_only) and not member_or_qualified(source.code, match.start())
    ]


def _spelt(source: Cpp) -> frozenset[bool]:
    return frozenset({True}) if b"cooperative_groups" in source.words and _namespaces(source) else frozenset()


def _left_apart(source: Cpp, project: Project) -> Iterator[Finding]:
    """Report the calls of HIP's groups that lanes may make separately."""
    for span, why, ground in _apart(source, project):
        message = (
            f"lanes of a group do not wait for each other on AMD: make sure that {why}, or move the call out of the "
            "branch or loop"
            f"{missing((ground,))}"
        )
        yield Finding(span, "apart", message, certainty=Certainty.MANUAL, proof=(ground,))


class _Apart(NamedTuple):
    """A call that lanes of one group may make separately, the assumption under which it is right, and the reason to
    doubt it.
    """

    span: Span
    why: str
    ground: Ground


def kept(source: Cpp, project: Project, part: Span) -> Iterator[Kept]:
    """Yield the group calls in a part of a file that all lanes of the group make together."""
    kernels = Kernels.of(project)
    apart = meetings(source, project, _COLLECTIVES)
    for span, name in source.names(COLLECTIVE):
        function = grounds.device_function(kernels, source, span.start)
        if not part.start <= span.start < part.end or span.start in apart or function is None:
            continue
        node = function.body.descendant_for_byte_range(span.start, span.end)
        group, size = called(function, node) if node is not None else (None, 0)
        if node is not None and group is not None and size:
            said = f"{name.decode()} of the group {grounds.quoted(function.text(group))}"
            yield Kept(span.start, span.end, said, grounds.convergence(kernels, function, node, size))


def _apart(source: Cpp, project: Project, told_in: PurePath | None = None) -> Iterator[_Apart]:
    """Yield the calls that lanes of one group may make separately, with the assumptions under which they are right.

    `told_in`: the file that reports the assumption, if it is another one.
    """
    kernels = Kernels.of(project)
    for offset, meeting in sorted(meetings(source, project, _COLLECTIVES).items()):
        if not source.ported(offset):
            end = re.compile(rb"\w+").match(source.code, offset)
            span = Span(offset, end.end() if end else offset)
            which = "of its group"
            claim = f"all lanes {which} reach it together"
            ground = grounds.separated(kernels, source, offset, meeting, LANES, claim, told_in)
            yield _Apart(span, assumption(source, project, meeting, offset, which), ground)


def _ordered(source: Cpp) -> Iterator[Finding]:
    """Include the runtime's header first, because HIP 5.2's header of groups needs it; that of 6.4 includes it."""
    for include in source.includes:
        if include.path.startswith(_RUNTIME):
            return
        if include.path == "cooperative_groups.h" and not source.ported(include.directive.start):
            start = include.directive.start
            message = "HIP's cooperative groups need hip/hip_runtime.h in front of them before ROCm 6.4"
            edit = Edit(Span(start, start), b"#include <hip/hip_runtime.h>" + source.newline)
            yield Finding(include.target, "order", message, (edit,))
            return


def _absent(source: Cpp) -> Iterator[Finding]:
    """Report parts that AMD lacks: once per line, because a line is one piece of work."""
    advice: dict[str, str] = load(Path(__file__).with_suffix(".toml"))["absent"]
    uses = [(span, name.decode()) for span, name in source.names(_beyond().absent)]
    if b"tiled_partition" in source.words:
        uses += [
            (Span(*match.span()), f"a tile of {match[1].decode()} lanes")
            for match in _WIDE.finditer(source.code)
            if not (source.begun_as_hip and match[1] == b"64")  # HIP has these where a wavefront has 64 lanes.
        ]
    lines: set[int] = set()
    for span, what in sorted(uses):
        line = source.position(span.start)[0]
        if line not in lines and not source.ported(span.start):
            lines.add(line)
            message = f"{what}: {advice.get(what, advice['block_tile_memory'])}"
            yield Finding(span, "absent", message, certainty=Certainty.MANUAL)


def _wide_on_amd(source: Cpp, project: Project) -> Iterator[Finding]:
    """Report tiles that have more than 32 lanes in code for AMD alone: hipport's groups have no such tiles.

    The number may be a constant that differs between the compilers.
    """
    if source.words.isdisjoint((b"tiled_partition", b"thread_block_tile")):
        return
    lines: set[int] = set()
    for match in TILES.finditer(source.code):
        start = match.start()
        if within(start, source.cuda_only) or (_WIDE.match(source.code, start) and not source.ported(start)):
            continue  # It is reported already.
        said = match["size"] or match["given"]
        wide = (each.wave64 for each in project.component(source).fact(WaveSizes).of(source, said, start))
        most = max((each for each in wide if each is not None), default=0)
        line = source.position(start)[0]
        if most > LANES and line not in lines:
            lines.add(line)
            message = (
                f"a tile of {most} lanes on AMD: the program needs hipport's groups, whose tiles have at most 32 "
                "lanes; count by 32 lanes there, too, or use HIP's own functions of the wavefront"
            )
            yield Finding(Span(*match.span()), "absent", message, certainty=Certainty.MANUAL)


def _needed(facts: frozenset[tuple[bytes, bytes]]) -> bool:
    spaces = {name for space, name in facts if space == b"namespace"} | {b"cooperative_groups"}
    opened = (b"using", b"") in facts
    return (b"member", b"") in facts or any(space in spaces or (opened and space == b"call") for space, _ in facts)


def _includes(source: Cpp) -> frozenset[str]:
    """Return the headers of cooperative groups that the file includes."""
    if b"cooperative_groups" not in source.text:
        return frozenset()
    return frozenset(include.path for include in source.includes if include.path in _HEADERS)


def _facts(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    """Return the file's uses of groups: (space, name) of `space::name`, and other facts under hipport's own names."""
    code = source.code
    spelt = b"cooperative_groups" in code
    found = {(b"namespace", name) for name in (ALIAS.findall(code) if spelt else ())}
    if any(include.path == "hip/hip_cooperative_groups.h" for include in source.includes):
        found.add((b"", b"hip"))
    # A merge may also restore upstream's includes.
    if any(include.path.endswith("hipport/groups.h") for include in source.includes) or (spelt and _OWN.search(code)):
        found.add((b"", b"hipport"))
    if spelt and OPENED.search(code):
        found.add((b"using", b""))
    if b"roup" not in code and b"tile" not in code:
        return frozenset(found)
    beyond = _beyond()
    for span, name in source.names(beyond.named, _USED):
        before = _SPACE.search(code, max(0, span.start - 60), span.start)
        if before is None:
            found.add((b"call", name))
        elif before[1]:
            found.add((before[1], name))
    partitions = _PARTITION.findall(code) if b"tiled_partition" in source.words else []
    tiles = {first or second for first, second in _TILE.findall(code)} if partitions else set()
    called = not beyond.members.isdisjoint(source.words) and beyond.member_calls.search(code)
    if not called and not source.words.isdisjoint((b"decltype", b"num_threads")):
        called = beyond.of_types.search(code)
    if called or any(parent in tiles for _, parent in partitions):
        found.add((b"member", b""))
    return frozenset(found)


def _line(source: Cpp, directive: Span) -> Span:
    """Return the whole line of `directive`, or the directive alone if the line has more."""
    start = directive.start - (source.position(directive.start)[1] - 1)
    match = re.compile(rb"[ \t]*(?:\r\n|\n|\r|$)").match(source.text, directive.end)
    if match is None or source.text[start : directive.start].strip():
        return directive
    return Span(start, match.end())


PASS = Pass(Cpp, find, proves=frozenset(("header", "groups", "apart")), kept=kept)
