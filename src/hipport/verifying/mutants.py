# SPDX-License-Identifier: Apache-2.0
"""Ports with one thing wrong, of which cases are to notice something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePath

from hipport.core.edits import Edit, Span
from hipport.engine.outcomes import Ported
from hipport.syntax.cpp import Cpp

# A name, a number or an expression without parentheses and commas, as an argument.
_ARGUMENT = rb"[^(),;{}]+(?:\([^(),;{}]*\)[^(),;{}]*)?"
_COLLECTIVE = rb"(?:shfl|shfl_up|shfl_down|shfl_xor|ballot|any|all|match_any)"
_COUNT = rb"(?:n|m|k|N|size|count|length|rows|columns|width|height|num_?\w+|\w+_size|\w+_count)"

# What is done to a port, one place at a time: what goes wrong in ports that people write. What is likely comes first.
_MUTATIONS: tuple[tuple[str, re.Pattern[bytes], bytes], ...] = (
    ("a barrier is missing",
     re.compile(rb"(?:\b__syncthreads\s*\(\s*\)|\bhipport::syncwarp\s*\([^()]*\)|\b\w+\.sync\s*\(\s*\))\s*;"), b";"),
    ("a warp's number is that of a wavefront", re.compile(rb"(?<=threadIdx\.x) *(?:/ *32\b|>> *5\b)"), b" / 64"),
    ("a lane's number is that of a wavefront",
     re.compile(rb"(?<=threadIdx\.x) *(?:% *32\b|& *(?:31|0x1[fF])u?\b)"), b" & 63"),
    # HIP asks for masks of 64 bits.
    ("a helper for 32 lanes is HIP's own for all",
     re.compile(rb"\bhipport::(" + _COLLECTIVE + rb")_sync\s*\("), rb"__\1_sync((unsigned long long)"),
    ("a helper for 32 lanes is HIP's own for all",
     re.compile(rb"\bhipport::(?=(?:shfl|shfl_up|shfl_down|shfl_xor|ballot|any|all)\s*\()"), b"__"),
    ("a ballot of 64 lanes is kept in 32 bits",
     re.compile(rb"\bhipport::ballot_sync\s*\(" + _ARGUMENT + rb","), rb"(unsigned)__ballot("),
    # The helpers of shuffles do without.
    ("a mask names half of the lanes",
     re.compile(rb"\b(hipport::(?:ballot|any|all|match_any|reduce_\w+)_sync\s*\(\s*)(?:0x[fF]{8}u?|~0u|-1)(?=,)"),
     rb"\g<1>0x0000ffffu"),
    ("a shuffle reads from one lane further on",
     re.compile(rb"\b(hipport::shfl(?:_up|_down)?_sync\s*\(" + _ARGUMENT + rb"," + _ARGUMENT + rb",)("
                + _ARGUMENT + rb")(?=[,)])"), rb"\1 1 + (\2)"),
    ("half of the lanes are left out", re.compile(rb"(?<== )16(?=;)|(?<=, )16(?=\))"), b"8"),
    ("a shuffle reaches twice as far", re.compile(rb"(?<=, )16(?=\))|(?<== )16(?=; *\w+ *(?:> *0|;|!= *0))"), b"32"),
    ("a tile has half of the lanes", re.compile(rb"(?<=tiled_partition<)32(?=>)"), b"16"),
    ("a lane counts itself",
     re.compile(rb"\bhipport::lanemask_lt\s*\(\s*\)|\(\(?1u? << lane\)? ?- ?1u?\)"), b"hipport::lanemask_le()"),
    ("another lane leads", re.compile(rb"\b(lane|rank) == 0\b"), rb"\1 == 1"),
    ("another lane leads", re.compile(rb"(__ffs\s*\(" + _ARGUMENT + rb"\)) - 1\b"), rb"\1"),
    ("a lane too few takes part", re.compile(rb"\b(lane|rank) >= "), rb"\1 > "),
    ("the lanes of a warp are in reverse order", re.compile(rb"\bthreadIdx\.x\b"), b"(threadIdx.x ^ 31)"),
    ("an index is one too large", re.compile(rb"\b(\w+) < (?=" + _COUNT + rb"\b)"), rb"\1 <= "),
    ("the last element is left out", re.compile(rb"\b(\w+ < " + _COUNT + rb")\b(?! *[-+*/\[(])"), rb"\1 - 1"),
    ("the last block is left out",
     re.compile(rb"\((" + _COUNT + rb") \+ (?:\d+|\w+ - 1)\) / "), rb"(\1) / "),
)  # fmt: skip


def mutations(ported: Ported, root: Path, most: int) -> Iterator[tuple[str, Ported, PurePath, int]]:
    """Yield mutants, of as many kinds as there are."""
    base = ported.before.root
    assert base is not None
    places: list[list[tuple[str, Cpp, Edit]]] = []
    for what, pattern, new in _MUTATIONS:
        found = []
        for source in ported.project.sources:
            if isinstance(source, Cpp) and (base / source.path).is_relative_to(root):
                edits = [Edit(Span(*match.span()), match.expand(new)) for match in pattern.finditer(source.code)]
                found += [(what, source, edit) for edit in edits]
        places.append(found)
    chosen: list[tuple[str, Cpp, Edit]] = []
    while len(chosen) < most and any(places):
        for found in places:
            if found and len(chosen) < most:
                # From the middle: what comes first in a file is often a helper that little depends on.
                chosen.append(found.pop(len(found) // 2))
    for what, source, edit in chosen:
        changed = ported.project.replacing({source.path: source.apply([edit])})
        origin = source.origin(edit.span)
        line = source.first.position(origin.start)[0]
        where = PurePath((base / source.path).relative_to(root))
        yield what, replace(ported, project=changed), where, line
