# SPDX-License-Identifier: Apache-2.0
"""Device memory after each launch, and outputs of cases, as recorded by runs: find the first difference of two runs."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hipport.core.reading import read_or_nothing


def first_changed(one: Path, other: Path) -> tuple[int, Mapping[str, Any], str] | None:
    """Return the first launch after which two traces differ: its number, the other's record, and the difference."""
    lines = [_trace(one), _trace(other)]
    for number, (a, b) in enumerate(zip(*lines, strict=False)):
        what = _changed(a, b)
        if what:
            return number, b, what
    if len(lines[0]) != len(lines[1]):
        shorter = min(len(lines[0]), len(lines[1]))
        return shorter, max(lines, key=len)[shorter], "launched on one side only"
    return None


def _trace(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in read_or_nothing(file).decode("utf-8", "replace").splitlines()]


def _changed(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    """Say how the memory after a launch differs; empty if it does not."""
    if a["kernel"] != b["kernel"] and a["grid"] != b["grid"]:
        return f"the original launches {a['kernel']} here"
    ours, theirs = {m[0]: m[1:] for m in a["memory"]}, {m[0]: m[1:] for m in b["memory"]}
    if {number: m[0] for number, m in ours.items()} != {number: m[0] for number, m in theirs.items()}:
        return "they allocate different memory"
    differ = [number for number in ours if ours[number] != theirs[number]]
    if not differ:
        return ""
    return "memory of " + ", ".join(f"{ours[number][0]} bytes" for number in differ[:4]) + " holds something else"


def outputs_changed(one: Path, other: Path, places: Sequence[str]) -> str:
    """Say in which configuration and case outputs differ bit for bit; empty if nowhere."""
    for number, place in enumerate(places):
        for file in sorted((one / str(number)).glob("*.npz")):
            theirs = other / str(number) / file.name
            with zipfile.ZipFile(file) as mine, zipfile.ZipFile(theirs) as others:
                sums = [{each.filename: each.CRC for each in archive.infolist()} for archive in (mine, others)]
            changed = [name.removesuffix(".npy") for name, crc in sums[0].items() if sums[1].get(name) != crc]
            if changed:
                return f"{', '.join(changed)} of {file.stem} differ at {place}"
    return ""
