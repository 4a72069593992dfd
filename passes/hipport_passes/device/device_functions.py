# SPDX-License-Identifier: Apache-2.0
"""Replace device functions that HIP lacks, or that round differently there, by hipport's helpers.

`__nanosleep(100)` becomes `hipport::ptx::nanosleep_u32(100)`, and `__fadd_rz(a, b)` becomes
`hipport::ptx::add_rz_f32(a, b)`. In CUDA `__fmul_rn` and `__fadd_rn` are never fused to one operation, and
`__fsqrt_rn` and `__frcp_rn` round correctly. HIP's are plain expressions that hipcc does fuse, and approximations.
`__ffsll` of a `long` does not compile with HIP, which cannot choose between its overloads; where the argument is known
to be a `long long` it stays. `sincos(x, &s, &c)` of floats, for which HIP has no overload, gets a header that has it.
`__pipeline_memcpy_async` becomes an immediate copy, which CUDA allows; a later wait does nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePath

from hipport.analysis.library_names import LibraryNames
from hipport.core.edits import Edit, NewFile, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import load
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include, with_included_headers
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp

_ROUNDINGS = {"rn": "rn", "rz": "rz", "rd": "rm", "ru": "rp"}
_OURS = "hipport::"
_CALL = re.compile(rb"\s*\(")
# Declared with the type, with an alias in capitals or with a template's parameter.
_MAY_BE_FLOAT = rb"\b(?:float|auto|[A-Z]\w*)\b[^;(){}]*?\b%s\b"
_LONG_LONG = re.compile(rb"(?:\(\s*|static_cast\s*<\s*)(?:unsigned\s+)?long\s+long(?:\s+int)?\s*[)>].*", re.DOTALL)


@cache
def _helpers() -> tuple[LibraryNames, dict[bytes, str], frozenset[bytes]]:
    """Return the names to look for, the replacement of each, and those whose replacement is in `async.h`."""
    rows = load(Path(__file__).with_suffix(".toml"))
    helpers = {name: f"hipport::ptx::{helper}" for name, helper in rows["ptx"].items()}
    for name, helper in rows["rounded"].items():
        for rounding, suffix in _ROUNDINGS.items():
            helpers[f"{name}_{rounding}"] = f"hipport::ptx::{helper.format(suffix)}"
    for name in rows["as_in_hip"]["names"].split():
        del helpers[name]
    helpers |= {name: f"hipport::{helper}" for name, helper in (rows["device"] | rows["async"]).items()}
    helpers |= rows["builtin"]
    rows_by_name = {name.encode(): helper for name, helper in helpers.items()}
    return LibraryNames(frozenset(rows_by_name)), rows_by_name, frozenset(name.encode() for name in rows["async"])


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per use of such a function."""
    yield from _of_float(source, project)
    names, helpers, copies = _helpers()
    uses = list(names.uses(source, project))
    need, headers = _headers(source, project, {name in copies for _, name in uses if helpers[name].startswith(_OURS)})
    for span, name in uses:
        if name == b"__ffsll" and _is_long_long(source, span):
            continue
        called = _CALL.match(source.code, span.end) is not None
        if not called and not name.startswith(b"_"):
            continue  # Programs use words like `umin` for other things than functions.
        helper = helpers[name]
        message = f"{name.decode()} → {helper}"
        edit = Edit(span, helper.encode())
        if not helper.startswith(_OURS):
            yield Finding(span, "builtin", message, (edit,))
            continue
        certainty = Certainty.SAFE
        if not called:
            message += "; assumes that the code which receives it calls it, and declares no such name"
            certainty = Certainty.REVIEW
        edits = (edit, *((need,) if need else ()))
        yield Finding(span, "helper", message, edits, certainty, creates=headers)


def _of_float(source: Cpp, project: Project) -> Iterator[Finding]:
    """Find calls that may be of float, for which HIP has only the function of double: the header has the overload."""
    words = load(Path(__file__).with_suffix(".toml"))["of_float"]["names"].encode().split()
    if source.words.isdisjoint(words):
        return
    for span, name in LibraryNames(frozenset(words), overloaded=True).uses(source, project):
        opening = _CALL.match(source.code, span.end)
        arguments = source.arguments(opening.end() - 1) if opening else None
        if not arguments or len(arguments) != 3:
            continue
        place = re.fullmatch(rb"&?\s*(\w+)", source.code[arguments[1].start : arguments[1].end])
        if place is not None and not re.search(_MAY_BE_FLOAT % place[1], source.code):
            continue
        need, header = include(source, project, "sincos.h")
        if need is not None:
            message = f"{name.decode()} of float is not in HIP: hipport/sincos.h has it"
            yield Finding(span, "overload", message, (need,), creates=(header,))


def _headers(source: Cpp, project: Project, copies: set[bool]) -> tuple[Edit | None, tuple[NewFile, ...]]:
    """Return one edit that includes the headers a file needs, for copies and for other functions, and the headers."""
    edits: list[Edit] = []
    headers: dict[PurePath, NewFile] = {}
    for copy in sorted(copies, reverse=True):
        need, header = include(source, project, "async.h" if copy else "device.h")
        headers |= {each.path: each for each in with_included_headers(header)}
        # The `headers` pass replaces one of CUDA's headers by the header that is needed.
        if need and not (copy and any(each.path.startswith("cuda_pipeline") for each in source.includes)):
            edits.append(need)
    lines = b"".join(each.new for each in edits)
    return Edit(edits[0].span, lines) if edits else None, tuple(headers.values())


def _is_long_long(source: Cpp, span: Span) -> bool:
    """Return whether the call's argument is certainly a `long long`: by a cast, or by all declarations."""
    opening = _CALL.match(source.code, span.end)
    arguments = source.arguments(opening.end() - 1) if opening else None
    if not arguments:
        return False
    text = source.code[arguments[0].start : arguments[0].end]
    if _LONG_LONG.fullmatch(text):
        return True
    if not re.fullmatch(rb"[A-Za-z_]\w*", text):
        return False
    declared = re.findall(rb"\b([A-Za-z_]\w*(?:\s+\w+)*)\s+" + text + rb"\s*[,;=){]", source.code)
    kinds = {
        re.sub(rb"\b(?:const|unsigned|int|static|return)\b", b"", words).split()[-2:] == [b"long", b"long"]
        for words in declared
    }
    return kinds == {True}


PASS = Pass(Cpp, find)
