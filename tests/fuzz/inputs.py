# SPDX-License-Identifier: Apache-2.0
"""Inputs: lines and words of the fixtures' files, put together at random, and broken."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from hypothesis import strategies as st

FIXTURES = Path(__file__).parents[2] / "fixtures"
CORPUS = Path(__file__).parent / "corpus"

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
    ".rs": "build.rs",
    ".bzl": "rules.bzl",
    ".lock": "poetry.lock",
    ".conda_lock": "conda-lock.yml",
    ".devcontainer": ".devcontainer/devcontainer.json",
    ".presets": "CMakePresets.json",
}
# Python is a build script, a module or a test; C++ a source or a header.
_ALSO = {
    ".py": ("setup.py", "a.py", "tests/test_a.py"),
    ".cu": ("a.cu", "a.cuh", "a.h"),
    ".cmake": ("CMakeLists.txt", "cmake/a.cmake"),
}
# What a comment is, in files of each kind that have some; in most it begins with a number sign.
_REMARKS = {
    **dict.fromkeys((".cu", ".cuh", ".h", ".c", ".cpp", ".rs"), (b"/* %s */", b"// %s\n")),
    **dict.fromkeys((".ipynb", ".md", ".presets", ".devcontainer"), ()),
}

_TOKEN = re.compile(rb"[A-Za-z_][\w]*|\d+|[ \t]+|\r?\n|[^\w\s]")

#: What breaks programs that read text.
ODD = (
    *rb"""' " ` \"\"\" R"( ( ) { } [ ] < > # // /* */ ; : , $ ${ $( $< @ % = == && | ! ? <<EOF lambda:""".split(),
    *(
        each.encode() + b"\n"
        for each in ("# x", "// x", "\\", "if 1:", "else", "elif x: y", "#if 1", "#else", "#endif", "")
    ),
    *(b"\xef\xbb\xbf", b"\xaf", b"\xff", b"\xc3\xa9", b"\xe2\x80\xa8", b"\x85", b"\x1c"),
    *(b"\f", b"\v", b"\t", b" ", b"\r", b"\r\n", b"\\\r\n", b"\0"),
)


class Seeds(NamedTuple):
    """What the fixtures of one kind of file have."""

    #: The lines of each file; and files that are short.
    files: tuple[tuple[bytes, ...], ...]
    short: tuple[bytes, ...]
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
    # What broke a law is near to what else may.
    kinds = {name: suffix for suffix in texts for name in _names(suffix)}
    for path in sorted(CORPUS.rglob("*")):
        kind = kinds.get(path.name)
        if kind is not None and path.is_file() and path.stat().st_size < 4000:
            texts[kind].append(path.read_bytes())
    found = {}
    for suffix, files in texts.items():
        lines = dict.fromkeys(line for text in files for line in text.splitlines(keepends=True))
        words = dict.fromkeys(word for text in files for word in re.findall(rb"[\w.+:$@<>{}-]*\w[\w.+:$@<>{}-]*", text))
        short = tuple(text for text in files if len(text) < 1500) or tuple(files)
        split = tuple(tuple(text.splitlines(keepends=True)) for text in files)
        found[suffix] = Seeds(split, short, tuple(lines), tuple(words))
    return found


def _names(suffix: str) -> tuple[str, ...]:
    return _ALSO.get(suffix, (NAMES[suffix],))


class Chance(Protocol):
    """Where choices come from: random numbers, or Hypothesis, which makes a failing input smaller by them."""

    def choice(self, among: Sequence[Any]) -> Any: ...

    def number(self, least: int, most: int) -> int: ...


class Random:
    """Choices by random numbers, ten times as fast as Hypothesis's."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def choice(self, among: Sequence[Any]) -> Any:
        return self.random.choice(among)

    def number(self, least: int, most: int) -> int:
        return self.random.randint(least, most)


class _Drawn:
    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def choice(self, among: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(among))

    def number(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))  # type: ignore[no-any-return]


@st.composite
def trees(draw: Any) -> dict[str, bytes]:
    """Draw a tree, as `tree` makes it."""
    return tree(_Drawn(draw))


def tree(chance: Chance) -> dict[str, bytes]:
    """Make a file of some kind, or some that belong together now and then."""
    kinds = [chance.choice(_KINDS)]
    if chance.number(0, 7) == 0:
        kinds += [chance.choice(_KINDS) for _ in range(chance.number(1, 3))]
    files = {chance.choice(_names(kind)): _file(chance, kind) for kind in kinds}
    if len(files) > 1:
        headers = [name for name in files if name.endswith("h")]
        for name in files:
            if headers and name.endswith((".cu", ".cpp")):
                files[name] = b'#include "%s"\n' % headers[0].encode() + files[name]
    return files


def _file(chance: Chance, kind: str) -> bytes:
    """Make a file: some lines of fixtures, or a whole one, changed in a few places."""
    own = seeds()[kind]
    text = _text(chance, own)
    for _ in range(chance.number(0, 4)):
        # Of another kind of file, now and then.
        other = seeds()[chance.choice(_KINDS)] if chance.number(0, 15) == 0 else own
        text = _changed(chance, other, text)
    remarks = _REMARKS.get(kind, (b"# %s\n",))
    for number in range(chance.number(0, 2) if remarks and chance.number(0, 3) == 0 else 0):
        place = _place(chance, text)
        text = text[:place] + chance.choice(remarks) % (b"kept%d" % number) + text[place:]
    # Of each kind of line ending, and with a byte-order mark: now and then.
    odd = chance.number(0, 23)
    if odd == 1:
        text = b"\xef\xbb\xbf" + text
    elif odd < 4:
        text = text.replace(b"\n", (b"\n", b"", b"\r\n", b"\r")[odd])
    return text


# C++ and Python are half of it.
_KINDS = sorted([*NAMES, *[".cu"] * 6, *[".py"] * 4, *[".cmake"] * 2, ".mk", ".sh"])


def _text(chance: Chance, own: Seeds) -> bytes:
    if chance.number(0, 7) == 0:
        return bytes(chance.choice(own.short))
    pieces: list[bytes] = []
    for _ in range(chance.number(1, 4)):
        if chance.number(0, 1):
            pieces.append(chance.choice(own.lines))
        else:
            lines = chance.choice(own.files)
            start = chance.number(0, max(0, len(lines) - 1))
            pieces += lines[start : start + chance.number(1, 8)]
    return b"".join(pieces)


def _place(chance: Chance, text: bytes) -> int:
    """Return where some token ends."""
    token = _TOKEN.search(text, chance.number(0, len(text)))
    return token.end() if token else len(text)


def _changed(chance: Chance, own: Seeds, text: bytes) -> bytes:
    """Take out, repeat, replace or put in a few tokens, or leave off an end."""
    start = end = _place(chance, text)
    for _ in range(chance.number(0, 6)):
        token = _TOKEN.match(text, end)
        end = token.end() if token else end
    how = chance.number(0, 8)
    if how == 6:
        return text[:start] if chance.number(0, 1) else text[start:]
    if how == 7:
        # Deep, or much of the same.
        return text[:end] + text[start:end] * chance.number(1, 60) + text[end:]
    if how == 8:
        # In another place.
        rest = text[:start] + text[end:]
        place = _place(chance, rest)
        return rest[:place] + text[start:end] + rest[place:]
    new = (b"", text[start:end] * 2, chance.choice(ODD), chance.choice(own.words))[how % 4]
    return text[:start] + new + text[start if how > 3 else end :]
