# SPDX-License-Identifier: Apache-2.0
"""Sizes of warps that differ between HIP and CUDA, and the code that uses them.

The size may be a macro, a constant, an enumerator, a member or a function without parameters. It reaches functions with
intrinsics of 32 lanes if these contain its name, as an argument of their templates, by the launch of a kernel, and
through constants computed from it. Then it must be 32 for HIP, too, or the functions rely on lanes that they do not
have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hipport.analysis.functions import functions
from hipport.analysis.references import Mentions, NamedDefinition
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport.program.project import Component, Project
from hipport.syntax import cuda_names
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import NAMES
from hipport_passes.device.waves.kinds import on_wavefronts, places_on_wavefronts

#: CUDA's functions whose first argument is a mask.
MASKED = re.compile(cuda_names.MASKED)
_WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
#: CUB's classes of a warp, which `cub_thrust` gives 32 lanes.
OF_WARPS = _WORDS.composed(rb"(?&of_warps)")
CUB = _WORDS.compile(rb"(?&cub)\s*::\s*(" + OF_WARPS + rb")\b")
_INTRINSIC = _WORDS.compile(rb"\b(?:" + MASKED.pattern + rb")\b|\b(?&hipport)::\w+(?&masked)\b|" + CUB.pattern)
_NAMED = _WORDS.composed(rb"(?&named)")
_SIZE = re.compile(rb"(?:0x40|64|32)[uU]?|" + _NAMED)
_VALUE = _WORDS.composed(
    rb"(?P<value>(?:0x40|64|32)[uU]?|(?:::(?=(?&warp_size)))?" + _NAMED + rb")\b"
    rb"(?!\s*[-+*/<>])(?![ \t]*\w)"
)
_SIZED = tuple(
    re.compile(pattern + _VALUE)
    for pattern in (
        rb"#[ \t]*define[ \t]+(?P<name>\w+)(?:\([ \t]*\))?[ \t]+\(?[ \t]*",
        # `\bconst` in a form that starts with a literal letter, which makes the search many times faster.
        rb"c(?<!\wc)onst(?:expr)?\b[\w\s:]*?\b(?P<name>\w+)\s*(?:=|\{)\s*",
        rb"e(?<!\we)num\b[^;{}()]*\{(?:[^{}]*,)?\s*(?P<name>\w+)\s*=\s*",
        _WORDS.composed(rb"u(?<!\wu)sing\s+(?P<name>\w+)\s*=\s*(?:(?&std)\s*::\s*)?(?&constants)\s*<[^<>;,]*,\s*"),
        rb"\b(?P<name>\w+)\s*\(\s*(?:void)?\s*\)[\s\w]*\{\s*return\s+\(?\s*",
    )
)
#: The names of constants that are sizes of warps; other constants may be 64 for other reasons.
_OF_A_WARP = _WORDS.compile(rb"(?i)(?&of_lanes)")
_TEMPLATE_OF = re.compile(rb"\b(\w+)\s*<(?!<)([^;(){}<>]*)>")
_WORD = re.compile(rb"[A-Za-z_]\w*")


def named_as_warp(name: bytes) -> bool:
    """Return whether a constant has a name that is usual for sizes of warps."""
    return _OF_A_WARP.search(name) is not None


def sized(source: Cpp) -> tuple[re.Match[bytes], ...]:
    """Return the definitions of sizes: their `name`, and their `value`."""
    if not source.matched(_SIZE):
        return ()
    return tuple(match for pattern in _SIZED for match in pattern.finditer(source.code))


def sizes(source: Cpp) -> frozenset[tuple[bytes, bool]]:
    """Return the names of possible warp sizes, and whether only HIP compiles that definition."""
    return frozenset((match["name"], within(match.start(), source.hip_only)) for match in source.fact(sized))


def sizes_of_wavefronts(source: Cpp) -> frozenset[bytes]:
    """Return the constants for HIP only that are the size of a wavefront, 64 or AMD's own name for it."""
    if not source.hip_only:
        return frozenset()
    return frozenset(
        match["name"]
        for match in source.fact(sized)
        if within(match.start(), source.hip_only)
        and (b"SIZE" in match["value"].upper() or (match["value"][:2] != b"32" and named_as_warp(match["name"])))
    )


#: hipport's functions that act on 32 lanes with a mask.
HELPERS = _WORDS.compile(rb"\b(?&hipport)::\w+(?&masked)\b")


def with_intrinsics(definition: NamedDefinition) -> bool:
    """Return whether a definition has intrinsics of 32 lanes that both compilers see."""
    ported = definition.source.ported
    return any(not ported(match.start()) for match in definition.matches(_INTRINSIC))


def having_intrinsics(mentions: Mentions) -> list[NamedDefinition]:
    """Return the definitions with intrinsics of 32 lanes, that both compilers see."""
    return [each for each in mentions.having(_places) if with_intrinsics(each)]


def _places(source: Cpp) -> tuple[int, ...]:
    return source.fact(_intrinsics)


def _intrinsics(source: Cpp) -> tuple[int, ...]:
    return tuple(match.start() for match in _INTRINSIC.finditer(source.code))


def _with_intrinsics(source: Cpp) -> frozenset[bytes]:
    """Return the words of functions and macros with intrinsics of CUDA or CUB that both compilers see."""
    found: set[bytes] = set()
    spans = [span for span, _ in source.names(MASKED)]
    spans += (Span(*match.span(1)) for match in CUB.finditer(source.code))
    # Intrinsics that an earlier run has ported to 32 lanes.
    spans += (Span(*match.span()) for match in HELPERS.finditer(source.code))
    spans = [span for span in spans if not source.ported(span.start)]
    for function in functions(source) if spans else ():
        start, end = function.node.start_byte, function.node.end_byte
        if any(start <= span.start < end for span in spans):
            found.update(_WORD.findall(source.code, start, end))
    for span in spans:
        directive = source.directive(span.start)
        if directive is not None:
            found.update(_WORD.findall(source.code, directive.start, directive.end))
    return frozenset(found)


def of_hip(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each size that differs for HIP, and that reaches intrinsics of 32 lanes."""
    known = project.union_over(source, sizes)
    beside = {name for name, hip in known if hip} & {name for name, hip in known if not hip}
    if not beside or not source.hip_only:
        return
    used = project.union_over(source, _with_intrinsics)
    if not used:
        return
    given = project.component(source).fact(_handed_on)
    for match in source.fact(sized):
        name = match["name"]
        if name not in beside or match["value"] == b"32" or not within(match.start(), source.hip_only):
            continue
        if name in given.native or not (
            name in used or name in given.names or (named_as_warp(name) and name in given.words)
        ):
            continue  # If it is also used for wavefronts, `mixed_waves` reports it.
        message = (
            f"{name.decode()} = {match['value'].decode()} → 32: assumes that it is the size of the program's "
            "warps, whose intrinsics act on 32 lanes"
        )
        span = Span(*match.span("value"))
        yield Finding(span, "size", message, (Edit(span, b"32"),), Certainty.REVIEW)


class _HandedOn(NamedTuple):
    """Names in definitions that use functions with intrinsics of 32 lanes."""

    #: Template arguments of such functions, and the constants that these are computed from.
    names: frozenset[bytes]
    #: All words of the definitions that call or launch them.
    words: frozenset[bytes]
    #: The words of functions for AMD's wavefront.
    native: frozenset[bytes]


def _handed_on(component: Component) -> _HandedOn:
    mentions = component.fact(Mentions)
    users = mentions.transitive_users_of_any(having_intrinsics(mentions))
    functions_ = {name for user in users if user.function is not None for name in user.names}
    names: set[bytes] = set()
    words: set[bytes] = set()
    for user in users:
        said = user.source.code[user.span.start : user.span.end]
        words.update(_WORD.findall(said))
        for match in _TEMPLATE_OF.finditer(said):
            if match[1] in functions_:
                names.update(_WORD.findall(match[2]))
    native = {
        word
        for each in mentions.having(places_on_wavefronts)
        if each.function is not None and on_wavefronts(each.function)
        for word in _WORD.findall(each.source.code, each.span.start, each.span.end)
    }
    for known in (names, words, native):
        # Add the constants that these are computed from.
        waiting = list(known)
        while waiting:
            for each in mentions.named(waiting.pop()):
                if each.function is None:
                    more = set(_WORD.findall(each.source.code, each.span.start, each.span.end)) - known
                    known |= more
                    waiting += more
    return _HandedOn(frozenset(names), frozenset(words), frozenset(native))
