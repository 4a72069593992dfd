# SPDX-License-Identifier: Apache-2.0
"""Say which names of CUDA's and HIP's libraries the executor lacks, of what a compiler did not know."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from hipport.core.tables import load, one_of

# What g++ 12 and clang 21 say of names and headers that they do not know.
_UNKNOWN = re.compile(
    r"(?:use of undeclared identifier|unknown type name|no (?:type|template|member) named) ['‘](?P<clang>[\w:]+)['’]|"
    r"['‘](?P<gcc>[\w:]+)['’] (?:in namespace ['‘](?:::)?(?P<space>\w+)['’] )?"
    r"(?:was not declared|has not been declared|does not name a (?:template )?type|is not a member)|"
    r"['‘]?(?P<header>[\w./]+\.(?:h|hpp|cuh)|\bcuda/[\w/]+)['’]?(?:: No such file| file not found)"
)
# Behind the first: where a name is looked for that has no prefix of its own.
_IN_SPACE = re.compile(r" (?:in namespace|of) ['‘](?:::)?(?P<space>\w+)['’]")
_TABLE = load(Path(__file__).with_suffix(".toml"))
#: Names that vendors begin theirs with; a name that the program has forgotten to declare is its own matter.
_VENDOR = re.compile(rf"(?:{one_of(_TABLE['vendors']['names'])}|cu(?=[A-Z])|csr\w+Info)\w*")
#: Namespaces, and folders of headers, that are vendors' whatever is in them.
_SPACES = frozenset(_TABLE["vendors"]["spaces"].split())
#: What a name is part of, of what is known to be missing; the first that matches.
_AREAS = (
    # As a word's beginning or end: SPMMA is a product of matrices.
    (re.compile(r"(?i)mma\b|wmma|\bmma"), "matrix instructions"),
    *((re.compile(one_of(names), re.IGNORECASE), area) for area, names in _TABLE["areas"].items()),
)
_MOST = 12


def absent(texts: Iterable[str]) -> str:
    """Return a sentence on the vendors' names among those that compiler messages complain of; empty if there are none.

    It names them, says what they are for where that is known, and what can be done.
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
        f"the CPU executor does not have {shown}{what}: what does without can be verified in a program of its own, "
        "the rest by running the port on an AMD GPU"
    )


def _area(name: str) -> str:
    return next((area for pattern, area in _AREAS if pattern.search(name)), "")
