# SPDX-License-Identifier: Apache-2.0
"""Known headers of CUDA, and their replacements."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from hipport.core.tables import load

# A header by its place in a toolkit: `/usr/local/cuda-10.1/targets/x86_64-linux/include/`. In a name of a table: its
# namespace, and the context that it requires.
_BARE = re.compile(rb".*::|\(\?<?[!=](?:\\.|[^()\\])*\)")
_IN_TOOLKIT = re.compile(r"/(?:[^/]+/)*cuda[^/]*/(?:[^/]+/)*?include/")
# Or from a folder above it, or in a folder of that name; only if the rest is a header of CUDA's.
_BELOW_A_FOLDER = re.compile(r"(?:\.\./)*(?:cuda(?:[-_]?[\d.]+)?/|targets/[^/]+/)?(?:include/)?")


class Row(NamedTuple):
    """The replacement of a header: `hip`; "" removes it, None reports it. Other fields as in `api_names`."""

    hip: str | None
    since: tuple[int, int] = (0, 0)
    why: str = ""
    instead: str = ""
    review: str = ""
    #: The first release for which nothing is assumed, and why.
    sure_since: tuple[int, int] = (0, 0)
    sure: str = ""

    @property
    def advice(self) -> str:
        """Return why the header is not available, and what to do."""
        return "; ".join(part for part in (self.why, self.instead) if part)


class Brought(NamedTuple):
    """A header that CUDA provides: its names, the headers that provide it there, and those that do in any case."""

    header: str
    names: re.Pattern[bytes]
    #: The names without their namespace, for a quick test of a file's words.
    words: re.Pattern[bytes]
    brought_by: tuple[str, ...]
    had_by: tuple[str, ...]
    why: str
    on_host: bool


class Samples(NamedTuple):
    """hipport's header that replaces those of NVIDIA's samples, their names, and the names that it lacks."""

    header: str
    of: frozenset[str]
    has: frozenset[bytes]
    lacks: re.Pattern[bytes]
    #: The common prefix of the names of all the samples' headers.
    begins: str


class _Tables(NamedTuple):
    rows: dict[str, Row]
    folders: dict[str, Row]
    #: By the prefix of their names.
    families: dict[str, Row]
    groups: dict[str, frozenset[bytes]]
    runtime: str
    brings_runtime: tuple[str, ...]
    #: One of those, a header that provides it except some names.
    lacks_of_runtime: tuple[str, re.Pattern[bytes], tuple[int, int]]
    thrust: frozenset[str]
    #: Headers of Thrust outside of `detail` and `system` that rocThrust has.
    rocthrust: frozenset[str]
    std: frozenset[str]
    std_review: str
    std_same: frozenset[str]
    #: Pattern of headers in a folder named like libcu++'s that are not part of it.
    beside_std: re.Pattern[str]
    steering: tuple[tuple[str, str, re.Pattern[bytes], str], ...]
    #: By a header of HIP: CUDA's header for all of it, and names in it that macros of a program may replace.
    colliding: dict[str, tuple[str, frozenset[bytes]]]
    #: A header, its names, and the headers that include it.
    transitive: tuple[tuple[str, re.Pattern[bytes], tuple[str, ...]], ...]
    brought: tuple[Brought, ...]
    samples: Samples
    #: Headers of the toolkit whose names other projects also use.
    common: frozenset[str]
    #: Pattern of headers without a row, and their row.
    unknown: tuple[re.Pattern[str], Row]


@cache
def table() -> _Tables:
    """Return the rows of CUDA's headers: the generated table, overridden by the rows made by hand."""
    path = Path(__file__).parent
    generated, own = load(path.with_suffix(".toml")), load(path.with_suffix(".own.toml"))
    rows = {name: Row(hip) for name, hip in generated["headers"].items()}
    rows |= {name: _row(value) for name, value in own["headers"].items()}
    return _Tables(
        {name: row for name, row in rows.items() if not name.endswith(("/", "*"))},
        {name: row for name, row in rows.items() if name.endswith("/")},
        {name[:-1]: row for name, row in rows.items() if name.endswith("*")},
        {name: frozenset(names.encode().split()) for name, names in own["groups"].items()},
        own["runtime"]["header"],
        tuple(own["runtime"]["brought_by"].split()),
        (
            own["runtime"]["lacking"]["header"],
            re.compile(own["runtime"]["lacking"]["names"].encode()),
            _release(own["runtime"]["lacking"]["whole_since"]),
        ),
        frozenset(own["thrust"]["system"].split()),
        frozenset(own["thrust"]["headers"].split()),
        frozenset(own["libcupp"]["std"].split()),
        own["libcupp"]["review"],
        frozenset(own["libcupp"]["same"].split()),
        re.compile(own["libcupp"]["beside"]),
        tuple(
            (each["header"], each["macro"], re.compile(each["names"].encode()), each["why"]) for each in own["steering"]
        ),
        {each["header"]: (each["whole"], frozenset(each["names"].encode().split())) for each in own["colliding"]},
        tuple(
            (
                each["header"],
                re.compile(rb"\bthrust\s*::\s*(" + b"|".join(each["names"].encode().split()) + rb")\b"),
                tuple(each["brought_by"].split()),
            )
            for each in own["transitive"]
        ),
        tuple(
            Brought(
                each["header"],
                re.compile(rb"\b(?:" + b"|".join(each["names"].encode().split()) + rb")\b"),
                re.compile(b"|".join(_BARE.sub(b"", name) for name in each["names"].encode().split())),
                tuple(each["brought_by"].split()) or ("",),
                tuple(each["had_by"].split()),
                each["why"],
                each.get("on_host", False),
            )
            for each in own["brought"]
        ),
        Samples(
            own["samples"]["header"],
            frozenset(own["samples"]["of"].split()),
            frozenset(own["samples"]["has"].encode().split()),
            re.compile(own["samples"]["lacks"].encode()),
            own["samples"]["begins"],
        ),
        frozenset(own["common"]["names"].split()),
        (re.compile(own["unknown"]["looks"]), Row(None, why=own["unknown"]["why"], instead=own["unknown"]["instead"])),
    )


def _row(value: dict[str, Any]) -> Row:
    return Row(
        value.get("hip"),
        _release(value.get("since", "0.0")),
        value.get("why", ""),
        value.get("instead", ""),
        value.get("review", ""),
        _release(value.get("sure_since", "0.0")),
        value.get("sure", ""),
    )


def _release(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)


def lookup(path: str) -> Row | None:
    """Return the replacement of `#include <path>`; None if it is not a header of CUDA's."""
    known = table()
    if in_toolkit := _IN_TOOLKIT.match(path):
        path = path[in_toolkit.end() :]
    if path in known.rows:
        return known.rows[path]
    below = _BELOW_A_FOLDER.match(path)
    if below is not None and path[below.end() :] in known.rows:
        return known.rows[path[below.end() :]]
    if path.startswith("cuda/std/") and path[9:] in known.std:
        return Row(path[9:], review="" if path[9:] in known.std_same else known.std_review)
    if path.startswith("thrust/system/cuda/"):
        if path[19:] in known.thrust:
            return Row("thrust/system/hip/" + path[19:])
        return Row(None, why="rocThrust has no such header")
    if path.startswith("thrust/") and not {"detail", "system"} & {*path.split("/")}:
        return None if path[7:] in known.rocthrust else Row(None, why="rocThrust (ROCm 6.4) has no such header")
    if known.beside_std.fullmatch(path):
        return None
    for begins, row in (*known.folders.items(), *known.families.items()):
        if path.startswith(begins):
            return row
    return _in_a_folder(path)


def _in_a_folder(path: str) -> Row | None:
    """Return the row of a header that AMD lacks, in any folder of a program: `<OptiX/optix.h>`.

    NVIDIA's samples contain such files, and programs copy them.
    """
    known = table()
    folder, _, name = path.rpartition("/")
    if not folder or name in known.common or name.startswith(known.samples.begins):
        return None
    row = known.rows.get(name) or next((row for begins, row in known.families.items() if name.startswith(begins)), None)
    if row is not None and row.hip is None:
        return row
    # `<nccl/nccl.h>`: a library's header in a folder of the same name.
    own = folder.rpartition("/")[2].lower() == PurePosixPath(name).stem.lower()
    return row if own else None


@cache
def _of_hip() -> frozenset[str]:
    """Return the headers of HIP and its libraries, and their folders."""
    known, own = table(), load(Path(__file__).parent.with_suffix(".own.toml"))["of_hip"]
    names = {row.hip for row in (*known.rows.values(), *known.folders.values(), *known.families.values()) if row.hip}
    found = {name.partition("/")[0] + "/" if "/" in name else name for name in names}
    return frozenset({*found, *own["more"].split()} - {*own["shared"].split()})


def is_of_hip(path: str) -> bool:
    """Return whether an include is of HIP, so that its file was ported, or never was CUDA."""
    folder, slash, _ = path.partition("/")
    return folder + slash in _of_hip()
