# SPDX-License-Identifier: Apache-2.0
"""Say which names of CUDA's and HIP's libraries the executor lacks, from a compiler's messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from hipport.core.tables import load, one_of

# The messages of g++ 12 and clang 21 about unknown names and headers.
_UNKNOWN = re.compile(
    r"(?:use of undeclared identifier|unknown type name|no (?:type|template|member) named) ['‘](?P<clang>[\w:]+)['’]|"
    r"['‘](?P<gcc>[\w:]+)['’] (?:in namespace ['‘](?:::)?(?P<space>\w+)['’] )?"
    r"(?:was not declared|has not been declared|does not name a (?:template )?type|is not a member)|"
    r"['‘]?(?P<header>[\w./]+\.(?:h|hpp|cuh)|\bcuda/[\w/]+)['’]?(?:: No such file| file not found)"
)
# Follows such a message: the namespace in which a name without a vendor's prefix is looked up.
_IN_SPACE = re.compile(r" (?:in namespace|of) ['‘](?:::)?(?P<space>\w+)['’]")
_TABLE = load(Path(__file__).with_suffix(".toml"))
#: Prefixes of vendors' names; other unknown names are the program's own errors.
_VENDOR = re.compile(rf"(?:{one_of(_TABLE['vendors']['names'])}|cu(?=[A-Z])|csr\w+Info)\w*")
#: Namespaces, and folders of headers, that belong to vendors entirely.
_SPACES = frozenset(_TABLE["vendors"]["spaces"].split())
#: The feature that a missing name belongs to; the first match counts.
_AREAS = (
    # At the beginning or end of a word: SPMMA is a product of matrices.
    (re.compile(r"(?i)mma\b|wmma|\bmma"), "matrix instructions"),
    *((re.compile(one_of(names), re.IGNORECASE), area) for area, names in _TABLE["areas"].items()),
)
_MOST = 12


def absent(texts: Iterable[str]) -> str:
    """Return a sentence about the vendors' names that compiler messages report as unknown; empty if there are none.

    It lists them, says what they are for if that is known, and what can be done.
    """
    names: dict[str, None] = {}
    for text in texts:
        for match in _UNKNOWN.finditer(text):
            header = match["header"]
            whole = header or match["clang"] or match["gcc"]
            space, _, name = whole.rpartition("::")
            if behind := _IN_SPACE.match(text, match.end()):
                space = behind["space"]
            space = match["space"] or space.rpartition("::")[2]
            if header:
                is_vendor = bool(_VENDOR.match(name) or _area(name)) or name.partition("/")[0] in _SPACES
            else:
                is_vendor = bool(_VENDOR.fullmatch(name)) or space in _SPACES
            if is_vendor:
                names[f"{space}::{name}" if space in _SPACES else name] = None
    if not names:
        return ""
    areas = dict.fromkeys(area for name in names if (area := _area(name)))
    shown = ", ".join([*names][:_MOST]) + (f" and {len(names) - _MOST} more" if len(names) > _MOST else "")
    what = f" ({', '.join(areas)})" if areas else ""
    return (
        f"the CPU executor does not have {shown}{what}: code that does not use it can be verified as a program of "
        "its own, the rest by running the port on an AMD GPU"
    )


def _area(name: str) -> str:
    return next((area for pattern, area in _AREAS if pattern.search(name)), "")
