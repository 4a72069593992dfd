# SPDX-License-Identifier: Apache-2.0
"""Include HIP's headers in place of CUDA's.

Headers that HIP does not need are removed, and so is one that an earlier line already includes. A header of the program
itself is left alone, and so is code that only one of CUDA and HIP ever compiles. A header that a macro names, for
`#include HEADER`, is replaced in the macro's definition, and one that `__has_include` asks for in the condition. nvcc
includes the runtime header before every `.cu` file, and hipcc does not, so it is included if a file needs it before
another include provides it.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import replace

from hipport.core.edits import Edit, NewFile, Span
from hipport.core.finding import Certainty, Finding
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import FOLDER, header, line_of, with_included_headers
from hipport.program.project import Project
from hipport.syntax.cpp import UNITS, Cpp, within
from hipport.syntax.cpp_text import Include
from hipport.syntax.own_guards import MARK
from hipport_passes.device import cooperative_groups
from hipport_passes.names.headers.brought_headers import brought, transitive
from hipport_passes.names.headers.header_tables import Row, lookup, table
from hipport_passes.names.headers.include_lines import behind, is_own, line_of_include
from hipport_passes.names.headers.runtime_header import compiled_as_cuda, needs_runtime, replacement

_INCLUDED_MACRO = re.compile(rb"#[ \t]*include[ \t]+([A-Za-z_]\w*)")
_NAMES_HEADER = re.compile(rb"#[ \t]*define[ \t]+(\w+)(\([^)]*\))?[ \t]+(<[^<>\r\n]+>|\"[^\"\r\n]+\")[ \t]*")
_ASKED_FOR = re.compile(rb"\b__has_include[ \t]*\([ \t]*(<[^<>\r\n]+>)")
_DEFINED = re.compile(rb"#[ \t]*define[ \t]+(\w+)")
_OF_HIP = re.compile(rb"<hip\w*/[^<>\r\n]+>")
_RUNTIME = b"<hip/hip_runtime"


_PER_THREAD = b"CUDA_API_PER_THREAD_DEFAULT_STREAM"


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per include that changes or that a person must judge, and one for the runtime header."""
    findings = _in_order(list(_found(source, project)))
    yield from findings if source.begun_as_hip else _marked(source, findings)


def _in_order(findings: list[Finding]) -> list[Finding]:
    """Join insertions at one place to one edit, in their order, which all their findings share."""
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
    """Mark one of HIP's headers as written by hipport: a file with the mark was CUDA, and so is new code in it.

    If the runtime's header is added to a file with the mark on another one, the mark moves to it.
    """
    # REVIEW findings may be rejected.
    edits = [
        (each.certainty.value, _RUNTIME not in edit.new, edit.span, edit)
        for each in findings
        for edit in each.edits
        if _OF_HIP.search(edit.new) and each.kind != "asked_for"
    ]
    if not edits:
        return _marked_beside(source, findings)
    chosen = min(edits)[3]
    places = list(_OF_HIP.finditer(chosen.new))
    at = next((place for place in places if _RUNTIME in place[0]), places[0]).end()
    new: tuple[Edit, ...] = (replace(chosen, new=chosen.new[:at] + MARK + chosen.new[at:]),)
    last = source.marked_include
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
    # The paths in HIP of all unconditional includes so far.
    seen: set[str] = set()
    told: set[str] = set()
    with_runtime: set[str] = set()
    is_cuda = source.path.suffix == ".cu"
    if (is_cuda or compiled_as_cuda(source, project)) and needs_runtime(source, project):
        at = line_of(source, known.runtime)
        line = f"#include <{known.runtime}>".encode() + source.newline
        if not is_cuda:  # A host compiler may read the file as well.
            line = b"#ifdef __HIPCC__" + source.newline + line + b"#endif" + source.newline
        # Headers that nvcc's runtime header includes and HIP's does not, if no other include provides them.
        alone = list(brought(source, project, brings=(known.runtime,))) if is_cuda else []
        line += b"".join(edit.new for each in alone for edit in each.edits)
        edits = (Edit(Span(at, at), line),)
        message = f"nvcc includes the runtime header by itself, and hipcc does not: include {known.runtime}"
        yield Finding(Span(at, at), "runtime", message, edits)
        yield from (replace(each, edits=edits) for each in alone)
        with_runtime = {each.message for each in alone}
        if is_cuda:
            seen.add(known.runtime)
            yield from _put_before(source)
    for include in source.includes:
        start = include.directive.start
        if within(start, source.cuda_only):
            continue
        row = None if within(start, source.hip_only) else lookup(include.path)
        if source.path.suffix == ".c" and include.path.startswith(("TH/", "THC/")):
            row = None  # Its replacement is C++; `pytorch_api` reports what to do.
        here = include.path
        if row is not None and is_own(source, include, project):
            row = None
        if row is not None and include.path in known.samples.of and not project.union_over(source, _of_samples):
            row = Row(known.samples.header, review="checks, arguments and timers mean the same; messages differ")
        if row is None and include.path not in known.groups and _is_unknown(source, project, include):
            row = known.unknown[1]
        if include.path in known.groups and row is None:
            yield from _group(source, project, include, known.groups[include.path])
        elif row is not None:
            many = (*known.folders, *known.families) if row.hip is None and here not in known.rows else ()
            library = next((begins for begins in many if here.startswith(begins)), "")
            if library and library in told:
                continue  # The advice about a library is given once.
            told.add(library)
            of_it = [each.path for each in source.includes if each.path.startswith(library)]
            others = sum(not known.beside_std.fullmatch(path) for path in of_it) - 1 if library else 0
            all_of = library if library.endswith("/") else f"{library}*"
            more = f" (and {others} more of {all_of})" if others else ""
            here = yield from _mapped(source, project, include, row, seen, more)
        if here and not within(start, source.conditional):
            seen.add(_as_in_table(here))
    yield from _default_stream(source)
    yield from _named_by_macros(source, project)
    yield from _asked_for(source, project)
    yield from transitive(source, project)
    yield from (each for each in brought(source, project) if each.message not in with_runtime)


def _as_in_table(path: str) -> str:
    """Return the path of an include as the table has it: of hipport's headers without the way to their folder."""
    folder, _, name = path.rpartition("/")
    return f"{FOLDER}/{name}" if f"/{folder}".endswith(f"/{FOLDER}") else path


def _marked_beside(source: Cpp, findings: list[Finding]) -> list[Finding]:
    """Mark an existing include of HIP if one of CUDA's beside it is removed: nothing else would show it."""
    there = next((each for each in source.includes if _OF_HIP.fullmatch(source[each.target])), None)
    changing = next((i for i, each in enumerate(findings) if each.kind == "dropped"), None)
    if there is None or changing is None or source.ported_before:
        return findings
    mark = Edit(Span(there.target.end, there.target.end), MARK)
    findings[changing] = replace(findings[changing], edits=(*findings[changing].edits, mark))
    return findings


def _put_before(source: Cpp) -> Iterator[Finding]:
    """Remove the runtime include of an earlier run if upstream has since put code before it that needs it."""
    line = rb"^[ \t]*#[ \t]*include[ \t]*<%b>%b[ \t]*(?:\r?\n|\r|\Z)" % (table().runtime.encode(), re.escape(MARK))
    for match in re.finditer(line, source.text, re.MULTILINE):
        span = Span(*match.span())
        if source.directive(source.text.index(b"#", span.start)) is None:
            continue  # in a comment
        yield Finding(span, "dropped", f"{table().runtime} is already included above", (Edit(span, b""),))


def _is_unknown(source: Cpp, project: Project, include: Include) -> bool:
    """Return whether the header looks like one of CUDA's, but is neither known nor among the files."""
    if not include.angled or within(include.directive.start, source.hip_only) or lookup(include.path) is not None:
        return False
    looks = table().unknown[0].fullmatch(include.path)
    return looks is not None and not any(True for _ in project.included(source, include))


def _default_stream(source: Cpp) -> Iterator[Finding]:
    """Yield the places where host code requests a per-thread default stream from the runtime's headers."""
    # nvcc has read the headers before the first line of a `.cu` file: there it has no effect.
    if _PER_THREAD not in source.text or source.path.suffix == ".cu":
        return
    hip = _PER_THREAD.replace(b"CUDA", b"HIP")
    for match in re.finditer(rb"\b" + _PER_THREAD + rb"\b", source.code):
        span = Span(*match.span())
        if source.directive(span.start) is None:
            continue
        if within(span.start, source.cuda_only) or within(span.start, source.hip_only):
            continue
        message = f"{_PER_THREAD.decode()} → {hip.decode()}: the macro that HIP's headers read"
        certainty = Certainty.SAFE
        if source.path.suffix not in UNITS:
            message += "; assumes that no .cu file includes this, where nvcc ignores the macro"
            certainty = Certainty.REVIEW
        yield Finding(span, "default_stream", message, (Edit(span, hip),), certainty)


def _of_samples(source: Cpp) -> frozenset[bytes]:
    """Return the names of NVIDIA's samples in the file that hipport's header lacks."""
    samples = table().samples
    return frozenset(source.matched(samples.lacks)) - samples.has


def _named_by_macros(source: Cpp, project: Project) -> Iterator[Finding]:
    """Replace CUDA's headers in macros that `#include MACRO` includes, in this file or one of its component."""
    if b"define" not in source.code:
        return
    included = project.union_over(source, _included_macros)
    if not included:
        return
    for directive in source.directives:
        if source.ported(directive.start):
            continue
        # A quoted path is a string, which is blank in `code`.
        match = _NAMES_HEADER.match(source.text, directive.start, directive.end)
        if match is None or match[1] not in included:
            continue
        span = Span(*match.span(3))
        path = match[3][1:-1].decode("utf-8", "surrogateescape")
        include = Include(directive, span, path, match[3].startswith(b"<"))
        if match[2]:
            folder = path.partition("/")[0] + "/"
            if "/" in path and (folder in table().folders or folder in ("cub/", "cuda/", "thrust/")):
                message = f"{match[1].decode()} makes paths of CUDA's headers: write HIP's paths out"
                yield Finding(span, "unsupported", message, certainty=Certainty.MANUAL)
            continue
        row = lookup(path)
        if row is not None and not is_own(source, include, project):
            # The directive needs a header: the runtime's, if HIP needs none.
            yield from _mapped(source, project, include, row if row.hip != "" else Row(table().runtime), set())


def _asked_for(source: Cpp, project: Project) -> Iterator[Finding]:
    """Replace the headers that `__has_include` asks for: CUDA's are never there on AMD, where HIP's are included."""
    if b"__has_include" not in source.words:
        return
    for directive in source.directives:
        for match in _ASKED_FOR.finditer(source.text, directive.start, directive.end):
            # In a condition for HIP as well, it asks whether CUDA's header is there, too.
            if source.ported(directive.start) or _OF_HIP.search(source.text, directive.start, directive.end):
                continue
            span = Span(*match.span(1))
            path = match[1][1:-1].decode("utf-8", "surrogateescape")
            row = lookup(path)
            there = row is not None and row.hip and not row.hip.startswith(FOLDER + "/")
            if row is None or not there or is_own(source, Include(directive, span, path, True), project):
                continue
            if row.since <= project.target.rocm:
                edits = (Edit(span, f"<{row.hip}>".encode()),)
                message = f"{path} → {row.hip}: that is what AMD has, and CUDA's header is not there"
                yield Finding(span, "asked_for", message, edits)


def _included_macros(source: Cpp) -> frozenset[bytes]:
    if b"include" not in source.code:
        return frozenset()
    found = (_INCLUDED_MACRO.match(source.code, each.start, each.end) for each in source.directives)
    return frozenset(match[1] for match in found if match)


def _mapped(
    source: Cpp, project: Project, include: Include, row: Row, seen: set[str], more: str = ""
) -> Generator[Finding, None, str]:
    """Yield the finding for an include of CUDA's, and return the path that is included there now."""
    path, hip = include.path, row.hip
    if hip is None:
        yield Finding(include.target, "unsupported", f"{path}{more}: {row.advice}", certainty=Certainty.MANUAL)
        return ""
    if row.since > project.target.rocm:
        release = f"{row.since[0]}.{row.since[1]}"
        yield Finding(
            include.target,
            "too_new",
            f"{path} ({hip} in HIP): it is new in ROCm {release}; pass --rocm {release}, or do without it",
            certainty=Certainty.MANUAL,
        )
        return ""
    if not hip and table().runtime not in seen:
        hip = replacement(source, include, project, row)
    if not hip or hip in seen:
        why = f"{hip} is already included" if hip else row.why or "HIP needs none"
        yield Finding(include.directive, "dropped", f"{path}: {why}", (Edit(line_of_include(source, include), b""),))
        return hip
    target = f"<{hip}>".encode()
    creates: tuple[NewFile, ...] = ()
    if hip.startswith(FOLDER + "/"):
        target, own = header(source, project, hip.removeprefix(FOLDER + "/"))
        creates = with_included_headers(own)
    macros = []
    steered = project.union_over(source, _steered) if any(hip == each[0] for each in table().steering) else ()
    for steered_header, macro, _, _ in table().steering:
        if steered_header == hip and macro in steered and "!" + macro not in steered:
            # The same value as that of -DMACRO, so that both may exist.
            macros.append(f"#define {macro} 1".encode() + source.newline)
    hidden = _hidden(source, project, include, hip)
    end = source.newline
    macros += [b'#pragma push_macro("%b")%b#undef %b%b' % (name, end, name, end) for name in hidden]
    pops = end.join(b'#pragma pop_macro("%b")' % name for name in hidden)
    after = (behind(source, include, pops),) if hidden else ()
    sure = not row.review or (row.sure != "" and project.target.rocm >= row.sure_since)
    certainty = Certainty.SAFE if sure else Certainty.REVIEW
    why = row.sure if sure else row.review
    message = f"{path} → {hip}" + (f": {why}" if why else "")
    at = line_of_include(source, include).start if macros else include.target.start
    # One edit, because an insertion before the first include of the file may be at the same place.
    new = b"".join(macros) + source[Span(at, include.target.start)] + target
    edits = (Edit(Span(at, include.target.end), new), *after)
    yield Finding(include.target, "mapped", message, edits, certainty, creates)
    return hip


def _hidden(source: Cpp, project: Project, include: Include, hip: str) -> list[bytes]:
    """Return the program's macros that the whole of a header must not see, where CUDA's was a part of it."""
    whole, names = table().colliding.get(hip, ("", frozenset()))
    return sorted(names & project.union_over(source, _macros)) if names and include.path != whole else []


def _macros(source: Cpp) -> frozenset[bytes]:
    return frozenset(match[1] for match in _DEFINED.finditer(source.code))


def _group(source: Cpp, project: Project, include: Include, names: frozenset[bytes]) -> Iterator[Finding]:
    """Handle a header of cooperative groups that HIP lacks: it is dropped if none of its names is used."""
    mentioned = project.declared(source, _group_names)
    spaces = {name for space, name in mentioned if space == b"namespace"} | {b"cooperative_groups"}
    opened = (b"using", b"namespace") in mentioned
    found = {name for space, name in mentioned if name in names and (space in spaces or (opened and not space))}
    if found:
        uses = ", ".join(name.decode() for name in sorted(found))
        yield Finding(
            include.target,
            "unsupported",
            f"{include.path}: HIP has no such header before ROCm 7.13, and the program uses its {uses}; write a "
            "loop over tile.shfl_xor, or include it for those releases only",
            certainty=Certainty.MANUAL,
        )
    else:
        message = f"{include.path}: HIP has no such header before ROCm 7.13, and the program uses nothing of it"
        yield Finding(include.directive, "dropped", message, (Edit(line_of_include(source, include), b""),))


def _group_names(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    """Return possible uses of those headers: (space, name) of `space::name`, ("", name) of a call, and aliases."""
    code = source.code
    found = {(b"namespace", name) for name in cooperative_groups.ALIAS.findall(code)}
    if cooperative_groups.OPENED.search(code):
        found.add((b"using", b"namespace"))
    names = b"|".join(sorted(frozenset().union(*table().groups.values())))
    found.update(re.findall(rb"\b(\w+)\s*::\s*(" + names + rb")\b", code))
    found.update((b"", name) for name in re.findall(rb"(?<![\w.>:])(" + names + rb")\s*(?:<[^;{}()]*>\s*)?\(", code))
    return frozenset(found)


def _steered(source: Cpp) -> frozenset[str]:
    """Return the steering macros whose names the file uses, and `!` with the macro for those that it defines."""
    found = {macro for _, macro, names, _ in table().steering if next(source.names(names), None)}
    defined = {match[1].decode() for match in _DEFINED.finditer(source.code)}
    return frozenset(found | {"!" + macro for _, macro, _, _ in table().steering if macro in defined})


PASS = Pass(Cpp, find)
