# SPDX-License-Identifier: Apache-2.0
"""Which functions of files that belong together count lanes by AMD's wavefront, and which by the 32 of a warp.

Somebody wrote code that only AMD sees, which calls HIP's functions of the wavefront and asks for its size or takes 64
bits. Where there is such code, all of the program is ported already but for the functions of 32 lanes, and what calls
them. What either kind uses, through whatever functions, macros and constants, is of that kind, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from hipport.languages.cpp import Cpp, within
from hipport.languages.functions import Function
from hipport.languages.mentions import Definition, Mentions
from hipport.project import Component
from hipport.source import Span

# Functions of the whole wavefront, and of 32 lanes; what tells that 64 lanes were thought of.
_OF_WAVEFRONT = re.compile(rb"\b__(?:shfl(?:_up|_down|_xor)?|ballot|any|all)\s*\(")
_OF_32_LANES = re.compile(
    rb"\bhipport::(?:shfl|ballot|any|all|uni|activemask|match_|reduce_|lane)|"
    rb"\b__(?:shfl(?:_up|_down|_xor)?|any|all|uni|ballot|match_\w+|reduce_\w+)_sync\b|\b__activemask\b"
)
_BY_WAVEFRONT = re.compile(
    rb"\bwarpSize\b|\b__AMDGCN_WAVEFRONT_SIZE|\b__(?:popc|ffs|clz|brev)ll\b|\bunsigned\s+long\s+long\b|\buint64_t\b"
)
#: What has, or is, a bit or a value for each lane of the wavefront, in code that is for AMD.
WAVE_FUNCTION = re.compile(
    rb"\b(?:__(?:ballot|activemask|any|all|lane_id|shfl(?:_up|_down|_xor)?)|"
    rb"__builtin_amdgcn_(?:ballot_w64|mbcnt_hi|wavefrontsize))\s*\(|\bwarpSize\b|\b__AMDGCN_WAVEFRONT_SIZE(?:__)?\b"
)
#: PyTorch's of both compilers.
_OF_PYTORCH = re.compile(
    rb"\b(?:C10_WARP_SIZE|WARP_(?:SHFL(?:_UP|_DOWN|_XOR)?|BALLOT|ANY|ALL))\b|\bat::cuda::warp_size\b"
)
_PYTORCH = (b"WARP_SHFL", b"WARP_SHFL_UP", b"WARP_SHFL_DOWN", b"WARP_SHFL_XOR", b"WARP_BALLOT", b"C10_WARP_SIZE")
#: Lanes, threads or ranks, counted by 32.
COUNTED_BY_32 = re.compile(
    rb"(?:\bthreadIdx\.[xyz]|\b(?i:\w*(?:lane|thread|tid)\w*)(?:\(\))?|\bthread_rank\(\))\s*\)?\s*"
    rb"(?:&\s*\(?\s*(?:0x1[fF]|31)[uU]?\b|[%/]\s*32[uU]?\b|>>\s*5\b)"
)
#: Groups of 32 lanes at most: tiles of 32, and whatever hipport's header makes.
_GROUPS_OF_32 = re.compile(rb"\btiled_partition\s*<\s*32\s*>|\bthread_block_tile\s*<\s*32\b")
_FOUND_GROUPS = re.compile(rb"\b(?:coalesced_threads|labeled_partition|binary_partition)\s*[(<]|\bcoalesced_group\b")
#: Before the port: `hipport::warp_size` is what it makes of `warpSize`, wherever that is not the wavefront's.
_WARP_SIZE = re.compile(rb"\bhipport::warp_size\b")
_WORD = re.compile(rb"[A-Za-z_]\w*")


class Mark(NamedTuple):
    """A place that tells how many lanes are meant, and the definition that it is in."""

    definition: Definition
    span: Span

    @property
    def text(self) -> str:
        """What stands there."""
        code = self.definition.source.code[self.span.start : self.span.end]
        return b" ".join(code.split()).rstrip(b"( ").decode("utf-8", "replace")

    @property
    def line(self) -> int:
        """The line, in the file as it was read."""
        source = self.definition.source
        return source.first.position(source.origin(self.span).start)[0]


class Wavefronts:
    """The functions, of files that belong together, that work on whole wavefronts of AMD's as they are."""

    def __init__(self, component: Component) -> None:
        self._component = component
        self._any = False
        self._logical: frozenset[Function] = frozenset()
        self._others: frozenset[Function] = frozenset()
        files = [each for each in component if isinstance(each, Cpp)]
        # One file may have the functions, and another one the size.
        if not any(b"warpSize" in file.words for file in files) or not any(
            _OF_WAVEFRONT.search(file.code) for file in files
        ):
            return
        every = [each.function for each in self.mentions.definitions if each.function is not None]
        logical = {function for function in every if _of_32_lanes(function)}
        self._any = any(on_wavefronts(function) for function in every if function not in logical)
        while (
            more := {function for function in every if not function.called.isdisjoint({each.name for each in logical})}
            - logical
        ):
            logical |= more
        self._logical = frozenset(logical)
        self._others = frozenset(every) - self._logical

    @property
    def mentions(self) -> Mentions:
        """What the definitions of the files say of each other."""
        return self._component.fact(Mentions)

    @cached_property
    def _words(self) -> tuple[frozenset[bytes], frozenset[bytes]]:
        return _names(self._logical), _names(self._others)

    def names_in_logical(self, name: bytes) -> bool:
        """Whether functions of 32 lanes say the name."""
        return name in self._words[0]

    def names_in_others(self, name: bytes) -> bool:
        """Whether other functions say it."""
        return name in self._words[1]

    def __bool__(self) -> bool:
        return self._any

    def of(self, function: Function | None) -> bool:
        """Whether the function is one of them; what is outside of all is, too."""
        return self._any and function not in self._logical and not self._only_logical(function)

    def shared(self, function: Function | None) -> bool:
        """Whether functions of both kinds use the function, which tells of neither itself."""
        if function is None or not self._any or function in self._logical:
            return False
        logical, native = self._used_by(function)
        return logical and native

    def _only_logical(self, function: Function | None) -> bool:
        logical, native = self._used_by(function) if function is not None else (False, False)
        return logical and not native

    def _used_by(self, function: Function) -> tuple[bool, bool]:
        """Whether functions of 32 lanes use the function, and whether ones of wavefronts do, or it is one itself."""
        known = self._users.get(function)
        if known is None:
            users = [
                user.function
                for each in self.mentions.named(function.name)
                if each.function is function
                for user in self.mentions.reaching(each)
                if user.function is not None
            ]
            logical = any(each in self._logical and _of_32_lanes(each) for each in users)
            native = any(on_wavefronts(each) for each in users)
            known = self._users[function] = logical, native
        return known

    @cached_property
    def _users(self) -> dict[Function, tuple[bool, bool]]:
        """Those that were asked for."""
        return {}


class Mixed(NamedTuple):
    """Something of wavefronts, what of 32 lanes is used together with it, and by which definition."""

    native: Mark
    logical: Mark
    user: Definition


def mixed(component: Component) -> tuple[Mixed, ...]:
    """Return what counts on wavefronts beside something that counts on 32 lanes, one for each definition with it."""
    files = [file for file in component if isinstance(file, Cpp)]
    if not any(file.fact(_may_be_native) for file in files) or not any(file.fact(_may_be_logical) for file in files):
        return ()
    mentions = component.fact(Mentions)
    ours = any(b"hipport::cooperative_groups" in file.code for file in files)
    own = _own(files)
    natives = {each: mark for each in mentions.definitions if (mark := _first(native_marks(each, own)))}
    logicals = {each: mark for each in mentions.definitions if (mark := _first(_logical_marks(each, ours)))}
    if not natives or not logicals:
        return ()
    return tuple(_meeting(mentions, natives, logicals))


def _meeting(
    mentions: Mentions, natives: Mapping[Definition, Mark], logicals: Mapping[Definition, Mark]
) -> Iterator[Mixed]:
    for native, mark in natives.items():
        for user in mentions.reaching(native):
            # What the host does with both is launch kernels of both kinds.
            if user.function is not None and not _on_device(user):
                continue
            found = next((logicals[each] for each in mentions.reached(user) if each in logicals), None)
            if found is not None:
                yield Mixed(mark, found, user)
                break


_ON_DEVICE = re.compile(rb"\b__(?:device|global)__\b|\b\w*(?:DEVICE|GLOBAL|KERNEL)\w*\b|\b\w*(?i:device|inline)\w*\b")
_ASKS_LANES = re.compile(rb"\bthreadIdx\b")


def _on_device(definition: Definition) -> bool:
    function = definition.function
    return function is None or bool(
        _ON_DEVICE.search(function.head) or function.mentions(_ASKS_LANES) or WAVE_FUNCTION.search(function.head)
    )


def native_marks(definition: Definition, own: frozenset[bytes] = frozenset()) -> Iterator[Mark]:
    """Yield what a definition does with whole wavefronts, by its own words; `own` are names of the program's."""
    source = definition.source
    for match in definition.matches(WAVE_FUNCTION):
        if not (source.begun_as_hip or source.side == "hip" or within(match.start(), source.hip_only)):
            continue
        if within(match.start(), source.by_waves[0]) or within(match.start(), source.by_waves[1]):
            continue  # For GPUs of one size alone, and right there.
        if match.group().startswith(b"__shfl"):
            given = source.arguments(match.end() - 1)
            # A shuffle may say how wide it is.
            if given is None or len(given) == 3:
                continue
        yield Mark(definition, Span(*match.span()))
    for match in definition.matches(_OF_PYTORCH):
        if match.group() not in own:
            yield Mark(definition, Span(*match.span()))


def _logical_marks(definition: Definition, ours: bool) -> Iterator[Mark]:
    """Yield what it does with 32 lanes: `ours` says that groups are hipport's."""
    patterns = (_OF_32_LANES, COUNTED_BY_32, _GROUPS_OF_32, _WARP_SIZE, *((_FOUND_GROUPS,) if ours else ()))
    source = definition.source
    for pattern in patterns:
        for match in definition.matches(pattern):
            # What somebody wrote for AMD alone is meant so, but for what hipport put there.
            if not within(match.start(), source.hip_only) or match.group().startswith(b"hipport"):
                yield Mark(definition, Span(*match.span()))


def _first(marks: Iterable[Mark]) -> Mark | None:
    return next(iter(marks), None)


def _may_be_native(source: Cpp) -> bool:
    return bool(
        ((source.hip_only or source.begun_as_hip or source.side == "hip") and WAVE_FUNCTION.search(source.code))
        or _OF_PYTORCH.search(source.code)
    )


def _may_be_logical(source: Cpp) -> bool:
    return any(pattern.search(source.code) for pattern in (_OF_32_LANES, COUNTED_BY_32, _GROUPS_OF_32, _WARP_SIZE))


_DEFINED = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(" + b"|".join(_PYTORCH) + rb")\b", re.M)


def _own(files: Iterable[Cpp]) -> frozenset[bytes]:
    """PyTorch's names that the program defines itself."""
    return frozenset(match[1] for file in files for match in _DEFINED.finditer(file.code))


def _names(functions: Iterable[Function]) -> frozenset[bytes]:
    return frozenset(
        word
        for function in functions
        for word in re.findall(
            rb"[A-Za-z_]\w*", function.source.code[function.node.start_byte : function.node.end_byte]
        )
    )


def _of_32_lanes(function: Function) -> bool:
    source, body = function.source, function.body
    return any(
        not within(match.start(), source.cuda_only)
        for match in _OF_32_LANES.finditer(source.code, body.start_byte, body.end_byte)
    )


def on_wavefronts(function: Function) -> bool:
    """Whether the function itself votes or shuffles over the wavefront, and thinks of its size."""
    source, start, end = function.source, function.body.start_byte, function.body.end_byte
    calls = [
        match.start()
        for match in _OF_WAVEFRONT.finditer(source.code, start, end)
        if not within(match.start(), source.cuda_only)
    ]
    if source.begun_as_hip:
        asked = (match.start() for match in _BY_WAVEFRONT.finditer(source.code, start, end))
        return bool(calls) and any(not within(each, source.cuda_only) for each in asked)
    # All of a branch for AMD, of which the function may be a part, tells what it is for.
    spans = [each for each in source.hip_only if each.start < end and start < each.end]
    return any(
        any(each.start <= call < each.end for call in calls) and _BY_WAVEFRONT.search(source.code, each.start, each.end)
        for each in spans
    )
