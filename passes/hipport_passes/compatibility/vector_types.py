# SPDX-License-Identifier: Apache-2.0
"""Write out the conversions between `dim3`, `uint3` and the built-in variables that HIP does not have.

In CUDA `threadIdx` and `blockIdx` are `uint3`, `blockDim` and `gridDim` are `dim3`, and the two types convert into each
other. In HIP the built-in variables have distinct types, which convert to a `dim3` but not to a `uint3`, and a `uint3`
does not convert to a `dim3`. The pass also leaves out a program's operators on vector types if HIP has the same ones.

With HIP's operators, calls with two equal vectors become ambiguous for `*`, `/` and all compound ones; HIP's `+` and
`-`, comparisons, and operators with numbers are templates, which lose overload resolution. A program's operator with
another meaning gets clang's attribute `enable_if`, which makes it the better match. HIP's templates for numbers then
call it too, so that is REVIEW; a prototype would declare another function, and is left to a person. A function for the
device only, or for the host only, is a better match than HIP's, which are for both, unless a host compiler reads it.
(Tried with all of them and the compilers and headers of ROCm 5.2 and 6.4.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.declarations import declarations, member_or_qualified
from hipport.syntax.left_out import opened, seen_again
from hipport.syntax.own_guards import MARK

_VARIABLES = tuple(NAMES["variables"].encode().split())
_WHOLE = NAMES.compile(rb"\b(?P<name>(?&variables))\b(?!\s*(?:\.|->))")
# A dim3 may be made from a built-in variable: HIP has that conversion.
_DIM3_BEFORE = NAMES.compile(rb"\b(?&dim3)\s*(?:\(|\{|(?:const\s+)?&?\s*\w+\s*(?:=|\(|\{))\s*$")
_UINT3_BEFORE = NAMES.compile(rb"\b(?&uint3)\s*(?:\(|\{|(?:const\s+)?\w+\s*(?:=|\(|\{))\s*$")
_NAMED = re.compile(rb"\s*(?:::|\w)")
_MADE = NAMES.compile(
    rb"(?:\b(?&dim3)\s+(?P<new>\w+)|(?<![\w.>])(?P<old>\w+))\s*(?:=|(?<=\w)\()\s*(?P<make>(?&make_uint3))\s*\("
)
_DIM3 = NAMES.compile(rb"\b(?&dim3)\s*&?\s+&?(\w+(?:\s*(?:\([^()]*\)|=[^,;()]*)?\s*,\s*\w+)*)")
_OPERATOR = NAMES.compile(
    rb"(?P<head>(?:^|(?<=[;{}]))[ \t]*(?:(?:static|inline|constexpr|(?&specifiers)"
    rb"|[A-Z][A-Z0-9_]+|(?&attribute)\s*\(\((?:[^()]|\([^()]*\))*\)\))\s+)*)(?P<result>(?:const\s+)?\w+\s*&?)\s*"
    rb"\boperator\s*(?P<op>[-+*/]=?)\s*\((?P<parameters>[^()]*)\)\s*\{",
    re.MULTILINE,
)
_VECTORS = frozenset(
    name + size
    for name in b"char uchar short ushort int uint long ulong longlong ulonglong float double".split()
    for size in (b"2", b"3", b"4")
)
# HIP's versions of these are not templates, and match as well as the program's.
_CLASHING = frozenset((b"*", b"/", b"+=", b"-=", b"*=", b"/="))
_MACRO = re.compile(rb"#[ \t]*define[ \t]+([A-Z][A-Z0-9_]+)[ \t]+([^\r\n]*)")
_REST = re.compile(rb"[^\S\r\n]*[^\s]")
_PROTOTYPE = re.compile(rb"\boperator\s*(?P<op>[-+*/]=?)\s*\(\s*(?:const\s+)?(?P<type>\w+[234])\b[^()]*\)\s*;")
# If two functions match equally well, clang chooses the one with this attribute.
_ENABLE_IF = b"enable_if"
_BETTER = b'__attribute__((%b(true, ""))) ' % _ENABLE_IF

_PARAMETER = re.compile(rb"\s*(?:const\s+)?(?P<type>\w+[234])\s*(?:const\s*)?&?\s*(?P<name>\w+)\s*")


class _LeftOut(NamedTuple):
    """Adjacent operators that HIP has itself, with only white space and comments between them."""

    header: Span
    whole: Span
    named: tuple[str, ...]


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per conversion, and per operator that HIP also has."""
    yield from _variables(source)
    yield from _grids(source)
    yield from _operators(source, project)


def _variables(source: Cpp) -> Iterator[Finding]:
    code = source.code
    if all(code.count(name) == code.count(name + b".") for name in _VARIABLES):
        return  # The most frequent case: only their members are used.
    found = [(Span(*match.span("name")), match["name"]) for match in _WHOLE.finditer(code)]
    # `int blockIdx = 0;` in host code; the scope None is global.
    own = [(each.name, each.scope) for each in declarations(source, found)]
    for match in _WHOLE.finditer(code):
        span = Span(*match.span())
        if any(name == match["name"] and (not scope or scope.start <= span.start < scope.end) for name, scope in own):
            continue
        before = code[max(0, span.start - 120) : span.start]
        if source.ported(span.start) or member_or_qualified(code, span.start) or source.directive(span.start):
            continue
        name = match["name"]
        is_uint3 = name in (b"threadIdx", b"blockIdx")
        if _DIM3_BEFORE.search(before) if is_uint3 else not _UINT3_BEFORE.search(before):
            continue
        if _NAMED.match(code, span.end):
            continue  # Not an expression.
        if re.search(rb"[\w>*&]\s+$|[*&]\s*$", before) and not re.search(rb"\b(?:return|else|case)\s+$", before):
            continue  # The program's own declaration, or its address.
        new = b"make_uint3(" + b", ".join(name + b"." + axis for axis in (b"x", b"y", b"z")) + b")"
        yield Finding(
            span, "uint3", f"{name.decode()} is not a uint3 in HIP: make it from its parts", (Edit(span, new),)
        )


def _grids(source: Cpp) -> Iterator[Finding]:
    code = source.code
    if b"make_uint3" not in code:
        return
    declared = {name for match in _DIM3.finditer(code) for name in re.findall(rb"\w+", match[1])}
    for match in _MADE.finditer(code):
        if match["new"] is None and match["old"] not in declared:
            continue
        span = Span(*match.span("make"))
        if not source.ported(span.start):
            yield Finding(
                span, "dim3", "HIP does not convert a uint3 to a dim3: make_uint3 → dim3", (Edit(span, b"dim3"),)
            )


def _operators(source: Cpp, project: Project) -> Iterator[Finding]:
    code = source.code
    if b"operator" not in code:
        return
    left_out: list[_LeftOut] = []
    clashing = list(_clashing(source, project))
    kept = [each for each in clashing if within(each.whole.start, source.left_to_hip)]
    since = dict(opened(source, (each.whole for each in kept), (each.whole for each in kept if each.same)))
    for each in clashing:
        named, header, whole = each.named, each.header, each.whole
        if each in kept and not seen_again(source, whole.start, since):
            continue
        if not (each.same and each.alone):
            if each.key in project.union_over(source, _prototypes):
                message = (
                    f"HIP has an {named} for each component, and calls become ambiguous: make this one a function "
                    "with a name"
                )
                yield Finding(header, "operator", message, certainty=Certainty.MANUAL)
                continue
            numbers = (
                f"a {each.key[1].decode()} is combined only with numbers of the type that the program's operators take"
            )
            assumes = [] if each.same else [numbers]
            assumes += ["clang compiles it as hipcc does"] if _by_host(source, project) else []
            message = f"HIP has an {named} for each component: enable_if makes this one the better match"
            if assumes:
                message += f"; assumes that {' and that '.join(assumes)}"
            certainty = Certainty.REVIEW if assumes else Certainty.SAFE
            yield Finding(header, "operator", message, (Edit(Span(header.start, header.start), _BETTER),), certainty)
            continue
        if left_out and not code[left_out[-1].whole.end : whole.start].strip():
            before = left_out.pop()
            left_out.append(_LeftOut(before.header, Span(before.whole.start, whole.end), (*before.named, named)))
        else:
            left_out.append(_LeftOut(header, whole, (named,)))
    guard = b"#ifndef __HIPCC__"
    if left_out and _by_host(source, project):
        guard = b"#if !defined(__HIPCC__) && !defined(__HIP_PLATFORM_AMD__)"
    for header, whole, names in left_out:
        edits = (
            Edit(Span(whole.start, whole.start), guard + MARK + source.newline),
            Edit(Span(whole.end, whole.end), source.newline + b"#endif"),
        )
        what = f"{', '.join(names)}: {('it is' if len(names) == 1 else 'they are')} left to HIP"
        yield Finding(header, "operator", f"HIP has the same {what}", edits)
    for stretch, opening in since.items():
        message = "an earlier run left it to HIP, and code was added since: it is left to HIP again"
        yield Finding(Span(stretch.start, stretch.start), "operator", message, opening)


class _Operator(NamedTuple):
    """The definition of an operator that makes calls ambiguous, with its lines."""

    key: tuple[bytes, bytes]
    named: str
    header: Span
    whole: Span
    #: Whether it does the same as HIP's, and whether it stands alone on its lines.
    same: bool
    alone: bool


def _clashing(source: Cpp, project: Project) -> Iterator[_Operator]:
    code = source.code
    for match in _OPERATOR.finditer(code):
        if match["op"] not in _CLASHING:
            continue
        parameters = [_PARAMETER.fullmatch(part) for part in match["parameters"].split(b",")]
        end = source.closing(match.end() - 1)
        if end is None or len(parameters) != 2 or source.ported(match.start("result")):
            continue
        a, b = parameters
        if a is None or b is None or a["type"] != b["type"] or a["type"] not in _VECTORS:
            continue  # With a number, HIP's operator is not a better match, and the program's is chosen.
        if _ENABLE_IF in match["head"] or not _for_both(source, project, match["head"]):
            continue
        start = match.start("head") + len(match["head"]) - len(match["head"].lstrip())
        line = source.line_start(start)
        # Text before it on its line, or after its closing brace, would become part of a directive.
        alone = not code[line:start].strip() and _REST.match(code, end + 1) is None
        yield _Operator(
            (match["op"], a["type"]),
            f"operator{match['op'].decode()} on {a['type'].decode()}",
            Span(start, match.end() - 1),
            Span(line, end + 1),
            _by_parts(code[match.end() : end], match["op"], a, b),
            alone,
        )


def _for_both(source: Cpp, project: Project, head: bytes) -> bool:
    """Return whether an operator is for host and device, as HIP's are, or a host compiler reads it."""
    words: set[bytes] = set()
    waiting = set(re.findall(rb"\w+", head))
    while waiting - words:
        word = (waiting - words).pop()
        words.add(word)
        if word.isupper() and not word.startswith(b"_"):
            texts = [text for name, text in project.union_over(source, _macros) if name == word]
            if not texts:
                return True  # Its name looks like `HD`.
            waiting |= {each for text in texts for each in re.findall(rb"\w+", text)}
    if b"constexpr" in words or {b"__host__", b"__device__"} <= words:
        return True
    return b"__device__" not in words and _by_host(source, project)


def _by_host(source: Cpp, project: Project) -> bool:
    """Return whether a host compiler may read the file."""
    return any(isinstance(other, Cpp) and other.for_host for other in project.component(source))


def _macros(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    return frozenset((match[1], match[2]) for match in _MACRO.finditer(source.code))


def _prototypes(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    """Return the operators that are declared before they are defined, by their first operand's type."""
    if b"operator" not in source.code:
        return frozenset()
    return frozenset((match["op"], match["type"]) for match in _PROTOTYPE.finditer(source.code))


def _by_parts(body: bytes, op: bytes, a: re.Match[bytes], b: re.Match[bytes]) -> bool:
    """Return whether the body applies HIP's operator to each member."""
    text = re.sub(rb"\s+", b"", body)
    axes = b"xyzw"[: int(a["type"][-1:])]
    first, second, plain = a["name"], b["name"], op.rstrip(b"=")
    sides = [(b"%s.%c" % (first, axis), b"%s.%c" % (second, axis)) for axis in axes]
    sums = [x + plain + y for x, y in sides]
    if op == plain:
        made = b",".join(sums)
        return text in (
            b"returnmake_%s(%s);" % (a["type"], made),
            b"return{%s};" % made,
            b"return%s{%s};" % (a["type"], made),
        )
    short = b"".join(x + op + y + b";" for x, y in sides)
    long = b"".join(x + b"=" + s + b";" for (x, _), s in zip(sides, sums, strict=True))
    made = b"%s=make_%s(%s);" % (first, a["type"], b",".join(sums))
    returned = b"return%s;" % first
    return any(text in (form, form + returned) for form in (short, long, made))


PASS = Pass(Cpp, find)
