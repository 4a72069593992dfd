# SPDX-License-Identifier: Apache-2.0
"""Translate nvcc's options to hipcc's, for the passes over build scripts and for `hipport build`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from hipport.core.finding import Certainty
from hipport.core.tables import load
from hipport.syntax.build_names import NAMES
from hipport.syntax.holes import HOLE

#: Asks for the old ABI of the C++ library, which no library for ROCm has.
OLD_ABI = NAMES.compile(rb"(?&abi)=0(?!\w)")
#: The same through a variable of a shell script or of CMake.
ABI_BY_VARIABLE = NAMES.compile(rb"(?&abi)=\$\{?(\w+)\}?")
#: CUDA's folders, as scripts name them.
CUDA_FOLDER = NAMES.compile(r"(?&cuda_folders)(?:[-/0-9]|$)")
_BEGUN = re.compile(r"-[A-Za-z][\w=/.-]*\0[^\0,'\"]*")

_TABLE = Path(__file__).with_suffix(".toml")
_AFTER_PREFIX = re.compile(r"[-/0-9=]|$")


@dataclass(frozen=True)
class FlagChange:
    """The translation of `flags`, the arguments from `start` up to `stop`: `hip`, because of `why`.

    MANUAL if and only if they have no translation; then `hip` equals `flags`. `once`: the flags need not be given
    twice; `unless`: the parts of them that need not.
    """

    start: int
    stop: int
    kind: str
    flags: tuple[str, ...]
    hip: tuple[str, ...]
    why: str
    certainty: Certainty
    once: bool = False
    unless: tuple[str, ...] = ()

    def __str__(self) -> str:
        flags = " ".join(self.flags).replace(HOLE, "…")
        if self.certainty is Certainty.MANUAL:
            return f"{flags}: {self.why}"
        return f"{flags} → {' '.join(self.hip).replace(HOLE, '…') or 'dropped'}: {self.why}"


def worded(changes: Iterable[FlagChange | str]) -> str:
    """Return the text about changes; flags with the same translation and reason share one entry."""
    flags: dict[str, list[str]] = {}
    for each in map(str, changes):
        flag, arrow, becomes = each.partition(" → ")
        known = flags.setdefault(arrow + becomes or each, [])
        known += [flag] if arrow and flag not in known else []
    return "; ".join(", ".join(each) + becomes for becomes, each in flags.items())


@dataclass(frozen=True)
class Translated:
    """The flags for hipcc in the original order, and every difference from nvcc's."""

    kept: tuple[str, ...]
    changes: tuple[FlagChange, ...]


@dataclass(frozen=True)
class _Row:
    """One [[flag]] of the table, which explains the fields."""

    kind: str
    names: tuple[str, ...]
    value: str
    hip: tuple[str, ...]
    by: Mapping[str, Sequence[str]]
    before: tuple[tuple[str, tuple[int, int], str], ...]
    certainty: Certainty
    why: str
    once: bool
    unless: tuple[str, ...]
    since: tuple[int, ...]

    def named(self, flag: str) -> str | None:
        """Return the name of this option that equals `flag` or begins it."""
        for name in self.names:
            rest = flag[len(name) :]
            if not flag.startswith(name):
                continue
            if (
                (not rest and self.value != "joined")
                or (self.value in ("yes", "joined", "listed", "attached") and rest.startswith("="))
                or (self.value == "attached" and rest.replace(HOLE, "0").isdecimal())
                or (self.value == "prefix" and _AFTER_PREFIX.match(rest))
            ):
                return name
        return None


def translate(
    flags: Sequence[str],
    *,
    torch: bool = False,
    of: str = "nvcc",
    rocm: tuple[int, int] = (6, 4),
    shell: bool = False,
) -> Translated:
    """Translate nvcc's `flags`, one argument each, to hipcc's.

    `torch`: PyTorch's extension build adds its own flags. `of`: the owner of the flags: `nvcc`, `host` for a separate
    C++ compiler, `link` for the linker. `rocm`: the oldest release that must understand the result. `shell`: a shell
    splits the result into words, also the value of a variable in it. An unknown part of a flag is HOLE.
    """
    changes = tuple(_changes(flags, torch, of, rocm, shell))
    kept: list[str] = []
    done = 0
    for change in changes:
        kept += (*flags[done : change.start], *change.hip)
        done = change.stop
    return Translated((*kept, *flags[done:]), changes)


def library(name: str) -> tuple[str, str] | None:
    """Return (ROCm's library, "") for a library of CUDA's, or ("", why) if it has no counterpart; None for others.

    ("", "") means that it is not needed.
    """
    row = load(_TABLE)["library"].get(name)
    if row is None:
        return None
    return (row, "") if isinstance(row, str) else ("", row["why"])


@cache
def telling() -> re.Pattern[str]:
    """Return a pattern for flags that only nvcc has, wherever they are found."""
    names, joined = set(), set()
    for row in load(_TABLE)["flag"]:
        own = {name for name in row["names"] if name not in row.get("common", ()) and row.get("value") != "prefix"}
        if row.get("value") == "joined":
            joined |= own
        else:
            names |= own
    return re.compile(f"(?:{_either(names)})(?:=.*)?|(?:{_either(joined)})=.*", re.DOTALL)


def _either(names: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, names), reverse=True))


def _changes(flags: Sequence[str], torch: bool, of: str, rocm: tuple[int, int], shell: bool) -> Iterator[FlagChange]:
    given = set(flags)
    i = 0
    while i < len(flags):
        change = (_library(flags, i) if of != "host" else None) or _flag(flags, i, torch, of, rocm, shell)
        if change is None:
            i += 1
            continue
        if change.once and change.hip and given >= set(change.hip):
            change = replace(change, hip=(), why=f"{' '.join(change.hip)} is already given")
        if change.unless:
            change = replace(
                change, hip=tuple(flag for flag in change.hip if flag not in given or flag not in change.unless)
            )
        given |= set(change.hip)
        if change.hip != change.flags or change.certainty is Certainty.MANUAL:
            yield change
        i = change.stop


def _flag(flags: Sequence[str], i: int, torch: bool, of: str, rocm: tuple[int, int], shell: bool) -> FlagChange | None:
    for row in _rows(torch, of):
        name = row.named(flags[i])
        if name is None:
            continue
        stop, value = i + 1, flags[i][len(name) :].removeprefix("=")
        missing = row.value in ("yes", "attached") and flags[i] == name
        if row.value in ("yes", "listed", "attached") and flags[i] == name and i + 1 < len(flags):
            stop, value, missing = i + 2, flags[i + 1], False
        if row.value == "listed" and value not in row.by:
            continue
        unread = (None, "its value is not the next flag; change it by hand")
        hip, why = unread if missing else _hip(row, name, value, torch, rocm, shell)
        given = tuple(flags[i:stop])
        if row.hip == ("{values}",) and value.startswith("/"):
            # This option is for Microsoft's compiler, which hipcc does not use.
            return FlagChange(i, stop, row.kind, given, given, row.why, Certainty.SAFE, row.once)
        certainty = Certainty.MANUAL if hip is None else row.certainty
        if hip is not None and row.hip == ("{values}",) and HOLE in value[1:-1]:
            certainty, why = (
                Certainty.REVIEW,
                f"{why}; assumes that clang knows the flags that are put together there",
            )
        return FlagChange(i, stop, row.kind, given, given if hip is None else hip, why, certainty, row.once, row.unless)
    return None


def _hip(
    row: _Row, name: str, value: str, torch: bool, rocm: tuple[int, int], shell: bool
) -> tuple[tuple[str, ...] | None, str]:
    """Return the translation of an option with `value`, or None if a person must decide, and why."""
    hip = row.hip
    if row.certainty is Certainty.MANUAL:
        return None, row.why
    if rocm < row.since:
        return None, f"needs ROCm {'.'.join(map(str, row.since))}; {row.why}"
    if row.by:
        if value not in row.by:
            return None, f"its translation depends on the value; {row.why}"
        hip = tuple(row.by[value])
    if hip == ("{values}",):
        words = value[1:-1].split() if value[:1] in ("'", '"') else [value]
        separate = shell and "," not in value and all(HOLE not in word or word == HOLE for word in words)
        # `-Wall,-DSIZE=$(SIZE)`: a part whose beginning is literal is one flag, if no comma is inserted into it.
        separate = separate or (shell and all(HOLE not in part or _BEGUN.fullmatch(part) for part in value.split(",")))
        if value != HOLE and HOLE in value and not separate and ("," in value or value[0] in f"{HOLE}'\""):
            return None, "its flags are known only when the build runs; write them for hipcc by hand"
        return translate(_unquoted(value), torch=torch, rocm=rocm).kept, row.why
    older = {flag: spelled for flag, since, spelled in row.before if rocm < since}
    return tuple(older.get(flag, flag).replace("{name}", name).replace("{value}", value) for flag in hip), row.why


#: Options that pass options to the host's compiler. That compiler knows none of them: if doubled, one is left over.
_TO_HOST = ("-Xcompiler", "--compiler-options")


def _unquoted(value: str) -> list[str]:
    """Split the value of -Xcompiler at commas, as nvcc does, and at blanks; remove quotes meant for a shell."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    # Escaped quotes are removed by the shell in which nvcc runs the host's compiler.
    parts = [part for piece in value.split(",") for part in piece.split() if part not in _TO_HOST]
    return [re.sub(r'^\\"(.*)\\"$', r"\1", part) for part in parts]


@cache
def _rows(torch: bool, of: str) -> tuple[_Row, ...]:
    rows = []
    for raw in load(_TABLE)["flag"]:
        if (of != "nvcc" and not raw.get(of)) or (raw.get("only") == "torch" and not torch):
            continue
        special = raw.get("torch", {}) if torch else {}
        merged = {**raw, **special, "by": {**raw.get("by", {}), **special.get("by", {})}}
        rows.append(
            _Row(
                merged["kind"],
                tuple(merged["names"]),
                merged.get("value", "no"),
                tuple(merged.get("hip", ())),
                merged["by"],
                tuple((flag, (since[0], since[1]), name) for flag, since, name in merged.get("before", ())),
                Certainty[merged.get("certainty", "safe").upper()],
                merged["why"],
                merged.get("once", False),
                tuple(merged.get("unless", ())),
                tuple(merged.get("since", ())),
            )
        )
    return tuple(rows)


def _library(flags: Sequence[str], i: int) -> FlagChange | None:
    flag = flags[i]
    if flag.startswith("-cudalib="):
        return _libraries(flag, i)
    if not flag.startswith("-l"):
        return None
    stop = i + 1
    name = flag[2:].removeprefix("=")
    if not name and stop < len(flags):
        name, stop = flags[stop], stop + 1
    found = library(name)
    if found is None:
        return None
    hip, why = found
    given = tuple(flags[i:stop])
    if why:
        return FlagChange(i, stop, "library", given, given, why, Certainty.MANUAL)
    given_hip = (f"-l{hip}",) if hip else ()
    return FlagChange(i, stop, "library", given, given_hip, "ROCm's library", Certainty.SAFE, once=True)


def _libraries(flag: str, i: int) -> FlagChange:
    """Translate nvc++'s list of CUDA's libraries."""
    names = flag.removeprefix("-cudalib=").split(",")
    found = [library(name) or ("", f"hipport does not know {name}") for name in names]
    why = next((why for _, why in found if why), "")
    if why:
        return FlagChange(i, i + 1, "library", (flag,), (flag,), why, Certainty.MANUAL)
    hip = tuple(f"-l{name}" for name, _ in found if name)
    return FlagChange(i, i + 1, "library", (flag,), hip, "ROCm's libraries", Certainty.SAFE)
