# SPDX-License-Identifier: Apache-2.0
"""Give programs the atomic functions that HIP lacks, and leave out their own definitions of functions that HIP has.

`atomicAdd_block` and the like become `hipport::atomicAdd_block`. Where `atomicAdd` is called for half, bfloat16 or
vectors of float, `hipport/atomics.h` is included, which has such overloads. A program's own `atomicMin(float*, float)`,
which CUDA lacks, would be a second definition with HIP. It is therefore put under `#ifndef __HIPCC__`; an `#if` around
nothing else gets that condition instead. Operations on 16 bytes are reported, and so are operations on memory shared
with the host that are lost over PCIe on AMD.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis.functions import function_at
from hipport.analysis.library_names import LibraryNames
from hipport.analysis.template_arguments import texts
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words, load
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import CUDA_COMPILER, NAMES
from hipport.syntax.left_out import opened, seen_again
from hipport.syntax.own_guards import MARK
from hipport.syntax.preprocessor import Conditional, condition
from hipport_passes.device.host_memory import TOGETHER, roots, shared_in

if TYPE_CHECKING:
    import tree_sitter

_TABLE = Path(__file__).with_suffix(".toml")
_CALL = re.compile(rb"\s*\(")
_WORDS = Words.read(Path(__file__).with_name("device_words.toml"), general=NAMES)
_FOR_DEVICE = _WORDS.compile(rb"#[ \t]*define[ \t]+(\w+)[ \t]+[^\r\n]*\b(?&device)\b")
_ATOMIC = _WORDS.compile(rb"(?&atomic)[A-Z]\w+")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_CAST = _WORDS.compile(rb"(?:(?&casts)\s*<([^<>]*)\*\s*>|\(([\w\s:]*)\*\s*\))")
# A pointer by its name, or an element at an offset from it; not a member of either.
_BASE = re.compile(
    rb"[(&\s]*([A-Za-z_]\w*)\s*(?:(?:\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]\s*)+|(?:\+|-(?!>))(?!.*\)\s*(?:\.|->)).*)?",
    re.DOTALL,
)
# A member of something, or an element of one: `&acc->h`, `list[i].sums[0]`.
_MEMBER = re.compile(
    rb"[^?:=]*(?:\.|->)\s*([A-Za-z_]\w*)\s*(?:\[[^\[\]]*\]\s*)*(?:[+][\w\s*+]+)?(?:\)+\s*)?", re.DOTALL
)
# The text after a type: names, each perhaps with a `*`, an array size and a value.
_DECLARED = re.compile(
    rb"((?:\s*(?:[*&]+\s*)?\w+\s*(?:\[[^\];{}]*\]\s*)*(?:=[^,;(){}]*|\{[^,;{}]*\}\s*)?,)*\s*(?:[*&]+\s*)?\w+)\s*[;=\[{,)]"
)
_ALIAS = re.compile(rb"\busing\s+(\w+)\s*=\s*(\w+)\s*;|\btypedef\s+(\w+)\s+(\w+)\s*;")
# Functions that make a value of such a type: `__floats2half2_rn(a, b)`, `make_float4(…)`.
_MADE = _WORDS.compile(rb"\s*(?:__\w*?2|(?&makers)|__)(half2?|float[24]|(?:nv_)?(?&bfloat)2?)(?:_\w+)?\s*\(")
_PARAMETERS = re.compile(rb"\b(?:typename|class)\s+(\w+)")
_HALF = frozenset(
    b"__half __half2 half half2 nv_bfloat16 nv_bfloat162 __nv_bfloat16 __nv_bfloat162 __hip_bfloat16 "
    b"__hip_bfloat162".split()
)
_ON = _WORDS.compile(rb"\b((?&atomic)[A-Z]\w*)\s*(?:<[^<>;]*>\s*)?\(")
_FLOAT = re.compile(rb"-?(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?[fF]?")
_DEFINED_BY_NVCC = _WORDS.compile(rb"\bdefined\s*(?:\(\s*)?(?:(?&arch)|" + CUDA_COMPILER + rb")\b\s*\)?")
_NUMBER_OF_NVCC = _WORDS.compile(rb"\b(?:(?&arch)|" + CUDA_COMPILER + rb")\b")


@cache
def _names() -> tuple[LibraryNames, LibraryNames]:
    """Return the functions that HIP lacks for all types, and the atomic functions that it has for some type."""
    helpers = frozenset(load(_TABLE)["helper"]["names"].encode().split())
    return LibraryNames(helpers), LibraryNames(_WORDS.compile(rb"(?&atomic)[A-Z][A-Za-z]+(?&system)?"), overloaded=True)


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per call that HIP lacks, per function that it has too, and per operation that may be lost."""
    if b"atomic" not in source.code:
        return
    helpers, known = _names()
    yield from _collisions(source, project)
    for span, name in helpers.uses(source, project):
        need, header = include(source, project, "atomics.h")
        edits = (Edit(span, b"hipport::" + name), *((need,) if need else ()))
        yield Finding(span, "scope", f"{name.decode()} → hipport::{name.decode()}", edits, creates=(header,))
    overloads = dict(load(_TABLE)["overload"])
    if project.target.rocm < (6, 4):
        overloads |= load(_TABLE)["overload_before_6_4"]
    of_host = _shared(source, project)
    own = project.declared(source, _overloads)
    halves = _has_halves(source, project)
    for span, name in known.uses(source, project):
        opening = _CALL.match(source.code, span.end)
        arguments = source.arguments(opening.end() - 1) if opening else None
        if not arguments:
            continue
        types = overloads.get(name.decode(), "").split()
        wide = _wide(name.decode())
        types += wide
        kind = _pointee(source, span, arguments[0], halves) if types else ""
        if types and kind not in types:
            kind = _by_member(source, project, span, arguments, types, kind)
        if kind in wide and (name, kind) not in own:
            message = f"{name.decode()}: {load(_TABLE)['wide']['why']}; {load(_TABLE)['wide']['instead']}"
            yield Finding(span, "wide", message, certainty=Certainty.MANUAL)
        elif kind in types and (name, kind) not in own:
            need, header = include(source, project, "atomics.h")
            if need is not None:
                message = f"HIP has no {name.decode()} of this type: hipport/atomics.h has it"
                yield Finding(span, "overload", message, (need,), creates=(header,))
        if span.start in of_host:
            why, instead = load(_TABLE)["shared"]["why"], load(_TABLE)["shared"]["instead"]
            message = f"{name.decode()}: {why} (allocated {of_host[span.start]}); {instead}"
            yield Finding(span, "host_memory", message, certainty=Certainty.MANUAL)


def _wide(name: str) -> list[str]:
    """Return the types for which CUDA has a function, and AMD's GPUs have no instruction."""
    rows = load(_TABLE)["wide"]
    functions, types = rows["functions"].split(), rows["types"].split()
    return types if name in functions else []


# ---- types


def _type(text: bytes) -> str:
    """Return a type in the table's form: the pointee, without qualifiers."""
    words = [
        word for word in _WORD.findall(text) if word not in (b"const", b"volatile", b"__restrict__", b"__shared__")
    ]
    if b"long" in words:
        name = "long" * words.count(b"long")
        return "u" + name if b"unsigned" in words else name
    if b"short" in words and b"unsigned" in words:
        return "ushort"
    last = words[-1].decode() if words else ""
    return {"size_t": "ulong", "uint64_t": "ulong"}.get(last, last)


def _pointee(source: Cpp, call: Span, argument: Span, halves: bool) -> str:
    """Return the type that the first argument points to, if it is visible; else an empty string.

    A template's type may be any type of the program: `__half`, if the program has halves.
    """
    code = source.code
    text = code[argument.start : argument.end]
    cast = _CAST.match(text)
    if cast is not None:
        return _type(cast[1] or cast[2])
    base = _BASE.fullmatch(text)
    if base is None:
        return ""
    start, parameters = _function(source, call.start)
    found = _declared_type(source, start, base[1], call.start)
    if found.encode() in parameters:
        return "__half" if halves else ""
    return found


def _declared_type(source: Cpp, start: int, name: bytes, before: int) -> str:
    """Return the type that a name has in the function from `start` on, by its last declaration before a place."""
    found = ""
    for match in _declarations(source, start, name):
        if match.end("next") > before:
            break
        if match["type"] in (b"return", b"else", b"case", b"typename", b"in"):
            continue
        found = _type(match["type"])
        if found == "auto":
            cast = _CAST.search(source.code[match.start("rest") : min(match.end("rest"), before)])
            found = _type(cast[1] or cast[2]) if cast else ""
    return found


def _may_be_float(source: Cpp, project: Project, call: Span, argument: Span) -> bool:
    """Say whether an argument points to a type of a template that is a float in one use, or whose uses are not seen."""
    text = source.code[argument.start : argument.end]
    cast, base = _CAST.match(text), _BASE.fullmatch(text)
    if cast is None and base is None:
        return False
    start, parameters = _function(source, call.start)
    name = _type(cast[1] or cast[2]) if cast else _declared_type(source, start, base[1] if base else b"", call.start)
    function = function_at(source, call.start)
    if name.encode() not in parameters or function is None:
        return False
    found = texts(project.component(source), function, name.encode(), deduced=True)
    given = [each.code[span.start : span.end].strip() for each, span in found]
    integers = {name.encode() for name in load(_TABLE)["shared"]["integers"].split()}
    return not given or not all(each and set(_WORD.findall(each)) <= integers for each in given)


def _declarations(source: Cpp, start: int, name: bytes) -> Sequence[re.Match[bytes]]:
    """Return what looks like a declaration of a name in the function that starts there, for all calls in it."""
    known = source.fact(_declarations_by_name)
    if (start, name) not in known:
        declared = re.compile(
            rb"(?P<type>(?:\b(?:unsigned|signed|long|short)\s+)*\b[A-Za-z_][\w:]*)\s*(?:const\b\s*)?[*&\s]"
            rb"(?:[*&\s]|const\b|__restrict__\b|__restrict\b)*\b" + re.escape(name) + rb"\s*"
            rb"(?P<next>[,)\[;=({])(?P<rest>[^;]*)"
        )
        end = start
        around = source.tree.root_node.descendant_for_byte_range(start, start) if start else None
        while around is not None and around.start_byte == start:
            end = around.end_byte if around.type in ("function_definition", "template_declaration") else end
            around = around.parent
        known[start, name] = list(declared.finditer(source.code, start, end if end > start else len(source.code)))
    return known[start, name]


def _declarations_by_name(source: Cpp) -> dict[tuple[int, bytes], list[re.Match[bytes]]]:
    """Return a cache of declarations, by the start of their function and their name."""
    return {}


def _by_member(
    source: Cpp, project: Project, call: Span, arguments: tuple[Span, ...], types: list[str], kind: str
) -> str:
    """Return the one of `types` that a member, an alias, a reference or the value shows; "" if none.

    If members of one name have several types, it may be another type. Then the header is included without need.
    """
    code = source.code
    aliases = dict(project.union_over(source, _aliases))
    if kind:
        return aliases.get(kind, "")
    text = code[arguments[0].start : arguments[0].end]
    name = _BASE.fullmatch(text)
    if name is not None:  # `auto &h = acc->h;`
        start, _ = _function(source, call.start)
        given = [*re.finditer(rb"\bauto\s*[&*\s]\s*" + re.escape(name[1]) + rb"\s*=([^;]*);", code[start : call.start])]
        text = given[-1][1] if given else b""
    member = _MEMBER.fullmatch(text)
    if member is not None:
        declared = {of for each, of in project.union_over(source, _members) if each == member[1]}
        found = sorted({aliases.get(of, of) for of in declared} & set(types))
        return found[0] if found else ""
    value = code[arguments[1].start : arguments[1].end] if len(arguments) > 1 else b""
    made = _MADE.match(value)
    return next((of for of in types if made and made[1].decode() in of), "")


def _members(source: Cpp) -> frozenset[tuple[bytes, str]]:
    """Return the names that are declared with a type that lacks overloads in HIP, or with an alias of one; and the
    type.
    """
    known = {name.encode() for names in load(_TABLE)["overload"].values() for name in names.split()}
    known |= {name.encode() for name, _ in source.fact(_aliases)}
    found: set[tuple[bytes, str]] = set()
    for span, name in source.names(frozenset(known)):
        declared = _DECLARED.match(source.code, span.end)
        for each in declared[1].split(b",") if declared else ():
            word = _WORD.search(each)
            found |= {(word[0], name.decode())} if word else set()
    return frozenset(found)


def _aliases(source: Cpp) -> frozenset[tuple[str, str]]:
    """Return the aliases that a file gives to such types."""
    if source.words.isdisjoint((b"using", b"typedef")):
        return frozenset()
    known = {name for names in load(_TABLE)["overload"].values() for name in names.split()}
    given = ((match[1] or match[4], match[2] or match[3]) for match in _ALIAS.finditer(source.code))
    return frozenset((name.decode(), of.decode()) for name, of in given if of.decode() in known)


def _function(source: Cpp, offset: int) -> tuple[int, frozenset[bytes]]:
    """Return the start of the function around `offset`, and the parameters of its template."""
    node: tree_sitter.Node | None = source.tree.root_node.descendant_for_byte_range(offset, offset)
    start = 0
    parameters: set[bytes] = set()
    while node is not None:
        if node.type in ("function_definition", "template_declaration"):
            start = node.start_byte
        if node.type == "template_declaration":
            head = node.child_by_field_name("parameters")
            if head is not None:
                parameters |= set(_PARAMETERS.findall(source.code, head.start_byte, head.end_byte))
        node = node.parent
    return start, frozenset(parameters)


def _has_halves(source: Cpp, project: Project) -> bool:
    """Return whether a template in `source` may be used for halves: by the file itself, or by files that include it."""
    if source.path in project.included_paths:
        return True in project.union_over(source, _halves)
    return True in source.fact(_halves)


def _halves(source: Cpp) -> frozenset[bool]:
    return frozenset({next(source.names(_HALF), None) is not None})


# ---- functions that HIP has too


class _Definition(NamedTuple):
    """A function of the program with the name of an atomic one: the type it points to, and its span."""

    name: bytes
    kind: str
    span: Span
    start: int
    end: int


def _device_words(source: Cpp) -> frozenset[bytes]:
    """Return `__device__`, and the macros of the file whose expansions contain it."""
    found = (_FOR_DEVICE.match(source.code, each.start, each.end) for each in source.directives)
    return frozenset(match[1] for match in found if match) | {b"__device__"}


def _definitions(source: Cpp) -> tuple[_Definition, ...]:
    code = source.code
    found = []
    for span, name in source.names(_ATOMIC):
        start = _statement(source, span.start)
        head = code[start : span.start]
        opening = _CALL.match(code, span.end)
        if opening is None or b"template" in head or source.directive(span.start):
            continue
        if source.fact(_device_words).isdisjoint(_WORD.findall(head)):
            continue
        parameters = source.arguments(opening.end() - 1) or ()
        closing = source.closing(opening.end() - 1)
        body = re.compile(rb"\s*\{").match(code, closing + 1) if closing else None
        end = source.closing(body.end() - 1) if body else None
        pointer = re.match(rb"([^*]*)\*[^*]*$", code[parameters[0].start : parameters[0].end]) if parameters else None
        if end is not None and pointer is not None and len(parameters) == (3 if name.startswith(b"atomicCAS") else 2):
            kind = (
                "unsigned"
                if re.fullmatch(rb"\s*(?:volatile\s+)?(?:unsigned(?:\s+int)?|uint(?:32_t)?)\s*", pointer[1])
                else ""
            )
            found.append(_Definition(name, kind or _type(pointer[1]), span, start, end + 1))
    return tuple(found)


def _overloads(source: Cpp) -> frozenset[tuple[bytes, str]]:
    """Return the overloads that the program itself has, for HIP too."""
    return frozenset(
        (each.name, each.kind)
        for each in source.fact(_definitions)
        if not within(each.start, source.cuda_only)
        and (within(each.start, source.hip_only) or not _unseen(source, each.start))
    )


def _collisions(source: Cpp, project: Project) -> Iterator[Finding]:
    collides: dict[str, str] = load(_TABLE)["collides"]
    since: dict[str, str] = load(_TABLE)["collides_since_6_4"] if project.target.rocm >= (6, 4) else {}
    every = [
        each
        for each in source.fact(_definitions)
        if each.kind in f"{collides.get(each.name.decode(), '')} {since.get(each.name.decode(), '')}".split()
        and _global(source, each.span.start)
    ]
    spans = [Span(each.start, each.end) for each in every]
    again = dict(opened(source, spans, spans))
    for stretch, edits in again.items():
        message = "an earlier run left it to HIP, and code was added since: it is left to HIP again"
        yield Finding(Span(stretch.start, stretch.start), "defined_twice", message, edits)
    shown = {each for each in every if seen_again(source, each.start, again)}
    twice = [each for each in every if each in shown or not _unseen(source, each.span.start)]
    for each in twice:
        start, end = each.start, each.end
        group = _around(source, each, twice) if each not in shown else None
        directive = group[0].span if group else Span(0, 0)
        at = source.code.index(b"if", directive.start) + 2 if group else 0
        condition = source.code[at : directive.end].rstrip()
        if b"!defined(__HIPCC__)" in condition:
            continue
        if group is not None and condition.strip():
            at, behind = at + len(condition) - len(condition.lstrip()), at + len(condition)
            either = b"||" in condition
            edits = (
                *((Edit(Span(at, at), b"("),) if either else ()),
                Edit(Span(behind, behind), b")" * either + b" && !defined(__HIPCC__)" + MARK),
            )
            same = all(_same(source, other) for other in twice if _around(source, other, twice) == group)
            yield _twice(each, edits, same)
            continue
        before = source.newline if source.indent(start) is None else b""
        # A directive needs its own line. The brace is replaced because another such function may follow it directly.
        rest = source.line_end.split(source.code[end:], maxsplit=1)[0].strip()
        edits = (
            Edit(Span(start, start), before + b"#ifndef __HIPCC__" + MARK + source.newline),
            Edit(Span(end - 1, end), b"}" + source.newline + b"#endif" + (source.newline if rest else b"")),
        )
        yield _twice(each, edits, _same(source, each))


def _same(source: Cpp, each: _Definition) -> bool:
    """Return whether the program's function does what HIP's does: CUDA has it as well, or it only calls CUDA's."""
    if each.kind in load(_TABLE)["in_cuda"].get(each.name.decode(), "").split():
        return True
    # `unsigned long` has the 64 bits of the type that CUDA has the function for.
    inner = [span for span, name in source.names({each.name}) if each.span.end < span.start < each.end]
    parameters = source.arguments(source.code.index(b"(", each.span.end)) or ()
    calling = _CALL.match(source.code, inner[0].end) if len(inner) == 1 else None
    closing = source.closing(calling.end() - 1) if calling is not None else None
    if each.kind != "ulong" or calling is None or closing is None:
        return False
    before = _RETURNED.search(source.code, each.span.end, inner[0].start)
    behind = _RETURNED_END.fullmatch(source.code, closing + 1, each.end)
    given = source.arguments(calling.end() - 1) or ()
    if before is None or behind is None or len(given) != len(parameters):
        return False
    result = before[1] or before[3]
    if (before[2] is not None and not before[2].endswith(b"_cast")) or (
        (behind[1] is not None) != (before[3] is not None)
    ):
        return False
    if result is not None and _type(result) not in ("ulong", "ulonglong"):
        return False
    return all(
        _hands_on(source.code[one.start : one.end], source.code[other.start : other.end], pointer=not i)
        for i, (one, other) in enumerate(zip(parameters, given, strict=True))
    )


# `return (T)atomicAdd` up to the name, and what is behind its brackets; an argument, perhaps converted.
_RETURNED = re.compile(rb"\{\s*return\b\s*(?:\(\s*([\w\s]+)\)|(\w+)\s*<([\w\s]+)>\s*\()?\s*(?:::\s*)?\Z")
_RETURNED_END = re.compile(rb"\s*(\)\s*)?;\s*\}")
_HANDED_ON = re.compile(rb"\s*(?:(?:\(\s*([\w\s]+\*?)\s*\)\s*)?(\w+)|(\w+)\s*<([\w\s]+\*?)\s*>\s*\(\s*(\w+)\s*\))\s*")


def _hands_on(parameter: bytes, argument: bytes, *, pointer: bool) -> bool:
    """Return whether an argument is the parameter, as CUDA's type of 64 bits or a pointer to it."""
    found = _HANDED_ON.fullmatch(argument)
    if found is None or (found[2] or found[5]) != _WORD.findall(parameter)[-1]:
        return False
    written = found[1] or found[4]
    if found[3] is not None and not found[3].endswith(b"_cast"):
        return False
    if written is None:
        return not pointer
    return written.endswith(b"*") is pointer and _type(written) == "ulonglong"


def _twice(each: _Definition, edits: tuple[Edit, ...], same: bool) -> Finding:
    message = f"{each.name.decode()}({each.kind}*, {each.kind}): HIP has it too"
    if not same:
        message += ": assumes that the program's does the same"
    return Finding(each.span, "defined_twice", message, edits, Certainty.SAFE if same else Certainty.REVIEW)


def _around(source: Cpp, each: _Definition, twice: list[_Definition]) -> tuple[Conditional, ...] | None:
    """Return the `#if` around a definition, if it contains only such definitions."""
    around = [group for group in source.conditionals if group[0].span.end <= each.start < group[-1].span.start]
    group = max(around, key=lambda group: group[0].span.start, default=None)
    if group is None or len(group) != 2 or source.code[group[0].span.start : group[0].span.end].split()[0] != b"#if":
        return None
    place = group[0].span.end
    for other in sorted(twice, key=lambda other: other.start):
        if place <= other.start and other.end <= group[1].span.start:
            if source.code[place : other.start].strip():
                return None
            place = other.end
    return None if source.code[place : group[1].span.start].strip() else group


def _statement(source: Cpp, offset: int) -> int:
    """Return the start of the declaration around `offset`."""
    directives = source.directives
    i = bisect_right(directives, offset, key=lambda span: span.start) - 1
    floor = directives[i].end if i >= 0 else 0
    floor = max(floor, *(source.code.rfind(end, floor, offset) + 1 for end in (b";", b"{", b"}")))
    text = source.code[floor:offset]
    return floor + len(text) - len(text.lstrip())


def _global(source: Cpp, offset: int) -> bool:
    """Return whether a function at `offset` is in the global namespace or an unnamed one, beside HIP's."""
    node: tree_sitter.Node | None = source.tree.root_node.descendant_for_byte_range(offset, offset)
    while node is not None:
        if node.type in ("class_specifier", "struct_specifier") or (
            node.type == "namespace_definition" and node.child_by_field_name("name") is not None
        ):
            return False
        node = node.parent
    return True


def _unseen(source: Cpp, offset: int) -> bool:
    """Return whether HIP never compiles `offset`, with the present conditions and once they test for AMD too."""
    if source.ported(offset) or within(offset, source.left_to_hip):
        return True
    around = [group for group in source.conditionals if group[0].span.end <= offset < group[-1].span.start]
    return all(any(_hides(group, offset, newest) for group in around) for newest in (False, True))


def _hides(group: tuple[Conditional, ...], offset: int, newest: bool) -> bool:
    """Return whether `offset` is in a branch that is not taken: without nvcc's macros, or for a new GPU."""
    values = []
    for part in takewhile(lambda part: part.span.end <= offset, group):
        text = _NUMBER_OF_NVCC.sub(b"10000", _DEFINED_BY_NVCC.sub(b"1", part.asked)) if newest else part.asked
        values.append(part.word == b"else" or condition(text, hip=True, told=True))
    return values[-1] is False or True in values[:-1]


# ---- memory of the host


def _adds_floats(source: Cpp, project: Project, call: re.Match[bytes]) -> bool:
    """Say whether an operation adds floats: over PCIe only integers are added."""
    rows = load(_TABLE)["shared"]
    if call[1].removesuffix(b"_system").decode() not in rows["adds"].split():
        return False
    arguments = source.arguments(call.end() - 1)
    if not arguments:
        return False
    lost = rows["lost"].split()
    span = Span(call.start(), call.start() + len(call[1]))
    kind = _pointee(source, span, arguments[0], halves=False)
    if not kind and _may_be_float(source, project, span, arguments[0]):
        return True
    kind = kind or _by_member(source, project, span, arguments, lost, kind)
    # Of a variable of the file, what is added shows it.
    value = source.code[arguments[1].start : arguments[1].end] if len(arguments) > 1 else b""
    return kind.lstrip("_") in lost or (not kind and _FLOAT.fullmatch(value.strip()) is not None)


def _shared(source: Cpp, project: Project) -> dict[int, str]:
    """Return the calls of atomic functions that are lost on host memory, with the function that allocated it."""
    reach = frozenset(load(_TABLE)["shared"]["reach"].encode().split())
    # Most programs have no such calls, and their memory need not be followed.
    calls = [
        match
        for match in _ON.finditer(source.code)
        if match[1].removesuffix(b"_system") not in reach or _adds_floats(source, project, match)
    ]
    places = shared_in(source, project) if calls else {}
    found: dict[int, str] = {}
    for match in calls if places else ():
        arguments = source.arguments(match.end() - 1) or ()
        text = source.code[arguments[0].start : arguments[0].end] if arguments else b""
        origin = next((places[root] for root in roots(source, match.start(), text) if root in places), None)
        if origin is not None:
            line = origin.source.line_read(origin.offset)
            where = f"line {line}" if origin.source.path == source.path else f"{origin.source.path}:{line}"
            found[match.start()] = f"by {origin.name.decode()}, {where}"
    return found


PASS = Pass(Cpp, find, together=TOGETHER)
