# SPDX-License-Identifier: Apache-2.0
"""Rename the namespaces of CUB and Thrust to those of hipCUB and rocThrust, and report libcu++ and tensor cores.

A namespace of the program with such a name, or an alias of that name (`namespace cub = hipcub`), is left alone, and so
are names in PyTorch's `at::cuda::cub`. Names of `cuda::std` become the C++ library's where hipcc can compile those for
the device; an alias for all of it (`namespace cs = cuda::std`) becomes one for `std` if it is used for nothing else.
Atomic objects with a scope, `cuda::atomic` and the like, become those of `hipport/scoped_atomic.h`. They are REVIEW if
their scope is the system, because AMD's GPUs do not support all operations on host memory. Barriers, latches, pipelines
and asynchronous copies become those of `hipport/async.h`, which copy immediately. They are REVIEW if threads wait,
because a wavefront cannot wait for its own lanes. `cuda::ceil_div` becomes that of `hipport/ceil_div.h`. A decomposer
of keys for CUB's radix sorts returns rocPRIM's tuples, which hipCUB requires. Names that hipCUB or rocThrust lack are
reported, and so are calls of CUB without temporary storage, which CCCL 3 has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePath

from hipport.core.edits import Edit, NewFile, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words, load
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include, with_included_headers
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.declarations import member_or_qualified
from hipport_passes.names.pytorch_headers import includes_pytorch

#: The libraries that include libcu++, by CUDA's names of their headers and by ROCm's.
_CCCL = ("cub/", "thrust/", "hipcub/")
_TABLE = Path(__file__).with_suffix(".toml")

_WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
_ANY = _WORDS.compile(rb"(?:(?&whole)|(?&thrust)\s*::\s*(?:(?&systems)\s*::\s*)?(?&cuda)\w*|(?&cuda)\s*::\s*\w+)\b")
# `using namespace cuda;`, `namespace cs = cuda;`
_WHOLE = _WORDS.compile(rb"(?&cuda)\s*;")
_CUB_NAME = re.compile(rb"\s*::\s*(\w+)")
_ALONE = re.compile(rb"\b(?:using\s+namespace|namespace\s+\w+\s*=)\s*(?:::\s*)?$")
# `#define CUB_NS cub`, and nothing else.
_DEFINED = re.compile(rb"#[ \t]*define[ \t]+\w+[ \t]+(?:::[ \t]*)?$")
_LINE_END = re.compile(rb"[ \t]*(?:[\r\n]|$)")
# A name with a capital letter is neither an inner namespace, such as `cub::detail`, nor a function that `cub_thrust`
# handles.
_LARGE = re.compile(rb"[A-Z]")
_DEVICE = _WORDS.compile(rb"\s*::\s*((?&device_classes)\w+)\s*::\s*(\w+)\s*(?:<[^;(){}]*>\s*)?\(")
# A name in it that is not a namespace.
_THRUST_NAME = re.compile(rb"\s*::\s*([a-z]\w*)\b(?!\s*::)")
_THRUST_OF_OWN = _WORDS.compile(rb"\bnamespace\s+(?:\w+\s*::\s*)*(?&thrust)\s*[{=]")
_STD_NAME = re.compile(rb"\s*::\s*(\w+)")
# `namespace cs = cuda::std;`, up to its value.
_GIVEN = re.compile(rb"\s*=")
_NAMESPACE = re.compile(rb"\bnamespace\s+$")
_OTHER_NAME = re.compile(rb"\bnamespace\s+(\w+)\s*=\s*(?:::\s*)?$")
# The headers that `headers` replaces by hipport's headers of atomic objects and asynchronous copies.
_ASYNC = _WORDS.composed(r"(?&cuda)/(?:(?&of_std)?(?&waiting)|(?&pipelines))|(?&c_pipelines)\.h")
#: CUDA's headers that become one of hipport's.
_MADE = {
    "async.h": re.compile(_ASYNC),
    "ceil_div.h": _WORDS.compile(r"(?&mathematics)"),
    "scoped_atomic.h": _WORDS.compile(rf"{_ASYNC}|(?&cuda)/(?&of_std)?(?&atomics)"),
}
# Template arguments with a scope of an atomic object below the system.
_NARROW = _WORDS.compile(rb"\s*<[^;{}()]*\b(?&narrow_scopes)\b")
# A pipeline of one thread, which does not wait for others.
_OF_ONE = _WORDS.compile(rb"\s*(?:<[^;{}()]*\b(?&scope_of_one)\b|\(\s*\))")
# The decomposer of a key for CUB's radix sorts: `cuda::std::tuple<A&, B&> operator()(K& key) const { return {…}; }`.
_MEMBER = rb"\s*[\w:]+(?:\s+[\w:]+)*\s*&\s*"
_DECOMPOSER = _WORDS.compile(
    rb"\s*::\s*(?&tuple)\s*(?P<members><" + _MEMBER + rb"(?:," + _MEMBER + rb")*>)\s*operator\s*\(\s*\)"
    rb"\s*\([^(){}]*&[^(){}]*\)"
    rb"\s*(?:const\s*)?(?:noexcept\s*)?\{\s*return\s*(?P<opening>)\{[^{};]*\}\s*;\s*\}"
)
_OWN = _WORDS.compile(
    rb"n(?<!\wn)amespace\s+(?:\w+\s*::\s*)*((?&spaces_of_nvidia))\s*[{=]|#[ \t]*define[ \t]+((?&defined_spaces))\b"
)


@cache
def _words(section: str, key: str) -> frozenset[str]:
    return frozenset(load(_TABLE)[section][key].split())


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per use of such a namespace."""
    yield from _devices(source, project)
    yield from _of_rocthrust(source, project)
    if source.words.isdisjoint(_RULES):
        return
    code = source.code
    matches = [
        match
        for span, _ in source.names(_RULES.keys())
        if (match := _ANY.match(code, span.start)) and not member_or_qualified(code, span.start)
    ]
    whole = [span for span, _ in source.names({b"cuda"}) if _names_all(source, span)]
    own = project.declared(source, _own) if matches or whole else frozenset()
    reported: set[tuple[int, str]] = set()
    found: list[Finding] = []
    for match in matches:
        start = match.start()
        if source.ported(start):
            continue
        first = re.split(rb"\W", match.group(), maxsplit=1)[0]
        if first in own and match.group() != b"cuda::std":
            continue
        named = _OTHER_NAME.search(code, max(0, start - 80), start) if match.group().endswith(b"std") else None
        for finding in _std_by_name(source, project, named[1], match) if named else _RULES[first](code, match):
            # Two uses of a name on one line are one piece of work; two names are two.
            if finding.edits:
                found.append(finding)
            elif (place := (source.position(start)[0], finding.message)) not in reported:
                found.append(finding)
                reported.add(place)
    if b"cuda" not in own and any(match.group().startswith(b"cuda") for match in matches):
        found += _unknown(source, project, matches)
    if b"cuda" not in own and whole and any(_of_libcupp(each) for each in _files(source, project)):
        found += [_manual(span, "libcupp", f"cuda: {load(_TABLE)['libcupp']['whole']}") for span in whole]
    yield from _with_header(source, project, found)


def _devices(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield CUB's device-wide functions that hipCUB lacks, or lacks with so few arguments.

    By both names of the library: work for a person remains after the renaming.
    """
    row = load(_TABLE)["cub"]["devices"]
    uses = [
        match
        for span, _ in (source.names({b"cub", b"hipcub"}) if not source.words.isdisjoint((b"cub", b"hipcub")) else ())
        if (match := _DEVICE.match(source.code, span.end))
        and match[1].decode() in row["of"]
        and not member_or_qualified(source.code, span.start)
        and (source.code.startswith(b"hip", span.start) or not source.ported(span.start))
    ]
    if not uses or b"cub" in project.declared(source, _own):
        return
    for match in uses:
        name = f"{match[1].decode()}::{match[2].decode()}"
        least = row["of"][match[1].decode()].get(match[2].decode())
        arguments = source.arguments(match.end() - 1) or ()
        if least is None:
            yield _manual(Span(*match.span(2)), "cub", f"{name}: {row['why']}")
        elif arguments and len(arguments) < least and b"..." not in source.code[match.end() : arguments[-1].end]:
            yield _manual(Span(*match.span(2)), "cub", f"{name}: {row['without_storage']}")


def _of_rocthrust(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield names of Thrust that rocThrust lacks."""
    uses = [
        (span, match)
        for span, _ in (source.names({b"thrust"}) if b"thrust" in source.words else ())
        if (match := _THRUST_NAME.match(source.code, span.end))
        and match[1].decode() not in _words("rocthrust", "has")
        and not member_or_qualified(source.code, span.start)
        and not source.ported(span.start)
    ]
    if not uses or project.union_over(source, _own_thrust):
        return
    for _, match in uses:
        yield _manual(
            Span(*match.span(1)), "thrust", f"thrust::{match[1].decode()}: {load(_TABLE)['rocthrust']['why']}"
        )


def _own_thrust(source: Cpp) -> frozenset[bool]:
    """Return {True} if the program adds to the namespace, or gives the name to another one."""
    return frozenset({True}) if b"thrust" in source.words and _THRUST_OF_OWN.search(source.code) else frozenset()


def _unknown(source: Cpp, project: Project, matches: list[re.Match[bytes]]) -> Iterator[Finding]:
    """Yield the unknown names of libcu++ if the program includes it, CUB or Thrust."""
    told: set[tuple[int, bytes]] = set()
    for match in matches:
        name = match.group().rpartition(b":")[2].strip()
        line = source.position(match.start())[0]
        if not match.group().startswith(b"cuda") or name.decode() in _known_rules() or (line, name) in told:
            continue
        if source.ported(match.start()) or not any(_of_cccl(each) for each in _files(source, project)):
            continue
        if project.union_over(source, includes_pytorch):
            return  # `using namespace at; cuda::getCurrentCUDAStream()`
        told.add((line, name))
        message = f"cuda::{name.decode()}: {load(_TABLE)['libcupp']['unknown']}"
        yield _manual(Span(match.end() - len(name), match.end()), "libcupp", message)


@cache
def _known_rules() -> frozenset[str]:
    """The names in `cuda::` that the rules know."""
    words = (_words("libcupp", each) for each in ("atomics", "waits", "copies"))
    return frozenset(("std", "ceil_div", *load(_TABLE)["libcupp"]["other"])).union(*words)


def _of_cccl(source: Cpp) -> bool:
    return _of_libcupp(source) or any(each.path.startswith(_CCCL) for each in source.includes)


def _names_all(source: Cpp, span: Span) -> bool:
    """Return whether a `cuda` stands for the whole namespace."""
    before = source.code[max(0, span.start - 80) : span.start]
    return bool(_ALONE.search(before) and _WHOLE.match(source.code, span.start)) and not source.ported(span.start)


def _of_libcupp(source: Cpp) -> bool:
    """Return whether it includes libcu++, or a port's replacement."""
    paths = [PurePath(each.path) for each in source.includes]
    return any(path.parts[:1] == ("cuda",) or (path.parent.name == "hipport" and path.name in _MADE) for path in paths)


def _with_header(source: Cpp, project: Project, found: list[Finding]) -> Iterator[Finding]:
    """Let findings that need hipport's headers include them: with one edit for all findings of a file."""
    kinds = {finding.kind for finding in found}
    asked = {"async.h" if "async" in kinds else "scoped_atomic.h"} if kinds & {"atomic", "async"} else set()
    asked |= {"ceil_div.h"} if "ceil_div" in kinds else set()
    created: dict[PurePath, NewFile] = {}
    needs: list[Edit] = []
    for name in sorted(asked):
        need, header = include(source, project, name)
        created |= {file.path: file for file in with_included_headers(header)}
        # `headers` replaces some of CUDA's headers by the needed one.
        if need and not any(_MADE[name].fullmatch(each.path) for each in source.includes):
            needs.append(need)
    edits = (Edit(needs[0].span, b"".join(need.new for need in needs)),) if needs else ()
    for finding in found:
        if finding.kind in ("atomic", "async", "ceil_div"):
            finding = replace(finding, edits=(*finding.edits, *edits), creates=tuple(created.values()))
        yield finding


def _own(source: Cpp) -> frozenset[bytes]:
    if source.words.isdisjoint(_RULES) or source.words.isdisjoint((b"namespace", b"define")):
        return frozenset()
    return frozenset(
        match[1] or match[2] for match in _OWN.finditer(source.code) if not within(match.start(), source.cuda_only)
    )


def _cub(code: bytes, match: re.Match[bytes]) -> Iterator[Finding]:
    span = Span(*match.span())
    name = _CUB_NAME.match(code, span.end)
    if name is not None and _LARGE.match(name[1]) and name[1].decode() not in _words("cub", "has"):
        yield _manual(Span(*name.span(1)), "cub", f"cub::{name[1].decode()}: {load(_TABLE)['cub']['why']}")
    elif (
        name is not None
        or _ALONE.search(before := code[max(0, span.start - 80) : span.start])
        or (_DEFINED.search(before) and _LINE_END.match(code, span.end))
    ):
        yield Finding(span, "cub", "cub → hipcub", (Edit(span, b"hipcub"),))


def _thrust(code: bytes, match: re.Match[bytes]) -> Iterator[Finding]:
    name = match.group().rpartition(b":")[2].strip()
    new = load(_TABLE)["thrust"].get(name.decode())
    if new is not None:
        span = Span(match.end() - len(name), match.end())
        yield Finding(span, "thrust", f"thrust::{name.decode()} → thrust::{new}", (Edit(span, new.encode()),))


def _cuda(code: bytes, match: re.Match[bytes]) -> Iterator[Finding]:
    span = Span(*match.span())
    name = match.group().rpartition(b":")[2].strip().decode()
    libcupp = load(_TABLE)["libcupp"]
    if name != "std":
        if name in _words("libcupp", "atomics"):
            yield _atomic(code, span, f"cuda::{name}", name, span.end)
        elif name in _words("libcupp", "waits") or name in _words("libcupp", "copies"):
            yield _async(code, span, f"cuda::{name}", name, span.end)
        elif name == "ceil_div":
            message = "cuda::ceil_div → hipport::ceil_div"
            yield Finding(span, "ceil_div", message, (Edit(span, b"hipport::ceil_div"),))
        elif name in libcupp["other"]:
            yield _manual(span, "libcupp", f"cuda::{name}: {libcupp['other'][name]}")
        return
    inner = _STD_NAME.match(code, span.end)
    what = inner[1].decode() if inner else ""
    if inner and what in _words("libcupp", "atomics"):
        yield _atomic(code, Span(span.start, inner.end()), f"cuda::std::{what}", what, inner.end())
    elif inner and what in _words("libcupp", "system_waits"):
        yield _async(code, Span(span.start, inner.end()), f"cuda::std::{what}", what, inner.end())
    elif b"DeviceRadixSort" in code and (sorts := _DECOMPOSER.match(code, span.end)):
        # hipCUB passes it to rocPRIM, which has its own tuples; their constructor is explicit.
        opening = Span(sorts.start("opening"), sorts.start("opening"))
        global_ = b"" if code[: span.start].rstrip().endswith(b"::") else b"::"
        edits = (
            Edit(span, global_ + b"rocprim"),
            Edit(opening, b"::rocprim::tuple" + sorts["members"]),
        )
        yield Finding(
            span, "decomposer", "cuda::std::tuple → rocprim::tuple: the type that hipCUB's radix sorts take", edits
        )
    elif what in _words("libcupp", "std") | _words("libcupp", "std_20"):
        why = libcupp["review_20" if what in _words("libcupp", "std_20") else "review"]
        same = what in _words("libcupp", "same")
        message = f"cuda::std::{what} → std::{what}" + ("" if same else f": {why}")
        certainty = Certainty.SAFE if same else Certainty.REVIEW
        yield Finding(span, "libcupp", message, (Edit(span, b"std"),), certainty)
    else:
        yield _manual(span, "libcupp", f"cuda::std{f'::{what}' if what else ''}: {libcupp['instead']}")


def _std_by_name(source: Cpp, project: Project, name: bytes, match: re.Match[bytes]) -> Iterator[Finding]:
    """Yield the replacement of an alias for `cuda::std` if all its uses have a counterpart in the C++ library."""
    span = Span(*match.span())
    used = sorted({each for file in _files(source, project) for each in _used_by(file, name)})
    known, late = _words("libcupp", "std"), _words("libcupp", "std_20")
    # An empty word is the name itself without a qualified name after it.
    missing = [each for each in used if each not in known | late]
    libcupp = load(_TABLE)["libcupp"]
    if missing:
        what = f"cuda::std::{missing[0]}" if missing[0] else f"cuda::std as {name.decode()}"
        yield _manual(span, "libcupp", f"{what}: {libcupp['instead']}")
        return
    message = f"cuda::std → std, for {', '.join(used)}: {libcupp['review']}" if used else "cuda::std → std"
    message += f"; {libcupp['review_20']}" if late & set(used) else ""
    yield Finding(span, "libcupp", message, (Edit(span, b"std"),), Certainty.REVIEW)


def _files(source: Cpp, project: Project) -> Iterator[Cpp]:
    yield from (each for each in project.component(source) if isinstance(each, Cpp))


def _used_by(source: Cpp, name: bytes) -> Iterator[str]:
    """Yield the names that a file uses from a namespace; an empty word where it uses the namespace itself."""
    code = source.code
    for span, _ in source.names({name}):
        if (inner := _STD_NAME.match(code, span.end)) and not member_or_qualified(code, span.start):
            yield inner[1].decode()
        elif not (_GIVEN.match(code, span.end) and _NAMESPACE.search(code, max(0, span.start - 40), span.start)):
            yield ""


def _atomic(code: bytes, span: Span, name: str, last: str, end: int) -> Finding:
    message = f"{name} → hipport::{last}"
    certainty = Certainty.SAFE
    if last in ("atomic", "atomic_ref", "atomic_flag") and not _NARROW.match(code, end):
        message += "; " + load(_TABLE)["libcupp"]["system"]
        certainty = Certainty.REVIEW
    return Finding(span, "atomic", message, (Edit(span, f"hipport::{last}".encode()),), certainty)


def _async(code: bytes, span: Span, name: str, last: str, end: int) -> Finding:
    message, certainty = f"{name} → hipport::{last}", Certainty.SAFE
    if last in _words("libcupp", "waits") and not _OF_ONE.match(code, end):
        message += f"; {load(_TABLE)['libcupp']['together']}"
        certainty = Certainty.REVIEW
    return Finding(span, "async", message, (Edit(span, f"hipport::{last}".encode()),), certainty)


def _nvcuda(code: bytes, match: re.Match[bytes]) -> Iterator[Finding]:
    message = (
        "nvcuda::wmma: AMD's matrix units have another interface; use rocWMMA (rocwmma/rocwmma.hpp), which is similar, "
        "with other fragment sizes and layouts"
    )
    yield _manual(Span(*match.span()), "tensor_cores", message)


def _manual(span: Span, kind: str, message: str) -> Finding:
    return Finding(span, kind, message, certainty=Certainty.MANUAL)


_RULES: dict[bytes, Callable[[bytes, re.Match[bytes]], Iterator[Finding]]] = {
    b"cub": _cub,
    b"thrust": _thrust,
    b"cuda": _cuda,
    b"nvcuda": _nvcuda,
}

PASS = Pass(Cpp, find)
