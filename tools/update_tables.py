#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the generated name tables, `api_names.toml` and `headers.toml`, from the sources of HIPIFY.

    tools/update_tables.py SOURCES            write the tables
    tools/update_tables.py SOURCES --check    say whether the tables are what would be written; exit status 1 if not

SOURCES is a folder with HIPIFY's sources or its source archive. On Debian and Ubuntu `apt-get source --download-only
hipify` brings the archive, `hipify_<release>….orig.tar.xz`; upstream publishes the same as tag `rocm-<release>` of
ROCm/HIPIFY. Without SOURCES, --check says that it checked nothing.

HIPIFY keeps a fact in up to four maps; here it is one row. Names that it marks as unsupported get no HIP name: those in
its maps are invented.
"""

from __future__ import annotations

import argparse
import re
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PASSES = Path(__file__).parent.parent / "passes/hipport_passes/names"

# HIPIFY's maps whose names are ported, by a word in the name of their file.
AREAS = (
    "Runtime",
    "Driver",
    "Device",
    "Complex",
    "RTC",
    "BLAS",
    "FFT",
    "RAND",
    "SPARSE",
    "SOLVER",
    "TENSOR",
    "CUB",
    "DNN",
)

# hipDNN, which HIPIFY maps cuDNN to, is not part of ROCm; no release has it.
WITHOUT_HIP = ("DNN",)

# The oldest release that hipport ports to: names that it has need no `since`.
OLDEST = (5, 2)

_ROW = re.compile(r'^\s*\{"([^"]+)",\s*\{"([^"]*)",\s*"[^"]*",\s*CONV_(\w+),\s*API_\w+,([^}]*)\}\}', re.MULTILINE)
_VERSIONS = re.compile(
    r'^\s*\{"([^"]+)",\s*\{\s*HIP_(\d+),\s*HIP_(\d+),\s*HIP_(\d+)\s*(?:,\s*HIP_\w+\s*)?\}\}', re.MULTILINE
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_NO_HIP = {"HIP_UNSUPPORTED", "UNSUPPORTED"}


@dataclass
class Maps:
    """HIPIFY's facts: per area the names with their HIP name or None, the headers, and the releases of HIP names."""

    names: dict[str, dict[str, str | None]] = field(default_factory=lambda: {area: {} for area in AREAS})
    headers: dict[str, str | None] = field(default_factory=dict)
    #: HIP name: its first and its last release, 0 if there is none, as 1000 * major + 10 * minor
    releases: dict[str, tuple[int, int]] = field(default_factory=dict)


def read(files: dict[str, str]) -> Maps:
    """Return the maps in the C++ sources `files` (name: text). Raises ValueError if they are not HIPIFY's."""
    maps = Maps()
    for name, text in sorted(files.items()):
        match = re.fullmatch(r"CUDA2HIP(?:_([A-Za-z0-9]+)_.*)?\.cpp", name)
        area = match[1] if match else None
        for hip, came, _, went in _VERSIONS.findall(text):
            maps.releases[hip] = (int(came), int(went))
        for cuda, hip, kind, flags in _ROW.findall(text):
            supported = not _NO_HIP & set(re.findall(r"\w+", flags))
            if kind.startswith("INCLUDE"):
                if not cuda.startswith("caffe2/"):
                    maps.headers[cuda] = hip if supported else None
            elif area in maps.names and not (area == "CUB" and cuda == "cub"):
                supported = supported and area not in WITHOUT_HIP and bool(_WORD.fullmatch(hip))
                # A name that one map has and another marks as unsupported counts as supported.
                maps.names[area][cuda] = hip if supported else maps.names[area].get(cuda)
    if not maps.headers or not all(maps.names.values()):
        raise ValueError("these are not the sources of HIPIFY, or not of a release with maps that are understood")
    known = {cuda for names in maps.names.values() for cuda, hip in names.items() if hip is not None}
    seen: set[str] = set()
    for names in maps.names.values():
        for cuda in [cuda for cuda, hip in names.items() if cuda in seen or (hip is None and cuda in known)]:
            del names[cuda]
        seen |= names.keys()
    return maps


def api_names(maps: Maps, release: str) -> str:
    """Return the text of `api_names.toml`."""
    lines = [
        *_head(release),
        '# CUDA name = HIP name. [area."6.2"] has the rows that came with ROCm 6.2; those of [area] were there in 5.2.',
        "# Names that are the same in HIP are not listed. [unsupported] has, by area, the names without a HIP name.",
    ]
    for area, names in maps.names.items():
        groups: dict[str, list[str]] = {}
        for cuda, hip in sorted(names.items()):
            if hip is not None and hip != cuda:
                came, went = (_release(version) for version in maps.releases.get(hip, (0, 0)))
                title = f'[{area.lower()}."{came[0]}.{came[1]}"]' if came > OLDEST else f"[{area.lower()}]"
                until = f'{{ hip = "{hip}", until = "{went[0]}.{went[1]}" }}' if went > (0, 0) else ""
                groups.setdefault(title, []).append(f"{cuda} = " + (until or f'"{hip}"'))
        for title, rows in sorted(groups.items(), key=lambda group: group[0].rstrip("]")):
            lines += ["", title, *rows]
    lines += ["", "[unsupported]"]
    for area, names in maps.names.items():
        without = sorted(cuda for cuda, hip in names.items() if hip is None)
        if without:
            lines += [f'{area.lower()} = """', *_wrapped(without), '"""']
    return "\n".join(lines) + "\n"


def headers(maps: Maps, release: str) -> str:
    """Return the text of `headers.toml`."""
    lines = [*_head(release), '# CUDA header = HIP header; "" where HIP needs none.', "", "[headers]"]
    lines += [f'"{cuda}" = "{hip}"' for cuda, hip in sorted(maps.headers.items()) if hip is not None]
    return "\n".join(lines) + "\n"


def _head(release: str) -> list[str]:
    return [
        f"# Generated by tools/update_tables.py from HIPIFY {release} (MIT). Corrections go beside it, to .own.toml.",
        "# SPDX-FileCopyrightText: 2015 - present Advanced Micro Devices, Inc.",
        "# SPDX-License-Identifier: MIT",
    ]


def _release(version: int) -> tuple[int, int]:
    return version // 1000, version % 1000 // 10


def _wrapped(words: list[str], width: int = 118) -> Iterator[str]:
    line = ""
    for word in words:
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
    if line:
        yield line


def sources(path: Path) -> tuple[dict[str, str], str]:
    """Return the C++ files that have maps, and the release: from the name of the folder, or of the one in the archive.

    Raises OSError, tarfile.TarError, and ValueError if the release is unknown.
    """
    files: dict[str, str] = {}
    if path.is_dir():
        name = path.resolve().name
        for file in (path / "src").glob("CUDA2HIP*.cpp"):
            files[file.name] = file.read_text()
        if not re.search(r"\d+\.\d+", name):
            # A checkout: its change log names its release, or the next one.
            name = re.findall(r"^## HIPIFY for ROCm (\S+)", (path / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    else:
        with tarfile.open(path) as archive:
            name = ""
            for member in archive:
                name = name or member.name.partition("/")[0]
                inside = re.fullmatch(r"[^/]+/src/(CUDA2HIP\w*\.cpp)", member.name)
                packed = archive.extractfile(member) if inside else None
                if inside and packed is not None:
                    files[inside[1]] = packed.read().decode()
    release = re.search(r"\d+(?:\.\d+)+", name)
    if release is None:
        raise ValueError(f"{path}: which release of HIPIFY is this? Neither its name nor its change log says")
    return files, release.group()


def main(arguments: list[str] | None = None) -> int:
    """Write or check the tables; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sources", type=Path, nargs="?", help="folder or archive of HIPIFY's sources")
    parser.add_argument("--check", action="store_true", help="write nothing; say whether the tables are up to date")
    parser.add_argument("--out", type=Path, default=PASSES, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.sources is None:
        if not given.check:
            parser.error("where are HIPIFY's sources? (apt-get source --download-only hipify)")
        print("SKIPPED: the tables were not compared with HIPIFY's sources, which were not given", file=sys.stderr)
        return 0
    try:
        files, release = sources(given.sources)
        maps = read(files)
    except (OSError, tarfile.TarError, ValueError) as error:
        print(f"update_tables: {error}", file=sys.stderr)
        return 2
    status = 0
    for name, text in (("api_names.toml", api_names(maps, release)), ("headers.toml", headers(maps, release))):
        path = given.out / name
        if given.check and (not path.exists() or path.read_text() != text):
            print(f"{path.name} is not what HIPIFY {release} gives: run tools/update_tables.py", file=sys.stderr)
            status = 1
        elif not given.check:
            path.write_text(text)
    return status


if __name__ == "__main__":
    sys.exit(main())
