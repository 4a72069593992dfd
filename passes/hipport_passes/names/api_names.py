# SPDX-License-Identifier: Apache-2.0
"""Rename CUDA's functions, types and constants to HIP's, and report those without an equivalent in HIP.

Names are found as tokens, so macro bodies, inactive branches and templates are included. A name is left alone if it is
a member, if it is in a namespace of the program, if the program declares it itself, and in code that only one of CUDA
and HIP ever compiles. A `#define`, `typedef` or function that replaces a CUDA name is not the program's own declaration
if it uses other CUDA names, or if it is only under a condition or in a file that is included where there is no CUDA: it
is renamed with the name.

Names that a macro pastes together (`cuda##name`) are not found; the macro is reported, unless it exists for HIP too.
Names that a backslash breaks over two lines are reported as well, and arguments from which a macro makes other names of
the program (`t##name` with cuInit, if there is a tcuInit).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from hipport.analysis.macros import defined, expanded, pasting
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import load, one_of
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, word_before
from hipport.syntax.declarations import declarations, member_or_qualified, namespaces, opened_before
from hipport.syntax.lexing import SPLICE
from hipport_passes.names.release_comparisons import DEFINE, ON_DEVICE, asserted, compared_release, settled

_IDENTIFIER = re.compile(rb"\b[A-Za-z_]\w*")
_CALL = re.compile(rb"\s*\(")
_TAGGED = re.compile(rb"\b(?:struct|enum)\s+$")
_BLANK = re.compile(rb"[ \t]*")


def _beginning(key: str) -> bytes:
    return one_of(load(Path(__file__).with_suffix(".own.toml"))["words"][key]).encode()


_HIP = re.compile(rb"\b(?:__)?(?:rccl|" + _beginning("hip") + rb")\w*")
# The beginning of one of CUDA's names, to which a macro adds the rest.
_PASTED = re.compile(
    rb"(?<![\w#])(?P<prefix>" + _beginning("functions") + rb"(?:[A-Z]\w*)?"
    rb"|" + _beginning("constants") + rb"_\w*|CUDA_[RC]_\w*|CU(?:DA)?)[ \t]*##"
)
_PASTED_FOR_HIP = re.compile(rb"(?<![\w#])" + _beginning("hip") + rb"\w*[ \t]*##")
_OF_CALL = re.compile(r"\{(\w+)\}")
_SPLICED = re.compile(rb"[A-Za-z_]\w*(?:" + SPLICE + rb"\w+)+")
_SPLICE = re.compile(SPLICE)
_BODY = re.compile(rb"\s*(?:noexcept\s*)?[;{]")
_BEFORE_CALLS = frozenset(b"return else do case throw co_return co_yield co_await and or not in".split())
_OUTERMOST = re.compile(rb"(?<![\w>:])\s*::\s*$|\b(?:return|else|case)\s*::\s*$")
_USING = re.compile(
    rb"\busing\s+(?:namespace\s+(?:::\s*)?(?:\w+\s*::\s*)*(\w+)|(?:::\s*)?(?:\w+\s*::\s*)*(\w+)\s*::\s*\w+)\s*;"
)
_CONDITION = re.compile(rb"#[ \t]*(?:if|ifdef|ifndef|elif)\b")
_UNDEF = re.compile(rb"#[ \t]*undef\b")
# Calling conventions of functions on other systems than Linux.
_CONVENTION = re.compile(rb"\s*(?:" + _beginning("conventions") + rb"\s*)?")


#: The names of namespaces, outermost first, and a name that is declared in the innermost.
_InNamespace = tuple[tuple[bytes, ...], bytes]


class NameRow(NamedTuple):
    """A row of the table of CUDA's names.

    `hip` is None if HIP has no equivalent. `since` and `until` are the first ROCm release with it and without it.
    `calls` has other forms for calls with that many arguments, in which "(…)" stands for the arguments, and `{name}`
    for the last argument of an earlier call of `name` in the same block that starts with this call's last argument.
    `tag` is the name after `struct` or `enum` if it differs. `review` is the assumption under which the HIP name means
    the same. `value` replaces the name outside of conditions, because AMD does not define it. `called`: programs use
    the word for variables too, and it means CUDA's function only where it is called. `in_c` has forms like `calls` for
    programs in C, where HIP's function lacks the default arguments of C++. `as_value` is the function of HIP with the
    parameters of CUDA's, for a pointer to it.
    """

    area: str
    hip: str | None
    since: tuple[int, int] = (0, 0)
    until: tuple[int, int] | None = None
    why: str = ""
    instead: str = ""
    calls: Mapping[str, str] = MappingProxyType({})
    review: str = ""
    tag: str = ""
    value: str = ""
    called: bool = False
    in_c: Mapping[str, str] = MappingProxyType({})
    as_value: str = ""

    @property
    def advice(self) -> str:
        """Return why the name cannot be kept, and what to do."""
        return "; ".join(part for part in (self.why or "HIP has no equivalent", self.instead) if part)


@cache
def table() -> Mapping[bytes, NameRow]:
    """Return the rows of all CUDA names: the generated table, overridden by the rows made by hand."""
    path = Path(__file__)
    generated, own = load(path.with_suffix(".toml")), load(path.with_suffix(".own.toml"))
    rows: dict[bytes, NameRow] = {}
    areas: dict[str, dict[str, str]] = own["areas"]
    for area, names in generated["unsupported"].items():
        row = _row(area, areas.get(area, {}))
        rows.update(dict.fromkeys(names.encode().split(), row))
    for area, names in generated.items():
        if area != "unsupported":
            rows.update(_rows(area, names, (0, 0)))
    corrections = [(name, group) for group in own["group"] for name in group["names"].split()]
    for name, value in (*corrections, *own["names"].items()):
        key = name.encode()
        rows[key] = _row(rows[key].area if key in rows else "own", value)
    return rows


def _rows(area: str, names: Mapping[str, Any], since: tuple[int, int]) -> Iterator[tuple[bytes, NameRow]]:
    for name, value in names.items():
        if isinstance(value, str):
            yield name.encode(), NameRow(area, value, since)
        elif "hip" in value:
            yield name.encode(), _row(area, value)._replace(since=since)
        else:
            yield from _rows(area, value, _release(name))


def _row(area: str, value: Mapping[str, Any]) -> NameRow:
    until = value.get("until")
    return NameRow(
        area,
        value.get("hip"),
        _release(value.get("since", "0.0")),
        _release(until) if until else None,
        value.get("why", ""),
        value.get("instead", ""),
        value.get("calls", {}),
        value.get("review", ""),
        value.get("tag", ""),
        value.get("value", ""),
        value.get("called", False),
        value.get("in_c", {}),
        value.get("as_value", ""),
    )


def _release(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)


_OF_ENUMERATION = re.compile(rb"(?<!\w)([A-Za-z_]\w*)\s*::\s*\Z")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per name that is renamed, and per line with a name that cannot be."""
    yield from _pasted(source, project)
    yield from _spliced(source)
    names = source.fact(_names)
    if not names:
        return
    known = table()
    own = _OwnNames(source, project)
    reported: set[tuple[bytes, int]] = set()
    moot = 0
    for span, name in names:
        if span.start < moot or source.ported(span.start) or own.has(span.start, name):
            continue
        if meant := own.meant(span.start, name):
            yield from _ambiguous(source, span, name, meant)
            continue
        row = known[name]
        directive = source.directive(span.start)
        if row.hip == "" and directive is not None and _names_macro(source, directive, span):
            continue  # `#define` and `#ifdef` lines would be invalid without the name.
        if row.hip and (made := _made(source, project, span, name, row)):
            message = (
                f"{name.decode()}: a macro makes {made.decode()} of it, so hipport does not rename it: the macro would "
                "then make a name that the program does not have; rename both, or write out the macro's result"
            )
            yield Finding(span, "made", message, certainty=Certainty.MANUAL)
        elif (row.hip is None and not row.calls) or row.since > project.target.rocm:
            if (found := _without_equal(source, project, span, name, row, reported)) is not None:
                yield found
                # An edit of more than the name also answers the other names in its span.
                moot = found.edits[0].span.end if found.edits else moot
        else:
            yield from _renamed(source, project, span, name, row)


class _OwnNames:
    """The program's own names that are also CUDA's, as a file sees them."""

    def __init__(self, source: Cpp, project: Project) -> None:
        self._source, self._project = source, project
        self._everywhere = project.declared(source, _own_everywhere)
        if self._everywhere and (mocks := project.without_cuda(source)):
            # Names that the program only defines where there is no CUDA are renamed as well.
            self._everywhere = project.declared(source, _own_everywhere, but=mocks)
        self._inside = source.fact(_own)[1]
        self._in_namespaces = project.declared(source, _own_in_namespaces)
        self._of_namespaces = {name for _, name in self._in_namespaces}

    def has(self, start: int, name: bytes) -> bool:
        """Return whether a name, or the enumeration that it is read from, is the program's."""
        if name in self._everywhere or any(scope.start <= start < scope.end for scope in self._inside.get(name, ())):
            return True
        enumeration = _enumeration(self._source.code, start)
        if enumeration in self._everywhere:
            return True
        return enumeration in self._of_namespaces and bool(self._space(start, enumeration))

    def meant(self, start: int, name: bytes) -> tuple[bytes, ...]:
        """Return the program's namespace whose `name` is meant there, or may be; empty if none is."""
        if name in self._of_namespaces and not _OUTERMOST.search(self._source.code, max(0, start - 40), start):
            return self._space(start, name)
        return ()

    def _space(self, start: int, name: bytes) -> tuple[bytes, ...]:
        return _meant(self._source, self._project, start, name, self._in_namespaces)


def _ambiguous(source: Cpp, span: Span, name: bytes, meant: tuple[bytes, ...]) -> Iterator[Finding]:
    """Report a function's name that may be either's, because the arguments decide; ambiguous types do not compile."""
    if meant != namespaces(source, span.start)[: len(meant)] and _CALL.match(source.code, span.end):
        where = b"::".join(meant).decode()
        message = (
            f"{name.decode()} may be CUDA's or {where}'s, because it has no qualifier; write {where}:: or :: in front "
            "of it"
        )
        yield Finding(span, "ambiguous", message, certainty=Certainty.MANUAL)


def _without_equal(
    source: Cpp, project: Project, span: Span, name: bytes, row: NameRow, reported: set[tuple[bytes, int]]
) -> Finding | None:
    """Return the finding on a name without an equivalent in HIP; a name that a line has twice is reported once."""
    directive = source.directive(span.start)
    words = source.code[directive.start : directive.end] if directive else b""
    # In a condition the name is merely undefined.
    if _CONDITION.match(words) or (row.called and not _CALL.match(source.code, span.end)):
        return None
    if name == b"__CUDA_ARCH__" and ON_DEVICE in words:
        return None  # A person, or an earlier run, has decided what AMD answers.
    if (compared := compared_release(source, project, span, name)) is not None:
        return compared
    if row.value:
        message = f"{name.decode()} → {row.value}: {row.review}"
        return Finding(span, "version", message, (Edit(span, row.value.encode()),), Certainty.REVIEW)
    place = (name, source.position(span.start)[0])
    if place in reported or (directive is None and (settled(source.code, span) or asserted(source, span))):
        return None
    reported.add(place)
    return _manual(span, name, row)


def _meant(source: Cpp, project: Project, offset: int, name: bytes, own: frozenset[_InNamespace]) -> tuple[bytes, ...]:
    """Return the program's namespace whose `name` is meant at `offset`, or may be; empty if none is."""
    around = namespaces(source, offset)
    for depth in range(len(around), 0, -1):
        if (around[:depth], name) in own:
            return around[:depth]
    used = project.declared(source, _used_namespaces)
    return next((space for space, each in sorted(own) if each == name and space[-1] in used), ())


def _pasted(source: Cpp, project: Project) -> Iterator[Finding]:
    """Find macros that make CUDA's names."""
    if b"##" not in source.code:
        return
    told: set[bytes] = set()
    for match in _PASTED.finditer(source.code):
        directive = source.directive(match.start())
        define = DEFINE.match(source.code, directive.start, directive.end) if directive else None
        if define is None or define[1] in told or match.start() < define.end():
            continue
        # A whole name is renamed, and the added suffix is the same in HIP.
        if match["prefix"] in table() or source.ported(match.start()):
            continue
        if define[1] in project.union_over(source, _for_hip):
            continue
        told.add(define[1])
        message = (
            f"{define[1].decode()} makes names that begin with {match['prefix'].decode()}, which hipport does not "
            "find and does not rename; write the names out, or let the macro make HIP's where only the prefix "
            "differs"
        )
        yield Finding(Span(*match.span("prefix")), "pasted", message, certainty=Certainty.MANUAL)


def _made(source: Cpp, project: Project, span: Span, name: bytes, row: NameRow) -> bytes:
    """Return the name that a macro makes from `name` by `##`, if the program has it as its own name.

    Or if it is a CUDA name that is not renamed to what the macro would then make.
    """
    component = project.component(source)
    macros = component.fact(pasting)
    opening = opened_before(source.code, max(0, span.start - 500), span.start) if macros else None
    if opening is None or (macro := word_before(source.code, opening)) not in macros:
        return b""
    given = [source.code[each.start : each.end].strip() for each in source.arguments(opening) or ()]
    if name not in given:
        return b""
    new = (row.hip or "").encode()
    for text in expanded(macro, given, component.fact(defined)):
        words: set[bytes] = {word for word in _IDENTIFIER.findall(text) if name in word and word != name}
        for made in sorted(words):
            known = table().get(made)
            if known is not None and known.hip is not None and known.hip.encode() != made.replace(name, new):
                return made
            if known is None and any(made in other.words for other in component if isinstance(other, Cpp)):
                return made
    return b""


def _names_macro(source: Cpp, directive: Span, span: Span) -> bool:
    """Return whether a directive defines, undefines or tests the macro at `span`."""
    define = DEFINE.match(source.code, directive.start, directive.end)
    asks = _CONDITION.match(source.code, directive.start) or _UNDEF.match(source.code, directive.start)
    return bool(asks) or (define is not None and define.start(1) == span.start)


def _spliced(source: Cpp) -> Iterator[Finding]:
    """Find CUDA's names that a backslash breaks over two lines."""
    for match in _SPLICED.finditer(source.code) if b"\\" in source.code else ():
        name = _SPLICE.sub(b"", match[0])
        if name in table() and not source.ported(match.start()):
            message = f"{name.decode()} is broken over lines by a backslash, and is not renamed; write it on one line"
            yield Finding(Span(*match.span()), "broken", message, certainty=Certainty.MANUAL)


def _for_hip(source: Cpp) -> frozenset[bytes]:
    """Return the macros that make HIP's names."""
    found = set()
    for match in _PASTED_FOR_HIP.finditer(source.code) if b"##" in source.code else ():
        directive = source.directive(match.start())
        define = DEFINE.match(source.code, directive.start, directive.end) if directive else None
        if define is not None:
            found.add(define[1])
    return frozenset(found)


def _manual(span: Span, name: bytes, row: NameRow) -> Finding:
    if row.hip is None:
        return Finding(span, "unsupported", f"{name.decode()}: {row.advice}", certainty=Certainty.MANUAL)
    release = f"{row.since[0]}.{row.since[1]}"
    return Finding(
        span,
        "too_new",
        f"{name.decode()} ({row.hip} in HIP): it is new in ROCm {release}; pass --rocm {release}, or do without it",
        certainty=Certainty.MANUAL,
    )


def _renamed(source: Cpp, project: Project, span: Span, name: bytes, row: NameRow) -> Iterator[Finding]:
    form = row.hip or ""
    if row.tag and _TAGGED.search(source.code, max(0, span.start - 40), span.start):
        form = row.tag
    in_c = bool(row.in_c) and bool(project.union_over(source, _in_c))
    if row.as_value and not _CALL.match(source.code, span.end) and (in_c or source.directive(span.start) is None):
        form = row.as_value  # In C++, a call by a macro has HIP's default arguments.
    edits: list[Edit] = []
    calls = row.in_c if in_c else row.calls
    opening = _CALL.match(source.code, span.end) if calls else None
    if opening is not None and _declared(source, span.start, opening.end() - 1):
        # A function of the program that replaces CUDA's has CUDA's parameters.
        if not row.hip:
            return
        opening = None
    if opening is not None:
        arguments = source.arguments(opening.end() - 1) or ()
        form = calls.get(str(len(arguments)), form)
        if (other := _OF_CALL.search(form)) and arguments:
            last = arguments[-1]
            passed = _passed(source, span.start, other[1].encode(), source.code[last.start : last.end].strip())
            form = form.replace(other[0], passed.decode("utf-8", "replace")) if passed else ""
            if not passed:
                yield Finding(span, "arguments", f"{name.decode()}: {row.advice}", certainty=Certainty.MANUAL)
                return
    if not form and row.hip != "":
        yield Finding(span, "arguments", f"{name.decode()}: {row.advice}", certainty=Certainty.MANUAL)
        return
    if opening is not None:
        _, _, rest = form.partition("(…")
        inside, _, behind = rest.partition(")")
        closing = source.closing(opening.end() - 1) or 0
        edits += [Edit(Span(at, at), new.encode()) for at, new in ((closing, inside), (closing + 1, behind)) if new]
    new = form.partition("(…")[0].encode()
    if new == name:
        return
    if not new:
        blank = _BLANK.match(source.code, span.end)
        span = Span(span.start, blank.end() if blank else span.end)
    message = f"{name.decode()} → {form or 'nothing'}"
    if row.until is not None:
        message += f", which ROCm {row.until[0]}.{row.until[1]} does not have"
    elif row.review:
        message += f": {row.review}"
    certainty = Certainty.REVIEW if row.until is not None or row.review else Certainty.SAFE
    yield Finding(span, "name", message, (Edit(span, new), *edits), certainty)


def _in_c(source: Cpp) -> frozenset[bool]:
    """Return {True} for a file in C, else nothing. Asked of a component: a header does not show its language."""
    return frozenset((True,)) if source.path.suffix == ".c" else frozenset()


def _declared(source: Cpp, start: int, opening: int) -> bool:
    """Return whether a name before a list in parentheses is a function that is declared or defined there."""
    code = source.code
    # A declaration does not begin in a directive and continue after it; it may be completely in a macro.
    directive = source.directive_before(start)
    floor = 0
    if directive is not None:
        define = DEFINE.match(code, directive.start, start)
        floor = directive.end if start >= directive.end else define.end() if define else start
    before = word_before(code[max(floor, start - 200) : start], 200)
    closing = source.closing(opening)
    behind = closing is not None and _BODY.match(code, closing + 1)
    return bool(before and behind) and before not in _BEFORE_CALLS


def _passed(source: Cpp, before: int, name: bytes, behind: bytes) -> bytes:
    """Return the last argument of the last call of `name` after `behind`, if it is the same at `before`."""
    code = source.code
    for call in reversed([*re.finditer(rb"\b" + name + rb"\s*\(", code[:before])]):
        spans = source.arguments(call.end() - 1) or ()
        arguments = [b"".join(code[each.start : each.end].split()) for each in spans]
        if len(arguments) < 2 or arguments[-2] != b"".join(behind.split()):
            continue
        between = code[call.end() : before]
        # A block that ends in between may declare it, and an assignment changes it.
        depth = 0
        for brace in re.findall(rb"[{}]", between):
            depth += 1 if brace == b"{" else -1
            if depth < 0:
                return b""
        written = re.search(
            rb"(?<![\w.>])" + re.escape(arguments[-1]) + rb"\s*=(?!=)|&\s*" + re.escape(arguments[-1]), between
        )
        return b"" if written or not re.fullmatch(rb"[\w.>-]+", arguments[-1]) else arguments[-1]
    return b""


def _names(source: Cpp) -> tuple[tuple[Span, bytes], ...]:
    """Return the table's names in `source` that are not members and not qualified, except by CUDA's enumerations."""
    code = source.code
    return tuple(
        (span, name)
        for span, name in source.names(table().keys())
        if not member_or_qualified(code, span.start) or _enumeration(code, span.start) in table()
    )


def _enumeration(code: bytes, start: int) -> bytes:
    """Return `cudaError` of `cudaError::cudaErrorInvalidValue`, if that is CUDA's; empty for other names."""
    match = _OF_ENUMERATION.search(code, max(0, start - 200), start)
    return match[1] if match is not None and not member_or_qualified(code, match.start(1)) else b""


def _own(source: Cpp) -> tuple[frozenset[bytes], Mapping[bytes, list[Span]], frozenset[_InNamespace]]:
    """Return the names that the program declares itself: everywhere, in parts of this file, and in namespaces."""
    known = table()
    everywhere: set[bytes] = set()
    inside: dict[bytes, list[Span]] = {}
    in_namespaces: set[_InNamespace] = set()
    for name, text, scope, conditional, spaces in declarations(source, source.fact(_names)):
        if scope is not None:
            inside.setdefault(name, []).append(scope)
            continue
        if spaces and not conditional:
            # Even if it uses other CUDA names: other code calls it through the namespace.
            in_namespaces.add((spaces, name))
            continue
        if known[name].hip == "" and not _CONVENTION.fullmatch(text):
            everywhere.add(name)  # The name has a meaning in the program, which would be lost with it.
            continue
        # If it uses CUDA's names, or is for builds without CUDA, it replaces CUDA's and is renamed with it.
        stands_in = conditional or any(word in known for word in _IDENTIFIER.findall(text))
        if not stands_in or _HIP.search(text):
            everywhere.add(name)
    return frozenset(everywhere), inside, frozenset(in_namespaces)


def _own_in_namespaces(source: Cpp) -> frozenset[_InNamespace]:
    return source.fact(_own)[2]


def _used_namespaces(source: Cpp) -> frozenset[bytes]:
    """Return the last names of the namespaces that using declarations or directives refer to."""
    if b"using" not in source.words:
        return frozenset()
    return frozenset(match[1] or match[2] for match in _USING.finditer(source.code))


def _own_everywhere(source: Cpp) -> frozenset[bytes]:
    return source.fact(_own)[0]


PASS = Pass(Cpp, find)
