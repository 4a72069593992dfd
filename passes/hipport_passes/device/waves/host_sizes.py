# SPDX-License-Identifier: Apache-2.0
"""Find hosts that count by 32 lanes for kernels that count by AMD's wavefront."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hipport.analysis.block_shapes import BlockShape, shapes
from hipport.analysis.references import Mentions, NamedDefinition, definitions
from hipport.analysis.wave_sizes import WaveSizes
from hipport.core.edits import Span
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp
from hipport_passes.device.waves.branches import on_device
from hipport_passes.device.waves.marks import Mark, may_be_native, native_marks, own_names
from hipport_passes.device.waves.sizes import named_as_warp

#: The text before and after the wavefront's size where code calculates with it.
_BEFORE, _BEHIND = re.compile(rb"(?:[/%*]|-=|\+=)\s*\Z"), re.compile(rb"\s*(?:[/*%-]|>>)")
_SIZE = b"warpSize"
#: A named number in such a calculation of host code.
_BY_NAME = re.compile(rb"[/%*]\s*(?P<name>[A-Za-z_][\w:]*)\b(?!\s*[(<])")
_LANES = 32


class HostSize(NamedTuple):
    """A number in host code, or the wavefront's size in a kernel with smaller blocks; and what contradicts it."""

    place: Mark
    native: Mark
    blocks: bool


def of_hosts(source: Cpp, project: Project) -> Iterator[HostSize]:
    """Yield where the file's host code counts by 32 for kernels of wavefronts, and such kernels with blocks of 32."""
    component = project.component(source)
    kernels = component.fact(_kernels)
    if not kernels:
        return
    mentions = component.fact(Mentions)
    # In most files no host function has such a number: then nothing that uses the kernels has to be found.
    counting = any(_host(each) and any(_by_32(each, component)) for each in definitions(source))
    told: set[Span] = set()
    for kernel, native in kernels.items():
        if native.definition.source is source:
            blocks = shapes(kernel.function, project) if kernel.function is not None else None
            if any(_threads(block) == _LANES for block in blocks or ()):
                yield HostSize(native, native, True)
        for user in mentions.transitive_users(kernel) if counting else ():
            if user.source is source and _host(user):
                places = [span for span in _by_32(user, component) if span not in told]
                told.update(places)
                yield from (HostSize(Mark(user, span), native, False) for span in places)


def _host(user: NamedDefinition) -> bool:
    return user.function is not None and not on_device(user)


def _threads(block: BlockShape) -> int | None:
    return None if block.x is None or block.y is None or block.z is None else block.x * block.y * block.z


def _by_32(user: NamedDefinition, component: Component) -> Iterator[Span]:
    """Yield the numbers of lanes in a host function that are 32 on each GPU."""
    sizes = component.fact(WaveSizes)
    for match in user.matches(_BY_NAME):
        name = match["name"]
        if named_as_warp(name) and any(
            (size.wave32, size.wave64) == (_LANES, _LANES) for size in sizes.of(user.source, name, match.start("name"))
        ):
            yield Span(*match.span("name"))


def _kernels(component: Component) -> dict[NamedDefinition, Mark]:
    """Return the kernels that calculate with the wavefront's size, directly or through others, with the place."""
    files = [each for each in component if isinstance(each, Cpp)]
    if not any(each.fact(may_be_native) and _SIZE in each.words for each in files):
        return {}
    own, mentions = own_names(files), component.fact(Mentions)
    first = {each: next(_calculated(each, own), None) for each in mentions.definitions}
    marked = {each: mark for each, mark in first.items() if mark is not None}
    if not marked:
        return {}
    # Few kernels lead to one of these, and each kernel of a large tree may lead to thousands of definitions.
    users = mentions.users_among(mentions.definitions)
    leading = {user for each in marked for user in mentions.transitive_users_by(each, users)}
    return {
        kernel: next(marked[each] for each in mentions.following_from(kernel) if each in marked)
        for kernel in mentions.definitions
        if kernel.kernel and kernel in leading
    }


def _calculated(definition: NamedDefinition, own: frozenset[bytes]) -> Iterator[Mark]:
    code = definition.source.code
    for mark in native_marks(definition, own):
        start, end = mark.span.start, mark.span.end
        if code[start:end] == _SIZE and (_BEHIND.match(code, end) or _BEFORE.search(code, max(0, start - 40), start)):
            yield mark
