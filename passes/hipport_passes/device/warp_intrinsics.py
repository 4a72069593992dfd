# SPDX-License-Identifier: Apache-2.0
"""Replace warp intrinsics by hipport's helpers, which act on 32 lanes of wavefronts of 32 and of 64.

`__shfl_down_sync(mask, v, 16)` becomes `hipport::shfl_down_sync(mask, v, 16)`: names change; arguments, masks and
result types do not, so code with 32-bit masks stays right. The name alone decides, so macros, wrappers and templates
are included.

CUDA requires that all lanes that a mask names and that have not exited execute the intrinsic with that mask, and makes
them wait for each other. AMD's compilers make lanes converge where the branches on which they diverged join. A call
therefore has all active lanes of one branch and one iteration, and the helper, which does not wait, means the same:
SAFE. It is REVIEW if lanes of one mask could meet on CUDA but are separate on AMD: in calls in both branches of a
divergent `if`, in calls under different conditions, and in a call that lanes reach in different iterations of a loop.
Functions and macros are followed. It stays SAFE if the mask was determined in that branch or iteration. A mask that
names inactive lanes is undefined in CUDA too, and stays. A mask of fewer lanes, for example 28, is REVIEW with a
shuffle by a distance, which may read outside of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from hipport.analysis import constant_values, grounds
from hipport.analysis.built_ins import LANES
from hipport.analysis.collective_summary import Collectives, Meeting
from hipport.analysis.convergence import meetings
from hipport.analysis.functions import function_at
from hipport.analysis.kernels import Kernels
from hipport.analysis.library_names import helper_rows
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.proof import Ground, Kept, Scope, missing
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import MASKED, MATCH, NAMES, SHUFFLE
from hipport_passes.device.waves.kinds import hip_throughout, narrow_mask
from hipport_passes.device.waves.sizes import sizes_of_wavefronts

_TABLE = Path(__file__).with_suffix(".toml")

_MACRO = re.compile(rb"#[ \t]*define\b")
_WORDS = Words.read(Path(__file__).with_name("device_words.toml"), general=NAMES)
# A name that a macro pastes together: its prefix, and the argument.
_PASTED = _WORDS.compile(rb"(?<![\w#])(?<!#[ \t])(__(?:[a-z]\w*)?)[ \t]*##[ \t]*(\w+)[ \t]*##[ \t]*(\w*(?&masked))\b")
# A part of such a name; and function-like macros, which may paste their arguments, or pass them to others.
_PART = _WORDS.compile(rb"(?<!\w)(?:(?&masked)|__(?&in_parts)_(?:[a-z]+_)?)(?!\w)")
_FUNCTION_LIKE = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)\(", re.M)
_GIVEN_TO = re.compile(rb"(\w+)[ \t]*\((?:[^();{}]|\([^()]*\))*$")
# Shuffles by a distance.
_BY_DISTANCE = _WORDS.compile(rb"__(?&by_distance)(?&masked)")
_OF_WARPS = _WORDS.compile(rb"__\w+(?&masked)")
_FOR_CUDA = _WORDS.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\([^()]*\))?[ \t]+(__(?:(?&shuffle)\w*|(?&functions_of_warps))(?&masked))\b",
    re.M,
)
_FOR_HIP = _WORDS.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(\w+)\([^()]*\)[ \t]+(__(?:(?&any_or_all)|" + SHUFFLE + rb"))[ \t]*\(", re.M
)
_OWN_BARRIER = _WORDS.compile(rb"^[ \t]*#[ \t]*define[ \t]+(?&warp_barrier)\b[^\r\n]*(?&waits_of_warps)", re.M)


# Suffixes of collectives.
_WAITING = (b"_sync", b"__syncwarp")
_ALL = (1 << LANES) - 1
_EVERY = re.compile(rb"[\s(]*(?:~\s*0|-\s*1)[^\W\d]{0,3}[\s)]*")
_TOGETHER = "all lanes that its mask names reach this call together"

_COLLECTIVES = Collectives(
    re.compile(MASKED),
    _WORDS.compile(rb"(?&active_mask)|(?&ballot)(?&masked)?|__" + MATCH + rb"(?&masked)|(?&found_out)"),
    _WORDS.compile(rb"(?&block_barrier)\w*"),
)

# The same functions in a program that is ported, completely or partly.
_SPACE = b"hipport::"
_PORTED = Collectives(
    re.compile(rb"(?:__)?" + b"(?:" + _COLLECTIVES.names.pattern.replace(b"__", b"") + b")"),
    re.compile(rb"(?:__)?" + b"(?:" + _COLLECTIVES.lanes.pattern.replace(b"__", b"") + b")"),
    _COLLECTIVES.barriers,
)


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per use of an intrinsic that the program does not define itself."""
    names, helpers = helper_rows(_TABLE)
    already_hip = source.begun_as_hip
    of_wavefronts = already_hip and hip_throughout(source, project)
    need, header, apart = None, None, {}
    # A port to AMD already, and right for both wavefront sizes: unlike its shuffles and votes, it names no lanes.
    own_barrier = b"__syncwarp" in source.words and bool(project.declared(source, _own_barriers))
    for span, name in names.uses(source, project):
        if own_barrier and name == b"__syncwarp":
            continue
        if already_hip and not name.endswith((b"_sync", b"warp", b"mask")):
            continue
        if of_wavefronts and not (name.endswith(b"_sync") and narrow_mask(source, span)):
            continue  # HIP has this function too, for the whole wavefront, as the whole file is.
        directive = source.directive(span.start)
        if directive is not None and not _MACRO.match(source.code, directive.start):
            continue  # `#if __has_builtin(…)` only tests for it.
        if header is None:
            need, header = include(source, project, "warp.h")
            apart = meetings(source, project, _COLLECTIVES)
        edits = (Edit(span, helpers[name]), *((need,) if need else ()))
        message = f"{name.decode()} → {helpers[name].decode()}"
        certainty, assumes = Certainty.SAFE, ""
        if span.start in apart:
            assumes = assumption(source, project, apart[span.start], span.start)
        elif directive is None and _in_no_function(source, project, span):
            assumes = _TOGETHER
        elif outside := _reads_outside(source, project, span, name):
            assumes = outside
        proof = _proof(source, project, span, name, apart.get(span.start))
        if assumes and not missing(proof):
            reason = "the distance may lead out of the lanes of its mask"
            outside_it = Ground(assumes, Scope.GROUP, reason, *grounds.place(source, span.start), proven=False)
            proof = (outside_it, *proof)
        if assumes:
            certainty = Certainty.REVIEW
            message += f"; assumes that {assumes}{missing(proof)}"
        yield Finding(span, "helper", message, edits, certainty, (header,), proof=proof)
    yield from _macros(source, project, helpers)
    yield from _pasted(source, project, helpers)
    yield from _parts(source, project)


def _proof(source: Cpp, project: Project, span: Span, name: bytes, apart: Meeting | None) -> tuple[Ground, ...]:
    """Return the grounds for the helper meaning the same: how lanes reach it, and for which lanes it waits."""
    kernels = Kernels.of(project)
    if not name.endswith(_WAITING):
        claim = "it acts on the active lanes, and waits for no others"
        return (Ground(claim, Scope.GROUP, f"{name.decode()} has no mask", *grounds.place(source, span.start)),)
    if apart is not None:
        return (grounds.separated(kernels, source, span.start, apart, LANES, _TOGETHER),)
    if source.directive(span.start) is None and _in_no_function(source, project, span):
        lost = "the parser found no function around it"
        reason = lost if source.errors else "hipport does not know that the code around it is device code"
        at = grounds.place(source, span.start)
        return (Ground(_TOGETHER, Scope.WARP, reason, *at, proven=False),)
    return (*_of_mask(source, project, span, name), *grounds.at_place(kernels, source, span, LANES))


def _of_mask(source: Cpp, project: Project, span: Span, name: bytes) -> Iterator[Ground]:
    """Yield the ground about the lanes that the mask of a call names."""
    given = source.given(span.end) or ()
    text = source.code[given[0].start : given[0].end] if given else b""
    at = grounds.place(source, span.start)
    if not text:
        if name == b"__syncwarp":
            yield Ground("it waits for all lanes of a warp", Scope.WARP, "it has no mask", *at)
        return
    hidden = constant_values.hidden(function_at(source, span.start), text, span.start)
    number = None if hidden else constant_values.value(source, project, text)
    number = _ALL if _EVERY.fullmatch(text) else number
    said = grounds.quoted(text)
    if number is None:
        claim = f"it waits for the lanes that {said} names, and for no others"
        yield Ground(claim, Scope.GROUP, "the helper is given the same mask", *at)
        return
    lanes = (number & _ALL).bit_count()
    which = "all lanes of a warp" if lanes == LANES else f"{lanes} lane{'s' * (lanes != 1)} of a warp"
    claim = f"it waits for {which}, except those that have exited"
    yield Ground(claim, Scope.WARP if lanes == LANES else Scope.GROUP, f"its mask is {said}", *at)


def _in_no_function(source: Cpp, project: Project, span: Span) -> bool:
    """Return whether the place is in no device function that hipport sees, so that its conditions are unknown."""
    return not any(
        function.node.start_byte <= span.start < function.node.end_byte
        for function in Kernels.of(project).functions(source)
    )


def _reads_outside(source: Cpp, project: Project, span: Span, name: bytes) -> str:
    """Return the assumption of a shuffle by distance whose mask is a constant but no group of lanes; else nothing.

    Such a mask may be a typing error, `0xfffffff`, and distances that are halved lead outside of it.
    """
    given = source.given(span.end) if _BY_DISTANCE.fullmatch(name) else None
    said = source.code[given[0].start : given[0].end] if given else b""
    known = bool(said) and not constant_values.hidden(function_at(source, span.start), said, span.start)
    mask = constant_values.value(source, project, said) if known else None
    lanes = mask.bit_count() if mask is not None and mask > 0 else 0
    if lanes & (lanes - 1) == 0 or lanes > LANES:
        return ""
    return (
        f"nothing depends on the values of lanes outside of its mask of {lanes} lanes, which CUDA leaves undefined "
        "and AMD defines"
    )


def _own_barriers(source: Cpp) -> frozenset[bytes]:
    """Return the program's macros that are `__syncwarp` for AMD, and expand to a barrier or a fence."""
    if b"__syncwarp" not in source.text or not source.hip_only:
        return frozenset()
    found = (match for match in _OWN_BARRIER.finditer(source.code) if within(match.start(), source.hip_only))
    return frozenset(match.group() for match in found)


def _pasted(source: Cpp, project: Project, helpers: Mapping[bytes, bytes]) -> Iterator[Finding]:
    """Find macros that paste the names of intrinsics together, `__##op##_sync`."""
    if b"##" not in source.code:
        return
    for match in _PASTED.finditer(source.code):
        start, given, end = match.groups()
        if start in helpers and not source.begun_as_hip:
            continue  # Found as a complete name.
        if source.ported(match.start()):
            continue
        if not any(name.startswith(start) and name.endswith(end) for name in helpers):
            continue
        span = Span(*match.span())
        said = source[span].decode("utf-8", "replace")
        others = [name for name in project.union_over(source, _others) if name.startswith(start) and name.endswith(end)]
        if others:
            message = f"{said} may make names of intrinsics, and {min(others).decode()}: write the intrinsics out"
            yield Finding(span, "pasted", message, certainty=Certainty.MANUAL)
            continue
        need, header = include(source, project, "warp.h")
        # `hipport::##op` would paste two tokens that form none.
        new = b"hipport::" + (start[2:] + b"##" if start != b"__" else b"") + given + b"##" + end
        message = (
            f"{said} → {new.decode()}: assumes that its argument makes names of CUDA's intrinsics, and that the "
            "lanes of a mask reach them together"
        )
        edits = (Edit(span, new), *((need,) if need else ()))
        yield Finding(span, "pasted", message, edits, Certainty.REVIEW, (header,))


def _parts(source: Cpp, project: Project) -> Iterator[Finding]:
    """Find parts of the names of intrinsics that macros paste together in other ways, `CAT(__##op, _sync)`."""
    if not source.matched(_PART):
        return
    macros = project.union_over(source, _macros_with_arguments)
    whole = [Span(*match.span()) for match in _PASTED.finditer(source.code)]
    lines = set()
    for match in _PART.finditer(source.code) if b"##" in macros else ():
        start, end = match.span()
        before = source.code[max(0, start - 200) : start]
        given = _GIVEN_TO.search(before)
        # Not a suffix that is pasted itself: `own_##name##_sync` shows its beginning.
        pasted = source.code[end:].lstrip(b" \t").startswith(b"##")
        if not pasted and not (given and given[1] in macros):
            continue
        line = source.position(start)[0]
        if line in lines or source.ported(start) or any(each.start <= start < each.end for each in whole):
            continue
        lines.add(line)
        message = f"{match[0].decode()} may be a part of names of intrinsics that macros make: write the intrinsics out"
        yield Finding(Span(start, end), "pasted", message, certainty=Certainty.MANUAL)


def _macros_with_arguments(source: Cpp) -> frozenset[bytes]:
    """Return the function-like macros of a file; with them `##`, if any pastes."""
    found = (
        frozenset(match[1] for match in _FUNCTION_LIKE.finditer(source.code)) if b"#" in source.code else frozenset()
    )
    return found | {b"##"} if b"##" in source.code else found


def _others(source: Cpp) -> frozenset[bytes]:
    """Return names in the file that look like intrinsics with a mask, and are none."""
    return frozenset(source.matched(_OF_WARPS)) - helper_rows(_TABLE)[1].keys()


def assumption(source: Cpp, project: Project, meeting: Meeting, offset: int, which: str = "that its mask names") -> str:
    """Return the assumption for the collective at `offset` being right; `which` lanes wait for each other there."""
    if meeting.unless:
        # If that condition is false, the rest must hold.
        unless, rest = meeting.unless, meeting._replace(unless="")
        said = assumption(source, project, rest, offset, which).removesuffix(")")
        return f"{said}; they do where {unless})"
    together = f"all lanes {which} reach this call together"
    if meeting.kind == "iteration":
        return f"{together} (in the same iteration of the loop)"
    if meeting.kind == "far":
        return f"{together} (there are too many calls and conditions to follow)"
    if meeting.kind == "unclear":
        return f"{together} (hipport does not understand the text of the function around it)"
    if meeting.other == (source.path, offset):
        return f"{together} (not from different branches at different times)"
    other = project.by_path[meeting.other.path]
    line = other.line_read(meeting.other.offset)
    where = f"line {line}" if other.path == source.path else f"{other.path.as_posix()}, line {line}"
    branch = ", in the other branch" if meeting.kind == "branch" else ""
    return f"{together} (none of them is at the call on {where}{branch})"


def _macros(source: Cpp, project: Project, helpers: Mapping[bytes, bytes]) -> Iterator[Finding]:
    """Find macros that are an intrinsic with a mask for CUDA, and the form without one for AMD's whole wavefront."""
    code = source.code
    if b"_sync" not in code or not source.hip_only:
        return
    if project.union_over(source, sizes_of_wavefronts):
        return  # A program with the wavefront's size for AMD means its shuffles, too.
    for_cuda = {match[1]: match[2] for match in _FOR_CUDA.finditer(code) if within(match.start(), source.cuda_only)}
    for match in _FOR_HIP.finditer(code):
        if for_cuda.get(match[1]) != match[2] + b"_sync" or not within(match.start(), source.hip_only):
            continue
        span = Span(*match.span(2))
        need, header = include(source, project, "warp.h")
        name, helper = match[2].decode(), helpers[match[2]].decode()
        message = (
            f"{name} in {match[1].decode()} → {helper}: assumes that the macro has the same meaning on AMD as on "
            "CUDA, with 32 lanes and for half too"
        )
        edits = (Edit(span, helpers[match[2]]), *((need,) if need else ()))
        yield Finding(span, "macro", message, edits, Certainty.REVIEW, (header,))


def kept(source: Cpp, project: Project, part: Span) -> Iterator[Kept]:
    """Yield the helpers that a part of a file already calls after an earlier run."""
    names = {helper.removeprefix(_SPACE): name for name, helper in helper_rows(_TABLE)[1].items()}
    for span, name in source.names(frozenset(names)):
        before = b"".join(source.code[max(part.start, span.start - 2 * len(_SPACE)) : span.start].split())
        if part.start <= span.start < part.end and before.endswith(_SPACE):
            proof = _proof(source, project, span, names[name], meetings(source, project, _PORTED).get(span.start))
            yield Kept(span.start, span.end, (_SPACE + name).decode(), proof)


PASS = Pass(Cpp, find, proves=frozenset(("helper",)), kept=kept)
