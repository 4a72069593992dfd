# SPDX-License-Identifier: Apache-2.0
"""Report names that look like CUDA's, are in no table of hipport's, and are declared nowhere in the program.

CUDA gets new names with each release, and programs misspell old ones. Such a name is kept, and hipcc does not know it.
A program's own `cudaCheck(…)` looks the same, so every name that its files declare in any way is left alone, and so is
a name that may be a macro's, in capitals with parentheses after it. A name is reported once for all files of a program.
A name that looks like a device function's is reported only in programs that use other CUDA names. Namespaces of
libraries that ROCm lacks are reported if none of their headers is included.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePath
from typing import NamedTuple

from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import load
from hipport.engine.pipeline import Pass
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp, word_before
from hipport.syntax.declarations import declarations, member_or_qualified
from hipport_passes.names import api_names
from hipport_passes.names.headers import header_tables

_CALLED = re.compile(rb"\s*(?:<[^;{}()]*>\s*)?\(")
# A macro's pasted part, a backslash that splits it, a namespace.
_PART = re.compile(rb"[ \t]*##|\\(?:\r\n?|\n)\w|\s*::")
_INNER_WORD = re.compile(rb"(?<=[a-z])[A-Z]|(?<=[A-Za-z])_")
_CAPITALS = re.compile(rb"[A-Z_0-9]+")
_BODY = re.compile(rb"\s*(?:[{;:]|final\b)")
# The text before a function that returns a pointer or a reference.
_POINTED = re.compile(rb"(?:^|[;{}>\n])[ \t]*(?!return\b)(?:[\w:]+\s+)*[\w:]+(?:\s*<[^;{}()]*>)?\s*[*&]+\s*\Z")
_TYPE_WORDS = frozenset(b"struct class enum union".split())
#: Words that no declared name follows.
_NO_TYPE = frozenset(
    b"return else do case goto throw delete new sizeof alignof and or not xor if while for switch co_return co_await "
    b"co_yield typename operator public private protected".split()
)
#: `cublasSgemm_v2`, `cuMemcpy_ptsz`, `cublasSgemm_64`: the names that a header's macros make from the usual ones.
_VERSION = re.compile(rb"(?:_v\d+|_pts[dz]|_[0-9]+)+$")
# Words that only CUDA's and HIP's languages have.
_OF_DEVICES = frozenset(b"__device__ __constant__ threadIdx blockIdx blockDim gridDim warpSize".split())
_WITHIN = re.compile(rb"\s*::")
_USED = re.compile(rb"\b(?:using\s+namespace|namespace\s+\w+\s*=)\s*(?:::\s*)?$")
# `namespace cutlass::mine {`
_OPENED = re.compile(rb"(?:\b(?P<using>using)\s+)?\bnamespace\s+$")
_DECLARES = re.compile(rb"\bnamespace\s+(\w+)\s*(?:::\s*\w+\s*)*[{=]|\b(?:class|struct|enum|union)\s+(\w+)\s*[{:;]")
_CONDITION = re.compile(rb"#[ \t]*(?:if|ifdef|ifndef|elif|undef|error|include|pragma)\b")


class _Family(NamedTuple):
    """The form of a library's names.

    `headers` are the prefixes of its headers' names if ROCm lacks the library: `headers` reports them. `shared`:
    compilers for other accelerators have such names, too.
    """

    of: str
    names: re.Pattern[bytes]
    used: str
    headers: tuple[str, ...] = ()
    instead: str = ""
    shared: bool = False


@cache
def _families() -> tuple[_Family, ...]:
    rows = load(Path(__file__).with_suffix(".toml"))["family"]
    found = (
        _Family(
            row["of"],
            re.compile(row["names"].encode()),
            row["used"],
            tuple(row.get("headers", "").split()),
            row.get("instead", ""),
            row.get("shared", False),
        )
        for row in rows
    )
    # `cusparseLtInit` is of cuSPARSELt, and looks like cuSPARSE's.
    return tuple(sorted(found, key=lambda family: not family.headers))


@cache
def _any() -> re.Pattern[bytes]:
    return re.compile(b"|".join(family.names.pattern for family in _families()))


@cache
def _known() -> frozenset[bytes]:
    known = load(Path(__file__).with_suffix(".toml"))["known"]
    return frozenset((*api_names.table(), *(name for names in known.values() for name in names.encode().split())))


@cache
def _beginnings() -> frozenset[bytes]:
    """Return the prefixes of CUDA's names, word by word: `cudaMem` of `cudaMemAdvise`."""
    names = api_names.table()
    return frozenset(name[: word.start()] for name in names for word in _INNER_WORD.finditer(name, 5))


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each such name, at its first use in the program."""
    yield from _named_spaces(source, project)
    used = source.fact(_used)
    if not used:
        return
    declared = project.union_over(source, _declared_families)
    first = project.component(source).fact(_first)
    told: set[bytes] = set()
    for span, name, of in used:
        if of.shared and not project.component(source).fact(_has_cuda):
            continue
        if name not in declared and name not in told and first[name] == source.path:
            told.add(name)
            if of.headers:
                library = of.of.encode()
                if library in told or first[library] != source.path or of.of in project.union_over(source, _included):
                    continue
                told.add(library)
                message = f"{name.decode()} and other names of {of.of}: ROCm has no such library; {of.instead}"
                yield Finding(span, "library", message, certainty=Certainty.MANUAL)
                continue
            message = (
                f"{name.decode()}: it looks like a name from {of.of}, but hipport knows no such name{_near(name)}; "
                "look for HIP's counterpart, or, if it is the program's own, add the header that declares it"
            )
            yield Finding(span, "name", message, certainty=Certainty.MANUAL)


def _used(source: Cpp) -> tuple[tuple[Span, bytes, _Family], ...]:
    """Return the names of the families that are in no table, where they are used like CUDA's, with their family."""
    found = []
    for span, name in source.fact(_looking_so):
        if member_or_qualified(source.code, span.start) or source.ported(span.start):
            continue
        if _PART.match(source.code, span.end) or source.code[: span.start].rstrip(b" \t").endswith((b"##", b"\\\n")):
            continue  # A part of a name, which `api_names` reports.
        directive = source.directive(span.start)
        if directive is not None and _CONDITION.match(source.code, directive.start, directive.end):
            continue
        called = _CALLED.match(source.code, span.end) is not None
        if called and _CAPITALS.fullmatch(name):
            continue  # CUDA's own names in capitals are not called.
        if not called and name in _beginnings():
            continue  # An argument to which a macro pastes the rest.
        family = next(each for each in _families() if each.names.fullmatch(name))
        if family.used == "any" or called == (family.used == "called"):
            found.append((span, name, family))
    return tuple(found)


@cache
def _spaces() -> Mapping[bytes, str]:
    """Return namespaces of libraries that ROCm lacks, which are named like the folders of their headers, and advice."""
    folders = header_tables.table().folders.items()
    known = {path[:-1].encode(): row.advice for path, row in folders if row.hip is None}
    known.pop(b"cuda")  # libcu++'s, which `namespaces` ports.
    return known


def _named_spaces(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield the first use of each of those without an included header in the program: `headers` reports the others."""
    told: set[bytes] = set()
    for span, name in source.fact(_in_spaces):
        if name not in told and project.component(source).fact(_first_space).get(name) == source.path:
            told.add(name)
            yield Finding(span, "library", f"{name.decode()}: {_spaces()[name]}", certainty=Certainty.MANUAL)


def _in_spaces(source: Cpp) -> tuple[tuple[Span, bytes], ...]:
    wanted = _spaces().keys() & source.words
    return tuple(
        (span, name)
        for span, name in (source.names(wanted) if wanted else ())
        if (_WITHIN.match(source.code, span.end) or _USED.search(source.code, max(0, span.start - 60), span.start))
        and not member_or_qualified(source.code, span.start)
        and not source.ported(span.start)
        and not _opens(source, span)
    )


def _opens(source: Cpp, name: Span) -> bool:
    """Return whether the name opens a namespace there, and does not use one."""
    opened = _OPENED.search(source.code, max(0, name.start - 60), name.start)
    return opened is not None and opened["using"] is None


def _first_space(component: Component) -> Mapping[bytes, PurePath]:
    """Return the first file of a program that uses such a namespace which it neither includes nor declares."""
    first: dict[bytes, PurePath] = {}
    there: set[bytes] = set()
    for source in component:
        if not isinstance(source, Cpp):
            continue
        for _, name in source.fact(_in_spaces):
            first.setdefault(name, source.path)
        there |= {each.path.partition("/")[0].encode() for each in source.includes}
        there |= {PurePath(each.path).stem.encode() for each in source.includes}
        there |= {match[1] or match[2] for match in _DECLARES.finditer(source.code)} if first else set()
    return {name: path for name, path in first.items() if name not in there}


def _looking_so(source: Cpp) -> tuple[tuple[Span, bytes], ...]:
    wanted = frozenset(source.matched(_any())) & source.words - _known()
    return tuple(source.names(wanted)) if wanted else ()


def _first(component: Component) -> Mapping[bytes, PurePath]:
    """Return the first file of a program that uses a name, or a library whose headers are reported."""
    first: dict[bytes, PurePath] = {}
    for source in component:
        if isinstance(source, Cpp):
            for _, name, family in source.fact(_used):
                first.setdefault(name, source.path)
                if family.headers:
                    first.setdefault(family.of.encode(), source.path)
    return first


def _has_cuda(component: Component) -> bool:
    """Return whether a program certainly uses CUDA: otherwise similar names may be another accelerator's."""
    return any(isinstance(each, Cpp) and each.fact(_is_cuda) for each in component)


def _is_cuda(source: Cpp) -> bool:
    if source.path.suffix in (".cu", ".cuh") or not _OF_DEVICES.isdisjoint(source.words):
        return True
    known = api_names.table()
    return any(word in known for word in source.words)


def _included(source: Cpp) -> frozenset[str]:
    """Return the libraries whose headers a file includes."""
    names = [PurePath(each.path).name for each in source.includes]
    return frozenset(
        family.of for family in _families() if family.headers and any(each.startswith(family.headers) for each in names)
    )


def _declared_families(source: Cpp) -> frozenset[bytes]:
    """Return the names of the families that the file declares: types, functions, variables, macros, enumerators,
    members.
    """
    names = source.fact(_looking_so)
    found = {each.name for each in declarations(source, names)}
    for span, name in names:
        word = word_before(source.code, span.start)
        if word in _TYPE_WORDS:
            found |= {name} if _BODY.match(source.code, span.end) else set()
        elif (word and word not in _NO_TYPE) or _POINTED.search(source.code, max(0, span.start - 200), span.start):
            found.add(name)
    return frozenset(found)


@cache
def _near(name: bytes) -> str:
    """Return the hint to the most similar name; "" if there is none."""
    known = api_names.table()
    base = _VERSION.sub(b"", name)
    if base not in known:
        like = [each for each in _beginning().get(name[:4].lower(), ()) if abs(len(each) - len(name)) < 8]
        close = difflib.get_close_matches(name.decode(), like, 1, 0.85)
        if not close:
            return ""
        base = close[0].encode()
    row = known[base]
    return f" (nearest: {base.decode()}, {(f'{row.hip} in HIP' if row.hip else 'which has no equivalent in HIP')})"


@cache
def _beginning() -> Mapping[bytes, Sequence[str]]:
    """Return the known names by their first four letters."""
    found: dict[bytes, list[str]] = {}
    for each in api_names.table():
        found.setdefault(each[:4].lower(), []).append(each.decode())
    return found


PASS = Pass(Cpp, find)
