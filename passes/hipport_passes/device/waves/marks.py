# SPDX-License-Identifier: Apache-2.0
"""Find code that relies on AMD's whole wavefront, code that relies on 32 lanes, and uses of both together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from hipport.analysis import constant_values, template_arguments
from hipport.analysis.references import Mentions, NamedDefinition
from hipport.core.edits import Span
from hipport.core.tables import Words, one_of
from hipport.program.project import Component
from hipport.syntax.cpp import Cpp, within, word_before
from hipport.syntax.cuda_names import NAMES, PARTITION
from hipport_passes.device.waves.distances import stays_in_half
from hipport_passes.device.waves.kinds import OF_32_LANES, narrow_mask, not_on_device
from hipport_passes.device.waves.sizes import named_as_warp, sized

_LANES = 32
_WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
#: Functions with a bit or a value for each lane of the wavefront, in code for AMD.
WAVE_FUNCTION = _WORDS.compile(
    rb"\b(?:__(?&of_hip)|(?&builtin_amd)(?&builtins))\s*\(|"
    rb"\b(?&warp_size)\b|\b(?&wavefront_size)(?:__)?\b|"
    # Moves of values from one half to the other, wave_shl to row_bcast31.
    rb"\b(?&builtin_amd)(?&moves)\s*\([^;]*?,\s*0x1(?:3[048cC]|4[23])\b|"
    # These act on the whole wavefront by default, or on 64 lanes.
    rb"\b(?&libraries)\s*::\s*[Ww]arp(?:_?[A-Za-z]\w*)\s*<(?:[^;{}<>,]*|[^;{}<>]*,\s*64\s*)>"
)
_OF_PYTORCH = _WORDS["of_pytorch"].encode().split()
_PYTORCH = one_of(b" ".join(_OF_PYTORCH).decode()).encode()
#: PyTorch's functions for both compilers. CUB's namespace has some of the names, too.
OF_PYTORCH = _WORDS.compile(
    rb"\b(?<!\b(?&cub)::)(?:(?&votes_of_pytorch)|" + _PYTORCH + rb")\b|\b(?&size_of_pytorch)\b|"
    rb"\b(?&helpers)\s*::\s*(?&reducers)\w*"
)
_IN_BRACKETS = rb"\([^()]*(?:\([^()]*\)[^()]*)*\)"
#: Lanes, threads or ranks, and their divisors.
COUNTED = _WORDS.compile(
    rb"(?:\b(?&thread_index)\s*\.\s*[xyz]|\b(?i:\w*(?&counters)\w*)(?:\s*\(\s*\))?|\b(?&thread_rank)\s*\(\s*\))\s*\)?\s*"
    rb"(?:[%/](?!=)\s*(?P<size>[\w:]+\s*\(\s*\)|[\w:]+\b(?!\s*\()(?:\[\w+\])?|" + _IN_BRACKETS + rb")|"
    rb"&\s*(?P<mask>[\w:]+\b(?!\s*\()(?:\[\w+\])?|" + _IN_BRACKETS + rb")|"
    rb">>(?!=)\s*(?P<shift>[\w:]+\b(?!\s*\()))"
)
#: The same with other variables that hold a thread's number.
BY_VARIABLE = re.compile(
    rb"(?<=[\w \t])(?:%(?!=)\s*(?P<size>[\w:]+\b(?!\s*\())|&(?![&=])\s*(?P<mask>[\w:]+\b(?!\s*\()|\([^()]*\)))"
)
_NAME = re.compile(rb"[A-Za-z_]\w*")
_LESS_ONE = re.compile(rb"\(\s*(\w+)\s*-\s*1[uU]?\s*\)")
#: Groups with a number of lanes.
TILES = _WORDS.compile(
    rb"\b(?&tiles)\s*<\s*(?P<size>[\w:]+)\s*[,>]|"
    rb"\b(?&tile)\s*\((?:[^;(),]|\([^()]*\))*,\s*(?P<given>[\w:]+)\s*\)"
)
_FOUND_GROUPS = _WORDS.compile(rb"\b" + PARTITION + rb"\s*[(<]|\b(?&found_groups)\b")
#: Before the port: `hipport::warp_size` replaces `warpSize` where that does not mean the wavefront's size.
_WARP_SIZE = _WORDS.compile(rb"\b(?&hipport)::(?&size_of_helpers)\b")


class Mark(NamedTuple):
    """A place that shows the intended number of lanes, and the definition that contains it."""

    definition: NamedDefinition
    span: Span

    @property
    def text(self) -> str:
        """Return the text at that place."""
        code = self.definition.source.code[self.span.start : self.span.end]
        return b" ".join(code.split()).rstrip(b"(, ").decode("utf-8", "replace")

    @property
    def line(self) -> int:
        """Return the line in the original file."""
        source = self.definition.source
        return source.line_read(self.span.start)


class Mixed(NamedTuple):
    """A mark for wavefronts, the mark for 32 lanes that is used together with it, and the definition that uses both."""

    native: Mark
    logical: Mark
    user: NamedDefinition


def counted(component: Component, match: re.Match[bytes]) -> int | None:
    """Return the number of lanes that a match of `COUNTED` counts by; None if it is unknown."""
    if match["size"]:
        return constant_values.value_in(component, match["size"])
    if match["mask"]:
        mask = constant_values.value_in(component, match["mask"])
        return None if mask is None else mask + 1
    shift = constant_values.value_in(component, match["shift"])
    return None if shift is None or not 0 <= shift < 32 else 1 << shift


def mixed(component: Component) -> tuple[Mixed, ...]:
    """Return marks for wavefronts that are used together with marks for 32 lanes, one per definition."""
    files = [file for file in component if isinstance(file, Cpp)]
    if not any(file.fact(may_be_native) or file.fact(_counts) for file in files):
        return ()
    if not any(file.fact(_may_be_logical) for file in files):
        return ()
    mentions = component.fact(Mentions)
    own = own_names(files)
    natives = {
        each: mark for each in mentions.having(_native_places) if (mark := _first(native_marks(each, own, component)))
    }
    counting = {each: mark for each in mentions.having(_counts) if (mark := _first(_by_64(each, component)))}
    if not natives and not counting:
        return ()
    having = mentions.having(_logical_places)
    logicals = {each: mark for each in having if (mark := _first(_logical_marks(each, component, own)))}
    found = list(_meeting(mentions, natives, logicals))
    # A thread's number by 64 may be of a tile, except beside intrinsics of 32 lanes.
    known = {each.user for each in found}
    by_64 = {each: mark for each, mark in counting.items() if each not in natives}
    intrinsics = {each: mark for each in logicals if (mark := _first(_of_intrinsics(each, component, own)))}
    found += [each for each in _meeting(mentions, by_64, intrinsics) if each.user not in known]
    return tuple(found)


def _native_places(source: Cpp) -> tuple[int, ...]:
    return source.fact(_natives)


def _natives(source: Cpp) -> tuple[int, ...]:
    """Return the places where `native_marks` may find something."""
    patterns = [OF_PYTORCH]
    of_hip = source.begun_as_hip or source.side == "hip" or bool(source.hip_only)
    found = [match.start() for match in source.fact(sized)] if of_hip else []
    if of_hip:
        patterns.append(WAVE_FUNCTION)
    return (*found, *(match.start() for pattern in patterns for match in pattern.finditer(source.code)))


def _counts(source: Cpp) -> tuple[int, ...]:
    """Return the places in branches for HIP where threads' numbers are counted."""
    if not source.hip_only:
        return ()
    return tuple(match.start() for match in COUNTED.finditer(source.code) if within(match.start(), source.hip_only))


def _by_64(definition: NamedDefinition, component: Component) -> Iterator[Mark]:
    """Yield where a branch for HIP counts threads by a literal number for 64 lanes."""
    source = definition.source
    for match in definition.matches(COUNTED):
        said = match["size"] or match["mask"] or match["shift"]
        if not said.isdigit() or counted(component, match) != 2 * _LANES:
            continue
        if within(match.start(), source.hip_only) and any_gpu(source, match.start()):
            yield Mark(definition, Span(*match.span()))


def _of_intrinsics(definition: NamedDefinition, component: Component, own: frozenset[bytes]) -> Iterator[Mark]:
    """Yield the marks for 32 lanes that are intrinsics."""
    source = definition.source
    for mark in _logical_marks(definition, component, own):
        if OF_32_LANES.match(source.code, mark.span.start):
            yield mark


def _logical_places(source: Cpp) -> tuple[int, ...]:
    return source.fact(_logicals)


def _logicals(source: Cpp) -> tuple[int, ...]:
    """Return the places where `_logical_marks` may find something."""
    patterns = (OF_32_LANES, COUNTED, BY_VARIABLE, TILES, _WARP_SIZE, _FOUND_GROUPS)
    return tuple(match.start() for pattern in patterns for match in pattern.finditer(source.code))


class AskedWave(NamedTuple):
    """Whether any code of a program relies on wavefronts, and whether any relies on 32 lanes."""

    native: bool
    logical: bool


def asked(component: Component) -> AskedWave:
    """Return the sizes that the program's device code relies on, which the host's query for a warp size may mean."""
    files = [file for file in component if isinstance(file, Cpp)]
    own = own_names(files)
    native = any(
        match.group() not in own and not within(match.start(), file.cuda_only)
        for file in files
        for match in OF_PYTORCH.finditer(file.code)
    )
    logical = any(
        not within(match.start(), file.cuda_only) for file in files for match in OF_32_LANES.finditer(file.code)
    )
    return AskedWave(native, logical)


def _meeting(
    mentions: Mentions, natives: Mapping[NamedDefinition, Mark], logicals: Mapping[NamedDefinition, Mark]
) -> Iterator[Mixed]:
    # The host may launch kernels of both kinds, and no device code uses host code.
    devices = [each for each in mentions.definitions if each in natives or _on_device(each)]
    users = mentions.users_among(devices)
    without: set[NamedDefinition] = set()
    for native, mark in natives.items():
        for user in mentions.transitive_users_by(native, users):
            if user in without or not _on_device(user):
                continue
            reached = []
            for each in mentions.following_from(user, without):
                reached.append(each)
                if each in logicals:
                    break
            else:
                without.update(reached)
                continue
            yield Mixed(mark, logicals[each], user)
            break


_ON_DEVICE = _WORDS.compile(rb"\b(?&on_device)\b|\b\w*(?&device_macros)\w*\b|\b\w*(?i:(?&device_words))\w*\b")
_ASKS_LANES = _WORDS.compile(rb"\b(?&thread_index)\b")


def _on_device(definition: NamedDefinition) -> bool:
    function = definition.function
    return function is None or bool(
        _ON_DEVICE.search(function.head) or function.mentions(_ASKS_LANES) or WAVE_FUNCTION.search(function.head)
    )


def native_marks(
    definition: NamedDefinition, own: frozenset[bytes] = frozenset(), component: Component | None = None
) -> Iterator[Mark]:
    """Yield the marks for whole wavefronts in a definition's own text; `own` are names of the program.

    With the `component`, shuffles that stay in half of a wavefront do not count.
    """
    source = definition.source
    for match in definition.matches(WAVE_FUNCTION):
        if not (source.begun_as_hip or source.side == "hip" or within(match.start(), source.hip_only)):
            continue
        if not any_gpu(source, match.start()):
            continue
        if match.group().startswith(b"__shfl"):
            given = source.arguments(match.end() - 1)
            # A shuffle may have a width.
            if given is None or (len(given) == 3 and not _is_wide(component, source, given[2])):
                continue
            by_distance = match.group().startswith(b"__shfl_xor") and len(given) >= 2
            if by_distance and component is not None and stays_in_half(component, definition, given[1]):
                continue
        yield Mark(definition, Span(*match.span()))
    for match in source.fact(sized) if source.hip_only or source.begun_as_hip else ():
        start = match.start("value")
        wide = match["value"] != b"32" and named_as_warp(match["name"]) and match["name"] in definition.names
        for_amd = source.begun_as_hip or within(start, source.hip_only)
        inside = definition.span.start <= start < definition.span.end
        if wide and inside and for_amd and not within(start, source.cuda_only) and any_gpu(source, start):
            yield Mark(definition, Span(match.start("name"), match.end("value")))
    for match in definition.matches(OF_PYTORCH):
        if match.group() not in own:
            yield Mark(definition, Span(*match.span()))


def _is_wide(component: Component | None, source: Cpp, width: Span) -> bool:
    text = source.code[width.start : width.end].strip()
    known = (
        constant_values.value_in(component, text) if component is not None else int(text) if text.isdigit() else None
    )
    return known == 2 * _LANES


def any_gpu(source: Cpp, offset: int) -> bool:
    """Return whether a place is not only for GPUs of one wavefront size, for which that size is right."""
    return not within(offset, source.by_waves[0]) and not within(offset, source.by_waves[1])


def _groups_of_hipport(component: Component) -> bool:
    return any(isinstance(file, Cpp) and b"hipport::cooperative_groups" in file.code for file in component)


def _of_32(definition: NamedDefinition, component: Component, match: re.Match[bytes]) -> bool:
    """Return whether the divisor, or the size of a tile, is 32."""
    if match.re is COUNTED or match.re is BY_VARIABLE:
        less = _LESS_ONE.fullmatch(match["mask"] or b"")
        name = less[1] if less is not None else match["size"]
        if match.re is BY_VARIABLE and not is_thread(definition, match.start()):
            return False
        said = match["size"] or match["mask"] or (match.re is COUNTED and match["shift"]) or b""
        if constant_values.hidden(definition.function, said, match.start()):
            return name is not None and _is_default(definition, name)
        if (match["size"] or match["mask"] or less) and counted(component, match) == _LANES:
            return True
        if name is not None:
            return _may_be(definition, component, name, _LANES)
        shift = match.re is COUNTED and match["shift"]
        if shift:
            return counted(component, match) == _LANES or _may_be(definition, component, shift, 5)
        return bool(match["mask"]) and _may_be(definition, component, match["mask"], _LANES - 1)
    if match.re is TILES:
        name = match["size"] or match["given"]
        return constant_values.value_in(component, name) == _LANES or _may_be(definition, component, name, _LANES)
    return True


def is_thread(definition: NamedDefinition, offset: int) -> bool:
    """Return whether the word before the place is a variable that holds a thread's number."""
    code = definition.source.code
    name = word_before(code, offset)
    if not name or definition.function is None:
        return False
    given = _WORDS.compile(rb"\b" + re.escape(name) + rb"\s*[={(]\s*[^;{}]*\b(?&thread_index)\s*\.")
    return given.search(code, definition.span.start, offset) is not None


def _may_be(definition: NamedDefinition, component: Component, name: bytes, number: int) -> bool:
    """Return whether a template's parameter, or a member of one that is a class, may be a number."""
    function = definition.function
    if number == _LANES and _is_default(definition, name):
        return True
    if function is None:
        return False
    owner, _, member = name.rpartition(b"::")
    if owner:
        return owner in function.template_parameters and number in constant_values.members(component, member)
    if name not in function.template_parameters:
        return False
    return number in (template_arguments.values_of(component, function, name, some=True) or ())


def _is_default(definition: NamedDefinition, name: bytes) -> bool:
    """Return whether the default of a template's or a function's parameter is 32."""
    function = definition.function
    if function is None:
        return False
    outer = function.node.parent
    start = outer.start_byte if outer is not None and outer.type == "template_declaration" else function.node.start_byte
    given = re.compile(rb"\b" + re.escape(name) + rb"\s*=\s*32\b")
    return given.search(definition.source.code, start, function.body.start_byte) is not None


def _logical_marks(definition: NamedDefinition, component: Component, own: frozenset[bytes]) -> Iterator[Mark]:
    """Yield the marks for 32 lanes in a definition."""
    found = (_FOUND_GROUPS,) if component.fact(_groups_of_hipport) else ()
    source = definition.source
    for pattern in (OF_32_LANES, COUNTED, BY_VARIABLE, TILES, _WARP_SIZE, *found):
        for match in definition.matches(pattern):
            if not _of_32(definition, component, match):
                continue
            name = match.group()
            of_hip = bool(source.side) or source.begun_as_hip
            if name.startswith(b"__") and (name in own or (of_hip and not _narrow(source, match))):
                continue  # The program's own, or HIP's.
            # A person's code for AMD means the wavefront, except where hipport wrote it.
            if within(match.start(), source.hip_only) and not match.group().startswith(b"hipport"):
                continue
            if not within(match.start(), source.fact(not_on_device)):
                before = len(word_before(source.code, match.start())) + 1 if pattern is BY_VARIABLE else 0
                yield Mark(definition, Span(match.start() - before, match.end()))


def _narrow(source: Cpp, match: re.Match[bytes]) -> bool:
    return narrow_mask(source, Span(*match.span()))


def _first(marks: Iterable[Mark]) -> Mark | None:
    return next(iter(marks), None)


def may_be_native(source: Cpp) -> bool:
    return bool(
        ((source.hip_only or source.begun_as_hip or source.side == "hip") and WAVE_FUNCTION.search(source.code))
        or OF_PYTORCH.search(source.code)
    )


def _may_be_logical(source: Cpp) -> bool:
    return any(pattern.search(source.code) for pattern in (OF_32_LANES, COUNTED, BY_VARIABLE, TILES, _WARP_SIZE))


_DEFINED = _WORDS.compile(rb"^[ \t]*#[ \t]*define[ \t]+(" + _PYTORCH + rb"|__\w+(?&masked)|(?&active_mask))\b", re.M)


_INTRINSICS = _WORDS.compile(rb"__\w+(?&masked)|(?&active_mask)")


def own_names(files: Iterable[Cpp]) -> frozenset[bytes]:
    """Return PyTorch's names and names of intrinsics that the program itself defines for HIP."""
    return frozenset(
        match[1]
        for file in files
        if b"define" in file.words and (file.matched(_INTRINSICS) or not file.words.isdisjoint(_OF_PYTORCH))
        for match in _DEFINED.finditer(file.code)
        if not within(match.start(), file.cuda_only)
    )
