# SPDX-License-Identifier: Apache-2.0
"""Inputs: lines and words of the fixtures' files, put together at random, and damaged.

Files after the port count, too: with lines of files before it, they look like ported files with a merge of new code.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from hipport_passes.names.headers.header_tables import table

FIXTURES = Path(__file__).parents[2] / "fixtures"
CORPUS = Path(__file__).parent / "corpus"

#: The file names under which hipport reads files of each kind, by the suffixes of their fixtures.
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
    ".yaml": "config.yaml",
    ".json": "config.json",
}
# Python is a build script, a module or a test; C++ is a source or a header.
_ALSO = {
    ".py": ("setup.py", "a.py", "tests/test_a.py"),
    ".cu": ("a.cu", "a.cuh", "a.h", "a.cpp", "hip/a.cu", "a.hip"),
    ".cmake": ("CMakeLists.txt", "cmake/a.cmake"),
}
# Comments in files of each kind; in most kinds they begin with a number sign.
_REMARKS = {
    **dict.fromkeys((".cu", ".cuh", ".h", ".c", ".cpp", ".rs"), (b"/* %s */", b"// %s\n")),
    **dict.fromkeys((".ipynb", ".md", ".presets", ".devcontainer", ".json"), ()),
}

# Replacements for a blank, and text around lines, in files of each kind; many results stay valid programs.
_CPP, _PYTHON, _SHELL, _YAML = (
    (
        (b"/**/", b"\\\n", b"\n", b"// c\n", b" /* a\n b */ "),
        (
            *(
                b"#ifdef __CUDACC__\n%s#endif A\n",
                b"#if 1\n%s#else B\n#endif\n",
                b"#ifndef USE_ROCM\n%s#else\n#endif\n",
            ),
            *(b"#define M //\n%s", b"#define M(x) \\\n%s", b"namespace n {\n%s}\n", b"void f() {\n%s}\n"),
            *(b"template<class T>\n%s", b"{ %s }", b"if (x) %s", b"for (;;) %s"),
        ),
    ),
    (
        (b" \\\n ", b"\n", b"  # c\n"),
        (
            *(b"if x: %s", b"if x: y = 1; \\\n  %s", b"if a:\n%i", b"def f():\n%i", b"try:\n%iexcept E:\n    pass\n"),
            *(b"try: %sexcept E: pass\n", b"class A:\n%i", b"pass; %s", b"if a:\n    pass\nelse:\n%i", b"x = [\n%s]\n"),
            *(b"@d\n%s", b"lambda: %s", b"\\\n%s", b'"""\n%s"""\n'),
        ),
    ),
    (
        (b" \\\n", b" \\\n  # c\n "),
        (
            *(b"if a; then\n%sfi\n", b"f() {\n%s}\n", b"( %s )\n", b"a && %s", b"x=$(%s)\n", b"cat <<E\n%sE\n"),
            *(b"for a in b; do\n%sdone\n", b"RUN %s", b"RUN a && \\\n %s", b"RUN <<E\n%sE\n", b"sh -c '%s'\n"),
        ),
    ),
    ((b"\n  ", b" # c\n"), (b"a:\n%i", b"- %s", b"a: |\n%i", b"a: >\n%i", b"a: {%s}\n", b"---\n%s", b"a:\n%i%i")),
)
_FORMS: dict[str, tuple[tuple[bytes, ...], tuple[bytes, ...]]] = {
    **dict.fromkeys((".cu", ".cuh", ".h", ".c", ".cpp", ".rs"), _CPP),
    **dict.fromkeys((".py", ".build", ".bzl"), _PYTHON),
    **dict.fromkeys((".sh", ".dockerfile", ".def"), _SHELL),
    **dict.fromkeys((".yml", ".workflow", ".compose", ".manifest", ".conda_lock", ".yaml"), _YAML),
    ".cmake": (
        (b"\n", b" # c\n", b"#[[ c ]]", b" ;"),
        (
            *(b"if(A)\n%sendif()\n", b"if(USE_HIP)\n%selse()\n%sendif()\n", b"function(f)\n%sendfunction()\n"),
            *(b"macro(f)\n%sendmacro()\n", b"foreach(a b)\n%sendforeach()\n", b"if(A) %selse() %sendif()\n"),
        ),
    ),
    ".mk": (
        (b" \\\n\t", b" \\\n", b"  "),
        (
            *(b"ifdef A\n%sendif\n", b"ifeq ($(USE_HIP),1)\n%selse\n%sendif\n", b"define d\n%sendef\n"),
            *(b"all:\n\t%s", b"all: ; %s", b"export %s", b"override %s", b"$(eval %s)"),
        ),
    ),
    ".txt": ((b"  ", b" \\\n", b" # c\n"), (b"-r a.txt\n%s", b"# %s", b"-e %s")),
    **dict.fromkeys(
        (".toml", ".lock", ".cfg", ".ini"), ((b"\n", b" # c\n"), (b"[a]\n%s", b"a = [\n%s]\n", b"a =\n%i"))
    ),
    **dict.fromkeys(
        (".ipynb", ".devcontainer", ".presets", ".md", ".json"), ((b"\n", b"\t"), (b"%s%s", b"{%s}", b"[%s]"))
    ),
}

# The end of a function, of a type or of a namespace whose lines are indented in the usual way.
_DECLARATION_END = re.compile(rb"^\};?[ \t]*\r?\n", re.MULTILINE)
_TOKEN = re.compile(rb"[A-Za-z_][\w]*|\d+|[ \t]+|\r?\n|[^\w\s]")

# A name with brackets behind it, once nested: a call, an index, a member of either.
_EXPRESSION = re.compile(
    rb"(?:\w+(?:::|\.|->))*\w+[(\[{](?P<within>(?:[^()\[\]{}\n]|[(\[{][^()\[\]{}\n]*[)\]}])*)[)\]}](?:(?:\.|->)\w+)*"
)

#: Text that breaks programs which read text.
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
    """The fixtures of one kind of file."""

    #: The lines of each file; and short files.
    files: tuple[tuple[bytes, ...], ...]
    short: tuple[bytes, ...]
    lines: tuple[bytes, ...]
    words: tuple[bytes, ...]


@cache
def seeds() -> dict[str, Seeds]:
    """Return the seeds of each kind."""
    texts: dict[str, list[bytes]] = {}
    for path in sorted(FIXTURES.rglob("*")):
        suffix = path.suffix
        if path.is_file() and suffix in NAMES:
            texts.setdefault(suffix, []).append(path.read_bytes())
    # Inputs similar to one that broke a law may break another.
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


@cache
def programs() -> tuple[tuple[tuple[str, str, bytes], ...], ...]:
    """Return the fixtures of several files: for each file its path, its kind and its text."""
    found = []
    for beside in sorted(FIXTURES.glob("*/*.beside")):
        others = [path for path in sorted(beside.rglob("*")) if path.is_file() and path.suffix in NAMES]
        files = [(path.relative_to(beside).as_posix(), path.suffix, path.read_bytes()) for path in others]
        case = beside.name.removesuffix(".beside")
        files += [
            (NAMES[path.suffix] if path.suffix != ".cu" else f"{case}.cu", path.suffix, path.read_bytes())
            for path in sorted(beside.parent.glob(f"{case}.before.*"))
            if path.suffix in NAMES
        ]
        found.append(tuple(files))
    return tuple(found)


@cache
def _by_pass() -> tuple[tuple[tuple[str, bytes], ...], ...]:
    """Return the fixtures of each pass, with their kinds. Those of some passes are few among all, or long."""
    found: dict[str, list[tuple[str, bytes]]] = {}
    for path in sorted(FIXTURES.glob("*/*")):
        if path.suffix in NAMES and path.is_file() and path.stat().st_size < 8000:
            found.setdefault(path.parent.name, []).append((path.suffix, path.read_bytes()))
    return tuple(map(tuple, found.values()))


def _names(suffix: str) -> tuple[str, ...]:
    return _ALSO.get(suffix, (NAMES[suffix],))


class Chance(Protocol):
    """The source of choices: random numbers, or Hypothesis, which reduces a failing input through them."""

    def choice(self, among: Sequence[Any]) -> Any: ...

    def number(self, least: int, most: int) -> int: ...


class Random:
    """Choices by random numbers, ten times as fast as Hypothesis."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def choice(self, among: Sequence[Any]) -> Any:
        return self.random.choice(among)

    def number(self, least: int, most: int) -> int:
        return self.random.randint(least, most)


def tree(chance: Chance) -> dict[str, bytes]:
    """Make a file of some kind, or occasionally several connected files."""
    several = chance.number(0, 31)
    if several == 0:
        return _program(chance)
    if several < 3:
        return _divided(chance)
    if several < 8:
        kind, text = chance.choice(chance.choice(_by_pass()))
        return {chance.choice(_names(kind)): _damaged(chance, kind, text)}
    if several == 8:
        return _with_headers(chance)
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


def _program(chance: Chance) -> dict[str, bytes]:
    """Make a program of several files: a fixture's, one of them changed in a few places."""
    files = chance.choice(programs())
    number = chance.number(0, len(files) - 1)
    return {path: _damaged(chance, kind, text) if i == number else text for i, (path, kind, text) in enumerate(files)}


@cache
def _headers() -> tuple[bytes, ...]:
    """Return the headers that hipport knows, of CUDA and of HIP: the fixtures have few of them."""
    rows = table().rows
    return tuple(sorted({each.encode() for each in (*rows, *(row.hip for row in rows.values())) if each}))


def _with_headers(chance: Chance) -> dict[str, bytes]:
    """Make a file with headers of CUDA, before and between code: what they bring is not what HIP's bring."""
    kind = chance.choice((".cu", ".cpp", ".h", ".cuh"))
    pieces: list[bytes] = []
    for _ in range(chance.number(1, 3)):
        around = chance.choice((b"%s", b"%s", b"#ifdef __CUDACC__\n%s#endif\n", b"static int d() { return 0; }\n%s"))
        pieces.append(around % b"#include <%s>\n" % chance.choice(_headers()))
    for _ in range(chance.number(1, 4)):
        lines = chance.choice(seeds()[kind].files)
        start = chance.number(0, max(0, len(lines) - 1))
        pieces += lines[start : start + chance.number(1, 5)]
    if chance.number(0, 3) == 0:
        return {"a.cpp": b'#include "include/a.h"\n', "include/a.h": b"".join(pieces)}
    return {chance.choice(_names(kind)): _damaged(chance, kind, b"".join(pieces))}


def _divided(chance: Chance) -> dict[str, bytes]:
    """Make a program of a header and a source: one file of C++ in two, divided between two declarations."""
    text = _file(chance, ".cu")
    ends = [match.end() for match in _DECLARATION_END.finditer(text)] or [len(text)]
    at = chance.choice(ends)
    header = chance.choice(("a.cuh", "a.h", "include/a.h"))
    return {header: text[:at], chance.choice(("a.cu", "a.cpp")): b'#include "%s"\n' % header.encode() + text[at:]}


def _file(chance: Chance, kind: str) -> bytes:
    """Make a file: some lines of fixtures, or whole ones, changed in a few places."""
    return _damaged(chance, kind, _text(chance, seeds()[kind]))


def _damaged(chance: Chance, kind: str, text: bytes) -> bytes:
    """Change a file in a few places."""
    own = seeds()[kind]
    for _ in range(chance.number(0, 4)):
        how = chance.number(0, 10)
        if how == 0:
            text = _spelled(chance, kind, text)
        elif how == 1:
            text = _within(chance, kind, text)
        elif how == 2:
            text = _nested(chance, text)
        else:
            # Occasionally of another kind of file.
            other = seeds()[chance.choice(_KINDS)] if chance.number(0, 15) == 0 else own
            text = _changed(chance, other, text)
    remarks = _REMARKS.get(kind, (b"# %s\n",))
    for number in range(chance.number(0, 2) if remarks and chance.number(0, 3) == 0 else 0):
        place = _place(chance, text)
        text = text[:place] + chance.choice(remarks) % (b"kept%d" % number) + text[place:]
    # Occasionally with another kind of line ending, or a byte-order mark.
    odd = chance.number(0, 23)
    if odd == 1:
        text = b"\xef\xbb\xbf" + text
    elif odd < 4:
        text = text.replace(b"\n", (b"\n", b"", b"\r\n", b"\r")[odd])
    return text


# Half of the files are C++ and Python.
_KINDS = sorted([*NAMES, *[".cu"] * 6, *[".py"] * 4, *[".cmake"] * 2, ".mk", ".sh"])


def _text(chance: Chance, own: Seeds) -> bytes:
    if chance.number(0, 7) == 0:
        # Several together may be a program in which passes meet that have fixtures of their own.
        whole = [bytes(chance.choice(own.short)) for _ in range(chance.number(1, 3))]
        return b"".join(each if each.endswith(b"\n") else each + b"\n" for each in whole)
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
    """Return the end of a random token."""
    token = _TOKEN.search(text, chance.number(0, len(text)))
    return token.end() if token else len(text)


def _spelled(chance: Chance, kind: str, text: bytes) -> bytes:
    """Replace a few blanks."""
    for _ in range(chance.number(1, 3)):
        blank = re.compile(rb"[ \t]+").search(text, chance.number(0, len(text)))
        if blank is not None:
            text = text[: blank.start()] + chance.choice(_FORMS[kind][0]) + text[blank.end() :]
    return text


def _within(chance: Chance, kind: str, text: bytes) -> bytes:
    """Put text around a few lines, or around all."""
    lines = text.splitlines(keepends=True)
    start = chance.number(0, len(lines))
    end = start + chance.number(1, 8)
    if chance.number(0, 4) == 0:
        start, end = 0, len(lines)
    some = b"".join(lines[start:end])
    deeper = b"".join(b"    " + line for line in lines[start:end])
    around = chance.choice(_FORMS[kind][1]).replace(b"%i", deeper).replace(b"%s", some)
    return b"".join([*lines[:start], around, *lines[end:]])


def _nested(chance: Chance, text: bytes) -> bytes:
    """Put an expression with brackets, such as a call, inside the brackets of another: edits of both may overlap."""
    expressions = list(_EXPRESSION.finditer(text))
    if not expressions:
        return text
    inner: bytes = chance.choice(expressions).group()
    outer: re.Match[bytes] = chance.choice(expressions)
    start, end = outer.span("within")
    kept = text[start:end] if chance.number(0, 1) else b""
    return text[:start] + inner + (b", " if kept else b"") + kept + text[end:]


def _changed(chance: Chance, own: Seeds, text: bytes) -> bytes:
    """Remove, repeat, replace or insert a few tokens, or cut off the end."""
    start = end = _place(chance, text)
    for _ in range(chance.number(0, 6)):
        token = _TOKEN.match(text, end)
        end = token.end() if token else end
    how = chance.number(0, 8)
    if how == 6:
        return text[:start] if chance.number(0, 1) else text[start:]
    if how == 7:
        # Deeply nested, or many repetitions.
        return text[:end] + text[start:end] * chance.number(1, 60) + text[end:]
    if how == 8:
        # Moved to another place.
        rest = text[:start] + text[end:]
        place = _place(chance, rest)
        return rest[:place] + text[start:end] + rest[place:]
    new = (b"", text[start:end] * 2, chance.choice(ODD), chance.choice(own.words))[how % 4]
    return text[:start] + new + text[start if how > 3 else end :]
