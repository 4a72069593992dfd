# SPDX-License-Identifier: Apache-2.0
"""Programs in which 32 lanes and the wavefront's size meet, and look-alikes: tests/wave_worlds.txt.

Each stands there as `@ name meet` or `@ name agree`, and its files, each behind `== name`, or one `a.cu`. A line that
ends in `//!` or `#!` is one that brings the wavefront's size, or 64, to code of 32 lanes, or 32 to code of the
wavefront: something has to be said of it, or it has to be rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hipport.core.finding import Certainty
from hipport.engine.outcomes import Ported

_MARK = re.compile(rb"[ \t]*(?://|#)!$", re.M)
#: Rules that say something about lanes.
RULES = frozenset(
    "warp_size lane_masks mixed_waves hip_waves wave_worlds native_waves wide_shifts python_gates api_names "
    "cub_thrust namespaces unknown_names rtc_texts warp_intrinsics wave_defines python_gates".split()
)


class Program(NamedTuple):
    """A program: whether worlds meet in it, its files, and the lines of files where they do."""

    meet: bool
    files: dict[str, bytes]
    places: frozenset[tuple[str, int]]


def _read() -> Iterator[tuple[str, Program]]:
    for text in re.split(rb"(?m)^@ ", Path(__file__).with_suffix(".txt").read_bytes())[1:]:
        first, _, rest = text.partition(b"\n")
        name, said = first.decode().split()
        assert said in ("meet", "agree"), name
        parts = re.split(rb"(?m)^== (\S+)\n", rest)
        given = dict(zip(parts[1::2], parts[2::2], strict=True)) if len(parts) > 1 else {b"a.cu": rest}
        files, places = {}, set()
        for path, body in given.items():
            lines = body.strip(b"\n").split(b"\n")
            places |= {(path.decode(), i) for i, line in enumerate(lines, 1) if _MARK.search(line)}
            files[path.decode()] = b"\n".join(_MARK.sub(b"", line) for line in lines) + b"\n"
        assert bool(places) == (said == "meet"), name
        yield name, Program(said == "meet", files, frozenset(places))


PROGRAMS = dict(_read())


def said(ported: Ported) -> list[tuple[str, int, str, Certainty, str]]:
    """Return what was found about lanes: file, line, rule, certainty and message."""
    found = []
    for each in ported.reported:
        if each.rule.partition("/")[0] in RULES:
            found.append((str(each.path), each.line, each.rule, each.certainty, each.message))
    return found


def mistaken(program: Program, ported: Ported) -> str:
    """Say what is wrong with a port: silence where worlds meet, noise where they do not; or nothing."""
    found = said(ported)
    if program.meet:
        if any(
            (path, line) in program.places for path, line, rule, certainty, _ in found if certainty or rule in MADE_32
        ):
            return ""
        return f"nothing is said of {sorted(program.places)}"
    noise = [
        each for each in found if each[3] is Certainty.MANUAL or (each[3] is Certainty.REVIEW and each[2] not in QUIET)
    ]
    return "\n".join(f"{path}:{line}: {rule} {message}" for path, line, rule, _, message in noise)


#: Rules whose certain changes make 32 of a size.
MADE_32 = frozenset(("warp_size/logical", "cub_thrust/constant", "cub_thrust/lanes"))
#: Rules of which a look-alike may have findings for review.
QUIET = frozenset(("warp_size/property", "warp_intrinsics/macro"))
