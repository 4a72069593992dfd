# SPDX-License-Identifier: Apache-2.0
"""Replace names that PyTorch removed from its C++ interface, for CUDA as well.

Old extensions fail with every current PyTorch for ROCm, whatever their kernels do. `x.type()` where `AT_DISPATCH_…`
needs a scalar type becomes `x.scalar_type()`, also through a macro of the program or a variable; `AT_CHECK` and the
like become their definitions. Names of THC are replaced where they have an equivalent, and the variable for its state
is removed when nothing else uses it. Each replacement means the same in every release that has both, for CUDA and for
ROCm, except `x.toType(y.type())`, which is REVIEW. An extension in C, which torch.utils.ffi built, is left to a person
as a whole. Names that are only deprecated (`x.data<T>()`, `x.type().is_cuda()`, `at::zeros(sizes, x.type())`,
`c10::optional`) are left as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words, load
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import PYTORCH, line_of
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.declarations import member_or_qualified
from hipport_passes.names.pytorch_headers import includes_pytorch

_CALL = re.compile(rb"\s*\(")
_WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
_DISPATCH = _WORDS.compile(rb"(?&dispatch)(?!(?&dispatch_parts)_)\w+")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_TYPE = re.compile(rb"(?:\.|->)\s*(?P<type>type)\s*\(\s*\)$")
_BRACKETS = re.compile(rb"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\[[^\[\]]*\]")
_OPERAND = re.compile(rb"[\w.:\s>*&-]*")
_MACRO = re.compile(rb"#[ \t]*define[ \t]+(?P<name>\w+)\((?P<parameters>[^()]*)\)")
_DEFINED = re.compile(rb"#[ \t]*define[ \t]+(\w+)")
_GIVEN = _WORDS.compile(rb"(?:\b(?&scalar_type)\s*\(\s*|=\s*)\(?(\w+)\)?\s*[;)]")
#: A member function of that name, because of which `x` may not be a tensor.
_OWN_TYPE = re.compile(rb"[\w>&*]\s+&?(?<!return )type\s*\(\s*\)\s*(?:(?:const|noexcept|override)\b\s*)*\{")
_STATE = _WORDS.compile(rb"(?:\bextern\s+)?\b(?&state)\s*\*\s*(?P<name>\w+)\s*(?P<value>=[^;{}]*)?;")
_GLOBAL_STATE = _WORDS.compile(rb"(?:::)?\s*at\s*::\s*(?&context)\s*\(\s*\)\s*\.\s*(?&returns_state)\s*\(\s*\)")
#: The arguments for THC's state: a variable or member of any name, or the functions that return it.
_STATE_GIVEN = re.compile(rb"(?:[\w.>-]|::)+|" + _GLOBAL_STATE.pattern)
_CONDITION = re.compile(rb"#[ \t]*(?:if|ifdef|ifndef|elif|undef)\b")
_BODY = re.compile(rb"\s*(?:const\s*)?(?:noexcept\s*)?\{")
_TORCH = _WORDS.compile(rb"(?&of_torch)\s*::\s*$")
_MEMBER = _WORDS.compile(
    rb"(?:\b(?&torch)\s*::\s*(?&devices_of_torch)\s*\([^()]*\)|(?:\.|->)\s*type\s*\(\s*\))\s*\.\s*(?P<name>\w+)\s*\("
)
_TO_TYPE = _WORDS.compile(
    rb"(?:\.|->)\s*((?&to_type))\s*\(\s*"
    rb"(?:(?&torch)\s*::\s*(?&devices_of_torch)\s*\(|[\w.:\[\]>-]+?\s*(?:\.|->)\s*type\s*\(\s*\)\s*\))"
)
_IS_VARIABLE = _WORDS.compile(rb"\s*\.\s*(?&is_variable)\s*\(\s*(?:true|false)\s*\)")
_LAST = re.compile(rb"\w+")
# Folders of headers that include each other, and their names after PyTorch's own converter.
_OF_CUDA = (b"c10/cuda", b"ATen/cuda", b"c10/hip", b"ATen/hip")
_TH = re.compile(rb"TH[A-Z]\w*")
_ON_GPUS = "; assumes that each build of this file has a GPU's headers, because all uses stand under conditions"


class _Row(NamedTuple):
    becomes: str = ""
    form: str = ""
    without: int = 0
    header: str = ""
    gone: str = ""


class _Tables(NamedTuple):
    names: Mapping[bytes, _Row]
    reported: tuple[tuple[re.Pattern[bytes], str], ...]
    functions: Mapping[bytes, str]
    members: Mapping[bytes, str]


@cache
def table() -> _Tables:
    """Return the removed names."""
    rows = load(Path(__file__).with_suffix(".toml"))
    return _Tables(
        {name.encode(): _Row(**row) for name, row in rows["names"].items()},
        tuple((re.compile(each["names"].encode()), each["why"]) for each in rows["reported"]),
        {name.encode(): instead for name, instead in rows["functions"].items()},
        {name.encode(): instead for name, instead in rows["members"].items()},
    )


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per use of a removed name."""
    if source.path.suffix == ".c":
        yield from _in_c(source)
        return
    if not project.union_over(source, includes_pytorch):
        return
    yield from _dispatched(source, project)
    if not source.words.isdisjoint((b"type", b"CPU", b"CUDA", b"toType", b"is_variable")):
        yield from _members(source)
    yield from _functions(source)
    if any(_TH.match(word) or word.startswith(b"AT_") for word in source.words):
        yield from _names(source, project)
    else:
        yield from _lost(source, project, frozenset())


def _in_c(source: Cpp) -> Iterator[Finding]:
    """Report extensions in C, which were for torch.utils.ffi; the replacement of their tensors is C++."""
    for include in source.includes:
        if include.path.startswith(("TH/", "THC/")):
            message = (
                f"{include.path}: PyTorch has no extensions in C since 1.0, for CUDA either: write it in C++ on "
                "at::Tensor, with PYBIND11_MODULE, and build it with CUDAExtension, the .cu files among its sources"
            )
            yield Finding(include.target, "in_c", message, certainty=Certainty.MANUAL)
            return


# --- x.type() as a type of numbers
# -------------------------------------------------------------------------------------


def _dispatched(source: Cpp, project: Project) -> Iterator[Finding]:
    if b"type" not in source.words:
        return
    macros = dict(project.union_over(source, _macros))
    wanted = source.matched(_DISPATCH) | (source.words & macros.keys())
    if not wanted:
        return
    others = project.declared(source, _own_type)
    code = source.code
    for span, name in source.names(wanted, _CALL):
        if source.ported(span.start) or _declares(source, span):
            continue
        arguments = source.arguments(code.index(b"(", span.end)) or ()
        for number, argument in enumerate(arguments):
            text = code[argument.start : argument.end]
            if text.startswith((b'"', b"[", b"#")):
                break
            if name in macros and number != macros[name]:
                continue
            own = False
            if place := _type_asked(source, argument):
                edit, what = Edit(place, b"scalar_type"), text.decode("utf-8", "replace")
                own = bool(others) and not _is_tensor(source, argument)
            elif _WORD.fullmatch(text) and _is_type(source, argument):
                place, what = argument, text.decode(errors="replace")
                edit = Edit(Span(argument.end, argument.end), b".scalarType()")
            else:
                continue
            yield Finding(
                place,
                "scalar_type",
                (
                    f"{name.decode()} takes a ScalarType, and {' '.join(what.split())} no longer converts to it "
                    "(PyTorch 2.13)"
                )
                + (": assumes that this type() is a tensor's and not the program's own" if own else ""),
                (edit,),
                Certainty.REVIEW if own else Certainty.SAFE,
            )


def _declares(source: Cpp, span: Span) -> bool:
    directive = source.directive(span.start)
    define = _DEFINED.match(source.code, directive.start, directive.end) if directive else None
    return define is not None and define.start(1) == span.start


def _type_asked(source: Cpp, argument: Span) -> Span | None:
    """Return the span of `type` in `x.type()`, if that is a whole argument."""
    start, end = argument.start, argument.end
    while source.code[start:end].startswith(b"(") and source.closing(start) == end - 1:
        start, end = start + 1, end - 1
        start, end = (inner := source.trimmed(Span(start, end))).start, inner.end
    text = source.code[start:end]
    match = _TYPE.search(text)
    if match is None or not _OPERAND.fullmatch(_BRACKETS.sub(b"", text[: match.start()])):
        return None
    return Span(start + match.start("type"), start + match.end("type"))


def _is_tensor(source: Cpp, argument: Span) -> bool:
    """Return whether the beginning of an expression is declared as a tensor."""
    name = _WORD.search(source.code, argument.start, argument.end)
    declared = rb"\bTensor\b[\s&*]*(?:const\b[\s&*]*)?\b" + re.escape(name[0] if name else b"") + rb"\b"
    return name is not None and re.search(declared, source.code) is not None


def _is_type(source: Cpp, variable: Span) -> bool:
    """Return whether the last value of a variable is a tensor's type."""
    name = re.escape(source[variable])
    pattern = re.compile(rb"\bauto\s*(?:const\s*)?&?&?\s*" + name + rb"\s*=\s*([^;]*);")
    given = list(pattern.finditer(source.code, 0, variable.start))
    return bool(given) and _type_asked(source, source.trimmed(Span(*given[-1].span(1)))) is not None


def _macros(source: Cpp) -> frozenset[tuple[bytes, int]]:
    """Return the file's macros that pass an argument to a dispatch macro, with the index of that argument."""
    found = set()
    for directive in source.directives:
        match = _MACRO.match(source.code, directive.start, directive.end)
        if match is None:
            continue
        parameters = [each.strip() for each in match["parameters"].replace(b"\\", b" ").split(b",")]
        body = source.code[match.end() : directive.end]
        given: list[bytes] = []
        for call in re.finditer(_DISPATCH.pattern + rb"\s*\(", body):
            opening = match.end() + call.end() - 1
            # The list of types at the beginning of some of these contains no parameter.
            given += [source[each].strip(b"() \t\r\n") for each in (source.arguments(opening) or ())[:4]]
        if b"scalar_type" in body and b"switch" in body:
            given += _GIVEN.findall(body)
        for each in given:
            each = b"..." if each == b"__VA_ARGS__" else each
            if each in parameters:
                found.add((match["name"], parameters.index(each)))
                break
    return frozenset(found)


def _own_type(source: Cpp) -> frozenset[bytes]:
    return frozenset((b"type",) if b"type" in source.words and _OWN_TYPE.search(source.code) else ())


# --- Members and functions --------------------------------------------------------------------------------------------


def _members(source: Cpp) -> Iterator[Finding]:
    code = source.code
    if b"is_variable" in source.words:
        for match in _IS_VARIABLE.finditer(code):
            if not source.ported(match.start()):
                message = "TensorOptions no longer has is_variable() (PyTorch 2.13): every tensor is a variable"
                yield Finding(Span(*match.span()), "is_variable", message, (Edit(Span(*match.span()), b""),))
    for match in _TO_TYPE.finditer(code) if b"toType" in source.words else ():
        if not source.ported(match.start()):
            place = Span(*match.span(1))
            message = (
                "toType() takes a ScalarType; to() takes a tensor's type, with its device: assumes that tensors "
                "are on the current device, which a type names"
            )
            yield Finding(place, "to_type", message, (Edit(place, b"to"),), Certainty.REVIEW)
    for match in _MEMBER.finditer(code):
        instead = table().members.get(match["name"])
        if instead and not source.ported(match.start()):
            message = f"type() no longer has {match['name'].decode()}() (PyTorch 2.13): write {instead}"
            yield Finding(Span(*match.span("name")), "member", message, certainty=Certainty.MANUAL)


def _functions(source: Cpp) -> Iterator[Finding]:
    known = table().functions
    if source.words.isdisjoint(known) or source.words.isdisjoint((b"at", b"torch")):
        return
    for span, name in source.names(known.keys(), _CALL):
        if _TORCH.search(source.code, max(0, span.start - 16), span.start) and not source.ported(span.start):
            message = f"{name.decode()}() was removed (PyTorch 2.13): {known[name]}"
            yield Finding(span, "function", message, certainty=Certainty.MANUAL)


# --- Names ------------------------------------------------------------------------------------------------------------


class _State(NamedTuple):
    """A variable for THC's state: its declaration, whether it can be removed, and its replacement."""

    declared: Span
    goes: bool
    new: bytes


def _names(source: Cpp, project: Project) -> Iterator[Finding]:
    known = table()
    own = project.declared(source, _defined)
    uses = [(span, name) for span, name in source.names(known.names.keys() - own) if _counts(source, span)]
    edited = {span: _edits(source, span, known.names[name]) for span, name in uses}
    needed = {known.names[name].header for span, name in uses if edited[span]}
    needed -= {"", *(include.path for include in source.includes)}
    at, known_place = _place(source, [span for span, name in uses if edited[span] and known.names[name].header])
    lines = b"".join(f"#include <{header}>".encode() + source.newline for header in sorted(needed))
    for span, name in uses:
        row = known.names[name]
        message = f"{name.decode()} is not in PyTorch {row.gone} and later: {row.becomes or row.form}"
        if edits := edited[span]:
            include = (Edit(Span(at, at), lines, on_top=True),) if lines and row.header else ()
            sure = known_place or not include
            certainty = Certainty.SAFE if sure else Certainty.REVIEW
            yield Finding(span, "gone", message + ("" if sure else _ON_GPUS), (*edits, *include), certainty)
        else:
            message += "; hipport does not understand its use here"
            yield Finding(span, "gone", message, certainty=Certainty.MANUAL)
    yield from _lost(source, project, {known.names[name].header for _, name in uses})
    taken = [edit.span for edits in edited.values() for edit in edits]
    states = list(_states(source, taken))
    for state in states:
        if state.goes:
            message = "THCState is not in PyTorch 1.11 and later, and nothing else uses it"
            yield Finding(source.trimmed(state.declared), "state", message, (Edit(state.declared, state.new),))
    told: set[bytes] = set()
    for span, name in source.names(_TH):
        if name in known.names or name in own or name in told or not _counts(source, span):
            continue
        if any(state.goes and state.declared.start <= span.start < state.declared.end for state in states):
            continue
        why = next((why for pattern, why in known.reported if pattern.fullmatch(name)), None)
        if why is not None:
            told.add(name)
            yield Finding(span, "unsupported", f"{name.decode()}: {why}", certainty=Certainty.MANUAL)


def _lost(source: Cpp, project: Project, put: AbstractSet[str]) -> Iterator[Finding]:
    """Include headers for names that this pass writes, if a merge has removed them; but not those in `put`."""
    rows = {row.becomes: row.header for row in table().names.values() if row.header and row.header not in put}
    rows = {name: header for name, header in rows.items() if _LAST.findall(name.encode())[-1] in source.words}
    included = project.union_over(source, _included) if rows else frozenset()
    told: set[str] = set()
    for name, header in rows.items():
        # Another header of the folder may include it.
        folder = header.rpartition("/")[0].encode()
        near = _OF_CUDA if folder in _OF_CUDA else (header.encode(),)
        if header in told or any(path.startswith(each) for path in included for each in near):
            continue
        found = re.finditer(rb"(?<![\w:])(?:::\s*)?" + re.escape(name.encode()) + rb"\b\s*\(", source.code)
        calls = [Span(match.start(), match.end() - 1) for match in found]
        calls = [call for call in calls if not source.ported(call.start) and source.directive(call.start) is None]
        if calls:
            told.add(header)
            at, sure = _place(source, calls)
            message = f"{name} is declared in {header}, which nothing includes: included here" + (
                "" if sure else _ON_GPUS
            )
            line = f"#include <{header}>".encode() + source.newline
            certainty = Certainty.SAFE if sure else Certainty.REVIEW
            yield Finding(calls[0], "header", message, (Edit(Span(at, at), line, on_top=True),), certainty)


def _place(source: Cpp, uses: Sequence[Span]) -> tuple[int, bool]:
    """Return the place of an `#include` for some uses, and whether every build that sees it sees a use.

    A program may be built for CPUs alone, where there are no headers of GPUs: if the uses are under a condition, so is
    the include.
    """
    top = line_of(source, PYTORCH)
    within = {next((each for each in source.conditional if each.start <= use.start < each.end), None) for use in uses}
    if None in within or not uses:
        return top, True
    groups = [group for group in source.conditionals if group[0].span.start in {each.start for each in within if each}]
    branches = {part.span.end for group in groups for part in group if part.span.end <= uses[0].start}
    begins = max(branches, default=-1)
    ends = min((part.span.start for group in groups for part in group if part.span.start > uses[0].start), default=-1)
    before = source.code[:begins]
    outside = before.count(b"{") == before.count(b"}") and before.count(b"(") == before.count(b")")
    line = source.text.find(b"\n", begins) + 1
    if len(groups) == 1 and line and outside and all(begins <= use.start < ends for use in uses):
        return line, True
    return top, False


def _included(source: Cpp) -> frozenset[bytes]:
    return frozenset(each.path.encode("utf-8", "surrogateescape") for each in source.includes)


def _counts(source: Cpp, span: Span) -> bool:
    """Return whether a name is used there: not in a condition, not as a member, not in code for CUDA or HIP alone."""
    if source.ported(span.start) or member_or_qualified(source.code, span.start):
        return False
    directive = source.directive(span.start)
    return directive is None or not _CONDITION.match(source.code, directive.start, directive.end)


def _edits(source: Cpp, span: Span, row: _Row) -> tuple[Edit, ...]:
    """Return the edits that replace a use according to the row; nothing if the use is not understood."""
    called = _CALL.match(source.code, span.end)
    if row.form:
        name, _, before = row.form.partition("(")
        before = before.partition("…")[0]
        if called is None:
            return ()
        return Edit(span, name.encode()), Edit(Span(called.end(), called.end()), before.encode())
    edit = Edit(span, row.becomes.encode())
    if not row.without:
        return (edit,)
    arguments = (called and source.arguments(called.end() - 1)) or ()
    if row.without == 1 and arguments and _STATE_GIVEN.fullmatch(source.code, arguments[0].start, arguments[0].end):
        dropped = Span(arguments[0].start, arguments[1].start if len(arguments) > 1 else arguments[0].end)
    elif row.without == 2 and len(arguments) == 3:  # Functions that format like printf have more arguments.
        dropped = Span(arguments[1].start, arguments[2].start)
    else:
        return ()
    return edit, Edit(dropped, b"")


def _states(source: Cpp, taken: list[Span]) -> Iterator[_State]:
    """Yield the variables for THC's state; one is removed if all other mentions of it are `taken` away."""
    if b"THCState" not in source.words:
        return
    for match in _STATE.finditer(source.code):
        declared, value = Span(*match.span()), match["value"]
        if source.ported(declared.start):
            continue
        others = [span for span, _ in source.names({match["name"]}) if not declared.start <= span.start < declared.end]
        goes = all(any(each.start <= span.start < each.end for each in taken) for span in others)
        new = b""
        if value is None:
            declared = _line(source, declared)
        else:
            goes = goes and _GLOBAL_STATE.fullmatch(value[1:].strip()) is not None
            # The function that returned it, and the calls that received it, also created a context.
            new = b"at::globalContext().lazyInitCUDA();"
        yield _State(declared, goes, new)


def _line(source: Cpp, span: Span) -> Span:
    """Return the whole line of a statement that stands alone on it, else the statement."""
    text = source.text
    start = max(text.rfind(b"\n", 0, span.start), text.rfind(b"\r", 0, span.start)) + 1
    end = re.compile(rb"[ \t]*(?:\r\n|\n|\r|$)").match(text, span.end)
    return span if end is None or text[start : span.start].strip() else Span(start, end.end())


def _defined(source: Cpp) -> frozenset[bytes]:
    code = source.code
    found = {match[1] for match in _DEFINED.finditer(code)} & (table().names.keys() | source.matched(_TH))
    for span, name in source.names(table().names.keys() | source.matched(_TH), _CALL):
        end = source.closing(code.index(b"(", span.end))
        if end is not None and _BODY.match(code, end + 1):
            found.add(name)
    return frozenset(found)


PASS = Pass(Cpp, find)
