# SPDX-License-Identifier: Apache-2.0
"""Whether C++ has anything that C++17 took away: what has not, means the same by either standard."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from hipport.finding import Certainty
from hipport.languages.cpp import Cpp
from hipport_passes.nvcc_flags import Change

#: What is assumed where this cannot be told.
ASSUMED = "; assumes nothing that C++17 took away"
# Keywords, specifications and names that are gone (C++17, annex C.4), constructors that are inherited, which mean
# something else by now, and `using namespace std`, by which a program's own `byte`, `size` or `data` may be std's, too.
# Trigraphs are looked for in the text.
_GONE = re.compile(
    rb"\bregister\b|\busing\s+(?:\w+\s*::\s*)*(\w+)(?:\s*<[^<>;]*>)?\s*::\s*\1\s*;|\)\s*(?:const\s*)?throw\s*\("
    rb"|\busing\s+namespace\s+std\s*;|\bstd\s*::\s*(?:auto_ptr|random_shuffle"
    rb"|bind[12](?:st|nd)|(?:ptr|mem)_fun\w*|(?:unary|binary)_function|(?:unary|binary)_negate|not[12]\b|unexpected\b"
    rb"|(?:set|get)_unexpected|unexpected_handler|uncaught_exception\b|binder[12](?:st|nd)|pointer_to_\w+_function)"
)
_TRIGRAPH = re.compile(rb"\?\?[=/'()!<>-]")
_COUNTED = re.compile(rb"\bbool\s*&?\s*(\w+)")


def nothing_gone(sources: Iterable[object]) -> bool:
    """Say whether there are files in C++, and none has anything that C++17 took away."""
    code = [each for each in sources if isinstance(each, Cpp)]
    return bool(code) and not any(each.fact(_has_gone) for each in code)


def _has_gone(source: Cpp) -> bool:
    if _GONE.search(source.code) or _TRIGRAPH.search(source.text):
        return True
    flags = {match[1] for match in _COUNTED.finditer(source.code)} - {b"operator"}
    stepped = re.findall(rb"(\w+)\s*\+\+|\+\+\s*(\w+)", source.code) if flags else ()
    return any(name in flags for pair in stepped for name in pair if name)


def settled(changes: Sequence[Change], sources: Iterable[object]) -> list[Change]:
    """Return the changes, those of the standard for certain where the sources say nothing else."""
    if not any(each.why.endswith(ASSUMED) for each in changes) or not nothing_gone(sources):
        return list(changes)
    return [
        replace(each, why=each.why.removesuffix(ASSUMED), certainty=Certainty.SAFE)
        if each.why.endswith(ASSUMED)
        else each
        for each in changes
    ]
