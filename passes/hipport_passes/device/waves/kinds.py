# SPDX-License-Identifier: Apache-2.0
"""Find functions of a component that count lanes by AMD's wavefront, or by the 32 of a warp.

A person's code that only AMD compiles calls HIP's functions of the wavefront, and asks for its size or takes 64 bits.
In a program with such code, all code is ported already, except functions of 32 lanes and their callers. Code that only
one kind uses, through any functions, macros and constants, is of that kind, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from hipport.analysis.functions import Function
from hipport.analysis.references import Mentions
from hipport.core.edits import Span
from hipport.core.tables import load, one_of
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import NAMES

# Functions of the whole wavefront, and of 32 lanes; signs that the code considers 64 lanes.
_WORDS = {name: one_of(names).encode() for name, names in load(Path(__file__).with_suffix(".toml"))["words"].items()}
_OF_WAVEFRONT = re.compile(rb"\b" + _WORDS["wavefront"] + rb"\s*\(")
OF_32_LANES = NAMES.compile(rb"\b(?&hipport)::" + _WORDS["hipport"] + rb"|\b" + _WORDS["lanes_32"] + rb"\b")
_BY_WAVEFRONT = NAMES.compile(
    rb"\b(?&warp_size)\b|\b(?&wavefront_size)|\b" + _WORDS["wide"] + rb"\b|\bunsigned\s+long\s+long\b|\b(?&uint64)\b"
)
_WORD = re.compile(rb"[A-Za-z_]\w*")
_MASKED = NAMES.compile(rb"__\w+(?&masked)")
# Lanes by HIP's own functions, 64-bit masks, and sizes by name.
_64_LANES = NAMES.compile(
    rb"\b(?:" + _WORDS["lane_id"] + rb"|" + _WORDS["wide"] + rb")\s*\(|\b" + _WORDS["builtins"] + rb"\b|"
    rb"\b\w*(?i:(?&of_lanes))\w*\s*(?:=|\{)?\s*64\b"
)
_NARROW = NAMES.compile(rb"\s*(?:0[xX][fF]{1,8}[uU]?|~\s*0[uU]?|-1|\(\s*unsigned\s*\)\s*-1|(?&uint_max))\s*")


def not_on_device(source: Cpp) -> tuple[Span, ...]:
    """Return the code that HIP compiles only for the host: under a condition that excludes device code."""
    return tuple(
        sorted(
            Span(part.span.end, following.span.start)
            for group in source.conditionals
            if set(_WORD.findall(group[0].asked)) - {b"defined"} == {b"__HIP_DEVICE_COMPILE__"}
            and b"!" not in group[0].asked
            for part, following in pairwise(group[1:])
        )
    )


def callers(functions: Iterable[Function], every: Iterable[Function]) -> set[Function]:
    """Return the functions, and those of `every` that call them by name, directly or through others."""
    calling: dict[bytes, list[Function]] = {}
    for each in every:
        for name in each.called:
            calling.setdefault(name, []).append(each)
    found = set(functions)
    waiting = {each.name for each in found}
    while waiting:
        more = {each for each in calling.pop(waiting.pop(), ()) if each not in found}
        found |= more
        waiting |= {each.name for each in more}
    return found


class Wavefronts:
    """The functions of a component that are written for AMD's whole wavefronts."""

    def __init__(self, component: Component) -> None:
        self._component = component
        self._any = False
        self._logical: frozenset[Function] = frozenset()
        self._others: frozenset[Function] = frozenset()
        # The functions and the size may be in different files.
        if not any(isinstance(file, Cpp) and file.fact(_may_be_native) for file in component):
            return
        every = [each.function for each in self.mentions.definitions if each.function is not None]
        of_32 = (each.function for each in self.mentions.having(_places_of_32_lanes))
        logical = {function for function in of_32 if function is not None and _of_32_lanes(function)}
        native = (each.function for each in self.mentions.having(places_on_wavefronts))
        self._any = any(f is not None and f not in logical and on_wavefronts(f) for f in native)
        self._logical = frozenset(callers(logical, every))
        self._others = frozenset(every) - self._logical

    @property
    def mentions(self) -> Mentions:
        """The mentions of definitions in other definitions of the files."""
        return self._component.fact(Mentions)

    @cached_property
    def _words(self) -> tuple[frozenset[bytes], frozenset[bytes]]:
        return _names(self._logical), _names(self._others)

    def names_in_logical(self, name: bytes) -> bool:
        """Return whether functions of 32 lanes contain the name."""
        return name in self._words[0]

    def names_in_others(self, name: bytes) -> bool:
        """Return whether other functions contain it."""
        return name in self._words[1]

    def __bool__(self) -> bool:
        return self._any

    def of(self, function: Function | None) -> bool:
        """Return whether the function is one of them; code outside of all functions is."""
        return self._any and function not in self._logical and not self._only_logical(function)

    def shared(self, function: Function | None) -> bool:
        """Return whether functions of both kinds use the function, which shows neither kind itself."""
        if function is None or not self._any or function in self._logical:
            return False
        logical, native = self._used_by(function)
        return logical and native

    def _only_logical(self, function: Function | None) -> bool:
        logical, native = self._used_by(function) if function is not None else (False, False)
        return logical and not native

    def _used_by(self, function: Function) -> tuple[bool, bool]:
        """Return whether functions of 32 lanes use the function, and whether ones of wavefronts do or it is one."""
        known = self._users.get(function)
        if known is None:
            users = [
                user.function
                for each in self.mentions.named(function.name)
                if each.function is function
                for user in self.mentions.transitive_users(each)
                if user.function is not None
            ]
            logical = any(each in self._logical and _of_32_lanes(each) for each in users)
            native = any(on_wavefronts(each) for each in users)
            known = self._users[function] = logical, native
        return known

    @cached_property
    def _users(self) -> dict[Function, tuple[bool, bool]]:
        """Return the cache of the results."""
        return {}


def hip_throughout(source: Cpp, project: Project) -> bool:
    """Return whether a HIP file and its whole component are for wavefronts: no mask has 32 bits."""
    if project.union_over(source, _narrow_masks):
        return False
    return bool(project.union_over(source, _of_64_lanes)) or bool(project.component(source).fact(Wavefronts))


def _of_64_lanes(source: Cpp) -> frozenset[bool]:
    return frozenset((True,) if source.begun_as_hip and _64_LANES.search(source.code) else ())


def narrow_mask(source: Cpp, span: Span) -> bool:
    """Return whether the intrinsic at a place has a mask with 32 bits, like CUDA's."""
    given = source.given(span.end)
    return (
        given is not None and given != () and _NARROW.fullmatch(source.code, given[0].start, given[0].end) is not None
    )


def _narrow_masks(source: Cpp) -> frozenset[bool]:
    found = source.names(_MASKED)
    return frozenset(
        True for span, _ in found if not within(span.start, source.cuda_only) and narrow_mask(source, span)
    )


def _may_be_native(source: Cpp) -> bool:
    return bool((source.hip_only or source.begun_as_hip) and _OF_WAVEFRONT.search(source.code))


def _names(functions: Iterable[Function]) -> frozenset[bytes]:
    return frozenset(
        word
        for function in functions
        for word in re.findall(
            rb"[A-Za-z_]\w*", function.source.code[function.node.start_byte : function.node.end_byte]
        )
    )


def _places_of_32_lanes(source: Cpp) -> tuple[int, ...]:
    return source.fact(_of_32)


def _of_32(source: Cpp) -> tuple[int, ...]:
    return tuple(match.start() for match in OF_32_LANES.finditer(source.code))


def places_on_wavefronts(source: Cpp) -> tuple[int, ...]:
    """Return the places in functions that `on_wavefronts` may recognize."""
    return source.fact(_on_wavefronts)


def _on_wavefronts(source: Cpp) -> tuple[int, ...]:
    if not (source.hip_only or source.begun_as_hip):
        return ()
    return tuple(match.start() for match in _OF_WAVEFRONT.finditer(source.code))


def _of_32_lanes(function: Function) -> bool:
    source, body = function.source, function.body
    return any(
        not within(match.start(), source.cuda_only)
        for match in OF_32_LANES.finditer(source.code, body.start_byte, body.end_byte)
    )


def on_wavefronts(function: Function) -> bool:
    """Return whether the function votes or shuffles over the wavefront, and considers its size."""
    source, start, end = function.source, function.body.start_byte, function.body.end_byte
    calls = [
        match.start()
        for match in _OF_WAVEFRONT.finditer(source.code, start, end)
        if not within(match.start(), source.cuda_only)
    ]
    if source.begun_as_hip:
        asked = (match.start() for match in _BY_WAVEFRONT.finditer(source.code, start, end))
        return bool(calls) and any(not within(each, source.cuda_only) for each in asked)
    # The whole branch for AMD, of which the function may be a part, shows its purpose.
    spans = [each for each in source.hip_only if each.start < end and start < each.end]
    return any(
        any(each.start <= call < each.end for call in calls) and _BY_WAVEFRONT.search(source.code, each.start, each.end)
        for each in spans
    )
