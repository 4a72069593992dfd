# SPDX-License-Identifier: Apache-2.0
"""Report sizes that differ between AMD and CUDA where code of 32 lanes counts by them, however they are computed.

    #ifdef USE_ROCM
    constexpr int kLogWarp = 6;
    #else
    constexpr int kLogWarp = 5;
    #endif
    lane = threadIdx.x & ((1 << kLogWarp) - 1);  // 31 for CUDA, 63 for AMD

Such code takes remainders, quotients and bits of a thread's number, moves values by a distance, compares lanes, and
makes tiles. `hipport.analysis.wave_sizes` computes the number that it counts by. If that is 32 lanes for CUDA, and 64
on a GPU with wavefronts of 64, it contradicts intrinsics of 32 lanes. The definition that makes the difference then
gets CUDA's value, for review; it is left to a person if functions of wavefronts use it, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import NamedTuple

from hipport.analysis.built_ins import SHAPE
from hipport.analysis.references import Mentions, NamedDefinition
from hipport.analysis.wave_sizes import Origin, Size, WaveSizes, World, worlds
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp
from hipport_passes.device.waves.branches import Logical
from hipport_passes.device.waves.kinds import OF_32_LANES, on_wavefronts
from hipport_passes.device.waves.marks import BY_VARIABLE, COUNTED, TILES, is_thread
from hipport_passes.device.waves.pytorch_sizes import PYTORCH_SIZES
from hipport_passes.device.waves.sizes import named_as_warp

#: The value of a size for CUDA and on GPUs with 64 lanes: of lanes, half of them, the last lane, and its bits.
_LANES, _HALF, _LAST, _BITS = (32, 64), (16, 32), (31, 63), (5, 6)
_PAIRS = frozenset((_LANES, _HALF, _LAST, _BITS))
_OF_PYTORCH = re.compile(b"|".join(PYTORCH_SIZES))
_BRACKET = re.compile(rb"\w*\s*(?=\()")
#: The first value of a distance, and its bound: `d = kLanes / 2`, `d < kLanes`.
_SET = re.compile(rb"\b(?P<name>\w+)\s*(?:=(?!=)|(?P<below><(?![<=]))|<=)(?P<value>(?:[^;,{}=<>]|<<|>>)+)(?=[;,])")
#: `i` of `i < kSteps`, where values move by `1 << i` lanes.
_STEPS = re.compile(rb"\b1[uU]?\s*<<\s*(?P<step>\w+)")
_COMPARED = re.compile(
    rb"\b(?P<what>\w+(?:\s*[+-]\s*\w+)?)\s*(?:(?:[=!]=|>)\s*(?P<last>[\w:]+(?:\s*-\s*1)?|\([^()]*\))|"
    rb"(?:<|>=)\s*(?P<size>[\w:]+|\([^()]*\)))(?=\s*(?:[);?]|&&|\|\|))"
)
#: `i &= kLanes - 1;`, for a variable that holds a thread's number.
_CHANGED = re.compile(rb"(?<=[\w \t])(?:&=(?P<mask>[^;]+)|[%/]=(?P<size>[^;]+)|>>=(?P<shift>[^;]+));")
#: The threads of a block in its first dimension, if it has another one: `dim3 block(kLanes, 4)`.
_BLOCK = re.compile(rb"\b" + SHAPE + rb"\b\s*(?:\w+\s*)?[({](?P<x>(?:[^(){},;]|\([^(){},;]*\))+),")
_NUMBER = re.compile(rb"[\d\s<>+*/()uU-]+")
_WORD = re.compile(rb"[A-Za-z_]\w*")


class _Role(NamedTuple):
    """An expression that counts lanes, and its values if these are 32 for CUDA and 64 on AMD."""

    span: Span
    pair: tuple[int, int]
    #: Whether only lanes can be meant, whatever its name is.
    sure: bool = False


class _Met(NamedTuple):
    """The definition that makes the difference, `base`, if it is known; the expression that counts by it; its user."""

    size: Size
    base: Origin | None
    role: Span
    user: NamedDefinition

    @property
    def source(self) -> Cpp:
        """The file of the finding."""
        return self.base.source if self.base is not None else self.user.source

    def where(self, reader: PurePath | None) -> str:
        """Say which code counts lanes by which expression, and on which line; with the file if it is not `reader`."""
        source = self.user.source
        counted = b" ".join(source.code[self.role.start : self.role.end].split()).decode("utf-8", "replace")
        line = source.line_read(self.role.start)
        place = f"line {line}" if source.path == reader else f"{source.path.as_posix()}, line {line}"
        return f"{self.user.name} counts lanes by `{counted}` ({place}), beside intrinsics of 32 lanes"


def of_roles(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each definition of the file by which code of 32 lanes counts 64 of them."""
    component = project.component(source)
    for met in component.fact(_meetings):
        if met.source is source:
            yield _finding(met, component)


def _finding(met: _Met, component: Component) -> Finding:
    sizes, base, where = component.fact(WaveSizes), met.base, met.where(met.source.path)
    if base is None:
        cuda, wave = met.size.pair
        by = "; ".join(f"{each.name.decode('utf-8', 'replace')} = {each.text.decode()}" for each in met.size.way)
        message = f"{wave} on GPUs with 64 lanes and {cuda} for CUDA, by {by}: {where}: use 32 lanes throughout"
        return Finding(met.role, "size", message, certainty=Certainty.MANUAL)
    defined = sizes.of_definition(base)
    cuda, wave = (defined if defined.pair in _PAIRS else sizes.of_origin(base)).pair
    said = f"{base.name.decode('utf-8', 'replace')} = {base.text.decode('utf-8', 'replace')}"
    mentions = component.fact(Mentions)
    native = [
        each
        for definition in mentions.named(base.name.removesuffix(b"()"))
        for each in mentions.transitive_users(definition)
        if each.function is not None and on_wavefronts(each.function)
    ]
    if native:
        message = (
            f"{said} is {wave} on GPUs with 64 lanes and {cuda} for CUDA: {where}, and {native[0].name} is of the "
            "whole wavefront: give each the number that it needs"
        )
        return Finding(base.span, "size", message, certainty=Certainty.MANUAL)
    other = sizes.definition(base.name, World.CUDA, base.source, base.span.start)
    new = b"%d" % (cuda or 0)
    if other is not None and other != base and _NUMBER.fullmatch(other.text):
        new = other.text
    elif base.text.startswith(b"if"):
        new = b"return %b;" % new
    message = f"{said} → {new.decode()}: assumes that it is of the program's warps; {where}"
    return Finding(base.span, "size", message, (Edit(base.span, new),), Certainty.REVIEW)


def _meetings(component: Component) -> tuple[_Met, ...]:
    """Return a place for each definition by which code of 32 lanes counts 64 lanes on AMD."""
    files = [each for each in component if isinstance(each, Cpp)]
    if not any(each.hip_only or any(each.by_waves) for each in files):
        return ()
    logical = component.fact(Logical)
    if not logical.having:
        return ()
    sizes = component.fact(WaveSizes)
    found: dict[tuple[Cpp, Span], _Met] = {}
    for met in (*_by_roles(component, sizes), *_by_words(logical, sizes)):
        place = (met.base.source, met.base.span) if met.base is not None else (met.user.source, met.role)
        found.setdefault(place, met)
    return tuple(found.values())


def counted_by(component: Component, name: bytes, cuda: int, wave: int) -> str:
    """Say which code of 32 lanes counts by a name, if a build defines it as one number for CUDA and another for AMD."""
    logical = component.fact(Logical)
    if not logical.having or (cuda, wave) not in _PAIRS:
        return ""
    known = component.fact(WaveSizes)
    met = next(_by_roles(component, known.assuming(name, (cuda, wave, wave)), known), None)
    return met.where(None) if met is not None else ""


def _counting(component: Component) -> tuple[tuple[NamedDefinition, tuple[_Role, ...]], ...]:
    """Return the definitions that contain or reach intrinsics of 32 lanes, and the expressions by which they count."""
    logical = component.fact(Logical)
    mentions = logical.mentions
    # Only definitions that a function with such intrinsics may use are read.
    reachable = [each for each in mentions.definitions if each.function is not None and logical.reached_from(each)]
    used = frozenset(mentions.reached_from_any(reachable))
    found = []
    for user in (each for each in mentions.definitions if each in used):
        roles = tuple(each for each in _roles(user) if _is_asked(user.source, each))
        if roles and logical.uses(user):
            found.append((user, roles))
    return tuple(found)


def _by_roles(component: Component, sizes: WaveSizes, without: WaveSizes | None = None) -> Iterator[_Met]:
    """Yield the expressions with another number of lanes on AMD, except those that `without` explains already."""
    having = component.fact(Logical).having
    for user, roles in component.fact(_counting):
        for role in roles:
            text = user.source.code[role.span.start : role.span.end]
            for size in sizes.of(user.source, text, role.span.start):
                if size.pair != role.pair or not (role.sure or user in having or _named(user, text, size)):
                    continue
                # Module pytorch_sizes handles PyTorch's sizes.
                if any(_OF_PYTORCH.search(each) for each in (text, *(origin.text for origin in size.way))):
                    continue
                before = without.of(user.source, text, role.span.start) if without is not None else ()
                if all(each.pair != role.pair for each in before):
                    yield _Met(size, _base(size, sizes), role.span, user)


def _by_words(logical: Logical, sizes: WaveSizes) -> Iterator[_Met]:
    """Yield the constants of 64 lanes, 32 for CUDA, that functions with intrinsics mention, whatever their use is."""
    constants = {
        name: origin
        for name, found in sizes.definitions.items()
        for origin in (each.origin for each in found)
        if World.WAVE64 in worlds(origin.source, origin.span.start)
        and sizes.of_definition(origin).pair == _LANES
        and not _OF_PYTORCH.search(origin.text)
    }
    macros = {name: each for each in logical.mentions.definitions if each.function is None for name in each.names}
    # In the order of the sources: messages must not depend on the order of a set.
    for user in (each for each in logical.mentions.definitions if constants and each in logical.having):
        waiting, seen = [user], {user}
        while waiting:
            holder = waiting.pop()
            for match in holder.matches(_WORD):
                word = match.group()
                if word in constants and World.CUDA in worlds(holder.source, match.start()):
                    size = sizes.of_definition(constants[word])
                    yield _Met(size, _base(size, sizes), Span(*match.span()), holder)
                elif word in macros and macros[word] not in seen:
                    seen.add(macros[word])
                    waiting.append(macros[word])


def _named(user: NamedDefinition, text: bytes, size: Size) -> bool:
    """Whether a number has a usual name for numbers of lanes: 64 may also be the size of a tile or a vector."""
    return any(map(named_as_warp, (text, *user.names, *(each.name for each in size.way))))


def _is_asked(source: Cpp, role: _Role) -> bool:
    """Whether HIP and CUDA both see a place, and its size may differ between them: that of a literal does not."""
    return (
        worlds(source, role.span.start) >= {World.CUDA, World.WAVE64}
        and _WORD.search(source.code, role.span.start, role.span.end) is not None
    )


def _base(size: Size, sizes: WaveSizes) -> Origin | None:
    """Return the last definition, or argument, on the way that has another number of lanes for AMD."""
    for origin in reversed(size.way):
        if sizes.of_definition(origin).pair in _PAIRS or sizes.of_origin(origin).pair in _PAIRS:
            return origin
    return None


def _roles(user: NamedDefinition) -> Iterator[_Role]:
    """Yield the expressions of a definition that count lanes."""
    source = user.source
    for pattern in (COUNTED, BY_VARIABLE, _CHANGED):
        for match in user.matches(pattern):
            if pattern is not COUNTED and not is_thread(user, match.start()):
                continue
            for group, pair in (("size", _LANES), ("mask", _LAST), ("shift", _BITS)):
                if group in match.re.groupindex and match[group]:
                    yield _Role(source.trimmed(Span(*match.span(group))), pair)
    for match in user.matches(_COMPARED):
        if b"lane" in match["what"].lower():
            group = "last" if match["last"] else "size"
            yield _Role(Span(*match.span(group)), _LAST if group == "last" else _LANES)
    for match in user.matches(TILES):
        yield _Role(Span(*match.span("size" if match["size"] else "given")), _LANES)
    for match in user.matches(_BLOCK):
        yield _Role(source.trimmed(Span(*match.span("x"))), _LANES, sure=True)
    yield from _moves(user)


def _moves(user: NamedDefinition) -> Iterator[_Role]:
    """Yield the distances and widths of shuffles, and the first values and bounds of their variables."""
    source = user.source
    moved: set[bytes] = set()
    steps: set[bytes] = set()
    for match in user.matches(OF_32_LANES):
        bracket = _BRACKET.match(source.code, match.end()) if b"shfl" in match.group() else None
        given = (source.arguments(bracket.end()) if bracket is not None else None) or ()
        if len(given) > 2:
            yield _Role(given[2], _HALF)
            moved.update(_WORD.findall(source.code, given[2].start, given[2].end))
            steps.update(each["step"] for each in _STEPS.finditer(source.code, given[2].start, given[2].end))
        if len(given) > 3:
            yield _Role(given[3], _LANES)
    for match in user.matches(_SET) if moved else ():
        span = source.trimmed(Span(*match.span("value")))
        if match["name"] in steps and match["below"]:
            yield _Role(span, _BITS)
        elif match["name"] in moved:
            yield _Role(span, _LANES if match["below"] else _HALF)
