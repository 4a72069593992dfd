# SPDX-License-Identifier: Apache-2.0
"""Mutants: ports with one deliberate error, which cases should notice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePath

from hipport.core.edits import Edit, Span
from hipport.core.tables import load, one_of
from hipport.engine.outcomes import Ported
from hipport.syntax.cpp import Cpp

_TABLE = load(Path(__file__).with_name("mutants.toml"))
_PARTS = {
    # A name, a number or an expression without parentheses and commas.
    "argument": r"[^(),;{}]+(?:\([^(),;{}]*\)[^(),;{}]*)?",
    "collective": one_of(_TABLE["collectives"]),
    "count": one_of(_TABLE["counts"]),
}


def _pattern(text: str) -> re.Pattern[bytes]:
    for name, part in _PARTS.items():
        text = text.replace(f"{{{name}}}", part)
    return re.compile(text.encode())


#: The name of each mutation, the text that it applies to, and the replacement.
_MUTATIONS: tuple[tuple[str, re.Pattern[bytes], bytes], ...] = tuple(
    (row["what"], _pattern(row["pattern"]), row["replacement"].encode()) for row in _TABLE["mutations"]
)


def mutations(ported: Ported, root: Path, most: int) -> Iterator[tuple[str, Ported, PurePath, int]]:
    """Yield mutants of as many kinds as there are."""
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
                # From the middle, because the first match in a file is often in a helper that little depends on.
                chosen.append(found.pop(len(found) // 2))
    for what, source, edit in chosen:
        changed = ported.project.replacing({source.path: source.apply([edit])})
        origin = source.origin(edit.span)
        line = source.first.position(origin.start)[0]
        where = PurePath((base / source.path).relative_to(root))
        yield what, replace(ported, project=changed), where, line
