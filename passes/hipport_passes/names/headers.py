# SPDX-License-Identifier: Apache-2.0
"""Include HIP's headers in place of CUDA's.

Headers that HIP needs none of are dropped, and so is one that an earlier line has brought. A header of the program
itself, and what only one of CUDA and HIP ever sees, is left alone. A header that a macro names, for `#include HEADER`,
is replaced where the macro is defined. nvcc puts the runtime header in front of every
`.cu` file; hipcc does not, so where a file needs it before an include brings it, it is included.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from hipport.core.edits import Edit, NewFile, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import load
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import FOLDER, header, line_of, together
from hipport.program.project import Project
from hipport.syntax.cpp import MARKED_INCLUDE, UNITS, Cpp, Include, within
from hipport.syntax.own_guards import MARK
from hipport_passes.device import cooperative_groups

# What needs the runtime header: launches, built-in variables, vector types and functions, the runtime's functions.
_NEEDS_RUNTIME = re.compile(
    rb"<<<|\b(?:__(?:CUDA_RUNTIME(?:_API)?|DRIVER_TYPES|VECTOR_TYPES)_H__|HIP_INCLUDE_HIP_\w+|(?:CUDA|HIP)_[RC]_\d\w+|threadIdx|blockIdx|blockDim|gridDim|warpSize|dim3|__syncthreads\w*|__threadfence\w*|atomic[A-Z]\w+"
    rb"|__launch_bounds__|__shared__|__global__|__device__|__constant__|__forceinline__|__noinline__|__\w+_r[nzud]"
    rb"|(?:make_)?(?:u?(?:char|short|int|long|longlong)|float|double)[1-4]|(?:cuda|hip)[A-Z]\w+|cu[A-Z]\w+)\b"
)

# A header by its place in a toolkit: `/usr/local/cuda-10.1/targets/x86_64-linux/include/`.
# Of a name in a table: its namespace, and what has to stand around it.
_BARE = re.compile(rb".*::|\(\?<?[!=](?:\\.|[^()\\])*\)")
_IN_TOOLKIT = re.compile(r"/(?:[^/]+/)*cuda[^/]*/(?:[^/]+/)*?include/")
# Or from a folder above it, or in a folder of that name; only for what is a header of CUDA's without it.
_BELOW_A_FOLDER = re.compile(r"(?:\.\./)*(?:cuda(?:[-_]?[\d.]+)?/|targets/[^/]+/)?(?:include/)?")
# What has nvcc take C++ for CUDA, in makefiles, CMake and scripts.
_AS_CUDA = re.compile(rb"(?<![\w-])--?x[ =]cu\b|\bLANGUAGE\s+CUDA\b")
_INCLUDED_MACRO = re.compile(rb"#[ \t]*include[ \t]+([A-Za-z_]\w*)")
_NAMES_HEADER = re.compile(rb"#[ \t]*define[ \t]+(\w+)(\([^)]*\))?[ \t]+(<[^<>\r\n]+>|\"[^\"\r\n]+\")[ \t]*")
_DEFINED = re.compile(rb"#[ \t]*define[ \t]+(\w+)")
# The rest of an include's line: comments that end on it.
_SAID = re.compile(rb"(?:[ \t]*/\*(?:[^*\r\n]|\*(?!/))*\*/)*[ \t]*(?://[^\r\n\\]*)?(?:\r\n|\n|\r|\Z)")
_OF_HIP = re.compile(rb"<hip\w*/[^<>\r\n]+>")
_RUNTIME = b"<hip/hip_runtime"


class Row(NamedTuple):
    """What becomes of a header: `hip` instead, "" nothing, None: it is reported. Otherwise as in `api_names`."""

    hip: str | None
    since: tuple[int, int] = (0, 0)
    why: str = ""
    instead: str = ""
    review: str = ""
    #: From which release on nothing is assumed any more, and why.
    sure_since: tuple[int, int] = (0, 0)
    sure: str = ""

    @property
    def advice(self) -> str:
        """Why the header cannot be had, and what to do."""
        return "; ".join(part for part in (self.why, self.instead) if part)


_PER_THREAD = b"CUDA_API_PER_THREAD_DEFAULT_STREAM"


class Brought(NamedTuple):
    """A header that is there with CUDA: its names, headers that bring it there, and those that do in any case."""

    header: str
    names: re.Pattern[bytes]
    #: The names without their namespace: what to ask a file's words for first.
    words: re.Pattern[bytes]
    brought_by: tuple[str, ...]
    had_by: tuple[str, ...]
    why: str
    on_host: bool


class Samples(NamedTuple):
    """hipport's header for those of NVIDIA's samples, their names, and what it has not of them."""

    header: str
    of: frozenset[str]
    has: frozenset[bytes]
    lacks: re.Pattern[bytes]
    #: How the names of all of the samples' headers begin.
    begins: str


class _Tables(NamedTuple):
    rows: dict[str, Row]
    folders: dict[str, Row]
    #: By the beginning of their names.
    families: dict[str, Row]
    groups: dict[str, frozenset[bytes]]
    runtime: str
    brings_runtime: tuple[str, ...]
    #: Of those, headers that bring it but for some names.
    lacks_of_runtime: tuple[str, re.Pattern[bytes], tuple[int, int]]
    thrust: frozenset[str]
    #: Headers of Thrust outside of `detail` and `system` that rocThrust has.
    rocthrust: frozenset[str]
    std: frozenset[str]
    std_review: str
    std_same: frozenset[str]
    #: How headers look that lie in a folder named as that of libcu++, and are not of it.
    beside_std: re.Pattern[str]
    steering: tuple[tuple[str, str, re.Pattern[bytes], str], ...]
    #: header, its names, and the headers that have it in them
    transitive: tuple[tuple[str, re.Pattern[bytes], tuple[str, ...]], ...]
    brought: tuple[Brought, ...]
    samples: Samples
    #: How headers look that no row has, and what is said of them.
    unknown: tuple[re.Pattern[str], Row]


@cache
def table() -> _Tables:
    """Return what is known of CUDA's headers: the generated table, and over it the rows made by hand."""
    path = Path(__file__)
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
    """Return what becomes of `#include <path>`; None: it is no header of CUDA's."""
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
    return None


@cache
def _of_hip() -> frozenset[str]:
    """The headers of HIP's and its libraries', and the folders that they lie in."""
    known, own = table(), load(Path(__file__).with_suffix(".own.toml"))["of_hip"]
    names = {row.hip for row in (*known.rows.values(), *known.folders.values(), *known.families.values()) if row.hip}
    found = {name.partition("/")[0] + "/" if "/" in name else name for name in names}
    return frozenset({*found, *own["more"].split()} - {*own["shared"].split()})


def is_of_hip(path: str) -> bool:
    """Say whether an include is of HIP, so that what has it was ported, or never was CUDA."""
    folder, slash, _ = path.partition("/")
    return folder + slash in _of_hip()


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per include that changes or that a person must look at, and one for the runtime header."""
    findings = _in_order(list(_found(source, project)))
    yield from findings if source.begun_as_hip else _marked(source, findings)


def _in_order(findings: list[Finding]) -> list[Finding]:
    """Have lines that are put at one place be one edit of all that put some there, in the order that they come in."""
    lines: dict[Span, dict[bytes, None]] = {}
    for each in findings:
        for edit in each.edits:
            if not len(edit.span) and each.certainty is Certainty.SAFE:
                lines.setdefault(edit.span, {})[edit.new] = None
    joined = {span: Edit(span, b"".join(several)) for span, several in lines.items() if len(several) > 1}
    if not joined:
        return findings
    return [replace(each, edits=tuple(joined.get(edit.span, edit) for edit in each.edits)) for each in findings]


def _marked(source: Cpp, findings: list[Finding]) -> list[Finding]:
    """Have one of HIP's headers say that hipport has put it there: a file with it was CUDA, and new code in it is.

    Where the runtime's comes to a file that has the mark on another, the mark goes over to it.
    """
    # What is for review may be declined.
    edits = [
        (each.certainty.value, _RUNTIME not in edit.new, edit.span, edit)
        for each in findings
        for edit in each.edits
        if _OF_HIP.search(edit.new)
    ]
    if not edits:
        return _marked_beside(source, findings)
    chosen = min(edits)[3]
    places = list(_OF_HIP.finditer(chosen.new))
    at = next((place for place in places if _RUNTIME in place[0]), places[0]).end()
    new: tuple[Edit, ...] = (replace(chosen, new=chosen.new[:at] + MARK + chosen.new[at:]),)
    last = MARKED_INCLUDE.search(source.text)
    spans = [edit.span for each in findings for edit in each.edits]
    if last is not None and not any(span.start < last.end() and last.start() < span.end for span in spans):
        if _RUNTIME in last[0] or _RUNTIME not in chosen.new:
            return findings
        new = (*new, Edit(Span(last.start() + last[0].index(b">") + 1, last.end()), b""))
    return [
        replace(each, edits=tuple(one for edit in each.edits for one in (new if edit == chosen else (edit,))))
        for each in findings
    ]


def _found(source: Cpp, project: Project) -> Iterator[Finding]:
    known = table()
    # What has been included so far, under no condition, by its path in HIP.
    seen: set[str] = set()
    told: set[str] = set()
    is_cuda = source.path.suffix == ".cu"
    if (is_cuda or _compiled_as_cuda(source, project)) and _needs_runtime(source, project):
        at = line_of(source, known.runtime)
        line = f"#include <{known.runtime}>".encode() + source.newline
        if not is_cuda:  # a compiler of the host may read it as well
            line = b"#ifdef __HIPCC__" + source.newline + line + b"#endif" + source.newline
        # What comes with it for CUDA alone: nothing that is included brings it.
        alone = list(_brought(source, project, brings=(known.runtime,))) if is_cuda else []
        line += b"".join(edit.new for each in alone for edit in each.edits)
        edits = (Edit(Span(at, at), line),)
        message = f"nvcc includes the runtime header by itself, hipcc does not: include {known.runtime}"
        yield Finding(Span(at, at), "runtime", message, edits)
        yield from (replace(each, edits=edits) for each in alone)
        if is_cuda:
            seen.add(known.runtime)
            yield from _put_before(source)
    for include in source.includes:
        start = include.directive.start
        if within(start, source.cuda_only):
            continue
        row = None if within(start, source.hip_only) else lookup(include.path)
        if source.path.suffix == ".c" and include.path.startswith(("TH/", "THC/")):
            row = None  # What takes their place is C++; `pytorch_api` says what is to be done.
        here = include.path
        if row is not None and _own(source, include, project):
            row = None
        if row is not None and include.path in known.samples.of and not project.together(source, _of_samples):
            row = Row(known.samples.header, review="checks, arguments and timers mean the same; messages differ")
        if row is None and include.path not in known.groups and _is_unknown(source, project, include):
            row = known.unknown[1]
        if include.path in known.groups and row is None:
            yield from _group(source, project, include, known.groups[include.path])
        elif row is not None:
            many = (*known.folders, *known.families) if row.hip is None and here not in known.rows else ()
            library = next((begins for begins in many if here.startswith(begins)), "")
            if library and library in told:
                continue  # what is to be done about a library is said once
            told.add(library)
            of_it = [each.path for each in source.includes if each.path.startswith(library)]
            others = sum(not known.beside_std.fullmatch(path) for path in of_it) - 1 if library else 0
            all_of = library if library.endswith("/") else f"{library}*"
            more = f" (and {others} more of {all_of})" if others else ""
            here = yield from _mapped(source, project, include, row, seen, more)
        if here and not within(start, source.conditional):
            seen.add(here)
    yield from _default_stream(source)
    yield from _named_by_macros(source, project)
    yield from _transitive(source, project)
    yield from _brought(source, project)


def _marked_beside(source: Cpp, findings: list[Finding]) -> list[Finding]:
    """Mark an include of HIP's that is there already, where one of CUDA's beside it goes: nothing else would tell."""
    there = next((each for each in source.includes if _OF_HIP.fullmatch(source[each.target])), None)
    changing = next((i for i, each in enumerate(findings) if each.kind == "dropped"), None)
    if there is None or changing is None or source.ported_before:
        return findings
    mark = Edit(Span(there.target.end, there.target.end), MARK)
    findings[changing] = replace(findings[changing], edits=(*findings[changing].edits, mark))
    return findings


def _put_before(source: Cpp) -> Iterator[Finding]:
    """The runtime's include of an earlier run, which came too late for what upstream has put in front of it since."""
    line = rb"^[ \t]*#[ \t]*include[ \t]*<%b>%b[ \t]*(?:\r?\n|\r|\Z)" % (table().runtime.encode(), re.escape(MARK))
    for match in re.finditer(line, source.text, re.MULTILINE):
        span = Span(*match.span())
        yield Finding(span, "dropped", f"{table().runtime} is included above by now", (Edit(span, b""),))


def _is_unknown(source: Cpp, project: Project, include: Include) -> bool:
    """Say whether the header looks like one of CUDA's, and is neither known nor among the files."""
    if not include.angled or within(include.directive.start, source.hip_only) or lookup(include.path) is not None:
        return False
    looks = table().unknown[0].fullmatch(include.path)
    return looks is not None and not any(True for _ in project.included(source, include))


def _default_stream(source: Cpp) -> Iterator[Finding]:
    """Yield where the host's code asks the runtime's headers for a default stream of each thread's own."""
    # nvcc has read the headers before the first line of a `.cu` file: there it does nothing.
    if _PER_THREAD not in source.text or source.path.suffix == ".cu":
        return
    hip = _PER_THREAD.replace(b"CUDA", b"HIP")
    for match in re.finditer(rb"\b" + _PER_THREAD + rb"\b", source.code):
        span = Span(*match.span())
        if source.directive(span.start) is None:
            continue
        if within(span.start, source.cuda_only) or within(span.start, source.hip_only):
            continue
        message = f"{_PER_THREAD.decode()} → {hip.decode()}: what asks HIP's headers for it"
        certainty = Certainty.SAFE
        if source.path.suffix not in UNITS:
            message += "; assumes that no .cu file includes this, where nvcc passes over it"
            certainty = Certainty.REVIEW
        yield Finding(span, "default_stream", message, (Edit(span, hip),), certainty)


def _of_samples(source: Cpp) -> frozenset[bytes]:
    """The names of NVIDIA's samples in the file that hipport's header has not."""
    samples = table().samples
    return frozenset(source.matched(samples.lacks)) - samples.has


def _named_by_macros(source: Cpp, project: Project) -> Iterator[Finding]:
    """Headers of CUDA's that a macro stands for and `#include MACRO` includes, in this file or one with it."""
    if b"define" not in source.code:
        return
    included = project.together(source, _included_macros)
    if not included:
        return
    for directive in source.directives:
        if source.ported(directive.start):
            continue
        # A path in quotes is a string, whose text `code` has not.
        match = _NAMES_HEADER.match(source.text, directive.start, directive.end)
        if match is None or match[1] not in included:
            continue
        span = Span(*match.span(3))
        path = match[3][1:-1].decode("utf-8", "surrogateescape")
        include = Include(directive, span, path, match[3].startswith(b"<"))
        if match[2]:
            folder = path.partition("/")[0] + "/"
            if "/" in path and (folder in table().folders or folder in ("cub/", "cuda/", "thrust/")):
                message = f"{match[1].decode()} makes paths of headers of CUDA's: write those of HIP's out"
                yield Finding(span, "unsupported", message, certainty=Certainty.MANUAL)
            continue
        row = lookup(path)
        if row is not None and not _own(source, include, project):
            # A directive needs a header: the runtime's, where HIP needs none.
            yield from _mapped(source, project, include, row if row.hip != "" else Row(table().runtime), set())


def _included_macros(source: Cpp) -> frozenset[bytes]:
    if b"include" not in source.code:
        return frozenset()
    found = (_INCLUDED_MACRO.match(source.code, each.start, each.end) for each in source.directives)
    return frozenset(match[1] for match in found if match)


def _mapped(
    source: Cpp, project: Project, include: Include, row: Row, seen: set[str], more: str = ""
) -> Generator[Finding, None, str]:
    """Yield the finding for an include of CUDA's, and return what is included there now."""
    path, hip = include.path, row.hip
    if hip is None:
        yield Finding(include.target, "unsupported", f"{path}{more}: {row.advice}", certainty=Certainty.MANUAL)
        return ""
    if row.since > project.target.rocm:
        release = f"{row.since[0]}.{row.since[1]}"
        yield Finding(
            include.target,
            "too_new",
            f"{path} ({hip} in HIP): it came with ROCm {release}; give --rocm {release}, or do without it",
            certainty=Certainty.MANUAL,
        )
        return ""
    runtime = table().runtime
    if not hip and runtime not in seen and not any(_brings(source, other, project) for other in source.includes):
        # The file has the built-in variables and functions from this header alone.
        hip = runtime
    if not hip or hip in seen:
        why = f"{hip} is included already" if hip else row.why or "HIP needs none"
        yield Finding(include.directive, "dropped", f"{path}: {why}", (Edit(_line(source, include), b""),))
        return hip
    target = f"<{hip}>".encode()
    creates: tuple[NewFile, ...] = ()
    if hip.startswith(FOLDER + "/"):
        target, own = header(source, project, hip.removeprefix(FOLDER + "/"))
        creates = together(own)
    macros = []
    steered = project.together(source, _steered) if any(hip == each[0] for each in table().steering) else ()
    for steered_header, macro, _, _ in table().steering:
        if steered_header == hip and macro in steered and "!" + macro not in steered:
            # The value that -DMACRO gives it, so that both may be there.
            macros.append(f"#define {macro} 1".encode() + source.newline)
    sure = not row.review or (row.sure != "" and project.target.rocm >= row.sure_since)
    certainty = Certainty.SAFE if sure else Certainty.REVIEW
    why = row.sure if sure else row.review
    message = f"{path} → {hip}" + (f": {why}" if why else "")
    at = _line(source, include).start if macros else include.target.start
    # One edit, as what is put in front of the first include of the file may stand there, too.
    new = b"".join(macros) + source[Span(at, include.target.start)] + target
    edit = Edit(Span(at, include.target.end), new)
    yield Finding(include.target, "mapped", message, (edit,), certainty, creates)
    return hip


def _transitive(source: Cpp, project: Project) -> Iterator[Finding]:
    """Headers of Thrust that another brought with CUDA, and none does with ROCm."""
    last = next((each for each in reversed(source.includes) if each.path.startswith("thrust/")), None)
    if last is None or b"thrust" not in source.code:
        return
    lacking = [each for each in table().transitive if each[1].search(source.code)]
    if not lacking:
        return
    reaching = project.fact(_Reaching)
    lacking = [each for each in lacking if source.path not in reaching.files(each[2], False)]
    if not lacking:
        return
    uses = ", ".join(f"thrust::{match[1].decode()}" for _, names, _ in lacking if (match := names.search(source.code)))
    lines = source.newline.join(f"#include <{header}>".encode() for header, _, _ in lacking)
    message = f"CUDA's Thrust has {uses} with other headers, rocThrust has not: include those for it"
    yield Finding(last.target, "transitive", message, (_behind(source, last, lines),))


def _brought(source: Cpp, project: Project, brings: tuple[str, ...] = ()) -> Iterator[Finding]:
    """Headers that others bring with CUDA, and do not with ROCm; or those that the headers in `brings` bring alone."""
    for each in table().brought:
        used = each.names.search(source.code) if source.matched(each.words) else None
        if used is None or (each.on_host and (brings or not _of_the_host(source))):
            continue
        if not each.on_host and source.directive(used.start()):
            continue
        # hipport's own come in front of all that, whatever they bring.
        bringing = (
            other
            for other in reversed(source.includes)
            if PurePath(other.path).parent.name != FOLDER
            and any(path.startswith(each.brought_by) for path in _paths(source, project, other))
        )
        last = next((other for other in bringing if not within(other.directive.start, source.conditional)), None)
        if brings and (last is not None or not any(header.startswith(each.brought_by) for header in brings)):
            continue
        if last is None and not each.on_host and not brings:
            continue
        if source.path in project.fact(_Reaching).files(each.had_by, each.on_host):
            continue
        line = f"#include <{each.header}>".encode()
        edit = _behind(source, last, line) if last else _on_top(source, each.header, line)
        message = f"{used.group().decode(errors='replace')} {each.why}: include {each.header}"
        yield Finding(Span(*used.span()), "brought", message, (edit,))


def _paths(source: Cpp, project: Project, include: Include) -> tuple[str, ...]:
    """The path of an include, and the one that it gets: what is asked of includes is answered alike in a second run."""
    row = lookup(include.path)
    if row is None or row.hip is None or row.since > project.target.rocm or _own(source, include, project):
        return (include.path,)
    return include.path, row.hip or table().runtime


def _on_top(source: Cpp, path: str, line: bytes) -> Edit:
    at = line_of(source, path)
    return Edit(Span(at, at), line + source.newline)


def _behind(source: Cpp, include: Include, lines: bytes) -> Edit:
    """Return the edit that puts lines behind an include, and behind what hipport or others say of it on its line."""
    said = _SAID.match(source.text, include.directive.end)
    whole = said is not None and not source.code[include.directive.end : said.end()].strip()
    at = said.end() if said and whole else _line(source, include).end
    ended = source.text[at - 1 : at] in (b"\n", b"\r")
    return Edit(Span(at, at), lines + source.newline if ended else source.newline + lines)


def _of_the_host(source: Cpp) -> bool:
    """Say whether the file is C++ that is not behind the runtime's header anyway.

    Of a header, by what it uses, not by its language: a port may take the last word of CUDA's out of it. What it uses
    under a condition it has for both.
    """
    if source.path.suffix in (".c", ".cu", ".cuh", ".hip"):
        return False
    return source.path.suffix in UNITS or all(
        within(match.start(), source.conditional) for match in _NEEDS_RUNTIME.finditer(source.code)
    )


class _Reaching:
    """Which files include headers by certain names, themselves or by way of others of the program."""

    def __init__(self, project: Project) -> None:
        self._files = [each for each in (*project.sources, *project.context) if isinstance(each, Cpp)]
        self._project = project
        self._found: dict[tuple[tuple[str, ...], bool], set[PurePath]] = {}

    def files(self, begins: tuple[str, ...], certain: bool) -> set[PurePath]:
        """Return those that reach an include whose path begins so; under no condition, if that is to be `certain`."""
        key = (begins, certain)
        if key not in self._found:
            including = self._including[certain]
            waiting = [
                each.path
                for each in self._files
                if any(include.path.startswith(begins) for include in self._counting(each, certain))
            ]
            found = self._found[key] = set(waiting)
            while waiting:
                more = [path for path in including.get(waiting.pop(), ()) if path not in found]
                found.update(more)
                waiting += more
        return self._found[key]

    @cached_property
    def _including(self) -> dict[bool, dict[PurePath, list[PurePath]]]:
        """By whether conditions count, the files that include each file."""
        found: dict[bool, dict[PurePath, list[PurePath]]] = {False: {}, True: {}}
        for certain, by_path in found.items():
            for each in self._files:
                for include in self._counting(each, certain):
                    for other in self._project.included(each, include):
                        by_path.setdefault(other.path, []).append(each.path)
        return found

    @staticmethod
    def _counting(source: Cpp, certain: bool) -> Iterator[Include]:
        return (each for each in source.includes if not certain or not within(each.directive.start, source.conditional))


def _group(source: Cpp, project: Project, include: Include, names: frozenset[bytes]) -> Iterator[Finding]:
    """A header of cooperative groups that HIP lacks: dropped where nothing of it is used."""
    mentioned = project.declared(source, _group_names)
    spaces = {name for space, name in mentioned if space == b"namespace"} | {b"cooperative_groups"}
    opened = (b"using", b"namespace") in mentioned
    found = {name for space, name in mentioned if name in names and (space in spaces or (opened and not space))}
    if found:
        uses = ", ".join(name.decode() for name in sorted(found))
        yield Finding(
            include.target,
            "unsupported",
            f"{include.path}: HIP has no such header before ROCm 7.13, and {uses} of it is used; "
            "write a loop over tile.shfl_xor, or include it for those releases only",
            certainty=Certainty.MANUAL,
        )
    else:
        message = f"{include.path}: HIP has no such header before ROCm 7.13, and nothing of it is used"
        yield Finding(include.directive, "dropped", message, (Edit(_line(source, include), b""),))


def _group_names(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    """What may be of those headers: (space, name) of `space::name`, ("", name) of a call, and its aliases."""
    code = source.code
    found = {(b"namespace", name) for name in cooperative_groups.ALIAS.findall(code)}
    if cooperative_groups.OPENED.search(code):
        found.add((b"using", b"namespace"))
    names = b"|".join(sorted(frozenset().union(*table().groups.values())))
    found.update(re.findall(rb"\b(\w+)\s*::\s*(" + names + rb")\b", code))
    found.update((b"", name) for name in re.findall(rb"(?<![\w.>:])(" + names + rb")\s*(?:<[^;{}()]*>\s*)?\(", code))
    return frozenset(found)


def _line(source: Cpp, include: Include) -> Span:
    """Return the whole line of `include`, or the directive alone if there is a comment.

    With words behind the header, which compilers warn of: they would be code without the directive.
    """
    text = source.text
    whole = source.directive(include.directive.start)
    if whole is not None and (words := source.code[include.directive.end : whole.end].rstrip()):
        return Span(include.directive.start, include.directive.end + len(words))
    start = max(text.rfind(b"\n", 0, include.directive.start), text.rfind(b"\r", 0, include.directive.start)) + 1
    match = re.compile(rb"[ \t]*(?:\r\n|\n|\r|$)").match(text, include.directive.end)
    if match is None or text[start : include.directive.start].strip():
        return include.directive
    return Span(start, match.end())


def _own(source: Cpp, include: Include, project: Project) -> bool:
    """Say whether `include` is of a file of the program.

    Of NVIDIA's samples, which no toolkit has in a folder for includes, any file is that may be meant.
    """
    if include.path.rpartition("/")[2].startswith(table().samples.begins):
        return bool(project.included(source, include))
    return project.own(source, include)


def _brings(source: Cpp, include: Include, project: Project) -> bool:
    """Say whether `include` is of a header that, in HIP, brings the whole runtime header."""
    if within(include.directive.start, source.cuda_only):
        return False
    known = table()
    row = lookup(include.path)
    hip = include.path if row is None else row.hip
    if not hip or (row is not None and (row.since > project.target.rocm or _own(source, include, project))):
        return False
    # What hipport's own headers bring does not count: a file that needs one of them later is to come out the same.
    return any(hip.startswith(each) if each.endswith("/") else hip == each for each in known.brings_runtime)


def _compiled_as_cuda(source: Cpp, project: Project) -> bool:
    """Say whether a file in C++ may be one that nvcc is told to take for CUDA, as a build script does with some."""
    if source.path.suffix not in (".cpp", ".cc", ".cxx", ".C", ".c++"):
        return False
    return any(folder in source.path.parents for folder in project.fact(_taking_some_for_cuda))


def _taking_some_for_cuda(project: Project) -> frozenset[PurePath]:
    """The folders of scripts that do so: another program's say nothing."""
    found = (other for other in project.sources if not isinstance(other, Cpp) and _AS_CUDA.search(other.text))
    # Of a folder for scripts, the one above is meant.
    return frozenset(
        each.path.parent.parent if each.path.parent.name == "cmake" else each.path.parent for each in found
    )


def _needs_runtime(source: Cpp, project: Project) -> bool:
    """Say whether the file, with the program's headers in it, needs the runtime before anything brings it."""
    return source.path not in project.included_paths and _first(source, project, set()) == "needs"


def _first(source: Cpp, project: Project, visited: set[object]) -> str:
    """Return what comes first in `source`, its includes followed: "needs", "brings", or "" for neither."""
    visited.add(source.path)
    # What the file opens with needs nothing by itself, macros that name what is declared later.
    done = source.include_point
    for include in source.includes:
        start = include.directive.start
        if _needs(source, done, start):
            return "needs"
        done = include.directive.end
        if within(start, source.cuda_only):
            continue
        for other in project.included(source, include):
            # hipport's own headers include what they need.
            if not isinstance(other, Cpp) or other.path in visited or other.is_hipport_header:
                continue
            if first := _first(other, project, visited):
                return first
        certain = not within(start, source.conditional) or within(start, source.hip_only)
        if certain and _brings(source, include, project) and not _lacks(source, include, project):
            return "brings"
    return "needs" if _needs(source, 0, source.include_point) or _needs(source, done, len(source.code)) else ""


def _lacks(source: Cpp, include: Include, project: Project) -> bool:
    """Say whether the header brings the runtime but for names that the program has, or not with so old a ROCm."""
    row = lookup(include.path)
    lacking, _, whole_since = table().lacks_of_runtime
    if lacking != (include.path if row is None else row.hip):
        return False
    return project.target.rocm < whole_since or bool(project.declared(source, _lacking))


def _lacking(source: Cpp) -> frozenset[bytes]:
    return frozenset(source.matched(table().lacks_of_runtime[1]))


def _needs(source: Cpp, start: int, end: int) -> bool:
    return any(
        not within(match.start(), source.cuda_only) for match in _NEEDS_RUNTIME.finditer(source.code, start, end)
    )


def _steered(source: Cpp) -> frozenset[str]:
    """The steering macros whose names the file uses, and of those that it defines, `!` and the macro."""
    found = {macro for _, macro, names, _ in table().steering if next(source.names(names), None)}
    defined = {match[1].decode() for match in _DEFINED.finditer(source.code)}
    return frozenset(found | {"!" + macro for _, macro, _, _ in table().steering if macro in defined})


PASS = Pass(Cpp, find)
