# SPDX-License-Identifier: Apache-2.0
"""Inputs: lines and words of the fixtures' files, put together at random, and broken."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st

from hipport.discover import source
from hipport.testing import _LANGUAGES

FIXTURES = Path(__file__).parents[2] / "fixtures"

#: By what their fixtures end with, the names under which hipport reads files of each kind.
NAMES = {
    ".cu": "a.cu",
    ".cuh": "a.cuh",
    ".h": "a.h",
    ".c": "a.c",
    ".cpp": "a.cpp",
    ".py": "setup.py",
    ".cmake": "CMakeLists.txt",
    ".mk": "Makefile",
    ".ipynb": "a.ipynb",
    ".txt": "requirements.txt",
    ".toml": "pyproject.toml",
    ".cfg": "setup.cfg",
    ".ini": "tox.ini",
    ".yml": "environment.yml",
    ".dockerfile": "Dockerfile",
    ".sh": "run.sh",
    ".md": "README.md",
    ".workflow": ".github/workflows/ci.yml",
    ".compose": "docker-compose.yml",
    ".manifest": "pod.yaml",
    ".def": "a.def",
    ".build": "meson.build",
    ".bzl": "rules.bzl",
    ".lock": "poetry.lock",
    ".conda_lock": "conda-lock.yml",
    ".devcontainer": ".devcontainer/devcontainer.json",
    ".presets": "CMakePresets.json",
}
# Python is a build script, a module or a test; C++ a source or a header.
_ALSO = {".py": ("setup.py", "a.py"), ".cu": ("a.cu", "a.cuh", "a.h"), ".cmake": ("CMakeLists.txt", "cmake/a.cmake")}

_TOKEN = re.compile(rb"[A-Za-z_][\w]*|\d+|[ \t]+|\r?\n|[^\w\s]")
_LONGEST = 24

#: What breaks programs that read text.
ODD = (
    b"\xef\xbb\xbf", b"\xaf", b"\xff", b"\xc3\xa9", b"\xe2\x80\xa8", b"\r", b"\r\n", b"\n", b"\\\n", b"\\", b"\t", b"\f", b"\v",
    b'"', b"'", b"`", b"(", b")", b"{", b"}", b"[", b"]", b"<", b">", b"#", b"//", b"/*", b"*/", b";", b":", b",", b"$", b"${",
    b"$(", b"$<", b"@", b"%", b"=", b"==", b"&&", b"|", b"!", b"?", b"\\\r\n", b'"""', b"R\"(", b"<<EOF\n", b"\x85", b"\x1c",
    b"# x\n", b"/* x */", b"// x\n", b"if 1:\n", b"else\n", b"elif x: y\n", b"lambda: ", b"#if 1\n", b"#else\n", b"#endif\n",
)  # fmt: skip


class Seeds(NamedTuple):
    """What the fixtures of one kind of file have."""

    files: tuple[bytes, ...]
    lines: tuple[bytes, ...]
    words: tuple[bytes, ...]


@cache
def seeds() -> dict[str, Seeds]:
    """What there is of each kind."""
    texts: dict[str, list[bytes]] = {}
    for path in sorted(FIXTURES.rglob("*")):
        suffix = path.suffix
        if path.is_file() and suffix in NAMES and ".after" not in path.name:
            texts.setdefault(suffix, []).append(path.read_bytes())
    found = {}
    for suffix, files in texts.items():
        lines = dict.fromkeys(line for text in files for line in text.splitlines(keepends=True))
        words = dict.fromkeys(word for text in files for word in re.findall(rb"[\w.+:$@<>{}-]*\w[\w.+:$@<>{}-]*", text))
        found[suffix] = Seeds(tuple(files), tuple(lines), tuple(words))
    return found


def _names(suffix: str) -> tuple[str, ...]:
    return _ALSO.get(suffix, (NAMES[suffix],))


@st.composite
def trees(draw: Callable[..., int]) -> dict[str, bytes]:
    """Draw a file of some kind: some lines of fixtures, or a whole one, changed in a few places."""
    kinds = sorted(seeds())
    # C++ and Python are half of it.
    kind = draw(
        st.sampled_from(
            [*kinds, ".cu", ".cu", ".cu", ".cu", ".cu", ".py", ".py", ".py", ".cmake", ".cmake", ".mk", ".sh"]
        )
    )
    own = seeds()[kind]
    name = draw(st.sampled_from(_names(kind)))
    text = _text(draw, own)
    for _ in range(draw(st.integers(0, 4))):
        text = _changed(draw, own, text)
    if draw(st.integers(0, 15)) == 0:
        text = b"\xef\xbb\xbf" + text
    ending = draw(st.integers(0, 15))
    if ending < 2:
        text = text.replace(b"\n", b"\r\n" if ending else b"\r")
    return {name: text}


def _text(draw: Callable[..., int], own: Seeds) -> bytes:
    how = draw(st.integers(0, 7))
    if how == 0:
        short = [text for text in own.files if len(text) < 1500] or own.files
        return bytes(draw(st.sampled_from(short)))
    pieces = []
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            pieces.append(draw(st.sampled_from(own.lines)))
        else:
            text = draw(st.sampled_from(own.files))
            lines = text.splitlines(keepends=True)
            start = draw(st.integers(0, max(0, len(lines) - 1)))
            pieces += lines[start : start + draw(st.integers(1, 8))]
    return b"".join(pieces)


def _changed(draw: Callable[..., int], own: Seeds, text: bytes) -> bytes:
    ends = _token_ends(text)
    one = draw(st.integers(0, len(ends) - 1))
    other = min(len(ends) - 1, one + draw(st.integers(0, 6)))
    start, end = ends[one], ends[other]
    how = draw(st.integers(0, 6))
    if how == 0:
        return text[:start] + text[end:]
    if how == 1:
        return text[:end] + text[start:end] + text[end:]
    if how == 2:
        return text[:start] + bytes(draw(st.sampled_from(ODD))) + text[start:]
    if how == 3:
        return text[:start] + bytes(draw(st.sampled_from(own.words))) + text[end:]
    if how == 4:
        return text[:start] + bytes(draw(st.sampled_from(own.words))) + text[start:]
    if how == 5:
        return text[:start] + bytes(draw(st.sampled_from(ODD))) + text[end:]
    return text[:start] if draw(st.booleans()) else text[start:]


def _token_ends(text: bytes) -> Sequence[int]:
    return [0, *(match.end() for match in _TOKEN.finditer(text))]
