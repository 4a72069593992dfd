# SPDX-License-Identifier: Apache-2.0
"""Functions and their second versions that a merge has separated: one is lost, or upstream changed only one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from hipport.analysis.functions import Function
from hipport.syntax.cuda_names import NAMES
from hipport_passes.device.wide_warps.twins import OF_WAVE, whole
from hipport_passes.device.wide_warps.widening_notes import NATIVE

_WORD = re.compile(rb"[A-Za-z_]\w*")
# Words that differ in a second version: names of sizes and masks, and types of masks.
_REPLACED = re.compile(
    rb"[A-Z][A-Z0-9_]*|k[A-Z]\w*|unsigned|int|long|auto|u?int\d+_t|static_cast|float|\w*(?:[wW]arp|WARP|[mM]ask|lanes)\w*"
)
_OF_HELPERS = NAMES.compile(rb"(?&hipport)(?:::\w+)+|(?<!\w)__\w+")


def lost(device: Iterable[Function], by_name: Mapping[bytes, Sequence[Function]]) -> Iterator[tuple[Function, str]]:
    """Yield the functions that call a lost second version of another function, with its name."""
    for function in device:
        for match in OF_WAVE.finditer(function.text(function.body)):
            name = match.group()
            if match["name"] in by_name and name not in by_name and not _defined(function, name):
                yield function, name.decode()
                break


def _defined(function: Function, name: bytes) -> bool:
    """Return whether another definition, for example a macro, has that name."""
    return re.search(rb"#[ \t]*define[ \t]+" + name + rb"\b", function.source.code) is not None


def changed(device: Iterable[Function], by_name: Mapping[bytes, Sequence[Function]]) -> Iterator[tuple[Function, str]]:
    """Yield the second versions that no longer correspond to their first ones, with the names of the latter."""
    for function in device:
        match = OF_WAVE.fullmatch(function.name)
        of = by_name.get(match["name"], ()) if match is not None else ()
        if len(of) == 1 and not _correspond(_lines(of[0]), _lines(function)):
            yield function, of[0].name.decode()


def _lines(function: Function) -> list[bytes]:
    """Return the lines of a function with the first version's names."""
    source = function.source
    lines = OF_WAVE.sub(rb"\g<name>", source.code[whole(function).start : whole(function).end])
    return [b" ".join(line.split()) for line in lines.splitlines() if line.strip()]


def _correspond(first: Sequence[bytes], second: Sequence[bytes]) -> bool:
    """Return whether each line of one has its counterpart in the other; widened lines have the same words."""
    widened = [set(_WORD.findall(line)) for line in second if NATIVE in line]
    if any(NATIVE not in line and line not in first for line in second):
        return False
    for line in first:
        if line in second or _OF_HELPERS.search(line):
            continue
        words = {word for word in _WORD.findall(line) if not _REPLACED.fullmatch(word)}
        if not any(words <= each for each in widened):
            return False
    return True
