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

# What is done to a port, one place at a time: what goes wrong in ports that people write.
_MUTATIONS: tuple[tuple[str, re.Pattern[bytes], bytes], ...] = (
    ("a barrier is missing", re.compile(rb"\b__syncthreads\s*\(\s*\)\s*;"), b";"),
    ("a warp's number is that of a wavefront", re.compile(rb"(?<=threadIdx\.x) *(?:/ *32\b|>> *5\b)"), b" / 64"),
    ("a lane's number is that of a wavefront",
     re.compile(rb"(?<=threadIdx\.x) *(?:% *32\b|& *(?:31|0x1[fF])u?\b)"), b" & 63"),
    # HIP asks for masks of 64 bits.
    ("a helper for 32 lanes is HIP's own for all",
     re.compile(rb"\bhipport::(shfl|shfl_up|shfl_down|shfl_xor|ballot)_sync\s*\("), rb"__\1_sync((unsigned long long)"),
    ("a helper for 32 lanes is HIP's own for all",
     re.compile(rb"\bhipport::(?=(?:shfl|shfl_up|shfl_down|shfl_xor|ballot)\b)"), b"__"),
    ("a shuffle reaches twice as far", re.compile(rb"(?<=, )16(?=\))"), b"32"),
    ("an index is one too large", re.compile(rb"\bi < n\b"), b"i <= n"),
)  # fmt: skip


def mutations(ported: Ported, root: Path, most: int) -> Iterator[tuple[str, Ported, PurePath, int]]:
    """Yield mutants, of as many kinds as there are, and in as many files."""
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
